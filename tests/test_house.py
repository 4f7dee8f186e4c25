"""The rules of CONTRIBUTING.md that a program can hold."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import cwndlab
import pytest

ROOT = Path(__file__).parents[1]
#: Lines of a file without its tests.
LONGEST = 600


def tool(name: str) -> ModuleType:
    """A program of tools/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tracked(*patterns: str) -> list[Path]:
    """Files under version control; all that are there where it is missing, as in an unpacked archive."""
    done = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    names = done.stdout.splitlines() if done.returncode == 0 else []
    found = [ROOT / name for name in names] or [file for pattern in patterns for file in ROOT.glob(f"**/{pattern}")]
    hidden = {".venv", "target", "build", "out"}
    return [file for file in found if file.is_file() and not hidden & set(file.relative_to(ROOT).parts)]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose() -> list[Path]:
    return tracked("*.md")


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", text("Makefile"), re.MULTILINE))


def without_tests(file: Path) -> int:
    """Lines before the tests of the file; none where the whole file is tests."""
    if file.name == "tests.rs" or "tests" in file.relative_to(ROOT).parts:
        return 0
    return file.read_text(encoding="utf-8").split("#[cfg(test)]")[0].count("\n")


def test_crates_have_only_allowed_dependencies() -> None:
    assert tool("check_arrows").violations(ROOT / "crates") == []


def test_a_dependency_that_is_not_allowed_is_reported(tmp_path: Path) -> None:
    for crate, dependency in {"units": "network", "network": "units", "attic": "control"}.items():
        (tmp_path / crate).mkdir()
        (tmp_path / crate / "Cargo.toml").write_text(f"[dependencies]\ncwndlab-{dependency}.workspace = true\n")
    assert tool("check_arrows").violations(tmp_path) == [
        "crates/attic has no entry in ALLOWED of tools/check_arrows.py",
        "crates/units may not depend on network",
    ]


def test_the_allowed_dependencies_have_no_circle() -> None:
    order = list(TopologicalSorter(tool("check_arrows").ALLOWED).static_order())
    assert order[0] == "units"
    assert order[-1] == "bindings/python"


def python_package(root: Path, **files: str) -> Path:
    """A package `x`; `a__b` is the file a/b.py."""
    for name, source in files.items():
        file = root / "x" / f"{name.replace('__', '/').replace('/init', '/__init__')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    (root / "x" / "__init__.py").touch()
    return root / "x"


def test_no_arrow_between_python_modules_but_those_allowed() -> None:
    assert tool("check_arrows").wrong_in_python(ROOT / "python" / "cwndlab") == []


def test_an_arrow_between_python_modules_that_is_not_allowed_is_found(tmp_path: Path) -> None:
    package = python_package(
        tmp_path, low="from . import high", high="import x\nx.low.f()", attic="from x.low import f"
    )
    assert tool("check_arrows").wrong_in_python(package, {"low": set(), "high": set()}, {}) == [
        "x/attic.py:1: attic has no place in the plan",
        "x/high.py:2: high imports low: no such arrow",
        "x/low.py:1: low imports high: no such arrow",
        "import circle of x.high, x.low",
    ]


def test_imports_for_the_type_checker_and_inside_functions_close_a_circle(tmp_path: Path) -> None:
    package = python_package(
        tmp_path,
        a="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x.b import B",
        b="def f():\n    import json\n    from x.a import A",
    )
    assert tool("check_arrows").wrong_in_python(package, {"a": {"b"}, "b": {"a"}}, {"x.a": {"x.b"}}) == [
        "x/b.py:3 imports x.a inside a function",
        "x/b.py:2 imports json inside a function",
        "PYTHON_LATE: x.a does not import x.b inside a function",
        "import circle of x.a, x.b",
    ]


def test_a_method_that_presents_a_value_imports_from_above(tmp_path: Path) -> None:
    """Where the table of views names it; it is not an arrow and closes no circle then."""
    package = python_package(tmp_path, low="def plot(one):\n    from x.high import draw", high="import x.low\ndraw = 1")
    wrong = tool("check_arrows").wrong_in_python
    arrows: dict[str, set[str]] = {"low": set(), "high": {"low"}}
    assert wrong(package, arrows, {}, {"x.low": {"x.high"}}) == []
    assert wrong(package, arrows, {}, {}) == [
        "x/low.py:2 imports x.high inside a function",
        "x/low.py:2: low imports high: no such arrow",
        "import circle of x.high, x.low",
    ]
    assert "PYTHON_VIEWS: x.high does not import x.low inside a function" in wrong(
        package, arrows, {}, {"x.high": {"x.low"}}
    )


def test_a_name_that_a_python_package_hands_on_is_that_of_its_module(tmp_path: Path) -> None:
    package = python_package(
        tmp_path, p__init="from x.p.a import A\nfrom x.p.b import B", p__a="class A: ...", p__b="from x.p import A"
    )
    assert tool("check_arrows").wrong_in_python(package, {"p": set()}, {}) == []


def test_only_engine_py_imports_the_engine() -> None:
    imports = re.compile(r"^ *(?:from cwndlab import _engine|(?:import|from) cwndlab\._engine)", re.MULTILINE)
    files = tracked("python/cwndlab/*.py")
    assert [file.name for file in files if imports.search(file.read_text(encoding="utf-8"))] == ["engine.py"]


def test_files_stay_small() -> None:
    sizes = {str(file.relative_to(ROOT)): without_tests(file) for file in tracked("crates/*.rs", "python/cwndlab/*.py")}
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST} == {}


def test_the_contract_has_seven_methods_of_which_three_are_required() -> None:
    contract = text("crates/control/src/contract.rs").split("pub trait CongestionControl")[1].split("\n}\n")[0]
    methods = re.findall(r"^    fn (\w+)\([^;{]*([;{])", contract, re.MULTILINE)
    assert [name for name, end in methods if end == ";"] == ["on_ack", "on_congestion", "cwnd"]
    assert len(methods) == 7


def test_public_names_are_documented() -> None:
    page = text("docs/python.md")
    assert sorted(cwndlab.__all__) == cwndlab.__all__
    for name in cwndlab.__all__:
        assert getattr(cwndlab, name).__doc__, f"{name} has no docstring"
        assert f"`{name}`" in page, f"{name} is not in docs/python.md"


def test_commands_of_readme_exist() -> None:
    readme = text("README.md")
    asked = set(re.findall(r"^    make ([a-z-]+)", readme, re.MULTILINE))
    assert {"demo", "test"} <= asked <= make_targets()
    asked = set(re.findall(r"cwndlab ([a-z]+) ", re.sub(r"^(?!    ).*", "", readme, flags=re.MULTILINE)))
    verbs = set(re.findall(r"^## `([a-z]+)", text("docs/command-line.md"), re.MULTILINE))
    assert asked <= verbs | {"import"}
    command = [sys.executable, "-m", "cwndlab", "--help"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert verbs == set(re.findall(r"^  ([a-z]+)  ", printed.split("Simulate:")[1], re.MULTILINE))


def test_what_makefile_helps_with_exists() -> None:
    helped = set(re.findall(r"'make ([a-z-]+) ", text("Makefile")))
    assert {"build", "demo", "test", "check", "fmt", "bench", "bench-peers", "docs"} <= helped
    assert helped <= make_targets()
    assert "make check test" in text(".ci/run")
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_links_between_pages_lead_somewhere() -> None:
    for page in prose():
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_the_index_of_every_folder_of_docs_is_complete() -> None:
    """README.md where code hosts show it, else the list of the sidebar."""
    for folder in ("", "algorithms/", "decisions/", "schema/", "api/"):
        index = text(f"docs/{folder}README.md" if folder != "api/" else "docs/api/index.md")
        pages = {page.stem for page in tracked(f"docs/{folder}*.md") if page.parent == ROOT / "docs" / folder}
        listed = {name for name in pages if f"]({name}.md)" in index or f"\n{name}\n" in index}
        assert pages - {"README", "index"} - listed == set()


def test_the_pages_of_algorithms_are_those_of_the_entries() -> None:
    """`make docs` writes them; what their pictures are made from is left to `make check`."""
    pages = tool("algorithm_pages")
    entries = cwndlab.algorithms()
    for entry in entries:
        written = (ROOT / "docs" / "algorithms" / f"{pages.file_of(entry)}.md").read_text(encoding="utf-8")
        assert written == pages.page(entry, pages.digest_on_page(entry)), entry.name
        for run in pages.runs(entry):
            assert (ROOT / "docs" / "algorithms" / f"{run.page}-{run.picture}.svg").is_file(), entry.name
    assert text("docs/algorithms/README.md") == pages.index(entries)


def test_every_decision_is_a_page_with_three_parts() -> None:
    pages = sorted(tracked("docs/decisions/[0-9]*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        body = page.read_text(encoding="utf-8")
        assert body.startswith(f"# {page.name[:4]}: ")
        assert [part for part in ("**Context.**", "**Decision.**", "**Consequences.**") if part not in body] == []


def test_the_changelog_has_what_is_not_released() -> None:
    headings = re.findall(r"^## (.*)", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"


def test_one_version_everywhere() -> None:
    version = tomllib.loads(text("Cargo.toml"))["workspace"]["package"]["version"]
    assert cwndlab.version() == version
    assert f"\nversion: {version}\n" in text("CITATION.cff")


def test_the_lock_file_pins_every_dependency() -> None:
    lines = [line for line in text("requirements/lock.txt").splitlines() if line and not line.startswith("#")]
    names = [re.fullmatch(r"([A-Za-z0-9_.-]+)==\S+", line) for line in lines]
    assert all(names), [line for line, found in zip(lines, names, strict=True) if not found]
    locked = {found[1].lower().replace("_", "-") for found in names if found}
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    # What `dev` includes of the package's own extras is `cwndlab[cluster,learn,print,tune]`.
    own = [name for extra in ("cluster", "docs", "learn", "print", "tune") for name in extras[extra]]
    wanted = [*project["dependencies"], *own, *extras["dev"], "maturin"]
    assert {re.split(r"[<>=~!\s\[]", name)[0] for name in wanted} - locked == {"cwndlab"}


@pytest.mark.parametrize("kind", ["ns2", "linux", "ns3"])
def test_references_are_whole(kind: str) -> None:
    folder = ROOT / "known-answers" / kind
    assert (folder / "reference.json").is_file()
    assert (folder / "scenarios.json").is_file()
    assert list(folder.glob("*_summary.csv"))


def test_nothing_unfinished_and_no_place_of_one_machine() -> None:
    unfinished = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")
    places = re.compile("(?<![A-Za-z0-9_.])/(?:wo" + "rk|ro" + "ot|ho" + "me)/")
    kinds = ("*.md", "*.rs", "*.py", "*.toml", "*.tcl", "*.cc", "*.cff", "Makefile", ".ci/run")
    for file in tracked(*kinds):
        body = file.read_text(encoding="utf-8")
        for rule in (unfinished, places):
            found = rule.search(body)
            assert found is None, f"{file.relative_to(ROOT)}: {found[0]}"


def test_files_that_the_documentation_names_exist() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    named = {
        (page.relative_to(ROOT).as_posix(), path)
        for page in pages
        # A path from the root of the tree, which no link resolves.
        for path in re.findall(r"`((?:crates|python|tools|docs|benches)/[\w./-]+)`(?!\])", page.read_text("utf-8"))
    }
    # The pages on adding things name files that their reader writes.
    own = "crates/algorithms/src/congestion_avoidance/gentle.rs"
    assert [(page, path) for page, path in sorted(named) if path != own and not (ROOT / path).exists()] == []
