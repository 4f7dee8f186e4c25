"""Downloads behind an emulated bottleneck: the server's congestion control, what is left of the machine, errors."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import serve
from cwndlab.errors import RunError
from cwndlab.live import behind
from cwndlab.live.foreign import ForeignServers

SIZE = 4_000_000
TOKEN = "0123456789abcdef" * 2
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
#: 8 Mbit/s and 40 ms: 4 MB take 4 s, and the queue overflows after a second.
BOTTLENECK = behind.BOTTLENECK | {
    "dumbbell": {"bottleneck": {"rate": "8 Mbps", "delay": "20 ms", "queue": {"capacity": "30 packets"}}},
    "flow": [{"algorithm": "cubic", "rtt": "40 ms"}],
}
_LACKING = [program for program in ("ip", "nft") if shutil.which(program, path=behind._search()) is None]
needs_uplink = pytest.mark.skipif(
    os.geteuid() != 0 or bool(_LACKING) or not Path("/dev/net/tun").exists(),
    reason="needs root, ip, nft and /dev/net/tun",
)


class Handler(BaseHTTPRequestHandler):
    """Serves zeros, in ranges."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._head(200, SIZE)

    def do_GET(self) -> None:
        if self.path == "/robots.txt":
            return self._head(404, 0)
        size = int(self.headers["Range"].rpartition("-")[2]) + 1
        self._head(206, size)
        self.wfile.write(bytes(size // 2 if self.path == "/short" else size))
        return None

    def _head(self, status: int, size: int) -> None:
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(size))
        self.end_headers()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], tuple[str, str]]]:
    """Starts a web server on all addresses with a congestion control of the kernel: its URL, and its fingerprint."""
    running: list[ThreadingHTTPServer] = []
    monkeypatch.setattr(behind, "ForeignServers", lambda: ForeignServers(interval_s=0))

    def start(control: str) -> tuple[str, str]:
        key_owner = serve("127.0.0.1:0", tokens=f"anna {TOKEN}\n", state=tmp_path)
        trust = key_owner.fingerprint
        key_owner.stop()
        pems = {("key" if b"PRIVATE" in one.read_bytes() else "certificate"): one for one in tmp_path.glob("*.pem")}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pems["certificate"], pems["key"])
        web = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
        web.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        web.socket = context.wrap_socket(web.socket, server_side=True)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        running.append(web)
        return f"https://localhost:{web.server_address[1]}", trust

    yield start
    for web in running:
        web.shutdown()
        web.server_close()


def left() -> list[str]:
    """Devices and translations of addresses on this machine that a download makes."""
    environment = os.environ | {"PATH": behind._search()}
    done = subprocess.run(["nft", "list", "tables", "ip"], env=environment, capture_output=True, text=True, check=True)
    devices = [device.name for device in Path("/sys/class/net").iterdir()]
    return [name for name in (*devices, *done.stdout.split()) if name == f"cwnd{os.getpid()}"]


@needs_uplink
def test_the_kernel_of_a_server_is_identified(
    server: Callable[[str], tuple[str, str]], tmp_path: Path, cli: Callable[..., Any]
) -> None:
    url, trust = server("reno")
    before = FORWARDING.read_text()
    capture = tmp_path / "download.pcap"
    found = behind.download_behind(
        f"{url}/file", capture, scenario=BOTTLENECK, size_bytes=SIZE, trust=trust, accept_late=True
    )
    assert (found["ended"], found["received_bytes"]) == ("complete", SIZE)
    assert found["address"].rpartition(":")[2] == url.rpartition(":")[2]
    # Twice the delay of the line, and what the queue of 30 packets adds at most: 45 ms.
    assert found["receiver"]["min_rtt_ns"] >= 40e6
    assert cwndlab.identify(capture, candidates=["reno", "bbr1", "hybla"]).best.growth == "reno"
    assert (left(), FORWARDING.read_text()) == ([], before)


@needs_uplink
def test_a_download_that_ends_early_leaves_nothing(server: Callable[[str], tuple[str, str]], tmp_path: Path) -> None:
    url, trust = server("cubic")
    before = FORWARDING.read_text()
    with pytest.raises(RunError, match="the download ended early"):
        behind.download_behind(
            f"{url}/short", tmp_path / "capture", scenario=BOTTLENECK, size_bytes=400_000, trust=trust, accept_late=True
        )
    assert (left(), FORWARDING.read_text()) == ([], before)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RunError, match=r"needs root\n.*or give a capture"):
        behind.download_behind("https://a.example/file", tmp_path / "capture")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name, path: None if name == "nft" else f"/sbin/{name}")
    with pytest.raises(RunError, match=r"it needs nft\n.*apt-get install nftables"):
        behind.download_behind("https://a.example/file", tmp_path / "capture")


def test_options_of_a_url_belong_to_a_url(cli: Callable[..., Any], tmp_path: Path) -> None:
    status, _, error = cli("identify", str(tmp_path / "log.qlog"), "--bytes", "3MB")
    assert (status, "--bytes: belongs to a URL" in error) == (2, True)
    status, _, error = cli("identify", "http://a.example/file")
    assert (status, "'http://a.example/file' is not an https address" in error) == (2, os.geteuid() == 0)


def test_every_process_has_hosts_of_its_own() -> None:
    pairs = [behind._hosts(number) for number in range(0, 32768, 511)]
    assert len({host for pair in pairs for host in pair}) == 2 * len(pairs)
    assert behind._hosts(32768) == behind._hosts(0) == ("198.18.0.1", "198.18.0.2")
