"""Sweeps: scenarios × algorithms × seeds, resumable, on threads or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.study.sweeps import estimate as estimate
    from cwndlab.study.sweeps import files as files
    from cwndlab.study.sweeps import run as run
    from cwndlab.study.sweeps import spec as spec
    from cwndlab.study.sweeps.files import read
    from cwndlab.study.sweeps.run import sweep
    from cwndlab.study.sweeps.spec import Sweep

__all__ = ["Sweep", "read", "sweep"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {"run": ("sweep",), "files": ("read",), "spec": ("Sweep",)},
        public=__all__,
    )
