"""CUBIC as quic-go 0.65.0 computes it, to audit its logs with; the lines are those of internal/congestion/cubic.go.

    RTT:          the smallest one in W_cubic(t + RTT) (cubic_sender.go:333), where RFC 9438, section 4.2, has the
                  smoothed one
    segment:      1280 bytes in W_cubic, K and W_est (25), whatever the datagrams have
    growth:       to W_cubic(t + RTT) at once for each acknowledged packet, by half of its bytes at most (190), where
                  section 4.4 adds (W_cubic(t + RTT) − w) / w
    W_est:        from the window at the first ACK after the reduction (160), as section 4.3 has it, with the same α
                  above the window before the reduction, too (197)
    reduction:    fast convergence, of section 4.7, only if the window is more than a segment below the last W_max (132)
    unused:       where more than three datagrams are missing (cubic_sender.go:345), t and W_est begin anew (125), where
                  section 5.8 lets t stand still
    slow start:   a whole datagram for each acknowledged packet (cubic_sender.go:317); ends where eight samples of a
                  round are 4 to 16 ms above the smallest RTT of all, from 16 segments on (hybrid_slow_start.go:81).
                  It does not begin again: nothing calls OnRetransmissionTimeout (cubic_sender.go:368)

Times are in units of 1/1024 s, K and windows whole numbers. Units: windows in bytes, times in seconds.
"""

from math import inf

BETA = 0.7
SEGMENT = 1280
ALPHA = 3 * (1 - BETA) / (1 + BETA)
SCALE, FACTOR = 410, (1 << 40) // 410 // SEGMENT


class QuicGoCubic:
    def __init__(self, path):
        self.mss = None
        self.w, self.is_slow_start = path.initial_cwnd, True
        self.w_last_max = self.w_est = self.origin = self.k = 0
        self.start = None  # of t
        self.last_sent, self.round_end = 0.0, None
        self.samples, self.least, self.is_found = 0, 0.0, False

    def on_sent(self, sent):
        self.last_sent = sent.now

    def on_ack(self, ack):
        self._convert(ack.mss)
        if ack.rtt is not None and self.is_slow_start:
            self._measure(ack)
        if ack.recovering:
            return
        in_flight = ack.prior_in_flight * self.mss
        packets = max(1, round(ack.acked))
        for _ in range(packets):
            if self.w - in_flight > 3 * self.mss and not (self.is_slow_start and in_flight > self.w / 2):
                self.start = None
            elif self.is_slow_start:
                self.w += self.mss
            else:
                self._acked(ack, int(ack.acked * self.mss / packets))

    def _convert(self, mss):
        if self.mss is None:
            self.mss = round(mss)
            self.w = round(self.w * mss)

    def _measure(self, ack):
        if self.round_end is None:
            self.round_end, self.samples, self.least = self.last_sent, 0, inf
        self.samples += 1
        if self.samples <= 8:
            self.least = min(self.least, ack.rtt)
        if self.samples == 8 and self.least > ack.min_rtt + min(max(ack.min_rtt / 8, 0.004), 0.016):
            self.is_found = True
        if self.is_found and self.w >= 16 * self.mss:
            self.is_slow_start = False
        if ack.now - ack.rtt > self.round_end + 1e-9:  # a packet of the next round: that begins with the next ACK
            self.round_end = None

    def _acked(self, ack, size):
        if self.start is None:
            self.start, self.w_est = ack.now, self.w
            self.origin = max(self.w_last_max, self.w)
            self.k = int((FACTOR * (self.origin - self.w)) ** (1 / 3))
        t = int((ack.now + ack.min_rtt - self.start) * 1e6) * 1024 // 1_000_000
        delta = SCALE * abs(self.k - t) ** 3 * SEGMENT >> 40
        target = self.origin + delta if t > self.k else self.origin - delta
        self.w_est += int(size * ALPHA * SEGMENT / self.w_est)
        self.w = max(min(target, self.w + size // 2), self.w_est)

    def on_congestion(self, event):
        self._convert(event.mss)
        self.w_last_max = int(0.85 * self.w) if self.w + SEGMENT < self.w_last_max else self.w
        self.w = max(int(BETA * self.w), 2 * self.mss)
        self.start, self.is_slow_start = None, False

    def on_window(self, window):
        if window.change != "established" and self.mss is not None:
            self.w = round(window.cwnd * self.mss)

    def cwnd(self):
        return self.w / self.mss if self.mss else self.w
