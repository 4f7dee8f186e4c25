"""Fails on a dependency that CONTRIBUTING.md, "Arrows", does not allow: between crates, and between the parts of the
Python package, whose modules import each other in no circle and at the top of a file.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]

#: The allowed dependencies of each crate. Only the modules for Python and WebAssembly depend on an engine.
ALLOWED: dict[str, set[str]] = {
    "units": set(),
    "control": {"units"},
    "algorithms": {"units", "control"},
    "conformance": {"units", "control"},
    "transport": {"units", "control"},
    "config": {"units"},
    "network": {"units", "config"},
    "hosted": {"units"},
    "traffic": {"units", "config", "network", "hosted"},
    "scenario": {"units", "config", "control", "transport", "network", "traffic"},
    "records": {"units"},
    "path": {"units", "control", "transport", "network", "scenario", "records", "traffic"},
    "simulator": {
        "units",
        "control",
        "algorithms",
        "transport",
        "network",
        "scenario",
        "records",
        "traffic",
        "path",
    },
    "bench": {"units", "control", "conformance", "scenario", "simulator"},
    "learned": {"units", "control"},
    "stepping": {"units", "control", "learned", "traffic", "scenario", "records", "simulator"},
    "quic": {"units", "control", "algorithms", "transport"},
    "linux": {"units"},
    "emulator": {"units", "control", "algorithms", "linux", "network", "scenario", "records", "traffic", "path"},
    "kernel": {"units", "control", "linux"},
    "packetdrill": {"units", "control", "algorithms", "transport", "scenario"},
    "replay": {"units", "control", "scenario", "records", "simulator", "kernel", "quic"},
    "audit": {"units", "control", "algorithms", "transport"},
    "plugin": {"units", "control"},
    "bindings/python-classes": {"units", "control", "conformance", "plugin"},
    "bindings/python-kernel": {"units", "control", "algorithms", "learned", "kernel", "python-classes"},
    "windows": {"units"},
    "fetch": {"units", "linux", "windows"},
    "live": {"units", "algorithms", "control", "fetch", "linux", "quic"},
    "bindings/wasm": {"units", "control", "scenario", "records", "simulator", "replay"},
    "bindings/python": {
        "units",
        "control",
        "conformance",
        "scenario",
        "records",
        "simulator",
        "learned",
        "stepping",
        "traffic",
        "linux",
        "emulator",
        "packetdrill",
        "quic",
        "replay",
        "audit",
        "fetch",
        "live",
        "python-classes",
    },
}


def tables(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All dependencies of a manifest except those of tests, for which the rules do not apply."""
    for part in (manifest, *manifest.get("target", {}).values()):
        for kind in ("dependencies", "build-dependencies"):
            yield part.get(kind, {})


def violations(crates: Path) -> list[str]:
    """Dependencies that the rules do not allow, and crates without a rule."""
    messages = []
    for path in sorted([*crates.glob("*/Cargo.toml"), *crates.glob("bindings/*/Cargo.toml")]):
        crate = path.parent.relative_to(crates).as_posix()
        if crate not in ALLOWED:
            messages.append(f"crates/{crate} has no entry in ALLOWED of tools/check_arrows.py")
            continue
        for dependencies in tables(tomllib.loads(path.read_text(encoding="utf-8"))):
            for name in dependencies:
                target = name.removeprefix("cwndlab-")
                if name != target and target not in ALLOWED[crate]:
                    messages.append(f"crates/{crate} may not depend on {target}")
    return messages


#: What each module or subpackage of cwndlab may import, apart from itself.
PYTHON: dict[str, set[str]] = {
    "errors": set(),
    "closing": set(),
    "lazy": {"errors"},
    "engine": {"errors"},
    "files": {"errors"},
    "statistics": {"errors"},
    "catalogue": {"errors", "engine", "custom"},
    "rust_files": {"errors", "engine"},
    "contracts": {"engine"},
    "custom": {"errors", "engine", "rust_files", "contracts"},
    "scenario": {"errors", "engine", "custom"},
    "records": {"errors", "engine", "scenario"},
    "simulate": {"errors", "engine", "custom", "scenario", "records"},
    "gym": {"errors", "closing", "lazy", "engine", "files", "custom", "scenario", "records", "simulate"},
    "kernel": {"errors", "closing", "engine", "custom"},
    "linux": {"errors", "engine", "catalogue", "scenario", "simulate"},
    "metrics": {"errors", "records", "statistics"},
    "service": {"errors", "scenario", "records", "statistics", "metrics"},
    "energy": {"errors", "records"},
    "emulation": {"errors", "engine", "custom", "catalogue", "scenario", "records", "simulate", "kernel", "metrics"},
    "export": {"errors", "files", "records"},
    "plot": {"errors", "lazy", "records", "metrics", "statistics"},
    "study": {
        "emulation",
        "linux",
        "errors",
        "closing",
        "lazy",
        "engine",
        "files",
        "statistics",
        "catalogue",
        "custom",
        "scenario",
        "records",
        "simulate",
        "metrics",
        "service",
        "validation",
    },
    "live": {
        "emulation",
        "errors",
        "closing",
        "lazy",
        "engine",
        "files",
        "quantities",
        "scenario",
        "records",
        "simulate",
        "export",
        "statistics",
        "metrics",
        "validation",
        "study",
    },
    "validation": {
        "errors",
        "lazy",
        "engine",
        "files",
        "catalogue",
        "custom",
        "scenario",
        "records",
        "simulate",
        "kernel",
        "linux",
        "metrics",
        "emulation",
    },
    "suites": {
        "errors",
        "lazy",
        "engine",
        "files",
        "catalogue",
        "custom",
        "records",
        "simulate",
        "study",
        "plot",
        "export",
        "reports",
    },
    "reports": {
        "errors",
        "lazy",
        "engine",
        "files",
        "statistics",
        "scenario",
        "records",
        "simulate",
        "metrics",
        "service",
        "plot",
        "study",
        "live",
        "validation",
    },
    "assessment": {
        "linux",
        "errors",
        "engine",
        "files",
        "statistics",
        "catalogue",
        "custom",
        "scenario",
        "records",
        "metrics",
        "emulation",
        "plot",
        "study",
        "live",
        "reports",
    },
    "reproduction": {
        "errors",
        "lazy",
        "engine",
        "files",
        "statistics",
        "catalogue",
        "scenario",
        "records",
        "simulate",
        "metrics",
        "service",
        "plot",
        "study",
        "live",
        "reports",
    },
}
#: These stand above all of the package.
PYTHON_TOP = {"", "cli", "saved", "__main__"}

#: Imports of ours inside a function, by module; a comment beside each has the reason. Libraries that take long to
#: import, or that an extra installs, may be imported anywhere; the standard library may not.
PYTHON_LATE = {
    "cwndlab.__main__": {"cwndlab.cli.app"},
    "cwndlab.emulation": {"cwndlab.metrics.goodput"},
}

#: Functions that methods of a value call to present it, imported at the call: they take the value itself, so that they
#: stand above it, and the value computes nothing from their result. These uses are no arrows and close no circle.
PYTHON_VIEWS = {
    "cwndlab.records": {
        "cwndlab.metrics.goodput",
        "cwndlab.plot.cdf",
        "cwndlab.plot.overview",
        "cwndlab.plot.phase",
        "cwndlab.plot.series",
        "cwndlab.plot.share",
        "cwndlab.saved",
    },
    "cwndlab.study.tuning.search": {"cwndlab.reports.page", "cwndlab.study.tuning.tables"},
    "cwndlab.study.result": {"cwndlab.reports.charts", "cwndlab.saved", "cwndlab.study.tables"},
    "cwndlab.suites.result": {"cwndlab.suites.pages"},
    "cwndlab.assessment.dossier": {"cwndlab.assessment.markdown", "cwndlab.assessment.page"},
    "cwndlab.reproduction.result": {"cwndlab.reproduction.site"},
}


class Use(NamedTuple):
    """An import of a module by another one, where it stands."""

    module: str
    target: str
    line: int
    is_late: bool
    """It stands inside a function."""


def _inside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that stand inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (inner for inner in ast.walk(node) if inner is not node)


class Package:
    """The modules of a Python package and what they import, type checking included."""

    def __init__(self, folder: Path) -> None:
        self._name = folder.name
        self.files = {self._module(folder, file): file for file in sorted(folder.rglob("*.py"))}

    @staticmethod
    def _module(folder: Path, file: Path) -> str:
        parts = file.relative_to(folder.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def _trees(self) -> dict[str, ast.Module]:
        return {module: self._parsed(module, file) for module, file in self.files.items()}

    @staticmethod
    def _parsed(module: str, file: Path) -> ast.Module:
        """The file's syntax, with absolute names in place of relative imports."""
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                up = node.level - (file.name == "__init__.py")
                base = module.split(".")[: -up or None]
                node.module, node.level = ".".join([*base, *filter(None, [node.module])]), 0
        return tree

    @cached_property
    def _handed_on(self) -> dict[str, str]:
        """Names that a package's ``__init__`` only imports, each with what it stands for: no use of the package."""
        return {
            f"{module}.{alias.asname or alias.name}": f"{node.module}.{alias.name}"
            for module, file in self.files.items()
            if file.name == "__init__.py"
            for node in ast.walk(self._trees[module])
            if isinstance(node, ast.ImportFrom) and self._is_ours(node.module)
            for alias in node.names
        }

    def _is_ours(self, name: str | None) -> bool:
        return name is not None and (name == self._name or name.startswith(f"{self._name}."))

    def _defining(self, name: str) -> str | None:
        """The module that defines a dotted name; nothing where there is none, as of the compiled one."""
        while name not in self.files:
            if name in self._handed_on and self._handed_on[name] != name:
                name = self._handed_on[name]
                continue
            parent = name.rpartition(".")[0]
            if not parent:
                return None
            if parent in self.files:
                return parent if self._defines(parent, name.rpartition(".")[2]) else None
            name = parent
        return name

    def _defines(self, module: str, name: str) -> bool:
        """Whether a module has this name; an unknown one of a package is not a module of ours."""
        return self.files[module].name != "__init__.py" or any(
            name == getattr(node, "id", getattr(node, "name", None)) for node in ast.walk(self._trees[module])
        )

    def uses(self) -> Iterator[Use]:
        """Every import, and every attribute of a package that was imported as a whole."""
        for module, tree in self._trees.items():
            late = {id(node) for node in _inside_functions(tree)}
            for node in ast.walk(tree):
                for name, is_import in self._named(node):
                    target = self._defining(name)
                    if target is not None and target != module:
                        yield Use(module, target, getattr(node, "lineno", 0), is_import and id(node) in late)

    def late_of_the_library(self) -> Iterator[Use]:
        """Imports of the standard library inside functions."""
        for module, tree in self._trees.items():
            for node in _inside_functions(tree):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                for name in names:
                    if name.partition(".")[0] in sys.stdlib_module_names:
                        yield Use(module, name, getattr(node, "lineno", 0), True)

    def _named(self, node: ast.AST) -> Iterator[tuple[str, bool]]:
        """The dotted names of this package in a node, each with whether it is imported."""
        if isinstance(node, ast.Import):
            yield from ((alias.name, True) for alias in node.names if alias.name.startswith(f"{self._name}."))
        elif isinstance(node, ast.ImportFrom) and self._is_ours(node.module):
            yield from ((f"{node.module}.{alias.name}", True) for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith(f"{self._name}."):
            yield ast.unparse(node), False


def wrong_in_python(
    folder: Path,
    allowed: dict[str, set[str]] = PYTHON,
    late: dict[str, set[str]] = PYTHON_LATE,
    views: dict[str, set[str]] | None = None,
) -> list[str]:
    """Imports that are not allowed, circles, and imports inside functions of the package in ``folder``."""
    package = Package(folder)
    if views is None:
        views = PYTHON_VIEWS if allowed is PYTHON else {}

    def place(use: Use) -> str:
        return f"{package.files[use.module].relative_to(folder.parent).as_posix()}:{use.line}"

    uses = list(package.uses())
    found = [
        f"{place(use)} imports {use.target} inside a function"
        for use in [*uses, *package.late_of_the_library()]
        if use.is_late and use.target not in late.get(use.module, set()) | views.get(use.module, set())
    ]
    late_uses = {(use.module, use.target) for use in uses if use.is_late}
    found += [
        f"{table}: {module} does not import {target} inside a function"
        for table, entries in (("PYTHON_LATE", late), ("PYTHON_VIEWS", views))
        for module, targets in entries.items()
        for target in sorted(targets)
        if (module, target) not in late_uses
    ]
    uses = [use for use in uses if not (use.is_late and use.target in views.get(use.module, ()))]
    for use in uses:
        part, target = (f"{name}.".split(".")[1] for name in (use.module, use.target))
        if part in PYTHON_TOP or part == target:
            continue
        if part not in allowed:
            found.append(f"{place(use)}: {part} has no place in the plan")
        elif target not in allowed[part]:
            found.append(f"{place(use)}: {part} imports {target or folder.name}: no such arrow")
    graph = {module: {use.target for use in uses if use.module == module} for module in package.files}
    found += [f"import circle of {', '.join(circle)}" for circle in circles(graph)]
    return list(dict.fromkeys(found))


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other."""
    reached: dict[str, set[str]] = {}
    for module in graph:
        reached[module], waiting = set(), [module]
        while waiting:
            new = graph[waiting.pop()] - reached[module]
            reached[module] |= new
            waiting += new
    sets = {frozenset(other for other in reached[one] if one in reached[other]) for one in graph if one in reached[one]}
    return sorted(sorted(one) for one in sets)


def main() -> int:
    """Compares manifests and imports with the rules."""
    messages = violations(ROOT / "crates") + wrong_in_python(ROOT / "python" / "cwndlab")
    for message in messages:
        sys.stderr.write(f"{message}\n")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
