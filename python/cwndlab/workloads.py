"""What flows send; where a field is left at ``None``, ``docs/scenario.md`` has the default.

Sizes and times are text with a unit, or a distribution: ``size=LogNormal(median="12 kB", sigma=1.4)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from cwndlab.tables import KINDS, Table

__all__ = [
    "Arrivals",
    "Bulk",
    "Cbr",
    "Cdf",
    "Distribution",
    "Exponential",
    "Gamma",
    "LogNormal",
    "Mqtt",
    "OnOff",
    "Pareto",
    "RequestResponse",
    "Transfers",
    "Uniform",
    "Vbr",
    "Workload",
]


@dataclass(frozen=True)
class Distribution(Table):
    """What a size or a time is drawn from."""

    FIELD: ClassVar[str] = "distribution"


@dataclass(frozen=True, kw_only=True)
class Uniform(Distribution):
    """Even from ``min`` to ``max``."""

    KIND: ClassVar[str] = "uniform"
    min: str | None = None
    max: str


@dataclass(frozen=True, kw_only=True)
class Exponential(Distribution):
    """Exponential with this mean."""

    KIND: ClassVar[str] = "exponential"
    mean: str


@dataclass(frozen=True, kw_only=True)
class Pareto(Distribution):
    """P(X > x) = (min / x)^shape: by ``mean`` (for a shape above 1), or by ``min`` and, where bounded, ``max``."""

    KIND: ClassVar[str] = "pareto"
    shape: float
    mean: str | None = None
    min: str | None = None
    max: str | None = None


@dataclass(frozen=True, kw_only=True)
class LogNormal(Distribution):
    """Log-normal: by ``median`` and ``sigma`` (of the logarithm), or by ``mean`` and ``cv`` (deviation over mean)."""

    KIND: ClassVar[str] = "log-normal"
    median: str | None = None
    sigma: float | None = None
    mean: str | None = None
    cv: float | None = None


@dataclass(frozen=True, kw_only=True)
class Gamma(Distribution):
    """Gamma by mean and ``cv`` (deviation over mean)."""

    KIND: ClassVar[str] = "gamma"
    mean: str
    cv: float


@dataclass(frozen=True)
class Cdf(Distribution):
    """A distribution function: ``points`` of (value, P(X ≤ value)), ascending, straight between them; or a ``file`` of
    two columns, bytes and probability."""

    KIND: ClassVar[str] = "cdf"
    points: Sequence[Sequence[str | float]] | None = None
    file: str | None = None


# Where distributions may stand.
for _field in ("on", "off", "size", "request", "response", "think", "payload", "start_step"):
    KINDS[_field] = KINDS[Distribution.FIELD]


@dataclass(frozen=True)
class Workload(Table):
    """What a flow sends, and when."""

    FIELD: ClassVar[str] = "workload"


@dataclass(frozen=True)
class Bulk(Workload):
    """As much as possible, or ``bytes`` of it."""

    KIND: ClassVar[str] = "bulk"
    bytes: str | None = None


@dataclass(frozen=True, kw_only=True)
class OnOff(Workload):
    """Active for ``on``, then silent for ``off``, and so on: over TCP as much as possible, over UDP packets of
    ``packet`` bytes at ``rate``."""

    KIND: ClassVar[str] = "on-off"
    on: str | Distribution
    off: str | Distribution
    rate: str | None = None
    packet: str | None = None


@dataclass(frozen=True)
class Transfers(Workload):
    """``count`` transfers of ``bytes`` each, ``gap`` after the one before; over one connection unless told
    otherwise."""

    KIND: ClassVar[str] = "transfers"
    bytes: str
    _: KW_ONLY
    count: int | None = None
    gap: str | None = None
    new_connection: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Arrivals(Workload):
    """Transfers that arrive as a Poisson process, each over a connection of its own (open loop).

    Either ``per_second``, or ``load`` as a share of the slowest line; at most ``connections`` at the same time.
    """

    KIND: ClassVar[str] = "arrivals"
    size: str | Distribution
    per_second: float | None = None
    load: float | None = None
    count: int | None = None
    connections: int | None = None


@dataclass(frozen=True, kw_only=True)
class RequestResponse(Workload):
    """The receiver asks, the sender answers, the receiver thinks and asks again."""

    KIND: ClassVar[str] = "request-response"
    request: str | Distribution
    response: str | Distribution
    think: str | Distribution | None = None
    count: int | None = None
    new_connection: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Mqtt(Workload):
    """A sensor that publishes messages to a broker (MQTT 3.1.1); ``topic`` and ``client`` are lengths in bytes."""

    KIND: ClassVar[str] = "mqtt"
    period: str
    qos: Literal[0, 1] | None = None
    payload: str | Distribution | None = None
    jitter: str | None = None
    topic: int | None = None
    client: int | None = None
    keep_alive: str | None = None
    nagle: bool | None = None


@dataclass(frozen=True)
class Cbr(Workload):
    """Datagrams of ``packet`` bytes, evenly spaced at ``rate``; both count headers (UDP)."""

    KIND: ClassVar[str] = "cbr"
    rate: str
    packet: str | None = None


@dataclass(frozen=True, kw_only=True)
class Vbr(Workload):
    """Video: ``frame_rate`` frames a second of random size, ``rate`` on average (UDP)."""

    KIND: ClassVar[str] = "vbr"
    rate: str
    packet: str | None = None
    frame_rate: float | None = None
    cv: float | None = None
    sizes: Literal["log-normal", "gamma"] | None = None


def __dir__() -> list[str]:
    return __all__
