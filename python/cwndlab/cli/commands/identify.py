"""``cwndlab identify``: the congestion control that wrote a log."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_rows
from cwndlab.cli.options import Argument, Option, command, listed, scenario_of
from cwndlab.errors import Fault, ScenarioError
from cwndlab.scenario.units import size_bytes

if TYPE_CHECKING:
    from cwndlab.validation.identify import Identification

_COLUMNS = ("algorithm", "surprise_bits", "explained", "misses", "acks", "app_limited")
#: Rows of the table.
_SHOWN = 8


def identify(
    log: Annotated[
        str, Argument("LOG|URL", "A qlog file of the sender, a capture of TCP, or the https URL of a file.")
    ],
    candidates: Annotated[str | None, Option("NAME,…", "Choose from these congestion avoidances only.")] = None,
    connection: str | None = None,
    samples: Path | None = None,
    mss: int | None = None,
    initial_cwnd: int | None = None,
    bottleneck: Annotated[
        Path | None,
        Option("SCENARIO", "With a URL: the path before the client; by default 4 Mbit/s, 100 ms and a queue of a BDP."),
    ] = None,
    size: str | None = None,
    trust: str | None = None,
    keep: Annotated[Path | None, Option("FILE", "With a URL: keep the capture.")] = None,
    format: Format = Format.table,
) -> None:
    """Find the congestion control that a sender uses.

    With a URL: download from it behind an emulated bottleneck, and capture the packets before that. Takes root.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(log)
        if log.startswith(("https:", "http:")):
            source = keep or Path(folder, "download.pcap")
            _download(log, source, bottleneck, size, trust)
        elif given := [
            name
            for name, value in (("bottleneck", bottleneck), ("bytes", size), ("trust", trust), ("keep", keep))
            if value
        ]:
            raise ScenarioError(Fault(f"--{given[0]}", "belongs to a URL", "leave it out, or give a URL"))
        _identify(source, candidates, connection, samples, mss, initial_cwnd, format)


def _download(url: str, file: Path, bottleneck: Path | None, size: str | None, trust: str | None) -> None:
    """Downloads from a server, and says over what."""
    scenario = None if bottleneck is None else scenario_of(bottleneck, None)
    amount = size_bytes(size or "15MB", "bytes")
    say(f"downloading {amount / 1e6:g} MB behind {scenario.title if scenario else '4 Mbit/s and 100 ms'}")
    result = cwndlab.live.behind.download_behind(url, file, scenario=scenario, size_bytes=amount, trust=trust)
    seconds = (result["last_byte_ns"] or 0) / 1e9
    say(f"{result['received_bytes'] / 1e6:.1f} MB from {result['address']} in {seconds:.1f} s")


def _identify(
    log: Path,
    candidates: str | None,
    connection: str | None,
    samples: Path | None,
    mss: int | None,
    initial_cwnd: int | None,
    format: Format,
) -> None:
    result = cwndlab.identify(
        log,
        candidates=listed(candidates),
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
            "algorithm": one.label,
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
