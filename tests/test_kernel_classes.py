"""Classes in Python inside the kernel datapath, and the watchdog seen by what it does to their connections.

`Fixed` keeps a window of eight segments, which no TCP would: a window of another size is the watchdog's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import cwndlab
import pytest
from custom_classes import Failing, Fixed, PyReno
from cwndlab.custom import Path as NetworkPath
from cwndlab.custom import Window
from cwndlab.emulation import emulate
from cwndlab.kernel import attach
from cwndlab.validation.replay import conform
from test_kernel import TIMEOUT_S, Pair, attached, emulated, pair, wait

WINDOW = 8

FILE = """\
class Fixed:
    def __init__(self, path): ...
    def on_ack(self, ack): ...
    def on_congestion(self, event): ...
    def cwnd(self): return 8


class Failing:
    def __init__(self, path): self.acks = 0
    def on_ack(self, ack):
        self.acks += 1
        if self.acks == 5:
            raise ZeroDivisionError("on purpose")
    def on_congestion(self, event): ...
    def cwnd(self): return 10
"""


SYN_WITHOUT_ANSWER = """
import fcntl, os, socket, struct, subprocess, sys
device = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", b"t0", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
subprocess.run("ip addr add 192.0.2.1/24 dev t0 && ip link set t0 up", shell=True, check=True)
near = socket.socket()
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
near.settimeout(1.5)
try:
    near.connect(("192.0.2.2", 80))
except TimeoutError as error:
    print(error)
"""


@contextmanager
def served(folder: Path, algorithm: str) -> Iterator[subprocess.Popen[str]]:
    """`cwndlab kernel run` with a class of `FILE`, once it has registered."""
    attached("reno").close()  # skips where the kernel refuses
    file = folder / "classes.py"
    file.write_text(FILE, encoding="utf-8")
    command = [sys.executable, "-m", "cwndlab", "kernel", "run", "--algorithm", algorithm]
    command += ["--algorithm-file", str(file), "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line == f"registered: cwndlab_{algorithm}\n", line + process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_class_decides_in_the_kernel() -> None:
    """By hand: the class keeps the window at its parameter, so that the kernel's window is 12 and 8 segments."""
    attached("reno").close()
    with attach(["fixed(segments=12)", Fixed], classes={"fixed": Fixed}, timeout_s=TIMEOUT_S) as datapath:
        assert [one["report"] for one in datapath.totals] == ["ack", "ack"]
        for name, window in zip(datapath.names, (12, WINDOW), strict=True):
            with pair(name) as one:
                send_until(one, window)
    for total in datapath.totals:
        assert total["connections"] == 1
        assert total["lost"] == 0
        assert total["failures"] == []
        assert total["applied"]["count"] > 0


class Recording(PyReno):
    """Records its instances, and the changes of their windows."""

    windows: ClassVar[list[list[Window]]] = []

    def __init__(self, path: NetworkPath) -> None:
        super().__init__(path)
        self.windows.append([])

    def on_window(self, window: Window) -> None:
        self.windows[-1].append(window)
        super().on_window(window)


def test_a_connection_begins_once_and_idles_from_its_last_transmission_on() -> None:
    """Linux calls the algorithm of a connecting socket before `init` (tcp_rcv_synsent_state_process: tcp_ack), and
    counts idle periods from the last transmission (cubictcp_cwnd_event: `lsndtime`), not from the last report."""
    attached("reno").close()
    Recording.windows.clear()
    with attach([Recording], report="30s", timeout_s=TIMEOUT_S) as datapath, pair(datapath.names[0]) as one:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            before = time.monotonic()
            send_to(one, one.received + 1000)
        time.sleep(0.5)
        send_to(one, one.received + 1000)
        most = time.monotonic() - before
        wait(lambda: len(Recording.windows[0]) > 1)
    assert datapath.totals[0]["connections"] == 1
    ((established, idle),) = Recording.windows
    assert (established.change, idle.change) == ("established", "idle")
    assert 0.5 <= idle.idle <= most


def test_timeouts_of_a_handshake_are_no_events_of_an_algorithm() -> None:
    """RFC 6298, rule 5.7, and Linux: the first timeout of a SYN is after 1 s. Nobody reads the device."""
    attached("reno").close()
    Recording.windows.clear()
    with attach([Recording], timeout_s=TIMEOUT_S) as datapath:
        command = [sys.executable, "-c", SYN_WITHOUT_ANSWER, datapath.names[0]]
        done = subprocess.run(["unshare", "-n", *command], capture_output=True, text=True, check=False)
        if "/dev/net/tun" in done.stderr or "unshare" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert (done.stdout, done.stderr) == ("timed out\n", "")
        total = datapath.totals[0]
    assert (total["connections"], total["reports"], sum(total["congestions"].values())) == (0, 0, 0)
    assert Recording.windows == []


def send_until(one: Pair, window: int) -> None:
    """Sends until the kernel's window is that of the decider."""
    until = time.monotonic() + 20
    while one.info()["cwnd"] != window:
        assert time.monotonic() < until, one.info()
        one.near.sendall(bytes(100_000))
        time.sleep(0.01)


def send_to(one: Pair, total: int) -> None:
    """Sends until the receiver has this many bytes."""
    one.near.sendall(bytes(total - one.received))
    wait(lambda: one.received >= total)


def test_a_class_runs_over_an_emulated_path() -> None:
    """PyReno is RFC 5681: more than half of a path with a queue of more than a bandwidth-delay product is used."""
    attached("reno").close()
    flows = [cwndlab.Flow(PyReno, rtt="30 ms")]
    path = cwndlab.Dumbbell(cwndlab.Link(rate="20 Mbps", delay="5 ms", queue=cwndlab.DropTail("80 packets")))
    records = emulated(cwndlab.Scenario(duration="4 s", dumbbell=path, flows=flows))
    (flow,) = records.rows("flows")
    assert flow["algorithm"].startswith("kernel:cwndlab_py")
    assert 8 * flow["delivered_bytes"] / 4 > 0.5 * 20e6
    assert any(note.startswith("kernel datapath: answers were in force after") for note in records.notes)


def test_an_exception_costs_no_connection_and_is_reported_once() -> None:
    attached("reno").close()
    name = "cwndlab_failing"
    with attach([Failing], timeout_s=TIMEOUT_S) as datapath, pair(name) as one, pair(name) as two:
        for connection in (one, two):
            for sent in range(1, 41):
                send_to(connection, sent * 50_000)
        wait(lambda: bool(datapath.totals[0]["failures"]))
        failures = datapath.totals[0]["failures"]
    assert len(failures) == 1
    assert failures[0].startswith("on_ack raised ZeroDivisionError: on purpose\nTraceback (most recent call last):")
    assert "custom_classes.py" in failures[0]


def test_the_command_prints_the_traceback_once_and_its_status_says_so(tmp_path: Path) -> None:
    with served(tmp_path, "failing") as process:
        for _ in range(2):
            with pair("cwndlab_failing") as one:
                for sent in range(1, 41):
                    send_to(one, sent * 50_000)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 1, err
    assert err.count("ZeroDivisionError: on purpose\nTraceback") == 1
    assert json.loads(out)[0]["connections"] == 2


def test_a_run_whose_class_fails_is_an_error() -> None:
    attached("reno").close()
    path = cwndlab.Dumbbell(cwndlab.Link(rate="20 Mbps", delay="5 ms"))
    failing = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[cwndlab.Flow(Failing, rtt="30 ms")])
    with pytest.raises(cwndlab.errors.AlgorithmError, match="algorithm 'failing': on_ack raised ZeroDivisionError"):
        emulate(failing, seed=1, accept_late=True, datapath="cwndlab")


def test_a_class_that_is_none_is_bad_input() -> None:
    with pytest.raises(cwndlab.ScenarioError, match="has no method 'cwnd'"):
        attach([type("Half", (), {"on_ack": print, "on_congestion": print})])


def test_the_program_runs_reno_while_the_decider_is_stopped_and_decisions_apply_again_later(tmp_path: Path) -> None:
    """RFC 5681: without decisions the window grows with the ACKs; a stopped process decides nothing. The class allows
    eight segments only, before and after."""
    with served(tmp_path, "fixed") as process, pair("cwndlab_fixed") as one:
        send_until(one, WINDOW)
        os.kill(process.pid, signal.SIGSTOP)
        until = time.monotonic() + 20
        while one.info()["cwnd"] <= WINDOW:
            assert time.monotonic() < until, one.info()
            one.near.sendall(bytes(1_000_000))
        os.kill(process.pid, signal.SIGCONT)
        send_until(one, WINDOW)
        one.send(1_000_000)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    row = json.loads(out)[0]
    assert row["fallbacks"] >= 1
    assert row["lost"] == 0


def test_the_program_halves_the_window_on_loss_while_the_decider_is_stopped(tmp_path: Path) -> None:
    """RFC 5681, equation 4, as Linux applies it to the window: a recovery ends with half of the window before it. The
    class never has more than eight segments, so that a larger window is that of the program. Afterwards the class
    decides again: the last window has eight segments."""
    with served(tmp_path, "fixed") as process:
        timers = [
            threading.Timer(delay_s, os.kill, (process.pid, number))
            for delay_s, number in ((2.0, signal.SIGSTOP), (5.0, signal.SIGCONT))
        ]
        for timer in timers:
            timer.start()
        try:
            path = cwndlab.Dumbbell(cwndlab.Link(rate="20 Mbps", delay="5 ms", queue=cwndlab.DropTail("20 packets")))
            flows = [cwndlab.Flow(Fixed, rtt="30 ms")]
            records = emulated(cwndlab.Scenario(duration="9 s", dumbbell=path, flows=flows))
        finally:
            for timer in timers:
                timer.join()
    (flow,) = records.rows("flows")
    mss = flow["mss_bytes"]
    events = [row for row in records.rows("events") if row["kind"] == "recovery"]
    halved = [
        row["cwnd_after_bytes"] / row["cwnd_before_bytes"] for row in events if row["cwnd_before_bytes"] > 20 * mss
    ]
    assert any(share == pytest.approx(0.5, abs=0.06) for share in halved), events
    windows = [row["cwnd_bytes"] // mss for row in records.rows("samples") if row["cwnd_bytes"] is not None]
    assert max(windows) > 2 * WINDOW
    assert windows[-1] == WINDOW
    samples = [row["delivered_bytes"] for row in records.rows("samples")]
    assert samples[-1] > samples[len(samples) * 3 // 4]


def test_a_class_conforms_in_all_backends() -> None:
    """PyReno is the built-in `reno`: the same verdicts, with the same first differences."""
    ours, builtin = conform(PyReno), conform("reno+standard")
    assert [(one.case, one.backend) for one in ours] == [(one.case, one.backend) for one in builtin]
    for one, other in zip(ours, builtin, strict=True):
        assert (one.verdict, one.windows, one.differing) == (other.verdict, other.windows, other.differing), one


def test_a_class_that_fails_in_a_replay_is_an_error() -> None:
    with pytest.raises(cwndlab.errors.AlgorithmError, match="algorithm 'failing': on_ack raised ZeroDivisionError"):
        conform(Failing)
