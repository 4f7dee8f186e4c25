"""Validation: conformance of algorithms, references of peers, the kernel, and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.validation import conformance, debugger, kernel, peers, references, replay

__all__ = ["conformance", "debugger", "kernel", "peers", "references", "replay"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        modules=("conformance", "debugger", "kernel", "peers", "references", "replay"),
        names={},
        public=__all__,
    )
