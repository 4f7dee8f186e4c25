"""What can go wrong, and how it is said: where, what, what would do.

    Error
    ├── ScenarioError   what was asked makes no sense
    ├── RunError        it could not be carried out
    │   └── AlgorithmError  because an algorithm of one's own failed
    └── RecordsError    a file is unreadable, of another run or of another version
        └── OutputError     a file cannot be written

A fault of ours is none of these: it names itself and asks to be reported.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, NamedTuple

__all__ = ["AlgorithmError", "Error", "Fault", "NoRandomElementWarning", "RecordsError", "RunError", "ScenarioError"]


class Fault(NamedTuple):
    """One thing that is wrong.

    ``where`` is a field (``flow[1].rtt``), a file or a part of the program; ``what`` is in lower case, without full
    stop; ``hint`` says what would do and may be empty.
    """

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}" + (f"\n  hint: {self.hint}" if self.hint else "")


class Error(Exception):
    """The root of all errors that cwndlab raises on purpose; ``faults`` holds every fault found, not only the first.

    >>> print(ScenarioError(Fault("flow[0].rtt", "'50' has no unit", "write '50 ms'")))
    flow[0].rtt: '50' has no unit
      hint: write '50 ms'
    """

    exit_status: ClassVar[int] = 2

    def __init__(self, *faults: Fault | tuple[str, str, str]) -> None:
        self.faults = tuple(Fault(*fault) for fault in faults)
        super().__init__(*self.faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class ScenarioError(Error):
    """What was asked makes no sense: an unknown name, a missing unit, a value out of range."""


class RunError(Error):
    """What was asked could not be carried out."""

    exit_status: ClassVar[int] = 1


class NoRandomElementWarning(UserWarning):
    """Several seeds gave the same run: the scenario has no random element, so repetitions add no information."""


class AlgorithmError(RunError):
    """An algorithm of one's own ended its run; what it raised is the ``__cause__``."""


class RecordsError(Error):
    """A file or folder of records cannot be read or written."""


class OutputError(RecordsError):
    """A file or folder cannot be written."""

    exit_status: ClassVar[int] = 1


def text_of(path: Path, hint: str) -> str:
    """The text of a file that was named; raises ``ScenarioError`` with ``hint`` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        what = "there is no such file"
    except IsADirectoryError:
        what = "is a folder, not a file"
    except UnicodeDecodeError as cause:
        what = f"is no UTF-8 text (byte {cause.start})"
    except OSError as cause:
        what = f"cannot be read ({cause.strerror})"
    except ValueError as cause:
        what = f"cannot be read ({cause})"
    raise ScenarioError(Fault(str(path), what, hint))


def __dir__() -> list[str]:
    return __all__
