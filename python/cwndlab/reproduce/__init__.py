"""Published experiments: each runs the published set-up and compares the published claim with the measurement.

An outcome is a measurement, computed from the 95 % interval and margins that are fixed beforehand
(`cwndlab.reproduce.verdicts`); nothing is tuned until a claim holds. `cwndlab.reproduce.experiment` describes the parts
of an experiment, `cwndlab.reproduce.headlines` lists what each paper claims in its abstract and conclusion.
"""

from cwndlab.reproduce.catalogue import PAPERS, experiments, find, listing
from cwndlab.reproduce.claims import COLUMNS, OUTCOMES, Finding
from cwndlab.reproduce.experiment import Case, Experiment, Size, Table
from cwndlab.reproduce.run import Reproduction, reproduce

__all__ = [
    "COLUMNS",
    "OUTCOMES",
    "PAPERS",
    "Case",
    "Experiment",
    "Finding",
    "Reproduction",
    "Size",
    "Table",
    "experiments",
    "find",
    "listing",
    "reproduce",
]
