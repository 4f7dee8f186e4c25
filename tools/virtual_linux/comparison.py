"""The simulator on the paths of the virtual Linux: shares within tolerance, and the largest deviations."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from virtual_linux.paths import PACKET, Path
from virtual_linux.runs import Row, measured

#: By quantity, how far the simulator may deviate: a part of the kernel's mean, or an absolute value; the larger counts.
TOLERANCES = {"goodput_bps": (0.05, 50e3), "mean_srtt_s": (0.08, 2e-3), "retransmissions": (0.25, 12)}
#: Scale, unit and digits of each quantity in the report.
SHOWN = {
    "goodput_bps": ("goodput", 1e-6, " Mbit/s", 2),
    "mean_srtt_s": ("mean RTT", 1e3, " ms", 1),
    "retransmissions": ("retransmissions", 1.0, "", 0),
}


@dataclass(frozen=True)
class Deviation:
    """A quantity of an algorithm on a path: means over the repetitions on either side."""

    #: Release of the kernel, and its settings.
    kernel_about: str
    path: Path
    algorithm: str
    quantity: str
    simulator: float
    kernel: float
    #: Largest less smallest of the kernel's repetitions.
    spread: float
    #: Standard error of the difference of both means, from the standard deviation of the simulator's seeds.
    error: float = 0.0

    @property
    def tolerance(self) -> float:
        """The deviation that is allowed."""
        relative, absolute = TOLERANCES[self.quantity]
        return max(relative * abs(self.kernel), absolute)

    @property
    def ratio(self) -> float:
        """The deviation in tolerances."""
        return abs(self.simulator - self.kernel) / self.tolerance

    @property
    def holds(self) -> bool:
        """The deviation is within the tolerance, rounding apart."""
        return self.ratio <= 1 + 1e-9

    @property
    def is_chance(self) -> bool:
        """The deviation beyond the tolerance is within three standard errors: other seeds may be within."""
        return abs(self.simulator - self.kernel) - self.tolerance <= 3 * self.error

    def text(self) -> str:
        """A line of the report."""
        name, scale, unit, digits = SHOWN[self.quantity]
        ours, theirs, spread = (f"{value * scale:.{digits}f}" for value in (self.simulator, self.kernel, self.spread))
        values = f"{ours} for {theirs}{unit} (spread {spread}), {self.ratio:.1f} tolerances"
        return f"{self.path.text()}: {self.algorithm}, {name}: {values}; Linux {self.kernel_about}"


def simulate(path: Path, algorithm: str, seconds: float, seeds: Sequence[int]) -> dict[str, list[float]]:
    """The quantities, for each of the seeds."""
    import cwndlab

    values: dict[str, list[float]] = {name: [] for name in TOLERANCES}
    for seed in seeds:
        for name, value in measured(cwndlab.run(path.scenario(algorithm, seconds), seed=seed)).items():
            values[name].append(value)
    return values


def compare(
    rows: Iterable[Row],
    seeds: Sequence[int],
    simulated: Callable[[Path, str, float, Sequence[int]], dict[str, list[float]]] = simulate,
) -> list[Deviation]:
    """The deviations of all quantities, in the order of the rows.

    Parameters
    ----------
    rows
        Results of `virtual_linux.runs`; runs of one path with one algorithm are repetitions.
    seeds
        Seeds of the simulator's runs.
    simulated
        In place of `simulate`, for tests.
    """
    groups: dict[tuple[str, Path, str, float], list[Row]] = {}
    for row in rows:
        about = " ".join((row["kernel"], *(f"{name}={value}" for name, value in row["settings"].items())))
        groups.setdefault((about, Path(**row["path"]), row["algorithm"], row["seconds"]), []).append(row)
    known: dict[tuple[Path, str, float], dict[str, list[float]]] = {}
    out = []
    for (about, path, algorithm, seconds), runs in groups.items():
        job = (path, algorithm, seconds)
        if job not in known:
            known[job] = simulated(*job, seeds)
        ours = known[job]
        for name in TOLERANCES:
            theirs = [float(run[name]) for run in runs]
            spread = max(theirs) - min(theirs)
            each = statistics.stdev(ours[name]) if len(seeds) > 1 else 0.0
            error = each * (1 / len(theirs) + 1 / len(seeds)) ** 0.5
            means = (statistics.fmean(ours[name]), statistics.fmean(theirs))
            out.append(Deviation(about, path, algorithm, name, *means, spread, error))
    return out


def report(deviations: Sequence[Deviation], *, worst: int = 10) -> str:
    """Shares within tolerance by kind, algorithm and quantity, and the largest deviations by name."""
    results: dict[tuple[str, ...], list[bool]] = {}
    for one in deviations:
        results.setdefault((one.path.kind, one.algorithm, SHOWN[one.quantity][0]), []).append(one.holds)
        results.setdefault((one.path.kind, "all", "all"), []).append(one.holds)
        results.setdefault(("all", "all", "all"), []).append(one.holds)
    lines = [f"{'kind':<12}{'algorithm':<11}{'quantity':<17}within"]
    for (kind, algorithm, quantity), held in sorted(results.items()):
        lines.append(f"{kind:<12}{algorithm:<11}{quantity:<17}{sum(held)} of {len(held)}")
    beyond = sorted((one for one in deviations if not one.holds), key=lambda one: -one.ratio)
    lasting = [one for one in beyond if not one.is_chance]
    runs = f"{len(beyond)} beyond tolerance, {len(beyond) - len(lasting)} of them by at most three standard errors"
    lines += ["", f"{runs}; the largest of the others:"]
    lines += [one.text() for one in lasting[:worst]]
    return "\n".join(lines) + "\n"


def payload_limit_bps(path: Path) -> float:
    """The payload that the line of a path carries: segments of at most 1460 bytes in packets of 1500."""
    return path.rate_mbps * 1e6 * (PACKET - 40) / PACKET


def impossible(rows: Iterable[Row]) -> list[Any]:
    """Results beyond what the path allows: more goodput than its line, or an RTT below its base RTT.

    A reordering path has an RTT as low as that of the least delay.
    """
    out = []
    for row in rows:
        path = Path(**row["path"])
        least_s = (path.rtt_ms - path.spread_ms) / 1e3
        if row["goodput_bps"] > payload_limit_bps(path) * 1.01 or row["mean_srtt_s"] < least_s:
            out.append(row)
    return out
