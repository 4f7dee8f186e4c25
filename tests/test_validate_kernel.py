"""The simulator against the kernel: judging by numbers worked out by hand, campaigns that stop and go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab.validation.kernel import (
    Counts,
    Run,
    campaign,
    counts_of_kernel,
    counts_simulated,
    fingerprint,
    judge,
    kept,
    markdown,
    measure,
    notes,
)
from cwndlab.validation.references.paths import Paths, Trial, read
from cwndlab.validation.references.reference import kernel_paths

SHORT = """
repetitions = 1
[senders]
reno = "reno+standard/rack"
cubic = "cubic-linux+hystart-linux/rack"
[beside]
reno = "cubic"
cubic = "reno"
[stack]
quick_acks = 700
[tolerances]
goodput_bps = { relative = 0.03 }
share_bps = { of_the_link = 0.08 }
mean_rtt_s = { relative = 0.05, absolute = 0.001 }
congestion_events = { relative = 0.15, absolute = 1 }
[[path]]
name = "one"
why = "one flow"
rate = "10 Mbps"
rtt = "20 ms"
buffer = "1 bdp"
duration = "3 s"
flows = ["*"]
[[path]]
name = "two"
why = "two flows"
rate = "10 Mbps"
rtt = "20 ms"
buffer = "1 bdp"
duration = "3 s"
flows = ["*", "beside after 0.5 s"]
"""

TOLERANCES = {
    "goodput_bps": {"relative": 0.03},
    "share_bps": {"of_the_link": 0.08},
    "mean_rtt_s": {"relative": 0.05, "absolute": 0.001},
    "congestion_events": {"relative": 0.15, "absolute": 1.0},
}


def a_run(**changes: Any) -> Run:
    plain = Run(
        path="p",
        algorithm="reno",
        repetition=1,
        flow=0,
        sender="reno",
        goodput_bps=10e6,
        mean_rtt_s=0.040,
        min_rtt_s=0.030,
        congestion_events=20,
        retransmitted_packets=0,
        queue_drops=0,
        late_p50_s=0.0,
        late_p99_s=1e-4,
        late_max_s=0.0,
        kernel="6.18",
        date="2026-01-01",
        scenario="0",
    )
    return replace(plain, **changes)


def judged(senders: tuple[str, ...], mine: list[Run], theirs: list[Run]) -> dict[str, tuple[Any, Any, bool]]:
    trial = Trial("p", "reno", senders, 20e6, {})
    verdicts = judge(Paths((trial,), 1, TOLERANCES, {}), mine, theirs)
    return {one.as_dict()["quantity"]: (one.deviation, one.tolerance, one.holds) for one in verdicts}


def test_means_of_one_flow_are_held_against_the_kernels_mean() -> None:
    """Kernel: 9.8 and 10.2 Mbit/s, mean 10, so that 3 % are 0.3; 5 % of 10 ms are less than 1 ms; 15 % of 20 are 3."""
    theirs = [a_run(goodput_bps=9.8e6, mean_rtt_s=0.010), a_run(repetition=2, goodput_bps=10.2e6, mean_rtt_s=0.010)]
    found = judged(("reno",), [a_run(goodput_bps=10.29e6, mean_rtt_s=0.0109, congestion_events=23)], theirs)
    assert found == {
        "goodput_bps": (pytest.approx(0.29e6), pytest.approx(0.3e6), True),
        "mean_rtt_s": (pytest.approx(0.0009), 0.001, True),
        "congestion_events": (3.0, 3.0, True),
    }
    found = judged(("reno",), [a_run(goodput_bps=9.69e6, mean_rtt_s=0.0111, congestion_events=24)], theirs)
    assert [holds for _, _, holds in found.values()] == [False, False, False]


def test_few_events_may_differ_by_one() -> None:
    """15 % of 2 are 0.3; one more or less is allowed all the same."""
    found = judged(("reno",), [a_run(congestion_events=1)], [a_run(congestion_events=2)])
    assert found["congestion_events"] == (-1.0, 1.0, True)


def test_shares_of_two_flows_are_allowed_a_part_of_the_link() -> None:
    """8 % of 20 Mbit/s are 1.6, for each of the two; their events are counted together, once."""
    theirs = [a_run(goodput_bps=12e6), a_run(flow=1, sender="cubic", goodput_bps=7e6)]
    mine = [a_run(goodput_bps=13.5e6), a_run(flow=1, sender="cubic", goodput_bps=5.3e6)]
    found = judged(("reno", "cubic"), mine, theirs)
    assert list(found) == [
        "share_bps[0 reno]",
        "mean_rtt_s[0 reno]",
        "share_bps[1 cubic]",
        "mean_rtt_s[1 cubic]",
        "congestion_events",
    ]
    assert found["share_bps[0 reno]"] == (pytest.approx(1.5e6), pytest.approx(1.6e6), True)
    assert found["share_bps[1 cubic]"] == (pytest.approx(-1.7e6), pytest.approx(1.6e6), False)
    assert found["congestion_events"] == (0.0, 3.0, True)


def test_the_kernels_own_counters_tell_its_events() -> None:
    counted = {"TCPSackRecovery": 3, "TCPRenoRecovery": 1, "TCPTimeouts": 2, "TCPLossProbes": 7}
    assert counts_of_kernel(counted) == Counts(events=6, timeouts=2, loss_probes=7)


def test_what_syns_and_fins_cost_is_not_counted() -> None:
    """Of 500 connections 2 % lose their FIN, which a probe repeats; 12 of 20 timers expired on a SYN."""
    counted = {"TCPSackRecovery": 100, "TCPTimeouts": 20, "TCPSynRetrans": 12, "TCPLossProbes": 45}
    assert counts_of_kernel(counted, loss=0.02, connections=500) == Counts(events=108, timeouts=8, loss_probes=35)


def test_short_transfers_are_judged_by_their_times_and_by_what_repaired_them() -> None:
    """5 % of 100 ms are 5, 10 % of 150 are 15; 30 % of 10 timeouts are less than 6; 20 % of 50 probes are 10."""
    trial = Trial("p", "reno", ("reno", "reno"), 20e6, {}, ("6 kB", "15 kB"))
    kernel = a_run(transfers=9, median_completion_s=0.1, mean_completion_s=0.15, timeouts=10.0, loss_probes=50.0)
    ours = replace(kernel, median_completion_s=0.104, mean_completion_s=0.166, timeouts=16.0, loss_probes=61.0)
    both = [[one, replace(one, flow=1)] for one in (ours, kernel)]
    found = {
        one.as_dict()["quantity"]: one for one in judge(Paths((trial,), 1, read(kernel_paths()).tolerances, {}), *both)
    }
    assert {name: one.holds for name, one in found.items()} == {
        "median_completion_s[6 kB]": True,
        "mean_completion_s[6 kB]": False,
        "median_completion_s[15 kB]": True,
        "mean_completion_s[15 kB]": False,
        "timeouts": True,
        "loss_probes": False,
    }


def bundled(path: str, algorithm: str = "reno") -> Trial:
    (trial,) = read(kernel_paths(), paths=[path], algorithms=[algorithm]).trials
    return trial


#: The kernel settings of all bundled paths but those named `buffer`.
BUFFER = {"net.ipv4.tcp_rmem": "4096 16777216 67108864"}


def test_the_bundled_paths_are_those_of_the_file() -> None:
    paths = read(kernel_paths())
    assert len({trial.path for trial in paths.trials}) == 23
    assert {trial.algorithm for trial in paths.trials} == {"reno", "cubic", "bbr"}
    assert len(paths.trials) == 69
    assert paths.repetitions == 5
    lossy = {"web-20", "reorder-loss-10", "reorder-loss-10-all-acks"}
    for trial in paths.trials:
        assert ("loss" in trial.document["dumbbell"]["bottleneck"]) == (trial.path in lossy)
        cwndlab.Scenario.from_json(json.dumps(trial.document))
    assert bundled("mixed-50", "bbr").senders == ("bbr", "reno")
    assert [flow["start"] for flow in bundled("later-20", "cubic").document["flow"]] == ["0 s", "5 s"]
    assert [flow["rtt"] for flow in bundled("unequal-50").document["flow"]] == ["30 ms", "120 ms"]
    web = bundled("web-20")
    assert [flow["workload"]["bytes"] for flow in web.document["flow"]] == ["6 kB", "15 kB", "50 kB", "150 kB"]
    assert all(flow["workload"]["new_connection"] for flow in web.document["flow"])


def test_the_bundled_paths_reorder_pause_stop_and_mark() -> None:
    def jitter(path: str) -> list[Any]:
        dumbbell = bundled(path).document["dumbbell"]
        return [dumbbell[line].get("jitter") for line in ("bottleneck", "reverse")]

    reordering = {"spread": "20 ms", "reorder": True}
    none = {"spread": "0 ms", "reorder": False}  # what is not said of the reverse line is as the bottleneck's
    assert jitter("reorder-10") == jitter("reorder-loss-10") == [reordering, none]
    assert jitter("reorder-both-20") == [reordering, reordering]
    assert bundled("reorder-10").counts == ("retransmissions",)
    assert bundled("pauses-20").document["flow"][0]["workload"] == {"kind": "on-off", "on": "2 s", "off": "1 s"}
    assert [flow.get("stop") for flow in bundled("stops-10").document["flow"]] == ["10 s", None]
    ecn = bundled("ecn-20")
    assert ecn.document["dumbbell"]["bottleneck"]["queue"] == {
        "kind": "step-ecn",
        "mark_above": 10,
        "capacity": "1 bdp",
    }
    assert (ecn.document["flow"][0]["stack"]["ecn"], ecn.counts) == ("classic", ("marks",))


def test_a_path_has_the_settings_of_the_file_but_for_its_own() -> None:
    """An initial buffer of 131,072 bytes is one of 65,535 in the window (ip-sysctl.rst, tcp_rmem)."""
    own = bundled("buffer-20")
    assert own.settings == {"receiver": {"net.ipv4.tcp_rmem": "4096 131072 67108864"}}
    assert own.document["flow"][0]["stack"]["initial_receive_window"] == "65535 B"
    assert bundled("plain-20").document["flow"][0]["stack"]["initial_receive_window"] == "2092735 B"


def test_a_path_like_another_changes_only_the_kernels_settings() -> None:
    """The simulator runs the same, but for what a setting means to it; the kernel's runs are others, by fingerprint."""
    plain, other = bundled("fast-100"), bundled("fast-100-all-acks")
    assert plain.settings == {"receiver": BUFFER}
    assert other.settings == {"receiver": BUFFER | {"net.ipv4.tcp_comp_sack_nr": 0}}
    (flow,) = plain.document["flow"]
    without = {**flow, "stack": {**flow["stack"], "sack_compression": 0}}
    assert {**plain.document, "title": "", "flow": [without]} == {**other.document, "title": ""}
    same = replace(other, document=plain.document)
    assert fingerprint(same) != fingerprint(plain)


def test_our_equivalent_of_the_kernels_algorithm_is_nothing_that_the_kernel_ran() -> None:
    """Its runs stay valid where we follow it by other parameters, and not where the kernel sends with another one."""
    plain = bundled("plain-20")
    (flow,) = plain.document["flow"]
    ours = replace(plain, document=plain.document | {"flow": [flow | {"algorithm": "veno(counter=linux-6)"}]})
    assert fingerprint(ours) == fingerprint(plain)
    assert fingerprint(replace(plain, senders=("veno",))) != fingerprint(plain)


def test_a_path_like_an_unknown_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "paths.toml"
    text = SHORT + '[[path]]\nname = "three"\nwhy = "like none"\nlike = "four"\n'
    file.write_text(text, encoding="utf-8")
    with pytest.raises(
        cwndlab.ScenarioError, match=r"three\.like: 'four' is not among them\n  hint: name one of one, two"
    ):
        read(file)


def test_retransmissions_are_those_of_all_flows_by_repetition() -> None:
    """Kernel: 40 + 20 and 80 + 0, mean 70; 25 % are 17.5. Marks: 15 % of 100 are 15."""
    trial = Trial("p", "reno", ("reno", "reno"), 20e6, {}, counts=("retransmissions", "marks"))
    theirs = [
        a_run(retransmitted_packets=sent, repetition=number, flow=flow, marks=100.0)
        for number, pair in ((1, (40, 20)), (2, (80, 0)))
        for flow, sent in enumerate(pair)
    ]
    ours = [a_run(retransmitted_packets=sent, flow=flow, marks=116.0) for flow, sent in enumerate((50, 37))]
    rules = read(kernel_paths()).tolerances
    results = {one.quantity: one for one in judge(Paths((trial,), 1, rules, {}), ours, theirs)}
    assert (results["retransmissions"].deviation, results["retransmissions"].tolerance) == (17.0, 17.5)
    assert results["retransmissions"].holds
    assert not results["marks"].holds


def test_the_mean_rtt_of_a_flow_that_stops_ends_with_it() -> None:
    """10 Mbit/s, 40 ms, a queue of 10 ms: the RTT is between 40 and 51 ms, and no sample after the stop counts."""
    document = bundled("stops-10").document
    document["dumbbell"]["bottleneck"] |= {"delay": "20 ms", "queue": {"capacity": "9 packets"}}
    document |= {"duration": "4 s", "flow": [flow | {"rtt": "40 ms"} for flow in document["flow"]]}
    document["flow"][0]["stop"] = "2 s"
    trial = Trial("p", "reno", ("reno", "reno"), 10e6, document)
    records = cwndlab.run(document, seed=1)
    first = records.samples.filter((pl.col("flow") == 0) & (pl.col("time_ns") >= max(records.flows["start_ns"])))
    before = first.filter(pl.col("time_ns") <= 2_000_000_000)["srtt_ns"].mean()
    stopped, other = measure(records, trial, 1, counts=counts_simulated(records))
    assert stopped.mean_rtt_s == pytest.approx(before / 1e9, abs=1e-6)  # type: ignore[operator]
    assert 0.040 <= stopped.mean_rtt_s <= 0.0515
    assert stopped.goodput_bps < other.goodput_bps


def test_names_that_are_not_there_are_said() -> None:
    with pytest.raises(cwndlab.ScenarioError, match="paths: 'fast' is not among them\n  hint: there are slow-5, "):
        read(kernel_paths(), paths=["fast"])
    with pytest.raises(cwndlab.ScenarioError, match="algorithms: 'vegas' is not among them"):
        read(kernel_paths(), algorithms=["vegas"])


class Machine:
    """In place of the kernel: simulations, with the timing that a test wants."""

    def __init__(self, late_ns: list[int]) -> None:
        self.late_ns = late_ns
        self.seeds: list[int] = []
        self.settings: list[Any] = []

    def emulate_many(
        self, jobs: list[tuple[Any, int, Any]], *, workers: int, late_s: float
    ) -> Iterator[tuple[int, Any]]:
        for index, (document, seed, settings) in enumerate(jobs):
            self.seeds.append(seed)
            self.settings.append(settings)
            records = cwndlab.run(document, seed=seed)
            late = self.late_ns.pop(0) if self.late_ns else 50_000
            recoveries = sum(flow["recoveries"] for flow in records.rows("flows"))
            times: dict[str, Any] = {"late_p50_ns": 1_000, "late_p99_ns": late, "late_max_ns": late}
            times["unreliable"] = "late" if late > late_s * 1e9 else None
            yield index, (records, times | {"counters": {"TCPSackRecovery": recoveries}})


@pytest.fixture
def paths_file(tmp_path: Path) -> Path:
    file = tmp_path / "paths.toml"
    file.write_text(SHORT, encoding="utf-8")
    return file


def test_a_campaign_repeats_late_runs_and_goes_on_where_it_was(
    tmp_path: Path, paths_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine([2_000_000])  # the first run is late by 2 ms
    monkeypatch.setattr(import_module("cwndlab.validation.kernel"), "emulate_many", machine.emulate_many)
    said: list[str] = []
    asked = {"paths": ["one"], "algorithms": ["reno"], "file": paths_file}
    verdicts, noted = campaign(tmp_path / "out", say=said.append, **asked)  # type: ignore[arg-type]
    assert said == ["one reno 1: late by 2.00 ms, repeated"]
    assert machine.seeds == [1, 1]
    assert [one.deviation for one in verdicts] == [0, 0, 0]  # both sides were simulated
    assert "1 runs" in noted[0]

    campaign(tmp_path / "out", repetitions=2, **asked)  # type: ignore[arg-type]
    assert machine.seeds == [1, 1, 2]
    campaign(tmp_path / "out", repetitions=2, **asked)  # type: ignore[arg-type]
    assert machine.seeds == [1, 1, 2]

    # Other paths and their runs remain where they are.
    campaign(tmp_path / "out", **(asked | {"paths": ["two"]}))  # type: ignore[arg-type]
    assert machine.seeds == [1, 1, 2, 1]
    campaign(tmp_path / "out", repetitions=2, **asked)  # type: ignore[arg-type]
    assert machine.seeds == [1, 1, 2, 1]

    # A path of another form is another path.
    paths_file.write_text(SHORT.replace('duration = "3 s"', 'duration = "4 s"'), encoding="utf-8")
    campaign(tmp_path / "out", **asked)  # type: ignore[arg-type]
    assert machine.seeds == [1, 1, 2, 1, 1]
    assert len(kept(tmp_path / "out" / "runs.csv", read(paths_file, paths=["one"], algorithms=["reno"]))) == 1


def test_a_run_that_stays_late_counts_and_is_named(
    tmp_path: Path, paths_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine([2_000_000] * 4)
    monkeypatch.setattr(import_module("cwndlab.validation.kernel"), "emulate_many", machine.emulate_many)
    _, noted = campaign(tmp_path / "out", paths=["one"], algorithms=["reno"], file=paths_file)
    assert machine.seeds == [1, 1, 1, 1]
    assert noted[1] == "one reno 1: late in 4 attempts, counted all the same"


def test_a_foreign_file_of_runs_is_refused(tmp_path: Path, paths_file: Path) -> None:
    (tmp_path / "runs.csv").write_text("path,algorithm\na,b\n", encoding="utf-8")
    with pytest.raises(cwndlab.RecordsError, match=r"runs\.csv: a line is not what this version writes"):
        campaign(tmp_path, file=paths_file)


def test_the_page_has_every_quantity_in_its_unit() -> None:
    trial = Trial("p", "reno", ("reno",), 20e6, {})
    runs = [a_run(), a_run(repetition=2, mean_rtt_s=0.044)]
    page = markdown(judge(Paths((trial,), 1, TOLERANCES, {}), [a_run(congestion_events=30)], runs), notes(runs))
    assert page.splitlines() == [
        "Linux 6.18, 2026-01-01: 2 runs; 99 % of a run's deliveries were late by less than 100 us "
        "(median over the runs; worst run 100 us).",
        "",
        "| algorithm | judged | hold | share |",
        "|---|---:|---:|---:|",
        "| `reno` | 3 | 2 | 67% |",
        "",
        "| path | algorithm | quantity | simulator | kernel | spread | deviation | tolerance | holds |",
        "|---|---|---|---:|---:|---:|---:|---:|---|",
        "| p | `reno` | goodput, Mbit/s | 10.00 | 10.00 | 0.00 | +0.00 | ±0.30 | holds |",
        "| p | `reno` | mean RTT, ms | 40.0 | 42.0 | 4.0 | -2.0 | ±2.1 | holds |",
        "| p | `reno` | congestion events | 30.0 | 20.0 | 0.0 | +10.0 | ±3.0 | **no** |",
    ]


def test_a_short_campaign_on_this_kernel(tmp_path: Path, paths_file: Path) -> None:
    """Function alone: every trial has its row, and the kernel fills the link as far as headers let it."""
    try:
        verdicts, noted = campaign(tmp_path / "out", file=paths_file, jobs=4)
    except cwndlab.RunError as error:
        if "unshare" in str(error) or "/dev/net/tun" in str(error):
            pytest.skip(str(error))
        raise
    assert len(verdicts) == 2 * (3 + 5)
    assert noted
    alone = [one for one in verdicts if one.quantity == "goodput_bps"]
    assert all(0 < one.kernel <= 10e6 * 1448 / 1500 * 1.01 for one in alone)
    assert all(one.kernel >= 0.020 for one in verdicts if one.quantity == "mean_rtt_s")


@pytest.mark.parametrize("cut", [1, 40])
def test_a_campaign_that_was_killed_while_it_wrote_goes_on(
    tmp_path: Path, paths_file: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    """The last line is torn: its repetition of two flows is emulated again, and nothing else."""
    machine = Machine([])
    monkeypatch.setattr(import_module("cwndlab.validation.kernel"), "emulate_many", machine.emulate_many)
    asked: dict[str, Any] = {"paths": ["two"], "algorithms": ["reno"], "file": paths_file}
    campaign(tmp_path, repetitions=2, **asked)
    store, selected = tmp_path / "runs.csv", read(paths_file, paths=["two"], algorithms=["reno"])
    whole = store.read_bytes()
    before = [(one.repetition, one.flow) for one in kept(store, selected)]
    store.write_bytes(whole[:-cut])
    assert {run.repetition for run in kept(store, selected)} == {1}
    campaign(tmp_path, repetitions=2, **asked)
    assert machine.seeds == [1, 2, 2]
    assert [(one.repetition, one.flow) for one in kept(store, selected)] == before
    store.write_bytes(b"")
    campaign(tmp_path, repetitions=1, **asked)
    assert [one.flow for one in kept(store, selected)] == [0, 1]
