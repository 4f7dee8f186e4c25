"""``cwndlab audit``: a stack's log against the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_rows
from cwndlab.cli.options import Argument, Option, command
from cwndlab.errors import Fault, ScenarioError

if TYPE_CHECKING:
    from cwndlab.validation.audit import AuditResult, Departure

_COLUMNS = (
    "time_ms",
    "since_ms",
    "kind",
    "event",
    "source",
    "logged_before_bytes",
    "logged_bytes",
    "reference_before_bytes",
    "reference_bytes",
    "acks",
)


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ScenarioError(Fault("--require", f"'{text}' is not a percentage from 0 to 100", "write --require 99"))
    return value


def audit(
    log: Annotated[Path, Argument("LOG", "A qlog file or a capture of the sender.")],
    algorithm: Annotated[
        str,
        Option("ALGORITHM|FILE", "The reference, such as 'cubic', or a Python or Rust file with one.", flags=("--as",)),
    ],
    connection: str | None = None,
    samples: Path | None = None,
    mss: int | None = None,
    initial_cwnd: int | None = None,
    tolerance: Annotated[float | None, Option("SEGMENTS", "Difference that counts as equal.")] = None,
    require: Annotated[float | None, Option("PERCENT", "Fail below this share of ACKs.", parser=_percent)] = None,
    algorithm_file: list[Path] | None = None,
    report: Annotated[Path | None, "Write an HTML page."] = None,
    format: Format = Format.table,
) -> None:
    """Compare the windows in a stack's log with an algorithm."""
    reference, classes = cwndlab.custom.selected_one(algorithm, algorithm_file or ())
    result = cwndlab.validation.audit.audit(
        log,
        reference,
        algorithms=classes,
        connection=connection,
        samples=samples,
        mss_bytes=mss,
        initial_cwnd_bytes=initial_cwnd,
        tolerance_segments=tolerance,
    )
    match format:
        case Format.json:
            write_json(result.as_dict())
        case Format.csv:
            write_csv([vars(one) for one in result.departures], _COLUMNS)
        case Format.table:
            _show(result)
    if report is not None:
        cwndlab.files.save(cwndlab.reports.audit.audit_page(result), report)
        say(f"report: {report}")
    if require is not None and (result.share is None or 100 * result.share < require):
        few = "too few decisive ACKs" if result.share is None else f"less than {require:g} % of the decisive ACKs"
        say(few if result.share is None else f"{few} are explained")
        raise typer.Exit(1)


def _show(result: AuditResult) -> None:
    write(f"{result.algorithm}: {result.headline()}")
    severity = result.severity()
    if severity is not None:
        write(severity)
    if result.first is not None:
        _show_first(result.first)
        rows = [
            {
                "kind": one.kind,
                "severity": str(one.severity),
                "departures": one.departures,
                "ACKs": one.acks,
                "largest": f"{one.largest_segments:.1f} segments, {one.largest_percent:.0f} %",
                "first": f"{one.first_ms:.3f} ms",
                "source": one.source,
            }
            for one in result.groups
        ]
        write("")
        write_rows(rows, tuple(rows[0]), Format.table)
    for line in [*result.assumptions(), *result.notes]:
        say(line)


def _show_first(first: Departure) -> None:
    since = "" if first.since_ms >= first.time_ms else f", drifting since {first.since_ms:.3f} ms"
    write(f"\nfirst departure at {first.time_ms:.3f} ms{since}: {first.meaning}")
    write(f"  event      {first.event}")
    write(f"  logged     {first.logged_before_bytes} B → {first.logged_bytes} B")
    write(f"  reference  {first.reference_before_bytes} B → {first.reference_bytes} B")
    write(f"  source     {first.source}")
    write("  state of the reference, before → after")
    states = cwndlab.reports.audit.state_rows(first.state_before, first.state_after)
    width = max((len(name) for name, _ in states), default=0)
    for name, text in states:
        write(f"    {name:{width}}  {text}")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, audit, "audit server.sqlog --as cubic --report audit.html")
