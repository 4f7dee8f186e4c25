"""Named alternatives of anything, in Python, in files and on the command line; tables and figures of several axes."""

from __future__ import annotations

import base64
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from browser import chromium
from cwndlab.errors import ArgumentError, ScenarioError
from cwndlab.reports.charts import Asked
from cwndlab.reports.sections import described_scenario
from cwndlab.reports.sweep import Grid
from cwndlab.study.result import Result
from cwndlab.study.sweeps import Sweep

Called = tuple[int, str, str]
KIND = "dumbbell.bottleneck.queue.kind"
RATE = "dumbbell.bottleneck.rate"
FILE = f"""
[compare]
base = "single"
algorithms = ["cubic", "reno"]
seeds = 2
metrics = ["queue_ms", "goodput_bps"]

[compare.set]
duration = "1 s"

[compare.alternatives.remedy.none]

[compare.alternatives.remedy.CoDel]
"{KIND}" = "codel"

[compare.alternatives.path.slow]
"{RATE}" = "5 Mbps"

[compare.alternatives.path.own]
base = "two-flows"
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two remedies × two paths × two algorithms."""
    base = cwndlab.presets.load("single").with_(duration="1 s")
    named = {"remedy": {"none": {}, "CoDel": {KIND: "codel"}}, "path": {"slow": {RATE: "5 Mbps"}, "fast": {}}}
    return cwndlab.compare(base, ["cubic", "reno"], alternatives=named, seeds=3)


def test_each_cell_is_the_scenario_with_the_changes_of_its_alternatives(found: Result) -> None:
    """By hand: the base with the fields of each; and the rows are those of single runs."""
    base = found.scenario
    assert found.labels[0] == "none, slow, cubic"
    assert len(found.labels) == 8
    for row in found.points.iter_rows(named=True):
        changes = {KIND: "codel"} if row["@remedy"] == "CoDel" else {}
        changes |= {RATE: "5 Mbps"} if row["@path"] == "slow" else {}
        assert found.scenario_of(row["cell"]) == base.with_(changes | {"flow[0].algorithm": row["algorithm"]})
    one = cwndlab.metrics.summary(cwndlab.run(found.scenario_of(5), seed=2), metrics=["goodput_bps"])
    assert found.by_seed("goodput_bps")["CoDel, slow, reno"][2] == one["goodput_bps"]


def test_differences_are_within_remedy_and_path_or_between_remedies(found: Result) -> None:
    frame = found.differences(["queue_ms"])
    assert frame.select("@remedy", "@path", "algorithm").rows() == [
        (remedy, path, "reno") for remedy in ("none", "CoDel") for path in ("slow", "fast")
    ]
    between = found.differences(["queue_ms"], by="@remedy")
    reno, none = (found.values(f"{remedy}, slow, reno", "queue_ms") for remedy in ("CoDel", "none"))
    wanted = sum(one - other for one, other in zip(reno, none, strict=True)) / 3
    row = between.filter(path="slow") if "path" in between.columns else between
    assert wanted in [pytest.approx(value) for value in row["difference"]]
    with pytest.raises(ArgumentError, match="by: no label is called 'remedi'\n  hint: did you mean '@remedy'"):
        found.differences(by="remedi")


def test_a_table_has_the_same_cells_in_every_form(found: Result) -> None:
    table = found.table(["goodput_bps"])
    assert table.header == ["remedy", "path", "algorithm", "goodput\nMbit/s"]
    *names, cell = next(row for row in table.rows if " ± " in row[-1])
    text, html, markdown, latex = (table.to(form) for form in ("text", "html", "markdown", "latex"))
    assert text.splitlines()[2 + table.rows.index([*names, cell])].split("  ")[-1].strip() == cell
    assert f">{cell}<" in html
    assert f"| {' | '.join(names)} | {cell} |" in markdown
    assert " & ".join(names) + " & " + cell.replace("±", r"$\pm$") + r" \\" in latex
    assert table.to("csv").splitlines()[0].startswith("cell,@remedy,@path,algorithm,runs,goodput_bps,")
    with pytest.raises(ArgumentError, match="form: no form is called 'latx'\n  hint: did you mean 'latex'"):
        table.to("latx")


def test_panels_have_one_scale_and_colours_are_of_what_is_compared(found: Result) -> None:
    figure = found.plot("goodput_bps", x="path")
    assert [panel.title for panel in figure.panels] == ["none", "CoDel"]
    assert figure.shares_y == "all"
    assert [series.label for series in figure.panels[0].series] == ["cubic", "reno"]
    assert list(figure.panels[0].series[0].x) == ["slow", "fast"]
    points = found.plot("goodput_bps", x="queue_ms", by="remedy")
    assert {len(series.x) for series in points.series} == {1}
    assert points.labels == ["none", "CoDel"]
    marked = found.plot("queue_ms", thresholds={"queue_ms": 20.0})
    assert marked.panels[0].thresholds == ((20.0, "20 ms"),)
    with pytest.raises(ArgumentError, match="x: nothing that varies is called 'pth'\n  hint: did you mean 'path'"):
        found.plot("goodput_bps", x="pth")


def test_a_call_is_marked_at_150_ms_where_delays_come_near(found: Result) -> None:
    """ITU-T G.114 (05/2003): up to 150 ms one way most conversations are not affected."""
    near = Result(found.header, found.points, found.runs.with_columns(queue_ms=found.runs["queue_ms"] * 0 + 100.0))
    assert near.plot("queue_ms").panels[0].thresholds == ((150.0, "150 ms (ITU-T G.114)"),)
    assert found.plot("queue_ms").panels[0].thresholds == ()


def test_the_sentence_about_a_scenario_leaves_out_what_varies(found: Result) -> None:
    """The preset `single` has one flow of CUBIC, 50 Mbit/s, 5 ms and a queue of 1 BDP."""
    whole = "1 flow (cubic) for 1 s over a dumbbell (50 Mbps, delay 5 ms, queue 1 bdp)."
    assert described_scenario(found.scenario) == whole
    assert described_scenario(found.scenario, found.documents()) == "1 flow for 1 s over a dumbbell (delay 5 ms)."


def test_a_page_of_several_axes_says_how_it_is_made_again(found: Result, tmp_path: Path) -> None:
    """Its command names the folder, the metrics and the marks; it needs no file of the scenario."""
    folder, page = tmp_path / "out", tmp_path / "page.html"
    cwndlab.report(found, page)
    assert "Make this page again" not in page.read_text()  # nothing keeps the runs
    found.save(folder)
    cwndlab.report(folder, page, metrics=["queue_ms"], x="path", by="remedy", thresholds={"queue_ms": 20.0})
    text = page.read_text()
    assert f"cwndlab report {folder} --metrics queue_ms --x path --by remedy --threshold queue_ms=20<" in text
    assert "Save the scenario" not in text


def test_a_page_has_the_axes_that_were_asked_for(found: Result, tmp_path: Path) -> None:
    """By default the axis with the most values is across, and the algorithms up."""
    assert Grid(found).names == ["remedy", "path", "algorithm"]
    assert Grid(found, Asked(x="algorithm", by="path")).names == ["algorithm", "path", "remedy"]
    figure = Asked(x="algorithm", by="path").figure(found, "queue_ms")
    assert (figure.x.title, [one.label for one in figure.panels[0].series]) == ("algorithm", ["slow", "fast"])
    with pytest.raises(ArgumentError, match="by: nothing that varies is called 'remdy'\n  hint: did you mean 'remedy'"):
        cwndlab.report(found, tmp_path / "page.html", by="remdy")


def test_a_file_is_a_question_with_table_page_and_figure(tmp_path: Path, cli: Callable[..., Called]) -> None:
    file, out = tmp_path / "question.toml", tmp_path / "out"
    file.write_text(FILE)
    page, figure = tmp_path / "page.html", tmp_path / "figure.pdf"
    given = ("--out", out, "--report", page, "--figure", figure, "--format", "latex", "--by", "remedy")
    status, printed, said = cli("compare", file, *given)
    assert status == 0, said
    assert printed.splitlines()[0].startswith("% Mean ± half of the 95 % interval")
    assert printed.splitlines()[1] == "\\begin{tabular}{lllrr}"
    assert "queue & goodput" in printed.splitlines()[3]
    assert figure.read_bytes()[:5] == b"%PDF-"
    text = page.read_text(encoding="utf-8")
    assert "<title>remedy × path × algorithm</title>" in text
    result = cwndlab.load(out)
    assert isinstance(result, Result)
    assert result.compared == "@remedy"
    # The base of its own has the changes of the set, too.
    own = result.points.filter(result.points["@path"] == "own")["cell"][0]
    assert result.scenario_of(own).duration == "1 s"
    assert len(result.scenario_of(own).flows) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--alternative", "codel"], "--alternative: 'codel' does not name an alternative of an axis"),
        (["--alternative", f"remedy.CoDel:{KIND}=codell"], f"{KIND}: "),
        (["--alternative", "a.one:base=nowhere"], "nowhere: there is no preset and no file of this name"),
        (["--alternative", "a.one", "--by", "b"], "--by: nothing that varies is called 'b'"),
        (["--alternative", ".one"], "--alternative: '.one' does not name an alternative of an axis"),
        (
            ["--alternative", "a.one:duration=1s", "--alternative", "a.one:duration=2s"],
            "--alternative: a.one sets 'duration' twice, and one of the values would be lost",
        ),
        (
            ["--algorithms", "cubic,reno", "--alternative", "algorithm.near:flow[0].rtt=30ms"],
            "--algorithms: an axis of alternatives is called 'algorithm', too, and one of them would be lost",
        ),
    ],
)
def test_a_wrong_alternative_is_named(cli: Callable[..., Called], arguments: list[str], message: str) -> None:
    status, out, said = cli("compare", "single", *arguments, "--repetitions", 2)
    assert (status, out) == (2, "")
    assert said.startswith(message), said


@pytest.mark.parametrize(
    "option", [("--seed", 7), ("--repetitions", 4), ("--alternative", "a.b"), ("--algorithms", "cubic")]
)
def test_a_description_has_its_own_seeds_and_alternatives(
    tmp_path: Path, cli: Callable[..., Called], option: tuple[object, ...]
) -> None:
    (tmp_path / "question.toml").write_text(FILE)
    status, out, said = cli("compare", tmp_path / "question.toml", *option)
    assert (status, out, said.partition(":")[0]) == (2, "", option[0])


@pytest.mark.parametrize(
    "given", [{"seeds": [7, 8]}, {"seeds": 10}, {"alternatives": {"a": {"b": {}}}}, {"flows": 0}, {"over": {RATE: [1]}}]
)
def test_a_sweep_that_is_compared_stands_alone(given: dict[str, Any]) -> None:
    spec = Sweep(base="single", seeds=[1, 2], product={RATE: ["5 Mbps", "10 Mbps"]})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=f"^{next(iter(given))}: "):
        cwndlab.compare(spec, **given)


def test_a_measure_of_a_sweep_that_is_compared_is_a_column() -> None:
    base = cwndlab.presets.load("single").with_(duration="1 s")
    spec = Sweep(
        base=base, seeds=[1, 2], product={RATE: ["5 Mbps", "10 Mbps"]}, measure=lambda records: {"mine": records.seed}
    )
    result = cwndlab.compare(spec)
    assert result.runs["mine"].to_list() == [1.0, 2.0, 1.0, 2.0]
    assert result.runs["mine"].equals(cwndlab.sweep(spec).runs["mine"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"alternatives": {"rtt": {"near": {}}}, "product": {"@rtt": ["p", "q"]}},
            'sweep.product."@rtt": is also in sweep.alternatives.rtt\n  hint: one of them would be lost',
        ),
        (
            {"alternatives": {"algorithm": {"x": {}}}, "algorithms": ["cubic", "reno"]},
            'sweep.algorithms."algorithm": is also in sweep.alternatives.algorithm\n  hint: one of them would be lost',
        ),
        ({"alternatives": {" ": {"x": {}}}}, "sweep.alternatives: ' ' is not the name of an axis"),
    ],
)
def test_two_axes_have_two_names(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Sweep(base="single", **given)  # type: ignore[arg-type]
    assert str(error.value).startswith(said)


def test_two_axes_cannot_both_have_scenarios_of_their_own() -> None:
    named = {"a": {"one": "single"}, "b": {"two": "two-flows"}}
    with pytest.raises(ScenarioError, match="two axes have scenarios of their own"):
        cwndlab.compare("single", alternatives=named, seeds=1)


def test_a_scenario_is_a_preset_a_file_or_plain_values(tmp_path: Path) -> None:
    scenario = cwndlab.presets.load("single").with_(duration="1 s")
    toml, plain = tmp_path / "one.toml", tmp_path / "one.json"
    scenario.save(toml)
    plain.write_text(scenario.to_json())
    first = cwndlab.run(scenario, seed=1)
    for like in (toml, str(plain), scenario.document):
        assert cwndlab.run(like, seed=1) == first
    document = scenario.document
    document["flow"].clear()
    assert scenario.document["flow"]


def test_records_are_a_mapping_that_is_compared_and_pickled() -> None:
    records = cwndlab.run(cwndlab.presets.load("single").with_(duration="1 s"), seed=1)
    assert records["flows"].equals(records.flows)
    assert pickle.loads(pickle.dumps(records)) == records
    assert records != cwndlab.run(records.scenario, seed=2)
    with pytest.raises(ArgumentError, match="table: no table is called 'flow'\n  hint: did you mean 'flows'"):
        records.to_pandas("flow")


def test_completion_of_a_result_offers_public_names_only(found: Result) -> None:
    names = [name for name in dir(found) if not name.startswith("__")]
    assert {"table", "differences", "plot", "report", "save", "labels"} <= set(names)
    assert not [name for name in names if name.startswith("_") or name in ("grouped", "groups", "kept", "write_to")]
    with pytest.raises(ArgumentError, match="label: no cell is called 'cubik'"):
        found.estimate("cubik", "goodput_bps")


def test_the_page_of_several_axes_has_no_overflow_and_a_handout_of_one_page(found: Result, tmp_path: Path) -> None:
    """Two of three axes with eight cells: table and the figure of the first metric on one sheet of A4."""
    found.report(tmp_path / "page.html")
    with chromium(tmp_path) as browser:
        for width in (1400, 1000, 390):
            browser.open(tmp_path / "page.html", width=width)
            assert browser.say("document.documentElement.scrollWidth <= innerWidth"), width
        browser.open(tmp_path / "page.html", width=1000)
        browser.say("document.documentElement.classList.add('handout')")
        browser.say("dispatchEvent(new Event('beforeprint'))")
        told = browser.ask("Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)
        assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(told["data"]))) == 1
        assert browser.complaints == []
