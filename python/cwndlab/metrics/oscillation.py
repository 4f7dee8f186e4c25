"""Oscillation: the coefficient of variation of a flow's goodput, over several time scales (RFC 5166, section 2.2.2;
S. Floyd, M. Handley, J. Padhye, J. Widmer, SIGCOMM 2000)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.metrics.core import MeasuredRun, Metric

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Seconds per window.
SCALES_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def oscillation(
    records: Records,
    *,
    scales_s: Sequence[float] = SCALES_S,
    start_s: float | None = None,
    end_s: float | None = None,
) -> pl.DataFrame:
    """Per flow and time scale: ``scale_s``, ``windows``, and ``cov`` = standard deviation / mean of the goodputs in
    consecutive windows of that length, which lie whole in what the flow lived of the interval.

    Scales that are not multiples of the sampling interval are left out. Null with fewer than two windows, or where
    nothing is delivered.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.oscillation(records, scales_s=(0.1, 0.2))["cov"].round(2).to_list()
    [0.32, 0.28]
    """
    if isinstance(scales_s, str) or not isinstance(scales_s, Iterable):
        raise ArgumentError(parameter_fault("scales_s", f"'{scales_s}' is not a list of times", example=[0.1, 1.0]))
    scales_s = tuple(scales_s)
    for scale in scales_s:
        if not (isinstance(scale, Real) and 0 < scale < math.inf):
            raise ArgumentError(parameter_fault("scales_s", f"'{scale}' is not a length of time", example=[0.1, 1.0]))
    run = MeasuredRun(records, start_s, end_s)
    span, step = run.span, run.step_ns
    lengths = {scale: round(scale * 1e9) for scale in scales_s}
    strides = {scale: length // step for scale, length in lengths.items() if step and length and length % step == 0}
    rows = []
    for flow in records.flows.select("flow", "name", "algorithm", "start_ns", "end_ns").iter_rows(named=True):
        begin, end = flow.pop("start_ns"), flow.pop("end_ns")
        until = span.end_ns if end is None else min(span.end_ns, end)
        one = records.samples.filter(flow=flow["flow"]).sort("time_ns")
        inside = one["time_ns"].is_between(max(span.start_ns, begin), until)
        delivered = one["delivered_bytes"].filter(inside).to_numpy()
        if max(span.start_ns, begin) == 0 and one["time_ns"].min() == step:
            delivered = np.concatenate([[0], delivered])  # there is no sample at the start of a run
        for scale, stride in strides.items():
            gained = np.diff(delivered[::stride])
            mean = float(np.mean(gained)) if len(gained) >= 2 else 0.0
            cov = float(np.std(gained)) / mean if mean > 0 else None
            rows.append({**flow, "scale_s": float(scale), "windows": len(gained), "cov": cov})
    schema = {"flow": pl.UInt32, "name": pl.String, "algorithm": pl.String, "scale_s": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"windows": pl.Int64, "cov": pl.Float64})


def _metric(scale_s: float) -> Metric:
    return Metric(
        f"cov_{scale_s:g}s",
        f"variation over {scale_s:g} s",
        "%",
        100.0,
        direction=-1,
        formula=f"Standard deviation / mean of a flow's goodputs in windows of {scale_s:g} s; mean over flows",
        source="RFC 5166, section 2.2.2",
        one=lambda run: run.mean_over_flows(_of_seconds, "cov", scale_s=scale_s),
    )


_of_seconds = partial(oscillation, scales_s=(1.0, 10.0))
OSCILLATION = (_metric(1.0), _metric(10.0))
