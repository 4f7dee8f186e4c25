"""Custom algorithms: classes in Python, called per ACK, and files in Rust (`rust_files`).

`CongestionControl` is the protocol that a class follows; `Ack`, `Congestion`, `Path`, `Window` and `Sent` are the types
of its methods' arguments. Amounts are in segments, as papers write them, times in seconds, rates in segments per
second. `MediaControl` is the protocol of a congestion control of real-time media, with bit/s and bytes. `register`
makes a class available under a name in this process. ``docs/add-an-algorithm.md`` has an example.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import linecache
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as File
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from cwndlab.contracts import CongestionControl, MediaControl
from cwndlab.engine import (
    Ack,
    Congestion,
    DeliveryRate,
    MediaFeedback,
    MediaFrame,
    MediaPacket,
    MediaSent,
    MediaSession,
    Path,
    Sent,
    Window,
    aliases,
    canonical_algorithm,
    entries,
)
from cwndlab.errors import ArgumentError, Fault, ScenarioError, collected, parameter_fault, text_of
from cwndlab.rust_files import RustAlgorithm, is_rust
from cwndlab.rust_files import load as rust_algorithm

__all__ = [
    "Ack",
    "Congestion",
    "CongestionControl",
    "DeliveryRate",
    "MediaControl",
    "MediaFeedback",
    "MediaFrame",
    "MediaPacket",
    "MediaSent",
    "MediaSession",
    "Path",
    "Sent",
    "Window",
    "load",
    "name_of",
    "register",
    "unregister",
]


#: A class that follows one of the protocols.
CustomClass: TypeAlias = type[CongestionControl] | type[MediaControl]

_Class = TypeVar("_Class", bound=CustomClass)

Classes: TypeAlias = Mapping[str, CustomClass]
#: A class for the engine: name, class, file, parameters (JSON), whether it has a model of the path, constructor.
Bound: TypeAlias = tuple[str, str, str, str, bool, Callable[..., object]]

_SIGNATURES = {"on_ack": "on_ack(self, ack)", "on_congestion": "on_congestion(self, event)", "cwnd": "cwnd(self)"}
_SIGNATURES_OF_MEDIA = {"on_feedback": "on_feedback(self, feedback)", "target_rate": "target_rate(self)"}
_PAGE = "docs/add-an-algorithm.md shows a complete class"


@dataclass(frozen=True)
class CustomAlgorithm:
    """A class and the name by which flows call it."""

    name: str
    kind: CustomClass

    @cached_property
    def parameters(self) -> dict[str, float | bool]:
        """The constructor's parameters with a finite number, or true or false, as default; others, such as infinite
        thresholds, keep their default."""
        named = list(inspect.signature(self.kind).parameters.values())[1:]
        return {
            one.name: one.default
            for one in named
            if isinstance(one.default, int) or (isinstance(one.default, float) and math.isfinite(one.default))
        }

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The least and the largest value of parameters that declare them, which only those of a Rust file do."""
        return self.kind.ranges if issubclass(self.kind, RustAlgorithm) else {}

    @cached_property
    def described_parameters(self) -> dict[str, Any]:
        """The parameters in the description of the class: a number with a range is a table."""
        ranges = self.ranges
        return {
            name: {"default": default, "low": ranges[name][0], "high": ranges[name][1]} if name in ranges else default
            for name, default in self.parameters.items()
        }

    @property
    def is_rust(self) -> bool:
        """It is the algorithm of a Rust file."""
        return issubclass(self.kind, RustAlgorithm)

    @property
    def is_media(self) -> bool:
        """It is a congestion control of real-time media."""
        return is_media(self.kind)

    @property
    def model_based(self) -> bool:
        """It has a model of the path, as the attribute of the class says."""
        return bool(getattr(self.kind, "model_based", False))

    @cached_property
    def entry(self) -> dict[str, Any]:
        """The description of the class in a scenario."""
        return {
            "class": self.kind.__qualname__,
            **({"kind": "media"} if self.is_media else {"kind": "model"} if self.model_based else {}),
            "file": _place(self.kind),
            "sha256": _sha256(self.kind),
            "parameters": self.described_parameters,
        }

    def make(self, path: Path | MediaSession, **given: Any) -> object:
        """An object for a flow. Whole numbers come as such where the default is one."""
        for name, value in given.items():
            if type(self.parameters[name]) is int and float(value).is_integer():
                given[name] = int(value)
        constructor: type[Any] = self.kind
        return constructor(path, **given)


def is_media(kind: type) -> bool:
    """Whether a class is a congestion control of real-time media: it receives reports, and no acknowledgements."""
    return hasattr(kind, "on_feedback") and not hasattr(kind, "on_ack")


def validate_class(name: str, kind: object) -> CustomAlgorithm:
    """The class under this name, checked; raises ``ScenarioError`` with every fault."""
    if not isinstance(kind, type):
        what = f"{kind!r} is not a class"
        raise ScenarioError(Fault(f"algorithm '{name}'", what, "hand over the class itself, not an object of it"))
    where = _where(kind)
    abstract: frozenset[str] = getattr(kind, "__abstractmethods__", frozenset())
    faults = [
        Fault(where, f"has no method '{method}'", f"write `def {written}:`; {_PAGE}")
        for method, written in (_SIGNATURES_OF_MEDIA if is_media(kind) else _SIGNATURES).items()
        if method in abstract or not callable(getattr(kind, method, None))
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
    first = "session" if is_media(kind) else "path"
    if not parameters or parameters[0].kind not in (*positional, inspect.Parameter.VAR_POSITIONAL):
        hint = f"write `def __init__(self, {first}):`; {_PAGE}"
        yield Fault(where, f"its constructor does not take the {first}", hint)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for one in parameters[1:]:
        if one.default is inspect.Parameter.empty and one.kind not in variadic:
            hint = f"write `{one.name}=1.0`, or whatever it shall be unless a flow says `name({one.name}=…)`"
            yield Fault(where, f"its constructor's parameter '{one.name}' has no default", hint)


def validate_classes(classes: Mapping[str, object] | None) -> dict[str, CustomAlgorithm]:
    """Classes by their names, checked; raises ``ScenarioError`` with every fault."""
    valid: dict[str, CustomAlgorithm] = {}
    faults: list[Fault] = []
    for name, kind in (classes or {}).items():
        with collected(faults):
            valid[name] = validate_class(name, kind)
    if faults:
        raise ScenarioError(*faults)
    return valid


# The registered classes by name. Changed by `register` and `unregister` only, in one step each.
_REGISTERED: dict[str, CustomAlgorithm] = {}


def register(algorithm: _Class, name: str | None = None) -> _Class:
    """Makes a class available as an algorithm of this process, under its name, wherever a built-in one can be used.

    Processes of a cluster do not have it. Usable as a decorator.

    Parameters
    ----------
    algorithm
        A class that follows `CongestionControl`.
    name
        The name for flows: lower-case letters, digits and ``-``; by default the one of `name_of`.

    Returns
    -------
    type
        The class itself.

    Raises
    ------
    ScenarioError
        If the class does not follow the protocol, or if the name is registered already or is that of a
        built-in algorithm.

    Examples
    --------
    >>> import cwndlab
    >>> @cwndlab.register
    ... class FixedWindow:
    ...     def __init__(self, path, segments=8): self.segments = segments
    ...     def on_ack(self, ack): ...
    ...     def on_congestion(self, event): ...
    ...     def cwnd(self): return self.segments
    >>> "fixed-window" in [entry.name for entry in cwndlab.algorithms()]
    True
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> flows = [cwndlab.Flow("fixed-window(segments=4)", rtt="40 ms")]
    >>> cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=flows), seed=1).flows["name"].to_list()
    ['flow0']
    >>> cwndlab.custom.unregister("fixed-window")
    """
    if name is None:
        name = name_of(algorithm) if isinstance(algorithm, type) else "algorithm"
    valid = validate_class(name, algorithm)
    _sha256(valid.kind)
    other = _REGISTERED.setdefault(name, valid)
    if other is not valid:
        what = f"'{name}' is registered already ({_where(other.kind)})"
        hint = f"give another name, or remove it by cwndlab.custom.unregister('{name}')"
        raise ScenarioError(Fault(_where(valid.kind), what, hint))
    return algorithm


def unregister(name: str) -> None:
    """Removes a class that `register` made available; raises ``ArgumentError`` if none has this name.

    Examples
    --------
    >>> unregister("mine")
    Traceback (most recent call last):
    cwndlab.errors.ArgumentError: name: no class is registered as 'mine'
      hint: none is registered
    """
    if _REGISTERED.pop(name, None) is None:
        hint = f"registered: {', '.join(_REGISTERED)}" if _REGISTERED else "none is registered"
        raise ArgumentError(parameter_fault("name", f"no class is registered as '{name}'", hint=hint))


def registered() -> dict[str, CustomAlgorithm]:
    """The registered classes by name."""
    return dict(_REGISTERED)


def registered_in(document: Mapping[str, Any]) -> dict[str, CustomClass]:
    """The registered classes that the flows of a scenario (plain values) name and that it does not give to others."""
    given = document.get("flow")
    flows = [flow for flow in given if isinstance(flow, Mapping)] if isinstance(given, list) else []
    workloads = [flow.get("workload") for flow in flows]
    texts = [flow.get("algorithm") for flow in flows]
    texts += [workload.get("control") for workload in workloads if isinstance(workload, Mapping)]
    names = {base_name(text) for text in texts if isinstance(text, str)}
    return {name: one.kind for name, one in undescribed(document).items() if name in names}


def undescribed(document: Mapping[str, Any]) -> dict[str, CustomAlgorithm]:
    """The registered classes whose names a scenario (plain values) does not give to another class: a description with
    the checksum of the registered class is that class."""
    described = document.get("algorithms")
    descriptions = described if isinstance(described, Mapping) else {}
    return {
        name: one
        for name, one in registered().items()
        if name not in descriptions
        or (isinstance(descriptions[name], Mapping) and descriptions[name].get("sha256") == one.entry["sha256"])
    }


def base_name(text: str) -> str:
    """The name at the beginning of an algorithm's text, without parameters and recovery.

    >>> base_name("mine(gain=2)/sack")
    'mine'
    """
    return text.partition("(")[0].partition("/")[0].partition("+")[0].strip()


def name_of(kind: type) -> str:
    """The name by which flows call a class that was given no other: ``DelayAimd`` is ``delay-aimd``.

    >>> [name_of(type(name, (), {})) for name in ("Mine", "DelayAIMD", "my_reno2")]
    ['mine', 'delay-aimd', 'my-reno2']
    """
    return name_by(kind.__name__)


def name_by(class_name: str) -> str:
    """The name that `name_of` gives a class with this name of its own."""
    words = re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", class_name)
    return words.replace("_", "-").lower().strip("-")


def merged(sources: Iterable[Classes]) -> dict[str, type]:
    """The union of classes by name; raises ``ScenarioError`` if two have one name."""
    union: dict[str, type] = {}
    for classes in sources:
        for name, kind in classes.items():
            if union.setdefault(name, kind) is not kind:
                what = f"'{name}' is the name of another class, too ({_where(union[name])})"
                raise ScenarioError(Fault(_where(kind), what, "give one of them another name"))
    return union


def selected(texts: Iterable[str], files: Iterable[str | File] = ()) -> tuple[list[str], dict[str, type]]:
    """The algorithms that texts name, of which a file stands for all of its classes, and all classes.

    This is the syntax of every command that takes algorithms: ``cubic,mine.py``, beside files whose classes the texts
    name.

    Parameters
    ----------
    texts
        Algorithms, as a flow names them, and files.
    files
        Files whose classes the texts may name.

    Raises
    ------
    ScenarioError
        With the faults of all files.

    Examples
    --------
    >>> selected(["cubic", "reno(a=2)"])
    (['cubic', 'reno(a=2)'], {})
    """
    texts = list(texts)
    loaded: dict[File, Classes] = {}
    faults: list[Fault] = []
    for file in map(File, [*files, *filter(is_file, texts)]):
        if file.resolve() not in loaded:
            with collected(faults):
                loaded[file.resolve()] = load(file)
    if faults:
        raise ScenarioError(*faults)
    names = [name for text in texts for name in (loaded[File(text).resolve()] if is_file(text) else [text])]
    return names, merged(loaded.values())


def selected_one(text: str, files: Iterable[str | File] = ()) -> tuple[str, dict[str, type]]:
    """The algorithm that a text names, of which a file stands for its only class, and all classes.

    Raises
    ------
    ScenarioError
        Also where the file has several classes.
    """
    names, classes = selected([text], files)
    if len(names) != 1:
        hint = "name one of them, and the file by --algorithm-file"
        raise ScenarioError(Fault(text, f"has {len(names)} algorithms: {', '.join(names)}", hint))
    return names[0], classes


def is_file(text: str) -> bool:
    """Whether a text is a file of classes: that of an algorithm begins with a letter and has no dot outside of its
    parameters.

    >>> is_file("mine.py"), is_file("../mine"), is_file("cubic(beta=0.5)")
    (True, True, False)
    """
    return text.startswith(("/", ".", "~")) or "." in text.partition("(")[0]


def described(algorithms: Mapping[str, CustomAlgorithm], scenario: str | None = None) -> str | None:
    """A document for the engine that describes these classes, JSON: ``scenario`` with those that it does not describe,
    or one of the descriptions alone; ``None`` where there is neither."""
    if not algorithms:
        return scenario
    document: dict[str, Any] = json.loads(scenario) if scenario is not None else {"schema_version": 1}
    entries = {name: algorithm.entry for name, algorithm in algorithms.items()}
    return json.dumps({**document, "algorithms": {**entries, **document.get("algorithms", {})}})


def classes_named(
    algorithms: Iterable[str | CustomClass], classes: Classes | None = None
) -> dict[str, CustomAlgorithm]:
    """The classes that algorithms are or name, by name: among themselves, ``classes`` and the registered ones."""
    algorithms = list(algorithms)
    given = merged([by_name(one for one in algorithms if isinstance(one, type)), classes or {}])
    known = {**registered(), **validate_classes(given)}
    names = {base_name(one) if isinstance(one, str) else name_of(one) for one in algorithms}
    named = {name: one for name, one in known.items() if name in names}
    if media := [name for name, one in named.items() if one.is_media]:
        hint = f'write `workload = {{ kind = "adaptive-video", control = "{media[0]}" }}` for a flow over UDP'
        raise ScenarioError(Fault(media[0], "is a congestion control of media, and not of connections", hint))
    return named


def bound(algorithms: Mapping[str, CustomAlgorithm]) -> list[Bound]:
    """The classes for an engine that creates their objects."""
    return [
        (name, one.entry["class"], one.entry["file"], json.dumps(one.described_parameters), one.model_based, one.make)
        for name, one in algorithms.items()
    ]


def served(classes: Classes | None) -> list[Bound]:
    """The classes for a server of streams (`bound`); it is a fault if one has a name of the catalogue."""
    custom = classes_named([name for name, kind in (classes or {}).items() if not is_media(kind)], classes)
    for name in custom:
        canonical_algorithm(name, described(custom))
    return bound(custom)


def by_name(kinds: Iterable[type]) -> dict[str, type]:
    """Classes by the names of `name_of`."""
    return merged({name_of(kind): kind} for kind in kinds)


def load(file: str | File) -> dict[str, type]:
    """The algorithms that a Python file holds, by name: its classes that have a method ``on_ack``, or ``on_feedback``
    for media; or that of a file in Rust, which is compiled.

    A Python file is run as a module, as ``import`` does. Classes whose names begin with ``_`` are left out.

    Parameters
    ----------
    file
        A Python file, or one in Rust whose name ends with ``.rs``.

    Raises
    ------
    ScenarioError
        If the file cannot be imported or holds no such class.

    Examples
    --------
    >>> load("missing.py")
    Traceback (most recent call last):
    cwndlab.errors.ScenarioError: missing.py: there is no such file
      hint: name a Python file with a class in it, or a Rust file with an algorithm
    """
    file = File(file)
    if is_rust(file):
        classes = rust_algorithm(file)
        validate_classes(classes)
        return classes
    text = text_of(file, "name a Python file with a class in it, or a Rust file with an algorithm")
    module = ModuleType(f"cwndlab_custom_{hashlib.sha256(text.encode()).hexdigest()[:16]}_{file.stem}")
    module.__file__ = str(file)
    # Tracebacks and hashes are of what was run, even if the file changes meanwhile.
    linecache.cache[str(file)] = (len(text), None, text.splitlines(keepends=True), str(file))
    sys.modules[module.__name__] = module
    try:
        with importable(file.resolve().parent):
            exec(compile(text, str(file), "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        what = f"cannot be imported: {type(error).__name__}: {error}".rstrip(": ")
        raise ScenarioError(Fault(line_of(file, error), what, f"`python {file}` shows details")) from error
    mine = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    has_one = [one for one in mine if hasattr(one, "on_ack") or hasattr(one, "on_feedback")]
    classes = by_name(one for one in has_one if not one.__name__.startswith("_"))
    if not classes:
        raise ScenarioError(Fault(str(file), "holds no class with a method 'on_ack' or 'on_feedback'", _PAGE))
    for one in validate_classes(classes).values():
        _sha256(one.kind)
    return classes


@contextmanager
def importable(folder: File) -> Iterator[None]:
    """A file that runs finds the modules of the folder, as by `python`."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the file may have taken it out
            sys.path.remove(str(folder))


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
    """The code of a class's methods and of its bases; the standard library and the protocol are left out."""
    for base in kind.__mro__:
        if base is CongestionControl or base.__module__.partition(".")[0] in sys.stdlib_module_names:
            continue
        for one in vars(base).values():
            function = getattr(one, "__func__", getattr(one, "fget", one))
            if isinstance(function, FunctionType):
                yield function.__code__


def _place(kind: type) -> str:
    """The file in which a class is written."""
    if issubclass(kind, RustAlgorithm):
        file = kind.source_file
    else:
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
    if issubclass(kind, RustAlgorithm):
        return kind.source_sha256
    if kind not in _SEEN:
        _SEEN[kind] = hashlib.sha256(_source(kind).encode()).hexdigest()
    return _SEEN[kind]


def _source(kind: type) -> str:
    """All text from which a class and its bases are made: their files or notebook cells; where there is none, as after
    ``exec``, the code. What they import is not in it."""
    codes = list(_functions(kind))
    texts = ["".join(linecache.getlines(file)) for file in dict.fromkeys(code.co_filename for code in codes)]
    return "\n".join(filter(None, texts)) or "\n".join(fingerprint(code) for code in codes)


def fingerprint(code: CodeType) -> str:
    """A text of a function's code and the functions within it, where there is no source."""
    return "\n".join([code.co_code.hex(), *code.co_names, *code.co_varnames, *map(_constant, code.co_consts)])


def _constant(one: object) -> str:
    """The text of a constant, the same in every process: the order of a set depends on the seed of its hashes."""
    if isinstance(one, CodeType):
        return fingerprint(one)
    if isinstance(one, frozenset):
        return f"frozenset({{{', '.join(sorted(map(_constant, one)))}}})"
    if isinstance(one, tuple):
        return f"({', '.join(map(_constant, one))}{',' if len(one) == 1 else ''})"
    return repr(one)


def __dir__() -> list[str]:
    return __all__
