"""Which channel of the 2.4 GHz band overlaps least with the received networks.

Rule: channels are 5 MHz apart and 20 MHz wide (22 MHz of DSSS), and cells do not disturb each other from 25 MHz between
their centres on (IEEE 802.11-2016, clause 16, on the numbering of operating channels), so that channels less than five
apart overlap and 1, 6 and 11 do not. A candidate's load is the power received from all networks that overlap it, in
milliwatts, all of it however much they overlap; a network of 40 MHz stands on its secondary channel too. The
least load is chosen; of equal ones that with fewer networks, then the lowest channel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.live.preflight.wifi import Network

#: Channels of 20 MHz that do not overlap each other.
CANDIDATES = (1, 6, 11)
#: All that most countries allow.
ALL = tuple(range(1, 14))
#: Channels less far apart than this overlap.
APART = 5


@dataclass(frozen=True)
class Choice:
    """A candidate and what overlaps it."""

    channel: int
    frequency_mhz: int
    networks: int
    """Networks that overlap it, those without a known power included."""
    unknown: int
    """Of these, those without a known power, which the load does not have."""
    load_mw: float
    strongest_dbm: float | None
    least: bool = False
    """It is chosen."""

    def as_dict(self) -> dict[str, Any]:
        """In the order of `COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS}


#: Columns of a choice.
COLUMNS = ("channel", "frequency_mhz", "networks", "unknown", "load_mw", "strongest_dbm", "least")


def milliwatts(dbm: float) -> float:
    """Power of a level.

    >>> milliwatts(0.0), milliwatts(-30.0)
    (1.0, 0.001)
    """
    return math.pow(10.0, max(-300.0, min(300.0, dbm)) / 10)


def overlaps(network: Network, channel: int) -> bool:
    """Whether a network of the 2.4 GHz band overlaps a channel of it."""
    if network.band != "2.4 GHz" or network.channel is None:
        return False
    stands = {network.channel, network.channel + network.secondary}
    # Channel 14 is 12 MHz beyond 13 (2484 MHz), further than two steps.
    places = {2484 if one == 14 else 2407 + 5 * one for one in stands}
    return any(abs(place - (2407 + 5 * channel)) < 5 * APART for place in places)


def least_overlapped(networks: Iterable[Network], candidates: Sequence[int] = CANDIDATES) -> list[Choice]:
    """A choice per candidate, in their order. The network that this machine is joined to does not count: it is the one
    whose channel is to be chosen."""
    received = [network for network in networks if not network.associated]
    result = []
    for channel in candidates:
        there = [network for network in received if overlaps(network, channel)]
        levels = [network.signal_dbm for network in there if network.signal_dbm is not None]
        load = sum(sorted(milliwatts(level) for level in levels))  # in an order of its own: the sum is that of the set
        strongest = max(levels, default=None)
        result.append(
            Choice(channel, 2407 + 5 * channel, len(there), len(there) - len(levels), load, strongest),
        )
    best = min(result, key=lambda one: (one.load_mw, one.networks, one.channel), default=None)
    return [Choice(**{**one.__dict__, "least": one is best}) for one in result]
