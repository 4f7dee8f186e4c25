"""Imports on first use: attributes of a package, so that ``import cwndlab`` loads neither engine nor plots; libraries
that an extra installs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

from cwndlab.errors import Fault, RunError

__all__ = ["attach", "extra"]


def attach(
    package: str, names: Mapping[str, Iterable[str]], *, public: Iterable[str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package
        The package's name.
    names
        Attributes other than its modules, by the module that defines them, both without the package's name.
    public
        The attributes that ``dir`` lists.
    """
    homes = {name: module for module, some in names.items() for name in some}
    listed = sorted(public)

    def get(name: str) -> object:
        if name in homes:
            value = getattr(import_module(f"{package}.{homes[name]}"), name)
        elif not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        setattr(sys.modules[package], name, value)
        return value

    def names_of() -> list[str]:
        return listed

    return get, names_of


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Names the extra to install where an import in the block fails.

    Parameters
    ----------
    name
        The extra, as in ``cwndlab[name]``.

    Raises
    ------
    RunError
        A module is not installed.

    Examples
    --------
    >>> with extra("tune"):
    ...     import no_such_library
    Traceback (most recent call last):
    cwndlab.errors.RunError: no_such_library: is not installed
      hint: pip install 'cwndlab[tune]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        where = (error.name or "").partition(".")[0]
        raise RunError(Fault(where, "is not installed", f"pip install 'cwndlab[{name}]'")) from None
