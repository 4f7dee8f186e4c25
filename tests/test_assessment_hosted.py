"""The parts of a dossier in hosted stacks: selected cells, the flows of a cell, and a cell in the stacks themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cwndlab
import pytest
from custom_classes import write_class
from cwndlab.assessment import hosted
from cwndlab.assessment.criteria import criteria, families
from cwndlab.assessment.hosted import HOSTED, Hosted
from cwndlab.assessment.parts import PARTS
from cwndlab.assessment.selected import document, points, selection
from cwndlab.cli.app import status
from cwndlab.engine import stack_program

EACH = pytest.mark.parametrize("one", HOSTED.values(), ids=list(HOSTED))


def program(folder: Path, stack: str) -> None:
    """Puts a program of this name into a folder."""
    file = folder / f"cwndlab-stack-{stack}"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)


@EACH
def test_each_family_of_a_row_is_selected_or_says_why_not(one: Hosted) -> None:
    for row in criteria():
        for measure in row.measures:
            chosen = selection(document(one.file), measure.family)
            assert bool(chosen.cells) != bool(chosen.reason), measure.family


@pytest.mark.parametrize(
    ("one", "controller"), [(HOSTED["quic"], "bbr1"), (HOSTED["linux"], "bbr")], ids=["quic", "linux"]
)
def test_the_assessed_flows_of_a_cell_are_hosted(one: Hosted, controller: str) -> None:
    """Every selected cell is a scenario in which no assessed flow has an algorithm of TCP. In QUIC every other flow is
    as it was; between kernels CUBIC and Reno beside it are the kernel's, and BBRv3, short flows and calls stay."""
    hosted_rivals = set()
    for family in families():
        kept = {
            point.number: cwndlab.Scenario.from_json(point.document).document["flow"]
            for _, point in points(document(one.file), family, {"assessed": "bbr1"}, "")
        }
        for _, point in points(document(one.file), family, {"assessed": "bbr1"}, "x", one.placed):
            flows = cwndlab.Scenario.from_json(point.document).document["flow"]
            for flow, before in zip(flows, kept[point.number], strict=True):
                if before["name"].startswith("mine"):
                    assert flow["workload"]["kind"] == "hosted"
                    assert (flow["workload"]["stack"], flow["workload"]["controller"]) == (one.stack, controller)
                    assert not set(flow) & {"algorithm", "stack", "profile"}
                elif flow != before:
                    hosted_rivals.add(before["algorithm"])
                    assert before.get("workload", {"kind": "bulk"})["kind"] == "bulk"
    assert hosted_rivals == ({"cubic", "reno"} if one.key == "linux" else set())


@EACH
def test_without_the_program_the_status_is_2(
    one: Hosted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CWNDLAB_STACKS", raising=False)
    assert status(["assess", "reno", "--quick", "--section", "6.3", f"--{one.key}"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"--{one.key}: there is no cwndlab-stack-{one.stack}" in shown.err
    assert one.built_by in shown.err


def test_an_algorithm_that_the_stack_lacks_is_not_assessed_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Routers read no header of QUIC, a kernel has no algorithm of the papers, a class in Python is in neither."""
    for one in HOSTED.values():
        program(tmp_path, one.stack)
    monkeypatch.setenv("CWNDLAB_STACKS", str(tmp_path))
    assert [one.missing("cubic") for one in HOSTED.values()] == ["", ""]
    assert HOSTED["quic"].missing("iotcc").startswith("it needs headers")
    assert HOSTED["linux"].missing("iotcc") == "the kernel has no 'iotcc' of its own"
    file = write_class(tmp_path, cwnd="1000")
    custom = cwndlab.assess(str(file), quick=True, seeds=2, sections=["6.3"], quic=True, linux=True)
    where: tuple[tuple[Any, str], ...] = (("quic", "a QUIC stack"), ("linux", "a kernel"))
    for key, sender in where:
        found = custom.finding("6.3", environment=key)
        assert found.endswith(f"a class in Python is no algorithm of {sender}")
    assert custom.rows[0]["environments"] == ["simulated"]


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(
            one.key,
            marks=pytest.mark.skipif(
                stack_program(one.stack) is None,
                reason=f"{one.stack} is not built: {one.built_by.removesuffix(' ONLY=cwndlab')}",
            ),
        )
        for one in HOSTED.values()
    ],
)
def test_a_cell_in_the_stack_is_in_the_row_of_the_simulated_ones(
    key: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The placebo: CUBIC in CUBIC's place has runs of its own, and is neither better nor worse."""
    change = document(HOSTED[key].file)["change"]
    small = {"runs": 3, "change": change, "family": {"alone": {"cells": [["16 Mbps", "20 ms", "1 bdp"]]}}}
    monkeypatch.setattr(hosted, "document", lambda file: small)
    dossier = cwndlab.assess(
        "cubic", quick=True, seeds=2, sections=["6.3"], out=tmp_path, linux=key == "linux", quic=key == "quic"
    )
    (row,) = dossier.rows
    assert row["environments"] == ["simulated", PARTS[key].name]
    values = row["measures"][0][key]["raw"]
    assert all(one["mean"] >= 20 for one in values.values()), "the base RTT is 20 ms"
    assert dossier.finding("6.3", environment=key) in ("as CUBIC", "unresolved")
    assert f"## {PARTS[key].heading}" in (tmp_path / "dossier.md").read_text()
    assert dossier.command().endswith(f"--{key} --seeds 2")
