"""What real programs did and what the workload did, as numbers with their deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from interop.wire import Packet, turns

#: A larger deviation needs a cause.
TOLERANCE = 0.05
#: Resolution of the captures' clock, seconds.
CLOCK_S = 1e-6


@dataclass(frozen=True)
class Measured:
    """A run of programs or of the simulator."""

    exchanges: int
    set_up_turns: int
    set_up_bytes: int
    set_up_ms: float | None
    """From the SYN to the first message; null without a set-up over TCP."""
    turns: list[tuple[bool, int]]
    """Those after the set-up."""
    forward_bytes: int
    """Payload from the sender after the set-up."""
    backward_bytes: int
    carriers: int
    """Packets with payload after the set-up."""
    bare: int
    """Packets without payload after the set-up."""
    carrier_bytes: int
    """Size of the packets with payload after the set-up."""
    packets: int
    """All packets, those of the set-up included."""
    wire_bytes: int
    """Size of all packets."""
    exchange_ms: float
    """Median."""
    span_ms: float
    """From the start of the first exchange to the end of the last one."""


def measured(packets: Sequence[Packet], exchanges: Sequence[tuple[float, float]], *, by_sender: bool) -> Measured:
    """The numbers of a run.

    Parameters
    ----------
    packets
        Its packets, in the order of time.
    exchanges
        Start and end of each exchange by the clock of the packets, seconds.
    by_sender
        Whether the client is on the senders' side. The set-up ends before its first payload after the start of the
        first exchange.
    """
    begin = min(start for start, _ in exchanges)
    first = next(
        number
        for number, packet in enumerate(packets)
        if packet.payload and packet.from_sender == by_sender and packet.time_s >= begin - CLOCK_S
    )
    before, after = turns(packets[:first]), packets[first:]
    opened = [packet.time_s for packet in packets[:first] if packet.syn]
    times = [1e3 * (end - start) for start, end in exchanges]
    return Measured(
        exchanges=len(exchanges),
        set_up_turns=len(before),
        set_up_bytes=sum(size for _, size in before),
        set_up_ms=1e3 * (begin - opened[0]) if before and opened and opened[0] < begin else None,
        turns=turns(after),
        forward_bytes=sum(packet.payload for packet in after if packet.from_sender),
        backward_bytes=sum(packet.payload for packet in after if not packet.from_sender),
        carriers=sum(packet.payload > 0 for packet in after),
        bare=sum(packet.payload == 0 for packet in after),
        carrier_bytes=sum(packet.size for packet in after if packet.payload),
        packets=len(packets),
        wire_bytes=sum(packet.size for packet in packets),
        exchange_ms=median(times),
        span_ms=1e3 * (max(end for _, end in exchanges) - min(start for start, _ in exchanges)),
    )


def deviation(real: float | None, simulated: float | None) -> float | None:
    """The simulated value over the real one, less one; null if one of them is missing or the real one is 0."""
    if real is None or simulated is None:
        return None
    if real == simulated:
        return 0.0
    return simulated / real - 1 if real else None


def same_order(real: Measured, simulated: Measured) -> bool:
    """Whether both ends took turns in the same order after the set-up."""
    return [end for end, _ in real.turns] == [end for end, _ in simulated.turns]


#: The quantities of a row.
QUANTITIES = (
    "forward_bytes",
    "backward_bytes",
    "carriers",
    "carrier_bytes",
    "bare",
    "packets",
    "wire_bytes",
    "exchange_ms",
    "span_ms",
    "set_up_bytes",
    "set_up_ms",
)


def row(name: str, real: Measured, simulated: Measured, computing: Mapping[str, float]) -> dict[str, Any]:
    """A row of the result: both values and the deviation of each quantity.

    ``computing`` is the part of some of the real times that the programs spend, milliseconds. The deviation is that
    from the rest.
    """
    ours, theirs = asdict(simulated), asdict(real)

    def compared(key: str) -> list[float | None]:
        rest = None if theirs[key] is None else theirs[key] - computing.get(key, 0.0)
        return [theirs[key], ours[key], deviation(rest, ours[key])]

    return {
        "case": name,
        "exchanges": [real.exchanges, simulated.exchanges],
        "set_up_turns": [real.set_up_turns, simulated.set_up_turns],
        "turns": [len(real.turns), len(simulated.turns)],
        "same_order": same_order(real, simulated),
        "computing": dict(computing),
        "quantities": {key: compared(key) for key in QUANTITIES},
    }


def again(kept: Mapping[str, Any], simulated: Measured) -> dict[str, Any]:
    """A kept row with another run of the simulator beside the same programs. It has no turns: their order counts as the
    same if it was, and their number is."""
    ours = asdict(simulated)
    quantities = {}
    for key, (real, _, _) in kept["quantities"].items():
        rest = None if real is None else real - kept["computing"].get(key, 0.0)
        quantities[key] = [real, ours[key], deviation(rest, ours[key])]
    (exchanges, _), (turns, before) = kept["exchanges"], kept["turns"]
    return {
        **kept,
        "exchanges": [exchanges, simulated.exchanges],
        "turns": [turns, len(simulated.turns)],
        "same_order": kept["same_order"] and len(simulated.turns) == before,
        "quantities": quantities,
    }


def beyond(row: dict[str, Any]) -> list[str]:
    """The quantities of a row that deviate by more than the tolerance."""
    return [key for key, (_, _, part) in row["quantities"].items() if part is not None and abs(part) > TOLERANCE]


@dataclass(frozen=True)
class Timeouts:
    """Retransmissions of confirmable messages of CoAP."""

    messages: int
    retransmitted: int
    """Messages with a retransmission."""
    first_min_s: float
    """First timeout: RFC 7252, section 4.8, has 2 to 3 s."""
    first_mean_s: float
    first_max_s: float
    ratio_min: float
    """A timeout over the one before: 2 by section 4.2."""
    ratio_max: float
    ratios: int


def timeouts(messages: Sequence[Sequence[float]]) -> Timeouts:
    """The timeouts between the copies of each message, seconds."""
    gaps = [[later - sooner for sooner, later in pairwise(times)] for times in messages]
    first = [one[0] for one in gaps if one]
    ratios = [later / sooner for one in gaps for sooner, later in pairwise(one)]
    return Timeouts(
        messages=len(messages),
        retransmitted=len(first),
        first_min_s=min(first),
        first_mean_s=fmean(first),
        first_max_s=max(first),
        ratio_min=min(ratios),
        ratio_max=max(ratios),
        ratios=len(ratios),
    )
