"""The parts of a dossier in hosted stacks: selected cells in virtual time, and the same cells simulated over our TCP.

``quic.toml`` and ``linux.toml`` select the cells (`cwndlab.assessment.selected`). In the first the assessed flows are
transfers by the hosted stack ``cwndlab`` (`cwndlab.study.hosting`), in which quinn carries the data and this library's
algorithms are its congestion controls; the other flows are those of the cell. In the second all flows that can be are
transfers between two Linux kernels (`cwndlab.linux`), each with its own congestion control.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab import catalogue
from cwndlab.assessment.criteria import MINE, Criterion
from cwndlab.assessment.parts import PARTS
from cwndlab.assessment.runs import simulated, study_of, values_of
from cwndlab.assessment.selected import Cells, Part, Placed, Progress, document
from cwndlab.engine import require_stack
from cwndlab.linux import faults, faults_of_algorithm, release, with_kernels
from cwndlab.study.executor import threads

#: What a flow of TCP has and a hosted one has not.
_OF_TCP = ("algorithm", "profile", "stack")


@dataclass(frozen=True)
class Hosted:
    """A hosted stack as an environment of a dossier."""

    key: str
    """Of the part, and of the file with the selected cells."""
    stack: str
    built_by: str
    """The command that builds its program."""
    lacks: Callable[[str], str]
    """Why it cannot send with an algorithm; empty if it can."""
    placed: Placed
    """A cell whose assessed flows are transfers by the stack."""
    facts: Callable[[], dict[str, Any]]
    """What the dossier says of the stack."""

    @property
    def file(self) -> str:
        """The file with the selected cells."""
        return f"{self.key}.toml"

    def missing(self, algorithm: str) -> str:
        """Why the stack cannot send with an algorithm; empty if it can.

        Raises
        ------
        ArgumentError
            There is no program of the stack.
        """
        require_stack(self.stack, self.key, self.built_by)
        return self.lacks(algorithm)

    def part(
        self,
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
            The folder of the dossier, whose ``runs-quic`` and ``runs-quic-same-cells`` keep the finished runs, or those
            of another `key`.
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
        selected = document(self.file)
        cells = Cells.of(selected, measures, name, lambda algorithm: not self.missing(algorithm))
        facts = self.facts()
        environment = PARTS[self.key].name
        real = cells.points(f"{environment} {facts.get('kernel', '')}".strip(), self.placed)
        kept, kept_same = (
            None if out is None else out / folder for folder in (f"runs-{self.key}", f"runs-{self.key}-same-cells")
        )
        result = simulated(study_of(real, selected["runs"], {}), kept, threads(workers), progress)
        same = cells.simulated(kept_same, workers, progress)
        return cells.part(
            real, values_of(result.runs, real), same, facts, environment=environment, without="no run has a value of it"
        )


def in_quic(cell: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """A cell whose assessed flows are transfers by the stack ``cwndlab``."""
    workload = {"kind": "hosted", "stack": "cwndlab", "controller": algorithm}
    flows = [
        {key: value for key, value in flow.items() if key not in _OF_TCP} | {"transport": "udp", "workload": workload}
        if flow["name"].startswith(MINE)
        else flow
        for flow in cell["flow"]
    ]
    return {**cell, "flow": flows}


def in_linux(cell: Mapping[str, Any], _algorithm: str) -> dict[str, Any]:
    """A cell whose assessed flows are between kernels, and the others as well where kernels have them: one transfer
    with an algorithm of the kernel. Short flows, calls, BBRv3 and Prague are the simulator's."""

    def stays(flow: Mapping[str, Any]) -> bool:
        return not flow["name"].startswith(MINE) and any(faults("", flow))

    flows = [flow if stays(flow) else with_kernels({"flow": [flow]})["flow"][0] for flow in cell["flow"]]
    return {**cell, "flow": flows}


def _lacks_quic(algorithm: str) -> str:
    if any(entry.agents for entry in catalogue.entries_of(algorithm)):
        return "it needs headers that routers change, which QUIC has not"
    return ""


def _lacks_linux(algorithm: str) -> str:
    return next((one.what for one in faults_of_algorithm("", algorithm)), "")


def _kernel() -> dict[str, Any]:
    return {"stack": "linux", "kernel": release()}


#: By their keys.
HOSTED: Mapping[str, Hosted] = {
    one.key: one
    for one in (
        Hosted("linux", "linux", "make linux", _lacks_linux, in_linux, _kernel),
        Hosted("quic", "cwndlab", "make hosts ONLY=cwndlab", _lacks_quic, in_quic, lambda: {"stack": "cwndlab"}),
    )
}
