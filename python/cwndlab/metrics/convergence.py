"""Convergence time T3 − T2 (the CCM-SS paper): how long after its start a second flow comes near the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.metrics.core import MeasuredRun, of_run

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The share of the first flow's window at which the second has converged.
SHARE = 0.8


def _converged(run: MeasuredRun) -> tuple[float | None, str | None]:
    """T3 − T2, or why there is none."""
    flows, samples = run.flows, run.samples
    if len(flows["start_ns"]) < 2:
        return None, "fewer than two flows"
    first, second = np.argsort(flows["start_ns"], kind="stable")[:2]
    begin = flows["start_ns"][second]
    last = np.fmin(np.fmin(flows["end_ns"][first], flows["end_ns"][second]), run.span.end_ns)
    inside = (samples["time_ns"] > begin) & (samples["time_ns"] <= last)
    at_first, at_second = (np.flatnonzero(inside & (run.flow_of == one)) for one in (first, second))
    times = samples["time_ns"][at_first]
    if not np.array_equal(times, samples["time_ns"][at_second]):
        times, both_first, both_second = np.intersect1d(times, samples["time_ns"][at_second], return_indices=True)
        at_first, at_second = at_first[both_first], at_second[both_second]
    if len(times) == 0:
        return None, "no sample while both flows live"
    windows, others = (
        samples["cwnd_bytes"][at] / flows["mss_bytes"][one] for at, one in ((at_first, first), (at_second, second))
    )
    reached = np.flatnonzero(others >= SHARE * windows)
    if len(reached) == 0:
        return None, f"not within {(times[-1] - begin) / 1e9:.4g} s"
    return float(times[reached[0]] - begin) / 1e9, None


@of_run("convergence", "s", direction=-1, source="the CCM-SS paper, T3 − T2")
def convergence_s(run: MeasuredRun) -> float | None:
    """Time from the start of the second flow until its cwnd ≥ 0.8 × that of the first one."""
    return _converged(run)[0]


CONVERGENCE = (convergence_s,)


def convergence(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``convergence_s`` = T3 − T2. T2 is the start of the second flow, T3 the first sampling instant after it
    at which the second flow's cwnd ≥ 0.8 × the first flow's while both live; first and second are by their starts.

    Null with a ``reason`` where that does not happen by ``end_s``. ``start_s`` does not matter: T2 does.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow("reno", rtt="40 ms", start="2 s")]
    >>> records = cwndlab.run(cwndlab.Scenario(duration="30 s", dumbbell=path, flows=flows), seed=1)
    >>> cwndlab.metrics.convergence(records).row(0)
    (3.4, None)
    """
    seconds, reason = _converged(MeasuredRun(records, 0.0, end_s))
    return pl.DataFrame(
        {"convergence_s": [seconds], "reason": [reason]}, schema={"convergence_s": pl.Float64, "reason": pl.String}
    )
