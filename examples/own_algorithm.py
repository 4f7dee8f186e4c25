"""AIMD with delay back-off: increases the window as Reno, and reduces it also when the queueing delay is large.

    each ACK:         w += n / w                      (1)   slow start: w += n
    each round trip:  w *= 0.9  if rtt > g min_rtt    (2)
    each congestion:  w /= 2                          (3)

Units: w, n in segments. Differs from a source: there is none; this is an example.
"""


class DelayAimd:
    def __init__(self, path, g=1.5):
        self.w = path.initial_cwnd
        self.ssthresh = path.initial_ssthresh
        self.g = g
        self.round = 0

    def on_ack(self, ack):
        if ack.recovering or not ack.cwnd_limited:
            return  # the transport sets the window, or an unused window gives no evidence of capacity
        if ack.round > self.round and ack.rtt is not None and ack.rtt > self.g * ack.min_rtt:
            self.w = self.ssthresh = max(0.9 * self.w, 2)  # (2)
            self.round = ack.round + 1  # the RTTs of the next round still include the old queue
        elif self.w < self.ssthresh:
            self.w += ack.acked
        else:
            self.w += ack.acked / self.w  # (1)

    def on_congestion(self, event):
        if not event.repeated:
            self.ssthresh = max(self.w / 2, 2)  # (3)
        self.w = 1 if event.restart else self.ssthresh

    def on_window(self, window):
        if window.change != "established":
            self.w = window.cwnd  # after an idle period or a recovery

    def cwnd(self):
        return self.w
