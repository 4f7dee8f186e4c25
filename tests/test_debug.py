"""The debugger: moments of a run, divergences, places in the sources."""

from __future__ import annotations

import csv
import inspect
import io
import json
from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest
from custom_classes import PyReno
from cwndlab.errors import ScenarioError
from cwndlab.scenario.presets import load
from cwndlab.validation.debugger import divergence, first_difference, kinds, look

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
    assert different_s is not None
    assert equal_s < first_loss(overflowing()) / 1e9 <= different_s
    second.save(tmp_path / "second")
    preset = tmp_path / "first.toml"
    preset.write_text(overflowing().to_toml())
    _, out, _ = cli("debug", preset, "--against", tmp_path / "second", "--format", "json")
    views = json.loads(out)
    assert [view["algorithm"] for view in views] == ["cubic+hystart-pp", "cubic(beta=0.5)+hystart-pp"]


def test_runs_are_compared_at_the_times_that_both_have(tmp_path: Path, cli: Cli) -> None:
    """The same flow, sampled every 10 and 20 ms, to 2 and 3 s: the windows are equal at the common times."""
    scenario = overflowing().with_(duration="2 s", sample_interval="10 ms")
    run = cwndlab.run(scenario, seed=1)
    rare, longer, apart = (
        cwndlab.run(scenario.with_(changes), seed=1)
        for changes in ({"sample_interval": "20 ms"}, {"duration": "3 s"}, {"sample_interval": "3 s"})
    )
    assert (first_difference(run, rare), first_difference(run, longer)) == (None, (2.0, None))
    with pytest.raises(ScenarioError, match="sample_interval: the two runs have no samples of the flow"):
        first_difference(run, apart)
    preset = tmp_path / "run.toml"
    preset.write_text(scenario.to_toml())
    for records, end in ((rare, ""), (longer, " up to 2 s, where those of one run end")):
        folder = tmp_path / records.hash()
        records.save(folder)
        status, out, err = cli("debug", preset, "--against", folder)
        assert (status, out) == (0, "")
        assert err.splitlines()[0] == f"the samples of flow0 have equal windows in both runs{end}"


def test_the_table_in_csv_has_plain_numbers(cli: Cli) -> None:
    """The values of the same moment in JSON, and empty cells where the algorithm has none."""
    arguments = ("debug", "two-flows", "--next", "loss", "--format")
    moment = json.loads(cli(*arguments, "json")[1])["moment"]
    rows = {row["value"]: row for row in csv.DictReader(io.StringIO(cli(*arguments, "csv")[1]))}
    for when in ("before", "after"):
        assert rows["cwnd_bytes"][when] == str(moment[when]["cwnd_bytes"])
        assert rows["pacing_rate_bps"][when] == ""


def test_the_command_prints_the_moment(cli: Cli) -> None:
    status, out, _ = cli("debug", "two-flows", "--at", "8 s", "--flow", "1")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "flow1, reno+standard"
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
        (["uplink", "--at", "3 s", "--flow", "0"], "--flow: flow 0 has no congestion control"),
        (["single", "--against", "cubik"], "--against: no algorithm is called 'cubik'"),
        (["single", "--next", "reducton"], "--next: no event is called 'reducton'\n  hint: did you mean 'reduction'?"),
        (["single", "--previous", "lost"], "--previous: no event is called 'lost'\n  hint: did you mean 'loss'?"),
        (["single", "--next", "loss", "--previous", "loss"], "cwndlab debug: --next, --previous and --against"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: list[str], message: str) -> None:
    status, out, err = cli("debug", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(message)


def test_parameters_are_checked() -> None:
    with pytest.raises(ScenarioError, match=r"-1\.0 s is not a time of a run"):
        look(load("single"), at_s=-1.0)
    with pytest.raises(ScenarioError, match="no flow is called '-1'"):
        look(load("single"), at_s=1.0, flow=-1)
    with pytest.raises(ScenarioError, match="at_s: is missing"):
        look(load("single"))
    with pytest.raises(ScenarioError, match="search in different directions"):
        look(load("single"), next="loss", previous="loss")


def times(scenario: cwndlab.Scenario, kind: str) -> list[int]:
    """Times of the events of a kind in the records, ns."""
    return [row["time_ns"] for row in cwndlab.run(scenario, seed=1).rows("events") if row["kind"] == kind]


def test_the_next_and_the_previous_loss_are_those_of_the_records() -> None:
    scenario = overflowing().with_(duration="20 s")
    losses = times(scenario, "recovery")
    assert len(losses) >= 3
    ahead = [look(scenario, at_s=at_ns / 1e9, next="loss").moment for at_ns in (0, losses[0] + 1, losses[1])]
    assert [one.time_ns for one in ahead if one] == [losses[0], losses[1], losses[1]]
    back = [look(scenario, at_s=at_ns / 1e9, previous="loss").moment for at_ns in (losses[2], losses[1] + 1)]
    assert [one.time_ns for one in back if one] == [losses[1], losses[1]]
    last = look(scenario, previous="loss").moment
    assert last is not None
    assert last.time_ns == losses[-1]
    assert look(scenario, at_s=losses[0] / 1e9, previous="loss").moment is None
    assert look(scenario, at_s=(losses[-1] + 1) / 1e9, next="loss").moment is None


def test_a_found_event_has_the_neighbours_that_its_time_has() -> None:
    """The view of a search is the view at the time that it finds."""
    scenario = overflowing()
    loss_ns = first_loss(scenario)
    expected = look(scenario, at_s=loss_ns / 1e9, context=5)
    assert look(scenario, next="loss", context=5) == expected
    second_ns = times(scenario.with_(duration="20 s"), "recovery")[1]
    assert look(scenario.with_(duration="20 s"), at_s=second_ns / 1e9, previous="loss", context=5) == expected


def test_a_reduction_is_a_smaller_window() -> None:
    """RFC 5681: Reno's window is smaller only after congestion events and at the end of a recovery."""
    moment = look(overflowing("reno"), next="reduction").moment
    assert moment is not None
    assert moment.time_ns == first_loss(overflowing("reno"))
    assert moment.after.cwnd_bytes < moment.before.cwnd_bytes


def test_events_of_an_algorithm_are_found_by_their_names() -> None:
    """RFC 9406: HyStart++ leaves slow start; the row of the table `events` has the time."""
    scenario = overflowing().with_({"dumbbell.bottleneck.queue": {"capacity": "1000 packets"}})
    moment = look(scenario, next="css-enter").moment
    assert moment is not None
    assert [moment.time_ns] == times(scenario, "css-enter")[:1]
    assert moment.returned is not None
    assert moment.returned["kind"] == "css-enter"
    assert look(scenario, next="event").moment == moment


def test_the_page_lists_all_kinds_of_events() -> None:
    page = (ROOT / "docs" / "debug.md").read_text(encoding="utf-8")
    assert [name for name in kinds() if f"`{name}`" not in page] == []


def test_a_flow_has_the_same_view_by_name_and_by_index() -> None:
    scenario = load("two-flows")
    assert look(scenario, at_s=2.0, flow="flow1") == look(scenario, at_s=2.0, flow=1)
    assert look(scenario, at_s=2.0, flow="flow1").flow == "flow1"


CAPACITY = 60


def contended(**changes: object) -> cwndlab.Scenario:
    """Two flows through a queue of 60 packets."""
    path = cwndlab.Dumbbell(
        cwndlab.Link(rate="20 Mbit/s", delay="10 ms", queue=cwndlab.DropTail(f"{CAPACITY} packets")),
    )
    flows = [cwndlab.Flow("cubic", name="first", rtt="40 ms"), cwndlab.Flow("reno", name="second", rtt="40 ms")]
    return cwndlab.Scenario(duration="10 s", dumbbell=path, flows=flows).with_(changes)


@pytest.mark.parametrize("flow", ["first", "second"])
def test_the_drop_behind_a_loss_is_that_of_the_segment_that_is_sent_again(flow: str) -> None:
    """RFC 6675, section 5, step 4.3: recovery retransmits the first missing segment. A full queue of 60 packets has 60
    waiting and one in transmission."""
    scenario = contended()
    view = look(scenario, at_s=1.0, next="loss", flow=flow)
    assert view.moment is not None
    lost = view.lost_packet
    assert lost is not None
    index = ("first", "second").index(flow)
    packets = cwndlab.run(scenario.with_(packets=True), seed=1).rows("packets")
    again = next(
        row
        for row in packets
        if row["flow"] == index and row["kind"] == 0 and row["retransmission"] and row["sent_ns"] >= view.moment.time_ns
    )
    assert lost.sequence_bytes == again["sequence_bytes"]
    dropped = [row for row in packets if row["flow"] == index and row["fate"] == 1 and row["kind"] == 0]
    assert (lost.time_ns, lost.sequence_bytes) in {(row["time_ns"], row["sequence_bytes"]) for row in dropped}
    assert (lost.fate, lost.link, lost.capacity_packets) == ("dropped", "bottleneck", CAPACITY)
    assert lost.sent_ns <= lost.time_ns < view.moment.time_ns
    assert lost.queue_packets == CAPACITY
    assert [one.name for one in lost.flows] == ["first", "second"]
    assert sum(one.packets for one in lost.flows) == CAPACITY + 1
    assert all(one.packets > 0 for one in lost.flows)
    # Each flow has at least as much in flight as it has at the link.
    for one in lost.flows:
        assert one.transport is not None
        assert one.transport["in_flight_bytes"] >= 1448 * one.packets


def test_a_loss_on_the_line_is_not_one_of_the_queue() -> None:
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms", loss=cwndlab.Bernoulli(0.005)))
    scenario = cwndlab.Scenario(duration="6 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    lost = look(scenario, next="loss", at_s=3.0).lost_packet
    assert lost is not None
    assert lost.fate == "lost"


def test_reordering_has_no_packet_behind_it() -> None:
    """A path that reorders and drops nothing: what the sender takes for a loss is none."""
    link = cwndlab.Link(rate="10 Mbit/s", delay="20 ms", jitter=cwndlab.Jitter("15 ms", reorder=True))
    scenario = cwndlab.Scenario(
        duration="6 s",
        dumbbell=cwndlab.Dumbbell(link),
        flows=[cwndlab.Flow("reno/sack", rtt="80 ms", stack={"receive_window": "30 kB"})],
    )
    view = look(scenario, next="loss")
    assert view.moment is not None
    assert (view.lost_packet, view.no_lost_packet) == (None, "no packet is missing")


def test_an_ecn_echo_has_a_marked_packet_behind_it() -> None:
    """RFC 3168, section 6.1: the sender reduces when the echo of the mark arrives, one round trip after it was sent."""
    queue = {"kind": "codel", "capacity": "1000 packets", "ecn": True}
    ecn = {f"flow[{index}].stack": {"ecn": "classic"} for index in (0, 1)}
    scenario = contended(**{"dumbbell.bottleneck.queue": queue, **ecn})
    view = look(scenario, next="ecn", at_s=2.0)
    assert view.moment is not None
    lost = view.lost_packet
    assert lost is not None
    assert lost.fate == "marked"
    rtt_ns = view.moment.fields["srtt_ns"]
    assert view.moment.time_ns - lost.sent_ns == pytest.approx(rtt_ns, rel=0.5)


BESIDE = ["bytes", "cwnd", "in flight", "srtt", "state"]


def test_the_command_prints_the_drop_and_the_rivals(cli: Cli) -> None:
    status, out, _ = cli("debug", "two-flows", "--next", "loss", "--flow", "flow1", "--at", "2 s")
    assert status == 0
    assert "was dropped at bottleneck at " in out
    assert "queue of bottleneck then: " in out
    lines = out.splitlines()
    at = next(index for index, line in enumerate(lines) if "packets at the link" in line)
    titles = lines[at].split("  ")
    assert [one.strip() for one in titles if one] == ["flow", "packets at the link", *BESIDE]
    assert [line.split()[0] for line in lines[at + 1 : at + 3]] == ["flow0", "flow1"]
    status, _, err = cli("debug", "two-flows", "--next", "timeout")
    assert (status, err.splitlines()[0]) == (0, "flow0: no such event")


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


def reno_file(folder: Path) -> Path:
    """A file with Reno, as the built-in ``reno+standard`` does it."""
    file = folder / "py_reno.py"
    file.write_text(f"from __future__ import annotations\n\n{inspect.getsource(PyReno)}")
    return file


def test_a_class_that_does_the_same_never_differs_in_either_direction(cli: Cli, tmp_path: Path) -> None:
    """Reno in Python beside reno+standard, and reno+standard beside it: a Python file stands for its class."""
    file = reno_file(tmp_path)
    beside = ("debug", "two-flows", "--flow", "flow1", "--set", "duration=5s", "--against", file)
    status, _, err = cli(*beside)
    assert (status, err.splitlines()[0]) == (0, "py-reno: the same windows and rates up to the end")
    other = ("--set", "flow[1].algorithm=py-reno", "--algorithm-file", file, "--against", "reno+standard")
    status, _, err = cli(*beside[:-2], *other)
    assert (status, err.splitlines()[0]) == (0, "reno+standard: the same windows and rates up to the end")
