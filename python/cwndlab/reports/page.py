"""HTML pages that stand alone: style, script, plotly and all data are in them, so they open without a network.

A page's figures open what is behind their marks: a bar or a cell the runs, a run its time series. The same can be
reached by links under each figure, so that no pointer is needed. What is opened is in `cwndlab.reports.runs`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

#: A mark's words and what it opens.
Opens = Sequence[tuple[str, str]]

_DIALOG = (
    '<dialog id="details" aria-labelledby="details-title"><header><h2 id="details-title"></h2>'
    '<nav id="details-ways" aria-label="Other runs"></nav>'
    '<button id="details-close" type="button">Close</button></header><div id="details-body"></div></dialog>'
)


def page(
    title: str,
    parts: Sequence[str],
    *,
    footer: str,
    data: Mapping[str, Any] | None = None,
    figures: bool = True,
) -> str:
    """A page of ``parts``; ``data`` is what its script opens (`cwndlab.reports.runs.packed`). Without ``figures`` it is
    4 MB smaller."""
    from plotly.offline import get_plotlyjs

    here = files(__package__)
    style, script = (here.joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "page.js"))
    body = "\n".join(parts)
    plotly = f"<script>{get_plotlyjs()}</script>" if figures else ""
    told = json.dumps(data or {}, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{style}</style>{plotly}</head>"
        '<body><button id="theme" type="button">Colours: system</button>'
        f"<main><h1>{html.escape(title)}</h1>{body}</main><footer>{html.escape(footer)}</footer>{_DIALOG}"
        f'<script type="application/json" id="data">{told}</script><script>{script}</script></body></html>'
    )


def figure(drawn: Any, name: str, says: str, opens: Opens = ()) -> str:
    """A plotly figure of a page; ``says`` is what it shows, for those who do not see it, and ``opens`` what its marks
    open, as links."""
    config = {"displayModeBar": False, "responsive": True}
    chart: str = drawn.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=config)
    links = "".join(f'<a href="{html.escape(target)}">{html.escape(words)}</a>' for words, target in opens)
    caption = f'<figcaption class="runs">Runs behind it: {links}</figcaption>' if links else ""
    kind = ' class="opens"' if links else ""
    said = html.escape(says, quote=True)
    return f'<figure{kind}><div role="group" aria-label="Chart: {said}">{chart}</div>{caption}</figure>'
