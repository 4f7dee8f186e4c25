"""Suites of test cases: is an implementation of an algorithm, or the transport under it, what its source says?

A suite is a list of cases from one source: a draft's own test cases, or the statements of an RFC. A case is a scenario
on one or more paths, and statements on its run, each with section and line of the source. `packetdrill` runs scripts of
others against the transport. ``docs/suites.md`` describes the suites and the named values that they compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.suites import packetdrill
    from cwndlab.suites.case import Case, Outcome, Verdict
    from cwndlab.suites.listing import SUITES, Suite
    from cwndlab.suites.paths import Path
    from cwndlab.suites.result import SuiteResult
    from cwndlab.suites.runner import run, suite
    from cwndlab.suites.statements import Statement

__all__ = [
    "SUITES",
    "Case",
    "Outcome",
    "Path",
    "Statement",
    "Suite",
    "SuiteResult",
    "Verdict",
    "packetdrill",
    "run",
    "suite",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {
            "case": ("Case", "Outcome", "Verdict"),
            "listing": ("SUITES", "Suite"),
            "paths": ("Path",),
            "result": ("SuiteResult",),
            "runner": ("run", "suite"),
            "statements": ("Statement",),
        },
        public=__all__,
    )
