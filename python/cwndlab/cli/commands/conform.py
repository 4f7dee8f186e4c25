"""``cwndlab conform``: one algorithm in several places."""

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
    replay: Annotated[bool, typer.Option("--replay", help="Replays only: nothing runs on the wall clock.")] = False,
    format: FormatOption = Format.table,
) -> None:
    """Tell an algorithm the same in simulator, kernel and QUIC; run it on one path in simulator and kernel."""

    found = [one for name in names for one in cwndlab.validation.replay.conform(name)]
    if format is Format.table:
        _show(found)
    runs = [] if replay else [one for name in names for one in cwndlab.validation.replay.on_a_path(name)]
    match format:
        case Format.json:
            write_json({"replays": [one.as_dict() for one in found], "runs": [one.as_dict() for one in runs]})
        case Format.csv:
            write_csv([one.as_dict() for one in found], cwndlab.validation.replay.COLUMNS)
        case Format.table if runs:
            _show_runs(runs)
    differing = sum(not one.conforms for one in found)
    if differing:
        say(f"{differing} of {len(found)} replays differ for no reason")
        raise typer.Exit(1)


def _show(found: list[ReplayResult]) -> None:
    rows = [
        {
            "algorithm": one.algorithm,
            "case": one.case,
            "backend": one.backend,
            "windows": one.windows,
            "differ": one.differing,
            "by segments": one.most_segments,
            "verdict": str(one.verdict),
        }
        for one in found
    ]
    write_rows(rows, tuple(rows[0]), Format.table)
    remarks: dict[str, list[str]] = {}
    for one in found:
        if one.verdict is not cwndlab.validation.replay.Verdict.SAME:
            text = one.reason or "no reason is known: a fault of the adapter"
            remarks.setdefault(text, []).append(f"{one.algorithm}, {one.case}, {one.backend}: {one.first or 'absent'}")
    for reason, where in remarks.items():
        write(f"\n{reason}")
        for line in where:
            write(f"  {line}")


def _show_runs(runs: list[Run]) -> None:
    def part(value: float | None, said: float | None, is_said: bool) -> str:
        return "" if is_said or value is None or not said else f" ({100 * (value / said - 1):+.1f} %)"

    rows = []
    for one in runs:
        said = next(run for run in runs if run.algorithm == one.algorithm)
        if one.absent is not None:
            continue
        first = one is said
        rows.append(
            {
                "algorithm": one.algorithm,
                "backend": one.backend,
                "goodput": f"{(one.goodput_bps or 0) / 1e6:.2f} Mbit/s"
                + part(one.goodput_bps, said.goodput_bps, first),
                "mean RTT": f"{(one.mean_rtt_ns or 0) / 1e6:.1f} ms" + part(one.mean_rtt_ns, said.mean_rtt_ns, first),
                "sent again": one.retransmitted_packets,
                "congestion": one.congestion_events,
                "mean window": f"{one.mean_cwnd_segments:.1f}"
                + part(one.mean_cwnd_segments, said.mean_cwnd_segments, first),
                "diverged": "" if first else "never" if one.divergence_s is None else f"{one.divergence_s:g} s",
            }
        )
    write("")
    write_rows(rows, tuple(rows[0]), Format.table)
    for one in runs:
        if one.absent is not None:
            write(f"{one.algorithm}, {one.backend}: not here, because {one.absent}")
        for note in one.notes:
            say(f"{one.algorithm}, {one.backend}: {note}")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example: cwndlab conform cubic --replay")(conform)
