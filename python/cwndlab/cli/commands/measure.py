"""``cwndlab measure``: arguments in, `cwndlab.live` called, tables out."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, say_seed, write, write_csv, write_json, write_table
from cwndlab.cli.options import FormatOption, SeedOption, integer_option
from cwndlab.cli.progress import Stopped, transfer_bar
from cwndlab.errors import Fault, ScenarioError
from cwndlab.scenario.units import size_bytes

if TYPE_CHECKING:
    from cwndlab.live.campaign import State
    from cwndlab.live.results import Measurement
    from cwndlab.live.spec import CampaignSpec

#: The variable with the token, which then is in no history of a shell.
TOKEN = "CWNDLAB_TOKEN"


def add(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command(
        epilog="Example: cwndlab measure https://host.example:8443 --algorithms newreno,ctcp,cubic --rounds 6 "
        "--schedule morning,evening,night --bytes 200MB"
    )
    def measure(
        url: Annotated[str, typer.Argument(help="The address of `cwndlab serve`.", metavar="URL", show_default=False)],
        algorithms: Annotated[
            str, typer.Option("--algorithms", help="The sender's algorithms, in turn.", metavar="A,B,C")
        ] = "newreno,ctcp,cubic",
        rounds: Annotated[
            int,
            typer.Option(
                "--rounds",
                help="Number of rounds; each has every algorithm once.",
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
            str | None,
            typer.Option(
                "--token",
                help=f"A token of the server; the value of {TOKEN} by default.",
                metavar="TEXT",
                show_default=False,
            ),
        ] = None,
        trust: Annotated[
            str | None,
            typer.Option(
                "--trust",
                help="The server's certificate or its fingerprint.",
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
                "--out", help="Folder of the campaign; HOST.measure by default.", metavar="DIR", show_default=False
            ),
        ] = None,
        report: Annotated[
            Path | None,
            typer.Option(
                "--report", help="The HTML page; DIR/report.html by default.", metavar="FILE", show_default=False
            ),
        ] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Print times and volume; fetch nothing.")] = False,
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
        seed: SeedOption = 1,
        format: FormatOption = Format.table,
    ) -> None:
        """Measure algorithms on a real path.

        Fetches from `cwndlab serve` in rounds over the day. The same command resumes an interrupted campaign.
        """

        spec = cwndlab.live.spec.CampaignSpec(
            url=url.rstrip("/"),
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
        place = out or Path(f"{cwndlab.live.server_info.place_of(spec.url)[0]}.measure")
        state = _state(place, spec)
        if dry_run:
            _dry_run(state, format)
            return
        if state.todo():
            secret = token or os.environ.get(TOKEN, "")
            if not secret:
                raise ScenarioError(Fault("--token", "no token is given", f"set {TOKEN}, or write --token TEXT"))
            _confirm(state, yes)

            names = cwndlab.live.server_info.sender_names(
                spec.url, secret, trust, spec.algorithms, spec.transport, cwndlab.engine.fetch
            )
            say("the server sends with " + ", ".join(f"{one} for {name}" for name, one in names.items()))
            with transfer_bar() as received:
                try:
                    state = cwndlab.live.campaign.campaign(
                        spec,
                        place,
                        fetch=cwndlab.engine.fetch,
                        token=secret,
                        trust=trust,
                        sender_names=names,
                        progress=cwndlab.live.campaign.Progress(say, received),
                    )
                except KeyboardInterrupt:
                    left = len(cwndlab.live.campaign.state_of(place, spec).todo())
                    count = spec.rounds * len(spec.algorithms)
                    text = f"stopped; {count - left} of {count} transfers are kept in {place}; the same command goes on"
                    raise Stopped(text) from None
        measurement = cwndlab.live.results.Measurement.of(state, place)

        page = report or place / "report.html"
        cwndlab.report(measurement, page)
        show(measurement, format)
        say_seed(seed)
        say(f"records: {place}")
        say(f"report: {page}")


def _state(place: Path, question: CampaignSpec) -> State:
    """The finished part of the campaign; refuses a folder that holds another one."""

    if (place / cwndlab.live.store.SPEC).exists():
        other = question.differs(cwndlab.live.store.read_spec(place))
        if other:
            what = f"holds another campaign ({', '.join(other)} differ)"
            raise ScenarioError(Fault(str(place), what, "name another folder by --out"))
    return cwndlab.live.campaign.state_of(place, question)


def _dry_run(state: State, format: Format) -> None:
    zone, spec = cwndlab.live.schedule.zone_of(state.question.zone), state.question
    rows: list[dict[str, Any]] = []
    for number, slot, names in state.plan(datetime.now(UTC)):
        begins = slot.begins.astimezone(zone)
        rows.append(
            {
                "round": number,
                "begins": f"{begins:%Y-%m-%d %H:%M %Z}",
                "part": slot.name.split()[-1] if slot.name else cwndlab.live.schedule.part_of(slot.begins, zone),
                "order": ", ".join(names),
                "bytes": len(names) * spec.size_bytes,
            }
        )
    columns = ("round", "begins", "part", "order", "bytes")
    if format is Format.json:
        write_json(rows)
    elif format is Format.csv:
        write_csv(rows, columns)
    else:
        cells = [[str(row[name]) if name != "bytes" else f"{row[name] / 1e6:g} MB" for name in columns] for row in rows]
        write_table(cells, columns, right=("round", "bytes"))
    say(_volume(state))


def _volume(state: State) -> str:
    left, size = len(state.todo()), state.question.size_bytes
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
    write_table(cells, header, right=header[3:])
    for header, lines in (measurement.means(), measurement.differences(), measurement.day(), measurement.factors()):
        if lines:
            write("")
            write_table(lines, header, right=[name for name in header[1:] if name not in _WORDS])
    say(measurement.method())
    for note in measurement.notes:
        say(note)


_WORDS = ("sender", "minus", "metric", "verdict")
