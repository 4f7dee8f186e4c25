"""Runs that the suites of the RFCs share: a long transfer whose packets are lost by their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.catalogue import algorithms
from cwndlab.suites.bench import Bench, duration
from cwndlab.suites.case import Setup
from cwndlab.suites.statements import NotApplicableError, unseen
from cwndlab.suites.trace import Packet, Trace

#: Values of the transport that the cases compare.
TRANSPORT = tuple(
    f"transport.{name}"
    for name in (
        "cwnd_segments",
        "ssthresh_segments",
        "flight_size_segments",
        "in_flight_segments",
        "ca_state",
        "sent_packets",
        "retransmitted_packets",
        "lost_segments",
        "sacked_segments",
        "una_segments",
        "next_segments",
        "srtt_s",
        "rtt_s",
        "min_rtt_s",
        "rto_s",
        "app_limited",
        "round",
    )
)

#: Payload of a full segment in the profile `rfc`.
RFC_MSS_BYTES = 1460

OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)


def scenario(
    bench: Bench,
    duration_s: float,
    *,
    lost: Sequence[int] = (),
    link: Mapping[str, Any] | None = None,
    values: Sequence[str] = (),
    interval_s: float = 0.0,
    **options: Any,
) -> dict[str, Any]:
    """A scenario whose data packets with the numbers ``lost``, from 0 in the order of sending, do not arrive."""
    parts = dict(link or {})
    if lost:
        parts["loss"] = {"kind": "list", "indices": sorted(lost), "counts": "payload"}
    return bench.scenario(
        duration_s,
        link=parts,
        names=(*TRANSPORT, *values),
        on_change=("transport.ca_state",),
        interval_s=interval_s,
        **options,
    )


def setup(bench: Bench, duration_s: float, **options: Any) -> Setup:
    """The set-up of a scenario without an earlier run."""
    return Setup(scenario=scenario(bench, duration_s, **options))


def packet_at(trace: Trace, time_s: float) -> int:
    """The number of the next data packet at a time."""
    return int(trace.at("transport.sent_packets", time_s))


def event(trace: Trace, kind: str, source: str, after_s: float = 0.0) -> float:
    """The time of the first event of a kind."""
    found = trace.events_of(kind, after_s=after_s)
    if not found:
        raise unseen(source, f"the transport's event '{kind}'", "no such event", after_s)
    return float(found[0]["at_s"])


def rounds(trace: Trace, start_s: float, end_s: float) -> list[float]:
    """The times at which round trips begin, from the first after ``start_s``."""
    return [point.at_s for point in trace.points("transport.round", start_s, end_s)[1:]]


def sampled(trace: Trace, start_s: float, end_s: float, count: int = 200) -> list[float]:
    """Times at equal distances between two times."""
    step = (end_s - start_s) / count
    return [start_s + (index + 0.5) * step for index in range(count)]


def is_of_catalogue(bench: Bench, *names: str) -> bool:
    """Whether the algorithm is one of these of the catalogue, or a class of the caller."""
    return bench.subject.is_custom or bench.subject.name in names


def is_model_based(bench: Bench) -> bool:
    """Whether the algorithm of the catalogue sets the window during recovery, too."""
    entry = next((one for one in algorithms() if one.name == bench.subject.name), None)
    return bool(entry is not None and getattr(entry, "model_based", False))


def with_recovery(bench: Bench, recovery: str) -> str:
    """The algorithm's text with a recovery; raises where it names another one."""
    text = bench.subject.algorithm
    named = text.rpartition("/")[2] if "/" in text else recovery
    if named != recovery:
        raise NotApplicableError(f"the recovery is '{named}', not '{recovery}'")
    return text if "/" in text else f"{text}/{recovery}"


def acks(trace: Trace, start_s: float, end_s: float) -> list[Packet]:
    """The ACKs that reach the sender between two times, in order."""
    packets = trace.packets("bottleneck-reverse")
    return sorted(
        (one for one in packets if one.kind == 1 and start_s <= one.arrival_s <= end_s), key=lambda one: one.arrival_s
    )


def data(trace: Trace, start_s: float = 0.0, end_s: float | None = None) -> list[Packet]:
    """The data packets sent between two times."""
    end = trace.end_s if end_s is None else end_s
    return [one for one in trace.packets() if one.kind == 0 and start_s <= one.at_s <= end]


def writes(*amounts: tuple[float, int]) -> dict[str, Any]:
    """A workload that writes a number of segments at each time, in seconds."""
    steps: list[dict[str, Any]] = []
    for at, segments in amounts:
        # A rate of a segment per microsecond, for as many microseconds.
        steps.append({"at": duration(at), "rate": f"{RFC_MSS_BYTES * 8e6:.0f} bps"})
        steps.append({"at": duration(at + (segments - 0.5) * 1e-6), "rate": "0 bps"})
    return {"kind": "scheduled-writes", "write": f"{RFC_MSS_BYTES} B", "steps": steps}
