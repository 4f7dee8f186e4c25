"""Charts, tables and explanations of an experiment from the blocks of a paper file.

Texts of these blocks may have means of the measurement: ``{=timeouts:.1f}`` is the mean of the metric over the runs
with the labels of ``where``, ``{=timeouts|change=delay}`` with a further label, ``{=goodput_bps/1e6:.0f}`` in another
unit, ``{points.variant}`` the values of a label, ``{last.flows}`` the last one.
Curves, rows and sentences of which no run has the labels are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Labels, Table
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.templates import Block, Code, Names, Templates

_Made = TypeVar("_Made", Chart, Table)


class MeasuredNames(dict[str, Any]):
    """Named values beside means of a measurement, over the runs with some labels."""

    def __init__(self, names: Names, measured: Measured, where: Labels) -> None:
        super().__init__(names)
        self._measured, self._where = measured, where

    def __missing__(self, name: str) -> Any:
        if name.startswith("points."):
            return self._measured.points(name.removeprefix("points."))
        if name.startswith("last."):
            return self._measured.points(name.removeprefix("last."))[-1]
        if not name.startswith("="):
            raise KeyError(name)
        formula, _, labels = name[1:].partition("|")
        metric, _, divisor = formula.partition("/")
        more = {}
        for label, _, wanted in (one.partition("=") for one in labels.split(",") if one):
            more[label] = next(value for value in self._measured.points(label) if str(value) == wanted)
        return self._measured.estimate(metric, **{**self._where, **more}).mean / float(divisor or 1)


class Figures:
    """Draws the blocks of one experiment.

    Parameters
    ----------
    templates
        Of the paper's file.
    names
        Named values of the experiment.
    code
        Finds functions of the paper's modules: a block with ``call`` is made by one.
    """

    def __init__(self, templates: Templates, names: Names, code: Code) -> None:
        self._templates, self._names, self._code = templates, names, code

    def _called(self, block: Block, names: Names, measured: Measured) -> Any:
        given = {
            name: self._templates.fill(one, names) for name, one in block.items() if name not in ("call", *_OF_LOOPS)
        }
        return self._code(block["call"])(measured, **given)

    def _made(self, blocks: Sequence[Block], measured: Measured, make: Callable[[Block, Names], _Made]) -> list[_Made]:
        """What blocks give: those with ``call`` by its function, the others by ``make``."""
        found: list[_Made] = []
        for _, block, names in self._templates.blocks(blocks, MeasuredNames(self._names, measured, {})):
            here = MeasuredNames(names, measured, {})
            found += self._called(block, here, measured) if "call" in block else [make(block, here)]
        return found

    def charts(self, blocks: Sequence[Block], measured: Measured) -> list[Chart]:
        """The published figure, redrawn."""

        def chart(block: Block, names: Names) -> Chart:
            given = {name: self._templates.fill(one, names) for name, one in block.items() if name not in _OF_LOOPS}
            turns = self._templates.blocks(block["curve"], names)
            curves = (self._curve(one, turn, measured) for _, one, turn in turns)
            return Chart(**given, curves=[curve for curve in curves if curve is not None])

        return self._made(blocks, measured, chart)

    def _curve(self, block: Block, names: Names, measured: Measured) -> Curve | None:
        def filled(name: str, default: Any, of: Names = names) -> Any:
            return self._templates.fill(block[name], of) if name in block else default

        where = filled("where", {}) if "points" not in block else {}
        label, panel, factor = filled("label", ""), filled("panel", ""), filled("factor", 1.0)
        if where and not any(True for _ in measured.rows_of(where)):
            return None
        if "line" in block:
            line = measured.line(filled("line", ""), **where)
            return Curve(label, list(line.x), list(line.y), panel=panel)
        if "over" in block:
            over = filled("over", "")
            points = measured.points(over, **where)
            found = [measured.estimate(filled("metric", ""), **{**where, over: one}) for one in points]
            return Curve.of(label, points, found, factor=factor, panel=panel)
        turns = list(self._templates.loops({"for": block["points"]}, names))
        (variable,) = block["points"]
        xs = [filled("x", turn[variable], turn) for turn in turns]
        if "y" in block:
            ys = [filled("y", None, turn) * factor for turn in turns]
            return Curve(label, xs, ys, panel=panel, published=True)
        found = [measured.estimate(filled("metric", "", turn), **filled("where", {}, turn)) for turn in turns]
        return Curve.of(label, xs, found, factor=factor, panel=panel)

    def tables(self, blocks: Sequence[Block], measured: Measured) -> list[Table]:
        """Tables beside the figure."""

        def table(block: Block, names: Names) -> Table:
            rows = []
            for _, one, turn in self._templates.blocks(block["row"], names):
                where = self._templates.fill(one.get("where", {}), turn)
                if not where or any(True for _ in measured.rows_of(where)):
                    cells = self._templates.fill(one["cells"], MeasuredNames(turn, measured, where))
                    rows.append([_cell(cell, measured, where) for cell in cells])
            title, header = (self._templates.fill(block[name], names) for name in ("title", "header"))
            return Table(title, header, rows)

        return self._made(blocks, measured, table)

    def why(self, blocks: Sequence[Block], measured: Measured) -> list[str]:
        """Sentences that tell why a claim does not hold."""
        found: list[str] = []
        start = MeasuredNames(self._names, measured, {})
        for _, block, names in self._templates.blocks(blocks, start):
            if "call" in block:
                found += self._called(block, names, measured)
                continue
            where = self._templates.fill(block.get("where", {}), names)
            if not where or any(True for _ in measured.rows_of(where)):
                found.append(self._templates.fill(block["text"], MeasuredNames(names, measured, where)))
        return found


_OF_LOOPS = ("curve", "for", "within", "let", "only", "skip", "when")


def _cell(cell: Any, measured: Measured, where: Labels) -> str | float | None:
    """A cell: text or number; ``{mean = METRIC}``, ``low`` or ``high``, or ``{value = X}``, with a ``factor``."""
    if not isinstance(cell, dict):
        return cell  # type: ignore[no-any-return]
    if "value" in cell:
        return float(cell["value"]) * float(cell.get("factor", 1.0))
    (kind,) = (name for name in ("mean", "low", "high") if name in cell)
    one = measured.estimate(cell[kind], **{**where, **cell.get("where", {})})
    value = getattr(one, kind) if one.n else None
    return None if value is None else value * cell.get("factor", 1.0)
