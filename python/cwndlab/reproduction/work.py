"""The runs that an experiment needs, and what those that are there say of its claims, with all controls.

First each case is run as often as the paper, or its file, says, and the cases with a placebo (at most
`cwndlab.reproduction.controls.placebo.MOST_REPETITIONS` times). A claim that is then inconclusive gets more repetitions
of its cases: twice as many, again and again, until it is decided, `MOST_REPETITIONS` are reached, or they would cost
more than `MOST_PACKETS`, at full size alone. Few looks cost little of the interval's level; they are not corrected for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from cwndlab.reproduction import case_study
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.claims import COUNTED, Asked, Claim, Finding
from cwndlab.reproduction.controls import placebo
from cwndlab.reproduction.controls.placebo import Substitute
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.kept import scenario_key
from cwndlab.reproduction.measured import Line, Measured, Row
from cwndlab.reproduction.verdicts import judge
from cwndlab.study.findings import codes
from cwndlab.study.spec import Study

#: Repetitions of the cases of a claim that stays inconclusive.
MOST_REPETITIONS = 40
#: Packets that the flows of a claim's runs beyond the paper's repetitions may send: about a quarter of an hour of CPU.
MOST_PACKETS = 2e9

#: What a store keeps of runs, by number of the case and repetition.
Payloads: TypeAlias = Mapping[tuple[int, int], Mapping[str, Any]]
#: How often cases have to be run, by their numbers.
Needs: TypeAlias = Mapping[int, int]


@dataclass(frozen=True)
class _Stated:
    """A claim with the cases of its sides, and its placebo."""

    claim: Claim
    numbers: Sequence[int]
    substitute: Substitute | None
    places: Mapping[int, int]
    """The number of the case with the placebo, by that of the case that it replaces."""


class Work:
    """An experiment at a size.

    Parameters
    ----------
    experiment
        The experiment.
    size
        Its size.
    seed
        The seed of the first repetition.
    more
        Whether inconclusive claims get more repetitions.
    """

    def __init__(self, experiment: Experiment, size: Size, seed: int = 1, *, more: bool) -> None:
        self.experiment, self.size, self.seed, self._more = experiment, size, seed, more
        self.base: Sequence[Case] = experiment.cases(size)
        self.cases: list[Case] = list(self.base)
        self._numbers = {(scenario_key(case.scenario), case.measure): at for at, case in enumerate(self.base)}
        self._stated = [self._state(claim) for claim in experiment.claims(size)]

    def _state(self, claim: Claim) -> _Stated:
        one = placebo.substitute(claim, self.base, self.experiment.placebos, self.experiment.tested)
        mine = sorted({at for side in claim.sides for at in placebo.numbers(side, self.base)})
        places = {} if one is None else {at: self._added(case) for at, case in one.cases.items()}
        return _Stated(claim, mine, one, places)

    def _added(self, case: Case) -> int:
        """The number of a case with a placebo; the same scenario and measure is run once, and not again where it is one
        of the base cases."""
        key = (scenario_key(case.scenario), case.measure)
        if key not in self._numbers:
            self._numbers[key] = len(self.cases)
            self.cases.append(case)
        return self._numbers[key]

    @cached_property
    def first(self) -> Needs:
        """How often each case is run at first."""
        few = min(self.size.repetitions, placebo.MOST_REPETITIONS)
        return {at: self.size.repetitions if at < len(self.base) else few for at in range(len(self.cases))}

    def studies(self, needs: Needs) -> list[Study]:
        """The runs of cases: those with as many repetitions together; curves of the first repetitions."""
        points = self._points
        by_many: dict[int, list[int]] = {}
        for number, many in needs.items():
            by_many.setdefault(many, []).append(number)
        return [
            Study(
                points=[points[number] for number in numbers],
                seeds=range(self.seed, self.seed + many),
                measure=lambda point, seed: self._measures[point.number][seed == self.seed],
            )
            for many, numbers in sorted(by_many.items())
        ]

    @cached_property
    def _points(self) -> list[Any]:
        return [case_study.point_of(number, case) for number, case in enumerate(self.cases)]

    @cached_property
    def _measures(self) -> list[tuple[Any, Any]]:
        return [(case_study.measure_of(case), case_study.measure_of(case, traced=True)) for case in self.cases]

    # What the runs say.

    def measured(self, payloads: Payloads) -> Measured:
        """The measurements and curves of the base cases at the paper's number of repetitions."""
        rows = list(self._rows(range(len(self.base)), payloads, self.size.repetitions))
        lines = [
            Line(case.labels, name, x, y)
            for number, case in enumerate(self.base)
            for name, (x, y) in payloads[number, 0]["curves"].items()
        ]
        return Measured(self.size, rows, lines)

    def settled(self, payloads: Payloads) -> tuple[list[Finding], dict[int, int]]:
        """The findings that the runs give, and how often cases have to be run beyond that; none where all claims are
        decided, or cannot be with what they may cost."""
        findings: list[Finding] = []
        needs: dict[int, int] = {}
        all_ = self.measured(payloads)
        for one in self._stated:
            finding, many = self._finding(one, all_, payloads)
            findings.append(finding)
            for number in one.numbers if many else ():
                needs[number] = max(many, needs.get(number, 0))
        return findings, needs

    def _finding(self, one: _Stated, all_: Measured, payloads: Payloads) -> tuple[Finding, int]:
        finding = first = judge(self.experiment.id, one.claim, all_)
        measured, wanted, many = all_, 0, self.size.repetitions
        while self._is_open(one, finding) and (more := self._next(one, many, payloads)):
            if not all((number, more - 1) in payloads for number in one.numbers):
                wanted = more
                break
            many = more
            others = sorted(set(range(len(self.base))) - set(one.numbers))
            rows = [*self._rows(others, payloads, self.size.repetitions), *self._rows(one.numbers, payloads, many)]
            measured = Measured(replace(self.size, repetitions=many), rows)
            finding = judge(self.experiment.id, one.claim, measured)
        asked = list(finding.asked)
        if many > self.size.repetitions:
            printed = (first.n, first.outcome, first.measured, first.low, first.high)
            text = f"{first.n} repetitions: {first.outcome}; decided by {many}"
            if finding.outcome == "inconclusive":
                text = f"inconclusive with {first.n} repetitions, and with {many}"
            asked.append(Asked("repetitions", finding.outcome != "inconclusive", text))
            finding = replace(finding, printed=printed)
        finding, answer = self._with_placebo(one, finding, measured, payloads)
        asked += [
            each
            for each in (answer, *self._of_runs(one, list(self._rows(one.numbers, payloads, many))))
            if each is not None
        ]
        return replace(finding, controls=asked), wanted

    def _is_open(self, one: _Stated, finding: Finding) -> bool:
        return self._more and one.claim.kind in COUNTED and bool(one.numbers) and finding.outcome == "inconclusive"

    def _next(self, one: _Stated, many: int, payloads: Payloads) -> int:
        """The next number of repetitions; 0 where there is none. One repetition is a demonstration."""
        more = min(2 * many, MOST_REPETITIONS)
        if many < 2 or more <= many:
            return 0
        each = sum(payloads[number, 0].get("packets", math.inf) for number in one.numbers)
        return more if each * (more - self.size.repetitions) <= MOST_PACKETS else 0

    def _with_placebo(
        self, one: _Stated, finding: Finding, measured: Measured, payloads: Payloads
    ) -> tuple[Finding, Asked | None]:
        if one.substitute is None:
            return finding, None
        rows: dict[int, list[Row]] = {}
        for at, place in one.places.items():
            found = list(self._rows([place], payloads, self.first[place]))
            if len(found) < self.first[place]:
                return finding, None
            rows[at] = [replace(row, labels=self.base[at].labels) for row in found]
        other = judge(self.experiment.id, one.claim, placebo.with_placebo(one.substitute, measured, rows))
        answer = placebo.answer(one.claim, finding, other, one.substitute)
        if answer is None or answer.passed:
            return finding, answer
        reason = f"a placebo does the same ({answer.text}); {finding.reason}"
        return replace(finding, outcome="set-up cannot discriminate", reason=reason), answer

    def _of_runs(self, one: _Stated, rows: Sequence[Row]) -> Iterator[Asked]:
        """Whether the runs are perturbed, and what they report about themselves."""
        if one.claim.kind not in COUNTED or not one.numbers:
            return
        is_perturbed = all(self.base[number].is_perturbed for number in one.numbers)
        yield Asked("perturbation", is_perturbed, "perturbed runs" if is_perturbed else "the runs are not perturbed")
        told = {code for row in rows for code in row.codes}
        words = ", ".join(f"{code} in {sum(code in row.codes for row in rows)}" for code in sorted(told))
        severe = any(codes()[code]["severity"] == "severe" for code in told)
        if told:
            yield Asked("findings", not severe, f"of {len(rows)} runs: {words}")

    def _rows(self, numbers: Iterable[int], payloads: Payloads, repetitions: int) -> Iterator[Row]:
        for number in numbers:
            for repetition in range(repetitions):
                if (number, repetition) in payloads:
                    yield Row.of(self.cases[number], repetition, payloads[number, repetition])
