"""Linux kernels as hosts of the simulator: their command lines, the campaign, and the kernel if it is built."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from io import BytesIO
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.cli.app import status
from cwndlab.errors import RecordsError, ScenarioError
from cwndlab.linux import release, with_kernels
from cwndlab.study.attack import attack
from cwndlab.study.attack.world import PATH, Event
from cwndlab.validation import linux
from cwndlab.validation.references.paths import read
from cwndlab.validation.references.reference import kernel_paths

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "tools" / "virtual_linux" / "hosted" / "cwndlab-stack-linux"
#: Where `make linux` puts the stack.
BUILT = ROOT / "build" / "stacks" / "bin"


def launcher() -> Any:
    loader = SourceFileLoader("cwndlab_stack_linux", str(PROGRAM))
    module = module_from_spec(spec_from_loader(loader.name, loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


def call(controller: str = "bbr", options: str = "", version: int = 1) -> bytes:
    """START of docs/host.md: a receiver with seed 7 and datagrams of 1472 bytes."""
    texts = b"".join(struct.pack("<H", len(text)) + text.encode() for text in (controller, options))
    return struct.pack("<BBBQH", 1, version, 1, 7, 1472) + texts


def test_the_first_call_becomes_the_command_line_of_the_kernel() -> None:
    words = launcher().command("/k/linux", call(options="net.ipv4.tcp_ecn=1,net.ipv4.tcp_rmem=4096 87380 6291456"))
    assert words[:2] == ["/k/linux", "hosted=10,11,1,7,1472,bbr"]
    assert {"time-travel=inf-cpu", "time-travel-start=0", "rdinit=/hosted"} < set(words)
    # A value with spaces is one argument of the kernel (Documentation/admin-guide/kernel-parameters.rst).
    assert '"hosted.sysctl.net.ipv4.tcp_rmem=4096 87380 6291456"' in words
    assert '"hosted.sysctl.net.ipv4.tcp_ecn=1"' in words
    assert launcher().command("linux", call(controller=""))[1] == "hosted=10,11,1,7,1472"
    assert launcher().command("linux", call(options="mtu=72"))[1] == "hosted=10,11,1,7,72,bbr"


def test_a_capture_has_the_packets_that_pass() -> None:
    """By hand: a call at 1.5 s brings a segment of 32 bytes of header and no data, and its answer sends one of 32 and
    100 with a mark, and a timer. Both captures end with the headers; the original length of the second is 20 + 132."""
    header = bytes([0, 0, 0, 9, 0, 0, 0, 5, 0x80, 0x10, 1, 2])
    arrived = header + bytes(12)
    called = b"\x02" + struct.pack("<Q", 1_500_000_000) + b"\x04\x00" + struct.pack("<H", 24) + arrived
    answered = b"\x15\x01" + bytes(8) + b"\x12\x03" + struct.pack("<H", 124) + arrived + bytes(100)
    answered += b"\x13" + bytes(8)
    file = BytesIO()
    capture = launcher().Capture(file)
    capture.note(called)
    capture.note(answered)
    written = file.getvalue()[24:]
    assert len(written) == 2 * (16 + 52)
    for number, total, ends, ecn in ((0, 52, (5001, 5000), 0), (1, 152, (5000, 5001), 3)):
        one = written[number * 68 :][:68]
        assert struct.unpack("<IIII", one[:16]) == (1, 500_000_000, 52, total)
        assert (one[17], struct.unpack(">H", one[18:20])[0], struct.unpack(">HH", one[36:40])) == (ecn, total, ends)
        assert one[40:52] == header


def test_each_connection_has_a_port_of_its_own_in_a_capture() -> None:
    """hosted.c: the six bits beside ECN have the number of the connection modulo 64, and client n has the port
    5000 + n. By hand: connection 64 begins after 63, beside which 63 still receives."""
    segment = bytes([0, 0, 0, 9, 0, 0, 0, 5, 0x80, 0x10, 1, 2]) + bytes(12)
    file = BytesIO()
    capture = launcher().Capture(file)
    passed = [(True, number) for number in range(65)] + [(False, 63), (False, 64), (True, 63)]
    for is_sent, number in passed:
        item = bytes([0x12 if is_sent else 0x04, number % 64 * 4 + 2]) + struct.pack("<H", 24) + segment
        capture.note(item)
    written = file.getvalue()[24:]
    packets = [written[at : at + 68] for at in range(0, len(written), 68)]
    ports = [(5000 + number, 5001) if is_sent else (5001, 5000 + number) for is_sent, number in passed]
    assert [struct.unpack(">HH", one[36:40]) for one in packets] == ports
    assert {one[17] for one in packets} == {2}


@pytest.mark.parametrize(
    ("first", "what"),
    [
        (call("BBR v3"), "'BBR v3' is not the name of a congestion control of Linux, such as cubic"),
        (call(options="kernel.panic=1"), "'kernel.panic=1' is not a setting of the kernel; write net.ipv4.tcp_ecn"),
        (call(options="mtu=39"), "'mtu=39' is not from 40 to 1472, the payload of a datagram"),
        (call(options="mtu=1473"), "'mtu=1473' is not from 40 to 1472, the payload of a datagram"),
        (call(options='net.ipv4.tcp_ecn=1" init=/x'), "is not a setting of the kernel; write net.ipv4.tcp_ecn"),
        (call(version=2), "the first call is not START of version 1"),
    ],
)
def test_a_bad_first_call_is_answered_by_what_is_wrong(first: bytes, what: str) -> None:
    assert what in failure(first, "/bin/false")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["/absent/linux"], "'/absent/linux' is no program; make linux builds the kernel"),
        ([str(ROOT / "Makefile")], "Makefile' is no program; make linux builds the kernel"),
        ([], "name the kernel: cwndlab-stack-linux KERNEL"),
    ],
)
def test_a_kernel_that_is_missing_is_answered_by_what_is_wrong(arguments: list[str], what: str) -> None:
    assert what in failure(call(), *arguments)


def failure(first: bytes, *arguments: str) -> str:
    """The text of FAILURE."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        input=struct.pack("<I", len(first)) + first,
        capture_output=True,
        check=True,
        timeout=60,
    )
    length, kind, text = struct.unpack_from("<IBH", done.stdout)
    assert (length, kind, text) == (len(done.stdout) - 4, 23, len(done.stdout) - 7)
    return done.stdout[7:].decode()


def kernels(path: str, algorithm: str = "cubic") -> dict[str, Any]:
    (trial,) = read(kernel_paths(), paths=[path], algorithms=[algorithm]).trials
    return linux.between_kernels(trial)


def test_kernels_take_the_place_of_flows() -> None:
    """mixed-50 has CUBIC beside BBR, ecn-20 has classic ECN at both ends, stops-10 a flow that ends after 10 s. All
    have the receive buffer of the file."""
    buffers = "net.ipv4.tcp_rmem=4096 16777216 67108864"
    mixed = kernels("mixed-50")
    assert mixed["dumbbell"]["bottleneck"]["rate"] == "50 Mbps"
    assert [flow["workload"]["controller"] for flow in mixed["flow"]] == ["cubic", "bbr"]
    assert [flow["rtt"] for flow in mixed["flow"]] == ["80 ms", "80 ms"]
    marked = kernels("ecn-20", "reno")
    workload = marked["flow"][0]["workload"]
    assert workload["controller"] == "reno"
    assert workload["options"] == "net.ipv4.tcp_ecn=1"
    assert workload["peer_options"] == f"net.ipv4.tcp_ecn=1,{buffers}"
    stops = kernels("stops-10")
    assert [flow.get("stop") for flow in stops["flow"]] == ["10 s", None]
    assert ["options" in flow["workload"] for flow in stops["flow"]] == [True, False]
    settings = kernels("fast-100-all-acks")
    assert settings["flow"][0]["workload"]["peer_options"] == f"net.ipv4.tcp_comp_sack_nr=0,{buffers}"
    for one in (mixed, marked, stops, settings):
        cwndlab.Scenario.from_json(json.dumps(one))


def test_sizes_and_flows_over_udp_stay() -> None:
    source = {"transport": "udp", "rtt": "20 ms", "workload": {"kind": "cbr", "rate": "1 Mbps"}}
    flow = {"algorithm": "vegas", "rtt": "20 ms", "workload": {"kind": "bulk", "bytes": "1 MB"}, "name": "one"}
    found = with_kernels({"flow": [flow | {"stack": {"sack": False, "ecn": "classic"}}, source]})["flow"]
    assert found[1] == source
    assert found[0] == {
        "name": "one",
        "rtt": "20 ms",
        "transport": "udp",
        "workload": {
            "kind": "hosted",
            "stack": "linux",
            "controller": "vegas",
            "options": "net.ipv4.tcp_ecn=1,net.ipv4.tcp_sack=0",
            "peer_options": "net.ipv4.tcp_ecn=1,net.ipv4.tcp_sack=0",
            "bytes": "1 MB",
        },
    }


def test_what_is_not_of_the_ends_stays() -> None:
    """Route, class and number of a flow are of the network, and its times of the application."""
    kept = {
        "name": "one",
        "from": "a",
        "to": "b",
        "route": ["l"],
        "dscp": "EF",
        "direction": "reverse",
        "enter": 1,
        "start_step": "1 s",
        "start_jitter": "1 ms",
        "hold": "5 s",
        "count": 2,
    }
    (found,) = with_kernels({"flow": [{"algorithm": "cubic-linux+hystart-linux/rack", "profile": "linux"} | kept]})[
        "flow"
    ]
    workload = {"kind": "hosted", "stack": "linux", "controller": "cubic"}
    workload["options"] = "net.ipv4.tcp_notsent_lowat=14480"
    assert found == kept | {"transport": "udp", "workload": workload}


@pytest.mark.parametrize(
    ("flow", "what"),
    [
        (
            {"algorithm": "cubic(beta=0.5)"},
            "an algorithm of the kernel takes only the parameters of its module\n  hint: write cubic or cubic-linux",
        ),
        ({"algorithm": "cubic+standard"}, "flow[0].algorithm: slow start and recovery cannot be chosen: the kernel's"),
        (
            {"algorithm": "vegas+standard"},
            "flow[0].algorithm: slow start and recovery cannot be chosen: the kernel's",
        ),
        (
            {"algorithm": "reno/rack(prr=6937)"},
            "flow[0].algorithm: an algorithm of the kernel takes only",
        ),
        (
            {"algorithm": "htcp(nonsense=1)"},
            "flow[0].algorithm: an algorithm of the kernel takes only",
        ),
        ({"algorithm": "reno/newreno"}, "flow[0].algorithm: slow start and recovery cannot be chosen: the kernel's"),
        ({"control": {"delay": "1 ms"}}, "flow[0].control: the kernel's algorithm is within the kernel"),
        ({"stack": {"initial_window": 4}}, "flow[0].stack.initial_window: is no setting of kernels here"),
        (
            {"algorithm": "bbr3"},
            "flow[0].algorithm: the kernel has no 'bbr3' of its own\n  hint: write one of reno, cubic, ",
        ),
        ({"workload": {"kind": "dicom"}}, "flow[0].workload.kind: kernels have no workload 'dicom' here"),
        (
            {"workload": {"kind": "transfers", "bytes": "1 kB"}},
            "flow[0].workload.new_connection: kernels open a connection for each transfer here",
        ),
        ({"stack": {"mss": "500 B"}}, "flow[0].stack.mss: is no setting of kernels here"),
        ({"stack": {"ecn": "accecn"}}, "flow[0].stack.ecn: kernels have classic ECN here\n  hint: write classic"),
    ],
)
def test_what_kernels_do_not_have_is_an_error(flow: dict[str, Any], what: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        with_kernels({"flow": [flow]})
    assert what in str(caught.value)


def test_a_campaign_leaves_out_what_kernels_do_not_have(tmp_path: Path) -> None:
    said: list[str] = []
    file = tmp_path / "paths.toml"
    pauses, other = '{ kind = "on-off", on = "2 s", off = "1 s" }', '{ kind = "transfers", bytes = "1 kB" }'
    file.write_text(kernel_paths().read_text().replace(pauses, other))
    with pytest.raises(ScenarioError, match="no path has a workload of hosted stacks"):
        linux.campaign(tmp_path, paths=["pauses-20"], file=file, say=said.append)
    assert said == ["left out: pauses-20: their workloads are not of hosted stacks"]


def test_pauses_and_transfers_take_their_place() -> None:
    """As between the emulator's hosts: little unsent data in a pause, nothing remembered between connections."""
    pauses = kernels("pauses-20")["flow"][0]["workload"]
    assert (pauses["on"], pauses["off"], pauses["options"]) == ("2 s", "1 s", "net.ipv4.tcp_notsent_lowat=14480")
    web = kernels("web-20")["flow"][1]["workload"]
    assert (web["bytes"], web["gap"], web["options"]) == ("15 kB", "0 s", "net.ipv4.tcp_no_metrics_save=1")
    for one in ("pauses-20", "web-20"):
        cwndlab.Scenario.from_json(json.dumps(kernels(one)))


class Simulated:
    """In place of the kernels: the simulator with the trial's own flows."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, bool]] = []

    def run_jobs(self, jobs: list[tuple[dict[str, Any], int]], **_: Any) -> Iterator[tuple[int, Any]]:
        for index, (document, seed) in enumerate(jobs):
            is_kernel = "transport" in document["flow"][0]
            self.calls.append((document["title"], seed, is_kernel))
            flow = {"algorithm": "cubic", "rtt": "30 ms"}
            yield index, cwndlab.run({**document, "flow": [flow], "duration": "2 s"}, seed=seed)


def test_a_campaign_goes_on_where_it_was_and_judges_kernels_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Simulated()
    module = import_module("cwndlab.validation.linux")
    monkeypatch.setattr(module, "run_jobs", machine.run_jobs)
    monkeypatch.setattr(module, "release", lambda: None)
    asked: dict[str, Any] = {"paths": ["slow-5"], "algorithms": ["cubic"], "repetitions": 2}
    verdicts, notes = linux.campaign(tmp_path, **asked)
    assert [one.quantity for one in verdicts] == ["goodput_bps", "mean_rtt_s", "congestion_events"]
    assert all(one.deviation == 0 for one in verdicts)
    assert notes[0].endswith("in virtual time: 2 runs")
    assert [is_kernel for _, _, is_kernel in machine.calls] == [True, True, False, False]
    linux.campaign(tmp_path, **(asked | {"repetitions": 3}))
    assert [one for one in machine.calls[4:] if one[2]] == [("slow-5 cubic", 3, True)]
    # Beside a machine's kernel, the simulator does not run.
    machine.calls.clear()
    kept = ROOT / "known-answers" / "kernel" / "runs.csv"
    beside, _ = linux.campaign(tmp_path, **asked, beside=kept)
    assert machine.calls == []
    assert beside[0].kernel == pytest.approx(4.824e6, rel=1e-3)
    # The runs of another kernel do not count as those of the stack.
    monkeypatch.setattr(module, "release", lambda: "9.9")
    with pytest.raises(RecordsError, match=r"linux\.csv: has runs of Linux .*, and the stack is Linux 9\.9"):
        linux.campaign(tmp_path, **asked)
    # What is kept is judged without a kernel, and the rest is named.
    kept_runs = (tmp_path / linux.FILE).read_bytes()
    machine.calls.clear()
    verdicts, notes = linux.judge_kept(tmp_path, repetitions=2)
    assert len(verdicts) == 3
    assert notes[-1].startswith("Not measured yet: slow-5 reno 1, slow-5 bbr 1, ")
    assert ", slow-5 bbr 2, buffer-20, buffer-long-30, city-50, ecn-20, " in notes[-1]
    assert not any(is_kernel for _, _, is_kernel in machine.calls)
    assert (tmp_path / linux.FILE).read_bytes() == kept_runs


@pytest.mark.parametrize("is_there", [False, True])
def test_runs_of_a_machine_that_are_missing_are_an_error_before_any_run(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Simulated()
    monkeypatch.setattr(import_module("cwndlab.validation.linux"), "run_jobs", machine.run_jobs)
    file = tmp_path / "runs.csv"
    what = "no such file"
    if is_there:
        kept = (ROOT / "known-answers" / "kernel" / "runs.csv").read_text(encoding="utf-8")
        file.write_text(kept.partition("\n")[0] + "\n", encoding="utf-8")
        what = "has no run of these paths and algorithms"
    with pytest.raises(RecordsError, match=rf"runs\.csv: {what}"):
        linux.campaign(tmp_path / "out", paths=["slow-5"], algorithms=["cubic"], repetitions=1, beside=file)
    assert machine.calls == []
    assert not (tmp_path / "out").exists()


@pytest.fixture
def _kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (BUILT / "cwndlab-stack-linux").is_file():
        pytest.skip("the kernel is not built: make linux")
    monkeypatch.setenv("CWNDLAB_STACKS", str(BUILT))


def transfer(duration: str = "3 s", **changes: Any) -> dict[str, Any]:
    """10 Mbit/s, 40 ms, 50 packets."""
    workload = {"kind": "hosted", "stack": "linux"} | changes
    bottleneck = {"rate": "10 Mbps", "delay": "20 ms", "queue": {"capacity": "50 packets"}}
    flow = {"transport": "udp", "rtt": "40 ms", "workload": workload}
    return {"schema_version": 1, "duration": duration, "dumbbell": {"bottleneck": bottleneck}, "flow": [flow]}


@pytest.mark.usefixtures("_kernel")
def test_the_kernel_fills_a_line_with_segments_of_1448_bytes() -> None:
    """By hand: 1448 of 1500 bytes are payload, 9.653 Mbit/s; the shortest RTT is that of SYN and SYN-ACK, 60 bytes
    each, in whole microseconds."""
    records = cwndlab.run(transfer("10 s", controller="cubic"), seed=1)
    (flow,) = records.rows("flows")
    assert (flow["algorithm"], flow["profile"][:6]) == ("cubic", "Linux ")
    assert 0.93 < flow["delivered_bytes"] * 8 / 10 / 9.653e6 <= 1
    least = 40_000_000 + 2 * 48_000
    assert least <= flow["min_rtt_ns"] < least + 10_000
    assert flow["recoveries"] > 0
    assert flow["timeouts"] == 0


@pytest.mark.usefixtures("_kernel")
def test_a_transfer_of_the_kernel_ends_with_its_last_acknowledgement() -> None:
    """By hand: ten segments and the handshake take two round trips, and ten packets 12 ms on the line."""
    records = cwndlab.run(transfer(bytes="14480 B"), seed=1)
    assert records.flows["delivered_bytes"].to_list() == [14480]
    (end,) = records.transfers["end_ns"]
    assert 60_000_000 + 12_000_000 <= end < 60_000_000 + 14_000_000


@pytest.mark.usefixtures("_kernel")
def test_transfers_of_the_kernel_follow_one_another_over_new_connections() -> None:
    """By hand: each takes what the first one does, and the next one begins with the last acknowledgement, 20 ms and an
    ACK of 52 bytes later. Of ten segments with two for each ACK, half of them are acknowledged one by one."""
    records = cwndlab.run(transfer(bytes="14480 B", gap="0 s"), seed=1)
    starts, ends = (records.transfers[name].to_list() for name in ("start_ns", "end_ns"))
    assert 30 <= len(ends) <= 33
    assert {end - start for start, end in zip(starts, ends, strict=True)} <= set(range(72_000_000, 74_000_000))
    assert {start - end for start, end in zip(starts[1:], ends, strict=False)} == {20_000_000 + 41_600}


@pytest.mark.usefixtures("_kernel")
def test_a_lost_fin_of_the_kernel_is_sent_again() -> None:
    """Else the receiver, which reads one connection after another, would wait for it until the end of the run."""
    scenario = transfer("20 s", bytes="14480 B", gap="0 s")
    scenario["dumbbell"]["bottleneck"]["loss"] = {"kind": "bernoulli", "p": 0.05}
    records = cwndlab.run(scenario, seed=1)
    # Of some hundred FINs one in twenty is lost; a timeout of SYNs is a second.
    assert records.transfers.height > 60
    assert records.transfers["end_ns"][-1] > 18_000_000_000


@pytest.mark.usefixtures("_kernel")
def test_a_pause_of_the_kernels_application() -> None:
    """By hand: the line is full in the active half, and ten segments and what is in flight follow into the pause. After
    a pause of a second the window restarts: nothing is lost."""
    scenario = transfer("8 s", controller="reno", on="1 s", off="1 s", options="net.ipv4.tcp_notsent_lowat=14480")
    records = cwndlab.run(scenario, seed=1)
    samples = records.samples.sort("time_ns")
    paused = samples.filter((samples["time_ns"] >= 1_300_000_000) & (samples["time_ns"] < 2_000_000_000))
    assert paused["delivered_bytes"].n_unique() == 1
    assert set(paused["in_flight_bytes"].to_list()) == {0}
    assert samples["delivered_bytes"][-1] > 1.5 * paused["delivered_bytes"][0]


@pytest.mark.usefixtures("_kernel")
@pytest.mark.parametrize("controller", ["reno", "cubic", "bbr"])
def test_runs_of_the_kernel_have_the_same_bits_beside_another_flow(controller: str) -> None:
    scenario = transfer(controller=controller)
    scenario["flow"].append({"algorithm": "cubic", "rtt": "40 ms", "name": "beside"})
    assert len({cwndlab.run(scenario, seed=1).hash() for _ in range(3)}) == 1
    assert cwndlab.run(scenario, seed=1).hash() != cwndlab.run(scenario, seed=2).hash()


@pytest.mark.usefixtures("_kernel")
@pytest.mark.parametrize("controller", ["htcp", "highspeed", "bic"])
def test_a_capture_of_the_kernel_is_identified_and_changes_no_bit(
    controller: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = transfer("20 s", controller=controller)
    before = cwndlab.run(scenario, seed=1).hash()
    monkeypatch.setenv("CWNDLAB_STACK_LOGS", str(tmp_path))
    assert cwndlab.run(scenario, seed=1).hash() == before
    (capture,) = tmp_path.glob("linux-*.pcap")
    result = cwndlab.identify(capture)
    assert controller in result.ties
    assert next(one for one in result.ranking if one.growth == controller).form


@pytest.mark.usefixtures("_kernel")
def test_marks_reach_a_kernel_with_ecn() -> None:
    """A queue that marks above ten packets and holds 500 loses none. The receiver's kernel uses ECN if the sender's
    asks for it (tcp_ecn = 2, the default, of ip-sysctl.rst); else nothing is marked."""
    scenario = transfer(controller="reno", options="net.ipv4.tcp_ecn=1")
    scenario["dumbbell"]["bottleneck"]["queue"] = {
        "kind": "step-ecn",
        "mark_above": 10,
        "capacity": "500 packets",
    }
    records = cwndlab.run(scenario, seed=1)
    assert records.links["marked_packets"][0] > 0 == records.flows["retransmitted_packets"][0]
    del scenario["flow"][0]["workload"]["options"]
    assert cwndlab.run(scenario, seed=1).links["marked_packets"][0] == 0


@pytest.mark.usefixtures("_kernel")
def test_a_congestion_control_that_the_kernel_lacks_is_an_error() -> None:
    with pytest.raises(cwndlab.RunError, match="this kernel does not have the congestion control"):
        cwndlab.run(transfer(controller="tahoe"), seed=1)


@pytest.mark.usefixtures("_kernel")
@pytest.mark.parametrize("setting", ["net.ipv4.tcp_enc=1", "net.ipv4.tcp_ecn=77"])
def test_a_setting_that_the_kernel_does_not_take_is_an_error(setting: str) -> None:
    with pytest.raises(cwndlab.RunError, match=f"this kernel does not take {setting}"):
        cwndlab.run(transfer(options=setting), seed=1)


@pytest.mark.usefixtures("_kernel")
def test_an_application_of_the_kernel_with_a_rate_delivers_it() -> None:
    """By hand: 2 Mbit/s are 2500 bytes in each 10 ms, of which the last write is at 1.99 s; the handshake and the way
    to the receiver take 60 ms, and Nagle's algorithm may hold less than a segment for a round trip."""
    records = cwndlab.run(transfer("2 s", rate="2 Mbps"), seed=1)
    (delivered,) = records.flows["delivered_bytes"]
    assert 500_000 - 250 * 60 - 1448 <= delivered <= 500_000


@pytest.mark.usefixtures("_kernel")
def test_the_stack_says_its_release() -> None:
    found = release()
    assert found is not None
    assert cwndlab.run(transfer("1 s"), seed=1).flows["profile"].to_list() == [f"Linux {found}"]


def test_without_the_stack_there_is_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CWNDLAB_STACKS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert release() is None


@pytest.mark.usefixtures("_kernel")
def test_a_find_of_an_attack_is_repeated_between_kernels() -> None:
    """An outage of the second half of a run takes half of what a flow gets, whatever its algorithm: by hand, the
    goodputs of 8 s at 10 Mbit/s are below 5 Mbit/s, and Reno does no better in Reno's place."""
    path = {**PATH, "duration": "8 s"}
    found = replace(attack("reno", "reno", scenario=path, trials=8), events=[Event(4.0, 4.0, "outage")])
    confirmation = found.between_kernels(2)
    assert all(3e6 < one < 5e6 for one in (*confirmation.values, *confirmation.baseline))
    assert confirmation.harm.mean == 0.0, "equal seeds are equal runs"
    assert f"Linux {release()} in virtual time" in str(confirmation)


@pytest.mark.usefixtures("_kernel")
def test_a_kernel_repeats_a_retransmission_lost_before_an_undo_at_the_next_timeout() -> None:
    """The find of docs/attack.md: no byte in order for 40 s after an outage, whereas one that begins 0.2 s earlier ends
    with the outage. The simulator's flow stops after the same byte."""
    path = cwndlab.presets.load(ROOT / "examples" / "attacks" / "lost-retransmission.toml").document
    path["flow"][0]["stack"] = {"initial_receive_window": "2092735 B"}
    for start, stalls in ((0.95, True), (0.75, False)):
        schedule = [{"at": f"{start} s", "rate": "0 Mbps"}, {"at": f"{start + 13:.2f} s", "rate": "10 Mbps"}]
        path["dumbbell"]["bottleneck"]["schedule"] = schedule
        kernels, ours = (
            {row["time_ns"]: row["delivered_bytes"] for row in cwndlab.run(one, seed=1).rows("samples")}
            for one in (with_kernels(path), path)
        )
        assert (kernels[54_000_000_000] == kernels[12_000_000_000]) is stalls
        assert (ours[20_000_000_000] == ours[12_000_000_000]) is stalls
        assert ours[12_000_000_000] == kernels[12_000_000_000]


def test_an_attack_without_the_stack_says_what_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CWNDLAB_STACKS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert status(["attack", "bbr1", "--linux", "1"]) == 2
    assert "make linux" in capsys.readouterr().err
    (tmp_path / "cwndlab-stack-linux").write_text("#!/bin/sh\n")
    (tmp_path / "cwndlab-stack-linux").chmod(0o755)
    assert status(["attack", "phcc", "--linux", "1"]) == 2
    assert "the kernel has no 'phcc' of its own" in capsys.readouterr().err
