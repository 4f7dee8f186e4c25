"""The claims of a paper at a glance: a forest plot beside their universes, a bar of outcomes, the largest surprise.

Claims of different kinds have one logarithmic axis. A comparison is at the ratio of its sides; a value at its ratio to
the published value, or to an end of the claimed range. Behind each mark its lane shows where the claim places it, and
the margin within which a difference does not matter. A claim without such a number has words in its lane.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cwndlab.plot.description import Axis, Band, Panel, Series, Sign, Words
from cwndlab.plot.figure import Figure
from cwndlab.reports.page import slug
from cwndlab.reproduction.assessments import Assessment
from cwndlab.reproduction.claims import DECIDED, OUTCOMES, Finding, Outcome
from cwndlab.reproduction.digits import shown
from cwndlab.reproduction.multiverse.curve import COLOURS as TALLY_COLOURS
from cwndlab.reproduction.multiverse.robustness import TALLIES, TALLY, Tally
from cwndlab.reproduction.ranking import WEAKEST
from cwndlab.reproduction.summary import counted, leading, measured, not_run

#: Positions in the palette: an outcome has the colour of its tally of universes; of two in one tally, the second one
#: has another green or gray.
COLOURS: Mapping[Outcome, int] = {
    **{outcome: TALLY_COLOURS[TALLY[outcome]] for outcome in OUTCOMES},
    "holds at another size": 10,
    "underspecified": 19,
}
#: Signs of outcomes, for readers who do not tell the colours apart.
SIGNS: Mapping[Outcome, Sign] = {
    "holds": "circle",
    "holds at another size": "diamond",
    "no effect": "square",
    "opposite": "triangle",
    "inconclusive": "cross",
    "set-up cannot discriminate": "cross",
    "underspecified": "cross",
}
#: The outcome whose name and colour a tally has.
_NAMES: Mapping[Tally, Outcome] = {
    tally: next(outcome for outcome in OUTCOMES if TALLY[outcome] == tally) for tally in TALLIES
}
CLAIMED, MARGIN, PUBLISHED, BEYOND = "as claimed", "margin: no relevant difference", "published", "beyond the axis"
_GRAY = TALLY_COLOURS["cannot discriminate"]
#: The largest ratio of an axis, with its ticks; the smallest one that has most of the claims is taken.
_AXES: Mapping[float, Sequence[float]] = {
    2.0: (0.5, 0.7, 1, 1.4, 2),
    5.0: (0.2, 0.5, 1, 2, 5),
    10.0: (0.1, 0.2, 0.5, 1, 2, 5, 10),
}
_MOST = 0.8
# Pixels and inches of a lane, and pixels of a bar.
_LANE, _LANE_INCHES, _BAR = 46, 0.5, 44
# Where a mark beyond the axis is drawn, as a share of the axis from its middle.
_INNER = 0.95
_WITHOUT: Mapping[str, str] = {
    "p": "a p-value is not a ratio",
    "landmarks": "a shape is not a ratio",
    "underspecified": "the paper states no size",
    "set-up cannot discriminate": "the set-up cannot show it",
}


class Mark(NamedTuple):
    """A finding on the axis: all numbers as ratios to its reference."""

    measured: float
    low: float | None
    high: float | None
    published: float | None
    claimed: Sequence[float | None]
    margin: Sequence[float | None] | None


def mark(one: Finding) -> Mark | None:
    """Where a finding is on the axis; none of one that has no number, or nothing to compare it with."""
    if one.measured is None or one.claimed is None:
        return None
    known = [1.0] if one.measured_is == "ratio" else [one.expected, *one.claimed]
    reference = next((end for end in known if end is not None and end > 0), None)
    if reference is None:
        return None
    numbers = (one.measured, one.low, one.high, one.expected, *one.claimed)
    measured, low, high, published, *claimed = (None if end is None else end / reference for end in numbers)
    assert measured is not None
    return Mark(measured, low, high, published, claimed, one.margin)


def forest(name: str, known: Sequence[Assessment], unfinished: Mapping[str, str]) -> Figure:
    """A lane for each headline: published and measured effect, and the share of universes of each outcome.

    Parameters
    ----------
    name
        The name of the paper.
    known
        Its headlines.
    unfinished
        What is missing of experiments, for those without an outcome (`cwndlab.reproduction.standing.unfinished`).
    """
    lanes = list(reversed(known))
    findings = [None if one.base is None else leading(one.base)[0] for one in lanes]
    marks = {place: made for place, one in enumerate(findings) if one is not None and (made := mark(one))}
    most = _most([one.measured for one in marks.values()])
    names = [_name(*pair, unfinished) for pair in zip(lanes, findings, strict=True)]
    y = Axis("", categories=names, above=True)
    words = [Words(1 / most, place, _without(one)) for place, one in enumerate(findings) if place not in marks]
    panels = [
        Panel(
            y,
            _series(marks, findings, most),
            bands=_bands(marks, most),
            x=Axis(
                "ratio of the two sides; of one value, its ratio to the claimed one",
                ends=(1 / most, most),
                log=True,
                ticks=_AXES[most],
            ),
            words=words,
            opens=[f"#{slug(one.headline.claim)}" for one in lanes],
        )
    ]
    if any(one.evidence for one in lanes):
        panels.append(_universes(y, lanes))
    return Figure(
        name=f"{name}-claims",
        title=f"the claims of {name}, published and measured",
        x=Axis(""),
        panels=panels,
        columns=len(panels),
        widths=(3, 1)[: len(panels)],
        pixels=round(_LANE * (len(lanes) + 0.2)),
        inches=(8, 1.2 + _LANE_INCHES * len(lanes)),
    )


def _most(measured: Sequence[float]) -> float:
    """The end of the axis."""
    for most in _AXES:
        if sum(1 / most <= one <= most for one in measured) >= _MOST * len(measured):
            return most
    return max(_AXES)


def _name(one: Assessment, finding: Finding | None, unfinished: Mapping[str, str]) -> str:
    """The sentence, its outcome and the number behind it."""
    if one.base is None or finding is None:
        return f"{one.headline.claim} → {not_run(one.headline, unfinished)}"
    number = "" if finding.measured is None else f", {measured(finding)}"
    note = " (not counted)" if one.not_counted else ""
    return f"{one.headline.claim} → {one.base.outcome}{number}{note}"


def _without(one: Finding | None) -> str:
    """Why there is no mark."""
    if one is None:
        return "not run"
    if one.measured is None:
        return "no ratio"
    return _WITHOUT.get(one.measured_is) or _WITHOUT.get(one.outcome, "no number to compare it with")


def _bands(marks: Mapping[int, Mark], most: float) -> list[Band]:
    bands = []
    for place, one in marks.items():
        for label, ends, position in (
            (CLAIMED, one.claimed, COLOURS["holds"]),
            (MARGIN, one.margin, COLOURS["no effect"]),
        ):
            if ends is not None:
                low, high = (
                    default if end is None else _clipped(end, most)
                    for end, default in zip(ends, (1 / most, most), strict=True)
                )
                bands.append(Band(label, [(low, high)], position, place, faint=True))
    return bands


def _clipped(value: float, most: float) -> float:
    return min(most, max(1 / most, value))


def _inner(value: float, most: float) -> float:
    """Where a mark is drawn: one beyond the axis beside its arrow."""
    return value if 1 / most <= value <= most else _clipped(value, most) ** _INNER


def _series(marks: Mapping[int, Mark], findings: Sequence[Finding | None], most: float) -> list[Series]:
    """The marks: published, measured by outcome, and arrows towards what is beyond the axis."""
    line = [Series("a ratio of 1", [1.0, 1.0], [-0.3, len(findings) - 0.7], position=_GRAY, legend=False)]
    published = [(one.published, place) for place, one in marks.items() if one.published is not None]
    if published:
        at = [_clipped(x, most) for x, _ in published]
        places = [float(place) for _, place in published]
        line.append(Series(PUBLISHED, at, places, "points", _GRAY, published=True, sign="diamond"))
    for outcome in OUTCOMES:
        mine = [
            (place, one, finding)
            for place, one in marks.items()
            if (finding := findings[place]) is not None and finding.outcome == outcome
        ]
        if mine:
            xs = [_inner(one.measured, most) for _, one, _ in mine]
            line.append(
                Series(
                    outcome,
                    xs,
                    [float(place) for place, _, _ in mine],
                    "points",
                    COLOURS[outcome],
                    [
                        None if m.low is None else min(x, _clipped(m.low, most))
                        for x, (_, m, _) in zip(xs, mine, strict=True)
                    ],
                    [
                        None if m.high is None else max(x, _clipped(m.high, most))
                        for x, (_, m, _) in zip(xs, mine, strict=True)
                    ],
                    sign=SIGNS[outcome],
                    along_x=True,
                    notes=[f"{finding.quantity}: {' '.join(shown(finding))}" for _, _, finding in mine],
                )
            )
    signs: Mapping[Sign, float] = {"left": 1 / most, "right": most}
    for sign, end in signs.items():
        beyond = [
            float(place)
            for place, one in marks.items()
            if any(x is not None and (x < end if end < 1 else x > end) for x in (one.measured, one.low, one.high))
        ]
        if beyond:
            line.append(Series(BEYOND, [end] * len(beyond), beyond, "points", _GRAY, sign=sign))
    return line


def _universes(y: Axis, lanes: Sequence[Assessment]) -> Panel:
    bands, words = [], []
    for place, one in enumerate(lanes):
        counts = Counter[Tally]()
        for evidence in one.evidence:
            counts.update(evidence.together.counts)
        start = 0.0
        for tally in TALLIES if counts.total() else ():
            width = 100 * counts[tally] / counts.total()
            if width:
                outcome = _NAMES[tally]
                bands.append(Band(outcome, [(start, start + width)], COLOURS[outcome], place))
            start += width
        if not counts.total():
            words.append(Words(0, place, "none" if one.headline.no_universes else "not run"))
    return Panel(y, bands=bands, x=Axis("universes, %", ends=(0, 100), ticks=(0, 50, 100)), words=words)


def bar(name: str, known: Sequence[Assessment]) -> Figure:
    """A bar of the headlines of a paper by outcome."""
    start, bands = 0.0, []
    for outcome, many in counted(known).items():
        if many:
            bands.append(Band(f"{outcome}: {many}", [(start, start + many)], COLOURS[outcome], 0))
        start += many
    return Figure(
        name=f"{name}-outcomes",
        title=f"the claims of {name} by outcome",
        x=Axis("", ends=(0, start)),
        panels=[Panel(Axis("", categories=[""], above=True), bands=bands)],
        pixels=_BAR,
        inches=(8, 1.2),
    )


def surprise(known: Sequence[Assessment]) -> Finding | None:
    """The finding that decides a claim and is farthest from what the claim says, of the weakest outcome first; where
    all of them hold, the largest effect."""
    decided = [
        (WEAKEST.index(finding.outcome), -_distance(finding), at)
        for at, one in enumerate(known)
        if one.base is not None and one.base.counts and one.base.outcome in DECIDED
        for finding in leading(one.base)[:1]
        if mark(finding) is not None
    ]
    if not decided:
        return None
    base = known[min(decided)[-1]].base
    return None if base is None else leading(base)[0]


def _distance(one: Finding) -> float:
    """How far the measured number is from the published one, else from the claimed range; of logarithms."""
    made = mark(one)
    if made is None or made.measured <= 0:
        return math.inf
    near = [made.published] if made.published is not None else list(made.claimed)
    return min((abs(math.log(made.measured / end)) for end in near if end is not None and end > 0), default=0.0)
