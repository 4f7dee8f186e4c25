"""Algorithms that are classes in Python: every way in which they fail, before a run and during it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from custom_classes import Fixed, in_first_flow, location, write_class
from cwndlab import Flow, RunError, Scenario, ScenarioError
from cwndlab.custom import Ack, Congestion, Window, load
from cwndlab.custom import Path as NetworkPath
from cwndlab.errors import AlgorithmError
from cwndlab.simulate import run_many

Cli = Callable[..., tuple[int, str, str]]


# Failures during a run: status 1, with the algorithm, what happened, and when.


def test_an_exception_ends_the_run_with_its_traceback_and_time(scenario: Scenario, cli: Cli, tmp_path: Path) -> None:
    file = write_class(tmp_path, on_ack="1 / (50 - self.acks)")
    kinds = load(file)
    with pytest.raises(AlgorithmError) as raised:
        cwndlab.run(in_first_flow(scenario, kinds["mine"]), seed=3)
    text = str(raised.value)
    assert text.startswith("mine: on_ack raised ZeroDivisionError: division by zero, at 0.")
    assert text.endswith(" s of the run with seed 3")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert isinstance(raised.value, RunError)
    assert raised.value.exit_status == 1
    path = tmp_path / "path.toml"
    path.write_text(scenario.to_toml())
    for verb in (("run", "--set", "flow[0].algorithm=mine"), ("compare", "--algorithms", "reno,mine")):
        status, out, err = cli(verb[0], path, *verb[1:], "--algorithm-file", file, "--seed", 3)
        assert (status, out) == (1, "")
        assert f'File "{file}", line 8, in on_ack\n    1 / (50 - self.acks)\n' in err
        assert (
            "ZeroDivisionError: division by zero\nmine: on_ack raised ZeroDivisionError: division by zero, at " in err
        )
        assert "panic" not in err
        assert "report" not in err


@pytest.mark.parametrize(
    ("cwnd", "what", "hint"),
    [
        ("float('nan') if self.acks == 9 else 10", "cwnd() is nan segments", "above 0 and at most 10^9 segments"),
        ("10 - self.acks", "cwnd() is 0 segments", "above 0 and at most 10^9 segments"),
        ("-1 if self.acks == 9 else 10", "cwnd() is -1 segments", "above 0 and at most 10^9 segments"),
        ("1e12 if self.acks == 9 else 10", "cwnd() is 1000000000000.0 segments", "above 0 and at most 10^9 segments"),
        ("float('inf') if self.acks == 9 else 10", "cwnd() is inf segments", "above 0 and at most 10^9 segments"),
        ("None if self.acks == 9 else 10", "cwnd() is None", "it must return a number of segments"),
        ("'ten' if self.acks == 9 else 10", "cwnd() is 'ten'", "it must return a number of segments"),
        ("10**400 if self.acks == 9 else 10", "cwnd() is 1000", "it must return a number of segments"),
    ],
)
def test_an_impossible_window_is_named(scenario: Scenario, tmp_path: Path, cwnd: str, what: str, hint: str) -> None:
    with pytest.raises(AlgorithmError) as raised:
        cwndlab.run(in_first_flow(scenario, load(write_class(tmp_path, cwnd=cwnd))["mine"]), seed=1)
    (fault,) = raised.value.faults
    assert fault.where == "mine"
    assert fault.what.startswith(what)
    assert " after on_ack, at 0.0" in fault.what
    assert fault.what.endswith(" s of the run with seed 1")
    assert fault.hint.endswith(hint)
    assert raised.value.__cause__ is None


def test_every_method_is_named_where_it_fails(scenario: Scenario) -> None:
    class Broken(Fixed):
        which = ""

        def on_congestion(self, event: Congestion) -> None:
            if self.which == "on_congestion":
                raise KeyError("kept")

        def on_window(self, window: Window) -> None:
            if self.which == "on_window":
                raise RuntimeError

        def pacing_rate(self) -> Any:
            return {"pacing_rate": -3}.get(self.which)

        @property
        def ssthresh(self) -> Any:
            return {"ssthresh": -1, "ssthresh method": len}.get(self.which)

    class Stillborn(Broken):
        def __init__(self, path: NetworkPath) -> None:
            raise ValueError("no")

    messages = {}
    lossy = scenario.with_({"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.05)})
    for which in ("on_congestion", "on_window", "pacing_rate", "ssthresh", "ssthresh method", ""):
        Broken.which = which
        with pytest.raises(AlgorithmError) as raised:
            cwndlab.run(in_first_flow(lossy, Broken if which else Stillborn), seed=1)
        messages[which] = raised.value.faults[0].what.partition(", at ")[0]
    assert messages == {
        "on_congestion": "on_congestion raised KeyError: 'kept'",
        "on_window": "on_window raised RuntimeError",
        "pacing_rate": "pacing_rate() is -3 after __init__",
        "ssthresh": "ssthresh is -1 after __init__",
        "ssthresh method": "ssthresh is <built-in function len> after __init__",
        "": "__init__ raised ValueError: no",
    }


def test_a_failure_among_many_runs_is_raised_and_stops_the_rest(scenario: Scenario, tmp_path: Path) -> None:
    broken = in_first_flow(scenario, load(write_class(tmp_path, on_ack="raise OSError('gone')"))["mine"])
    endless = in_first_flow(scenario, Fixed).with_(duration="100000 s")
    begun = time.monotonic()
    with pytest.raises(AlgorithmError, match="mine: on_ack raised OSError: gone, at"):
        list(run_many([(endless, 1), (broken, 2), (endless, 3)], workers=3))
    assert time.monotonic() - begun < 20


ENDLESS = """
import sys, cwndlab
sys.path.insert(0, {folder!r})
from mine import Mine
path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="10 ms"))
flow = cwndlab.Flow(Mine, rtt="40 ms")
try:
    print("ready", flush=True)
    long = cwndlab.Scenario(duration="100 h", sample_interval="10 s", dumbbell=path, flows=[flow])
    jobs = [(long, seed) for seed in (1, 2)]
    list(cwndlab.run_many(jobs)) if {many} else cwndlab.run(jobs[0][0], seed=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("on_ack", ["pass", "while True: pass"])
def test_ctrl_c_stops_a_class_even_one_that_loops_for_ever(tmp_path: Path, on_ack: str, many: bool) -> None:
    write_class(tmp_path, on_ack=on_ack)
    script = ENDLESS.format(folder=str(tmp_path), many=many)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out, err) == ("interrupted\n", "")


# Faults found before a run: status 2, with where, what, and a hint.


def test_all_faults_of_a_class_are_reported_together(scenario: Scenario) -> None:
    class Half:
        def __init__(self, path: NetworkPath, a: float) -> None:
            self.window = a

        def on_ack(self, ack: Ack) -> None:
            pass

        cwnd = 10

    with pytest.raises(ScenarioError) as raised:
        in_first_flow(scenario, Half)
    where = f"{os.path.relpath(__file__)}, class {Half.__qualname__}"
    page = "docs/add-an-algorithm.md shows a complete class"
    assert str(raised.value) == (
        f"{where}: has no method 'on_congestion'\n  hint: write `def on_congestion(self, event):`; {page}\n"
        f"{where}: has no method 'cwnd'\n  hint: write `def cwnd(self):`; {page}\n"
        f"{where}: its constructor's parameter 'a' has no default\n"
        "  hint: write `a=1.0`, or whatever it shall be unless a flow says `name(a=…)`"
    )
    assert raised.value.exit_status == 2


def test_invalid_names_and_objects_are_reported(scenario: Scenario) -> None:
    class Nothing:
        on_ack = on_congestion = cwnd = lambda self: None

    fixed = f"{location()}, class Fixed"
    given: list[tuple[str, Any, str]] = [
        (
            "Mine Own",
            Fixed,
            f"{fixed}: 'Mine Own' cannot be the name of an algorithm\n"
            "  hint: a name has lower-case letters, digits and '-', and begins with a letter",
        ),
        ("hstcp", Fixed, f"{fixed}: 'hstcp' is an algorithm of the catalogue\n  hint: give the class another name"),
        ("mine", 3, "algorithm 'mine': 3 is not a class\n  hint: hand over the class itself, not an object of it"),
        (
            "mine",
            Nothing,
            f"{os.path.relpath(__file__)}, class {Nothing.__qualname__}: its constructor does not take "
            "the path\n  hint: write `def __init__(self, path):`; docs/add-an-algorithm.md shows a complete class",
        ),
    ]
    for name, kind, text in given:
        with pytest.raises(ScenarioError) as raised:
            scenario.with_(algorithms={name: kind})
        assert str(raised.value) == text


def test_a_document_cannot_take_a_name_of_the_catalogue(scenario: Scenario) -> None:
    document = {**scenario.to_document(), "algorithms": {"reno": {"class": "Mine"}}}
    with pytest.raises(ScenarioError) as raised:
        cwndlab.run(document, seed=1)
    assert str(raised.value) == (
        "algorithms.reno: 'reno' is an algorithm of the catalogue\n  hint: give the class another name"
    )


def test_a_file_without_an_algorithm_is_reported(cli: Cli, tmp_path: Path, path: Path) -> None:
    def reported(text: str | bytes | None) -> str:
        file = tmp_path / "mine.py"
        if text is not None:
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        status, out, err = cli("run", path, "--seed", 1, "--algorithm-file", file)
        assert (status, out) == (2, "")
        return err.replace(str(file), "mine.py")

    hint = "  hint: `python mine.py` shows details\n"
    assert (
        reported(None) == "mine.py: there is no such file\n"
        "  hint: name a Python file with a class in it, or a Rust file with an algorithm\n"
    )
    assert reported("x = 1\nclass Mine:\n  def") == (
        f"mine.py, line 3: cannot be imported: SyntaxError: invalid syntax (mine.py, line 3)\n{hint}"
    )
    assert reported("import os\nimport nowhere_at_all\n") == (
        f"mine.py, line 2: cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'\n{hint}"
    )
    assert reported("import sys\n\nsys.exit(7)\n") == f"mine.py, line 3: cannot be imported: SystemExit: 7\n{hint}"
    assert reported(b"\xff\xfe") == (
        "mine.py: is not UTF-8 text (byte 0)\n"
        "  hint: name a Python file with a class in it, or a Rust file with an algorithm\n"
    )
    assert reported("x = 1\n") == (
        "mine.py: holds no class with a method 'on_ack' or 'on_feedback'\n"
        "  hint: docs/add-an-algorithm.md shows a complete class\n"
    )
    assert reported("class Mine:\n  def on_ack(self, ack): pass\n  def __init__(self, path): pass\n").startswith(
        f"{os.path.relpath(tmp_path / 'mine.py')}, class Mine: has no method 'on_congestion'\n".replace(
            os.path.relpath(tmp_path / "mine.py"), "mine.py"
        )
    )


def test_a_file_may_import_its_neighbours_and_use_dataclasses(scenario: Scenario, tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_mine.py").write_text("SEGMENTS = 4\n")
    (tmp_path / "mine.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from neighbour_of_mine import SEGMENTS\nfrom collections import Counter\n\n"
        "@dataclass\nclass Mine:\n    path: object\n    w: float = SEGMENTS\n"
        "    def on_ack(self, ack): pass\n    def on_congestion(self, event): pass\n"
        "    def cwnd(self): return self.w\n\n"
        "class _Helper:\n    def on_ack(self, ack): pass\n"
    )
    before = list(sys.path)
    kinds = load(tmp_path / "mine.py")
    assert sys.path == before
    assert list(kinds) == ["mine"]
    records = cwndlab.run(scenario.with_({"flow[0].algorithm": "mine(w=3)"}, algorithms=kinds), seed=1)
    # While a loss is repaired the window is the transport's, and smaller.
    assert max(row["cwnd_bytes"] for row in records.rows("samples") if row["flow"] == 0) == 3 * 1448


def test_two_classes_of_one_name_are_reported(scenario: Scenario) -> None:
    other = type("Fixed", (Fixed,), {"cwnd": lambda self: 4})
    here = os.path.relpath(__file__)
    with pytest.raises(ScenarioError) as raised:
        Scenario(duration="1 s", dumbbell=scenario.dumbbell, flows=[Flow(Fixed, rtt="40 ms"), Flow(other, rtt="40 ms")])
    assert str(raised.value) == (
        f"{here}, class Fixed: 'fixed' is the name of another class, too ({location()}, class Fixed)\n"
        "  hint: give one of them another name"
    )
