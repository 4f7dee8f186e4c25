"""One algorithm, several places: the same events and their windows; the same path and where runs part."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from cwndlab.emulation import emulate
from cwndlab.engine import canonical_algorithm, replay_cases
from cwndlab.engine import replay as _replay
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

COLUMNS = ("algorithm", "course", "place", "verdict", "windows", "differing", "most_segments", "first", "reason")
RUN_COLUMNS = (
    "algorithm",
    "place",
    "goodput_bps",
    "mean_rtt_ns",
    "retransmitted_packets",
    "congestion_events",
    "mean_cwnd_segments",
    "parted_s",
    "absent",
)

#: Windows have parted where their means over this long differ by more than a share of the simulator's.
OVER_S, PARTED = 0.5, 0.2
#: Growths that Linux has of its own (`cwndlab.emulation`).
OWN = frozenset({"reno", "cubic", "cubic-linux", "bbr1"})
#: How long a run lasts: some tens of cycles of the path.
DURATION_S = 10


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """What one place made of the events of one course."""

    algorithm: str
    course: str
    place: str
    """``simulator``, ``kernel`` (behind the decider of the kernel's datapath) or ``quic`` (behind the QUIC adapter)."""
    verdict: str
    """``same``; ``by nature``: windows part after something that the place cannot know; ``differs``: they part, or the
    algorithm is told something else, without such a reason; ``absent``: it does not run there."""
    windows: int
    """Windows that were compared."""
    differing: int
    """How many of them differ, in whole segments."""
    most_segments: int
    """By how many segments at most."""
    first: str | None
    """The first difference, in words; none where all are the same."""
    reason: str | None
    """Why it must be so, or why the algorithm is absent."""
    told: tuple[dict[str, Any], ...]
    """What the algorithm was told differently: the first of each reason, as ``event, time_ns, what, reason``."""

    @property
    def conforms(self) -> bool:
        """Nothing differs without a reason."""
        return self.verdict != "differs"

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"told": list(self.told)}


@dataclass(frozen=True, kw_only=True)
class Run:
    """What an algorithm did on the path in one place; ``absent`` says why it did not run there."""

    algorithm: str
    place: str
    """``simulator``; ``kernel, ours``: decided by our algorithm; ``kernel, its own``: the kernel's of the same name."""
    goodput_bps: float | None = None
    mean_rtt_ns: int | None = None
    retransmitted_packets: int | None = None
    congestion_events: int | None = None
    mean_cwnd_segments: float | None = None
    parted_s: float | None = None
    """When the window parted from the simulator's first: the mean over half a second by more than a fifth."""
    absent: str | None = None
    notes: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"notes": list(self.notes)}


def conform(algorithm: str) -> tuple[ReplayResult, ...]:
    """Records what the simulator's TCP tells ``algorithm`` on each of some short courses, and tells it again in every
    place. Raises ``ScenarioError`` where no algorithm has this name.

    >>> {one.verdict for one in conform("reno") if one.course == "clean"}
    {'same'}
    """
    return tuple(ReplayResult(**{**row, "told": tuple(row["told"])}) for row in _replay(algorithm))


def courses() -> dict[str, str]:
    """The courses, and what happens on each."""
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
    has it, the kernel's own. The last two need root and take `DURATION_S` each on the wall clock; where something that
    they need is missing the run says what.
    """
    scenario = path(algorithm)
    said = run(scenario, seed=seed)
    window = _window(said)

    def ours() -> Records:
        with attach([algorithm], report="ack", timeout_s=60) as datapath:
            records = emulate(scenario, seed=seed, accept_late=True, datapath="cwndlab")
        notes.append(timing(datapath.totals, real_time=datapath.real_time))
        return records

    def theirs() -> Records:
        return emulate(scenario, seed=seed, accept_late=True)

    runs = [_run(algorithm, "simulator", said, window, ())]
    places: list[tuple[str, Callable[[], Records]]] = [("kernel, ours", ours), ("kernel, its own", theirs)]
    if re.split(r"[+/(]", canonical_algorithm(algorithm))[0] not in OWN:
        places.pop()
        missing = "Linux has no algorithm of this name"
        runs.append(Run(algorithm=algorithm, place="kernel, its own", absent=missing))
    for place, go in places:
        notes: list[str] = []
        try:
            records = go()
        except Error as error:
            runs.append(Run(algorithm=algorithm, place=place, absent=str(error).partition("\n")[0]))
            continue
        notes.append(records.notes[-1])
        runs.append(_run(algorithm, place, records, window, tuple(notes)))
    return tuple(runs)


def _window(records: Records) -> dict[int, float]:
    """Mean window of each half second, segments."""
    mss = records.flows["mss_bytes"][0]
    sums: dict[int, list[float]] = {}
    for row in records.rows("samples"):
        if row["cwnd_bytes"] is not None:
            sums.setdefault(int(row["time_ns"] / 1e9 / OVER_S), []).append(row["cwnd_bytes"] / mss)
    return {step: sum(values) / len(values) for step, values in sums.items()}


def _run(algorithm: str, place: str, records: Records, said: dict[int, float], notes: tuple[str, ...]) -> Run:
    (flow,) = records.rows("flows")
    window = _window(records)
    parted = [step * OVER_S for step, mean in said.items() if step in window and abs(window[step] / mean - 1) > PARTED]
    return Run(
        algorithm=algorithm,
        place=place,
        goodput_bps=goodput(records)["goodput_bps"][0],
        mean_rtt_ns=flow["mean_rtt_ns"],
        retransmitted_packets=flow["retransmitted_packets"],
        congestion_events=flow["recoveries"] + flow["timeouts"] + flow["ecn_reductions"],
        mean_cwnd_segments=sum(window.values()) / max(1, len(window)),
        parted_s=min(parted, default=None),
        notes=notes,
    )
