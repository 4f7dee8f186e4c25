"""``cwndlab trace``: makes and describes traces of delivery opportunities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import say_seed, write
from cwndlab.cli.options import Argument, Option, command, group
from cwndlab.errors import text_of


def make(
    kind: Annotated[str, Argument("KIND", "lte-driving, lte-stationary, 3g or satellite.")],
    seed: int = 1,
    duration: Annotated[int, Option("SECONDS", "Length in seconds.", least=1, most=86_400)] = 120,
) -> None:
    """Write a synthetic trace to standard output."""
    write("\n".join(map(str, cwndlab.scenario.traces.make(kind, seed=seed, duration_s=duration))))
    say_seed(seed)


def info(
    file: Annotated[str, Argument("FILE", "A file, or the name of a synthetic trace.")],
) -> None:
    """Print rates and outages of a trace."""
    traces = cwndlab.scenario.traces
    result = traces.describe(traces.load(file))
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    write(f"opportunities  {result.opportunities:,} of {traces.OPPORTUNITY_BYTES} bytes in {result.duration_s:g} s")
    write(f"mean rate      {result.mean_bps / 1e6:.2f} Mbit/s")
    rates = "  ".join(f"p{share * 100:g} {result.percentile(share) / 1e6:.2f}" for share in shares)
    write(f"per second     {rates}  max {max(result.second_bps) / 1e6:.2f} Mbit/s")
    longest = max((length for _, length in result.outages_s), default=0.0)
    total = sum(length for _, length in result.outages_s)
    write(f"outages        {len(result.outages_s)} of 0.1 s or more, {total:.2f} s in all, the longest {longest:.2f} s")
    write(f"over time      {cwndlab.scenario.traces.picture(result.second_bps)}")


def convert(
    file: Annotated[Path, Argument("FILE", "Two columns: a time, and the rate from then on.")],
    time: Annotated[str, Option("UNIT", "Unit of the times: s or ms.")] = "s",
    rate: Annotated[str, Option("UNIT", "Unit of the rates: bit/s, kbit/s or Mbit/s.")] = "Mbit/s",
) -> None:
    """Write a trace of rates in Mahimahi's format."""
    text = text_of(file, "name a file with two columns")
    write("\n".join(map(str, cwndlab.scenario.traces.convert(text, str(file), time=time, rate=rate))))


def add(app: typer.Typer) -> None:
    """Registers the commands."""
    trace = group(app, "trace", "Make, convert and describe traces in Mahimahi's format.")
    command(trace, make, "trace make lte-driving --seed 2 > my.down")
    command(trace, info, "trace info lte-driving")
    command(trace, convert, "trace convert rates.csv --time ms --rate kbit/s > my.down")
