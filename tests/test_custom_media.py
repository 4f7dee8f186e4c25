"""Congestion controls of real-time media that are classes in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.custom import MediaControl, validate_class
from cwndlab.scenario.workloads import AdaptiveVideo

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_media_control.py"
Cli = Callable[..., tuple[int, str, str]]


class Constant:
    """Half a megabit per second, whatever happens."""

    def __init__(self, session: cwndlab.custom.MediaSession, rate: float = 5e5, *, bad: bool = False) -> None:
        self.session, self.rate, self.bad = session, rate, bad
        self.seen: list[cwndlab.custom.MediaFeedback] = []
        self.sent: list[cwndlab.custom.MediaSent] = []
        self.frames: list[cwndlab.custom.MediaFrame] = []
        LAST[:] = [self]

    def on_feedback(self, feedback: cwndlab.custom.MediaFeedback) -> None:
        self.seen.append(feedback)
        if self.bad:
            raise RuntimeError("out of order")

    def on_sent(self, packet: cwndlab.custom.MediaSent) -> None:
        self.sent.append(packet)

    def on_frame(self, frame: cwndlab.custom.MediaFrame) -> None:
        self.frames.append(frame)

    def target_rate(self) -> float:
        return self.rate


class WideReports(Constant):
    report = "transport-wide"


#: The object of the last run.
LAST: list[Constant] = []


def scenario(control: str, kind: type = Constant, *, loss: float = 0.0, **video: Any) -> cwndlab.Scenario:
    """A call over 10 Mbit/s with 20 ms in each direction."""
    link = cwndlab.Link(rate="10 Mbit/s", delay="20 ms", queue=cwndlab.DropTail("100 packets"))
    if loss:
        link = cwndlab.Link(rate="10 Mbit/s", delay="20 ms", loss=cwndlab.Bernoulli(loss))
    flow = cwndlab.Flow(transport="udp", rtt="40 ms", workload=AdaptiveVideo(control=control, **video))
    return cwndlab.Scenario(
        duration="20 s", dumbbell=cwndlab.Dumbbell(bottleneck=link), flows=[flow], algorithms={"constant": kind}
    )


def test_the_encoder_has_the_rate_of_the_class() -> None:
    """RFC 8593, 5: the mean of the frames is the target; rates count datagrams without headers of IP and UDP, whose 28
    bytes are in `wire_bytes`."""
    flow = cwndlab.run(scenario("constant"), seed=1).flows.row(0, named=True)
    datagrams = flow["wire_bytes"] - 28 * flow["sent_packets"]
    assert datagrams * 8 / 20 == pytest.approx(5e5, rel=0.03)
    assert cwndlab.run(scenario("constant(rate=1e6)"), seed=1).flows["wire_bytes"][0] > 1.9 * flow["wire_bytes"]


def test_the_range_of_the_encoder_limits_the_class() -> None:
    flow = cwndlab.run(scenario("constant(rate=1e9)", max_rate="1 Mbps"), seed=1).flows.row(0, named=True)
    assert (flow["wire_bytes"] - 28 * flow["sent_packets"]) * 8 / 20 == pytest.approx(1e6, rel=0.03)


@pytest.mark.parametrize(("kind", "unit"), [(Constant, 1 / 1024), (WideReports, 250e-6)])
def test_reports_have_arrivals_in_the_unit_of_their_format(kind: type, unit: float) -> None:
    """RFC 8888, 3.1: offsets of 1/1024 s before the report; draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1.5:
    250 us. A packet of 1250 bytes takes 1 ms on the line."""
    cwndlab.run(scenario("constant", kind), seed=1)
    (control,) = LAST
    packets = [packet for feedback in control.seen for packet in feedback.packets]
    assert len(packets) > 500
    assert len(control.frames) >= 590
    assert len(control.sent) >= len(packets)
    for packet in packets:
        assert packet.arrival is not None
        assert not packet.ce
        least = 0.02 + 8 * (packet.size + 28) / 10e6
        assert least - unit <= packet.arrival - packet.sent <= least + 0.005 + unit
    assert control.session.min_rate == 150e3
    assert control.session.feedback == 0.1
    assert "min_rate=150000.0" in repr(control.session)
    assert "arrival=" in repr(packets[0])


def test_lost_packets_have_no_arrival() -> None:
    """A tenth of the packets is lost; the report after the next one that arrives says so."""
    records = cwndlab.run(scenario("constant", loss=0.1), seed=1)
    packets = [packet for feedback in LAST[0].seen for packet in feedback.packets]
    missing = sum(packet.arrival is None for packet in packets)
    assert missing == pytest.approx(records.flows["wire_losses"][0], abs=5)
    assert missing / len(packets) == pytest.approx(0.1, abs=0.03)


def test_marks_reach_the_class() -> None:
    """A step that marks packets that wait: frames are sent at 1.5 times the target rate, more than the line carries."""
    document = scenario("constant(rate=1.5e6)", ecn="l4s").document
    document["dumbbell"]["bottleneck"] |= {
        "rate": "1.6 Mbps",
        "queue": {"kind": "step-ecn", "capacity": "100 packets", "mark_above": 1},
    }
    records = cwndlab.run(document, seed=1, algorithms={"constant": Constant})
    marked = sum(packet.ce for feedback in LAST[0].seen for packet in feedback.packets)
    # What was marked in the last 0.2 s is in no report.
    assert marked == pytest.approx(records.links["marked_packets"][0], abs=40)
    assert marked > 1000


def test_an_exception_ends_the_run() -> None:
    with pytest.raises(cwndlab.errors.AlgorithmError, match="on_feedback raised RuntimeError: out of order") as raised:
        cwndlab.run(scenario("constant(bad=true)"), seed=1)
    assert isinstance(raised.value.__cause__, RuntimeError)
    with pytest.raises(cwndlab.errors.AlgorithmError, match=r"target_rate\(\) is 0.0 after __init__"):
        cwndlab.run(scenario("constant(rate=0)"), seed=1)


@pytest.mark.parametrize(
    ("control", "what"),
    [
        ("konstant", "no congestion control for media is called 'konstant'"),
        ("constant(speed=2)", "'constant' has no parameter 'speed'"),
        ("constant(rate=true)", "'rate' is of another type than its default 500000.0"),
        ("constant(rate)", "'rate' has no '='"),
        ("Constant", "'Constant' is no congestion control for media"),
    ],
)
def test_a_wrong_text_is_a_fault_of_the_scenario(control: str, what: str) -> None:
    with pytest.raises(cwndlab.ScenarioError, match=r"flow\[0\].workload.control: ") as raised:
        scenario(control)
    assert what in str(raised.value)


def test_a_class_of_connections_is_no_control_of_media() -> None:
    class Window:
        def __init__(self, path: object) -> None: ...
        def on_ack(self, ack: object) -> None: ...
        def on_congestion(self, event: object) -> None: ...
        def cwnd(self) -> float:
            return 10.0

    with pytest.raises(cwndlab.ScenarioError, match="no congestion control for media is called 'constant'"):
        scenario("constant", Window)
    link = cwndlab.Link(rate="10 Mbit/s", delay="20 ms")
    with pytest.raises(cwndlab.ScenarioError, match="constant"):
        cwndlab.Scenario(
            duration="1 s",
            dumbbell=cwndlab.Dumbbell(bottleneck=link),
            flows=[cwndlab.Flow("constant", rtt="40 ms")],
            algorithms={"constant": Constant},
        )
    with pytest.raises(cwndlab.ScenarioError, match="is a congestion control of media, and not of connections"):
        cwndlab.custom.classes_named(["constant"], {"constant": Constant})


def test_a_class_without_its_methods_is_rejected() -> None:
    class Deaf:
        def __init__(self, session: object) -> None: ...
        def on_feedback(self, feedback: object) -> None: ...

    with pytest.raises(cwndlab.ScenarioError, match=r"has no method 'target_rate'"):
        validate_class("deaf", Deaf)
    assert not issubclass(Deaf, MediaControl)
    assert issubclass(Constant, MediaControl)
    with pytest.raises(cwndlab.ScenarioError, match="'gcc' is a control of the catalogue"):
        cwndlab.Scenario.from_json(scenario("gcc").to_json(), algorithms={"gcc": Constant})


def test_the_hash_has_the_source_of_the_class() -> None:
    assert scenario("constant").hash != scenario("constant", WideReports).hash
    assert scenario("gcc").hash == scenario("gcc", WideReports).hash


def test_a_registered_class_needs_no_mapping() -> None:
    cwndlab.register(Constant, "constant")
    try:
        document = scenario("constant").document
        del document["algorithms"]
        assert cwndlab.run(document, seed=1).flows["sent_packets"][0] > 500
    finally:
        cwndlab.custom.unregister("constant")


def test_the_example_holds_a_call_and_a_suite_judges_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/add-an-algorithm.md has the text of the file and the commands."""
    page = (ROOT / "docs" / "add-an-algorithm.md").read_text()
    assert f"```python\n{EXAMPLE.read_text()}```" in page
    monkeypatch.chdir(ROOT)
    words = ("run", "uplink", "--seed", "1", "--set", "duration=20 s", "--set", "measure_from=5 s")
    control = 'flow[0].workload.control="delay-target(gain=0.1)"'
    status, out, err = cli(*words, "--algorithm-file", "examples/own_media_control.py", "--set", control)
    assert status == 0, err
    assert "'delay-target' is the class DelayTarget of own_media_control.py" in err
    assert "call" in out
    result = cwndlab.suites.run("rfc8867", str(EXAMPLE), cases=["variable-capacity"])
    assert result.algorithm == "delay-target"
    assert len(result.outcomes) == 2
    assert cwndlab.suites.run("rfc8867", Constant, cases=["wifi-line-single"]).algorithm == "mine"
