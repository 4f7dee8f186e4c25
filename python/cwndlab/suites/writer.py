"""Writes the runs of a suite: records, reference qlog and figure of each case."""

from __future__ import annotations

from pathlib import Path

from cwndlab.errors import RunError
from cwndlab.export import export
from cwndlab.files import json_text, save, slug
from cwndlab.plot import overview
from cwndlab.suites.runner import SuiteResult


def write(result: SuiteResult, folder: Path | str) -> list[Path]:
    """Writes ``suite.json`` and, for each case and path that ran, the folders ``records`` and ``qlog`` and, where
    matplotlib is installed (``pip install 'cwndlab[print]'``), ``overview.png``.

    Parameters
    ----------
    result
        A result whose runs were kept.
    folder
        The folder; a case has the folder ``CASE/PATH`` in it.

    Returns
    -------
    list of Path
        The folders of the cases.

    Raises
    ------
    RecordsError
        Where a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import cwndlab
    >>> result = cwndlab.suites.run("rfc9937", cases=["exit"], keep=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [str(one.relative_to(folder)) for one in cwndlab.suites.write(result, folder)]
    ['exit/10_Mbit_s_100_ms']
    """
    folder = Path(folder)
    made = []
    draws = True
    for outcome in result.outcomes:
        if outcome.trace is None:
            continue
        place = folder / slug(outcome.case.name) / slug(outcome.path.name)
        records = outcome.trace.records
        records.save(place / "records")
        export(records, "qlog", place / "qlog")
        if draws:
            try:
                overview(records).save(place / "overview.png")
            except RunError:
                draws = False  # matplotlib is not installed
        made.append(place)
    save(json_text(result.as_dict(), indent=2) + "\n", folder / "suite.json")
    return made
