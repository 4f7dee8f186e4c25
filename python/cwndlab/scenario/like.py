"""What functions take as a scenario: a `Scenario`, plain values, the name of a preset, or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from cwndlab.custom import Classes
from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.scenario import presets
from cwndlab.scenario.document import Scenario

__all__ = ["ScenarioLike", "scenario_of"]

#: A scenario, plain values in the shape of its TOML, the name of a preset, or a file of TOML or JSON.
ScenarioLike: TypeAlias = Scenario | Mapping[str, Any] | str | Path


def scenario_of(like: ScenarioLike, *, algorithms: Classes | None = None, parameter: str = "scenario") -> Scenario:
    """The scenario that an argument means.

    Parameters
    ----------
    like
        A `Scenario`, plain values, the name of a preset, or a file.
    algorithms
        Custom classes by the names that its flows use.
    parameter
        The name of the argument in messages.

    Raises
    ------
    ArgumentError
        It is of another type.
    ScenarioError
        Every fault of the scenario, or no preset and no file has this name.

    Examples
    --------
    >>> scenario_of("two-flows") == presets.load("two-flows")
    True
    """
    match like:
        case Scenario():
            return like
        case Mapping():
            return Scenario.from_json(json.dumps(dict(like)), algorithms=algorithms)
        case str() | Path():
            return presets.load(like)
    what = f"a value of type {type(like).__name__} is not a scenario"
    hint = "write the name of a preset, such as 'two-flows', a file, or a cwndlab.Scenario"
    raise ArgumentError(parameter_fault(parameter, what, hint=hint))
