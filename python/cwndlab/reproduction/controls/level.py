"""Whether flows are starved: what they get of a fair share of their bottleneck, and how much they send twice."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.metrics.core import MeasuredRun
from cwndlab.metrics.sharing import media

if TYPE_CHECKING:
    from cwndlab.records import Records

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
    {'flow': False}
    """
    run = MeasuredRun(records)
    medium = media(records.document, [(link["link"], link["name"]) for link in run.link_rows])
    capacity: dict[int | str, float] = {}
    for link in run.bottlenecks:
        # As the bytes that flows delivered, of the whole run.
        carried = link["carriable_bytes"] or (link["rate_bps"] or 0.0) * run.span.end_ns / 8e9
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
        lived = max(0, end_ns - flow["start_ns"]) / run.span.end_ns
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
