"""The multiverse of a paper: its claims over all combinations of what it leaves open, or a seeded sample of them.

`cwndlab.reproduction.universes` describes what is combined, ``run`` runs it, ``robustness`` reduces the outcomes
to shares, a label and the choices that decide. Method: Steegen et al., "Increasing transparency through a multiverse
analysis", Perspectives on Psychological Science 11, 2016; curves: Simonsohn et al., "Specification curve analysis",
Nature Human Behaviour 4, 2020.
"""

from __future__ import annotations

from cwndlab.reproduction.catalogue import spaces
from cwndlab.reproduction.multiverse import joint as joint
from cwndlab.reproduction.multiverse import joint_rows as joint_rows
from cwndlab.reproduction.multiverse.curve import curve
from cwndlab.reproduction.multiverse.kept import copy, load, save
from cwndlab.reproduction.multiverse.robustness import TALLIES, Cell, Effect, Multiverse, Robustness
from cwndlab.reproduction.multiverse.run import multiverse
from cwndlab.reproduction.universes import Dimension, Space, Universe

__all__ = [
    "TALLIES",
    "Cell",
    "Dimension",
    "Effect",
    "Multiverse",
    "Robustness",
    "Space",
    "Universe",
    "copy",
    "curve",
    "load",
    "multiverse",
    "save",
    "spaces",
]
