"""The media circuit breaker of RFC 8083. It has a file of its own, since the kept runs depend on its source."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cwndlab.assessment.criteria import BREAKER
from cwndlab.metrics.core import MeasuredRun
from cwndlab.metrics.of_flow import OfFlow, value_of

if TYPE_CHECKING:
    from cwndlab.records import Records


def derived(records: Records) -> dict[str, float | None]:
    """`breaker_ratio` of the flow ``call``, whose feedback waits in no queue."""
    run = MeasuredRun(records)
    call = next((flow for flow in run.flow_rows if flow["name"] == "call"), None)
    if call is None:
        return {BREAKER.name: None}
    sent, lost, delay = (
        value_of(run, OfFlow(metric, "call"))
        for metric in ("throughput_bps", "datagram_loss_ratio", "one_way_delay_ms")
    )
    if sent is None or lost is None or delay is None or not call["sent_packets"]:
        return {BREAKER.name: None}
    packet_bits = 8 * call["sent_bytes"] / call["sent_packets"]
    return {BREAKER.name: breaker_ratio(sent, lost, delay / 1e3 + call["base_rtt_ns"] / 2e9, packet_bits)}


def breaker_ratio(rate_bps: float, loss: float, rtt_s: float, packet_bits: float) -> float:
    """X R √(2 p / 3) / (10 s): above 1 the media circuit breaker of RFC 8083, section 4.3, ends a stream.

    With packets of 1200 bytes, 0.1 s and a loss of 0.015, TCP's rate is 9600 bit / (0.1 s · 0.1) = 0.96 Mbit/s:

    >>> round(breaker_ratio(9.6e6, 0.015, 0.1, 9600), 6)
    1.0
    """
    return rate_bps * rtt_s * math.sqrt(2 * loss / 3) / (10 * packet_bits)
