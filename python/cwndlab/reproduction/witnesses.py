"""Witnesses: kept rows whose runs are repeated, since a probe is one short run for many kinds of paths.

The rows of an experiment with the same measure, the same algorithms and the same form of scenario are of one kind. One
run of the first repetition of each kind is repeated: the largest one that takes about a second at most, since long runs
meet losses and timeouts that short ones do not. If its records or values are others, no row of its kind is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

from cwndlab.engine import available_cores
from cwndlab.reproduction.cases import Case, described, measure_name
from cwndlab.reproduction.kept import KeptResults, cost, kind, scenario_key
from cwndlab.study.spec import Row

#: Packets at most that the path of a witness could carry, which takes about a second.
LARGEST = 2_000_000
# What only names things.
_NAMES = frozenset({"title", "name", "label"})
_NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")

Kind: TypeAlias = tuple[str, str, str]


def form(value: Any) -> str:
    """What a scenario consists of, without numbers and names: its fields, words, and whether there is one or more of a
    thing.

    Examples
    --------
    >>> form({"title": "a", "duration": "5 s", "flow": [{"rtt": "10 ms"}, {"rtt": "20 ms", "direction": "reverse"}]})
    '{duration=# s,flow=[{direction=reverse,rtt=# ms}{rtt=# ms}]+}'
    """
    if isinstance(value, Mapping):
        fields = (f"{name}={form(of)}" for name, of in sorted(value.items()) if name not in _NAMES)
        return f"{{{','.join(fields)}}}"
    if isinstance(value, str):
        return _NUMBER.sub("#", value)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return "0" if value == 0 else "#"
    forms = sorted({form(one) for one in value})
    return f"[{''.join(forms)}]{'+' if len(value) > 1 else ''}"


class Witnesses:
    """The witnesses of an experiment's kept rows.

    Parameters
    ----------
    kept
        The folder.
    cases
        The cases of the experiment at one size.
    seed
        The seed of the first repetition.
    """

    def __init__(self, kept: KeptResults, cases: Sequence[Case], seed: int) -> None:
        self._kept, self._cases, self._seed = kept, cases, seed
        self._keys = [scenario_key(case.scenario) for case in cases]
        self._kinds = [_kind(case) for case in cases]
        self._members: dict[Kind, list[int]] = {}
        for number, of in enumerate(self._kinds):
            self._members.setdefault(of, []).append(number)
        self._verdicts: dict[Kind, str] = {}

    def differences(self, numbers: Iterable[int]) -> dict[int, str]:
        """Repeats the witnesses of these cases.

        Returns
        -------
        For each case whose kept rows are not to be used: what differs.
        """
        wanted = list(dict.fromkeys(numbers))
        asked = [of for of in dict.fromkeys(self._kinds[number] for number in wanted) if of not in self._verdicts]
        with ThreadPoolExecutor(available_cores()) as pool:
            self._verdicts |= dict(zip(asked, pool.map(self._difference, asked), strict=True))
        found = {number: self._verdicts[self._kinds[number]] for number in wanted}
        return {number: what for number, what in found.items() if what}

    def refuse(self, number: int) -> None:
        """Uses none of the kept rows of a case's kind any more: once some of them are repeated, the others must not be
        taken for theirs."""
        for one in self._members[self._kinds[number]]:
            self._kept.refuse(self._keys[one], self._cases[one].measure)

    def _difference(self, of: Kind) -> str:
        found = self._witness(of)
        if found is None:
            return ""
        number, row = found
        what = self._kept.repeated(self._cases[number], self._seed, row)
        return f"{described(self._cases[number].labels)}: {what}" if what else ""

    def _witness(self, of: Kind) -> tuple[int, Row] | None:
        """The case that is repeated, with its row; none where each takes too long, or is what its probe repeats."""
        sizes: list[tuple[float, int, Row]] = []
        for number in self._members[of]:
            rows = self._kept.rows(self._keys[number], self._seed)
            row = next((row for row in rows if self._kept.may_hold(row, self._cases[number].measure)), None)
            if row is not None:
                sizes.append((cost(self._cases[number].scenario), number, row))
        affordable = [one for one in sizes if one[0] <= LARGEST]
        if not affordable:
            return None
        _, number, row = max(affordable, key=lambda one: one[:2])
        return None if self._kept.is_of_probe(row, self._cases[number], self._seed) else (number, row)


def _kind(case: Case) -> Kind:
    return measure_name(case.measure), kind(case.scenario), form(case.scenario)
