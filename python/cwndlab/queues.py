"""Queues and their disciplines; where a field is left at ``None``, ``docs/scenario.md`` has the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cwndlab.tables import Table

__all__ = ["Ared", "Codel", "DropTail", "DualPi2", "Fq", "FqCodel", "FqPie", "Pie", "Queue", "Red", "StepEcn"]


@dataclass(frozen=True)
class Queue(Table):
    """What waits in front of a line.

    ``capacity``: ``"100 packets"``, ``"64 KiB"``, ``"20 ms"``, ``"0.5 bdp"``, ``"0.5 bdp(50 ms)"`` or ``"unlimited"``.
    """

    FIELD: ClassVar[str] = "queue"
    capacity: str | None = None


@dataclass(frozen=True, kw_only=True)
class DropTail(Queue):
    """First in, first out; what does not fit is dropped. ``counts_in_service``: the packet in service counts."""

    KIND: ClassVar[str] = "droptail"
    counts_in_service: bool | None = None


@dataclass(frozen=True, kw_only=True)
class StepEcn(Queue):
    """Drop-tail that marks ECN-capable packets which find more than ``mark_above`` packets waiting (DCTCP)."""

    KIND: ClassVar[str] = "step-ecn"
    mark_above: int
    counts_in_service: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Red(Queue):
    """Random early detection: thresholds in packets, numbers or ``"auto"`` (Floyd and Jacobson 1993)."""

    KIND: ClassVar[str] = "red"
    weight: float | Literal["auto"] | None = None
    min_th: float | Literal["auto"] | None = None
    max_th: float | Literal["auto"] | None = None
    max_p: float | None = None
    gentle: bool | None = None
    wait: bool | None = None
    ecn: bool | None = None
    target: str | None = None
    mean_packet: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ared(Red):
    """Adaptive RED: ``max_p`` moves every ``interval`` (Floyd, Gummadi, Shenker 2001)."""

    KIND: ClassVar[str] = "ared"
    interval: str | None = None


@dataclass(frozen=True, kw_only=True)
class Codel(Queue):
    """Controlled delay (RFC 8289)."""

    KIND: ClassVar[str] = "codel"
    target: str | None = None
    interval: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Pie(Queue):
    """Proportional integral controller enhanced (RFC 8033)."""

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
    """Two coupled queues for classic and scalable senders (RFC 9332)."""

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
    """A queue per flow, served in turn by deficit round robin."""

    KIND: ClassVar[str] = "fq"
    quantum: str | None = None
    batch: int | None = None


@dataclass(frozen=True, kw_only=True)
class FqCodel(Codel):
    """Fair queueing with CoDel in each queue (RFC 8290)."""

    KIND: ClassVar[str] = "fq-codel"
    queues: int | None = None
    quantum: str | None = None
    batch: int | None = None


@dataclass(frozen=True, kw_only=True)
class FqPie(Pie):
    """Fair queueing with PIE in each queue."""

    KIND: ClassVar[str] = "fq-pie"
    queues: int | None = None
    quantum: str | None = None
    batch: int | None = None


def __dir__() -> list[str]:
    return __all__
