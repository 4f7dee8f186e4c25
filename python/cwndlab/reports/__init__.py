"""Reports: self-contained HTML pages, and their figures as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.reports import audit as audit
    from cwndlab.reports import comparison as comparison
    from cwndlab.reports import measurement as measurement
    from cwndlab.reports import page as page
    from cwndlab.reports import run as run
    from cwndlab.reports import runs as runs
    from cwndlab.reports import sections as sections
    from cwndlab.reports import sweep as sweep
    from cwndlab.reports import tables as tables

__all__: list[str] = []

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {},
        public=__all__,
    )
