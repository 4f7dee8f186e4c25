"""Workloads of flows, and distributions of sizes and times, one class each.

Made by ``tools/declared_files.py`` from the declarations in ``crates/traffic/src/``: change those and run
``make docs``. A field left at ``None`` takes its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from cwndlab.scenario.tables import KINDS, Table

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
    "PageLoads",
    "Pareto",
    "RequestResponse",
    "Transfers",
    "Uniform",
    "Vbr",
    "Workload",
]


@dataclass(frozen=True)
class Distribution(Table):
    """The distribution of a size or a time: ``size=LogNormal(median="12 kB", sigma=1.4)``."""

    FIELD: ClassVar[str] = "distribution"


@dataclass(frozen=True, kw_only=True)
class Uniform(Distribution):
    """Uniform between two bounds.

    Parameters
    ----------
    min
        Lower bound (default: zero).
    max
        Upper bound.
    """

    KIND: ClassVar[str] = "uniform"
    min: str | None = None
    max: str


@dataclass(frozen=True)
class Exponential(Distribution):
    """Exponential.

    Parameters
    ----------
    mean
        Mean.
    """

    KIND: ClassVar[str] = "exponential"
    mean: str


@dataclass(frozen=True)
class Pareto(Distribution):
    """Pareto, by its mean, or by a lower and an optional upper bound.

    Parameters
    ----------
    shape
        Tail index.
    mean
        Mean; requires a tail index above 1.
    min
        Lower bound.
    max
        Upper bound (bounded Pareto) (default: unbounded).
    """

    KIND: ClassVar[str] = "pareto"
    shape: float
    _: KW_ONLY
    mean: str | None = None
    min: str | None = None
    max: str | None = None


@dataclass(frozen=True)
class LogNormal(Distribution):
    """Log-normal, by mean and coefficient of variation, or by median and sigma.

    Parameters
    ----------
    mean
        Mean.
    cv
        Coefficient of variation: standard deviation over mean.
    median
        Median, in place of the mean.
    sigma
        Standard deviation of the logarithm, together with the median.
    """

    KIND: ClassVar[str] = "log-normal"
    mean: str | None = None
    _: KW_ONLY
    cv: float | None = None
    median: str | None = None
    sigma: float | None = None


@dataclass(frozen=True)
class Gamma(Distribution):
    """Gamma.

    Parameters
    ----------
    mean
        Mean.
    cv
        Coefficient of variation.
    """

    KIND: ClassVar[str] = "gamma"
    mean: str
    _: KW_ONLY
    cv: float


@dataclass(frozen=True)
class Cdf(Distribution):
    """A cumulative distribution function by points, with linear interpolation.

    Parameters
    ----------
    points
        Ascending points (value, P(X ≤ value)), the last with probability 1 (default: the points in ``file``).
    file
        File with two columns, in place of ``points``.
    """

    KIND: ClassVar[str] = "cdf"
    points: Sequence[tuple[str | float, float]] | None = None
    _: KW_ONLY
    file: str | None = None


for _field in ("main", "object", "off", "on", "parse", "payload", "request", "response", "size", "start_step", "think"):
    KINDS[_field] = KINDS[Distribution.FIELD]


@dataclass(frozen=True)
class Workload(Table):
    """The workload of a flow."""

    FIELD: ClassVar[str] = "workload"


@dataclass(frozen=True)
class Bulk(Workload):
    """Unlimited data, or a given amount (TCP).

    Parameters
    ----------
    bytes
        Amount of data (default: unlimited).
    """

    KIND: ClassVar[str] = "bulk"
    bytes: str | None = None


@dataclass(frozen=True)
class OnOff(Workload):
    """Alternating active (``on``) and silent (``off``) periods (TCP, UDP). In active periods TCP sends unlimited
    data, UDP evenly spaced packets at ``rate``. The active time since the last packet carries over to the next
    active period, so that the mean rate is ``rate`` × on / (on + off) for any length of the periods.

    Parameters
    ----------
    on
        Lengths of active periods.
    off
        Lengths of silent periods.
    rate
        UDP: rate in active periods, headers included (default: required over UDP).
    packet
        UDP: size of a packet, headers included (default: 1500 B over UDP).
    """

    KIND: ClassVar[str] = "on-off"
    on: str | Distribution
    _: KW_ONLY
    off: str | Distribution
    rate: str | None = None
    packet: str | None = None


@dataclass(frozen=True)
class Transfers(Workload):
    """Consecutive transfers, each ``gap`` after the last acknowledgement of the previous one (TCP).

    Parameters
    ----------
    bytes
        Size of a transfer.
    count
        Total number (default: unlimited).
    gap
        Time from the last acknowledgement of a transfer to the start of the next one (default: ``"0 s"``).
    new_connection
        A separate connection for each (default: ``false``).
    """

    KIND: ClassVar[str] = "transfers"
    bytes: str
    _: KW_ONLY
    count: int | None = None
    gap: str | None = None
    new_connection: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Arrivals(Workload):
    """A Poisson process of transfers, each over a new connection with handshake and slow start, independent of the
    number of active transfers: open loop (TCP). ``load`` includes the headers of segments and the SYNs. An arrival
    is refused, with an event ``refused``, while ``connections`` transfers are active.

    Parameters
    ----------
    per_second
        Arrivals per second (default: computed from ``load``).
    load
        Offered load as a share of the slowest line of the forward route, headers included (default: given by
        ``per_second``).
    size
        Sizes of the transfers.
    count
        Total number (default: unlimited).
    connections
        Maximum number of simultaneous connections; further arrivals are refused (default: ``10000``).
    """

    KIND: ClassVar[str] = "arrivals"
    per_second: float | None = None
    load: float | None = None
    size: str | Distribution
    count: int | None = None
    connections: int | None = None


@dataclass(frozen=True)
class RequestResponse(Workload):
    """Requests and responses. The flow's receiver is the client: requests travel against the flow's direction,
    responses in it (TCP).

    Parameters
    ----------
    request
        Sizes of requests.
    response
        Sizes of responses.
    think
        Time from the end of a response to the next request (default: ``"0 s"``).
    count
        Total number (default: unlimited).
    new_connection
        A separate connection for each (default: ``false``).
    """

    KIND: ClassVar[str] = "request-response"
    request: str | Distribution
    _: KW_ONLY
    response: str | Distribution
    think: str | Distribution | None = None
    count: int | None = None
    new_connection: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Mqtt(Workload):
    """A sensor that publishes messages to a broker (TCP): CONNECT and CONNACK, then a PUBLISH every ``period``,
    acknowledged by a PUBACK with QoS 1, and a PINGREQ and PINGRESP after an idle time of ``keep_alive``. Packet
    sizes are those of MQTT 3.1.1 (2.2.3, 3.1 to 3.4, 3.12, 3.13), without will, user and password.

    Parameters
    ----------
    qos
        0: at most once; 1: at least once, acknowledged by a PUBACK (default: ``0``).
    payload
        Payload of a message (default: uniform from 128 B to 1024 B).
    period
        Time between two messages.
    jitter
        Maximum of the uniform random delay of each message (default: ``"0 s"``).
    topic
        Length of the topic name, bytes (default: ``20``).
    client
        Length of the client identifier, bytes (default: ``23``).
    keep_alive
        Maximum idle time before a PINGREQ; zero disables PINGREQ (default: ``"60 s"``).
    nagle
        Nagle's algorithm: a small segment waits while other data are unacknowledged (RFC 9293, 3.7.4) (default:
        ``false``).
    """

    KIND: ClassVar[str] = "mqtt"
    qos: int | None = None
    payload: str | Distribution | None = None
    period: str
    jitter: str | None = None
    topic: int | None = None
    client: int | None = None
    keep_alive: str | None = None
    nagle: bool | None = None


@dataclass(frozen=True)
class Cbr(Workload):
    """Constant bit rate: evenly spaced packets of one size (UDP).

    Parameters
    ----------
    rate
        Rate, headers included.
    packet
        Size of a packet, headers included (default: ``"1500 B"``).
    """

    KIND: ClassVar[str] = "cbr"
    rate: str
    _: KW_ONLY
    packet: str | None = None


@dataclass(frozen=True)
class Vbr(Workload):
    """Video: frames at constant intervals, with independent random sizes of mean ``rate`` / ``frame_rate``. A frame
    is sent as a burst of packets of ``packet`` bytes (UDP). The other common model of a variable rate, exponential
    bursts, is ``on-off`` with exponential periods.

    Parameters
    ----------
    rate
        Rate, headers included.
    packet
        Size of a packet, headers included (default: ``"1500 B"``).
    frame_rate
        Frames per second (default: ``25.0``).
    cv
        Coefficient of variation of the frame sizes (default: ``0.5``).
    sizes
        Distribution of the frame sizes (default: ``"log-normal"``).
    """

    KIND: ClassVar[str] = "vbr"
    rate: str
    _: KW_ONLY
    packet: str | None = None
    frame_rate: float | None = None
    cv: float | None = None
    sizes: Literal["log-normal", "gamma"] | None = None


@dataclass(frozen=True)
class PageLoads(Workload):
    """Page loads over HTTP/2: the flow's receiver is the browser. It requests the main object of a page, parses it,
    requests all embedded objects at once, multiplexed over one connection (frames of RFC 9113), and waits for a
    think time before the next page. A transfer is a page. The default distributions are from the web browsing model
    of IEEE 802.16m-08/004r5 (TCP).

    Parameters
    ----------
    main
        Sizes of main objects (default: log-normal: mean 10710 B, standard deviation 25032 B).
    object
        Sizes of embedded objects (default: log-normal: mean 7758 B, standard deviation 126168 B).
    objects
        Number of embedded objects of a page (default: Pareto of index 1.1 from 2 to 55, minus 2).
    largest
        Maximum size of an object; larger draws are limited to it (default: ``"2 MB"``).
    request
        Size of a request (rounded) (default: ``"400 B"``).
    parse
        Time from the main object to the requests for the embedded objects (default: exponential: mean 130 ms).
    think
        Time from the end of a page to the request for the next one (default: exponential: mean 30 s).
    count
        Total number (default: unlimited).
    new_connection
        A separate connection for each (default: ``false``).
    """

    KIND: ClassVar[str] = "page-loads"
    main: str | Distribution | None = None
    _: KW_ONLY
    object: str | Distribution | None = None
    objects: int | None = None
    largest: str | None = None
    request: str | None = None
    parse: str | Distribution | None = None
    think: str | Distribution | None = None
    count: int | None = None
    new_connection: bool | None = None


def __dir__() -> list[str]:
    return __all__
