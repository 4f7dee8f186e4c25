"""Imports of libraries that an extra of the package installs, such as ``cwndlab[tune]``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cwndlab.errors import Fault, RunError

__all__ = ["extra"]


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
