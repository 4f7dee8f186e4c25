"""Checks of the plain values in the description of a study, whether it comes from a file or from Python."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from cwndlab.errors import Fault
from cwndlab.scenario.schema_tables import plain_scalar

#: Maximum nesting of tables and lists; the engine's reader of JSON has a similar limit.
MOST_LEVELS = 100
#: The number of faults shown for one list of values.
_SHOWN = 3


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a finite number.

    Examples
    --------
    >>> [is_number(value) for value in (1, 0.5, True, float("nan"), 10**400, "1")]
    [True, True, False, False, False, False]
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list of values: no string, no table, with a length (a tuple, a range, an array, a series).

    Examples
    --------
    >>> [is_list(value) for value in ([1], (), range(3), "ab", {"a": 1}, iter([]))]
    [True, True, True, False, False, False]
    """
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, str | bytes | Mapping)


def listed(values: Sequence[Any]) -> Sequence[Any]:
    """A list of values with Python's own numbers in place of NumPy's."""
    return [plain_scalar(value) for value in values]


def count(values: Sequence[Any]) -> int:
    """The length of a list, however large.

    Examples
    --------
    >>> count(range(10**30)) == 10**30
    True
    """
    if isinstance(values, range):
        return max(0, -((values.start - values.stop) // values.step))
    return len(values)


def levels(value: object) -> int:
    """How deeply tables and lists are nested in a value, counted to just beyond `MOST_LEVELS`.

    It is a loop, since a recursion over a deep value ends with ``RecursionError``.

    Examples
    --------
    >>> levels(1), levels([]), levels({"a": [1, {"b": 2}]})
    (0, 1, 3)
    """
    deepest, waiting = 0, [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MOST_LEVELS:
            return depth
        if isinstance(one, Mapping | list | tuple):
            deepest = max(deepest, depth + 1)
            waiting += [(item, depth + 1) for item in (one.values() if isinstance(one, Mapping) else one)]
    return deepest


def unsupported(value: object, where: str) -> Iterator[Fault]:
    """The faults of a value that no field of a scenario and no label can have."""
    if levels(value) > MOST_LEVELS:
        yield Fault(where, f"is nested more than {MOST_LEVELS} levels deep", "write a flatter value")
        return
    match value:
        case Mapping():
            for name, item in value.items():
                yield from unsupported(item, f"{where}.{name}")
        case list() | tuple():
            faults = [fault for index, item in enumerate(value) for fault in unsupported(item, f"{where}[{index}]")]
            yield from faults[:_SHOWN]
        case bool() | str() | type():
            return
        case int():
            if not -(2**63) <= value < 2**63:
                yield Fault(where, "is a number beyond 64 bits", "write a smaller number")
        case float():
            if not math.isfinite(value):
                yield Fault(where, f"'{value}' is not a number", "write a finite number")
        case datetime.date() | datetime.time():
            yield Fault(where, f"'{value}' is a date or a time of day", f'write "{value}" for a string')
        case _ if not hasattr(value, "to_document"):
            yield Fault(
                where, f"a value of type {type(value).__name__} has no form in TOML", "write a string or a number"
            )


def not_texts(values: object, where: str, example: str) -> Iterator[Fault]:
    """The faults of a value that should be a list of strings."""
    if not is_list(values):
        yield Fault(where, f"{short(values)} is not a list of strings", f"write {example}")
        return
    faults = [
        Fault(f"{where}[{index}]", f"{short(one)} is not a string", f"write {example}")
        for index, one in enumerate(values)
        if not isinstance(one, str)
    ]
    yield from faults[:_SHOWN]


def not_text(value: object, where: str, example: str) -> Iterator[Fault]:
    """The fault of a value that should be a string."""
    if not isinstance(value, str):
        yield Fault(where, f"{short(value)} is not a string", f"write {example}")


def short(value: object) -> str:
    """A value in a message, truncated if it is long; a string in quotes."""
    if levels(value) > MOST_LEVELS or (isinstance(value, int) and not is_number(value)):
        return "the value"
    text = f"'{value}'"
    return text if len(text) <= 60 else f"{text[:56]} …'"
