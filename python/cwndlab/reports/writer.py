"""Reports: one self-contained HTML page, and figures as PNG, SVG or PDF. Every number is defined by a metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import save
from cwndlab.live.results import Measurement
from cwndlab.plot import CDFS, Figure, bars, boxes, cdf, overview, phase, series, share
from cwndlab.plot.series import present
from cwndlab.plot.style import chosen
from cwndlab.records import Records
from cwndlab.reports.charts import Asked
from cwndlab.reports.charts import thresholds as marked
from cwndlab.reports.comparison import comparison_page
from cwndlab.reports.measurement import measurement_page
from cwndlab.reports.run import run_page, runs_page, side_by_side
from cwndlab.reports.sweep import sweep_figures, sweep_page
from cwndlab.study.result import Result
from cwndlab.study.tables import column

#: What is saved in a folder.
Saved: TypeAlias = Result | Measurement | Records
#: What has a page: a result, or the folder that holds one.
Reported: TypeAlias = Saved | Path | str


def load(place: Path | str) -> Saved:
    """Reads what was saved: a run, a comparison, a sweep, a reproduction's runs, or a measurement.

    Parameters
    ----------
    place
        A folder, or for a `Result` any URL that fsspec knows.

    Returns
    -------
    Result, Records or Measurement
        By what the place holds.

    Raises
    ------
    RecordsError
        It holds none of them.

    Examples
    --------
    >>> import cwndlab, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cwndlab.compare("single", ["reno"], seeds=1).save(folder)
    ...     cwndlab.load(folder)
    <Result: 1 cell reno, 1 of 1 runs>
    """
    if "://" in str(place):
        return Result.read(place)
    folder = Path(place)
    if not folder.is_dir():
        raise RecordsError(
            Fault(str(folder), "is not a folder", "a folder that `cwndlab run --out` or `cwndlab compare --out` wrote")
        )
    if (folder / "measurement.json").exists():
        return Measurement.read(folder)
    is_study = any((folder / name).exists() for name in ("manifest.json", "comparison.json"))
    return Result.read(folder) if is_study else Records.read(folder)


def _result_page(result: Result, asked: Asked, series: int) -> str:
    if result.header.kind == "matrix":
        asked = replace(asked, x=asked.x or "setting", by=asked.by or "algorithm")
    asked.axes(result)
    if (result.is_comparison or result.header.compared) and len(result.labels) <= _MOST_COMPARED:
        return comparison_page(result, asked)
    return sweep_page(result, asked, series=series)


#: What makes the page of each kind of result.
_PAGES: dict[type, Callable[..., str]] = {
    Result: _result_page,
    Records: lambda one, *_: run_page(one),
    Measurement: lambda one, *_: measurement_page(one),
}
#: Values of one field that have a page with bars of their own.
_MOST_COMPARED = 24


def report(
    result: Reported | Sequence[Records | Path | str],
    path: Path | str,
    *,
    metrics: Sequence[str] | None = None,
    x: str | None = None,
    by: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    series: int = 0,
) -> None:
    """Writes the page of a comparison, a run, a sweep, a measurement, or a folder that holds one.

    Parameters
    ----------
    result
        The result or its folder; two or three runs are shown side by side.
    path
        The HTML file.
    metrics
        The metrics with which the page of a comparison or a sweep opens, by default those that were asked for.
    x, by
        What varies along the figures of several axes, and what has colours, as in `Result.plot`.
    thresholds
        Values that figures of a comparison or a sweep mark, such as a deadline, by metric and in the unit shown.
        Delays near it have 150 ms of ITU-T G.114.
    series
        Of a sweep, which keeps no records: the first ``series`` runs of every cell are run again for their time series.

    Raises
    ------
    RecordsError
        The folder holds none of them, or the file cannot be written.
    """
    if isinstance(result, Sequence) and not isinstance(result, str):
        save(runs_page([_run(one) for one in result]), path)
        return
    one = load(result) if isinstance(result, Path | str) else result
    save(_PAGES[type(one)](one, Asked(metrics, x, by, thresholds), series), path)


def _run(result: Records | Path | str) -> Records:
    """A run, or that of a folder; raises where the folder holds another result."""
    one = result if isinstance(result, Records) else load(result)
    if isinstance(one, Records):
        return one
    raise RecordsError(Fault(str(result), "holds no single run", "name folders that `cwndlab run --out` wrote"))


def figures(
    result: Reported | Sequence[Records | Path | str],
    folder: Path | str,
    *,
    metrics: Sequence[str] | None = None,
    x: str | None = None,
    by: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    format: str = "png",
    style: str = "screen",
) -> list[Path]:
    """Writes every figure of the page as a file.

    Parameters
    ----------
    result
        The result or its folder; two or three runs are drawn side by side.
    metrics
        The metrics of a comparison or a sweep that are drawn, by default all that are compared.
    x, by, thresholds
        As in `report`.
    format
        ``png``, ``svg`` or ``pdf``, or several joined by commas.
    style
        ``screen`` or ``print`` (`cwndlab.plot.style`).

    Returns
    -------
    list of Path
        The files.
    """
    (formats, look), asked = chosen(format, style), Asked(metrics, x, by, thresholds)
    one = load(result) if isinstance(result, Path | str) else result
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(one, Result) and not one.is_comparison:
            named = metrics or one.judged() if one.header.compared else ()
            drawn = {name: asked.figure(one, name) for name in named} or sweep_figures(one, asked)
        else:
            several = [_run(each) for each in one] if isinstance(one, Sequence) else one
            drawn = _figures(several, asked)
        made = []
        for ending in formats:
            for name, one_figure in drawn.items():
                made.append(folder / f"{name}.{ending}")
                one_figure.save(made[-1], look)
        return made
    except OSError as error:
        raise OutputError(
            Fault(str(folder), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None


def _runs(result: Result | Measurement | Records | Sequence[Records]) -> Mapping[str, Records]:
    if isinstance(result, Records):
        return {"run": result}
    return result.examples if isinstance(result, Result | Measurement) else side_by_side(result)


def _figures(result: Result | Measurement | Records | Sequence[Records], asked: Asked) -> dict[str, Figure]:
    """The figures of the page, by the names of their files."""
    is_linked = not isinstance(result, Result | Measurement)
    runs = {name: records for name, records in _runs(result).items() if len(records.samples)}
    made: dict[str, Figure] = {}
    if runs:
        made |= {kind: series(runs, kind) for kind in present(runs.values())}
        made |= {"overview": overview(runs)} if is_linked else {}
    if any(len(records.flows) > 1 for records in runs.values()):
        made |= {"share": share(runs)}
    if pairs := {name: records for name, records in runs.items() if len(records.flows) == 2}:
        made |= {"phase": phase(pairs)}
    for of in CDFS if runs else ():
        one = cdf(runs, of)
        made |= {f"cdf-{of}": one} if one is not None else {}
    if not isinstance(result, Result | Measurement):
        return made
    if isinstance(result, Measurement):
        labels, repetitions = list(result.series), max(len(one.rounds) for one in result.servers)
    else:
        labels, repetitions = result.labels, len(result.seeds)
    for metric in asked.metrics or result.judged():
        look = column(metric)
        marks = marked(result, metric, asked.marks) if isinstance(result, Result) else ()
        estimates = [result.estimate(label, metric) for label in labels]
        made[metric] = bars(labels, estimates, look, thresholds=marks)
        if repetitions > 1:
            made[f"boxes-{metric}"] = boxes(result.by_seed(metric), look)
    return made
