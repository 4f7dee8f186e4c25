"""Fields of a scenario by their paths, and values as people write them."""

from __future__ import annotations

import tomllib
from typing import Any

from cwndlab.scenario.document import toml_value

__all__ = ["plain", "shown", "split_at_commas"]


def shown(value: Any) -> str:
    """A value as a cell shows it: strings bare, tables in TOML."""
    return value if isinstance(value, str) else toml_value(value)


def plain(value: str) -> Any:
    """A value as ``--set`` takes it: TOML, or a bare string."""
    try:
        return tomllib.loads(f"v = {value}")["v"]
    except (ValueError, RecursionError):
        return value


def split_at_commas(text: str, *, empty: bool = False) -> list[str]:
    """The parts of a text between commas outside parentheses, braces and brackets; also the empty ones on request.

    >>> split_at_commas("cubic(beta=0.7, c=0.4),reno, { kind = 'red', ecn = true }")
    ['cubic(beta=0.7, c=0.4)', 'reno', "{ kind = 'red', ecn = true }"]
    >>> split_at_commas("cubic,, reno", empty=True)
    ['cubic', '', 'reno']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if empty or part.strip()]
