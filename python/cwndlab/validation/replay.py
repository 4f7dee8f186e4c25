"""Conformance of one algorithm in several backends: the same events and their windows, and runs on the same path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from cwndlab.catalogue import parts
from cwndlab.custom import Classes, CongestionControl, bound, classes_named, name_of
from cwndlab.emulation import emulate
from cwndlab.engine import replay as _replay
from cwndlab.engine import replay_cases
from cwndlab.errors import Error
from cwndlab.kernel import attach, timing
from cwndlab.metrics import goodput
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.flows import Control, Flow
from cwndlab.scenario.links import Link
from cwndlab.scenario.queues import DropTail
from cwndlab.scenario.topology import Dumbbell
from cwndlab.simulate import run
from cwndlab.validation.report_schedule import DELAY

COLUMNS = ("algorithm", "case", "backend", "verdict", "windows", "differing", "max_segments", "first", "reason")
RUN_COLUMNS = (
    "algorithm",
    "backend",
    "goodput_bps",
    "mean_rtt_ns",
    "retransmitted_packets",
    "congestion_events",
    "mean_cwnd_segments",
    "divergence_time_s",
    "absent",
)

#: Windows have diverged if their means over this interval differ by more than this share of the simulator's.
INTERVAL_S, DIVERGENCE = 0.5, 0.2
#: Congestion-avoidance algorithms that Linux implements itself (`cwndlab.emulation`).
NATIVE = frozenset({"reno", "cubic", "cubic-linux", "bbr1"})
#: Duration of a run: some tens of cycles on the path.
DURATION_S = 10


class Verdict(StrEnum):
    """The verdict on a case in a backend.

    >>> [str(one) for one in Verdict]
    ['same', 'expected difference', 'differs', 'absent']
    """

    SAME = "same"
    """All windows are equal."""
    EXPECTED_DIFFERENCE = "expected difference"
    """Windows differ after a known difference."""
    DIFFERS = "differs"
    """Windows or events differ without a known difference."""
    ABSENT = "absent"
    """The algorithm is not available in the backend."""


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """The result of one case in one backend."""

    algorithm: str
    case: str
    backend: str
    """``simulator``, ``kernel`` (the decider of the kernel datapath) or ``quic`` (the QUIC adapter)."""
    verdict: Verdict
    windows: int
    """Number of compared windows."""
    differing: int
    """Number of windows that differ, in full segments."""
    max_segments: int
    """Maximum difference of a window, segments."""
    first: str | None
    """Description of the first difference; None if there is none."""
    reason: str | None
    """Reason of the known difference, or of the absence of the algorithm."""
    events: tuple[dict[str, Any], ...]
    """Differences of the events that the algorithm received: the first of each reason, as ``event, time_ns, difference,
    reason``."""

    @property
    def conforms(self) -> bool:
        """Whether every difference has a known reason."""
        return self.verdict is not Verdict.DIFFERS

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"verdict": str(self.verdict), "events": list(self.events)}


@dataclass(frozen=True, kw_only=True)
class Run:
    """The metrics of an algorithm on the path in one backend; ``absent`` is the reason if it did not run there."""

    algorithm: str
    backend: str
    """``simulator``; ``kernel, cwndlab``: the kernel's TCP with the algorithm of the library, which receives every ACK;
    both also with ``, report per RTT``; ``kernel, native``: with the kernel's algorithm of the same name."""
    goodput_bps: float | None = None
    mean_rtt_ns: int | None = None
    retransmitted_packets: int | None = None
    congestion_events: int | None = None
    mean_cwnd_segments: float | None = None
    divergence_time_s: float | None = None
    """Start of the first half second in which the mean window differs from the simulator's by more than 20 %."""
    absent: str | None = None
    notes: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"notes": list(self.notes)}


def conform(algorithm: str | type[CongestionControl], *, classes: Classes | None = None) -> tuple[ReplayResult, ...]:
    """Records the events of an algorithm in the simulator in some short cases, and replays them in every backend.

    Parameters
    ----------
    algorithm
        An algorithm, as a flow names it, or a class (`cwndlab.custom`).
    classes
        Classes that the name may refer to, by name, in addition to the registered ones.

    Raises
    ------
    ScenarioError
        If no algorithm has this name.
    AlgorithmError
        If a class fails.

    Examples
    --------
    >>> {one.verdict.name for one in conform("reno") if one.case == "clean"}
    {'SAME'}
    """
    text = algorithm if isinstance(algorithm, str) else name_of(algorithm)
    rows = _replay(text, bound(classes_named([algorithm], classes)))
    return tuple(
        ReplayResult(**{**row, "verdict": Verdict(row["verdict"]), "events": tuple(row["events"])}) for row in rows
    )


def cases() -> dict[str, str]:
    """The cases, with their descriptions."""
    return dict(replay_cases())


def path(algorithm: str, control: Control | None = None, classes: Classes | None = None) -> Scenario:
    """The scenario of `run_on_path`: 20 Mbit/s, 40 ms, a queue of one bandwidth-delay product."""
    bottleneck = Link(rate="20 Mbps", delay="10 ms", queue=DropTail("1 bdp"))
    return Scenario(
        duration=f"{DURATION_S} s",
        sample_interval="20 ms",
        dumbbell=Dumbbell(bottleneck),
        flows=[Flow(algorithm, rtt="40 ms", control=control)],
        algorithms=dict(classes) if classes else None,
    )


def run_on_path(algorithm: str, *, seed: int = 1, classes: Classes | None = None) -> tuple[Run, ...]:
    """Runs ``algorithm`` on one path in the simulator, in the kernel's TCP with the algorithm of the library, and, if
    the kernel has an equivalent, with the kernel's algorithm. Simulator and library run with a report at each ACK and
    with one per round trip.

    Runs in the kernel require root and take `DURATION_S` each on the wall clock. If a prerequisite is missing,
    ``absent`` of the run names it.
    """
    named = {name: one.kind for name, one in classes_named([algorithm], classes).items()}
    scenario, control = path(algorithm, classes=named), Control(delay=DELAY, interval="rtt")
    simulated = run(scenario, seed=seed)
    window = _window(simulated)

    def with_library(report: str) -> Records:
        with attach([algorithm], report=report, timeout_s=60, classes=named) as datapath:
            records = emulate(scenario, seed=seed, accept_late=True, datapath="cwndlab")
        notes.append(timing(datapath.totals, real_time=datapath.real_time))
        return records

    def native() -> Records:
        return emulate(scenario, seed=seed, accept_late=True)

    runs = [_run(algorithm, "simulator", simulated, window, ())]
    backends: list[tuple[str, Callable[[], Records]]] = [
        ("simulator, report per RTT", lambda: run(path(algorithm, control, named), seed=seed)),
        ("kernel, cwndlab", partial(with_library, "ack")),
        ("kernel, cwndlab, report per RTT", partial(with_library, "rtt")),
        ("kernel, native", native),
    ]
    if named or parts(algorithm).growth not in NATIVE:
        backends.pop()
        missing = "Linux has no algorithm of this name"
        runs.append(Run(algorithm=algorithm, backend="kernel, native", absent=missing))
    for backend, execute in backends:
        notes: list[str] = []
        try:
            records = execute()
        except Error as error:
            reason = "; ".join(str(fault._replace(hint="")) for fault in error.faults)
            runs.append(Run(algorithm=algorithm, backend=backend, absent=reason))
            continue
        if backend.startswith("kernel"):
            notes.append(records.notes[-1])
        runs.append(_run(algorithm, backend, records, window, tuple(notes)))
    return tuple(runs)


def _window(records: Records) -> dict[int, float]:
    """Mean window of each half second, segments."""
    mss = records.flows["mss_bytes"][0]
    sums: dict[int, list[float]] = {}
    for row in records.rows("samples"):
        if row["cwnd_bytes"] is not None:
            sums.setdefault(int(row["time_ns"] / 1e9 / INTERVAL_S), []).append(row["cwnd_bytes"] / mss)
    return {step: sum(values) / len(values) for step, values in sums.items()}


def _run(algorithm: str, backend: str, records: Records, simulated: dict[int, float], notes: tuple[str, ...]) -> Run:
    (flow,) = records.rows("flows")
    window = _window(records)
    diverged = [
        step * INTERVAL_S
        for step, mean in simulated.items()
        if step in window and abs(window[step] / mean - 1) > DIVERGENCE
    ]
    return Run(
        algorithm=algorithm,
        backend=backend,
        goodput_bps=goodput(records)["goodput_bps"][0],
        mean_rtt_ns=flow["mean_rtt_ns"],
        retransmitted_packets=flow["retransmitted_packets"],
        congestion_events=flow["recoveries"] + flow["timeouts"] + flow["ecn_reductions"],
        mean_cwnd_segments=sum(window.values()) / max(1, len(window)),
        divergence_time_s=min(diverged, default=None),
        notes=notes,
    )
