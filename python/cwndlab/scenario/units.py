"""Quantities outside of a scenario, such as the argument of an option: read by the engine, as a scenario's are."""

from __future__ import annotations

import json
from typing import Any

from cwndlab.engine import check
from cwndlab.errors import Fault, Parameter, ScenarioError

__all__ = ["duration_s", "size_bytes"]


def duration_s(text: str, parameter: str) -> float:
    """A time, in seconds.

    Parameters
    ----------
    text
        A number with its unit: ``ns``, ``us``, ``ms``, ``s``, ``min`` or ``h``.
    parameter
        The parameter that was given so, for the fault.

    Raises
    ------
    ScenarioError
        Where ``text`` is no time.

    Examples
    --------
    >>> duration_s("1.5 min", "warm_up"), duration_s("20ms", "warm_up")
    (90.0, 0.02)
    >>> duration_s("5", "warm_up")
    Traceback (most recent call last):
    cwndlab.errors.ScenarioError: warm_up: '5' has no unit
      hint: write '50 ms' or '10 s'
    """
    return int(_canonical({"control": {"delay": text}}, parameter)["control"]["delay_ns"]) / 1e9


def size_bytes(text: str, parameter: str) -> int:
    """An amount of data, in bytes.

    Parameters
    ----------
    text
        A number with its unit: ``B``, ``kB``, ``MB``, ``GB``, ``KiB``, ``MiB``, …
    parameter
        The parameter that was given so, for the fault.

    Raises
    ------
    ScenarioError
        Where ``text`` is no amount of data, or none at all.

    Examples
    --------
    >>> size_bytes("200MB", "bytes"), size_bytes("1.5 KiB", "bytes")
    (200000000, 1536)
    """
    return int(_canonical({"workload": {"kind": "bulk", "bytes": text}}, parameter)["workload"]["bytes_bytes"])


def _canonical(fields: dict[str, Any], parameter: str) -> dict[str, Any]:
    """The canonical form of a flow with these fields: the engine has one reader of units, that of scenarios."""
    document = {
        "schema_version": 1,
        "duration": "1 s",
        "dumbbell": {"bottleneck": {"rate": "1 Mbit/s", "delay": "1 ms"}},
        "flow": [{"algorithm": "reno", "rtt": "10 ms", **fields}],
    }
    try:
        _, canonical, _, _ = check(json.dumps(document), "json")
    except ScenarioError as error:
        fault = error.faults[0]
        raise ScenarioError(Fault(Parameter(parameter), fault.what, fault.hint)) from None
    flow: dict[str, Any] = json.loads(canonical)["flow"][0]
    return flow


def __dir__() -> list[str]:
    return __all__
