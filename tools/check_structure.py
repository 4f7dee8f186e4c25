"""Fails on import circles between modules, long functions, large structs, and integers in place of units.

The import graph has an edge from a module to each module of the same crate whose items its code uses, by `use` or by a
path. Paths are resolved through `use` and `pub use` to the definition of the name; a `pub use` without a use of the
name is not an edge. A file is one module, together with its inline modules. A parameter whose name is that of a time, a
size or a rate must have a type of cwndlab_units, not `u64`. Exceptions are in tools/structure-exceptions.toml, each
with a reason; an exception without effect is a fault as well.

    .venv/bin/python tools/check_structure.py                   faults of all crates
    .venv/bin/python tools/check_structure.py --all simulator   faults of one crate, exceptions included
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import rust_source
from rust_source import Crate, Module, Segments

ROOT = Path(__file__).resolve().parents[1]
EXCEPTIONS = ROOT / "tools" / "structure-exceptions.toml"
#: Maximum number of lines of a function, from `fn` to the closing brace, and of fields of a struct.
MAX_FUNCTION_LINES, MAX_FIELDS = 50, 20
#: Names of parameters that are quantities, and types without a unit.
QUANTITY = re.compile(r"now|at|time|\w+_(?:ns|us|ms|s|bytes|bits|bps)")
INTEGER = re.compile(r"&?(?:Option<)?[ui](?:64|128)>?")


@dataclass(frozen=True)
class Fault:
    """A violation of a rule; `kind` and `key` are table and pattern in the file of exceptions."""

    kind: str
    key: str
    message: str


# -- circles ----------------------------------------------------------------------------------------------------------

#: For each module, the modules that it uses, with the place of the first use.
Graph = dict[Module, dict[Module, str]]
#: Paths that are being resolved, since two globs may import each other.
Seen = frozenset[tuple[Module, Segments]]


def name(module: Module) -> str:
    """The path of a module in Rust's notation."""
    return "::".join(("crate", *module))


class Resolver:
    """Finds the module that defines a name."""

    def __init__(self, crate: Crate) -> None:
        self.scopes, self.macros = crate.scopes, crate.macros

    def origin(
        self, scope: Module, path: Segments, seen: frozenset[tuple[Module, Segments]] = frozenset()
    ) -> Module | None:
        """The module that defines the item of this path, used in `scope`; none if it belongs to another crate."""
        if (scope, path) in seen:
            return None
        seen |= {(scope, path)}
        base, rest = self._start(scope, path)
        if base is None:
            return None
        while rest and (*base, rest[0]) in self.scopes:
            base, rest = (*base, rest[0]), rest[1:]
        if not rest or rest[0] in self.scopes[base].defined:
            return self.scopes[base].node
        if not base and rest[0] in self.macros:
            return self.macros[rest[0]]
        for imported in self.scopes[base].imports:
            if imported.name == rest[0] and (base, imported.segments) != (scope, path):
                return self.origin(base, imported.segments + rest[1:], seen)
        for imported in self.scopes[base].imports:
            if imported.name == "*":
                node = self.origin(base, imported.segments + rest, seen)
                if node is not None and self._defines(node, rest[0]):
                    return node
        return self.scopes[base].node if path[0] in ("crate", "self", "super") else None

    def _defines(self, node: Module, item: str) -> bool:
        return any(scope.node == node and item in scope.defined for scope in self.scopes.values())

    def _start(self, scope: Module, path: Segments) -> tuple[Module | None, Segments]:
        """The module at which the path begins, and the rest of the path."""
        head, rest = path[0], path[1:]
        if head == "crate":
            return (), rest
        if head == "self":
            base = scope
        elif head == "super":
            base = scope[:-1]
        elif (*scope, head) in self.scopes:
            return (*scope, head), rest
        else:
            imported = next((one for one in self.scopes[scope].imports if one.name == head), None)
            if imported is None or not rest or imported.segments == path:
                return None, ()
            return self._start(scope, imported.segments + rest) if imported.segments[0] != head else (None, ())
        while rest[:1] == ("super",):
            base, rest = base[:-1], rest[1:]
        return base, rest

    def is_module(self, scope: Module, path: Segments) -> bool:
        """Whether the path names a module of the crate."""
        base, rest = self._start(scope, path)
        return base is not None and (*base, *rest) in self.scopes


def graph(crate: Crate) -> Graph:
    """The import graph of a crate."""
    resolver = Resolver(crate)
    edges: Graph = {}
    for module, scope in crate.scopes.items():
        targets = edges.setdefault(scope.node, {})
        for path, line in uses(module, crate, resolver):
            target = resolver.origin(module, path)
            if target is not None and target != scope.node:
                targets.setdefault(target, f"{scope.file.name}:{line} uses {'::'.join(path)}")
    return edges


def uses(module: Module, crate: Crate, resolver: Resolver) -> Iterator[tuple[Segments, int]]:
    """The paths that the code of a module uses, with their lines."""
    scope = crate.scopes[module]
    heads = {reference.segments[0] for reference in scope.references}
    for imported in scope.imports:
        if imported.name == "*":
            yield from globbed(module, imported, crate, resolver)
        elif resolver.is_module(module, imported.segments):
            # An imported module is used through paths, which are references.
            if not imported.reexport and imported.name not in heads:
                yield imported.segments, imported.line
        elif not imported.reexport or (imported.name in scope.plain and imported.name not in scope.defined):
            yield imported.segments, imported.line
    for reference in scope.references:
        yield reference.segments, reference.line


def globbed(
    module: Module, imported: rust_source.Import, crate: Crate, resolver: Resolver
) -> Iterator[tuple[Segments, int]]:
    """The names that a module uses through a glob import."""
    scope = crate.scopes[module]
    source = resolver.origin(module, imported.segments)
    if source is None:
        return
    names = set(crate.scopes[source].defined) | {other.name for other in crate.scopes[source].imports} - {"*"}
    heads = {reference.segments[0]: reference.line for reference in scope.references}
    for item, line in {**heads, **scope.plain}.items():
        if item in names and item not in scope.defined:
            yield (*imported.segments, item), line


def components(edges: Graph) -> list[list[Module]]:
    """The strongly connected components of two or more modules (Tarjan 1972)."""
    index: dict[Module, int] = {}
    low: dict[Module, int] = {}
    stack: list[Module] = []
    cycles: list[list[Module]] = []

    def visit(node: Module) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in edges.get(node, {}):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            start = stack.index(node)
            cycles.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted(members for members in cycles if len(members) > 1)


def circles(crate: Path, label: str) -> list[Fault]:
    """One fault for each set of modules that form an import circle, with every edge inside the set."""
    edges = graph(rust_source.read(crate))
    faults = []
    for members in components(edges):
        names = ", ".join(name(member) for member in members)
        lines = [
            f"    {name(member)} -> {name(target)} ({place})"
            for member in members
            for target, place in sorted(edges[member].items())
            if target in members
        ]
        message = "\n".join([f"crates/{label}: import circle of {names}", *lines])
        faults.append(Fault("circles", f"{label}: {names}", message))
    return faults


# -- sizes ------------------------------------------------------------------------------------------------------------


def sizes(crate: Path, root: Path) -> list[Fault]:
    """Functions and structs above the limits."""
    faults = []
    for file in rust_source.sources(crate):
        place = str(file.relative_to(root))
        for function in rust_source.functions(file):
            if function.size > MAX_FUNCTION_LINES:
                size = f"{function.size} lines, more than {MAX_FUNCTION_LINES}"
                message = f"{place}:{function.line}: {function.name} has {size}"
                faults.append(Fault("functions", f"{place}: {function.name}", message))
        for struct in rust_source.structs(file):
            if struct.size > MAX_FIELDS:
                message = f"{place}:{struct.line}: {struct.name} has {struct.size} fields, more than {MAX_FIELDS}"
                faults.append(Fault("structs", f"{place}: {struct.name}", message))
    return faults


def units(crate: Path, root: Path) -> list[Fault]:
    """Parameters that are quantities and have an integer type."""
    faults = []
    for file in rust_source.sources(crate):
        place = str(file.relative_to(root))
        for parameter in rust_source.parameters(file):
            if QUANTITY.fullmatch(parameter.name) and INTEGER.fullmatch(parameter.type):
                argument = f"{parameter.name}: {parameter.type}"
                message = f"{place}:{parameter.line}: {parameter.function} takes {argument}, a type without a unit"
                faults.append(Fault("units", f"{place}: {parameter.function}({parameter.name})", message))
    return faults


# -- exceptions -------------------------------------------------------------------------------------------------------


def exceptions(file: Path) -> dict[str, dict[str, str]]:
    """Reasons by kind and pattern."""
    reasons: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))
    return reasons


def uncovered(faults: Iterable[Fault], allowed: dict[str, dict[str, str]]) -> list[str]:
    """The faults without an exception, and the exceptions without a fault."""
    messages, needed = [], set()
    for fault in faults:
        covering = [pattern for pattern in allowed.get(fault.kind, {}) if fnmatchcase(fault.key, pattern)]
        needed |= {(fault.kind, pattern) for pattern in covering}
        if not covering:
            messages.append(fault.message)
    for kind, patterns in allowed.items():
        for pattern, reason in patterns.items():
            if (kind, pattern) not in needed:
                messages.append(f'tools/structure-exceptions.toml: [{kind}] "{pattern}" has no effect')
            if not reason.strip():
                messages.append(f'tools/structure-exceptions.toml: [{kind}] "{pattern}" has no reason')
    return messages


def faults_of(root: Path, crates: Iterable[str]) -> list[Fault]:
    """All faults of these crates; of all crates if the list is empty."""
    manifests = sorted(root.glob("crates/**/Cargo.toml"))
    labels = list(crates) or [str(manifest.parent.relative_to(root / "crates")) for manifest in manifests]
    faults = []
    for label in labels:
        crate = root / "crates" / label
        faults += [*circles(crate, label), *sizes(crate, root), *units(crate, root)]
    return faults


def main() -> int:
    """Prints the faults."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("crates", nargs="*", help="folders below crates/; all by default")
    parser.add_argument("--all", action="store_true", help="print faults with an exception as well")
    options = parser.parse_args()
    faults = faults_of(ROOT, options.crates)
    allowed = {} if options.all else exceptions(EXCEPTIONS)
    messages = uncovered(faults, allowed)
    if options.crates and not options.all:
        messages = [message for message in messages if not message.endswith(" has no effect")]
    for message in messages:
        sys.stderr.write(f"{message}\n")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
