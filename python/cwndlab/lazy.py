"""Attributes of a package that are imported on first use, so that ``import cwndlab`` loads neither engine nor plots."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

__all__ = ["attach"]


def attach(
    package: str, *, modules: Iterable[str], names: Mapping[str, Iterable[str]], public: Iterable[str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package
        The package's name.
    modules
        Its modules that are attributes.
    names
        Other attributes, by the module that defines them, both without the package's name.
    public
        The attributes that ``dir`` lists.
    """
    known = frozenset(modules)
    homes = {name: module for module, some in names.items() for name in some}
    listed = sorted(public)

    def get(name: str) -> object:
        if name in homes:
            value = getattr(import_module(f"{package}.{homes[name]}"), name)
        elif name in known:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        setattr(sys.modules[package], name, value)
        return value

    def names_of() -> list[str]:
        return listed

    return get, names_of
