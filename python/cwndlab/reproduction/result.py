"""Experiments with their measurements and findings: what a reproduction returns, and what a folder holds of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.files import save
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.cases import Table as ResultTable
from cwndlab.reproduction.claims import OUTCOMES, Finding
from cwndlab.reproduction.digits import shown
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.headlines import grouped
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.ranking import counts
from cwndlab.study.findings import lines
from cwndlab.study.rendering import Table, notebook

if TYPE_CHECKING:
    from cwndlab.plot.charts import Chart


@dataclass(frozen=True, repr=False)
class Reproduction:
    """An experiment with its measurements and findings."""

    experiment: Experiment
    quick: bool
    seed: int
    cases: Sequence[Case]
    measured: Measured
    findings: Sequence[Finding]
    cpu_s: float
    """CPU time of its new runs, of all threads."""
    run_findings: Sequence[Mapping[str, Any]] = ()
    """What its runs report about themselves, notes apart: rows of the table ``findings``."""
    kept: Mapping[str, Any] | None = None
    """What a site has of it, which is without measurements."""

    def __repr__(self) -> str:
        size = "quick" if self.quick else "full"
        return f"<Reproduction of {self.experiment.id}: {size}, seed {self.seed}, {len(self.findings)} findings>"

    @property
    def size(self) -> Size:
        """Its size."""
        return self.measured.size

    @property
    def perturbed(self) -> bool:
        """Whether each repetition varies what nobody measures exactly."""
        return any(case.is_perturbed for case in self.cases)

    def as_dict(self) -> dict[str, Any]:
        """What a folder keeps of it: size, runs, findings and explanations, as JSON has them."""
        if self.kept is not None:
            return dict(self.kept)
        one = self.experiment
        return {
            "id": one.id,
            "title": one.title,
            "section": one.section,
            "quick": self.quick,
            "seed": self.seed,
            "perturbed": self.perturbed,
            "duration_s": self.size.duration_s,
            "repetitions": self.size.repetitions,
            "runs": len(self.measured.rows),
            "cpu_s": self.cpu_s,
            "findings": [finding.as_dict() for finding in self.findings],
            "why": list(self.why),
            "run_findings": [dict(row) for row in self.run_findings],
        }

    @property
    def charts(self) -> Sequence[Chart]:
        """The published figure, redrawn."""
        return self.experiment.charts(self.measured) if self.kept is None else ()

    @property
    def tables(self) -> Sequence[ResultTable]:
        """Tables beside the figure."""
        return self.experiment.tables(self.measured) if self.kept is None else ()

    @property
    def why(self) -> Sequence[str]:
        """Explanations of claims that do not hold."""
        return self.experiment.why(self.measured) if self.kept is None else self.kept["why"]


@dataclass(frozen=True, repr=False)
class Reproductions:
    """Experiments of papers with the outcomes of their claims.

    Examples
    --------
    >>> import cwndlab
    >>> result = cwndlab.reproduce("cubic-study/fig1", quick=True)
    >>> result
    <Reproductions of cubic-study/fig1: 3 findings: 3 holds>
    >>> [one.experiment.id for one in result]
    ['cubic-study/fig1']
    """

    experiments: tuple[Reproduction, ...]
    stopped: bool = False
    """Whether Ctrl-C ended it before all experiments were finished."""
    unfinished: Mapping[str, str] = field(default_factory=dict)
    """What a folder of kept results lacks of experiments, in words, by id."""

    def __iter__(self) -> Iterator[Reproduction]:
        return iter(self.experiments)

    def __len__(self) -> int:
        return len(self.experiments)

    def __getitem__(self, at: int) -> Reproduction:
        return self.experiments[at]

    def __repr__(self) -> str:
        one = self[0].experiment.id if len(self) == 1 else f"{len(self)} experiments"
        return f"<Reproductions of {one}: {self.verdicts()[0]}>"

    def _repr_html_(self) -> str:
        return notebook(self.table(), [*lines(self.finding_rows()), *self.verdicts()])

    @property
    def findings(self) -> list[Finding]:
        """The findings of all experiments."""
        return [finding for one in self for finding in one.findings]

    def finding_rows(self) -> list[Mapping[str, Any]]:
        """What the runs report about themselves."""
        return [row for one in self for row in one.run_findings]

    def verdicts(self) -> list[str]:
        """How many findings have which outcome; of one experiment also the explanations of claims that do not hold."""
        many = [finding.outcome for finding in self.findings]
        told = ", ".join(f"{many.count(one)} {one}" for one in OUTCOMES if one in many)
        counted = f"{len(many)} finding{'' if len(many) == 1 else 's'}{f': {told}' if told else ''}"
        return [counted, *(self[0].why if len(self) == 1 else ())]

    def table(self) -> Table:
        """A row per finding: what was published, and what was measured. Findings of one sentence follow each other,
        and the first has the sentence. Its values have all columns."""
        header = ("claim", "quantity", "published", "measured", "95 % interval", "outcome", "reason")
        rows, findings = [], grouped(self.findings)
        for sentence, one in findings:
            reason = "; ".join(filter(None, (one.reason, *one.objections)))
            quantity = one.quantity if len(self) == 1 else f"{one.id.partition('/')[2]}, {one.quantity}"
            rows.append([sentence, quantity, one.published, *shown(one), one.outcome, reason])
        values = [one.as_dict() for _, one in findings]
        return Table("Published and measured", header, rows, 3, values, words=("outcome", "reason"))

    def counts(self) -> Table:
        """A row per experiment: how many claims have which outcome."""
        rows = [{"id": one.experiment.id, **counts(one.findings), "cpu_s": round(one.cpu_s, 1)} for one in self]
        cells = [[str(value) for value in row.values()] for row in rows]
        return Table("Claims by outcome", ("id", *OUTCOMES, "cpu_s"), cells, 1, rows)

    def report(self, path: Path | str) -> None:
        """Writes one HTML page with every claim; the site of `save` has a page for each experiment and paper."""
        from cwndlab.reproduction.site import claims_page

        save(claims_page([one.as_dict() for one in self], links=False), path)

    def save(self, place: Path | str) -> None:
        """Writes the site: pages, scenarios, figures, and ``outcome.json`` of each experiment, for `cwndlab.load`.

        Raises
        ------
        RecordsError
            A file cannot be written.
        """
        from cwndlab.reproduction.site import write_experiment, write_index

        for one in self:
            write_experiment(one, Path(place))
        write_index(Path(place), self.unfinished)
