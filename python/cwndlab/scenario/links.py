"""Links: what carries packets from one node to the next, and how it varies over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from cwndlab.scenario.losses import Loss
from cwndlab.scenario.queues import Queue
from cwndlab.scenario.routers import Agent
from cwndlab.scenario.schema_tables import TABLES, Table

__all__ = ["DelayTrace", "Harq", "Jitter", "Link", "Police", "Reconfiguration", "Step", "TokenBucket", "Trace"]


@dataclass(frozen=True)
class Jitter(Table):
    """A delay of each packet drawn evenly from [0, ``spread``); with ``reorder`` packets may overtake each other.

    Examples
    --------
    >>> import cwndlab
    >>> cwndlab.Link(rate="10 Mbit/s", jitter=cwndlab.Jitter("5 ms")).jitter.spread
    '5 ms'
    """

    spread: str
    _: KW_ONLY
    reorder: bool | None = None


@dataclass(frozen=True)
class Trace(Table):
    """A line that follows a trace in Mahimahi's format: ``file`` (or the name of a synthetic one) or ``text``;
    ``bytes`` of an opportunity (1500), and the ``offset`` at which the run begins in it.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Trace
    >>> cwndlab.Link(trace=Trace("lte-driving", offset="30 s"), delay="20 ms").trace.offset
    '30 s'
    """

    file: str | None = None
    _: KW_ONLY
    text: str | None = None
    bytes: int | None = None
    offset: str | None = None


@dataclass(frozen=True, kw_only=True)
class DelayTrace(Table):
    """Recorded delays, a number of ms on each line of ``file`` or ``text``, each valid for ``interval``, as LeoReplayer
    has them beside a trace of the rate.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import DelayTrace
    >>> delays = DelayTrace(text="20\\n35\\n", interval="1 s")
    >>> cwndlab.Link(trace="satellite", delay="20 ms", delay_trace=delays).delay_trace.interval
    '1 s'
    """

    file: str | None = None
    text: str | None = None
    interval: str


@dataclass(frozen=True, kw_only=True)
class Reconfiguration(Table):
    """Hand-overs of a low-orbit satellite link, ``every`` 15 s by default: another rate and another delay, uniform
    between two ends and drawn by ``seed``, after an interruption of at most ``max_interruption``. After ``count``
    intervals the first one follows again.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Reconfiguration
    >>> hand_overs = Reconfiguration(min_rate="36 Mbps", max_rate="68 Mbps", min_delay="8 ms", max_delay="14 ms")
    >>> cwndlab.Link(delay="11 ms", reconfiguration=hand_overs).reconfiguration.max_delay
    '14 ms'
    """

    every: str | None = None
    min_rate: str | None = None
    max_rate: str | None = None
    min_delay: str
    max_delay: str | None = None
    max_interruption: str | None = None
    count: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class TokenBucket(Table):
    """Tokens at ``rate``, at most ``burst`` of them kept; a burst leaves at ``peak``, or in no time.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import TokenBucket
    >>> cwndlab.Link(token_bucket=TokenBucket(rate="10 Mbit/s", burst="15 kB"), delay="20 ms").token_bucket.burst
    '15 kB'
    """

    rate: str
    burst: str
    _: KW_ONLY
    peak: str | None = None


@dataclass(frozen=True)
class Police(Table):
    """The policer of the queue ``priority``: tokens at ``rate``, at most ``burst`` of them kept; a packet without
    tokens is in ``excess``: ``"drop"`` (the default) or ``"demote"``, best effort at this queue.

    Examples
    --------
    >>> from cwndlab.scenario import Police
    >>> from cwndlab.scenario.queues import Priority
    >>> Priority(police=Police(rate="1 Mbps", burst="12 kB")).to_document()
    {'kind': 'priority', 'police': {'rate': '1 Mbps', 'burst': '12 kB'}}
    """

    rate: str
    burst: str
    _: KW_ONLY
    excess: Literal["drop", "demote"] | None = None


@dataclass(frozen=True)
class Step(Table):
    """A step of a schedule: from ``at`` on this ``rate`` (0 is an outage), ``delay``, ``loss`` probability, mean of the
    ``wifi_jitter``, on a cell ``snr`` and the interruption by a ``handover``.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Step
    >>> outage = [Step("5 s", rate="0 Mbit/s"), Step("6 s", rate="10 Mbit/s")]
    >>> len(cwndlab.Link(rate="10 Mbit/s", schedule=outage).schedule)
    2
    """

    at: str
    _: KW_ONLY
    rate: str | None = None
    delay: str | None = None
    loss: float | None = None
    wifi_jitter: str | None = None
    snr: float | None = None
    handover: str | None = None


@dataclass(frozen=True)
class Harq(Table):
    """Retransmissions of a radio link: an attempt fails with ``probability`` (0.1), the next one is a ``round``
    (8 ms) later, at ``most`` 3.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Harq
    >>> cwndlab.Link(trace="lte-driving", delay="20 ms", harq=Harq()).harq.probability is None
    True
    """

    _: KW_ONLY
    probability: float | None = None
    round: str | None = None
    most: int | None = None


@dataclass(frozen=True)
class Link(Table):
    """A queue, a line and a wire. ``name``, ``from_``, ``to`` and ``duplex`` only in a graph of nodes.

    Parameters
    ----------
    name
        Unique name (default: ``FROM-TO``).
    from_
        Source node.
    to
        Destination node.
    duplex
        A link in the reverse direction with the same parameters is added, unless it is given (default:
        ``true``).
    rate
        Rate of the line; ``"none"``: zero serialisation time (default: zero serialisation time).
    trace
        Trace of delivery opportunities that the line follows.
    token_bucket
        Token bucket that limits the line.
    schedule
        Steps of rate, delay, its variation and loss.
    repeat
        Period of the schedule (default: no repetition).
    delay_trace
        Recorded delays that the link follows, in place of a schedule.
    reconfiguration
        Hand-overs of a low-orbit satellite link, in place of a schedule.
    harq
        Retransmissions of a radio link.
    delay
        Propagation delay, one way (default: ``"0 s"``).
    queue
        Queue of the link (default: drop-tail with a capacity of one bandwidth-delay product at a bottleneck,
        unlimited on access links).
    loss
        Loss models, applied in this order at the far end of the wire.
    jitter
        Delay variation.
    wifi_jitter
        Mean of the delay variation of bad Wi-Fi, with spikes of 90 ms; packets stay in order.
    duplicate
        Probability that a packet arrives twice (default: ``0.0``).
    admission
        Share of the rate that flows with ``reserve`` may have together; one that would exceed it is refused at
        its start (default: no admission control).
    agents
        Router agents: schemes in which the router writes feedback into packet headers.
    medium
        Medium of 802.11, in place of a line.
    mcs
        802.11n, 802.11ac, 802.11ax: modulation and coding scheme (default: the medium's).
    streams
        802.11n, 802.11ac, 802.11ax: spatial streams (default: the medium's).
    short_guard
        802.11n, 802.11ac: a guard interval of 400 ns (default: the medium's).
    guard_interval
        802.11ax: guard interval (default: the medium's).
    frame_error
        Probability that noise destroys a data frame (default: the medium's).
    cell
        Cell of LTE or NR, in place of a line.
    snr
        Mean signal-to-noise ratio on the cell, dB (required on a cell).
    fading
        Coherence time of Rayleigh fading on the cell (default: no fading).

    Examples
    --------
    >>> import cwndlab
    >>> link = cwndlab.Link(rate="10 Mbit/s", delay="10 ms", queue=cwndlab.DropTail("1 bdp"))
    >>> link.queue
    DropTail(capacity='1 bdp')
    """

    name: str | None = None
    _: KW_ONLY
    from_: str | None = None
    to: str | None = None
    duplex: bool | None = None
    rate: str | None = None
    trace: str | Trace | None = None
    """In place of ``rate``."""
    token_bucket: TokenBucket | None = None
    """In place of ``rate``."""
    schedule: Sequence[Step] | None = None
    repeat: str | None = None
    """Time after which the schedule begins anew."""
    delay_trace: DelayTrace | None = None
    reconfiguration: Reconfiguration | None = None
    """In place of ``schedule``."""
    harq: Harq | None = None
    delay: str | None = None
    queue: Queue | None = None
    loss: Loss | Sequence[Loss] | None = None
    jitter: Jitter | None = None
    wifi_jitter: str | None = None
    duplicate: float | None = None
    admission: float | None = None
    agents: Sequence[str | Agent] | None = None
    """Router agents of the link: ``["rcp", Abc(eta=0.95)]``."""
    medium: str | None = None
    """It is on this medium of 802.11; then ``mcs``, ``streams``, ``short_guard``, ``guard_interval`` or ``rate``, and
    ``frame_error``."""
    mcs: int | None = None
    streams: int | None = None
    short_guard: bool | None = None
    guard_interval: str | None = None
    frame_error: float | None = None
    cell: str | None = None
    """It is on this cell of LTE or NR; then with ``snr``, and ``fading`` if the channel varies."""
    snr: float | None = None
    fading: str | None = None


TABLES.update({"jitter": Jitter, "trace": Trace, "token_bucket": TokenBucket, "schedule": Step, "harq": Harq})
TABLES["delay_trace"] = DelayTrace
TABLES["reconfiguration"] = Reconfiguration
TABLES["police"] = Police


def __dir__() -> list[str]:
    return __all__
