"""Headline claims whose outcome at quick size is another one than at full size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cwndlab.reproduction.claims import DECIDED, Finding, Outcome
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.headlines import Row, deciding, rows
from cwndlab.reproduction.standing import Standing, standings


@dataclass(frozen=True)
class Disagreement:
    """A headline with different outcomes at the two sizes."""

    quick: Row
    full: Row
    findings: Sequence[tuple[Finding, Finding]]
    """The findings that both sizes decide, and differently: (quick, full)."""
    reduced: Sequence[str]
    """What quick size reduces, of each experiment behind them."""


@dataclass(frozen=True)
class Agreement:
    """Both sizes side by side."""

    both: int
    """Headlines that both sizes decide."""
    disagreements: Sequence[Disagreement]
    undecided: int
    """Headlines that full size decides and quick size does not."""


def agreement(folder: Path | str) -> Agreement:
    """Compares the outcomes of quick and full size in a folder of kept results.

    Parameters
    ----------
    folder
        A folder that `cwndlab reproduce --results` wrote at both sizes. Experiments that lack one are left out.

    Raises
    ------
    RecordsError
        A file cannot be read, or is of another version.
    """
    known = {name: standings(folder, size=name) for name in ("quick", "full")}
    there = set.intersection(*({one.experiment.id for one in mine if one.reproduction} for mine in known.values()))
    quick, full = (_rows(mine, there) for mine in known.values())
    experiments = {one.experiment.id: one.experiment for one in known["full"]}
    pairs = [(quick[key], full[key]) for key in quick.keys() & full.keys()]
    both = [pair for pair in pairs if {pair[0].outcome, pair[1].outcome} <= DECIDED]
    undecided = sum(two.outcome in DECIDED and one.outcome not in DECIDED for one, two in pairs)
    order = list(full)
    differing = [pair for pair in both if _differ(pair[0].outcome, pair[1].outcome)]
    differing.sort(key=lambda pair: order.index(pair[1].headline.key))
    return Agreement(len(both), [_disagreement(*pair, experiments) for pair in differing], undecided)


def _differ(quick: Outcome, full: Outcome) -> bool:
    return quick != full and {quick, full} <= DECIDED


def _rows(known: Sequence[Standing], there: set[str]) -> dict[str, Row]:
    kept = [one.reproduction.as_dict() for one in known if one.reproduction and one.experiment.id in there]
    return {row.headline.key: row for row in rows(kept)}


def _disagreement(quick: Row, full: Row, experiments: dict[str, Experiment]) -> Disagreement:
    mine = {(one.id, one.quantity): one for one in deciding(full.findings)}
    pairs = [(one, mine.get((one.id, one.quantity))) for one in deciding(quick.findings)]
    findings = [(one, other) for one, other in pairs if other is not None and _differ(one.outcome, other.outcome)]
    ids = dict.fromkeys(one.id for one, _ in findings or pairs)
    return Disagreement(quick, full, findings, [reduced(experiments[name]) for name in ids])


def reduced(one: Experiment) -> str:
    """What the quick size of an experiment reduces, in words.

    Examples
    --------
    >>> from cwndlab.reproduction import experiments
    >>> reduced(next(one for one in experiments() if one.id == "windows-lte/fig17"))
    'fig17: 300 s of 5000 s'
    """
    quick, full = one.quick, one.full
    parts = []
    if quick.duration_s != full.duration_s:
        parts.append(f"{quick.duration_s:g} s of {full.duration_s:g} s")
    if quick.repetitions != full.repetitions:
        parts.append(f"{quick.repetitions} of {full.repetitions} repetitions")
    cases = len(one.cases(quick)), len(one.cases(full))
    if cases[0] != cases[1]:
        parts.append(f"{cases[0]} of {cases[1]} cases")
    return f"{one.figure}: {', '.join(parts) or 'nothing'}"
