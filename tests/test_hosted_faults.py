"""The seeded faults in a hosted stack: each was measured with its present patch, and what counts as a finding.

Nothing is built here.
"""

from __future__ import annotations

from typing import Any

import hosted_faults
import pytest
from seeded_faults import ROOT, UNPATCHED, SeededFault

ROWS = hosted_faults.rows()
FAULTS = hosted_faults.applicable()


def test_the_faults_of_algorithms_apply() -> None:
    """Their patches change no transport: the stack has one of its own."""
    assert len(FAULTS) == 26
    for fault in FAULTS:
        text = fault.patch.read_text(encoding="utf-8")
        changed = [line for line in text.splitlines() if line.startswith("+++ ")]
        assert all(line.startswith(("+++ b/crates/algorithms/", "+++ b/crates/control/")) for line in changed)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_fault_was_measured_with_its_present_patch(fault: SeededFault) -> None:
    """If not: `python tools/hosted_faults.py`."""
    row = ROWS[fault.name]
    assert row["digest"] == fault.digest
    assert [one["path"] for one in row["paths"]] == [one.name for one in hosted_faults.scenarios()]


@pytest.mark.parametrize("sender", dict.fromkeys(hosted_faults.SENDERS.values()))
def test_no_statement_fails_without_a_fault(sender: str) -> None:
    assert [one["path"] for one in ROWS[f"{UNPATCHED} {sender}"]["paths"] if one["holds"] is False] == []


def on_path(**changes: Any) -> dict[str, Any]:
    identified = {"verdict": "identified", "first": "cubic+hystart-pp", "misfit": 0.1}
    row: dict[str, Any] = {"path": "alone", "hash": "a", "holds": True, "found": "found"}
    return row | {"audit": {"share": 1.0, "kinds": {}}, "identified": identified} | changes


def test_a_judge_finds_what_the_stack_without_the_fault_does_not_have() -> None:
    base = on_path()
    assert hosted_faults.by_statement(on_path(holds=False), base) == "found"
    assert hosted_faults.by_statement(on_path(holds=False), on_path(holds=False)) == ""
    known = on_path(audit={"share": 0.9, "kinds": {"model": 3}})
    assert hosted_faults.by_audit(on_path(audit={"share": 0.9, "kinds": {"reduction": 1}}), base) == "`reduction`"
    # The limit of `cwndlab host --check`: five points.
    assert hosted_faults.by_audit(on_path(audit={"share": 0.86, "kinds": {"model": 9}}), known) == ""
    assert (
        hosted_faults.by_audit(on_path(audit={"share": 0.84, "kinds": {"model": 9}}), known) == "84 % in place of 90 %"
    )
    other = {"verdict": "identified", "first": "reno+standard", "misfit": 0.1}
    assert hosted_faults.by_identification(on_path(identified=other), base) == "`reno+standard`"
    variant = {"verdict": "identified", "first": "cubic+hystart-pp", "misfit": 1.2}
    assert hosted_faults.by_identification(on_path(identified=variant), base) == "a variant"
    assert hosted_faults.by_identification(base, base) == ""


def test_the_file_of_the_rows_is_in_the_repository() -> None:
    assert hosted_faults.RESULTS.is_relative_to(ROOT)
