"""Algorithms that are classes in Python, for the tests of such algorithms."""

from __future__ import annotations

import os
from pathlib import Path

from cwndlab import Scenario
from cwndlab.custom import Ack, Congestion, Window
from cwndlab.custom import Path as NetworkPath

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_algorithm.py"


def location() -> str:
    """This file as error messages print it."""
    return os.path.relpath(__file__)


class PyReno:
    """RFC 5681 as the built-in ``reno+standard`` does it."""

    def __init__(self, path: NetworkPath) -> None:
        self.w = path.initial_cwnd
        self.ssthresh = path.initial_ssthresh

    def on_ack(self, ack: Ack) -> None:
        if ack.recovering or not ack.cwnd_limited:
            return
        n = ack.acked
        if self.w < self.ssthresh:
            room = self.ssthresh - self.w
            if n <= room:
                self.w += n
                return
            self.w = self.ssthresh
            n = int(n * ack.mss * (1 - room / n)) / ack.mss
        self.w += n / self.w

    def on_congestion(self, event: Congestion) -> None:
        if not event.repeated:
            self.ssthresh = max(event.in_flight / 2, 2)
        self.w = 1 if event.restart else self.ssthresh

    def on_window(self, window: Window) -> None:
        if window.change != "established":
            self.w = window.cwnd
        if window.ssthresh is not None:
            self.ssthresh = max(self.ssthresh, window.ssthresh)

    def cwnd(self) -> float:
        return self.w


class Fixed:
    """Only the required methods."""

    def __init__(self, path: NetworkPath, segments: int = 8, halve: bool = False) -> None:
        self.segments = segments
        self.halve = halve

    def on_ack(self, ack: Ack) -> tuple[str, str] | None:
        return None

    def on_congestion(self, event: Congestion) -> None:
        pass

    def cwnd(self) -> float:
        return self.segments / 2 if self.halve else self.segments


def in_first_flow(scenario: Scenario, kind: type) -> Scenario:
    """The scenario with the class in its first flow."""
    return scenario.with_({"flow[0].algorithm": kind})


SOURCE = """
class Mine:
    def __init__(self, path):
        self.acks = 0

    def on_ack(self, ack):
        self.acks += 1
        {on_ack}

    def on_congestion(self, event):
        pass

    def cwnd(self):
        return {cwnd}
"""


def write_class(folder: Path, *, on_ack: str = "pass", cwnd: str = "10") -> Path:
    """Writes the class to mine.py, with a statement for ``on_ack`` and an expression for ``cwnd``."""
    file = folder / "mine.py"
    file.write_text(SOURCE.format(on_ack=on_ack, cwnd=cwnd))
    return file


class Failing:
    """Raises an exception at its fifth report."""

    def __init__(self, path: NetworkPath) -> None:
        self.acks = 0

    def on_ack(self, ack: Ack) -> None:
        self.acks += 1
        if self.acks == 5:
            raise ZeroDivisionError("on purpose")

    def on_congestion(self, event: Congestion) -> None: ...

    def cwnd(self) -> float:
        return 10.0
