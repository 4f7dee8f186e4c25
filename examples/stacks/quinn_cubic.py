"""CUBIC as quinn-proto 0.11.19 computes it, to audit its logs with; the lines are those of src/congestion/cubic.rs.

    t:            from the reduction (119), where RFC 8312, section 4.1, counts from the start of congestion avoidance
    W_cubic < W_est:  credit += W_est − w for each packet (143), where section 4.2 sets w
    credit ≥ 1:   w += 1, and the rest of the credit is forgotten (162); whole segments only

Units: windows in bytes, times in seconds.
"""

from math import inf

C, BETA = 0.4, 0.7


class QuinnCubic:
    def __init__(self, path):
        self.mss = None
        self.w, self.ssthresh = path.initial_cwnd, inf
        self.w_max = self.k = 0.0
        self.credit = 0
        self.start = None  # of t

    def _convert(self, mss):
        if self.mss is None:
            self.mss = round(mss)
            self.w = round(self.w * mss)

    def on_ack(self, ack):
        self._convert(ack.mss)
        if ack.recovering or not ack.cwnd_limited:
            return
        packets = max(1, round(ack.acked))
        for _ in range(packets):
            self._acked(ack, ack.acked * ack.mss / packets)

    def _acked(self, ack, size):
        if self.w < self.ssthresh:
            self.w += round(size)
            return
        if self.start is None:
            self.start, self.w_max, self.k = ack.now, self.w, 0.0
        t = ack.now - self.start
        cubic = (C * (t + ack.srtt - self.k) ** 3 + self.w_max / self.mss) * self.mss
        estimate = BETA * self.w_max + 3 * (1 - BETA) / (1 + BETA) * t / ack.srtt * self.mss
        grown = self.w
        if cubic < estimate:
            grown = max(grown, int(estimate))
        elif grown < int(cubic):
            grown += int((cubic - grown) / grown * self.mss)
        self.credit += grown - self.w
        if self.credit >= self.mss:
            self.w += self.mss
            self.credit = 0

    def on_congestion(self, event):
        self._convert(event.mss)
        self.w_max = self.w * (1 + BETA) / 2 if self.w < self.w_max else self.w
        self.w = self.ssthresh = max(int(BETA * self.w), 2 * self.mss)
        self.k = (self.w_max / self.mss * (1 - BETA) / C) ** (1 / 3)
        self.credit = int(BETA * self.credit)
        self.start = event.now
        if event.restart:  # persistent congestion
            self.start, self.w_max, self.credit = None, self.w, 0
            self.ssthresh = max(int(BETA * self.w), 2 * self.mss)
            self.w = 2 * self.mss

    def on_window(self, window):
        if window.change != "established" and self.mss is not None:
            self.w = round(window.cwnd * self.mss)

    def cwnd(self):
        return self.w / self.mss if self.mss else self.w
