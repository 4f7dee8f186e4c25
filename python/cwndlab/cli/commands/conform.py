"""``cwndlab conform``: conformance of one algorithm in several backends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_rows
from cwndlab.cli.options import Argument, command

if TYPE_CHECKING:
    from cwndlab.validation.replay import ReplayResult, Run


def conform(
    names: Annotated[list[str], Argument("NAME|FILE…", "Algorithms, such as 'cubic', or Python or Rust files.")],
    replay: Annotated[bool, "Only replay events; run nothing in real time."] = False,
    algorithm_file: list[Path] | None = None,
    format: Format = Format.table,
) -> None:
    """Compare an algorithm's decisions across backends.

    Replays the same events in the simulator, the kernel decider and the QUIC adapter, and runs one path in the
    simulator and in the kernel.
    """
    names, classes = cwndlab.custom.selected(names, algorithm_file or ())
    results = [one for name in names for one in cwndlab.validation.replay.conform(name, classes=classes)]
    if format is Format.table:
        _show(results)
    on_path = cwndlab.validation.replay.run_on_path
    runs = [] if replay else [one for name in names for one in on_path(name, classes=classes)]
    match format:
        case Format.json:
            write_json({"replays": [one.as_dict() for one in results], "runs": [one.as_dict() for one in runs]})
        case Format.csv:
            write_csv([one.as_dict() for one in results], cwndlab.validation.replay.COLUMNS)
        case Format.table if runs:
            _show_runs(runs)
    differing = sum(not one.conforms for one in results)
    if differing:
        say(f"{differing} of {len(results)} replays differ without a known reason")
        raise typer.Exit(1)


def _show(results: list[ReplayResult]) -> None:
    rows = [
        {
            "algorithm": one.algorithm,
            "case": one.case,
            "backend": one.backend,
            "windows": one.windows,
            "differing": one.differing,
            "max segments": one.max_segments,
            "verdict": str(one.verdict),
        }
        for one in results
    ]
    write_rows(rows, tuple(rows[0]), Format.table)
    remarks: dict[str, list[str]] = {}
    for one in results:
        if one.verdict is not cwndlab.validation.replay.Verdict.SAME:
            text = one.reason or "no known reason: a fault of the adapter"
            remarks.setdefault(text, []).append(f"{one.algorithm}, {one.case}, {one.backend}: {one.first or 'absent'}")
    for reason, where in remarks.items():
        write(f"\n{reason}")
        for line in where:
            write(f"  {line}")


def _show_runs(runs: list[Run]) -> None:
    def relative(value: float | None, simulated: float | None, is_simulated: bool) -> str:
        return "" if is_simulated or value is None or not simulated else f" ({100 * (value / simulated - 1):+.1f} %)"

    rows = []
    for one in runs:
        simulated = next(run for run in runs if run.algorithm == one.algorithm)
        if one.absent is not None:
            continue
        first = one is simulated
        rows.append(
            {
                "algorithm": one.algorithm,
                "backend": one.backend,
                "goodput": f"{(one.goodput_bps or 0) / 1e6:.2f} Mbit/s"
                + relative(one.goodput_bps, simulated.goodput_bps, first),
                "mean RTT": f"{(one.mean_rtt_ns or 0) / 1e6:.1f} ms"
                + relative(one.mean_rtt_ns, simulated.mean_rtt_ns, first),
                "retransmitted": one.retransmitted_packets,
                "congestion events": one.congestion_events,
                "mean window": f"{one.mean_cwnd_segments:.1f}"
                + relative(one.mean_cwnd_segments, simulated.mean_cwnd_segments, first),
                "divergence": ""
                if first
                else "none"
                if one.divergence_time_s is None
                else f"{one.divergence_time_s:g} s",
            }
        )
    write("")
    write_rows(rows, tuple(rows[0]), Format.table)
    for one in runs:
        if one.absent is not None:
            write(f"{one.algorithm}, {one.backend}: not available: {one.absent}")
        for note in one.notes:
            say(f"{one.algorithm}, {one.backend}: {note}")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, conform, "conform cubic --replay")
