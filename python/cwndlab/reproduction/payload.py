"""What a store keeps of a run. Alone in its file: the keys of kept runs contain its source."""

from __future__ import annotations

from typing import Any

from cwndlab.reproduction.cases import Measure

#: The largest number of points of a curve that is kept.
MOST_POINTS = 1500


def payload(measure: Measure, *args: Any) -> dict[str, Any]:
    """The values of a run, and the points of its curves: ``trace`` may come before the records."""
    *traces, records = args
    curves: dict[str, Any] = {}
    for trace in traces:
        for name, (x, y) in trace(records).items():
            step = -(-len(x) // MOST_POINTS)
            curves[name] = [list(x[::step]), list(y[::step])] if step else [[], []]
    return {"values": dict(measure(records)), "curves": curves, "records": records.hash()}
