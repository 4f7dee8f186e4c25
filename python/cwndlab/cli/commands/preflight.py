"""``cwndlab preflight``: arguments in, `cwndlab.live.preflight` called, tables out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_rows
from cwndlab.cli.options import Argument, Option, command
from cwndlab.files import json_text

if TYPE_CHECKING:
    from cwndlab.live.preflight import Survey


def preflight(
    host: Annotated[str | None, Argument("HOST", "The other end: HOST, HOST:PORT or a URL.")] = None,
    count: Annotated[int, Option("N", "Number of round trips of each kind.", least=1, most=1000)] = 10,
    trace: Annotated[
        str | None, Option("udp|icmp|tcp", "Probes of the route; by default udp, then tcp.", noun="a kind of probe")
    ] = None,
    route: Annotated[Path | None, Option("FILE", "Read the output of traceroute or tracert instead.")] = None,
    wifi: Annotated[Path | None, Option("FILE", "Read the output of iw, nmcli or netsh instead.")] = None,
    device: Annotated[str, Option("NAME", "The Wi-Fi device that scans.")] = "",
    all_channels: Annotated[bool, "Consider channels 1 to 13, not only 1, 6 and 11."] = False,
    tcp_settings: Annotated[
        Path | None, Option("FILE", "Read the output of Get-NetTCPSetting instead of this machine's settings.")
    ] = None,
    template: Annotated[str, "Template of Get-NetTCPSetting; Internet by default."] = "",
    everything: Annotated[bool, Option(help="Also print less relevant sysctls.", flags=("--all-settings",))] = False,
    scenario: Annotated[
        Path | None, Option("FILE", "Write the Wi-Fi networks as a scenario of the neighbourhood to this file.")
    ] = None,
    out: Annotated[Path | None, Option("FILE", "Write the result to this file, as JSON.")] = None,
    format: Format = Format.table,
) -> None:
    """Inspect a path before a measurement.

    Prints round-trip times, route, Wi-Fi networks and channels, and TCP settings.
    """

    candidates = cwndlab.live.preflight.channels.ALL if all_channels else cwndlab.live.preflight.CANDIDATES
    survey = cwndlab.live.preflight.survey(
        None if host is None else cwndlab.live.preflight.Target.parse(host),
        count=count,
        method=trace,  # type: ignore[arg-type]
        route_file=route,
        wifi_file=wifi,
        wifi_device=device,
        candidates=candidates,
        settings_file=tcp_settings,
        template=template,
        everything=everything,
    )
    if scenario is not None:
        where = "wifi" if wifi is None else str(wifi)
        text = cwndlab.live.preflight.neighbourhood_scenario(
            survey.networks, [one.channel for one in survey.channels] or candidates, where=where, file=str(scenario)
        )
        cwndlab.files.save(text, scenario)
    show(survey, format)
    if scenario is not None:
        say(f"scenario: {scenario}; its first lines say how to compare channels and algorithms")
    if out is not None:
        cwndlab.files.save(json_text(survey.as_dict(), indent=1, ensure_ascii=False) + "\n", out)
        say(f"preflight: {out}")


def show(survey: Survey, format: Format) -> None:
    """Prints one table per part, then what is unknown; the latter on standard error if a program reads the tables."""
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
        say(f"unknown: {what}: {why}")


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


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, preflight, "preflight host.example:8443 --wifi scan.txt")
