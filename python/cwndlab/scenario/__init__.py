"""Scenarios: the classes of all their tables, and the modules that hold them.

`queues`, `losses`, `media`, `cells`, `routers` and `workloads` hold one family of classes each, `presets` the bundled
scenarios, `traces` the traces of links, `stacks` the profiles of hosts.
"""

from cwndlab.scenario import cells, losses, media, presets, queues, routers, stacks, traces, workloads
from cwndlab.scenario.document import NamedValues, Scenario
from cwndlab.scenario.flows import Control, Flow, MediaStream, Service, WriteStep
from cwndlab.scenario.like import ScenarioLike
from cwndlab.scenario.links import DelayTrace, Harq, Jitter, Link, Police, Reconfiguration, Step, TokenBucket, Trace
from cwndlab.scenario.media import Propagation, Received
from cwndlab.scenario.topology import Access, Dumbbell, Node, ParkingLot

__all__ = [
    "Access",
    "Control",
    "DelayTrace",
    "Dumbbell",
    "Flow",
    "Harq",
    "Jitter",
    "Link",
    "MediaStream",
    "NamedValues",
    "Node",
    "ParkingLot",
    "Police",
    "Propagation",
    "Received",
    "Reconfiguration",
    "Scenario",
    "ScenarioLike",
    "Service",
    "Step",
    "TokenBucket",
    "Trace",
    "WriteStep",
    "cells",
    "losses",
    "media",
    "presets",
    "queues",
    "routers",
    "stacks",
    "traces",
    "workloads",
]


def __dir__() -> list[str]:
    return __all__
