"""Progress of a long command: a bar on standard error, and the message after Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Stopped(Exception):  # noqa: N818
    """Ctrl-C, with what became of the runs. No ``KeyboardInterrupt``, whose text typer would drop."""


@contextmanager
def progress_bar(what: str = "runs") -> Iterator[Callable[[int, int], None]]:
    """Counts runs as they finish: a bar on standard error once there are several; on Ctrl-C, how many were done."""
    count = (0, 0)
    bar = _Bar(what) if sys.stderr.isatty() else None

    def progress(done: int, total: int) -> None:
        nonlocal count
        count = (done, total)
        if bar is not None and total > 1:
            bar.show(done, total)

    try:
        yield progress
    except KeyboardInterrupt:
        # Whatever is kept was handed back to the caller, which then does not come here.
        raise Stopped(stopped(*count, None)) from None
    finally:
        if bar is not None:
            bar.close()


def stopped(finished: int, total: int, out: Path | str | None) -> str:
    """What Ctrl-C left."""
    kept = f" are kept in {out}" if out is not None and finished > 0 else ""
    return f"stopped; {finished} of {total} runs finished{kept}"


class _Bar:
    """A progress bar with its rate and the time left, made when it is first shown."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._close: Callable[[], None] = lambda: None
        self._update: Callable[[int, int], None] | None = None

    def show(self, done: int, total: int) -> None:
        if self._update is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
            from rich.text import Text

            class Rate(ProgressColumn):
                """Runs per second, or seconds per run."""

                def render(self, task: Task) -> Text:
                    speed = task.finished_speed or task.speed
                    if not speed:
                        return Text("")
                    return Text(f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each")

            columns = (BarColumn(), MofNCompleteColumn(), self._what, Rate(), TimeRemainingColumn())
            console = Console(stderr=True)
            # What a command prints meanwhile goes where it was sent, not to the bar's terminal.
            bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, speed_estimate_period=60)
            # What was there already is no speed.
            task = bar.add_task("", total=total, completed=done)
            bar.start()
            self._close = bar.stop
            self._update = lambda done, total: bar.update(task, completed=done, total=total)
        self._update(done, total)

    def close(self) -> None:
        self._close()
