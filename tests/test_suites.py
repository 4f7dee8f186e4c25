"""Suites of test cases: rules of the frame, the reference algorithm of each suite, and algorithms that are wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path as File
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import Cancel
from cwndlab.scenario.queues import DualPi2
from cwndlab.scenario.workloads import AdaptiveVideo
from cwndlab.suites import Case, Path, Statement, Suite, SuiteResult, Verdict
from cwndlab.suites.case import verdict
from cwndlab.suites.runner import examine
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Subject, Trial
from suite_algorithms import Cubic, HyStart, Reno, Startup

Cli = Callable[..., tuple[int, str, str]]
PATH = Path("1 Mbit/s, 20 ms", 1e6, 0.02)
OTHER = Path("2 Mbit/s, 20 ms", 2e6, 0.02)


def a_trial() -> Trial:
    """A trial of Reno."""
    return Trial(Subject("reno", {}), PATH, Cancel())


def states(t: Trial, condition: bool, contradicts: str = "") -> None:
    """Makes a statement that holds or does not."""
    t.holds("section 1", "a is b", condition, "a", "b", but=contradicts)


def statement(condition: bool, contradicts: str = "") -> Statement:
    """A statement that holds or does not."""
    t = a_trial()
    states(t, condition, contradicts)
    return t.statements[0]


def a_case(check: Callable[[Trial], None], **more: Any) -> Case:
    """A case."""
    settings = {"name": "one", "title": "One", "source": "section 1", "paths": (PATH,), **more}
    return Case(check=check, **settings)


def bulk(t: Trial) -> Trace:
    """A bulk transfer for a second."""
    return t.run(t.scenario(1.0, interval_s=0.01))


def outcomes(*cases: Case) -> SuiteResult:
    """The result of these cases for Reno."""
    jobs = [(case, path) for case in cases for path in case.paths]
    suite = Suite(name="mine", title="Mine", source="a source", reference="reno")
    return SuiteResult(suite=suite, algorithm="reno", outcomes=examine(jobs, Subject("reno", {}), workers=2))


def failures(result: SuiteResult, case: str) -> set[str]:
    """The texts of the statements of a case that do not hold."""
    return {one.text for outcome in result.outcomes if outcome.case.name == case for one in outcome.failures}


# The frame.


def test_a_case_fails_unless_the_source_contradicts_itself_there() -> None:
    assert verdict([statement(True)]) is Verdict.PASSED
    assert verdict([statement(True), statement(False)]) is Verdict.FAILED
    assert verdict([statement(True), statement(False, "line 7")]) is Verdict.CONTRADICTS
    assert verdict([statement(False), statement(False, "line 7")]) is Verdict.FAILED


def test_an_outcome_stands_for_each_case_and_path_in_order() -> None:
    first = a_case(lambda t: states(t, True), paths=(PATH, OTHER))
    result = outcomes(first, a_case(lambda t: states(t, False), name="two"))
    seen = [(one.case.name, one.path.name, one.verdict) for one in result.outcomes]
    assert seen == [
        ("one", PATH.name, Verdict.PASSED),
        ("one", OTHER.name, Verdict.PASSED),
        ("two", PATH.name, Verdict.FAILED),
    ]
    assert not result.holds


def test_a_case_does_not_apply_for_its_path_its_values_or_its_algorithm() -> None:
    def refuses(t: Trial) -> None:
        states(t, False)
        raise NotApplicableError(f"not for {t.subject.name}")

    result = outcomes(
        a_case(refuses, unsuited={PATH.name: "too slow"}),
        a_case(refuses, values=("no_such_value",)),
        a_case(refuses),
    )
    reasons = [one.reason for one in result.outcomes]
    assert reasons == ["too slow", "the algorithm reports no value 'no_such_value'", "not for reno"]
    assert result.count(Verdict.NOT_APPLICABLE) == 3
    # Nothing was asked of the algorithm, which holds nothing.
    assert not result.holds
    assert result.verdicts()[0] == "no case is applicable to reno"


def test_every_reason_why_cases_do_not_apply_is_said_with_the_cases() -> None:
    def refuses(t: Trial) -> None:
        raise NotApplicableError("it is late" if t.path == OTHER else "it is slow")

    names = [f"case-{number}" for number in range(8)]
    passing = a_case(lambda t: states(t, True), name="good")
    result = outcomes(passing, *(a_case(refuses, name=name, paths=(PATH, OTHER)) for name in names))
    few = "case-0, case-1, case-2, case-3, case-4, case-5 and 2 more"
    assert result.verdicts() == [f"{few}: not applicable: it is slow", f"{few}: not applicable: it is late"]
    assert result.holds
    each = outcomes(a_case(refuses, name="one"), a_case(refuses, name="two", paths=(OTHER,)), passing)
    assert each.verdicts() == ["one: not applicable: it is slow", "two: not applicable: it is late"]


def test_an_event_that_does_not_occur_fails_the_case_and_keeps_earlier_statements() -> None:
    def check(t: Trial) -> None:
        states(t, True)
        raise NotObservedError("section 2", "the timer expires", "it does not", 3.0)

    (outcome,) = outcomes(a_case(check)).outcomes
    assert outcome.verdict is Verdict.FAILED
    assert [(one.text, one.holds) for one in outcome.statements] == [("a is b", True), ("the timer expires", False)]


def test_a_case_without_statements_is_a_fault_of_the_suite() -> None:
    with pytest.raises(AssertionError, match="case 'one' has no statement"):
        outcomes(a_case(lambda _: None))


def test_statements_say_what_was_expected_and_what_was_seen() -> None:
    t = a_trial()
    t.equals("section 3", "the rate", 1.04, 1.0, relative=0.05, at=2.0)
    t.equals("section 3", "the rate", 1.06, 1.0, relative=0.05)
    t.expect("section 3", "the window", 3.0, 4.0)
    t.expect("section 3", "the window", 3.0, high=4.0)
    t.expect("section 3", "the window", 3.0, 3.0, 4.0)
    t.expect("section 3", "a value that no row has", float("nan"), 0.0)
    assert [(one.holds, one.expected, one.got, one.at_s) for one in t.statements] == [
        (True, "1 ± 5 %", "1.04", 2.0),
        (False, "1 ± 5 %", "1.06", None),
        (False, "at least 4", "3", None),
        (True, "at most 4", "3", None),
        (True, "3 to 4", "3", None),
        (False, "at least 0", "nan", None),
    ]


def test_a_trace_has_the_values_of_any_time() -> None:
    """Slow start of 10 segments on 40 ms, by hand: 10 segments are in flight after the handshake, and one more for each
    that an ACK of the first round acknowledges."""

    run = bulk(a_trial())
    established = run.event("established", "")
    assert run.at("una", established) == 0
    assert run.at("transport.cwnd_segments", established) == run.at("cwnd", established) == 10
    first = run.first("una", lambda value: value > 0)
    assert first is not None
    assert run.at("cwnd", first.at_s) == 10 + first.value
    assert run.grown("cwnd", established, first.at_s) == first.value == run.step("una", first.at_s)
    assert run.before("una", first.at_s) == 0
    spans = run.spans("una")
    assert spans[0].end_s == spans[1].start_s
    assert isnan(run.at("none", 1.0))


# Each suite on the algorithm of its source.


@pytest.mark.parametrize("name", ["rfc5681", "rfc6298", "rfc6675", "rfc8985", "rfc9406", "rfc9438", "rfc9937"])
def test_the_reference_algorithm_passes(name: str) -> None:
    result = cwndlab.suites.run(name)
    assert result.holds, [(one.case.name, one.failures) for one in result.outcomes if one.failures]
    assert result.count(Verdict.PASSED) >= 5
    assert all(one.source for outcome in result.outcomes for one in outcome.statements)


def test_downloads_of_c4_end_within_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """draft-huitema-ccwg-c4-test: 10 MB at 20 Mbit/s and 80 ms typically take 4.85 s, and at most 5; the other bounds
    are those of the draft, too."""
    monkeypatch.setattr("cwndlab.suites.c4_test.RUNS", 3)
    cases = ["alone-20", "black-hole", "suspension", "with-c4-short", "with-cubic-long"]
    result = cwndlab.suites.run("c4-test", cases=cases)
    assert result.holds, result.verdicts()
    (slowest,) = result.outcomes[0].statements
    assert slowest.expected == "at most 5"
    assert float(slowest.got) == pytest.approx(4.85, rel=0.03)
    # By hand: more than the outage of 2 s, and 10 MB at 25 Mbit/s with 52 bytes of headers per 1448.
    assert float(result.outcomes[1].statements[0].got) > 2.0 + 10e6 * 8 / 25e6 * 1500 / 1448


def test_a_remembered_window_shortens_the_download_over_a_satellite(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: after half an RTT, the handshake and the first round trip, 1.5 s, half of the remembered 18.75 MB is
    paced over 0.6 s, and the line of 250 Mbit/s, with 52 bytes of headers per 1448, takes 3.3 s for 100 MB. Slow start
    from ten segments takes ten round trips to fill it. The bound of draft-huitema-ccwg-c4-test is 7.4 s."""
    monkeypatch.setattr("cwndlab.suites.c4_test.RUNS", 2)
    algorithms = ("cubic+careful-resume(beta=0.7)", "cubic")
    got = []
    for algorithm in algorithms:
        (outcome,) = cwndlab.suites.run("c4-test", algorithm, cases=["satellite"]).outcomes
        got.append((outcome.verdict, float(outcome.statements[0].got)))
    (resumed, resumed_s), (standard, standard_s) = got
    assert (resumed, standard) == (Verdict.PASSED, Verdict.FAILED)
    assert 1.5 + 100e6 * 8 / 250e6 * 1500 / 1448 < resumed_s < standard_s - 3


def test_frames_of_calls_arrive_within_the_bounds_of_c4(monkeypatch: pytest.MonkeyPatch) -> None:
    """draft-huitema-ccwg-c4-test has the bounds. By hand, at 100 Mbit/s and 15 ms one way: a frame of 80 bytes takes at
    least 15 ms, and an I-frame of 37,500 bytes, 26 packets of 1500 bytes, 18.1 ms; at 20 Mbit/s and 5 ms with pauses of
    200 ms, no frame waits for more than a pause, 5 ms and the packets in front of it."""
    monkeypatch.setattr("cwndlab.suites.c4_test.RUNS", 2)
    result = cwndlab.suites.run("c4-test", cases=["call-fast", "call-suspension"])
    assert result.holds, result.verdicts()
    audio, _, _, longest = (float(one.got) for one in result.outcomes[0].statements)
    assert 0.015 < audio < 0.016
    assert 0.0181 < longest < 0.079
    longest_audio = float(result.outcomes[1].statements[1].got)
    assert 0.1 < longest_audio < 0.205


def test_a_download_that_does_not_end_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copa's default mode reads the spikes of a bad Wi-Fi as queues; the run ends at three times the bound."""
    monkeypatch.setattr("cwndlab.suites.c4_test.RUNS", 1)
    (outcome,) = cwndlab.suites.run("c4-test", "copa(mode=default)", cases=["bad-wifi"]).outcomes
    assert [(one.got, one.expected) for one in outcome.failures] == [("inf", "at most 4.3")]


def test_the_runs_of_a_case_differ_by_seed() -> None:
    t = a_trial()
    document = t.scenario(1.0) | {"perturb": True}
    hashes = {t.run(document, seed).records.hash() for seed in (1, 1, 2)}
    assert len(hashes) == 2


def test_controls_of_media_follow_the_capacity() -> None:
    """RFC 8867, section 5.1: each control has to follow the steps of the capacity."""
    for control in ("nada", "scream2", "gcc"):
        result = cwndlab.suites.run("rfc8867", control, cases=["variable-capacity"])
        assert result.holds, result.verdicts()
        assert len(result.outcomes) == 2


def test_a_suite_of_media_names_the_controls_that_it_tests() -> None:
    with pytest.raises(cwndlab.ScenarioError, match="nada, scream2, gcc") as raised:
        cwndlab.suites.run("rfc8867", "cubic")
    assert "scream2" in str(raised.value)


def test_prague_keeps_the_rules_of_l4s_that_it_claims() -> None:
    """RFC 9331, section 4. tcp_prague.c 0.7 has no detection of classic ECN, and Linux does not pace the first ten
    segments: 9 × 120 µs at 100 Mbit/s."""
    result = cwndlab.suites.run("rfc9331")
    broken = {(outcome.case.name, one.text) for outcome in result.outcomes for one in outcome.failures}
    assert broken == {("classic-aqm", "rate over Reno's, with adaptation"), ("bursts", "queue of the first burst, s")}
    (burst,) = [one for outcome in result.outcomes for one in outcome.failures if outcome.case.name == "bursts"]
    assert burst.got == "0.00108"


class Constant:
    """A window of 250 segments, whatever happens."""

    def __init__(self, path: Any) -> None:
        pass

    def on_ack(self, ack: Any) -> None:
        pass

    def on_congestion(self, event: Any) -> None:
        pass

    def cwnd(self) -> float:
        return 250.0

    def state(self) -> dict[str, float]:
        return {"alpha": 0.5}


@pytest.mark.parametrize(
    ("algorithm", "case", "broken"),
    [
        ("cubic", "codepoint", "share of data packets with ECT(1)"),
        ("dctcp", "codepoint", "share of retransmissions with ECT(1)"),
        ("constant", "feedback", "marks of the queue"),
        ("cubic", "scalable", "marks per round trip at 10 Mbit/s"),
        ("bbr1", "loss", "rate over Reno's, with a queue of 0.5 BDP"),
        ("constant", "classic-aqm", "rate over Reno's"),
        ("dctcp", "rtt-independence", "exponent of the RTT, 10 and 20 ms"),
        ("bbr1", "small-rtt", "packets of a flow in the queue, of ten flows"),
        ("prague/sack", "reordering", "share of packets retransmitted without a loss"),
        ("cubic", "bursts", "longest queue of a later burst, s"),
    ],
)
def test_each_rule_of_l4s_is_broken_by_some_sender(algorithm: str, case: str, broken: str) -> None:
    """Senders without ECN, with RFC 8257 (no ECT on retransmissions, growth per RTT), that do not respond to losses,
    and that count duplicate ACKs (RFC 6675). On every path of a case one of them fails."""
    result = cwndlab.suites.run("rfc9331", algorithm, algorithms={"constant": Constant}, cases=[case])
    assert all(broken in {one.text for one in outcome.failures} for outcome in result.outcomes), result.verdicts()


def test_a_control_of_media_with_l4s_is_judged_by_the_same_rules() -> None:
    """SCReAMv2 sets ECT(1); its detection of loss counts datagrams, so that reordering reduces its rate."""
    result = cwndlab.suites.run("rfc9331", "scream2", cases=["codepoint", "reordering", "feedback"])
    assert [outcome.verdict for outcome in result.outcomes] == [Verdict.PASSED, Verdict.NOT_APPLICABLE, Verdict.FAILED]
    assert failures(result, "reordering") == {"rate over that without reordering"}
    with pytest.raises(cwndlab.ScenarioError, match="nada"):
        cwndlab.suites.run("rfc9331", "nada", cases=["codepoint"])


def test_marks_reach_a_control_of_media() -> None:
    """RFC 9332: the queue of L4S is short. With ECT(1), DualPI2 drops nothing, and delays are shorter."""
    delays = {}
    for ecn in ("off", "l4s"):
        workload = AdaptiveVideo(control="scream2", feedback="40 ms", ecn=ecn)
        queue = DualPi2()
        path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="1 Mbit/s", delay="10 ms", queue=queue))
        call = cwndlab.Flow(transport="udp", rtt="50 ms", workload=workload)
        records = cwndlab.run(cwndlab.Scenario(duration="40 s", dumbbell=path, flows=[call]), seed=1)
        row = cwndlab.metrics.datagrams(records, start_s=10.0).row(0, named=True)
        delays[ecn] = row["p95_one_way_delay_ms"]
    assert row["datagram_loss_ratio"] == 0.0
    assert delays["l4s"] < 0.7 * delays["off"], delays


def test_bbr_version_3_passes_the_cases_of_the_draft_on_two_paths() -> None:
    """On these paths the cases contradict the pseudo-code where docs/suites.md says so."""
    result = cwndlab.suites.run("bbr-draft", paths=["10 Mbit/s, 0.5 ms", "10 Mbit/s, 40 ms"])
    assert result.holds, [(one.case.name, one.path.name, one.failures) for one in result.outcomes if one.failures]
    # The 22 examples, of which the seventh is two (in Startup and in ProbeBW_UP), and seven cases of the text.
    assert len({one.case.name for one in result.outcomes}) == 30
    contradicting = {one.case.name for one in result.outcomes if one.verdict is Verdict.CONTRADICTS}
    assert contradicting == {
        "startup-loss",
        "drain-time",
        "up-loss",
        "spurious-fast-recovery",
        "up-loss-longterm",
    }


def test_bbr_version_1_fails_where_version_3_differs() -> None:
    cases = ["drain-inflight", "probe-rtt", "app-limited-startup"]
    result = cwndlab.suites.run("bbr-draft", "bbr1", cases=cases, paths=["10 Mbit/s, 40 ms"])
    assert "pacing_gain is 0.5" in failures(result, "drain-inflight")  # version 1: 1 / 2.885
    assert any("5 s" in text for text in failures(result, "probe-rtt"))  # version 1: 10 s
    assert not failures(result, "app-limited-startup")


@pytest.mark.parametrize("name", ["rfc6298", "rfc6675", "rfc8985", "rfc9937"])
@pytest.mark.parametrize("algorithm", ["cubic", "bbr3"])
def test_no_other_algorithm_raises_a_false_alarm_about_the_transport(name: str, algorithm: str) -> None:
    result = cwndlab.suites.run(name, algorithm)
    assert [(one.case.name, one.failures) for one in result.outcomes if one.failures] == []
    # Of some algorithms no case applies.
    assert {one.verdict for one in result.outcomes} <= {Verdict.PASSED, Verdict.NOT_APPLICABLE}


def test_cases_for_another_algorithm_do_not_apply() -> None:
    for name, algorithm in (("bbr-draft", "cubic"), ("rfc9438", "reno"), ("rfc9406", "bbr3")):
        result = cwndlab.suites.run(name, algorithm)
        assert {one.verdict for one in result.outcomes} == {Verdict.NOT_APPLICABLE}


# Algorithms that are right, and wrong in one point.


def of_class(name: str, kind: type, text: str, cases: Sequence[str], **more: Any) -> SuiteResult:
    """The result of some cases for a class of this file."""
    return cwndlab.suites.run(name, text, algorithms={text.partition("(")[0]: kind}, cases=cases, **more)


WRONG = [
    ("rfc9438", Cubic, "mine(beta=0.5)", "beta", "ssthresh after a loss, where β is 0.7"),
    ("rfc9438", Cubic, "mine(c=0.8)", "curve", "K"),
    ("rfc9438", Cubic, "mine(fast_convergence=false)", "fast-convergence", "W_max after the second event"),
    ("rfc9438", Cubic, "mine(counts_idle=true)", "app-limited", "cwnd two seconds after the limited period"),
    (
        "rfc9406",
        HyStart,
        "mine(most=0.03)",
        "delay-increase",
        "conservative slow start begins where the RTT rises by 18.4 ms",
    ),
    (
        "rfc9406",
        HyStart,
        "mine(samples=1)",
        "samples",
        "a rise of the RTT in a round with fewer than eight samples has no effect",
    ),
    ("rfc9406", HyStart, "mine(divisor=2)", "css", "segments of growth per segment acknowledged"),
    ("rfc5681", Reno, "mine(beta=0.7)", "fast-recovery", "ssthresh"),
    ("rfc5681", Reno, "mine(growth=2)", "congestion-avoidance", "segments per round trip"),
    ("rfc6675", Reno, "mine(beta=0.9)", "recovery-point", "ssthresh"),
    ("rfc8985", Reno, "mine(beta=100)", "probe-response", "the window is reduced"),
    ("rfc9937", Reno, "mine(grows_in_recovery=true)", "exit", "cwnd"),
    ("bbr-draft", Startup, "mine(drain_gain=0.35)", "drain-inflight", "pacing_gain is 0.5"),
    ("bbr-draft", Startup, "mine(rounds=2)", "startup-plateau", "full_bw_count reaches 3"),
]


@pytest.mark.parametrize(("name", "kind", "text", "case", "broken"), WRONG)
def test_a_wrong_algorithm_fails_the_case_of_its_fault(
    name: str, kind: type, text: str, case: str, broken: str
) -> None:
    paths = ["10 Mbit/s, 40 ms"] if name == "bbr-draft" else []
    right = of_class(name, kind, "mine", [case], paths=paths)
    assert right.holds, right.outcomes[0].failures
    assert right.count(Verdict.PASSED) >= 1
    wrong = of_class(name, kind, text, [case], paths=paths)
    assert broken in failures(wrong, case)


# The command line.


def test_the_command_prints_cases_by_paths_and_ends_with_1_where_one_fails(cli: Cli) -> None:
    status, printed, err = cli(
        "suite", "rfc9438", "--algorithm", "cubic-8312", "--case", "reno-friendly", "--case", "beta"
    )
    assert status == 1, err
    lines = printed.splitlines()
    assert lines[0].split("  ")[0] == "case"
    assert lines[2].split() == ["reno-friendly", "–", "FAILED"]
    at = lines.index("reno-friendly, 10 Mbit/s, 20 ms: failed: segments per round trip above cwnd_prior")
    assert lines[at + 1] == "  source    section 4.3: α is 1 once W_est ≥ cwnd_prior"
    assert lines[at + 2] == "  expected  1 ± 15 %"
    assert err.endswith("cubic-8312: 2 passed, 1 failed, 1 not applicable, 0 contradicts\n")


def test_the_command_takes_a_file_of_python_and_prints_json(cli: Cli, tmp_path: File) -> None:
    file = tmp_path / "mine.py"
    own = (File(__file__).parent / "suite_algorithms.py").read_text(encoding="utf-8")
    own = own.replace("class Cubic:", "class Other:").replace("class Reno:", "class Mine:")
    file.write_text(own, encoding="utf-8")
    words = ("suite", "rfc6675", "--case", "pipe", "--format", "json")
    status, _, err = cli(*words, "--algorithm", str(file))
    assert status == 2
    assert "has 4 algorithms: other, hy-start, mine, startup" in err
    head = own[: own.index("class Other:")]
    file.write_text(head + own[own.index("class Mine:") : own.index("class Startup:")], encoding="utf-8")
    status, printed, err = cli(*words, "--algorithm", str(file))
    assert status == 0, err
    result = json.loads(printed)
    assert (result["suite"], result["algorithm"]) == ("rfc6675", "mine")
    assert result["counts"]["passed"] == 1
    assert result["outcomes"][0]["statements"][0]["holds"] is True


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["rfc9438", "--case", "none"], "case"),
        (["rfc9438", "--path", "none"], "path"),
        (["rfc9438", "--algorithm", "cubik"], "flow[0].algorithm"),
        (["rfc9438", "--algorithm", "none.py"], "none.py"),
        (["rfc9438", "--format", "xml"], "--format"),
    ],
)
def test_bad_input_ends_with_2_and_names_its_place(cli: Cli, words: list[str], place: str) -> None:
    status, _, err = cli("suite", *words)
    assert status == 2
    assert err.startswith(f"{place}: ")
    assert "  hint: " in err


def test_without_a_name_the_suites_are_listed(cli: Cli) -> None:
    _, printed, err = cli("suite")
    for name in cwndlab.suites.SUITES:
        assert f"  {name}  " in printed + err


def test_out_has_records_and_qlog_of_each_case_and_the_page_its_statements(cli: Cli, tmp_path: File) -> None:
    out, page = tmp_path / "out", tmp_path / "suite.html"
    words = ("--algorithm", "cubic-8312", "--case", "reno-friendly", "--out", str(out), "--report", str(page))
    status, printed, err = cli("suite", "rfc9438", *words)
    assert status == 1, err
    folder = out / "reno-friendly" / "10_Mbit_s_20_ms"
    assert cwndlab.records.Records.read(folder / "records").rows("flows")[0]["algorithm"].startswith("cubic-8312")
    assert (folder / "qlog" / "flow0.sqlog").stat().st_size > 1000
    assert json.loads((out / "suite.json").read_text(encoding="utf-8"))["counts"]["failed"] == 1
    text = page.read_text(encoding="utf-8")
    assert "α is 1 once W_est ≥ cwnd_prior" in text
    assert "Reno&#39;s window is larger there" in text or "CUBIC&#39;s window is larger there" in text
    # Terminal, notebook and a page that is made from the folder say the same.
    loaded = cwndlab.load(out)
    assert isinstance(loaded, SuiteResult)
    loaded.report(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text
    assert printed == "\n\n".join([str(loaded.table()), *loaded.verdicts()]) + "\n"
    assert f"{loaded.algorithm}: {loaded.counts}" in err
    assert loaded._repr_html_().index(f"cubic-8312: {loaded.counts}") < loaded._repr_html_().index("<table>")
    status, shown, err = cli("report", str(out), "--report", str(tmp_path / "third.html"))
    assert (status, shown) == (0, printed), err
    (out / "suite.json").write_text("{}", encoding="utf-8")
    with pytest.raises(cwndlab.RecordsError, match=r"suite\.json: holds no result of a suite that is known here"):
        cwndlab.load(out)
