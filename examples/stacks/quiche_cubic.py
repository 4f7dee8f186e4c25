"""CUBIC as quiche 0.30.0 computes it, to audit its logs with; the lines are those of src/recovery/congestion/cubic.rs.

    undo:         at the first ACK after a recovery in which fewer packets were lost than a fifth of the window, but two at
                  least, all is as it was before the reduction (238), where RFC 9438, section 4.9, undoes a reduction
                  that was spurious; never back to slow start (413)
    growth:       in whole datagrams, of a credit (344); a reduction keeps 0.7 of the credit (390)
    t:            from the reduction (293), where section 4.2 has the start of congestion avoidance
    target:       W_cubic(t + RTT) with the smallest RTT (313)
    slow start:   a datagram for each acknowledged datagram of bytes (254); HyStart++ with rounds by numbers of packets

Units: windows in bytes, times in seconds.
"""

from math import inf

C, BETA = 0.4, 0.7
ALPHA = 3 * (1 - BETA) / (1 + BETA)


def cube_root(x):
    return -((-x) ** (1 / 3)) if x < 0 else x ** (1 / 3)


class QuicheCubic:
    def __init__(self, path):
        self.mss = None
        self.w, self.ssthresh = path.initial_cwnd, inf
        self.w_max = self.w_est = self.k = 0.0
        self.alpha, self.credit, self.slow = 0.0, 0, 0
        self.start = None  # of t
        self.lost = 0
        self.prior = None  # (w, ssthresh, w_max, k, start, lost)
        self.round, self.samples = 0, 0
        self.last = self.current = self.baseline = inf  # smallest RTTs of rounds
        self.css_start, self.css_rounds = None, 0

    def _convert(self, mss):
        if self.mss is None:
            self.mss = round(mss)
            self.w = round(self.w * mss)

    def on_ack(self, ack):
        self._convert(ack.mss)
        self.lost += ack.lost
        if ack.recovering:
            return
        packets = max(1, round(ack.acked))
        for _ in range(packets):
            self._acked(ack, ack.acked * ack.mss / packets)

    def _acked(self, ack, size):
        if self.start is not None and self._undo():
            return
        if self.w < self.ssthresh:
            self.slow += size
            if self.slow >= self.mss:
                self.w += self.mss // 4 if self.css_start is not None else self.mss
                self.slow -= self.mss
            if self._ends(ack):
                self.ssthresh = self.w
            return
        if self.css_start is not None:
            start = self.css_start
            if self.w_max == 0:
                self._begin()
        else:
            if self.start is None:
                self.start = ack.now
                self._begin()
            start = self.start
        t = ack.now - start
        target = min(max(self._cubic(t + ack.min_rtt), self.w), 1.5 * self.w)
        self.w_est += self.alpha * size / self.w * self.mss
        if self.w_est >= self.w_max:
            self.alpha = 1.0
        if self._cubic(t) < self.w_est:
            grown = max(self.w, int(self.w_est))
        else:
            grown = self.w + self.mss * (int(target) - self.w) // self.w
        self.credit += grown - self.w
        if self.credit >= self.mss:
            self.w += self.mss
            self.credit -= self.mss

    def _begin(self):
        self.w_max, self.k, self.w_est, self.alpha = self.w, 0.0, self.w, ALPHA

    def _cubic(self, t):
        return (C * (t - self.k) ** 3 + self.w_max / self.mss) * self.mss

    def _undo(self):
        if self.prior is None:
            return False
        w, ssthresh, w_max, k, start, lost = self.prior
        if self.lost - lost >= max(self.w // self.mss * 20 // 100, 2):
            return False
        if w < ssthresh or self.w >= w:
            return False
        self.w, self.ssthresh, self.w_max, self.k, self.start = w, ssthresh, w_max, k, start
        return True

    def _ends(self, ack):
        """Whether slow start is over."""
        if ack.rtt is None:
            return False
        self.current = min(self.current, ack.rtt)
        self.samples += 1
        if self.css_start is None:
            if self.samples >= 8 and self.last < inf:
                if self.current >= self.last + min(max(self.last / 8, 0.004), 0.016):
                    self.baseline, self.css_start = self.current, ack.now
        elif self.samples >= 8:
            self.samples = 0
            if self.current < self.baseline:
                self.baseline, self.css_start, self.css_rounds = inf, None, 0
        if ack.round > self.round:
            self.round, self.samples = ack.round, 0
            self.last, self.current = self.current, inf
            if self.css_start is not None:
                self.css_rounds += 1
                if self.css_rounds >= 5:
                    self.css_rounds = 0
                    return True
        return False

    def on_congestion(self, event):
        self._convert(event.mss)
        if event.restart:
            self.w = 2 * self.mss
            return
        self.prior = self.w, self.ssthresh, self.w_max, self.k, self.start, self.lost
        self.lost += event.lost
        self.start = event.now
        self.w_max = self.w * (1 + BETA) / 2 if self.w < self.w_max else self.w
        self.w = self.ssthresh = max(int(BETA * self.w), 2 * self.mss)
        self.k = 0.0 if self.w_max < self.w else cube_root((self.w_max - self.w) / self.mss / C)
        self.credit = int(BETA * self.credit)
        self.w_est, self.alpha = self.w, ALPHA
        self.css_start = None

    def on_window(self, window):
        if window.change != "established" and self.mss is not None:
            self.w = round(window.cwnd * self.mss)

    def cwnd(self):
        return self.w / self.mss if self.mss else self.w
