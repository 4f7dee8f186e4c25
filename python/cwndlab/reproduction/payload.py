"""What a store keeps of a run. Alone in its file: the keys of kept runs contain its source."""

from __future__ import annotations

from typing import Any

from cwndlab.reproduction.cases import Measure
from cwndlab.reproduction.controls.level import levels

#: The largest number of points of a curve that is kept.
MOST_POINTS = 1500


def payload(measure: Measure, *args: Any) -> dict[str, Any]:
    """The values of a run, the points of its curves, the level of its flows and how many packets they sent: ``trace``
    may come before the records."""
    *traces, records = args
    curves: dict[str, Any] = {}
    for trace in traces:
        for name, (x, y) in trace(records).items():
            step = -(-len(x) // MOST_POINTS)
            curves[name] = [list(x[::step]), list(y[::step])] if step else [[], []]
    level = {name: [float(f"{part:.4g}") for part in one] for name, one in levels(records).items()}
    return {
        "values": dict(measure(records)),
        "curves": curves,
        "records": records.hash(),
        "level": level,
        "packets": sum(row["sent_packets"] for row in records.rows("flows")),
    }
