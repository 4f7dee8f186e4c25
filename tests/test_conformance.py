"""The conformance battery from Python: what it finds, and how the command line says it."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab import ScenarioError
from cwndlab.custom import Ack, Congestion, Window
from cwndlab.custom import Path as NetworkPath
from cwndlab.validation.conformance import CheckReport, Rule, check_many, select

Cli = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_algorithm.py"

#: Every rule of docs/conformance.md, in their order.
RULES = [
    "one-segment",
    "bounded",
    "unused-window",
    "recovery",
    "same-windows",
    "congestion",
    "backs-off",
    "restart",
    "undo",
    "imposed",
    "comes-back",
    "pacing",
    "state",
    "no-panic",
    "cost",
]


def test_an_algorithm_of_the_catalogue_keeps_every_rule() -> None:
    found = cwndlab.check("cubic+ccm-ss", quick=True)
    assert (found.algorithm, found.holds, found.broken) == ("cubic+ccm-ss", True, ())
    assert [rule.rule for rule in found.rules] == RULES
    assert {rule.algorithm for rule in found.rules} == {"cubic+ccm-ss"}
    assert found.ns_per_ack is not None
    assert found.ns_per_ack > 0


def test_the_page_explains_every_rule() -> None:
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert rows == RULES


def test_all_means_every_growth_and_every_slow_start() -> None:
    texts, _ = select((), everything=True)
    assert len(texts) == len(set(texts))
    kinds = {kind: {entry.name for entry in cwndlab.algorithms(kind)} for kind in ("growth", "whole", "slow-start")}
    parts = [text.partition("(")[0].partition("+") for text in texts]
    routers = {entry.name for entry in cwndlab.algorithms("router")}
    assert {growth for growth, _, _ in parts} - routers == kinds["growth"] | kinds["whole"]
    assert {start for _, _, start in parts if start} == kinds["slow-start"]


def test_several_are_examined_on_threads() -> None:
    found = dict(check_many(["reno", "bic", "scalable"], quick=True, workers=2))
    assert [found[index].algorithm for index in range(3)] == ["reno+standard", "bic+standard", "scalable+standard"]
    assert all(examined.holds for examined in found.values())


def test_an_unknown_name_is_refused_before_anything_runs(cli: Cli) -> None:
    hint = "  hint: did you mean 'cubic'? `cwndlab list` shows them all\n"
    assert cli("check", "reno", "cubik") == (2, "", f"no algorithm is called 'cubik'\n{hint}")
    assert cli("check") == (
        2,
        "",
        "check: no algorithm is named\n  hint: write `cwndlab check cubic`, `cwndlab check mine.py`, or `--all`\n",
    )


def test_check_prints_rows(cli: Cli) -> None:
    status, out, err = cli("check", "reno", "--quick", "--format", "json")
    assert (status, err) == (0, "")
    rows = json.loads(out)
    assert {tuple(row) for row in rows} == {("algorithm", "rule", "holds", "detail")}
    assert [row["rule"] for row in rows] == RULES
    assert all(row["holds"] is True for row in rows)
    _, out, _ = cli("check", "reno", "--quick", "--format", "csv")
    assert [row["rule"] for row in csv.DictReader(io.StringIO(out))] == RULES
    _, out, _ = cli("check", "reno", "--quick")
    assert out.splitlines()[0].split() == ["algorithm", "rule", "holds", "detail"]
    _, out, _ = cli("check", "reno", "bic", "--quick")
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [
        ["reno+standard", "15", "none"],
        ["bic+standard", "15", "none"],
    ]


def test_a_rule_that_fails_is_exit_status_1(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def many(texts: list[str], **_: object) -> Iterator[tuple[int, CheckReport]]:
        for index, text in enumerate(texts):
            fails = Rule(algorithm=text, rule="undo", holds=False, detail="case 'undo', event 7 at 1 s: because")
            holds = Rule(algorithm=text, rule="state", holds=True, detail="12 checks")
            yield index, CheckReport(algorithm=text, rules=(fails, holds), ns_per_ack=None)

    monkeypatch.setattr(import_module("cwndlab.validation.conformance"), "check_many", many)
    status, out, err = cli("check", "reno")
    assert (status, err) == (1, "")
    assert "undo   no     case 'undo', event 7 at 1 s: because" in out
    status, out, _ = cli("check", "reno", "bic")
    assert status == 1
    assert [line.split() for line in out.splitlines()[1:3]] == [
        ["reno+standard", "2", "undo", "–"],
        ["bic+standard", "2", "undo", "–"],
    ]
    assert out.count("because") == 2


def test_a_check_that_is_stopped_shows_what_it_found(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def many(texts: list[str], **_: object) -> Iterator[tuple[int, CheckReport]]:
        rule = Rule(algorithm=texts[0], rule="undo", holds=True, detail="12 checks")
        yield 0, CheckReport(algorithm=texts[0], rules=(rule,), ns_per_ack=12.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("cwndlab.validation.conformance"), "check_many", many)
    status, out, err = cli("check", "reno", "bic", "--format", "json")
    assert (status, err) == (130, "stopped; 1 of 2 algorithms were examined\n")
    assert [row["algorithm"] for row in json.loads(out)] == ["reno+standard"]


def test_csv_is_written_as_algorithms_end(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the order of the names; what waited for one before it is there when it is stopped."""
    out = tmp_path / "out.csv"
    seen: list[list[str]] = []

    def many(texts: list[str], **_: object) -> Iterator[tuple[int, CheckReport]]:
        for index in (1, 0, 3):
            rule = Rule(algorithm=texts[index], rule="undo", holds=True, detail="12 checks")
            yield index, CheckReport(algorithm=texts[index], rules=(rule,), ns_per_ack=12.5)
            seen.append(out.read_text().splitlines())
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("cwndlab.validation.conformance"), "check_many", many)
    with out.open("w") as file, monkeypatch.context() as patched:
        patched.setattr("sys.stdout", file)
        status, _, err = cli("check", "reno", "bic", "scalable", "highspeed", "--format", "csv")
    assert (status, err) == (130, "stopped; 3 of 4 algorithms were examined\n")
    assert [len(lines) for lines in seen] == [0, 3, 3]
    names = [row["algorithm"] for row in csv.DictReader(io.StringIO(out.read_text()))]
    assert names == ["reno+standard", "bic+standard", "highspeed+standard"]


# Classes in Python.


class Right:
    """RFC 5681; a subclass puts in one fault, from the thirtieth ACK on."""

    def __init__(self, path: NetworkPath, segments: float = 0.0) -> None:
        self.w = segments or path.initial_cwnd
        self.ssthresh = path.initial_ssthresh
        self.acks = 0

    def on_ack(self, ack: Ack) -> None:
        self.acks += 1
        if self.acks >= 30:
            self.fault(ack)
        if ack.cwnd_limited and not ack.recovering:
            self.w += ack.acked if self.w < self.ssthresh else ack.acked / self.w

    def fault(self, ack: Ack) -> None:
        pass

    def on_congestion(self, event: Congestion) -> None:
        if not event.repeated:
            self.ssthresh = max(self.w / 2, 2)
        self.w = 1 if event.restart else self.ssthresh

    def on_window(self, window: Window) -> None:
        if window.change != "established":
            self.w = window.cwnd

    def cwnd(self) -> Any:
        return self.w


class Raises(Right):
    def fault(self, ack: Ack) -> None:
        self.w = 1 / (self.acks - 30)


class NotANumber(Right):
    def fault(self, ack: Ack) -> None:
        self.w = math.nan


class Infinite(Right):
    def fault(self, ack: Ack) -> None:
        self.w = math.inf


class Nothing(Right):
    def cwnd(self) -> Any:
        return self.w if self.acks < 30 else None


class Stands(Right):
    def pacing_rate(self) -> float | None:
        return 0 if self.acks >= 30 else None


class Lists(Right):
    def state(self) -> list[int]:
        return [1]


class GrowsUnused(Right):
    def fault(self, ack: Ack) -> None:
        if not ack.cwnd_limited and not ack.recovering:
            self.w += 1


class CopiesNothing(Right):
    def __deepcopy__(self, memo: object) -> CopiesNothing:
        return self


class HoldsALock(Right):
    def __init__(self, path: NetworkPath) -> None:
        super().__init__(path)
        self.lock = threading.Lock()


class Shares(Right):
    count = 0

    def fault(self, ack: Ack) -> None:
        Shares.count += 1
        if ack.cwnd_limited and not ack.recovering:
            self.w += Shares.count % 2


class FailsAtOnce(Right):
    def __init__(self, path: NetworkPath) -> None:
        raise OSError("no flow today")


def test_a_right_class_keeps_every_rule() -> None:
    found = cwndlab.check(Right, quick=True)
    assert (found.algorithm, found.broken, found.notes) == ("right", (), ())
    assert [rule.rule for rule in found.rules] == RULES
    assert found.ns_per_ack is not None
    again = cwndlab.check("mine(segments=4)/sack", quick=True, algorithms={"mine": Right})
    assert (again.algorithm, again.broken) == ("mine(segments=4)/sack", ())


def test_a_rate_of_less_than_a_bit_per_second_is_one() -> None:
    """By hand: 10⁻⁹ segments/s of 1460 B are 1.2 · 10⁻⁵ bit/s, and the class returns a rate above zero."""

    class Slow(Right):
        def pacing_rate(self) -> float:
            return 1e-9

    assert cwndlab.check(Slow, quick=True).broken == ()


@pytest.mark.parametrize(
    ("kind", "rule", "why"),
    [
        (Raises, "no-panic", "on_ack raised ZeroDivisionError: division by zero ("),
        (
            NotANumber,
            "one-segment",
            "cwnd() is nan segments after on_ack (a window must be above 0 and at most 10^9 segments)",
        ),
        (Infinite, "bounded", "cwnd() is inf segments after on_ack (a window must be above 0 and at most 10^9"),
        (Nothing, "no-panic", "cwnd() is None after on_ack (it must return a number of segments)"),
        (Stands, "pacing", "pacing_rate() is 0 after on_ack (it must return segments per second, above 0 and"),
        (Lists, "state", "state() is [1] (it must return a dict of names and numbers)"),
        (GrowsUnused, "unused-window", "on_ack grows the window although `cwnd_limited` is false"),
        (CopiesNothing, "undo", "the undo of a reduction restores the"),
        (HoldsALock, "no-panic", "copy.deepcopy of the object raised TypeError: cannot pickle '_thread.lock' object"),
        (Shares, "same-windows", "a second instance with the same events has"),
        (FailsAtOnce, "no-panic", "__init__ raised OSError: no flow today ("),
    ],
)
def test_a_wrong_class_breaks_the_rule_that_is_meant(
    kind: type, rule: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    found = cwndlab.check(kind, quick=True)
    assert found.broken == (rule,)
    detail = next(one.detail for one in found.rules if not one.holds)
    assert re.match(
        r"case '[^']+', event \d+ at \d+\.\d{6} s: (an ACK of |a loss|a new flow|the last reduction)", detail
    )
    assert why in detail
    if " raised " in why:
        assert re.search(r"\(\S*(test_conformance|copy)\.py, line \d+\)", detail)
    assert capfd.readouterr() == ("", "")


def test_a_class_in_full_size_says_that_it_was_told_less() -> None:
    found = cwndlab.check(Raises)
    assert found.notes == (
        "raises: the long case has 2000000 ACKs instead of 10000000, because a Python class takes microseconds for "
        "each",
    )


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(ScenarioError, match="is not a class"):
        cwndlab.check(object(), quick=True)  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match="has no method 'on_ack'"):
        cwndlab.check(int, quick=True)


def test_check_takes_files(cli: Cli, tmp_path: Path) -> None:
    for arguments in ([EXAMPLE], ["--algorithm-file", EXAMPLE], ["delay-aimd", "--algorithm-file", EXAMPLE]):
        status, out, err = cli("check", *arguments, "--quick", "--format", "json")
        assert (status, err) == (0, "")
        assert {row["algorithm"] for row in json.loads(out)} == {"delay-aimd"}
    status, out, _ = cli("check", "delay-aimd(g=3)", "reno", EXAMPLE, "--quick", "--format", "csv")
    assert status == 0
    names = dict.fromkeys(row["algorithm"] for row in csv.DictReader(io.StringIO(out)))
    assert list(names) == ["delay-aimd(g=3)", "reno+standard", "delay-aimd"]
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        EXAMPLE.read_text().replace("if ack.recovering or", "ack.rtt + 1; 1 / 0 if ack.recovering else 0\n        if")
    )
    status, out, err = cli("check", wrong, "--quick", "--format", "json")
    assert (status, err) == (1, "")
    (broken,) = [row for row in json.loads(out) if not row["holds"]]
    assert broken["rule"] == "no-panic"
    assert "recovering): the window goes from" in broken["detail"]
    assert f"on_ack raised ZeroDivisionError: division by zero ({wrong}, line " in broken["detail"]


def test_a_file_that_cannot_be_used_is_refused_before_anything_runs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("x = 1\n")
    (tmp_path / "half.py").write_text("class Half:\n def __init__(self, path): pass\n def on_ack(self, ack): pass\n")
    status, out, err = cli("check", tmp_path / "no.py", tmp_path / "none.py", tmp_path / "half.py", "cubik")
    assert (status, out) == (2, "")
    told = [line for line in err.splitlines() if not line.startswith("  hint: ")]
    assert told[0] == f"{tmp_path / 'no.py'}: there is no such file"
    assert told[1] == f"{tmp_path / 'none.py'}: holds no class with a method 'on_ack' or 'on_feedback'"
    assert [line.partition("class Half: ")[2] for line in told[2:4]] == [
        "has no method 'on_congestion'",
        "has no method 'cwnd'",
    ]
    assert told[4:] == ["no algorithm is called 'cubik'"]
    assert cli("check", tmp_path)[0] == 2


def test_ctrl_c_ends_a_class_that_loops_for_ever(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        EXAMPLE.read_text().replace("    def cwnd(self):\n", "    def cwnd(self):\n        while self.w > 12: pass\n")
    )
    command = [
        sys.executable,
        "-m",
        "cwndlab",
        "check",
        "reno",
        "mine.py",
        "--quick",
        "--workers",
        "1",
        "--format",
        "csv",
    ]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(1 + len(RULES))]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "stopped; 1 of 2 algorithms were examined\n")
    assert lines[-1].startswith("reno+standard,cost,True,")
