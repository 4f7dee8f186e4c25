"""Effect of the kernel's report schedule on an algorithm, predicted in the simulator.

The kernel datapath reports ACKs to the decider at each ACK or once per round trip. The simulator has the same schedules
in a flow's ``control``. Each path runs with a call per ACK (no ``control``), and with each schedule and a delay of
`DELAY`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from statistics import median
from typing import Any

from cwndlab.catalogue import algorithms
from cwndlab.catalogue import parts as parts_of
from cwndlab.metrics import goodput
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.flows import Control, Flow
from cwndlab.scenario.links import Link
from cwndlab.scenario.queues import DropTail
from cwndlab.scenario.topology import Dumbbell
from cwndlab.simulate import run_many

__all__ = ["COLUMNS", "ReportEffect", "effects", "in_kernel", "required", "rtt_suffices", "sentence"]

#: Rate, base RTT and queue of the paths.
PATHS = tuple(
    (rate, rtt, queue)
    for rate in ("20 Mbps", "100 Mbps")
    for rtt in ("40 ms", "100 ms")
    for queue in ("0.5 bdp", "1 bdp", "2 bdp")
)
#: Time from a report to the application of its decision: about the median of the kernel datapath (docs/kernel.md).
DELAY = "100 us"
DURATION = "20 s"
#: The schedules of the table, as `cwndlab.kernel.attach` and ``--report`` name them.
SCHEDULES = ("ack", "rtt")

COLUMNS = (
    "algorithm",
    "requires",
    "report",
    "goodput_least",
    "goodput_median",
    "goodput_most",
    "rtt_least",
    "rtt_median",
    "rtt_most",
    "retransmitted_simulator",
    "retransmitted",
)


@dataclass(frozen=True, kw_only=True)
class ReportEffect:
    """Metrics of an algorithm with a report schedule, relative to those with a call per ACK, over `PATHS`."""

    algorithm: str
    requires: str
    """The schedule that the algorithm's entry selects: ``ack`` or ``rtt``."""
    report: str
    """The schedule: ``ack``, ``rtt`` or a time."""
    goodput_least: float
    """Smallest relative change of the goodput on a path: −0.1 is 10 % less."""
    goodput_median: float
    goodput_most: float
    rtt_least: float
    """Smallest relative change of the mean RTT on a path."""
    rtt_median: float
    rtt_most: float
    retransmitted_simulator: int
    """Packets retransmitted on all paths with a call per ACK."""
    retransmitted: int
    """Packets retransmitted on all paths with this schedule."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def in_kernel() -> tuple[str, ...]:
    """The algorithms of the table: every one that needs no router assistance, and each slow start with ``reno``.

    >>> {"reno", "phcc", "reno+hystart"} <= set(in_kernel())
    True
    """
    alone = [one for one in algorithms() if not one.agents]
    names = [one.name for one in alone if one.kind in ("growth", "whole")]
    starts = [one for one in alone if one.kind == "slow-start" and one.name != "standard"]
    return (*names, *(f"reno+{one.name}" for one in starts if all(name != "reno" for name, _ in one.incompatible)))


def required(algorithm: str) -> str:
    """The schedule that the entries of an algorithm select: ``ack`` if a part requires every ACK, else ``rtt``.

    >>> required("phcc"), required("cubic")
    ('ack', 'rtt')
    """
    used = parts_of(algorithm)
    entries = {one.name: one for one in algorithms()}
    start = used.slow_start or entries[used.growth].companion
    return "ack" if any("every-ack" in entries[part].needs for part in (used.growth, start) if part) else "rtt"


def effects(algorithm: str, schedules: Sequence[str] = SCHEDULES) -> tuple[ReportEffect, ...]:
    """The effect of report schedules on an algorithm of the catalogue, one result per schedule.

    Parameters
    ----------
    algorithm
        An algorithm, as a flow names it; without router assistance.
    schedules
        Schedules: ``ack``, ``rtt`` or times such as ``2ms``.

    Raises
    ------
    ScenarioError
        If no algorithm has this name, or a schedule is neither.

    Examples
    --------
    >>> (effect,) = effects("reno", ["ack"])
    >>> abs(effect.goodput_median) < 0.05
    True
    """
    controls = [None, *(Control(delay=DELAY, interval="0 s" if one == "ack" else one) for one in schedules)]
    jobs = [(_scenario(algorithm, path, control), 1) for path in PATHS for control in controls]
    runs = dict(run_many(jobs))
    metrics = [_metrics(runs[index]) for index in range(len(jobs))]
    base = metrics[:: len(controls)]
    return tuple(
        _effect(algorithm, schedule, base, metrics[number :: len(controls)])
        for number, schedule in enumerate(schedules, start=1)
    )


def rtt_suffices(ack: ReportEffect, rtt: ReportEffect) -> bool:
    """Whether a report per round trip is sufficient for an algorithm, by its effects with a report at each ACK and with
    one per round trip.

    It is where the median goodput is within 5 %, the least goodput within 10, the median RTT within 5 and the largest
    RTT within 10 percentage points of those with a report at each ACK, and the retransmitted packets are within a
    factor of 1.5 or 1000 packets.
    """
    fewer, more = sorted((ack.retransmitted, rtt.retransmitted))
    return (
        abs(rtt.goodput_median - ack.goodput_median) <= 0.05
        and ack.goodput_least - rtt.goodput_least <= 0.10
        and abs(rtt.rtt_median - ack.rtt_median) <= 0.05
        and rtt.rtt_most - ack.rtt_most <= 0.10
        and (more <= 1.5 * fewer or more - fewer <= 1000)
    )


def _scenario(algorithm: str, path: tuple[str, str, str], control: Control | None) -> Scenario:
    rate, rtt, queue = path
    bottleneck = Link(rate=rate, delay="10 ms", queue=DropTail(queue))
    flows = [Flow(algorithm, rtt=rtt, control=control)]
    return Scenario(duration=DURATION, dumbbell=Dumbbell(bottleneck), flows=flows)


def _metrics(records: Records) -> tuple[float, float, int]:
    """Goodput, mean RTT and retransmitted packets."""
    (flow,) = records.rows("flows")
    return goodput(records)["goodput_bps"][0], flow["mean_rtt_ns"], flow["retransmitted_packets"]


def _effect(
    algorithm: str, schedule: str, base: Sequence[tuple[float, float, int]], runs: Sequence[tuple[float, float, int]]
) -> ReportEffect:
    rates = [run[0] / one[0] - 1 for one, run in zip(base, runs, strict=True)]
    rtts = [run[1] / one[1] - 1 for one, run in zip(base, runs, strict=True)]
    return ReportEffect(
        algorithm=algorithm,
        requires=required(algorithm),
        report=schedule,
        goodput_least=min(rates),
        goodput_median=median(rates),
        goodput_most=max(rates),
        rtt_least=min(rtts),
        rtt_median=median(rtts),
        rtt_most=max(rtts),
        retransmitted_simulator=sum(one[2] for one in base),
        retransmitted=sum(run[2] for run in runs),
    )


@cache
def sentence(algorithm: str, schedule: str | None = None) -> str:
    """One line: what the report schedule of a run in the kernel changes for an algorithm.

    Parameters
    ----------
    algorithm
        An algorithm of the catalogue, as a flow names it.
    schedule
        ``ack``, ``rtt`` or a time; by default as the algorithm's entry selects.

    Raises
    ------
    ScenarioError
        If no algorithm has this name, or the schedule is neither.
    """
    schedule = schedule or required(algorithm)
    how = {"ack": "a report at each ACK", "rtt": "a report per round trip"}.get(schedule, f"a report per {schedule}")
    (one,) = effects(algorithm, [schedule])
    return (
        f"{algorithm}: {how}; in the simulator, on {len(PATHS)} paths, this changes goodput by "
        f"{_range(one.goodput_least, one.goodput_most)}, mean RTT by {_range(one.rtt_least, one.rtt_most)}, "
        f"retransmitted packets from {one.retransmitted_simulator} to {one.retransmitted}"
    )


def _range(least: float, most: float) -> str:
    """Two relative changes in per cent.

    >>> _range(-0.1234, 0.001)
    '-12.3 to +0.1 %'
    """
    return f"{100 * least:+.1f} to {100 * most:+.1f} %"


def __dir__() -> list[str]:
    return __all__
