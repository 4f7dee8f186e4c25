"""The example of docs/measure.md: a campaign over a day on a path that changes by the hour, in a minute."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from importlib import util
from pathlib import Path
from types import ModuleType

import cwndlab
import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "measure_a_day.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = util.spec_from_file_location("measure_a_day", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_day_of_the_clock_takes_as_long_as_was_named(example: ModuleType) -> None:
    """A day in 120 s: an hour is 5 s, and a sleep of half an hour 2.5 s."""
    times, slept = [100.0], list[float]()
    clock = example.scaled_clock(120, 100.0, now=lambda: times[0], sleep=slept.append)
    assert clock.now() == example.MIDNIGHT
    times[0] = 105.0
    assert clock.now() - example.MIDNIGHT == timedelta(hours=1)
    clock.sleep(1800)
    assert slept == [2.5]


def test_the_path_has_the_rate_of_each_hour_on_every_day(example: ModuleType) -> None:
    """24 rates within a day of 240 s, which repeat."""
    checked = cwndlab.Scenario.from_json(json.dumps(example.scenario(240, 2)))
    line = json.loads(checked.to_json())["dumbbell"]["bottleneck"]
    assert line["rate"] == "40 Mbps"
    assert [step["rate"] for step in line["schedule"]] == [f"{rate} Mbps" for rate in example.RATES[1:]]
    assert len(example.RATES) == 24


def test_a_campaign_over_a_day_shows_the_busy_hours(tmp_path: Path) -> None:
    """One day in a minute. Rounds begin at 2, 8, 14 and 20 h: at 40, 24, 20 and 6 Mbit/s. No transfer is faster than
    its line, and payload is at most 1448/1500 of it."""
    folder = tmp_path / "day"
    options = ["--days", "1", "--minutes-per-day", "1", "--bytes", "300000", "--out", str(folder), "--format", "json"]
    command = [sys.executable, str(EXAMPLE), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    if done.returncode and ("unshare" in done.stderr or "/dev/net/tun" in done.stderr):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert list(document["complete_rounds"].values()) == [[1, 2, 3, 4]]
    parts = {row["round"]: row["part"] for row in document["rows"]}
    assert set(parts.values()) == {"night", "morning", "afternoon", "evening"}
    assert {row["ended"] for row in document["rows"]} == {"complete"}
    assert all(row["idle_rtt_ms"] >= 30 for row in document["rows"])
    rates = {part: [row["goodput_bps"] for row in document["rows"] if row["part"] == part] for part in parts.values()}
    assert max(rates["night"]) < 40e6 * 1448 / 1500
    assert sum(rates["evening"]) < sum(rates["night"])
    assert (folder / "report.html").is_file()
