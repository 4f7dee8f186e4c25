"""What one run gives, in the quantities that references state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Windows and round-trip times are means of samples this far apart, ns.
_MEANS_OF_NS = 100_000_000

#: The state of a sender that repairs a loss, and those above it.
_RECOVERY = 3

#: The first recoveries of a run, which the decrease factor leaves out (reference folders: "from the third cut").
EARLY_CUTS = 2


@dataclass
class Measured:
    """What one run gives: per quantity one value per flow (or one alone)."""

    values: dict[str, list[float]] = field(default_factory=dict)
    factors: list[float] = field(default_factory=list)


def measure(records: Any, spec: dict[str, Any], *, events_sampled: bool = False) -> Measured:
    """The quantities of one run, over the scenario's averaging interval.

    ``events_sampled``: congestion events are counted as entries into recovery that the samples show, as a reference
    does that could not see more; two between samples are one.
    """
    import polars as pl

    out = Measured()
    if spec["judge_as"] == "transfers":
        times = records.transfers.select((pl.col("end_ns") - pl.col("start_ns")) / 1e9).to_series()
        out.values["median_completion_s"] = [float(times.median())] if len(times) else [float("nan")]
        return out
    begin, end = spec["average_from_s"], spec["duration_s"]
    span = end - begin
    begin_ns, end_ns = round(begin * 1e9), round(end * 1e9)
    flows = records.flows
    samples = records.samples.filter(pl.col("time_ns").is_between(begin_ns, end_ns))
    for index, mss in zip(flows["flow"], flows["mss_bytes"], strict=True):
        one = samples.filter(pl.col("flow") == index).sort("time_ns")
        inside = one.filter((pl.col("time_ns") > begin_ns) & (pl.col("time_ns") % _MEANS_OF_NS == 0))
        delivered = float(one["delivered_bytes"][-1] - one["delivered_bytes"][0])
        events = float(one["congestion_events"][-1] - one["congestion_events"][0])
        if events_sampled:
            repairing = one["state"] >= _RECOVERY
            events = float((repairing & ~repairing.shift(1, fill_value=False)).sum())
        out.values.setdefault("goodput_bps", []).append(delivered * 8 / span)
        out.values.setdefault("mean_cwnd_segments", []).append(float(inside["cwnd_bytes"].mean()) / mss)
        out.values.setdefault("mean_rtt_s", []).append(float(inside["srtt_ns"].mean()) / 1e9)
        out.values.setdefault("congestion_events", []).append(events)
    link = int(records.links.filter(pl.col("name") == "bottleneck")["link"][0])
    queue = records.link_samples.filter((pl.col("link") == link) & pl.col("time_ns").is_between(begin_ns, end_ns)).sort(
        "time_ns"
    )
    waited = float(queue["queue_packet_ns"][-1] - queue["queue_packet_ns"][0])
    out.values["mean_queue_packets"] = [waited / 1e9 / span]
    events = sum(out.values["congestion_events"])
    dropped = float(queue["dropped_packets"][-1] - queue["dropped_packets"][0])
    out.values["drops_per_event"] = [dropped / events if events else 0.0 if dropped == 0 else float("inf")]
    out.values["marks"] = [float(queue["marked_packets"][-1] - queue["marked_packets"][0])]
    sent = float(queue["sent_bytes"][-1] - queue["sent_bytes"][0])
    out.values["utilisation"] = [sent * 8 / span / (spec["bottleneck_rate_mbps"] * 1e6)]
    mss = int(flows["mss_bytes"][0])
    reductions = records.events.filter((pl.col("kind") == "recovery") & (pl.col("flow") == 0)).sort("time_ns")
    before, after = reductions["cwnd_before_bytes"].to_list(), reductions["cwnd_after_bytes"].to_list()
    # Tahoe goes to one segment; what the cut decided is ssthresh, which the next sample shows.
    thresholds = records.samples.filter(pl.col("flow") == 0).select("time_ns", "ssthresh_bytes").drop_nulls()
    later = (
        reductions.select("time_ns").join_asof(thresholds, on="time_ns", strategy="forward")["ssthresh_bytes"].to_list()
    )
    out.factors = [
        max(b, threshold or b) / a if b <= mss else b / a
        for a, b, threshold in zip(before, after, later, strict=True)
        if a > 0
    ][EARLY_CUTS:]
    return out
