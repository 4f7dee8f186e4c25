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
    from cwndlab.reports import writer as writer
    from cwndlab.reports.writer import figures, load, report

__all__ = ["figures", "load", "report"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        modules=("audit", "comparison", "measurement", "page", "run", "runs", "sections", "sweep", "tables", "writer"),
        names={"writer": ("figures", "load", "report")},
        public=__all__,
    )
