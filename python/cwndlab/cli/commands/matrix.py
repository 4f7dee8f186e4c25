"""``cwndlab matrix``: every algorithm in the same settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, Row, say_seed, write, write_rows
from cwndlab.cli.findings import judge
from cwndlab.cli.options import algorithms_of, command
from cwndlab.cli.progress import progress_bar
from cwndlab.errors import Fault, ScenarioError

if TYPE_CHECKING:
    from cwndlab.custom import Classes


def matrix(
    algorithms: str | None = None,
    seed: int = 1,
    perturb: bool | None = None,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Format = Format.table,
    strict: bool = False,
) -> None:
    """Run every algorithm in the same settings."""
    listed, classes = algorithms_of(algorithms, algorithm_file)
    names = listed or list(classes) or None
    _check(names or (), classes)
    with progress_bar() as progress:
        rows = list(
            cwndlab.study.matrix.matrix(
                names, seed=seed, workers=workers, progress=progress, classes=classes, perturb=bool(perturb)
            )
        )
    say_seed(seed)
    if format is not Format.table:
        write_rows(rows, cwndlab.study.matrix.COLUMNS, format)
        _judge(rows, strict)
        return
    summary = cwndlab.study.matrix.summary(rows)
    write_rows(summary, tuple(summary[0]), format)
    unusual = [row for row in rows if row["anomalies"] or row["findings"]]
    write("")
    columns = (
        "algorithm",
        "setting",
        "buffer_bdp",
        "loss",
        "utilisation",
        "share",
        "queue_ms",
        "anomalies",
        "findings",
    )
    write_rows([{**row, **_rounded(row)} for row in unusual], columns, format)
    _judge(rows, strict)


def _judge(rows: Sequence[Row], strict: bool) -> None:
    codes = {code for row in rows for code in row["findings"].split(", ") if code}
    judge([{"severity": cwndlab.study.findings.codes()[code]["severity"]} for code in codes], strict)


def _rounded(row: Row) -> dict[str, Any]:
    digits = {"utilisation": 3, "share": 3, "queue_ms": 1}
    return {name: None if row[name] is None else round(row[name], count) for name, count in digits.items()}


def _check(texts: Sequence[str], classes: Classes | None) -> None:
    """Raises with every unknown algorithm, before anything runs; ``classes`` are custom algorithms."""
    document = cwndlab.custom.described(cwndlab.custom.validate_classes(classes))
    faults: list[Fault] = []
    for text in texts:
        try:
            cwndlab.catalogue.canonical(text, document)
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(*faults)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, matrix, "matrix --algorithms vegas,bbr1")
