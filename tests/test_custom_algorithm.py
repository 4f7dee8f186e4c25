"""Algorithms that are classes in Python: the same as built-in ones, and every way in which they fail."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab import Flow, Records, RunError, Scenario, ScenarioError, catalogue, custom
from cwndlab.custom import Ack, Congestion, Window, load
from cwndlab.custom import Path as NetworkPath
from cwndlab.errors import AlgorithmError
from cwndlab.simulate import run_many
from cwndlab.study.compare import compare

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_algorithm.py"
Cli = Callable[..., tuple[int, str, str]]


class PyReno:
    """RFC 5681 as the built-in ``reno+standard`` does it."""

    def __init__(self, path: NetworkPath) -> None:
        self.w = path.initial_cwnd
        self.ssthresh = path.initial_ssthresh

    def on_ack(self, ack: Ack) -> None:
        if ack.recovering or not ack.cwnd_limited:
            return
        n = ack.acked
        if self.w < self.ssthresh:
            room = self.ssthresh - self.w
            if n <= room:
                self.w += n
                return
            self.w = self.ssthresh
            n = int(n * ack.mss * (1 - room / n)) / ack.mss
        self.w += n / self.w

    def on_congestion(self, event: Congestion) -> None:
        if not event.repeated:
            self.ssthresh = max(event.in_flight / 2, 2)
        self.w = 1 if event.restart else self.ssthresh

    def on_window(self, window: Window) -> None:
        if window.change != "established":
            self.w = window.cwnd

    def cwnd(self) -> float:
        return self.w


class Fixed:
    """The least that a class must have."""

    def __init__(self, path: NetworkPath, segments: int = 8, halve: bool = False) -> None:
        self.segments = segments
        self.halve = halve

    def on_ack(self, ack: Ack) -> tuple[str, str] | None:
        return None

    def on_congestion(self, event: Congestion) -> None:
        pass

    def cwnd(self) -> float:
        return self.segments / 2 if self.halve else self.segments


def mine(scenario: Scenario, kind: type) -> Scenario:
    """The scenario with the class in its first flow."""
    return scenario.with_({"flow[0].algorithm": kind})


def tables(records: Records) -> dict[str, list[dict[str, Any]]]:
    """All that was recorded but who did it."""
    found = {
        name: records.rows(name) for name in ("links", "samples", "link_samples", "events", "transfers", "packets")
    }
    found["flows"] = [{**row, "algorithm": None} for row in records.rows("flows")]
    return found


LOSSY = Flow("reno+standard", rtt="30 ms", profile="rfc", workload=cwndlab.OnOff(on="1 s", off="1500 ms"))
SHORT = Flow("reno+standard", rtt="60 ms", workload=cwndlab.Transfers("150 kB", count=9, gap="90 ms"))


@pytest.mark.parametrize("recovery", ["rack", "sack", "newreno", "tahoe", "fack"])
@pytest.mark.parametrize("seed", [1, 2])
def test_reno_in_python_records_what_the_built_in_reno_records(recovery: str, seed: int) -> None:
    """Losses, reordering, timeouts, undos, idleness, transfers: the two see and answer the same."""
    wire = cwndlab.Link(
        rate="8 Mbps",
        delay="5 ms",
        queue=cwndlab.DropTail("20 packets"),
        loss=cwndlab.GilbertElliott(p=0.003, r=0.2, loss_bad=0.7),
        jitter=cwndlab.Jitter("20 ms", reorder=True),
    )
    flows = [LOSSY, SHORT]
    built_in = Scenario(duration="12 s", packets=True, dumbbell=cwndlab.Dumbbell(wire), flows=flows)
    built_in = built_in.with_({f"flow[{n}].algorithm": f"reno+standard/{recovery}" for n in range(2)})
    python = built_in.with_(algorithms={"py-reno": PyReno})
    python = python.with_({f"flow[{n}].algorithm": f"py-reno/{recovery}" for n in range(2)})
    first, second = cwndlab.run(built_in, seed=seed), cwndlab.run(python, seed=seed)
    assert tables(first) == tables(second)
    assert [row["algorithm"] for row in second.rows("flows")] == [f"py-reno/{recovery}"] * 2
    seen = {row["kind"] for row in second.rows("events")}
    assert {"recovery", "idle-restart"} <= seen
    if (recovery, seed) == ("rack", 1):
        assert "undo" in seen
    if (recovery, seed) == ("newreno", 1):
        assert sum(row["timeouts"] for row in second.rows("flows")) > 0


def test_the_same_class_gives_the_same_records_on_any_number_of_threads(scenario: Scenario) -> None:
    lossy = mine(scenario, PyReno).with_({"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.01)})
    alone = {seed: cwndlab.run(lossy, seed=seed).hash() for seed in range(4)}
    for workers in (1, 3):
        many = run_many([(lossy, seed) for seed in range(4)], workers=workers)
        assert {index: records.hash() for index, records in many} == alone


def test_a_class_is_handed_over_in_several_ways(scenario: Scenario) -> None:
    """By the flow, by the scenario, and with plain values by the verb: always the same question."""
    by_flow = cwndlab.Scenario(
        duration="1 s", dumbbell=scenario.dumbbell, flows=[Flow(PyReno, rtt="40 ms"), Flow("cubic", rtt="40 ms")]
    )
    assert by_flow.flows[0].algorithm == "py-reno"
    flows = [Flow("py-reno", rtt="40 ms"), Flow("cubic", rtt="40 ms")]
    algorithms = {"py-reno": PyReno}
    by_name = cwndlab.Scenario(duration="1 s", dumbbell=scenario.dumbbell, algorithms=algorithms, flows=flows)
    assert by_flow == by_name
    assert by_flow.classes == by_name.classes == algorithms
    document = by_flow.to_document()
    del document["algorithms"]
    hashes = {cwndlab.run(by_flow, seed=1).hash(), cwndlab.run(by_name, seed=1).hash()}
    hashes.add(cwndlab.run(document, seed=1, algorithms=algorithms).hash())
    hashes.add(cwndlab.run(pickle.loads(pickle.dumps(by_flow)), seed=1).hash())
    loaded = Scenario.from_toml(by_flow.to_toml(), algorithms=algorithms)
    hashes.add(cwndlab.run(loaded, seed=1).hash())
    assert len(hashes) == 1


def test_parameters_are_those_of_the_constructor(scenario: Scenario) -> None:
    path = scenario.with_(algorithms={"fixed": Fixed})
    windows = {}
    for text in ("fixed", "fixed(segments=6)", "fixed(halve=true, segments=6)/newreno"):
        records = cwndlab.run(path.with_({"flow[0].algorithm": text}), seed=1)
        windows[text] = max(row["cwnd_bytes"] for row in records.rows("samples") if row["flow"] == 0) // 1448
        assert records.rows("flows")[0]["algorithm"].startswith(text.partition("/")[0])
    assert list(windows.values()) == [8, 6, 3]
    with pytest.raises(ScenarioError) as told:
        path.with_({"flow[0].algorithm": "fixed(segment=6)"})
    assert str(told.value) == (
        "flow[0].algorithm: fixed has no parameter called 'segment'\n  hint: did you mean 'segments'?"
    )
    with pytest.raises(ScenarioError) as told:
        path.with_({"flow[0].algorithm": "fixed+hystart"})
    assert str(told.value) == (
        "flow[0].algorithm: 'fixed' is a whole algorithm with its own slow start and cannot be combined with "
        "'+hystart'\n"
        "  hint: write 'fixed'"
    )


def test_optional_methods_are_asked(scenario: Scenario) -> None:
    """By hand: 100 segments of 1448 bytes a second are 1.1584 Mbit/s."""
    heard: list[str] = []

    class Talkative(Fixed):
        def __init__(self, path: NetworkPath) -> None:
            super().__init__(path, 20)
            assert (path.mss, path.initial_cwnd, path.initial_ssthresh) == (1448, 10.0, math.inf)
            assert repr(path).startswith("Path(mss=1448, initial_cwnd=10.0, initial_ssthresh=inf, paced=False, seed=")

        def on_ack(self, ack: Ack) -> tuple[str, str] | None:
            assert ack.rtt is None or 0.0 < ack.min_rtt <= ack.rtt < ack.now
            assert ack.delivery_rate is None or 0 < ack.delivery_rate.rate < 1000
            first = "ack" not in heard
            heard.append("ack")
            return ("first-ack", "told") if first else None

        def on_timeout(self, event: Congestion) -> None:
            assert event.cause == "timeout"
            heard.append("timeout")

        def on_congestion(self, event: Congestion) -> None:
            assert event.cause == "loss"

        def on_window(self, window: Window) -> None:
            heard.append(window.change)

        def on_sent(self, sent: Any) -> None:
            assert sent.size == 1.0
            heard.append("sent")

        def pacing_rate(self) -> float:
            return 100

        def state(self) -> dict[str, float]:
            return {"one": 5, "other": math.nan}

        @property
        def ssthresh(self) -> int:
            return 5

    lossy = mine(scenario, Talkative).with_({"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.3)})
    records = cwndlab.run(lossy, seed=2)
    assert {"ack", "timeout", "established", "sent"} <= set(heard)
    rows = [row for row in records.rows("samples") if row["flow"] == 0]
    assert {row["pacing_rate_bps"] for row in rows[1:]} == {1_158_400}
    assert {row["ssthresh_bytes"] for row in rows} == {5 * 1448}
    assert [row["cause"] for row in records.rows("events") if row["kind"] == "first-ack"] == ["told"]


def test_an_ack_may_be_kept(scenario: Scenario) -> None:
    kept: list[Ack] = []

    class Keeper(Fixed):
        def on_ack(self, ack: Ack) -> None:
            kept.append(ack)

    cwndlab.run(mine(scenario, Keeper), seed=1)
    times = [ack.now for ack in kept]
    assert len(set(times)) > 50
    assert times == sorted(times)
    assert repr(kept[0]).startswith("Ack(now=")


def test_records_say_which_class_made_them(scenario: Scenario, tmp_path: Path) -> None:
    records = cwndlab.run(mine(scenario, PyReno), seed=1)
    (entry,) = records.document["algorithms"].values()
    assert (entry["class"], entry["file"], entry["parameters"]) == ("PyReno", os.path.relpath(__file__), {})
    assert records.notes[0] == (
        f"'py-reno' is the class PyReno of test_custom_algorithm.py (SHA-256 {entry['sha256'][:12]}…)"
    )
    records.save(tmp_path / "out")
    again = Records.read(tmp_path / "out")
    assert again.scenario == records.scenario
    cwndlab.report(again, tmp_path / "page.html")
    with pytest.raises(ScenarioError) as told:
        cwndlab.run(again.scenario, seed=1)
    assert str(told.value) == (
        f"algorithms.py-reno: the class PyReno of {entry['file']} is not available\n"
        "  hint: give its file by --algorithm-file, or the class by `algorithms=`"
    )
    assert cwndlab.run(again.scenario, seed=1, algorithms={"py-reno": PyReno}).hash() == records.hash()


def test_the_hash_of_a_scenario_follows_the_source(scenario: Scenario, tmp_path: Path) -> None:
    """Another folder means the same, another source does not, and a class that no flow names means nothing."""
    text = EXAMPLE.read_text()
    places = [tmp_path / name / "mine.py" for name in ("a", "b", "c")]
    for place, source in zip(places, (text, text, text.replace("0.9", "0.8")), strict=True):
        place.parent.mkdir()
        place.write_text(source)
    hashes = [scenario.with_({"flow[0].algorithm": "delay-aimd"}, algorithms=load(place)).hash for place in places]
    assert hashes[0] == hashes[1] != hashes[2]
    assert scenario.with_(algorithms=load(places[0])) == scenario


def test_a_class_without_a_file_has_a_hash_too(scenario: Scenario) -> None:
    text = "class Mine:\n def __init__(self, path): pass\n def on_ack(self, ack): pass\n"
    text += " def on_congestion(self, event): pass\n def cwnd(self): return 5\n"
    spaces: list[dict[str, Any]] = [{"__name__": "nowhere"} for _ in range(3)]
    for space, source in zip(spaces, (text, text, text.replace("5", "6")), strict=True):
        exec(source, space)
    hashes = [mine(scenario, space["Mine"]).hash for space in spaces]
    assert hashes[0] == hashes[1] != hashes[2]


def test_compare_takes_classes(scenario: Scenario, tmp_path: Path) -> None:
    names = ["reno", "py-reno", "delay-aimd(g=2)"]
    kinds = load(EXAMPLE)
    found = compare(scenario.with_(algorithms=kinds), ["reno", PyReno, names[2]], repetitions=2, out=tmp_path / "out")
    assert found.algorithms == names
    assert len(found.rows) == 6
    assert found.values("reno", "goodput_bps") == found.values("py-reno", "goodput_bps")
    again = cwndlab.Result.read(tmp_path / "out")
    assert again.to_dict()["classes"].keys() == {"py-reno", "delay-aimd"}
    cwndlab.report(again, tmp_path / "page.html")
    found = compare(scenario, {"one": PyReno, "two": PyReno}, repetitions=2)
    assert found.values("one", "goodput_bps") == found.values("two", "goodput_bps")


def test_a_comparison_of_another_source_is_another_comparison(scenario: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    for text in (EXAMPLE.read_text(), EXAMPLE.read_text().replace("0.9", "0.8")):
        file.write_text(text)
        kinds = load(file)
        if text == EXAMPLE.read_text():
            compare(scenario, kinds, repetitions=1, out=tmp_path / "out")
            compare(scenario, kinds, repetitions=1, out=tmp_path / "out")
    with pytest.raises(ScenarioError, match="holds another comparison"):
        compare(scenario, kinds, repetitions=1, out=tmp_path / "out")


@pytest.fixture
def registry() -> Iterator[None]:
    """Removes what a test registers."""
    before = set(custom.registered())
    yield
    for name in custom.registered().keys() - before:
        custom.unregister(name)


@pytest.mark.usefixtures("registry")
def test_a_registered_class_is_named_as_a_built_in_one(scenario: Scenario) -> None:
    """It gives the run of the class that is handed over, in every way in which an algorithm is named."""
    given = scenario.with_({"flow[0].algorithm": "py-reno/sack"}, algorithms={"py-reno": PyReno})
    assert cwndlab.register(PyReno) is PyReno
    cwndlab.register(Fixed, "eight")
    named = scenario.with_({"flow[0].algorithm": "py-reno/sack"})
    assert named.to_document() == given.to_document()
    assert named == given == Scenario.from_toml(named.to_toml()) == pickle.loads(pickle.dumps(named))
    assert named.classes == {"py-reno": PyReno}
    expected = cwndlab.run(given, seed=1).hash()
    flows = [Flow("py-reno/sack", rtt=flow.rtt) for flow in scenario.flows[:1]]
    built = Scenario(duration="1 s", dumbbell=scenario.dumbbell, flows=flows)
    assert built.classes == {"py-reno": PyReno}
    document = scenario.to_document()
    document["flow"][0]["algorithm"] = "py-reno/sack"
    assert {cwndlab.run(one, seed=1).hash() for one in (named, document)} == {expected}
    assert {records.hash() for _, records in run_many([(named, 1), (document, 1)])} == {expected}
    compared = compare(scenario, ["reno", "py-reno"], repetitions=2)
    assert compared.values("reno", "goodput_bps") == compared.values("py-reno", "goodput_bps")
    assert cwndlab.check("eight(segments=4)", quick=True).rules
    swept = cwndlab.sweep(scenario, algorithms=["reno", "py-reno"], seeds=[1])
    assert swept.runs["goodput_bps"][0] == swept.runs["goodput_bps"][1]


@pytest.mark.usefixtures("registry")
def test_the_catalogue_lists_registered_classes() -> None:
    cwndlab.register(Fixed, "eight")
    entry = cwndlab.algorithms()[-1]
    assert (entry.name, entry.title, entry.kind, entry.summary) == (
        "eight",
        "Fixed",
        "whole",
        "The least that a class must have.",
    )
    assert [str(one) for one in entry.parameters] == ["segments=8", "halve=false"]
    assert [one.domain for one in entry.parameters] == ["any number", "false | true"]
    assert cwndlab.explain("eight").startswith("eight — Fixed (whole)\n")
    assert catalogue.canonical("eight(segments=9)") == "eight(segments=9)"
    assert entry in cwndlab.algorithms("whole")
    custom.unregister("eight")
    assert entry not in cwndlab.algorithms()
    with pytest.raises(ScenarioError, match="no algorithm is called 'eight'"):
        catalogue.canonical("eight")


@pytest.mark.usefixtures("registry")
def test_a_name_is_registered_once_and_is_not_a_built_in_one() -> None:
    cwndlab.register(Fixed, "mine")
    place = os.path.relpath(__file__)
    with pytest.raises(ScenarioError) as raised:
        cwndlab.register(PyReno, "mine")
    assert str(raised.value) == (
        f"{place}, class PyReno: 'mine' is registered already ({place}, class Fixed)\n"
        "  hint: give another name, or remove it by cwndlab.custom.unregister('mine')"
    )
    with pytest.raises(ScenarioError) as raised:
        cwndlab.register(PyReno, "cubic")
    assert str(raised.value) == (
        f"{place}, class PyReno: 'cubic' is an algorithm of the catalogue\n  hint: give the class another name"
    )
    with pytest.raises(ScenarioError, match="has no method 'on_ack'"):
        cwndlab.register(int, "int")  # type: ignore[type-var]
    with pytest.raises(ScenarioError) as raised:
        custom.unregister("other")
    assert str(raised.value) == "name: no class is registered as 'other'\n  hint: registered: mine"


@pytest.mark.usefixtures("registry")
def test_a_registered_class_leaves_other_scenarios_as_they_are(scenario: Scenario) -> None:
    """Those that do not name it, and those that describe another class of its name."""
    plain = scenario.to_json()
    other = mine(scenario, PyReno).to_json().replace("PyReno", "Other")
    theirs = json.loads(other)
    theirs["algorithms"]["py-reno"]["sha256"] = "0" * 64
    cwndlab.register(PyReno)
    assert scenario.with_().to_json() == plain
    assert scenario.with_().classes == {}
    assert Scenario.from_json(json.dumps(theirs)).classes == {}
    with pytest.raises(ScenarioError, match=r"the class Other of .* is not available"):
        cwndlab.run(theirs, seed=1)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    "change",
    [{"flow": 5}, {"flow": ["reno"]}, {"flow": [{"algorithm": 5}]}, {"algorithms": 5}, {"algorithms": {"py-reno": 5}}],
)
def test_faults_of_a_document_are_the_same_with_registered_classes(scenario: Scenario, change: dict[str, Any]) -> None:
    document = scenario.to_document() | change
    faults = []
    for name in (None, "py-reno"):
        if name is not None:
            cwndlab.register(PyReno, name)
        for use in (lambda: cwndlab.run(document, seed=1), lambda: Scenario.from_json(json.dumps(document))):
            with pytest.raises(ScenarioError) as raised:
                use()
            faults.append(raised.value.faults)
    assert faults[0] == faults[2]
    assert faults[1] == faults[3]


class Typed:
    """Follows the protocol: mypy checks the annotated uses below (``make check``)."""

    def __init__(self, path: NetworkPath, gain: float = 1.0) -> None:
        self.window = path.initial_cwnd
        self.gain = gain

    def on_ack(self, ack: Ack) -> tuple[str, str] | None:
        self.window += self.gain * ack.acked / self.window
        return None

    def on_congestion(self, event: Congestion) -> None:
        self.window = 1.0 if event.restart else max(self.window / 2, 2.0)

    def cwnd(self) -> float:
        return self.window


class Derived(cwndlab.CongestionControl):
    """Inherits from the protocol, and lacks a method."""

    def on_ack(self, ack: Ack) -> None: ...

    def on_congestion(self, event: Congestion) -> None: ...


class Complete(Derived):
    def __init__(self, path: NetworkPath) -> None: ...

    def cwnd(self) -> float:
        return 8.0


def test_a_class_follows_the_protocol(scenario: Scenario) -> None:
    typed: type[cwndlab.CongestionControl] = Typed
    incomplete: type[cwndlab.CongestionControl] = str  # type: ignore[assignment]
    assert issubclass(typed, cwndlab.CongestionControl)
    assert not issubclass(incomplete, cwndlab.CongestionControl)
    assert cwndlab.run(mine(scenario, typed), seed=1).flows["algorithm"][0] == "typed/rack"
    assert cwndlab.run(mine(scenario, Complete), seed=1).flows["algorithm"][0] == "complete/rack"
    with pytest.raises(ScenarioError, match=r"class Derived: has no method 'cwnd'"):
        mine(scenario, Derived)


# What goes wrong while a run runs: status 1, with the algorithm, what happened, and when.

BODY = """
class Mine:
    def __init__(self, path):
        self.acks = 0

    def on_ack(self, ack):
        self.acks += 1
        {on_ack}

    def on_congestion(self, event):
        pass

    def cwnd(self):
        return {cwnd}
"""


def written(folder: Path, *, on_ack: str = "pass", cwnd: str = "10") -> Path:
    file = folder / "mine.py"
    file.write_text(BODY.format(on_ack=on_ack, cwnd=cwnd))
    return file


def test_an_exception_ends_the_run_with_its_traceback_and_time(scenario: Scenario, cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, on_ack="1 / (50 - self.acks)")
    kinds = load(file)
    with pytest.raises(AlgorithmError) as told:
        cwndlab.run(mine(scenario, kinds["mine"]), seed=3)
    text = str(told.value)
    assert text.startswith("mine: on_ack raised ZeroDivisionError: division by zero, at 0.")
    assert text.endswith(" s of the run with seed 3")
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    assert isinstance(told.value, RunError)
    assert told.value.exit_status == 1
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
    with pytest.raises(AlgorithmError) as told:
        cwndlab.run(mine(scenario, load(written(tmp_path, cwnd=cwnd))["mine"]), seed=1)
    (fault,) = told.value.faults
    assert fault.where == "mine"
    assert fault.what.startswith(what)
    assert " after on_ack, at 0.0" in fault.what
    assert fault.what.endswith(" s of the run with seed 1")
    assert fault.hint.endswith(hint)
    assert told.value.__cause__ is None


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

    said = {}
    lossy = scenario.with_({"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.05)})
    for which in ("on_congestion", "on_window", "pacing_rate", "ssthresh", "ssthresh method", ""):
        Broken.which = which
        with pytest.raises(AlgorithmError) as told:
            cwndlab.run(mine(lossy, Broken if which else Stillborn), seed=1)
        said[which] = told.value.faults[0].what.partition(", at ")[0]
    assert said == {
        "on_congestion": "on_congestion raised KeyError: 'kept'",
        "on_window": "on_window raised RuntimeError",
        "pacing_rate": "pacing_rate() is -3 after __init__",
        "ssthresh": "ssthresh is -1 after __init__",
        "ssthresh method": "ssthresh is <built-in function len> after __init__",
        "": "__init__ raised ValueError: no",
    }


def test_a_failure_among_many_runs_is_told_and_the_rest_stopped(scenario: Scenario, tmp_path: Path) -> None:
    broken = mine(scenario, load(written(tmp_path, on_ack="raise OSError('gone')"))["mine"])
    endless = mine(scenario, Fixed).with_(duration="100000 s")
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
    written(tmp_path, on_ack=on_ack)
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


# What is wrong before anything runs: status 2, with where, what, and what would do.


def test_what_is_wrong_with_a_class_is_told_at_once(scenario: Scenario) -> None:
    class Half:
        def __init__(self, path: NetworkPath, a: float) -> None:
            self.window = a

        def on_ack(self, ack: Ack) -> None:
            pass

        cwnd = 10

    with pytest.raises(ScenarioError) as told:
        mine(scenario, Half)
    where = f"{os.path.relpath(__file__)}, class {Half.__qualname__}"
    page = "docs/add-an-algorithm.md shows a complete class"
    assert str(told.value) == (
        f"{where}: has no method 'on_congestion'\n  hint: write `def on_congestion(self, event):`; {page}\n"
        f"{where}: has no method 'cwnd'\n  hint: write `def cwnd(self):`; {page}\n"
        f"{where}: its constructor's parameter 'a' has no default\n"
        "  hint: write `a=1.0`, or whatever it shall be unless a flow says `name(a=…)`"
    )
    assert told.value.exit_status == 2


def test_names_and_objects_that_cannot_be_are_told(scenario: Scenario) -> None:
    class Nothing:
        on_ack = on_congestion = cwnd = lambda self: None

    fixed = f"{os.path.relpath(__file__)}, class Fixed"
    given: list[tuple[str, Any, str]] = [
        (
            "Mine Own",
            Fixed,
            f"{fixed}: 'Mine Own' cannot be the name of an algorithm\n"
            "  hint: a name has lower-case letters, digits and '-', and begins with a letter",
        ),
        ("hstcp", Fixed, f"{fixed}: 'hstcp' is an algorithm of the catalogue\n  hint: give the class another name"),
        ("mine", 3, "algorithm 'mine': 3 is no class\n  hint: hand over the class itself, not an object of it"),
        (
            "mine",
            Nothing,
            f"{os.path.relpath(__file__)}, class {Nothing.__qualname__}: its constructor does not take "
            "the path\n  hint: write `def __init__(self, path):`; docs/add-an-algorithm.md shows a complete class",
        ),
    ]
    for name, kind, text in given:
        with pytest.raises(ScenarioError) as told:
            scenario.with_(algorithms={name: kind})
        assert str(told.value) == text


def test_a_document_cannot_take_a_name_of_the_catalogue(scenario: Scenario) -> None:
    document = {**scenario.to_document(), "algorithms": {"reno": {"class": "Mine"}}}
    with pytest.raises(ScenarioError) as told:
        cwndlab.run(document, seed=1)
    assert str(told.value) == (
        "algorithms.reno: 'reno' is an algorithm of the catalogue\n  hint: give the class another name"
    )


def test_a_file_that_holds_no_algorithm_is_told(cli: Cli, tmp_path: Path, path: Path) -> None:
    def told(text: str | bytes | None) -> str:
        file = tmp_path / "mine.py"
        if text is not None:
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        status, out, err = cli("run", path, "--seed", 1, "--algorithm-file", file)
        assert (status, out) == (2, "")
        return err.replace(str(file), "mine.py")

    hint = "  hint: `python mine.py` shows more\n"
    assert told(None) == "mine.py: there is no such file\n  hint: name a file of Python with a class in it\n"
    assert told("x = 1\nclass Mine:\n  def") == (
        f"mine.py, line 3: cannot be imported: SyntaxError: invalid syntax (mine.py, line 3)\n{hint}"
    )
    assert told("import os\nimport nowhere_at_all\n") == (
        f"mine.py, line 2: cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'\n{hint}"
    )
    assert told("import sys\n\nsys.exit(7)\n") == f"mine.py, line 3: cannot be imported: SystemExit: 7\n{hint}"
    assert told(b"\xff\xfe") == (
        "mine.py: is no UTF-8 text (byte 0)\n  hint: name a file of Python with a class in it\n"
    )
    assert told("x = 1\n") == (
        "mine.py: holds no class with a method 'on_ack'\n  hint: docs/add-an-algorithm.md shows a complete class\n"
    )
    assert told("class Mine:\n  def on_ack(self, ack): pass\n  def __init__(self, path): pass\n").startswith(
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


def test_two_classes_of_one_name_are_told(scenario: Scenario) -> None:
    other = type("Fixed", (Fixed,), {})
    place = os.path.relpath(__file__)
    with pytest.raises(ScenarioError) as told:
        Scenario(duration="1 s", dumbbell=scenario.dumbbell, flows=[Flow(Fixed, rtt="40 ms"), Flow(other, rtt="40 ms")])
    assert str(told.value) == (
        f"{place}, class Fixed: 'fixed' is the name of another class, too ({place}, class Fixed)\n"
        "  hint: give one of them another name"
    )
