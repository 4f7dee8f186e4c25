"""The public battery: rules that every congestion control keeps, and the event that breaks one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab import engine
from cwndlab.catalogue import canonical
from cwndlab.custom import (
    base_name,
    by_name,
    described,
    is_file,
    merged,
    registered,
    selected,
    validate_class,
    validate_classes,
)
from cwndlab.engine import conformance_texts
from cwndlab.errors import Fault, ScenarioError, collected

if TYPE_CHECKING:
    from cwndlab.custom import Classes

COLUMNS = ("algorithm", "rule", "holds", "detail")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The result of a rule: ``detail`` is the event that broke it, or the bound that was checked."""

    algorithm: str
    rule: str
    holds: bool
    detail: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, repr=False)
class CheckReport:
    """The results of one algorithm."""

    algorithm: str
    """Its canonical text."""
    rules: tuple[Rule, ...]
    """One per rule, in their order."""
    ns_per_ack: float | None
    """Processor time per ACK on this machine; none if the algorithm panics."""
    notes: tuple[str, ...] = ()
    """Notes, such as that a class in Python received fewer ACKs."""

    def __repr__(self) -> str:
        return f"<CheckReport {self.algorithm}: {len(self.rules)} rules, broken: {', '.join(self.broken) or 'none'}>"

    @property
    def holds(self) -> bool:
        """Every rule does."""
        return all(rule.holds for rule in self.rules)

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules that do not hold."""
        return tuple(rule.rule for rule in self.rules if not rule.holds)


def check(algorithm: str | type, *, quick: bool = False, algorithms: Classes | None = None) -> CheckReport:
    """Runs the conformance battery on an algorithm: 10⁷ ACKs and windows of 10⁶ segments, fewer with ``quick``.

    A broken rule is part of the report, also where a class raises an exception.

    Parameters
    ----------
    algorithm
        A name, or a custom class (`cwndlab.custom`), which receives 2·10⁶ ACKs at most.
    quick
        Take a tenth of a second instead of seconds.
    algorithms
        Custom classes by the names that ``algorithm`` may use.

    Raises
    ------
    ScenarioError
        Where no algorithm has this name, and where a class cannot be used.

    Examples
    --------
    >>> check("reno", quick=True).broken
    ()
    """
    classes = algorithms or {}
    if not isinstance(algorithm, str):
        # The fault of an object that is not a class names the object.
        given = (
            by_name([algorithm])
            if isinstance(algorithm, type)
            else {"algorithm": validate_class("algorithm", algorithm).kind}
        )
        classes = merged([classes, given])
        (algorithm,) = given
    ((_, report),) = check_many([algorithm], quick=quick, workers=1, algorithms=classes)
    return report


def check_many(
    texts: Sequence[str],
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
) -> Generator[tuple[int, CheckReport], None, None]:
    """Runs the battery on algorithms, on ``workers`` threads; yields (index, report) in the order in which they end.

    ``algorithms`` are custom classes by name; they are checked one at a time.
    """
    reports = _run_battery(texts, quick=quick, workers=workers, progress=progress, algorithms=algorithms)
    with closing(reports):
        for index, (rows, ns_per_ack, notes) in reports:
            rules = tuple(Rule(**row) for row in rows)
            name = rules[0].algorithm
            yield index, CheckReport(algorithm=name, rules=rules, ns_per_ack=ns_per_ack, notes=tuple(notes))


def _run_battery(
    texts: Sequence[str],
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
) -> Generator[tuple[int, tuple[list[dict[str, Any]], float | None, list[str]]], None, None]:
    """Runs the battery on algorithms: (index, (rows, ns per ACK, notes)) in the order in which they end.

    ``algorithms`` are custom classes by name.
    """
    given = {**registered(), **validate_classes(algorithms)}
    document = described(given)
    constructors = {name: algorithm.make for name, algorithm in given.items()}
    alone = Lock()

    def run_one(text: str, cancel: engine.Cancel) -> tuple[list[dict[str, Any]], float | None, list[str]]:
        is_custom = base_name(text) in given
        # Two classes at once would wait for each other, and the cost of an ACK would be that of both.
        with alone if is_custom else nullcontext():
            return engine.conformance(
                text,
                quick=quick,
                cancel=cancel,
                scenario=document if is_custom else None,
                constructors=constructors if is_custom else None,
            )

    yield from engine.dispatch_all(run_one, texts, workers, progress)


class Selection(NamedTuple):
    """The algorithms to check."""

    texts: list[str]
    """Canonical."""
    classes: Classes
    """Custom classes that the texts name."""


def select(names: Sequence[str], *, everything: bool = False, files: Sequence[str | Path] = ()) -> Selection:
    """Selects algorithms.

    Parameters
    ----------
    names
        Algorithms, or Python or Rust files, each of which stands for all of its classes.
    everything
        Add all algorithms of the catalogue that the battery covers.
    files
        Files of Python whose classes ``names`` may use; all of their classes where there is no name.

    Raises
    ------
    ScenarioError
        With the fault of every name.
    """
    faults: list[Fault] = []
    try:
        chosen, classes = selected(names, files)
    except ScenarioError as error:
        faults += error.faults
        chosen, classes = [name for name in names if not is_file(name)], {}
    document = described(validate_classes(classes))
    texts = conformance_texts() if everything else []
    for name in chosen or ([] if everything else classes):
        with collected(faults):
            texts.append(canonical(name, document))
    if faults:
        raise ScenarioError(*faults)
    if not texts:
        hint = "write `cwndlab check cubic`, `cwndlab check mine.py`, or `--all`"
        raise ScenarioError(Fault("check", "no algorithm is named", hint))
    return Selection(list(dict.fromkeys(texts)), classes)
