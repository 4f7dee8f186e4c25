"""Traces of delivery opportunities in Mahimahi's format: reading, making, describing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cwndlab.engine import make_trace, parse_trace, trace_kinds
from cwndlab.errors import Fault, Parameter, ScenarioError, unknown_name

__all__ = ["Description", "convert", "describe", "load", "make", "names", "picture"]

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

    Raises ``ScenarioError`` if no kind is called so.

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
        raise ScenarioError(unknown_name(Parameter("kind"), "trace", kind, kinds))
    return moments


def load(name: str | Path) -> list[int]:
    """The moments (ms) of the trace in a file, or of the synthetic one of this name.

    Raises ``ScenarioError`` if it cannot be read or is not a trace.

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


#: Units of the two columns: seconds, and bits per second.
TIME_UNITS = {"s": 1.0, "ms": 1e-3}
RATE_UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6}
#: The longest trace, and the most opportunities: a day, and some hundred megabytes of text.
_LONGEST_S, _MOST_OPPORTUNITIES = 86_400.0, 50_000_000


def convert(text: str, name: str, *, time: str = "s", rate: str = "Mbit/s") -> list[int]:
    """The moments (ms) of a trace with two columns, a time and the rate from it on.

    The rate of the last line holds as long as that of the line before. Columns are separated by commas, semicolons or
    blanks; lines that begin with ``#`` and a line of titles are skipped. Times count from the first.

    Parameters
    ----------
    text
        The lines.
    name
        The name of the file, for messages.
    time
        The unit of the times: ``s`` or ``ms``.
    rate
        The unit of the rates: ``bit/s``, ``kbit/s`` or ``Mbit/s``.

    Raises
    ------
    ScenarioError
        A unit is unknown, or a line is not a time and rate, with its number.

    Examples
    --------
    >>> from cwndlab.scenario import traces
    >>> traces.convert("0 12\\n0.002 6\\n0.004 6", "mine.csv")
    [1, 2, 4, 6]
    """
    for value, units, what in ((time, TIME_UNITS, "time"), (rate, RATE_UNITS, "rate")):
        if value not in units:
            raise ScenarioError(Fault(what, f"'{value}' is not a unit of a {what}", f"one of {', '.join(units)}"))
    points = _points(text, name, TIME_UNITS[time], RATE_UNITS[rate])
    ends = [at for at, _ in points[1:]]
    last = points[-1][0] - points[-2][0]
    credit, found = 0.0, []
    size = OPPORTUNITY_BYTES * 8
    if sum(bps * (end - at) for (at, bps), end in zip(points, [*ends, points[-1][0] + last], strict=True)) > (
        size * _MOST_OPPORTUNITIES
    ):
        raise ScenarioError(Fault(name, f"has more than {_MOST_OPPORTUNITIES:,} opportunities", "check the units"))
    for (at, bps), end in zip(points, [*ends, points[-1][0] + last], strict=True):
        total = credit + bps * (end - at)
        # An opportunity is at the end of the millisecond in which the credit reaches a packet. Sums of rates are
        # rounded, so that a packet may lack a trillionth.
        count = int(total / size + 1e-9)
        found += [
            max(math.ceil((at + (number * size - credit) / bps) * 1000 - 1e-6), 1) for number in range(1, count + 1)
        ]
        credit = max(total - count * size, 0.0)
    if not found:
        raise ScenarioError(Fault(name, "carries less than one packet of 1500 B", "check the units of the columns"))
    return found


def _points(text: str, name: str, second: float, bit: float) -> list[tuple[float, float]]:
    """Times (s, from the first one) and rates (bit/s)."""
    points: list[tuple[float, float]] = []
    first = True
    for number, line in enumerate(text.splitlines(), 1):
        fields = re.split(r"[,;\s]+", line.strip())
        if fields == [""] or line.lstrip().startswith("#"):
            continue
        may_be_titles, first = first, False
        try:
            at, value = (float(one) for one in fields)
        except ValueError:
            if may_be_titles:
                continue
            raise _bad_line(name, number, f"'{line.strip()[:40]}' is not a time and rate") from None
        if not (math.isfinite(at) and math.isfinite(value)) or value < 0:
            raise _bad_line(name, number, f"'{line.strip()[:40]}' is not a time and rate from 0 on")
        points.append((at * second, value * bit))
        if len(points) > 1 and points[-1][0] <= points[-2][0]:
            raise _bad_line(name, number, "the time is not later than that of the line before")
    if len(points) < 2:
        raise ScenarioError(Fault(name, "has fewer than two lines with a time and a rate", "write '0.0 12.5'"))
    if points[-1][0] - points[0][0] > _LONGEST_S:
        raise ScenarioError(Fault(name, "is longer than a day", "check the unit of the times: --time ms"))
    return [(at - points[0][0], value) for at, value in points]


def _bad_line(name: str, number: int, what: str) -> ScenarioError:
    return ScenarioError(Fault(f"{name}, line {number}", what, "write a time and a rate, such as '0.5 12.5'"))


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
