"""Figures: what is drawn is what the metrics say, within bounds, in colours by position."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab import metrics
from cwndlab.metrics import COLUMNS
from cwndlab.plot import (
    CDFS,
    COLOURS,
    SERIES,
    Chart,
    Curve,
    Figure,
    bars,
    boxes,
    cdf,
    curves,
    heat,
    overview,
    phase,
    series,
    share,
)
from cwndlab.plot.cdf import steps
from cwndlab.plot.moments import moments
from cwndlab.plot.overview import phases
from cwndlab.plot.palette import ALL_COLOURS, PHASE_COLOURS
from cwndlab.plot.phase import path_of
from cwndlab.plot.series import MOST_FLOWS, MOST_POINTS, flow_labels, labels_of, lines
from cwndlab.plot.style import PRINT, SCREEN, Style
from cwndlab.reports.run import run_page, side_by_side
from cwndlab.simulate import run
from cwndlab.statistics import Estimate, estimate
from matplotlib.cbook import is_math_text
from matplotlib.text import Text


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
    assert (first.label, second.label) == ("flow0 (cubic, 40 ms)", "flow1 (reno, 80 ms)")
    assert first.time_s == [round(0.1 * (n + 1), 4) for n in range(60)]
    # Samples are 0.1 s apart; the first one after the start is drawn first.
    assert second.time_s[0] == 2.1
    windows = metrics.flows_over_time(records).filter(flow=0)["cwnd_segments"].to_list()
    assert first.values == windows
    (queue,) = lines(records, "queue")
    assert queue.label == "bottleneck"
    # Half a BDP: 12 Mbit/s × 80 ms / (2 · 12,000 bit) = 40 packets, which CUBIC fills.
    assert 38.0 < max(value or 0.0 for value in queue.values) <= 40.0


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
    assert len(share({"one": many}).series) == MOST_FLOWS


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_run_has_a_panel_with_named_axes(records: cwndlab.Records, kind: str, count: int) -> None:
    figure = series({f"run {n}": records for n in range(count)}, kind).to_plotly()
    titles = {axis.title.text for axis in figure.select_yaxes()} - {None}
    assert {title.replace("<br>", ", ") for title in titles} == {SERIES[kind].axis}
    assert "," in SERIES[kind].axis  # a quantity and its unit
    assert {axis.title.text for axis in figure.select_xaxes()} - {None} == {"time, s"}
    assert [note.text for note in figure.layout.annotations] == (
        [f"run {n}" for n in range(count)] if count > 1 else []
    )
    named = [trace.name for trace in figure.data if trace.showlegend]
    assert len(named) == len(set(named))


def test_colours_go_by_position(records: cwndlab.Records) -> None:
    figure = series({"a": records, "b": records}, "cwnd").to_plotly()
    # The first two are those of the runs, as in bars.
    assert [trace.line.color for trace in figure.data] == [*COLOURS[2:4], *COLOURS[2:4]]
    assert len(set(ALL_COLOURS) | set(PHASE_COLOURS)) == len(ALL_COLOURS) + len(PHASE_COLOURS)
    shown = bars(["x", "y"], [estimate([1.0, 2.0]), estimate([2.0, 3.0])], COLUMNS["goodput_bps"]).to_plotly()
    assert list(shown.data[0].marker.color) == list(COLOURS[:2])


def test_events_are_marked_in_the_window_of_one_run(records: cwndlab.Records) -> None:
    (panel,) = series({"run": records}, "cwnd").panels
    count = {mark.label: len(mark.x) for mark in panel.events}
    assert count["loss (recovery begins)"] == len(records.events.filter(pl.col("kind") == "recovery"))
    assert all(not panel.events for panel in series({"a": records, "b": records}, "cwnd").panels)


def event(flow: int, time_s: float, kind: str) -> dict[str, Any]:
    return {"time_ns": int(time_s * 1e9), "flow": flow, "kind": kind}


def test_phases_end_where_events_and_samples_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: slow start to the loss at 1 s, recovery to 1.5 s, a timeout at 3 s. Its recovery ends at 3.4 s, its slow
    start with the sample at 4 s, where the window reaches the threshold."""
    rows = [
        event(0, 0.1, "established"),
        event(0, 1.0, "recovery"),
        event(0, 1.5, "recovered"),
        event(0, 3.0, "timeout"),
        event(0, 3.4, "recovered"),
    ]
    one = run(ask([{"algorithm": "reno", "rtt": "40 ms"}]), seed=1)
    samples = one.samples.with_columns(
        ssthresh_bytes=pl.lit(20_000, pl.Int64),
        cwnd_bytes=pl.when(pl.col("time_ns") < 4_000_000_000).then(10_000).otherwise(20_000).cast(pl.Int64),
    )
    monkeypatch.setattr(type(one), "events", property(lambda self: pl.DataFrame(rows)))
    monkeypatch.setattr(type(one), "samples", property(lambda self: samples))
    assert phases(one) == {
        0: {"slow start": [(0.1, 1.0), (3.0, 4.0)], "recovery": [(1.0, 1.5)], "RTO recovery": [(3.0, 3.4)]}
    }


def test_an_overview_links_all_panels_of_a_run(records: cwndlab.Records) -> None:
    """Window, throughput, RTT, queue, drops and phases have one axis of time; two runs stand in two columns."""
    one, two = overview(records).spec(), overview({"a": records, "b": records}).spec()
    assert {trace["xaxis"] for trace in one["data"]} == {"x"}
    assert {trace["yaxis"] for trace in one["data"]} == {"y", *(f"y{n}" for n in range(2, 7))}
    assert two["layout"]["xaxis2"]["matches"] == "x"
    assert two["layout"]["yaxis2"]["matches"] == "y"
    named = [trace["name"] for trace in two["data"] if trace["showlegend"]]
    assert len(named) == len(set(named))
    assert {"slow start", "recovery"} <= set(named)


def test_one_flow_has_its_phases_behind_its_window() -> None:
    one = overview(run(ask([{"algorithm": "reno", "rtt": "40 ms"}]), seed=1))
    bands = [shape for shape in one.spec()["layout"]["shapes"] if shape["yref"] == "y domain"]
    assert len(bands) == sum(len(band.spans) for band in one.panels[0].bands) > 0


def test_a_notebook_gets_a_picture_beside_plotly(records: cwndlab.Records) -> None:
    """The signature is that of PNG (ISO/IEC 15948, 5.2); viewers without plotly show this form."""
    bundle = series(records, "cwnd")._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG\r\n\x1a\n")


def test_without_matplotlib_a_notebook_gets_plotly_alone(
    records: cwndlab.Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cwndlab.plot.figure.find_spec", lambda _: None)
    assert "image/png" not in series(records, "cwnd")._repr_mimebundle_()


def test_flows_of_one_algorithm_are_labelled_without_it() -> None:
    """The algorithm is in a label where it tells flows apart: its first part, or all of it where that is the same."""

    def labels(*algorithms: str) -> list[str]:
        flows = [{"algorithm": one, "rtt": "40 ms"} for one in algorithms]
        return [line.label for line in lines(run(ask(flows, duration="1 s"), seed=1), "cwnd")]

    assert labels("reno", "reno") == ["flow0 (40 ms)", "flow1 (40 ms)"]
    assert labels("reno(beta=0.7)", "cubic") == ["flow0 (reno(beta=0.7), 40 ms)", "flow1 (cubic, 40 ms)"]
    first, second = labels("reno+standard", "reno+limited")
    assert "standard" in first
    assert "limited" in second


def test_the_title_beside_words_has_its_distance() -> None:
    """Without a distance plotly draws the title of a heat map's vertical axis over the labels of its rows."""
    shown = heat(("x", ["1"]), ("y", ["2"]), [[1.0]], COLUMNS["goodput_bps"]).spec()
    assert shown["layout"]["yaxis"]["title"]["standoff"] > 0


def test_a_sentence_says_what_a_figure_shows(records: cwndlab.Records) -> None:
    text = series({"a": records, "b": records}, "rtt").sentence()
    assert text.startswith("Line chart: RTT, ms over time. Vertical: RTT, ms. Horizontal: time, s. Panels: a, b. ")
    assert "Shown: flow0 (cubic, 40 ms), flow1 (reno, 80 ms). Values from 4" in text
    shown = heat(("x", ["1"]), ("y", ["2"]), [[1e6]], COLUMNS["goodput_bps"]).sentence()
    assert shown == "Heat map: goodput, Mbit/s by x and y. Vertical: y. Horizontal: x."


def test_shares_stack_to_all(records: cwndlab.Records) -> None:
    first, second = share({"run": records}).series
    sums = [(a or 0.0) + (b or 0.0) for a, b in zip(first.y, second.y, strict=True)]
    assert sums == pytest.approx([100.0] * len(sums), abs=0.02)
    assert second.y[0] == 0.0  # it has not begun


def test_bars_have_intervals_where_there_are_any() -> None:
    """By hand: 1, 2, 3 Mbit/s are 2 ± 2.484 (t(2) = 4.303)."""
    estimates = [estimate([1e6, 2e6, 3e6]), Estimate(4e6, None, None, 1), estimate([])]
    figure = bars(["a", "b", "c"], estimates, COLUMNS["goodput_bps"]).to_plotly()
    bar = figure.data[0]
    assert list(bar.y) == [2.0, 4.0, None]
    assert bar.error_y.array[0] == pytest.approx(2.484, abs=1e-3)
    assert bar.error_y.array[1] is None
    assert [note.text for note in figure.layout.annotations] == ["none"]
    assert figure.layout.title.text == "goodput, Mbit/s"


@pytest.mark.parametrize("count", [2, 6])
def test_axes_that_match_keep_ranging_themselves(records: cwndlab.Records, count: int) -> None:
    """Given the range of time for matching axes, plotly 6.3 drew all values between 0 and 4."""
    figure = series({f"run {n}": records for n in range(count)}, "cwnd").to_plotly()
    axes = [*figure.select_xaxes(), *figure.select_yaxes()]
    assert all(axis.range is None for axis in axes if axis.matches or count > 3)


def test_many_panels_are_in_two_columns(records: cwndlab.Records) -> None:
    shapes = []
    for count in (1, 3, 4, 5, 6):
        figure = series({f"run {n}": records for n in range(count)}, "cwnd")
        shapes.append((figure.rows, figure.columns))
    assert shapes == [(1, 1), (3, 1), (2, 2), (3, 2), (3, 2)]


@pytest.mark.parametrize("count", [1, 5])
def test_still_figures_are_files(records: cwndlab.Records, tmp_path: Path, count: int) -> None:
    runs = {f"run {n}": records for n in range(count)}
    for kind in SERIES:
        series(runs, kind).save(tmp_path / f"{kind}.png")
    share(runs).save(tmp_path / "share.svg")
    overview(dict(list(runs.items())[:2])).save(tmp_path / "overview.png")
    phase(runs).save(tmp_path / "phase.svg")
    bars(["a", "b"], [estimate([1.0, 2.0]), estimate([])], COLUMNS["timeouts"]).save(tmp_path / "bars.svg")
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(made) == len(SERIES) + 4
    for name, data in made.items():
        assert data.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
        assert len(data) > 5000


@pytest.mark.parametrize("style", [SCREEN, PRINT])
@pytest.mark.parametrize("count", [3, 10])
def test_a_legend_is_never_wider_than_its_figure(monkeypatch: pytest.MonkeyPatch, style: Style, count: int) -> None:
    """Ten names in five columns would be wider than a column of a paper."""
    drawn: list[Any] = []
    monkeypatch.setattr(Style, "save", lambda _, made, path: drawn.append(made))
    curves = [Curve(f"flow {one} (westwood, 40 ms)", [1.0, 2.0], [1.0, 2.0]) for one in range(count)]
    Chart("chart", "", "time, s", "goodput, Mbit/s", curves).figure().save("chart.png", style)
    (legend,) = drawn[0].legends
    assert len(legend.get_texts()) == count
    with style.applied():
        assert legend.get_window_extent().width <= drawn[0].bbox.width


def test_lines_and_bars_of_a_paper_differ_without_colours() -> None:
    looks = [(str(PRINT.line(n, 100)["linestyle"]), PRINT.line(n, 100)["marker"]) for n in range(len(COLOURS))]
    assert len(set(looks)) == len(COLOURS)
    assert len({PRINT.face(n)["hatch"] for n in range(len(COLOURS))}) == len(COLOURS)
    assert "linestyle" not in SCREEN.line(1, 100)


def test_a_figure_of_a_paper_has_a_columns_width_and_its_fonts(records: cwndlab.Records, tmp_path: Path) -> None:
    """3.33 in are 239.76 points; a font that is embedded as TrueType has a FontFile2 (ISO 32000-1, table 126)."""
    path = tmp_path / "cwnd.pdf"
    series(records, "cwnd").save(path, PRINT)
    data = path.read_bytes()
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", data)
    assert box is not None
    assert float(box[1]) == pytest.approx(3.33 * 72, abs=0.1)
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    again = tmp_path / "again.pdf"
    series(records, "cwnd").save(again, "print")
    assert again.read_bytes() == data


def test_distributions_end_at_all_and_are_those_of_the_metric(records: cwndlab.Records) -> None:
    for of in CDFS:
        values, shares = steps(records, of)
        assert len(values) <= 402
        assert values == sorted(values)
        if of == "completion":
            assert values == []
            assert cdf({"run": records}, of) is None
            continue
        assert shares[-1] == 100.0
        assert shares == sorted(shares)
    # The mean of the distribution is the mean RTT of both flows' samples.
    table = metrics.distribution(records, "rtt")
    mass = table["share"].diff().fill_null(table["share"][0])
    last = records.samples.group_by("flow").agg(pl.col("rtt_sum_ns", "rtt_count").last())
    mean = int(last["rtt_sum_ns"].sum()) / int(last["rtt_count"].sum()) / 1e6
    assert (table["value"] * mass).sum() == pytest.approx(mean, rel=1e-9)


def test_a_distribution_counts_transfers() -> None:
    """Ten transfers: the median is the fifth."""
    sized = {"kind": "transfers", "count": 10, "bytes": "20 kB", "gap": "50 ms"}
    found = run(ask([{"algorithm": "reno", "rtt": "40 ms", "workload": sized}]), seed=1)
    table = metrics.distribution(found, "completion")
    spans = sorted((end - start) / 1e9 for start, end in found.transfers.select("start_ns", "end_ns").rows())
    assert len(spans) == 10
    assert table.filter(pl.col("share") >= 0.5 - 1e-12)["value"][0] == pytest.approx(spans[4])
    assert table["value"][-1] == pytest.approx(spans[-1])


def test_phases_are_windows_at_the_same_instants(records: cwndlab.Records) -> None:
    times, first, second = path_of(records)
    both = metrics.flows_over_time(records).pivot("flow", index="time_s", values="cwnd_segments").drop_nulls()
    told = {round(time, 4): (one, other) for time, one, other in both.rows()}
    assert len(times) == len(both)
    assert all(told[time] == (one, other) for time, one, other in zip(times, first, second, strict=True))
    assert path_of(run(ask([{"algorithm": "reno", "rtt": "40 ms"}], duration="1 s"), seed=1)) == ([], [], [])


def test_boxes_hold_every_run() -> None:
    values = {"a": {1: 1e6, 2: 2e6, 3: 4e6}, "b": {1: 3e6}}
    figure = boxes(values, COLUMNS["goodput_bps"], {("a", 2): "#run=1"})
    assert [list(one.y) for one in figure.series] == [[1.0, 2.0, 4.0], [3.0]]
    assert figure.spec()["data"][0]["customdata"] == ["", "#run=1", ""]


def test_the_records_of_one_run_are_enough(records: cwndlab.Records) -> None:
    for drawn, same in (
        (series(records, "cwnd"), series({"run": records}, "cwnd")),
        (share(records), share({"run": records})),
        (cdf(records, "rtt"), cdf({"run": records}, "rtt")),
    ):
        assert drawn == same


def test_an_unknown_kind_is_named(records: cwndlab.Records) -> None:
    with pytest.raises(cwndlab.ScenarioError) as caught:
        series(records, "window")
    assert str(caught.value) == ("kind: no time series is called 'window'\n  hint: did you mean 'cwnd'?")
    with pytest.raises(
        cwndlab.ScenarioError, match="of: no distribution is called 'loss'\n  hint: there are rtt, queue"
    ):
        cdf(records, "loss")  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "distance"), [(1, 1), (3, 1), (10, 1), (25, 3)])
def test_rounds_have_ticks_at_whole_numbers(tmp_path: Path, count: int, distance: int) -> None:
    """Of few rounds, plotly's own ticks are at fractions, and its range begins below the first round."""
    numbers = [float(n) for n in range(1, count + 1)]
    levels = [Curve(f"{y:.0f}", numbers, [y] * count) for y in (0.0, 100.0)]
    figure = Chart("c", "C", "round", "y", levels, whole_x=True).figure()
    axis = figure.to_plotly().layout.xaxis
    assert (axis.range, axis.tick0, axis.dtick) == ((0.5, count + 0.5), 1, distance)
    figure.save(tmp_path / "rounds.svg")
    drawn = re.sub(r"<[^>]*metadata.*</metadata>", "", (tmp_path / "rounds.svg").read_text(), flags=re.DOTALL)
    texts = re.findall(r"<!-- (\S+) -->|>(\S+)</text>", drawn)
    assert texts
    assert not [one or other for one, other in texts if re.fullmatch(r"\d*\.\d+", one or other)]


def test_a_figure_is_drawn_alike_by_both_programs(tmp_path: Path) -> None:
    """The same description gives plotly's trace and a file."""
    chart = Chart("c", "C", "x", "y", [Curve("a", ["p", "q"], [1.0, None], [0.5, None], [1.5, None])])
    figures: list[Figure] = [
        chart.figure(),
        curves(("x", ["1", "2"]), {"a": [estimate([1e6, 2e6]), None]}, COLUMNS["goodput_bps"]),
        heat(("x", ["1", "2"]), ("y", ["3"]), [[1e6, None]], COLUMNS["goodput_bps"]),
    ]
    for figure in figures:
        assert len(figure.to_plotly().data) == 1
        figure.save(tmp_path / f"{figure.name}.png")
        assert (tmp_path / f"{figure.name}.png").stat().st_size > 3000


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures of matplotlib that are saved from now on."""
    made: list[Any] = []
    monkeypatch.setattr(Style, "save", lambda _, figure, path: made.append(figure))
    return made


@pytest.mark.parametrize("kind", ["lines", "points", "bars"])
@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([-40.0, -5.0], None, 0.0), ([-5.0, 10.0], None, None), ([5.0, 40.0], 0.0, None), ([0.0, 40.0], 0.0, None)],
)
def test_negative_values_are_within_still_figures(
    drawn: list[Any], kind: Any, values: list[float], low: float | None, high: float | None
) -> None:
    """Zero is the end of the axis where nothing is beyond it, as with plotly's ``tozero``."""
    curve = Curve("a", ["p", "q"] if kind == "bars" else values, values)
    Chart("c", "C", "x", "y", [curve], kind, x_from_zero=True).figure().save("c.png")
    axis = drawn[0].axes[0]
    for ends in [axis.get_ylim()] if kind == "bars" else [axis.get_xlim(), axis.get_ylim()]:
        assert ends[0] == low if low is not None else ends[0] < min(values)
        assert ends[1] == high if high is not None else ends[1] > max(values)


def test_the_range_of_panels_that_share_it_holds_the_values_of_all(drawn: list[Any]) -> None:
    """Of the intervals too: one of them reaches below zero."""
    above = Curve("a", [1.0, 2.0], [4.0, 9.0], panel="above")
    below = Curve("a", [1.0, 2.0], [1.0, 9.0], [-2.0, None], [4.0, None], panel="below")
    Chart("c", "C", "x", "y", [above, below]).figure().save("c.png")
    assert [axis.get_ylim()[0] <= -2.0 for axis in drawn[0].axes] == [True, True]


def test_lines_below_zero_that_are_close_have_an_axis_of_their_own() -> None:
    """As those above: lines that differ by a few per cent would look equal beside zero."""

    def begins_at_zero(*values: float) -> bool:
        return Chart("c", "", "x", "y", [Curve("a", [1.0, 2.0], values)]).figure().panels[0].y.from_zero

    assert not begins_at_zero(-100.0, -98.0)
    assert not begins_at_zero(100.0, 98.0)
    assert begins_at_zero(-100.0, -20.0)
    assert begins_at_zero(-1.0, 1.0)


def test_bars_without_a_value_in_the_first_category_are_in_the_legend(drawn: list[Any]) -> None:
    groups = [Curve("a", ["p", "q", "r"], [None, 1.0, 2.0]), Curve("b", ["p", "q", "r"], [1.0, None, 2.0])]
    Chart("c", "C", "x", "y", groups, "bars").figure().save("c.png")
    (legend,) = drawn[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


@pytest.mark.parametrize("name", ["$^$", "costs $5 or $6", r"a\$b"])
def test_names_with_dollars_are_set_as_they_are(tmp_path: Path, name: str) -> None:
    curve = [Curve(name, [name, "q"], [1.0, 2.0], panel=name), Curve("b", [name, "q"], [1.0, 2.0], panel="b")]
    Chart("c", name, name, name, curve, "bars", thresholds=[(1.5, name)]).figure().save(tmp_path / "c.svg")
    drawn = re.findall(r"<!-- (.+) -->", (tmp_path / "c.svg").read_text(encoding="utf-8"))
    assert drawn.count(name) >= 6  # title of the panel, both axes, ticks, threshold, legend
    heat(("x", [name]), ("y", [name]), [[1e6]], COLUMNS["goodput_bps"]).save(tmp_path / "h.pdf")


def test_no_text_of_a_figure_is_mathematics(drawn: list[Any]) -> None:
    name = "costs $5 or $6"
    Chart("c", "C", name, name, [Curve(name, [name], [1.0]), Curve("b", [name], [1.0])], "bars").figure().save("c.png")
    texts = [text.get_text() for text in drawn[0].findobj(Text)]
    assert sum("costs" in text for text in texts) >= 4  # both axes, a tick, the legend
    assert not any(is_math_text(text) for text in texts)


def test_runs_without_what_a_figure_shows_are_named(records: cwndlab.Records, tmp_path: Path) -> None:
    one = run(ask([{"algorithm": "reno", "rtt": "40 ms"}], duration="100 ms"), seed=1)
    with pytest.raises(
        cwndlab.ArgumentError, match="runs: no run has two flows with windows\n  hint: give records of a run with two"
    ):
        phase(one)
    assert len(phase({"one": one, "two": records}).panels) == 1
    cbr = {"transport": "udp", "rtt": "40 ms", "workload": {"kind": "cbr", "rate": "1 Mbps"}}
    bare = run(ask([cbr], duration="100 ms", sample_interval="0 s"), seed=1)
    with pytest.raises(
        cwndlab.ArgumentError, match="runs: no run has samples or phases\n  hint: run again with a sample"
    ):
        overview(bare)


def test_a_figure_without_a_point_is_an_error() -> None:
    """Two flows without samples have no figure over time, and two calls no window and no RTT."""
    pair = [{"algorithm": "reno", "rtt": "40 ms"}] * 2
    bare = run(ask(pair, duration="100 ms", sample_interval="0 s"), seed=1)
    cbr = {"transport": "udp", "rtt": "40 ms", "workload": {"kind": "cbr", "rate": "1 Mbps"}}
    calls = run(ask([cbr] * 2, duration="1 s"), seed=1)
    for records, kinds in ((bare, [*SERIES, "share", "phase"]), (calls, ["cwnd", "rtt", "phase"])):
        for kind in kinds:
            with pytest.raises(cwndlab.ArgumentError, match=f"kind: the run has no data for '{kind}'\n  hint: it"):
                records.plot(kind)
    assert [one.y.title for one in overview(calls).panels if one.series] == [
        *("goodput, Mbit/s", "bottleneck queue, packets", "bottleneck drops, 1/s")
    ]
    with pytest.raises(cwndlab.ArgumentError, match="no run has two flows with windows"):
        phase(calls)


def test_a_phase_plot_is_of_the_flows_that_its_axes_name() -> None:
    """Twelve flows deliver more than the first two, which start last and whose windows it shows."""
    late = [{"name": name, "algorithm": "cubic", "rtt": "40 ms", "start": "800 ms"} for name in ("one", "other")]
    early = {"name": "early", "algorithm": "reno", "rtt": "40 ms", "count": 12}
    many = run(ask([*late, early], duration="1 s"), seed=1)
    figure = phase(many)
    assert (figure.x.title, figure.panels[0].y.title) == ("cwnd of one, segments", "cwnd of other, segments")
    path = figure.panels[0].series[1]
    assert min(path.times) > 0.8
    samples = many.samples.filter(pl.col("time_ns") == 10**9).join(many.flows.select("flow", "mss_bytes"), on="flow")
    ends = [samples.filter(flow=flow).select(pl.col("cwnd_bytes") / pl.col("mss_bytes")).item() for flow in (0, 1)]
    assert [path.x[-1], path.y[-1]] == pytest.approx(ends, rel=1e-4)
    # Panels of runs with other names have axes of their own.
    both = phase({"many": many, "two": run(ask([late[1], late[0]], duration="1 s"), seed=1)})
    assert both.x.title == "cwnd of the first flow, segments"
    assert [panel.y.title for panel in both.panels] == ["cwnd of other, segments", "cwnd of one, segments"]


def test_a_flow_over_udp_has_no_congestion_control() -> None:
    """The table `flows` calls it ``none``: no label, no heading and no debugger has that."""
    cbr = {"name": "call", "transport": "udp", "rtt": "40 ms", "workload": {"kind": "cbr", "rate": "1 Mbps"}}
    flow = {"name": "bulk", "algorithm": "reno", "rtt": "40 ms"}
    other = {**flow, "name": "other", "algorithm": "cubic"}
    mixed, calls = run(ask([flow, other, cbr], duration="1 s"), seed=1), run(ask([cbr], duration="1 s"), seed=1)
    assert labels_of(mixed.flows) == ["bulk (reno, 40 ms)", "other (cubic, 40 ms)", "call (40 ms)"]
    assert list(flow_labels(mixed).values()) == [0, 1]
    assert flow_labels(calls) == {}
    page = run_page(calls)
    assert "<h1>A run of UDP</h1>" in page
    assert "Click on a line" not in page
    assert list(side_by_side([mixed, calls])) == ["reno, cubic, seed 1", "UDP, seed 1"]


def test_hand_overs_and_steps_of_schedules_are_marked_in_every_panel_over_time(tmp_path: Path) -> None:
    """By hand: a hand-over at 1 s and then every 2 s; the delay changes at 2 s and 4 s."""
    link = {"from": "enb", "to": "ue", "cell": "lte", "snr": 20, "repeat": "2 s"}
    wire: dict[str, Any] = {"from": "server", "to": "enb", "delay": "4 ms", "repeat": "4 s"}
    wire["schedule"] = [{"at": "2 s", "delay": "9 ms"}]
    document = {
        "schema_version": 1,
        "duration": "4.5 s",
        "cell": [{"name": "lte", "base_station": "enb"}],
        "link": [wire, {**link, "schedule": [{"at": "1 s", "handover": "50 ms"}]}],
        "flow": [{"algorithm": "cubic", "from": "server", "to": "ue"}],
    }
    records = run(document, seed=1)
    assert [(one.label, list(one.x)) for one in moments(records)] == [
        ("hand-over", [1.0, 3.0]),
        ("step of a schedule", [2.0]),
    ]
    figure = overview(records)
    lines_ = [shape for shape in figure.to_plotly().to_dict()["layout"]["shapes"] if shape["type"] == "line"]
    assert [shape["x0"] for shape in lines_] == [1.0, 3.0, 2.0] * len(figure.panels)
    assert "Marked: hand-over 2, step of a schedule 1." in figure.sentence()
    figure.save(tmp_path / "overview.png")
    share({"run": records}).save(tmp_path / "share.png")
