"""``cwndlab preflight``: arguments in, `cwndlab.live.preflight` called, tables out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_rows
from cwndlab.cli.options import FormatOption, integer_option
from cwndlab.errors import Fault, ScenarioError
from cwndlab.files import json_text

if TYPE_CHECKING:
    from cwndlab.live.preflight import Survey


def add(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command(epilog="Example: cwndlab preflight host.example:8443 --wifi scan.txt")
    def preflight(
        host: Annotated[
            str | None,
            typer.Argument(help="The other end: HOST, HOST:PORT or a URL.", metavar="HOST", show_default=False),
        ] = None,
        count: Annotated[
            int,
            typer.Option(
                "--count",
                help="Number of round trips of each kind.",
                metavar="N",
                parser=integer_option("--count", 1, 1000),
            ),
        ] = 10,
        trace: Annotated[
            str | None,
            typer.Option(
                "--trace",
                help="Probes of the route; by default udp, then tcp.",
                metavar="udp|icmp|tcp",
                show_default=False,
            ),
        ] = None,
        route: Annotated[
            Path | None,
            typer.Option(
                "--route", help="Read the output of traceroute or tracert instead.", metavar="FILE", show_default=False
            ),
        ] = None,
        wifi: Annotated[
            Path | None,
            typer.Option(
                "--wifi", help="Read the output of iw, nmcli or netsh instead.", metavar="FILE", show_default=False
            ),
        ] = None,
        device: Annotated[
            str, typer.Option("--device", help="The Wi-Fi device that scans.", metavar="NAME", show_default=False)
        ] = "",
        all_channels: Annotated[
            bool, typer.Option("--all-channels", help="Consider channels 1 to 13, not only 1, 6 and 11.")
        ] = False,
        tcp_settings: Annotated[
            Path | None,
            typer.Option(
                "--tcp-settings",
                help="Read the output of Get-NetTCPSetting instead of this machine's settings.",
                metavar="FILE",
                show_default=False,
            ),
        ] = None,
        template: Annotated[
            str,
            typer.Option(
                "--template",
                help="Template of Get-NetTCPSetting; Internet by default.",
                metavar="NAME",
                show_default=False,
            ),
        ] = "",
        everything: Annotated[bool, typer.Option("--all-settings", help="Also print less relevant sysctls.")] = False,
        out: Annotated[
            Path | None,
            typer.Option("--out", help="Write the result to this file, as JSON.", metavar="FILE", show_default=False),
        ] = None,
        format: FormatOption = Format.table,
    ) -> None:
        """Inspect a path before a measurement.

        Prints round-trip times, route, Wi-Fi networks and channels, and TCP settings.
        """

        if trace not in (None, "udp", "icmp", "tcp"):
            raise ScenarioError(Fault("--trace", f"'{trace}' is not a kind of probe", "write udp, icmp or tcp"))
        survey = cwndlab.live.preflight.survey(
            None if host is None else cwndlab.live.preflight.Target.parse(host),
            count=count,
            method=trace,  # type: ignore[arg-type]
            route_file=route,
            wifi_file=wifi,
            wifi_device=device,
            candidates=cwndlab.live.preflight.channels.ALL if all_channels else cwndlab.live.preflight.CANDIDATES,
            settings_file=tcp_settings,
            template=template,
            everything=everything,
        )
        show(survey, format)
        if out is not None:
            cwndlab.files.save(json_text(survey.as_dict(), indent=1, ensure_ascii=False) + "\n", out)
            say(f"preflight: {out}")


def show(survey: Survey, format: Format) -> None:
    """Prints a table each; what is not known comes last, on standard error where the data is for a program."""
    document = survey.as_dict()
    if format is Format.json:
        write_json(document)
        return
    first = True
    for name, columns, wrap in _tables():
        rows = document[name]
        if name == "rtt":
            rows = [{column: row[column] for column in columns} for row in rows]
        if not rows:
            continue
        if not first:
            write("")
        first = False
        if format is Format.csv:
            write_csv(rows, columns)
            continue
        write(_TITLES[name].format(host=survey.target, address=survey.address))
        shown, columns = _shown(name, rows, columns)
        write_rows(shown, columns, format, wrap=wrap)
        if name == "tcp" and document["stack"]:
            write("")
            write("the same for a flow of a scenario: " + cwndlab.live.preflight.tcp.as_toml(document["stack"]))
    for note in survey.notes:
        say(note)
    for what, why in survey.unknown:
        say(f"not found out: {what}: {why}")


_TITLES = {
    "route": "Route",
    "rtt": "Round trips to {host} ({address})",
    "networks": "Wi-Fi networks",
    "channels": "Channels at 2.4 GHz",
    "tcp": "TCP settings",
}


def _tables() -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    return (
        ("rtt", cwndlab.live.preflight.rtt.COLUMNS, ()),
        ("route", cwndlab.live.preflight.route.COLUMNS, ()),
        ("networks", cwndlab.live.preflight.wifi.COLUMNS, ()),
        ("channels", cwndlab.live.preflight.channels.COLUMNS, ()),
        ("tcp", cwndlab.live.preflight.tcp.COLUMNS, ("value", "note")),
    )


def _shown(
    name: str, rows: list[dict[str, Any]], columns: tuple[str, ...]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Rows as people read them."""
    if name == "tcp":
        columns = ("name", "value", "in a scenario", "note")
        return [
            {
                "name": row["name"].removeprefix("net.ipv4."),
                "value": row["value"],
                "in a scenario": f"{row['field']} = {_toml(row['stack'])}" if row["field"] else "",
                "note": row["note"],
            }
            for row in rows
        ], columns
    if name == "networks":
        columns = tuple(column for column in columns if column != "secondary")
        return [
            row | {"ssid": "(hidden)" if row["ssid"] is None else cwndlab.live.preflight.wifi.printable(row["ssid"])}
            for row in rows
        ], columns
    if name == "channels":
        return [row | {"least": "least overlapped" if row["least"] else ""} for row in rows], columns
    return rows, columns


def _toml(value: str | int | bool) -> str:
    return cwndlab.live.preflight.tcp.as_toml({"": value})[len("stack = {  = ") : -2]
