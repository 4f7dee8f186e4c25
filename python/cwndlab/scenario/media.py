"""Media of 802.11: shared by the links of a graph that name them, or as a wireless LAN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cwndlab.scenario.queues import Queue
from cwndlab.scenario.schema_tables import TABLES, Table
from cwndlab.scenario.topology import Access

__all__ = ["AccessCategory", "Beacon", "Edca", "Medium", "Wlan", "WlanStation"]


@dataclass(frozen=True, kw_only=True)
class Beacon(Table):
    """A beacon every ``interval``, of ``size``, at 1 Mbit/s, or at 6 Mbit/s at 5 GHz."""

    interval: str
    size: str | None = None


@dataclass(frozen=True, kw_only=True)
class AccessCategory(Table):
    """Parameters of an access category, for stations and access point alike; ``None``: the category's own."""

    aifsn: int | None = None
    cw_min: int | None = None
    cw_max: int | None = None
    txop_limit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Edca(Table):
    """The four access categories of EDCA. ``dscp_mapping``, ``"rfc8325"`` or ``"precedence"``, gives the user priority
    of a packet. ``protection``, ``"single"`` or ``"multiple"``: duration fields reach to the end of the next exchange
    of a TXOP, or of its limit."""

    dscp_mapping: str
    protection: str | None = None
    background: AccessCategory | None = None
    best_effort: AccessCategory | None = None
    video: AccessCategory | None = None
    voice: AccessCategory | None = None


@dataclass(frozen=True, kw_only=True)
class _Radio(Table):
    """How frames are sent: at ``rate`` with 802.11g, by ``mcs``, ``streams``, ``short_guard`` with 802.11n and
    802.11ac, ``guard_interval`` with 802.11ax; and the probability ``frame_error`` that noise destroys one."""

    rate: str | None = None
    mcs: int | None = None
    streams: int | None = None
    short_guard: bool | None = None
    guard_interval: str | None = None
    frame_error: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Rules(_Radio):
    """What all stations of a medium obey; ``standard`` is ``"802.11g"``, ``"802.11n"``,
    ``"802.11ac"`` or ``"802.11ax"``.

    ``rts_above``: larger frames go behind an RTS. ``eifs``: bystanders of a collision wait an EIFS. ``keeps_turn``: a
    frame for an idle medium goes without a backoff, also if the medium turns busy before.
    """

    standard: str
    slot: str | None = None
    cw_min: int | None = None
    cw_max: int | None = None
    short_attempts: int | None = None
    long_attempts: int | None = None
    rts_above: str | None = None
    eifs: bool | None = None
    edca: str | Edca | None = None
    aggregation: bool | None = None
    keeps_turn: bool | None = None
    beacon: str | Beacon | None = None


@dataclass(frozen=True, kw_only=True)
class Medium(_Rules):
    """A medium of a graph, shared by the links that name it. ``access_point`` is the node that sends beacons, and
    has an access point's parameters of EDCA.

    The media with a ``channel`` form a neighbourhood, in which stations receive each other by power
    (``Scenario(propagation=…, received=…)``, ``Node(position=…)``). ``width`` is in MHz; ``rate_adaptation`` is
    ``"fixed"``, ``"ideal"`` or ``"minstrel"``; ``energy_detection``, ``block_ack_request`` and ``lifetime`` are rules
    of access; ``power_save`` is the time after which idle stations doze.
    """

    name: str
    access_point: str | None = None
    channel: int | None = None
    width: int | None = None
    rate_adaptation: str | None = None
    energy_detection: float | None = None
    block_ack_request: bool | None = None
    lifetime: str | None = None
    power_save: str | None = None


@dataclass(frozen=True, kw_only=True)
class Propagation(Table):
    """Path loss between positions: ``loss_at_1_m`` in dB, and the ``exponent`` of the distance."""

    loss_at_1_m: float | None = None
    exponent: float | None = None


@dataclass(frozen=True)
class Received(Table):
    """The power in ``dbm`` that node ``to`` receives from node ``from_``, in place of that by positions.

    Examples
    --------
    >>> from cwndlab.scenario import Received
    >>> Received("a", "ap", -60).dbm
    -60
    """

    from_: str
    to: str
    dbm: float


@dataclass(frozen=True, kw_only=True)
class WlanStation(_Radio):
    """What is particular to one station of a ``Wlan``; it holds for frames to it and from it."""


@dataclass(frozen=True, kw_only=True)
class Wlan(_Rules):
    """Servers — wires — access point ))) stations: one server and one station for each flow, in their order.

    A flow says ``rtt``, which is its wire's delay, and ``direction="download"`` or ``"upload"``. ``queue`` is the
    access point's, ``station_queue`` that of each station.
    """

    queue: Queue | None = None
    station_queue: Queue | None = None
    wire: Access | None = None
    stations: Sequence[WlanStation] | None = None


TABLES.update(
    {
        "wlan": Wlan,
        "media": Medium,
        "stations": WlanStation,
        "beacon": Beacon,
        "edca": Edca,
        "access_category": AccessCategory,
    }
)


def __dir__() -> list[str]:
    return __all__
