"""Controls: a dossier is printed only if known results come out, and if the baseline in the algorithm's place differs
from itself in no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.assessment.criteria import BASELINES, Control, Measure
from cwndlab.assessment.judgement import Values, compared, judged


def positive(
    controls: Sequence[Control], values: Mapping[Measure, Values], *, real_time: bool = False
) -> list[dict[str, Any]]:
    """The outcome of each positive control: what it is, what was found, and whether it holds."""
    asked = [one for one in controls if one.baseline]
    every = [
        compared(
            one.measure,
            one.baseline,
            *(values[one.measure][name] for name in (one.algorithm, one.baseline)),
            real_time=real_time,
        )
        for one in asked
    ]
    findings = dict(zip([one.what for one in asked], judged(every), strict=True))
    return [_reached(one, values) if one.least is not None else _found(one, findings[one.what]) for one in controls]


def _found(one: Control, finding: Mapping[str, Any]) -> dict[str, Any]:
    text = f"{finding['finding']}: {100 * finding.get('mean', 0.0):+.0f} %"
    return {"what": one.what, "found": text, "holds": finding["finding"] == one.expected}


def _reached(one: Control, values: Mapping[Measure, Values]) -> dict[str, Any]:
    mine = values[one.measure][one.algorithm]
    least = min(value or 0.0 for cell in mine.values() for value in cell.values())
    unit = one.measure.column.unit
    text = f"at least {least * one.measure.column.factor:.3g} {unit}".rstrip()
    return {"what": one.what, "found": text, "holds": least >= (one.least or 0.0)}


def placebo(measures: Sequence[Measure], values: Mapping[Measure, Values]) -> list[dict[str, Any]]:
    """Each baseline in its own place: with the same seeds it must be *as* itself in every row, and with other seeds
    neither better nor worse in any: the second half of the seeds against the first."""
    made = []
    for name, shown in BASELINES.items():
        own = [(one, values[one][name]) for one in measures]
        same = judged([compared(one, name, mine, mine) for one, mine in own])
        moved = judged(
            [compared(one, name, {cell: _other(runs) for cell, runs in mine.items()}, mine) for one, mine in own]
        )
        counts = [sum(each["finding"] == word for each in same) for word in ("as", "not assessed")]
        changed = sum(each["finding"] in ("better", "worse") for each in moved)
        found = f"as itself in {counts[0]} of {len(same) - counts[1]} measures"
        found += f"; with other seeds better or worse in {changed}"
        made.append(
            {
                "what": f"placebo: {shown} in {shown}'s place",
                "found": found,
                "holds": sum(counts) == len(same) and not changed,
            }
        )
    return made


def _other(runs: Mapping[int, float | None]) -> dict[int, float | None]:
    """The values of the first half of the seeds replaced by those of the second. Three seeds have no halves with an
    interval: each then has the values of the next, whose mean change is near zero whatever the seeds do."""
    seeds = sorted(runs)
    half = len(seeds) // 2
    moved = seeds[half : 2 * half] if half > 1 else [*seeds[1:], *seeds[:1]]
    return {seed: runs[other] for seed, other in zip(seeds, moved, strict=False)}
