"""The summary of a run in one pass is what the metrics' own tables say."""

from __future__ import annotations

from typing import Any

import cwndlab
import pytest
from cwndlab.metrics import (
    convergence,
    fairness,
    per_flow,
    per_link,
    summary,
    total_completion,
    total_goodput,
    total_throughput,
)
from cwndlab.metrics.numbers import NAMES


def defined(records: cwndlab.Records, **at: Any) -> dict[str, Any]:
    """The summary by the metrics: totals, sums over flows, means over flows, the first bottleneck."""
    flows, links, total = per_flow(records, **at), per_link(records, **at), total_goodput(records, **at)
    times = total_completion(records, **at)
    found: dict[str, Any] = {
        "goodput_bps": total["goodput_bps"][0],
        "sent_goodput_bps": total["sent_goodput_bps"][0],
        "throughput_bps": total_throughput(records, **at)["throughput_bps"][0],
        "jain": fairness(records, **at)["jain"][0],
        "convergence_s": convergence(records, **at)["convergence_s"][0],
        "mean_completion_s": times["mean_completion_s"][0],
        "p95_completion_s": times["p95_completion_s"][0],
        "median_completion_s": times["median_completion_s"][0],
        "p99_completion_s": times["p99_completion_s"][0],
    }
    for name in ("utilisation", "drops_per_s", "loss_ratio", "queue_ms", "queue_packets"):
        found[name] = links[name][0] if len(links) else None
    for name in ("mean_rtt_ms", "srtt_ms", "mean_cwnd_segments"):
        found[name] = flows[name].mean()
    found["min_rtt_ms"] = flows["min_rtt_ms"].min()
    for name in ("congestion_events", "retransmitted_packets", "timeouts"):
        found[name] = flows[name].sum()
    return found


SHORTER = {
    name: cwndlab.presets.load(name).with_(duration="4 s", measure_from="0 s")
    for name in cwndlab.presets.names()
    if name != "s4"
}


@pytest.mark.parametrize("name", [*SHORTER, "no samples", "transfers"])
def test_one_pass_says_what_the_tables_say(name: str) -> None:
    if name == "no samples":
        scenario = SHORTER["two-flows"].with_(sample_interval="0 s")
    elif name == "transfers":
        workload = {"flow[0].workload": {"kind": "transfers", "bytes": "200 kB", "count": 20, "gap": "50 ms"}}
        scenario = SHORTER["two-flows"].with_(workload)
    else:
        scenario = SHORTER[name]
    records = cwndlab.run(scenario, seed=5)
    spans: list[dict[str, float | None]] = [{"start_s": None, "end_s": None}]
    if name != "no samples":
        spans += [{"start_s": 1.0, "end_s": None}, {"start_s": 0.5, "end_s": 2.25}, {"start_s": None, "end_s": 3.0}]
    for at in spans:
        expected = defined(records, **at)
        found = summary(records, only=NAMES, **at)
        assert (found["utilisation"] or 0.0) <= 1.0 + 1e-9, at
        for metric, value in found.items():
            if expected.get(metric) is None:
                assert value is None, (metric, at)
            else:
                assert value == pytest.approx(float(expected[metric]), rel=1e-12), (metric, at)
