"""Firefox without a window, driven over WebDriver BiDi (W3C), with the same commands as ``browser.Browser``."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("firefox", "firefox-esr")
# A page that takes longer is broken.
_PATIENCE_S = 120.0


class Firefox:
    """One page of Firefox; every complaint of a page's script is kept in ``complaints``."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0
        self.complaints: list[str] = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        tree = self.ask("browsingContext.getTree")
        self._context = tree["contexts"][0]["context"]

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol, and its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(timeout=_PATIENCE_S))
            if told.get("method") == "log.entryAdded" and told["params"]["level"] in ("error", "warn"):
                self.complaints.append(str(told["params"]["text"]))
            if told.get("id") == self._number:
                assert told["type"] == "success", told
                result: dict[str, Any] = told["result"]
                return result

    def say(self, script: str) -> Any:
        """The value of an expression of JavaScript, by way of JSON."""
        told = self.ask(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({script})))()",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert told["type"] == "success", told
        text = told["result"].get("value")
        return None if text is None else json.loads(text)

    def wait(self, script: str) -> None:
        """Until the expression is true."""
        end = time.monotonic() + _PATIENCE_S
        while not self.say(script):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.02)

    def open(self, address: str) -> None:
        """Opens a page and waits until its script is done."""
        self.ask("browsingContext.navigate", context=self._context, url="about:blank", wait="complete")
        self.ask("browsingContext.navigate", context=self._context, url=address, wait="complete")
        self.wait("document.documentElement?.dataset.ready === 'yes'")


@contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """A fresh Firefox with its profile in ``folder``; the test is skipped where there is none."""
    client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed (requirements/lock.txt)")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no firefox is installed (Debian package firefox-esr)")
    options = ("--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(folder))
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        place = folder / "WebDriverBiDiServer.json"
        end = time.monotonic() + _PATIENCE_S
        while not (place.is_file() and place.read_text(encoding="utf-8").endswith("}")):
            assert process.poll() is None, "firefox ended at once"
            assert time.monotonic() < end, "firefox opened no port"
            time.sleep(0.05)
        server = json.loads(place.read_text(encoding="utf-8"))
        address = f"ws://{server['ws_host']}:{server['ws_port']}/session"
        with client.connect(address, max_size=None, proxy=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE_S)
