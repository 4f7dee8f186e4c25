"""Queues and their disciplines, one class each.

Made by ``tools/declared_files.py`` from the declarations in ``crates/network/src/aqm/``: change those and run
``make docs``. A field left at ``None`` takes its default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cwndlab.scenario.tables import Table

__all__ = [
    "Ared",
    "Blue",
    "Codel",
    "DropTail",
    "DualPi2",
    "Fq",
    "FqCodel",
    "FqPie",
    "Pie",
    "Queue",
    "Red",
    "StepEcn",
]


@dataclass(frozen=True)
class Queue(Table):
    """A queue of a link.

    Parameters
    ----------
    capacity
        Capacity of the queue: ``"100 packets"``, ``"64 KiB"``, ``"20 ms"`` (of the link's rate), ``"0.5 bdp"``,
        ``"0.5 bdp(50 ms)"`` or ``"unlimited"``; each discipline has a default.
    """

    FIELD: ClassVar[str] = "queue"
    capacity: str | None = None


@dataclass(frozen=True, kw_only=True)
class DropTail(Queue):
    """First in, first out; arrivals to a full queue are dropped.

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"1 bdp"``).
    counts_in_service
        The packet under transmission counts towards the capacity (default: ``false``).
    """

    KIND: ClassVar[str] = "droptail"
    counts_in_service: bool | None = None


@dataclass(frozen=True, kw_only=True)
class StepEcn(Queue):
    """Drop-tail that marks an arriving ECN-capable packet if more than ``mark_above`` packets wait (DCTCP, RFC
    8257).

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"1 bdp"``).
    mark_above
        Largest number of waiting packets at which an arrival is not marked.
    counts_in_service
        The packet under transmission counts towards the capacity (default: ``false``).
    """

    KIND: ClassVar[str] = "step-ecn"
    mark_above: int
    counts_in_service: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Red(Queue):
    """Random early detection (Floyd, Jacobson, ToN 1993).

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"1000 packets"``).
    min_th
        Average queue below which no packet is dropped, packets; ``"auto"``: half of the packets that the line
        sends in ``target``, at least 5 (default: ``5.0``).
    max_th
        Average queue at which the probability reaches ``max_p``, packets; ``"auto"``: three times ``min_th``
        (default: ``15.0``).
    weight
        Weight of a new value in the average; ``"auto"``: 1 − e^(−1/C) for a line of C packets per second
        (default: ``0.002``).
    max_p
        Drop probability at ``max_th`` (default: ``0.1``).
    gentle
        The probability rises linearly from ``max_p`` at ``max_th`` to 1 at twice ``max_th``, without a step at
        ``max_th`` (default: ``true``).
    wait
        Spacing of drops as in ns-2 and ns-3 (``wait_``) (default: ``false``).
    ecn
        Marks ECN-capable packets instead of dropping them at random (default: ``false``).
    target
        Target queueing delay of automatic thresholds (default: ``"5 ms"``).
    mean_packet
        Mean size of a packet (default: ``"1500 B"``).
    """

    KIND: ClassVar[str] = "red"
    min_th: Literal["auto"] | float | None = None
    max_th: Literal["auto"] | float | None = None
    weight: Literal["auto"] | float | None = None
    max_p: float | None = None
    gentle: bool | None = None
    wait: bool | None = None
    ecn: bool | None = None
    target: str | None = None
    mean_packet: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ared(Queue):
    """RED that adapts ``max_p`` to keep the average queue midway between the thresholds (Floyd, Gummadi, Shenker
    2001).

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"1000 packets"``).
    min_th
        Average queue below which no packet is dropped, packets; ``"auto"``: half of the packets that the line
        sends in ``target``, at least 5 (default: ``"auto"``).
    max_th
        Average queue at which the probability reaches ``max_p``, packets; ``"auto"``: three times ``min_th``
        (default: ``"auto"``).
    weight
        Weight of a new value in the average; ``"auto"``: 1 − e^(−1/C) for a line of C packets per second
        (default: ``"auto"``).
    interval
        Time between two updates of ``max_p`` (default: ``"500 ms"``).
    max_p
        Drop probability at ``max_th`` (default: ``0.1``).
    gentle
        The probability rises linearly from ``max_p`` at ``max_th`` to 1 at twice ``max_th``, without a step at
        ``max_th`` (default: ``true``).
    wait
        Spacing of drops as in ns-2 and ns-3 (``wait_``) (default: ``false``).
    ecn
        Marks ECN-capable packets instead of dropping them at random (default: ``false``).
    target
        Target queueing delay of automatic thresholds (default: ``"5 ms"``).
    mean_packet
        Mean size of a packet (default: ``"1500 B"``).
    """

    KIND: ClassVar[str] = "ared"
    min_th: Literal["auto"] | float | None = None
    max_th: Literal["auto"] | float | None = None
    weight: Literal["auto"] | float | None = None
    interval: str | None = None
    max_p: float | None = None
    gentle: bool | None = None
    wait: bool | None = None
    ecn: bool | None = None
    target: str | None = None
    mean_packet: str | None = None


@dataclass(frozen=True, kw_only=True)
class Codel(Queue):
    """Controlled delay: drops packets when the minimum sojourn time over an interval exceeds the target (RFC 8289).

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"1000 packets"``).
    target
        Sojourn time below which no packet is dropped (default: ``"5 ms"``).
    interval
        Sliding window, of the order of the largest expected RTT (default: ``"100 ms"``).
    ecn
        Marks ECN-capable packets and drops only the others (default: ``false``).
    """

    KIND: ClassVar[str] = "codel"
    target: str | None = None
    interval: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Pie(Queue):
    """Proportional integral controller enhanced (RFC 8033); the queueing delay is measured by timestamps.

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"1000 packets"``).
    target
        Target queueing delay, ``QDELAY_REF`` (default: ``"15 ms"``).
    update
        Time between two updates of the probability, ``T_UPDATE`` (default: ``"15 ms"``).
    alpha
        Weight of the deviation from the target, per second (default: ``0.125``).
    beta
        Weight of the trend of the delay, per second (default: ``1.25``).
    burst
        Duration of a burst that is admitted without drops, ``MAX_BURST`` (default: ``"150 ms"``).
    ecn
        Marks ECN-capable packets and drops only the others (default: ``false``).
    mark_below
        Drop probability above which ECN-capable packets are dropped as well (default: ``0.1``).
    mean_packet
        Mean size of a packet (default: ``"1000 B"``).
    """

    KIND: ClassVar[str] = "pie"
    target: str | None = None
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    burst: str | None = None
    ecn: bool | None = None
    mark_below: float | None = None
    mean_packet: str | None = None


@dataclass(frozen=True, kw_only=True)
class DualPi2(Queue):
    """Two coupled queues for classic and scalable senders (RFC 9332); flows with accurate ECN send ECT(1).

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"10000 packets"``).
    target
        Target delay of the classic queue (default: ``"15 ms"``).
    rtt_max
        Largest expected RTT, from which the defaults of the next three fields are computed (default: ``"100
        ms"``).
    update
        Time between two updates of the probability (default: the smaller of ``target`` and a third of
        ``rtt_max``).
    alpha
        Weight of the deviation from the target, per second (default: 0.1 × ``update`` / ``rtt_max``²).
    beta
        Weight of the trend of the delay, per second (default: 0.3 / ``rtt_max``).
    coupling
        Coupling factor k (default: ``2.0``).
    l_min
        Delay of the L queue at which its native marking begins (default: ``"800 us"``).
    l_range
        Additional delay over which the native marking probability rises to 1; zero is a step (default: ``"400
        us"``).
    protection
        Guaranteed share of the line for the classic queue (default: ``0.1``).
    """

    KIND: ClassVar[str] = "dualpi2"
    target: str | None = None
    rtt_max: str | None = None
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    coupling: float | None = None
    l_min: str | None = None
    l_range: str | None = None
    protection: float | None = None


@dataclass(frozen=True, kw_only=True)
class Fq(Queue):
    """One queue per flow, served by deficit round robin (Shreedhar, Varghese 1996); an overflow drops packets of
    the longest queue.

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"10000 packets"``).
    quantum
        Credit of a queue per round, from 64 B to 1 MiB (default: ``"1514 B"``).
    batch
        Maximum number of packets dropped at once when the capacity is exceeded (default: ``64``).
    """

    KIND: ClassVar[str] = "fq"
    quantum: str | None = None
    batch: int | None = None


@dataclass(frozen=True, kw_only=True)
class FqCodel(Queue):
    """Fair queueing with CoDel in each queue (RFC 8290).

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"10240 packets"``).
    queues
        Number of queues; flows are hashed to them (default: ``1024``).
    quantum
        Credit of a queue per round, from 64 B to 1 MiB (default: ``"1514 B"``).
    batch
        Maximum number of packets dropped at once when the capacity is exceeded (default: ``64``).
    target
        Sojourn time below which no packet is dropped (default: ``"5 ms"``).
    interval
        Sliding window, of the order of the largest expected RTT (default: ``"100 ms"``).
    ecn
        Marks ECN-capable packets and drops only the others (default: ``true``).
    """

    KIND: ClassVar[str] = "fq-codel"
    queues: int | None = None
    quantum: str | None = None
    batch: int | None = None
    target: str | None = None
    interval: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, kw_only=True)
class FqPie(Queue):
    """Fair queueing with PIE in each queue, in place of RFC 8290's CoDel.

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"10240 packets"``).
    queues
        Number of queues; flows are hashed to them (default: ``1024``).
    quantum
        Credit of a queue per round, from 64 B to 1 MiB (default: ``"1514 B"``).
    batch
        Maximum number of packets dropped at once when the capacity is exceeded (default: ``64``).
    target
        Target queueing delay, ``QDELAY_REF`` (default: ``"15 ms"``).
    update
        Time between two updates of the probability, ``T_UPDATE`` (default: ``"15 ms"``).
    alpha
        Weight of the deviation from the target, per second (default: ``0.125``).
    beta
        Weight of the trend of the delay, per second (default: ``1.25``).
    burst
        Duration of a burst that is admitted without drops, ``MAX_BURST`` (default: ``"150 ms"``).
    ecn
        Marks ECN-capable packets and drops only the others (default: ``false``).
    mark_below
        Drop probability above which ECN-capable packets are dropped as well (default: ``0.1``).
    mean_packet
        Mean size of a packet (default: ``"1000 B"``).
    """

    KIND: ClassVar[str] = "fq-pie"
    queues: int | None = None
    quantum: str | None = None
    batch: int | None = None
    target: str | None = None
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    burst: str | None = None
    ecn: bool | None = None
    mark_below: float | None = None
    mean_packet: str | None = None


@dataclass(frozen=True, kw_only=True)
class Blue(Queue):
    """BLUE: the drop probability rises with losses and falls when the line is idle (Feng, Shin, Kandlur, Saha, ToN
    2002).

    Parameters
    ----------
    capacity
        Maximum length of the queue (default: ``"1000 packets"``).
    d1
        Increment of the probability (default: ``0.02``).
    d2
        Decrement of the probability (default: ``0.002``).
    freeze_time
        Minimum time between two updates (default: ``"100 ms"``).
    above
        Number of waiting packets above which an arrival counts as a loss (default: only losses count).
    ecn
        Marks ECN-capable packets instead of dropping them at random (default: ``false``).
    """

    KIND: ClassVar[str] = "blue"
    d1: float | None = None
    d2: float | None = None
    freeze_time: str | None = None
    above: int | None = None
    ecn: bool | None = None


def __dir__() -> list[str]:
    return __all__
