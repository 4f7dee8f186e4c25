"""Figures: what is drawn is what the metrics say, within bounds, in colours by position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab import metrics
from cwndlab.metrics import COLUMNS
from cwndlab.plots import COLOURS, SERIES, bars, panels, series, share
from cwndlab.plots.bars import draw as draw_bars
from cwndlab.plots.series import MOST_FLOWS, MOST_POINTS, lines
from cwndlab.plots.series import draw as draw_series
from cwndlab.plots.share import draw as draw_share
from cwndlab.run import run
from cwndlab.statistics import Estimate, estimate


def ask(flows: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A path of 12 Mbit/s with half a BDP of buffer."""
    bottleneck = {"rate": "12 Mbps", "delay": "10 ms", "queue": {"capacity": "0.5 bdp"}}
    return {"schema_version": 1, "duration": "6 s", "dumbbell": {"bottleneck": bottleneck}, "flow": flows, **changes}


@pytest.fixture(scope="module")
def records() -> cwndlab.Records:
    flows = [{"algorithm": "cubic", "rtt": "40 ms"}, {"algorithm": "reno", "rtt": "80 ms", "start": "2 s"}]
    return run(ask(flows), seed=1)


def test_lines_are_the_metrics_over_time(records: cwndlab.Records) -> None:
    first, second = lines(records, "cwnd")
    assert (first.label, second.label) == ("flow0 (40 ms)", "flow1 (80 ms)")
    assert first.time_s == [round(0.1 * (n + 1), 4) for n in range(60)]
    assert second.time_s[0] == 2.0 or second.time_s[0] == 2.1
    windows = metrics.flows_over_time(records).filter(flow=0)["cwnd_segments"].to_list()
    assert first.values == windows
    (queue,) = lines(records, "queue")
    assert queue.label == "bottleneck"
    assert (
        max(value or 0.0 for value in queue.values) <= records.links.filter(name="bottleneck")["max_queue_packets"][0]
    )


def test_rates_are_means_and_lose_nothing(records: cwndlab.Records) -> None:
    """Thinned by windows, not by leaving samples out: the drops drawn are all drops."""
    (drawn,) = lines(records, "loss", runs=2)
    width = drawn.time_s[1] - drawn.time_s[0]
    assert sum(value or 0.0 for value in drawn.values) * width == pytest.approx(
        metrics.loss(records)["drops"][0], rel=0.02
    )


def test_long_runs_have_a_bound_of_points() -> None:
    long = run(ask([{"algorithm": "reno", "rtt": "40 ms"}], duration="30 s", sample_interval="1 ms"), seed=1)
    assert len(long.samples) > 29_000
    for kind in SERIES:
        assert all(len(line.values) <= MOST_POINTS for line in lines(long, kind))
    assert sum(len(line.values) for line in lines(long, "cwnd", runs=40)) <= 1000


def test_of_many_flows_the_first_are_drawn() -> None:
    many = run(ask([{"algorithm": "reno", "rtt": "40 ms", "count": 20}], duration="2 s"), seed=1)
    assert len(lines(many, "goodput")) == MOST_FLOWS
    assert len(share({"one": many}).data) == MOST_FLOWS


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_run_has_a_panel_with_named_axes(records: cwndlab.Records, kind: str, count: int) -> None:
    figure = series({f"run {n}": records for n in range(count)}, kind)
    titles = {axis.title.text for axis in figure.select_yaxes()} - {None}
    assert titles == {SERIES[kind].axis}
    assert "," in SERIES[kind].axis  # a quantity and its unit
    assert {axis.title.text for axis in figure.select_xaxes()} - {None} == {"time, s"}
    assert [note.text for note in figure.layout.annotations] == (
        [f"run {n}" for n in range(count)] if count > 1 else []
    )
    named = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert len(named) == len(set(named))


def test_colours_go_by_position(records: cwndlab.Records) -> None:
    figure = series({"a": records, "b": records}, "cwnd")
    assert [trace.line.color for trace in figure.data] == [*COLOURS[:2], *COLOURS[:2]]
    assert len(set(COLOURS)) == len(COLOURS)
    shown = bars(["x", "y"], [estimate([1.0, 2.0]), estimate([2.0, 3.0])], COLUMNS["goodput_bps"])
    assert list(shown.data[0].marker.color) == list(COLOURS[:2])


def test_events_are_marked_in_the_window_of_one_run(records: cwndlab.Records) -> None:
    names = {trace.name: len(trace.x) for trace in series({"run": records}, "cwnd").data}
    assert names["recovery"] == len(records.events.filter(pl.col("kind") == "recovery"))
    assert "recovery" not in {trace.name for trace in series({"a": records, "b": records}, "cwnd").data}


def test_shares_stack_to_all(records: cwndlab.Records) -> None:
    first, second = share({"run": records}).data
    sums = [a + b for a, b in zip(first.y, second.y, strict=True)]
    assert sums == pytest.approx([100.0] * len(sums), abs=0.02)
    assert second.y[0] == 0.0  # it has not begun


def test_bars_have_intervals_where_there_are_any() -> None:
    """By hand: 1, 2, 3 Mbit/s are 2 ± 2.484 (t(2) = 4.303)."""
    estimates = [estimate([1e6, 2e6, 3e6]), Estimate(4e6, None, None, 1), estimate([])]
    figure = bars(["a", "b", "c"], estimates, COLUMNS["goodput_bps"])
    bar = figure.data[0]
    assert list(bar.y) == [2.0, 4.0, None]
    assert bar.error_y.array[0] == pytest.approx(2.484, abs=1e-3)
    assert bar.error_y.array[1] is None
    assert [note.text for note in figure.layout.annotations] == ["none"]
    assert figure.layout.title.text == "goodput, Mbit/s"


@pytest.mark.parametrize("count", [2, 6])
def test_axes_that_match_keep_ranging_themselves(records: cwndlab.Records, count: int) -> None:
    """Given the range of time for matching axes, plotly 6.3 drew all values between 0 and 4."""
    figure = series({f"run {n}": records for n in range(count)}, "cwnd")
    assert all(axis.range is None for axis in [*figure.select_xaxes(), *figure.select_yaxes()])


def test_panels_stand_two_abreast_when_many() -> None:
    assert [panels.grid(count) for count in (1, 3, 4, 5, 6)] == [(1, 1), (3, 1), (2, 2), (3, 2), (3, 2)]
    assert [panels.place(n, 5) for n in (0, 1, 4)] == [{"row": 1, "col": 1}, {"row": 1, "col": 2}, {"row": 3, "col": 1}]


@pytest.mark.parametrize("count", [1, 5])
def test_still_figures_are_files(records: cwndlab.Records, tmp_path: Path, count: int) -> None:
    runs = {f"run {n}": records for n in range(count)}
    for kind in SERIES:
        draw_series(runs, kind, str(tmp_path / f"{kind}.png"))
    draw_share(runs, str(tmp_path / "share.svg"))
    draw_bars(["a", "b"], [estimate([1.0, 2.0]), estimate([])], str(tmp_path / "bars.svg"), COLUMNS["timeouts"])
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(made) == len(SERIES) + 2
    for name, data in made.items():
        assert data.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
        assert len(data) > 5000
