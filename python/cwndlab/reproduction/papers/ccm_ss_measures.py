"""What is measured of the runs of the CCM-SS paper."""

from __future__ import annotations

from math import ceil, floor
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.cases import kept_as

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The band of B·D in which μ can change where slow start ends: between 0.2 (μ = 1) and 0.3 (μ = 1.5).
_BAND = (0.2, 0.3)
#: Below this Jain's index of a second is "unfair", as the example of § V-B's Fig. 7(a) has 0.9 for fair flows.
_FAIR_SECOND = 0.9
#: Parts of a run whose losses are counted apart; of 600 s the second one begins at the 200 s of Fig. 12(a).
_PARTS = 3
#: End of what counts as the beginning, ten seconds after the first start; end of the run.
_EARLY_S, _LATE_S = 11.0, 40.0


@kept_as("cwndlab.reproduction.ccm_ss.grid.measure")
def measure_modules(records: Records) -> dict[str, float | None]:
    """The summary; losses in parts of the run; slow-start exits for which B·D is known, where they fell and how many
    where μ can matter; later slow starts; what the first slow starts lose; fairness as § V-B may mean it."""
    found = dict(metrics.summary(records))
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    for part in range(_PARTS):
        span = {"start_s": duration * part / _PARTS, "end_s": duration * (part + 1) / _PARTS}
        found[f"drops_per_s_{part + 1}"] = float(metrics.loss(records, **span)["drops_per_s"][0])
    pipe = pl.col("pipe_segments")
    left = records.events.filter((pl.col("kind") == "slow-start-exit") & pipe.is_not_null() & (pipe > 0))
    share = left["cwnd_after_bytes"] / int(records.flows["mss_bytes"][0]) / left["pipe_segments"]
    found["exits"] = float(len(left))
    found["exits_in_band"] = float(share.is_between(*_BAND, closed="left").sum())
    found["exit_share"] = fmean(share.to_list()) if len(left) else None
    by_rule = (pl.col("kind") == "slow-start-exit") & ~pl.col("cause").is_in(["loss", "ecn"])
    again = records.events.filter(by_rule | (pl.col("kind") == "timeout"))
    found["late_slow_starts"] = float((again["time_ns"] >= duration * 1e9 / _PARTS).sum())
    found["start_drops"] = _start_drops(records, duration)
    starts = records.flows["start_ns"].to_list()
    together = max(starts) / 1e9
    found["jain_together"] = metrics.fairness(records, start_s=together)["jain"][0]
    seconds = metrics.fairness_over_time(records, start_s=together)["jain"].drop_nulls().to_list()
    found["fair_throughout"] = found["jain_together"] if seconds and min(seconds) >= _FAIR_SECOND else 0.0
    found["fair_ever"] = found["jain_together"] if seconds and max(seconds) >= _FAIR_SECOND else 0.0
    near = found["convergence_s"]
    found["converged"] = float(near is not None)
    found["convergence_or_end_s"] = duration - together if near is None else near
    return found


def _start_drops(records: Records, duration_s: float) -> float:
    """Packets that the bottleneck drops while a flow is in its first slow start, and in the round trip after it, out to
    the samples around."""
    step = float(records.rows("runs")[0]["sample_interval_ns"]) / 1e9
    ends = records.events.filter(pl.col("kind").is_in(["slow-start-exit", "recovery", "timeout"])).sort("time_ns")
    spans: list[list[float]] = []
    for flow in sorted(records.flows.rows(named=True), key=lambda flow: int(flow["start_ns"])):
        mine = ends.filter(pl.col("flow") == flow["flow"])["time_ns"].to_list()
        begin = floor(flow["start_ns"] / 1e9 / step) * step
        end = ceil((mine[0] + flow["base_rtt_ns"]) / 1e9 / step) * step if mine else duration_s
        end = min(end, duration_s)
        if spans and begin <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([begin, end])
    return float(sum(metrics.loss(records, start_s=begin, end_s=end)["drops"][0] for begin, end in spans))


def drops_and_windows(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Drops over time, and the windows of both flows."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    drops = metrics.links_over_time(records, window_s=duration / 40, start_s=0.0)
    drops = drops.filter(pl.col("link") == drops["link"][0])
    windows = metrics.flows_over_time(records, window_s=duration / 300, start_s=0.0)
    lines = {"drops_per_s": (drops["time_s"].to_list(), drops["drops_per_s"].to_list())}
    for flow in (0, 1):
        mine = windows.filter(pl.col("flow") == flow)
        lines[f"cwnd_{flow + 1}"] = (mine["time_s"].to_list(), mine["cwnd_segments"].to_list())
    return lines


@kept_as("cwndlab.reproduction.ccm_ss.others.measure_start")
def measure_start(records: Records) -> dict[str, float | None]:
    """Drops per packet and utilisation in the first 10 s, seconds until the pipe was full, goodput after 10 s."""
    early = metrics.loss(records, start_s=0, end_s=_EARLY_S).row(0, named=True)
    late = metrics.total_goodput(records, start_s=_EARLY_S, end_s=_LATE_S)
    return {
        "loss_ratio": early["loss_ratio"],
        "time_to_full_utilisation_s": metrics.fill(records)["time_to_full_utilisation_s"][0],
        "sent_goodput_bps": late["sent_goodput_bps"][0],
        "goodput_bps": late["goodput_bps"][0],
        "early_utilisation": metrics.utilisation(records, start_s=0, end_s=_EARLY_S)["utilisation"][0],
    }
