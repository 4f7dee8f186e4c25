"""Measurements on real paths: `preflight` examines a path, `serve` and `fetch` are the two ends of a transfer."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from cwndlab.run import fetch, serve

if _TYPE_CHECKING:
    from cwndlab.live import preflight

__all__ = ["fetch", "preflight", "serve"]


def __getattr__(name: str) -> object:
    if name == "preflight":
        return _import_module("cwndlab.live.preflight")
    raise AttributeError(f"module 'cwndlab.live' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
