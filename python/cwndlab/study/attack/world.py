"""What may happen on a path: events with declared bounds, and the scenario that a list of them makes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.scenario.document import Scenario


@dataclass(frozen=True)
class Kind:
    """A kind of event in words, with a place for its amount, and the bounds of the amount, within which it is searched
    in logarithms."""

    words: str
    low: float = 1.0
    high: float = 1.0
    receiver: bool = False
    """It is how the receiver acknowledges, for the whole run: only the simulator can do it, since a kernel decides that
    itself."""


#: The kinds. Rates are factors of the rate of the bottleneck; times are in milliseconds.
KINDS: Mapping[str, Kind] = {
    "outage": Kind("outage"),
    "rate": Kind("rate × {:.3g}", 0.05, 4.0),
    "delay": Kind("delay + {:.3g} ms", 1.0, 200.0),
    "loss": Kind("loss of {:.2%} of the packets", 0.001, 0.3),
    "ack-delay": Kind("delay of ACKs + {:.3g} ms", 1.0, 200.0),
    "ack-loss": Kind("loss of {:.0%} of the ACKs", 0.05, 0.9),
    "stretch": Kind("an ACK for each {:.3g} segments", 3.0, 64.0, receiver=True),
    "ack-timer": Kind("ACKs wait for up to {:.3g} ms", 50.0, 500.0, receiver=True),
    "rival": Kind("a flow of CUBIC"),
    "cbr": Kind("datagrams at {:.3g} times the rate", 0.1, 1.5),
    "pulses": Kind("datagrams for 100 ms each {:.4g} ms, at 1.5 times the rate", 200.0, 2000.0),
}
#: The path of an attack by default.
PATH: Mapping[str, Any] = {
    "schema_version": 1,
    "duration": "30 s",
    "dumbbell": {"bottleneck": {"rate": "10 Mbps", "delay": "10 ms", "queue": {"capacity": "1 bdp"}}},
    "flow": [{"algorithm": "cubic", "rtt": "40 ms"}],
}
#: A pulse: 100 ms at one and a half times the rate.
_PULSE_MS, _PULSE_RATE = 100, 1.5
#: The first event begins after a second, so that a flow has begun.
_QUIET_S = 1.0
#: By how much the times of a run differ at most from those of the find.
_SHIFT = 0.03
#: The shortest event.
_SHORTEST_S = 0.05


@dataclass(frozen=True, order=True)
class Event:
    """Something that happens on the path.

    Examples
    --------
    >>> print(Event(3.0, 0.5, "rate", 0.25))
    3 s to 3.5 s: rate × 0.25
    """

    at_s: float
    for_s: float
    kind: str
    amount: float = 1.0

    @property
    def end_s(self) -> float:
        """When it is over."""
        return self.at_s + self.for_s

    @property
    def words(self) -> str:
        """What happens."""
        return KINDS[self.kind].words.format(self.amount)

    def __str__(self) -> str:
        if KINDS[self.kind].receiver:
            return f"throughout: {self.words}"
        return f"{self.at_s:.5g} s to {self.end_s:.5g} s: {self.words}"

    @classmethod
    def within(cls, kind: str, at: float, length: float, amount: float, duration_s: float) -> Event:
        """The event of three numbers from 0 to 1, which run evenly over the times, and over the logarithms of length
        and amount."""
        bounds = KINDS[kind]
        amount = bounds.low * (bounds.high / bounds.low) ** amount
        if bounds.receiver:
            return cls(0.0, duration_s, kind, amount)
        longest = duration_s / 2
        for_s = _SHORTEST_S * (longest / _SHORTEST_S) ** length
        at_s = _QUIET_S + at * max(duration_s - _QUIET_S - for_s, 0.0)
        return cls(round(at_s, 3), round(for_s, 3), kind, amount)


@dataclass(frozen=True)
class Line:
    """Rate and delay of a direction without events."""

    rate_bps: int
    delay_ns: int

    @classmethod
    def of(cls, link: Mapping[str, Any]) -> Line:
        """Of a link in its canonical form; a reverse direction without a rate has one that limits nothing."""
        return cls(link.get("rate_bps", 10**12), link["delay_ns"])


@dataclass(frozen=True)
class World:
    """A path with one bottleneck, a flow of the algorithm in question, and a flow of CUBIC beside it if ``beside``."""

    document: Mapping[str, Any]
    forward: Line
    reverse: Line
    own: Mapping[str, Any]
    """RTT, and where they are given profile and stack, of all flows over TCP."""
    duration_s: float
    beside: bool
    classes: Mapping[str, type]

    @classmethod
    def of(cls, scenario: Scenario, *, beside: bool) -> World:
        """The world of a scenario, of whose flows the RTT, profile and stack of the first one remain.

        Raises
        ------
        ScenarioError
            It is not a dumbbell, or its bottleneck has no constant rate.
        """
        document = json.loads(scenario.to_json())
        canonical = json.loads(scenario.canonical)
        line = canonical.get("dumbbell", {}).get("bottleneck", {})
        hint = "a dumbbell whose bottleneck has a rate and no schedule, trace or token bucket"
        if "rate_bps" not in line or any(line.get(key) for key in ("schedule", "trace", "token_bucket")):
            raise ScenarioError(Fault("dumbbell.bottleneck", "has no constant rate to disturb", hint))
        flow = document["flow"][0]
        if flow.get("transport", "tcp") != "tcp":
            raise ScenarioError(Fault("flow[0]", "is not a TCP flow", hint))
        # Sizes in bandwidth-delay products would change with the rates of the events.
        capacity = _capacity(line, canonical["flow"][0])
        bottleneck = dict(document["dumbbell"]["bottleneck"])
        queue = bottleneck.get("queue", {})
        queue = {"kind": queue} if isinstance(queue, str) else dict(queue)
        bottleneck["queue"] = queue | ({} if capacity is None else {"capacity": capacity})
        kept = {key: value for key, value in document.items() if key not in ("flow", "title", "start_jitter")}
        kept["dumbbell"] = document["dumbbell"] | {"bottleneck": bottleneck}
        lines = Line.of(line), Line.of(canonical["dumbbell"]["reverse"])
        own = {name: flow[name] for name in ("rtt", "profile", "stack") if name in flow}
        return cls(kept, *lines, own, canonical["duration_ns"] / 1e9, beside, scenario.classes)

    def scenario(self, algorithm: str, events: Sequence[Event]) -> dict[str, Any]:
        """The scenario with these events, in plain values. Paths and starts vary by less than can be measured from seed
        to seed (`perturb`)."""
        flows: list[dict[str, Any]] = [{"name": "attacked", "algorithm": algorithm, **self.own}]
        if receiver := _receiver(events):
            flows[0]["stack"] = self.own.get("stack", {}) | receiver
        if self.beside:
            flows.append({"name": "beside", "algorithm": "cubic", **self.own})
        made = [self._flow(number, one) for number, one in enumerate(events) if one.kind in ("rival", "cbr", "pulses")]
        dumbbell = dict(self.document["dumbbell"])
        forward = [one for one in events if one.kind in ("outage", "rate", "delay", "loss")]
        backward = [one for one in events if one.kind in ("ack-delay", "ack-loss")]
        dumbbell["bottleneck"] = dumbbell["bottleneck"] | {"schedule": self._steps(forward, self.forward)}
        dumbbell["reverse"] = dict(dumbbell.get("reverse", {})) | {"schedule": self._steps(backward, self.reverse)}
        title = f"{algorithm} attacked by {len(events)} event{'s' * (len(events) != 1)}"
        return {**self.document, "title": title, "perturb": True, "dumbbell": dumbbell, "flow": flows + made}

    def boundaries_s(self, events: Sequence[Event]) -> list[float]:
        """The times between which nothing changes, the start and the end included."""
        inner = {round(time, 6) for one in events for time in (one.at_s, one.end_s)}
        return sorted({0.0, self.duration_s} | {time for time in inner if 0 < time < self.duration_s})

    def _flow(self, number: int, event: Event) -> dict[str, Any]:
        one: dict[str, Any] = {"name": f"event-{number + 1}"}
        times = {"start": _time(event.at_s), "stop": _time(event.end_s)}
        if event.kind == "rival":
            return {**one, **self.own, **times, "algorithm": "cubic"}
        one |= {"rtt": self.own["rtt"], **times, "transport": "udp"}
        if event.kind == "cbr":
            return one | {"workload": {"kind": "cbr", "rate": _rate(self.forward.rate_bps * event.amount)}}
        off = max(event.amount - _PULSE_MS, 1.0)
        workload = {"kind": "on-off", "on": f"{_PULSE_MS} ms", "off": f"{off:.6g} ms"}
        return one | {"workload": workload | {"rate": _rate(self.forward.rate_bps * _PULSE_RATE)}}

    def _steps(self, events: Sequence[Event], line: Line) -> list[dict[str, Any]]:
        """The steps of a schedule: what applies from each boundary on. The first one states the undisturbed line."""
        steps: list[dict[str, Any]] = []
        last: dict[str, Any] = {}
        for at, end in pairwise(self.boundaries_s(events)):
            now = during(events, at, end)
            rate = math.prod(one.amount for one in now if one.kind == "rate")
            rate = 0.0 if any(one.kind == "outage" for one in now) else rate
            more_ms = sum(one.amount for one in now if one.kind in ("delay", "ack-delay"))
            kept = math.prod(1 - one.amount for one in now if one.kind in ("loss", "ack-loss"))
            state = {
                "rate": _rate(line.rate_bps * rate),
                "delay": f"{line.delay_ns / 1e6 + more_ms:.6g} ms",
                "loss": round(1 - kept, 6),
            }
            if state != last:
                changes = {key: value for key, value in state.items() if value != last.get(key)}
                steps.append({"at": _time(at)} | changes)
            last = state
        return steps


def shifted(events: Sequence[Event], seed: int) -> list[Event]:
    """The events of a run: their times are longer or shorter by up to 3 %, all by factors of their own, so that a find
    does not hang on the phase of a timer."""
    random = Random(seed)
    factors = [[1 + _SHIFT * (2 * random.random() - 1) for _ in range(2)] for _ in events]
    return [
        one
        if KINDS[one.kind].receiver
        else replace(one, at_s=round(one.at_s * at, 3), for_s=round(one.for_s * length, 3))
        for one, (at, length) in zip(events, factors, strict=True)
    ]


def during(events: Sequence[Event], start_s: float, end_s: float) -> list[Event]:
    """The events that last from one boundary to the next."""
    middle = (start_s + end_s) / 2
    return [one for one in events if one.at_s <= middle < one.end_s]


def _receiver(events: Sequence[Event]) -> dict[str, Any]:
    """The settings of a receiver that acknowledges as the events say; the largest amount of a kind holds."""
    most = {
        kind: max((one.amount for one in events if one.kind == kind), default=0.0) for kind in ("stretch", "ack-timer")
    }
    settings: dict[str, Any] = {"ack_every": round(most["stretch"])} if most["stretch"] else {}
    return settings | ({"ack_delay": f"{most['ack-timer']:.6g} ms"} if most["ack-timer"] else {})


def _time(seconds: float) -> str:
    return f"{round(seconds, 6):.12g} s"


def _rate(bps: float) -> str:
    return f"{Decimal(f'{bps / 1e6:.6g}'):f} Mbps"  # a quantity has no exponent


def _capacity(line: Mapping[str, Any], flow: Mapping[str, Any]) -> str | None:
    """The capacity of the queue in bytes; ``None`` where the queue says it in packets or bytes itself."""
    capacity = line.get("queue", {}).get("capacity", {"bdp": 1.0})
    if not isinstance(capacity, Mapping):
        return None
    if "bdp" in capacity:
        ns = capacity["bdp"] * capacity.get("rtt_ns", flow["rtt_ns"])
    elif "ns" in capacity:
        ns = capacity["ns"]
    else:
        return None
    return f"{max(round(line['rate_bps'] * ns / 8e9), 3000)} B"
