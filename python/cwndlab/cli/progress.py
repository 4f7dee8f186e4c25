"""Progress of long commands on standard error, as a bar on a terminal and as a line a minute elsewhere, and the message
after Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.cli.console import say

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

#: Seconds of the past over which a rate is taken: runs are long, bytes arrive all the time.
_RUN_PERIOD_S = 60.0
_TRANSFER_PERIOD_S = 5.0
#: Seconds between two lines where standard error is not a terminal.
_LINE_PERIOD_S = 60.0


class Stopped(Exception):  # noqa: N818
    """Ctrl-C, with the number of finished runs. Not a ``KeyboardInterrupt``, whose text typer would drop."""


@contextmanager
def progress_bar(unit: str = "runs") -> Iterator[Callable[[int, int], None]]:
    """A bar of finished runs.

    Parameters
    ----------
    unit
        What is counted, in the plural.

    Yields
    ------
    A function of the number of finished runs and their total. It shows the bar when the total is above one.

    Raises
    ------
    Stopped
        Ctrl-C within the block; the message counts the finished runs.
    """
    count = (0, 0)
    lines = _Lines(unit)
    with _bar(_run_columns, unit, period_s=_RUN_PERIOD_S) as bar:

        def update(done: int, total: int) -> None:
            nonlocal count
            count = (done, total)
            if total > 1:
                bar.show("", done, total)
                lines.show(done, total)

        try:
            yield update
        except KeyboardInterrupt:
            # Results that are kept were returned to the caller, and then no interrupt arrives here.
            raise Stopped(stopped(*count, None)) from None


@contextmanager
def transfer_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar of one transfer at a time.

    Yields
    ------
    A function of the transfer's name, the received bytes and its size in bytes.
    """
    with _bar(_transfer_columns, period_s=_TRANSFER_PERIOD_S) as bar:
        yield bar.show


def stopped(finished: int, total: int, out: Path | str | None) -> str:
    """The message after Ctrl-C."""
    kept = f" are kept in {out}" if out is not None and finished > 0 else ""
    return f"stopped; {finished} of {total} runs finished{kept}"


class _Lines:
    """A line a minute, for logs of long studies; nothing on a terminal."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._due_s = time.monotonic() + _LINE_PERIOD_S

    def show(self, done: int, total: int) -> None:
        if not sys.stderr.isatty() and done < total and time.monotonic() >= self._due_s:
            self._due_s = time.monotonic() + _LINE_PERIOD_S
            say(f"{done} of {total} {self._unit} finished")


class _Bar:
    """A bar that is created when it is first shown; without a terminal it does nothing.

    Commands print lines on standard error meanwhile: rich writes them above the bar. Standard output is not
    redirected, since it may go elsewhere.
    """

    def __init__(self, columns: Callable[..., list[ProgressColumn | str]], *arguments: str, period_s: float) -> None:
        self._columns, self._arguments, self._period_s = columns, arguments, period_s
        self._is_shown = sys.stderr.isatty()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._last = ("", 0)

    def show(self, name: str, done: int, total: int) -> None:
        if not self._is_shown:
            return
        if self._progress is None:
            self._progress = self._create()
        if self._task is None:
            # Runs of an earlier call do not count for the rate.
            self._task = self._progress.add_task(name, total=total, completed=done)
        elif name != self._last[0] or done < self._last[1]:
            self._progress.reset(self._task, description=name, total=total, completed=done)
        else:
            self._progress.update(self._task, completed=done, total=total)
        self._last = (name, done)

    def _create(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        progress = Progress(
            *self._columns(*self._arguments),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            speed_estimate_period=self._period_s,
        )
        progress.start()
        return progress

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


@contextmanager
def _bar(columns: Callable[..., list[ProgressColumn | str]], *arguments: str, period_s: float) -> Iterator[_Bar]:
    bar = _Bar(columns, *arguments, period_s=period_s)
    try:
        yield bar
    finally:
        bar.close()


def _run_columns(unit: str) -> list[ProgressColumn | str]:
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Runs per second, or seconds per run."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            if not speed:
                return Text("")
            return Text(f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each")

    return [BarColumn(), MofNCompleteColumn(), unit, Rate(), TimeRemainingColumn()]


def _transfer_columns() -> list[ProgressColumn | str]:
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    return ["{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()]
