"""Custom algorithms: classes in Python, called per ACK.

A class has ``__init__(self, path)``, ``on_ack(self, ack)``, ``on_congestion(self, event)`` and ``cwnd(self)``, as the
contract in Rust has; optional are ``on_timeout``, ``on_window``, ``on_sent``, ``pacing_rate``, ``state`` and the
attribute ``ssthresh``. ``on_ack`` returns ``None``, or an event of two strings for the records: what
happened and why. Amounts are in segments, as papers write them, times in seconds, rates in segments per second.
`Ack`, `Congestion`, `Path`, `Window` and `Sent` are the types of the methods' arguments.
The transport copies an object by ``copy.deepcopy`` before a congestion event, and restores the copy where the reduction
was spurious. ``docs/add-an-algorithm.md`` shows it all.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import linecache
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as File
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from cwndlab.engine import Ack, Congestion, DeliveryRate, Path, Sent, Window, aliases, entries
from cwndlab.errors import Fault, ScenarioError, text_of

__all__ = ["Ack", "Congestion", "DeliveryRate", "Path", "Sent", "Window", "load", "name_of"]

Classes: TypeAlias = Mapping[str, type]

_SIGNATURES = {"on_ack": "on_ack(self, ack)", "on_congestion": "on_congestion(self, event)", "cwnd": "cwnd(self)"}
_PAGE = "docs/add-an-algorithm.md shows a whole class"


@dataclass(frozen=True)
class CustomAlgorithm:
    """A class and the name by which flows call it."""

    name: str
    kind: type

    @cached_property
    def parameters(self) -> dict[str, float | bool]:
        """The constructor's parameters with a number, or true or false, as default; others keep their default."""
        named = list(inspect.signature(self.kind).parameters.values())[1:]
        return {one.name: one.default for one in named if isinstance(one.default, int | float)}

    @cached_property
    def entry(self) -> dict[str, Any]:
        """The description of the class in a scenario."""
        return {
            "class": self.kind.__qualname__,
            "file": _place(self.kind),
            "sha256": _sha256(self.kind),
            "parameters": self.parameters,
        }

    def make(self, path: Path, **given: Any) -> object:
        """An object for a flow. Whole numbers come as such where the default is one."""
        for name, value in given.items():
            if type(self.parameters[name]) is int and float(value).is_integer():
                given[name] = int(value)
        return self.kind(path, **given)


def validate_class(name: str, kind: object) -> CustomAlgorithm:
    """The class under this name, checked; raises ``ScenarioError`` with every fault."""
    if not isinstance(kind, type):
        what = f"{kind!r} is no class"
        raise ScenarioError(Fault(f"algorithm '{name}'", what, "hand over the class itself, not an object of it"))
    where = _where(kind)
    faults = [
        Fault(where, f"has no method '{method}'", f"write `def {written}:`; {_PAGE}")
        for method, written in _SIGNATURES.items()
        if not callable(getattr(kind, method, None))
    ]
    faults += _constructor(kind, where)
    if not re.fullmatch("[a-z][a-z0-9-]*", name):
        hint = "a name has lower-case letters, digits and '-', and begins with a letter"
        faults.append(Fault(where, f"'{name}' cannot be the name of an algorithm", hint))
    if name in {entry["name"] for entry in entries()} | {alias for alias, _ in aliases()}:
        faults.append(Fault(where, f"'{name}' is an algorithm of the catalogue", "give the class another name"))
    if faults:
        raise ScenarioError(*faults)
    return CustomAlgorithm(name, kind)


def _constructor(kind: type, where: str) -> Iterator[Fault]:
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in (*positional, inspect.Parameter.VAR_POSITIONAL):
        yield Fault(where, "its constructor does not take the path", f"write `def __init__(self, path):`; {_PAGE}")
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for one in parameters[1:]:
        if one.default is inspect.Parameter.empty and one.kind not in several:
            hint = f"write `{one.name}=1.0`, or whatever it shall be unless a flow says `name({one.name}=…)`"
            yield Fault(where, f"its constructor's parameter '{one.name}' has no default", hint)


def validate_classes(classes: Mapping[str, object] | None) -> dict[str, CustomAlgorithm]:
    """Classes by their names, checked; raises ``ScenarioError`` with every fault."""
    found: dict[str, CustomAlgorithm] = {}
    faults: list[Fault] = []
    for name, kind in (classes or {}).items():
        try:
            found[name] = validate_class(name, kind)
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(*faults)
    return found


def name_of(kind: type) -> str:
    """The name by which flows call a class that was given no other: ``DelayAimd`` is ``delay-aimd``.

    >>> [name_of(type(name, (), {})) for name in ("Mine", "DelayAIMD", "my_reno2")]
    ['mine', 'delay-aimd', 'my-reno2']
    """
    words = re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", kind.__name__)
    return words.replace("_", "-").lower().strip("-")


def merged(sources: Iterable[Classes]) -> dict[str, type]:
    """The classes of several sources; raises ``ScenarioError`` where two have one name."""
    found: dict[str, type] = {}
    for classes in sources:
        for name, kind in classes.items():
            if found.setdefault(name, kind) is not kind:
                what = f"'{name}' is the name of another class, too ({_where(found[name])})"
                raise ScenarioError(Fault(_where(kind), what, "give one of them another name"))
    return found


def described(algorithms: Mapping[str, CustomAlgorithm]) -> str | None:
    """A document for the engine that describes these classes apart from a scenario, JSON; ``None`` without classes."""
    entries = {name: algorithm.entry for name, algorithm in algorithms.items()}
    return json.dumps({"schema_version": 1, "algorithms": entries}) if entries else None


def by_name(kinds: Iterable[type]) -> dict[str, type]:
    """Classes by the names of `name_of`."""
    return merged({name_of(kind): kind} for kind in kinds)


def load(file: str | File) -> dict[str, type]:
    """The algorithms that a file of Python holds, by name: its classes that have a method ``on_ack``.

    The file is run as a module, as ``import`` does. Classes whose names begin with ``_`` are left out. Raises
    ``ScenarioError`` where it cannot be imported or holds none.
    """
    file = File(file)
    text = text_of(file, "name a file of Python with a class in it")
    module = ModuleType(f"cwndlab_custom_{hashlib.sha256(text.encode()).hexdigest()[:16]}_{file.stem}")
    module.__file__ = str(file)
    # Tracebacks and hashes are of what was run, even if the file changes meanwhile.
    linecache.cache[str(file)] = (len(text), None, text.splitlines(keepends=True), str(file))
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(file.resolve().parent))
    try:
        exec(compile(text, str(file), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        what = f"cannot be imported: {type(error).__name__}: {error}".rstrip(": ")
        raise ScenarioError(Fault(line_of(file, error), what, f"`python {file}` shows more")) from error
    finally:
        sys.path.remove(str(file.resolve().parent))
    mine = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    found = by_name(one for one in mine if hasattr(one, "on_ack") and not one.__name__.startswith("_"))
    if not found:
        raise ScenarioError(Fault(str(file), "holds no class with a method 'on_ack'", _PAGE))
    for one in validate_classes(found).values():
        _sha256(one.kind)
    return found


def line_of(file: File, error: BaseException) -> str:
    """The file, and the line of it where the error arose."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(file) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{file}, line {line}" if line else str(file)


def _functions(kind: type) -> Iterator[CodeType]:
    """The code of a class's methods, its bases' after its own; what Python brings is left out."""
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] in sys.stdlib_module_names:
            continue
        for one in vars(base).values():
            function = getattr(one, "__func__", getattr(one, "fget", one))
            if isinstance(function, FunctionType):
                yield function.__code__


def _place(kind: type) -> str:
    """The file in which a class is written."""
    file = next((code.co_filename for code in _functions(kind)), "")
    if not file:
        return ""
    try:
        return str(File(file).resolve().relative_to(File.cwd()))
    except (ValueError, OSError):
        return file


def _where(kind: type) -> str:
    place = _place(kind)
    return f"{place}, class {kind.__qualname__}" if place else f"class {kind.__qualname__}"


# Of each class as it was when it was first seen: its file, or its notebook's cell, may be written anew.
_SEEN: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def _sha256(kind: type) -> str:
    if kind not in _SEEN:
        _SEEN[kind] = hashlib.sha256(_source(kind).encode()).hexdigest()
    return _SEEN[kind]


def _source(kind: type) -> str:
    """All text from which a class and its bases are made: their files or notebook cells; where there is none, as after
    ``exec``, the code. What they import is not in it."""
    codes = list(_functions(kind))
    texts = ["".join(linecache.getlines(file)) for file in dict.fromkeys(code.co_filename for code in codes)]
    return "\n".join(filter(None, texts)) or "\n".join(_fingerprint(code) for code in codes)


def _fingerprint(code: CodeType) -> str:
    inner = (_fingerprint(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts)
    return "\n".join([code.co_code.hex(), *code.co_names, *code.co_varnames, *inner])


def __dir__() -> list[str]:
    return __all__
