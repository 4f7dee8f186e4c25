"""Statements of RFC 9438 on CUBIC. Sections and equations are those of the RFC; windows are in segments."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup, Suite
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import event, is_of_catalogue, packet_at, sampled, scenario, setup
from cwndlab.suites.statements import NotApplicableError, Statement, at_least, at_most, between, equals, holds, unseen
from cwndlab.suites.trace import Trace

_C, _BETA = 0.4, 0.7
_ALPHA = 3 * (1 - _BETA) / (1 + _BETA)

#: In the first one CUBIC's curve lies above Reno's, in the second one below.
LARGE = Path("100 Mbit/s, 100 ms", 100e6, 0.1)
SMALL = Path("10 Mbit/s, 20 ms", 10e6, 0.02)
PATHS = (LARGE, SMALL)

#: Values that CUBIC reports.
_VALUES = ("w_max_segments", "k_s")
_STEP_S = 0.005


def _start(path: Path) -> int:
    """The initial slow-start threshold: congestion avoidance begins there without a loss."""
    return 400 if path is LARGE else 24


def _run(bench: Bench, duration_s: float, **options: Any) -> dict[str, Any]:
    stack = {"initial_ssthresh": _start(bench.path)}
    values = (*_VALUES, "w_est_segments", "epoch_start_s")
    return scenario(bench, duration_s, stack=stack, values=values, interval_s=_STEP_S, **options)


def _loss_s(path: Path) -> float:
    """The time of the loss; on the small path while its queue, and with it the RTT, is short."""
    return 3.0 if path is LARGE else 0.6


def _one_loss(bench: Bench) -> Setup:
    at = _loss_s(bench.path)
    number = packet_at(bench.shared(_run(bench, at)), at - 0.1)
    return Setup(scenario=_run(bench, 22.0 if bench.path is LARGE else 16.0, lost=[number]))


def _recovery(trace: Trace, source: str, after_s: float = 0.0) -> tuple[float, float]:
    """The times at which the first recovery after a time begins and ends."""
    begun = event(trace, "recovery", source, after_s)
    return begun, event(trace, "recovered", source, begun)


def _decrease(trace: Trace) -> Iterator[Statement]:
    begun, ended = _recovery(trace, "section 4.6")
    flight = trace.before("transport.flight_size_segments", begun)
    cwnd = trace.before("transport.cwnd_segments", begun)
    yield between(
        "section 4.6, figure 5: ssthresh = flight_size · β",
        "ssthresh after a loss, where β is 0.7",
        trace.at("transport.ssthresh_segments", begun),
        _BETA * (flight - 3) - 1,
        # Section 4.6 lets implementations use cwnd in place of flight_size.
        _BETA * max(flight, cwnd) + 2,
        at_s=begun,
    )
    yield between(
        "section 4.6: cwnd = max(ssthresh, 2)",
        "cwnd at the end of the recovery",
        trace.at("transport.cwnd_segments", ended),
        trace.at("transport.ssthresh_segments", begun) - 2,
        trace.at("transport.ssthresh_segments", begun) + 2,
        at_s=ended,
    )
    yield equals(
        "section 4.7: W_max = cwnd",
        "W_max after the first congestion event",
        trace.at("w_max_segments", begun),
        cwnd,
        within=1.01,
        at_s=begun,
    )


def _curve(trace: Trace) -> Iterator[Statement]:
    begun, ended = _recovery(trace, "section 4.2")
    w_max, epoch = trace.before("transport.cwnd_segments", begun), _epoch(trace, ended)
    start = trace.at("transport.cwnd_segments", epoch)
    k = ((w_max - start) / _C) ** (1 / 3)
    yield equals("section 4.2, equation 2", "K", trace.at("k_s", epoch + 0.5), k, relative=0.02, at_s=epoch)
    late = [
        (at, trace.at("transport.cwnd_segments", at), *_bounds(trace, at - epoch, k, w_max, at))
        for at in sampled(trace, epoch + 0.3, min(epoch + 2.2 * k, trace.end_s))
    ]
    for name, first, last in (("concave", 0.0, k), ("convex", k, inf)):
        region = [one for one in late if first <= one[0] - epoch < last]
        off = max(region, key=lambda one: max(one[2] - one[1], one[1] - one[3]), default=None)
        if off is None:
            continue
        yield between(
            f"section 4.{4 if name == 'concave' else 5}: cwnd grows by (target − cwnd) / cwnd for each ACK",
            f"cwnd in the {name} region, where it is farthest from W_cubic",
            off[1],
            off[2],
            off[3],
            at_s=off[0],
        )
    at = epoch + k
    if at < trace.end_s:
        yield equals(
            "section 4.2, equation 1: W_cubic(K) = W_max",
            "cwnd after K seconds",
            trace.at("transport.cwnd_segments", at),
            w_max,
            within=2,
            at_s=at,
        )


def _epoch(trace: Trace, ended: float) -> float:
    """The start of the congestion avoidance stage: as reported, else the end of the recovery."""
    reported = trace.at("epoch_start_s", ended + 0.3)
    return reported if ended - 1e-6 <= reported < ended + 0.3 else ended


def _bounds(trace: Trace, t: float, k: float, w_max: float, at: float) -> tuple[float, float]:
    """W_cubic now and an RTT ahead, less and plus a segment, to which cwnd is rounded."""

    def w_cubic(time: float) -> float:
        return _C * (time - k) ** 3 + w_max

    return w_cubic(t - 0.05) - 1.5, w_cubic(t + trace.at("transport.srtt_s", at)) + 1.5


def _reno_friendly(trace: Trace) -> Iterator[Statement]:
    begun, ended = _recovery(trace, "section 4.3")
    prior = trace.before("transport.cwnd_segments", begun)
    start = trace.at("transport.cwnd_segments", ended)
    reached = trace.first("transport.cwnd_segments", lambda value: value >= prior + 1, ended)
    if reached is None:
        raise unseen("section 4.3", "cwnd exceeds cwnd_prior", f"not in {trace.end_s:g} s", ended)
    at = trace.first("transport.cwnd_segments", lambda value: value >= prior - 1, ended)
    middle = reached.at_s if at is None else at.at_s
    slow = (prior - 1 - start) / max(_round_trips(trace, ended, middle), 1)
    yield equals(
        "section 4.3, equation 4: α = 3 (1 − β) / (1 + β)",
        "segments per round trip below cwnd_prior",
        slow,
        _ALPHA,
        relative=0.1,
        at_s=middle,
    )
    end = min(reached.at_s + 30 * trace.path.round_s, trace.end_s)
    fast = trace.at("transport.cwnd_segments", end) - trace.at("transport.cwnd_segments", reached.at_s)
    yield equals(
        "section 4.3: α is 1 once W_est ≥ cwnd_prior",
        "segments per round trip above cwnd_prior",
        fast / max(_round_trips(trace, reached.at_s, end), 1),
        1,
        relative=0.15,
        at_s=end,
    )


def _round_trips(trace: Trace, start_s: float, end_s: float) -> float:
    return trace.at("transport.round", end_s) - trace.at("transport.round", start_s)


def _two_losses(bench: Bench) -> Setup:
    first = _one_loss(bench).scenario
    known = bench.shared(first)
    _, ended = _recovery(known, "section 4.7")
    index = packet_at(known, ended + (1.0 if bench.path is LARGE else 0.15))
    lost = first["dumbbell"]["bottleneck"]["loss"]["indices"]
    return Setup(scenario=_run(bench, ended + 6.0, lost=[*lost, index]))


def _fast_convergence(trace: Trace) -> Iterator[Statement]:
    _, ended = _recovery(trace, "section 4.7")
    begun = event(trace, "recovery", "section 4.7", ended)
    w_max, cwnd = trace.before("w_max_segments", begun), trace.before("transport.cwnd_segments", begun)
    yield at_most("section 4.7", "cwnd is below W_max at the second event", cwnd, w_max - 1, at_s=begun)
    yield equals(
        "section 4.7: W_max = cwnd (1 + β) / 2 if cwnd < W_max",
        "W_max after the second event",
        trace.at("w_max_segments", begun),
        cwnd * (1 + _BETA) / 2,
        within=1.01,
        at_s=begun,
    )
    flight = trace.before("transport.flight_size_segments", begun)
    yield between(
        "section 4.6, figure 5: ssthresh = flight_size · β, also with fast convergence",
        "ssthresh after the second event",
        trace.at("transport.ssthresh_segments", begun),
        _BETA * (flight - 3) - 1,
        _BETA * max(flight, cwnd) + 2,
        at_s=begun,
    )
    epoch = _epoch(trace, event(trace, "recovered", "section 4.2", begun))
    gap = max(trace.at("w_max_segments", begun) - trace.at("transport.cwnd_segments", epoch), 0)
    # The window at the start of the epoch is known in whole segments.
    yield between(
        "section 4.2, equation 2: K follows from W_max and the window at the start of the epoch",
        "K after the second event",
        trace.at("k_s", epoch + 0.5),
        0.97 * (max(gap - 1, 0) / _C) ** (1 / 3),
        1.03 * (gap / _C) ** (1 / 3),
        at_s=epoch,
    )


def _in_one_window(bench: Bench) -> Setup:
    at = _loss_s(bench.path)
    number = packet_at(bench.shared(_run(bench, at)), at - 0.1)
    return Setup(scenario=_run(bench, 6.0, lost=[number, number + 2, number + 5, number + 9]))


def _once(trace: Trace) -> Iterator[Statement]:
    begun, ended = _recovery(trace, "section 4.6")
    count = len([one for one in trace.events_of("recovery", "timeout") if begun <= one["at_s"] <= ended + 0.5])
    yield equals("section 3.1: once per window", "reductions for four losses of a window", count, 1, at_s=begun)
    lost = trace.at("transport.lost_segments", ended)
    yield at_least("section 3.1", "segments lost", lost, 4, at_s=ended)
    flight = trace.before("transport.flight_size_segments", begun)
    yield at_least(
        "section 4.6",
        "ssthresh at the end of the recovery",
        trace.at("transport.ssthresh_segments", ended),
        _BETA * (flight - 3) - 1,
        at_s=ended,
    )


def _limited(bench: Bench) -> Setup:
    """After the loss, the application is limited for four seconds, then sends without limit again."""
    known = bench.shared(_one_loss(bench).scenario)
    _, ended = _recovery(known, "section 4.2")
    begin = ended + 1.0
    slow = 0.2 * known.at("transport.cwnd_segments", begin) / bench.path.round_s * 1448 * 8
    steps = [
        {"at": "0 s", "rate": "unlimited"},
        {"at": f"{round(begin * 1e9)} ns", "rate": f"{slow:.0f} bps"},
        {"at": f"{round((begin + 4) * 1e9)} ns", "rate": "unlimited"},
    ]
    lost = _one_loss(bench).scenario["dumbbell"]["bottleneck"]["loss"]["indices"]
    work = {"kind": "scheduled-writes", "steps": steps}
    return Setup(
        scenario=_run(bench, begin + 7, lost=lost, workload=work), moments={"begin": begin, "end": begin + 4.0}
    )


def _application_limited(trace: Trace) -> Iterator[Statement]:
    begin, end = trace.moments["begin"], trace.moments["end"]
    settled = begin + 5 * trace.path.round_s
    cwnd = trace.at("transport.cwnd_segments", settled)
    yield at_most(
        "section 5.8: cwnd does not increase while the flow is application-limited",
        "cwnd at the end of the limited period",
        trace.at("transport.cwnd_segments", end),
        cwnd + 1,
        at_s=end,
    )
    _, ended = _recovery(trace, "section 4.2")
    epoch = _epoch(trace, ended)
    w_max, k = trace.at("w_max_segments", settled), trace.at("k_s", settled)
    at = end + 2.0
    if at > trace.end_s:
        return
    passed = at - epoch - (end - begin)
    high = _C * (passed + 0.6 + trace.at("transport.srtt_s", at) - k) ** 3 + w_max
    reno = cwnd + 1.2 * (2.0 / trace.at("transport.srtt_s", at))
    yield at_most(
        "section 4.2: t does not include application-limited periods",
        "cwnd two seconds after the limited period",
        trace.at("transport.cwnd_segments", at),
        max(high, reno) + 2,
        at_s=at,
    )


def _outage(bench: Bench) -> Setup:
    """Everything is lost for a second, so that the retransmission timer expires."""
    link = {"schedule": [{"at": "3 s", "loss": 1.0}, {"at": "3.5 s", "loss": 0.0}]}
    return Setup(scenario=_run(bench, 16.0, link=link))


def _timeout(trace: Trace) -> Iterator[Statement]:
    begun = event(trace, "timeout", "section 4.8", 3.0)
    flight = trace.before("transport.flight_size_segments", begun)
    ssthresh = trace.at("transport.ssthresh_segments", begun)
    yield between(
        "section 4.8: ssthresh as in section 4.6, with β",
        "ssthresh after a timeout",
        ssthresh,
        _BETA * (flight - 3) - 1,
        _BETA * (flight + 1) + 1,
        at_s=begun,
    )
    cwnd = trace.at("transport.cwnd_segments", begun)
    yield equals("section 4.8: cwnd as in RFC 5681", "cwnd after a timeout", cwnd, 1, at_s=begun)
    above = trace.first("transport.cwnd_segments", lambda value: value >= ssthresh, begun + 0.01)
    if above is None or above.at_s + 1 > trace.end_s:
        raise unseen("section 4.8", "cwnd reaches ssthresh again", "not in this run", begun)
    at = above.at_s + 0.5
    yield equals(
        "section 4.8: K is 0 in the first congestion avoidance after a timeout",
        "K",
        trace.at("k_s", at),
        0,
        within=1e-9,
        at_s=at,
    )
    yield between(
        "section 4.8: W_max is cwnd at the start of that congestion avoidance",
        "W_max",
        trace.at("w_max_segments", at),
        ssthresh - 2,
        ssthresh + 4,
        at_s=at,
    )


def _lossy(bench: Bench) -> Setup:
    link = {"schedule": [{"at": "1 s", "loss": 0.35}, {"at": "6 s", "loss": 0.0}]}
    return setup(bench, 7.0, link=link, values=_VALUES, interval_s=_STEP_S)


def _floor(trace: Trace) -> Iterator[Statement]:
    lowest = min(point.value for point in trace.points("transport.ssthresh_segments", 1.0))
    if lowest > 4:
        raise NotApplicableError(f"ssthresh does not come to its floor, but to {lowest:.3g} segments")
    yield at_least("section 4.6: ssthresh = max(ssthresh, 2)", "the least ssthresh", lowest, 2)


def _marked(bench: Bench) -> Setup:
    """Every packet is marked."""
    queue = {"kind": "step-ecn", "capacity": "1000 packets", "mark_above": 1}
    stack = {"ecn": "classic", "initial_ssthresh": 40}
    narrow = {"rate": "200 kbps", "queue": queue}
    return Setup(scenario=scenario(bench, 40.0, link=narrow, stack=stack, values=_VALUES, interval_s=0.05))


def _ecn(trace: Trace) -> Iterator[Statement]:
    begun = event(trace, "ecn", "section 4.6")
    flight = trace.before("transport.flight_size_segments", begun)
    yield between(
        "section 4.6: ssthresh = flight_size · β",
        "ssthresh after an ECN echo",
        trace.at("transport.ssthresh_segments", begun),
        _BETA * (flight - 4) - 1,
        _BETA * (flight + 1) + 1,
        at_s=begun,
    )
    lowest = min(trace.points("transport.cwnd_segments", begun), key=lambda point: point.value)
    yield equals(
        "section 4.6: MUST continue to reduce cwnd on ECN-Echo until it is 1 MSS",
        "the least cwnd while every packet is marked",
        lowest.value,
        1,
        at_s=lowest.at_s,
    )


def _reordered(bench: Bench) -> Setup:
    """A few packets arrive half an RTT late, after those that were sent behind them."""
    path = bench.path
    half = path.rtt_s / 2
    base = bench.shared(_run(bench, _loss_s(path)))
    # Packets leave the line from then on.
    sent = base.points("transport.sent_packets", _loss_s(path) - 2 * path.round_s)[1].at_s
    late = [
        {"at": f"{round(sent * 1e9)} ns", "delay": f"{round(2 * half * 1e9)} ns"},
        {"at": f"{round((sent + 8 / path.segments_per_s) * 1e9)} ns", "delay": f"{round(half * 1e9)} ns"},
    ]
    link = {"schedule": late, "jitter": {"spread": "1 ns", "reorder": True}}
    return Setup(scenario=_run(bench, 5.0, link=link), moments={"late": sent})


def _spurious(trace: Trace) -> Iterator[Statement]:
    begun = event(trace, "recovery", "section 4.9.2", trace.moments["late"])
    undone = trace.events_of("undo", after_s=begun)
    if not undone:
        raise NotApplicableError("the transport does not undo (section 4.9.2: MAY)")
    at = float(undone[-1]["at_s"])  # packets that are still late may begin another recovery in between
    names = ["transport.cwnd_segments", "transport.ssthresh_segments", *_VALUES, "w_est_segments"]
    for name in [one for one in names if one in trace.names]:
        yield between(
            "section 4.9.2: the values before the reduction are restored",
            name.partition(".")[2] or name,
            trace.at(name, at),
            trace.before(name, begun) - 1.01,
            trace.before(name, begun) + 1.51,
            at_s=at,
        )


def _slow_start(bench: Bench) -> Setup:
    return setup(bench, 1.5, values=_VALUES, stack={"initial_ssthresh": _start(bench.path)})


def _doubles(trace: Trace) -> Iterator[Statement]:
    threshold = _start(trace.path)
    marks = [point for point in trace.points("transport.una_segments") if point.value > 0]
    worst = 0.0
    for point in marks:
        cwnd = trace.at("transport.cwnd_segments", point.at_s)
        if cwnd >= threshold:
            break
        # In slow start, cwnd is the initial window and what was acknowledged (RFC 5681, equation 2, with N ≤ L).
        worst = max(worst, abs(cwnd - (10 + point.value)))
    yield at_most("section 4.10: slow start below ssthresh", "cwnd − (10 + acknowledged segments)", worst, 2)
    reached = trace.first("transport.cwnd_segments", lambda value: value >= threshold)
    yield holds(
        "section 4.10",
        "cwnd reaches ssthresh",
        reached is not None,
        expected=f"{threshold} segments",
        got="not reached" if reached is None else f"{reached.value:g}",
        at_s=None if reached is None else reached.at_s,
    )
    if reached is not None:
        at = reached.at_s + 3 * trace.path.round_s
        yield equals(
            "section 4.10: K is 0 where no loss ended slow start", "K", trace.at("k_s", at), 0, within=1e-9, at_s=at
        )
        yield between(
            "section 4.10: W_max is cwnd at the start of congestion avoidance",
            "W_max",
            trace.at("w_max_segments", at),
            threshold - 1,
            threshold + 3,
            at_s=at,
        )


_BY_CURVE = {SMALL.name: "Reno's window is larger there"}
_BY_RENO = {LARGE.name: "CUBIC's window is larger there"}


def _uses_slow_start(bench: Bench) -> str:
    return "" if is_of_catalogue(bench, "cubic", "cubic-8312", "cubic-linux") else "another slow start"


CASES = (
    Case(
        name="beta",
        title="Multiplicative decrease",
        source="section 4.6",
        scenario=_one_loss,
        check=_decrease,
        paths=PATHS,
        values=_VALUES,
    ),
    Case(
        name="curve",
        title="Window increase function: concave and convex region",
        source="sections 4.2, 4.4, 4.5",
        scenario=_one_loss,
        check=_curve,
        paths=PATHS,
        unsuited=_BY_CURVE,
        values=_VALUES,
    ),
    Case(
        name="reno-friendly",
        title="Reno-friendly region",
        source="section 4.3",
        scenario=_one_loss,
        check=_reno_friendly,
        paths=PATHS,
        unsuited=_BY_RENO,
        values=_VALUES,
    ),
    Case(
        name="once-per-window",
        title="One reduction for the losses of a window",
        source="sections 3.1, 4.6",
        scenario=_in_one_window,
        check=_once,
        paths=PATHS,
        values=_VALUES,
    ),
    Case(
        name="fast-convergence",
        title="Fast convergence",
        source="section 4.7",
        scenario=_two_losses,
        check=_fast_convergence,
        paths=PATHS,
        values=_VALUES,
    ),
    Case(
        name="app-limited",
        title="Application-limited flows",
        source="sections 4.2, 5.8",
        scenario=_limited,
        check=_application_limited,
        paths=PATHS,
        values=_VALUES,
    ),
    Case(
        name="timeout",
        title="Timeout",
        source="section 4.8",
        scenario=_outage,
        check=_timeout,
        paths=PATHS,
        values=_VALUES,
    ),
    Case(
        name="ssthresh-floor",
        title="Floor of ssthresh",
        source="section 4.6",
        scenario=_lossy,
        check=_floor,
        paths=PATHS,
        values=_VALUES,
    ),
    Case(
        name="ecn",
        title="ECN-Echo",
        source="section 4.6",
        scenario=_marked,
        check=_ecn,
        paths=(SMALL,),
        values=_VALUES,
    ),
    Case(
        name="spurious-loss",
        title="Spurious loss detected by acknowledgments",
        source="section 4.9.2",
        scenario=_reordered,
        check=_spurious,
        paths=PATHS,
        values=_VALUES,
    ),
    Case(
        name="slow-start",
        title="Slow start, and congestion avoidance without a loss",
        source="section 4.10",
        scenario=_slow_start,
        check=_doubles,
        paths=PATHS,
        values=_VALUES,
        applies=_uses_slow_start,
    ),
)

SUITE = Suite(name="rfc9438", title="CUBIC", source="RFC 9438", cases=CASES, reference="cubic")
