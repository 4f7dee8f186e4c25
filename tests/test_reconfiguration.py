"""`reconfiguration` of a link: the hand-overs of a low-orbit satellite."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.plot.moments import moments

#: A line that more datagrams reach than it carries, and a short queue.
RANGES = {"min_rate": "36 Mbps", "max_rate": "68 Mbps", "min_delay": "8 ms", "max_delay": "14 ms"}


def satellite(**changes: Any) -> cwndlab.Scenario:
    return cwndlab.Scenario.from_json(
        json.dumps(
            {
                "schema_version": 1,
                "duration": "60 s",
                "sample_interval": "1 s",
                "dumbbell": {
                    "bottleneck": {
                        "queue": {"capacity": "10 packets"},
                        "reconfiguration": RANGES | changes,
                    },
                },
                "flow": [
                    {
                        "transport": "udp",
                        "rtt": "40 ms",
                        "workload": {"kind": "cbr", "rate": "80 Mbps", "packet": "1500 B"},
                    }
                ],
            }
        )
    )


def rates(records: cwndlab.Records) -> list[float]:
    """Mbit/s that the bottleneck carries in each second."""
    sent = [0, *(row["sent_bytes"] for row in records.rows("link_samples") if row["link"] == 0)]
    return [(after - before) * 8 / 1e6 for before, after in pairwise(sent)]


def test_the_rate_changes_every_15_s_and_stays_between_its_ends() -> None:
    found = rates(cwndlab.run(satellite(), seed=1))
    # The second in which the hand-over falls begins with it.
    parts = [found[start + 1 : start + 15] for start in (0, 15, 30, 45)]
    assert all(max(part) - min(part) < 0.05 for part in parts)
    means = [sum(part) / len(part) for part in parts]
    assert len({round(one, 1) for one in means}) == 4
    assert all(36 <= one <= 68 for one in means)


def test_the_seed_of_the_table_draws_and_that_of_the_run_does_not() -> None:
    first, again = (rates(cwndlab.run(satellite(), seed=seed)) for seed in (1, 2))
    assert first == pytest.approx(again, abs=0.05)
    assert rates(cwndlab.run(satellite(seed=2), seed=1)) != pytest.approx(first, abs=1)


def test_a_hand_over_interrupts_the_line() -> None:
    """By hand: a second with an interruption of at most 0.9 s carries less than one without."""
    found = rates(cwndlab.run(satellite(max_interruption="900 ms", max_rate="36 Mbps"), seed=1))
    interrupted = [found[start] for start in (15, 30, 45)]
    assert all(3.5 < one < 36 for one in interrupted)
    assert min(found[1:15]) == pytest.approx(36, abs=0.1)


def test_delays_are_between_their_ends() -> None:
    """The flow is far below the rate: a datagram takes 0.18 to 0.33 ms on the line, and 20 ms - 8 ms elsewhere."""
    slow = satellite().with_({"flow[0].workload.rate": "1 Mbps"})
    flow = cwndlab.run(slow, seed=1).rows("flows")[0]
    span_ms = (flow["max_delay_ns"] - flow["min_delay_ns"]) / 1e6
    assert 1 < span_ms < 6.2


def test_plots_mark_the_hand_overs() -> None:
    marks = moments(cwndlab.run(satellite(), seed=1))
    assert [(one.label, list(one.x)) for one in marks] == [("hand-over", [15.0, 30.0, 45.0])]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"max_rate": "30 Mbps"}, "max_rate: is below 'min_rate'"),
        ({"max_delay": "1 ms"}, "max_delay: is below 'min_delay'"),
        ({"max_interruption": "15 s"}, "max_interruption: is not shorter than 'every'"),
    ],
)
def test_invalid_ranges_are_refused(changes: dict[str, str], fault: str) -> None:
    with pytest.raises(ScenarioError, match=fault):
        str(satellite(**changes).hash)


def test_it_conflicts_with_a_schedule_and_with_a_trace() -> None:
    steps = {"dumbbell.bottleneck.schedule": [{"at": "1 s", "delay": "1 ms"}]}
    with pytest.raises(ScenarioError, match="conflicts with 'schedule'"):
        str(satellite().with_(steps).hash)
    with pytest.raises(ScenarioError, match="has no constant rate that a hand-over could change"):
        str(satellite().with_({"dumbbell.bottleneck.trace": "satellite"}).hash)
