"""Durations and sizes with units, of options of the command line; the spellings are those of scenario files."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cwndlab.errors import Fault, ScenarioError

__all__ = ["duration_s", "size_bytes"]

_DURATIONS_S = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_SIZES = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_QUANTITY = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-zµ]+)\s*")


def duration_s(text: str, option: str) -> float:
    """Seconds.

    Parameters
    ----------
    text
        A decimal number and one of ns, us, ms, s, min, h and d.
    option
        The option that has this value, for the error.

    Raises
    ------
    ScenarioError
        The text is no duration.

    Examples
    --------
    >>> duration_s("1.5 min", "--for"), duration_s("250ms", "--for")
    (90.0, 0.25)
    """
    value = _value(text, _DURATIONS_S)
    if value is None:
        raise ScenarioError(Fault(option, f"'{text}' is no time", f"write {option} '30 s'"))
    return value


def size_bytes(text: str, option: str) -> int:
    """Bytes, from 1 to 2**60.

    Parameters
    ----------
    text
        A decimal number and one of B, kB, MB, GB, TB, KiB, MiB and GiB.
    option
        The option that has this value, for the error.

    Raises
    ------
    ScenarioError
        The text is no size, or out of range.

    Examples
    --------
    >>> size_bytes("200MB", "--bytes"), size_bytes("1.5 KiB", "--bytes")
    (200000000, 1536)
    """
    value = _value(text, _SIZES)
    if value is None or not 1 <= round(value) <= 2**60:
        raise ScenarioError(Fault(option, f"'{text}' is no size", f"write {option} 200MB"))
    return round(value)


def _value(text: str, units: Mapping[str, float]) -> float | None:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in units:
        return None
    return float(match[1]) * units[match[2]]
