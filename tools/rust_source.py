"""Reads Rust sources with tree-sitter: the modules of a crate, the paths that each uses, functions and structs.

Code under `#[cfg(test)]` or `#[test]` is omitted. Expansions of macros and the targets of method calls, which only the
compiler resolves, are not read; paths in the arguments of macros are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

#: A module's path below the crate's root: `("queue", "codel")`; the root is `()`.
Module = tuple[str, ...]
#: A path in the source: `("crate", "queue", "Queue")`.
Segments = tuple[str, ...]

_PARSER = Parser(Language(tree_sitter_rust.language()))
_ITEMS = {
    "function_item",
    "function_signature_item",
    "struct_item",
    "enum_item",
    "union_item",
    "trait_item",
    "type_item",
    "const_item",
    "static_item",
    "macro_definition",
}
_HEADS = {"crate", "self", "super"}


@dataclass(frozen=True)
class Reference:
    """A path in the code of a module."""

    segments: Segments
    line: int


@dataclass(frozen=True)
class Import:
    """One name that a `use` declaration imports; `name` is `*` for a glob."""

    name: str
    segments: Segments
    line: int
    reexport: bool


@dataclass(frozen=True)
class Size:
    """The number of lines of a function, or of fields of a struct."""

    name: str
    line: int
    size: int


@dataclass
class Scope:
    """The declarations and uses of one module, of a file or inline."""

    file: Path
    #: The module of the file, to which inline modules belong.
    node: Module
    defined: set[str] = field(default_factory=set)
    imports: list[Import] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    #: Names without a path, outside of `use`.
    plain: dict[str, int] = field(default_factory=dict)


@dataclass
class Crate:
    """The modules of a library crate without its tests."""

    scopes: dict[Module, Scope] = field(default_factory=dict)
    #: Macros that `#[macro_export]` exports at the root, with the module that defines them.
    macros: dict[str, Module] = field(default_factory=dict)


def parse(file: Path) -> Node:
    """The syntax tree of a file."""
    return _parsed(file.read_bytes())


@cache
def _parsed(source: bytes) -> Node:
    """Each rule reads every file."""
    return _PARSER.parse(source).root_node


def text(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode()


def items(parent: Node) -> Iterator[tuple[Node, list[str]]]:
    """The children of a node with their attributes, without code that is compiled only for tests."""
    attributes: list[str] = []
    for child in parent.named_children:
        if child.type == "attribute_item":
            attributes.append("".join(text(child).split()))
        elif child.type not in ("line_comment", "block_comment"):
            if not any(a == "#[test]" or a.startswith(("#[cfg(test)", "#[cfg(all(test")) for a in attributes):
                yield child, attributes
            attributes = []


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return "" if name is None else text(name)


def _line(node: Node) -> int:
    return node.start_point[0] + 1


def module_of(file: Path, source: Path) -> Module:
    """The module of a file below `src/`."""
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts


def _tests(file: Path, source: Path) -> set[Module]:
    """The modules that the file declares only for tests."""
    root = parse(file)
    kept = {node.id for node, _ in items(root)}
    declared = (node for node in root.named_children if node.type == "mod_item" and node.id not in kept)
    return {(*module_of(file, source), _name(node)) for node in declared}


def sources(crate: Path) -> list[Path]:
    """The files below `src/` that are not tests."""
    source = crate / "src"
    files = sorted(source.glob("**/*.rs"))
    tests = {module for file in files for module in _tests(file, source)}

    def tested(module: Module) -> bool:
        return any(module[:depth] in tests for depth in range(1, len(module) + 1))

    return [file for file in files if not tested(module_of(file, source))]


def read(crate: Path) -> Crate:
    """The modules of a library crate. A program of `src/bin/` is a separate crate."""
    source = crate / "src"
    result = Crate()
    for file in sources(crate):
        module = module_of(file, source)
        if module[:1] != ("bin",) and file != source / "main.rs":
            result.scopes[module] = Scope(file, module)
            _Reader(result, module).visit(parse(file))
    return result


class _Reader:
    """Fills the scope of a module from its syntax tree."""

    def __init__(self, crate: Crate, module: Module) -> None:
        self.crate, self.module = crate, module
        self.scope = crate.scopes[module]

    def visit(self, parent: Node) -> None:
        for node, attributes in items(parent):
            self._item(node, attributes)

    def _item(self, node: Node, attributes: list[str]) -> None:
        if node.type in _ITEMS:
            self.scope.defined.add(_name(node))
            if node.type == "macro_definition" and any(a.startswith("#[macro_export") for a in attributes):
                self.crate.macros[_name(node)] = self.scope.node
        if node.type == "use_declaration":
            self._use(node)
        elif node.type == "mod_item":
            self._module(node)
        elif node.type in ("scoped_identifier", "scoped_type_identifier"):
            self._path(node)
        elif node.type == "token_tree":
            self._tokens(node)
        elif node.type in ("identifier", "type_identifier"):
            self.scope.plain.setdefault(text(node), _line(node))
        elif node.type != "visibility_modifier":
            self.visit(node)

    def _module(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        if body is not None:
            inner = (*self.module, _name(node))
            self.crate.scopes[inner] = Scope(self.scope.file, self.scope.node)
            _Reader(self.crate, inner).visit(body)

    def _path(self, node: Node) -> None:
        segments = flat(node)
        if segments is None:
            self.visit(node)
        else:
            self.scope.references.append(Reference(segments, _line(node)))

    def _tokens(self, tree: Node) -> None:
        """Paths in the arguments of a macro, for which the grammar has only tokens."""
        path: list[str] = []
        start, joined = 0, False
        for token in [*tree.children, None]:
            kind = "" if token is None else token.type
            name = token is not None and (kind in ("identifier", *_HEADS) or text(token) == "$crate")
            if token is not None and name and (joined or not path):
                start = start if path else _line(token)
                path.append(text(token).removeprefix("$"))
                joined = False
                continue
            if kind == "::" and path and not joined:
                joined = True
                continue
            self._end_of_path(path, start)
            path, joined = [], False
            if token is not None and name:
                path, start = [text(token).removeprefix("$")], _line(token)
            elif token is not None and kind == "token_tree":
                self._tokens(token)

    def _end_of_path(self, path: list[str], line: int) -> None:
        if len(path) > 1:
            self.scope.references.append(Reference(tuple(path), line))
        elif path and path[0] not in _HEADS:
            self.scope.plain.setdefault(path[0], line)

    def _use(self, node: Node) -> None:
        reexport = any(child.type == "visibility_modifier" for child in node.children)
        argument = node.child_by_field_name("argument")
        assert argument is not None
        for name, segments in _imported(argument, ()):
            self.scope.imports.append(Import(name, segments, _line(node), reexport))


def flat(node: Node) -> Segments | None:
    """The names of a path; none if it contains type arguments."""
    if node.type in ("scoped_identifier", "scoped_type_identifier"):
        path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
        head = () if path is None else flat(path)
        return None if head is None or name is None else (*head, text(name))
    if node.type in ("identifier", "type_identifier", *_HEADS):
        return (text(node),)
    return ("crate",) if text(node) == "$crate" else None


def _imported(node: Node, before: Segments) -> Iterator[tuple[str, Segments]]:
    """Names and full paths of a `use` declaration."""
    if node.type == "use_list":
        for child in node.named_children:
            yield from _imported(child, before)
    elif node.type == "scoped_use_list":
        path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
        assert inner is not None
        yield from _imported(inner, before + ((flat(path) or ()) if path is not None else ()))
    elif node.type == "use_as_clause":
        path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
        assert path is not None
        assert alias is not None
        for _, segments in _imported(path, before):
            yield text(alias), segments
    elif node.type == "use_wildcard":
        yield "*", before + (flat(node.named_children[0]) or () if node.named_children else ())
    else:
        segments = before + (flat(node) or ())
        if before and node.type == "self":
            segments = before
        if segments:
            yield segments[-1], segments


def functions(file: Path) -> list[Size]:
    """The functions of a file with their lines, from `fn` to the closing brace."""
    return [Size(name, _line(node), node.end_point[0] - node.start_point[0] + 1) for name, node in _functions(file)]


def _functions(file: Path) -> Iterator[tuple[str, Node]]:
    for owner, node in _declarations(parse(file)):
        if node.type == "function_item":
            yield f"{owner}{_name(node)}", node


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function."""

    function: str
    line: int
    name: str
    type: str


def parameters(file: Path) -> list[Parameter]:
    """The parameters of all functions of a file, required methods of traits included."""
    result = []
    for owner, node in _declarations(parse(file)):
        if node.type in ("function_item", "function_signature_item"):
            listed = node.child_by_field_name("parameters")
            for parameter in listed.named_children if listed is not None else []:
                pattern, kind = parameter.child_by_field_name("pattern"), parameter.child_by_field_name("type")
                if pattern is not None and kind is not None:
                    name = text(pattern).removeprefix("mut ")
                    result.append(Parameter(f"{owner}{_name(node)}", _line(parameter), name, text(kind)))
    return result


def structs(file: Path) -> list[Size]:
    """The structs of a file, and the variants of its enums, with the number of their fields."""
    result = []
    for owner, node in _declarations(parse(file)):
        body = node.child_by_field_name("body")
        if node.type in ("struct_item", "enum_variant") and body is not None:
            named = body.type == "field_declaration_list"
            fields = [child for child in body.named_children if child.type == "field_declaration" or not named]
            kept = [child for child in fields if child.type not in ("visibility_modifier", "attribute_item")]
            result.append(Size(f"{owner}{_name(node)}", _line(node), len(kept)))
    return result


_DECLARATIONS = {"function_item", "function_signature_item", "struct_item", "enum_variant"}


@cache
def _declarations(root: Node) -> list[tuple[str, Node]]:
    """Functions, structs and variants that are not tests, with the enclosing type, enum, function or inline module:
    `Sender::`."""
    result = []
    left = [("", root)]
    while left:
        owner, node = left.pop()
        inner = owner
        if node.type == "impl_item":
            kind = node.child_by_field_name("type")
            inner = f"{owner}{text(kind).split('<')[0]}::" if kind is not None else owner
        elif node.type in ("trait_item", "mod_item", "enum_item", "function_item"):
            inner = f"{owner}{_name(node)}::"
        if node.type in _DECLARATIONS:
            result.append((owner, node))
        left += reversed([(inner, child) for child, _ in items(node)])
    return result
