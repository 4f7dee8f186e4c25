"""What README.md and docs/ print can be typed: each command and each piece of code is run, or at least parsed.

Sources: the shells themselves (`bash`, `zsh`), the parser of the command line, the engine's reader of scenarios.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import cwndlab
import documented
import pytest
from documented import ROOT, Snippet

PAGES = [page for page in documented.pages() if list(documented.snippets(page))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
#: Prints its own name and arguments, so that it tells what a shell makes of a line.
ECHO = '#!/bin/sh\nprintf \'%s\\n\' "$0" "$@"\n'
SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-c"], "zsh": ["zsh", "-f", "-c"]}


def all_commands() -> list[Snippet]:
    return [one for page in PAGES for one in documented.commands(page)]


def shell(name: str) -> list[str]:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}")
    return [path, *SHELLS[name][1:]]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A working directory like a clone in which `make build` has run, whose files nobody else uses."""
    for name in ("scenarios", "examples", "known-answers/packetdrill"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("target"))
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "cwndlab").write_text(f'#!/bin/sh\nexec {sys.executable} -m cwndlab "$@"\n')
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    return tmp_path


def test_every_block_is_a_command_or_code_or_output() -> None:
    """What is none of these belongs on a list of tests/documented.py, with a reason."""
    unknown = [
        f"{one.place}: {one.text.strip()}"
        for page in PAGES
        for one in documented.snippets(page)
        if one.kind == "unknown"
    ]
    assert unknown == []


def test_the_pages_have_commands_and_code() -> None:
    """Without this an extractor that finds nothing would pass every test here."""
    readme = [one.kind for one in documented.snippets(ROOT / "README.md")]
    assert readme.count("command") >= 20
    assert readme.count("python") == 1
    assert {"docs/exports.md", "docs/sweeps.md", "docs/kernel.md"} <= set(NAMES)


def test_no_reason_stands_for_nothing() -> None:
    from fnmatch import fnmatch

    texts = [one.text for one in all_commands()]
    assert [pattern for pattern in documented.NOT_RUN if not any(fnmatch(text, pattern) for text in texts)] == []


@pytest.mark.parametrize("name", SHELLS)
def test_shells_read_the_commands_as_they_are_meant(name: str, tmp_path: Path) -> None:
    """Programs get the words that POSIX' rules make of a line: nothing is a pattern for files, no quote is open."""
    start = shell(name)
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(programs)
    (tmp_path / "examples" / "own-algorithm-rust").mkdir(parents=True)
    for program in ("cwndlab", "python", "make", "cargo", "curl"):
        (programs / program).write_text(ECHO)
        (programs / program).chmod(0o755)
    # No other programs: a command of the documentation must not change this machine.
    environment = {**os.environ, "PATH": str(programs)}
    wrong = []
    for one in all_commands():
        if one.text.startswith("cd "):
            continue
        done = subprocess.run(
            [*start, documented.without_redirection(one.text)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        program, *arguments = done.stdout.splitlines() or [""]
        meant = documented.words(one.text)
        if done.returncode or done.stderr or [Path(program).name, *arguments] != [Path(meant[0]).name, *meant[1:]]:
            wrong.append(f"{one.place}: {one.text}: {done.stdout}{done.stderr}")
    assert wrong == []


def test_commands_have_no_remarks() -> None:
    """To an interactive zsh `#` begins no remark (zshoptions(1), INTERACTIVE_COMMENTS): what follows are arguments."""
    assert [one.place for one in all_commands() if re.search(r"(?:^|\s)#", one.text)] == []


def test_the_arguments_of_commands_are_known() -> None:
    """Also of those that are not run here."""
    wrong = []
    for one in all_commands():
        program, *arguments = documented.words(one.text)
        if program != ".venv/bin/cwndlab":
            continue
        try:
            documented.parse(arguments)
        except Exception as error:
            wrong.append(f"{one.place}: {one.text}: {getattr(error, 'format_message', error.__str__)()}")
    assert wrong == []


def test_targets_scripts_and_examples_of_commands_exist() -> None:
    targets = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for one in all_commands():
        program, *arguments = documented.words(one.text)
        match program:
            case "make":
                assert {word for word in arguments if "=" not in word} <= set(targets), one.place
            case ".venv/bin/python":
                script = [sys.executable, str(ROOT / arguments[0]), "--help"]
                printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
                assert {word for word in arguments if word.startswith("--")} <= set(re.findall(r"--[a-z-]+", printed))
            case "cargo":
                example = dict(pairwise(arguments)).get("--example")
                assert example is None or list(ROOT.glob(f"crates/*/examples/{example}.rs")), one.place


def test_verbs_and_options_in_prose_exist() -> None:
    """`cwndlab VERB --option` between backticks; words in capitals stand for others."""
    wrong = []
    for page in documented.pages():
        for path in documented.mentioned(page):
            asked = {word.split("=")[0].rstrip(",;") for word in path[: (path.index("--") if "--" in path else None)]}
            asked = {word for word in asked if re.fullmatch(r"--?[a-z][a-z-]*", word)}
            if path[0].startswith("-"):
                known = asked <= {"--help", "--version", "-h"}
            elif re.fullmatch(r"[a-z]+", path[0]):
                known = path[0] in documented.verbs() and asked <= documented.options(path)
            else:
                known = True
            if not known:
                wrong.append(f"{page.relative_to(ROOT)}: cwndlab {' '.join(path)}")
    assert wrong == []


def blocks() -> list[list[Snippet]]:
    """The commands that are run, those of one block together: they follow upon each other."""
    found: dict[tuple[Path, int], list[Snippet]] = {}
    for one in all_commands():
        if documented.reason_not_to_run(one.text) is None:
            found.setdefault((one.page, one.block), []).append(one)
    return list(found.values())


def pythons(page: Path) -> list[Snippet]:
    return [one for one in documented.snippets(page) if one.kind == "python"]


def write_files(page: Path, folder: Path) -> list[str]:
    """Writes blocks that are files, named by the line before: "The file `mine.py` (…):". Gives the others."""
    script = []
    for block in documented.snippets(page):
        if block.kind not in ("python", "toml"):
            continue
        if file := re.match(r"(?:The file )?`([a-z_-]+\.(?:py|toml))` .*:$", block.before):
            (folder / file[1]).write_text(block.text)
        elif block.kind == "python" and not any(line in block.text for line in documented.NOT_RUN_PYTHON):
            script.append(block.text)
    return script


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block[0].place)
def test_commands_run_as_printed(block: list[Snippet], copy: Path) -> None:
    """Those of README in zsh, where there is one, others in bash: the test above says that both read the same."""
    page = block[0].page
    write_files(page, copy)
    start = SHELLS["zsh" if page.name == "README.md" and shutil.which("zsh") else "bash"]
    for one in block:
        done = subprocess.run([*start, one.text], cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{one.place}: {one.text}\n{done.stderr}"
        assert done.stdout + done.stderr or documented.without_redirection(one.text) != one.text, one.place


@pytest.mark.parametrize("name", [name for name, page in zip(NAMES, PAGES, strict=True) if pythons(page)])
def test_python_of_a_page_runs(name: str, copy: Path) -> None:
    """All blocks of a page in their order, as one script."""
    script = write_files(ROOT / name, copy)
    (copy / "page.py").write_text("\n".join(script))
    command = [sys.executable, "-W", "error", "page.py"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_python_that_is_not_run_compiles_and_its_imports_are_there() -> None:
    for page in PAGES:
        for block in pythons(page):
            tree = ast.parse(block.text, filename=block.place)
            if not any(line in block.text for line in documented.NOT_RUN_PYTHON):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    module = importlib.import_module(str(node.module))
                    assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


@pytest.mark.parametrize(
    "name", [name for name, page in zip(NAMES, PAGES, strict=True) if page.name != "add-an-algorithm.md"]
)
def test_toml_of_a_page_is_taken(name: str, copy: Path) -> None:
    """A scenario, a piece of one, a sweep, a comparison, a search for parameters: each by its reader."""
    for block in (one for one in documented.snippets(ROOT / name) if one.kind == "toml"):
        table = tomllib.loads(block.text)
        file = copy / "page.toml"
        file.write_text(block.text)
        if kind := next((one for one in ("sweep", "compare") if one in table), ""):
            from cwndlab.study.sweeps import read

            assert read(file, where=kind)
        elif "tune" in table:
            from cwndlab.study.tuning import load

            assert load(file)
        else:
            head, tail = documented.PIECES.get(block.text.splitlines()[0], ("", ""))
            file.write_text(f"{head}{block.text}{tail}")
            assert cwndlab.Scenario.load(file).hash, block.place


def test_rust_of_a_page_stands_in_a_source_that_is_compiled() -> None:
    """Line by line: documentation of a crate and the example outside of the tree are compiled by tests."""
    sources = [*ROOT.glob("crates/**/src/lib.rs"), *(ROOT / "examples" / "own-algorithm-rust").glob("**/src/*.rs")]
    texts = [[line.strip().removeprefix("//!").strip() for line in file.read_text().splitlines()] for file in sources]
    for page in PAGES:
        for block in (one for one in documented.snippets(page) if one.kind == "rust"):
            asked = [line.strip().removeprefix("//!").strip() for line in block.text.splitlines() if line.strip()]
            assert any(set(asked) <= set(lines) | {""} for lines in texts), block.place
