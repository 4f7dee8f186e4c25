"""Power: throughput over delay (L. Kleinrock, ICC 1979, "Power and Deterministic Rules of Thumb"; normalised there)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import MeasuredRun, of_run, ratio, run_table
from cwndlab.metrics.rtt import mean_rtt_ms
from cwndlab.metrics.utilisation import UTILISATION

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


def power(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``power`` = utilisation of the first bottleneck / (mean RTT / base RTT, mean over flows): 1 where the
    line is full and nothing waits, a half where it is full and RTTs have doubled. Null without a bottleneck or RTTs.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.power(records)["power"].round(2).to_list()
    [0.54]
    """
    return run_table(MeasuredRun(records, start_s, end_s), POWER)


@of_run("power", "", direction=1, source="L. Kleinrock, ICC 1979")
def _power(run: MeasuredRun) -> float | None:
    """Utilisation / (mean RTT / base RTT, mean over flows)."""
    busy = UTILISATION[0].value(run)
    stretches = ratio(mean_rtt_ms(run) * 1e6, run.flows["base_rtt_ns"])
    stretches = stretches[stretches > 0]
    return busy / float(stretches.mean()) if busy is not None and len(stretches) else None


POWER = (_power,)
