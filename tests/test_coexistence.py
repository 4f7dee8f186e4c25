"""Prague beside CUBIC through DualPI2, against the rates that heistp/l4s-tests published (docs/validity.md)."""

from __future__ import annotations

from math import exp, log
from statistics import mean

import coexistence
import pytest


def _ratio(mbps: tuple[float, float], flows: tuple[tuple[str, int], tuple[str, int]]) -> float:
    """The logarithm of Prague's rate over CUBIC's."""
    return log(mbps[1] / mbps[0]) * (1 if flows[1][0] == "prague" else -1)


@pytest.mark.parametrize("rate", [10, 50])
@pytest.mark.parametrize("rtt", [10, 20, 80])
def test_prague_has_its_published_multiple_of_cubic(rate: int, rtt: int) -> None:
    """Published: 2.7, 2.1, 1.7 at 50 Mbit/s, 2.1, 1.8, 1.7 at 10 Mbit/s. Ours: in the published configuration."""
    pairs = [(("cubic", rtt), ("prague", rtt)), (("prague", rtt), ("cubic", rtt))]
    known = [one for one in coexistence.rows() if one.queue == "dualpi2" and one.rate_mbps == rate]
    chosen = [one for one in known if one.flows in pairs]
    assert len(chosen) == 2
    ours = coexistence.measured(chosen, coexistence.STEPS[-1])
    found = mean(_ratio(mine, row.flows) for mine, row in zip(ours, chosen, strict=True))
    published = mean(_ratio(row.mbps, row.flows) for row in chosen)
    assert abs(found - published) < log(1.25), (exp(found), exp(published))


def test_the_published_rates_are_complete() -> None:
    """Twenty-four pairs through three queues at two rates; a row of the source: 50 Mbit/s, prague 80 and 20."""
    known = coexistence.rows()
    assert len(known) == 24 * 3 * 2
    assert coexistence.Row(50, "dualpi2", (("prague", 80), ("prague", 20)), (5.80, 41.48)) in known
