"""What an attack maximises: whose goodput falls, or how long packets wait, beside the baseline's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from cwndlab import metrics
from cwndlab.errors import ScenarioError
from cwndlab.records import Records
from cwndlab.statistics import Estimate

#: What is maximised.
Goal = Literal["itself", "others", "difference", "delay"]
#: The harm where nothing can be compared.
_NOTHING = -1.0
#: A world in which the yardstick gets less than this share of the rate compares nothing.
_LEAST_SHARE = 0.02
#: Shorter waits compare nothing, ms.
_LEAST_WAIT_MS = 1.0


@dataclass(frozen=True)
class Harm:
    """The value of a run that a harm compares, and how its sentence begins.

    Values are goodputs of flow ``flow`` in bit/s, or with ``unit`` ms the mean time that packets wait in the
    bottleneck's queue.
    """

    said: str
    flow: str = "attacked"
    unit: Literal["Mbit/s", "ms"] = "Mbit/s"

    @property
    def column(self) -> str:
        """The name of the values for a program."""
        return "goodput_bps" if self.unit == "Mbit/s" else "queue_ms"

    def least(self, rate_bps: float) -> float:
        """A yardstick that is not larger shows nothing."""
        return _LEAST_SHARE * rate_bps if self.unit == "Mbit/s" else _LEAST_WAIT_MS

    def value(self, records: Records, duration_s: float) -> float:
        """Of a whole run."""
        if self.unit == "ms":
            return _wait_ms(records)
        row = next(row for row in records.rows("flows") if row["name"] == self.flow)
        return float(row["delivered_bytes"]) * 8 / duration_s

    def between(self, records: Records, start_s: float, end_s: float) -> float:
        """Of a part of a run; goodputs are those of the attacked flow. NaN where no two sampling instants are in it."""
        if self.unit == "ms":
            try:
                return _wait_ms(records, start_s, end_s)
            except ScenarioError:
                return float("nan")
        return _goodput(records.samples, start_s, end_s)

    def shown(self, value: float) -> str:
        """A value without its unit."""
        if value != value:
            return "–"
        return f"{value / 1e6 if self.unit == 'Mbit/s' else value:.3g}"

    def mean(self, values: Sequence[float]) -> str:
        """The mean of values with its unit."""
        return f"{self.shown(sum(values) / len(values))} {self.unit}"


#: By goal; `harm` has the formulas.
HARMS: Mapping[str, Harm] = {
    "itself": Harm("it gets"),
    "others": Harm("CUBIC beside it gets", flow="beside"),
    "difference": Harm("it gets"),
    "delay": Harm("packets wait", unit="ms"),
}


def harm(goal: str, value: float, base: float, least: float = 0.0) -> float:
    """The harm of a pair of values: 0 is none, 1 is all. A yardstick below ``least`` shows nothing.

    ``itself`` and ``others``: 1 − goodput / that with the baseline in its place. ``difference``: of the goodputs / the
    larger one. ``delay``: 1 − wait with the baseline in its place / with the algorithm.

    >>> harm("itself", 2.0, 8.0), harm("difference", 8.0, 2.0), harm("itself", 0.0, 0.01, least=0.1)
    (0.75, 0.75, -1.0)
    >>> harm("delay", 8.0, 2.0), harm("delay", 0.1, 0.2, least=1.0)
    (0.75, -1.0)
    """
    if goal == "delay":
        yardstick, apart = value, value - base
    elif goal == "difference":
        yardstick, apart = max(value, base), abs(base - value)
    else:
        yardstick, apart = base, base - value
    return _NOTHING if yardstick <= least else max(_NOTHING, apart / yardstick)


def is_attack(harm: Estimate, quiet: float) -> bool:
    """Whether the interval of a harm exceeds the harm without events, ``quiet``.

    >>> is_attack(Estimate(0.5, 0.4, 0.6, 10), 0.1), is_attack(Estimate(0.5, 0.05, 0.95, 10), 0.1)
    (True, False)
    """
    return (harm.mean if harm.low is None else harm.low) > max(quiet, 0.0)


def _wait_ms(records: Records, start_s: float | None = None, end_s: float | None = None) -> float:
    wait = metrics.queue(records, start_s=start_s, end_s=end_s)["queue_ms"][0]
    return 0.0 if wait is None else float(wait)


def _goodput(samples: pl.DataFrame, start_s: float, end_s: float) -> float:
    """Of flow 0 between two times, bit/s, by its nearest samples."""
    mine = samples.filter(pl.col("flow") == 0)
    inside = mine.filter(pl.col("time_ns").is_between(round(start_s * 1e9), round(end_s * 1e9)))
    if len(inside) < 2:
        return float("nan")
    span = inside["time_ns"][-1] - inside["time_ns"][0]
    return float((inside["delivered_bytes"][-1] - inside["delivered_bytes"][0]) * 8e9 / span)
