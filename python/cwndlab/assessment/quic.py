"""The part of a dossier in a QUIC stack: selected cells in virtual time, and the same cells simulated over TCP.

``quic.toml`` selects the cells (`cwndlab.assessment.selected`). The assessed flows are transfers by the hosted stack
``cwndlab`` (`cwndlab.study.hosting`), in which quinn carries the data and this library's algorithms are its congestion
controls; the other flows are those of the cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cwndlab import catalogue
from cwndlab.assessment.criteria import MINE, Criterion
from cwndlab.assessment.runs import simulated, study_of, values_of
from cwndlab.assessment.selected import Cells, Part, Progress, document
from cwndlab.engine import stack_program
from cwndlab.errors import ArgumentError, Fault, Parameter
from cwndlab.study.executor import threads

#: The file with the selected cells.
FILE = "quic.toml"
#: The hosted stack with this library's algorithms.
STACK = "cwndlab"
#: What a flow of TCP has and a hosted one has not.
_OF_TCP = ("algorithm", "profile", "stack")


def missing(algorithm: str) -> str:
    """Why the stack cannot send with an algorithm; empty if it can.

    Raises
    ------
    ArgumentError
        There is no program of the stack.
    """
    if stack_program(STACK) is None:
        what = f"there is no cwndlab-stack-{STACK} in CWNDLAB_STACKS or PATH"
        raise ArgumentError(Fault(Parameter("quic"), what, f"make hosts ONLY={STACK}, CWNDLAB_STACKS=build/stacks/bin"))
    if any(entry.agents for entry in catalogue.entries_of(algorithm)):
        return "it needs headers that routers change, which QUIC has not"
    return ""


def in_quic(cell: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """A cell whose assessed flows are transfers by the stack."""
    flows = [
        {
            **{key: value for key, value in flow.items() if key not in _OF_TCP},
            "transport": "udp",
            "workload": {"kind": "hosted", "stack": STACK, "controller": algorithm},
        }
        if flow["name"].startswith(MINE)
        else flow
        for flow in cell["flow"]
    ]
    return {**cell, "flow": flows}


def quic(
    rows: Sequence[Criterion],
    name: str,
    *,
    lacking: str,
    out: Path | None,
    workers: int | None,
    progress: Progress | None,
) -> Part:
    """Runs the selected cells of some rows in the stack, and simulates the same cells.

    Parameters
    ----------
    rows
        The rows of the dossier.
    name
        The algorithm.
    lacking
        Why the stack cannot send with it (`missing`): then nothing runs, and this is the reason of every measure.
    out
        The folder of the dossier, whose ``runs-quic`` and ``runs-quic-same-cells`` keep the finished runs.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all.

    Raises
    ------
    RunError
        A run failed.
    """
    measures = [one for row in rows for one in row.measures]
    if lacking:
        return Part.absent(measures, lacking)
    selected = document(FILE)
    cells = Cells.of(selected, measures, name, lambda algorithm: not missing(algorithm))
    real = cells.points("QUIC", in_quic)
    kept, kept_same = (None if out is None else out / folder for folder in ("runs-quic", "runs-quic-same-cells"))
    result = simulated(study_of(real, selected["runs"], {}), kept, threads(workers), progress)
    same = cells.simulated(kept_same, workers, progress)
    values = values_of(result.runs, real)
    return cells.part(real, values, same, {"stack": STACK}, environment="QUIC", without="no run has a value of it")
