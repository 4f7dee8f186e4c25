"""When a cell has enough runs: "goodput_bps within 2 %" of its mean, by the 95 % interval.

Whoever looks again and again until an interval is narrow finds it narrow somewhat too early: with a handful of runs the
interval covers less than its 95 %. So a cell is looked at only after its first seeds and then each time it has grown by
a quarter, in the order of the seeds, whatever the order in which runs end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cwndlab.errors import Fault
from cwndlab.metrics import COLUMNS
from cwndlab.statistics import estimate

_RULE = re.compile(r"\s*(?P<metric>[a-z][a-z0-9_]*)\s+within\s+(?P<share>[0-9.]+)\s*%\s*")
_HINT = 'write "goodput_bps within 2 %"'


@dataclass(frozen=True)
class Rule:
    """Half of the interval is at most ``share`` of the mean of ``metric``."""

    metric: str
    share: float

    @classmethod
    def faults(cls, text: str) -> Iterator[Fault]:
        """What is wrong with a rule's text."""
        found = _RULE.fullmatch(text)
        if not found or not re.fullmatch(r"\d+(\.\d*)?|\.\d+", found["share"]) or float(found["share"]) <= 0:
            yield Fault("sweep.until", f"'{text}' is no rule", _HINT)
        elif found["metric"] not in COLUMNS:
            from cwndlab.sweeps.question import near

            yield Fault("sweep.until", f"no metric is called '{found['metric']}'", near(found["metric"], list(COLUMNS)))

    @classmethod
    def parse(cls, text: str) -> Rule:
        """The rule of a text that has no faults."""
        found = _RULE.fullmatch(text)
        assert found is not None
        return cls(found["metric"], float(found["share"]) / 100)

    def holds(self, values: Sequence[float | None]) -> bool:
        """Whether the values, one per seed, are enough; those without a value count for nothing."""
        there = [value for value in values if value is not None]
        one = estimate(there)
        return one.half is not None and one.half <= self.share * abs(one.mean)

    @staticmethod
    def more(count: int, at_most: int) -> int:
        """How many runs a cell with ``count`` gets before it is looked at again."""
        return min(max(1, count // 4), at_most - count)
