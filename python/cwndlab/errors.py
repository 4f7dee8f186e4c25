"""Exceptions and their faults: where, what, and a hint.

    Error
    ├── ScenarioError   invalid input: an unknown name, a missing unit, a value out of range
    │   └── ArgumentError   an argument of a function: of another type, or an unknown name
    ├── RunError        a run that failed
    │   └── AlgorithmError  a custom algorithm that failed
    └── RecordsError    a file that is unreadable, of another run or of another version
        └── OutputError     a file that cannot be written

A broken invariant of the package is none of these: its message requests a bug report.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

__all__ = [
    "AlgorithmError",
    "ArgumentError",
    "Error",
    "Fault",
    "NoRandomElementWarning",
    "OneThreadWarning",
    "OutputError",
    "Parameter",
    "RecordsError",
    "RunError",
    "ScenarioError",
    "Usage",
    "parameter_fault",
]


class Parameter(str):
    """The name of a function's parameter, as the place of a fault; the command line shows its option instead.

    >>> parameter_fault("repetitions", "'0' runs nothing", example=10).where
    'repetitions'
    """

    __slots__ = ()


class Usage(str):
    """A hint that shows how a parameter is given, after another remedy if there is one; the command line shows its
    option with the same value.

    >>> parameter_fault("algorithms", "is empty", example=["cubic", "reno"]).hint
    "write algorithms=['cubic', 'reno']"
    """

    name: str
    value: Any
    before: str

    def __new__(cls, name: str, value: Any, before: str = "") -> Usage:
        """The hint ``write name=value``."""
        self = super().__new__(cls, f"{before}write {name}={value!r}")
        self.name, self.value, self.before = name, value, before
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Usage, (self.name, self.value, self.before)


Chosen = TypeVar("Chosen")


class Fault(NamedTuple):
    """One fault of an input or a run.

    Parameters
    ----------
    where
        A field (``flow[1].rtt``), a `Parameter` of the called function, a file, or a part of the program.
    what
        The fault, in lower case, without full stop.
    hint
        A remedy; may be empty.

    Examples
    --------
    >>> print(Fault("flow[0].rtt", "'50' has no unit", "write '50 ms'"))
    flow[0].rtt: '50' has no unit
      hint: write '50 ms'
    """

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}" + (f"\n  hint: {self.hint}" if self.hint else "")


def parameter_fault(name: str, what: str, *, example: Any = None, hint: str = "") -> Fault:
    """A fault of a function's parameter; the command line shows it as a fault of the option.

    Parameters
    ----------
    name
        The parameter.
    what
        The fault.
    example
        A valid value; the hint is then its `Usage`.
    hint
        A remedy, if no example is given.

    Examples
    --------
    >>> print(parameter_fault("repetitions", "'0' runs nothing", example=10))
    repetitions: '0' runs nothing
      hint: write repetitions=10
    """
    return Fault(Parameter(name), what, hint if example is None else Usage(name, example))


#: With more names than this, a hint says where they are listed.
_MOST_NAMED = 12


class Error(Exception):
    """The root of all errors that cwndlab raises on purpose; ``faults`` holds all faults, not only the first.

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
    """Invalid input: an unknown name, a missing unit, a value out of range."""


class ArgumentError(ScenarioError):
    """An argument of a function is of another type, out of range, or a name that does not exist."""


class RunError(Error):
    """A run failed."""

    exit_status: ClassVar[int] = 1


class NoRandomElementWarning(UserWarning):
    """Several seeds gave the same run: the scenario has no random element, so repetitions add no information."""


class OneThreadWarning(UserWarning):
    """Several threads were asked for, but the scenario cannot be divided among them."""


class AlgorithmError(RunError):
    """A custom algorithm failed and ended its run; its exception is the ``__cause__``."""


class RecordsError(Error):
    """A file or folder of records cannot be read or written."""


class OutputError(RecordsError):
    """A file or folder cannot be written."""

    exit_status: ClassVar[int] = 1


@contextmanager
def collected(faults: list[Fault]) -> Iterator[None]:
    """While it is open, the faults of a ``ScenarioError`` are added to ``faults`` instead.

    >>> faults = []
    >>> with collected(faults):
    ...     raise ScenarioError(Fault("duration", "is missing", "write duration = '10 s'"))
    >>> faults[0].what
    'is missing'
    """
    try:
        yield
    except ScenarioError as error:
        faults += error.faults


def text_of(path: Path, hint: str) -> str:
    """The text of a file; raises ``ScenarioError`` with ``hint`` if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        what = "there is no such file"
    except IsADirectoryError:
        what = "is a folder, not a file"
    except UnicodeDecodeError as cause:
        what = f"is not UTF-8 text (byte {cause.start})"
    except OSError as cause:
        what = f"cannot be read ({cause.strerror})"
    except ValueError as cause:
        what = f"cannot be read ({cause})"
    raise ScenarioError(Fault(str(path), what, hint))


def __dir__() -> list[str]:
    return __all__


def near(name: str, known: Sequence[str], more: str = "") -> str:
    """A hint at the name that was probably meant, then ``more``.

    Examples
    --------
    >>> from cwndlab.errors import near
    >>> near("seds", ["base", "seeds"])
    "did you mean 'seeds'?"
    """
    close = difflib.get_close_matches(name, known, n=1)
    text = f"did you mean '{close[0]}'? {more}" if close else f"there are {', '.join(known)}; {more}"
    return text.rstrip("; ")


def unknown_name(where: str, kind: str, name: object, known: Iterable[str]) -> Fault:
    """The fault of a name that does not exist; ``where`` is a place in a file, or the ``Parameter`` of a function.

    >>> print(unknown_name(Parameter("form"), "form", "latx", ["text", "latex"]))
    form: no form is called 'latx'
      hint: did you mean 'latex'?
    """
    return Fault(where, f"no {kind} is called '{name}'", near(str(name), list(known)))


def chosen(parameter: str, kind: str, name: str, known: Mapping[str, Chosen], more: str = "") -> Chosen:
    """The value of a function's parameter that is a name; raises `ArgumentError` with the near match, then ``more``.

    >>> chosen("radio", "radio", "b", {"a": 1, "b": 2})
    2
    """
    if name not in known:
        what = f"no {kind} is called '{name}'"
        raise ArgumentError(Fault(Parameter(parameter), what, near(name, list(known), more)))
    return known[name]


def unknown_metric(where: str, name: object, known: Iterable[str]) -> Fault:
    """The fault of a name that is not a metric, of which there are many.

    >>> print(unknown_metric("sweep.metrics", "speed", ["jain", "queue_ms"]))
    sweep.metrics: no metric is called 'speed'
      hint: there are jain, queue_ms
    """
    names = list(known)
    fault = unknown_name(where, "metric", name, names)
    if fault.hint.startswith("there are") and len(names) > _MOST_NAMED:
        return fault._replace(hint="`cwndlab list --metrics` lists them")
    return fault
