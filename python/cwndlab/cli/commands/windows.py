"""``cwndlab windows``: arguments in, `cwndlab.live.windows` called, a script or tables out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.commands import measure
from cwndlab.cli.console import Format, say, say_seed, write, write_csv, write_json, write_rows
from cwndlab.cli.options import Argument, Option, command, group
from cwndlab.scenario.units import size_bytes

if TYPE_CHECKING:
    from cwndlab.live.windows import Imported, Plan


def plan(
    url: Annotated[str, Argument("URL", "An https address that accepts PUT, or the file to download.")],
    version: Annotated[str, Option("NAME", "Version of Windows, such as windows-11-24h2 or server-2022.")],
    algorithms: Annotated[str, Option("NAME,NAME", "Providers: newreno, ctcp, dctcp, cubic, bbr2, ledbat.")] = (
        "newreno,cubic"
    ),
    rounds: Annotated[int, "Number of rounds; each has every provider once."] = 10,
    seed: int = 1,
    direction: Annotated[str, Option("upload|download", "Direction of the data.", noun="a direction")] = "upload",
    size: Annotated[str | None, "Size of an upload; 200MB by default."] = None,
    template: Annotated[str, "The template whose provider is switched."] = "InternetCustom",
    prefix: Annotated[str, Option("ADDRESS/N", "Destinations of the connections that use the template.")] = "",
    remote_port: Annotated[
        int | None, Option("PORT", "Remote port of the connections that use the template.", least=1, most=65535)
    ] = None,
    autotuning: Annotated[str, Option("A,B,C", "Levels of auto-tuning; unchanged by default.")] = "",
    ecn: Annotated[str, Option("enabled|disabled", "ECN capability; unchanged by default.")] = "",
    capture: Annotated[bool, "Record the headers of each transfer by pktmon."] = False,
    pause: Annotated[int, Option("S", "Pause after a transfer, in seconds.", least=0, most=3600)] = 5,
    timeout: float = 600.0,
    name: Annotated[str, Option("NAME", "Stem of the files that the script writes.")] = "cwndlab-windows",
    out: Annotated[Path | None, Option("SCRIPT", "Write the script to this file.")] = None,
) -> None:
    """Write a PowerShell script for a campaign.

    The script switches the congestion provider of a Windows host in randomised rounds, verifies each switch, and
    restores the settings. The command changes nothing.
    """
    if size is None and direction == "upload":
        size = "200MB"
    made = cwndlab.live.windows.Plan(
        url=url,
        algorithms=_names(algorithms),
        version=version,
        rounds=rounds,
        seed=seed,
        direction=direction,
        template=template,
        prefix=prefix,
        remote_port=remote_port,
        autotuning=_names(autotuning),
        ecn=ecn,
        size_bytes=None if size is None else size_bytes(size, "bytes"),
        capture=capture,
        pause_s=pause,
        timeout_s=timeout,
        name=name,
    )
    _deliver(made, out)


def _deliver(made: Plan, out: Path | None) -> None:
    """Prints or saves the script, then its warnings."""
    if out is None:
        write(made.script())
    else:
        cwndlab.files.save(made.script(), out)
        say(f"script: {out}")
    say_seed(made.seed)
    for text in made.warnings():
        say(f"note: {text}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def import_(
    files: Annotated[
        list[Path], Argument("FILES…", "Settings, the results file of a plan, its captures, outputs of preflight.")
    ],
    out: Annotated[Path | None, "Keep the campaign in this folder, with its page."] = None,
    zone: str = "",
    format: Format = Format.table,
) -> None:
    """Read settings, results and captures of a Windows host.

    With --out they become a folder as that of `cwndlab measure`, with records and a page.
    """
    imported = cwndlab.live.windows.import_files(files, zone=zone, out=out)
    show(imported, format)
    if out is not None and imported.results is not None:
        cwndlab.report(imported.results, out / "report.html")
        say(f"records: {out}")
        say(f"report: {out / 'report.html'}")
    for note in (note for one in imported.settings for note in one.notes):
        say(note)


def rehearse(
    script: Annotated[Path, Argument("SCRIPT", "A script that `windows plan` wrote.")],
    scenario: Annotated[
        str, Option("PRESET|FILE", "The path; its first flow over TCP is the transfer.")
    ] = "windows-lte",
    out: Annotated[Path, Option("FOLDER", "Folder for the results file and the captures.")] = Path("rehearsal"),
    begins: Annotated[
        str, Option("TIME", "Made-up start of the first round; UTC without an offset.")
    ] = "2000-01-01T08:00",
    every: Annotated[int, Option("HOURS", "Made-up time between rounds.", least=1, most=24)] = 4,
) -> None:
    """Run the transfers of a script in the simulator.

    Writes the files that the script would write on the host, for `windows import`.
    """
    try:
        given = datetime.fromisoformat(begins)
        start = given.astimezone(UTC) if given.tzinfo is not None else given.replace(tzinfo=UTC)
    except ValueError:
        fault = cwndlab.errors.Fault("--begins", f"'{begins}' is not a time", "write 2000-01-01T08:00")
        raise cwndlab.errors.ScenarioError(fault) from None
    text = cwndlab.live.preflight.captured.read(script, "a script of `cwndlab windows plan`")
    plan = cwndlab.live.windows.plan.plan_of(text, str(script))
    files = cwndlab.live.windows.rehearse(plan, scenario, out, begins=start, every=timedelta(hours=every), progress=say)
    say(f"results: {files[0]}" + (f", and {len(files) - 1} captures beside it" if len(files) > 1 else ""))


def show(imported: Imported, format: Format) -> None:
    """Prints the settings by template, then the results as `cwndlab measure` prints them."""
    results = imported.results
    rows = [one.as_dict() for one in imported.settings]
    if format is Format.json:
        write_json({"settings": rows, "results": None if results is None else results.as_dict()})
        return
    columns = cwndlab.live.windows.settings.COLUMNS
    if rows and format is Format.csv:
        write_csv(rows, columns)
    elif rows:
        filled = [name for name in columns if any(row[name] is not None for row in rows)]
        write_rows(rows, filled, format)
    if rows and results is not None:
        write("")
    if results is not None:
        measure.show(results, format)


def add(app: typer.Typer) -> None:
    """Registers the commands."""
    windows = group(app, "windows", "Plan and import campaigns on a Windows host.")
    example = "windows plan https://host.example/put --version windows-11 --prefix 192.0.2.0/24 --out campaign.ps1"
    command(windows, plan, example)
    command(windows, rehearse, "windows rehearse campaign.ps1 --scenario windows-lte --out rehearsal")
    command(windows, import_, "windows import settings.txt cwndlab-windows.jsonl --out campaign", "import")
