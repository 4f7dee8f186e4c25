"""Published experiments: each runs the published set-up and holds the published claim against what is measured.

A verdict is a measurement: `reproduced`, `direction only`, `not reproduced` or `not testable`, computed from the 95 %
interval; nothing is tuned until a claim comes true. `cwndlab.reproduce.experiment` says what an experiment is made of.
"""

from cwndlab.reproduce.catalogue import PAPERS, experiments, find, listing
from cwndlab.reproduce.claims import COLUMNS, Finding
from cwndlab.reproduce.experiment import Case, Experiment, Size, Table
from cwndlab.reproduce.run import Outcome, reproduce

__all__ = [
    "COLUMNS",
    "PAPERS",
    "Case",
    "Experiment",
    "Finding",
    "Outcome",
    "Size",
    "Table",
    "experiments",
    "find",
    "listing",
    "reproduce",
]
