"""Quantities outside of scenarios, such as values of options: the engine reads them, as those of scenarios."""

from __future__ import annotations

import json
import re
from typing import Any

from cwndlab.engine import check
from cwndlab.errors import Fault, Parameter, ScenarioError

__all__ = ["duration_s", "rate_bps", "size_bytes"]

_DAYS = re.compile(r"\s*([0-9.]+)\s*d\s*")


def duration_s(text: str, parameter: str) -> float:
    """A time, in seconds.

    Parameters
    ----------
    text
        A number with its unit: ``ns``, ``us``, ``ms``, ``s``, ``min``, ``h`` or ``d``.
    parameter
        The parameter that was given so, for the fault.

    Raises
    ------
    ScenarioError
        If ``text`` is not a time.

    Examples
    --------
    >>> duration_s("1.5 min", "warm_up"), duration_s("20ms", "warm_up")
    (90.0, 0.02)
    >>> duration_s("5", "warm_up")
    Traceback (most recent call last):
    cwndlab.errors.ScenarioError: warm_up: '5' has no unit
      hint: write '50 ms' or '10 s'
    """
    days = _DAYS.fullmatch(text)  # no scenario is so long that the engine would read days
    hours = f"{days[1]} h" if days else text
    return int(_flow({"control": {"delay": hours}}, parameter)["control"]["delay_ns"]) / 1e9 * (24 if days else 1)


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
        If ``text`` is not an amount of data, or none at all.

    Examples
    --------
    >>> size_bytes("200MB", "bytes"), size_bytes("1.5 KiB", "bytes")
    (200000000, 1536)
    """
    return int(_flow({"workload": {"kind": "bulk", "bytes": text}}, parameter)["workload"]["bytes_bytes"])


def rate_bps(text: str, parameter: str) -> int:
    """A rate, in bit/s.

    Parameters
    ----------
    text
        A number with its unit: ``bit/s``, ``Mbit/s``, ``Mbps``, ``MB/s``, …
    parameter
        The parameter that was given so, for the fault.

    Raises
    ------
    ScenarioError
        If ``text`` is not a rate.

    Examples
    --------
    >>> rate_bps("1.5 Mbit/s", "rate"), rate_bps("2 MB/s", "rate")
    (1500000, 16000000)
    """
    link = {"rate": text, "delay": "1 ms"}
    return int(_canonical(link, {}, parameter)["dumbbell"]["bottleneck"]["rate_bps"])


def _flow(fields: dict[str, Any], parameter: str) -> dict[str, Any]:
    """The canonical form of a flow with these fields."""
    flow: dict[str, Any] = _canonical({"rate": "1 Mbit/s", "delay": "1 ms"}, fields, parameter)["flow"][0]
    return flow


def _canonical(link: dict[str, Any], flow: dict[str, Any], parameter: str) -> dict[str, Any]:
    """The canonical form of a scenario with these fields: the engine has one reader of units, that of scenarios."""
    document = {
        "schema_version": 1,
        "duration": "1 s",
        "dumbbell": {"bottleneck": link},
        "flow": [{"algorithm": "reno", "rtt": "10 ms", **flow}],
    }
    try:
        canonical = check(json.dumps(document), "json")[1]
    except ScenarioError as error:
        fault = error.faults[0]
        raise ScenarioError(Fault(Parameter(parameter), fault.what, fault.hint)) from None
    read: dict[str, Any] = json.loads(canonical)
    return read


def __dir__() -> list[str]:
    return __all__
