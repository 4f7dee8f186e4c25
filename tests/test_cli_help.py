"""The command line: its commands, their help, and what it imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cwndlab
import pytest
from cwndlab.cli.app import app
from cwndlab.cli.options import SHARED
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

Cli = Callable[..., tuple[int, str, str]]
#: Columns of a summary in the list of commands: click shortens it by "..." where a terminal of 80 has no room.
SUMMARY = 55


def commands(
    group: TyperGroup, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], TyperCommand | TyperGroup]]:
    """Every command and subcommand with its words."""
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand | TyperGroup)
        yield (*path, name), command
        if isinstance(command, TyperGroup):
            yield from commands(command, (*path, name))


PROGRAM = get_command(app)
assert isinstance(PROGRAM, TyperGroup)
COMMANDS = dict(commands(PROGRAM))
GROUPS = [words for words, command in COMMANDS.items() if isinstance(command, TyperGroup)]


@pytest.mark.parametrize("words", [words for words in COMMANDS if words not in GROUPS], ids=" ".join)
def test_every_command_shows_an_example(cli: Cli, words: tuple[str, ...]) -> None:
    status, out, err = cli(*words, "--help")
    assert (status, err) == (0, "")
    assert f"Example: cwndlab {' '.join(words)}" in out


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_summaries_of_commands_are_printed_in_full(cli: Cli, words: tuple[str, ...]) -> None:
    summary = (COMMANDS[words].help or "").partition("\n\n")[0]
    assert 0 < len(summary) <= SUMMARY
    listed = " ".join(cli(*words[:-1], "--help")[1].split())
    assert f" {words[-1]} {summary}" in listed


def test_the_help_lists_the_commands_in_groups(cli: Cli) -> None:
    """Each command stands in one of them."""
    lists = cli("--help")[1].split("\n\n")[3:]
    titles = [text.partition(":")[0].strip() for text in lists]
    assert titles == ["Simulate", "Study", "Judge", "Real networks", "Files"]
    listed = [line.split()[0] for text in lists for line in text.strip().splitlines()[1:]]
    assert sorted(listed) == sorted(words[0] for words in COMMANDS if len(words) == 1)


def test_an_option_that_several_commands_have_is_declared_once() -> None:
    """By its name and what it takes: `SHARED` in cli/options.py has those of more than one command."""
    declared: dict[tuple[str, str], list[str]] = {}
    for file in sorted((Path(cwndlab.__file__).parent / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.arg) and node.annotation is not None:
                takes = re.search(r"Option\('([^']*)'", ast.unparse(node.annotation))
                declared.setdefault((node.arg, takes[1] if takes else ""), []).append(file.name)
    declared = {one: files for one, files in declared.items() if one[1]}
    assert ("wifi", "FILE") in declared
    assert {one: files for one, files in declared.items() if len(files) > 1} == {}
    assert [name for name, takes in declared if name in SHARED and SHARED[name][0] == takes] == []


def test_without_a_command_help_is_shown(cli: Cli) -> None:
    status, out, _ = cli()
    assert status == 0
    assert all(f"\n  {words[0]} " in out for words in COMMANDS)
    assert cli("--help")[1] == out
    assert cli("--version") == (0, f"cwndlab {cwndlab.version()}\n", "")


HEAVY = ("polars", "numpy", "scipy", "plotly", "matplotlib", "pyarrow")


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["run", "PATH", "--seed", "1"]])
def test_what_draws_is_not_imported_before_it_is_needed(arguments: list[str], path: Path) -> None:
    arguments = [str(path) if argument == "PATH" else argument for argument in arguments]
    code = (
        "import sys, cwndlab.cli.app\n"
        f"status = cwndlab.cli.app.status({arguments!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "print(status, loaded, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"
