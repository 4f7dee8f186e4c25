"""Perturbation by the seed: what it varies, that it can be repeated, and that it gives intervals their width.

The amounts are those of `docs/scenario.md`; the tests of the crate `cwndlab-scenario` hold the plan of every bundled
scenario to them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.metrics.margins import verdict_of
from cwndlab.reproduction import Case, Experiment, Size, plan, run, standing
from cwndlab.reproduction.claims import Claim, Greater
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.reproduction.site import NOT_PERTURBED, what_varies, write_experiment
from cwndlab.statistics import Decision
from cwndlab.study import matrix

NOTE = "perturbed by the seed: delays within 0.5 %, rates within 0.1 %, starts within one RTT"


def tied() -> cwndlab.Scenario:
    """Two equal flows that start together on a path without chance: every repetition is the same run."""
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="10 ms", queue=cwndlab.DropTail("40 packets"))
    flow = cwndlab.Flow("reno", rtt="40 ms", start_jitter="0 s")
    return cwndlab.Scenario(duration="4 s", dumbbell=cwndlab.Dumbbell(bottleneck), flows=[flow, flow])


def test_a_planted_tie_has_no_interval_without_perturbation_and_a_width_with_it() -> None:
    """Four copies of one run are one observation: the deterministic scenario has no interval, no p-value and no
    verdict. Perturbed, the same four repetitions differ, so that each mean has a width."""
    copies, varied = (cwndlab.compare(tied(), ["reno", "cubic"], seeds=4, perturb=perturb) for perturb in (False, True))
    for metric in ("goodput_bps", "mean_rtt_ms", "queue_ms"):
        one, (delta, adjusted) = copies.estimate("cubic", metric), copies.comparisons()["cubic", metric]
        assert (one.low, one.high, one.reason) == (None, None, "4 runs, one result")
        assert (delta.p, delta.welch_p, delta.wilcoxon_p, adjusted, delta.effect) == (None,) * 5
        assert verdict_of(metric, delta, adjusted).decision is Decision.ONE_RESULT
        assert varied.estimate("cubic", metric).half
        assert varied.comparisons()["cubic", metric][0].p is not None
    # Equal runs are a finding; a note names single metrics that are equal where the runs differ.
    assert [row["code"] for row in copies.finding_rows()][-1:] == ["no-random-element"]
    assert "one result" not in " ".join(copies.notes)
    page = cwndlab.reports.comparison.comparison_page(copies)
    assert "4 runs, one result: goodput, utilisation" in page
    assert "not decided: one result" in page
    assert "&lt; 0.001" not in page
    assert json.loads(copies.to_json())["summary"]
    assert NOTE in " ".join(varied.notes)
    assert NOTE not in " ".join(copies.notes)


def test_the_algorithms_of_a_repetition_have_the_same_perturbation() -> None:
    result = cwndlab.compare(tied(), ["reno", "cubic", "bbr1"], seeds=2, perturb=True)
    links = {tuple(map(tuple, one.links.select("rate_bps", "delay_ns").rows())) for one in result.examples.values()}
    rtts = {tuple(one.flows["base_rtt_ns"]) for one in result.examples.values()}
    assert (len(links), len(rtts)) == (1, 1)
    (rtts_ns,) = rtts
    assert len(set(rtts_ns)) == 2  # equal flows differ
    assert all(40e6 * 0.995 <= rtt <= 40e6 * 1.005 for rtt in rtts_ns)


def test_a_perturbed_run_is_repeated_by_its_scenario_and_seed_and_says_that_it_is_perturbed(tmp_path: Path) -> None:
    first = cwndlab.run(tied(), seed=5, perturb=True)
    first.save(tmp_path / "records")
    kept = cwndlab.Records.read(tmp_path / "records")
    assert any(note.startswith(NOTE) for note in kept.notes)
    again = cwndlab.run(tied().with_(perturb=True), seed=5)
    plain = cwndlab.run(json.loads(tied().to_json()), seed=5, perturb=True)
    assert first.hash() == again.hash() == plain.hash() == kept.hash()
    assert first.scenario_hash != cwndlab.run(tied(), seed=5).scenario_hash
    assert first.hash() != cwndlab.run(tied(), seed=6, perturb=True).hash()
    off = cwndlab.run(tied().with_(perturb=True), seed=5, perturb=False)
    assert off.hash() == cwndlab.run(tied(), seed=5).hash()


@pytest.mark.parametrize("preset", cwndlab.presets.names())
def test_every_preset_can_be_perturbed(preset: str) -> None:
    """Rates within 0.1 %, base RTTs within 0.5 %, starts within one RTT of what the records of the preset have."""
    changes = {"duration": "0.2 s", "measure_from": "0 s", "sample_interval": "0 s"}
    scenario = cwndlab.presets.load(preset).with_(changes)
    before, after = (cwndlab.run(scenario, seed=3, perturb=perturb) for perturb in (False, True))
    for rate, varied in zip(before.links["rate_bps"], after.links["rate_bps"], strict=True):
        assert rate is varied is None or abs(varied - rate) <= 0.001 * rate
    for one, other in zip(before.rows("flows"), after.rows("flows"), strict=True):
        assert abs(other["base_rtt_ns"] - one["base_rtt_ns"]) <= 0.005 * one["base_rtt_ns"]
    assert after.scenario_hash == scenario.with_(perturb=True).hash


def test_sweeps_and_matrices_are_perturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SETTINGS", matrix.SETTINGS[:1]), ("BUFFERS", (1.0,)), ("LOSSES", (0.0,))):
        monkeypatch.setattr(matrix, name, value)
    over = {"flow[*].rtt": ["40 ms", "60 ms"]}
    found = {
        perturb: cwndlab.sweep(tied(), over=over, seeds=range(3), metrics=["goodput_bps"], perturb=perturb)
        for perturb in (False, True)
    }
    summaries = {perturb: one.summary(["goodput_bps"]) for perturb, one in found.items()}
    assert summaries[False]["reason"].to_list() == ["3 runs, one result"] * 2
    assert summaries[True]["reason"].to_list() == [None] * 2
    assert all(row[-1].endswith(" (one result)") for row in found[False].table(["goodput_bps"]).rows)
    rows = {
        perturb: [matrix.rows(matrix.matrix(["vegas"], seed=seed, perturb=perturb)) for seed in (1, 2)]
        for perturb in (False, True)
    }
    assert rows[False][0] == rows[False][1]
    assert rows[True][0] != rows[True][1]


def _records(records: cwndlab.Records) -> dict[str, float | None]:
    return {"goodput_bps": float(sum(records.flows["delivered_bytes"]))}


def _cases(size: Size) -> list[Case]:
    documents = {name: json.loads(tied().with_({"flow[0].algorithm": name}).to_json()) for name in ("reno", "cubic")}
    return [Case({"algorithm": name}, document, _records) for name, document in documents.items()]


TIED = Experiment(
    "ccm-ss/fig12a",
    "a tie",
    "Fig. 0",
    "It says that cubic is faster.",
    [],
    Size(4.0, 3),
    Size(4.0, 4),
    _cases,
    lambda size: [Claim("q", "w", "goodput_bps", [{"algorithm": name} for name in ("cubic", "reno")], Greater())],
    lambda measured: [],
)


@pytest.fixture
def tie(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment with a tie is the only one."""
    for module in (run, plan, standing):
        monkeypatch.setattr(module, "find", lambda target: (TIED,))


@pytest.mark.usefixtures("tie")
def test_reproductions_are_perturbed_unless_they_are_told_not_to_be(tmp_path: Path) -> None:
    (perturbed,) = cwndlab.reproduce("ccm-ss/fig12a", quick=True)
    (copies,) = cwndlab.reproduce("ccm-ss/fig12a", quick=True, perturb=False)
    assert (perturbed.perturbed, copies.perturbed) == (True, False)
    assert perturbed.findings[0].low is not None
    assert (copies.findings[0].low, copies.findings[0].outcome) == (None, "inconclusive")
    assert "3 repetitions, one result" in copies.findings[0].reason
    for one, text, command in ((perturbed, what_varies(perturbed.cases), ""), (copies, NOT_PERTURBED, " --no-perturb")):
        page = write_experiment(one, tmp_path).read_text(encoding="utf-8")
        assert text in page
        assert f"cwndlab reproduce ccm-ss/fig12a --quick{command} --seed 1" in page
        (kept,) = outcomes(tmp_path)
        assert kept["perturbed"] is one.perturbed
        scenario = next((tmp_path / "ccm-ss" / "fig12a" / "scenarios").glob("cubic*.toml"))
        assert ("perturb = true" in scenario.read_text(encoding="utf-8")) is one.perturbed


@pytest.mark.parametrize(
    ("of_scenario", "of_flows", "said"),
    [
        (None, [None, None], "starts within one RTT, "),
        # A stated jitter of an RTT has the same range.
        ("rtt", [None, None], "starts within one RTT, "),
        (None, ["10 s", None], "starts within one RTT unless a jitter is stated, "),
        ("rtt", ["10 s", "0 s"], ""),
        ("1 s", [None, None], ""),
    ],
)
def test_a_page_says_that_starts_are_perturbed_only_where_they_are(
    of_scenario: str | None, of_flows: list[str | None], said: str
) -> None:
    """By docs/scenario.md a start is perturbed where neither the flow nor the scenario states its jitter."""

    def stated(jitter: str | None) -> dict[str, Any]:
        return {} if jitter is None else {"start_jitter": jitter}

    flows = [{"algorithm": "reno", "rtt": "40 ms", **stated(one)} for one in of_flows]
    document = {**json.loads(tied().to_json()), "flow": flows, **stated(of_scenario)}
    page = what_varies([Case({}, {**document, "perturb": True}, _records)])
    start = "Each repetition is perturbed: delays within 0.5 %, rates within 0.1 %, "
    assert page == f"{start}{said}the processing of packets within 1 µs."
    plain, perturbed = (cwndlab.run(document, seed=1, perturb=one).flows["start_ns"].to_list() for one in (False, True))
    if not said:
        assert perturbed == plain
    if of_scenario is None:
        assert perturbed != plain


@pytest.mark.usefixtures("tie")
def test_kept_rows_of_both_kinds_are_never_mixed(tmp_path: Path) -> None:
    """A folder goes on as it began; asked for the other kind it refuses, with the way out."""
    said: list[str] = []

    def reproduced(folder: str, **options: Any) -> bool:
        options |= {"quick": True, "results": tmp_path / folder, "message": said.append}
        (one,) = cwndlab.reproduce("ccm-ss/fig12a", **options)
        return one.perturbed

    assert reproduced("old", perturb=False) is False
    index = tmp_path / "old" / "index.json"
    assert json.loads(index.read_text(encoding="utf-8"))["perturbed"] is False
    # A folder that was made before there was a perturbation has no such entry.
    content = json.loads(index.read_text(encoding="utf-8"))
    del content["perturbed"]
    index.write_text(json.dumps(content), encoding="utf-8")
    assert reproduced("old") is False
    assert said == [f"{tmp_path / 'old'}: its runs are not perturbed, and neither are the new ones"]
    with pytest.raises(ScenarioError) as refused:
        reproduced("old", perturb=True)
    assert str(refused.value) == (
        f"perturb: the runs in {tmp_path / 'old'} are not perturbed, and are not mixed with others\n"
        "  hint: leave out --perturb, or name another folder by --results"
    )
    assert reproduced("new") is True
    assert reproduced("new") is True
    with pytest.raises(ScenarioError, match=r"are perturbed, and are not mixed"):
        reproduced("new", perturb=False)
    for folder, is_perturbed in (("old", False), ("new", True)):
        (known,) = standing.standings(tmp_path / folder, size="quick")
        assert known.reproduction is not None
        assert known.reproduction.perturbed is is_perturbed
        (planned,) = plan.plan("ccm-ss/fig12a", quick=True, results=tmp_path / folder).experiments
        assert planned.left == 0


def test_the_option_is_that_of_the_argument(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "tied.toml"
    tied().save(path)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        f'[sweep]\nbase = "{path.name}"\nseeds = 4\n[sweep.product]\n"flow[*].rtt" = ["40 ms", "60 ms"]\n',
        encoding="utf-8",
    )
    status, _, err = cli("run", path, "--perturb", "--format", "json")
    assert (status, NOTE in err) == (0, True)
    compared = ("compare", path, "--algorithms", "reno,cubic", "--repetitions", "3", "--metrics", "goodput_bps")
    status, out, err = cli(*compared, "--perturb")
    assert (status, "one result" in out) == (0, False)
    status, out, err = cli(*compared)
    assert (status, out.count("(one result)"), "not decided: one result" in out) == (0, 2, True)
    assert "all seeds gave the same run" in err
    assert "< 0.001" not in out
    status, out, err = cli("sweep", sweep, "--out", tmp_path / "rows", "--metrics", "goodput_bps", "--perturb")
    assert (status, "(one result)" in out) == (0, False), err
