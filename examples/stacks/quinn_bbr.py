"""BBR as quinn-proto 0.11.19 computes it, to audit its logs with; the lines are those of src/congestion/bbr/mod.rs, and
of bw_estimation.rs there. It is a port of an early version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).

    ProbeRTT:   the first ACK starts one (218); section 4.3.1 counts from the start of the connection
    bandwidth:  of the first packet of an ACK: its bytes by the time since the last ACK, at most the rate of the last
                two transmissions (bw_estimation.rs:55 to 64); section 4.1.1.1 samples a round trip
    filter:     a sample counts only above the maximum (bw_estimation.rs:65), which thus never expires; section 4.1.1.5
                has ten rounds
    min_rtt:    the minimum of the connection (411), which never expires; section 4.1.2.3 has 10 s
    Startup:    w += acked if gain < bytes (327), which is always true; section 4.2.3.6 has w < target
    target:     without the room for three quanta (264) of section 4.2.3.2

Units: windows and amounts in bytes, times in nanoseconds. An application that wrote nothing is inferred from less than
ten segments in flight. quinn does not use the pacing rate: the gains of ProbeBW, which begin at random, have no effect.
"""

from copy import copy

HIGH_GAIN, CWND_GAIN, PROBE_RTT_GAIN, INITIAL = 2.885, 2.0, 0.75, 200 * 1200
SECOND = 10**9


class _Maximum:
    """The largest sample of the last ten rounds (min_max.rs)."""

    def __init__(self):
        self.best = [(0, 0)] * 3  # round and value

    def copy(self):
        new = copy(self)
        new.best = list(self.best)
        return new

    def get(self):
        return self.best[0][1]

    def update(self, now, value):
        new, best = (now, value), self.best
        if best[0][1] == 0 or value >= best[0][1] or now - best[2][0] > 10:
            self.best = [new] * 3
            return
        if value >= best[1][1]:
            best[1:] = [new, new]
        elif value >= best[2][1]:
            best[2] = new
        age = now - best[0][0]
        if age > 10:
            self.best = [best[1], best[2], new]
            if now - self.best[0][0] > 10:
                self.best = [self.best[1], self.best[2], new]
        elif best[1][0] == best[0][0] and age > 10 // 4:
            best[1:] = [new, new]
        elif best[2][0] == best[1][0] and age > 10 // 2:
            best[2] = new


def _rate(amount, time):
    return amount * SECOND // time if time else 0


class QuinnBbr:
    model_based = True

    def __init__(self, path):
        self.mss = path.mss
        self.w, self.recovery_w, self.least = INITIAL, 0, 4 * path.mss
        self.mode, self.gain, self.is_full = "Startup", HIGH_GAIN, False
        self.outstanding = []  # packets sent: time, number, bytes
        self.sent, self.newest, self.round_end, self.recovery_end = 0, 0, 0, 0  # numbers of packets
        self.sent_times = [None, None]  # of the last two transmissions
        self.sent_bytes = self.acked_bytes = self.round = 0
        self.acked_time = None
        self.bandwidth, self.height = _Maximum(), _Maximum()
        self.min_rtt, self.full_bw, self.full_count = 0, 0, 0
        self.recovery = None  # "conservation", "growth"
        self.lost, self.event = 0, (None, 0)
        self.probe_rtt_start = self.probe_rtt_end = None
        self.epoch_start, self.epoch_bytes = None, 0

    def __deepcopy__(self, _):
        """The lists have immutable items, so that a copy of the lists is enough, and fast."""
        new = copy(self)
        new.outstanding, new.sent_times = list(self.outstanding), list(self.sent_times)
        new.bandwidth, new.height = self.bandwidth.copy(), self.height.copy()
        return new

    def _bytes(self, segments):
        return round(segments * self.mss)

    def on_sent(self, sent):
        self.sent += 1
        self.sent_bytes = self._bytes(sent.size)
        now = round(sent.now * SECOND)
        self.sent_times = [self.sent_times[1], now]
        self.outstanding.append((now, self.sent, self.sent_bytes))

    def on_congestion(self, event):
        self.event = event.now, self._bytes(event.lost)
        self.lost += self.event[1]

    def on_ack(self, ack):
        if self.event[0] == ack.now:  # the ACK has the same losses, which count from the next ACK on
            self.lost -= self.event[1]
        now, acked, in_flight = round(ack.now * SECOND), self._bytes(ack.acked), self._bytes(ack.in_flight)
        is_limited = ack.prior_in_flight < 10
        first = self._take(now, ack, acked)
        self._sample(now, first, acked, is_limited, round(ack.min_rtt * SECOND))
        excess = self._excess(now, acked)
        is_start = self.newest > self.round_end
        if is_start:
            self.round_end = self.sent
            self.round += 1
        self._update_recovery(is_start)
        if is_start and not self.is_full and not is_limited:
            self._check_full()
        if self.mode == "Startup" and self.is_full:
            self.mode = "Drain"
        if self.mode == "Drain" and in_flight <= self._target(1):
            self._enter_probe_bw()
        self._probe_rtt(now, is_start, in_flight, is_limited)
        self._set_window(acked, excess)
        self._set_recovery_window(acked, in_flight)
        self.lost = self._bytes(ack.lost)

    def _take(self, now, ack, acked):
        """Removes what is acknowledged: the packets up to the newest, whose RTT names it. Its first packet's bytes."""
        if ack.rtt is None:
            return min(acked, self.mss)
        time = now - round(ack.rtt * SECOND)
        at = [place for place, one in enumerate(self.outstanding) if abs(one[0] - time) < 1000]
        if not at:
            return min(acked, self.mss)
        # Of packets of one time, the first ones that have the bytes.
        end, size = at[0], self.outstanding[at[0]][2]
        while size < acked and end + 1 <= at[-1]:
            end += 1
            size += self.outstanding[end][2]
        begin, size = end, self.outstanding[end][2]
        while size < acked and begin > 0:
            begin -= 1
            size += self.outstanding[begin][2]
        first = self.outstanding[begin][2]
        self.newest = max(self.newest, self.outstanding[end][1])
        del self.outstanding[begin : end + 1]
        # Three packets below the newest one are lost (RFC 9002, section 6.1.1).
        self.outstanding = [one for one in self.outstanding if one[1] + 3 > self.newest]
        return first

    def _sample(self, now, first, acked, is_limited, min_rtt):
        """The estimate of each packet: all but the first of an ACK have no time since the last one (44 to 64)."""
        before, self.acked_time = self.acked_time, now
        if self.sent_times[0] is not None and before is not None and not is_limited:
            rate = _rate(first, now - before)
            interval = self.sent_times[1] - self.sent_times[0]
            if interval > 0:
                rate = min(rate, _rate(self.sent_bytes, interval))
            if self.bandwidth.get() < rate:
                self.bandwidth.update(self.round, rate)
        self.acked_bytes += acked
        if self._is_expired(now, is_limited) or self.min_rtt > min_rtt:
            self.min_rtt = min_rtt

    def _is_expired(self, now, is_limited):
        return not is_limited and (self.probe_rtt_start is None or now - self.probe_rtt_start > 10 * SECOND)

    def _excess(self, now, acked):
        start = now if self.epoch_start is None else self.epoch_start
        expected = self.bandwidth.get() * ((now - start) // 1000) // 10**6
        if self.epoch_bytes <= expected:
            self.epoch_bytes, self.epoch_start = acked, now
            return 0
        self.epoch_bytes += acked
        self.height.update(self.round, self.epoch_bytes - expected)
        return self.epoch_bytes - expected

    def _update_recovery(self, is_start):
        if self.lost:
            self.recovery_end = self.sent
        if self.recovery is None:
            if self.lost:
                self.recovery, self.recovery_w, self.round_end = "conservation", 0, self.sent
            return
        if self.recovery == "conservation" and is_start:
            self.recovery = "growth"
        if not self.lost and self.newest > self.recovery_end:
            self.recovery = None

    def _check_full(self):
        bw = self.bandwidth.get()
        if bw >= int(self.full_bw * 1.25):
            self.full_bw, self.full_count, self.height = bw, 0, _Maximum()
            return
        self.full_count += 1
        self.is_full = self.full_count >= 3 or self.recovery is not None

    def _enter_probe_bw(self):
        self.mode, self.gain = "ProbeBW", CWND_GAIN

    def _probe_rtt(self, now, is_start, in_flight, is_limited):
        if self._is_expired(now, is_limited) and self.mode != "ProbeRTT":
            self.mode, self.probe_rtt_end, self.probe_rtt_start = "ProbeRTT", None, now
        if self.mode != "ProbeRTT":
            return
        if self.probe_rtt_end is None:
            if in_flight < self._target(PROBE_RTT_GAIN) + self.mss:
                self.probe_rtt_end = now + SECOND // 5
        elif is_start and now >= self.probe_rtt_end:
            if self.is_full:
                self._enter_probe_bw()
            else:
                self.mode, self.gain = "Startup", HIGH_GAIN

    def _target(self, gain):
        target = int(gain * (self.min_rtt // 1000) * self.bandwidth.get() / 10**6)
        return max(target, self.least) if target else INITIAL

    def _set_window(self, acked, excess):
        if self.mode == "ProbeRTT":
            return
        if self.is_full:
            self.w = min(self._target(self.gain) + self.height.get(), self.w + acked)
        else:
            self.w += acked
        self.w = max(self.w, self.least)

    def _set_recovery_window(self, acked, in_flight):
        if self.recovery is None:
            return
        if self.recovery_w == 0:
            self.recovery_w = max(self.least, in_flight + acked)
            return
        self.recovery_w = self.recovery_w - self.lost if self.recovery_w >= self.lost else self.mss
        if self.recovery == "growth":
            self.recovery_w += acked
        self.recovery_w = max(self.recovery_w, in_flight + acked, self.least)

    def state(self):
        modes = ["Startup", "Drain", "ProbeBW", "ProbeRTT"]
        return {
            "mode": modes.index(self.mode),
            "bandwidth_bytes_per_s": self.bandwidth.get(),
            "min_rtt_ms": self.min_rtt / 1e6,
            "recovery_window_bytes": self.recovery_w,
            "round": self.round,
            "w_bytes": self.w,
        }

    def cwnd(self):
        window = self.w
        if self.mode == "ProbeRTT":
            window = self._target(PROBE_RTT_GAIN)
        elif self.recovery is not None and self.mode != "Startup":
            window = min(self.w, self.recovery_w)
        return window / self.mss
