"""A laboratory for TCP congestion control: scenario, run, records, metrics, report.

Every public name is an attribute of the package or of its public modules. Both are imported on first use, so that a
program that only simulates does not load the plotting libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab import assessment as assessment
    from cwndlab import catalogue as catalogue
    from cwndlab import custom as custom
    from cwndlab import emulation as emulation
    from cwndlab import energy as energy
    from cwndlab import engine as engine
    from cwndlab import errors as errors
    from cwndlab import export as export
    from cwndlab import files as files
    from cwndlab import gym as gym
    from cwndlab import kernel as kernel
    from cwndlab import linux as linux
    from cwndlab import live as live
    from cwndlab import metrics as metrics
    from cwndlab import plot as plot
    from cwndlab import records as records
    from cwndlab import reports as reports
    from cwndlab import reproduction as reproduction
    from cwndlab import saved as saved
    from cwndlab import scenario as scenario
    from cwndlab import service as service
    from cwndlab import simulate as simulate
    from cwndlab import statistics as statistics
    from cwndlab import study as study
    from cwndlab import suites as suites
    from cwndlab import validation as validation
    from cwndlab.assessment import assess
    from cwndlab.catalogue import Algorithm, algorithms, explain
    from cwndlab.custom import CongestionControl, register
    from cwndlab.engine import __version__ as __version__
    from cwndlab.engine import version
    from cwndlab.errors import ArgumentError, Error, Fault, RecordsError, RunError, ScenarioError
    from cwndlab.records import Records
    from cwndlab.reproduction import reproduce
    from cwndlab.saved import figures, load, report
    from cwndlab.scenario import Access, Control, Dumbbell, Flow, Jitter, Link, Node, ParkingLot, Scenario, presets
    from cwndlab.scenario.losses import Bernoulli, GilbertElliott, LossList
    from cwndlab.scenario.media import Wlan
    from cwndlab.scenario.queues import Codel, DropTail, DualPi2, FqCodel, Pie, Red
    from cwndlab.scenario.workloads import Bulk, OnOff, Transfers
    from cwndlab.simulate import run, run_many
    from cwndlab.study.benchmark import bench
    from cwndlab.study.compare import compare
    from cwndlab.study.result import Result
    from cwndlab.study.sweeps import Sweep, sweep
    from cwndlab.validation.conformance import check
    from cwndlab.validation.identify import identify
    from cwndlab.validation.peers import validate

__all__ = [
    "Access",
    "Algorithm",
    "ArgumentError",
    "Bernoulli",
    "Bulk",
    "Codel",
    "CongestionControl",
    "Control",
    "DropTail",
    "DualPi2",
    "Dumbbell",
    "Error",
    "Fault",
    "Flow",
    "FqCodel",
    "GilbertElliott",
    "Jitter",
    "Link",
    "LossList",
    "Node",
    "OnOff",
    "ParkingLot",
    "Pie",
    "Records",
    "RecordsError",
    "Red",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Transfers",
    "Wlan",
    "algorithms",
    "assess",
    "bench",
    "check",
    "compare",
    "explain",
    "figures",
    "identify",
    "load",
    "metrics",
    "plot",
    "presets",
    "register",
    "report",
    "reproduce",
    "run",
    "run_many",
    "statistics",
    "sweep",
    "validate",
    "version",
]

#: The public modules. ``docs/python.md`` lists them.
_PUBLIC = (
    "assessment",
    "custom",
    "emulation",
    "energy",
    "errors",
    "export",
    "gym",
    "kernel",
    "linux",
    "live",
    "metrics",
    "plot",
    "scenario",
    "service",
    "statistics",
    "study",
    "suites",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {
            "assessment": ("assess",),
            "catalogue": ("Algorithm", "algorithms", "explain"),
            "custom": ("CongestionControl", "register"),
            "engine": ("__version__", "version"),
            "errors": ("ArgumentError", "Error", "Fault", "RecordsError", "RunError", "ScenarioError"),
            "records": ("Records",),
            "reproduction": ("reproduce",),
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
                "presets",
            ),
            "saved": ("figures", "load", "report"),
            "scenario.losses": ("Bernoulli", "GilbertElliott", "LossList"),
            "scenario.media": ("Wlan",),
            "scenario.queues": ("Codel", "DropTail", "DualPi2", "FqCodel", "Pie", "Red"),
            "scenario.workloads": ("Bulk", "OnOff", "Transfers"),
            "simulate": ("run", "run_many"),
            "study.benchmark": ("bench",),
            "study.compare": ("compare",),
            "study.result": ("Result",),
            "study.sweeps": ("Sweep", "sweep"),
            "validation.conformance": ("check",),
            "validation.identify": ("identify",),
            "validation.peers": ("validate",),
        },
        public={*__all__, *_PUBLIC},
    )
