"""Reports: one self-contained HTML page, and figures as PNG, SVG or PDF. Computes no number that no metric defines."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.digits import interval, number
from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import save
from cwndlab.metrics import COLUMNS, convergence, fairness, per_flow, per_link
from cwndlab.metrics.margins import judged as word_for
from cwndlab.metrics.summary import FLOW_COLUMNS
from cwndlab.pages import figure, page

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.comparison import Comparison
    from cwndlab.live.results import Measurement
    from cwndlab.pages.sweep import Swept
    from cwndlab.plots.style import Style
    from cwndlab.records import Records

# Columns of words.
_TEXTS = ("metric", "algorithm", "link", "part", "effect of", "says", "minus", "sender", "begins")


def comparison_page(found: Comparison) -> str:
    """The page of a comparison."""
    from cwndlab.plots import bars, boxes
    from cwndlab.run import version

    if not found.rows:
        raise RecordsError(Fault("comparison", "holds no finished run", "run `cwndlab compare` again"))
    shown, behind = found.judged(), _behind(found)
    parts = [*_summary(found), "<h2>Means and intervals</h2>", table(*found.table(shown))]
    parts.append('<div class="bars">')
    for metric in shown:
        estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
        drawn = bars(found.algorithms, estimates, COLUMNS[metric], [target for _, target in behind])
        parts.append(figure(drawn, f"bars-{metric}", f"{COLUMNS[metric].heading} of each algorithm", behind))
    parts.append("</div>")
    if len(found.seeds) > 1:
        parts.append('<details><summary>Every run: box plots over seeds</summary><div class="bars">')
        targets = {(row["algorithm"], row["seed"]): f"#run={at}" for at, row in enumerate(found.rows)}
        for metric in shown:
            drawn = boxes(found.by_seed(metric), COLUMNS[metric], targets)
            says = f"{COLUMNS[metric].heading} of every run of each algorithm"
            parts.append(figure(drawn, f"boxes-{metric}", says, behind))
        parts.append("</div></details>")
    header, rows = found.differences(shown)
    if rows:
        parts += [f"<h2>Paired differences to {html.escape(found.algorithms[0])}</h2>", _how(found)]
        parts.append(table(header, rows))
    if found.examples:
        parts += over_time(found.examples, f"Over time, seed {found.seeds[0]}", _examples(found))
    parts += _about(found.scenario.to_toml(), found.notes)
    seeds = f"seeds {found.seeds[0]}–{found.seeds[-1]}"
    return page(
        found.scenario.title or "Comparison of congestion controls",
        parts,
        footer=f"cwndlab {version()} · scenario {found.scenario.hash} · {seeds} · {len(found.rows)} runs",
        data=_packed(found),
    )


def _behind(found: Comparison) -> list[tuple[str, str]]:
    """What the marks of an algorithm open: its runs."""
    return [(name, f"#runs={at}") for at, name in enumerate(found.algorithms)]


def _examples(found: Comparison) -> dict[str, str]:
    """What the lines of an algorithm open: the run that they are of."""
    first = {row["algorithm"]: at for at, row in reversed(list(enumerate(found.rows))) if row["seed"] == found.seeds[0]}
    return {name: f"#run={first[name]}" for name in found.examples if name in first}


def _packed(found: Comparison) -> dict[str, Any]:
    from cwndlab.pages.runs import Group, packed

    fields = {name: [row[name] for row in found.rows] for name in ("algorithm", "seed")}
    places = {(row["algorithm"], row["seed"]): at for at, row in enumerate(found.rows)}
    groups = [
        Group(name, [at for (algorithm, _), at in places.items() if algorithm == name]) for name in found.algorithms
    ]
    series = [(places[key], read) for key, read in found.kept().items() if key in places]
    flows = max((len(records.flows) for records in found.examples.values()), default=1)
    metrics = {name: [row.get(name) for row in found.rows] for name in found.judged()}
    return packed(fields, metrics, groups, series, flows=flows)


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
    parts += ["<h2>Bottlenecks</h2>", _frame(per_link(records)), *over_time({"run": records}, "Over time")]
    parts += _about(records.scenario.to_toml(), records.notes)
    return page(
        records.scenario.title or "A run",
        parts,
        footer=f"cwndlab {records.version} · scenario {records.scenario_hash} · seed {records.seed}",
    )


def _summary(found: Comparison) -> list[str]:
    """What was compared, and in a sentence per algorithm what its intervals tell."""
    used = "in every flow" if found.flows is None else f"in {', '.join(found.flows)}"
    used += "" if found.against is None else f", the other flows over TCP under {found.against}"
    count, total = len(found.rows), len(found.algorithms) * len(found.seeds)
    missing = "" if count == total else f" {count} of {total} runs finished."
    intro = (
        f"{len(found.algorithms)} algorithms, each {used}, {len(found.seeds)} runs each with the same seeds.{missing} "
        "a ± b is a mean with half of its 95 % interval (Student's t)."
    )
    base, judged = found.algorithms[0], found.comparisons()
    items = []
    for name in found.algorithms[1:]:
        told: list[str] = []
        alike: list[str] = []
        untold: list[str] = []
        for metric in found.judged():
            if (name, metric) not in judged:
                continue
            (delta, adjusted), column = judged[name, metric], COLUMNS[metric]
            says = word_for(metric, delta, adjusted)
            side = says.partition(",")[0]
            if side not in ("higher", "lower"):
                (alike if says in ("no difference", "no relevant difference") else untold).append(column.title)
                continue
            mean, *ends = (end.lstrip("-") for end in interval(delta.paired, column.factor))
            low, high = ends if side == "higher" else reversed(ends)
            unit = {"": "", "%": " points"}.get(column.unit, f" {column.unit}")
            told.append(f"{column.title} {side} by {mean}{unit} ({low} to {high}){says.removeprefix(side)}")
        text = "; ".join(told) or "no relevant difference is shown"
        rest = f" No relevant difference: {', '.join(alike)}." if alike else ""
        rest += f" Inconclusive: {', '.join(untold)}." if untold else ""
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


def over_time(runs: Mapping[str, Records], heading: str, opens: Mapping[str, str] | None = None) -> list[str]:
    """Lines and distributions of runs side by side."""
    from cwndlab.plots import CDFS, SERIES, cdf, phase, series, share
    from cwndlab.plots.series import MOST_FLOWS, lines

    parts = [f"<h2>{html.escape(heading)}</h2>"]
    flows = max(len(records.flows) for records in runs.values())
    behind = list((opens or {}).items())
    if not all(len(records.samples) for records in runs.values()):
        return [*parts, "<p>The scenario takes no samples, so nothing is known over time.</p>"]
    if flows > MOST_FLOWS:
        parts.append(f'<p class="quiet">The first {MOST_FLOWS} of {flows} flows are drawn.</p>')
    for kind, what in SERIES.items():
        if not any(any(line.time_s for line in lines(records, kind, points=2)) for records in runs.values()):
            continue  # of a path that is not seen there are no queues
        drawn = figure(series(runs, kind), f"series-{kind}", f"{what.axis} over time")
        parts += [f"<h3>{html.escape(what.axis)}</h3>", drawn]
    if flows > 1:
        drawn = figure(share(runs), "series-share", "each flow's share of all goodput over time")
        parts += ["<h3>share of all goodput, %</h3>", drawn]
        parts += ["<h3>window of the second flow against that of the first</h3>"]
        parts += ['<p class="quiet">On the dashed line both are equal.</p><div class="bars">']
        for position, (name, records) in enumerate(runs.items()):
            if len(records.flows) > 1:
                says = f"the second flow's window against the first one's, {name}"
                one, mine = phase(records, name, (opens or {}).get(name, "")), behind[position : position + 1]
                parts.append(figure(one, f"phase-{position}", says, mine))
        parts.append("</div>")
    parts.append("<h2>Distributions</h2>")
    if len(runs) > 1:
        parts.append('<p class="quiet">Of the same runs, all flows together.</p>')
    for of, axis in CDFS.items():
        one = cdf(runs, of, opens)
        if one is not None:
            parts += [f"<h3>{html.escape(axis)}</h3>", figure(one, f"cdf-{of}", f"distribution of the {axis}", behind)]
    return parts


def _about(toml: str, notes: Sequence[str]) -> list[str]:
    parts = ["<h2>Scenario</h2>", f"<pre>{html.escape(toml)}</pre>"]
    if notes:
        parts.append("<h3>Notes</h3><ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>")
    return parts


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of a page; columns of words, and what a verdict says, are marked."""
    said = {
        "higher": "told",
        "lower": "told",
        "no difference": "untold",
        "no relevant difference": "untold",
        "inconclusive": "untold",
        "undecided after Holm": "untold",
    }

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


def _frame(frame: pl.DataFrame) -> str:
    """A table of metrics, in the units in which they are shown; columns without any value are left out."""
    names = [name for name in frame.columns if frame[name].null_count() < len(frame)]
    columns = COLUMNS | FLOW_COLUMNS
    header = [
        f"{columns[name].title}\n{columns[name].unit}" if name in columns else name.replace("_", " ") for name in names
    ]
    rows = []
    for row in frame.select(names).iter_rows():
        cells = []
        for name, value in zip(names, row, strict=True):
            factor = columns[name].factor if name in columns else 1.0
            cells.append("–" if value is None else value if isinstance(value, str) else _number(value, factor))
        rows.append(cells)
    return table(header, rows)


def _number(value: float, factor: float) -> str:
    return str(value) if isinstance(value, int) and factor == 1.0 else number(value * factor)


def load(folder: Path | str) -> Comparison | Measurement | Records | Swept:
    """What a folder holds: a comparison, a run, a sweep, or a measurement."""
    from cwndlab.comparison import Comparison
    from cwndlab.records import Records

    folder = Path(folder)
    if not folder.is_dir():
        raise RecordsError(
            Fault(str(folder), "is no folder", "a folder that `cwndlab run --out` or `cwndlab compare --out` wrote")
        )
    if (folder / "comparison.json").exists():
        return Comparison.read(folder)
    if (folder / "measurement.json").exists():
        from cwndlab.live.results import Measurement

        return Measurement.read(folder)
    if not (folder / "manifest.json").exists():
        return Records.read(folder)
    from cwndlab.pages.sweep import Swept
    from cwndlab.run import run

    sweeps = import_module("cwndlab.sweeps")
    rows: pl.DataFrame = sweeps.load(folder)

    def again(row: int) -> Records:
        return run(sweeps.scenario(folder, rows["cell"][row]), seed=rows["seed"][row])

    title, missing = sweeps.note(folder)
    return Swept(rows, title or folder.resolve().name, again, missing)


def report(
    found: Comparison | Measurement | Records | Swept | Path | str, path: Path | str, *, series: int = 0
) -> None:
    """Writes the page of a comparison, a run, a sweep, a measurement, or a folder that holds one. Of a sweep, which keeps no records,
    the first ``series`` runs of every cell are run again for their time series."""
    from cwndlab.comparison import Comparison
    from cwndlab.live.results import Measurement
    from cwndlab.records import Records

    if isinstance(found, Path | str):
        found = load(found)
    if isinstance(found, Comparison):
        save(comparison_page(found), path)
    elif isinstance(found, Records):
        save(run_page(found), path)
    elif isinstance(found, Measurement):
        from cwndlab.pages.measurement import measurement_page

        save(measurement_page(found), path)
    else:
        from cwndlab.pages.sweep import sweep_page

        save(sweep_page(found, series=series), path)


def figures(
    found: Comparison | Measurement | Records | Swept | Path | str,
    folder: Path | str,
    *,
    format: str = "png",
    style: str = "screen",
) -> list[Path]:
    """Every figure of the page as a file; ``format`` is png, svg or pdf, or several joined by commas, ``style`` screen
    or print (`cwndlab.plots.style`)."""
    from cwndlab.comparison import Comparison
    from cwndlab.live.results import Measurement
    from cwndlab.plots.style import chosen
    from cwndlab.records import Records

    formats, look = chosen(format, style)
    if isinstance(found, Path | str):
        found = load(found)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(found, Comparison | Measurement | Records):
            from cwndlab.pages.sweep import sweep_figures

            return sweep_figures(found, folder, formats, look)
        return [path for one in formats for path in _figures(found, folder, one, look)]
    except OSError as error:
        raise OutputError(
            Fault(str(folder), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None


def _figures(found: Comparison | Measurement | Records, folder: Path, format: str, style: Style) -> Iterator[Path]:
    from cwndlab.plots import CDFS, SERIES
    from cwndlab.plots.bars import draw as draw_bars
    from cwndlab.plots.boxes import draw as draw_boxes
    from cwndlab.plots.cdf import draw as draw_cdf
    from cwndlab.plots.phase import draw as draw_phase
    from cwndlab.plots.series import draw as draw_series
    from cwndlab.plots.series import lines
    from cwndlab.plots.share import draw as draw_share
    from cwndlab.records import Records

    runs: Mapping[str, Records] = {"run": found} if isinstance(found, Records) else found.examples
    runs = {name: records for name, records in runs.items() if len(records.samples)}

    def place(name: str) -> Path:
        return folder / f"{name}.{format}"

    for kind in SERIES if runs else ():
        if not any(any(line.time_s for line in lines(records, kind, points=2)) for records in runs.values()):
            continue
        draw_series(runs, kind, str(place(kind)), style)
        yield place(kind)
    if any(len(records.flows) > 1 for records in runs.values()):
        draw_share(runs, str(place("share")), style)
        yield place("share")
        draw_phase(runs, str(place("phase")), style)
        yield place("phase")
    for of in CDFS if runs else ():
        if draw_cdf(runs, of, str(place(f"cdf-{of}")), style):
            yield place(f"cdf-{of}")
    if isinstance(found, Records):
        return
    for metric in found.judged():
        column = COLUMNS[metric]
        estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
        draw_bars(found.algorithms, estimates, str(place(metric)), column, style)
        yield place(metric)
        if len(found.seeds) > 1:
            values = {name: list(one.values()) for name, one in found.by_seed(metric).items()}
            draw_boxes(values, str(place(f"boxes-{metric}")), column, style)
            yield place(f"boxes-{metric}")
