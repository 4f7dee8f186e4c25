"""Specification curves: what is measured in each universe, sorted, above the choices that make the universe."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from cwndlab.plot.description import Axis, Band, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.reproduction.multiverse.robustness import TALLIES, Cell, Robustness, Tally
from cwndlab.reproduction.universes import Space

#: Positions in the palette: green, orange, vermilion, sky blue, gray.
COLOURS: dict[Tally, int] = {"holds": 2, "ties": 4, "opposite": 1, "inconclusive": 5, "cannot discriminate": 7}
_BASE_COLOUR = 0
#: Room above and below the values, as a share of their range.
_ROOM = 0.15


def curve(space: Space, one: Robustness, name: str) -> Figure:
    """The specification curve of a claim, least favourable universe first.

    Parameters
    ----------
    space
        The space of the claim.
    one
        The claim over its universes.
    name
        The name of the figure's file.
    """
    cells = one.ranked()
    names = [f"{dimension.name}: {choice}" for dimension in space.dimensions for choice in dimension.choices]
    lanes = list(reversed(names))
    title = f"{one.claim.quantity}, over {len(cells)} universes"
    return Figure(
        name=name,
        title=title,
        x=Axis("universe, from the least to the most favourable"),
        panels=[
            Panel(Axis(_unit(cells), ends=_ends(cells)), _values(cells, one.base), title),
            Panel(Axis("choice", categories=lanes), bands=_choices(cells, lanes), height=max(1.0, 0.075 * len(lanes))),
        ],
        columns=1,
        shares_x=True,
        pixels=240,
        inches=(8, 3 + 0.16 * len(lanes)),
    )


def _unit(cells: Sequence[Cell]) -> str:
    units = {cell.finding.measured_is for cell in cells}
    return units.pop() if len(units) == 1 else "measured"


def _ends(cells: Sequence[Cell]) -> tuple[float, float] | None:
    """The range of what was measured: an interval over few repetitions may reach far beyond."""
    values = [value for cell in cells if (value := cell.finding.measured) is not None]
    if not values or min(values) == max(values):
        return None
    room = _ROOM * (max(values) - min(values))
    return min(values) - room, max(values) + room


def _values(cells: Sequence[Cell], base: Cell) -> list[Series]:
    series = []
    for tally in TALLIES:
        mine = [(at, cell.finding) for at, cell in enumerate(cells, start=1) if cell.tally == tally]
        if mine:
            series.append(
                Series(
                    tally,
                    [float(at) for at, _ in mine],
                    [finding.measured for _, finding in mine],
                    kind="points",
                    position=COLOURS[tally],
                    low=[finding.low for _, finding in mine],
                    high=[finding.high for _, finding in mine],
                )
            )
    at = next((at for at, cell in enumerate(cells, start=1) if cell is base), None)
    if at is not None:
        measured = base.finding.measured
        series.append(Series("base assumptions", [float(at)], [measured], kind="points", position=_BASE_COLOUR))
    return series


def _choices(cells: Sequence[Cell], lanes: Sequence[str]) -> list[Band]:
    bands = []
    for place, lane in enumerate(lanes):
        dimension, _, choice = lane.partition(": ")
        tallies = [cell.tally if cell.universe[dimension] == choice else None for cell in cells]
        spans: dict[Tally, list[tuple[float, float]]] = {}
        begin = 1
        for tally, run in groupby(tallies):
            length = len(list(run))
            if tally is not None:
                spans.setdefault(tally, []).append((begin - 0.5, begin + length - 0.5))
            begin += length
        bands += [Band(tally, span, COLOURS[tally], place) for tally, span in spans.items()]
    return bands
