"""Reports: one self-contained HTML page, and figures as PNG or SVG. Computes no number that no metric defines."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS, summary

if TYPE_CHECKING:
    from cwndlab.compare import Comparison
    from cwndlab.records import Records

#: Bars of a comparison.
BARS = (
    "goodput_bps",
    "utilisation",
    "loss_ratio",
    "jain",
    "queue_ms",
    "mean_rtt_ms",
    "retransmitted_packets",
    "convergence_s",
)

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --line: #d0d7de; --soft: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --back: #14181d; --line: #39424c; --soft: #1d232a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 1240px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { white-space: pre-line; vertical-align: bottom; }
pre { background: var(--soft); padding: 1rem; overflow-x: auto; border-radius: 6px; }
.bars { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 1rem; }
.bars > div { min-width: 0; overflow: hidden; }
footer { margin-top: 3rem; color: gray; font-size: .85rem; }
"""

# Figures take the page's colours, and follow when the system changes between light and dark; their size is settled
# once the whole page is laid out.
_SCRIPT = """
const dark = window.matchMedia('(prefers-color-scheme: dark)');
function dress() {
  const text = dark.matches ? '#e6e9ec' : '#1b1f24', grid = dark.matches ? '#39424c' : '#d0d7de';
  document.querySelectorAll('.plotly-graph-div').forEach(div => {
    const change = {paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', 'font.color': text};
    Object.keys(div.layout).filter(key => /^[xy]axis/.test(key)).forEach(key => { change[key + '.gridcolor'] = grid; change[key + '.zerolinecolor'] = grid; });
    Plotly.relayout(div, change);
    Plotly.Plots.resize(div);
  });
}
dark.addEventListener('change', dress); window.addEventListener('load', dress);
"""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _figure(figure: Any, name: str) -> str:
    config = {"displayModeBar": False, "responsive": True}
    text: str = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=config)
    return text


def page(title: str, parts: Sequence[str], *, footer: str) -> str:
    """A page that needs nothing from the network: style, script and plotly itself are in it."""
    from plotly.offline import get_plotlyjs

    body = "\n".join(parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style><script>{get_plotlyjs()}</script></head>"
        f"<body><h1>{html.escape(title)}</h1>{body}<footer>{html.escape(footer)}</footer><script>{_SCRIPT}</script></body></html>"
    )


def _series_parts(runs: Mapping[str, Records], heading: str) -> list[str]:
    from cwndlab.plots import SERIES, series

    parts = [f"<h2>{html.escape(heading)}</h2>"]
    for kind, axis in SERIES.items():
        parts += [f"<h3>{html.escape(axis)}</h3>", _figure(series(runs, kind), f"series-{kind}")]
    return parts


def comparison_page(found: Comparison) -> str:
    """The page of a comparison."""
    from cwndlab.plots import bars
    from cwndlab.run import version

    title = found.scenario.title or "Comparison of congestion controls"
    intro = (
        f"<p>{len(found.algorithms)} algorithms, {len(found.seeds)} repetitions each with the same seeds ({found.seeds[0]} to {found.seeds[-1]}). "
        "Means with 95 % intervals (Student's t). Differences are paired over equal seeds; only an interval that excludes zero says higher or lower.</p>"
    )
    parts = [intro, _table(*found.table())]
    header, rows = found.differences()
    if rows:
        parts += [f"<h2>Differences to {html.escape(found.algorithms[0])}</h2>", _table(header, rows)]
    parts.append('<h2>Means and intervals</h2><div class="bars">')
    for metric in BARS:
        name, unit, factor = COLUMNS[metric]
        estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
        if any(one.n for one in estimates):
            parts.append(
                _figure(bars(found.algorithms, estimates, title=name, unit=unit, factor=factor), f"bars-{metric}")
            )
    parts.append("</div>")
    if found.examples:
        parts += _series_parts(found.examples, f"Over time, seed {found.seeds[0]}")
    parts += _about(found.scenario.to_toml(), found.notes)
    return page(
        title,
        parts,
        footer=f"cwndlab {version()} · scenario {found.scenario.hash[:12]} · seeds {found.seeds[0]}–{found.seeds[-1]}",
    )


def run_page(records: Records) -> str:
    """The page of one run."""
    from cwndlab.compare import number

    flows = records.flows
    columns = [
        "name",
        "algorithm",
        "delivered_bytes",
        "sent_packets",
        "retransmitted_packets",
        "recoveries",
        "timeouts",
    ]
    rows = [[str(cell) for cell in row] for row in flows.select(columns).rows()]
    values = summary(records)
    metrics = [
        [f"{COLUMNS[key][0]} {COLUMNS[key][1]}".strip(), "–" if value is None else number(value * COLUMNS[key][2])]
        for key, value in values.items()
    ]
    parts = [_table(columns, rows), _table(["metric", "value"], metrics), *_series_parts({"run": records}, "Over time")]
    parts += _about(records.scenario.to_toml(), records.notes)
    return page(
        records.scenario.title or "A run",
        parts,
        footer=f"cwndlab {records.version} · scenario {records.scenario_hash[:12]} · seed {records.seed}",
    )


def _about(toml: str, notes: Sequence[str]) -> list[str]:
    parts = ["<h2>Scenario</h2>", f"<pre>{html.escape(toml)}</pre>"]
    if notes:
        parts.append("<ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>")
    return parts


def save(text: str, path: Path | str) -> None:
    """Writes a page whole, or not at all."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RecordsError(
            Fault(str(path), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None


def load(folder: Path | str) -> Comparison | Records:
    """What a folder holds: a comparison or a run."""
    from cwndlab.compare import Comparison
    from cwndlab.records import Records

    folder = Path(folder)
    if not folder.is_dir():
        raise RecordsError(
            Fault(str(folder), "is no folder", "a folder that `cwndlab run --out` or `cwndlab compare --out` wrote")
        )
    return Comparison.read(folder) if (folder / "comparison.json").exists() else Records.read(folder)


def report(found: Comparison | Records | Path | str, path: Path | str) -> None:
    """Writes the page of a comparison, a run, or a folder that holds one."""
    from cwndlab.compare import Comparison

    if isinstance(found, Path | str):
        found = load(found)
    save(comparison_page(found) if isinstance(found, Comparison) else run_page(found), path)


def figures(found: Comparison | Records | Path | str, folder: Path | str, *, format: str = "png") -> list[Path]:
    """Every figure of the page as a file; ``format`` is png or svg."""
    from cwndlab.compare import Comparison
    from cwndlab.plots import SERIES
    from cwndlab.plots.bars import draw as draw_bars
    from cwndlab.plots.series import draw as draw_series

    if format not in ("png", "svg"):
        raise RecordsError(Fault("--figures", f"'{format}' is no format of figures", "write png or svg"))
    if isinstance(found, Path | str):
        found = load(found)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    runs: Mapping[str, Records] = found.examples if isinstance(found, Comparison) else {"run": found}
    made = []
    for kind in SERIES:
        if runs:
            made.append(folder / f"{kind}.{format}")
            draw_series(runs, kind, str(made[-1]))
    if isinstance(found, Comparison):
        for metric in BARS:
            name, unit, factor = COLUMNS[metric]
            estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
            if all(one.n for one in estimates):
                made.append(folder / f"{metric}.{format}")
                draw_bars(found.algorithms, estimates, str(made[-1]), title=name, unit=unit, factor=factor)
    return made
