"""CUBIC as aioquic 1.7.2 computes it, to audit its logs with; the lines are those of aioquic/quic/congestion/cubic.py.

    recovery:     the window grows by ACKs of packets that were sent before the reduction, too (70), where RFC 9002,
                  section 7.3.2, has no growth
    W_est:        α is one segment (35), where RFC 9438, section 4.3, has 3 (1 − β) / (1 + β) until W_est reaches the
                  window before the reduction
    target:       W_cubic(t + RTT) with the latest sample of the RTT (116), that before this ACK
    reduction:    to 0.7 of the bytes in flight without the lost ones (184), where section 4.6 allows it for senders
                  that the application limits; W_max by fast convergence from the window (175)
    slow start:   ends where five samples, a millisecond apart at least, are a quarter above the lowest maximum of five
                  (base.py:91), five times

Left out: the window begins anew after two seconds without ACKs (154).

Units: windows in bytes, times in seconds.
"""

from math import inf

C, BETA = 0.4, 0.7


def cube_root(x):
    return -((-x) ** (1 / 3)) if x < 0 else x ** (1 / 3)


class AioquicCubic:
    def __init__(self, path):
        self.mss = None
        self.w, self.w_max = path.initial_cwnd, None
        self.ssthresh = inf
        self.w_est = self.k = 0.0
        self.start = None  # of t; none before congestion avoidance
        self.is_first, self.is_starting = True, False
        self.rtt = 0.02
        self.samples, self.filled, self.last = [], False, 0.0
        self.lowest, self.increases = None, 0

    def on_ack(self, ack):
        self._convert(ack.mss)
        packets = max(1, round(ack.acked))
        for _ in range(packets):
            self._acked(ack.now, ack.acked * ack.mss / packets)
        if ack.rtt is not None:
            self.rtt = ack.rtt
            if self.ssthresh == inf and self._rises(ack.now, ack.rtt):
                self.ssthresh = self.w

    def _convert(self, mss):
        if self.mss is None:
            self.mss = mss
            self.w *= mss
            self.w_max = self.w

    def _acked(self, now, size):
        if self.w < self.ssthresh:
            self.w += size
            return
        if self.is_starting or self.is_first:
            if not self.is_starting:
                self.w_max = self.w
            self.is_first = self.is_starting = False
            self.start, self.w_est = now, self.w
            self.k = cube_root((self.w_max - self.w) / self.mss / C)
        self.w_est = int(self.w_est + self.mss * size / self.w)
        t = now - self.start
        target = min(max(self._cubic(t + self.rtt), self.w), int(1.5 * self.w))
        if self._cubic(t) < self.w_est:
            self.w = self.w_est
        else:
            self.w = int(self.w + (target - self.w) * self.mss / self.w)

    def _cubic(self, t):
        return int((C * (t - self.k) ** 3 + self.w_max / self.mss) * self.mss)

    def _rises(self, now, rtt):
        if now <= self.last + 0.001:
            return False
        self.last = now
        self.samples = [*self.samples[-4:], rtt]
        if len(self.samples) < 5:
            return False
        highest, least = max(self.samples), min(self.samples)
        if self.lowest is None or self.lowest > highest:
            self.lowest = highest
        delta = least - self.lowest
        if 4 * delta >= self.lowest:
            self.increases += 1
            return self.increases >= 5
        if delta > 0:
            self.increases = 0
        return False

    def on_congestion(self, event):
        self._convert(event.mss)
        if event.restart:  # persistent congestion
            self.w = 2 * self.mss
            return
        self.w_max = int(self.w * (1 + BETA) / 2) if self.w < self.w_max else self.w
        self.w = self.ssthresh = max(int(BETA * event.in_flight * event.mss), 2 * self.mss)
        self.is_starting = True

    def on_window(self, window):
        if window.change != "established" and self.mss is not None:
            self.w = window.cwnd * self.mss
            if self.is_starting:  # after a reduction the window is the threshold
                self.ssthresh = self.w

    def cwnd(self):
        return self.w / self.mss if self.mss else self.w
