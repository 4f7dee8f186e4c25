"""The seeded faults of tests/faults/: each patch applies, has a source, and was measured with the present suites.

Nothing is built here.
"""

from __future__ import annotations

import subprocess
from typing import Any

import cwndlab
import pytest
import seeded_faults
import suite_statements
from cwndlab.suites import Case
from cwndlab.suites.trial import Trial
from seeded_faults import FOLDER, ROOT, UNPATCHED, Row, SeededFault

FAULTS = seeded_faults.faults()
ROWS = seeded_faults.rows()

each = pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)


def test_the_list_names_every_patch_and_has_the_areas_of_congestion_control() -> None:
    assert [one.name for one in FAULTS] == list(dict.fromkeys(one.name for one in FAULTS))
    assert {one.patch.name for one in FAULTS} == {file.name for file in FOLDER.glob("*.patch")}
    assert {one.area for one in FAULTS} == set(seeded_faults.SUITES)
    assert len(FAULTS) >= 20


@each
def test_a_patch_applies_to_the_sources(fault: SeededFault) -> None:
    """If it does not, the sources changed: write the patch anew, and measure it (`make faults`)."""
    done = subprocess.run(
        ["git", "apply", "--check", str(fault.patch)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    text = fault.patch.read_text(encoding="utf-8")
    changed = [line for line in text.splitlines() if line.startswith("+++ ")]
    assert changed
    assert all(line.startswith("+++ b/crates/") for line in changed)


@each
def test_a_fault_has_a_source(fault: SeededFault) -> None:
    assert fault.what
    assert "RFC " in fault.source or "draft-" in fault.source
    assert not fault.thread or fault.thread.startswith("https://github.com/")


@pytest.mark.parametrize("area", [None, *seeded_faults.SUITES])
def test_the_measurements_are_of_the_present_statements_of_suites_and_audit(area: str | None) -> None:
    """If not: `make faults`. The digests cover statements, limits and scenarios, not sources of programs: a refactoring
    with equal statements keeps them, and so does another behaviour of the engine (tools/suite_statements.py)."""
    names = [one.name for one in FAULTS if one.area == area] or [UNPATCHED]
    assert {name: seeded_faults.stale(ROWS[name], area) for name in names} == dict.fromkeys(names, "")


def test_a_limit_is_part_of_a_digest() -> None:
    path = cwndlab.suites.Path("1 Mbit/s, 20 ms", 1e6, 0.02)

    def stated(high: float) -> dict[str, Any]:
        def check(t: Trial) -> None:
            t.expect("section 1", "cwnd", t.run(t.scenario(1.0)).at("cwnd", 0.5), high=high)

        case = Case(name="one", title="One", source="section 1", check=check, paths=(path,))
        return suite_statements.stated(case, path, "reno", 0)

    assert stated(10) == stated(10.0) != stated(11)


def test_every_case_makes_statements_on_the_made_up_runs() -> None:
    """Without them a digest would cover names alone."""
    for name in {suite for suites in seeded_faults.SUITES.values() for suite, *_ in suites}:
        for case, paths in suite_statements.in_suite(name).items():
            runs = [run for _, *runs in paths for run in runs]
            assert any(one[2] != "it occurs" for run in runs for one in run["statements"]), f"{name}, {case}"


def test_a_row_says_which_suite_changed() -> None:
    row = Row("digest", judges={**seeded_faults.judges("CUBIC"), "rfc9438": "another"})
    assert seeded_faults.stale(row, "CUBIC") == "rfc9438 changed since the measurement: run `make faults`"
    assert seeded_faults.stale(Row("digest", judges=seeded_faults.judges("CUBIC")), "CUBIC") == ""


@each
def test_a_fault_was_measured_with_its_patch(fault: SeededFault) -> None:
    """If not: `make faults`."""
    assert fault.name in ROWS
    row = ROWS[fault.name]
    assert row.digest == fault.digest
    ran = [[one["suite"], one["algorithm"]] for one in row.suites]
    assert ran == [one[:2] for one in seeded_faults.SUITES[fault.area]]


@each
def test_a_reason_stands_with_what_is_missed_and_with_nothing_else(fault: SeededFault) -> None:
    row = ROWS[fault.name]
    assert (row.by_suite is None) == bool(fault.unseen_by_suites)
    assert (row.by_audit is None and bool(row.audits)) == bool(fault.unseen_by_audit)


def test_no_row_stands_for_a_fault_that_is_not_listed() -> None:
    assert set(ROWS) == {UNPATCHED, *(one.name for one in FAULTS)}


def test_the_engine_without_a_fault_raises_no_alarm() -> None:
    row = ROWS[UNPATCHED]
    assert {(one["suite"], one["algorithm"]) for one in row.suites} == {
        (suite, algorithm) for suites in seeded_faults.SUITES.values() for suite, algorithm, _ in suites
    }
    assert all(one["failed"] == [] for one in row.suites)
    assert row.scripts == []
    assert {one["sender"] for one in row.audits} == {"cubic", "reno"}
    assert all(one["departures"] == 0 and one["acks"] > 0 for one in row.audits)


def test_the_suites_find_most_faults() -> None:
    found = [one.name for one in FAULTS if ROWS[one.name].by_suite]
    assert len(found) >= 0.9 * len(FAULTS)


def test_the_table_names_the_first_event() -> None:
    fault = SeededFault("cubic-beta", "CUBIC", "β is 0.5", "RFC 9438, section 4.6")
    failed = [{"case": name, "statement": f"{name} | a", "source": "section 4.6"} for name in ("one", "two")]
    row = Row(
        "digest",
        suites=[
            {"suite": "rfc9406", "algorithm": "cubic", "failed": []},
            {"suite": "rfc9438", "algorithm": "cubic", "failed": failed},
        ],
        audits=[
            {"sender": "cubic", "scenario": "clean", "departures": 0},
            {"sender": "cubic", "scenario": "lossy", "departures": 2, "first": {"kind": "reduction", "source": "b"}},
        ],
    )
    cells = seeded_faults.cells(fault, row)
    assert cells[2] == "`rfc9438`, `one`: one \\| a (section 4.6)"
    assert cells[4] == "lossy: `reduction`, b"
    missed = SeededFault("a", "CUBIC", "b", "RFC 1", unseen_by_suites="no case", unseen_by_audit="no log")
    clean = [{"sender": "cubic", "scenario": "clean", "departures": 0}]
    assert seeded_faults.cells(missed, Row("digest", audits=clean))[2:] == ("*missed*: no case", "", "*missed*: no log")
    assert seeded_faults.cells(missed, Row("digest"))[4] == "–"


def test_the_block_of_the_documentation_has_every_fault() -> None:
    text = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")
    assert all(f"| `{one.name}`: {one.what} |" in text for one in FAULTS)
