"""Fields of a scenario by their paths, and values as people write them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from cwndlab.errors import Fault, ScenarioError, near
from cwndlab.scenario.document import toml_value

__all__ = ["places", "plain", "shown", "split_at_commas"]


def places(path: str, document: Mapping[str, Any]) -> list[str]:
    """Expands ``flow[*].rtt`` to the field of every flow; a path without ``[*]`` stays as it is."""
    head, star, rest = path.partition("[*]")
    if not star:
        return [path]
    at: Any = document
    for step in head.split(".") if head else []:
        name, _, index = step.partition("[")
        at = at.get(name) if isinstance(at, Mapping) else None
        if index:
            number = re.fullmatch(r"([0-9]{1,9})\]", index)
            is_item = number is not None and isinstance(at, list) and int(number[1]) < len(at)
            at = at[int(number[1])] if number is not None and is_item else None
    if not isinstance(at, list) or not at:
        known = [name for name, value in document.items() if isinstance(value, list)]
        raise ScenarioError(Fault(path, f"'{head}' is not a list", near(head, known)))
    # Flows over UDP have no algorithm.
    skipped = [
        index
        for index, one in enumerate(at)
        if rest == ".algorithm" and isinstance(one, Mapping) and one.get("transport") == "udp"
    ]
    indices = [index for index in range(len(at)) if index not in skipped]
    return [place for index in indices for place in places(f"{head}[{index}]{rest}", document)]


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
