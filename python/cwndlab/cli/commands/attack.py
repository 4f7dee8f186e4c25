"""``cwndlab attack``: arguments in, `cwndlab.study.attack` called, tables out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, say_seed
from cwndlab.cli.options import Argument, Option, changes_of, command, scenario_of
from cwndlab.cli.places import check_file
from cwndlab.cli.progress import progress_bar
from cwndlab.cli.show import show_attack
from cwndlab.engine import require_stack
from cwndlab.files import json_text


def attack(
    algorithm: Annotated[str, Argument("ALGORITHM|FILE", "The algorithm, or a Python or Rust file with one.")],
    against: Annotated[str, "The baseline in its place."] = "cubic",
    path: Annotated[
        Path | None,
        "A dumbbell with a constant rate, or a preset; by default 10 Mbit/s, 40 ms, 1 BDP, 30 s.",
    ] = None,
    goal: Annotated[
        str, Option("itself|others|difference|delay", "Whose goodput, or the delay, the events harm.", noun="a harm")
    ] = "itself",
    trials: Annotated[int, "Number of lists of events to try."] = 200,
    events: Annotated[int, Option("N", "The longest list.", least=1, most=20)] = 5,
    emulate: Annotated[
        int, Option("N", "Repeat the find N times between real kernels (root).", least=0, most=1000)
    ] = 0,
    linux: Annotated[
        int, Option("N", "Repeat the find N times between Linux kernels in virtual time.", least=0, most=1000)
    ] = 0,
    save: Annotated[Path | None, "Write the scenario with the events to this file."] = None,
    seed: int = 1,
    set_: list[str] | None = None,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Format = Format.table,
) -> None:
    """Search for the events that harm an algorithm most.

    Events on the path are outages, changes of rate and delay, losses of packets and ACKs, and other traffic; the
    receiver may send fewer or later ACKs. The most harmful ones are reduced to few, and measured with seeds that did
    not choose them. With --emulate or --linux receivers stay as they are: a kernel decides itself when it
    sends an ACK.
    """
    check_file(save)
    if emulate:
        cwndlab.emulation.become_root()
    name, classes = cwndlab.custom.selected_one(algorithm, algorithm_file or ())
    if linux:
        require_stack("linux", "linux", "make linux")
        for one in (name, against):
            cwndlab.linux.with_kernels({"flow": [{"algorithm": one}]})
    described = _path(path, set_, classes)
    with progress_bar() as progress:
        found = cwndlab.study.attack.attack(
            name,
            against,
            scenario=described,
            goal=goal,  # type: ignore[arg-type]
            trials=trials,
            most_events=events,
            receivers=not (emulate or linux),
            seed=seed,
            workers=workers,
            progress=progress,
        )
    confirmations = {"emulated": found.emulated(emulate)} if emulate else {}
    confirmations |= {"linux": found.between_kernels(linux)} if linux else {}
    show_attack(found, confirmations, format)
    if save is not None:
        found.save(save)
        say(f"scenario: {save}")
        story = cwndlab.study.attack.result.STORY_SEED
        files = [str(one) for one in algorithm_file or ()] + ([algorithm] if algorithm != name else [])
        classes_of_files = "".join(f" --algorithm-file {shlex.quote(one)}" for one in files)
        say(f"its course: cwndlab debug {shlex.quote(str(save))} --next timeout --seed {story}{classes_of_files}")
    say_seed(seed)


def _path(path: Path | None, changes: list[str] | None, classes: dict[str, type]) -> cwndlab.Scenario:
    if path is not None:
        return scenario_of(path, changes, classes)
    default = json_text(cwndlab.study.attack.world.PATH)
    return cwndlab.Scenario.from_json(default, changes=changes_of(changes), algorithms=classes)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, attack, "attack bbr1 --against cubic --save attack.toml")
