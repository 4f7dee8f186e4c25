"""Means with intervals, tests, effect sizes, corrections, stopping rules, warm-up cuts. Knows nothing of networks."""

from cwndlab.statistics.blocks import Effect, blocks
from cwndlab.statistics.differences import Difference, adjusted, difference
from cwndlab.statistics.effects import cohens_dz, hedges, hedges_unpaired, rank_biserial
from cwndlab.statistics.estimates import LEVEL, Estimate, bootstrap, estimate, without_rounding
from cwndlab.statistics.proportions import pooled_share, wilson
from cwndlab.statistics.sequential import Until, coverage, enough
from cwndlab.statistics.significance import holm, paired_t, shapiro, welch, wilcoxon
from cwndlab.statistics.verdicts import Decision, Verdict, verdict
from cwndlab.statistics.warmup import mser

__all__ = [
    "LEVEL",
    "Decision",
    "Difference",
    "Effect",
    "Estimate",
    "Until",
    "Verdict",
    "adjusted",
    "blocks",
    "bootstrap",
    "cohens_dz",
    "coverage",
    "difference",
    "enough",
    "estimate",
    "hedges",
    "hedges_unpaired",
    "holm",
    "mser",
    "paired_t",
    "pooled_share",
    "rank_biserial",
    "shapiro",
    "verdict",
    "welch",
    "wilcoxon",
    "wilson",
    "without_rounding",
]


def __dir__() -> list[str]:
    return __all__
