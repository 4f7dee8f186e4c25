"""When to stop repeating: once an interval is narrow enough, or at most so many times.

The rule of Y. Chow and H. Robbins, Ann. Math. Stat. 36 (1965): stop as soon as the interval of the mean is as narrow as
was asked. The width is looked at again and again and stops on a spread that happens to be small, so that the interval
then holds the true mean a little less often than it says; asymptotically not. `coverage` measures how often, and
docs/statistics.md shows it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cwndlab.errors import Parameter, ScenarioError, parameter_fault, unknown_metric
from cwndlab.statistics.estimates import LEVEL, estimate

#: How many repetitions are added between two looks: few looks cost little coverage.
STEP = 5
#: The first look is no earlier unless told: a spread of few values is often small by chance.
LEAST = 10


def enough(values: Sequence[float], within: float = 0.02, confidence: float = LEVEL) -> bool:
    """Whether the t-interval of the mean, at level ``confidence``, reaches no further to either side than ``within``
    times the absolute mean. Never with fewer than two values; always where they are all equal, since further ones
    would tell nothing.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> statistics.enough([10.0, 10.1, 9.9], within=0.02), statistics.enough([10.0, 10.1, 9.9], within=0.03)
    (False, True)
    """
    one = estimate(values, confidence)
    return one.is_constant or (one.half is not None and one.half <= within * abs(one.mean))


@dataclass(frozen=True)
class Until:
    """A stopping rule: until the interval of ``metric`` is ``within`` (a part of the mean), looked at first after
    ``at_least`` repetitions and then after every `STEP`, at most ``at_most`` of them.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> rule = statistics.Until.parse("goodput_bps within 2 %", ["goodput_bps"], at_most=50)
    >>> str(rule)
    'goodput_bps within 2 %, at most 50'
    """

    metric: str
    within: float
    at_most: int
    at_least: int = LEAST

    @classmethod
    def parse(cls, text: str, metrics: Collection[str], *, at_most: int, at_least: int = LEAST) -> Until:
        """``METRIC within X %``; ``metrics`` are those that there are."""
        # A metric of one flow, ``goodput_bps@my flow``, has the flow's name.
        found = re.fullmatch(r"\s*(\S.*?)\s+within\s+([0-9]*\.?[0-9]+)\s*%\s*", text)
        faults = []
        if found is None or float(found[2]) == 0:
            faults.append(
                parameter_fault("until", f"'{text}' is not a stopping rule", example="goodput_bps within 2 %")
            )
        elif found[1] not in metrics:
            faults.append(unknown_metric(Parameter("until"), found[1], metrics))
        if at_most < 2:
            faults.append(parameter_fault("at_most", f"'{at_most}' repetitions have no interval", example=50))
        if faults or found is None:
            raise ScenarioError(*faults)
        return cls(found[1], float(found[2]) / 100, at_most, min(at_least, at_most))

    def __str__(self) -> str:
        return f"{self.metric} within {self.within * 100:g} %, at most {self.at_most}"

    def more(self, done: int, series: Sequence[Sequence[float]]) -> int:
        """How many repetitions to add to ``done`` ones; none if every one of ``series`` has enough, or ``at_most``
        is reached. A series with missing values is judged by those that it has."""
        if done < self.at_least:
            return self.at_least - done
        if all(enough(values, self.within) for values in series):
            return 0
        return min(STEP, self.at_most - done)


def coverage(spread: float, rule: Until, *, runs: int, seed: int, level: float = LEVEL) -> tuple[float, float]:
    """How often the interval at which ``rule`` stops holds the true mean, and after how many repetitions on the mean:
    ``runs`` series of normal values with mean 1 and standard deviation ``spread``.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> rule = statistics.Until("goodput_bps", within=0.02, at_most=200)
    >>> held, repetitions = statistics.coverage(0.01, rule, runs=200, seed=1)
    >>> held > 0.9, repetitions >= 10
    (True, True)
    """
    source = np.random.default_rng(seed)
    held = counted = 0
    for _ in range(runs):
        draws = 1 + spread * source.standard_normal(rule.at_most)
        done = 0
        while (add := rule.more(done, [draws[:done].tolist()])) > 0:
            done += add
        found = estimate(draws[:done].tolist(), level)
        held += found.low is not None and found.high is not None and found.low <= 1 <= found.high
        counted += done
    return held / runs, counted / runs
