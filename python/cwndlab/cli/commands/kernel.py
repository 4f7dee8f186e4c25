"""``cwndlab kernel``: algorithms registered with the kernel's TCP for as long as the command runs."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.catalogue import algorithms, parts
from cwndlab.cli import signals
from cwndlab.cli.console import Format, say, write_rows
from cwndlab.cli.options import Argument, Option, command, group, pairs_of
from cwndlab.scenario.units import duration_s

if TYPE_CHECKING:
    from rich.table import Table

    from cwndlab.kernel import Attached
    from cwndlab.validation.report_schedule import ReportEffect

#: Seconds between two refreshes.
_REFRESH_S = 0.5
#: Connections shown at most.
_SHOWN = 30
_STATES = ("open", "disorder", "cwr", "recovery", "loss")
#: Columns of the summary.
_SUMMARY = (
    "algorithm",
    "name",
    "report",
    "connections",
    "reports",
    "lost",
    "fallbacks",
    "decided_p99_us",
    "applied_p50_us",
    "applied_p99_us",
    "applied_at_next",
)


def run(
    algorithm: Annotated[
        list[str], Option("NAME|FILE.py", "An algorithm to register, or a Python file with some. May be repeated.")
    ],
    report: Annotated[
        str | None, Option("rtt|ack|TIME", "When the kernel reports; by default as the algorithm's entry requests.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        Option("NAME=FILE", "A policy among the algorithms: its name and its file. May be repeated."),
    ] = None,
    algorithm_file: list[Path] | None = None,
    for_: Annotated[str | None, Option("TIME", "End after this time.")] = None,
    format: Format = Format.table,
) -> None:
    """Register algorithms with the kernel until Ctrl-C.

    Sockets that select cwndlab_NAME use the algorithm. A terminal shows their connections meanwhile.
    """
    span_s = None if for_ is None else duration_s(for_, "for")
    policies = _policies(policy or [])
    algorithm, classes = cwndlab.custom.selected(algorithm, algorithm_file or ())
    registered = cwndlab.kernel.attach(algorithm, report=report, policies=policies, classes=classes)
    with registered as attached, _ended_by_signals() as ended:
        say(f"registered: {', '.join(attached.names)}")
        for text in dict.fromkeys(algorithm):
            if cwndlab.custom.base_name(text) not in {*policies, *classes}:
                say(cwndlab.validation.report_schedule.sentence(text, report))
                for limit in cwndlab.kernel.ecn_limits(_needs(text)):
                    say(f"{text}: {limit}")
        if not attached.real_time:
            say("real-time priority (SCHED_FIFO) was refused: decisions may be late (RLIMIT_RTPRIO or CAP_SYS_NICE)")
        _show(attached, ended, span_s)
    write_rows([_row(one) for one in attached.totals], _SUMMARY, format)
    for one in attached.totals:
        for failure in one["failures"]:
            say(f"{one['algorithm']}: stopped deciding for a connection: {failure}")
    if any(one["failures"] for one in attached.totals):
        raise typer.Exit(1)


def reports(
    names: Annotated[
        list[str] | None, Argument("[NAME…]", "Algorithms; by default all that run in the kernel.")
    ] = None,
    format: Format = Format.table,
) -> None:
    """Predict the effect of report schedules.

    Runs each algorithm in the simulator on twelve paths, with a call per ACK, and as in the kernel with a report
    at each ACK and with one per round trip. Goodput and mean RTT are changes relative to a call per ACK.
    """
    schedules = cwndlab.validation.report_schedule
    effects = [one for name in names or schedules.in_kernel() for one in schedules.effects(name)]
    if format is Format.table:
        rows = [_shown_effect(one) for one in effects]
        write_rows(rows, tuple(rows[0]), format)
    else:
        write_rows([one.as_dict() for one in effects], schedules.COLUMNS, format)


def list_(format: Format = Format.table) -> None:
    """List the kernel's algorithms; mark those of cwndlab."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    rows = [{"name": name, "ours": "yes" if name.startswith("cwndlab_") else "no"} for name in known]
    write_rows(rows, ("name", "ours"), format)


def _needs(algorithm: str) -> set[str]:
    """What the entries of an algorithm of the catalogue need."""
    used = parts(algorithm)
    return {need for one in algorithms() if one.name in (used.growth, used.slow_start) for need in one.needs}


def _shown_effect(one: ReportEffect) -> dict[str, Any]:
    """A row of the table of `reports`."""

    def changes(least: float, middle: float, most: float) -> str:
        return f"{100 * middle:+.1f} % ({100 * least:+.0f} to {100 * most:+.0f})"

    return {
        "algorithm": one.algorithm,
        "requires": one.requires,
        "report": one.report,
        "goodput": changes(one.goodput_least, one.goodput_median, one.goodput_most),
        "mean RTT": changes(one.rtt_least, one.rtt_median, one.rtt_most),
        "retransmitted": f"{one.retransmitted_simulator} → {one.retransmitted}",
    }


def _policies(given: list[str]) -> dict[str, dict[str, Any]]:
    """The documents of policies, by name."""
    pairs = pairs_of(given, "--policy", "mine=policy.json")
    return {name: cwndlab.gym.Policy.load(file).to_document() for name, file in pairs}


class _ended_by_signals:  # noqa: N801
    """While it is open, SIGINT and SIGTERM request an end instead of ending the process, unless they are ignored."""

    def __enter__(self) -> _ended_by_signals:
        self.requested = False
        taken = (one for one in signals.ENDING if not signals.is_ignored(one))
        self._before = [(one, signal.signal(one, self._ask)) for one in taken]
        return self

    def __exit__(self, *_: object) -> None:
        for one, handler in self._before:
            signal.signal(one, handler)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True


def _show(attached: Attached, ended: _ended_by_signals, span_s: float | None) -> None:
    until = None if span_s is None else time.monotonic() + span_s

    def is_over() -> bool:
        return ended.requested or (until is not None and time.monotonic() >= until)

    def rest() -> float:
        return _REFRESH_S if until is None else max(0.0, min(_REFRESH_S, until - time.monotonic()))

    if not sys.stderr.isatty():
        while not is_over():
            time.sleep(rest())
        return
    from rich.console import Console
    from rich.live import Live

    with Live(_table(attached), console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        while not is_over():
            time.sleep(rest())
            live.update(_table(attached), refresh=True)


def _table(attached: Attached) -> Table:
    from rich.table import Table

    flows, totals = attached.flows, attached.totals
    lost = sum(one["lost"] for one in totals)
    p50, p99 = (max((one["applied"][key] for one in totals), default=0) / 1e3 for key in ("p50_ns", "p99_ns"))
    table = Table(
        caption=f"{len(flows)} connections; from report to decision in force {p50:.0f} us (50 %), {p99:.0f} us (99 %); "
        f"lost reports: {lost}; Ctrl-C ends"
    )
    for column in ("algorithm", "from", "to", "cwnd", "srtt ms", "Mbit/s", "pacing Mbit/s", "state", "decided by"):
        table.add_column(column, justify="left" if column in ("algorithm", "from", "to") else "right")
    for flow in flows[:_SHOWN]:
        pacing = flow["pacing_rate_bps"]
        table.add_row(
            flow["algorithm"],
            f":{flow['local_port']}",
            flow["remote"],
            str(flow["cwnd_segments"]),
            f"{flow['srtt_ns'] / 1e6:.2f}",
            f"{flow['delivery_rate_bps'] / 1e6:.2f}",
            "" if pacing is None else f"{pacing / 1e6:.2f}",
            _STATES[min(flow["state"], 4)],
            "watchdog" if flow["fallback"] else "us",
        )
    return table


def _row(total: dict[str, Any]) -> dict[str, Any]:
    applied, decided = total["applied"], total["decided"]
    return {key: total[key] for key in _SUMMARY if key in total} | {
        "decided_p99_us": decided["p99_ns"] / 1e3,
        "applied_p50_us": applied["p50_ns"] / 1e3,
        "applied_p99_us": applied["p99_ns"] / 1e3,
        "applied_at_next": total["applied_at_next"] / max(1, applied["count"]),
    }


def add(app: typer.Typer) -> None:
    """Adds the command and its subcommands."""
    kernel = group(app, "kernel", "Run cwndlab's algorithms in the kernel's TCP.")
    command(kernel, run, "kernel run --algorithm phcc --algorithm cubic+ccm-ss")
    command(kernel, reports, "kernel reports vegas phcc")
    command(kernel, list_, "kernel list", name="list")
