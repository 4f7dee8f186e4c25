"""Whether all that a claim compares are starved."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from cwndlab.reproduction.cases import Labels
from cwndlab.reproduction.claims import Asked, Claim
from cwndlab.reproduction.controls.level import Level
from cwndlab.reproduction.measured import Measured


def starved(claim: Claim, measured: Measured) -> Asked | None:
    """Whether all that a claim compares are starved: their order is then no ranking.

    Parameters
    ----------
    claim
        A part: one metric, and two sides where it compares.
    measured
        The runs.

    Returns
    -------
    The lowest share and the highest part of repetitions of the sides; nothing where the claim compares nothing, or the
    levels are not known.
    """
    if not claim.compares_two:
        return None
    sides = [_of_side(side, claim.flows, measured) for side in claim.sides]
    known = [one for one in sides if one is not None]
    if len(known) < len(sides):
        return None
    share, repeated = max(one.share for one in known), min(one.repeated for one in known)
    is_low = all(one.is_starved for one in known)
    text = f"each side has at least {min(one.share for one in known):.0%} of a fair share"
    if is_low:
        text = f"all sides are starved: at most {share:.1%} of a fair share, at least {repeated:.0%} sent again"
    return Asked("level", not is_low, text)


def _of_side(side: Labels, flows: Sequence[str], measured: Measured) -> Level | None:
    """The mean over the runs of a side of the groups that are compared."""
    found = [one for row in measured.rows_of(side) for name, one in row.level.items() if not flows or name in flows]
    if not found:
        return None
    return Level(fmean(one.share for one in found), fmean(one.repeated for one in found))
