"""``cwndlab conform``: one algorithm in simulator, kernel and QUIC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_rows
from cwndlab.cli.options import FormatOption

if TYPE_CHECKING:
    from cwndlab.validation.replay import ReplayResult, Run


def conform(
    names: Annotated[list[str], typer.Argument(help="Algorithms, such as 'cubic'.", metavar="NAME…")],
    replay: Annotated[
        bool, typer.Option("--replay", help="Only tell it the same again: nothing runs on the wall clock.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Tell an algorithm the same in simulator, kernel and QUIC; run it on one path in simulator and kernel."""

    replays = [one for name in names for one in cwndlab.validation.replay.conform(name)]
    if format is Format.table:
        _show(replays)
    runs = [] if replay else [one for name in names for one in cwndlab.validation.replay.on_a_path(name)]
    match format:
        case Format.json:
            write_json({"replays": [one.as_dict() for one in replays], "runs": [one.as_dict() for one in runs]})
        case Format.csv:
            write_csv([one.as_dict() for one in replays], cwndlab.validation.replay.COLUMNS)
        case Format.table if runs:
            _show_runs(runs)
    parted = sum(not one.conforms for one in replays)
    if parted:
        say(f"{parted} of {len(replays)} replays differ for no reason")
        raise typer.Exit(1)


def _show(replays: list[ReplayResult]) -> None:
    rows = [
        {
            "algorithm": one.algorithm,
            "course": one.course,
            "place": one.place,
            "windows": one.windows,
            "differ": one.differing,
            "by segments": one.most_segments,
            "verdict": one.verdict,
        }
        for one in replays
    ]
    write_rows(rows, tuple(rows[0]), Format.table)
    remarks: dict[str, list[str]] = {}
    for one in replays:
        if one.verdict != "same":
            text = one.reason or "no reason is known: a fault of the adapter"
            remarks.setdefault(text, []).append(f"{one.algorithm}, {one.course}, {one.place}: {one.first or 'absent'}")
    for reason, where in remarks.items():
        write(f"\n{reason}")
        for line in where:
            write(f"  {line}")


def _show_runs(runs: list[Run]) -> None:
    def part(value: float | None, reference: float | None, is_reference: bool) -> str:
        return "" if is_reference or value is None or not reference else f" ({100 * (value / reference - 1):+.1f} %)"

    rows = []
    for one in runs:
        reference = next(run for run in runs if run.algorithm == one.algorithm)
        if one.absent is not None:
            continue
        first = one is reference
        rows.append(
            {
                "algorithm": one.algorithm,
                "place": one.place,
                "goodput": f"{(one.goodput_bps or 0) / 1e6:.2f} Mbit/s"
                + part(one.goodput_bps, reference.goodput_bps, first),
                "mean RTT": f"{(one.mean_rtt_ns or 0) / 1e6:.1f} ms"
                + part(one.mean_rtt_ns, reference.mean_rtt_ns, first),
                "sent again": one.retransmitted_packets,
                "congestion": one.congestion_events,
                "mean window": f"{one.mean_cwnd_segments:.1f}"
                + part(one.mean_cwnd_segments, reference.mean_cwnd_segments, first),
                "parted": "" if first else "never" if one.parted_s is None else f"{one.parted_s:g} s",
            }
        )
    write("")
    write_rows(rows, tuple(rows[0]), Format.table)
    for one in runs:
        if one.absent is not None:
            write(f"{one.algorithm}, {one.place}: not here, because {one.absent}")
        for note in one.notes:
            say(f"{one.algorithm}, {one.place}: {note}")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example: cwndlab conform cubic --replay")(conform)
