"""Whole campaigns against a server on the loopback: killed, resumed, refused, left alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import Server, serve
from cwndlab.live import campaign as drive
from cwndlab.live.results import Measurement
from cwndlab.live.store import read_journal, transfer_folder
from cwndlab.live.transfer_records import round_trip_ns, sender_begins_ns

TOKEN = "0123456789abcdef" * 2
Called = tuple[int, str, str]


@contextmanager
def serving(*, quic: bool = False, **limits: float) -> Iterator[Server]:
    server = serve("127.0.0.1:0", tokens=f"anna {TOKEN}\n", quic=quic, limits=limits)
    try:
        yield server
    finally:
        server.stop()


def arguments(server: Server, folder: Path, **changes: Any) -> list[str]:
    told = {"algorithms": "newreno,cubic", "rounds": 2, "bytes": "1MB", "zone": "UTC", "trust": server.fingerprint}
    told |= {"token": TOKEN, "out": folder} | changes
    options = [text for name, value in told.items() for text in (f"--{name}", str(value))]
    return ["measure", f"https://{server.address}", *options, "--yes", "--no-preflight"]


def test_a_campaign_over_the_loopback(cli: Callable[..., Called], tmp_path: Path) -> None:
    folder = tmp_path / "c"
    # 40 Mbit/s: 1 MB takes a fifth of a second.
    with serving(rate_bps=40e6) as server:
        status, out, err = cli(*arguments(server, folder))
        assert status == 0, err
        assert "the server sends with reno for newreno, cubic for cubic" in err
        assert "4 transfers of 1 MB, 0.004 GB in all" in err
        assert out.splitlines()[0].split() == ["newreno", "cubic"]
        # Once more: all is there, nothing is fetched.
        before = server.counters()["transfers"]
        status, again, _ = cli(*arguments(server, folder))
        assert (status, again, server.counters()["transfers"]) == (0, out, before)
        assert before == 4
    found = Measurement.read(folder)
    assert found.servers[0].rounds == [1, 2]
    assert [row["sender_algorithm"] for row in found.rows if row["algorithm"] == "newreno"] == ["reno", "reno"]
    for number in (1, 2):
        for name in found.algorithms:
            place = transfer_folder(folder, found.question, number, found.question.servers[0], name)
            records = cwndlab.Records.read(place)
            [flow] = records.rows("flows")
            [run] = records.rows("runs")
            assert run["engine"] == "live"
            assert flow["delivered_bytes"] == 1_000_000
            # The sender acknowledges what encrypts it, too, and sent no less.
            assert 1_000_000 <= flow["acked_bytes"] <= flow["sent_bytes"]
            assert 0 < flow["min_rtt_ns"] <= flow["mean_rtt_ns"]
            samples = records.rows("samples")
            assert samples[-1]["delivered_bytes"] == 1_000_000
            assert any(row["cwnd_bytes"] for row in samples)
            assert (place / "answer.json.gz").is_file()
    page = (folder / "report.html").read_text()
    assert "bottleneck queue" not in page  # nobody saw one
    assert TOKEN not in page
    assert all(TOKEN.encode() not in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_kernel_name_that_is_another_algorithm_in_requests(cli: Callable[..., Called], tmp_path: Path) -> None:
    """The kernel's `bbr` is `bbr1` in requests, where `bbr` is BBRv3: a campaign with `bbr1` requests `bbr1`."""
    if "bbr" not in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split():
        pytest.skip("the kernel has no bbr")
    with serving(rate_bps=40e6) as server:
        command = arguments(server, tmp_path / "c", algorithms="bbr1", rounds=1, bytes="200kB")
        status, _, err = cli(*command)
    assert status == 0, err
    assert "the server sends with bbr for bbr1" in err
    (row,) = Measurement.read(tmp_path / "c").rows
    assert (row["ended"], row["sender_algorithm"]) == ("complete", "bbr")


def test_a_campaign_keeps_an_inspection_of_its_path(cli: Callable[..., Called], tmp_path: Path) -> None:
    """Before the first transfer, once: a second run does not repeat it."""
    folder = tmp_path / "c"
    with serving(rate_bps=40e6) as server:
        command = [text for text in arguments(server, folder, rounds=1, bytes="200kB") if text != "--no-preflight"]
        status, _, err = cli(*command)
        assert status == 0, err
        assert err.index("the path is inspected before the first transfer") < err.index("round 1 of 1")
        kept = (folder / "preflight.json").read_bytes()
        status, _, err = cli(*[text.replace("1", "2") if text == "1" else text for text in command])
        assert status == 0, err
        assert "is inspected" not in err
    assert (folder / "preflight.json").read_bytes() == kept
    [found] = json.loads(kept)
    rows = read_journal(folder)
    assert found["at"] <= next(row["at"] for row in rows if row["kind"] == "begin")
    assert found["address"] == "127.0.0.1"
    assert found["rtt"][0]["method"].startswith("TCP, port ")
    assert Measurement.read(folder).preflight == [found]
    page = (folder / "report.html").read_text()
    assert "The path before the measurement" in page
    assert "Round trips without load" in page
    # A page is made also without the inspection, and a damaged one is reported.
    for damaged in (kept[:-20], json.dumps([found | {"at": "noon"}]).encode()):
        (folder / "preflight.json").write_bytes(damaged)
        status, _, err = cli("report", folder, "--report", tmp_path / "page.html")
        assert status != 0
        assert f"{folder / 'preflight.json'}: is cut off or no inspection of a path" in err
    (folder / "preflight.json").unlink()
    status, _, err = cli("report", folder)
    assert status == 0, err
    assert "The path before the measurement" not in (folder / "report.html").read_text()


def test_a_campaign_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Killed in its third transfer or so: what was finished stays as it is, the rest is fetched whole."""
    folder = tmp_path / "c"
    with serving(rate_bps=20e6) as server:
        command = [sys.executable, "-m", "cwndlab", *arguments(server, folder, rounds=2, bytes="2MB")]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 240
            while sum(row["kind"] == "transfer" for row in read_journal(folder)) < 2:
                assert time.monotonic() < end
                assert first.poll() is None
                time.sleep(0.02)
            # Another process at the same time is refused; the first one shall not be done before that is there.
            os.kill(first.pid, signal.SIGSTOP)
            other = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
            assert other.returncode == 2
            assert f"{folder}: is in use by process {first.pid}" in other.stderr
        finally:
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        kept = [row for row in read_journal(folder) if row["kind"] == "transfer"]
        assert 2 <= len(kept) < 4
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr
    rows = [row for row in read_journal(folder) if row["kind"] == "transfer"]
    assert rows[: len(kept)] == kept
    assert sorted((row["round"], row["algorithm"]) for row in rows if row["ended"] == "complete") == [
        (1, "cubic"),
        (1, "newreno"),
        (2, "cubic"),
        (2, "newreno"),
    ]
    assert all(row["received_bytes"] == 2_000_000 for row in rows)


PARAMETERS = "cubic(c=0.3, beta=0.5)"


def test_a_campaign_over_quic_has_algorithms_that_no_kernel_knows(cli: Callable[..., Called], tmp_path: Path) -> None:
    with serving(quic=True) as server:
        options = arguments(server, tmp_path / "c", algorithms=f"phcc,reno, {PARAMETERS}", rounds=1)
        status, _, err = cli(*options, "--transport", "quic", "--bytes", "200kB")
        assert status == 0, err
    found = Measurement.read(tmp_path / "c")
    assert found.servers[0].rounds == [1]
    place = transfer_folder(tmp_path / "c", found.question, 1, found.question.servers[0], "phcc")
    records = cwndlab.Records.read(place)
    assert records.flows["profile"][0] == "quic"
    assert records.flows["algorithm"][0].startswith("phcc")
    assert found.question.algorithms == ("phcc", "reno", "cubic(c=0.3,beta=0.5)")
    place = transfer_folder(tmp_path / "c", found.question, 1, found.question.servers[0], "cubic(c=0.3,beta=0.5)")
    assert cwndlab.Records.read(place).flows["algorithm"][0] == "cubic(c=0.3, beta=0.5)+hystart-pp"


def test_what_a_server_refuses_is_told_before_anything_begins(cli: Callable[..., Called], tmp_path: Path) -> None:
    with serving() as server:
        url, folder = f"https://{server.address}", tmp_path / "c"
        status, _, err = cli(*arguments(server, folder, token="wrong" * 6))
        assert (status, err.splitlines()[1:]) == (
            1,
            [f"{url}: the token is not one of the server's", "  hint: give one of them by --token"],
        )
        status, _, err = cli(*arguments(server, folder, trust="ab" * 32))
        assert status == 1
        assert (
            f"{url}: its certificate is another one (fingerprint {server.fingerprint.replace(':', '').lower()})" in err
        )
        command = [text for text in arguments(server, folder) if text not in ("--trust", server.fingerprint)]
        status, _, err = cli(*command)
        assert status == 1
        assert f"{url}: its certificate is not believed (" in err
        status, _, err = cli(*arguments(server, folder, trust=tmp_path / "none.pem"))
        assert status == 2
        assert "none.pem': No such file or directory" in err
        status, _, err = cli(*arguments(server, folder, algorithms="newreno,copa,tcp-fit"))
        assert status == 2
        assert f"--algorithms: the server {url} has no 'copa'\n  hint: it offers " in err
        assert f"--algorithms: the server {url} has no 'tcp-fit'" in err
        assert "`cwndlab kernel run --algorithm tcp-fit` adds it" in err
        status, _, err = cli(*arguments(server, folder, algorithms="newreno,no-such"))
        assert status == 2
        assert "no algorithm is called 'no-such'" in err
        status, _, err = cli(*arguments(server, folder, transport="quic"))
        assert status == 2
        assert f"--transport: the server {url} offers no QUIC" in err
        assert server.counters()["transfers"] == 0
    assert not folder.exists()


def test_a_server_that_goes_away_midway_is_told_and_the_rest_goes_on(
    cli: Callable[..., Called], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "_PAUSE_S", 0.05)
    monkeypatch.setattr(drive, "_ATTEMPTS", 2)
    folder = tmp_path / "c"
    with serving(rate_bps=20e6) as server:

        def leave() -> None:
            for _ in range(2000):
                if (rows := read_journal(folder)) and rows[-1]["kind"] == "begin":
                    break
                time.sleep(0.01)
            time.sleep(0.3)
            server.stop()

        watch = threading.Thread(target=leave)
        watch.start()
        status, _, err = cli(*arguments(server, folder, bytes="5MB"))
        watch.join()
        assert status == 1
        assert "again in 0.05 s" in err
    rows = read_journal(folder)
    assert [row["kind"] for row in rows][:3] == ["round", "begin", "transfer"]
    assert all(row["ended"] != "complete" for row in rows if row["kind"] == "transfer")
    status, out, err = cli("report", folder, "--format", "json")
    assert status == 0
    assert json.loads(out)["rows"] == []


def forward(source: socket.socket, sink: socket.socket) -> None:
    """Copies bytes until one end closes."""
    with suppress(OSError):
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)


def is_connecting(port: int) -> bool:
    """Whether a socket of this machine is in SYN-SENT (state 02 of /proc/net/tcp) towards a port."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "02" for line in lines)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc/net/tcp")
def test_a_connection_whose_syn_is_lost_has_the_clock_of_any_other() -> None:
    """Linux drops a SYN to a socket whose queue of accepted connections is full, and repeats it after 1 s. A relay with
    a queue of one connection stands between client and server."""
    with serving() as server, socket.socket() as relay, ExitStack() as opened, ThreadPoolExecutor(4) as pool:
        host, _, port = server.address.rpartition(":")
        relay.bind(("127.0.0.1", 0))
        relay.listen(0)
        relay_port = relay.getsockname()[1]
        filling = opened.enter_context(socket.create_connection(("127.0.0.1", relay_port)))
        fetched = pool.submit(
            cwndlab.engine.fetch,
            f"https://127.0.0.1:{relay_port}",
            token=TOKEN,
            algorithm="reno",
            size_bytes=100_000,
            trust=server.fingerprint,
        )
        while not (is_connecting(relay_port) or fetched.done()):
            time.sleep(0.005)
        accepted, _ = relay.accept()
        accepted.close()
        filling.close()
        client = opened.enter_context(relay.accept()[0])
        behind = opened.enter_context(socket.create_connection((host, int(port))))
        pool.submit(forward, client, behind)
        pool.submit(forward, behind, client)
        answer = fetched.result()
    assert answer["ended"] == "complete"
    assert answer["connect_ns"] >= 1_000_000_000
    assert round_trip_ns(answer) < 500_000_000
    assert sender_begins_ns(answer) - answer["handshake_ns"] < 250_000_000
