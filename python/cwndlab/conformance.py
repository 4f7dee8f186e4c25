"""The public battery: rules that every congestion control keeps, and the event that breaks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.run import conformance_many, conformance_texts

COLUMNS = ("algorithm", "rule", "holds", "detail")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What became of a rule: ``detail`` is the event that broke it, or what it was held against."""

    algorithm: str
    rule: str
    holds: bool
    detail: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What the battery found of one algorithm."""

    algorithm: str
    """Its canonical text."""
    rules: tuple[Rule, ...]
    """One per rule, in their order."""
    ns_per_ack: float | None
    """What an ACK costs it on this machine now; none where it panics."""

    @property
    def holds(self) -> bool:
        """Every rule does."""
        return all(rule.holds for rule in self.rules)

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules that do not hold."""
        return tuple(rule.rule for rule in self.rules if not rule.holds)


def check(algorithm: str, *, quick: bool = False) -> Examined:
    """Runs the conformance battery on an algorithm: 10⁷ ACKs and windows of 10⁶ segments, fewer with ``quick``.

    Raises ``ScenarioError`` where no algorithm has this name. A rule that fails is an answer, not an error.

    >>> check("reno", quick=True).broken
    ()
    """
    ((_, examined),) = check_many([algorithm], quick=quick, workers=1)
    return examined


def check_many(
    algorithms: Sequence[str],
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[int, Examined]]:
    """Examines several, on ``workers`` threads; yields (index, what was found) in the order in which they end."""
    for index, (rows, ns_per_ack) in conformance_many(algorithms, quick=quick, workers=workers, progress=progress):
        rules = tuple(Rule(**row) for row in rows)
        yield index, Examined(algorithm=rules[0].algorithm, rules=rules, ns_per_ack=ns_per_ack)


def chosen(names: Sequence[str], *, everything: bool) -> list[str]:
    """The canonical texts of ``names``, or of all that the battery is run on; raises for every name that is none."""
    from cwndlab.algorithms import canonical

    if everything:
        return conformance_texts()
    faults: list[Fault] = []
    texts: list[str] = []
    for name in names:
        try:
            texts.append(canonical(name))
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(*faults)
    if not texts:
        raise ScenarioError(Fault("check", "no algorithm is named", "write `cwndlab check cubic`, or `--all`"))
    return texts
