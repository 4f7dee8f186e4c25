"""Prague beside CUBIC through DualPI2, against the rates that heistp/l4s-tests published (docs/validity.md)."""

from __future__ import annotations

from math import log

import coexistence
import pytest


@pytest.mark.parametrize("rate", [10, 50])
def test_prague_has_its_published_multiple_of_cubic(rate: int) -> None:
    """Published at 10, 20 and 80 ms: 2.1, 1.8, 1.7 at 10 Mbit/s, 2.7, 2.1, 1.7 at 50 Mbit/s. Ours: in the published
    configuration."""
    known = coexistence.rows()
    for rtt, ours in zip(coexistence.RTTS, coexistence.ratios(coexistence.STEPS[-1], rate), strict=True):
        published = coexistence.published(known, rate, rtt)
        assert published is None or abs(log(ours / published)) < log(1.2), (rtt, ours, published)


def test_the_published_rates_are_complete() -> None:
    """Twenty-four pairs through three queues at two rates; a row of the source: 50 Mbit/s, prague 80 and 20."""
    known = coexistence.rows()
    assert len(known) == 24 * 3 * 2
    assert coexistence.Row(50, "dualpi2", (("prague", 80), ("prague", 20)), (5.80, 41.48)) in known


def test_the_law_of_the_rfc_is_that_of_its_table() -> None:
    """RFC 9332, appendix C, by hand: (20 + 15) / (1.4 × 25) = 1; at 10 ms 25 / 35, at 80 ms 95 / 112."""
    assert [round(coexistence.predicted(rtt), 2) for rtt in (10, 20, 80)] == [0.71, 1.0, 0.85]
