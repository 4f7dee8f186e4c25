"""What flows send, and the distributions that sizes and times are drawn from, one class each.

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
    """What a size or a time is drawn from: ``size=LogNormal(median="12 kB", sigma=1.4)``."""

    FIELD: ClassVar[str] = "distribution"


@dataclass(frozen=True, kw_only=True)
class Uniform(Distribution):
    """Even between two bounds.

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
    """Pareto, with either a mean, or a lower bound and perhaps an upper one.

    Parameters
    ----------
    shape
        Tail index.
    mean
        Mean; takes a tail index above 1.
    min
        Smallest value.
    max
        Largest value (bounded Pareto) (default: without bound).
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
        Standard deviation of the logarithm, beside the median.
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
    """A distribution function by points, straight between them.

    Parameters
    ----------
    points
        Ascending points (value, P(X ≤ value)), the last with probability 1 (default: those in ``file``).
    file
        A file of two columns, read in place of ``points``.
    """

    KIND: ClassVar[str] = "cdf"
    points: Sequence[tuple[str | float, float]] | None = None
    _: KW_ONLY
    file: str | None = None


for _field in ("main", "object", "off", "on", "parse", "payload", "request", "response", "size", "start_step", "think"):
    KINDS[_field] = KINDS[Distribution.FIELD]


@dataclass(frozen=True)
class Workload(Table):
    """What a flow sends, and when."""

    FIELD: ClassVar[str] = "workload"


@dataclass(frozen=True)
class Bulk(Workload):
    """As much as possible (TCP).

    Parameters
    ----------
    bytes
        How much (default: without end).
    """

    KIND: ClassVar[str] = "bulk"
    bytes: str | None = None


@dataclass(frozen=True)
class OnOff(Workload):
    """Active for ``on``, silent for ``off``, and so on (TCP, UDP). TCP sends as much as possible while active, UDP
    evenly spaced packets at ``rate``; the time since the last packet is carried over a silence, so that the mean
    rate is ``rate`` × on / (on + off) however short the periods.

    Parameters
    ----------
    on
        Lengths of active periods.
    off
        Lengths of silent periods.
    rate
        UDP: rate while active, headers included (default: required over UDP).
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
    """One transfer after another, the next one ``gap`` after the last was acknowledged (TCP).

    Parameters
    ----------
    bytes
        Size of each.
    count
        How many (default: without end).
    gap
        From the last acknowledgement of one to the start of the next (default: ``"0 s"``).
    new_connection
        Each over a connection of its own (default: ``false``).
    """

    KIND: ClassVar[str] = "transfers"
    bytes: str
    _: KW_ONLY
    count: int | None = None
    gap: str | None = None
    new_connection: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Arrivals(Workload):
    """A Poisson process of transfers, each over a connection of its own with handshake and slow start, however many
    there are: open loop (TCP). ``load`` counts the headers of the transfers' segments and their SYNs. A transfer
    that finds ``connections`` others under way is refused: an event ``refused``.

    Parameters
    ----------
    per_second
        Arrivals per second (default: by ``load``).
    load
        Offered load as a share of the slowest line of the forward route, headers included (default: by
        ``per_second``).
    size
        Sizes of the transfers.
    count
        How many (default: without end).
    connections
        Connections at the same time at most; further arrivals are refused (default: ``10000``).
    """

    KIND: ClassVar[str] = "arrivals"
    per_second: float | None = None
    load: float | None = None
    size: str | Distribution
    count: int | None = None
    connections: int | None = None


@dataclass(frozen=True)
class RequestResponse(Workload):
    """The flow's receiver is the client: its request goes against the flow's direction, the response in it (TCP).

    Parameters
    ----------
    request
        Sizes of requests.
    response
        Sizes of responses.
    think
        From the end of a response to the next request (default: ``"0 s"``).
    count
        How many (default: without end).
    new_connection
        Each over a connection of its own (default: ``false``).
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
    """A sensor that publishes messages to a broker (TCP): CONNECT, CONNACK, then a PUBLISH every ``period``, with
    QoS 1 acknowledged by a PUBACK; a PINGREQ and PINGRESP after ``keep_alive`` of silence. Packet sizes are those
    of MQTT 3.1.1 (2.2.3, 3.1 to 3.4, 3.12, 3.13), without will, user and password.

    Parameters
    ----------
    qos
        0: at most once; 1: at least once, acknowledged by a PUBACK (default: ``0``).
    payload
        Payload of a message (default: even from 128 B to 1024 B).
    period
        From one message to the next.
    jitter
        Each message is later by a uniform draw from [0, this) (default: ``"0 s"``).
    topic
        Bytes of the topic's name (default: ``20``).
    client
        Bytes of the client's identifier (default: ``23``).
    keep_alive
        The longest silence before a PINGREQ; zero sends none (default: ``"60 s"``).
    nagle
        Nagle's algorithm holds back small segments while others are not acknowledged (RFC 9293, 3.7.4)
        (default: ``false``).
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
    """Packets of one size, evenly spaced (UDP).

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
    """Video: frames at even intervals, independent of each other, of random size with mean ``rate`` /
    ``frame_rate``; a frame leaves at once in packets of ``packet`` bytes (UDP). The other usual model of variable
    rate, exponential bursts, is ``on-off`` with exponential periods.

    Parameters
    ----------
    rate
        Rate, headers included.
    packet
        Size of a packet, headers included (default: ``"1500 B"``).
    frame_rate
        Frames per second (default: ``25.0``).
    cv
        Coefficient of variation of a frame's size (default: ``0.5``).
    sizes
        Distribution of a frame's size (default: ``"log-normal"``).
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
    """Page loads over HTTP/2: the flow's receiver is the browser. It requests a page's main object, parses it,
    requests all objects in it at once, multiplexed over the one connection (frames of RFC 9113), and thinks before
    the next page; a transfer is a page. The distributions are those of the web browsing model of IEEE
    802.16m-08/004r5 (TCP).

    Parameters
    ----------
    main
        Sizes of main objects (default: log-normal: mean 10710 B, standard deviation 25032 B).
    object
        Sizes of the objects in a page (default: log-normal: mean 7758 B, standard deviation 126168 B).
    objects
        How many objects are in a page (default: Pareto of index 1.1 from 2 to 55, less 2).
    largest
        No object is larger: draws above this are cut (default: ``"2 MB"``).
    request
        Size of each request (a round figure) (default: ``"400 B"``).
    parse
        From the main object to the requests for the others (default: exponential: mean 130 ms).
    think
        From the end of a page to the next one (default: exponential: mean 30 s).
    count
        How many (default: without end).
    new_connection
        Each over a connection of its own (default: ``false``).
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
