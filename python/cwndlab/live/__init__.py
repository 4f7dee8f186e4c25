"""Measurements on real paths: `preflight` examines a path, `serve` and `fetch` are the two ends of a transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy
from cwndlab.engine import fetch, serve

if TYPE_CHECKING:
    from cwndlab.live import access as access
    from cwndlab.live import behind as behind
    from cwndlab.live import campaign as campaign
    from cwndlab.live import foreign as foreign
    from cwndlab.live import preflight
    from cwndlab.live import results as results
    from cwndlab.live import schedule as schedule
    from cwndlab.live import server as server
    from cwndlab.live import server_info as server_info
    from cwndlab.live import spec as spec
    from cwndlab.live import windows as windows

__all__ = ["fetch", "preflight", "serve"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(__name__, {}, public=__all__)
