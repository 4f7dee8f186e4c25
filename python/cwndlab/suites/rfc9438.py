"""Statements of RFC 9438 on CUBIC. Sections and equations are those of the RFC; windows are in segments."""

from __future__ import annotations

import itertools
from math import inf
from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.paths import MSS_BYTES, Path
from cwndlab.suites.rfc import is_of_catalogue, packet_at, scenario
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, duration, rate, steps

_C, _BETA = 0.4, 0.7
_ALPHA = 3 * (1 - _BETA) / (1 + _BETA)

#: In the first one CUBIC's curve lies above Reno's, in the second one below.
_LARGE = Path("100 Mbit/s, 100 ms", 100e6, 0.1)
_SMALL = Path("10 Mbit/s, 20 ms", 10e6, 0.02)

#: Values that CUBIC reports.
_VALUES = ("w_max_segments", "k_s")
CASES, case = cases((_LARGE, _SMALL), *_VALUES)
_BY_CURVE = {_SMALL.name: "Reno's window is larger there"}
_BY_RENO = {_LARGE.name: "CUBIC's window is larger there"}


def _start(path: Path) -> int:
    """The initial slow-start threshold: congestion avoidance begins there without a loss."""
    return 400 if path is _LARGE else 24


def _run(t: Trial, duration_s: float, **options: Any) -> dict[str, Any]:
    values = (*_VALUES, "w_est_segments", "epoch_start_s")
    stack = {"initial_ssthresh": _start(t.path)}
    return scenario(t, duration_s, stack=stack, values=values, interval_s=0.005, **options)


def _loss_s(path: Path) -> float:
    """The time of the loss; on the small path while its queue, and with it the RTT, is short."""
    return 3.0 if path is _LARGE else 0.6


def _next(t: Trial) -> int:
    """The number of the packet that is lost."""
    at = _loss_s(t.path)
    return packet_at(t.shared(_run(t, at)), at - 0.1)


def _one_loss(t: Trial) -> tuple[dict[str, Any], int]:
    """The scenario of a loss, and the packet's number."""
    number = _next(t)
    return _run(t, 22.0 if t.path is _LARGE else 16.0, lost=[number]), number


def _reduced(t: Trial, run: Trace, at: float, source: str, text: str) -> None:
    """The threshold after a loss; section 4.6 lets implementations use cwnd in place of flight_size."""
    flight, cwnd = run.before("flight_size", at), run.before("cwnd", at)
    low, high = _BETA * (flight - 3) - 1, _BETA * max(flight, cwnd) + 2
    t.expect(
        f"section 4.6, figure 5: ssthresh = flight_size · β{source}", text, run.at("ssthresh", at), low, high, at=at
    )


def _epoch(run: Trace, ended: float) -> float:
    """The start of the congestion avoidance stage: as reported, else the end of the recovery."""
    reported = run.at("epoch_start_s", ended + 0.3)
    return reported if ended - 1e-6 <= reported < ended + 0.3 else ended


@case("beta", "Multiplicative decrease", "section 4.6")
def _decrease(t: Trial) -> None:
    run = t.run(_one_loss(t)[0])
    begun, ended = run.recovery("section 4.6")
    _reduced(t, run, begun, "", "ssthresh after a loss, where β is 0.7")
    ssthresh, after = run.at("ssthresh", begun), run.at("cwnd", ended)
    source, text = "section 4.6: cwnd = max(ssthresh, 2)", "cwnd at the end of the recovery"
    t.expect(source, text, after, ssthresh - 2, ssthresh + 2, at=ended)
    w_max, cwnd = run.at("w_max_segments", begun), run.before("cwnd", begun)
    t.equals("section 4.7: W_max = cwnd", "W_max after the first congestion event", w_max, cwnd, within=1.01, at=begun)


@case("curve", "Window increase function: concave and convex region", "sections 4.2, 4.4, 4.5", unsuited=_BY_CURVE)
def _curve(t: Trial) -> None:
    run = t.run(_one_loss(t)[0])
    begun, ended = run.recovery("section 4.2")
    w_max, epoch = run.before("cwnd", begun), _epoch(run, ended)
    k = ((w_max - run.at("cwnd", epoch)) / _C) ** (1 / 3)
    t.equals("section 4.2, equation 2", "K", run.at("k_s", epoch + 0.5), k, relative=0.02, at=epoch)
    start = epoch + 0.3
    step = (min(epoch + 2.2 * k, run.end_s) - start) / 200
    times = [start + (index + 0.5) * step for index in range(200)]
    for number, name, first, last in ((4, "concave", 0.0, k), (5, "convex", k, inf)):
        # W_cubic now and an RTT ahead, less and plus a segment, to which cwnd is rounded.
        region = [
            (
                run.at("cwnd", at),
                _cubic(at - epoch - 0.05 - k, w_max) - 1.5,
                _cubic(at - epoch + rtt - k, w_max) + 1.5,
                at,
            )
            for at, rtt in ((at, run.at("srtt", at)) for at in times)
            if first <= at - epoch < last
        ]
        if region:
            cwnd, low, high, at = max(region, key=lambda one: max(one[1] - one[0], one[0] - one[2]))
            source = f"section 4.{number}: cwnd grows by (target − cwnd) / cwnd for each ACK"
            text = f"cwnd in the {name} region, where it is farthest from W_cubic"
            t.expect(source, text, cwnd, low, high, at=at)
    at = epoch + k
    if at < run.end_s:
        source, cwnd = "section 4.2, equation 1: W_cubic(K) = W_max", run.at("cwnd", at)
        t.equals(source, "cwnd after K seconds", cwnd, w_max, within=2, at=at)


def _cubic(since_k: float, w_max: float) -> float:
    """W_cubic at a time after K (equation 1)."""
    return _C * since_k**3 + w_max


@case("reno-friendly", "Reno-friendly region", "section 4.3", unsuited=_BY_RENO)
def _reno_friendly(t: Trial) -> None:
    run = t.run(_one_loss(t)[0])
    begun, ended = run.recovery("section 4.3")
    prior, start = run.before("cwnd", begun), run.at("cwnd", ended)
    reached = run.first("cwnd", lambda value: value >= prior + 1, ended)
    if reached is None:
        raise NotObservedError("section 4.3", "cwnd exceeds cwnd_prior", f"not in {run.end_s:g} s", ended)
    near = run.first("cwnd", lambda value: value >= prior - 1, ended) or reached
    slow = (prior - 1 - start) / max(run.grown("round", ended, near.at_s), 1)
    source, text = "section 4.3, equation 4: α = 3 (1 − β) / (1 + β)", "segments per round trip below cwnd_prior"
    t.equals(source, text, slow, _ALPHA, relative=0.1, at=near.at_s)
    end = min(reached.at_s + 30 * t.path.round_s, run.end_s)
    fast = run.grown("cwnd", reached.at_s, end) / max(run.grown("round", reached.at_s, end), 1)
    source, text = "section 4.3: α is 1 once W_est ≥ cwnd_prior", "segments per round trip above cwnd_prior"
    t.equals(source, text, fast, 1, relative=0.15, at=end)


@case("once-per-window", "One reduction for the losses of a window", "sections 3.1, 4.6")
def _once(t: Trial) -> None:
    number = _next(t)
    run = t.run(_run(t, 6.0, lost=[number, number + 2, number + 5, number + 9]))
    begun, ended = run.recovery("section 4.6")
    count = len([at for at in run.times("recovery", "timeout") if begun <= at <= ended + 0.5])
    t.equals("section 3.1: once per window", "reductions for four losses of a window", count, 1, at=begun)
    t.expect("section 3.1", "segments lost", run.at("lost", ended), 4, at=ended)
    low = _BETA * (run.before("flight_size", begun) - 3) - 1
    t.expect("section 4.6", "ssthresh at the end of the recovery", run.at("ssthresh", ended), low, at=ended)


@case("fast-convergence", "Fast convergence", "section 4.7")
def _fast_convergence(t: Trial) -> None:
    document, number = _one_loss(t)
    known = t.shared(document)
    _, ended = known.recovery("section 4.7")
    second = packet_at(known, ended + (1.0 if t.path is _LARGE else 0.15))
    run = t.run(_run(t, ended + 6.0, lost=[number, second]))
    _, ended = run.recovery("section 4.7")
    begun = run.event("recovery", "section 4.7", ended)
    before, w_max, cwnd = (
        run.before("w_max_segments", begun),
        run.at("w_max_segments", begun),
        run.before("cwnd", begun),
    )
    t.expect("section 4.7", "cwnd is below W_max at the second event", cwnd, high=before - 1, at=begun)
    source, text = "section 4.7: W_max = cwnd (1 + β) / 2 if cwnd < W_max", "W_max after the second event"
    t.equals(source, text, w_max, cwnd * (1 + _BETA) / 2, within=1.01, at=begun)
    _reduced(t, run, begun, ", also with fast convergence", "ssthresh after the second event")
    epoch = _epoch(run, run.event("recovered", "section 4.2", begun))
    # The window at the start of the epoch is known in whole segments.
    gap = max(w_max - run.at("cwnd", epoch), 0)
    low, high = 0.97 * (max(gap - 1, 0) / _C) ** (1 / 3), 1.03 * (gap / _C) ** (1 / 3)
    source = "section 4.2, equation 2: K follows from W_max and the window at the start of the epoch"
    t.expect(source, "K after the second event", run.at("k_s", epoch + 0.5), low, high, at=epoch)


@case("app-limited", "Application-limited flows", "sections 4.2, 5.8")
def _application_limited(t: Trial) -> None:
    """After the loss, the application is limited for four seconds, then sends without limit again."""
    document, number = _one_loss(t)
    known = t.shared(document)
    begin = known.recovery("section 4.2")[1] + 1.0
    end, unlimited = begin + 4, {"rate": "unlimited"}
    slow = 0.2 * known.at("cwnd", begin) / t.path.round_s * MSS_BYTES * 8
    work = {
        "kind": "scheduled-writes",
        "steps": steps((0, unlimited), (begin, rate(slow)), (end, unlimited))["schedule"],
    }
    run = t.run(_run(t, begin + 7, lost=[number], workload=work))
    settled, at = begin + 5 * t.path.round_s, end + 2.0
    cwnd, w_max, k = (run.at(name, settled) for name in ("cwnd", "w_max_segments", "k_s"))
    source = "section 5.8: cwnd does not increase while the flow is application-limited"
    t.expect(source, "cwnd at the end of the limited period", run.at("cwnd", end), high=cwnd + 1, at=end)
    epoch = _epoch(run, run.recovery("section 4.2")[1])
    if at <= run.end_s:
        rtt = run.at("srtt", at)
        cubic, reno = _cubic(at - epoch - (end - begin) + 0.6 + rtt - k, w_max), cwnd + 1.2 * (2.0 / rtt)
        source = "section 4.2: t does not include application-limited periods"
        text = "cwnd two seconds after the limited period"
        t.expect(source, text, run.at("cwnd", at), high=max(cubic, reno) + 2, at=at)


@case("timeout", "Timeout", "section 4.8")
def _timeout(t: Trial) -> None:
    """Everything is lost for half a second, so that the retransmission timer expires."""
    run = t.run(_run(t, 16.0, link=steps((3, {"loss": 1.0}), (3.5, {"loss": 0.0}))))
    begun = run.event("timeout", "section 4.8", 3.0)
    flight, ssthresh = run.before("flight_size", begun), run.at("ssthresh", begun)
    low, high = _BETA * (flight - 3) - 1, _BETA * (flight + 1) + 1
    t.expect(
        "section 4.8: ssthresh as in section 4.6, with β", "ssthresh after a timeout", ssthresh, low, high, at=begun
    )
    t.equals("section 4.8: cwnd as in RFC 5681", "cwnd after a timeout", run.at("cwnd", begun), 1, at=begun)
    above = run.first("cwnd", lambda value: value >= ssthresh, begun + 0.01)
    if above is None or above.at_s + 1 > run.end_s:
        raise NotObservedError("section 4.8", "cwnd reaches ssthresh again", "not in this run", begun)
    at = above.at_s + 0.5
    source = "section 4.8: K is 0 in the first congestion avoidance after a timeout"
    t.equals(source, "K", run.at("k_s", at), 0, within=1e-9, at=at)
    source = "section 4.8: W_max is cwnd at the start of that congestion avoidance"
    t.expect(source, "W_max", run.at("w_max_segments", at), ssthresh - 2, ssthresh + 4, at=at)


@case("ssthresh-floor", "Floor of ssthresh", "section 4.6")
def _floor(t: Trial) -> None:
    link = steps((1, {"loss": 0.35}), (6, {"loss": 0.0}))
    run = t.run(scenario(t, 7.0, link=link, values=_VALUES, interval_s=0.005))
    lowest = run.least("ssthresh", 1.0).value
    if lowest > 4:
        raise NotApplicableError(f"ssthresh does not come to its floor, but to {lowest:.3g} segments")
    t.expect("section 4.6: ssthresh = max(ssthresh, 2)", "the least ssthresh", lowest, 2)


@case("ecn", "ECN-Echo", "section 4.6", paths=(_SMALL,))
def _ecn(t: Trial) -> None:
    """Every packet is marked."""
    queue = {"kind": "step-ecn", "capacity": "1000 packets", "mark_above": 1}
    stack = {"ecn": "classic", "initial_ssthresh": 40}
    link = {"rate": "200 kbps", "queue": queue}
    run = t.run(scenario(t, 40.0, link=link, stack=stack, values=_VALUES, interval_s=0.05))
    begun = run.event("ecn", "section 4.6")
    flight, ssthresh = run.before("flight_size", begun), run.at("ssthresh", begun)
    low, high = _BETA * (flight - 4) - 1, _BETA * (flight + 1) + 1
    source = "section 4.6: ssthresh = flight_size · β"
    t.expect(source, "ssthresh after an ECN echo", ssthresh, low, high, at=begun)
    lowest = run.least("cwnd", begun)
    source = "section 4.6: MUST continue to reduce cwnd on ECN-Echo until it is 1 MSS"
    t.equals(source, "the least cwnd while every packet is marked", lowest.value, 1, at=lowest.at_s)


@case("spurious-loss", "Spurious loss detected by acknowledgments", "section 4.9.2")
def _spurious(t: Trial) -> None:
    """A few packets arrive half an RTT late, after those that were sent behind them."""
    half, at = t.path.rtt_s / 2, _loss_s(t.path)
    # Packets leave the line from then on.
    sent = t.shared(_run(t, at)).points("sent", at - 2 * t.path.round_s)[1].at_s
    late = steps((sent, {"delay": duration(2 * half)}), (sent + 8 / t.path.segments_per_s, {"delay": duration(half)}))
    run = t.run(_run(t, 5.0, link={**late, "jitter": {"spread": "1 ns", "reorder": True}}))
    begun = run.event("recovery", "section 4.9.2", sent)
    undone = run.times("undo", after_s=begun)
    if not undone:
        raise NotApplicableError("the transport does not undo (section 4.9.2: MAY)")
    at = undone[-1]  # packets that are still late may begin another recovery in between
    names = ["transport.cwnd_segments", "transport.ssthresh_segments", *_VALUES, "w_est_segments"]
    for name in [one for one in names if one in run.names]:
        source, before = "section 4.9.2: the values before the reduction are restored", run.before(name, begun)
        t.expect(source, name.rpartition(".")[2], run.at(name, at), before - 1.01, before + 1.51, at=at)


@case("slow-start", "Slow start, and congestion avoidance without a loss", "section 4.10")
def _doubles(t: Trial) -> None:
    if not is_of_catalogue(t, "cubic", "cubic-8312", "cubic-linux"):
        raise NotApplicableError("another slow start")
    threshold, worst = _start(t.path), 0.0
    run = t.run(scenario(t, 1.5, values=_VALUES, stack={"initial_ssthresh": threshold}))
    acked = ((point.value, run.at("cwnd", point.at_s)) for point in run.points("una") if point.value > 0)
    for una, cwnd in itertools.takewhile(lambda one: one[1] < threshold, acked):
        # In slow start, cwnd is the initial window and what was acknowledged (RFC 5681, equation 2, with N ≤ L).
        worst = max(worst, abs(cwnd - (10 + una)))
    source = "section 4.10: slow start below ssthresh"
    t.expect(source, "cwnd − (10 + acknowledged segments)", worst, high=2)
    reached = run.first("cwnd", lambda value: value >= threshold)
    got, at = ("not reached", None) if reached is None else (f"{reached.value:g}", reached.at_s)
    t.holds("section 4.10", "cwnd reaches ssthresh", reached is not None, f"{threshold} segments", got, at=at)
    if at is not None:
        at += 3 * t.path.round_s
        source = "section 4.10: K is 0 where no loss ended slow start"
        t.equals(source, "K", run.at("k_s", at), 0, within=1e-9, at=at)
        source, w_max = "section 4.10: W_max is cwnd at the start of congestion avoidance", run.at("w_max_segments", at)
        t.expect(source, "W_max", w_max, threshold - 1, threshold + 3, at=at)
