"""``cwndlab identify``: the congestion control that wrote a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_rows
from cwndlab.cli.options import Argument, Option, command

if TYPE_CHECKING:
    from cwndlab.validation.identify import Identification

_COLUMNS = ("algorithm", "surprise_bits", "explained", "misses", "acks", "app_limited")
#: Rows of the table.
_SHOWN = 8


def identify(
    log: Annotated[Path, Argument("LOG", "A qlog file of the sender, or a capture of TCP.")],
    candidates: Annotated[str | None, Option("NAME,…", "Choose from these congestion avoidances only.")] = None,
    connection: str | None = None,
    samples: Path | None = None,
    mss: int | None = None,
    initial_cwnd: int | None = None,
    format: Format = Format.table,
) -> None:
    """Find the congestion control that a sender uses."""
    result = cwndlab.identify(
        log,
        candidates=candidates.split(",") if candidates else None,
        connection=connection,
        samples=samples,
        mss_bytes=mss,
        initial_cwnd_bytes=initial_cwnd,
    )
    match format:
        case Format.json:
            write_json(result.as_dict())
        case Format.csv:
            write_csv([vars(one) for one in result.ranking], _COLUMNS)
        case Format.table:
            _show(result)


def _show(result: Identification) -> None:
    write(result.headline())
    write("")
    rows = [
        {
            "algorithm": one.algorithm,
            "surprise, bits": f"{one.surprise_bits:.0f}",
            "explained": f"{100 * one.explained:.1f} %",
            "corrections": one.misses,
            "most frequent": next(iter(one.kinds), ""),
        }
        for one in result.ranking[:_SHOWN]
    ]
    write_rows(rows, tuple(rows[0]), Format.table)
    for line in result.remarks():
        write(line)
    for line in result.notes:
        say(line)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, identify, "identify server.pcapng")
