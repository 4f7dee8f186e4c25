"""The part of a dossier in a QUIC stack: selected cells, the flows of a cell, and a cell in the stack itself."""

from __future__ import annotations

from pathlib import Path

import cwndlab
import pytest
from custom_classes import write_class
from cwndlab.assessment import quic
from cwndlab.assessment.criteria import criteria, families
from cwndlab.assessment.selected import document, points, selection
from cwndlab.cli.app import status
from cwndlab.engine import stack_program

SELECTED = document(quic.FILE)
PROGRAM = f"cwndlab-stack-{quic.STACK}"


def test_each_family_of_a_row_is_selected_or_says_why_not() -> None:
    for row in criteria():
        for one in row.measures:
            chosen = selection(SELECTED, one.family)
            assert bool(chosen.cells) != bool(chosen.reason), one.family


def test_only_the_assessed_flows_of_a_cell_are_hosted() -> None:
    """Every selected cell is a scenario in which no assessed flow has an algorithm of TCP and every other one is as it
    was."""
    for family in families():
        kept = {
            (point.number, point.labels["algorithm"]): cwndlab.Scenario.from_json(point.document).document["flow"]
            for _, point in points(SELECTED, family, {"assessed": "bbr3"}, "")
        }
        for _, point in points(SELECTED, family, {"assessed": "bbr3"}, "QUIC", quic.in_quic):
            flows = cwndlab.Scenario.from_json(point.document).document["flow"]
            for flow, before in zip(flows, kept[point.number, "assessed"], strict=True):
                if before["name"].startswith("mine"):
                    assert flow["workload"] == {"kind": "hosted", "stack": "cwndlab", "controller": "bbr3"}
                    assert not set(flow) & {"algorithm", "stack", "profile"}
                else:
                    assert flow == before


def test_without_the_program_the_status_is_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CWNDLAB_STACKS", raising=False)
    assert status(["assess", "reno", "--quick", "--section", "6.3", "--quic"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "--quic: there is no cwndlab-stack-cwndlab" in shown.err
    assert "make hosts ONLY=cwndlab" in shown.err


def test_an_algorithm_without_a_controller_in_quic_is_not_assessed_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Routers read no header of QUIC, and a class in Python is not in the stack."""
    program = tmp_path / PROGRAM
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("CWNDLAB_STACKS", str(tmp_path))
    assert quic.missing("cubic") == ""
    assert quic.missing("iotcc").startswith("it needs headers")
    file = write_class(tmp_path, cwnd="1000")
    custom = cwndlab.assess(str(file), quick=True, seeds=2, sections=["6.3"], quic=True)
    assert custom.finding("6.3", environment="quic").endswith("a class in Python is no algorithm of a QUIC stack")
    assert custom.rows[0]["environments"] == ["simulated"]


@pytest.mark.skipif(stack_program(quic.STACK) is None, reason=f"{quic.STACK} is not built: make hosts")
def test_a_cell_in_the_stack_is_in_the_row_of_the_simulated_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The placebo: CUBIC in CUBIC's place has runs of its own, and is neither better nor worse."""
    small = {"runs": 3, "change": SELECTED["change"], "family": {"alone": {"cells": [["16 Mbps", "20 ms", "1 bdp"]]}}}
    monkeypatch.setattr(quic, "document", lambda file: small)
    dossier = cwndlab.assess("cubic", quick=True, seeds=2, sections=["6.3"], quic=True, out=tmp_path)
    (row,) = dossier.rows
    assert row["environments"] == ["simulated", "QUIC"]
    values = row["measures"][0]["quic"]["raw"]
    assert all(one["mean"] >= 20 for one in values.values()), "the base RTT is 20 ms"
    assert dossier.finding("6.3", environment="quic") in ("as CUBIC", "unresolved")
    assert "## In a QUIC stack" in (tmp_path / "dossier.md").read_text()
    assert dossier.command().endswith("--quic --seeds 2")
