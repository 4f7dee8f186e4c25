"""What docs/bbr-questions.md says of causes, by the variables of BBR in single runs; and its files."""

from __future__ import annotations

import re
from pathlib import Path

import cwndlab
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[1]
DRAIN, PROBE_RTT = 1.0, 6.0


def named(name: str, scenario: cwndlab.Scenario) -> list[tuple[float, float]]:
    """Times and values of a variable of the first flow, where it changes."""
    wanted = {"names": [name], "interval": "10 ms"}
    rows = cwndlab.run(scenario.with_({"named_values": wanted}), seed=1).named_values.filter(pl.col("flow") == 0)
    return [(row["time_ns"] / 1e9, row["value"]) for row in rows.iter_rows(named=True)]


@pytest.mark.parametrize(("limit", "until"), [("bbr3(drain_rounds=1000000)", 5.0), ("bbr3", 2.2)])
def test_drain_without_a_limit_lasts_until_probe_rtt(limit: str, until: float) -> None:
    """Issue 90 of the draft's repository: Drain paces at half of the former 100 Mbit/s, and the inflight does not fall
    at 40 Mbit/s; ProbeRTT is due after 5 s. With the limit it ends after four rounds, which the queue prolongs."""
    scenario = cwndlab.presets.load("single").with_(
        {
            "duration": "6 s",
            "flow[0].algorithm": limit,
            "flow[0].rtt": "50 ms",
            "dumbbell.bottleneck.rate": "100 Mbps",
            "dumbbell.bottleneck.queue.capacity": "2 MB",
            "dumbbell.bottleneck.schedule": [{"at": "0.5 s", "rate": "40 Mbps"}],
        }
    )
    states = named("state", scenario)
    start = next(index for index, (_, state) in enumerate(states) if state == DRAIN)
    end, then = next((time, state) for time, state in states[start:] if state != DRAIN)
    assert end == pytest.approx(until, abs=0.2)
    assert (then == PROBE_RTT) == (until == 5.0)


@pytest.mark.parametrize(("window", "inflated"), [(10, True), (20, False)])
def test_the_minimum_rtt_is_inflated_where_both_filters_expire_together(window: int, inflated: bool) -> None:
    """Issue 109 of the draft's repository, in the first ProbeRTT, after 10 s: the base RTT is 120 ms, and CUBIC fills a
    buffer of 4 BDP."""
    scenario = cwndlab.presets.load("two-flows").with_(
        {
            "duration": "14 s",
            "flow[0].algorithm": f"bbr3(probe_rtt_interval=10,min_rtt_window={window})",
            "flow[1].algorithm": "cubic",
            "flow[0].rtt": "120 ms",
            "flow[1].rtt": "120 ms",
            "dumbbell.bottleneck.rate": "20 Mbps",
            "dumbbell.bottleneck.queue.capacity": "4 bdp",
        }
    )
    largest = max(value for _, value in named("min_rtt_s", scenario) if value < float("inf"))
    assert (largest > 2 * 0.12) == inflated, largest


def test_each_command_of_the_page_compares_the_axis_of_its_file() -> None:
    page = (ROOT / "docs" / "bbr-questions.md").read_text(encoding="utf-8")
    commands = re.findall(r"compare (examples/bbr-[\w-]+\.toml) --by (\w+)", page)
    assert len(commands) == len(list((ROOT / "examples").glob("bbr-*.toml"))) == 6
    for file, axis in commands:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"cwndlab compare {file} --by {axis}" in text
        assert f"[compare.alternatives.{axis}." in text
        assert "seeds = 10" in text
