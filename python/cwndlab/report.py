"""Reports: one self-contained HTML page, and figures as PNG or SVG. Computes no number that no metric defines."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.digits import interval, number
from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS, convergence, fairness, per_flow, per_link
from cwndlab.statistics import verdict

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.comparison import Comparison
    from cwndlab.records import Records

# Columns of words.
_TEXTS = ("metric", "algorithm", "link")

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --line: #d0d7de; --soft: #f4f6f8; --quiet: #5b6670; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --back: #14181d; --line: #39424c; --soft: #1d232a; --quiet: #9aa5b1; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 1240px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.4rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .2rem; }
p, li { max-width: 75ch; } p.quiet { color: var(--quiet); font-size: .9rem; margin: .2rem 0; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; font-size: .87rem; }
th, td { padding: .25rem .45rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, th.text, td.text { text-align: left; } th { white-space: pre-line; vertical-align: bottom; }
td.told { font-weight: 600; } td.untold { color: var(--quiet); }
pre { background: var(--soft); padding: 1rem; overflow-x: auto; border-radius: 6px; font-size: .85rem; }
summary { cursor: pointer; }
.bars { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(380px, 100%), 1fr)); gap: 1rem; }
.bars > div { min-width: 0; overflow: hidden; }
footer { margin-top: 3rem; color: var(--quiet); font-size: .85rem; }
"""

# Figures take the page's colours, and follow when the system changes between light and dark; their size is settled
# once the whole page is laid out.
_SCRIPT = """
const dark = window.matchMedia('(prefers-color-scheme: dark)');
function dress() {
  const text = dark.matches ? '#e6e9ec' : '#1b1f24', grid = dark.matches ? '#39424c' : '#d0d7de', back = dark.matches ? '#1d232a' : '#ffffff';
  document.querySelectorAll('.plotly-graph-div').forEach(div => {
    const change = {paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', 'font.color': text, 'hoverlabel.bgcolor': back, 'legend.bgcolor': 'rgba(0,0,0,0)'};
    Object.keys(div.layout).filter(key => /^[xy]axis/.test(key)).forEach(key => { change[key + '.gridcolor'] = grid; change[key + '.zerolinecolor'] = grid; });
    Plotly.relayout(div, change);
    Plotly.Plots.resize(div);
  });
}
dark.addEventListener('change', dress); window.addEventListener('load', dress);
"""


def page(title: str, parts: Sequence[str], *, footer: str) -> str:
    """A page that needs nothing from the network: style, script and plotly itself are in it."""
    from plotly.offline import get_plotlyjs

    body = "\n".join(parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style><script>{get_plotlyjs()}</script></head>"
        f"<body><h1>{html.escape(title)}</h1>{body}<footer>{html.escape(footer)}</footer><script>{_SCRIPT}</script></body></html>"
    )


def comparison_page(found: Comparison) -> str:
    """The page of a comparison."""
    from cwndlab.plots import bars
    from cwndlab.run import version

    if not found.rows:
        raise RecordsError(Fault("comparison", "holds no finished run", "run `cwndlab compare` again"))
    parts = [*_summary(found), "<h2>Means and intervals</h2>", _table(*found.table(found.judged()))]
    parts.append('<div class="bars">')
    for metric in found.judged():
        estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
        parts.append(_figure(bars(found.algorithms, estimates, COLUMNS[metric]), f"bars-{metric}"))
    parts.append("</div>")
    header, rows = found.differences(found.judged())
    if rows:
        parts += [f"<h2>Paired differences to {html.escape(found.algorithms[0])}</h2>", _how(found)]
        parts.append(_table(header, rows))
    if found.examples:
        parts += _over_time(found.examples, f"Over time, seed {found.seeds[0]}")
    parts += _about(found.scenario.to_toml(), found.notes)
    seeds = f"seeds {found.seeds[0]}–{found.seeds[-1]}"
    return page(
        found.scenario.title or "Comparison of congestion controls",
        parts,
        footer=f"cwndlab {version()} · scenario {found.scenario.hash} · {seeds} · {len(found.rows)} runs",
    )


def run_page(records: Records) -> str:
    """The page of one run."""
    fair, near = fairness(records)["jain"][0], convergence(records).row(0, named=True)
    told = [] if fair is None else [f"Jain's index of the flows' goodputs: {number(fair)}."]
    if near["convergence_s"] is not None:
        told.append(
            f"The second flow's window reached 80 % of the first one's after {number(near['convergence_s'])} s."
        )
    elif len(records.flows) > 1:
        told.append(f"Convergence time: none, {html.escape(near['reason'])}.")
    parts = [f"<p>{' '.join(told)}</p>", "<h2>Flows</h2>", _frame(per_flow(records).drop("flow"))]
    parts += ["<h2>Bottlenecks</h2>", _frame(per_link(records)), *_over_time({"run": records}, "Over time")]
    parts += _about(records.scenario.to_toml(), records.notes)
    return page(
        records.scenario.title or "A run",
        parts,
        footer=f"cwndlab {records.version} · scenario {records.scenario_hash} · seed {records.seed}",
    )


def _summary(found: Comparison) -> list[str]:
    """What was compared, and in a sentence per algorithm what its intervals tell."""
    used = "in every flow" if found.flows is None else f"in {', '.join(found.flows)}"
    count, total = len(found.rows), len(found.algorithms) * len(found.seeds)
    missing = "" if count == total else f" {count} of {total} runs finished."
    intro = (
        f"{len(found.algorithms)} algorithms, each {used}, {len(found.seeds)} runs each with the same seeds.{missing} "
        "a ± b is a mean with half of its 95 % interval (Student's t)."
    )
    base, judged = found.algorithms[0], found.comparisons()
    items = []
    for name in found.algorithms[1:]:
        told, untold = [], []
        for metric in found.judged():
            if (name, metric) not in judged:
                continue
            (delta, adjusted), column = judged[name, metric], COLUMNS[metric]
            says = verdict(delta.paired, adjusted, column.direction)
            side = says.partition(",")[0]
            if side not in ("higher", "lower"):
                untold.append(column.title)
                continue
            mean, *ends = (end.lstrip("-") for end in interval(delta.paired, column.factor))
            low, high = ends if side == "higher" else reversed(ends)
            unit = {"": "", "%": " points"}.get(column.unit, f" {column.unit}")
            told.append(f"{column.title} {side} by {mean}{unit} ({low} to {high}){says.removeprefix(side)}")
        text = "; ".join(told) or "no interval excludes zero"
        rest = f" Not told apart: {', '.join(untold)}." if untold else ""
        items.append(f"<li><b>{html.escape(name)}</b>: {html.escape(text)}.{html.escape(rest)}</li>")
    parts = [f"<p>{html.escape(intro)}</p>"]
    if items:
        parts += [f"<p>Against <b>{html.escape(base)}</b>, over pairs of equal seeds:</p><ul>", *items, "</ul>"]
    return parts


def _how(found: Comparison) -> str:
    return (
        f'<p class="quiet">{html.escape(found.method())} Higher or lower needs an interval that excludes zero and an adjusted p below 0.05; '
        "without the correction one in twenty would say so by chance alone if nothing differed. Welch's test, which takes no notice of pairs, "
        "stands beside them.</p>"
    )


def _over_time(runs: Mapping[str, Records], heading: str) -> list[str]:
    from cwndlab.plots import SERIES, series, share
    from cwndlab.plots.series import MOST_FLOWS

    parts = [f"<h2>{html.escape(heading)}</h2>"]
    flows = max(len(records.flows) for records in runs.values())
    if not all(len(records.samples) for records in runs.values()):
        return [*parts, "<p>The scenario takes no samples, so nothing is known over time.</p>"]
    if flows > MOST_FLOWS:
        parts.append(f'<p class="quiet">The first {MOST_FLOWS} of {flows} flows are drawn.</p>')
    for kind, what in SERIES.items():
        parts += [f"<h3>{html.escape(what.axis)}</h3>", _figure(series(runs, kind), f"series-{kind}")]
    if flows > 1:
        parts += ["<h3>share of all goodput, %</h3>", _figure(share(runs), "series-share")]
    return parts


def _about(toml: str, notes: Sequence[str]) -> list[str]:
    parts = ["<h2>Scenario</h2>", f"<pre>{html.escape(toml)}</pre>"]
    if notes:
        parts.append("<h3>Notes</h3><ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>")
    return parts


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    said = {"higher": "told", "lower": "told", "no difference": "untold", "undecided after Holm": "untold"}

    def row(tag: str, cells: Sequence[str]) -> str:
        marks = [
            "text" if name in _TEXTS else said.get(cell.partition(",")[0], "")
            for name, cell in zip(header, cells, strict=True)
        ]
        texts = (
            f'<{tag} class="{mark}">{html.escape(cell)}</{tag}>' if mark else f"<{tag}>{html.escape(cell)}</{tag}>"
            for mark, cell in zip(marks, cells, strict=True)
        )
        return f"<tr>{''.join(texts)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><thead>{row('th', header)}</thead><tbody>{body}</tbody></table>"


def _frame(table: pl.DataFrame) -> str:
    """A table of metrics, in the units in which they are shown; columns without any value are left out."""
    names = [name for name in table.columns if table[name].null_count() < len(table)]
    header = [
        f"{COLUMNS[name].title}\n{COLUMNS[name].unit}" if name in COLUMNS else name.replace("_", " ") for name in names
    ]
    rows = []
    for row in table.select(names).iter_rows():
        cells = []
        for name, value in zip(names, row, strict=True):
            factor = COLUMNS[name].factor if name in COLUMNS else 1.0
            cells.append("–" if value is None else value if isinstance(value, str) else _number(value, factor))
        rows.append(cells)
    return _table(header, rows)


def _number(value: float, factor: float) -> str:
    return str(value) if isinstance(value, int) and factor == 1.0 else number(value * factor)


def _figure(figure: Any, name: str) -> str:
    config = {"displayModeBar": False, "responsive": True}
    text: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=config)
    return text


def save(text: str, path: Path | str) -> None:
    """Writes a page whole, or not at all."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise RecordsError(
            Fault(str(path), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None
    finally:
        if partial.is_file():
            partial.unlink()


def load(folder: Path | str) -> Comparison | Records:
    """What a folder holds: a comparison or a run."""
    from cwndlab.comparison import Comparison
    from cwndlab.records import Records

    folder = Path(folder)
    if not folder.is_dir():
        raise RecordsError(
            Fault(str(folder), "is no folder", "a folder that `cwndlab run --out` or `cwndlab compare --out` wrote")
        )
    return Comparison.read(folder) if (folder / "comparison.json").exists() else Records.read(folder)


def report(found: Comparison | Records | Path | str, path: Path | str) -> None:
    """Writes the page of a comparison, a run, or a folder that holds one."""
    from cwndlab.comparison import Comparison

    if isinstance(found, Path | str):
        found = load(found)
    save(comparison_page(found) if isinstance(found, Comparison) else run_page(found), path)


def figures(found: Comparison | Records | Path | str, folder: Path | str, *, format: str = "png") -> list[Path]:
    """Every figure of the page as a file; ``format`` is png or svg."""
    from cwndlab.comparison import Comparison
    from cwndlab.plots import SERIES
    from cwndlab.plots.bars import draw as draw_bars
    from cwndlab.plots.series import draw as draw_series
    from cwndlab.plots.share import draw as draw_share

    if format not in ("png", "svg"):
        raise RecordsError(Fault("--figures", f"'{format}' is no format of figures", "write png or svg"))
    if isinstance(found, Path | str):
        found = load(found)
    folder = Path(folder)
    runs: Mapping[str, Records] = found.examples if isinstance(found, Comparison) else {"run": found}
    runs = {name: records for name, records in runs.items() if len(records.samples)}
    made: list[Path] = []

    def place(name: str) -> str:
        made.append(folder / f"{name}.{format}")
        return str(made[-1])

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind in SERIES if runs else ():
            draw_series(runs, kind, place(kind))
        if any(len(records.flows) > 1 for records in runs.values()):
            draw_share(runs, place("share"))
        if isinstance(found, Comparison):
            for metric in found.judged():
                estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
                draw_bars(found.algorithms, estimates, place(metric), COLUMNS[metric])
    except OSError as error:
        raise RecordsError(
            Fault(str(folder), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None
    return made
