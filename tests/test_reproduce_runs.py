"""Reproductions: kept runs, interrupts, the site."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab import engine
from cwndlab.errors import RecordsError
from cwndlab.plot.charts import Chart, Curve
from cwndlab.records import Records
from cwndlab.reproduction import (
    Case,
    Experiment,
    Reproduction,
    Reproductions,
    Size,
    Table,
    find,
    reproduce,
    run,
)
from cwndlab.reproduction.claims import (
    Claim,
    RatioIn,
)
from cwndlab.reproduction.headlines import rows as headline_rows
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.reproduction.site import write_experiment, write_index
from cwndlab.scenario.reader import check
from cwndlab.study.store import Store

Cli = Callable[..., tuple[int, str, str]]


def measure(records: Records) -> dict[str, float | None]:
    """Delivered bytes."""
    return {"delivered_bytes": float(records.flows["delivered_bytes"].sum())}


def trace(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """The window."""
    return {"cwnd": ((records.samples["time_ns"] / 1e9).to_list(), records.samples["cwnd_bytes"].to_list())}


def tiny() -> Experiment:
    """Two algorithms on 2 Mbit/s for two seconds, twice."""

    def cases(size: Size) -> list[Case]:
        path = {"bottleneck": {"rate": "2 Mbps", "delay": "10 ms"}}
        return [
            Case(
                {"algorithm": name},
                {
                    "schema_version": 1,
                    "duration": f"{size.duration_s} s",
                    "start_jitter": "rtt",
                    "dumbbell": path,
                    "flow": [{"algorithm": name, "rtt": "40 ms"}],
                },
                measure,
                trace,
            )
            for name in ("reno", "cubic")
        ]

    def charts(measured: Measured) -> list[Chart]:
        line = measured.line("cwnd", algorithm="reno")
        return [Chart("window", "A window", "time, s", "bytes", [Curve("reno", line.x, line.y)])]

    sides: list[dict[str, Any]] = [{"algorithm": "reno"}, {"algorithm": "cubic"}]
    return Experiment(
        "ccm-ss/fig12a",
        "a tiny one",
        "Fig. 12(a)",
        "It says that <both> are alike.",
        ["Nothing is assumed."],
        Size(2.0, 2),
        Size(4.0, 2),
        cases,
        lambda size: [
            Claim("delivered", "alike", "delivered_bytes", sides, RatioIn(0.5, 2.0), headline="ccm-ss:goodput"),
            Claim("as read", "alike", "delivered_bytes", sides, RatioIn(0.5, 2.0), kind="reading"),
        ],
        charts,
        lambda measured: [Table("Bytes", ("algorithm", "bytes"), [["reno", measured.total("delivered_bytes")]])],
        lambda measured: [f"{len(measured.rows)} runs were made."],
    )


@pytest.fixture
def runs_made(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Only the tiny experiment is known; counts the runs that are simulated."""
    made: list[int] = []
    simulate = engine.run

    def counted(text: str, kind: Any, seed: int, *rest: Any, **options: Any) -> Any:
        made.append(seed)
        return simulate(text, kind, seed, *rest, **options)

    monkeypatch.setattr(engine, "run", counted)
    monkeypatch.setattr(run, "find", lambda target: (tiny(),))
    return lambda: len(made)


def once(folder: Path, **options: Any) -> Reproduction:
    (outcome,) = reproduce("ccm-ss/fig12a", quick=True, out=folder, **options)
    return outcome


def test_finished_runs_are_not_repeated(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    counted: list[tuple[int, int]] = []
    first = once(tmp_path, progress=lambda done, total: counted.append((done, total)))
    assert counted == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert runs_made() == 4
    again = once(tmp_path)
    assert (runs_made(), again.findings, again.cpu_s) == (4, first.findings, 0.0)
    assert again.measured == first.measured
    once(tmp_path, seed=2)  # of seed 2 the first repetition has curves now, and seed 3 is new
    assert runs_made() == 8
    # Runs of a damaged part are repeated, others are not.
    part = sorted((tmp_path / "runs" / "runs").iterdir())[0]
    part.write_bytes(part.read_bytes()[:-9])
    assert (once(tmp_path).findings, runs_made()) == (first.findings, 12)


def test_what_runs_report_about_themselves_is_on_the_page(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """A path that loses every packet delivers nothing; runs that are kept report it as well."""
    usual = tiny()

    def cases(size: Size) -> list[Case]:
        loses = {"kind": "bernoulli", "p": 1.0}
        return [
            replace(
                case,
                scenario={
                    **case.scenario,
                    "duration": "60 s",
                    "dumbbell": {"bottleneck": {"rate": "2 Mbps", "loss": loses}},
                },
            )
            for case in usual.cases(size)
        ]

    monkeypatch.setattr(run, "find", lambda target: (replace(usual, cases=cases),))
    for _ in range(2):
        outcome = once(tmp_path)
        assert [(row["code"], row["severity"]) for row in outcome.run_findings] == [("nothing-delivered", "severe")] * 4
        assert outcome.run_findings[1]["text"].startswith("algorithm reno, repetition 2: ")
    text = write_experiment(outcome, tmp_path).read_text()
    assert text.index("algorithm reno, repetition 2: ") < text.index("Published beside measured")
    assert "and 1 more of this kind" in text
    arguments = ("reproduce", "ccm-ss/fig12a", "--quick", "--out", tmp_path / "site")
    assert [cli(*arguments)[0], cli(*arguments, "--strict")[0]] == [0, 1]


def test_runs_before_an_interrupt_are_kept(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    stopped = reproduce("ccm-ss/fig12a", quick=True, out=tmp_path, progress=stop, workers=1)
    assert (stopped.stopped, len(stopped)) == (True, 0)
    assert len(Store(tmp_path / "runs").keys()) == 2
    counted: list[tuple[int, int]] = []
    once(tmp_path, progress=lambda done, total: counted.append((done, total)))
    assert counted[0] == (0, 2)


def test_a_process_that_is_killed_leaves_complete_runs(tmp_path: Path) -> None:
    """Not stopped but killed: the runs in the journal are complete, and are not repeated."""
    command = [sys.executable, "-m", "cwndlab", "reproduce", "cubic-study/fig7", "--quick", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "runs" / "journal.jsonl"
    try:
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    store = Store(tmp_path / "runs")
    rows = store.keys()
    kept = set(rows["key"])
    payloads = store.payloads(kept, engine.engine_version(), set(rows["measure"]))
    assert payloads.keys() == kept
    assert all(payload["values"] for payload in payloads.values())
    (one,) = find("cubic-study/fig7")
    left: list[int] = []

    def stop(done: int, total: int) -> None:
        left.append(total)
        raise KeyboardInterrupt

    assert reproduce(one.id, quick=True, out=tmp_path, progress=stop).stopped
    assert left == [len(one.cases(one.quick)) * one.quick.repetitions - len(kept)]
    assert len(kept) >= 3


def test_runs_of_an_older_version_are_refused(tmp_path: Path) -> None:
    """They were a file each, in folders named after the first digits of their keys."""
    (tmp_path / "runs" / "ab").mkdir(parents=True)
    (tmp_path / "runs" / "ab" / "abcd.json").write_text("{}")
    with pytest.raises(RecordsError, match=r"another version of cwndlab .*\n  hint: choose another folder, or delete"):
        reproduce("cubic-study/fig7", quick=True, out=tmp_path)


def test_the_site_holds_pages_that_need_no_network(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    outcome = once(tmp_path)
    text = (tmp_path / "ccm-ss" / "fig12a.html").read_text()
    for said in ("It says that &lt;both&gt; are alike.", "Nothing is assumed.", "4 runs were made.", 'id="window"'):
        assert said in text
    apart_from_scripts = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not any(mark in apart_from_scripts for mark in ("http:", "https:", "@import"))
    # All pages share one file with plotly's program.
    assert re.findall(r'src="([^"]*)"', text) == ["../plotly.min.js"]
    assert (tmp_path / "plotly.min.js").stat().st_size > 1e6
    assert len(text) < 200_000
    # The two sides of each claim, and the one curve, open their runs.
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)[0])
    assert [group["runs"] for group in data["groups"]] == [[0, 1, 2, 3], [0, 1]]
    assert text.count('<a href="#runs=0">') == 2
    assert '<a href="#runs=1">reno</a>' in text
    # The paper, its section, the size of these runs and not the paper's.
    for said in ("M. Ahmad", "End-to-End Loss Based", "<b>Fig. 12(a)</b>", "runs of 2 s, 2 repetitions"):
        assert said in text
    assert text.index("Claims of the paper") < text.index("Other readings of the paper")
    assert "cwndlab reproduce ccm-ss/fig12a --quick --seed 1" in text
    place = tmp_path / "ccm-ss" / "fig12a"
    assert (place / "figures" / "window.svg").read_text().startswith("<?xml")
    assert (place / "findings.csv").read_text().count("\n") == 3
    for name in ("reno", "cubic"):
        assert f'href="fig12a/scenarios/{name}.toml"' in text
        assert check((place / "scenarios" / f"{name}.toml").read_text(), "toml").hash
    index = (tmp_path / "index.html").read_text()
    assert '<a href="ccm-ss.html">Claim by claim</a>' in index
    assert '<a href="ccm-ss/fig12a.html">ccm-ss/fig12a</a>' in (tmp_path / "appendix.html").read_text()
    assert re.findall(r'<script src="([^"]*)"', index) == ["plotly.min.js"]
    paper = (tmp_path / "ccm-ss.html").read_text()
    places = [paper.index(word) for word in ('id="headline-claims"', "CCM-SS has a higher goodput", 'id="evidence"')]
    assert places == sorted(places)
    (row,) = headline_rows(outcomes(tmp_path))
    assert (row.outcome, len(row.findings)) == ("holds", 1)
    assert len(index) < 200_000  # without the charts' program
    (found,) = outcomes(tmp_path)
    assert found["findings"] == [finding.as_dict() for finding in outcome.findings]
    assert (found["runs"], found["quick"]) == (4, True)
    other = dict(found) | {"findings": [{"quantity": "of another version"}]}
    (place / "outcome.json").write_text(json.dumps(other))
    assert outcomes(tmp_path) == []
    write_index(tmp_path)
    assert "ccm-ss/fig12a" not in (tmp_path / "appendix.html").read_text()
    (place / "outcome.json").write_text(json.dumps(found))
    # The CPU time of runs that are all kept is that of when they were made.
    once(tmp_path)
    assert outcomes(tmp_path)[0]["cpu_s"] == found["cpu_s"] > 0


def test_terminal_page_and_notebook_show_the_same_of_a_reproduction(
    tmp_path: Path, runs_made: Callable[[], int], cli: Cli
) -> None:
    site = tmp_path / "site"
    status, out, err = cli("reproduce", "ccm-ss/fig12a", "--quick", "--out", site, "--format", "json")
    assert status == 0, err
    loaded = cwndlab.load(site)
    assert isinstance(loaded, Reproductions)
    assert loaded.table().values == json.loads(out)
    assert cli("report", site, "--report", tmp_path / "page.html", "--format", "json")[:2] == (0, out)
    page, notebook = (tmp_path / "page.html").read_text(), loaded._repr_html_()
    table = loaded.table()
    measured = [table.header.index(name) for name in ("quantity", "published", "measured", "95 % interval", "outcome")]
    for row in table.rows:
        assert all(f">{row[at]}<" in notebook for at in range(len(row)))
        assert all(f">{row[at]}<" in page for at in measured)
    assert 'href="ccm-ss' not in page
    assert notebook.index("2 findings: ") < notebook.index("<table>")
    saved = tmp_path / "again"
    loaded.save(saved)
    again = cwndlab.load(saved)
    assert isinstance(again, Reproductions)
    assert again.table() == table
    # What is kept of a reproduction has no rows, of which its figures are drawn.
    first, second = (
        re.sub(r"<a href[^>]*><img .*?</a>", "", (one / "index.html").read_text()) for one in (site, saved)
    )
    assert first == second
