"""Distributions of scenarios: another path for each episode (domain randomisation)."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cwndlab.errors import ArgumentError, Fault, ScenarioError, parameter_fault
from cwndlab.scenario import traces
from cwndlab.scenario.document import SCHEMA_VERSION, Scenario

__all__ = [
    "CellularPaths",
    "CompetitionPaths",
    "Distribution",
    "Episode",
    "FixedPaths",
    "LinkPaths",
    "LogUniform",
    "OneOf",
    "Paths",
    "TracePaths",
    "Uniform",
]

#: Bits of a full packet on the wire, of the profile ``linux``: 1448 bytes of payload, 52 of headers.
PACKET_BITS = 12_000


@dataclass(frozen=True)
class Uniform:
    """Numbers between ``low`` and ``high``, all equally likely.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import Uniform
    >>> 1 <= Uniform(1, 2).sample(np.random.default_rng(1)) < 2
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -math.inf < self.low <= self.high < math.inf:
            raise ScenarioError(
                Fault("Uniform", f"'{self.low}' to '{self.high}' is not a range", "write Uniform(1, 10)")
            )

    def sample(self, rng: np.random.Generator) -> float:
        """A number."""
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class LogUniform:
    """Positive numbers between ``low`` and ``high`` with a uniform logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import LogUniform
    >>> 1 <= LogUniform(1, 100).sample(np.random.default_rng(1)) <= 100
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < math.inf:
            what = f"'{self.low}' to '{self.high}' is not a range of positive numbers"
            raise ScenarioError(Fault("LogUniform", what, "write LogUniform(1, 100)"))

    def sample(self, rng: np.random.Generator) -> float:
        """A number."""
        return float(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))


@dataclass(frozen=True)
class OneOf:
    """One of several values, all equally likely; a value may be a distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import OneOf
    >>> OneOf(["cubic", "bbr1"]).sample(np.random.default_rng(1)) in ("cubic", "bbr1")
    True
    """

    values: Sequence[Any]

    def __post_init__(self) -> None:
        if not self.values:
            raise ScenarioError(Fault("OneOf", "has no values", "write OneOf([1, 2])"))

    def sample(self, rng: np.random.Generator) -> Any:
        """A value."""
        return draw(self.values[int(rng.integers(len(self.values)))], rng)


#: A distribution, or a constant.
Distribution: TypeAlias = Uniform | LogUniform | OneOf | float | int | str


def draw(value: Any, rng: np.random.Generator) -> Any:
    """A value of a distribution, or the constant."""
    return value.sample(rng) if isinstance(value, Uniform | LogUniform | OneOf) else value


@dataclass(frozen=True)
class Episode:
    """A scenario of one episode.

    Parameters
    ----------
    document
        The scenario as JSON. Its first flow is the policy's.
    seed
        Seed of the run.
    fair_rate
        The flow's fair share of the link, segments per second.
    base_rtt
        Its RTT without queues, seconds.
    facts
        What was drawn, by name.
    """

    document: str
    seed: int
    fair_rate: float
    base_rtt: float
    facts: Mapping[str, float | str]


class Paths(ABC):
    """A distribution of scenarios. A subclass draws one for each episode.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import LinkPaths, Paths
    >>> class ShortOrLong(Paths):
    ...     def sample(self, rng, algorithm):
    ...         return LinkPaths(rtt_ms=10 if rng.random() < 0.5 else 200).sample(rng, algorithm)
    >>> ShortOrLong().sample(np.random.default_rng(1), "external").base_rtt in (0.01, 0.2)
    True
    """

    @abstractmethod
    def sample(self, rng: np.random.Generator, algorithm: str) -> Episode:
        """Draws a scenario.

        Parameters
        ----------
        rng
            Source of chance.
        algorithm
            The algorithm of the first flow.
        """


def _quantity(name: str, value: Any, least: float) -> float:
    number = float(value)
    if not least <= number < math.inf:
        raise ArgumentError(parameter_fault(name, f"'{value}' is out of range", hint=f"at least {least:g}"))
    return number


def _link(line: Mapping[str, Any], rtt_ms: float, packets: int) -> dict[str, Any]:
    """A line with a quarter of the RTT and a drop-tail queue."""
    queue = {"kind": "droptail", "capacity": f"{packets} packets"}
    return {**line, "delay": f"{rtt_ms / 4:.6f} ms", "queue": queue}


def _two_ways(line: Mapping[str, Any], reverse_rate: str, rtt_ms: float, packets: int) -> dict[str, Any]:
    reverse = {"rate": reverse_rate, "delay": f"{rtt_ms / 4:.6f} ms"}
    return {"bottleneck": _link(line, rtt_ms, packets), "reverse": reverse}


def _flow(algorithm: str, rtt_ms: float) -> dict[str, Any]:
    return {"algorithm": algorithm, "rtt": f"{rtt_ms:.6f} ms"}


def _draw_path(paths: TracePaths | CellularPaths, rng: np.random.Generator) -> tuple[float, int, float]:
    """Base RTT (ms), capacity of the queue (packets) and length of the episode (s)."""
    rtt = _quantity("rtt_ms", draw(paths.rtt_ms, rng), 0.01)
    packets = round(_quantity("queue_packets", draw(paths.queue_packets, rng), 2))
    return rtt, packets, _quantity("duration_s", draw(paths.duration_s, rng), 0.1)


def _episode(
    rng: np.random.Generator,
    dumbbell: dict[str, Any],
    flows: list[dict[str, Any]],
    duration_s: float,
    fair_rate: float,
    facts: dict[str, float | str],
) -> Episode:
    document = {
        "schema_version": SCHEMA_VERSION,
        "duration": f"{duration_s:.6f} s",
        "dumbbell": dumbbell,
        "flow": flows,
    }
    base_rtt = float(facts["rtt_ms"]) / 1000
    return Episode(
        json.dumps(document), int(rng.integers(2**32)), fair_rate, base_rtt, {**facts, "duration_s": duration_s}
    )


@dataclass(frozen=True, kw_only=True)
class LinkPaths(Paths):
    """A flow alone on a link.

    Parameters
    ----------
    rate_mbps
        Rate of the link, Mbit/s.
    rtt_ms
        Base RTT, ms.
    queue_bdp
        Capacity of its drop-tail queue, in bandwidth-delay products; at least two packets.
    loss
        Probability of random loss.
    round_trips
        Length of an episode in base RTTs.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import LinkPaths
    >>> episode = LinkPaths(rate_mbps=12, rtt_ms=20).sample(np.random.default_rng(1), "external")
    >>> episode.fair_rate, episode.base_rtt
    (1000.0, 0.02)
    """

    rate_mbps: Distribution = field(default_factory=lambda: LogUniform(2, 50))
    rtt_ms: Distribution = field(default_factory=lambda: LogUniform(10, 150))
    queue_bdp: Distribution = field(default_factory=lambda: LogUniform(0.2, 4))
    loss: Distribution = field(default_factory=lambda: OneOf([0.0, LogUniform(1e-4, 0.02)]))
    round_trips: Distribution = 200

    def _draw(self, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, float | str], float]:
        """The bottleneck, what was drawn, and the length of the episode in seconds."""
        rate = _quantity("rate_mbps", draw(self.rate_mbps, rng), 0.01)
        rtt = _quantity("rtt_ms", draw(self.rtt_ms, rng), 0.01)
        queue = _quantity("queue_bdp", draw(self.queue_bdp, rng), 0)
        loss = _quantity("loss", draw(self.loss, rng), 0)
        packets = max(2, round(queue * rate * 1e3 * rtt / PACKET_BITS))
        losses = {"loss": {"kind": "bernoulli", "p": loss}} if loss else {}
        facts: dict[str, float | str] = {"rate_mbps": rate, "rtt_ms": rtt, "queue_packets": packets, "loss": loss}
        duration = _quantity("round_trips", draw(self.round_trips, rng), 2) * rtt / 1000
        return _link({"rate": f"{round(rate * 1e6)} bit/s", **losses}, rtt, packets), facts, duration

    def sample(self, rng: np.random.Generator, algorithm: str) -> Episode:
        """Draws a scenario."""
        link, facts, duration = self._draw(rng)
        flows, fair = [_flow(algorithm, float(facts["rtt_ms"]))], float(facts["rate_mbps"]) * 1e6 / PACKET_BITS
        return _episode(rng, {"bottleneck": link}, flows, duration, fair, facts)


@dataclass(frozen=True, kw_only=True)
class CompetitionPaths(LinkPaths):
    """A flow with others on a link; they have its RTT and start within the first tenth of the episode.

    Parameters
    ----------
    others
        The algorithm of each other flow.
    count
        Their number.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import CompetitionPaths
    >>> paths = CompetitionPaths(rate_mbps=12, rtt_ms=20, others="cubic", count=1)
    >>> episode = paths.sample(np.random.default_rng(1), "external")
    >>> episode.fair_rate, episode.facts["others"]
    (500.0, 'cubic')
    """

    others: Distribution = field(default_factory=lambda: OneOf(["cubic", "reno", "bbr1"]))
    count: Distribution = field(default_factory=lambda: OneOf([1, 2, 3]))

    def sample(self, rng: np.random.Generator, algorithm: str) -> Episode:
        """Draws a scenario."""
        link, facts, duration = self._draw(rng)
        rtt = float(facts["rtt_ms"])
        count = int(_quantity("count", draw(self.count, rng), 1))
        others = [str(draw(self.others, rng)) for _ in range(count)]
        flows = [_flow(algorithm, rtt)]
        for other in others:
            start = rng.uniform(0, duration / 10)
            flows.append({**_flow(other, rtt), "start": f"{start:.6f} s"})
        fair = float(facts["rate_mbps"]) * 1e6 / PACKET_BITS / (1 + count)
        return _episode(rng, {"bottleneck": link}, flows, duration, fair, {**facts, "others": ",".join(others)})


@lru_cache(maxsize=64)
def _moments(trace: str) -> tuple[int, ...]:
    """The moments of a trace, ms."""
    return tuple(traces.load(trace))


def _mean_rate(moments: Sequence[int], offset_s: float, duration_s: float) -> float:
    """Opportunities per second of a trace, which repeats, in a span of time."""

    def until(time_ms: float) -> int:
        periods, rest = divmod(time_ms, moments[-1])
        return int(periods) * len(moments) + bisect_right(moments, rest)

    start, end = 1000 * offset_s, 1000 * (offset_s + duration_s)
    return max(until(end) - until(start), 1) / duration_s


@dataclass(frozen=True, kw_only=True)
class TracePaths(Paths):
    """A flow alone on a link that follows a recorded or synthetic trace in Mahimahi's format, from a random moment on.

    Parameters
    ----------
    trace
        Names of synthetic traces (`cwndlab.scenario.traces.names`), or files.
    rtt_ms
        Base RTT, ms.
    queue_packets
        Capacity of its drop-tail queue, packets.
    duration_s
        Length of an episode, s.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import TracePaths
    >>> episode = TracePaths(trace="lte-driving", rtt_ms=40).sample(np.random.default_rng(1), "external")
    >>> episode.facts["trace"], episode.base_rtt
    ('lte-driving', 0.04)
    """

    trace: Distribution = field(default_factory=lambda: OneOf(traces.names()))
    rtt_ms: Distribution = field(default_factory=lambda: LogUniform(20, 150))
    queue_packets: Distribution = field(default_factory=lambda: LogUniform(20, 1000))
    duration_s: Distribution = 10

    def sample(self, rng: np.random.Generator, algorithm: str) -> Episode:
        """Draws a scenario."""
        name = str(draw(self.trace, rng))
        rtt, packets, duration = _draw_path(self, rng)
        moments = _moments(name)
        offset = float(rng.uniform(0, moments[-1] / 1000))
        # A scenario in JSON has no folder to which a file's name could be relative.
        where = name if name in traces.names() else str(Path(name).resolve())
        line = {"trace": {"file": where, "offset": f"{offset:.3f} s"}}
        facts: dict[str, float | str] = {"trace": name, "rtt_ms": rtt, "queue_packets": packets, "offset_s": offset}
        path, fair = _two_ways(line, "1 Gbit/s", rtt, packets), _mean_rate(moments, offset, duration)
        return _episode(rng, path, [_flow(algorithm, rtt)], duration, fair, facts)


@dataclass(frozen=True, kw_only=True)
class CellularPaths(Paths):
    """A flow alone on a cellular link: a new synthetic trace for each episode, retransmissions of the radio link
    (HARQ), a deep queue.

    Parameters
    ----------
    kind
        Kinds of traces: ``"lte-driving"``, ``"lte-stationary"``, ``"3g"``, ``"satellite"``.
    rtt_ms
        Base RTT, ms.
    queue_packets
        Capacity of its drop-tail queue, packets.
    duration_s
        Length of an episode, s.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import CellularPaths
    >>> episode = CellularPaths(kind="3g", rtt_ms=60).sample(np.random.default_rng(1), "external")
    >>> episode.facts["kind"], episode.base_rtt
    ('3g', 0.06)
    """

    kind: Distribution = field(default_factory=lambda: OneOf(["lte-driving", "lte-stationary", "3g"]))
    rtt_ms: Distribution = field(default_factory=lambda: LogUniform(40, 120))
    queue_packets: Distribution = field(default_factory=lambda: LogUniform(100, 1000))
    duration_s: Distribution = 10

    def sample(self, rng: np.random.Generator, algorithm: str) -> Episode:
        """Draws a scenario."""
        kind = str(draw(self.kind, rng))
        rtt, packets, duration = _draw_path(self, rng)
        moments = traces.make(kind, seed=int(rng.integers(2**32)), duration_s=math.ceil(duration))
        line = {"trace": {"text": "\n".join(map(str, moments))}, "harq": {}}
        facts: dict[str, float | str] = {"kind": kind, "rtt_ms": rtt, "queue_packets": packets}
        path, fair = _two_ways(line, "10 Mbit/s", rtt, packets), _mean_rate(moments, 0, duration)
        return _episode(rng, path, [_flow(algorithm, rtt)], duration, fair, facts)


@dataclass(frozen=True)
class FixedPaths(Paths):
    """Scenarios of your own, of which each episode takes one; only the seed of the run varies further.

    Parameters
    ----------
    scenarios
        The scenarios; the algorithm of the first flow is replaced by the policy.
    fair_rate
        The flow's fair share, segments per second.
    base_rtt
        Its RTT without queues, seconds.

    Examples
    --------
    >>> import numpy as np, cwndlab
    >>> from cwndlab.gym import FixedPaths
    >>> paths = FixedPaths([cwndlab.presets.load("two-flows")], fair_rate=1000, base_rtt=0.05)
    >>> paths.sample(np.random.default_rng(1), "external").facts["scenario"]
    'CUBIC and Reno share a bottleneck'
    """

    scenarios: Sequence[Scenario]
    fair_rate: float
    base_rtt: float

    def __post_init__(self) -> None:
        if not self.scenarios:
            raise ArgumentError(parameter_fault("scenarios", "is empty", hint="give a scenario at least"))
        for one in self.scenarios:
            count = one.document["flow"][0].get("count", 1)
            if count != 1:
                name = one.title or one.hash[:12]
                what = f"the first entry of '{name}' is {count} flows, and a policy decides for one"
                hint = "give the policy's flow an entry of its own, without count"
                raise ArgumentError(parameter_fault("scenarios", what, hint=hint))

    def sample(self, rng: np.random.Generator, algorithm: str) -> Episode:
        """Draws a scenario."""
        scenario = self.scenarios[int(rng.integers(len(self.scenarios)))]
        document = scenario.document
        document["flow"][0]["algorithm"] = algorithm
        seed = int(rng.integers(2**32))
        facts = {"scenario": scenario.title or scenario.hash[:12]}
        return Episode(json.dumps(document), seed, self.fair_rate, self.base_rtt, facts)
