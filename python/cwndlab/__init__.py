"""A laboratory for TCP congestion control: scenario, run, records, metrics, report.

``cwndlab.NAME`` is the function or class of `__all__`, else the public module of that name. A function hides the module
that defines it: ``cwndlab.run`` is always the function, also after ``import cwndlab.run``. Modules and functions are
imported on first use, so that a program that only simulates does not load the plotting libraries.
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from cwndlab import (  # noqa: F401 (part of the interface, through __getattr__)
        emulation,
        errors,
        exports,
        kernel,
        live,
        losses,
        media,
        metrics,
        own,
        plots,
        presets,
        queues,
        routers,
        scenario,
        stacks,
        statistics,
        sweeps,
        traces,
        tuning,
        workloads,
    )
    from cwndlab.algorithms import Algorithm, algorithms, explain
    from cwndlab.bench import bench
    from cwndlab.compare import compare
    from cwndlab.comparison import Comparison
    from cwndlab.conformance import check
    from cwndlab.errors import Error, Fault, RecordsError, RunError, ScenarioError
    from cwndlab.losses import Bernoulli, GilbertElliott, LossList
    from cwndlab.queues import DropTail
    from cwndlab.records import Records
    from cwndlab.report import figures, report
    from cwndlab.reproduce import reproduce
    from cwndlab.run import run, run_many, version
    from cwndlab.scenario import (
        Access,
        Control,
        Dumbbell,
        Flow,
        Jitter,
        Link,
        Node,
        ParkingLot,
        Scenario,
    )
    from cwndlab.validate import validate
    from cwndlab.workloads import Bulk, OnOff, Transfers

__all__ = [
    "Access",
    "Algorithm",
    "Bernoulli",
    "Bulk",
    "Comparison",
    "Control",
    "DropTail",
    "Dumbbell",
    "Error",
    "Fault",
    "Flow",
    "GilbertElliott",
    "Jitter",
    "Link",
    "LossList",
    "Node",
    "OnOff",
    "ParkingLot",
    "Records",
    "RecordsError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Transfers",
    "algorithms",
    "bench",
    "check",
    "compare",
    "explain",
    "figures",
    "metrics",
    "plots",
    "presets",
    "report",
    "reproduce",
    "run",
    "run_many",
    "statistics",
    "validate",
    "version",
]

# The module that defines each name.
_HOMES = {
    "algorithms": ("Algorithm", "algorithms", "explain"),
    "bench": ("bench",),
    "compare": ("compare",),
    "comparison": ("Comparison",),
    "conformance": ("check",),
    "errors": ("Error", "Fault", "RecordsError", "RunError", "ScenarioError"),
    "losses": ("Bernoulli", "GilbertElliott", "LossList"),
    "queues": ("DropTail",),
    "records": ("Records",),
    "report": ("figures", "report"),
    "reproduce": ("reproduce",),
    "run": ("run", "run_many", "version"),
    "scenario": (
        "Access",
        "Control",
        "Dumbbell",
        "Flow",
        "Jitter",
        "Link",
        "Node",
        "ParkingLot",
        "Scenario",
    ),
    "validate": ("validate",),
    "workloads": ("Bulk", "OnOff", "Transfers"),
}
#: The public modules. ``docs/python.md`` lists them.
_MODULES = (
    "emulation",
    "errors",
    "exports",
    "kernel",
    "live",
    "losses",
    "media",
    "metrics",
    "own",
    "plots",
    "presets",
    "queues",
    "routers",
    "scenario",
    "stacks",
    "statistics",
    "sweeps",
    "traces",
    "tuning",
    "workloads",
)
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _import_module(f"cwndlab.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'cwndlab' has no attribute '{name}'")
    value = getattr(_import_module(f"cwndlab.{_HOME[name]}"), name)
    setattr(_sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})


class _Package(_ModuleType):
    """Keeps the functions in place: the import system would replace ``cwndlab.run`` by the module of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, _ModuleType) and name in _HOME:
            value = getattr(value, name)
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
