"""One algorithm in several backends: the same events and their windows; the same path and where runs diverge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from cwndlab.catalogue import parts
from cwndlab.emulation import emulate
from cwndlab.engine import replay as _replay
from cwndlab.engine import replay_cases
from cwndlab.errors import Error
from cwndlab.kernel import attach, timing
from cwndlab.metrics import goodput
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.flows import Flow
from cwndlab.scenario.links import Link
from cwndlab.scenario.queues import DropTail
from cwndlab.scenario.topology import Dumbbell
from cwndlab.simulate import run

COLUMNS = ("algorithm", "case", "backend", "verdict", "windows", "differing", "most_segments", "first", "reason")
RUN_COLUMNS = (
    "algorithm",
    "backend",
    "goodput_bps",
    "mean_rtt_ns",
    "retransmitted_packets",
    "congestion_events",
    "mean_cwnd_segments",
    "divergence_s",
    "absent",
)

#: Windows diverge where their means over this long differ by more than a share of the simulator's.
OVER_S, DIVERGED = 0.5, 0.2
#: Congestion avoidances that Linux has of its own (`cwndlab.emulation`).
OF_LINUX = frozenset({"reno", "cubic", "cubic-linux", "bbr1"})
#: Duration of a run, seconds: some tens of cycles of the path.
DURATION_S = 10


class Verdict(StrEnum):
    """The verdict on a replay.

    >>> [str(one) for one in Verdict]
    ['same', 'expected', 'differs', 'absent']
    """

    SAME = "same"
    """All windows are equal."""
    EXPECTED = "expected"
    """Windows differ after an event that the backend cannot know."""
    DIFFERS = "differs"
    """Windows, or the events that the algorithm receives, differ without a known reason."""
    ABSENT = "absent"
    """The algorithm does not run in the backend."""


#: The engine's names of the verdicts that have another one here.
_OF_ENGINE = {"by nature": "expected"}


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """The windows of one backend for the events of one case, compared with the record."""

    algorithm: str
    case: str
    backend: str
    """``simulator``, ``kernel`` (behind the decider of the kernel's datapath) or ``quic`` (behind the QUIC adapter)."""
    verdict: Verdict
    windows: int
    """Number of compared windows."""
    differing: int
    """Number of windows that differ, in whole segments."""
    most_segments: int
    """Largest difference of a window, segments."""
    first: str | None
    """The first difference, as text; none where all are the same."""
    reason: str | None
    """Why the difference is expected, or why the algorithm is absent."""
    events: tuple[dict[str, Any], ...]
    """Events that the algorithm received differently: the first of each reason, as ``event, time_ns, what, reason``."""

    @property
    def conforms(self) -> bool:
        """Nothing differs without a reason."""
        return self.verdict is not Verdict.DIFFERS

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"verdict": str(self.verdict), "events": list(self.events)}


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of an algorithm on the path in one backend; ``absent`` is the reason why it did not run there."""

    algorithm: str
    backend: str
    """``simulator``; ``kernel, ours``: decided by our algorithm; ``kernel, its own``: the kernel's of the same name."""
    goodput_bps: float | None = None
    mean_rtt_ns: int | None = None
    retransmitted_packets: int | None = None
    congestion_events: int | None = None
    mean_cwnd_segments: float | None = None
    divergence_s: float | None = None
    """First half second whose mean window differs from the simulator's by more than a fifth."""
    absent: str | None = None
    notes: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"notes": list(self.notes)}


def conform(algorithm: str) -> tuple[ReplayResult, ...]:
    """Records the events that an algorithm receives in the simulator's TCP in each of some short cases, and replays
    them in every backend.

    Parameters
    ----------
    algorithm
        An algorithm, as a flow names it.

    Raises
    ------
    ScenarioError
        Where no algorithm has this name.

    Examples
    --------
    >>> {one.verdict.name for one in conform("reno") if one.case == "clean"}
    {'SAME'}
    """
    return tuple(_result(row) for row in _replay(algorithm))


def _result(row: dict[str, Any]) -> ReplayResult:
    """A row of the engine."""
    names = {"course": "case", "place": "backend", "told": "events"}
    values = {names.get(name, name): value for name, value in row.items()}
    verdict = Verdict(_OF_ENGINE.get(values["verdict"], values["verdict"]))
    return ReplayResult(**{**values, "verdict": verdict, "events": tuple(values["events"])})


def cases() -> dict[str, str]:
    """The cases, each with its description.

    >>> "clean" in cases()
    True
    """
    return dict(replay_cases())


def path(algorithm: str) -> Scenario:
    """The path on which `on_a_path` runs: 20 Mbit/s, 40 ms, a queue of one bandwidth-delay product."""
    bottleneck = Link(rate="20 Mbps", delay="10 ms", queue=DropTail("1 bdp"))
    return Scenario(
        duration=f"{DURATION_S} s",
        sample_interval="20 ms",
        dumbbell=Dumbbell(bottleneck),
        flows=[Flow(algorithm, rtt="40 ms")],
    )


def on_a_path(algorithm: str, *, seed: int = 1) -> tuple[Run, ...]:
    """Runs ``algorithm`` on one path in the simulator, in the kernel's TCP behind our datapath, and, where the kernel
    has it, the kernel's own.

    The last two need root and take `DURATION_S` each on the wall clock; a run that is not possible here has the reason
    in ``absent``.
    """
    scenario = path(algorithm)
    simulated = run(scenario, seed=seed)
    window = _window(simulated)

    def ours() -> Records:
        with attach([algorithm], report="ack", timeout_s=60) as datapath:
            records = emulate(scenario, seed=seed, accept_late=True, datapath="cwndlab")
        notes.append(timing(datapath.totals, real_time=datapath.real_time))
        return records

    def theirs() -> Records:
        return emulate(scenario, seed=seed, accept_late=True)

    runs = [_run(algorithm, "simulator", simulated, window, ())]
    backends: list[tuple[str, Callable[[], Records]]] = [("kernel, ours", ours), ("kernel, its own", theirs)]
    if parts(algorithm).growth not in OF_LINUX:
        backends.pop()
        missing = "Linux has no algorithm of this name"
        runs.append(Run(algorithm=algorithm, backend="kernel, its own", absent=missing))
    for backend, start in backends:
        notes: list[str] = []
        try:
            records = start()
        except Error as error:
            reason = "; ".join(str(fault._replace(hint="")) for fault in error.faults)
            runs.append(Run(algorithm=algorithm, backend=backend, absent=reason))
            continue
        notes.append(records.notes[-1])
        runs.append(_run(algorithm, backend, records, window, tuple(notes)))
    return tuple(runs)


def _window(records: Records) -> dict[int, float]:
    """Mean window of each half second, segments."""
    mss = records.flows["mss_bytes"][0]
    sums: dict[int, list[float]] = {}
    for row in records.rows("samples"):
        if row["cwnd_bytes"] is not None:
            sums.setdefault(int(row["time_ns"] / 1e9 / OVER_S), []).append(row["cwnd_bytes"] / mss)
    return {step: sum(values) / len(values) for step, values in sums.items()}


def _run(algorithm: str, backend: str, records: Records, simulated: dict[int, float], notes: tuple[str, ...]) -> Run:
    """The row of a run; ``simulated`` is the window in the simulator."""
    (flow,) = records.rows("flows")
    window = _window(records)
    diverged = [
        step * OVER_S for step, mean in simulated.items() if step in window and abs(window[step] / mean - 1) > DIVERGED
    ]
    return Run(
        algorithm=algorithm,
        backend=backend,
        goodput_bps=goodput(records)["goodput_bps"][0],
        mean_rtt_ns=flow["mean_rtt_ns"],
        retransmitted_packets=flow["retransmitted_packets"],
        congestion_events=flow["recoveries"] + flow["timeouts"] + flow["ecn_reductions"],
        mean_cwnd_segments=sum(window.values()) / max(1, len(window)),
        divergence_s=min(diverged, default=None),
        notes=notes,
    )
