"""Cases of the draft's text that none of its examples has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import inf

from cwndlab.suites.bbr_draft.common import (
    BASIC,
    CRUISE,
    DOWN,
    PATHS,
    PROBE_RTT,
    REFILL,
    STARTUP,
    line,
    long_run,
    long_s,
    ramp,
    scenario,
    states,
    steps,
    with_headroom,
    writes,
)
from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup
from cwndlab.suites.paths import MSS_BYTES
from cwndlab.suites.statements import Statement, at_least, at_most, equals
from cwndlab.suites.trace import Trace

_PATHS = tuple(path for path in PATHS if path.rtt_s == 0.04 and path.rate_bps > 1e6)
_CWND = "transport.cwnd_segments"
_WHEN_NOT_PROBING = "When not Probing for Bandwidth"
#: Share of the bandwidth that the application uses, and for how long: more than two cycles of ProbeBW, of 2 to 3 s.
_SHARE, _LIMITED_S = 0.3, 12.0


def _rising(bench: Bench) -> Setup:
    """The link's rate rises linearly, so that it grows by less from round to round: a half, a third, a quarter, …"""
    path = bench.path
    count, first = 240, 0.1
    rates = [(at * path.round_s / 4, first * (1 + at / 16)) for at in range(count)]
    link = {"schedule": steps(*((at, {"rate": f"{share * path.rate_bps:.0f} bps"}) for at, share in rates))}
    return Setup(scenario=scenario(bench, count * path.round_s / 4, link=link))


def _quarter(trace: Trace) -> Iterator[Statement]:
    left = trace.first("state", lambda state: state != STARTUP)
    end = trace.end_s if left is None else left.at_s
    counted = [point.at_s for point in trace.points("full_bw_count", 0, end) if point.value > 0]
    yield at_least(line(1896), "rounds that count as a plateau", len(counted), 1)
    growths = [(_growth(trace, at), at) for at in counted]
    largest, at = max(growths, default=(inf, None))
    yield at_most(line(1892), "growth of the delivery rate in a round that counts", largest, 1.25, at_s=at)
    recorded = [point.value for point in trace.points("full_bw_segments_per_s", 0, end) if point.value > 0]
    least = min((later / earlier for earlier, later in itertools.pairwise(recorded)), default=inf)
    yield at_least(line(1892), "growth of full_bw where Startup records it anew", least, 1.25 - 1e-9)


def _growth(trace: Trace, at_s: float) -> float:
    """RS.delivery_rate over full_bw."""
    rate = trace.at("transport.delivery_rate_bps", at_s) / (8 * MSS_BYTES)
    return rate / trace.at("full_bw_segments_per_s", at_s)


def _limited(bench: Bench) -> Setup:
    start = long_s(bench.path) / 2
    work = writes((0.0, None), (start, _SHARE * bench.path.rate_bps))
    return Setup(scenario=scenario(bench, start + _LIMITED_S, workload=work), moments={"limited": start})


def _keeps(trace: Trace) -> Iterator[Statement]:
    start = trace.moments["limited"]
    yield equals(line(2897), "the flow is application-limited", trace.at("transport.app_limited", trace.end_s), 1)
    before = trace.at("max_bw_segments_per_s", start)
    least = min(trace.points("max_bw_segments_per_s", start), key=lambda point: point.value)
    yield at_least(
        f"{line(2906)}, {line(2503)}: application-limited samples are discarded, and the filter does not advance",
        "the least max_bw over that before the limited period",
        least.value / before,
        0.97,
        at_s=least.at_s,
    )


def _shallow(bench: Bench) -> Setup:
    """The buffer is a quarter of the bandwidth-delay product, so that probes lose, and bound the inflight."""
    path = bench.path
    return Setup(scenario=scenario(bench, long_s(path), buffer_segments=path.bdp_segments / 4))


def _headroom(trace: Trace) -> Iterator[Statement]:
    cruises = [
        span
        for span in states(trace)
        if span.value == CRUISE and trace.at("inflight_longterm_segments", span.start_s) < inf
    ]
    yield at_least(line(3795), "periods of CRUISE with a bound of the inflight", len(cruises), 1)
    above = [
        (point.value - with_headroom(trace, point.at_s), point.at_s)
        for span in cruises
        for point in trace.points("transport.cwnd_segments", span.start_s, span.end_s)
        if point.at_s < span.end_s
    ]
    largest, at = max(above, default=(inf, None))
    yield at_most(
        f"{line(3795)}, {line(2467)}: in CRUISE cwnd is at most InflightWithHeadroom()",
        "the largest cwnd − InflightWithHeadroom()",
        largest,
        1,
        at_s=at,
    )


def _tenth(bench: Bench) -> Setup:
    """The link's rate falls to a tenth, and the buffer loses what it cannot hold."""
    path = bench.path
    start = long_s(path) / 2
    link = {"schedule": steps((start, {"rate": f"{path.rate_bps / 10:.0f} bps"}))}
    run = scenario(bench, start + 5, link=link, buffer_segments=path.bdp_segments)
    return Setup(scenario=run, moments={"change": start})


def _beta(trace: Trace) -> Iterator[Statement]:
    names = (("bw_shortterm_segments_per_s", "max_bw_segments_per_s"), ("inflight_shortterm_segments", _CWND))
    for name, first in names:
        falls = list(_falls(trace, name, first))
        yield at_least(line(3332), f"reductions of {name}", len(falls), 1)
        least, at = min(falls, default=(0, None))
        yield at_least(
            f"{line(3332)}: the larger of the latest sample and Beta, 0.7, times the value before",
            f"{name} over its value before the reduction",
            least,
            0.7 - 1e-3,
            at_s=at,
        )


def _falls(trace: Trace, name: str, first: str) -> Iterator[tuple[float, float]]:
    """The reductions of a value over that before, and their times; ``first`` is the value without a bound."""
    points = trace.points(name, trace.moments["change"])
    for earlier, later in itertools.pairwise(points):
        if later.value < earlier.value:
            base = earlier.value if earlier.value < inf else trace.before(first, later.at_s)
            yield later.value / base, later.at_s


def _few_losses(bench: Bench) -> Setup:
    """One packet in a hundred is lost, from the start: less than the losses that end Startup."""
    return Setup(scenario=scenario(bench, 40 * bench.path.round_s, link={"loss": {"kind": "bernoulli", "p": 0.01}}))


def _unbounded(trace: Trace) -> Iterator[Statement]:
    left = trace.first("state", lambda state: state != STARTUP)
    end = trace.end_s if left is None else left.at_s
    lost = trace.before("transport.lost_segments", end)
    yield at_least(line(3317), "segments lost in Startup", lost, 1, at_s=end)
    for name in ("bw_shortterm_segments_per_s", "inflight_shortterm_segments"):
        least = min((point for point in trace.points(name, 0, end) if point.at_s < end), key=lambda point: point.value)
        yield equals(
            f"{line(3317)}, {line(2455)}: no reduction in Startup",
            f"the least {name}",
            least.value,
            inf,
            at_s=least.at_s,
        )


def _whole(bench: Bench) -> Setup:
    return Setup(scenario=long_run(bench))


def _coexists(trace: Trace) -> Iterator[Statement]:
    waits = []
    for down, after in itertools.pairwise(span for span in states(trace) if span.value in (DOWN, REFILL, PROBE_RTT)):
        if down.value == DOWN and after.value == REFILL:
            rounds = trace.at("round_count", after.start_s) - trace.at("round_count", down.start_s)
            target = trace.before("bdp_segments", after.start_s)
            waits.append((rounds - min(target, 63), after.start_s))
    longest, at = max(waits, default=(inf, None))
    # Each phase begins a round of its own, and the count begins at 0 or 1.
    yield at_most(
        f"{line(2332)}: a probe is due after min(BBRTargetInflight(), 63) rounds",
        "rounds from DOWN to the next probe, less min(BDP, 63)",
        longest,
        2,
        at_s=at,
    )


def _one_burst(bench: Bench) -> Setup:
    """An application-limited flow in Startup loses one burst: 5 % of what is in flight, eight packets at least."""
    path = bench.path
    rates = ramp(path, 0.8)
    start = rates[-1][0] + 5 * path.round_s
    count = max(8.0, 0.05 * path.bdp_segments)
    end = start + count / (0.8 * path.segments_per_s)
    link = {"schedule": steps((start, {"loss": 1.0}), (end, {"loss": 0.0}))}
    run = scenario(bench, end + 20 * path.round_s, link=link, workload=writes(*rates))
    return Setup(scenario=run, moments={"loss": start, "count": count})


def _stays(trace: Trace) -> Iterator[Statement]:
    start, count = trace.moments["loss"], trace.moments["count"]
    lost = trace.at("transport.lost_segments", trace.end_s) - trace.at("transport.lost_segments", start)
    yield at_least(line(1921), "segments lost in the burst", lost, 0.7 * count, at_s=start)
    yield equals(
        f"{line(1924)}: six discontiguous sequence ranges end Startup",
        "full_bw_reached after one range",
        trace.at("full_bw_reached", trace.end_s),
        0,
        at_s=trace.end_s,
    )


CASES = (
    Case(
        name="plateau-growth",
        title="What counts as growth of the bandwidth",
        source="Exiting Acceleration Based on Bandwidth Plateau",
        scenario=_rising,
        check=_quarter,
        paths=_PATHS,
        values=(*BASIC, "full_bw_count", "full_bw_segments_per_s"),
    ),
    Case(
        name="app-limited-max-bw",
        title="Application-limited sending for several cycles",
        source="BBR.max_bw and Application-limited Delivery Rate Samples",
        scenario=_limited,
        check=_keeps,
        paths=_PATHS,
        values=(*BASIC, "max_bw_segments_per_s"),
    ),
    Case(
        name="headroom",
        title="Headroom below the bound of the inflight",
        source="Bounding cwnd Based on Recent Congestion",
        scenario=_shallow,
        check=_headroom,
        paths=_PATHS,
        values=(*BASIC, "inflight_longterm_segments"),
    ),
    Case(
        name="beta",
        title="Reduction of the short-term bounds",
        source=_WHEN_NOT_PROBING,
        scenario=_tenth,
        check=_beta,
        paths=_PATHS,
        values=(*BASIC, "max_bw_segments_per_s", "bw_shortterm_segments_per_s", "inflight_shortterm_segments"),
    ),
    Case(
        name="startup-bounds",
        title="Losses in Startup",
        source=_WHEN_NOT_PROBING,
        scenario=_few_losses,
        check=_unbounded,
        paths=_PATHS,
        values=(*BASIC, "bw_shortterm_segments_per_s", "inflight_shortterm_segments"),
    ),
    Case(
        name="reno-rounds",
        title="Rounds between probes",
        source="Design Considerations for Choosing Constant Parameters",
        scenario=_whole,
        check=_coexists,
        paths=_PATHS[:1],
        values=(*BASIC, "bdp_segments"),
    ),
    Case(
        name="startup-burst",
        title="One burst of losses in Startup",
        source="Exiting Startup Based on Packet Loss",
        scenario=_one_burst,
        check=_stays,
        paths=_PATHS,
        values=(*BASIC, "full_bw_reached"),
    ),
)
