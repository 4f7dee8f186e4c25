"""Algorithms in Python for the tests of the suites: right by default, wrong by a parameter."""

from __future__ import annotations

from math import inf
from typing import Any


class Cubic:
    """RFC 9438, as far as the cases need it."""

    def __init__(
        self, path: Any, beta: float = 0.7, c: float = 0.4, fast_convergence: bool = True, counts_idle: bool = False
    ) -> None:
        self.w, self.ssthresh = path.initial_cwnd, path.initial_ssthresh or inf
        self.beta, self.c, self.fast, self.counts_idle = beta, c, fast_convergence, counts_idle
        self.w_max = self.k = self.w_est = self.prior = 0.0
        self.start: float | None = None
        self.idle_since: float | None = None
        self.after_timeout = False

    def on_ack(self, ack: Any) -> None:
        if not ack.cwnd_limited and self.idle_since is None:
            self.idle_since = ack.now
        if ack.recovering or not ack.cwnd_limited:
            return
        if self.idle_since is not None:
            if self.start is not None and not self.counts_idle:
                self.start += ack.now - self.idle_since
            self.idle_since = None
        if self.w < self.ssthresh:
            self.w += ack.acked
            return
        if self.start is None:
            self._begin(ack.now)
        self._avoid(ack)

    def _begin(self, now: float) -> None:
        self.start, self.w_est = now, self.w
        if self.w < self.w_max and not self.after_timeout:
            self.k = ((self.w_max - self.w) / self.c) ** (1 / 3)
        else:
            self.k, self.w_max = 0.0, self.w
        self.after_timeout = False

    def _avoid(self, ack: Any) -> None:
        assert self.start is not None
        t = ack.now - self.start
        alpha = 1.0 if self.w_est >= self.prior else 3 * (1 - self.beta) / (1 + self.beta)
        self.w_est += alpha * ack.acked / self.w
        if self.c * (t - self.k) ** 3 + self.w_max < self.w_est:
            self.w = max(self.w, self.w_est)
            return
        target = self.c * (t + ack.srtt - self.k) ** 3 + self.w_max
        self.w += ack.acked * (min(max(target, self.w), 1.5 * self.w) - self.w) / self.w

    def on_congestion(self, event: Any) -> None:
        if event.repeated:
            self.w = 1.0
            return
        self.prior, self.start = self.w, None
        self.w_max = self.w * (1 + self.beta) / 2 if self.fast and self.w < self.w_max else self.w
        self.after_timeout = event.cause == "timeout"
        least = 1.0 if event.cause == "ecn" else 2.0
        reduced = self.beta * min(event.in_flight, self.w)
        self.ssthresh = max(reduced, 2.0)
        self.w = 1.0 if event.restart else max(reduced, least)

    def on_window(self, window: Any) -> None:
        if window.change in ("idle", "recovered"):
            self.w = window.cwnd

    def cwnd(self) -> float:
        return float(self.w)

    def state(self) -> dict[str, float]:
        started = inf if self.start is None else self.start
        return {"w_max_segments": self.w_max, "k_s": self.k, "w_est_segments": self.w_est, "epoch_start_s": started}


class HyStart:
    """RFC 9406 before Reno's congestion avoidance."""

    def __init__(
        self,
        path: Any,
        least: float = 0.004,
        most: float = 0.016,
        divisor: float = 4.0,
        samples: int = 8,
        rounds: int = 5,
    ) -> None:
        self.w, self.ssthresh = path.initial_cwnd, path.initial_ssthresh or inf
        self.limit = inf if path.paced else 8.0
        self.least, self.most, self.divisor, self.needed, self.css_rounds = least, most, divisor, samples, rounds
        self.round = -1
        self.last = self.current = self.baseline = inf
        self.count = self.done = 0
        self.over = False

    def on_ack(self, ack: Any) -> None:
        if ack.recovering or not ack.cwnd_limited:
            return
        if self.w >= self.ssthresh:
            self.w += ack.acked / self.w
            return
        grown = min(ack.acked, self.limit * ack.acks)
        if not self.over:
            self._rounds(ack)
            if self.over:
                return
        self.w += grown / self.divisor if self.baseline < inf else grown

    def _rounds(self, ack: Any) -> None:
        if ack.round != self.round:
            self.round, self.last, self.current, self.count = ack.round, self.current, inf, 0
            if self.baseline < inf:
                self.done += 1
                if self.done >= self.css_rounds:
                    self._leave(self.w)
                    return
        if ack.rtt is not None:
            self.current, self.count = min(self.current, ack.rtt), self.count + 1
        if self.count < self.needed or self.current == inf:
            return
        threshold = min(max(self.last / 8, self.least), self.most)
        if self.baseline == inf and self.last < inf and self.current >= self.last + threshold:
            self.baseline, self.done = self.current, 0
        elif self.baseline < inf and self.current < self.baseline:
            self.baseline = inf

    def _leave(self, ssthresh: float) -> None:
        self.ssthresh, self.baseline, self.over = ssthresh, inf, True

    def on_congestion(self, event: Any) -> None:
        if not event.repeated:
            self._leave(max(event.in_flight / 2, 2.0))
        self.w = 1.0 if event.restart else self.ssthresh

    def on_window(self, window: Any) -> None:
        if window.change in ("idle", "recovered"):
            self.w = window.cwnd

    def cwnd(self) -> float:
        return float(self.w)

    def state(self) -> dict[str, float]:
        return {"in_css": float(self.baseline < inf)}


class Reno:
    """RFC 5681."""

    def __init__(self, path: Any, beta: float = 0.5, growth: float = 1.0, grows_in_recovery: bool = False) -> None:
        self.w, self.ssthresh = path.initial_cwnd, path.initial_ssthresh or inf
        self.beta, self.growth, self.grows_in_recovery = beta, growth, grows_in_recovery

    def on_ack(self, ack: Any) -> None:
        if ack.recovering and self.grows_in_recovery:
            self.w += ack.acked
        if ack.recovering or not ack.cwnd_limited:
            return
        self.w += ack.acked if self.w < self.ssthresh else self.growth * ack.acked / self.w

    def on_congestion(self, event: Any) -> None:
        if not event.repeated:
            self.ssthresh = max(self.beta * min(event.in_flight, self.w), 2.0)
        self.w = 1.0 if event.restart else self.ssthresh

    def on_window(self, window: Any) -> None:
        if window.change in ("idle", "recovered"):
            self.w = window.cwnd

    def cwnd(self) -> float:
        return float(self.w)


class Startup:
    """Startup and Drain of the BBR draft, then ProbeBW_CRUISE for ever."""

    def __init__(self, path: Any, drain_gain: float = 0.5, rounds: int = 3) -> None:
        self.initial = self.w = path.initial_cwnd
        self.drain_gain, self.rounds = drain_gain, rounds
        self.min_rtt, self.bw, self.full_bw = inf, 0.0, 0.0
        self.mode, self.count, self.round, self.round_end, self.in_flight = 0, 0, 0, 0.0, 0.0

    def on_ack(self, ack: Any) -> None:
        self.in_flight = ack.in_flight
        if ack.rtt is not None:
            self.min_rtt = min(self.min_rtt, ack.rtt)
        if ack.delivery_rate is None:
            return
        sample = ack.delivery_rate
        self.bw = max(self.bw, sample.rate)
        if sample.prior_delivered >= self.round_end:
            self.round, self.round_end = self.round + 1, ack.delivered
            self._plateau(sample)
        if self.mode == 0 and self.count >= self.rounds:
            self.mode = 1
        if self.mode == 1 and ack.in_flight <= max(self.bw * self.min_rtt, 6):
            self.mode = 3
        self.w = min(self.w + ack.acked, max(2 * self.bw * self.min_rtt, 2 * self.initial))

    def _plateau(self, sample: Any) -> None:
        if self.count >= self.rounds or sample.app_limited:
            return
        if sample.rate >= 1.25 * self.full_bw:
            self.full_bw, self.count = sample.rate, 0
        else:
            self.count += 1

    def on_congestion(self, event: Any) -> None: ...

    def cwnd(self) -> float:
        return float(max(self.w, 4))

    def _gain(self) -> float:
        return {0: 2.773, 1: self.drain_gain}.get(self.mode, 1.0)

    def pacing_rate(self) -> float | None:
        return 0.99 * self._gain() * self.bw if self.bw else None

    def state(self) -> dict[str, float]:
        full = float(self.count >= self.rounds)
        return {
            "state": self.mode,
            "round_count": self.round,
            "pacing_gain": self._gain(),
            "inflight_segments": self.in_flight,
            "max_bw_segments_per_s": self.bw,
            "bw_segments_per_s": self.bw,
            "min_rtt_s": self.min_rtt,
            "send_quantum_segments": 2,
            "full_bw_count": self.count,
            "full_bw_now": full,
            "full_bw_reached": full,
        }
