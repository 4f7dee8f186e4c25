"""Validation: audits of logs, conformance of algorithms, references of peers, kernels, and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.validation import (
        audit,
        conformance,
        debugger,
        identify,
        kernel,
        linux,
        peers,
        references,
        replay,
        report_schedule,
    )

__all__ = [
    "audit",
    "conformance",
    "debugger",
    "identify",
    "kernel",
    "linux",
    "peers",
    "references",
    "replay",
    "report_schedule",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(__name__, {}, public=__all__)
