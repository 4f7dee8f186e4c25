"""``cwndlab demo``: a first comparison and its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cwndlab.cli.commands import compare
from cwndlab.cli.options import command
from cwndlab.errors import Fault, ScenarioError

#: The preset: the path of the CCM-SS paper (Ahmad et al., IEEE Access 2018).
SCENARIO = Path("ccm-ss-path")
ALGORITHMS = "cubic+hystart,cubic+ccm-ss,reno,highspeed,bic,ctcp"
#: Metrics of the report; all metrics of a comparison would fill a page with sentences.
METRICS = "goodput_bps,jain,p95_queue_ms,loss_ratio"
TITLE = "Six congestion controls on a path of 250 Mbit/s, with RTTs of 100 and 190 ms"
REPETITIONS = 5
#: With ``--quick``: long enough for slow start and the first losses of both flows.
QUICK_DURATION = "5 s"
QUICK_REPETITIONS = 2


def demo(
    out: Annotated[Path, "Folder of the comparison; the report is DIR.html."] = Path("cwndlab-demo"),
    quick: Annotated[bool, f"{QUICK_REPETITIONS} runs of {QUICK_DURATION} per algorithm."] = False,
    workers: int | None = None,
) -> None:
    """Compare six algorithms on one path and draw a report."""
    if not out.name:
        raise ScenarioError(Fault("--out", f"'{out}' has no name for the report", "write --out cwndlab-demo"))
    compare.compare(
        SCENARIO,
        ALGORITHMS,
        repetitions=QUICK_REPETITIONS if quick else REPETITIONS,
        metrics=METRICS,
        set_=[f'title="{TITLE}"', *([f"duration={QUICK_DURATION}"] if quick else [])],
        out=str(out),
        report=out.with_name(f"{out.name}.html"),
        workers=workers,
    )


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, demo, "demo --quick")
