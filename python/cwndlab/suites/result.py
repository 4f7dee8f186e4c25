"""The result of a suite: an outcome for each case and path."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from cwndlab.errors import Fault, RecordsError, RunError
from cwndlab.export import export
from cwndlab.files import json_text, parsed, save, slug
from cwndlab.plot import overview
from cwndlab.records import Records
from cwndlab.study.rendering import Table, notebook
from cwndlab.suites.case import Outcome, Verdict
from cwndlab.suites.listing import SUITES, Suite
from cwndlab.suites.statements import Statement
from cwndlab.suites.trace import Trace

#: The file of a saved result.
FILE = "suite.json"
#: Cases that a sentence names.
_NAMED = 6
_SHORT = {"passed": "passed", "failed": "FAILED", "not applicable": "–", "contradicts": "contradicts"}


@dataclass(frozen=True, kw_only=True, repr=False)
class SuiteResult:
    """The outcomes of a suite for one algorithm.

    Examples
    --------
    >>> import cwndlab
    >>> result = cwndlab.suites.run("rfc5681", cases=["fast-recovery"])
    >>> result
    <SuiteResult of rfc5681 for reno: 1 passed, 0 failed, 0 not applicable, 0 contradicts>
    >>> print(result.table())
    case           10 Mbit/s, 100 ms
    fast-recovery  passed
    """

    suite: Suite
    algorithm: str
    outcomes: tuple[Outcome, ...]

    def __repr__(self) -> str:
        return f"<SuiteResult of {self.suite.name} for {self.algorithm}: {self.counts}>"

    def _repr_html_(self) -> str:
        return notebook(self.table(), [f"{self.algorithm}: {self.counts}", *self.verdicts()])

    def count(self, verdict: Verdict) -> int:
        """The number of outcomes with a verdict."""
        return sum(one.verdict is verdict for one in self.outcomes)

    @property
    def counts(self) -> str:
        """How many outcomes have which verdict, in words."""
        return ", ".join(f"{self.count(one)} {one}" for one in Verdict)

    @property
    def holds(self) -> bool:
        """No case failed, and not every one is without meaning for the algorithm."""
        return self.count(Verdict.FAILED) == 0 and self._is_applicable

    @property
    def _is_applicable(self) -> bool:
        return self.count(Verdict.NOT_APPLICABLE) < len(self.outcomes)

    def verdicts(self) -> list[str]:
        """The statements that do not hold, with their sources, and why cases do not apply."""
        made = []
        for outcome in self.outcomes:
            for one in outcome.failures:
                lines = [f"{outcome.case.name}, {outcome.path.name}: {outcome.verdict}: {one.text}"]
                lines += [f"  source    {one.source}", f"  expected  {one.expected}"]
                lines += [f"  got       {one.got}" + ("" if one.at_s is None else f", at {one.at_s:.6f} s")]
                made.append("\n".join([*lines, *([f"  but       {one.contradicts}"] if one.contradicts else [])]))
        made += [] if self._is_applicable else [f"no case is applicable to {self.algorithm}"]
        reasons: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            if outcome.verdict is Verdict.NOT_APPLICABLE:
                reasons.setdefault(outcome.reason, []).append(outcome.case.name)
        return made + [f"{_few(dict.fromkeys(names))}: not applicable: {reason}" for reason, names in reasons.items()]

    def table(self) -> Table:
        """Cases by paths. Its values have a row per case and path."""
        paths = list(dict.fromkeys(one.path.name for one in self.outcomes))
        rows: dict[str, dict[str, str]] = {}
        for outcome in self.outcomes:
            rows.setdefault(outcome.case.name, {})[outcome.path.name] = _SHORT[str(outcome.verdict)]
        # A case may not be asked on every path.
        cells = [[name, *(row.get(path, "") for path in paths)] for name, row in rows.items()]
        values = [{key: one.as_dict()[key] for key in ("case", "path", "verdict", "reason")} for one in self.outcomes]
        return Table("Cases by paths", ["case", *paths], cells, 1 + len(paths), values)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "suite": self.suite.name,
            "source": self.suite.source,
            "algorithm": self.algorithm,
            "counts": {str(one): self.count(one) for one in Verdict},
            "outcomes": [one.as_dict() for one in self.outcomes],
        }

    def report(self, path: File | str) -> None:
        """Writes one HTML page; cases that failed have figures where their runs were kept."""
        from cwndlab.suites.pages import page

        save(page(self), path)

    def save(self, place: File | str) -> None:
        """Writes ``suite.json`` into a folder, for `cwndlab.load`; of each case whose run was kept also the folders
        ``CASE/PATH/records`` and ``qlog`` and, where matplotlib is installed (``pip install 'cwndlab[print]'``),
        ``overview.png``.

        Raises
        ------
        RecordsError
            A file cannot be written.

        Examples
        --------
        >>> import cwndlab, tempfile
        >>> result = cwndlab.suites.run("rfc9937", cases=["exit"], keep=True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(folder)
        ...     cwndlab.load(folder)
        <SuiteResult of rfc9937 for reno: 1 passed, 0 failed, 0 not applicable, 0 contradicts>
        """
        draws = True
        for outcome in self.outcomes:
            folder = _folder(File(place), outcome.as_dict())
            for earlier in ("records", "qlog"):  # perhaps of another algorithm
                shutil.rmtree(folder / earlier, ignore_errors=True)
            (folder / "overview.png").unlink(missing_ok=True)
            if outcome.trace is None:
                continue
            outcome.trace.records.save(folder / "records")
            export(outcome.trace.records, "qlog", folder / "qlog")
            if draws:
                try:
                    overview(outcome.trace.records).save(folder / "overview.png")
                except RunError:
                    draws = False  # matplotlib is not installed
        save(json_text(self.as_dict(), indent=2) + "\n", File(place) / FILE)

    @classmethod
    def read(cls, place: File | str) -> SuiteResult:
        """The result in a folder.

        Raises
        ------
        RecordsError
            It holds none, or one of other cases than this version has.
        """
        file = File(place) / FILE
        try:
            content = parsed(file.read_bytes())
            suite = SUITES[content["suite"]]
            outcomes = tuple(_outcome(suite, File(place), one) for one in content["outcomes"])
            return cls(suite=suite, algorithm=content["algorithm"], outcomes=outcomes)
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            hint = "a folder that `cwndlab suite --out` of this version wrote"
            raise RecordsError(Fault(str(file), "holds no result of a suite that is known here", hint)) from None


def _few(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    first, rest = (known := list(names))[:_NAMED], known[_NAMED:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")


def _folder(place: File, outcome: Mapping[str, Any]) -> File:
    """Where the run of a case is kept."""
    return place / slug(outcome["case"]) / slug(outcome["path"])


def _outcome(suite: Suite, place: File, one: Mapping[str, Any]) -> Outcome:
    case = next(case for case in suite.cases if case.name == one["case"])
    path = next(path for path in case.paths if path.name == one["path"])
    records = _folder(place, one) / "records"
    return Outcome(
        case=case,
        path=path,
        verdict=Verdict(one["verdict"]),
        statements=tuple(Statement(**each) for each in one["statements"]),
        reason=one["reason"],
        trace=Trace(Records.read(records), path) if records.is_dir() else None,
    )
