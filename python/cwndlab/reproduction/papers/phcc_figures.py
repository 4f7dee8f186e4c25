"""Charts and tables of the PHCC paper that compare variants with each other."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Table
from cwndlab.reproduction.measured import Measured
from cwndlab.statistics import Estimate, estimate


def beside_reno(measured: Measured, name: str, variants: Sequence[str]) -> list[Chart]:
    """Figure 14: the throughput of a flow of Reno, and of one of another."""
    curves = [
        Curve.of(label, variants, [_mean_of(measured, variant, flows) for variant in variants], factor=1e-6)
        for label, flows in (("Reno", (1, 2)), ("the other", (3, 4)))
    ]
    half = Curve("equal shares", variants, [50.0] * len(variants), published=True)
    title = "Throughput of a flow, two of Reno and two of another"
    return [Chart(name, title, "the other", "throughput, Mbit/s", [*curves, half], kind="bars")]


def _mean_of(measured: Measured, variant: str, flows: tuple[int, int]) -> Estimate:
    """The mean of two flows over the repetitions."""
    both = [measured.values(f"goodput_{flow}_bps", variant=variant) for flow in flows]
    return estimate([(a + b) / 2 for a, b in zip(*both, strict=True)])


def queues(measured: Measured) -> list[Table]:
    """Figure 11: mean queues, and that of PHCC over each."""
    mine = measured.estimate("queue_packets", variant="PHCC").mean
    rows: list[Sequence[str | float | None]] = []
    for variant in measured.points("variant"):
        queue = measured.estimate("queue_packets", variant=variant).mean
        rows.append([variant, queue, mine / queue if queue > 0 else None])
    return [Table("Average queue over all buffers", ("variant", "packets", "PHCC's / it"), rows)]


def by_loss(measured: Measured) -> list[Table]:
    """Figure 10: throughputs by loss probability."""
    losses = measured.points("loss")
    rows: list[Sequence[str | float | None]] = [
        [variant, *(measured.estimate("goodput_bps", variant=variant, loss=loss).mean / 1e6 for loss in losses)]
        for variant in measured.points("variant")
    ]
    return [Table("Throughput by loss probability, Mbit/s", ("variant", *(f"{loss:g}" for loss in losses)), rows)]
