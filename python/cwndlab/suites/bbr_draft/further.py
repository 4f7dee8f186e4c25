"""Cases of the draft's text that none of its examples has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import inf

from cwndlab.suites.bbr_draft import common as bbr
from cwndlab.suites.case import cases
from cwndlab.suites.paths import MSS_BYTES
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, rate, steps

_PATHS = tuple(path for path in bbr.PATHS if path.rtt_s == 0.04 and path.rate_bps > 1e6)
CASES, case = cases(_PATHS, *bbr.BASIC)
_MAX_BW, _BW_SHORT, _LONG = "max_bw_segments_per_s", "bw_shortterm_segments_per_s", "inflight_longterm_segments"
_NOT_PROBING = "When not Probing for Bandwidth"


def _startup_s(run: Trace) -> float:
    """The end of Startup, or of the run."""
    left = run.first("state", lambda state: state != bbr.STARTUP)
    return run.end_s if left is None else left.at_s


@case(
    "plateau-growth",
    "What counts as growth of the bandwidth",
    "Exiting Acceleration Based on Bandwidth Plateau",
    values="full_bw_count full_bw_segments_per_s",
)
def _quarter(t: Trial) -> None:
    """The link's rate rises linearly, so that it grows by less from round to round: a half, a third, a quarter, …"""
    each = t.path.round_s / 4
    rates = [(at * each, rate(0.1 * (1 + at / 16) * t.path.rate_bps)) for at in range(240)]
    run = t.run(bbr.scenario(t, 240 * each, link=steps(*rates)))
    end = _startup_s(run)
    counted = [point.at_s for point in run.points("full_bw_count", 0, end) if point.value > 0]
    t.expect("line 1896", "rounds that count as a plateau", len(counted), 1)
    # RS.delivery_rate over full_bw.
    growths = [
        (run.at("delivery_rate", at) / (8 * MSS_BYTES) / run.at("full_bw_segments_per_s", at), at) for at in counted
    ]
    largest, at = max(growths, default=(inf, None))
    t.expect("line 1892", "growth of the delivery rate in a round that counts", largest, high=1.25, at=at)
    recorded = [point.value for point in run.points("full_bw_segments_per_s", 0, end) if point.value > 0]
    least = min((later / earlier for earlier, later in itertools.pairwise(recorded)), default=inf)
    t.expect("line 1892", "growth of full_bw where Startup records it anew", least, 1.25 - 1e-9)


@case(
    "app-limited-max-bw",
    "Application-limited sending for several cycles",
    "BBR.max_bw and Application-limited Delivery Rate Samples",
    values=_MAX_BW,
)
def _keeps(t: Trial) -> None:
    """The application uses 0.3 of the bandwidth, for more than two cycles of ProbeBW, of 2 to 3 s."""
    start = bbr.long_s(t.path) / 2
    run = t.run(bbr.scenario(t, start + 12.0, workload=bbr.writes((0.0, None), (start, 0.3 * t.path.rate_bps))))
    t.equals("line 2897", "the flow is application-limited", run.at("app_limited", run.end_s), 1)
    least = run.least(_MAX_BW, start)
    source = "line 2906, line 2503: application-limited samples are discarded, and the filter does not advance"
    text = "the least max_bw over that before the limited period"
    t.expect(source, text, least.value / run.at(_MAX_BW, start), 0.97, at=least.at_s)


@case(
    "headroom",
    "Headroom below the bound of the inflight",
    "Bounding cwnd Based on Recent Congestion",
    values=_LONG,
)
def _headroom(t: Trial) -> None:
    """The buffer is a quarter of the bandwidth-delay product, so that probes lose, and bound the inflight."""
    run = t.run(bbr.scenario(t, bbr.long_s(t.path), buffer_segments=t.path.bdp_segments / 4))
    cruises = [span for span in bbr.states(run, 0.0, bbr.CRUISE) if run.at(_LONG, span.start_s) < inf]
    t.expect("line 3795", "periods of CRUISE with a bound of the inflight", len(cruises), 1)
    above = [
        (point.value - bbr.with_headroom(run, point.at_s), point.at_s)
        for span in cruises
        for point in run.points("cwnd", span.start_s, span.end_s)
        if point.at_s < span.end_s
    ]
    largest, at = max(above, default=(inf, None))
    source = "line 3795, line 2467: in CRUISE cwnd is at most InflightWithHeadroom()"
    t.expect(source, "the largest cwnd − InflightWithHeadroom()", largest, high=1, at=at)


@case(
    "beta",
    "Reduction of the short-term bounds",
    _NOT_PROBING,
    values=f"{_MAX_BW} {_BW_SHORT} inflight_shortterm_segments",
)
def _beta(t: Trial) -> None:
    """The link's rate falls to a tenth, and the buffer loses what it cannot hold."""
    path = t.path
    start = bbr.long_s(path) / 2
    slower = steps((start, rate(path.rate_bps / 10)))
    run = t.run(bbr.scenario(t, start + 5, link=slower, buffer_segments=path.bdp_segments))
    for name, first in ((_BW_SHORT, _MAX_BW), ("inflight_shortterm_segments", "cwnd")):
        falls = list(_falls(run, name, first, start))
        t.expect("line 3332", f"reductions of {name}", len(falls), 1)
        least, at = min(falls, default=(0, None))
        source = "line 3332: the larger of the latest sample and Beta, 0.7, times the value before"
        t.expect(source, f"{name} over its value before the reduction", least, 0.7 - 1e-3, at=at)


def _falls(run: Trace, name: str, first: str, start_s: float) -> Iterator[tuple[float, float]]:
    """The reductions of a value over that before, and their times; ``first`` is the value without a bound."""
    for earlier, later in itertools.pairwise(run.points(name, start_s)):
        if later.value < earlier.value:
            base = earlier.value if earlier.value < inf else run.before(first, later.at_s)
            yield later.value / base, later.at_s


@case("startup-bounds", "Losses in Startup", _NOT_PROBING, values=f"{_BW_SHORT} inflight_shortterm_segments")
def _unbounded(t: Trial) -> None:
    """One packet in a hundred is lost, from the start: less than the losses that end Startup."""
    run = t.run(bbr.scenario(t, 40 * t.path.round_s, link={"loss": {"kind": "bernoulli", "p": 0.01}}))
    end = _startup_s(run)
    t.expect("line 3317", "segments lost in Startup", run.before("lost", end), 1, at=end)
    for name in (_BW_SHORT, "inflight_shortterm_segments"):
        points = [point for point in run.points(name, 0, end) if point.at_s < end]
        least = min(points, key=lambda point: point.value)
        source, text = "line 3317, line 2455: no reduction in Startup", f"the least {name}"
        t.equals(source, text, least.value, inf, at=least.at_s)


@case(
    "reno-rounds",
    "Rounds between probes",
    "Design Considerations for Choosing Constant Parameters",
    values="bdp_segments",
    paths=_PATHS[:1],
)
def _coexists(t: Trial) -> None:
    run = t.run(bbr.long_run(t))
    waits = []
    for down, after in itertools.pairwise(bbr.states(run, 0.0, bbr.DOWN, bbr.REFILL, bbr.PROBE_RTT)):
        if down.value == bbr.DOWN and after.value == bbr.REFILL:
            at = after.start_s
            target = min(run.before("bdp_segments", at), 63)
            waits.append((run.grown("round_count", down.start_s, at) - target, at))
    longest, when = max(waits, default=(inf, None))
    # Each phase begins a round of its own, and the count begins at 0 or 1.
    source = "line 2332: a probe is due after min(BBRTargetInflight(), 63) rounds"
    text = "rounds from DOWN to the next probe, less min(BDP, 63)"
    t.expect(source, text, longest, high=2, at=when)


@case(
    "startup-burst",
    "One burst of losses in Startup",
    "Exiting Startup Based on Packet Loss",
    values="full_bw_reached",
)
def _stays(t: Trial) -> None:
    """An application-limited flow in Startup loses one burst: 5 % of what is in flight, eight packets at least."""
    path = t.path
    rates = bbr.ramp(path, 0.8)
    start = rates[-1][0] + 5 * path.round_s
    count = max(8.0, 0.05 * path.bdp_segments)
    stop = start + count / (0.8 * path.segments_per_s)
    link = steps((start, {"loss": 1.0}), (stop, {"loss": 0.0}))
    run = t.run(bbr.scenario(t, stop + 20 * path.round_s, link=link, workload=bbr.writes(*rates)))
    lost, end = run.grown("lost", start, run.end_s), run.end_s
    t.expect("line 1921", "segments lost in the burst", lost, 0.7 * count, at=start)
    source, text = "line 1924: six discontiguous sequence ranges end Startup", "full_bw_reached after one range"
    t.equals(source, text, run.at("full_bw_reached", end), 0, at=end)
