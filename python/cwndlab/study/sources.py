"""What a function computes, as a text: with it the key of a kept run changes whenever the function does."""

from __future__ import annotations

import inspect
import pickle
import secrets
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from cwndlab.custom import fingerprint

__all__ = ["source"]


def source(function: Any) -> str:
    """A text on a callable that changes with whatever can change its results: its source, or its module's file, its
    defaults, the variables that it closes over, and the global ones that it uses.

    Of this package, of other installed ones and of the standard library it is the file alone. A value that cannot be
    described, such as an open file, has another text each time: a run is then repeated rather than taken for an equal
    one.

    Examples
    --------
    >>> def times(factor):
    ...     return lambda value: factor * value
    >>> source(times(2)) == source(times(2)) != source(times(3))
    True
    """
    return _Description().of(function)


class _Description:
    """Describes values; one that is met again, such as a function that calls itself, is only counted."""

    def __init__(self) -> None:
        # The values stay alive, so that no other one gets their identity.
        self._seen: dict[int, tuple[int, Any]] = {}

    def of(self, value: Any) -> str:
        """The text of a value that a function uses, or of the function itself."""
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            return repr(value)
        if id(value) in self._seen:
            return f"#{self._seen[id(value)][0]}"
        self._seen[id(value)] = (len(self._seen), value)
        match value:
            case list() | tuple():
                return f"[{', '.join(map(self.of, value))}]"
            case set() | frozenset():
                return f"{{{', '.join(map(self.of, sorted(value, key=repr)))}}}"
            case dict():
                return f"{{{', '.join(f'{self.of(key)}: {self.of(one)}' for key, one in value.items())}}}"
            case partial():
                return f"partial {self.of([value.func, value.args, value.keywords])}"
            case MethodType():
                return f"{self.of(value.__func__)} of {self.of(value.__self__)}"
            case FunctionType():
                return self._function(value)
            case type():
                return self._class(value)
            case ModuleType():
                return f"{value.__name__} {_file(value)}"
            case BuiltinFunctionType():
                return f"{value.__module__}.{value.__qualname__}"
        return self._object(value)

    def _function(self, function: FunctionType) -> str:
        """A function with all that it uses."""
        known = function.__globals__
        text = _file(_module(function)) or _text(function)
        given = [function.__defaults__, function.__kwdefaults__, dict(_closed_over(function))]
        if not _is_installed(function):
            used = {name: known[name] for name in _names(function.__code__) if name in known}
            given += [used, vars(function)]
        return f"{function.__module__}.{function.__qualname__} {text} {self.of(given)}"

    def _class(self, kind: type) -> str:
        """A class: its module's file, and what its functions use."""
        name = f"{kind.__module__}.{kind.__qualname__} {_file(_module(kind))}"
        if _is_installed(kind):
            return name
        members = {
            key: [one.fget, one.fset] if isinstance(one, property) else getattr(one, "__func__", one)
            for key, one in vars(kind).items()
            if isinstance(one, FunctionType) or not key.startswith("__")
        }
        return f"{name} {self.of([kind.__bases__, members])}"

    def _object(self, value: Any) -> str:
        """Any other value: its class, and its state or what it wraps."""
        kind = self.of(type(value))
        state = getattr(value, "__dict__", None)
        if "__wrapped__" in (state or ()) or (state and not _is_installed(type(value))):
            return f"{kind} {self.of(state)}"
        try:
            return f"{kind} {sha256(pickle.dumps(value)).hexdigest()}"
        except Exception:  # pickle raises whatever a class does
            return f"{kind} {secrets.token_hex(16)}"


def _closed_over(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables of enclosing functions."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            yield name, None


def _names(code: CodeType) -> list[str]:
    """The global names that a code and the codes within it may use; some are names of attributes."""
    inner = (name for one in code.co_consts if isinstance(one, CodeType) for name in _names(one))
    return sorted({*code.co_names, *inner})


def _text(function: FunctionType) -> str:
    """The source of a function, or its code where there is none, as from standard input."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return fingerprint(function.__code__)


def _module(thing: FunctionType | type) -> ModuleType | None:
    """The module of a function or class; ``None`` for the program itself."""
    module = sys.modules.get(thing.__module__ or "")
    return None if module is None or module.__name__ == "__main__" else module


def _file(module: ModuleType | None) -> str:
    """The digest of a module's file; empty without one."""
    place = getattr(module, "__file__", None)
    try:
        return _digest(place, Path(place).stat().st_mtime_ns) if place else ""
    except OSError:
        return ""


@cache
def _digest(place: str, _changed_ns: int) -> str:
    """The digest of a file as it was then: a module may be edited and loaded anew."""
    return sha256(Path(place).read_bytes()).hexdigest()


@cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _is_installed(thing: FunctionType | type) -> bool:
    """Whether a function or class is of this package, of another one, or of Python."""
    name = (thing.__module__ or "").partition(".")[0]
    place = getattr(_module(thing), "__file__", None) or ""
    return name in ("cwndlab", "builtins") or name in sys.stdlib_module_names or place.startswith(_libraries())
