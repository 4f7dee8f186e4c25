"""Suites: statements of standards and scripts of others, held against an algorithm or the transport."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.suites import packetdrill

__all__ = ["packetdrill"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        modules=("packetdrill",),
        names={},
        public=__all__,
    )
