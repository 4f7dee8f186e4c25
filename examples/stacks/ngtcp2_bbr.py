"""BBR as ngtcp2 0.12.1 computes it, to audit its logs with: version 1 (draft-cardwell-iccrg-bbr-congestion-control-00)
with the lines of lib/ngtcp2_bbr.c, and the rate samples of draft-cheng-iccrg-delivery-rate-estimation-00 with those of
lib/ngtcp2_rst.c.

    sample:   one for the whole connection (ngtcp2_rst.c:47, 121): of packets that leave between two ACKs, the later
              ones keep the interval of the first, and their bytes count as delivered in it; section 3.3 has a new
              sample for each ACK
    rounds:   the rate is first a maximum over 12 rounds of the estimator's own, each of which ends with the next ACK,
              since its end is the count of the acknowledged packet when it was sent (ngtcp2_rst.c:82)
    quantum:  at least 10 datagrams (388), and a minimum RTT of data from 24 Mbit/s on (381), where section 4.2.2 has
              two datagrams and a millisecond; the window has three quanta of room (393; section 4.2.3.2)

Units: windows and amounts in bytes, times in nanoseconds. The gains of ProbeBW, which begin at random, change the
quantum alone, and that above 25 Mbit/s: they count as 1.
"""

from copy import copy
from math import inf
from typing import NamedTuple

HIGH_GAIN, DATAGRAM, INITIAL, SECOND = 2.89, 1472, 14720, 10**9
LEAST = 4 * DATAGRAM


class _Maximum:
    """The largest sample of a number of rounds (ngtcp2_window_filter.c)."""

    def __init__(self, length):
        self.length, self.best = length, [(0, 0)] * 3  # sample and round

    def copy(self):
        new = copy(self)
        new.best = list(self.best)
        return new

    def get(self):
        return self.best[0][0]

    def update(self, sample, now):
        new, best, length = (sample, now), self.best, self.length
        if best[0][0] == 0 or sample > best[0][0] or now - best[2][1] > length:
            self.best = [new] * 3
            return
        if sample > best[1][0]:
            best[1:] = [new, new]
        elif sample > best[2][0]:
            best[2] = new
        if now - best[0][1] > length:
            self.best = [best[1], best[2], new]
            if now - self.best[0][1] > length:
                self.best[:2] = self.best[1:]
        elif best[1][0] == best[0][0] and now - best[1][1] > length >> 2:
            best[1:] = [new, new]
        elif best[2][0] == best[1][0] and now - best[2][1] > length >> 1:
            best[2] = new


class _Packet(NamedTuple):
    size: int
    sent: int
    first_sent: int
    delivered_time: int
    delivered: int
    is_limited: bool


class _Rate:
    """Rate samples (ngtcp2_rst.c)."""

    def __init__(self):
        self.filter = _Maximum(12)
        self.delivered, self.delivered_time, self.first_sent, self.limited = 0, 0, 0, 0
        self.next_round = self.round = 0
        self.prior_delivered, self.prior_time, self.interval, self.is_limited = 0, 0, 0, False
        self.rate = 0

    def on_sent(self, now, size, in_flight):
        if in_flight == 0:
            self.first_sent = self.delivered_time = now
        return _Packet(size, now, self.first_sent, self.delivered_time, self.delivered, self.limited != 0)

    def on_acked(self, packet, now):
        self.delivered += packet.size
        self.delivered_time = now
        if packet.delivered > self.prior_delivered:
            self.prior_delivered, self.prior_time = packet.delivered, packet.delivered_time
            self.is_limited = packet.is_limited
            self.interval = max(packet.sent - packet.first_sent, now - packet.delivered_time)
            self.first_sent = packet.sent

    def on_ack(self, packet_delivered, min_rtt):
        if self.limited and self.delivered > self.limited:
            self.limited = 0
        if packet_delivered >= self.next_round:
            self.next_round = packet_delivered
            self.round += 1
        if self.prior_time == 0 or self.interval < min_rtt or not self.interval:
            return
        rate = (self.delivered - self.prior_delivered) * SECOND // self.interval
        if rate > self.filter.get() or not self.limited:
            self.filter.update(rate, self.round)
            self.rate = self.filter.get()


class Ngtcp2Bbr:
    model_based = True

    def __init__(self, path):
        self.mss = path.mss
        self.w, self.prior_w = INITIAL, 0
        self.state_name, self.pacing_gain, self.gain, self.is_full = "Startup", HIGH_GAIN, HIGH_GAIN, False
        self.rate, self.filter, self.bw = _Rate(), _Maximum(10), 0
        self.outstanding = []
        self.in_flight = 0
        self.next_round, self.round, self.round_start = 0, 0, False
        self.full_bw = self.full_count = 0
        self.rtt, self.srtt, self.min_rtt = 0, 0, inf  # the latest sample, and the least one ever
        self.rt_prop, self.rt_prop_stamp = inf, 0
        self.probe_rtt_done, self.is_round_done = None, False
        self.recovery_start, self.event_start, self.event_time = None, None, None
        self.in_recovery = self.conserves = False
        self.recovery_round = 0
        self.pace = 0.0

    def __deepcopy__(self, _):
        """The lists of packets and samples have immutable items, so that a copy of the lists is enough, and fast."""
        new = copy(self)
        new.outstanding = list(self.outstanding)
        new.filter, new.rate = self.filter.copy(), copy(self.rate)
        new.rate.filter = self.rate.filter.copy()
        return new

    def _bytes(self, segments):
        return round(segments * self.mss)

    def on_sent(self, sent):
        now, size = round(sent.now * SECOND), self._bytes(sent.size)
        if not self.rt_prop_stamp:
            self.rt_prop_stamp = now
            self.pace = HIGH_GAIN * INITIAL * 1000
            self.rate.limited = size  # nothing but the handshake was to be written
        self.outstanding.append(self.rate.on_sent(now, size, self._bytes(sent.in_flight) - size))

    def on_congestion(self, event):
        self.event_time = event.now
        self._lose(round(event.now * SECOND), self._bytes(event.lost))

    def on_ack(self, ack):
        now, acked = round(ack.now * SECOND), self._bytes(ack.acked)
        if ack.rtt is not None:
            self.rtt = round(ack.rtt * SECOND)
            self.min_rtt = min(self.min_rtt, self.rtt)
        self.srtt = round(ack.srtt * SECOND)
        packets = self._take(now, ack, acked)
        for packet in packets:
            self.rate.on_acked(packet, now)
        packet_delivered = packets[-1].delivered if packets else 0
        self.rate.on_ack(packet_delivered, self.min_rtt)
        if ack.now != self.event_time:
            self._lose(now, self._bytes(ack.lost))
        # Losses that a timer found before the ACK do not count in it.
        lost = self._bytes(ack.prior_in_flight - ack.acked - ack.in_flight)
        self.in_flight = self._bytes(ack.in_flight)
        self._update_round(packet_delivered)
        self._handle_recovery(packet_delivered, packets[-1].sent if packets else 0, acked)
        if self.rate.rate >= self.bw or not self.rate.is_limited:
            self.filter.update(self.rate.rate, self.round)
            self.bw = self.filter.get()
        self._check_full()
        self._check_drain()
        is_expired = now > self.rt_prop_stamp + 10 * SECOND
        if self.rtt and (self.rtt <= self.rt_prop or is_expired):
            self.rt_prop, self.rt_prop_stamp = self.rtt, now
        self._check_probe_rtt(now, is_expired)
        rate = self.pacing_gain * self.bw
        if self.is_full or rate > self.pace:
            self.pace = rate
        self._set_window(acked, lost)

    def _take(self, now, ack, acked):
        """Removes what is acknowledged: the packets up to the newest, whose RTT names it."""
        if ack.rtt is not None:
            sent = now - self.rtt
            at = [place for place, one in enumerate(self.outstanding) if abs(one.sent - sent) < 1000]
        else:
            at = [0] if self.outstanding else []
        if not at:
            return []
        # Of packets of one time, the first ones that have the bytes.
        end = begin = at[0]
        size = self.outstanding[end].size
        while size < acked and end < at[-1]:
            end += 1
            size += self.outstanding[end].size
        while size < acked and begin > 0:
            begin -= 1
            size += self.outstanding[begin].size
        taken = self.outstanding[begin : end + 1]
        del self.outstanding[begin : end + 1]
        return taken

    def _lose(self, now, lost):
        """Packets are lost by time, else the oldest ones, and with them all below: a part of them was acknowledged."""
        if not lost or not self.outstanding:
            return
        delay = 9 * max(self.rtt, self.srtt) // 8
        late = [place for place, one in enumerate(self.outstanding) if one.sent + delay <= now + 1000]
        end, size = late[-1] if late else 0, self.outstanding[0].size
        while not late and size < lost and end + 1 < len(self.outstanding):
            end += 1
            size += self.outstanding[end].size
        last = self.outstanding[end]
        del self.outstanding[: end + 1]
        if self.in_recovery or self.event_start is not None:
            return
        if self.recovery_start is None or last.sent > self.recovery_start:
            self.event_start = now

    def _update_round(self, packet_delivered):
        self.round_start = packet_delivered >= self.next_round
        if self.round_start:
            self.next_round = self.rate.delivered
            self.round += 1

    def _handle_recovery(self, packet_delivered, newest_sent, acked):
        if self.in_recovery:
            if packet_delivered >= self.recovery_round:
                self.conserves = False
            if self.recovery_start is None or newest_sent > self.recovery_start:
                self.in_recovery = self.conserves = False
                self.w = max(self.w, self.prior_w)
        elif self.event_start is not None:
            self._save()
            self.in_recovery = self.conserves = True
            self.w = self.in_flight + max(acked, DATAGRAM)
            self.recovery_start, self.event_start = self.event_start, None
            self.recovery_round = self.rate.delivered

    def _save(self):
        keeps = self.in_recovery or self.state_name == "ProbeRTT"
        self.prior_w = max(self.prior_w, self.w) if keeps else self.w

    def _check_full(self):
        if self.is_full or not self.round_start or self.rate.is_limited:
            return
        if self.bw * 100 >= self.full_bw * 125:
            self.full_bw, self.full_count = self.bw, 0
            return
        self.full_count += 1
        self.is_full = self.full_count >= 3

    def _check_drain(self):
        if self.state_name == "Startup" and self.is_full:
            self.state_name, self.pacing_gain, self.gain = "Drain", 1 / HIGH_GAIN, HIGH_GAIN
        if self.state_name == "Drain" and self.in_flight <= self._inflight(1):
            self._enter("ProbeBW", 1, 2)

    def _enter(self, name, pacing_gain, gain):
        self.state_name, self.pacing_gain, self.gain = name, pacing_gain, gain

    def _check_probe_rtt(self, now, is_expired):
        if self.state_name != "ProbeRTT" and is_expired:
            self._enter("ProbeRTT", 1, 1)
            self._save()
            self.probe_rtt_done = None
        if self.state_name != "ProbeRTT":
            return
        self.rate.limited = self.rate.delivered + self.in_flight or 1
        if self.probe_rtt_done is None:
            if self.in_flight <= LEAST:
                self.probe_rtt_done, self.is_round_done = now + SECOND // 5, False
                self.next_round = self.rate.delivered
            return
        self.is_round_done |= self.round_start
        if self.is_round_done and now > self.probe_rtt_done:
            self.rt_prop_stamp = now
            self.w = max(self.w, self.prior_w)
            if self.is_full:
                self._enter("ProbeBW", 1, 2)
            else:
                self._enter("Startup", HIGH_GAIN, HIGH_GAIN)

    def _quantum(self):
        if self.pace < 24 * 1024 * 1024 / 8:
            return 10 * DATAGRAM
        rtt = SECOND // 1000 if self.min_rtt == inf else self.min_rtt
        return max(min(int(self.pace * rtt / SECOND), 64 * 1024), 10 * DATAGRAM)

    def _inflight(self, gain):
        if self.rt_prop == inf:
            return INITIAL
        return int(gain * self.bw * self.rt_prop / SECOND) + 3 * self._quantum()

    def _set_window(self, acked, lost):
        target = self._inflight(self.gain)
        if lost > 0:
            self.w = max(self.w - lost, 2 * DATAGRAM)
        if self.conserves:
            self.w = max(self.w, self.in_flight + acked)
        else:
            if self.is_full:
                self.w = min(self.w + acked, target)
            elif self.w < target or self.rate.delivered < INITIAL:
                self.w += acked
            self.w = max(self.w, LEAST)
        if self.state_name == "ProbeRTT":
            self.w = min(self.w, LEAST)

    def state(self):
        return {
            "bandwidth_bytes_per_s": self.bw,
            "in_flight_bytes": self.in_flight,
            "in_recovery": self.in_recovery,
            "mode": ["Startup", "Drain", "ProbeBW", "ProbeRTT"].index(self.state_name),
            "prior_window_bytes": self.prior_w,
            "rt_prop_ms": self.rt_prop / 1e6,
            "target_bytes": self._inflight(self.gain),
        }

    def cwnd(self):
        return self.w / self.mss
