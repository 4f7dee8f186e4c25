"""Finds the commands and the code that README.md and docs/ print, and how to try each of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, Literal

import typer
from cwndlab.cli.app import app
from typer.main import get_command

ROOT = Path(__file__).parents[1]

Kind = Literal["command", "python", "toml", "rust", "output", "unknown"]
#: What a fence calls a block.
LANGUAGES: dict[str, Kind] = {
    "text": "output",
    "{include}": "output",
    "{toctree}": "output",
    "{raw}": "output",
    "{equations}": "output",
    "sh": "command",
    "console": "command",
    "python": "python",
    "toml": "toml",
    "rust": "rust",
}
#: How a line begins that is a command; `$ ` in front of it is a prompt.
PROGRAMS = (".venv/bin/", "make ", "cargo ", "curl ", "cd ")
ASSIGNMENT = re.compile(r"[A-Z_]+=\S* ")

#: Commands that are not run here, each with the reason. Their arguments are parsed all the same.
NOT_RUN = {
    "make *": "builds and tests everything",
    "cargo *": "compiles for a minute; tests/test_add_an_algorithm.py and crates/quic run what stands there",
    "cd *": "belongs to the commands of cargo beside it",
    "* report out/gentle": "reads what the commands of cargo beside it write",
    "curl *": "needs a server; tests/test_serve.py fetches with curl",
    "*[ ',]gentle*": "needs the algorithm that the page adds; tests/test_add_an_algorithm.py builds and runs it",
    "* --algorithm-file mine.py *": "takes half a minute; tests/test_add_an_algorithm.py runs it on a shorter scenario",
    "*/cwndlab compare uplink * --algorithms cubic,reno*": "`make check` runs that of README.md",
    "*/python examples/learn.py --train *": "takes minutes; tests/test_gym_example.py trains for a few generations",
    "*/cwndlab compare examples/clinic-remedies.toml *": "takes minutes; `make docs` runs it",
    "*/cwndlab compare examples/clinic-backup.toml *": "takes a minute; `make docs` runs it",
    "*/cwndlab compare examples/ward-remedies.toml *": "takes minutes; `make docs` runs it",
    "*/cwndlab compare examples/smart-city-restart.toml *": "takes minutes; `make docs` runs it",
    "*/cwndlab compare examples/bbr-*": "takes ten seconds and more; `make docs` runs it",
    "*/cwndlab suite c4-test *": "fails 13 of 31 outcomes, which is status 1; tests/test_suites.py runs single cases",
    "*/cwndlab compare examples/partial-l4s.toml *": "takes minutes; `make docs` runs it",
    "*/cwndlab compare examples/media-coexistence.toml *": "takes a minute; `make docs` runs it",
    "*/cwndlab suite rfc8867 *": "fails some outcomes, which is status 1; tests/test_suites.py runs single cases",
    "*/cwndlab suite rfc9331 *": "fails three of twelve outcomes, which is status 1; tests/test_suites.py runs it",
    "*/cwndlab host *": "needs the program of a stack; tests/test_host.py runs one",
    "*/cwndlab validate --linux *": "needs a kernel that takes minutes to build; tests/test_linux_hosts.py runs one",
    "*/cwndlab identify kernels/*": "reads what a hosted kernel wrote; tests/test_linux_hosts.py identifies one",
    "*/cwndlab compare path.toml --over *controller*": "needs the program of a stack; tests/test_host.py runs one",
    "*/cwndlab attack *": "takes ten seconds and more; tests/test_attack.py runs shorter searches",
    "*/cwndlab tune *": "takes minutes; tests/test_tuning.py runs shorter searches",
    "*/cwndlab reproduce --all *": "takes minutes; tests/test_reproduce_runs.py runs single figures",
    "*/cwndlab validate": "takes minutes; `make docs` runs it",
    "*/cwndlab assess *": "takes minutes; tests/test_assessment.py assesses single sections",
    "*/cwndlab matrix": "takes minutes; a line of README.md runs a part of it",
    "*/cwndlab run * --engine *": "needs the kernel and its rights; tests/test_emulation.py",
    "*/cwndlab emulate *": "needs the kernel and its rights; tests/test_emulation_programs.py",
    "*/cwndlab kernel *": "needs the kernel and its rights; tests/test_kernel.py",
    "*/cwndlab conform cubic-linux": "needs the kernel and its rights; tests/test_conform.py",
    "*/cwndlab conform reno cubic-linux": "needs the kernel and its rights; tests/test_conform.py",
    "*/python examples/applications/run.py*": "needs the kernel and its rights; tests/test_applications.py",
    "*/python examples/measure_a_day.py*": "needs the kernel and its rights; tests/test_measure_day.py",
    "*/cwndlab preflight *": "needs a remote host, or files of one; tests/test_preflight_command.py",
    "*/cwndlab serve *": "runs until it is stopped; tests/test_serve.py",
    "*/cwndlab measure *": "needs a remote host; tests/test_measure.py",
    "*/cwndlab windows import *": "reads files of a Windows host; tests/test_windows.py has some",
    "*/cwndlab report host.example.measure": "reads what a measurement of a remote host wrote",
}

#: Indented lines that are no commands.
NO_COMMANDS = {"event time from to type size flags flow source destination sequence packet": "columns of a file"}

#: Python that is not run, by a line of it: its imports are, and it compiles.
NOT_RUN_PYTHON = {
    "with EmulatedPath(scenario, seed=1) as path:": "needs the kernel and its rights; tests/test_emulation_programs.py"
}

#: Pieces of TOML by their first line, and what makes a scenario of each.
_HEAD = 'schema_version = 1\nduration = "1 s"\n'
_DUMBBELL = '[dumbbell]\nbottleneck = { rate = "10 Mbps", delay = "10 ms" }\n'
_NODES = '[[node]]\nname = "server"\n[[node]]\nname = "ap"\n[[node]]\nname = "laptop"\n'
_FLOW = '[[flow]]\nalgorithm = "cubic"\nfrom = "server"\nto = "laptop"\n'
PIECES = {
    "[[medium]]": (_HEAD + _NODES, _FLOW),
    "[[cell]]": (_HEAD, '[[flow]]\nalgorithm = "cubic"\nfrom = "server"\nto = "phone"\n'),
    "[[flow]]": (_HEAD + _DUMBBELL, ""),
    "[dumbbell.bottleneck]": (_HEAD, '[[flow]]\nalgorithm = "cubic"\nrtt = "20 ms"\n'),
}


@dataclass(frozen=True)
class Snippet:
    """A command, or a block of code."""

    page: Path
    line: int
    kind: Kind
    text: str
    before: str
    """The last line of prose before it."""
    block: int
    """The first line of the block that it stands in."""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """What people read; those of algorithms have a test of their own, and decisions have no code."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@cache
def _program() -> typer.core.TyperGroup:
    command = get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    return command


def _is_command(line: str) -> bool:
    return ASSIGNMENT.sub("", f"{line} ").startswith(PROGRAMS)


def _commands(page: Path, first: int, lines: list[str], before: str, prompt: bool) -> Iterator[Snippet]:
    for number, line in enumerate(lines, first):
        bare = line.removeprefix("$ ")
        if not bare.strip() or (prompt and bare == line):
            continue
        kind: Kind = "command" if _is_command(bare) else "output" if bare in NO_COMMANDS else "unknown"
        yield Snippet(page, number, kind, bare, before, first)


def snippets(page: Path) -> Iterator[Snippet]:
    """Everything on a page that is a command or code; of generated blocks only lines that begin with a prompt."""
    lines = page.read_text(encoding="utf-8").splitlines()
    generated = False
    before = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("<!-- output: "):
            generated = True
        elif line == "<!-- end -->":
            generated = False
        elif line.startswith("```"):
            end = lines.index("```", number + 1)
            inside = lines[number + 1 : end]
            kind = LANGUAGES.get(line[3:].split(" ")[0], "output" if generated else "unknown")
            if kind == "command":
                yield from _commands(page, number + 2, inside, before, prompt=line == "```console")
            elif not generated:
                yield Snippet(page, number + 2, kind, "\n".join(inside) + "\n", before, number + 2)
            number = end
        elif line.startswith("    ") and (not lines[number - 1] or lines[number - 1].startswith("    ")):
            end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                end += 1
            inside = [one[4:] for one in lines[number:end]]
            if inside[0].startswith(("import ", "from ")):
                yield Snippet(page, number + 1, "python", "\n".join(inside).rstrip() + "\n", before, number + 1)
            else:
                yield from _commands(page, number + 1, inside, before, prompt=generated)
            number = end - 1
        elif line:
            before = line
        number += 1


def commands(page: Path) -> list[Snippet]:
    """The commands of a page."""
    return [one for one in snippets(page) if one.kind == "command"]


def reason_not_to_run(command: str) -> str | None:
    """Why a command is not run here."""
    return next((reason for pattern, reason in NOT_RUN.items() if fnmatch(command, pattern)), None)


def without_redirection(command: str) -> str:
    """A command without the file that its output goes to."""
    return re.sub(r" > \S+$", "", command)


def words(command: str) -> list[str]:
    """The words that the program gets, by POSIX' rules, without assignments in front."""
    found = shlex.split(without_redirection(command), comments=True)
    while re.fullmatch(r"[A-Z_]+=.*", found[0]):
        found = found[1:]
    return found


def parse(arguments: list[str]) -> None:
    """Parses the arguments of `cwndlab` as the command line does, and runs nothing. Raises where they are wrong."""
    command: Any = _program()
    context = command.make_context("cwndlab", list(arguments))
    left = [*context._protected_args, *context.args]
    while isinstance(command, typer.core.TyperGroup) and left:
        _, found, left = command.resolve_command(context, left)
        assert found is not None
        command = found
        context = command.make_context(command.name, left, parent=context)
        left = [*context._protected_args, *context.args] if isinstance(command, typer.core.TyperGroup) else []


def options(path: list[str]) -> set[str]:
    """The options of the verb that these words name."""
    command: Any = _program()
    found = {option for parameter in command.params for option in parameter.opts}
    for word in path:
        if not isinstance(command, typer.core.TyperGroup) or word not in command.commands:
            break
        command = command.commands[word]
        found = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return found | {"-h", "--help"}


def verbs() -> set[str]:
    """All verbs."""
    return set(_program().commands)


def mentioned(page: Path) -> Iterator[list[str]]:
    """What prose calls a command: `cwndlab VERB …` between backticks, as words."""
    for found in re.finditer(r"`(?:\.venv/bin/)?cwndlab ([^`\n]+)`", page.read_text(encoding="utf-8")):
        yield found[1].split()
