"""Prague beside CUBIC through DualPI2, against the rates that heistp/l4s-tests published (docs/validity.md)."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import coexistence
import cwndlab
import partial_l4s
import polars as pl
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


@pytest.mark.parametrize("queue", [{"kind": "pie", "ecn": True}, {"kind": "codel", "ecn": True}])
def test_the_detection_of_classic_queues_shares_them(queue: Mapping[str, object]) -> None:
    """arXiv 1911.00710: a classic queue is detected, and L4S rarely taken for one. RFC 9331, section 4.3.1: without a
    detection the imbalance is up to 25:1."""

    def ratio(algorithm: str, queue: Mapping[str, object]) -> float:
        other = {"algorithm": "cubic", "rtt": "20 ms", "stack": {"ecn": "classic"}}
        flows = [{"algorithm": algorithm, "rtt": "20 ms"}, other]
        line = {"rate": "50 Mbit/s", "queue": queue}
        document = {"schema_version": 1, "duration": "60 s", "dumbbell": {"bottleneck": line}, "flow": flows}
        first, second = (float(one) for one in cwndlab.run(document, seed=1).flows["delivered_bytes"])
        return first / second

    assert 8 < ratio("prague", queue) < 25
    assert 1 / 1.6 < ratio("prague(fallback=on)", queue) < 1.6
    dualpi2 = {"kind": "dualpi2"}
    assert ratio("prague", dualpi2) == ratio("prague(fallback=on)", dualpi2)


def test_the_table_of_partial_deployment_has_shares_and_queueing_delays() -> None:
    """By hand: means of two seeds, less the base RTT of 25 ms."""
    columns = {"@sender": ["prague"] * 2, "@queue": ["fifo"] * 2, "share@user": [0.4, 0.5]}
    columns |= {"mean_rtt_ms@user": [30.0, 31.0], "mean_rtt_ms@other": [26.0, 26.0]}
    assert partial_l4s.table(pl.DataFrame(columns))[2] == "| fifo | 45 %, 5.5 and 1.0 ms |"
