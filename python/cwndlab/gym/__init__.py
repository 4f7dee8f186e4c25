"""Simulations that stop at each decision of a flow, and environments for learning to make it.

`Simulation` steps any scenario. `CongestionEnv` and `CongestionVectorEnv` are environments of gymnasium, registered as
``cwndlab/Link-v0``, ``Competition-v0``, ``Trace-v0`` and ``Cellular-v0`` when this module is imported; they need the
extra ``learn``. `Policy` is a trained network that runs as an algorithm. ``docs/gym.md`` shows all of it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.gym import rewards as rewards
    from cwndlab.gym.actions import Action
    from cwndlab.gym.environments import CongestionEnv, CongestionVectorEnv, register_environments
    from cwndlab.gym.episodes import Episodes
    from cwndlab.gym.observations import Observation
    from cwndlab.gym.parallel import ParallelCongestionEnv
    from cwndlab.gym.paths import (
        CellularPaths,
        CompetitionPaths,
        Episode,
        FixedPaths,
        LinkPaths,
        LogUniform,
        OneOf,
        Paths,
        TracePaths,
        Uniform,
    )
    from cwndlab.gym.policy import Layer, Policy
    from cwndlab.gym.simulation import Decision, Simulation, State

__all__ = [
    "Action",
    "CellularPaths",
    "CompetitionPaths",
    "CongestionEnv",
    "CongestionVectorEnv",
    "Decision",
    "Episode",
    "Episodes",
    "FixedPaths",
    "Layer",
    "LinkPaths",
    "LogUniform",
    "Observation",
    "OneOf",
    "ParallelCongestionEnv",
    "Paths",
    "Policy",
    "Simulation",
    "State",
    "TracePaths",
    "Uniform",
    "register_environments",
    "rewards",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {
            "actions": ("Action",),
            "environments": ("CongestionEnv", "CongestionVectorEnv", "register_environments"),
            "episodes": ("Episodes",),
            "observations": ("Observation",),
            "parallel": ("ParallelCongestionEnv",),
            "paths": (
                "CellularPaths",
                "CompetitionPaths",
                "Episode",
                "FixedPaths",
                "LinkPaths",
                "LogUniform",
                "OneOf",
                "Paths",
                "TracePaths",
                "Uniform",
            ),
            "policy": ("Layer", "Policy"),
            "simulation": ("Decision", "Simulation", "State"),
        },
        public=__all__,
    )
    # `gymnasium.make` finds the environments by their names then.
    if find_spec("gymnasium") is not None:
        __getattr__("register_environments")()
