"""Files of classes on the command line: the same syntax in every command, and the same results as the built-in."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from custom_classes import PyReno
from cwndlab.custom import selected, selected_one
from cwndlab.errors import ScenarioError
from cwndlab.validation.audit import audit

Cli = Callable[..., tuple[int, str, str]]

_TUNING = """
schema_version = 1
duration = "2 s"

[dumbbell]
bottleneck = { rate = "10 Mbps", delay = "5 ms" }

[[flow]]
algorithm = "reno"
rtt = "40 ms"

[tune]
algorithm = "py-reno"
maximise = "goodput_bps"
trials = 2

[tune.parameters]
"py-reno.least" = { low = 2, high = 8 }

[tune.train]
seeds = [1]

[tune.test]
seeds = [2]
"""

_SWEEP = """
schema_version = 1
duration = "2 s"

[dumbbell]
bottleneck = { rate = "10 Mbps", delay = "5 ms" }

[[flow]]
algorithm = "py-reno"
rtt = "40 ms"

[sweep]
seeds = [1]
metrics = ["goodput_bps"]

[sweep.product]
"flow[0].rtt" = ["20 ms", "40 ms"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with Reno, as the built-in ``reno+standard`` does it, and with a parameter."""
    source = inspect.getsource(PyReno)
    source = source.replace("path: NetworkPath)", "path: NetworkPath, least: float = 2.0)")
    source = source.replace("/ 2, 2)", "/ 2, self.least)")
    source = source.replace("self.w = path", "self.least = least\n        self.w = path")
    assert source.count("least") == 4
    path = tmp_path / "py_reno.py"
    path.write_text(f"from __future__ import annotations\n\n{source}")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a Reno sender over a queue of one bandwidth-delay product."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="5 ms", queue=cwndlab.DropTail("1 bdp")))
    flows = [cwndlab.Flow("reno+standard", rtt="40 ms")]
    scenario = cwndlab.Scenario(duration="5 s", packets=True, sample_interval="10 ms", dumbbell=path, flows=flows)
    return cwndlab.export.export(cwndlab.run(scenario, seed=1), "qlog", tmp_path)[0]


#: Commands that name algorithms, with ``@`` in the algorithm's place.
COMMANDS = {
    "compare": ["compare", "single", "--algorithms", "@", "--set", "duration=2s", "--repetitions", "2"],
    "suite": ["suite", "rfc5681", "--case", "initial-window", "--algorithm", "@"],
    "check": ["check", "@", "--quick", "--format", "csv"],
    "conform": ["conform", "@", "--replay"],
    "audit": ["audit", "@log", "--as", "@"],
    "debug": ["debug", "single", "--set", "duration=2s", "--against", "@"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_in_place_of_a_name_is_the_class_of_the_file(name: str, cli: Cli, file: Path, log: Path) -> None:
    places = {"@log": log}

    def call(algorithm: object, *more: object) -> tuple[int, str]:
        words = [algorithm if word == "@" else places.get(word, word) for word in COMMANDS[name]]
        status, out, err = cli(*words, *more)
        assert status == 0, err
        # The cost of an ACK, which `check` measures, is another each time.
        return status, "\n".join(line for line in (out + err).splitlines() if "cost" not in line)

    assert call(file) == call("py-reno", "--algorithm-file", file)


def test_a_sweep_and_a_search_take_files_of_classes(cli: Cli, file: Path, tmp_path: Path) -> None:
    for name, text in (("sweep", _SWEEP), ("tune", _TUNING)):
        place = tmp_path / f"{name}.toml"
        place.write_text(text)
        words = (name, place, "--out", tmp_path / f"{name}.out")
        status, _, err = cli(*words)
        assert status == 2, err
        assert "py-reno" in err
        status, out, err = cli(*words, "--algorithm-file", file)
        assert status == 0, err
        assert out


def test_a_matrix_takes_files_of_classes(cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix of one algorithm has 45 runs of a minute; here it only says what it would run."""
    taken: list[Any] = []

    def instead(names: list[str], *, classes: dict[str, type], **_: Any) -> list[Any]:
        taken.append((names, list(classes)))
        raise ScenarioError(("stopped", "by the test", ""))

    monkeypatch.setattr(cwndlab.study.matrix, "matrix", instead)
    cli("matrix", "--algorithms", f"cubic,{file}")
    cli("matrix", "--algorithms", "cubic,py-reno", "--algorithm-file", file)
    cli("matrix", "--algorithm-file", file)
    assert taken == [(["cubic", "py-reno"], ["py-reno"])] * 2 + [(["py-reno"], ["py-reno"])]


def test_a_file_of_several_classes_stands_for_all_of_them_but_not_for_one(tmp_path: Path) -> None:
    two = tmp_path / "two.py"
    body = "    def __init__(self, path): ...\n    def on_ack(self, ack): ...\n"
    body += "    def on_congestion(self, event): ...\n    def cwnd(self): return 8\n"
    two.write_text(f"class First:\n{body}\nclass Second:\n{body}")
    names, classes = selected(["cubic(beta=0.5)", str(two), "reno/sack"])
    assert names == ["cubic(beta=0.5)", "first", "second", "reno/sack"]
    assert list(classes) == ["first", "second"]
    with pytest.raises(ScenarioError, match="has 2 algorithms: first, second"):
        selected_one(str(two))
    assert selected_one("second", [two])[0] == "second"


#: The methods of a class with a fixed window.
_BODY = "    def on_ack(self, ack): ...\n    def on_congestion(self, event): ...\n    def cwnd(self): return 8\n"


def test_a_file_with_two_names_is_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(f"class Mine:\n    def __init__(self, path): ...\n{_BODY}")
    monkeypatch.chdir(tmp_path)
    names, classes = selected(["./mine.py"], ["mine.py"])
    assert (names, list(classes)) == (["mine"], ["mine"])


def test_a_file_is_run_as_python_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Annotations are values unless the file says otherwise, and it may change the folder and the path of modules."""
    (tmp_path / "other").mkdir()
    text = "import os, sys\nos.chdir('other')\nsys.path.pop(0)\n"
    text += f"class Mine:\n    x: int = 3\n    def __init__(self, path): ...\n{_BODY}"
    (tmp_path / "mine.py").write_text(f"{text}assert Mine.__annotations__['x'] is int\n")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert list(cwndlab.custom.load("mine.py")) == ["mine"]
    assert sys.path == before


@pytest.mark.parametrize("value", ["math.inf", "math.nan"])
def test_a_default_that_is_not_finite_stays_that_of_the_class(tmp_path: Path, value: str) -> None:
    """As a default that is a text does; docs/add-an-algorithm.md: an infinite threshold is no limit."""
    file = tmp_path / "mine.py"
    file.write_text(f"import math\nclass Mine:\n    def __init__(self, path, ssthresh={value}, beta=0.5): ...\n{_BODY}")
    classes = cwndlab.custom.load(file)
    base = cwndlab.presets.load("single").with_(duration="1 s", algorithms=classes)
    one = base.with_({"flow[0].algorithm": "mine(beta=0.7)"})
    assert one.document["algorithms"]["mine"]["parameters"] == {"beta": 0.5}
    assert cwndlab.run(one, seed=1).flows["delivered_bytes"][0] > 0
    with pytest.raises(ScenarioError, match="mine has no parameter called 'ssthresh'"):
        base.with_({"flow[0].algorithm": "mine(ssthresh=2)"})


def test_a_missing_file_is_named_by_every_command(cli: Cli, log: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.py"
    for words in COMMANDS.values():
        places = {"@": missing, "@log": log}
        status, _, err = cli(*(places.get(word, word) for word in words))
        assert (status, err.splitlines()[0]) == (2, f"{missing}: there is no such file")


def test_an_audit_by_a_class_finds_what_the_built_in_finds(log: Path) -> None:
    """Reno in Python computes what reno+standard does; a wrong one departs where the built-in with that β does."""
    same = audit(log, PyReno)
    assert (same.share, same.departures) == (1.0, [])

    class Gentle(PyReno):
        def on_congestion(self, event: Any) -> None:
            if not event.repeated:
                self.ssthresh = max(event.in_flight * 0.9, 2)
            self.w = 1 if event.restart else self.ssthresh

    mine, builtin = audit(log, Gentle), audit(log, "reno(beta=0.9)+standard")
    assert builtin.departures
    assert mine.series == builtin.series
    assert (mine.decisive, mine.explained) == (builtin.decisive, builtin.explained)

    def seen(one: Any) -> tuple[Any, ...]:
        return one.kind, one.time_ms, one.since_ms, one.logged_bytes, one.reference_bytes, one.acks

    assert [seen(one) for one in mine.departures] == [seen(one) for one in builtin.departures]


def test_an_audit_shows_the_failure_of_a_class(log: Path) -> None:
    class Broken(PyReno):
        def on_congestion(self, event: Any) -> None:
            raise ZeroDivisionError("on purpose")

    with pytest.raises(cwndlab.errors.AlgorithmError, match=r"on_congestion raised .*on purpose, at .* s of the log"):
        audit(log, Broken)


def test_a_suite_of_a_class_has_the_verdicts_of_the_built_in() -> None:
    verdicts = [
        [(one.case.name, one.path.name, one.verdict) for one in cwndlab.suites.run("rfc5681", algorithm).outcomes]
        for algorithm in (PyReno, "reno")
    ]
    assert verdicts[0] == verdicts[1]
