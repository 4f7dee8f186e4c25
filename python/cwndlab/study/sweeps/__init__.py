"""Sweeps: scenarios × algorithms × seeds, resumable, on threads or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.study.sweeps import cluster as cluster
    from cwndlab.study.sweeps import estimate as estimate
    from cwndlab.study.sweeps import execution as execution
    from cwndlab.study.sweeps import results as results
    from cwndlab.study.sweeps import spec as spec
    from cwndlab.study.sweeps import store as store
    from cwndlab.study.sweeps import tables as tables
    from cwndlab.study.sweeps import tasks as tasks
    from cwndlab.study.sweeps.execution import Outcome, sweep
    from cwndlab.study.sweeps.results import cells, load, note, scenario
    from cwndlab.study.sweeps.spec import Sweep, read

__all__ = ["Outcome", "Sweep", "cells", "load", "note", "read", "scenario", "sweep"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        modules=("cluster", "estimate", "execution", "results", "spec", "store", "tables", "tasks"),
        names={
            "execution": ("Outcome", "sweep"),
            "results": ("cells", "load", "note", "scenario"),
            "spec": ("Sweep", "read"),
        },
        public=__all__,
    )
