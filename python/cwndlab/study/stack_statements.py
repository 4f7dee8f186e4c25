"""The cells of a verdict on a hosted stack, with statements of standards about its packets and its windows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cwndlab.records import Records
from cwndlab.scenario.document import Scenario

#: Judges the records of a run: whether the statement holds (``None``: they do not show it), and what was found.
Statement = Callable[[Records], tuple[bool | None, str]]

#: The largest initial window, bytes (RFC 9002, section 7.2; RFC 6928, section 2, with headers).
INITIAL_WINDOW = 14_720
#: Datagrams beyond it that may leave in the first round trip: growth by the ACK of the handshake, a probe of the MTU.
MORE_DATAGRAMS = 3
#: The least payload of the datagram with which a client of QUIC begins (RFC 9000, section 14.1).
QUIC_INITIAL = 1200
#: Smaller datagrams are ACKs, which the window does not limit.
DATA_BYTES = 100
#: A window that returns to this share of the one before a reduction, within a time that no growth function needs.
RETURN_SHARE, RETURN_NS = 0.98, 200_000_000


def _sent(records: Records, from_ns: int, to_ns: int, least: int = DATA_BYTES) -> pl.DataFrame:
    """The datagrams with at least so many bytes that the sender of the first flow sends between two times."""
    links = [row["link"] for row in records.rows("links") if row["name"].startswith("s0-")]
    packets = records.frame("packets").filter(pl.col("link").is_in(links) & (pl.col("flow") == 0))
    times = pl.col("time_ns").is_between(from_ns, to_ns, closed="left")
    return packets.filter(times & (pl.col("payload_bytes") >= least)).sort("time_ns")


def _arrivals(records: Records) -> pl.Series:
    """The times at which packets arrive at the sender of the first flow."""
    links = [row["link"] for row in records.rows("links") if row["name"].endswith("-s0")]
    packets = records.frame("packets").filter(pl.col("link").is_in(links) & (pl.col("flow") == 0))
    return packets["arrival_ns"].drop_nulls().sort()


def initial_window(records: Records) -> tuple[bool | None, str]:
    """RFC 9002, section 7.2, and RFC 6928: the first round trip after that of the handshake has an initial window."""
    rtt = int(records.flows["base_rtt_ns"][0])
    sent = _sent(records, rtt // 2, 2 * rtt)
    if sent.height == 0:
        return None, "nothing is sent in the second round trip"
    total, largest = int(sent["payload_bytes"].sum()), int(sent["payload_bytes"].max() or 0)  # type: ignore[arg-type]
    limit = INITIAL_WINDOW + MORE_DATAGRAMS * largest
    return total <= limit, f"first round trip of data: {total} B, at most {limit} B (RFC 9002, 7.2)"


def reductions_last(records: Records) -> tuple[bool | None, str]:
    """RFC 9438, section 4.9, RFC 9002, section 7.3.2: a reduction after a loss is not undone, since no loss here is
    spurious: the path has one queue and no reordering. Of algorithms by loss alone, and of QUIC, since TCP's
    window grows in recovery by each duplicate ACK (RFC 5681, section 3.2)."""
    algorithm = str(records.flows["algorithm"][0])
    first = _sent(records, 0, 2**62, least=0)["payload_bytes"]
    if not any(name in algorithm for name in ("cubic", "reno")) or len(first) == 0 or first[0] < QUIC_INITIAL:
        return None, ""
    samples = records.samples.filter(pl.col("flow") == 0).select("time_ns", "cwnd_bytes").drop_nulls()
    reduced, undone = count_undone(samples["time_ns"].to_list(), samples["cwnd_bytes"].to_list())
    if reduced == 0:
        return None, "the stack reports no reduction"
    return undone == 0, f"{undone} of {reduced} reductions undone within 200 ms (RFC 9438, 4.9)"


def count_undone(times: Sequence[int], windows: Sequence[int]) -> tuple[int, int]:
    """Reductions by more than a tenth between two samples, and how many of them are undone soon."""
    reduced = undone = 0
    for at in range(1, len(windows)):
        before = windows[at - 1]
        if windows[at] < 0.9 * before:
            reduced += 1
            after = zip(times[at:], windows[at:], strict=True)
            soon = [window for time, window in after if time < times[at] + RETURN_NS]
            undone += max(soon) > RETURN_SHARE * before
    return reduced, undone


def outage_collapses(from_ns: int, to_ns: int) -> Statement:
    """RFC 9002, section 7.6 (and RFC 5681, section 3.1, after a timeout): after an outage the window is the smallest
    one, from which at most an initial window leaves in a round trip."""

    def judge(records: Records) -> tuple[bool | None, str]:
        arrivals = _arrivals(records)
        rtt = int(records.flows["base_rtt_ns"][0])
        first = arrivals.filter(arrivals > to_ns)
        if len(first) == 0 or _sent(records, 0, from_ns).height < 10:
            return None, "the stack does not return after the outage"
        sent = _sent(records, int(first[0]), int(first[0]) + rtt).height
        return sent <= 10, f"round trip after the outage: {sent} datagrams, at most 10 (RFC 9002, 7.6)"

    return judge


def unused_window_is_kept(records: Records) -> tuple[bool | None, str]:
    """RFC 9002, section 7.8, and of TCP RFC 7661: a window that the application does not use does not grow."""
    windows = records.samples.filter(pl.col("flow") == 0)["cwnd_bytes"].drop_nulls()
    if len(windows) == 0:
        return None, "the stack does not report its window"
    last, limit = int(windows[-1]), 2 * INITIAL_WINDOW
    return last <= limit, f"unused window at the end: {last} B, at most {limit} B (RFC 9002, 7.8; RFC 7661)"


@dataclass(frozen=True)
class Cell:
    """A path of a verdict: its changes, the algorithm of a flow beside the stack's, the rate of its application, and
    the statement that its records are judged by."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    against: str | None = None
    rate: str | None = None
    statement: Statement | None = None
    is_audited: bool = False


def cells_of(path: Scenario) -> list[Cell]:
    """The cells of a verdict on a path with one bottleneck."""
    whole = json.loads(path.canonical)["duration_ns"]
    away, back = int(0.4 * whole), int(0.6 * whole)
    # Everything is lost, the queue included, so that no ACK of the outage's time contradicts persistent congestion.
    schedule = [{"at": f"{away} ns", "loss": 1.0}, {"at": f"{back} ns", "loss": 0.0}]
    queue, packets, often = "dumbbell.bottleneck.queue.capacity", {"packets": True}, {"sample_interval": "10 ms"}
    return [
        Cell("alone", packets, statement=initial_window, is_audited=True),
        Cell("small buffer", {queue: "0.25 bdp", **often, **packets}, statement=reductions_last),
        Cell("beside cubic", against="cubic"),
        Cell(
            "outage",
            {"dumbbell.bottleneck.schedule": schedule, **packets},
            statement=outage_collapses(away, back),
        ),
        Cell("unused window", rate="1 Mbps", statement=unused_window_is_kept),
    ]
