"""Our algorithms inside the kernel's TCP. Function is asserted, timing is not; skips where it may not be tried.

The pitfalls are those of switching, selecting and repairing that were met when this was tried out first.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cwndlab
import numpy as np
import pytest
from cwndlab.emulation import emulate
from cwndlab.engine import entries
from cwndlab.gym import Action, Layer, Observation, Policy
from cwndlab.kernel import Attached, attach, ecn_limits
from cwndlab.records import Records
from cwndlab.scenario.queues import StepEcn
from programs import finish, start_ignoring_sigint

#: Names are the machine's: another test run may have them for a while.
TIMEOUT_S = 60.0
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def available() -> list[str]:
    return AVAILABLE.read_text(encoding="ascii").split()


def attached(*algorithms: str, report: str | None = None) -> Attached:
    """Registers, or skips with what is missing."""
    if not sys.platform.startswith("linux"):
        pytest.skip("struct_ops is Linux'")
    pytest.importorskip("cwndlab_kernel", reason="cwndlab_kernel is not installed: it wants clang and libelf-dev")
    if os.geteuid() != 0:
        pytest.skip("registering with the kernel requires root")
    if not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("this kernel has no BTF")
    try:
        return attach(algorithms, report=report, timeout_s=TIMEOUT_S)
    except cwndlab.RunError as error:
        if "the kernel rejected the program" in str(error) and "ermission" in str(error):
            pytest.skip(str(error))
        raise


def emulated(question: cwndlab.Scenario) -> Records:
    try:
        return emulate(question, seed=1, accept_late=True, datapath="cwndlab")
    except cwndlab.RunError as error:
        if "unshare" in str(error) or "/dev/net/tun" in str(error):
            pytest.skip(str(error))
        raise


def scenario(*algorithms: str, duration: str = "4 s", queue: str = "80 packets") -> cwndlab.Scenario:
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="5 ms", queue=cwndlab.DropTail(queue))
    flows = [cwndlab.Flow(name, rtt="30 ms") for name in algorithms]
    return cwndlab.Scenario(duration=duration, dumbbell=cwndlab.Dumbbell(bottleneck), flows=flows)


class Pair:
    """A connection over loopback whose receiver takes all."""

    def __init__(self, algorithm: str, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, 0), family=family)
        self.near = socket.socket(family)
        self.choose(algorithm)
        self.near.connect(listener.getsockname())
        self.far, _ = listener.accept()
        listener.close()
        self.received = 0
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        while data := self.far.recv(1 << 18):
            self.received += len(data)

    def choose(self, algorithm: str) -> None:
        self.near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())

    @property
    def algorithm(self) -> str:
        return self.near.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()

    def info(self) -> dict[str, int]:
        """`struct tcp_info`: the fields that are asked for here."""
        raw = self.near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        words = struct.unpack_from("<24I", raw, 8)
        return {"mss": words[2], "rtt_us": words[15], "ssthresh": words[17], "cwnd": words[18]} | {
            "pacing_Bps": struct.unpack_from("<Q", raw, 104)[0]
        }

    def send(self, count: int) -> None:
        self.near.settimeout(10)
        self.near.sendall(bytes(count))
        wait(lambda: self.received >= count)

    def close(self) -> None:
        self.near.close()
        self._thread.join()
        self.far.close()


@contextmanager
def pair(algorithm: str) -> Iterator[Pair]:
    one = Pair(algorithm)
    try:
        yield one
    finally:
        one.close()


def wait(is_done: Callable[[], bool], within_s: float = 20.0) -> None:
    until = time.monotonic() + within_s
    while not is_done():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.01)


@pytest.mark.parametrize(("host", "named"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_a_connection_has_its_peer_and_what_was_acknowledged(host: str, named: str) -> None:
    """The peer is that of getpeername(2), of IPv6 in brackets (RFC 3986, section 3.2.2); a SYN is no data."""
    if host == "::1" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this kernel has no IPv6")
    with attached("reno") as datapath:
        pair = Pair("cwndlab_reno", host)
        try:
            pair.send(100_000)
            local, remote = pair.near.getsockname()[1], pair.near.getpeername()[1]
            flow = next(flow for flow in datapath.flows if flow["local_port"] == local)
            assert flow["remote"] == f"{named}:{remote}"
            wait(lambda: datapath.flows[0]["delivered_bytes"] >= 100_000)
            assert datapath.flows[0]["delivered_bytes"] == 100_000
        finally:
            pair.close()


def test_a_name_is_the_kernels_as_long_as_it_is_attached() -> None:
    with attached("phcc", "reno") as datapath:
        assert datapath.names == ["cwndlab_phcc", "cwndlab_reno"]
        assert set(datapath.names) <= set(available())
        with pytest.raises(cwndlab.RunError, match=rf"'cwndlab_reno' is registered already, by process {os.getpid()}"):
            attach(["reno"])
        with pair("cwndlab_phcc") as one, pair("cwndlab_reno") as two:
            one.send(1_000_000)
            two.send(1_000_000)
            assert {flow["algorithm"] for flow in datapath.flows} == {"phcc", "reno"}
        wait(lambda: not datapath.flows)
    assert not set(datapath.names) & set(available())
    assert [one["connections"] for one in datapath.totals] == [1, 1]
    assert [one["lost"] for one in datapath.totals] == [0, 0]
    assert all(one["applied"]["count"] > 0 and not one["failures"] for one in datapath.totals)


def test_what_cannot_be_registered_is_said() -> None:
    pytest.importorskip("cwndlab_kernel")
    with pytest.raises(cwndlab.RunError, match=r"--algorithm: 'rcp' needs router assistance \(rcp\)"):
        attach(["rcp"])
    # The kernel's recovery does not restart slow start (tcp_enter_recovery), which is what Tahoe is.
    with pytest.raises(cwndlab.RunError, match=r"--algorithm: 'reno\+standard/tahoe' restarts slow start at each loss"):
        attach(["tahoe"])
    with pytest.raises(cwndlab.ScenarioError, match="did you mean 'cubic'"):
        attach(["cubik"])
    with pytest.raises(cwndlab.ScenarioError, match="--report: 'often' is not a report schedule"):
        attach(["reno"], report="often")


def test_without_the_module_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cwndlab_kernel", None)
    with pytest.raises(cwndlab.RunError, match=r"cwndlab_kernel is not installed\n  hint: .*clang, pkg-config and lib"):
        attach(["reno"])


def test_a_socket_that_changes_over_does_not_keep_the_rate_of_its_first_algorithm() -> None:
    """Pitfall 1. Linux, tcp_update_pacing_rate: mss · cwnd / srtt, twice in slow start."""
    if "bbr" not in available():
        pytest.skip("this kernel has no bbr")
    with attached("reno"), pair("bbr") as one:
        one.send(200_000)
        stale = one.info()["pacing_Bps"]
        one.choose("cwndlab_reno")
        now = one.info()
        rule = [factor * now["mss"] * now["cwnd"] * 1e6 / now["rtt_us"] for factor in (1.2, 2.0)]
        # The kernel keeps the round-trip time to an eighth of a microsecond and tells whole ones.
        assert any(now["pacing_Bps"] == pytest.approx(rate, rel=1.5 / now["rtt_us"] + 0.01) for rate in rule), stale
        one.send(400_000)


def test_users_without_rights_may_choose_it() -> None:
    """Pitfall 2: without TCP_CONG_NON_RESTRICTED this is EPERM."""
    choose = "import os,socket; os.setuid(65534); s=socket.socket(); s.setsockopt(6,13,b'cwndlab_reno')"
    with attached("reno"):
        subprocess.run([sys.executable, "-c", choose], check=True)


def test_the_window_falls_by_the_deciders_answer_and_the_loss_is_repaired() -> None:
    """Pitfall 3: with a `cong_control` the recovery is the program's; `set_state` tells what begins, not what was."""
    falls: list[float] = []
    # The program halves the window until the answer comes, which a loaded machine may delay in all events of a run.
    while len(falls) < 12 and not any(fall == pytest.approx(0.7, abs=0.06) for fall in falls):
        with attached("cubic-linux") as datapath:
            records = emulated(scenario("cubic-linux", queue="20 packets"))
        flow = records.flows.row(0, named=True)
        heard = datapath.totals[0]["congestions"]
        assert heard["loss"] >= flow["recoveries"] > 0
        assert heard["timeout"] == flow["timeouts"]
        # CUBIC leaves 0.7 of the window: after a recovery the threshold is that share of the window before.
        events = [row for row in records.rows("events") if row["kind"] == "recovery"]
        falls += [row["cwnd_after_bytes"] / row["cwnd_before_bytes"] for row in events]
        assert events
    assert any(fall == pytest.approx(0.7, abs=0.06) for fall in falls), falls
    assert 8 * flow["delivered_bytes"] / 4 > 0.6 * 20e6


def test_a_name_can_be_taken_again_while_connections_of_before_live_on() -> None:
    """Pitfall 6: nothing holds the name but the registration; sockets choose it one by one."""
    with attached("reno"), pair("cwndlab_reno") as one:
        one.send(100_000)
    for _ in range(2):
        with attached("reno") as first:
            old = Pair("cwndlab_reno")
            old.send(100_000)
        assert "cwndlab_reno" not in available()
        with attached("reno") as second, pair("cwndlab_reno") as new:
            new.send(100_000)
            old.send(300_000)
            assert [len(first.totals), second.totals[0]["connections"]] == [1, 1]
        old.close()


def test_a_run_registers_what_it_asks_for_and_notes_how_late_answers_were() -> None:
    attached("bic", "cubic").close()
    records = emulated(scenario("bic", "cubic", duration="2 s"))
    assert [row["algorithm"] for row in records.rows("flows")] == ["kernel:cwndlab_bic", "kernel:cwndlab_cubic"]
    line = next(note for note in records.notes if note.startswith("kernel datapath: "))
    assert "answers were in force after" in line
    assert "lost reports: 0" in line
    assert "cwndlab_bic" not in available()


@pytest.mark.parametrize("algorithm", ["dctcp", "prague"])
def test_algorithms_that_need_ecn_get_the_echo_of_their_marks(algorithm: str) -> None:
    """RFC 3168, 6.1.2: the sender reduces by the echo of a mark, so that a queue that marks at 20 of 200 packets drops
    none. A sender with ECT whose peer has refused ECN would fill it."""
    attached(algorithm).close()  # skips where the kernel refuses
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="5 ms", queue=StepEcn(capacity="200 packets", mark_above=20))
    flow = cwndlab.Flow(algorithm, rtt="30 ms")
    records = emulated(cwndlab.Scenario(duration="4 s", dumbbell=cwndlab.Dumbbell(bottleneck), flows=[flow]))
    (row,) = records.rows("flows")
    (link,) = (one for one in records.rows("links") if one["marked_packets"])
    assert row["ecn_reductions"] > 0
    assert link["dropped_packets"] == 0


def test_the_limits_of_ecn_in_the_kernel_are_named() -> None:
    """include/net/tcp_ecn.h: 2 accepts ECN and requests none, 1 requests the classic form, 3 Accurate ECN."""
    assert ecn_limits(["pacing"], "0") == []
    assert [len(ecn_limits(["ecn"], value)) for value in ("2", "1", "3")] == [2, 1, 0]
    (only,) = ecn_limits(["l4s", "pacing"], "3")
    assert "ECT(0)" in only


def test_a_policy_decides_in_the_kernel() -> None:
    """By hand: the policy multiplies the initial window of 10 by 2^0.2 per round trip, up to 60."""
    layer = Layer(np.zeros((1, 5)), [0.2], "linear")
    policy = Policy([layer], Observation("plain", history=1), Action("power-window", highest=60))
    attached("reno").close()  # skips where the kernel refuses
    document = json.loads(scenario("reno", queue="200 packets").to_json())
    document["flow"][0]["algorithm"] = "grows"
    records = emulated(cwndlab.Scenario.from_json(json.dumps({**document, "algorithms": {"grows": policy.algorithm}})))
    assert records.rows("flows")[0]["algorithm"] == "kernel:cwndlab_grows"
    assert records.rows("samples")[-1]["cwnd_bytes"] // 1448 == 60


def served(*options: str) -> subprocess.Popen[str]:
    """The command line as a process of its own, once it has registered."""
    attached("reno").close()  # skips, and waits for the name
    command = [sys.executable, "-m", "cwndlab", "kernel", "run", "--algorithm", "reno", "--format", "json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line == "registered: cwndlab_reno\n", line + process.stderr.read()
    return process


def test_killing_the_decider_costs_no_connection() -> None:
    """The program's watchdog runs Reno for connections that are open, and its name is gone for new ones."""
    process = served()
    timer = threading.Timer(2.0, lambda: os.kill(process.pid, signal.SIGKILL))
    timer.start()
    try:
        records = emulated(scenario("reno", duration="6 s"))
    finally:
        timer.cancel()
        process.kill()
        process.communicate()
    samples = [(row["time_ns"], row["delivered_bytes"]) for row in records.rows("samples")]
    before, after = (max((bytes_ for at, bytes_ in samples if at <= end), default=0) for end in (3e9, 6e9))
    assert 8 * (after - before) / 3 > 0.5 * 20e6
    assert "cwndlab_reno" not in available()


def test_an_ignored_sigint_does_not_end_it_and_sigterm_does() -> None:
    """As of every verb; SIGTERM is an ordinary end of this one."""
    attached("reno").close()  # skips, and waits for the name
    process = start_ignoring_sigint("kernel", "run", "--algorithm", "reno", "--format", "json")
    assert process.stderr is not None
    assert process.stderr.readline() == "registered: cwndlab_reno\n"
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    process.terminate()
    out, err = finish(process)
    assert process.returncode == 0, err
    assert [row["name"] for row in json.loads(out)] == ["cwndlab_reno"]


def test_the_watchdog_hands_back_when_answers_come_again() -> None:
    process = served("--for", "60 s")
    try:
        with pair("cwndlab_reno") as one:
            one.send(500_000)
            os.kill(process.pid, signal.SIGSTOP)
            until = time.monotonic() + 0.5
            while time.monotonic() < until:
                one.near.sendall(bytes(50_000))
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGCONT)
            wait(lambda: one.info()["cwnd"] > 0)
            time.sleep(0.2)
            for _ in range(20):
                one.near.sendall(bytes(50_000))
                time.sleep(0.01)
        process.terminate()
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, err
    row = json.loads(out)[0]
    assert row["fallbacks"] >= 1
    assert row["lost"] == 0
    assert "cwndlab_reno" not in available()


def exchange(algorithm: str, count: int, *, before_close: Callable[[], None] = lambda: None) -> None:
    """A connection over loopback with `count` bytes in each direction, one after another; each has its own ACK."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as near:
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        near.settimeout(10)
        near.connect(listener.getsockname())
        far, _ = listener.accept()
        with far:
            for _ in range(count):
                near.sendall(b"x")
                far.sendall(far.recv(1))
                near.recv(1)
            before_close()
            # An abort leaves no port in TIME-WAIT (RFC 9293, section 3.10.5).
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_old_connections_take_no_slots_from_new_ones() -> None:
    """The table has 4096 slots. 150 connections stay open while more than 4096 others come and go."""
    with attached("reno") as datapath:

        def churn() -> None:
            for _ in range(4_200):
                exchange("cwndlab_reno", 0)

        def hold(left: int) -> None:
            exchange("cwndlab_reno", 0, before_close=churn if left == 1 else lambda: hold(left - 1))

        hold(150)
        row = datapath.totals[0]
        assert (row["connections"], row["refused"]) == (4_350, 0)


def test_a_connection_outlives_a_full_ring() -> None:
    """The ring of 1 MiB holds 8192 reports of 120 bytes with their headers of 8 bytes (the kernel's
    Documentation/bpf/ringbuf.rst). A stopped decider reads none of 10,000; then it goes on."""
    process = served("--report", "ack", "--for", "60 s")

    def stop() -> None:
        os.kill(process.pid, signal.SIGSTOP)

    try:
        with pair("cwndlab_reno") as one:
            one.send(100_000)
            stop()
            exchange("cwndlab_reno", 10_000)  # its end has no room in the ring either
            os.kill(process.pid, signal.SIGCONT)
            one.send(2_000_000)
            exchange("cwndlab_reno", 100)
        process.terminate()
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, err
    row = json.loads(out)[0]
    assert row["lost"] > 1_000
    assert row["connections"] == 3


def in_the_kernel() -> list[str]:
    """Every growth and whole algorithm that asks no router, and every slow start of that kind in front of Reno."""
    alone = [one for one in entries() if not any(need.startswith("agent") for need in one["needs"])]
    growths = [one["name"] for one in alone if one["kind"] in ("growth", "whole")]
    starts = [one for one in alone if one["kind"] == "slow-start" and one["name"] != "standard"]
    return growths + [f"reno+{one['name']}" for one in starts if all(name != "reno" for name, _ in one["incompatible"])]


BATCH = 8


@pytest.mark.parametrize("batch", range(-(-len(in_the_kernel()) // BATCH)))
def test_every_algorithm_works_in_the_kernel(batch: int) -> None:
    """Data flows under all of them at once, the window in force is the decider's, no report is lost, all end well."""
    names = in_the_kernel()[batch * BATCH : (batch + 1) * BATCH]
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    over = threading.Event()
    with attached(*names) as datapath:

        def look() -> None:
            while not over.wait(0.02):
                for flow in datapath.flows:
                    seen[flow["algorithm"]].append(flow)

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            records = emulated(scenario(*names, duration="3 s", queue="200 packets"))
        finally:
            over.set()
            watcher.join()
        totals = datapath.totals
    for name, flow, total in zip(names, records.rows("flows"), totals, strict=True):
        assert flow["algorithm"] == f"kernel:{total['name']}"
        # What its acknowledgements released: more than the initial window of ten segments of 1448 bytes (RFC 6928).
        # Its share of the line is not judged: eight flows start together, and which one loses is chance.
        assert flow["delivered_bytes"] > 14_480, name
        assert total["lost"] == total["refused"] == 0, name
        assert total["failures"] == [], name
        assert total["connections"] == 1, name
        assert total["applied"]["count"] > 0, name
        assert 0 < total["applied_at_next"] <= total["applied"]["count"], name
        assert total["fallbacks"] == 0 or total["applied"]["max_ns"] > 50e6, name
        looks = seen[name]
        assert looks, name
        # Open, and no answer outstanding between the look at one and the look at the other: the same window.
        equal = [one["cwnd_segments"] == one["window_segments"] for one in looks if one["state"] == 0]
        assert sum(equal) > 0.5 * len(equal), name
