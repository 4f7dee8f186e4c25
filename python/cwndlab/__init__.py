"""A laboratory for TCP congestion control: scenario, run, records, metrics, report.

Nothing is imported before it is used, so that a program that only simulates does not wait for what draws.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cwndlab import metrics, plots, presets, statistics
    from cwndlab.algorithms import Algorithm, algorithms, explain
    from cwndlab.bench import bench
    from cwndlab.compare import compare
    from cwndlab.comparison import Comparison
    from cwndlab.conformance import check
    from cwndlab.errors import Error, Fault, RecordsError, RunError, ScenarioError
    from cwndlab.queues import DropTail, StepEcn
    from cwndlab.records import Records
    from cwndlab.report import report
    from cwndlab.reproduce import reproduce
    from cwndlab.run import run, run_many, version
    from cwndlab.scenario import (
        Access,
        Bernoulli,
        Control,
        Dumbbell,
        Flow,
        GilbertElliott,
        Jitter,
        Link,
        LossList,
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
    "StepEcn",
    "Transfers",
    "algorithms",
    "bench",
    "check",
    "compare",
    "explain",
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

# Where each name lives.
_HOMES = {
    "algorithms": ("Algorithm", "algorithms", "explain"),
    "bench": ("bench",),
    "compare": ("compare",),
    "comparison": ("Comparison",),
    "conformance": ("check",),
    "errors": ("Error", "Fault", "RecordsError", "RunError", "ScenarioError"),
    "queues": ("DropTail", "StepEcn"),
    "records": ("Records",),
    "report": ("report",),
    "reproduce": ("reproduce",),
    "run": ("run", "run_many", "version"),
    "scenario": (
        "Access",
        "Bernoulli",
        "Control",
        "Dumbbell",
        "Flow",
        "GilbertElliott",
        "Jitter",
        "Link",
        "LossList",
        "Node",
        "ParkingLot",
        "Scenario",
    ),
    "validate": ("validate",),
    "workloads": ("Bulk", "OnOff", "Transfers"),
}
_MODULES = ("metrics", "plots", "presets", "statistics", "workloads")
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"cwndlab.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'cwndlab' has no attribute '{name}'")
    value = getattr(import_module(f"cwndlab.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps ``cwndlab.run`` the verb: to import the module of that name would put the module in its place."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in _HOME:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
