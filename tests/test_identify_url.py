"""Downloads behind an emulated bottleneck: the server's congestion control, what is left of the machine, errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import RunError
from cwndlab.live import behind
from cwndlab.live.foreign import ForeignServers
from web_servers import Web, running

SIZE = 4_000_000
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
#: 8 Mbit/s and 40 ms: 4 MB take 4 s, and the queue overflows after a second.
BOTTLENECK = behind.BOTTLENECK | {
    "dumbbell": {"bottleneck": {"rate": "8 Mbps", "delay": "20 ms", "queue": {"capacity": "30 packets"}}},
    "flow": [{"algorithm": "cubic", "rtt": "40 ms"}],
}
_LACKING = [program for program in ("ip", "nft") if shutil.which(program, path=behind._search()) is None]
Start = Callable[[str], Web]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a web server on all addresses with a congestion control of the kernel. Requests are at once."""
    if os.geteuid() != 0 or _LACKING or not Path("/dev/net/tun").exists():
        pytest.skip("needs root, ip, nft and /dev/net/tun")
    monkeypatch.setattr(behind, "ForeignServers", lambda: ForeignServers(interval_s=0))
    with ExitStack() as stack:
        yield lambda control: stack.enter_context(
            running(Web(tmp_path, bytes(SIZE), address="0.0.0.0", control=control))
        )


def download(web: Web, file: Path, size_bytes: int = SIZE) -> dict[str, Any]:
    """A download behind `BOTTLENECK`; a busy machine is no failure."""
    url = web.url(host="localhost")
    return behind.download_behind(
        url, file, scenario=BOTTLENECK, size_bytes=size_bytes, trust=web.trust, accept_late=True
    )


def left() -> list[str]:
    """Devices and translations of addresses on this machine that a download makes."""
    environment = os.environ | {"PATH": behind._search()}
    done = subprocess.run(["nft", "list", "tables", "ip"], env=environment, capture_output=True, text=True, check=True)
    devices = [device.name for device in Path("/sys/class/net").iterdir()]
    return [name for name in (*devices, *done.stdout.split()) if name == f"cwnd{os.getpid()}"]


def test_the_kernel_of_a_server_is_identified(start: Start, tmp_path: Path) -> None:
    web, before, capture = start("reno"), FORWARDING.read_text(), tmp_path / "download.pcap"
    found = download(web, capture)
    assert (found["ended"], found["received_bytes"]) == ("complete", SIZE)
    assert found["address"] == f"127.0.0.1:{web.server_address[1]}"
    # Twice the delay of the line, and what the queue of 30 packets adds at most: 45 ms.
    assert found["receiver"]["min_rtt_ns"] >= 40e6
    assert cwndlab.identify(capture, candidates=["reno", "bbr1", "hybla"]).best.growth == "reno"
    assert (left(), FORWARDING.read_text()) == ([], before)


def test_a_download_that_ends_early_leaves_nothing(start: Start, tmp_path: Path) -> None:
    web, before = start("cubic"), FORWARDING.read_text()
    web.is_cut = True
    with pytest.raises(RunError, match="the download ended early"):
        download(web, tmp_path / "capture", 400_000)
    assert (left(), FORWARDING.read_text()) == ([], before)


def test_a_busy_server_is_asked_again_over_the_same_path(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, uplink = start("cubic"), behind._uplink
    web.retry_after = "0"

    def busy_uplink(*arguments: Any) -> AbstractContextManager[None]:
        web.busy = 1
        return uplink(*arguments)

    monkeypatch.setattr(behind, "_uplink", busy_uplink)
    assert download(web, tmp_path / "capture", 100_000)["ended"] == "complete"
    assert [method for method, path in web.seen if path == "/file"] == ["HEAD", "GET", "GET"]


def test_downloads_at_a_time_leave_the_forwarding_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """ip-sysctl.rst: `ip_forward` is one setting of the machine. It is 0 before; a second download that begins during
    the first has it until its own end, and then it is 0."""
    forwarding = tmp_path / "ip_forward"
    forwarding.write_text("0")
    monkeypatch.setattr(behind, "_FORWARDING", forwarding)
    monkeypatch.setattr(behind, "_LOCK", tmp_path / "run" / "lock")
    begins, seen = threading.Event(), []

    def second() -> None:
        begins.set()
        with behind._forwarding():
            seen.append((is_first_over, forwarding.read_text()))

    thread, is_first_over = threading.Thread(target=second), False
    with behind._forwarding():
        thread.start()
        begins.wait()
        time.sleep(0.1)
        assert forwarding.read_text() == "1"
        is_first_over = True
    thread.join()
    assert (seen, forwarding.read_text()) == ([(True, "1")], "0")


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
