"""``cwndlab emulate``: any program at the ends of a scenario's network."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

import cwndlab
from cwndlab.cli import places
from cwndlab.cli.console import Format, say, say_seed, write_rows
from cwndlab.cli.findings import judge, say_findings
from cwndlab.cli.options import Argument, Option, command, scenario_of
from cwndlab.cli.progress import Stopped
from cwndlab.errors import Error

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side
    from cwndlab.records import Records

#: After Ctrl-C, which the command also receives, it may end in its own way.
_LAST_WORDS_S = 3.0


def emulate(
    scenario: Path,
    command: Annotated[
        list[str] | None,
        Argument("[-- COMMAND…]", "The program, by default on the senders' side; without it, a shell."),
    ] = None,
    on: Annotated[str, Option("sender|receiver", "The side of COMMAND or the shell.", noun="a side")] = "sender",
    receiver: Annotated[
        list[str] | None, Option("'COMMAND'", "Run this on the receivers' side meanwhile. May be repeated.")
    ] = None,
    sender: Annotated[
        list[str] | None, Option("'COMMAND'", "Run this on the senders' side meanwhile. May be repeated.")
    ] = None,
    algorithm: Annotated[
        str,
        "Congestion control of programs: scenario, program (their choice), or reno, cubic, bbr1 or a name "
        "from `kernel run` for all.",
    ] = "scenario",
    seed: Annotated[int, "Seed of the path's random numbers."] = 1,
    out: Annotated[Path | None, "Folder for the records (Parquet)."] = None,
    accept_late: Annotated[bool, "Do not fail if deliveries were late."] = False,
    calibrate: Annotated[bool, "Only measure the path with probes; run no program."] = False,
    set_: list[str] | None = None,
    format: Format = Format.table,
    strict: bool = False,
) -> None:
    """Run programs over the scenario's network.

    The programs run in two network namespaces, in real time, with the scenario's links between them.
    """
    described = scenario_of(scenario, set_)
    places.check_records(out, described, seed, "emulate")
    cwndlab.emulation.become_root()
    say_seed(seed)
    side = cast("Side", on)
    if calibrate:
        _calibrate(cwndlab.emulation.EmulatedPath(described, seed=seed), out, format)
        return
    path = cwndlab.emulation.EmulatedPath(described, seed=seed, algorithm=algorithm)
    try:
        with path:
            _tell_addresses(path)
            _serve(path, receiver or (), sender or ())
            status = _command(path, side, command) if command else _shell(path, side)
    except BaseException:
        # Also what was measured until a signal or a failed program; that is told and decides the status.
        try:
            _keep(path, out)
        except Error as error:
            say(str(error))
        raise
    _keep(path, out)
    say_findings(path.records.rows("findings"))
    if status:
        raise typer.Exit(status)
    if not accept_late:
        cwndlab.emulation.refuse_late(path.timing)
    judge(path.records.rows("findings"), strict)


def _serve(path: EmulatedPath, receiver: Sequence[str], sender: Sequence[str]) -> None:
    """Starts the programs beside the command; standard output is the command's."""
    aside = {"shell": True, "stdin": subprocess.DEVNULL, "stdout": sys.stderr.fileno()}
    for text in receiver:
        path.serve("receiver", text, **aside)
    for text in sender:
        path.serve("sender", text, **aside)


def _keep(path: EmulatedPath, out: Path | None) -> None:
    """Tells and writes the records; there are none where the path itself failed."""
    records = getattr(path, "records", None)
    if records is None:
        return
    _tell_links(records)
    if out is not None:
        records.save(out)
        say(f"records: {out}")


def _calibrate(between: EmulatedPath, out: Path | None, format: Format) -> None:
    with between as path:
        names = path.flows
    if out is not None:
        path.records.save(out)
    rows = [{**row, "flow": names[row["flow"]]} for row in path.records.rows("calibration")]
    write_rows(rows, ("flow", "quantity", "expected", "measured"), format)


def _tell_addresses(path: EmulatedPath) -> None:
    flows = path.flows
    for flow, name in list(enumerate(flows))[:10]:
        say(f"flow[{flow}] {name}: sender {path.address('sender', flow)}, receiver {path.address('receiver', flow)}")
    if len(flows) > 10:
        say(f"and so on to flow[{len(flows) - 1}]")
    for note in path.notes:
        if note.startswith("congestion control"):
            say(note)


def _tell_links(records: Records) -> None:
    for link in records.rows("links"):
        if link["rate_bps"] is None or not link["arrived_packets"]:
            continue
        say(
            f"link {link['name']}: {link['sent_packets']} packets sent, {link['dropped_packets']} dropped, "
            f"{link['lost_packets']} lost, {link['max_queue_packets']} waiting at most"
        )


def _command(path: EmulatedPath, side: Side, command: list[str]) -> int:
    """Runs the command to its end and returns its status as a shell would."""
    return _status(path, path.popen(side, command))


def _status(path: EmulatedPath, program: subprocess.Popen[Any]) -> int:
    try:
        while True:
            try:
                return _of(program.wait(0.2))
            except subprocess.TimeoutExpired:
                if path.is_broken:
                    return 1
    except KeyboardInterrupt:
        until = time.monotonic() + _LAST_WORDS_S
        while program.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        if program.poll() is None:
            raise Stopped("stopped before the command ended") from None
        return _of(program.returncode)


def _of(code: int) -> int:
    """The status that shells report for a program ended by a signal."""
    return code if code >= 0 else 128 - code


def _shell(path: EmulatedPath, side: Side) -> int:
    """Runs an interactive shell, which handles Ctrl-C itself."""
    name = os.environ.get("SHELL") or "/bin/sh"
    prompt = f"[{side} {path.address(side)}] "
    far: Literal["sender", "receiver"] = "receiver" if side == "sender" else "sender"
    peer = f"the other end is $CWNDLAB_PEER ({path.address(far)})"
    say(f"a shell on the {side}s' side; {peer}; `exit` ends the emulation")
    options: dict[str, Any] = {"env": os.environ | {"PS1": f"{prompt}$ "}}
    command = [name]
    if Path(name).name == "bash":
        # The user's start-up file sets the prompt; ours is then put before it.
        lines = f"[ -f ~/.bashrc ] && . ~/.bashrc\nPS1='{prompt}'\"${{PS1:-$ }}\"\n"
        file = os.memfd_create("rc")
        os.write(file, lines.encode())
        command += ["--rcfile", f"/dev/fd/{file}"]
        options["pass_fds"] = (file,)
        os.lseek(file, 0, os.SEEK_SET)
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        program = path.popen(side, command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)
        return _status(path, program)
    finally:
        signal.signal(signal.SIGINT, usual)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, emulate, "emulate path.toml --receiver 'iperf3 -s' -- iperf3 -c 10.102.0.1")
