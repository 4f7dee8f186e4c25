"""docs/add-an-algorithm.md: its files, lines and commands work as they are written."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cwndlab import Records

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_algorithm.py"
Cli = Callable[..., tuple[int, str, str]]


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "add-an-algorithm.md").read_text()
    return [part.partition("\n```")[0] + "\n" for part in page.split(f"\n```{language}\n")[1:]]


def test_the_example_is_on_the_page() -> None:
    assert EXAMPLE.read_text() in blocks("python")


def commands_with(file: str) -> list[list[str]]:
    """The arguments of the page's commands that take this file."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [
        shlex.split(line.removeprefix(".venv/bin/cwndlab ")) for line in lines if f"--algorithm-file {file}" in line
    ]


def run_shorter(cli: Cli, commands: list[list[str]], note: str) -> None:
    """Runs commands with fewer repetitions and shorter runs."""
    assert len(commands) >= 2
    for words in commands:
        shorter = ["2" if words[n - 1] == "--repetitions" else word for n, word in enumerate(words)]
        status, out, err = cli(*shorter, "--set", "duration=3 s")
        assert status == 0, err
        assert "delay-aimd" in out
        assert f"'delay-aimd' is the {note} (SHA-256 " in err


def test_the_commands_of_the_page_run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(blocks("python")[0])
    monkeypatch.chdir(tmp_path)
    run_shorter(cli, commands_with("mine.py"), "class DelayAimd of mine.py")
    assert "delay-aimd" in (tmp_path / "out" / "mine.html").read_text()


def test_the_script_of_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(blocks("python")[0])
    script = blocks("python")[1].replace('"60 s"', '"3 s"').replace("seeds=10", "seeds=2")
    (tmp_path / "study.py").write_text(script)
    done = subprocess.run([sys.executable, "study.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "delay-aimd" in done.stdout
    assert (tmp_path / "mine.html").is_file()


def quickly_built() -> Iterator[str]:
    """Options of cargo: our crates without optimisation and debug information, which takes a third of the time to
    compile; all others as in the workspace's tests, whose build of them is used."""
    for manifest in sorted((ROOT / "crates").rglob("Cargo.toml")):
        name = re.search(r'^name = "(.+)"', manifest.read_text(), re.MULTILINE)
        assert name is not None
        for option in ("opt-level=0", "debug=0"):
            yield from ("--config", f"profile.dev.package.{name[1]}.{option}")
            yield from ("--config", f"profile.test.package.{name[1]}.{option}")


def cargo(folder: Path, *arguments: str) -> str:
    """Calls cargo with what the workspace has built, nothing fetched; gives standard output."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    command = ["cargo", *quickly_built(), *arguments[:1], "--quiet", "--offline", *arguments[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")

#: A test that compiles takes minutes on a machine that compiles other things, too.
BUILDS = pytest.mark.timeout(1800)


@needs_cargo
@pytest.mark.timeout(600)
def test_the_commands_with_a_file_in_rust_run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(ROOT)
    run_shorter(cli, commands_with("examples/own_algorithm.rs"), "file own_algorithm.rs")


@needs_cargo
@BUILDS
def test_the_file_and_the_line_of_the_page_are_enough(tmp_path: Path) -> None:
    """A copy of the tree takes them, and runs what they say. Always in one place, so that cargo knows it again."""
    tree = TARGET / "own-tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "crates", tree / "crates")
    (tree / "known-answers").mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "known-answers/known-answers.csv"):
        shutil.copy2(ROOT / name, tree / name)
    shelf = tree / "crates" / "algorithms" / "src"
    (shelf / "congestion_avoidance" / "gentle.rs").write_text(blocks("rust")[0])
    registry = (shelf / "lib.rs").read_text()
    (shelf / "lib.rs").write_text(
        registry.replace("algorithms! {\n", "algorithms! {\n    congestion_avoidance::gentle,\n")
    )
    assert "1 passed" in cargo(tree, "test", "--package", "cwndlab-algorithms", "--lib", "congestion_avoidance::gentle")
    (tmp_path / "path.toml").write_text(
        'schema_version = 1\nduration = "5 s"\n\n'
        '[dumbbell]\nbottleneck = { rate = "10 Mbps", delay = "10 ms" }\n\n'
        '[[flow]]\nalgorithm = "gentle(a=2)"\nrtt = "40 ms"\n'
    )
    program = ["--profile", "test", "--package", "cwndlab-bench"]
    printed = json.loads(cargo(tree, "run", *program, "--", "run", str(tmp_path / "path.toml")))
    assert printed["packets"] > 1000


@needs_cargo
@BUILDS
def test_the_crate_outside_of_the_tree_builds_and_runs(cli: Cli, tmp_path: Path) -> None:
    folder = ROOT / "examples" / "own-algorithm-rust"
    assert (folder / "src" / "lib.rs").read_text() == blocks("rust")[0]
    cargo(folder, "test")
    scenario = [str(ROOT / "scenarios" / "two-flows.toml"), "1", str(tmp_path / "gentle")]
    printed = cargo(folder, "run", "--package", "run", "--", *scenario, "flow[0].algorithm=gentle(a=2)", "duration=2 s")
    assert printed.startswith("flow0  gentle(a=2)+standard/rack  ")
    status, out, err = cli("report", tmp_path / "gentle")
    assert status == 0, err
    assert "gentle(a=2)+standard/rack" in out
    document = json.dumps(Records.read(tmp_path / "gentle").document)
    assert "examples/own-algorithm-rust/src/lib.rs" in document


def test_the_crate_outside_locks_what_the_workspace_locks() -> None:
    import tomllib

    def locked(place: Path) -> set[tuple[str, str]]:
        packages = tomllib.loads((place / "Cargo.lock").read_text())["package"]
        return {(one["name"], one["version"]) for one in packages if "source" in one}

    assert locked(ROOT / "examples" / "own-algorithm-rust") <= locked(ROOT)
