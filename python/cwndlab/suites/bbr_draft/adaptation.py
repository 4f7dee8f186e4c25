"""Cases of aggregation, small paths, changes of the bandwidth and policers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import ceil, inf, log2

from cwndlab.suites.bbr_draft.common import (
    BASIC,
    CRUISE,
    DOWN,
    DRAIN,
    PATHS,
    PROBE_BW,
    REFILL,
    UP,
    below,
    enters,
    goes_down,
    in_probe_bw,
    leaves_startup,
    line,
    long_run,
    long_s,
    name_of,
    next_state,
    scenario,
    states,
    steps,
    uninterrupted,
)
from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup
from cwndlab.suites.paths import MSS_BYTES, Path
from cwndlab.suites.statements import NotApplicableError, Statement, at_least, at_most, between, equals, holds, unseen
from cwndlab.suites.trace import Trace

#: Data packets per batch of ACKs, at least.
_BATCH = 12


def _gap_ms(path: Path) -> int:
    """The time between two batches of ACKs: half of the RTT, less than the margin of the retransmission timeout, and so
    long that a batch acknowledges twelve packets."""
    return max(min(round(500 * path.rtt_s), 100), ceil(1000 * _BATCH / path.segments_per_s), 1)


def _aggregated(bench: Bench) -> Setup:
    """The line of the ACKs opens every ``_gap_ms``, and lets all of them pass."""
    path = bench.path
    gap = _gap_ms(path)
    # 60 bytes per ACK of two segments, and four times as many.
    opportunities = ceil(4 * path.segments_per_s * gap / 1000 * 60 / 1500) + 2
    reverse = {"trace": {"text": f"{gap}\n" * opportunities}, "queue": {"capacity": "unlimited"}}
    duration = long_s(path)
    return Setup(scenario=scenario(bench, duration, reverse=reverse), moments={"gap": gap / 1000})


def _startup_aggregation(trace: Trace) -> Iterator[Statement]:
    after = leaves_startup(trace, line(4060, "step 4"))
    at = after.start_s
    batch = trace.moments["gap"] * trace.path.segments_per_s
    yield between(
        line(4057, "step 3"),
        "extra_acked is of the size of a batch",
        trace.before("extra_acked_segments", at),
        0.5 * batch,
        2.5 * batch + 2,
        at_s=at,
    )
    bdp = trace.before("max_bw_segments_per_s", at) * trace.before("min_rtt_s", at)
    yield at_least(line(4058, "step 3"), "cwnd > 2 BDP", trace.before("transport.cwnd_segments", at), 2 * bdp, at_s=at)
    fastest = max(point.value for point in trace.points("transport.pacing_rate_bps", 0, at)) / (8 * MSS_BYTES)
    yield between(
        line(4061, "step 4"),
        "max_bw reaches the bandwidth, and the rate of sending bounds it",
        trace.at("max_bw_segments_per_s", at),
        0.95 * trace.path.segments_per_s,
        fastest,
        at_s=at,
    )
    growth = [one.value for one in trace.points("max_bw_segments_per_s", 0, at) if one.value > 0]
    rounds = trace.at("round_count", at)
    bound = log2(max(growth[-1] / growth[0], 1)) + 10
    yield at_most(line(4060, "step 4"), "Startup doubles the rate: rounds of Startup", rounds, 2 * bound, at_s=at)


def _cruise_aggregation(trace: Trace) -> Iterator[Statement]:
    first = in_probe_bw(trace, line(4065, "step 1"))
    batch = trace.moments["gap"] * trace.path.segments_per_s
    cruises = [one for one in states(trace, first.start_s) if one.value == CRUISE]
    # A whole CRUISE, not after ProbeRTT, whose small window keeps the batches small.
    spans = [
        one
        for one in cruises
        if one.end_s < trace.end_s
        and trace.before("state", one.start_s) in (DRAIN, DOWN)
        and one.end_s - one.start_s > 2 * trace.moments["gap"]
    ]
    if not spans:
        whole = next((one for one in states(trace, first.start_s) if one.value == UP), None)
        if whole is not None:
            uninterrupted(trace, whole)
        if not any(next_state(trace, one) == CRUISE for one in states(trace, first.start_s) if one.value == DOWN):
            raise NotApplicableError("min(BDP, 63) rounds (line 2332) end DOWN before CRUISE")
        raise unseen(line(4065, "step 1"), "the flow cruises after a probe", "no such period")
    span = spans[0]
    extra = trace.at("extra_acked_segments", span.end_s)
    yield between(line(4067, "step 3"), "extra_acked is of the size of a batch", extra, 0.5 * batch, 2.5 * batch + 2)
    falls = _early_falls(trace, first.start_s)
    yield holds(
        line(4067, "step 3"),
        "extra_acked is the maximum of ten rounds",
        not falls,
        expected="no value falls within ten rounds of its rise",
        got=f"{falls[0][1]:g} rounds" if falls else "none",
        at_s=falls[0][0] if falls else span.end_s,
    )
    extra = trace.before("extra_acked_segments", span.end_s)
    short = trace.before("inflight_shortterm_segments", span.end_s)
    bdp = trace.before("bdp_segments", span.end_s)
    yield at_least(
        line(4069, "step 4"),
        "cwnd = 2 BDP + extra_acked, unless inflight_shortterm bounds it",
        trace.before("transport.cwnd_segments", span.end_s),
        min(short, 2 * bdp + extra) - 2,
        at_s=span.end_s,
    )
    sent = trace.at("transport.una_segments", span.end_s) - trace.at("transport.una_segments", span.start_s)
    capacity = (span.end_s - span.start_s) * trace.path.segments_per_s
    yield at_least(
        line(4071, "step 4"), "the bandwidth is used in CRUISE", sent, 0.95 * capacity - 2 * batch - 2, at_s=span.end_s
    )


def _early_falls(trace: Trace, after_s: float) -> list[tuple[float, float]]:
    """Times at which extra_acked falls less than ten rounds after it rose to its value, and these rounds."""
    falls = []
    points = trace.points("extra_acked_segments", after_s)
    for earlier, later in itertools.pairwise(points):
        rounds = trace.at("round_count", later.at_s) - trace.at("round_count", earlier.at_s)
        if later.value < earlier.value and rounds < 10 and earlier.at_s > after_s:
            # The second best may be older than the first: it is the maximum of what remains.
            previous = [one for one in points if one.at_s < earlier.at_s]
            if previous and previous[-1].value < earlier.value:
                falls.append((later.at_s, rounds))
    return falls


def _whole(bench: Bench) -> Setup:
    return Setup(scenario=long_run(bench))


def _sub_packet(trace: Trace) -> Iterator[Statement]:
    first = in_probe_bw(trace, line(4076, "step 2"))
    lowest = min(trace.points("transport.cwnd_segments", first.start_s), key=lambda point: point.value)
    yield at_least(line(4077, "step 3"), "MinPipeCwnd is the floor of cwnd", lowest.value, 4, at_s=lowest.at_s)
    bandwidth = trace.path.segments_per_s * 8 * 1448
    for state in PROBE_BW:
        spans = [one for one in states(trace, first.start_s) if one.value == state and one.end_s < trace.end_s]
        if not spans:
            continue
        span = max(spans, key=lambda one: one.end_s - one.start_s)
        gain = trace.at("pacing_gain", span.start_s)
        yield equals(
            line(4078, "step 4"),
            f"the pacing rate in {name_of(state)} is 0.99 pacing_gain bandwidth",
            trace.before("transport.pacing_rate_bps", span.end_s),
            0.99 * gain * bandwidth,
            relative=0.03,
            at_s=span.end_s,
        )
    sent = trace.at("transport.una_segments", trace.end_s) - trace.at("transport.una_segments", first.start_s)
    capacity = (trace.end_s - first.start_s) * trace.path.segments_per_s
    yield at_least(line(4079, "step 4"), "the pipeline does not stall", sent, 0.9 * capacity, at_s=trace.end_s)


def _steady_s(bench: Bench) -> float:
    """The time by which a flow is in ProbeBW."""
    base = bench.shared(long_run(bench))
    return in_probe_bw(base, line(4083, "step 1")).start_s + 2 * bench.path.round_s


#: Buffer, in bandwidth-delay products, in which probes lose packets.
_SHALLOW = 0.4


def _faster(bench: Bench) -> Setup:
    """The bandwidth is a tenth of the path's at first, with a buffer in which probes set inflight_longterm."""
    path = bench.path
    slow = Path(f"{path.name}, a tenth", path.rate_bps / 10, path.rtt_s)
    narrow = Bench(bench.subject, slow, bench.cancel)
    # Two send quanta (line 3558) fit the buffer.
    buffer = max(_SHALLOW * slow.bdp_segments, 2 * min(0.001 * slow.segments_per_s, 45), 4)
    start = narrow.shared(scenario(narrow, long_s(path), buffer_segments=buffer))
    known = start.first("inflight_longterm_segments", lambda value: value < inf)
    first = in_probe_bw(start, line(4083, "step 1")).start_s
    at = max(first, known.at_s if known else 0.0) + 2 * slow.round_s
    duration = at + min(max(250 * path.round_s, 1.0), 14 if path.rtt_s < 0.5 else 40)
    step = steps((at, {"rate": f"{path.rate_bps:.0f} bps"}))
    document = scenario(narrow, duration, buffer_segments=buffer, link={"schedule": step})
    return Setup(scenario=document, moments={"faster": at})


def _ten_times(trace: Trace) -> Iterator[Statement]:
    at = trace.moments["faster"]
    goal = 0.9 * trace.path.segments_per_s
    reached = trace.first("max_bw_segments_per_s", lambda value: value >= goal, at)
    first = enters(trace, UP, line(4085, "step 3"), at)
    if reached is None:
        best = max(point.value for point in trace.points("max_bw_segments_per_s", at))
        uninterrupted(trace, first)
        yield at_least(line(4087, "step 4"), "max_bw reaches the bandwidth", best, goal, at_s=trace.end_s)
        return
    rounds = trace.at("round_count", reached.at_s) - trace.at("round_count", first.start_s)
    bound = 6 * log2(max(10 * trace.path.bdp_segments, 4)) + 64
    yield at_most(
        line(4087, "step 4"),
        "rounds from the first ProbeBW_UP to 90 % of the bandwidth",
        rounds,
        bound,
        at_s=reached.at_s,
    )
    yield from _doubling(trace, at)


def _doubling(trace: Trace, after_s: float) -> Iterator[Statement]:
    """The slope of inflight_longterm in the ProbeBW_UP in which it rises most often."""
    ups = [
        one
        for one in states(trace, after_s)
        if one.value == UP and trace.at("inflight_longterm_segments", one.start_s) < inf
    ]
    if not ups:
        return
    span = max(ups, key=lambda one: trace.before("bw_probe_up_rounds", one.end_s))
    slopes = [
        (point.value, trace.at("probe_up_acked_per_inc_segments", point.at_s), point.at_s)
        for point in trace.points("bw_probe_up_rounds", span.start_s, span.end_s)
        if point.at_s < span.end_s and point.value >= 1
    ]
    for rounds, each, at in slopes:
        cwnd = (trace.before("transport.cwnd_segments", at), trace.at("transport.cwnd_segments", at))
        share = 2 ** (rounds - 1)
        yield between(
            line(2476),
            f"in round {rounds:g} of growth, inflight_longterm rises by {share:g} segments per window",
            each,
            max(min(cwnd) // share, 1),
            max(max(cwnd) / share, 1),
            at_s=at,
        )
    if len(slopes) >= 3:
        low, high = (trace.at("inflight_longterm_segments", at) for at in (span.start_s, span.end_s - 1e-9))
        yield at_least(line(4085, "step 3"), "inflight_longterm grows in ProbeBW_UP", high, low + len(slopes) - 2)


def _slower(bench: Bench) -> Setup:
    path = bench.path
    at = _steady_s(bench)
    duration = at + min(max(800 * path.round_s, 2.0), 40 if path.rate_bps < 1e9 else 20)
    link = {"schedule": steps((at, {"rate": f"{path.rate_bps / 10:.0f} bps"}))}
    document = scenario(bench, duration, buffer_segments=max(path.bdp_segments, 10), link=link)
    return Setup(scenario=document, moments={"slower": at})


def _a_tenth(trace: Trace) -> Iterator[Statement]:
    at = trace.moments["slower"]
    lost = trace.at("transport.lost_segments", trace.end_s) - trace.at("transport.lost_segments", at)
    if lost == 0:
        raise NotApplicableError("the buffer holds the whole window: nothing is lost")
    bounded = trace.first("bw_shortterm_segments_per_s", lambda value: value < inf, at)
    yield holds(
        line(4094, "step 3"),
        "bw_shortterm is set after the loss",
        bounded is not None,
        expected="a bound",
        got="none" if bounded is None else f"{bounded.value:.4g} segments/s",
        at_s=None if bounded is None else bounded.at_s,
    )
    new = trace.path.segments_per_s / 10
    advances = _advances(trace, at)
    if len(advances) < 2:
        yield at_least(line(4096, "step 4"), "cycles of ProbeBW after the change", len(advances), 2, at_s=trace.end_s)
        return
    when = advances[1]
    yield at_most(
        line(4098, "step 4"),
        "max_bw is at most the new bandwidth after two cycles",
        trace.at("max_bw_segments_per_s", when),
        1.05 * new,
        at_s=when,
    )


def _advances(trace: Trace, after_s: float) -> list[float]:
    """The times at which the max_bw filter advances after a change: a round after a ProbeBW_UP (lines 2496 to 2501),
    unless ProbeBW_REFILL begins before."""
    times = []
    for span in states(trace, after_s):
        if span.value == UP and span.start_s > after_s and span.end_s < trace.end_s:
            end = trace.first("ack_phase", lambda value: value == 0, span.end_s)
            refill = next((one.start_s for one in states(trace, span.end_s) if one.value == REFILL), trace.end_s)
            # In ProbeRTT, and by a sample that it limits, the filter does not advance.
            if end is not None and end.at_s <= refill and trace.at("state", end.at_s) in PROBE_BW:
                times.append(end.at_s)
    return times


def _policed(bench: Bench) -> Setup:
    path = bench.path
    burst = max(0.1 * path.rate_bps * max(path.rtt_s, 0.01) / 8, 15_000)
    bottleneck = {
        # Without a peak rate, packets that find tokens pass at once.
        "token_bucket": {"rate": f"{path.rate_bps:.0f} bps", "burst": f"{burst:.0f} B"},
    }
    duration = long_s(path)
    return Setup(scenario=scenario(bench, duration, buffer_segments=2, link=bottleneck))


def _policer(trace: Trace) -> Iterator[Statement]:
    first = in_probe_bw(trace, line(4105, "step 2"))
    lost = trace.at("transport.lost_segments", trace.end_s) - trace.at("transport.lost_segments", first.start_s)
    if lost == 0:
        raise NotApplicableError("the flow exceeds the bucket in no phase of ProbeBW")
    for name, step in (("inflight_shortterm_segments", 4108), ("bw_shortterm_segments_per_s", 4109)):
        bound = trace.first(name, lambda value: value < inf, 0.0)
        yield holds(
            line(step, "step 3"),
            f"{name.rpartition('_')[0] if name.endswith('segments') else 'bw_shortterm'} is set after the loss",
            bound is not None,
            expected="a bound",
            got="none" if bound is None else f"{bound.value:.4g}",
            at_s=None if bound is None else bound.at_s,
        )
    middle = max(trace.end_s / 2, first.start_s)

    def during(name: str) -> float:
        return trace.at(name, trace.end_s) - trace.at(name, middle)

    sent = during("transport.sent_packets")
    yield at_most(
        line(4110, "step 4"),
        "loss ratio of the second half",
        during("transport.lost_segments") / max(sent, 1),
        0.05,
        at_s=trace.end_s,
    )
    yield between(
        line(4110, "step 4"),
        "share of the token rate in the second half",
        during("transport.una_segments") / (trace.path.segments_per_s * (trace.end_s - middle)),
        0.5,
        1.02,
        at_s=trace.end_s,
    )


def _lost_twice(bench: Bench) -> Setup:
    """Losses in a first ProbeBW_UP set inflight_longterm; those in a later one are the case."""
    path = bench.path
    base = bench.shared(long_run(bench))
    first = enters(base, UP, line(4146, "step 1")).start_s + 1.5 * path.round_s
    # A tenth of the packets in flight, in one burst, in one round.
    burst = [(first, {"loss": 0.15}), (first + 0.9 * path.round_s, {"loss": 0.0})]
    known = bench.run(scenario(bench, base.end_s, link={"schedule": steps(*burst)}))
    second = next(
        (
            one
            for one in states(known, first + 4 * path.round_s)
            if one.value == UP
            and one.start_s > first + 4 * path.round_s
            and one.end_s - one.start_s > 2.5 * path.round_s
            and known.at("inflight_longterm_segments", one.start_s) < inf
        ),
        None,
    )
    if second is None:
        ups = [one for one in states(known, first) if one.value == UP]
        for one in ups:
            uninterrupted(known, one)
        raise unseen(line(4148, "step 2"), "a ProbeBW_UP with inflight_longterm set", "none of two rounds or more")
    at = second.start_s + 1.5 * path.round_s
    burst += [(at, {"loss": 0.15}), (at + 0.9 * path.round_s, {"loss": 0.0})]
    end = second.start_s + 12 * path.round_s
    return Setup(scenario=scenario(bench, end, link={"schedule": steps(*burst)}), moments={"loss": at})


def _up_loss_longterm(trace: Trace) -> Iterator[Statement]:
    at = trace.moments["loss"]
    spans = [one for one in states(trace) if one.value == UP and one.start_s < at < one.end_s]
    if not spans:
        raise unseen(line(4148, "step 2"), "the loss comes in ProbeBW_UP", name_of(trace.at("state", at)), at)
    span = uninterrupted(trace, spans[0])
    end = span.end_s
    yield at_most(line(4149, "step 3"), "no plateau was seen", trace.before("full_bw_now", end), 0, at_s=end)
    yield at_most(line(4153, "step 5"), "UP ends within a round of the loss", end, at + 3 * trace.path.round_s)
    yield goes_down(line(4154, "step 5"), trace, span)
    yield equals(line(3162), "prev_probe_too_high is set", trace.at("prev_probe_too_high", end), 1, at_s=end)
    yield equals(line(3163), "is_bw_probe_sample is cleared", trace.at("is_bw_probe_sample", end), 0, at_s=end)
    longterm = trace.at("inflight_longterm_segments", end)
    before = trace.before("inflight_longterm_segments", end)
    target = min(trace.at("bdp_segments", end), trace.before("transport.cwnd_segments", end))
    yield between(
        line(3165),
        "inflight_longterm = max(RS.tx_in_flight, Beta · TargetInflight()), with what was in flight at the loss",
        longterm,
        0.7 * target - 1,
        max(trace.before("transport.cwnd_segments", end), 0.7 * target) + 1,
        at_s=end,
    )
    yield equals(
        line(4151, "step 4"),
        "inflight_longterm is scaled down by Beta",
        longterm,
        0.7 * before,
        relative=0.02,
        at_s=end,
        contradicts="lines 3165 and 3166: Beta bounds TargetInflight(), below which the inflight at the loss must "
        "lie before it counts",
    )


_BOUNDS = ("inflight_shortterm_segments", "bw_shortterm_segments_per_s", "inflight_longterm_segments")
_SUB = {
    path.name: f"the bandwidth-delay product is {path.bdp_segments:.3g} segments"
    for path in PATHS
    if path.bdp_segments >= 1
}

CASES = (
    Case(
        name="startup-aggregation",
        title="Achieving expected STARTUP bandwidth on a link with aggregation",
        source=line(4052),
        scenario=_aggregated,
        check=_startup_aggregation,
        paths=PATHS,
        unsuited={path.name: "twelve packets take seconds" for path in PATHS if path.rate_bps < 1e6},
        values=(*BASIC, "extra_acked_segments", "max_bw_segments_per_s", "min_rtt_s"),
    ),
    Case(
        name="cruise-aggregation",
        title="Achieving expected cruise bandwidth on a link with aggregation",
        source=line(4063),
        scenario=_aggregated,
        check=_cruise_aggregation,
        paths=PATHS,
        unsuited={path.name: "twelve packets take seconds" for path in PATHS if path.rate_bps < 1e6},
        values=(*BASIC, "extra_acked_segments", "bdp_segments", "inflight_shortterm_segments"),
    ),
    Case(
        name="sub-packet",
        title="Correctly managing sub-packet BDPs",
        source=line(4073),
        scenario=_whole,
        check=_sub_packet,
        paths=PATHS,
        unsuited=_SUB,
        values=BASIC,
    ),
    Case(
        name="bandwidth-times-ten",
        title="Increasing bandwidth 10x and ensuring full bandwidth is reached",
        source=line(4081),
        scenario=_faster,
        check=_ten_times,
        paths=PATHS,
        unsuited=below(10, "a tenth of the bandwidth is less than a segment per RTT"),
        values=(*BASIC, "max_bw_segments_per_s", "inflight_longterm_segments"),
    ),
    Case(
        name="bandwidth-by-ten",
        title="Decreasing bandwidth 10x and ensuring max bandwidth adapts down",
        source=line(4090),
        scenario=_slower,
        check=_a_tenth,
        paths=PATHS,
        unsuited={
            **below(10, "the least window of four segments fits the buffer and the slower path"),
            **{
                path.name: "the old window takes ten RTTs to drain, and each ProbeRTT resets bw_shortterm (line 2717)"
                for path in PATHS
                if path.rtt_s >= 1
            },
        },
        values=(*BASIC, "max_bw_segments_per_s", "bw_shortterm_segments_per_s", "ack_phase"),
    ),
    Case(
        name="policer",
        title="Handling token bucket policers",
        source=line(4100),
        scenario=_policed,
        check=_policer,
        paths=PATHS,
        unsuited=below(10, "the least window of four segments exceeds the bucket"),
        values=(*BASIC, *_BOUNDS),
    ),
    Case(
        name="up-loss-longterm",
        title="Handling loss during PROBE_UP after inflight_longterm is set",
        source=line(4144),
        scenario=_lost_twice,
        check=_up_loss_longterm,
        paths=PATHS,
        unsuited=below(20, "a burst of losses is most of what is in flight"),
        values=(*BASIC, *_BOUNDS, "prev_probe_too_high", "is_bw_probe_sample", "bdp_segments", "full_bw_now"),
    ),
)
