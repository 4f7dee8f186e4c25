"""Classes in Python as congestion control of the server over QUIC."""

from __future__ import annotations

import inspect
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from custom_classes import Failing, Fixed, PyReno
from cwndlab.custom import Path as NetworkPath
from cwndlab.engine import fetch
from cwndlab.errors import RunError
from serving import fetch_from, request_once, running_server, serve_command


class Broken(Failing):
    """Raises an exception in its constructor."""

    def __init__(self, path: NetworkPath) -> None:
        raise ValueError("cannot be created")


def test_a_class_decides_over_quic() -> None:
    """By hand: the class keeps the window at its parameter, so that all samples after the handshake have this window.
    quinn counts one byte more (docs/quic.md). A segment is a datagram at the time of the request: 1200 bytes, or more
    if quinn has found a larger path MTU, at most 1452 (RFC 9000, section 14.3, and quinn's limit)."""
    with running_server(quic=True, classes={"fixed": Fixed, "py-reno": PyReno}, sample_interval_s=0.01) as server:
        offered = json.loads(request_once(server, "/algorithms")[2])
        assert {"fixed", "py-reno"} <= set(offered["quic"]["algorithms"])
        assert "fixed" not in offered["tcp"]["algorithms"]
        result = fetch_from(server, 3_000_000, "fixed(segments=12)", transport="quic")
        assert (result["ended"], result["algorithm"]) == ("complete", "fixed(segments=12)")
        datagram, rest = divmod(result["sender"]["last"]["cwnd_bytes"] - 1, 12)
        assert rest == 0
        assert 1200 <= datagram <= 1452
        assert fetch_from(server, 3_000_000, "py-reno", transport="quic")["ended"] == "complete"
        assert server.take_failures() == []


def test_a_transfer_ends_where_its_class_fails() -> None:
    """It is not a measurement of the class, even if all bytes arrived. The client does not learn the server's paths."""
    file = inspect.getfile(Failing)
    reason = "on_ack raised ZeroDivisionError: on purpose"
    with running_server(quic=True, classes={"failing": Failing}) as server:
        for size in (100_000, 20_000_000):
            result = fetch_from(server, size, "failing", transport="quic")
            assert (result["ended"], result["why"]) == ("failed", reason)
            assert file not in json.dumps(result)
            (failure,) = server.take_failures()
            assert reason in failure
            assert file in failure
        assert server.counters()["failed_algorithms"] == 2
        assert fetch_from(server, 100_000, "cubic", transport="quic")["ended"] == "complete"


def test_a_request_whose_class_cannot_be_created_is_refused() -> None:
    with running_server(quic=True, classes={"broken": Broken}) as server:
        with pytest.raises(RunError, match="'broken' cannot be set: __init__ raised ValueError: cannot be created"):
            fetch_from(server, 100_000, "broken", transport="quic")
        failures = server.take_failures()
        assert failures
        assert all(__file__ in failure for failure in failures)
        assert fetch_from(server, 100_000, "cubic", transport="quic")["ended"] == "complete"


def test_the_command_serves_classes_and_prints_their_failures(tmp_path: Path) -> None:
    file = tmp_path / "classes.py"
    file.write_text(
        "class Failing:\n"
        "    def __init__(self, path): ...\n"
        "    def on_ack(self, ack): 1 / 0\n"
        "    def on_congestion(self, event): ...\n"
        "    def cwnd(self): return 10\n",
        encoding="utf-8",
    )
    with serve_command("--state", tmp_path / "state", "--quic", "--algorithm-file", file) as (process, printed):
        token, trust = printed["token of client"], printed["fingerprint"]
        url = printed["listening"]
        result = fetch(
            url, token=token, trust=trust, size_bytes=100_000, algorithm="failing", transport="quic", timeout_s=30
        )
        assert result["ended"] == "failed"
        lines: list[str] = []
        assert process.stderr is not None
        # The traceback is printed when it happens, not at the end only.
        while not lines or "ZeroDivisionError: division by zero" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        process.send_signal(signal.SIGINT)
        lines += process.stderr.readlines()
    error = "".join(lines)
    assert "an algorithm failed, and its transfer was ended: on_ack raised ZeroDivisionError: division by zero" in error
    assert f'File "{file}", line 3' in error
    assert "failed_algorithms 1" in error


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (
            [],
            "class Mine:\n    def on_ack(self, ack): ...\n    def __init__(self, path): ...\n",
            "--algorithm-file: classes are served over QUIC\n  hint: add",
        ),
        (["--quic"], "class Cubic:\n    def on_ack(self, ack): ...\n", "'cubic' is an algorithm of the catalogue"),
    ],
)
def test_a_class_that_cannot_be_served_is_refused(tmp_path: Path, options: list[str], text: str, message: str) -> None:
    methods = "    def on_congestion(self, event): ...\n    def cwnd(self): return 10\n"
    file = tmp_path / "classes.py"
    file.write_text(text + methods, encoding="utf-8")
    command = [sys.executable, "-m", "cwndlab", "serve", "--listen", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    done = subprocess.run(
        [*command, "--algorithm-file", str(file), *options], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
