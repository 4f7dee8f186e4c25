"""Cases of aggregation, small paths, changes of the bandwidth and policers."""

from __future__ import annotations

import itertools
from math import ceil, inf, log2

from cwndlab.suites.bbr_draft import common as bbr
from cwndlab.suites.case import cases
from cwndlab.suites.paths import MSS_BYTES, Path
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, rate, steps

CASES, case = cases(bbr.PATHS, *bbr.BASIC)
_MAX_BW, _BW_SHORT = "max_bw_segments_per_s", "bw_shortterm_segments_per_s"
_SHORT, _LONG = "inflight_shortterm_segments", "inflight_longterm_segments"
#: Data packets per batch of ACKs, at least.
_BATCH = 12
_SLOW = {path.name: "twelve packets take seconds" for path in bbr.PATHS if path.rate_bps < 1e6}


def _aggregated(t: Trial) -> tuple[Trace, float, float]:
    """The line of the ACKs opens every so many ms, and lets all of them pass: the run, these seconds, and the segments
    of a batch. Half of the RTT, less than the margin of the retransmission timeout, and so long that a batch
    acknowledges twelve packets."""
    rtt, each = t.path.rtt_s, t.path.segments_per_s
    gap = max(min(round(500 * rtt), 100), ceil(1000 * _BATCH / each), 1)
    # 60 bytes per ACK of two segments, and four times as many.
    opportunities = ceil(4 * each * gap / 1000 * 60 / 1500) + 2
    reverse = {"trace": {"text": f"{gap}\n" * opportunities}, "queue": {"capacity": "unlimited"}}
    return t.run(bbr.scenario(t, bbr.long_s(t.path), reverse=reverse)), gap / 1000, gap / 1000 * each


@case(
    "startup-aggregation",
    "Achieving expected STARTUP bandwidth on a link with aggregation",
    "line 4052",
    values="extra_acked_segments max_bw_segments_per_s min_rtt_s",
    unsuited=_SLOW,
)
def _startup_aggregation(t: Trial) -> None:
    run, _, batch = _aggregated(t)
    at = bbr.leaves_startup(run, "step 4, line 4060").start_s
    extra, bdp = run.before("extra_acked_segments", at), run.before(_MAX_BW, at) * run.before("min_rtt_s", at)
    t.expect("step 3, line 4057", "extra_acked is of the size of a batch", extra, 0.5 * batch, 2.5 * batch + 2, at=at)
    t.expect("step 3, line 4058", "cwnd > 2 BDP", run.before("cwnd", at), 2 * bdp, at=at)
    fastest = max(point.value for point in run.points("pacing_rate", 0, at)) / (8 * MSS_BYTES)
    text = "max_bw reaches the bandwidth, and the rate of sending bounds it"
    t.expect("step 4, line 4061", text, run.at(_MAX_BW, at), 0.95 * t.path.segments_per_s, fastest, at=at)
    growth = [one.value for one in run.points(_MAX_BW, 0, at) if one.value > 0]
    bound, text = log2(max(growth[-1] / growth[0], 1)) + 10, "Startup doubles the rate: rounds of Startup"
    t.expect("step 4, line 4060", text, run.at("round_count", at), high=2 * bound, at=at)


@case(
    "cruise-aggregation",
    "Achieving expected cruise bandwidth on a link with aggregation",
    "line 4063",
    values="extra_acked_segments bdp_segments inflight_shortterm_segments",
    unsuited=_SLOW,
)
def _cruise_aggregation(t: Trial) -> None:
    run, gap, batch = _aggregated(t)
    start = bbr.in_probe_bw(run, "step 1, line 4065").start_s
    # A whole CRUISE, not after ProbeRTT, whose small window keeps the batches small.
    cruises = [
        one
        for one in bbr.states(run, start, bbr.CRUISE)
        if one.end_s < run.end_s
        and run.before("state", one.start_s) in (bbr.DRAIN, bbr.DOWN)
        and one.end_s - one.start_s > 2 * gap
    ]
    if not cruises:
        for whole in bbr.states(run, start, bbr.UP)[:1]:
            bbr.uninterrupted(run, whole)
        if not any(bbr.next_state(run, one) == bbr.CRUISE for one in bbr.states(run, start, bbr.DOWN)):
            raise NotApplicableError("min(BDP, 63) rounds (line 2332) end DOWN before CRUISE")
        raise NotObservedError("step 1, line 4065", "the flow cruises after a probe", "no such period")
    begin, end = cruises[0].start_s, cruises[0].end_s
    extra = run.at("extra_acked_segments", end)
    t.expect("step 3, line 4067", "extra_acked is of the size of a batch", extra, 0.5 * batch, 2.5 * batch + 2)
    at, rounds = next(iter(_early_falls(run, start)), (end, None))
    expected = "no value falls within ten rounds of its rise"
    got, text = "none" if rounds is None else f"{rounds:g} rounds", "extra_acked is the maximum of ten rounds"
    t.holds("step 3, line 4067", text, rounds is None, expected, got, at=at)
    extra, bdp = run.before("extra_acked_segments", end), run.before("bdp_segments", end)
    low, cwnd = min(run.before(_SHORT, end), 2 * bdp + extra) - 2, run.before("cwnd", end)
    t.expect("step 4, line 4069", "cwnd = 2 BDP + extra_acked, unless inflight_shortterm bounds it", cwnd, low, at=end)
    low = 0.95 * (end - begin) * t.path.segments_per_s - 2 * batch - 2
    t.expect("step 4, line 4071", "the bandwidth is used in CRUISE", run.grown("una", begin, end), low, at=end)


def _early_falls(run: Trace, after_s: float) -> list[tuple[float, float]]:
    """Times at which extra_acked falls less than ten rounds after it rose to its value, and these rounds."""
    falls = []
    points = run.points("extra_acked_segments", after_s)
    for index, (earlier, later) in enumerate(itertools.pairwise(points)):
        rounds = run.grown("round_count", earlier.at_s, later.at_s)
        # The second best may be older than the first: it is the maximum of what remains.
        rose = index > 0 and points[index - 1].value < earlier.value
        if later.value < earlier.value and rounds < 10 and earlier.at_s > after_s and rose:
            falls.append((later.at_s, rounds))
    return falls


@case(
    "sub-packet",
    "Correctly managing sub-packet BDPs",
    "line 4073",
    unsuited={
        path.name: f"the bandwidth-delay product is {path.bdp_segments:.3g} segments"
        for path in bbr.PATHS
        if path.bdp_segments >= 1
    },
)
def _sub_packet(t: Trial) -> None:
    run = t.run(bbr.long_run(t))
    start, end, bandwidth = bbr.in_probe_bw(run, "step 2, line 4076").start_s, run.end_s, t.path.segments_per_s
    lowest = run.least("cwnd", start)
    t.expect("step 3, line 4077", "MinPipeCwnd is the floor of cwnd", lowest.value, 4, at=lowest.at_s)
    for state in bbr.PROBE_BW:
        spans = [one for one in bbr.states(run, start, state) if one.end_s < end]
        if spans:
            span = max(spans, key=lambda one: one.end_s - one.start_s)
            wanted = 0.99 * run.at("pacing_gain", span.start_s) * (bandwidth * 8 * MSS_BYTES)
            text, got = (
                f"the pacing rate in {bbr.name_of(state)} is 0.99 pacing_gain bandwidth",
                run.before("pacing_rate", span.end_s),
            )
            t.equals("step 4, line 4078", text, got, wanted, relative=0.03, at=span.end_s)
    sent, low = run.grown("una", start, end), 0.9 * (end - start) * bandwidth
    t.expect("step 4, line 4079", "the pipeline does not stall", sent, low, at=end)


@case(
    "bandwidth-times-ten",
    "Increasing bandwidth 10x and ensuring full bandwidth is reached",
    "line 4081",
    values="max_bw_segments_per_s inflight_longterm_segments",
    unsuited=bbr.below(10, "a tenth of the bandwidth is less than a segment per RTT"),
)
def _ten_times(t: Trial) -> None:
    """The bandwidth is a tenth of the path's at first, with a buffer in which probes set inflight_longterm."""
    path = t.path
    slow = Path(f"{path.name}, a tenth", path.rate_bps / 10, path.rtt_s)
    narrow = t.on(slow)
    # Two send quanta (line 3558) fit the buffer, in which probes lose packets.
    buffer = max(0.4 * slow.bdp_segments, 2 * min(0.001 * slow.segments_per_s, 45), 4)
    start = narrow.shared(bbr.scenario(narrow, bbr.long_s(path), buffer_segments=buffer))
    known = start.first(_LONG, lambda value: value < inf)
    at = max(bbr.in_probe_bw(start, "step 1, line 4083").start_s, known.at_s if known else 0.0) + 2 * slow.round_s
    duration = at + min(max(250 * path.round_s, 1.0), 14 if path.rtt_s < 0.5 else 40)
    faster = steps((at, rate(path.rate_bps)))
    run = t.run(bbr.scenario(narrow, duration, buffer_segments=buffer, link=faster))
    goal = 0.9 * path.segments_per_s
    reached = run.first(_MAX_BW, lambda value: value >= goal, at)
    first = bbr.enters(run, bbr.UP, "step 3, line 4085", at)
    if reached is None:
        best = max(point.value for point in run.points(_MAX_BW, at))
        bbr.uninterrupted(run, first)
        t.expect("step 4, line 4087", "max_bw reaches the bandwidth", best, goal, at=run.end_s)
        return
    rounds = run.grown("round_count", first.start_s, reached.at_s)
    bound, text = 6 * log2(max(10 * path.bdp_segments, 4)) + 64, "rounds from the first ProbeBW_UP to 90 % of the"
    t.expect("step 4, line 4087", f"{text} bandwidth", rounds, high=bound, at=reached.at_s)
    _doubling(t, run, at)


def _doubling(t: Trial, run: Trace, after_s: float) -> None:
    """The slope of inflight_longterm in the ProbeBW_UP in which it rises most often."""
    ups = [one for one in bbr.states(run, after_s, bbr.UP) if run.at(_LONG, one.start_s) < inf]
    if not ups:
        return
    span = max(ups, key=lambda one: run.before("bw_probe_up_rounds", one.end_s))
    points = run.points("bw_probe_up_rounds", span.start_s, span.end_s)
    growths = [point for point in points if point.at_s < span.end_s and point.value >= 1]
    for at, rounds in growths:
        cwnd, share = (run.before("cwnd", at), run.at("cwnd", at)), 2 ** (rounds - 1)
        low, high = max(min(cwnd) // share, 1), max(max(cwnd) / share, 1)
        text = f"in round {rounds:g} of growth, inflight_longterm rises by {share:g} segments per window"
        t.expect("line 2476", text, run.at("probe_up_acked_per_inc_segments", at), low, high, at=at)
    if len(growths) >= 3:
        low, high = run.at(_LONG, span.start_s), run.at(_LONG, span.end_s - 1e-9)
        t.expect("step 3, line 4085", "inflight_longterm grows in ProbeBW_UP", high, low + len(growths) - 2)


@case(
    "bandwidth-by-ten",
    "Decreasing bandwidth 10x and ensuring max bandwidth adapts down",
    "line 4090",
    values="max_bw_segments_per_s bw_shortterm_segments_per_s ack_phase",
    unsuited={
        **bbr.below(10, "the least window of four segments fits the buffer and the slower path"),
        **{
            path.name: "the old window takes ten RTTs to drain, and each ProbeRTT resets bw_shortterm (line 2717)"
            for path in bbr.PATHS
            if path.rtt_s >= 1
        },
    },
)
def _a_tenth(t: Trial) -> None:
    path = t.path
    at = bbr.in_probe_bw(t.shared(bbr.long_run(t)), "step 1, line 4083").start_s + 2 * path.round_s
    duration = at + min(max(800 * path.round_s, 2.0), 40 if path.rate_bps < 1e9 else 20)
    slower = steps((at, rate(path.rate_bps / 10)))
    run = t.run(bbr.scenario(t, duration, buffer_segments=max(path.bdp_segments, 10), link=slower))
    if run.grown("lost", at, run.end_s) == 0:
        raise NotApplicableError("the buffer holds the whole window: nothing is lost")
    _bounded(t, "step 3, line 4094", "bw_shortterm", run, _BW_SHORT, " segments/s", at)
    advances = _advances(run, at)
    if len(advances) < 2:
        text = "cycles of ProbeBW after the change"
        t.expect("step 4, line 4096", text, len(advances), 2, at=run.end_s)
        return
    at, text = advances[1], "max_bw is at most the new bandwidth after two cycles"
    t.expect("step 4, line 4098", text, run.at(_MAX_BW, at), high=1.05 * (path.segments_per_s / 10), at=at)


def _bounded(t: Trial, source: str, what: str, run: Trace, name: str, unit: str = "", after_s: float = 0.0) -> None:
    """States that a bound is set after a loss."""
    bound = run.first(name, lambda value: value < inf, after_s)
    got, at = ("none", None) if bound is None else (f"{bound.value:.4g}{unit}", bound.at_s)
    t.holds(source, f"{what} is set after the loss", bound is not None, "a bound", got, at=at)


def _advances(run: Trace, after_s: float) -> list[float]:
    """The times at which the max_bw filter advances after a change: a round after a ProbeBW_UP (lines 2496 to 2501),
    unless ProbeBW_REFILL begins before."""
    times = []
    for span in bbr.states(run, after_s, bbr.UP):
        if span.start_s > after_s and span.end_s < run.end_s:
            end = run.first("ack_phase", lambda value: value == 0, span.end_s)
            refill = next((one.start_s for one in bbr.states(run, span.end_s, bbr.REFILL)), run.end_s)
            # In ProbeRTT, and by a sample that it limits, the filter does not advance.
            if end is not None and end.at_s <= refill and run.at("state", end.at_s) in bbr.PROBE_BW:
                times.append(end.at_s)
    return times


@case(
    "policer",
    "Handling token bucket policers",
    "line 4100",
    values=f"{_SHORT} {_BW_SHORT} {_LONG}",
    unsuited=bbr.below(10, "the least window of four segments exceeds the bucket"),
)
def _policer(t: Trial) -> None:
    path = t.path
    burst = max(0.1 * path.rate_bps * max(path.rtt_s, 0.01) / 8, 15_000)
    # Without a peak rate, packets that find tokens pass at once.
    link = {"token_bucket": {**rate(path.rate_bps), "burst": f"{burst:.0f} B"}}
    run = t.run(bbr.scenario(t, bbr.long_s(path), buffer_segments=2, link=link))
    start, end = bbr.in_probe_bw(run, "step 2, line 4105").start_s, run.end_s
    if run.grown("lost", start, end) == 0:
        raise NotApplicableError("the flow exceeds the bucket in no phase of ProbeBW")
    _bounded(t, "step 3, line 4108", "inflight_shortterm", run, _SHORT)
    _bounded(t, "step 3, line 4109", "bw_shortterm", run, _BW_SHORT)
    middle = max(end / 2, start)
    lost, sent, una = (run.grown(name, middle, end) for name in ("lost", "sent", "una"))
    t.expect("step 4, line 4110", "loss ratio of the second half", lost / max(sent, 1), high=0.05, at=end)
    text, share = "share of the token rate in the second half", una / (path.segments_per_s * (end - middle))
    t.expect("step 4, line 4110", text, share, 0.5, 1.02, at=end)


@case(
    "up-loss-longterm",
    "Handling loss during PROBE_UP after inflight_longterm is set",
    "line 4144",
    values=f"{_SHORT} {_BW_SHORT} {_LONG} prev_probe_too_high is_bw_probe_sample bdp_segments full_bw_now",
    unsuited=bbr.below(20, "a burst of losses is most of what is in flight"),
)
def _up_loss_longterm(t: Trial) -> None:
    """Losses in a first ProbeBW_UP set inflight_longterm; those in a later one are the case."""
    run, at = _lost_twice(t)
    spans = [one for one in bbr.states(run, 0.0, bbr.UP) if one.start_s < at < one.end_s]
    if not spans:
        got = bbr.name_of(run.at("state", at))
        raise NotObservedError("step 2, line 4148", "the loss comes in ProbeBW_UP", got, at)
    span = bbr.uninterrupted(run, spans[0])
    end = span.end_s
    t.expect("step 3, line 4149", "no plateau was seen", run.before("full_bw_now", end), high=0, at=end)
    t.expect("step 5, line 4153", "UP ends within a round of the loss", end, high=at + 3 * t.path.round_s)
    bbr.goes_down(t, "step 5, line 4154", run, span)
    t.equals("line 3162", "prev_probe_too_high is set", run.at("prev_probe_too_high", end), 1, at=end)
    t.equals("line 3163", "is_bw_probe_sample is cleared", run.at("is_bw_probe_sample", end), 0, at=end)
    longterm, before, cwnd = run.at(_LONG, end), run.before(_LONG, end), run.before("cwnd", end)
    target = min(run.at("bdp_segments", end), cwnd)
    text = "inflight_longterm = max(RS.tx_in_flight, Beta · TargetInflight()), with what was in flight at the loss"
    t.expect("line 3165", text, longterm, 0.7 * target - 1, max(cwnd, 0.7 * target) + 1, at=end)
    but = (
        "lines 3165 and 3166: Beta bounds TargetInflight(), below which the inflight at the loss must lie before it "
        "counts"
    )
    text = "inflight_longterm is scaled down by Beta"
    t.equals("step 4, line 4151", text, longterm, 0.7 * before, relative=0.02, at=end, but=but)


def _lost_twice(t: Trial) -> tuple[Trace, float]:
    """The run, and the time of the second burst: each a tenth of the packets in flight, in one round."""
    each, source = t.path.round_s, "step 2, line 4148"
    base = t.shared(bbr.long_run(t))
    first = bbr.uninterrupted(base, bbr.enters(base, bbr.UP, "step 1, line 4146")).start_s + 1.5 * each
    burst = [(first, {"loss": 0.15}), (first + 0.9 * each, {"loss": 0.0})]
    known = t.run(bbr.scenario(t, base.end_s, link=steps(*burst)))
    after = first + 4 * each
    long = [
        one for one in bbr.states(known, after, bbr.UP) if one.start_s > after and one.end_s - one.start_s > 2.5 * each
    ]
    second = next((one for one in long if known.at(_LONG, one.start_s) < inf), None)
    if second is None:
        for one in bbr.states(known, first, bbr.UP):
            bbr.uninterrupted(known, one)
        got = "none of two rounds or more"
        raise NotObservedError(source, "a ProbeBW_UP with inflight_longterm set", got)
    at = second.start_s + 1.5 * each
    burst += [(at, {"loss": 0.15}), (at + 0.9 * each, {"loss": 0.0})]
    return t.run(bbr.scenario(t, second.start_s + 12 * each, link=steps(*burst))), at
