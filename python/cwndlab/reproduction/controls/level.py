"""Whether flows are starved: what they get of a fair share of their bottleneck, and how much they send twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.metrics.core import MeasuredRun
from cwndlab.metrics.sharing import media
from cwndlab.reproduction.claims import Asked, Claim, Greater, Less, RatioIn, Welch

if TYPE_CHECKING:
    from cwndlab.records import Records
    from cwndlab.reproduction.cases import Labels
    from cwndlab.reproduction.measured import Measured

#: Below this part of a fair share, or with more than this part of the packets sent again, flows are starved.
LEAST_SHARE, MOST_REPEATED = 0.05, 1 / 3


class Level(NamedTuple):
    """The level of some flows of a run."""

    share: float
    """Their delivered bytes / the bytes of an equal share of their bottlenecks."""
    repeated: float
    """Retransmitted packets / packets sent."""

    @property
    def is_starved(self) -> bool:
        """Whether a ranking of these flows would be none."""
        return self.share < LEAST_SHARE or self.repeated > MOST_REPEATED


def levels(records: Records) -> dict[str, Level]:
    """The level of each group of flows: ``down0`` and ``down1`` are of the group ``down``.

    The bottleneck of a flow is the first one of the run's bottlenecks that its data crosses; the links of one 802.11
    medium count as one. All flows that cross it have equal shares. A flow that lives for a part of the run has that
    part of a share.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> {name: one.is_starved for name, one in levels(records).items()}
    {'cubic': False, 'reno': False}
    """
    run = MeasuredRun(records)
    medium = media(records.document, [(link["link"], link["name"]) for link in run.link_rows])
    capacity: dict[int | str, float] = {}
    for link in run.bottlenecks:
        carried = link["carriable_bytes"] or (link["rate_bps"] or 0.0) * run.span.seconds / 8
        place = medium.get(link["link"], link["link"])
        capacity[place] = max(capacity.get(place, 0.0), carried)
    places = []
    for flow in run.flow_rows:
        crossed = {medium.get(int(link), int(link)) for link in flow["route"].split()}
        places.append(next((place for place in capacity if place in crossed), None))
    many = Counter(places)
    sums: dict[str, list[float]] = {}
    for flow, place in zip(run.flow_rows, places, strict=True):
        end_ns = run.span.end_ns if flow["end_ns"] is None else flow["end_ns"]
        lived = max(0, end_ns - flow["start_ns"]) / run.span.length_ns
        fair = 0.0 if place is None else capacity[place] / many[place] * lived
        total = sums.setdefault(re.sub(r"[-\d]+$", "", flow["name"]) or flow["name"], [0.0] * 4)
        given = flow["delivered_bytes"], fair, flow["retransmitted_packets"], flow["sent_packets"]
        for at, value in enumerate(given):
            total[at] += value
    return {
        name: Level(got / fair, twice / sent)
        for name, (got, fair, twice, sent) in sums.items()
        if fair > 0 and sent > 0
    }


def starved(claim: Claim, measured: Measured) -> Asked | None:
    """Whether all that a claim compares are starved: their order is then no ranking.

    Parameters
    ----------
    claim
        A part: one metric, and two sides where it compares.
    measured
        The runs.

    Returns
    -------
    The lowest share and the highest part of repetitions of the sides; nothing where the claim compares nothing, or the
    levels are not known.
    """
    if not isinstance(claim.relation, Greater | Less | RatioIn | Welch) or len(claim.sides) != 2:
        return None
    sides = [_of_side(side, claim.flows, measured) for side in claim.sides]
    known = [one for one in sides if one is not None]
    if len(known) < len(sides):
        return None
    share, repeated = max(one.share for one in known), min(one.repeated for one in known)
    is_low = all(one.is_starved for one in known)
    text = f"each side has at least {min(one.share for one in known):.0%} of a fair share"
    if is_low:
        text = f"all sides are starved: at most {share:.1%} of a fair share, at least {repeated:.0%} sent again"
    return Asked("level", not is_low, text)


def _of_side(side: Labels, flows: Sequence[str], measured: Measured) -> Level | None:
    """The mean over the runs of a side of the groups that are compared."""
    found = [one for row in measured.rows_of(side) for name, one in row.level.items() if not flows or name in flows]
    if not found:
        return None
    return Level(fmean(one.share for one in found), fmean(one.repeated for one in found))
