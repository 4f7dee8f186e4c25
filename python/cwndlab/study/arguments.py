"""Arguments that studies take: seeds, algorithms with their classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from cwndlab.catalogue import canonical
from cwndlab.custom import by_name, name_of
from cwndlab.errors import ArgumentError, Fault, collected, parameter_fault
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.like import ScenarioLike, scenario_of
from cwndlab.study.fields import split_at_commas

__all__ = ["Algorithms", "algorithms_of", "seeds_of", "unknown"]

Algorithms = str | type | Sequence[str | type] | Mapping[str, type]


def seeds_of(seeds: int | Iterable[int]) -> Sequence[int]:
    """The seeds that an argument means: a number n stands for 1 to n, an iterator becomes a list.

    >>> seeds_of(3), seeds_of({7})
    (range(1, 4), [7])
    """
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        return range(1, seeds + 1)
    given: Any = seeds
    return list(given) if isinstance(given, Iterator | Set) else given


def unknown(names: Iterable[str], document: str | None) -> list[Fault]:
    """The faults of names that are not algorithms; ``document`` has custom ones, as JSON of a scenario has them."""
    faults: list[Fault] = []
    for name in names:
        with collected(faults):
            canonical(name, document)
    return faults


def algorithms_of(scenario: ScenarioLike, algorithms: Algorithms) -> tuple[Scenario, list[str]]:
    """The scenario with the custom classes among the algorithms, and the names of all algorithms.

    Raises
    ------
    ArgumentError
        The scenario has another type, or ``algorithms`` is one string instead of a list.
    """
    made = scenario_of(scenario)
    names = split_at_commas(algorithms) if isinstance(algorithms, str) else []
    if len(names) > 1:
        raise ArgumentError(parameter_fault("algorithms", f"'{algorithms}' is one string", example=names))
    if isinstance(algorithms, str | type):
        algorithms = [algorithms]
    if isinstance(algorithms, Mapping):
        return made.with_(algorithms=algorithms), list(algorithms)
    if not isinstance(algorithms, Iterable):
        what = f"'{algorithms}' is not a list of algorithms"
        raise ArgumentError(parameter_fault("algorithms", what, example=["cubic", "reno"]))
    algorithms = list(algorithms)
    classes = [one for one in algorithms if isinstance(one, type)]
    if not classes:
        return made, [str(one) for one in algorithms]
    names = [name_of(one) if isinstance(one, type) else one for one in algorithms]
    return made.with_(algorithms=by_name(classes)), names
