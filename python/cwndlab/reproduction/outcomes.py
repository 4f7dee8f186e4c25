"""The outcomes that a folder holds: one ``outcome.json`` for each experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.files import parsed
from cwndlab.reproduction.catalogue import experiments
from cwndlab.reproduction.claims import COLUMNS, Finding
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.result import Reproduction, Reproductions

# What `outcome.json` holds.
_KEYS = {
    *("id", "title", "section", "quick", "seed", "perturbed", "duration_s", "repetitions", "runs", "cpu_s"),
    *("findings", "why", "run_findings"),
}


def outcomes(folder: Path) -> list[dict[str, Any]]:
    """What the folder holds of each experiment, in the order of the papers.

    A file that cannot be read, or is of another version, is as none.
    """
    found = []
    for one in experiments():
        try:
            kept = parsed((folder / one.paper / one.figure / "outcome.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if (
            isinstance(kept, dict)
            and kept.keys() == _KEYS
            and all(finding.keys() == set(COLUMNS) for finding in kept["findings"])
        ):
            found.append(kept)
    return found


def read(folder: Path) -> Reproductions:
    """The experiments of a site, without measurements; raises where it has none of this version."""
    known, made = {one.id: one for one in experiments()}, []
    for kept in outcomes(folder):
        one = known[kept["id"]].perturbed() if kept["perturbed"] else known[kept["id"]]
        size = replace(one.size(quick=kept["quick"]), duration_s=kept["duration_s"], repetitions=kept["repetitions"])
        findings = [Finding(**row) for row in kept["findings"]]
        measured, cases = Measured(size, ()), one.cases(size)
        of_runs = kept["run_findings"]
        made.append(
            Reproduction(one, kept["quick"], kept["seed"], cases, measured, findings, kept["cpu_s"], of_runs, kept)
        )
    if not made:
        hint = "a folder that `cwndlab reproduce --out` of this version wrote"
        raise RecordsError(Fault(str(folder), "holds no outcome of an experiment", hint))
    return Reproductions(tuple(made))
