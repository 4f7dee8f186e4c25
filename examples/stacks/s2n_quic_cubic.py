"""CUBIC as s2n-quic 1.91.0 computes it, to audit its logs with; the lines are those of s2n-quic-core 0.91.0,
src/recovery/cubic.rs.

    growth:       by (W_cubic(t + RTT) − w) / w per ACK frame (613), where RFC 8312, section 4.3, has it per
                  acknowledged packet; at most half of what is acknowledged (558)
    RTT:          the smallest one (380), where sections 4.1 and 4.2 have the smoothed one
    K:            from the window after the reduction (845), as RFC 9438, section 4.2, has it
    W_est:        W_max β + 3 (1 − β) / (1 + β) t / RTT (771), whatever the window after the reduction is
    slow start:   ends where eight samples of a round are 4 to 16 ms above those of the round before, from 16 segments
                  on (src/recovery/hybrid_slow_start.rs:93), without the trains of the paper; a round ends with the
                  ACK of a packet that was sent after the last one at its start (113)

Left out: the window is at most twice, in congestion avoidance 1.5 times, the most bytes in flight since the last
reduction (331); an update of the MTU multiplies the window (option `mtu=1472`: there is none).

Units: windows in segments, times in seconds.
"""

from math import inf

C, BETA = 0.4, 0.7


class S2nQuicCubic:
    def __init__(self, path):
        self.w = path.initial_cwnd
        self.ssthresh = inf
        self.w_max = self.w_last_max = self.k = 0.0
        self.start = None  # of t; none in slow start
        self.is_slow_start, self.was_recovering = True, False
        self.samples, self.last_sent, self.round_end = 0, 0.0, None
        self.last, self.current = None, None  # the smallest RTT of a round

    def on_ack(self, ack):
        self._measure(ack)
        if ack.recovering:
            self.was_recovering = True
            return
        if not ack.cwnd_limited:
            return
        if self.was_recovering:
            self.was_recovering, self.is_slow_start, self.start = False, False, ack.now
        if self.is_slow_start:
            self.w += ack.acked
            if self.w >= self.ssthresh:
                self._leave(ack.now)
            return
        if self.start is None:
            self.start = ack.now
        t, rtt = ack.now - self.start, ack.min_rtt
        most = self.w + ack.acked / 2
        estimate = self.w_max * BETA + 3 * (1 - BETA) / (1 + BETA) * t / rtt
        if self._cubic(t) < estimate:
            self.w = min(estimate, most)
            return
        target = self._cubic(t + rtt)
        if self.w < target:
            self.w = min(self.w + (target - self.w) / self.w, most)

    def on_sent(self, sent):
        self.last_sent = sent.now

    def _cubic(self, t):
        return C * (t - self.k) ** 3 + self.w_max

    def _leave(self, now):
        self.is_slow_start, self.start = False, now
        self.w_max, self.k = self.w, 0.0

    def _measure(self, ack):
        if not self.is_slow_start or ack.rtt is None:
            return
        if self.round_end is None or ack.now - ack.rtt >= self.round_end - 1e-6:
            self.round_end, self.samples = self.last_sent, 0
            self.last, self.current = self.current, None
        if self.samples < 8:
            self.current = ack.rtt if self.current is None else min(self.current, ack.rtt)
        self.samples += 1
        if self.samples != 8 or self.last is None or self.w < 16:
            return
        if self.current >= self.last + min(max(self.last / 8, 0.004), 0.016):
            self.ssthresh = self.w
            self._leave(ack.now)

    def on_congestion(self, event):
        if event.restart:  # persistent congestion
            self.w, self.is_slow_start = 2, True
            self.w_max = self.w_last_max = self.k = 0.0
            return
        before = self.w
        self.w_max = max(before * (1 + BETA) / 2, 2) if before < self.w_last_max else before
        self.w_last_max = before
        self.w = max(before * BETA, 2)
        self.k = max((self.w_max - self.w) / C, 0.0) ** (1 / 3)
        self.ssthresh = max(min(self.ssthresh, self.w), 16)
        self.is_slow_start, self.was_recovering = False, True

    def on_window(self, window):
        if window.change != "established":
            self.w = window.cwnd

    def cwnd(self):
        return self.w
