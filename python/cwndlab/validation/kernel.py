"""Validation against this machine's kernel: the same scenarios in the simulator and in the kernel's TCP, repeated.

Kernel runs are emulations (`cwndlab.emulation`), two or more at a time; a run whose deliveries were late is repeated.
The result of each is a line of ``runs.csv`` in a folder: a campaign that was stopped continues there, and a complete
one is judged again without a kernel.
"""

from __future__ import annotations

import csv
import fcntl
import io
import math
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.emulation import LATE_S, emulate_many
from cwndlab.engine import available_cores
from cwndlab.errors import Fault, RecordsError
from cwndlab.files import json_text
from cwndlab.scenario.units import duration_s
from cwndlab.simulate import run_jobs
from cwndlab.validation.references.paths import Paths, Trial, read
from cwndlab.validation.references.reference import kernel_paths

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Columns of the answer, in the order in which they are printed.
COLUMNS = ("path", "algorithm", "quantity", "simulator", "kernel", "spread", "deviation", "tolerance", "holds")

#: A run whose deliveries were late is repeated so many times at most; the last one counts, and the notes say so.
ATTEMPTS = 4


@dataclass(frozen=True)
class Run:
    """What one flow of one run gave: a line of ``runs.csv``."""

    path: str
    algorithm: str
    repetition: int
    flow: int
    sender: str
    #: Payload delivered per time, while all flows are there.
    goodput_bps: float
    #: Mean of the smoothed RTT over the same time.
    mean_rtt_s: float
    min_rtt_s: float
    #: Entries into recovery and timeouts of all flows, from the start to the end.
    congestion_events: int
    retransmitted_packets: int
    queue_drops: int
    late_p50_s: float
    late_p99_s: float
    late_max_s: float
    #: `uname -r`, empty for the simulator.
    kernel: str
    date: str
    #: Of the scenario: a line of another one does not count.
    scenario: str
    #: Completed transfers of the flow, and their times from the handshake to the last byte; else 0 and NaN.
    transfers: int = 0
    median_completion_s: float = math.nan
    mean_completion_s: float = math.nan
    #: Of all flows, from the start to the end: expired retransmission timers on data, tail loss probes.
    timeouts: float = math.nan
    loss_probes: float = math.nan
    #: Packets that the bottleneck marked.
    marks: float = math.nan

    def key(self) -> tuple[str, str, int]:
        return self.path, self.algorithm, self.repetition


@dataclass(frozen=True)
class Verdict:
    """One quantity of one trial: means over the repetitions, and whether they are close enough."""

    path: str
    algorithm: str
    quantity: str
    #: The flow, or the size of its transfers, where there is more than one.
    part: str
    simulator: float
    kernel: float
    #: Largest less smallest of the kernel's repetitions.
    spread: float
    tolerance: float

    @property
    def deviation(self) -> float:
        """The simulator's value less the kernel's."""
        return self.simulator - self.kernel

    @property
    def holds(self) -> bool:
        """The deviation is within the tolerance, rounding apart."""
        return abs(self.deviation) <= self.tolerance * (1 + 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """The columns of `COLUMNS`."""
        values = {name: getattr(self, name) for name in COLUMNS}
        return values | {"quantity": f"{self.quantity}[{self.part}]" if self.part else self.quantity}


# --- measuring


def measure(
    records: Records,
    trial: Trial,
    repetition: int,
    *,
    counts: Counts,
    timing: dict[str, Any] | None = None,
    kernel: str = "",
) -> list[Run]:
    """What each flow of a run gave, from the moment when all flows are there to the end.

    The mean RTT of a flow that stops is that until its stop. ``counts`` are those of the complete run, as exact as the
    engine counts them. ``timing`` is an emulation's.
    """
    import polars as pl

    late = timing or {}
    begin = max(records.flows["start_ns"])
    out = []
    for flow in records.flows.sort("flow").iter_rows(named=True):
        seen = records.samples.filter((pl.col("flow") == flow["flow"]) & (pl.col("time_ns") >= begin)).sort("time_ns")
        span = (seen["time_ns"][-1] - seen["time_ns"][0]) / 1e9
        delivered = seen["delivered_bytes"][-1] - seen["delivered_bytes"][0]
        stop = trial.document["flow"][flow["flow"]].get("stop")
        active = seen.filter(pl.col("time_ns") <= duration_s(stop, "stop") * 1e9) if stop else seen
        done = records.transfers.filter(pl.col("flow") == flow["flow"])
        spans_ns: list[int] = (done["end_ns"] - done["start_ns"]).to_list() if trial.transfers else []
        completion_s = [span / 1e9 for span in spans_ns]
        out.append(
            Run(
                path=trial.path,
                algorithm=trial.algorithm,
                repetition=repetition,
                flow=flow["flow"],
                sender=trial.senders[flow["flow"]],
                goodput_bps=round(8 * delivered / span),
                mean_rtt_s=round(float(active["srtt_ns"].drop_nulls().mean() or float("nan")) / 1e9, 7),  # type: ignore[arg-type]
                min_rtt_s=round((flow["min_rtt_ns"] or 0) / 1e9, 7),
                congestion_events=counts.events,
                retransmitted_packets=flow["retransmitted_packets"],
                queue_drops=flow["queue_drops"],
                late_p50_s=late.get("late_p50_ns", 0) / 1e9,
                late_p99_s=late.get("late_p99_ns", 0) / 1e9,
                late_max_s=late.get("late_max_ns", 0) / 1e9,
                kernel=kernel,
                date=time.strftime("%Y-%m-%d", time.gmtime()) if kernel else "",
                scenario=fingerprint(trial),
                transfers=len(completion_s),
                median_completion_s=_rounded(statistics.median, completion_s),
                mean_completion_s=_rounded(statistics.fmean, completion_s),
                timeouts=counts.timeouts,
                loss_probes=counts.loss_probes,
                marks=records.links["marked_packets"][0],
            )
        )
    return out


def _rounded(of: Callable[[Any], float], values: Sequence[float]) -> float:
    return round(float(of(values)), 7) if len(values) else math.nan


#: Parameters of a stack by which the simulator follows the kernel, whose runs do not depend on them.
_OF_THE_SIMULATOR = frozenset({"initial_window", "initial_receive_window", "tso_burst", "sack_compression"})


def fingerprint(trial: Trial) -> str:
    """Of what the kernel ran, whose algorithm is that of the sender and not ours beside it: 12 hex digits."""
    flows = []
    for sender, flow in zip(trial.senders, trial.document["flow"], strict=True):
        stack = {name: value for name, value in flow["stack"].items() if name not in _OF_THE_SIMULATOR}
        flows.append(flow | {"algorithm": sender, "stack": stack})
    document = trial.document | {"flow": flows}
    about: Any = [document, trial.settings] if trial.settings else document
    if trial.rtt_step_s:
        about = [about, trial.rtt_step_s]
    return sha256(json_text(about, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Counts:
    """Counters of a run, all flows together."""

    #: Entries into recovery and timeouts.
    events: int
    timeouts: float
    loss_probes: float


def counts_simulated(records: Records) -> Counts:
    """The counts of a simulation."""
    flows = records.rows("flows")
    timeouts = sum(flow["timeouts"] for flow in flows)
    probes = sum(flow["loss_probes"] for flow in flows)
    return Counts(sum(flow["recoveries"] for flow in flows) + timeouts, timeouts, probes)


def counts_of_kernel(counters: dict[str, int], loss: float = 0.0, connections: int = 0) -> Counts:
    """The same by the kernel's own counters: a look at the state of a connection misses a recovery that follows upon
    another within one ACK.

    Timers that expired on a SYN are left out, since the simulator counts those of data, and the probes that repeat a
    FIN (`without_probes_of_ends`).

    Parameters
    ----------
    counters
        ``TcpExt`` of the senders' namespace.
    loss
        Share of packets that the wire loses.
    connections
        Connections that ended.
    """
    timeouts = counters.get("TCPTimeouts", 0) - counters.get("TCPSynRetrans", 0)
    recoveries = counters.get("TCPSackRecovery", 0) + counters.get("TCPRenoRecovery", 0)
    counts = Counts(recoveries + timeouts, timeouts, counters.get("TCPLossProbes", 0))
    return without_probes_of_ends(counts, loss, connections)


def without_probes_of_ends(counts: Counts, loss: float, connections: int) -> Counts:
    """Without the probes that repeat a FIN, which the simulator does not send: each of the ``connections`` ends with
    one, alone in flight, of which the share ``loss`` is lost."""
    return replace(counts, loss_probes=round(counts.loss_probes - loss * connections, 2))


# --- judging


def judge(paths: Paths, simulated: Sequence[Run], kernel: Sequence[Run]) -> list[Verdict]:
    """Every quantity of every trial that both sides have runs of: means over the repetitions, by ``paths``."""
    out = []
    for trial in paths.trials:
        mine, theirs = (
            [run for run in runs if (run.path, run.algorithm) == (trial.path, trial.algorithm)]
            for runs in (simulated, kernel)
        )
        if not mine or not theirs:
            continue
        is_shared = len(trial.senders) > 1
        for flow, sender in enumerate(trial.senders):
            if trial.transfers:
                part = trial.transfers[flow]
                wanted = [(name, name) for name in ("median_completion_s", "mean_completion_s")]
            else:
                part = f"{flow} {sender}" if is_shared else ""
                wanted = [("share_bps" if is_shared else "goodput_bps", "goodput_bps"), ("mean_rtt_s", "mean_rtt_s")]
            for quantity, column in wanted:
                ours, real = (
                    [float(getattr(run, column)) for run in runs if run.flow == flow] for runs in (mine, theirs)
                )
                out.append(_verdict(trial, quantity, part, ours, real, paths))
        for quantity in (*(("timeouts", "loss_probes") if trial.transfers else ("congestion_events",)), *trial.counts):
            ours, real = (_counts(runs, quantity) for runs in (mine, theirs))
            out.append(_verdict(trial, quantity, "", ours, real, paths))
    return out


def _counts(runs: Sequence[Run], quantity: str) -> list[float]:
    """By repetition, a count of all flows together."""
    if quantity != "retransmissions":
        return [float(getattr(run, quantity)) for run in runs if run.flow == 0]
    numbers = sorted({run.repetition for run in runs})
    return [float(sum(run.retransmitted_packets for run in runs if run.repetition == number)) for number in numbers]


def _verdict(trial: Trial, quantity: str, part: str, ours: list[float], theirs: list[float], paths: Paths) -> Verdict:
    rule = paths.tolerances[quantity]
    simulator, kernel = statistics.fmean(ours), statistics.fmean(theirs)
    allowed = max(
        rule.get("relative", 0.0) * abs(kernel),
        rule.get("absolute", 0.0),
        rule.get("of_the_link", 0.0) * trial.rate_bps,
    )
    return Verdict(trial.path, trial.algorithm, quantity, part, simulator, kernel, max(theirs) - min(theirs), allowed)


# --- the campaign


def kept(file: Path, paths: Paths) -> list[Run]:
    """The runs of ``runs.csv`` that are of these trials; a line of an earlier form of a path does not count, nor does a
    repetition without all of its flows, which a killed process leaves."""
    if not file.is_file():
        return []
    known = {(trial.path, trial.algorithm): trial for trial in paths.trials}
    whole = _whole_lines(file.read_bytes()).decode()
    runs: dict[tuple[str, str, int], dict[int, Run]] = {}
    for row in csv.DictReader(io.StringIO(whole, newline="")):
        if None in row or None in row.values():
            continue  # a torn line, after which an earlier version went on
        run = _parse(row, file)
        trial = known.get((run.path, run.algorithm))
        if trial is not None and fingerprint(trial) == run.scenario:
            runs.setdefault(run.key(), {})[run.flow] = run
    complete = [flows for key, flows in runs.items() if len(flows) == len(known[key[:2]].senders)]
    return [run for flows in complete for run in flows.values()]


def _whole_lines(content: bytes) -> bytes:
    """Without the part of a line that a killed process leaves at the end."""
    return content[: content.rfind(b"\n") + 1]


def _parse(row: dict[str, str], file: Path) -> Run:
    types: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}
    try:
        return Run(**{field.name: types[str(field.type)](row[field.name]) for field in fields(Run)})
    except (KeyError, TypeError, ValueError) as error:
        what = f"a line is not what this version writes ({error})"
        raise RecordsError(Fault(str(file), what, "name another folder, or remove the file")) from None


def keep(file: Path, runs: Iterable[Run]) -> None:
    """Adds runs to a file of runs."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, [field.name for field in fields(Run)], lineterminator="\n")
    with file.open("a+b") as kept_lines:
        # Another process may add runs at the same time, whose lines would be cut off.
        fcntl.flock(kept_lines, fcntl.LOCK_EX)
        kept_lines.seek(0)
        whole = _whole_lines(kept_lines.read())
        if not whole:
            writer.writeheader()
        writer.writerows(asdict(run) for run in runs)
        kept_lines.truncate(len(whole))
        kept_lines.write(lines.getvalue().encode())


def _emulated(
    trials: list[tuple[Trial, int]], jobs: int, progress: Callable[[], None], say: Callable[[str], None]
) -> Iterator[list[Run]]:
    """Emulates each (trial, repetition), again where its timing was bad."""
    waiting, attempt = trials, 1
    while waiting:
        late = []
        for index, (records, timing) in emulate_many(
            [(trial.repetition(seed), seed, trial.settings) for trial, seed in waiting], workers=jobs, late_s=LATE_S
        ):
            trial, seed = waiting[index]
            if timing["unreliable"] is not None and attempt < ATTEMPTS:
                late.append((trial, seed))
                say(f"{trial.path} {trial.algorithm} {seed}: late by {timing['late_p99_ns'] / 1e6:.2f} ms, repeated")
                continue
            loss = trial.document["dumbbell"]["bottleneck"].get("loss", {}).get("p", 0.0)
            counts = counts_of_kernel(timing["counters"], loss, len(records.transfers) if trial.transfers else 0)
            progress()
            yield measure(records, trial, seed, counts=counts, timing=timing, kernel=platform.release())
        waiting, attempt = late, attempt + 1


def campaign(
    folder: Path,
    *,
    paths: list[str] | None = None,
    algorithms: list[str] | None = None,
    repetitions: int | None = None,
    jobs: int | None = None,
    workers: int | None = None,
    file: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[list[Verdict], list[str]]:
    """Runs what ``folder`` does not have yet, ``jobs`` emulations at a time; then simulates and judges all of it.

    ``file`` names other paths than the bundled ones. Returns the verdicts and notes: kernel, dates, lateness, and which
    runs were late all the same.
    """
    selected = read(file or kernel_paths(), paths=paths, algorithms=algorithms)
    count = repetitions or selected.repetitions
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "runs.csv"
    wanted = [(trial, seed) for seed in range(1, count + 1) for trial in selected.trials]
    have = {run.key() for run in kept(store, selected)}
    todo = [(trial, seed) for trial, seed in wanted if (trial.path, trial.algorithm, seed) not in have]
    done = len(wanted) - len(todo)

    def one() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(wanted))

    for runs in _emulated(todo, jobs or 2 * available_cores(), one, say):
        keep(store, runs)
    real = [run for run in kept(store, selected) if run.repetition <= count]
    simulated: list[Run] = []
    for index, records in run_jobs([(trial.repetition(seed), seed) for trial, seed in wanted], workers=workers):
        trial, seed = wanted[index]
        simulated += measure(records, trial, seed, counts=counts_simulated(records))
    return judge(selected, simulated, real), notes(real)


def notes(runs: Sequence[Run]) -> list[str]:
    """What must be known of the kernel's side."""
    if not runs:
        return []
    kernels = ", ".join(sorted({run.kernel for run in runs}))
    dates = sorted({run.date for run in runs})
    days = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    number = len({run.key() for run in runs})
    late_us = [run.late_p99_s * 1e6 for run in runs]
    out = [
        f"Linux {kernels}, {days}: {number} runs; 99 % of a run's deliveries were late by less than "
        f"{statistics.median(late_us):.0f} us (median over the runs; worst run {max(late_us):.0f} us)"
    ]
    late = sorted({run.key() for run in runs if run.late_p99_s > LATE_S})
    out += [
        f"{path} {algorithm} {seed}: late in {ATTEMPTS} attempts, counted all the same"
        for path, algorithm, seed in late
    ]
    return out


def shares(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """By algorithm: how many quantities were judged, how many hold, and the share."""
    counts: dict[str, list[bool]] = {}
    for verdict in verdicts:
        counts.setdefault(verdict.algorithm, []).append(verdict.holds)
    return [
        {"algorithm": name, "judged": len(results), "hold": sum(results), "share": sum(results) / len(results)}
        for name, results in counts.items()
    ]


#: Name, scale, unit and digits of each quantity in the tables.
_SHOWN = {
    "goodput_bps": ("goodput", 1e-6, "Mbit/s", 2),
    "share_bps": ("share", 1e-6, "Mbit/s", 2),
    "mean_rtt_s": ("mean RTT", 1e3, "ms", 1),
    "median_completion_s": ("median completion", 1e3, "ms", 1),
    "mean_completion_s": ("mean completion", 1e3, "ms", 1),
    "congestion_events": ("congestion events", 1.0, "", 1),
    "timeouts": ("timeouts", 1.0, "", 1),
    "loss_probes": ("loss probes", 1.0, "", 1),
    "retransmissions": ("retransmissions", 1.0, "", 1),
    "marks": ("marked packets", 1.0, "", 1),
}


def markdown(verdicts: Sequence[Verdict], notes: Sequence[str]) -> str:
    """The tables of ``docs/validity.md``."""
    lines = [*(f"{note}." for note in notes), "", "| algorithm | judged | hold | share |", "|---|---:|---:|---:|"]
    lines += [
        f"| `{one['algorithm']}` | {one['judged']} | {one['hold']} | {one['share']:.0%} |" for one in shares(verdicts)
    ]
    return "\n".join([*lines, "", *table(verdicts)]) + "\n"


def table(verdicts: Iterable[Verdict], columns: Sequence[str] = COLUMNS) -> list[str]:
    """Lines of a table in Markdown, in units that people read; ``columns`` are its headings."""
    lines = [f"| {' | '.join(columns)} |", "|---|---|---|" + "---:|" * 5 + "---|"]
    for one in verdicts:
        name, scale, unit, digits = _SHOWN[one.quantity]
        numbers = [one.simulator, one.kernel, one.spread, one.deviation, one.tolerance]
        cells = [f"{number * scale:{'+' if index == 3 else ''}.{digits}f}" for index, number in enumerate(numbers)]
        cells[4] = f"±{cells[4]}"
        label = f"{name}{f'[{one.part}]' if one.part else ''}{f', {unit}' if unit else ''}"
        verdict = "holds" if one.holds else "**no**"
        lines.append(f"| {one.path} | `{one.algorithm}` | {label} | {' | '.join(cells)} | {verdict} |")
    return lines
