"""``cwndlab measure``: arguments in, `cwndlab.live` called, tables out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, say_seed, write, write_csv, write_json, write_table
from cwndlab.cli.findings import judge, say_findings
from cwndlab.cli.options import Argument, Option, command, listed
from cwndlab.cli.progress import Stopped, transfer_bar
from cwndlab.cli.show import write_cells
from cwndlab.errors import Error, Fault, ScenarioError
from cwndlab.scenario.units import size_bytes

if TYPE_CHECKING:
    from cwndlab.live.campaign import Access, Inspect, State
    from cwndlab.live.results import Measurement


def measure(
    urls: Annotated[list[str], Argument("URL…", "Addresses of `cwndlab serve`, or files of web servers.")],
    algorithms: Annotated[
        str | None, Option("A,B,C", "The sender's algorithms, in turn; newreno,cubic by default.")
    ] = None,
    rounds: Annotated[int, "Number of rounds; each fetches once per algorithm from every server."] = 6,
    schedule: Annotated[str, Option("now|'every 4h'|morning,evening,night", "When rounds begin.")] = "now",
    size: str | None = None,
    token: Annotated[
        list[str] | None,
        Option("TEXT", "A token of all servers, or one for each in the order of the URLs; CWNDLAB_TOKEN by default."),
    ] = None,
    trust: list[str] | None = None,
    transport: Annotated[str, Option("tcp|quic", "The transport protocol.")] = "tcp",
    zone: str = "",
    limit: Annotated[
        str | None,
        Option(
            "SIZE",
            "Limit of the daily volume; the rest waits for the next day. 200MB by default with web servers.",
            flags=("--limit-bytes-per-day",),
        ),
    ] = None,
    inflation: Annotated[float, Option("X", "End a transfer whose RTT exceeds 1 s and X idle RTTs.")] = 20.0,
    timeout: float = 600.0,
    out: Annotated[
        Path | None, "Folder of the campaign; HOST.measure by default, HOST+N.measure with N more servers."
    ] = None,
    report: Annotated[Path | None, "The HTML page; DIR/report.html by default."] = None,
    no_preflight: Annotated[bool, "Do not inspect the paths before the first transfers."] = False,
    dry_run: Annotated[bool, "Print times and volume; fetch nothing."] = False,
    yes: Annotated[bool, "Do not ask for confirmation."] = False,
    seed: int = 1,
    format: Format = Format.table,
    strict: bool = False,
) -> None:
    """Measure algorithms on a real path.

    Fetches in rounds from one or several `cwndlab serve`, or files from web servers. The same command resumes an
    interrupted campaign.
    """

    foreign = [url for url in urls if cwndlab.live.server_info.is_foreign(url)]
    if algorithms is None:
        algorithms = "" if len(foreign) == len(urls) else cwndlab.live.spec.DEFAULT_ALGORITHMS
    if foreign:
        limit = limit or "200MB"
    spec = cwndlab.live.spec.CampaignSpec(
        servers=tuple(url if url in foreign else url.rstrip("/") for url in urls),
        # A server takes no blanks.
        algorithms=tuple("".join(name.split()) if "(" in name else name for name in listed(algorithms) or ()),
        rounds=rounds,
        schedule=schedule,
        size_bytes=size_bytes(size or ("20MB" if foreign else "200MB"), "bytes"),
        transport=transport,
        seed=seed,
        zone=zone,
        limit_bytes_per_day=None if limit is None else size_bytes(limit, "limit_bytes_per_day"),
        timeout_s=timeout,
        inflation=inflation,
    )
    place = out or cwndlab.live.campaign.default_folder(spec)
    state = cwndlab.live.campaign.opened(place, spec)
    if dry_run:
        _dry_run(state, format)
        return
    failure: Error | None = None
    if state.todo():
        access = cwndlab.live.access.access_of(spec, token or (), trust or ())
        _confirm(state, yes)
        state, failure = _campaign(state, place, access, None if no_preflight else _inspected)
    if failure is not None and not state.finished:
        raise failure
    measurement = cwndlab.live.results.Measurement.of(state, place)

    page = report or place / "report.html"
    cwndlab.report(measurement, page)
    show(measurement, format)
    say_seed(seed)
    say(f"records: {place}")
    say(f"report: {page}")
    if failure is not None:
        raise failure
    judge(measurement.finding_rows(), strict)


def _campaign(
    state: State, place: Path, access: Mapping[str, Access], inspect: Inspect | None
) -> tuple[State, Error | None]:
    """Fetches the remaining transfers; returns the campaign's state and the reason for an early end."""
    spec = state.question
    foreign = cwndlab.live.foreign.ForeignServers()
    names = cwndlab.live.access.names_of(state, access, say, foreign)

    def sender_names(server: str) -> Mapping[str, str]:
        return names.get(server) or cwndlab.live.access.names_at(spec, server, access[server], foreign)

    with transfer_bar() as received:
        try:
            state = cwndlab.live.campaign.campaign(
                spec,
                place,
                fetch=cwndlab.engine.fetch,
                access=access,
                sender_names=sender_names,
                progress=cwndlab.live.campaign.Progress(say, received),
                inspect=inspect,
                foreign=foreign.fetch,
            )
            return state, None
        except cwndlab.errors.RecordsError:
            raise
        except Error as error:
            return cwndlab.live.campaign.state_of(place, spec), error
        except KeyboardInterrupt:
            left = len(cwndlab.live.campaign.state_of(place, spec).todo())
            count = spec.transfers
            text = f"stopped; {count - left} of {count} transfers are kept in {place}; the same command resumes"
            raise Stopped(text) from None


def _inspected(server: str) -> dict[str, Any]:
    """The result of `cwndlab preflight` for the path to a server."""
    survey = cwndlab.live.preflight.survey(cwndlab.live.preflight.Target.parse(server))
    return survey.as_dict()


def _dry_run(state: State, format: Format) -> None:
    zone, spec = cwndlab.live.schedule.zone_of(state.question.zone), state.question
    rows: list[dict[str, Any]] = []
    for slot, block, names in state.plan(datetime.now(UTC)):
        begins = slot.begins.astimezone(zone)
        rows.append(
            {
                "round": block.round,
                "begins": f"{begins:%Y-%m-%d %H:%M %Z}",
                "part": slot.name.split()[-1] if slot.name else cwndlab.live.schedule.part_of(slot.begins, zone),
                "server": block.server,
                "order": ", ".join(names),
                "bytes": len(names) * spec.size_bytes,
            }
        )
    columns: tuple[str, ...] = ("round", "begins", "part", "server", "order", "bytes")
    if format is Format.json:
        write_json(rows)
    elif format is Format.csv:
        write_csv(rows, columns)
    else:
        if len(spec.servers) == 1:
            columns = tuple(name for name in columns if name != "server")
        rows = [row | {"server": spec.label(row["server"])} for row in rows]
        cells = [[str(row[name]) if name != "bytes" else f"{row[name] / 1e6:g} MB" for name in columns] for row in rows]
        write_table(cells, columns, right=("round", "bytes"))
    say(_volume(state))


def _volume(state: State) -> str:
    left, size = len(state.todo(datetime.now(UTC))), state.question.size_bytes
    done = len(state.finished)
    return f"{left} transfers of {size / 1e6:g} MB, {left * size / 1e9:.3g} GB in all" + (
        f"; {done} are done" if done else ""
    )


def _confirm(state: State, yes: bool) -> None:
    """Asks for confirmation of a large volume."""
    say(_volume(state))
    if yes:
        return
    if not sys.stdin.isatty():
        raise ScenarioError(Fault("measure", "there is no terminal to confirm this volume", "write --yes"))
    if not typer.confirm("fetch it?", err=True):
        raise Stopped("nothing was fetched")


def show(measurement: Measurement, format: Format) -> None:
    """Prints the result."""
    if format is Format.json:
        write_json(measurement.as_dict())
        return
    if format is Format.csv:
        write_csv(measurement.rows, tuple(measurement.rows[0]) if measurement.rows else ())
        return
    if not measurement.rows:
        say("no transfer has finished")
        return
    header, cells = measurement.table()
    write_cells(cells, header, format, right=header[header.index("part") + 1 :])
    for header, lines in (
        measurement.means(),
        measurement.differences(),
        measurement.day(),
        measurement.factors(),
        measurement.audits(),
    ):
        if lines:
            write("")
            write_cells(lines, header, format, right=[name for name in header if name not in _WORDS])
    say(measurement.method())
    for note in measurement.notes:
        say(note)
    say_findings(measurement.finding_rows())


_WORDS = ("server", "algorithm", "part", "effect of", "sender", "minus", "metric", "verdict", "library", "departures")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    example = "measure https://host.example:8443 --algorithms newreno,cubic --rounds 6 "
    command(app, measure, example + "--schedule morning,evening,night --bytes 200MB")
