"""Reports: one self-contained HTML page, and figures as PNG, SVG or PDF. Computes no number that no metric defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import save
from cwndlab.live.results import Measurement
from cwndlab.metrics import COLUMNS
from cwndlab.plot import CDFS, SERIES
from cwndlab.plot.bars import draw as draw_bars
from cwndlab.plot.boxes import draw as draw_boxes
from cwndlab.plot.cdf import draw as draw_cdf
from cwndlab.plot.phase import draw as draw_phase
from cwndlab.plot.series import draw as draw_series
from cwndlab.plot.series import lines
from cwndlab.plot.share import draw as draw_share
from cwndlab.plot.style import chosen
from cwndlab.records import Records
from cwndlab.reports.comparison import comparison_page
from cwndlab.reports.measurement import measurement_page
from cwndlab.reports.run import run_page
from cwndlab.reports.sweep import SweepResult, sweep_figures, sweep_page
from cwndlab.simulate import run
from cwndlab.study.result import Result

if TYPE_CHECKING:
    from cwndlab.plot.style import Style


def load(folder: Path | str) -> Result | Measurement | Records | SweepResult:
    """What a folder holds: a comparison, a run, a sweep, or a measurement."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RecordsError(
            Fault(str(folder), "is no folder", "a folder that `cwndlab run --out` or `cwndlab compare --out` wrote")
        )
    if (folder / "measurement.json").exists():
        return Measurement.read(folder)
    if not any((folder / name).exists() for name in ("manifest.json", "comparison.json")):
        return Records.read(folder)
    result = Result.read(folder)
    return result if result.is_comparison else _sweep(result, folder.resolve().name)


def _sweep(result: Result, name: str = "A sweep") -> SweepResult:
    """The result as a page shows it: the run of a row can be repeated."""

    def again(row: int) -> Records:
        return run(result.scenario_of(result.runs["cell"][row]), seed=result.runs["seed"][row])

    return SweepResult(result.runs, result.title or name, again, result.unfinished)


def report(
    found: Result | Measurement | Records | SweepResult | Path | str, path: Path | str, *, series: int = 0
) -> None:
    """Writes the page of a comparison, a run, a sweep, a measurement, or a folder that holds one. Of a sweep, which
    keeps no records, the first ``series`` runs of every cell are run again for their time series."""
    if isinstance(found, Path | str):
        found = load(found)
    if isinstance(found, Result) and not found.is_comparison:
        found = _sweep(found)
    if isinstance(found, Result):
        save(comparison_page(found), path)
    elif isinstance(found, Records):
        save(run_page(found), path)
    elif isinstance(found, Measurement):
        save(measurement_page(found), path)
    else:
        save(sweep_page(found, series=series), path)


def figures(
    found: Result | Measurement | Records | SweepResult | Path | str,
    folder: Path | str,
    *,
    format: str = "png",
    style: str = "screen",
) -> list[Path]:
    """Every figure of the page as a file; ``format`` is png, svg or pdf, or several joined by commas, ``style`` screen
    or print (`cwndlab.plot.style`)."""
    formats, look = chosen(format, style)
    if isinstance(found, Path | str):
        found = load(found)
    if isinstance(found, Result) and not found.is_comparison:
        found = _sweep(found)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(found, Result | Measurement | Records):
            return sweep_figures(found, folder, formats, look)
        return [path for one in formats for path in _figures(found, folder, one, look)]
    except OSError as error:
        raise OutputError(
            Fault(str(folder), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None


def _figures(found: Result | Measurement | Records, folder: Path, format: str, style: Style) -> Iterator[Path]:
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
