"""The debugger: moments of a run, divergences, places in the sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.scenario.presets import load
from cwndlab.validation.debugger import divergence, first_difference, look

Cli = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[1]


def overflowing(algorithm: str = "cubic") -> cwndlab.Scenario:
    """A flow that fills a queue of one bandwidth-delay product."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    return cwndlab.Scenario(duration="6 s", dumbbell=path, flows=[cwndlab.Flow(algorithm, rtt="40 ms")])


def first_loss(scenario: cwndlab.Scenario) -> int:
    """Time of the first congestion event in the records, ns."""
    events = cwndlab.run(scenario, seed=1).rows("events")
    return int(next(row["time_ns"] for row in events if row["kind"] == "recovery"))


def test_a_loss_is_shown_with_the_state_around_it() -> None:
    """RFC 9438, section 4.6: ssthresh = β · FlightSize, β = 0.7; section 4.7: W_max is the window before."""
    scenario = overflowing()
    loss_ns = first_loss(scenario)
    moment = look(scenario, at_s=loss_ns / 1e9).moment
    assert moment is not None
    assert (moment.time_ns, moment.event) == (loss_ns, "congestion (loss)")
    flight, mss = moment.fields["in_flight_bytes"], moment.fields["mss_bytes"]
    assert moment.after.cwnd_bytes == moment.after.ssthresh_bytes == pytest.approx(0.7 * flight, abs=1)
    assert moment.after.values["w_max_segments"] == pytest.approx(moment.before.cwnd_bytes / mss, abs=1e-3)
    place = moment.places[0]
    assert (place.entry, place.method) == ("cubic", "on_congestion")
    assert "fn on_congestion" in (ROOT / place.file).read_text().splitlines()[place.line - 1]


def test_neighbours_are_in_order_and_agree_with_the_moment() -> None:
    view = look(overflowing(), at_s=1.0, context=5)
    assert view.moment is not None
    numbers = [*(one.number for one in view.earlier), view.moment.number, *(one.number for one in view.later)]
    assert numbers == list(range(numbers[0], numbers[0] + 11))
    assert view.earlier[-1].time_ns < 1_000_000_000 <= view.moment.time_ns
    assert view.earlier[-1].cwnd_bytes == view.moment.before.cwnd_bytes
    assert view.later[0].before == view.moment.after


def test_the_transport_is_that_of_the_samples() -> None:
    """The debugger's row at the end of a time is the row that a run with a sample at this time has."""
    scenario = overflowing()
    view = look(scenario, at_s=2.0)
    assert view.moment is not None
    time_ns = view.moment.time_ns
    sampled = cwndlab.run(scenario.with_(duration=f"{time_ns} ns", sample_interval=f"{time_ns} ns"), seed=1).rows(
        "samples"
    )[0]
    after = view.transport["after"]
    assert after is not None
    assert {name: sampled[name] for name in after} == after


def test_another_decrease_diverges_at_the_first_congestion_event() -> None:
    """β = 0.5 in place of 0.7 changes nothing before; then the window is 0.5 of FlightSize."""
    scenario = overflowing()
    found = divergence(scenario, "cubic(beta=0.5)")
    assert found is not None
    assert found.moment.time_ns == first_loss(scenario)
    assert found.before == found.moment.before
    assert found.after.cwnd_bytes == pytest.approx(0.5 * found.moment.fields["in_flight_bytes"], abs=1)
    assert divergence(scenario, "cubic") is None
    tolerant = divergence(scenario, "cubic(beta=0.69)", tolerance_bytes=10**9)
    assert tolerant is None


def test_a_class_in_python_is_shown_with_its_source() -> None:
    class Fixed:
        def __init__(self, path: object) -> None:
            self.acks = 0

        def on_ack(self, ack: object) -> None:
            self.acks += 1

        def on_congestion(self, event: object) -> None: ...

        def cwnd(self) -> float:
            return 8.0

        def state(self) -> dict[str, float]:
            return {"acks": float(self.acks)}

    document = json.loads(overflowing().to_json())
    document["flow"][0]["algorithm"] = "fixed"
    view = look(document, at_s=1.0, algorithms={"fixed": Fixed})
    assert view.moment is not None
    before, after = (state.values["acks"] for state in (view.moment.before, view.moment.after))
    assert isinstance(before, float)
    assert after == before + 1
    (place,) = view.moment.places
    assert (place.entry, place.method, Path(place.file).name) == ("Fixed", "on_ack", "test_debug.py")


def test_runs_are_compared_by_their_samples(tmp_path: Path, cli: Cli) -> None:
    first, second = (cwndlab.run(overflowing(name), seed=1) for name in ("cubic", "cubic(beta=0.5)"))
    assert first_difference(first, first) is None
    found = first_difference(first, second)
    assert found is not None
    equal_s, different_s = found
    assert equal_s < first_loss(overflowing()) / 1e9 <= different_s
    second.save(tmp_path / "second")
    preset = tmp_path / "first.toml"
    preset.write_text(overflowing().to_toml())
    _, out, _ = cli("debug", preset, "--against", tmp_path / "second", "--format", "json")
    views = json.loads(out)
    assert [view["algorithm"] for view in views] == ["cubic+hystart-pp", "cubic(beta=0.5)+hystart-pp"]


def test_the_command_prints_the_moment(cli: Cli) -> None:
    status, out, _ = cli("debug", "two-flows", "--at", "8 s", "--flow", "1")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "flow 1, reno+standard"
    assert any(line.startswith("> 8.0") and "an ACK of" in line for line in lines)
    assert any(line.startswith("reno: on_ack in crates/algorithms/src/congestion_avoidance/reno.rs:") for line in lines)
    _, out, _ = cli("debug", "two-flows", "--at", "1000000 s", "--format", "json")
    assert json.loads(out)["moment"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["single"], "--at: is missing"),
        (["single", "--at", "3"], "--at: '3' has no unit"),
        (["single", "--at", "3 s", "--flow", "7"], "--flow: no flow is called '7'\n  hint: there are flow0"),
        (["uplink", "--at", "3 s", "--flow", "0"], "flow: flow 0 has no congestion control"),
        (["single", "--against", "cubik"], "against: no algorithm is called 'cubik'"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: list[str], message: str) -> None:
    status, out, err = cli("debug", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(message)


def test_parameters_are_checked() -> None:
    with pytest.raises(ScenarioError, match=r"-1\.0 s is not a time of a run"):
        look(load("single"), at_s=-1.0)
    with pytest.raises(ScenarioError, match="flows are counted from 0"):
        look(load("single"), at_s=1.0, flow=-1)


CLASS = """\
class Rising:
    def __init__(self, path, gain: float = 1.0):
        self.window, self.gain = 10.0, gain

    def on_ack(self, ack):
        self.window += self.gain

    def on_congestion(self, event):
        self.window = max(2.0, self.window / 4)

    def cwnd(self):
        return self.window
"""


def test_a_class_of_python_may_stand_on_either_side(cli: Cli, tmp_path: Path) -> None:
    """Two classes, and a class beside cubic in both directions: the same moment, with the places of both sides."""
    file = tmp_path / "rising.py"
    file.write_text(CLASS)
    debug = ("debug", "single", "--algorithm-file", file, "--format", "json")
    found = {}
    for own, other in (("cubic", "rising"), ("rising", "cubic"), ("rising", "rising(gain=2.0)")):
        status, out, err = cli(*debug, "--set", f"flow[0].algorithm={own}", "--against", other)
        assert status == 0, err
        found[own, other] = json.loads(out)
    beside = found["cubic", "rising"]
    assert [(one["method"], Path(one["file"]).name) for one in beside["places"]] == [("on_ack", "rising.py")]
    assert Path(found["rising", "cubic"]["moment"]["places"][0]["file"]).name == "rising.py"
    first = found["rising", "rising(gain=2.0)"]
    # By hand: at the first ACK the one has 11 segments, the other 12.
    mss = first["moment"]["before"]["cwnd_bytes"] // 10
    assert (first["moment"]["after"]["cwnd_bytes"], first["after"]["cwnd_bytes"]) == (11 * mss, 12 * mss)
