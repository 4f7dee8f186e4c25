"""``cwndlab bench``: the speed of the engine."""

from __future__ import annotations

from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, write_rows
from cwndlab.cli.options import Argument, command


def bench(
    scenarios: Annotated[list[str] | None, Argument("[S1 S2 S3 S4]", "The scenarios; all by default.")] = None,
    overhead: Annotated[bool, "Also measure the cost of the command line."] = False,
    python: Annotated[bool, "Measure algorithms that are classes in Python instead."] = False,
    format: Format = Format.table,
) -> None:
    """Measure the speed of the engine.

    Each scenario runs in a new native process without Python.
    """
    if python:
        write_rows(list(cwndlab.study.benchmark.bench_python()), cwndlab.study.benchmark.PYTHON_COLUMNS, format)
        return
    rows = list(cwndlab.bench(scenarios or cwndlab.study.benchmark.SCENARIOS, overhead=overhead))
    write_rows(rows, cwndlab.study.benchmark.OVERHEAD_COLUMNS if overhead else cwndlab.study.benchmark.COLUMNS, format)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, bench, "bench S1 S3")
