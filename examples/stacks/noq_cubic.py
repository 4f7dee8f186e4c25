"""CUBIC as noq 1.4.0 computes it, to audit its logs with: what it adds to RFC 8312, and the lines that do so.

    growth:       once per acknowledged packet, with t from the reduction, where section 4.1 counts from the start of
                  congestion avoidance (src/congestion/cubic.rs:131, 143)
    W_cubic < W_est:  credit += W_est − w for each packet, until w is W_est, where section 4.2 sets w (lines 152, 168)
    credit ≥ 1:   w += 1, credit −= 1 (lines 178 to 180); whole segments only

Units: windows in segments, times in seconds. ``early=false`` and ``steps=false`` are as RFC 8312 has them.
"""


class NoqCubic:
    def __init__(self, path, early=True, steps=True):
        self.w = path.initial_cwnd
        self.ssthresh = path.initial_ssthresh
        self.w_max = self.k = self.credit = 0.0
        self.start = None  # of t
        self.early = early
        self.steps = steps
        self.waits = False

    def on_ack(self, ack):
        if ack.recovering or not ack.cwnd_limited:
            return
        if self.w < self.ssthresh:
            self.w += ack.acked
            return
        if self.start is None:
            self.start, self.w_max, self.k = ack.now, self.w, 0.0
        elif self.waits:
            self.start = ack.now
        self.waits = False
        t = ack.now - self.start
        cubic = 0.4 * (t + ack.srtt - self.k) ** 3 + self.w_max
        friendly = 0.7 * self.w_max + 3 * 0.3 / 1.7 * t / ack.srtt
        for _ in range(max(1, round(ack.acked))):
            step = friendly - self.w if cubic < friendly else (cubic - self.w) / self.w
            grown = self.w + max(0.0, step)
            if not self.steps:
                self.w = grown
                continue
            self.credit += grown - self.w
            if self.credit >= 1:
                self.w += 1
                self.credit -= 1

    def on_congestion(self, event):
        self.w_max = 0.85 * self.w if self.w < self.w_max else self.w
        self.k = (0.75 * self.w_max) ** (1 / 3)
        self.w = self.ssthresh = max(0.7 * self.w, 2)
        self.credit *= 0.7
        self.start, self.waits = event.now, not self.early
        if event.restart:
            self.start, self.w_max, self.credit = None, self.w, 0.0
            self.ssthresh = max(0.7 * self.w, 2)
            self.w = 2

    def on_window(self, window):
        if window.change != "established":
            self.w = window.cwnd

    def cwnd(self):
        return self.w
