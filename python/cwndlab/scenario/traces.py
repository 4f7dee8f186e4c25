"""Traces of delivery opportunities in Mahimahi's format: reading, making, describing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cwndlab.engine import make_trace, parse_trace, trace_kinds
from cwndlab.errors import Fault, ScenarioError

__all__ = ["Description", "describe", "load", "make", "names", "picture"]

#: Bytes of an opportunity.
OPPORTUNITY_BYTES = 1500


def names() -> list[str]:
    """Names of the synthetic traces that a scenario may name in place of a file.

    Examples
    --------
    >>> from cwndlab.scenario import traces
    >>> traces.names()
    ['lte-driving', 'lte-stationary', '3g', 'satellite']
    """
    return trace_kinds()[0]


def make(kind: str, *, seed: int | None = None, duration_s: int | None = None) -> list[int]:
    """The moments (ms) of a synthetic trace; seed and length are those of traces taken by name unless given.

    Raises ``ScenarioError`` where no kind is called so.

    Examples
    --------
    >>> from cwndlab.scenario import traces
    >>> moments = traces.make("lte-driving", seed=1, duration_s=10)
    >>> moments == traces.make("lte-driving", seed=1, duration_s=10), moments[-1]
    (True, 10000)
    """
    kinds, usual_seed, usual_duration = trace_kinds()
    seed = usual_seed if seed is None else seed
    moments = make_trace(kind, seed, usual_duration if duration_s is None else duration_s)
    if moments is None:
        raise ScenarioError(Fault(kind, "no trace is called so", f"one of {', '.join(kinds)}"))
    return moments


def load(name: str | Path) -> list[int]:
    """The moments (ms) of the trace in a file, or of the synthetic one of this name.

    Raises ``ScenarioError`` where it cannot be read or is no trace.

    Examples
    --------
    >>> from cwndlab.scenario import traces
    >>> traces.load("lte-driving")[-1]
    120000
    """
    if str(name) in names():
        return make(str(name))
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        hint = f"a file in Mahimahi's format, or one of {', '.join(names())}"
        raise ScenarioError(Fault(str(name), f"cannot be read: {cause}", hint)) from None
    return parse_trace(text, str(name))


@dataclass(frozen=True)
class Description:
    """What `describe` finds; rates in bit/s, times in s."""

    opportunities: int
    duration_s: float
    mean_bps: float
    #: Rate in each full second.
    second_bps: tuple[float, ...]
    #: Gaps between opportunities of at least ``outage_s``: start and length.
    outages_s: tuple[tuple[float, float], ...]

    def percentile(self, share: float) -> float:
        """The rate of a second below which ``share`` (0 to 1) of the seconds lie: the nearest rank."""
        ranked = sorted(self.second_bps)
        return ranked[min(int(share * len(ranked)), len(ranked) - 1)]


def describe(moments: Sequence[int], *, outage_s: float = 0.1) -> Description:
    """Rates and outages of a trace; an incomplete last second counts by its length.

    Examples
    --------
    >>> from cwndlab.scenario import traces
    >>> found = traces.describe([100, 200, 1000])
    >>> found.mean_bps, found.outages_s
    (36000.0, ((0.0, 0.1), (0.1, 0.1), (0.2, 0.8)))
    """
    bits, period = OPPORTUNITY_BYTES * 8, moments[-1]
    counts = [0] * -(-period // 1000)
    for moment in moments:
        counts[min(moment // 1000, len(counts) - 1)] += 1
    lengths = [min(1000, period - 1000 * second) for second in range(len(counts))]
    rates = tuple(count * bits * 1000 / length for count, length in zip(counts, lengths, strict=True))
    starts = [0, *moments]
    gaps = tuple(
        (before / 1000, (after - before) / 1000)
        for before, after in zip(starts, moments, strict=False)
        if after - before >= outage_s * 1000
    )
    return Description(len(moments), period / 1000, len(moments) * bits * 1000 / period, rates, gaps)


def picture(rates: Sequence[float], *, width: int = 72) -> str:
    """A line of bars, one for each rate or the mean of consecutive ones, the tallest for the largest.

    Examples
    --------
    >>> from cwndlab.scenario import traces
    >>> traces.picture([1.0, 2.0, 4.0, 8.0])
    '▁▂▄█'
    """
    bars = " ▁▂▃▄▅▆▇█"
    width = min(width, len(rates))
    edges = [len(rates) * n // width for n in range(width + 1)]
    means = [sum(rates[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means) or 1.0
    return "".join(bars[round(mean / top * (len(bars) - 1))] for mean in means)


def __dir__() -> list[str]:
    return __all__
