"""Runs of a study with equal results: of several algorithms, or of all seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cwndlab.simulate import NO_RANDOM_ELEMENT
from cwndlab.study.axes import text
from cwndlab.study.spec import Row

__all__ = ["equal_algorithms", "equal_seeds", "outcomes"]

#: Columns of `Result.runs` that may differ between runs with the same results.
_INCIDENTAL = {"cell", "algorithm", "seed", "wall_s", "host", "key", "scenario_hash", "findings"}

Outcomes = dict[tuple[tuple[Any, ...], Any], dict[int, Row]]


def outcomes(grouped: Mapping[tuple[Any, ...], Mapping[Any, Mapping[int, Row]]], labels: Iterable[str]) -> Outcomes:
    """The results of each run of `Result.grouped`, by other labels and algorithm, then by seed; without ``labels``."""
    hidden = _INCIDENTAL | set(labels)
    return {
        (group, name): {
            seed: {key: value for key, value in row.items() if key not in hidden} for seed, row in runs.items()
        }
        for group, members in grouped.items()
        for name, runs in members.items()
    }


def equal_algorithms(measured: Outcomes) -> list[str]:
    """Sentences on algorithms with equal results in every run."""
    texts = []
    for group in dict.fromkeys(group for group, _ in measured):
        sets: dict[str, list[str]] = {}
        for (other, name), runs in measured.items():
            if other == group and name is not None and runs:
                sets.setdefault(repr(sorted(runs.items())), []).append(text(name))
        where = ", ".join(map(text, group))
        for names in sets.values():
            if len(names) > 1:
                place = f" ({where})" if where else ""
                texts.append(f"{', '.join(names)}: equal results to the last digit in every run{place}")
    return texts


def equal_seeds(measured: Outcomes) -> list[str]:
    """A sentence on the cells in which every seed gave the same run."""
    cells = []
    for (group, name), runs in measured.items():
        rows = list(runs.values())
        if len(rows) > 1 and all(row == rows[0] for row in rows):
            cells.append(", ".join(text(one) for one in (*group, name) if one is not None))
    if not cells:
        return []
    named = [one for one in cells[:3] if one]
    which = ", ".join(named) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "")
    return [f"{which}: {NO_RANDOM_ELEMENT}" if which else NO_RANDOM_ELEMENT]
