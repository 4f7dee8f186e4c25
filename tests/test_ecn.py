"""Marks and losses in one window of data (RFC 3168, section 6.1.2), in profiles by the RFCs."""

from __future__ import annotations

import cwndlab
import pytest


def ran(recovery: str, lost: int) -> cwndlab.Records:
    """Reno over a queue that marks above ten packets, at the end of slow start, and a wire that loses one packet."""
    link = {
        "rate": "10 Mbps",
        "delay": "10 ms",
        "queue": {"kind": "step-ecn", "capacity": "200 packets", "mark_above": 10},
        "loss": {"kind": "list", "indices": [lost], "counts": "payload"},
    }
    flow = {"algorithm": f"reno+standard/{recovery}", "rtt": "40 ms", "profile": "rfc", "stack": {"ecn": "classic"}}
    return cwndlab.run(
        {"schema_version": 1, "duration": "2 s", "dumbbell": {"bottleneck": link}, "flow": [flow]}, seed=1
    )


@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack", "fack"])
@pytest.mark.parametrize("lost", [75, 95, 120])
def test_a_loss_after_the_reduction_for_a_mark_is_repaired_without_a_timeout(recovery: str, lost: int) -> None:
    """RFC 6582, section 3.2: `recover` is of retransmissions, not of reductions for marks. It is one reduction."""
    records = ran(recovery, lost)
    flow = records.rows("flows")[0]
    assert (flow["timeouts"], flow["retransmitted_packets"] > 0) == (0, True)
    reductions = [row for row in records.rows("events") if row["kind"] in ("ecn", "recovery")]
    assert [row["kind"] for row in reductions[:2]] == ["ecn", "recovery"]
    before, after = (row["cwnd_after_bytes"] for row in reductions[:2])
    assert after == (1460 if recovery == "tahoe" else before)  # Tahoe restarts at one segment


@pytest.mark.parametrize("recovery", ["reno", "newreno", "sack", "fack"])
@pytest.mark.parametrize("lost", [56, 60, 66])
def test_marks_of_the_window_of_a_loss_reduce_it_once(recovery: str, lost: int) -> None:
    """CWR follows a reduction for any reason, so that the receiver ends its echo: the next reduction is that of the
    next full queue, a second later. Before, it followed 20 ms after the recovery."""
    records = ran(recovery, lost)
    times = [row["time_ns"] / 1e9 for row in records.rows("events") if row["kind"] in ("ecn", "recovery")]
    assert times[0] < 0.25
    assert all(time > 1 for time in times[1:]), times
