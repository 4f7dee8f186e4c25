"""Reports: self-contained HTML pages, and their figures as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.reports import audit as audit
    from cwndlab.reports import comparison as comparison

__all__: list[str] = []

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(__name__, {}, public=__all__)
