"""Measurements on real paths: `preflight` examines a path, `serve` and `fetch` are the two ends of a transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy
from cwndlab.engine import fetch, serve

if TYPE_CHECKING:
    from cwndlab.live import campaign as campaign
    from cwndlab.live import folder as folder
    from cwndlab.live import guard as guard
    from cwndlab.live import joined as joined
    from cwndlab.live import offer as offer
    from cwndlab.live import preflight
    from cwndlab.live import results as results
    from cwndlab.live import schedule as schedule
    from cwndlab.live import spec as spec

__all__ = ["fetch", "preflight", "serve"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        modules=("campaign", "folder", "guard", "joined", "offer", "preflight", "results", "schedule", "spec"),
        names={},
        public=__all__,
    )
