"""What is measured of the runs of the PHCC paper."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.cases import kept_as

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Of the line, and packets of 1000 bytes that its path of 120 ms holds without a queue.
_RATE_BPS, _BDP_PACKETS = 200_000_000, 3000
#: Seconds between the starts of flows that come one after another.
_STEP_S = 10.0
#: Lines of a figure have about so many points.
_POINTS = 200


@kept_as("cwndlab.reproduction.phcc.path.measure")
def measure_flows(records: Records) -> dict[str, float | None]:
    """The summary; each flow's goodput; fairness once all have started; the share of the first half of the flows; when
    the line was first busy; the error of what flows take for their base RTT."""
    found = dict(metrics.summary(records))
    goodputs = metrics.goodput(records)["goodput_bps"].to_list()
    for index in range(4):
        found[f"goodput_{index + 1}_bps"] = goodputs[index] if index < len(goodputs) else None
    first, rest = goodputs[: len(goodputs) // 2], goodputs[len(goodputs) // 2 :]
    found["first_share"] = sum(first) / (sum(first) + sum(rest)) if first else None
    found["jain_of_kinds"] = metrics.jain([sum(first), sum(rest)]) if first else None
    last = max(records.flows["start_ns"].to_list()) / 1e9
    found["jain_together"] = metrics.fairness(records, start_s=math.ceil(last))["jain"][0]
    lowest = [one for one in (records.flows["min_rtt_ns"] - records.flows["base_rtt_ns"]).to_list() if one is not None]
    found["base_error_ms"] = max(lowest) / 1e6 if lowest else None
    found["time_to_full_utilisation_s"] = _fill(records)
    found["cov_1s_of_first"] = metrics.oscillation(records, scales_s=(1.0,))["cov"][0]
    if len(goodputs) > 1 and last >= _STEP_S:
        # Before the second start: of the jitter up to one RTT may be missing.
        alone = metrics.utilisation(records, start_s=1.0, end_s=_STEP_S)
        found["early_utilisation"] = alone["utilisation"][0]
    else:
        found["early_utilisation"] = None
    return found


#: The line is in full use when it is busy for so much of a sampling interval.
_FULL = 0.95


def _fill(records: Records) -> float | None:
    line = records.link_samples.filter(pl.col("link") == 0).sort("time_ns")
    busy = line.select(
        pl.col("time_ns"), pl.col("sent_bytes").diff() * 8e9 / (pl.col("time_ns").diff() * _RATE_BPS)
    ).filter(pl.col("sent_bytes") >= _FULL)
    start = min(records.flows["start_ns"].to_list())
    return (busy["time_ns"][0] - start) / 1e9 if len(busy) else None


def goodput_over_time(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Goodput of each flow over time, in Mbit/s."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    flows = metrics.flows_over_time(records, window_s=duration / _POINTS, start_s=0.0)
    lines = {}
    for flow in range(len(records.flows)):
        mine = flows.filter(pl.col("flow") == flow)
        lines[f"goodput_{flow + 1}"] = (mine["time_s"].to_list(), (mine["goodput_bps"] / 1e6).to_list())
    return lines


@kept_as("cwndlab.reproduction.phcc.path.measure_phases")
def measure_phases(records: Records) -> dict[str, float | None]:
    """Growth per round trip up to the first loss and from its repair on, what the loss leaves, how the window rests."""
    mss = int(records.flows["mss_bytes"][0])
    window = records.samples.select("time_ns", (pl.col("cwnd_bytes") / mss).alias("cwnd"))
    cuts = records.events.filter(pl.col("kind").is_in(["recovery", "timeout"]))
    repaired = records.events.filter(pl.col("kind") == "recovered")
    end = int(window["time_ns"].to_list()[-1])
    cut = int(cuts["time_ns"][0]) if len(cuts) else end
    again = int(repaired["time_ns"][0]) if len(repaired) else end
    rest = window.filter(pl.col("time_ns") > end // 2)["cwnd"].to_list()
    before, after = (cuts["cwnd_before_bytes"][0], cuts["cwnd_after_bytes"][0]) if len(cuts) else (None, None)
    return {
        "first_growth": _growth(window.filter((pl.col("cwnd") < _BDP_PACKETS / 2) & (pl.col("time_ns") < cut))),
        "cut": None if before is None else after / before,
        "second_growth": _growth(window.filter(pl.col("time_ns").is_between(again, again + 2 * 10**9))),
        "rest_cv": pstdev(rest) / fmean(rest),
        "cuts": float(len(cuts)),
        "rest_queue_packets": _queue(records, end / 2e9),
    }


def _queue(records: Records, start_s: float) -> float:
    return float(metrics.queue(records, start_s=round(start_s))["queue_packets"][0])


def _growth(window: pl.DataFrame) -> float | None:
    """Geometric mean of the factor per base RTT, from samples of a sixth of it."""
    values = [value for value in window["cwnd"].to_list() if value > 0]
    steps = [math.log(b / a) for a, b in pairwise(values)]
    return math.exp(6 * fmean(steps)) if steps else None


def window_over_time(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """The window over time, in packets."""
    mss = int(records.flows["mss_bytes"][0])
    samples = records.samples
    return {"cwnd": ((samples["time_ns"] / 1e9).to_list(), (samples["cwnd_bytes"] / mss).to_list())}
