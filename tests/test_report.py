"""Pages and figures: complete, self-contained, of a sensible size; what cannot be read or written says so."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.saved import figures, load, report
from cwndlab.simulate import run
from cwndlab.statistics.digits import number
from cwndlab.study import tables
from cwndlab.study.compare import compare
from cwndlab.study.result import Result
from drawings import is_blank


def scenario(**changes: str) -> cwndlab.Scenario:
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="10 ms", queue=cwndlab.DropTail("0.5 bdp"))
    flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow("reno", rtt="60 ms", start="1 s")]
    path = cwndlab.Dumbbell(bottleneck)
    return cwndlab.Scenario(duration="6 s", title="a <path>", dumbbell=path, flows=flows).with_(**changes)


@pytest.fixture(scope="module")
def found() -> Result:
    return compare(scenario(), ["reno", "cubic+ccm-ss"], seeds=3)


class Page(HTMLParser):
    """What a page shows (not its scripts), and what it would fetch."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.text = ""
        self.fetched: list[str] = []
        self.open: list[str] = []
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def test_the_page_of_a_comparison_stands_alone_and_names_everything(found: Result, tmp_path: Path) -> None:
    report(found, tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert page.fetched
    ids = set(re.findall(r'id="([\w-]+)"', page.source))
    assert all(re.fullmatch(r"#runs?=\d+", place) or place[1:] in ids for place in page.fetched)
    assert page.open == []
    assert len(page.source) < 8e6
    for words in (
        "a <path>",
        "2 algorithms, each in every flow, 3 runs each with the same seeds.",
        "cwnd, segments",
        "goodput, Mbit/s",
        "RTT, ms",
        "bottleneck queue, packets",
        "bottleneck drops, 1/s",
        "share of all goodput, %",
        "Paired differences from reno",
        "[dumbbell.bottleneck]",
        f"cwndlab {cwndlab.version()} · scenario {found.scenario.hash} · seeds 1–3 · 6 runs",
    ):
        assert words in page.text, words
    charts = re.findall(r'<div class="chart" id="([\w-]+)" role="img" aria-label="([^"]+)"', page.source)
    assert len({name for name, _ in charts}) == len(charts) == len(data(page)["charts"])
    assert {"cdf-rtt", "cdf-queue", "series-share", "phase-0", "phase-1"} <= {name for name, _ in charts}
    assert all(len(sentence) > 40 for _, sentence in charts)
    assert "prefers-color-scheme: dark" in page.source


def data(page: Page) -> dict[str, Any]:
    """The data block of a page."""
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.source, re.DOTALL)
    assert block is not None
    found: dict[str, Any] = json.loads(block[1])
    return found


def test_every_number_of_the_tables_is_on_the_page(found: Result, tmp_path: Path) -> None:
    report(found, tmp_path / "page.html")
    text = Page(tmp_path / "page.html").text
    for table in (found.table(), tables.differences(found)):
        assert all(str(cell) in text for row in table.rows for cell in row)


def test_better_stands_beside_an_interval_that_says_so(found: Result, tmp_path: Path) -> None:
    report(found, tmp_path / "page.html")
    text = Page(tmp_path / "page.html").text
    told = re.findall(r"(?:higher|lower) by \S+(?: \S+)? \((\S+) to (\S+)\)(, better|, worse|)", text)
    rows = [list(map(str, row)) for row in tables.differences(found).rows]
    assert len(told) == sum(row[-1].startswith(("higher", "lower")) for row in rows)
    # Nobody else says the words: not a figure, not a note, not a heading.
    said = [row for row in rows if row[-1].endswith(("better", "worse"))]
    assert len(re.findall("better|worse", text)) == len(said) + sum(bool(value) for _, _, value in told)
    for row in said:
        low, high = (float(end) for end in row[3].split(" … "))
        assert low > 0 or high < 0
        assert row[4] == "< 0.001" or float(row[4]) < 0.05


def test_better_is_written_in_one_place_only() -> None:
    """No text of the package but the verdict's own calls anything better or worse; `reproduce` quotes what the papers
    claim beside what was measured, and a dossier compares with CUBIC and Reno in these words."""
    root = Path(cwndlab.__file__).parent
    writers = set()
    others = {file for name in ("reproduction", "assessment") for file in (root / name).rglob("*.py")}
    others.add(root / "cli" / "commands" / "assess.py")
    for file in set(root.rglob("*.py")) - others:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
            if isinstance(text, str) and re.search(r"\b(?:better|worse)\b", text):
                writers.add(str(file.relative_to(root)))
    assert writers == {"statistics/verdicts.py"}


def test_a_run_has_a_page_too(found: Result, tmp_path: Path) -> None:
    found.examples["reno"].save(tmp_path / "run")
    report(tmp_path / "run", tmp_path / "run.html")
    page = Page(tmp_path / "run.html")
    assert all(place.startswith("#") for place in page.fetched)
    assert data(page)["charts"]["overview"]["layout"]["xaxis"]["title"]["text"] == "time, s"
    for words in ("Flows", "Bottlenecks", "flow1", "bottleneck-reverse", "Jain's index", "seed 1", "utilisation"):
        assert words in page.text, words


def test_the_page_of_a_run_over_802_11_has_the_airtime_of_its_flows(found: Result, tmp_path: Path) -> None:
    """The shares of the data and of the ACKs are those of the records over 2 s; a wired run has none."""
    flow = {"algorithm": "cubic", "rtt": "20 ms"}
    flows = [flow, flow | {"direction": "upload"}]
    wlan = {"schema_version": 1, "duration": "2 s", "wlan": {"standard": "802.11g"}, "flow": flows}
    records = run(wlan, seed=1)
    pages = []
    for name, one in (("wlan", records), ("wired", found.examples["reno"])):
        report(one, tmp_path / f"{name}.html")
        pages.append(Page(tmp_path / f"{name}.html").text)
    shares = [100 * row[name] / 2e9 for row in records.rows("flows") for name in ("airtime_ns", "ack_airtime_ns")]
    assert 50 < sum(shares) <= 100
    assert all(number(share) in pages[0] for share in shares)
    assert ["airtime of data" in page for page in pages] == [True, False]


def test_a_run_without_samples_has_its_tables(tmp_path: Path) -> None:
    bare = run(scenario(sample_interval="0 s"), seed=1)
    report(bare, tmp_path / "run.html")
    assert "The scenario takes no samples" in Page(tmp_path / "run.html").text
    assert figures(bare, tmp_path) == []


def test_two_runs_stand_side_by_side(found: Result, tmp_path: Path) -> None:
    """From records or folders; a page of four, or of a folder that holds no single run, is refused."""
    for name, records in found.examples.items():
        records.save(tmp_path / name)
    runs = [tmp_path / name for name in found.examples]
    report(runs, tmp_path / "a.html")
    report(list(found.examples.values()), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    page = Page(tmp_path / "a.html")
    overview = data(page)["charts"]["overview"]
    assert overview["layout"]["xaxis2"]["matches"] == "x"
    assert "reno, seed 1 beside cubic, seed 1" in page.text
    assert "cwndlab report run-1 run-2" in page.text
    assert {path.name for path in figures(runs, tmp_path / "figures")} >= {"overview.png", "cdf-rtt.png"}
    with pytest.raises(cwndlab.RecordsError, match="4 runs side by side"):
        report([*runs, *runs], tmp_path / "c.html")
    found.save(tmp_path / "out")
    with pytest.raises(cwndlab.RecordsError, match="holds no single run"):
        report([tmp_path / "out", runs[0]], tmp_path / "c.html")


def test_the_command_shows_two_runs(found: Result, tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    for name, records in found.examples.items():
        records.save(tmp_path / name)
    status, _, err = cli("report", *(tmp_path / name for name in found.examples))
    assert status == 0
    place = tmp_path / "reno" / "side-by-side.html"
    assert err.endswith(f"report: {place}\n")
    assert len(data(Page(place))["charts"]) >= 5


def test_a_page_says_how_to_make_it_again_and_leads_to_its_sections(found: Result, tmp_path: Path) -> None:
    report(found, tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert "cwndlab compare scenario.toml --algorithms reno,cubic+ccm-ss --seed 1 --repetitions 3" in page.text
    headings = re.findall(r'<h2 id="([\w-]+)">[^<]', page.source)
    assert len(headings) >= 5
    assert all(f'<a href="#{name}">' in page.source for name in headings)
    assert '<a class="skip" href="#main">' in page.source


def test_a_page_of_thirty_figures_takes_less_than_three_seconds_of_cpu_time(found: Result, tmp_path: Path) -> None:
    """0.5 s on the machine of docs/performance.md; templates and modules are loaded once before."""
    report(found, tmp_path / "page.html")
    begin = time.process_time()
    report(found, tmp_path / "page.html")
    spent = time.process_time() - begin
    assert len(data(Page(tmp_path / "page.html"))["charts"]) >= 30
    assert spent < 3.0


def test_every_table_names_its_runs(found: Result, tmp_path: Path) -> None:
    """Intervals and n: in a column, or in the caption where a run is alone."""
    report(found, tmp_path / "a.html")
    report(found.examples["reno"], tmp_path / "b.html")
    for name in ("a", "b"):
        for table in re.findall(r"<table.*?</table>", (tmp_path / f"{name}.html").read_text(), re.DOTALL):
            assert re.search(r"<th[^>]*>n</th>", table) or "n = " in table


def test_a_lone_run_of_each_claims_nothing(tmp_path: Path) -> None:
    report(compare(scenario(), ["reno", "bic"], seeds=1), tmp_path / "page.html")
    text = Page(tmp_path / "page.html").text
    assert "one repetition, so nothing is decided" in text
    assert "not decided: one repetition" in text


def test_folders_are_read(found: Result, tmp_path: Path) -> None:
    found.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert isinstance(again, Result)
    report(again, tmp_path / "a.html")
    report(found, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert isinstance(load(tmp_path / "out" / "reno" / "seed-1"), cwndlab.Records)


def test_what_cannot_be_read_says_so(found: Result, tmp_path: Path) -> None:
    with pytest.raises(cwndlab.RecordsError, match="none: is not a folder\n  hint: a folder that `cwndlab run --out`"):
        report(tmp_path / "none", tmp_path / "page.html")
    found.save(tmp_path / "out")
    cut = tmp_path / "out" / "reno" / "seed-1" / "samples.parquet"
    cut.write_bytes(cut.read_bytes()[:-100])
    for folder in (tmp_path / "out", cut.parent):
        with pytest.raises(cwndlab.RecordsError, match=r"samples\.parquet: "):
            report(folder, tmp_path / "page.html")
    with pytest.raises(cwndlab.RecordsError, match="holds no finished run"):
        report(Result(found.header, found.points, found.runs.clear()), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_what_cannot_be_written_says_so_and_leaves_nothing(found: Result, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "folder.html", tmp_path / "file" / "page.html"):
        with pytest.raises(cwndlab.RecordsError, match="cannot be written: "):
            report(found, place)
    with pytest.raises(cwndlab.RecordsError, match="cannot be written: "):
        figures(found, tmp_path / "file")
    with pytest.raises(cwndlab.RecordsError, match="format: 'gif' is not a format of figures"):
        figures(found, tmp_path, format="gif")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.html"]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_figures_are_files(found: Result, tmp_path: Path, ending: str) -> None:
    made = figures(found, tmp_path / "new", format=ending)
    assert {path.stem for path in made} >= {"cwnd", "goodput", "rtt", "queue", "loss", "share", "goodput_bps", "jain"}
    assert {path.suffix for path in made} == {f".{ending}"}
    assert [path.name for path in made if is_blank(path)] == []


def test_the_page_of_coexistence_has_each_flow(tmp_path: Path) -> None:
    """Goodput and share of both sides; of a run over UDP delay, jitter and loss."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="5 ms"))
    call = cwndlab.Flow(
        transport="udp", name="call", rtt="40 ms", workload=cwndlab.scenario.workloads.Cbr(rate="1 Mbit/s")
    )
    flows = [cwndlab.Flow("reno", rtt="40 ms", name="long"), cwndlab.Flow("reno", rtt="40 ms"), call]
    scenario = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows)
    found = compare(scenario, ["cubic", "vegas"], against="reno", seeds=2)
    report(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for title in ("goodput of long", "share of long", "goodput of flow1", "share of flow1"):
        assert title in page
    assert "each in long, the other flows over TCP under reno" in page
    report(found.examples["vegas"], tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    for title in ("one-way delay of UDP", "jitter of UDP", "loss of UDP", "share"):
        assert title in page
