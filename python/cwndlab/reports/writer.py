"""Reports: one self-contained HTML page, and figures as PNG, SVG or PDF. Every number is defined by a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import save
from cwndlab.live.results import Measurement
from cwndlab.metrics import COLUMNS
from cwndlab.plot import CDFS, Figure, bars, boxes, cdf, overview, phase, series, share
from cwndlab.plot.series import present
from cwndlab.plot.style import chosen
from cwndlab.records import Records
from cwndlab.reports.comparison import comparison_page
from cwndlab.reports.measurement import measurement_page
from cwndlab.reports.run import run_page, runs_page, side_by_side
from cwndlab.reports.sweep import SweepResult, sweep_figures, sweep_page
from cwndlab.study.result import Result

#: What has a page: a result, or the folder that holds one.
Reported: TypeAlias = Result | Measurement | Records | SweepResult | Path | str


def load(folder: Path | str) -> Result | Measurement | Records | SweepResult:
    """Reads the comparison, run, sweep or measurement that a folder holds."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RecordsError(
            Fault(str(folder), "is not a folder", "a folder that `cwndlab run --out` or `cwndlab compare --out` wrote")
        )
    if (folder / "measurement.json").exists():
        return Measurement.read(folder)
    if not any((folder / name).exists() for name in ("manifest.json", "comparison.json")):
        return Records.read(folder)
    result = Result.read(folder)
    return result if result.is_comparison else SweepResult.of(result, folder.resolve().name, str(folder))


def report(result: Reported | Sequence[Records | Path | str], path: Path | str, *, series: int = 0) -> None:
    """Writes the page of a comparison, a run, a sweep, a measurement, or a folder that holds one.

    Parameters
    ----------
    result:
        The result or its folder; two or three runs are shown side by side.
    path:
        The HTML file.
    series:
        Of a sweep, which keeps no records: the first ``series`` runs of every cell are run again for their time series.
    """
    if isinstance(result, Sequence) and not isinstance(result, str):
        save(runs_page([_run(one) for one in result]), path)
        return
    if isinstance(result, Path | str):
        result = load(result)
    if isinstance(result, Result) and not result.is_comparison:
        result = SweepResult.of(result, "A sweep")
    if isinstance(result, Result):
        save(comparison_page(result), path)
    elif isinstance(result, Records):
        save(run_page(result), path)
    elif isinstance(result, Measurement):
        save(measurement_page(result), path)
    else:
        save(sweep_page(result, series=series), path)


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
    format: str = "png",
    style: str = "screen",
) -> list[Path]:
    """Writes every figure of the page as a file.

    Parameters
    ----------
    result:
        The result or its folder; two or three runs are drawn side by side.
    format:
        ``png``, ``svg`` or ``pdf``, or several joined by commas.
    style:
        ``screen`` or ``print`` (`cwndlab.plot.style`).
    """
    formats, look = chosen(format, style)
    if isinstance(result, Path | str):
        result = load(result)
    if isinstance(result, Result) and not result.is_comparison:
        result = SweepResult.of(result, "A sweep")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(result, SweepResult):
            return sweep_figures(result, folder, formats, look)
        drawn = _figures(
            result if isinstance(result, Result | Measurement | Records) else [_run(one) for one in result]
        )
        made = []
        for ending in formats:
            for name, figure in drawn.items():
                made.append(folder / f"{name}.{ending}")
                figure.save(made[-1], look)
        return made
    except OSError as error:
        raise OutputError(
            Fault(str(folder), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None


def _runs(result: Result | Measurement | Records | Sequence[Records]) -> Mapping[str, Records]:
    if isinstance(result, Records):
        return {"run": result}
    return result.examples if isinstance(result, Result | Measurement) else side_by_side(result)


def _figures(result: Result | Measurement | Records | Sequence[Records]) -> dict[str, Figure]:
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
        labels, repetitions = result.algorithms, len(result.seeds)
    for metric in result.judged():
        column = COLUMNS[metric]
        made[metric] = bars(labels, [result.estimate(label, metric) for label in labels], column)
        if repetitions > 1:
            made[f"boxes-{metric}"] = boxes(result.by_seed(metric), column)
    return made
