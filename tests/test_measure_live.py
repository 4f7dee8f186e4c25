"""Whole campaigns against a server on the loopback: killed, resumed, refused, left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import Server, serve
from cwndlab.live import campaign as drive
from cwndlab.live.results import Measurement
from cwndlab.live.store import place_of, read_journal

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
    return ["measure", f"https://{server.address}", *options, "--yes"]


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
    assert found.seeds == [1, 2]
    assert [row["sender_algorithm"] for row in found.rows if row["algorithm"] == "newreno"] == ["reno", "reno"]
    for number in (1, 2):
        for name in found.algorithms:
            records = cwndlab.Records.read(place_of(folder, number, name))
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
            assert (place_of(folder, number, name) / "answer.json.gz").is_file()
    page = (folder / "report.html").read_text()
    assert "bottleneck queue" not in page  # nobody saw one
    assert TOKEN not in page
    assert all(TOKEN.encode() not in file.read_bytes() for file in folder.rglob("*") if file.is_file())


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


def test_a_campaign_over_quic_has_algorithms_that_no_kernel_knows(cli: Callable[..., Called], tmp_path: Path) -> None:
    with serving(quic=True) as server:
        options = arguments(server, tmp_path / "c", algorithms="phcc,reno", rounds=1, transport="quic", bytes="200kB")
        status, _, err = cli(*options)
        assert status == 0, err
    found = Measurement.read(tmp_path / "c")
    assert found.seeds == [1]
    records = cwndlab.Records.read(place_of(tmp_path / "c", 1, "phcc"))
    assert records.flows["profile"][0] == "quic"
    assert records.flows["algorithm"][0].startswith("phcc")


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
        assert status == 1
        assert "--algorithms: the server has no 'copa'\n  hint: it offers " in err
        assert "--algorithms: the server has no 'tcp-fit'" in err
        assert "`cwndlab kernel run --algorithm tcp-fit` adds it" in err
        status, _, err = cli(*arguments(server, folder, algorithms="newreno,no-such"))
        assert status == 2
        assert "no algorithm is called 'no-such'" in err
        status, _, err = cli(*arguments(server, folder, transport="quic"))
        assert status == 1
        assert "--transport: the server offers no QUIC" in err
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
