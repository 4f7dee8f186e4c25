"""Faults on the command line: a parameter of a function is shown as the option that sets it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from cwndlab.errors import Fault, Parameter, Usage

__all__ = ["option", "text"]

#: Options that have another name than the parameter they set, by command.
_LOGS = {"mss_bytes": "--mss", "initial_cwnd_bytes": "--initial-cwnd", "tolerance_segments": "--tolerance"}
_OPTIONS = {
    "compare": {"seeds": "--seed"},
    "report": {"format": "--figures", "thresholds": "--threshold"},
    "audit": _LOGS,
    "identify": _LOGS,
    "trace": {"kind": "KIND"},
}


def option(parameter: str, command: str = "") -> str:
    """The option of ``command`` that sets a parameter.

    >>> option("warm_up", "compare"), option("format", "report")
    ('--warm-up', '--figures')
    """
    return _OPTIONS.get(command, {}).get(parameter, f"--{parameter.replace('_', '-')}")


def text(faults: Sequence[Fault], command: str = "") -> str:
    """The faults of a command, as they are printed.

    >>> from cwndlab.errors import parameter_fault
    >>> print(text([parameter_fault("at_most", "'1' repetitions have no interval", example=50)]))
    --at-most: '1' repetitions have no interval
      hint: write --at-most 50
    """
    return "\n".join(str(_translated(fault, command)) for fault in faults)


def _translated(fault: Fault, command: str) -> Fault:
    where, what, hint = fault
    if isinstance(where, Parameter):
        where = option(where, command)
    if isinstance(hint, Usage):
        hint = f"{hint.before}write {option(hint.name, command)}{_value(hint.value)}"
    return Fault(where, what, hint)


def _value(value: Any) -> str:
    """A value as a shell takes it; an option that is set has none."""
    if value is True:
        return ""
    values = value if isinstance(value, list | tuple) else [value]
    return " " + shlex.quote(",".join(map(str, values)))
