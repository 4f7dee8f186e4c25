"""Published experiments: each runs the published set-up and compares the published claim with the measurement.

An outcome is a measurement, computed from the 95 % interval and margins that are fixed beforehand
(`cwndlab.reproduction.verdicts`); nothing is tuned until a claim holds. `cwndlab.reproduction.experiment` describes the
parts of an experiment, `cwndlab.reproduction.headlines` lists what each paper claims in its abstract and conclusion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.reproduction import multiverse as multiverse
    from cwndlab.reproduction import outcomes as outcomes
    from cwndlab.reproduction import plan as plan
    from cwndlab.reproduction import site as site
    from cwndlab.reproduction import standing as standing
    from cwndlab.reproduction.cases import Case, Size, Table
    from cwndlab.reproduction.catalogue import PAPERS, experiments, find, listing
    from cwndlab.reproduction.claims import COLUMNS, OUTCOMES, Finding
    from cwndlab.reproduction.experiment import Experiment
    from cwndlab.reproduction.result import Reproduction, Reproductions
    from cwndlab.reproduction.run import reproduce
    from cwndlab.reproduction.sizes import Agreement, Disagreement, agreement
    from cwndlab.reproduction.stale import stale_results
    from cwndlab.reproduction.standing import Standing, standings

__all__ = [
    "COLUMNS",
    "OUTCOMES",
    "PAPERS",
    "Agreement",
    "Case",
    "Disagreement",
    "Experiment",
    "Finding",
    "Reproduction",
    "Reproductions",
    "Size",
    "Standing",
    "Table",
    "agreement",
    "experiments",
    "find",
    "listing",
    "reproduce",
    "stale_results",
    "standings",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {
            "cases": ("Case", "Size", "Table"),
            "catalogue": ("PAPERS", "experiments", "find", "listing"),
            "claims": ("COLUMNS", "Finding", "OUTCOMES"),
            "experiment": ("Experiment",),
            "result": ("Reproduction", "Reproductions"),
            "run": ("reproduce",),
            "sizes": ("Agreement", "Disagreement", "agreement"),
            "stale": ("stale_results",),
            "standing": ("Standing", "standings"),
        },
        public=__all__,
    )
