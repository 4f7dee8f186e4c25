"""Estimates the duration of a sweep before it starts: some of its cells are run briefly.

`cwndlab.study.calibration` describes the method. Finally the longer of these runs are repeated in parallel, on as many
threads as the sweep has. The estimate grows by the extra time of parallel runs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from cwndlab.engine import available_cores
from cwndlab.study.calibration import Line, Trial, algorithms, samples, size, together, total
from cwndlab.study.spec import Point
from cwndlab.study.sweeps.spec import Sweep

_CELLS = 48


@dataclass(frozen=True)
class Estimate:
    """The size of a sweep and the time that its remaining runs will take."""

    cells: int
    runs: int
    left: int
    packets: float
    cpu_s: float
    workers: int
    calibrated: int
    calibration_s: float
    crowding: float
    """Wall-clock time over that of free cores, while the cells were run; above 1 if other processes compute here."""

    @property
    def hours(self) -> float:
        """The duration on this many workers with a core each."""
        return self.cpu_s / self.workers / 3600

    def as_dict(self) -> dict[str, float]:
        """For programs."""
        names = ("cells", "runs", "left", "packets", "cpu_s", "workers")
        return {name: getattr(self, name) for name in names} | {"hours": self.hours}


def estimate(spec: Sweep, cells: Sequence[Point], left: Sequence[int], *, workers: int) -> Estimate:
    """Runs some dozens of cells briefly; ``left`` is the number of remaining runs of each cell."""
    began, classes = time.perf_counter(), spec.base.classes
    canonical = [json.loads(spec.checked(cell.number).canonical) for cell in cells]
    sizes = [size(one) for one in canonical]
    kinds = [algorithms(one) for one in canonical]
    of = samples(kinds, sizes, [cell.hash for cell in cells], _CELLS).tolist()
    trials = {
        index: Trial(cells[index], canonical[index], metrics=spec.metrics, classes=classes)
        for index in dict.fromkeys(of)
    }
    next(iter(trials.values())).shorter()  # imports are not part of the cost of a run
    lines: dict[int, Line] = {}
    alone_s = 0.0
    for index, trial in trials.items():
        longer = trial.longer()
        lines[index] = Line.through(trial.shorter(), longer, sizes[index])
        alone_s += longer.cpu_s
    threads = min(workers, available_cores())
    together_s, wall_s = together(trials.values(), threads, classes)
    packets, cpu_s = total(lines, of, sizes, left)
    return Estimate(
        len(cells),
        len(cells) * len(spec.seeds),
        sum(left),
        packets,
        cpu_s * together_s / alone_s,
        workers,
        len(trials),
        time.perf_counter() - began,
        max(1.0, wall_s * threads / together_s),
    )
