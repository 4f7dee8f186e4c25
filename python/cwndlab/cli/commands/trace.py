"""``cwndlab trace``: makes and describes traces of delivery opportunities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import say_seed, write
from cwndlab.errors import Fault, ScenarioError, text_of

trace = typer.Typer(
    help="Make, convert and describe traces in Mahimahi's format.", rich_markup_mode=None, no_args_is_help=True
)


@trace.command(epilog="Example: cwndlab trace make lte-driving --seed 2 > my.down")
def make(
    kind: Annotated[str, typer.Argument(help="lte-driving, lte-stationary, 3g or satellite.", metavar="KIND")],
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random numbers.", metavar="N")] = 1,
    duration: Annotated[int, typer.Option("--duration", help="Length in seconds.", metavar="SECONDS")] = 120,
) -> None:
    """Write a synthetic trace to standard output."""
    if seed < 0:
        raise ScenarioError(Fault("--seed", f"{seed} is not an integer from 0 on", "write --seed 1"))
    if not 1 <= duration <= 86_400:
        raise ScenarioError(Fault("--duration", f"{duration} s are not between 1 s and a day", "write --duration 120"))
    write("\n".join(map(str, cwndlab.scenario.traces.make(kind, seed=seed, duration_s=duration))))
    say_seed(seed)


@trace.command(epilog="Example: cwndlab trace info lte-driving")
def info(
    file: Annotated[str, typer.Argument(help="A file, or the name of a synthetic trace.", metavar="FILE")],
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


@trace.command(epilog="Example: cwndlab trace convert rates.csv --time ms --rate kbit/s > my.down")
def convert(
    file: Annotated[
        Path, typer.Argument(help="Two columns: a time, and the rate from it on.", metavar="FILE", show_default=False)
    ],
    time: Annotated[str, typer.Option("--time", help="Unit of the times: s or ms.", metavar="UNIT")] = "s",
    rate: Annotated[
        str, typer.Option("--rate", help="Unit of the rates: bit/s, kbit/s or Mbit/s.", metavar="UNIT")
    ] = "Mbit/s",
) -> None:
    """Write a trace of rates in Mahimahi's format."""
    text = text_of(file, "name a file with two columns")
    write("\n".join(map(str, cwndlab.scenario.traces.convert(text, str(file), time=time, rate=rate))))


def add(app: typer.Typer) -> None:
    """Registers the commands."""
    app.add_typer(trace, name="trace")
