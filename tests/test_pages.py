"""Pages in a browser: no complaint, every figure there, marks and keys open runs, runs open their time series."""

from __future__ import annotations

import base64
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any

import cwndlab
import numpy as np
import polars as pl
import pytest
from browser import CUT, Browser, chromium
from cwndlab.plot.series import SERIES, lines
from cwndlab.reports.charts import Asked
from cwndlab.reports.runs import ROOM, pack
from cwndlab.reports.sweep import sweep_figures
from cwndlab.saved import figures, report
from cwndlab.study.compare import compare
from cwndlab.study.header import Header
from cwndlab.study.result import Result
from drawings import is_blank

# The linked panels of a run have been drawn.
DRAWN = "document.querySelector('#details-series.js-plotly-plot .xtick') !== null"
BUFFERS, RATES, ALGORITHMS = ("0.1 bdp", "1 bdp", "4 bdp"), (10, 100), ("reno", "cubic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of which every seed's records are kept, a run of it, and a sweep, as pages."""
    place = tmp_path_factory.mktemp("pages")
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="10 ms", queue=cwndlab.DropTail("0.5 bdp"))
    flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow("reno", rtt="60 ms", start="1 s")]
    scenario = cwndlab.Scenario(duration="5 s", dumbbell=cwndlab.Dumbbell(bottleneck), flows=flows)
    found = compare(scenario, ["reno", "cubic"], seeds=3, out=place / "out")
    report(place / "out", place / "comparison.html")
    report(found.examples["reno"], place / "run.html")
    report(list(found.examples.values()), place / "pair.html")
    report(swept(), place / "sweep.html")
    return place


def swept(keep: Callable[[dict[str, Any]], bool] = lambda row: True, *, labels: int = 3) -> Result:
    """Three fields and values that say of which cell they are; the largest buffer was not run at 100 Mbit/s."""
    chance, scenario = random.Random(1), cwndlab.presets.load("single")
    columns = ["dumbbell.bottleneck.queue.capacity", "dumbbell.bottleneck.rate_mbps", "flow[0].algorithm"][:labels]
    points, rows = [], []
    for cell, values in enumerate(product(BUFFERS, RATES, ALGORITHMS)):
        buffer, rate, algorithm = values
        labelled = dict(zip(columns, values, strict=False))
        points.append({"cell": cell, **labelled, "scenario_hash": f"{cell}", "scenario": scenario.to_json()})
        rows += [
            {
                "cell": cell,
                **labelled,
                "seed": seed,
                "goodput_bps": rate * 1e6 * (0.7 + 0.05 * BUFFERS.index(buffer)) + chance.uniform(-1e4, 1e4),
                "queue_ms": None if algorithm == "cubic" else 5.0 * (1 + BUFFERS.index(buffer)),
                "scenario_hash": f"{cell}",
            }
            for seed in (1, 2, 3)
            if not (buffer == "4 bdp" and rate == 100)
        ]
    header = Header(
        scenario=scenario.document, seeds=[1, 2, 3], columns=columns, title="buffers & rates", complete=True
    )
    runs = pl.DataFrame([row for row in rows if keep(row)], schema_overrides={"queue_ms": pl.Float64})
    there = set(runs["cell"]) if len(runs) else {0}
    return Result(header, pl.DataFrame([one for one in points if one["cell"] in there or labels == 3]), runs)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.parametrize("name", ["comparison", "run", "sweep", "pair"])
@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 420)])
def test_a_page_draws_every_figure_without_complaint(
    browser: Browser, folder: Path, name: str, dark: bool, width: int
) -> None:
    browser.complaints.clear()
    browser.open(folder / f"{name}.html", dark=dark, width=width)
    browser.say("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    figures = browser.say("document.querySelectorAll('figure').length")
    assert figures >= {"comparison": 30, "run": 5, "sweep": 2, "pair": 5}[name]
    # Each has an axis that is drawn, with room, and does not reach beyond the page.
    drawn = "[...document.querySelectorAll('figure')].filter(one => one.querySelector('svg .xtick, svg .ytick')).length"
    browser.wait(f"{drawn} === {figures}")
    assert browser.say("document.documentElement.scrollWidth <= innerWidth")
    back = browser.say("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
    ink = browser.say("document.querySelector('svg .xtick text').style.fill")
    assert ink == ("rgb(230, 233, 236)" if dark else "rgb(27, 31, 36)")
    assert browser.complaints == []


def centre(browser: Browser, selector: str) -> tuple[float, float]:
    """The middle of what is the first of ``selector``, scrolled into view."""
    browser.say(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
    x, y = browser.say(
        f"(box => [box.x + box.width / 2, box.y + box.height / 2])"
        f"(document.querySelector({selector!r}).getBoundingClientRect())"
    )
    return x, y


def title(browser: Browser) -> str:
    return str(
        browser.say(
            "document.getElementById('details').open ? document.getElementById('details-title').textContent : ''"
        )
    )


def test_a_click_on_a_bar_opens_its_runs_and_a_run_its_time_series(browser: Browser, folder: Path) -> None:
    browser.complaints.clear()
    browser.open(folder / "comparison.html")
    browser.click(*centre(browser, "#bars-goodput_bps .bars .point:nth-child(2) path"))
    browser.wait("document.getElementById('details').open")
    assert title(browser) == "The 3 runs behind cubic"
    browser.click(*centre(browser, "#details-body a[href='#run=3']"))
    browser.wait(DRAWN)
    assert title(browser) == "algorithm cubic, seed 2"
    layout = "document.getElementById('details-series').layout"
    titles = browser.say(
        f"Object.keys({layout}).filter(key => key.startsWith('yaxis')).map(key => {layout}[key].title.text)"
    )
    assert [title.replace("<br>", ", ") for title in titles] == [what.axis for what in SERIES.values()]
    browser.say("history.back()")
    browser.wait("document.getElementById('details-title').textContent.startsWith('The 3 runs')")
    assert browser.complaints == []


def test_a_click_on_a_run_shows_the_command_for_the_moment(browser: Browser, folder: Path) -> None:
    browser.complaints.clear()
    browser.open(folder / "run.html")
    browser.wait("document.querySelector('#overview .nsewdrag') !== null")
    browser.click(*centre(browser, "#overview .nsewdrag"))
    browser.wait("document.querySelector('#moment code') !== null")
    commands = browser.say("[...document.querySelectorAll('#moment code')].map(one => one.textContent)")
    assert re.fullmatch(r"cwndlab debug out --at '[0-9.]+ s' --flow 0", commands[0])
    assert browser.complaints == []


def test_a_click_on_the_point_of_a_box_opens_its_run(browser: Browser, folder: Path) -> None:
    browser.open(folder / "comparison.html")
    browser.say("document.querySelector('details').open = true")
    browser.wait("document.querySelector('#boxes-goodput_bps .boxes .point') !== null")
    browser.click(*centre(browser, "#boxes-goodput_bps .boxes .point"))
    browser.wait("document.getElementById('details').open")
    assert title(browser).startswith("algorithm reno, seed ")


def test_keys_alone_open_a_run_walk_through_the_runs_and_close(browser: Browser, folder: Path) -> None:
    browser.complaints.clear()
    browser.open(folder / "comparison.html")
    browser.say("document.querySelector('#bars-goodput_bps').closest('figure').querySelector('a').focus()")
    ring = browser.say("getComputedStyle(document.activeElement).outlineStyle")
    browser.press("Enter", 13)
    browser.wait("document.getElementById('details').open")
    assert title(browser) == "The 3 runs behind reno"
    browser.press("Enter", 13)  # the first run has the focus
    browser.wait(DRAWN)
    assert title(browser) == "algorithm reno, seed 1"
    browser.press("ArrowRight", 39)
    browser.wait("document.getElementById('details-title').textContent === 'algorithm reno, seed 2'")
    browser.press("Escape", 27)
    # The event `close` comes in a task of its own, after the dialog has closed (HTML, 4.11.4).
    browser.wait("!document.getElementById('details').open && location.hash === ''")
    assert browser.say("document.activeElement.textContent") == "reno"  # whence it was opened
    browser.press("Tab", 9)
    assert browser.say("document.activeElement.textContent") == "cubic"
    assert ring == "solid" or browser.say("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert browser.complaints == []


def test_what_is_shown_of_a_run_is_what_was_recorded(browser: Browser, folder: Path) -> None:
    browser.open(folder / "comparison.html")
    browser.say("location.hash = '#run=0'")
    browser.wait(DRAWN)
    first = browser.say(
        "document.getElementById('details-series').data.filter(one => one.yaxis === 'y').map(({x, y}) => ({x, y}))"
    )
    records = cwndlab.Records.read(folder / "out" / "reno" / "seed-1")
    for line, shown in zip(lines(records, "cwnd", points=400), first, strict=True):
        assert shown["x"] == pytest.approx(line.time_s, abs=1e-3)
        assert shown["y"] == pytest.approx(line.values, abs=max(value or 0.0 for value in line.values) / 65534)


def test_colours_can_be_chosen(browser: Browser, folder: Path) -> None:
    browser.open(folder / "run.html")
    backs = []
    for _ in range(3):
        browser.say("document.getElementById('theme').click()")
        backs.append(browser.say("getComputedStyle(document.body).backgroundColor"))
    assert backs == ["rgb(255, 255, 255)", "rgb(20, 24, 29)", "rgb(255, 255, 255)"]


def test_a_cell_of_a_heat_map_opens_its_runs(browser: Browser, folder: Path) -> None:
    browser.complaints.clear()
    browser.open(folder / "sweep.html")
    browser.click(
        *centre(browser, "#sweep-heat .nsewdrag")
    )  # the middle one of 3 across; of 2 rows the upper one begins
    browser.wait("document.getElementById('details').open")
    assert title(browser).startswith("The 3 runs behind capacity 1 bdp, rate_mbps 10")
    browser.press("Enter", 13)
    browser.wait("document.getElementById('details-title').textContent.startsWith('capacity 1 bdp')")
    assert "This page holds no time series of this run." in browser.say(
        "document.getElementById('details').textContent"
    )
    assert browser.complaints == []


def test_two_runs_of_a_comparison_stand_side_by_side(browser: Browser, folder: Path) -> None:
    browser.complaints.clear()
    browser.open(folder / "comparison.html")
    browser.say("location.hash = '#run=0'")
    browser.wait(DRAWN)
    browser.say(
        "(one => { one.value = '3'; one.dispatchEvent(new Event('change')); })"
        "(document.querySelector('#details-ways select'))"
    )
    browser.wait("document.getElementById('details-title').textContent.includes(' beside ')")
    browser.wait(DRAWN)
    assert title(browser) == "algorithm reno, seed 1 beside algorithm cubic, seed 2"
    axes = browser.say("[...new Set(document.getElementById('details-series').data.map(one => one.xaxis))]")
    assert axes == ["x", "x2"]
    # A zoom of one column is one of both.
    browser.say("Plotly.relayout('details-series', {'xaxis.range': [1, 2]}).then(() => true)")
    browser.wait("document.getElementById('details-series').layout.xaxis2.range[1] === 2")
    assert browser.complaints == []


def test_panels_of_a_run_zoom_together_and_mark_events(browser: Browser, folder: Path) -> None:
    browser.open(folder / "run.html")
    names = browser.say("document.getElementById('overview').data.map(one => one.name)")
    assert {"loss (recovery begins)", "slow start", "recovery"} <= set(names)
    assert browser.say("[...new Set(document.getElementById('overview').data.map(one => one.xaxis))]") == ["x"]


def test_a_table_is_sorted_by_click_and_by_key(browser: Browser, folder: Path) -> None:
    browser.complaints.clear()
    browser.open(folder / "comparison.html")
    head = "document.querySelector('table.sortable thead tr').cells[2]"
    column = "[...document.querySelectorAll('table.sortable tbody')][0]"
    values = f"[...{column}.rows].map(row => parseFloat(row.cells[2].textContent))"
    assert browser.say(f"{head}.getAttribute('aria-sort')") == "none"
    browser.say(f"{head}.querySelector('button').click()")
    assert browser.say(f"{head}.getAttribute('aria-sort')") == "ascending"
    assert browser.say(values) == sorted(browser.say(values))
    browser.say(f"{head}.querySelector('button').focus()")
    browser.press("Enter", 13)
    assert browser.say(f"{head}.getAttribute('aria-sort')") == "descending"
    assert browser.say(values) == sorted(browser.say(values), reverse=True)
    assert browser.complaints == []


def test_a_figure_is_saved_as_csv_and_png(browser: Browser, folder: Path, tmp_path: Path) -> None:
    browser.complaints.clear()
    browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open(folder / "comparison.html")
    for kind in ("csv", "png"):
        browser.say(f"document.querySelector('[data-of=bars-goodput_bps][data-export={kind}]').click()")
        end = time.monotonic() + 60
        while not (tmp_path / f"bars-goodput_bps.{kind}").is_file():
            assert time.monotonic() < end, f"no {kind} was saved"
            time.sleep(0.05)
    header, *rows = (tmp_path / "bars-goodput_bps.csv").read_text().splitlines()
    assert header == "series,y axis,x,value,low,high"
    found = Result.read(folder / "out")
    for row, name in zip(rows, ALGORITHMS, strict=True):
        one = found.estimate(name, "goodput_bps")
        cells = row.replace('"goodput, Mbit/s"', "").split(",")
        assert cells[2] == name
        assert [float(cell) for cell in cells[3:]] == pytest.approx(
            [one.mean / 1e6, (one.low or 0) / 1e6, (one.high or 0) / 1e6]
        )
    assert not is_blank(tmp_path / "bars-goodput_bps.png")
    assert browser.complaints == []


@pytest.mark.parametrize("width", [1400, 1000, 390])
@pytest.mark.parametrize("page", ["comparison", "run", "pair", "sweep"])
def test_nothing_is_cut_off_at_any_width(browser: Browser, folder: Path, page: str, width: int) -> None:
    for dark in (False, True):
        browser.open(folder / f"{page}.html", width=width, dark=dark)
        browser.assert_nothing_is_cut_off()


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_a_page_is_printed_complete_from_any_width(browser: Browser, folder: Path, width: int) -> None:
    """680 px are 180 mm: what A4 (210 mm) and US Letter (216 mm) have between margins of 14 mm."""
    browser.complaints.clear()
    browser.open(folder / "comparison.html", width=width)
    before = browser.say("document.getElementById('bars-goodput_bps').clientWidth")
    browser.say("dispatchEvent(new Event('beforeprint'))")
    drawn = "[...document.querySelectorAll('.js-plotly-plot')]"
    sizes = f"{drawn}.map(one => [one.parentElement.clientWidth, one._fullLayout.width])"
    found = browser.say(sizes)
    assert len(found) == browser.say("document.querySelectorAll('.chart').length")
    assert all(0 < width <= place <= 680 for place, width in found)
    bars = "[...document.querySelectorAll('#bars-goodput_bps .point')].map(one => one.getBoundingClientRect())"
    assert browser.say(f"{bars}.filter(box => box.width > 5 && box.right <= 680).length") == len(ALGORITHMS)
    assert browser.say(CUT) == []
    browser.say("dispatchEvent(new Event('afterprint'))")
    # A figure of a grid has a fraction of a pixel.
    browser.wait(f"Math.round(document.getElementById('bars-goodput_bps')._fullLayout.width) === {before}")
    pages = {}
    for name in ("printing", "printing handout"):
        browser.say(f"document.documentElement.className = '{name}'")
        told = browser.ask("Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)
        pages[name] = len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(told["data"])))
        browser.say("document.documentElement.className = ''")
    assert pages["printing"] > 1
    assert browser.complaints == []


def test_no_colour_has_two_meanings(folder: Path) -> None:
    """In every figure each label has its own colour; colours of flows are none of algorithms."""
    text = (folder / "comparison.html").read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert data is not None
    charts = json.loads(data[1])["charts"]
    bars = charts["bars-goodput_bps"]["data"][0]["marker"]["color"]
    assert len(set(bars)) == len(ALGORITHMS)
    lines = {trace["name"]: trace["line"]["color"] for trace in charts["series-cwnd"]["data"] if "line" in trace}
    assert len(set(lines.values())) == len(lines) >= 2
    # Both flows use the compared algorithm: their colours are theirs in every panel.
    assert not set(lines.values()) & set(bars)


def test_the_first_key_skips_to_the_content(browser: Browser, folder: Path) -> None:
    browser.open(folder / "run.html")
    browser.press("Tab", 9)
    assert browser.say("document.activeElement.textContent") == "Skip to the content"
    browser.press("Enter", 13)
    browser.wait("document.activeElement.id === 'main'")


def choose(browser: Browser, name: str, place: int) -> None:
    browser.say(
        f"(one => {{ one.value = {place}; one.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
        f"(document.getElementById('sweep-{name}'))"
    )


def test_a_sweep_is_redrawn_over_other_fields_and_metrics(browser: Browser, folder: Path) -> None:
    """By hand: 0.7, 0.75 and 0.8 of the rate; 5, 10 and 15 ms, which CUBIC has no value of."""
    browser.complaints.clear()
    browser.open(folder / "sweep.html")
    drawn = "document.getElementById('sweep-heat').data[0].z"
    first, second = browser.say(drawn)
    assert first == pytest.approx([7.0, 7.5, 8.0], abs=0.02)
    assert second == [pytest.approx(70, abs=0.2), pytest.approx(75, abs=0.2), None]
    choose(browser, "metric", 1)
    assert browser.say(drawn)[0] == [5, 10, 15]
    choose(browser, "up", 2)
    assert browser.say(drawn) == [[5, 10, 15], [None, None, None]]
    names = browser.say("document.getElementById('sweep-curves').data.map(one => one.name)")
    assert names == ["reno", "cubic"]  # quantities would have the name of the field
    assert browser.complaints == []


def test_on_paper_there_are_no_buttons_and_light_colours(browser: Browser, folder: Path) -> None:
    browser.open(folder / "comparison.html", dark=True)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.say("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.say("getComputedStyle(document.getElementById('tools')).display") == "none"
        assert browser.say("getComputedStyle(document.querySelector('figcaption')).display") == "none"
    finally:
        browser.ask("Emulation.setEmulatedMedia", media="")


def test_a_page_has_room_for_what_it_holds(folder: Path) -> None:
    for page in folder.glob("*.html"):
        assert page.stat().st_size < 8e6
    assert ROOM < 2e6


def test_packed_series_are_within_a_pixel(folder: Path) -> None:
    """Steps of 1/65534 of the largest value: finer than the 5 digits of a line."""
    records = cwndlab.Records.read(folder / "out" / "reno" / "seed-2")
    panel = pack(records, 100)[0]
    assert panel["axis"] == "cwnd, segments"
    import base64

    for line, packed in zip(lines(records, "cwnd", points=100), panel["lines"], strict=True):
        steps = np.frombuffer(base64.b64decode(packed["data"]), dtype="<u2")
        assert len(steps) == len(line.values) <= 101
        values = [value or 0.0 for value in line.values]
        assert steps * packed["most"] / 65534 == pytest.approx(values, abs=packed["most"] / 65534)


def test_a_sweep_of_one_field_and_one_of_none(tmp_path: Path) -> None:
    one = swept(lambda row: row["cell"] in (0, 4, 8), labels=1)
    assert (one.is_comparison, one.labels) == (True, list(BUFFERS))
    report(one, tmp_path / "one.html")
    none = swept(lambda row: row["cell"] == 0, labels=0)
    assert none.table(["goodput_bps"]).rows[0][1].startswith("7.0")
    report(none, tmp_path / "none.html")
    with pytest.raises(cwndlab.RecordsError, match="sweep: holds no finished run\n  hint: run `cwndlab sweep` again"):
        report(Result(swept().header, swept().points, swept().runs.clear()), Path("nowhere.html"))
    with pytest.raises(cwndlab.RecordsError, match="has no column that is a metric"):
        report(Result(swept().header, swept().points, swept().runs.drop("goodput_bps", "queue_ms")), Path("no.html"))


def test_a_sweep_has_the_series_of_runs_that_are_run_again(
    browser: Browser, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def again(_: Result, row: int) -> cwndlab.Records:
        asked.append(row)
        return cwndlab.Records.read(folder / "out" / "reno" / "seed-1")

    monkeypatch.setattr("cwndlab.reports.sweep._again", again)
    report(swept(), tmp_path / "page.html", series=1)
    assert len(asked) == swept().runs["cell"].n_unique()
    browser.complaints.clear()
    browser.open(tmp_path / "page.html")
    browser.say(f"location.hash = '#run={asked[-1]}'")
    browser.wait(DRAWN)
    assert browser.complaints == []


def test_a_folder_has_the_same_table_in_terminal_notebook_and_page(
    folder: Path, tmp_path: Path, cli: Callable[..., tuple[int, str, str]]
) -> None:
    """Cell by cell; the table of the page is the first one."""
    sweep = tmp_path / "swept"
    scenario = cwndlab.presets.load("single").with_(duration="1 s")
    rates = {"dumbbell.bottleneck.rate": ["5 Mbps", "10 Mbps"]}
    cwndlab.sweep(scenario, over=rates, algorithms=["reno", "cubic"], seeds=2, out=sweep)
    for place in (folder / "out", sweep):
        result = cwndlab.load(place)
        assert isinstance(result, Result)
        table = result.table()
        wanted = [[str(cell) for cell in row] for row in table.rows]
        assert wanted
        status, printed, _ = cli("report", place, "--report", tmp_path / "page.html")
        assert status == 0
        lines = [re.split(r"  +", line.strip()) for line in printed.splitlines()]
        assert lines[2 : 2 + len(wanted)] == wanted
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        shown = (result._repr_html_(), page[page.index("Mean ± half of") :])
        for source in shown:
            body = source[source.index("<tbody>") : source.index("</tbody>")]
            cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", body)]
            assert [unescape(cell) for cell in cells] == [cell for row in wanted for cell in row]


def test_figures_of_a_sweep_are_files(tmp_path: Path) -> None:
    made = figures(swept(), tmp_path, format="svg,pdf", style="print")
    assert {path.name for path in made} == {
        f"{kind}-{metric}.{ending}"
        for kind in ("heat", "curves")
        for metric in ("goodput_bps", "queue_ms")
        for ending in ("svg", "pdf")
    }
    assert [path.name for path in made if is_blank(path)] == []
    marked = sweep_figures(swept(), Asked(["queue_ms"], marks={"queue_ms": 20.0}))["curves-queue_ms"]
    assert marked.panels[0].thresholds == ((20.0, "20 ms"),)
