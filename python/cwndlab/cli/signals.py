"""How the command line ends on SIGINT (Ctrl-C) and SIGTERM.

A signal that is ignored when the process starts stays ignored: a shell without job control starts background jobs with
SIGINT ignored (POSIX.1-2024, Shell Command Language, 2.11), and `nohup` and supervisors rely on it. A first signal that
is not ignored raises ``KeyboardInterrupt`` in the main thread, and the command keeps what is finished. A second one
ends the process at once, by the signal's default action.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

#: Signals that end a command in order.
ENDING = (signal.SIGINT, signal.SIGTERM)

#: After so many seconds an interrupt that was lost is raised again.
_AGAIN_S = 0.01

_received: int | None = None
_postponing = False
_pending = False


def install() -> None:
    """Takes over the signals that are not ignored; for the main thread of the command line."""
    ignored = {one for one in ENDING if is_ignored(one)}
    # Polars takes over SIGINT on import, even if it was ignored; a blocked signal has no effect.
    signal.pthread_sigmask(signal.SIG_BLOCK, ignored)
    for one in ENDING:
        if one not in ignored and not received():
            signal.signal(one, _interrupt)
    sys.unraisablehook = _unraisable


def is_ignored(number: signal.Signals) -> bool:
    """Whether the process ignores this signal, as it does in the background of a shell without job control."""
    return signal.getsignal(number) is signal.SIG_IGN or number in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def status() -> int:
    """The exit status after an interrupt, as shells report it: 128 + the signal's number."""
    return 128 + int(_received or signal.SIGINT)


def received() -> bool:
    """Whether an interrupt has come."""
    return _received is not None


@contextmanager
def postponed() -> Generator[None]:
    """Raises an interrupt that comes within the block at its end, so that two statements take effect together.

    The second interrupt still ends the process at once.

    Examples
    --------
    >>> printed, rows = 0, ["a row"]
    >>> with postponed():
    ...     print(rows[printed])
    ...     printed += 1
    a row
    """
    global _postponing, _pending
    _postponing = True
    try:
        yield
    finally:
        _postponing = False
    if _pending:
        _pending = False
        raise KeyboardInterrupt


def leave(status: int) -> NoReturn:
    """Ends the process now. Threads that still compute are not waited for."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(status)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    global _received, _pending
    if number != signal.SIGALRM:
        _received = number
        for one in ENDING:
            if not is_ignored(one):
                signal.signal(one, signal.SIG_DFL)
    if not _postponing:
        raise KeyboardInterrupt
    _pending = True


def _unraisable(problem: sys.UnraisableHookArgs) -> None:
    """An interrupt that comes within a finaliser or a callback of weak references is dropped there; it is raised again
    as soon as the interpreter has left it."""
    main = threading.current_thread() is threading.main_thread()
    if _received is None or problem.exc_type is not KeyboardInterrupt or not main:
        sys.__unraisablehook__(problem)
        return
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
