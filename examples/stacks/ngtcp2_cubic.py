"""CUBIC as ngtcp2 0.12.1 computes it, to audit its logs with; the lines are those of lib/ngtcp2_cc.c.

    K:            in whole seconds, rounded down (263, 367), where RFC 9438, section 4.2, has a real number
    target:       (C (t − K)³ + W_max) (t + srtt), the window times seconds (407), where section 4.2 has the window at
                  t + RTT; at least w, at most 1.5 w
    growth:       per packet (target − w) / w, or of W_est (417 to 441)
    W_est:        α = 1 (428), where section 4.3 has 3 (1 − β) / (1 + β) until W_est reaches the last window
    slow start:   ends at once where the RTT rises (350), where RFC 9406, section 4.3, goes on more slowly

Left out: no growth above 2.89 times the largest delivery rate times the smallest RTT (325, 551).

Units: windows in segments, times in seconds.
"""

from math import floor


class Ngtcp2Cubic:
    def __init__(self, path):
        self.w = path.initial_cwnd
        self.ssthresh = path.initial_ssthresh
        self.w_max = self.k = self.origin = 0.0
        self.w_est = self.rest = self.rest_est = 0  # integers, in bytes
        self.start = None  # of t
        self.rounds = [None, None]  # the smallest RTT of the last round and of this one
        self.round = 0
        self.samples = 0

    def on_ack(self, ack):
        self._measure(ack)
        if ack.recovering:
            return
        if self.w < self.ssthresh:
            self.w += ack.acked
            last, now = self.rounds
            known = last is not None and now is not None and self.samples >= 8
            if known and self.w >= 16 and now >= last + min(max(last / 8, 0.004), 0.016):
                self.w_max = self.ssthresh = self.w
            return
        mss, cwnd = round(ack.mss), round(self.w * ack.mss)
        if self.start is None:
            self.start = ack.now
            self.k = floor(floor(2.5 * max(0.0, self.w_max - self.w)) ** (1 / 3) + 1e-9)
            self.origin, self.w_est = max(self.w, self.w_max), cwnd
            self.rest = self.rest_est = 0
        t = ack.now - self.start
        target = floor((self.origin + 0.4 * (t - self.k) ** 3) * (t + ack.srtt) * mss)
        for _ in range(max(1, round(ack.acked))):
            aim = min(max(target, cwnd), 3 * cwnd // 2)
            growth, self.rest = divmod(self.rest + mss * (aim - cwnd), cwnd)
            more, self.rest_est = divmod(self.rest_est + mss * mss, cwnd)
            self.w_est += more
            cwnd += max(growth, mss * (self.w_est - cwnd) // cwnd)
        self.w = cwnd / mss

    def _measure(self, ack):
        if ack.round > self.round:
            self.round, self.samples = ack.round, 0
            self.rounds = [self.rounds[1], None]
        if ack.rtt is not None:
            self.rounds[1] = ack.rtt if self.rounds[1] is None else min(self.rounds[1], ack.rtt)
            self.samples += 1

    def on_congestion(self, event):
        if event.restart:
            self.w, self.start = 2, None
            return
        self.w_max = 0.85 * self.w if self.w < self.w_max else self.w
        self.w = self.ssthresh = max(0.7 * self.w, 2)
        self.start = None

    def on_window(self, window):
        if window.change != "established":
            self.w = window.cwnd

    def cwnd(self):
        return self.w
