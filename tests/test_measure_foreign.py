"""Campaigns from web servers that are not `cwndlab serve`: ranges, redirects, robots.txt, Retry-After."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from campaigns import asked
from cwndlab.engine import serve
from cwndlab.errors import RunError, ScenarioError
from cwndlab.live import foreign as foreign_servers
from cwndlab.live.foreign import ForeignServers
from cwndlab.live.results import Measurement
from web_servers import TOKEN, Web, running

FILE = b"x" * 300_000


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    folder = tmp_path / "state"
    folder.mkdir()
    with running(Web(folder, FILE)) as server:
        yield server


class Sleeps:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def servers(self) -> ForeignServers:
        return ForeignServers(sleep=self.sleep, monotonic=lambda: self.now)


def test_requests_to_one_host_are_five_seconds_apart_and_name_the_tool(web: Web) -> None:
    clock = Sleeps()
    file = clock.servers().file(web.url("/moved"), web.trust)
    assert file == (web.url("/file"), 300_000)
    assert web.seen == [("GET", "/robots.txt"), ("HEAD", "/moved"), ("HEAD", "/file")]
    assert clock.slept == [5.0, 5.0]
    assert all(one["User-Agent"].startswith("cwndlab/") for one in web.headers)
    assert not any("Authorization" in one for one in web.headers)


def test_a_longer_crawl_delay_is_obeyed(web: Web) -> None:
    web.robots = "User-agent: *\nCrawl-delay: 9\n"
    clock = Sleeps()
    clock.servers().fetch(web.url(), size_bytes=1000, trust=web.trust, timeout_s=10.0, progress=lambda received: True)
    assert clock.slept == [9.0, 9.0]


def test_a_second_address_is_tried(web: Web) -> None:
    """Nothing listens on this port of 127.0.0.2."""
    port = web.server_address[1]
    connected = foreign_servers._connected(["127.0.0.2", "127.0.0.1"], port, 10.0)
    with connected:
        assert connected.getpeername() == ("127.0.0.1", port)


def test_retry_after_is_obeyed(web: Web) -> None:
    web.busy = 1
    clock = Sleeps()
    clock.servers().file(web.url(), web.trust)
    assert clock.slept == [5.0, 7.0]


@pytest.mark.parametrize("pause", ["3600", "10000000000000000000"])
def test_a_long_retry_after_is_an_error_and_no_further_request(web: Web, pause: str) -> None:
    """RFC 9110, 10.2.3: any number of digits."""
    web.busy, web.retry_after = 1, pause
    clock = Sleeps()
    servers = clock.servers()
    for _ in range(2):
        with pytest.raises(RunError, match=f"requests a pause of {pause} s"):
            servers.file(web.url(), web.trust)
    assert [method for method, _ in web.seen] == ["GET", "HEAD"]


def test_a_file_that_robots_txt_forbids_is_not_requested(web: Web) -> None:
    web.robots = "User-agent: *\nDisallow: /file\n"
    with pytest.raises(RunError, match=r"robots\.txt of the server forbids this file"):
        Sleeps().servers().file(web.url(), web.trust)
    assert web.seen == [("GET", "/robots.txt")]


def test_a_server_without_ranges_is_an_error(web: Web) -> None:
    web.has_ranges = False
    with pytest.raises(RunError, match="the server offers no ranges of this file"):
        Sleeps().servers().file(web.url(), web.trust)


def test_algorithms_have_no_effect_on_a_foreign_sender() -> None:
    with pytest.raises(ScenarioError, match=r"--algorithms: has no effect: the server of https://a\.example/x selects"):
        asked(servers=("https://a.example/x",))
    mixed = asked(servers=("https://a.example/x", "https://b.example"))
    assert mixed.order(1, "https://a.example/x") == ["unknown"]
    assert mixed.transfers == 2 * (1 + 3)


@pytest.mark.parametrize("is_mixed", [False, True])
def test_a_campaign(
    is_mixed: bool,
    web: Web,
    cli: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foreign_servers.ForeignServers.__init__, "__defaults__", _without_pause())
    own = serve("127.0.0.1:0", tokens=f"anna {TOKEN}\n")
    command = ["measure", web.url(), "--rounds", "2", "--bytes", "200kB", "--yes", "--trust", web.trust]
    if is_mixed:
        command += [f"https://{own.address}", "--trust", own.fingerprint, "--token", TOKEN, "--no-preflight"]
    try:
        status, out, err = cli(*command, "--out", tmp_path / "c")
    finally:
        own.stop()
    assert status == 0, err
    assert "300000 bytes, in ranges; sender: unknown" in err
    assert "unknown" in out.splitlines()[0]
    measured = Measurement.read(tmp_path / "c")
    rows = [row for row in measured.rows if row["server"] == web.url()]
    assert [(row["sender_algorithm"], row["received_bytes"]) for row in rows] == [("unknown", 200_000)] * 2
    assert all(row["goodput_bps"] > 0 and row["idle_rtt_ms"] > 0 for row in rows)
    assert len(measured.rows) == (6 if is_mixed else 2)
    assert any(note.startswith("unknown: a web server selects its congestion control") for note in measured.notes)
    assert not any("Authorization" in one for one in web.headers)


def _without_pause() -> tuple[object, ...]:
    return (0.0, *(foreign_servers.ForeignServers.__init__.__defaults__ or ())[1:])
