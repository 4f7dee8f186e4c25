"""Chromium without a window, driven over its DevTools protocol, for tests of pages."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# A page that takes longer is broken.
_PATIENCE_S = 120.0
#: Elements that extend beyond the page, and texts that extend beyond their figure. What scrolls in itself may be wide.
WIDE = """[...document.querySelectorAll('main *, footer, #tools *')].filter(one => {
  const box = one.getBoundingClientRect(), most = document.documentElement.clientWidth;
  const apart = one.closest('.scroll, pre, .unseen, .skip, dialog, .main-svg');
  return box.width && !apart && (box.right > most + 1 || box.left < -1);
}).map(one => one.outerHTML.slice(0, 80))"""
CUT = """[...document.querySelectorAll('.main-svg text')].filter(one => {
  const box = one.getBoundingClientRect(), place = one.closest('.chart').getBoundingClientRect();
  const beyond = [box.right - place.right, place.left - box.left, box.bottom - place.bottom, place.top - box.top];
  return box.width && one.textContent && Math.max(...beyond) > 2;
}).map(one => one.textContent)"""


class Browser:
    """One page of Chromium; every complaint of a page's script is kept in ``complaints``."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0
        self.complaints: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol, and its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(timeout=_PATIENCE_S))
            self._listen(told)
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result

    def _listen(self, told: dict[str, Any]) -> None:
        match told.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["params"]["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["params"]["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(told["params"]["args"]))
            case "Log.entryAdded" if told["params"]["entry"]["level"] in ("error", "warning"):
                self.complaints.append(str(told["params"]["entry"]))

    def say(self, script: str) -> Any:
        """The value of an expression of JavaScript."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def assert_nothing_is_cut_off(self) -> None:
        """Nothing extends beyond the page, and no text beyond its figure."""
        assert self.say("document.documentElement.scrollWidth <= innerWidth")
        assert self.say(WIDE) == []
        assert self.say(CUT) == []

    def wait(self, script: str) -> None:
        """Until the expression is true."""
        end = time.monotonic() + _PATIENCE_S
        while not self.say(script):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.02)

    def open(self, page: Path, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Opens a page and waits until its script is done."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.say("document.documentElement?.removeAttribute('data-ready')")  # where the same page is opened again
        self.ask("Page.navigate", url=page.as_uri())
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def press(self, key: str, code: int, *, shift: bool = False) -> None:
        """A key that is pressed and let go."""
        text = {"text": "\r"} if key == "Enter" else {}
        modifiers = 8 if shift else 0
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                modifiers=modifiers,
                **(text if kind == "keyDown" else {}),
            )

    def click(self, x: float, y: float) -> None:
        """A click of the left button."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        time.sleep(0.15)  # plotly looks for what is under the pointer at intervals
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is seen, or the whole page, as PNG."""
        told = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A fresh Chromium with its profile in ``folder``; the test is skipped where there is none."""
    client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed (requirements/lock.txt)")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no chromium is installed (Debian package chromium)")
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
    asked = [program, *options, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        place = folder / "DevToolsActivePort"
        end = time.monotonic() + _PATIENCE_S
        while not (place.is_file() and place.read_text(encoding="utf-8").count("\n") == 1):
            assert process.poll() is None, "chromium ended at once"
            assert time.monotonic() < end, "chromium opened no port"
            time.sleep(0.05)
        port = place.read_text(encoding="utf-8").split("\n")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page"]
        address = pages[0]["webSocketDebuggerUrl"]
        with client.connect(address, max_size=None, proxy=None) as socket:
            yield Browser(socket)
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE_S)
