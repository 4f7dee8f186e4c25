"""A congestion control of real-time media: keeps the queueing delay near a target.

    each report:  q = min(arrival - sent) - base                             (1)
                  r *= 1 + clamp(gain (1 - q / target), -0.15, gain)         (2)
                  r *= 0.85  if more than a tenth of the packets is missing  (3)

Units: q and target in seconds, r in bit/s. Differs from a source: there is none; this is an example.
"""


class DelayTarget:
    def __init__(self, session, target=0.025, gain=0.05):
        self.least, self.most = session.min_rate, session.max_rate
        self.rate = session.min_rate
        self.target, self.gain = target, gain
        self.base = float("inf")

    def on_feedback(self, feedback):
        delays = [packet.arrival - packet.sent for packet in feedback.packets if packet.arrival is not None]
        missing = len(feedback.packets) - len(delays)
        if delays:
            self.base = min(self.base, *delays)
            queue = min(delays) - self.base  # (1)
            self.rate *= 1 + min(max(self.gain * (1 - queue / self.target), -0.15), self.gain)  # (2)
        if missing > len(feedback.packets) / 10:
            self.rate *= 0.85  # (3)
        self.rate = min(max(self.rate, self.least), self.most)

    def target_rate(self):
        return self.rate
