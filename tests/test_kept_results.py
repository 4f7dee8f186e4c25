"""Kept results: rows are used while behaviour is unchanged, and only then; plans; outcomes from rows alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab import engine
from cwndlab.errors import RecordsError, ScenarioError
from cwndlab.records import Records
from cwndlab.reproduction import (
    Case,
    Experiment,
    Reproductions,
    Size,
    agreement,
    experiments,
    kept,
    reproduce,
    run,
    stale_results,
    standing,
    standings,
)
from cwndlab.reproduction.claims import Claim, RatioIn, ValueIn
from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.kept import KeptResults, Probe, kind, scenario_key
from cwndlab.reproduction.plan import plan
from cwndlab.reproduction.standing import PLAN
from cwndlab.reproduction.summary import overview
from cwndlab.reproduction.witnesses import Witnesses

CASES = ("reno", "cubic")


def measure(records: Records) -> dict[str, float | None]:
    """Delivered bytes."""
    return {"delivered_bytes": float(records.flows["delivered_bytes"].sum()), "nothing": None}


def measure_twice(records: Records) -> dict[str, float | None]:
    """Another measure under the name of the first one."""
    return {"delivered_bytes": 2 * float(records.flows["delivered_bytes"].sum()), "nothing": None}


def measure_renamed(records: Records) -> dict[str, float | None]:
    """The same as `measure`, in other words and under another name."""
    total = sum(row["delivered_bytes"] for row in records.rows("flows"))
    return {"delivered_bytes": float(total), "nothing": None}


def trace(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """The window."""
    return {"cwnd": ((records.samples["time_ns"] / 1e9).to_list(), records.samples["cwnd_bytes"].to_list())}


def tiny(of: Any = measure, *, title: str = "tiny", loss: float = 0.0) -> Experiment:
    """Two algorithms on 2 Mbit/s for two seconds, or for four, twice."""

    def cases(size: Size) -> list[Case]:
        bottleneck: dict[str, Any] = {"rate": "2 Mbps", "delay": "10 ms"}
        if loss:
            bottleneck["loss"] = {"kind": "bernoulli", "p": loss}
        return [
            Case(
                {"algorithm": name},
                {
                    "schema_version": 1,
                    "title": title,
                    "duration": f"{size.duration_s} s",
                    "sample_interval": "1 ms",
                    "start_jitter": "rtt",
                    "dumbbell": {"bottleneck": bottleneck},
                    "flow": [{"algorithm": name, "rtt": "40 ms"}],
                },
                of,
                trace,
            )
            for name in CASES
        ]

    sides: list[dict[str, Any]] = [{"algorithm": name} for name in CASES]
    return Experiment(
        "ccm-ss/fig12a",
        "a tiny one",
        "Fig. 12(a)",
        "",
        (),
        Size(2.0, 2),
        Size(4.0, 3),
        cases,
        lambda size: [Claim("delivered", "alike", "delivered_bytes", sides, RatioIn(0.5, 2.0))],
        lambda measured: [],
    )


@pytest.fixture
def runs_made(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Only the tiny experiment is known; counts the simulated runs since the last call."""
    made: list[int] = []
    simulate = engine.run

    def counted(text: str, kind: Any, seed: int, *rest: Any, **options: Any) -> Any:
        made.append(seed)
        return simulate(text, kind, seed, *rest, **options)

    def count() -> int:
        number = len(made)
        made.clear()
        return number

    monkeypatch.setattr(engine, "run", counted)
    knows(monkeypatch, tiny())
    return count


def knows(monkeypatch: pytest.MonkeyPatch, one: Experiment) -> None:
    for module in (run, standing, *(sys.modules[f"cwndlab.reproduction.{name}"] for name in ("plan", "stale"))):
        monkeypatch.setattr(module, "find", lambda target: (one,))


def findings(folder: Path, **options: Any) -> Any:
    (outcome,) = reproduce(results=folder, quick=True, **options)
    return outcome.findings


def test_kept_rows_are_not_run_again(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    """Four runs and two probes; later the two probes only, which show that the behaviour is the same."""
    first = findings(tmp_path)
    assert runs_made() == 4 + 2
    assert findings(tmp_path) == first
    assert runs_made() == 2
    (other,) = reproduce(results=tmp_path, quick=True, seed=2)
    assert (
        runs_made() == 2 + 2 + 4
    )  # probes, witnesses of seed 2; of it the first repetition has curves now, and seed 3 is new
    assert other.measured.line("cwnd", algorithm="reno").x
    assert findings(tmp_path) == first
    assert runs_made() == 2
    sizes = sum(file.stat().st_size for file in tmp_path.rglob("*"))
    assert sizes < 50_000


def test_the_measurements_are_the_same_from_rows_and_from_runs(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    (simulated,) = reproduce(quick=True)
    (first,) = reproduce(quick=True, results=tmp_path)
    (again,) = reproduce(quick=True, results=tmp_path)
    assert simulated.measured.rows == first.measured.rows == again.measured.rows
    (line, thinned) = (one.measured.line("cwnd", algorithm="reno") for one in (first, again))
    assert len(line.x) > kept.MOST_POINTS >= len(thinned.x) >= kept.MOST_POINTS / 2
    step = -(-len(line.x) // kept.MOST_POINTS)
    assert thinned.x == pytest.approx(line.x[::step], rel=2**-12)
    assert thinned.y == pytest.approx(line.y[::step], rel=2**-12)
    runs_made()
    (standing,) = standings(tmp_path)
    assert runs_made() == 0
    assert standing.reproduction is not None
    assert standing.reproduction.findings == first.findings
    assert standing.reproduction.measured.rows == first.measured.rows


def changed(folder: Path, monkeypatch: pytest.MonkeyPatch, one: Experiment, runs_made: Callable[[], int]) -> list[str]:
    """Messages and number of runs after the tiny experiment has become another one."""
    findings(folder)
    runs_made()
    knows(monkeypatch, one)
    messages: list[str] = []
    findings(folder, message=messages.append)
    return messages


def test_a_changed_measure_invalidates_its_rows(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure_twice, "__qualname__", "measure")
    messages = changed(tmp_path, monkeypatch, tiny(measure_twice), runs_made)
    assert runs_made() == 2 + 2 + 4  # the old probes, new ones, the runs
    assert len(messages) == 1
    assert messages[0].startswith("ccm-ss/fig12a: 4 kept runs are not used, since the behaviour has changed")
    assert "delivered_bytes was" in messages[0]
    # The new rows have replaced them, also in the file.
    assert (len(KeptResults(tmp_path)._store.rows()), sum(1 for _ in (tmp_path / "runs").iterdir())) == (4, 1)
    messages.clear()
    findings(tmp_path, message=messages.append)
    assert messages == []


def test_changed_records_invalidate_their_rows(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash over all records of a probe differs, though no measured value does."""
    findings(tmp_path)
    index = json.loads((tmp_path / kept.INDEX).read_text())
    for probe in index["probes"].values():
        if "reno" in probe["kind"]:
            probe["records"] = "0" * 64
    (tmp_path / kept.INDEX).write_text(json.dumps(index))
    runs_made()
    messages: list[str] = []
    findings(tmp_path, message=messages.append)
    assert runs_made() == 2 + 1 + 2  # the probes, that of reno anew, the runs of reno
    assert len(messages) == 1
    assert "2 kept runs are not used" in messages[0]
    assert "reno" in messages[0]
    assert "records 000000000000 are now" in messages[0]


def test_results_of_an_earlier_behaviour_are_named(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    """Nothing is written, and only the two probes are run."""
    findings(tmp_path)
    runs_made()
    assert list(stale_results(tmp_path, "ccm-ss/fig12a")) == []
    assert runs_made() == 2
    index = json.loads((tmp_path / kept.INDEX).read_text())
    for probe in index["probes"].values():
        if "cubic" in probe["kind"]:
            probe["values"]["delivered_bytes"] = 1.0
    (tmp_path / kept.INDEX).write_text(json.dumps(index))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (line,) = stale_results(tmp_path, "ccm-ss/fig12a")
    assert line.startswith("ccm-ss/fig12a, quick size: delivered_bytes was 1.0 and is ")
    assert line.endswith(f"; run `cwndlab reproduce ccm-ss/fig12a --quick --results {tmp_path}`")
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_change_that_no_probe_shows_is_found(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    """REPRODUCING.md: a witness of each kind of runs is repeated. Here a run of full size has other records than were
    kept, though its probe, which is of quick size, is as before: all rows of that kind are refused, not it alone."""
    reproduce(results=tmp_path)
    experiment = tiny().perturbed()
    reno = next(case for case in experiment.cases(experiment.full) if case.labels["algorithm"] == "reno")
    scenario = scenario_key(reno.scenario)
    with closing(KeptResults(tmp_path, write=True)) as results:
        (row,) = results.rows(scenario, 1)
        payload = json.loads(row["payload"]) | {"records": "0" * 64}
        results.add(scenario, 1, results.probes[row["engine"]], payload)
    runs_made()
    (line,) = stale_results(tmp_path, "ccm-ss/fig12a")
    assert line.startswith(
        "ccm-ss/fig12a, full size: 1 of 2 cases have another behaviour (algorithm reno: records 000000000000 are now "
    )
    assert runs_made() == 2 + 2  # the probes, the witnesses
    messages: list[str] = []
    reproduce(results=tmp_path, message=messages.append)
    assert runs_made() == 2 + 2 + 3  # the same, and the three repetitions of reno
    assert "3 kept runs are not used" in messages[0]
    assert list(stale_results(tmp_path, "ccm-ss/fig12a")) == []


def test_rows_of_an_interrupted_repetition_are_not_mixed_with_older_ones(
    tmp_path: Path, runs_made: Callable[[], int]
) -> None:
    """Once a witness differs, none of the rows of its kind is used, also where some of them were repeated since."""
    reproduce(results=tmp_path)
    experiment = tiny().perturbed()
    cases = experiment.cases(experiment.full)
    with closing(KeptResults(tmp_path, write=True)) as results:
        Witnesses(results, cases, 1).refuse(0)
    results = KeptResults(tmp_path)
    engines = {
        case.labels["algorithm"]: {
            row["engine"] for seed in (1, 2, 3) for row in results.rows(scenario_key(case.scenario), seed)
        }
        for case in cases
    }
    assert engines[cases[0].labels["algorithm"]] == {""}
    assert "" not in engines[cases[1].labels["algorithm"]]


def test_a_placebo_of_an_earlier_behaviour_is_named(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """REPRODUCING.md: the check names what is of an earlier behaviour. Rows with the placebo decide outcomes, and here
    they alone have another behaviour."""
    sides: list[dict[str, Any]] = [{"algorithm": name} for name in CASES]
    claim = Claim("delivered", "alike", "delivered_bytes", sides, RatioIn(0.5, 2.0), headline="ccm-ss:loss")
    knows(monkeypatch, replace(tiny(), claims=lambda size: [claim], placebos=("vegas",)))
    findings(tmp_path)
    index = json.loads((tmp_path / kept.INDEX).read_text())
    (probe,) = [one for one in index["probes"].values() if "vegas" in one["kind"]]
    probe["records"] = "0" * 64
    (tmp_path / kept.INDEX).write_text(json.dumps(index))
    (line,) = stale_results(tmp_path, "ccm-ss/fig12a")
    assert line.startswith("ccm-ss/fig12a, quick size: records 000000000000 are now ")


def test_further_repetitions_that_no_claim_asks_for_are_not_named(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run anew makes the repetitions of its size, and more only where a claim is inconclusive: what is kept of more
    is used by nothing then."""
    knows(monkeypatch, tiny())
    findings(tmp_path)
    store = kept.KeptResults(tmp_path)
    experiment = tiny().perturbed()
    case = experiment.cases(experiment.size(quick=True))[0]
    scenario = scenario_key(case.scenario)
    store.probes["old"] = replace(store.probe_of(case, [case]), records="0" * 64)
    (row,) = store.by_seed(scenario)[1]
    store.add(scenario, 99, store.probes["old"], json.loads(row["payload"]))
    store.save()
    assert list(stale_results(tmp_path, "ccm-ss/fig12a")) == []


def test_the_command_prints_what_is_stale_and_fails(
    tmp_path: Path, runs_made: Callable[[], int], cli: Callable[..., tuple[int, str, str]]
) -> None:
    findings(tmp_path)
    command = ("reproduce", "ccm-ss/fig12a", "--check", "--results", tmp_path)
    assert cli(*command) == (0, "", "")
    index = json.loads((tmp_path / kept.INDEX).read_text())
    for probe in index["probes"].values():
        probe["records"] = "0" * 64
    (tmp_path / kept.INDEX).write_text(json.dumps(index))
    code, out, _ = cli(*command)
    assert (code, len(out.splitlines())) == (1, 1)
    for wrong, what in [(command[:3], "name their folder by --results"), ((*command, "--quick"), "excludes --quick")]:
        code, out, err = cli(*wrong)
        assert (code, out) == (2, "")
        assert what in err


def test_a_renamed_measure_makes_no_result_stale(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    findings(tmp_path)
    knows(monkeypatch, tiny(measure_renamed))
    assert list(stale_results(tmp_path, "ccm-ss/fig12a")) == []


def test_other_sources_with_the_same_behaviour_invalidate_nothing(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renamed and rewritten measure, another title of the scenarios."""
    messages = changed(tmp_path, monkeypatch, tiny(measure_renamed, title="another"), runs_made)
    assert messages == []
    assert runs_made() == 2


def test_another_scenario_is_another_run(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changed(tmp_path, monkeypatch, tiny(loss=0.01), runs_made) == []
    assert runs_made() == 4 + 2  # the runs; the old probes still represent the same algorithms


def test_interrupted_work_continues(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    assert reproduce(results=tmp_path, quick=True, progress=stop, workers=1).stopped
    runs_made()
    (part,) = standings(tmp_path)
    assert (part.size, part.reproduction) == (None, None)
    findings(tmp_path)
    assert runs_made() == 2 + 1
    facts = json.loads((tmp_path / kept.INDEX).read_text())["experiments"]["ccm-ss/fig12a"]["quick"]
    assert facts["runs_made"] == 4
    assert facts["cpu_s"] > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_ended_leaves_its_rows(tmp_path: Path, number: signal.Signals) -> None:
    """Each row is kept as soon as its run has ended."""
    out, results = tmp_path / "out", tmp_path / "results"
    command = [sys.executable, "-m", "cwndlab", "reproduce", "cubic-study/fig7", "--quick", "--workers", "1"]
    process = subprocess.Popen(
        [*command, "--out", str(out), "--results", str(results)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    journal = out / "runs" / "journal.jsonl"
    try:
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
            time.sleep(0.02)
        os.kill(process.pid, number)
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
    left = plan("cubic-study/fig7", quick=True, out=out, results=results if results.exists() else None)
    one = left.experiments[0]
    assert one.runs - one.left >= 3
    of_results = plan("cubic-study/fig7", quick=True, results=results).experiments[0]
    assert of_results.runs - of_results.left >= 2


def test_a_part_of_the_cases_is_run_for_later(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    assert list(reproduce(quick=True, results=tmp_path, only={"algorithm": "cubic"})) == []
    assert runs_made() == 2 + 1
    findings(tmp_path)
    assert runs_made() == 1 + 2 + 1
    with pytest.raises(ScenarioError, match=r"no case has algorithm=vegas\n.*algorithm=reno\|cubic"):
        list(reproduce(quick=True, results=tmp_path, only={"algorithm": "vegas"}))


def test_full_size_stands_before_quick_size(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    """Six full-size runs: two cases, three repetitions. With two repetitions of each case full size is evaluated."""
    findings(tmp_path)
    (one,) = standings(tmp_path)
    assert (one.size, one.runs, one.of, one.missing, one.hours_left) == ("quick", 0, 6, 1.0, None)

    def stop(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    stopped = reproduce(results=tmp_path, progress=stop, workers=1)
    assert (stopped.stopped, len(stopped)) == (True, 0)
    (one,) = standings(tmp_path)
    assert (one.size, one.repetitions, one.runs, one.of) == ("full", 2, 4, 6)
    assert one.missing == pytest.approx(1 / 3)
    assert one.hours_left == pytest.approx(one.cpu_s / 4 * 2 / 3600)
    assert one.reproduction is not None
    assert len(one.reproduction.measured.rows) == 4
    list(reproduce(results=tmp_path))
    (one,) = standings(tmp_path)
    assert (one.is_complete, one.hours_left, one.repetitions) == (True, 0.0, 3)


def test_both_sizes_are_compared(tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds carry less than 0.7 MB over 2 Mbit/s, four carry more: the claim holds at full size only."""
    headline = headlines()[0].key
    at_least = Claim(
        "delivered", "much", "delivered_bytes", [{"algorithm": "reno"}], ValueIn(0.7e6, 1e6), headline=headline
    )
    knows(monkeypatch, replace(tiny(), claims=lambda size: [at_least]))
    findings(tmp_path)
    assert agreement(tmp_path).both == 0
    list(reproduce(results=tmp_path))
    both = agreement(tmp_path)
    assert (both.both, both.undecided) == (1, 0)
    (one,) = both.disagreements
    assert (one.quick.outcome, one.full.outcome) == ("opposite", "holds")
    assert [quick.id for quick, _ in one.findings] == ["ccm-ss/fig12a"]
    assert one.reduced == ["fig12a: 2 s of 4 s, 2 of 3 repetitions"]
    assert "Quick and full size both decide 1 of these claims, and agree on 0." in overview(tmp_path)


def test_hours_of_what_has_not_begun_come_from_the_plan(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    row = {"id": "ccm-ss/fig12a", "cases": 2, "runs": 6, "shared": 3, "left": 3, "cpu_s": 0.0, "all_cpu_s": 7200.0}
    (tmp_path / PLAN).write_text(json.dumps([row]))
    (one,) = standings(tmp_path)
    assert one.hours_left == pytest.approx(2.0)
    (tmp_path / PLAN).write_text("{}x")
    with pytest.raises(RecordsError, match="is not a plan of a reproduction"):
        standings(tmp_path)


def test_files_of_another_version_are_refused(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    (tmp_path / kept.INDEX).write_text('{"schema_version": 0, "probes": {}}')
    with pytest.raises(RecordsError, match=r"index\.json: is not an index of kept results"):
        findings(tmp_path)
    (tmp_path / kept.INDEX).unlink()
    findings(tmp_path)
    (part,) = (tmp_path / "runs").iterdir()
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(RecordsError, match=r"part-000001\.parquet: damaged.*\n  hint: restore it"):
        findings(tmp_path)
    # A file for each paper, as before there was one store.
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "ccm-ss.parquet").write_bytes(b"PAR1")
    with pytest.raises(RecordsError, match=r"was written by another version of cwndlab"):
        findings(tmp_path)


def test_two_processes_do_not_write_the_same_results(tmp_path: Path) -> None:
    first = KeptResults(tmp_path, write=True)
    with pytest.raises(RecordsError, match="is in use by process"):
        KeptResults(tmp_path, write=True)
    KeptResults(tmp_path)  # reads
    first.close()
    KeptResults(tmp_path, write=True).close()


def test_a_run_without_curves_does_not_replace_the_same_one_with_curves(tmp_path: Path) -> None:
    """Two figures may show the same run, one of them with its course: whichever comes last, the course is kept."""
    case = tiny().cases(Size(2.0, 2))[0]
    with closing(KeptResults(tmp_path, write=True)) as results:
        probe = Probe.of(case)
        with_curves = {"values": {}, "curves": {"cwnd": ([0.0, 1.0], [1.0, 2.0])}}
        for payload in (with_curves, with_curves | {"curves": {}}):
            results.add("a", 1, probe, payload)
        (row,) = results.rows("a", 1)
        assert results.has_curves(row)
        results.add("a", 1, replace(probe, records="other"), with_curves | {"curves": {}})
        (row,) = results.rows("a", 1)
        assert not results.has_curves(row)


def test_a_plan_counts_what_is_left(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    before = plan(quick=True, results=tmp_path).experiments[0]
    assert (before.cases, before.runs, before.shared, before.left) == (2, 4, 0, 4)
    assert before.cpu_s == before.all_cpu_s > 0
    list(reproduce(quick=True, results=tmp_path, only={"algorithm": "reno"}))
    after = plan(quick=True, results=tmp_path).experiments[0]
    assert (after.runs, after.left) == (4, 2)
    assert 0 < after.cpu_s < after.all_cpu_s


def test_a_shared_run_is_counted_once() -> None:
    """Figures 16 and 17 of the Windows study are drawn from the runs of its Table 1."""
    found = {one.id: one for one in plan("windows-lte", quick=True).experiments}
    table, figure = found["windows-lte/table1"], found["windows-lte/fig16"]
    assert (table.shared, table.left) == (0, table.runs)
    assert (figure.shared, figure.left, figure.cpu_s) == (figure.runs, 0, 0.0)


def test_an_estimate_is_of_the_size_of_the_measurement() -> None:
    """Within a factor of three: the cores may be in use by others."""
    one = plan("cubic-study/fig7", quick=True).experiments[0]
    before = time.process_time()
    list(reproduce("cubic-study/fig7", quick=True, workers=1))
    assert 1 / 3 < one.cpu_s / (time.process_time() - before) < 3


def test_every_case_of_full_size_has_a_probe_of_its_kind() -> None:
    """Where the quick size lacks an algorithm, its probe would be a run of full size, which is not cheap."""
    for one in experiments():
        quick = {kind(case.scenario) for case in one.cases(one.quick)}
        assert {kind(case.scenario) for case in one.cases(one.full)} <= quick, one.id


def test_scenarios_are_told_apart_and_titles_are_not() -> None:
    known: dict[str, Any] = {}
    for one in experiments():
        for case in one.cases(one.quick):
            stated = {name: value for name, value in case.scenario.items() if name != "title"}
            assert known.setdefault(scenario_key(case.scenario), stated) == stated


def test_a_probe_names_what_differs() -> None:
    case = tiny().cases(Size(1.0, 1))[0]
    probe = Probe.of(case)
    assert probe.difference(measure) == probe.difference(measure_renamed) == ""
    assert (
        replace(probe, values={"delivered_bytes": 1.0, "nothing": None})
        .difference(measure)
        .startswith("delivered_bytes was 1.0 and is ")
    )
    assert replace(probe, values={"nothing": None}).difference(measure) == "delivered_bytes is measured now"
    assert replace(probe, scenario='{"schema_version": 1}').difference(measure).startswith("its scenario cannot be run")


def test_pages_are_made_from_kept_results_alone(
    tmp_path: Path, runs_made: Callable[[], int], cli: Callable[..., tuple[int, str, str]]
) -> None:
    made = reproduce(results=tmp_path / "results", quick=True)
    runs_made()
    status, _, err = cli(
        "reproduce", "--all", "--kept", "--results", str(tmp_path / "results"), "--out", str(tmp_path / "site")
    )
    assert (status, runs_made()) == (0, 0), err
    assert "a tiny one" in (tmp_path / "site" / "appendix.html").read_text()
    assert (tmp_path / "site" / "ccm-ss" / "fig12a.html").exists()
    # Results and site are read as what the runs gave.
    for place in ("results", "site"):
        loaded = cwndlab.load(tmp_path / place)
        assert isinstance(loaded, Reproductions)
        assert (loaded.table(), runs_made()) == (made.table(), 0)
        assert loaded.verdicts() == made.verdicts()
    status, _, err = cli("reproduce", "--all", "--kept", "--out", str(tmp_path / "site"))
    assert status == 2
    assert "--kept: pages are made from --results and written to --out" in err


def test_the_overview_has_a_row_for_each_headline_and_says_what_is_missing(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tiny()
    claims = [replace(claim, headline="ccm-ss:goodput") for claim in one.claims(one.quick)]
    knows(monkeypatch, replace(one, claims=lambda size: claims))
    list(reproduce(results=tmp_path, quick=True))
    lines = overview(tmp_path).splitlines()
    (row,) = [line for line in lines if "**holds** (quick size)" in line]
    assert row.endswith("| not run |")
    assert "## Not finished at full size" in lines
    assert any("`ccm-ss/fig12a` (0 of 6 full-size runs" in line for line in lines)


def test_the_committed_overview_is_short() -> None:
    """A reader takes it in; the pages have the rest."""
    text = (Path(__file__).parents[1] / "docs" / "reproductions.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
