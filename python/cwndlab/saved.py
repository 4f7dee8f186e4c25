"""What was saved, by whichever command: read, drawn as one self-contained HTML page, and as figures in files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import cwndlab
from cwndlab.errors import ArgumentError, Fault, RecordsError, parameter_fault
from cwndlab.files import not_written, own_name, save
from cwndlab.live.results import Measurement
from cwndlab.metrics.summary import requested
from cwndlab.plot import CDFS, Figure, bars, boxes, cdf, overview, phase, series, share
from cwndlab.plot.phase import path_of
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

if TYPE_CHECKING:
    from cwndlab.assessment import Dossier
    from cwndlab.reproduction import Reproductions
    from cwndlab.study.tuning import TuningResult
    from cwndlab.suites import SuiteResult

__all__ = ["figures", "load", "report"]

#: What a command saves in a folder.
Saved: TypeAlias = "Result | Measurement | Records | SuiteResult | TuningResult | Reproductions | Dossier"
#: What has a page: a result, or the folder that holds one.
Reported: TypeAlias = "Saved | Path | str"

#: What reads a folder, by a file in it; a folder with none of them holds a run.
_READERS: dict[str, Callable[[Path], Saved]] = {
    "measurement.json": Measurement.read,
    "dossier.json": lambda place: cwndlab.assessment.Dossier.read(place),
    "suite.json": lambda place: cwndlab.suites.SuiteResult.read(place),
    "tuning.json": lambda place: cwndlab.study.tuning.TuningResult.read(place),
    "index.json": lambda place: cwndlab.reproduction.standing.read(place),
    "*/*/outcome.json": lambda place: cwndlab.reproduction.outcomes.read(place),
    "manifest.json": Result.read,
    "comparison.json": Result.read,
}


def load(place: Path | str) -> Saved:
    """Reads the folder of `run`, `compare`, `sweep`, `matrix`, `tune`, `suite`, `assess`, `reproduce` or `measure`.

    Parameters
    ----------
    place
        A folder, or for a `Result` any URL that fsspec knows.

    Returns
    -------
    Result, Records, SuiteResult, TuningResult, Dossier, Reproductions or Measurement
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
    if not isinstance(place, str | Path):
        what = f"a value of type {type(place).__name__} is not a folder"
        raise ArgumentError(parameter_fault("place", what, example="out"))
    if "://" in str(place):
        return Result.read(place)
    folder = Path(place)
    if not folder.is_dir():
        raise RecordsError(
            Fault(str(folder), "is not a folder", "a folder that `cwndlab run --out` or `cwndlab compare --out` wrote")
        )
    read = next((read for mark, read in _READERS.items() if any(folder.glob(mark))), Records.read)
    runs = [str(file.parent) for file in sorted(folder.glob("*/runs.parquet"))]
    if read == Records.read and runs and not (folder / "runs.parquet").exists():
        draws = f"; `cwndlab report {' '.join(runs)}` draws them side by side" if len(runs) in (2, 3) else ""
        raise RecordsError(Fault(str(folder), "holds folders of runs", f"name one of {', '.join(runs)}{draws}"))
    return read(folder)


def _result_page(result: Result, asked: Asked, series: int) -> str:
    if result.header.kind == "matrix":
        asked = replace(asked, x=asked.x or "setting", by=asked.by or "algorithm")
    asked.axes(result)
    if (result.is_comparison or result.header.compared) and len(result.labels) <= _MOST_COMPARED:
        return comparison_page(result, asked)
    return sweep_page(result, asked, series=series)


#: What makes the page of each kind of result; others have a method of their own.
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
    metrics: str | Sequence[str] | None = None,
    x: str | None = None,
    by: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    series: int = 0,
) -> None:
    """Writes the page of a result, or of the folder that holds one.

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
        _refuse_ignored(result, metrics=metrics, x=x, by=by, thresholds=thresholds, series=series)
        save(runs_page([_run(one) for one in result]), path)
        return
    one: Any = load(result) if isinstance(result, Path | str) else result
    _refuse_ignored(one, metrics=metrics, x=x, by=by, thresholds=thresholds, series=series)
    if (page := _PAGES.get(type(one))) is not None:
        save(page(one, _asked(metrics, x, by, thresholds), series), path)
    elif hasattr(one, "report"):
        one.report(path)
    else:
        what = f"a value of type {type(one).__name__} is not a result"
        hint = "hand over what `cwndlab.run`, `compare` or `sweep` returns, or a folder"
        raise ArgumentError(parameter_fault("result", what, hint=hint))


def _asked(
    metrics: str | Sequence[str] | None, x: str | None, by: str | None, thresholds: Mapping[str, float] | None
) -> Asked:
    return Asked(None if metrics is None else requested(metrics), x, by, thresholds)


def _refuse_ignored(one: object, **asked: object) -> None:
    """Raises if something is asked of the page or the figures of a result that they do not have."""
    if isinstance(one, Result):
        return
    # The figures of a campaign are of metrics, too.
    known = {"metrics"} if isinstance(one, Measurement) else set()
    kind = "a run" if isinstance(one, Records | Sequence) else type(one).__name__
    faults = [
        parameter_fault(name, f"is of a comparison or a sweep, not of {kind}", hint="leave it out")
        for name, value in asked.items()
        if value and name not in known
    ]
    if faults:
        raise ArgumentError(*faults)


def _run(result: Records | Path | str) -> Records:
    """A run, or that of a folder; raises where it is another result."""
    one = load(result) if isinstance(result, Path | str) else result
    if isinstance(one, Records):
        return one
    raise RecordsError(Fault(str(result), "holds no single run", "name folders that `cwndlab run --out` wrote"))


def figures(
    result: Reported | Sequence[Records | Path | str],
    folder: Path | str,
    *,
    metrics: str | Sequence[str] | None = None,
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
    (formats, look), asked = chosen(format, style), _asked(metrics, x, by, thresholds)
    one: Any = load(result) if isinstance(result, Path | str) else result
    _refuse_ignored(one, metrics=metrics, x=x, by=by, thresholds=thresholds)
    draw = _several if isinstance(one, Sequence) else _FIGURES.get(type(one))
    if draw is None:
        raise RecordsError(Fault(repr(one), "has no figures beside its page", "write a page by its `report`"))
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        drawn, made = draw(one, asked), []
        for ending in formats:
            for name, one_figure in drawn.items():
                # A metric of one flow has the flow's name, which may be that of no file.
                made.append(folder / f"{own_name(name) if _NO_FILE.search(name) else name}.{ending}")
                one_figure.save(made[-1], look)
        return made
    except OSError as error:
        raise not_written(folder, error) from None


def _over_time(given: Mapping[str, Records], *, linked: bool = True) -> dict[str, Figure]:
    """The figures of runs over time, and their distributions."""
    runs = {name: records for name, records in given.items() if len(records.samples)}
    made: dict[str, Figure] = {}
    if runs:
        made |= {kind: series(runs, kind) for kind in present(runs.values())}
        made |= {"overview": overview(runs)} if linked else {}
    if any(len(records.flows) > 1 for records in runs.values()):
        made |= {"share": share(runs)}
    if pairs := {name: one for name, one in runs.items() if len(one.flows) == 2 and path_of(one).time_s}:
        made |= {"phase": phase(pairs)}
    for of in CDFS if runs else ():
        one = cdf(runs, of)
        made |= {f"cdf-{of}": one} if one is not None else {}
    return made


def _several(runs: Sequence[Records | Path | str], _: Asked) -> dict[str, Figure]:
    return _over_time(side_by_side([_run(one) for one in runs]))


def _of_result(result: Result, asked: Asked) -> dict[str, Figure]:
    if result.is_comparison:
        return _over_time(result.examples, linked=False) | _compared(result, result.labels, len(result.seeds), asked)
    named = asked.metrics or result.judged() if result.header.compared else ()
    return {name: asked.figure(result, name) for name in named} or sweep_figures(result, asked)


def _of_measurement(result: Measurement, asked: Asked) -> dict[str, Figure]:
    rounds = max(len(one.rounds) for one in result.servers)
    return _over_time(result.examples, linked=False) | _compared(result, list(result.series), rounds, asked)


def _compared(result: Result | Measurement, labels: Sequence[str], count: int, asked: Asked) -> dict[str, Figure]:
    """Means, and all values where there are several."""
    made = {}
    for metric in asked.metrics or result.judged():
        marks = marked(result, metric, asked.marks) if isinstance(result, Result) else ()
        estimates = [result.estimate(label, metric) for label in labels]
        made[metric] = bars(labels, estimates, column(metric), thresholds=marks)
        if count > 1:
            made[f"boxes-{metric}"] = boxes(result.by_seed(metric), column(metric))
    return made


#: What no name of a file has on some system.
_NO_FILE = re.compile(r"""[/\\:*?"<>|\x00-\x1f]""")
#: What draws each kind of result.
_FIGURES: dict[type, Callable[[Any, Asked], dict[str, Figure]]] = {
    Result: _of_result,
    Measurement: _of_measurement,
    Records: lambda records, _: _over_time({"run": records}),
}
