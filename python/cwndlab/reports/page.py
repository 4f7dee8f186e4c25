"""HTML pages from Jinja templates. A page that is one file contains style, script, plotly and all data, and needs no
network; the pages of a site share a file with plotly.

A click on a mark of a figure opens its runs, and a run opens its time series; links under each figure do the same
without a pointer. `cwndlab.reports.runs` packs the data of runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cwndlab.engine import version
from cwndlab.files import json_text
from cwndlab.plot.figure import Figure
from cwndlab.reports.tables import presented
from cwndlab.study.findings import merged
from cwndlab.study.rendering import Table as Presented

#: Texts of links and their addresses.
Links = Sequence[tuple[str, str]]
#: The file of plotly's program in a site.
BUNDLE = "plotly.min.js"


@dataclass(frozen=True)
class Placed:
    """A figure on a page; the page's data has the figure's data under ``name``."""

    name: str
    heading: str
    sentence: str
    height: int
    opens: Links
    note: str


class Page:
    """A page under construction, which gathers the data of its figures."""

    def __init__(self) -> None:
        self._charts: dict[str, Any] = {}

    def figure(self, figure: Figure, name: str, *, heading: str = "", opens: Links = (), note: str = "") -> Placed:
        """Adds a figure; ``opens`` are the links of its marks, ``name`` is unique on the page."""
        spec = self._charts[name] = figure.spec()
        return Placed(name, heading, figure.sentence(), spec["layout"]["height"], opens, note)

    def render(
        self,
        template: str,
        *,
        title: str,
        footer: str,
        commands: Sequence[str] = (),
        data: Mapping[str, Any] | None = None,
        bundle: str | None = None,
        run_findings: Sequence[Mapping[str, Any]] = (),
        **content: Any,
    ) -> str:
        """The page as HTML.

        Parameters
        ----------
        template:
            A file of ``templates``.
        commands:
            Shell commands that make the page again.
        data:
            The data that the page's script opens (`cwndlab.reports.runs.packed`).
        bundle:
            Address of plotly's program; ``None`` puts the program into the page.
        run_findings:
            Findings of the runs, as rows of the table ``findings``, which the page shows first.
        content:
            The values of the template.
        """
        inline = bundle is None and bool(self._charts)
        return (
            _environment()
            .get_template(template)
            .render(
                title=title,
                footer=f"cwndlab {version()} · {footer}" if footer else f"cwndlab {version()}",
                commands=commands,
                data={**(data or {}), "charts": self._charts},
                style=_asset("style.css"),
                script=_asset("page.js"),
                program=program() if inline else "",
                bundle=bundle if self._charts else None,
                contents=[],
                run_findings=merged(run_findings),
                **content,
            )
        )


def tables_page(
    title: str,
    tables: Sequence[Presented],
    lines: Sequence[str] = (),
    *,
    commands: Sequence[str] = (),
    run_findings: Sequence[Mapping[str, Any]] = (),
) -> str:
    """A page of tables, below sentences that summarise them."""
    made = [(one.caption, replace(presented(one), caption="")) for one in tables]
    return Page().render(
        "tables.html", title=title, footer="", commands=commands, run_findings=run_findings, lines=lines, tables=made
    )


@cache
def program() -> Markup:
    """plotly's program for browsers."""
    # Read as a file: importing plotly takes longer than making the page.
    return Markup(files("plotly").joinpath("package_data", BUNDLE).read_text(encoding="utf-8"))


@cache
def _asset(name: str) -> Markup:
    return Markup(files(__package__).joinpath("templates", name).read_text(encoding="utf-8"))


def slug(text: str) -> str:
    """The id of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("cwndlab.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    made.filters["slug"] = slug
    made.policies["json.dumps_function"] = json_text
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return made
