"""``cwndlab measure``: arguments in, `cwndlab.live` called, tables out."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, say_seed, write, write_csv, write_json, write_table
from cwndlab.cli.findings import StrictOption, judge, say_findings
from cwndlab.cli.options import FormatOption, SeedOption, integer_option
from cwndlab.cli.progress import Stopped, transfer_bar
from cwndlab.errors import Error, Fault, RunError, ScenarioError
from cwndlab.scenario.units import size_bytes

if TYPE_CHECKING:
    from cwndlab.live.campaign import Access, Inspect, State
    from cwndlab.live.results import Measurement
    from cwndlab.live.spec import CampaignSpec

#: The variable with the token, which then is in no history of a shell.
TOKEN = "CWNDLAB_TOKEN"


def add(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command(
        epilog="Example: cwndlab measure https://host.example:8443 --algorithms newreno,cubic --rounds 6 "
        "--schedule morning,evening,night --bytes 200MB"
    )
    def measure(
        urls: Annotated[
            list[str],
            typer.Argument(
                help="The addresses of `cwndlab serve`, one or several.", metavar="URL…", show_default=False
            ),
        ],
        algorithms: Annotated[
            str, typer.Option("--algorithms", help="The sender's algorithms, in turn.", metavar="A,B,C")
        ] = "newreno,cubic",
        rounds: Annotated[
            int,
            typer.Option(
                "--rounds",
                help="Number of rounds; each has every algorithm once from every server.",
                metavar="N",
                parser=integer_option("--rounds", 1, 10_000),
            ),
        ] = 6,
        schedule: Annotated[
            str,
            typer.Option("--schedule", help="When rounds begin.", metavar="now|'every 4h'|morning,evening,night"),
        ] = "now",
        size: Annotated[str, typer.Option("--bytes", help="Size of a transfer.", metavar="SIZE")] = "200MB",
        token: Annotated[
            list[str] | None,
            typer.Option(
                "--token",
                help=f"A token of all servers, or one for each in the order of the URLs; {TOKEN} by default.",
                metavar="TEXT",
                show_default=False,
            ),
        ] = None,
        trust: Annotated[
            list[str] | None,
            typer.Option(
                "--trust",
                help="A certificate or fingerprint of all servers, or one for each in the order of the URLs.",
                metavar="FILE|SHA256",
                show_default=False,
            ),
        ] = None,
        transport: Annotated[
            str, typer.Option("--transport", help="The transport protocol.", metavar="tcp|quic")
        ] = "tcp",
        zone: Annotated[
            str,
            typer.Option(
                "--zone",
                help="Time zone of the parts of the day; this machine's by default.",
                metavar="NAME",
                show_default=False,
            ),
        ] = "",
        limit: Annotated[
            str | None,
            typer.Option(
                "--limit-bytes-per-day",
                help="Limit of the daily volume; the rest waits for the next day.",
                metavar="SIZE",
                show_default=False,
            ),
        ] = None,
        inflation: Annotated[
            float,
            typer.Option("--inflation", help="End a transfer whose RTT exceeds 1 s and X idle RTTs.", metavar="X"),
        ] = 20.0,
        timeout: Annotated[
            float, typer.Option("--timeout", help="Maximum duration of a transfer, in seconds.", metavar="S")
        ] = 600.0,
        out: Annotated[
            Path | None,
            typer.Option(
                "--out",
                help="Folder of the campaign; HOST.measure by default, HOST+N.measure with N more servers.",
                metavar="DIR",
                show_default=False,
            ),
        ] = None,
        report: Annotated[
            Path | None,
            typer.Option(
                "--report", help="The HTML page; DIR/report.html by default.", metavar="FILE", show_default=False
            ),
        ] = None,
        no_preflight: Annotated[
            bool, typer.Option("--no-preflight", help="Do not inspect the paths before the first transfers.")
        ] = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Print times and volume; fetch nothing.")] = False,
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
        seed: SeedOption = 1,
        format: FormatOption = Format.table,
        strict: StrictOption = False,
    ) -> None:
        """Measure algorithms on a real path.

        Fetches from one or several `cwndlab serve` in rounds. The same command resumes an interrupted campaign.
        """

        spec = cwndlab.live.spec.CampaignSpec(
            servers=tuple(url.rstrip("/") for url in urls),
            algorithms=tuple(name.strip() for name in algorithms.split(",") if name.strip()),
            rounds=rounds,
            schedule=schedule,
            size_bytes=size_bytes(size, "bytes"),
            transport=transport,
            seed=seed,
            zone=zone,
            limit_bytes_per_day=None if limit is None else size_bytes(limit, "limit_bytes_per_day"),
            timeout_s=timeout,
            inflation=inflation,
        )
        place = out or default_folder(spec)
        state = _state(place, spec)
        if dry_run:
            _dry_run(state, format)
            return
        failure: Error | None = None
        if state.todo():
            access = _access(spec, token or (), trust or ())
            _confirm(state, yes)
            names = _names(state, access)
            inspect = None if no_preflight else _inspected
            try:
                state = _campaign(spec, place, access, names, inspect)
            except cwndlab.errors.RecordsError:
                raise
            except Error as error:
                failure, state = error, cwndlab.live.campaign.state_of(place, spec)
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


def default_folder(spec: CampaignSpec) -> Path:
    """The default folder: the host of the first server, and the number of the others."""
    host, _ = cwndlab.live.server_info.place_of(spec.servers[0])
    others = f"+{len(spec.servers) - 1}" if len(spec.servers) > 1 else ""
    return Path(f"{cwndlab.files.slug(host)}{others}.measure")


def _access(spec: CampaignSpec, tokens: Sequence[str], trusts: Sequence[str]) -> dict[str, Access]:
    """Token and certificate of each server. The variable separates several tokens by blanks."""
    tokens = tokens or os.environ.get(TOKEN, "").split()
    if not tokens:
        hint = f"set {TOKEN}, or write --token TEXT: `cwndlab serve` prints its token when it starts"
        raise ScenarioError(Fault("--token", "no token is given", hint))
    count = len(spec.servers)
    faults = [
        Fault(option, f"{len(values)} values for {count} servers", f"write {option} once, or once for each server")
        for option, values in (("--token", tokens), ("--trust", trusts))
        if len(values) not in (0, 1, count)
    ]
    if faults:
        raise ScenarioError(*faults)
    everywhere = [tokens[0]] * count if len(tokens) == 1 else tokens
    trusted = [next(iter(trusts), None)] * count if len(trusts) < 2 else trusts
    pairs = zip(spec.servers, everywhere, trusted, strict=True)
    return {server: cwndlab.live.campaign.Access(one, trust) for server, one, trust in pairs}


def _sender_names(spec: CampaignSpec, server: str, access: Access) -> dict[str, str]:
    """A server's own names of the algorithms."""
    info, fetch = cwndlab.live.server_info, cwndlab.engine.fetch
    return info.sender_names(server, access.token, access.trust, spec.algorithms, spec.transport, fetch)


def _names(state: State, access: Mapping[str, Access]) -> dict[str, Mapping[str, str]]:
    """The names of the algorithms at each server. A campaign begins only if every server has every algorithm. When it
    is resumed, a server that cannot be reached is requested again before its next block."""
    spec = state.question
    names: dict[str, Mapping[str, str]] = {}
    faults: list[Fault] = []
    is_invalid = False
    for server in spec.servers:
        try:
            names[server] = _sender_names(spec, server, access[server])
        except Error as error:
            faults += [fault for fault in error.faults if fault not in faults]
            is_invalid |= isinstance(error, ScenarioError)
            continue
        there = "the server" if len(spec.servers) == 1 else spec.label(server)
        say(f"{there} sends with " + ", ".join(f"{one} for {name}" for name, one in names[server].items()))
    if faults and (is_invalid or not names or not state.slots):
        raise ScenarioError(*faults) if is_invalid else RunError(*faults)
    for fault in faults:
        say(str(fault))
    return names


def _campaign(
    spec: CampaignSpec,
    place: Path,
    access: Mapping[str, Access],
    names: Mapping[str, Mapping[str, str]],
    inspect: Inspect | None,
) -> State:
    """Fetches what is left of the campaign; its state."""

    def sender_names(server: str) -> Mapping[str, str]:
        return names[server] if server in names else _sender_names(spec, server, access[server])

    with transfer_bar() as received:
        try:
            return cwndlab.live.campaign.campaign(
                spec,
                place,
                fetch=cwndlab.engine.fetch,
                access=access,
                sender_names=sender_names,
                progress=cwndlab.live.campaign.Progress(say, received),
                inspect=inspect,
            )
        except KeyboardInterrupt:
            left = len(cwndlab.live.campaign.state_of(place, spec).todo())
            count = spec.transfers
            text = f"stopped; {count - left} of {count} transfers are kept in {place}; the same command goes on"
            raise Stopped(text) from None


def _state(place: Path, question: CampaignSpec) -> State:
    """The finished part of the campaign; refuses a folder that holds another one."""

    if (place / cwndlab.live.store.SPEC).exists():
        other = question.differs(cwndlab.live.store.read_spec(place))
        if other:
            what = f"holds another campaign ({', '.join(other)} differ)"
            raise ScenarioError(Fault(str(place), what, "name another folder by --out"))
    return cwndlab.live.campaign.state_of(place, question)


def _inspected(server: str) -> dict[str, Any]:
    """What `cwndlab preflight` finds out of the path to a server."""
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
    """So much is not fetched unasked."""
    say(_volume(state))
    if yes:
        return
    if not sys.stdin.isatty():
        raise ScenarioError(Fault("measure", "nobody is there to confirm that volume", "write --yes"))
    if not typer.confirm("fetch it?", err=True):
        raise Stopped("nothing was fetched")


def show(measurement: Measurement, format: Format) -> None:
    """Prints what was found."""
    if format is Format.json:
        write_json(measurement.as_dict())
        return
    if format is Format.csv:
        write_csv(measurement.rows, tuple(measurement.rows[0]) if measurement.rows else ())
        return
    if not measurement.rows:
        say("no transfer has been finished")
        return
    header, cells = measurement.table()
    write_table(cells, header, right=header[header.index("part") + 1 :])
    for header, lines in (measurement.means(), measurement.differences(), measurement.day(), measurement.factors()):
        if lines:
            write("")
            write_table(lines, header, right=[name for name in header if name not in _WORDS])
    say(measurement.method())
    for note in measurement.notes:
        say(note)
    say_findings(measurement.finding_rows())


_WORDS = ("server", "algorithm", "part", "effect of", "sender", "minus", "metric", "verdict")
