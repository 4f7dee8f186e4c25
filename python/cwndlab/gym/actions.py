"""Actions: from a number in [−1, 1] to a window and a pacing rate."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from cwndlab import engine
from cwndlab.errors import Fault, Parameter, ScenarioError, parameter_fault, unknown_name
from cwndlab.files import json_text
from cwndlab.gym.intervals import Array

__all__ = ["ACTIONS", "Action"]

#: The kinds of actions with the usual value of their scale.
ACTIONS = {"power-window": 2.0, "delta-window": 0.5, "delta-rate": 0.5}


@dataclass(frozen=True)
class Action:
    """How an action a in [−1, 1] changes the window w or the pacing rate r.

    ================  ==================================================================================================
    ``power-window``  w · sᵃ. Orca has s = 4 and multiplies the window of CUBIC (S. Abbasloo et al., SIGCOMM 2020).
    ``delta-window``  w · (1 + s·a) for a ≥ 0, otherwise w / (1 − s·a).
    ``delta-rate``    The same of r, with a window of 2 · r · SRTT: Aurora (N. Jay et al., ICML 2019), whose s = 0.025
                      goes with an unlimited a. The first rate is w / SRTT.
    ================  ==================================================================================================

    Parameters
    ----------
    kind
        One of these.
    scale
        s, by default 2 for a power and 0.5 for a delta.
    lowest, highest
        Limits of w, or of r · SRTT, segments.

    Raises
    ------
    ScenarioError
        The kind is unknown, or a number is out of range.

    Examples
    --------
    >>> from cwndlab.gym import Action
    >>> Action("delta-window", scale=0.25).factor([1.0, -1.0]).tolist()
    [1.25, 0.8]
    """

    kind: str = "power-window"
    scale: float = 0
    lowest: float = 2
    highest: float = 10_000

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        if self.kind not in ACTIONS:
            faults.append(unknown_name(Parameter("action"), "action", self.kind, ACTIONS))
        object.__setattr__(self, "scale", float(self.scale or ACTIONS.get(self.kind, 1)))
        least = 1 if self.kind == "power-window" else 0
        if not least < self.scale < np.inf:
            faults.append(parameter_fault("scale", f"'{self.scale}' is not above {least}", example=2))
        if not 1 <= self.lowest <= self.highest < np.inf:
            what = f"'{self.lowest}' to '{self.highest}' is not a range of windows"
            faults.append(parameter_fault("lowest", what, example=2))
        if faults:
            raise ScenarioError(*faults)

    def factor(self, actions: ArrayLike) -> Array:
        """The factor by which window or rate change; actions beyond [−1, 1] count as −1 or 1."""
        given = np.asarray(actions, dtype=np.float64)
        return np.array(engine.action_factors(json_text(asdict(self)), given.ravel().tolist())).reshape(given.shape)
