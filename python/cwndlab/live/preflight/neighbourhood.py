"""A Wi-Fi survey as a scenario: the own cell, the neighbours' cells on their channels, and the comparison of channels.

A survey has the power of each access point at this machine, and sometimes how busy its channel is. Everything else is
an assumption, which the scenario states in comments and its reader can change: the distance follows from the power by
log-distance loss (exponent 3, as ns-3's default), directions are spread by the golden angle, each neighbour has one
station beside its access point, which receives datagrams for a share of the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cwndlab.errors import Fault, ScenarioError
from cwndlab.live.preflight.channels import CANDIDATES, milliwatts
from cwndlab.live.preflight.wifi import Network, printable

#: Loss at 1 m by band, dB: free space at 2437 and 5180 MHz; ns-3's exponent.
_LOSS_AT_1_M = {"2.4 GHz": 40.05, "5 GHz": 46.68}
_EXPONENT = 3.0
#: EIRP that the EU allows at 2.4 GHz, dBm, and ns-3's default of a station.
_ACCESS_POINT_DBM, _STATION_DBM = 20, 16
#: From a neighbour's access point to its station, m.
_STATION_M = 5
#: Share of the time in which a neighbour sends, if the survey does not have it.
_BUSY = 0.1
#: Mbit/s of frames of 1500 bytes at MCS 7 that are sent alone: 382.5 µs each.
_SINGLE_MBPS = 31.4
#: Powers of one device's networks differ by less, dB.
_ONE_DEVICE_DB = 6
_GOLDEN = math.pi * (3 - math.sqrt(5))


def neighbourhood_scenario(
    networks: Iterable[Network],
    candidates: Sequence[int] = CANDIDATES,
    *,
    where: str = "wifi",
    file: str = "neighbourhood.toml",
) -> str:
    """The scenario, in TOML with comments, of which the first one is a command that compares channels and algorithms.

    Parameters
    ----------
    networks
        What was received. The network that the machine is joined to is the own one; without a mark, the own cell is in
        the 2.4 GHz band, 5 m from its access point.
    candidates
        Channels of the 2.4 GHz band to compare. In the 5 GHz band they are those on which something was received.
    where
        Names the survey in errors.
    file
        Name of the scenario in the command.

    Raises
    ------
    ScenarioError
        If no network with a known channel and power is received in the band of the own one, or that one is in another
        band or on channel 14, which is not modelled.
    """
    known = [one for one in networks if one.channel is not None and one.signal_dbm is not None]
    own = next((one for one in known if one.associated), None)
    band = "2.4 GHz" if own is None else own.band
    if band not in _LOSS_AT_1_M:
        raise ScenarioError(Fault(where, f"the own network is at {band}", "only 2.4 GHz and 5 GHz are modelled"))
    if own is not None and own.channel == 14:
        raise ScenarioError(
            Fault(where, "the own network is on channel 14", "channel 14 is for 802.11b only: take 1 to 13")
        )
    others = _devices([one for one in known if one.band == band and one is not own and one.channel != 14], own)
    if own is None and not others:
        hint = f"a survey with a network at {band}, its channel and its signal"
        raise ScenarioError(Fault(where, f"no network at {band} has a channel and a power", hint))
    if band == "5 GHz":
        candidates = sorted({one.channel for one in [*others, *([own] if own else [])] if one.channel is not None})
    channel = own.channel if own is not None and own.channel is not None else candidates[0]
    metres = 5.0 if own is None or own.signal_dbm is None else distance_m(own.signal_dbm, band)
    compared = sorted({*candidates, channel}) if band == "2.4 GHz" else list(candidates)
    parts = [_head(own, others, band, _comparison(file, compared)), _own(channel, metres)]
    return "".join([*parts, *(_neighbour(number, one, band) for number, one in enumerate(others, 1))])


def distance_m(signal_dbm: float, band: str) -> float:
    """Distance of an access point whose power at this machine is known, at least 1 m.

    >>> round(distance_m(-70.05, "2.4 GHz"), 1), distance_m(-10, "2.4 GHz")
    (46.4, 1.0)
    """
    return float(max(1.0, 10 ** ((_ACCESS_POINT_DBM - signal_dbm - _LOSS_AT_1_M[band]) / (10 * _EXPONENT))))


def _devices(networks: list[Network], own: Network | None) -> list[Network]:
    """One network per device, the strongest first. Networks of a device are on one channel, at nearly one power, and
    their BSSIDs differ in the first or the last octet only."""

    def is_same(one: Network, other: Network) -> bool:
        if one.channel != other.channel or one.bssid is None or other.bssid is None:
            return False
        near = abs((one.signal_dbm or 0) - (other.signal_dbm or 0)) < _ONE_DEVICE_DB
        return near and one.bssid[3:14] == other.bssid[3:14]

    found: list[Network] = []
    for one in sorted(networks, key=lambda one: (-(one.signal_dbm or 0), one.bssid or "", one.ssid or "")):
        if not any(is_same(one, other) for other in [*found, *([own] if own else [])]):
            found.append(one)
    shared = {one.channel: sum(1 for other in found if other.channel == one.channel) for one in found}
    # A busy channel is busy by all that use it.
    return [
        replace(one, utilisation=None if one.utilisation is None else one.utilisation / shared[one.channel])
        for one in found
    ]


def _comment(name: str | None) -> str:
    return printable(name) if name else "a hidden network"


def _head(own: Network | None, others: Sequence[Network], band: str, command: str) -> str:
    mine = "the own network is not marked: 5 m from its access point" if own is None else _comment(own.ssid)
    total = sum(milliwatts(one.signal_dbm or -300) for one in others)
    others_said = f"{len(others)} other access point{'s' * (len(others) != 1)}"
    level = f", together {10 * math.log10(total):.0f} dBm here" if total > 0 else ""
    return f"""\
# The neighbourhood of a Wi-Fi survey at {band}: {mine}; {others_said}{level}.
# Known: channels and received powers, the load of neighbours where a comment says so.
# Assumed: access points send with {_ACCESS_POINT_DBM} dBm, stations with {_STATION_DBM}; loss by distance with the
# exponent {_EXPONENT:g}; directions; one station, {_STATION_M} m from its access point, for each neighbour; 20 MHz.
# Correct what you know to be otherwise.
# Which channel, and which algorithm:
#   {command}
schema_version = 1
title = "a Wi-Fi neighbourhood"
duration = "30 s"
start_jitter = "1 s"
"""


def _own(channel: int, metres: float) -> str:
    return f"""
[[medium]]
name = "own"
standard = "802.11n"
access_point = "ap"
channel = {channel}
rate_adaptation = "minstrel"

[[node]]
name = "server"

[[node]]
name = "client"
position = [0, 0]
transmit_power = {_STATION_DBM}

[[node]]
name = "ap"
position = [{metres:.1f}, 0]
transmit_power = {_ACCESS_POINT_DBM}

[[link]]
from = "server"
to = "ap"
rate = "1 Gbps"
delay = "10 ms"

[[link]]
from = "ap"
to = "client"
medium = "own"
queue = {{ kind = "droptail", capacity = "300 packets" }}

[[flow]]
name = "download"
algorithm = "cubic"
from = "server"
to = "client"
"""


def _neighbour(number: int, one: Network, band: str) -> str:
    assert one.signal_dbm is not None
    metres, angle = distance_m(one.signal_dbm, band), number * _GOLDEN
    x, y = metres * math.cos(angle), metres * math.sin(angle)
    busy = _BUSY if one.utilisation is None else one.utilisation
    told = "assumed" if one.utilisation is None else "of its BSS load"
    name = f"neighbour-{number}"
    return f"""
# {_comment(one.ssid)}, {one.signal_dbm:.0f} dBm: {metres:.0f} m. It sends for {busy:.0%} of the time ({told}).
[[medium]]
name = "{name}"
standard = "802.11n"
access_point = "{name}-ap"
channel = {one.channel}
rate_adaptation = "minstrel"

[[node]]
name = "{name}-ap"
position = [{x:.1f}, {y:.1f}]
transmit_power = {_ACCESS_POINT_DBM}

[[node]]
name = "{name}-station"
position = [{x - _STATION_M * math.sin(angle):.1f}, {y + _STATION_M * math.cos(angle):.1f}]
transmit_power = {_STATION_DBM}

[[link]]
from = "{name}-ap"
to = "{name}-station"
medium = "{name}"
queue = {{ kind = "droptail", capacity = "300 packets" }}

[[flow]]
name = "{name}"
from = "{name}-ap"
to = "{name}-station"
transport = "udp"
workload = {{ kind = "cbr", rate = "{max(busy, 0.001) * _SINGLE_MBPS:.2f} Mbps", packet = "1500 B" }}
"""


def _comparison(file: str, channels: Sequence[int]) -> str:
    """The command that compares channels and algorithms."""
    alternatives = " ".join(f"--alternative 'channel.{one}:medium[0].channel={one}'" for one in channels)
    return (
        f"cwndlab compare {file} --algorithms cubic,bbr3 --flows download {alternatives} --by channel --repetitions 5"
    )
