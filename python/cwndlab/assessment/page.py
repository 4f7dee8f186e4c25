"""The page of a dossier: the table of findings, surfaces over rate, RTT and buffer, the worst cells, the controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cwndlab.assessment.markdown import CONTRADICTED, LIVE, TURNS, limits
from cwndlab.assessment.parts import PARTS
from cwndlab.plot.description import Axis, Heat, Panel
from cwndlab.plot.figure import Figure
from cwndlab.reports.page import Page, Placed
from cwndlab.reports.tables import presented
from cwndlab.study.rendering import Table

if TYPE_CHECKING:
    from cwndlab.assessment.dossier import Dossier


def page(one: Dossier) -> str:
    """The HTML page of `Dossier.report`."""
    made = Page()
    figures = list(_surfaces(one, made))
    contradicted = one.contradicted()
    tables = [
        ("Worst cells", one.worst(), ("section", "what", "cell", "effect", "file", "command")),
        ("Where the sign changes", one.turns(), ("section", "what", "path", "turn")),
        ("Controls", one.content["controls"], ("what", "found")),
        ("Not assessed", [row for row in one.rows if row["reason"]], ("section", "title", "reason")),
    ]
    return made.render(
        "assessment.html",
        title=f"{one.algorithm} by the criteria of RFC 9743",
        footer="RFC 9743",
        commands=[f"{one.command()} --out DIR"],
        lines=[*one.verdicts(), *one.facts()],
        findings=presented(one.table()),
        contradicted=[CONTRADICTED, *contradicted] if contradicted else [],
        elsewhere=[
            (PARTS[part].heading, presented(one.part_table(part)), [PARTS[part].about, *one.part_reasons(part)])
            for part in one.parts
        ],
        live=presented(one.live_table()) if one.is_live else None,
        live_notes=[LIVE],
        turns_note=TURNS,
        tables=[(title, presented(_table(title, rows, names))) for title, rows, names in tables if rows],
        figures=figures,
        limits=limits(one),
    )


def _table(title: str, rows: list[dict[str, Any]], names: tuple[str, ...]) -> Table:
    return Table(title, names, [[row[name] for name in names] for row in rows], len(names))


def _surfaces(one: Dossier, made: Page) -> Iterator[Placed]:
    """A figure per measure on a surface: a panel per buffer, rates across, RTTs up."""
    for row in one.rows:
        for at, measure in enumerate(row["measures"]):
            family = one.content["families"][measure["family"]]
            effects = measure["against"]["cubic"].get("cells")
            if family["surface"] and effects:
                name = f"surface-{row['section'].replace('.', '-')}-{at}"
                heading = f"{row['section']}, {measure['what']} ({family['title']})"
                figure = _surface(measure["what"], family["cells"], effects)
                yield made.figure(figure, name, heading=heading, note=_NOTE)


_NOTE = "Change against CUBIC in %: above 0 is better. The line where the sign changes is that between the colours."


def _surface(what: str, cells: list[dict[str, Any]], effects: Mapping[str, float]) -> Figure:
    places = {tuple(cell["labels"].values()): effects.get(str(at)) for at, cell in enumerate(cells)}
    rates, rtts, buffers = (list(dict.fromkeys(labels[at] for labels in places)) for at in range(3))
    columns = [f"{rate.removesuffix(' Mbps')} · {buffer.removesuffix(' bdp')}" for buffer in buffers for rate in rates]
    values = [[_percent(places.get((rate, rtt, buffer))) for buffer in buffers for rate in rates] for rtt in rtts]
    heat = Heat(values, "change, %", [[""] * len(columns)] * len(rtts), signed=True)
    return Figure(
        name="heat",
        title=f"{what}: change against CUBIC",
        x=Axis("rate, Mbit/s · buffer, BDP", categories=columns),
        panels=(Panel(Axis("RTT", categories=rtts), heat=heat),),
        legend=False,
        pixels=max(220, 34 * len(rtts) + 110),
        inches=(max(4, 0.45 * len(columns) + 2.2), 0.42 * len(rtts) + 1.6),
    )


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 1)
