"""Algorithms that are classes in Python: the same results as built-in ones, parameters, hashes, comparisons."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from custom_classes import EXAMPLE, Fixed, PyReno, in_first_flow, location
from cwndlab import Flow, Records, Scenario, ScenarioError
from cwndlab.custom import Ack, Congestion, Window, load
from cwndlab.custom import Path as NetworkPath
from cwndlab.simulate import run_many
from cwndlab.study.compare import compare


def tables(records: Records) -> dict[str, list[dict[str, Any]]]:
    """All tables, without the name of the algorithm."""
    rows = {name: records.rows(name) for name in ("links", "samples", "link_samples", "events", "transfers", "packets")}
    rows["flows"] = [{**row, "algorithm": None} for row in records.rows("flows")]
    return rows


LOSSY = Flow("reno+standard", rtt="30 ms", profile="rfc", workload=cwndlab.OnOff(on="1 s", off="1500 ms"))
SHORT = Flow("reno+standard", rtt="60 ms", workload=cwndlab.Transfers("150 kB", count=9, gap="90 ms"))


@pytest.mark.parametrize("recovery", ["rack", "sack", "newreno", "tahoe", "fack"])
@pytest.mark.parametrize("seed", [1, 2])
def test_reno_in_python_records_what_the_built_in_reno_records(recovery: str, seed: int) -> None:
    """With losses, reordering, timeouts, undos, idle periods and transfers."""
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
    lossy = in_first_flow(scenario, PyReno).with_({"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.01)})
    alone = {seed: cwndlab.run(lossy, seed=seed).hash() for seed in range(4)}
    for workers in (1, 3):
        many = run_many([(lossy, seed) for seed in range(4)], workers=workers)
        assert {index: records.hash() for index, records in many} == alone


def test_a_class_may_be_passed_in_several_ways(scenario: Scenario) -> None:
    """With the flow, with the scenario, or with the call that runs a document: always the same run."""
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
    with pytest.raises(ScenarioError) as raised:
        path.with_({"flow[0].algorithm": "fixed(segment=6)"})
    assert str(raised.value) == (
        "flow[0].algorithm: fixed has no parameter called 'segment'\n  hint: did you mean 'segments'?"
    )
    with pytest.raises(ScenarioError) as raised:
        path.with_({"flow[0].algorithm": "fixed+hystart"})
    assert str(raised.value) == (
        "flow[0].algorithm: 'fixed' is a whole algorithm with its own slow start and cannot be combined with "
        "'+hystart'\n"
        "  hint: write 'fixed'"
    )


def test_optional_methods_are_called(scenario: Scenario) -> None:
    """By hand: 100 segments of 1448 bytes a second are 1.1584 Mbit/s."""
    calls: list[str] = []

    class AllMethods(Fixed):
        def __init__(self, path: NetworkPath) -> None:
            super().__init__(path, 20)
            assert (path.mss, path.initial_cwnd, path.initial_ssthresh) == (1448, 10.0, math.inf)
            assert repr(path).startswith("Path(mss=1448, initial_cwnd=10.0, initial_ssthresh=inf, paced=False, seed=")

        def on_ack(self, ack: Ack) -> tuple[str, str] | None:
            assert ack.rtt is None or 0.0 < ack.min_rtt <= ack.rtt < ack.now
            assert ack.delivery_rate is None or 0 < ack.delivery_rate.rate < 1000
            first = "ack" not in calls
            calls.append("ack")
            return ("first-ack", "returned") if first else None

        def on_timeout(self, event: Congestion) -> None:
            assert event.cause == "timeout"
            calls.append("timeout")

        def on_congestion(self, event: Congestion) -> None:
            assert event.cause == "loss"

        def on_window(self, window: Window) -> None:
            calls.append(window.change)

        def on_sent(self, sent: Any) -> None:
            assert sent.size == 1.0
            calls.append("sent")

        def pacing_rate(self) -> float:
            return 100

        def state(self) -> dict[str, float]:
            return {"one": 5, "other": math.nan}

        @property
        def ssthresh(self) -> int:
            return 5

    lossy = in_first_flow(scenario, AllMethods).with_({"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.3)})
    records = cwndlab.run(lossy, seed=2)
    assert {"ack", "timeout", "established", "sent"} <= set(calls)
    rows = [row for row in records.rows("samples") if row["flow"] == 0]
    assert {row["pacing_rate_bps"] for row in rows[1:]} == {1_158_400}
    assert {row["ssthresh_bytes"] for row in rows} == {5 * 1448}
    assert [row["cause"] for row in records.rows("events") if row["kind"] == "first-ack"] == ["returned"]


class Modelled(Fixed):
    """A window that nothing changes, of an algorithm that has a model of the path."""

    model_based = True


def test_a_class_with_a_model_keeps_its_window_in_recovery(scenario: Scenario) -> None:
    """docs/add-an-algorithm.md: the transport sets the window during recovery, unless the algorithm has a model."""
    lossy = {"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.01)}

    def windows(kind: type) -> set[int]:
        records = cwndlab.run(in_first_flow(scenario, kind).with_(lossy), seed=1)
        assert "recovery" in {row["kind"] for row in records.rows("events")}
        return set(records.samples.filter(records.samples["flow"] == 0)["cwnd_bytes"].drop_nulls())

    assert len(windows(Modelled)) == 1
    assert len(windows(Fixed)) > 1


def test_an_ack_may_be_kept(scenario: Scenario) -> None:
    kept: list[Ack] = []

    class Keeper(Fixed):
        def on_ack(self, ack: Ack) -> None:
            kept.append(ack)

    cwndlab.run(in_first_flow(scenario, Keeper), seed=1)
    times = [ack.now for ack in kept]
    assert len(set(times)) > 50
    assert times == sorted(times)
    assert repr(kept[0]).startswith("Ack(now=")


def test_records_name_the_class_that_made_them(scenario: Scenario, tmp_path: Path) -> None:
    records = cwndlab.run(in_first_flow(scenario, PyReno), seed=1)
    (entry,) = records.document["algorithms"].values()
    assert (entry["class"], entry["file"], entry["parameters"]) == ("PyReno", location(), {})
    assert records.notes[0] == (f"'py-reno' is the class PyReno of custom_classes.py (SHA-256 {entry['sha256'][:12]}…)")
    records.save(tmp_path / "out")
    again = Records.read(tmp_path / "out")
    assert again.scenario == records.scenario
    cwndlab.report(again, tmp_path / "page.html")
    with pytest.raises(ScenarioError) as raised:
        cwndlab.run(again.scenario, seed=1)
    assert str(raised.value) == (
        f"algorithms.py-reno: the class PyReno of {entry['file']} is not available\n"
        "  hint: give its file by --algorithm-file, or the class by `algorithms=`"
    )
    assert cwndlab.run(again.scenario, seed=1, algorithms={"py-reno": PyReno}).hash() == records.hash()


def test_the_hash_of_a_scenario_depends_on_the_source(scenario: Scenario, tmp_path: Path) -> None:
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
    hashes = [in_first_flow(scenario, space["Mine"]).hash for space in spaces]
    assert hashes[0] == hashes[1] != hashes[2]


def test_compare_takes_classes(scenario: Scenario, tmp_path: Path) -> None:
    names = ["reno", "py-reno", "delay-aimd(g=2)"]
    kinds = load(EXAMPLE)
    result = compare(scenario.with_(algorithms=kinds), ["reno", PyReno, names[2]], seeds=2, out=tmp_path / "out")
    assert result.labels == names
    assert len(result.rows) == 6
    assert result.values("reno", "goodput_bps") == result.values("py-reno", "goodput_bps")
    again = cwndlab.Result.read(tmp_path / "out")
    assert again.to_dict()["classes"].keys() == {"py-reno", "delay-aimd"}
    cwndlab.report(again, tmp_path / "page.html")
    result = compare(scenario, {"one": PyReno, "two": PyReno}, seeds=2)
    assert result.values("one", "goodput_bps") == result.values("two", "goodput_bps")


def test_a_comparison_of_another_source_is_another_comparison(scenario: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    for text in (EXAMPLE.read_text(), EXAMPLE.read_text().replace("0.9", "0.8")):
        file.write_text(text)
        kinds = load(file)
        if text == EXAMPLE.read_text():
            compare(scenario, kinds, seeds=1, out=tmp_path / "out")
            compare(scenario, kinds, seeds=1, out=tmp_path / "out")
    with pytest.raises(ScenarioError, match="holds another comparison"):
        compare(scenario, kinds, seeds=1, out=tmp_path / "out")


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
    assert cwndlab.run(in_first_flow(scenario, typed), seed=1).flows["algorithm"][0] == "typed/rack"
    assert cwndlab.run(in_first_flow(scenario, Complete), seed=1).flows["algorithm"][0] == "complete/rack"
    with pytest.raises(ScenarioError, match=r"class Derived: has no method 'cwnd'"):
        in_first_flow(scenario, Derived)
