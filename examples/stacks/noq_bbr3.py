"""BBR version 3 as noq-proto 1.4.0 computes it, to audit its logs with: draft-ietf-ccwg-bbr-06 with the lines of
src/congestion/bbr3/mod.rs.

    sample:     the model is updated before the rate sample of the ACK is generated (1692, 1765): it has the rate of the
                last ACK; section 5.2.3 has that of this one
    packets:    the model is updated for each acknowledged packet (1692), not for each ACK (section 5.2.3)
    in flight:  the state machine sees the bytes in flight before the ACK, which end with it (1739)
    draws:      after each probe noq draws 0 or 1 rounds (1605; section 5.3.3.8.2), which no log has: bit n of `draws`
                is the n-th of them. The wait is 2.5 s here: on a path with a small BDP the rounds end earlier

Units: windows and amounts in bytes, times in nanoseconds, rates in bytes per second. An application that wrote nothing
is inferred from less than ten segments in flight.
"""

from copy import copy
from math import inf
from typing import NamedTuple

INITIAL, SECOND, MS = 12_000, 10**9, 10**6
STARTUP_GAIN, MARGIN, BETA, HEADROOM, LOSS = 2.773, 0.99, 0.7, 0.15, 0.02


class _Maximum:
    """The largest sample of a number of rounds (max_filter.rs)."""

    def __init__(self, window):
        self.window, self.best = window, [(0, 0)] * 3  # round and value

    def copy(self):
        new = copy(self)
        new.best = list(self.best)
        return new

    def get(self):
        return self.best[0][1]

    def update(self, now, value):
        new, best, window = (now, value), self.best, self.window
        if value >= best[0][1] or now - best[2][0] > window:
            self.best = [new] * 3
            return
        if value >= best[1][1]:
            best[1:] = [new, new]
        elif value >= best[2][1]:
            best[2] = new
        age = now - best[0][0]
        if age > window:
            self.best = [best[1], best[2], new]
            if now - self.best[0][0] > window:
                self.best = [self.best[1], self.best[2], new]
        elif best[1][0] == best[0][0] and age > window // 4:
            best[1:] = [new, new]
        elif best[2][0] == best[1][0] and age > window // 2:
            best[2] = new


class _Packet(NamedTuple):
    number: int
    size: int
    sent: int
    first_sent: int
    delivered_time: int
    delivered: int
    lost: int
    tx_in_flight: int
    is_limited: bool


class _Sample:
    """RS of the draft, which lasts for the connection."""

    def __init__(self, packet, size):
        self.rate, self.delivered, self.newly_acked, self.rtt = 0.0, 0, size, 0
        self.send_elapsed = self.ack_elapsed = self.lost = self.prior_delivered = self.tx_in_flight = 0
        self.is_limited, self.last = packet.is_limited, packet


class NoqBbr3:
    model_based = True

    def __init__(self, path, draws=0):
        self.draws = draws
        self.mss, self.least = path.mss, 4 * path.mss
        self.w, self.prior_w = INITIAL, 0
        self.mode, self.pacing_gain, self.gain = "Startup", STARTUP_GAIN, 2.0
        self.pace, self.quantum = STARTUP_GAIN * INITIAL * 1000, 2 * path.mss
        self.outstanding, self.sent = [], 0
        self.in_flight = self.delivered = self.lost = self.limited = 0
        self.delivered_time = self.first_sent = None
        self.rs = None
        self.bw_filter, self.cycle, self.max_bw, self.bw = _Maximum(2), 0, 0, 0.0
        self.round, self.round_start, self.next_round = 0, True, 0
        self.loss_round_start, self.loss_round, self.has_loss = False, 0, False
        self.loss_events, self.last_lost = 0, None
        self.recovery_start, self.recovery_round, self.in_recovery = None, 0, False
        self.bw_latest, self.inflight_latest = 0.0, 0
        self.bw_short, self.inflight_short, self.inflight_long = inf, inf, inf
        self.extra_start, self.extra_delivered, self.extra, self.extra_filter = None, 0, 0, _Maximum(10)
        self.is_full, self.full_now, self.full_bw, self.full_count = False, False, 0.0, 0
        self.min_rtt, self.min_rtt_stamp = inf, None
        self.probe_delay, self.probe_stamp, self.is_expired = inf, None, False
        self.probe_done, self.is_round_done, self.idle_restart = None, False, False
        self.max_inflight = self.bdp = 0
        self.drain_round = self.rounds_since_probe = 0
        self.cycle_stamp, self.wait = None, 0
        self.up_rounds = self.up_acks = self.up_count = 0
        self.ack_phase, self.has_probe_samples = "starting", False
        self.is_filled = self.was_filled = False
        self.event = None, 0

    def __deepcopy__(self, _):
        """The lists have immutable items, so that a copy of the lists is enough, and fast."""
        new = copy(self)
        new.outstanding, new.rs = list(self.outstanding), copy(self.rs)
        new.bw_filter, new.extra_filter = self.bw_filter.copy(), self.extra_filter.copy()
        return new

    def _bytes(self, segments):
        return round(segments * self.mss)

    # Events.

    def on_sent(self, sent):
        now, size = round(sent.now * SECOND), self._bytes(sent.size)
        if self.in_flight == 0:
            if self.limited:  # after an idle period
                self.idle_restart, self.extra_start = True, now
            self.first_sent = self.delivered_time = now
        self.in_flight += size
        times = (now, self.first_sent, self.delivered_time)
        counts = (self.delivered, self.lost, self.in_flight, self.limited != 0)
        self.outstanding.append(_Packet(self.sent, size, *times, *counts))
        self.sent += 1
        self.is_filled |= self.in_flight + self.mss > self.w  # on_cwnd_limited

    def on_congestion(self, event):
        """The ACK has the losses, too; without one, a timer found them."""
        self.event = event.now, self._bytes(event.lost)

    def on_ack(self, ack):
        now, acked = round(ack.now * SECOND), self._bytes(ack.acked)
        is_limited = ack.prior_in_flight < 10
        lost = self._bytes(ack.prior_in_flight - ack.acked - ack.in_flight)
        before = self._bytes(ack.lost) - lost
        if self.event[1] and self.event[0] != ack.now:
            before += self.event[1]
        self.event = None, 0
        self._lose(now, before)  # what a timer found
        for packet in self._take(now, ack, acked):
            self._acked(now, packet)
        self.in_flight = self._bytes(ack.in_flight) + lost
        self._end_acks(is_limited)
        self._lose(now, lost)

    def _take(self, now, ack, acked):
        """Removes what is acknowledged: the packets up to the newest, whose RTT names it."""
        if ack.rtt is not None:
            sent = now - round(ack.rtt * SECOND)
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

    def _acked(self, now, packet):
        if self.recovery_start is not None and packet.sent > self.recovery_start:
            self.in_recovery = False
        self.delivered += packet.size
        self.delivered_time = now
        if self.rs is None:
            self.rs = _Sample(packet, packet.size)
        else:
            self.rs.newly_acked += packet.size
            self.rs.rtt = now - packet.sent
            is_newest = packet.sent > self.first_sent or (
                packet.sent == self.first_sent and packet.number > self.rs.last.number
            )
            if not is_newest:
                return
        rs = self.rs
        rs.rtt, rs.prior_delivered, rs.is_limited = now - packet.sent, packet.delivered, packet.is_limited
        rs.tx_in_flight, rs.lost, rs.last = packet.tx_in_flight, self.lost - packet.lost, packet
        rs.send_elapsed, rs.ack_elapsed = packet.sent - packet.first_sent, now - packet.delivered_time
        self.first_sent = packet.sent
        self._update_model(now, packet)
        self._set_window()
        rs.newly_acked = 0

    def _end_acks(self, is_limited):
        if self.limited and self.delivered > self.limited:
            self.limited = 0
        elif is_limited:
            self.limited = max(self.delivered + self.in_flight, 1)
        rs = self.rs
        if rs is None:
            return
        interval, delivered = max(rs.send_elapsed, rs.ack_elapsed), self.delivered - rs.prior_delivered
        if interval < self.min_rtt and self.min_rtt != inf:
            return
        rs.delivered = delivered
        if interval:
            rs.rate = delivered * SECOND / interval
        rs.newly_acked = rs.lost = 0

    # Losses.

    def _lose(self, now, lost):
        """The oldest packets are lost, as all below a lost one are."""
        size = 0
        while size < lost and self.outstanding:
            packet = self.outstanding.pop(0)
            size += packet.size
            self._lost_packet(now, packet)

    def _lost_packet(self, now, packet):
        self.lost += packet.size
        if self.recovery_start is None or packet.sent > self.recovery_start:
            self.recovery_start, self.recovery_round, self.in_recovery = now, self.round, True
        if not self.has_loss:
            self.loss_round = self.delivered
        self.has_loss = True
        if self.last_lost is None or packet.number != self.last_lost + 1:
            self.loss_events += 1
        self.last_lost = packet.number
        if not self.has_probe_samples or self.rs is None:
            return
        rs = self.rs
        rs.tx_in_flight, rs.lost, rs.is_limited = packet.tx_in_flight, self.lost - packet.lost, packet.is_limited
        if self._is_too_high():
            in_flight, lost_before = rs.tx_in_flight - packet.size, rs.lost - packet.size
            rs.tx_in_flight = int(in_flight + (LOSS * in_flight - lost_before) / (1 - LOSS))
            self.has_probe_samples = False
            if not rs.is_limited:
                self.inflight_long = max(rs.tx_in_flight, int(self._target() * BETA))
            if self.mode == "Up":
                self._start_down(now)

    def _is_too_high(self):
        return self.rs is not None and self.rs.lost > self.rs.tx_in_flight * LOSS

    def _target(self):
        return min(self.bdp, self.w)

    # The model.

    def _update_model(self, now, packet):
        rs = self.rs
        self.loss_round_start = False
        self.bw_latest = max(self.bw_latest, rs.rate)
        self.inflight_latest = max(self.inflight_latest, rs.delivered)
        if rs.prior_delivered >= self.loss_round:
            self.loss_round, self.loss_round_start = self.delivered, True
        self._update_round(packet)
        if rs.rate > 0 and (rs.rate >= self.max_bw or not rs.is_limited):
            self.bw_filter.update(self.cycle, round(rs.rate))
            self.max_bw = self.bw_filter.get()
        if self.loss_round_start:
            if self.mode not in ("Refill", "Up", "Startup") and self.has_loss:
                self._lower_bounds()
            self.has_loss = False
        self._update_aggregation(now)
        self._check_full()
        self._check_startup_loss()
        if self.mode == "Startup" and self.is_full:
            self.mode, self.pacing_gain, self.gain, self.drain_round = "Drain", 0.5, 2.0, self.round
        if self.mode == "Drain" and (self.in_flight <= self._inflight(1) or self.round > self.drain_round + 3):
            self._start_down(now)
        if self.is_full:
            self._update_cycle(now)
        self._update_min_rtt(now)
        self._check_probe_rtt(now)
        if self.loss_round_start:
            self.bw_latest, self.inflight_latest = rs.rate, rs.delivered
        self.bw = min(self.max_bw, self.bw_short)

    def _update_round(self, packet):
        self.round_start = packet.delivered >= self.next_round
        if self.round_start:
            self.next_round = self.delivered
            self.was_filled, self.is_filled = self.is_filled, False
            self.round += 1
            self.rounds_since_probe += 1

    def _lower_bounds(self):
        if self.bw_short == inf:
            self.bw_short = self.max_bw
        if self.inflight_short == inf:
            self.inflight_short = self.w
        self.bw_short = max(self.bw_latest, BETA * self.bw_short)
        self.inflight_short = max(self.inflight_latest, int(BETA * self.inflight_short))

    def _update_aggregation(self, now):
        interval = 0 if self.extra_start is None else now - self.extra_start
        expected = int(self.bw * interval / SECOND)
        if self.extra_delivered <= expected:
            self.extra_delivered, self.extra_start, expected = 0, now, 0
        self.extra_delivered += self.rs.newly_acked
        extra = min(max(self.extra_delivered - expected, 0), self.w)
        if self.is_full:
            self.extra_filter.update(self.round, extra)
            extra = self.extra_filter.get()
        self.extra = extra

    def _check_full(self):
        rs = self.rs
        if self.full_now or not self.round_start or rs.is_limited:
            return
        if rs.rate >= self.full_bw * 1.25:
            self.full_bw, self.full_count, self.full_now = rs.rate, 0, False
            return
        self.full_count += 1
        self.full_now = self.full_count >= 3
        self.is_full |= self.full_now

    def _check_startup_loss(self):
        if self.is_full:
            return
        in_recovery = self.in_recovery and self.round > self.recovery_round
        if self.loss_round_start and in_recovery and self.loss_events >= 6 and self._is_too_high():
            self.inflight_long = max(self.bdp, self.inflight_latest, self.rs.delivered)
            self.is_full = self.full_now = True
        if self.loss_round_start:
            self.loss_events, self.last_lost = 0, None

    def _update_min_rtt(self, now):
        self.is_expired = self.probe_stamp is not None and now > self.probe_stamp + 5 * SECOND
        if self.rs.rtt < self.probe_delay or self.is_expired:
            self.probe_delay, self.probe_stamp = self.rs.rtt, now
        is_old = self.min_rtt_stamp is None or now > self.min_rtt_stamp + 10 * SECOND
        if self.probe_delay < self.min_rtt or is_old:
            self.min_rtt, self.min_rtt_stamp = self.probe_delay, self.probe_stamp

    # The states.

    def _update_cycle(self, now):
        self._adapt_long_term()
        if self.mode == "Down":
            if self._maybe_refill(now):
                return
            if self.in_flight <= self._with_headroom() and self.in_flight <= self._inflight(1):
                self.mode, self.pacing_gain, self.gain = "Cruise", 1.0, 2.0
        elif self.mode == "Cruise":
            self._maybe_refill(now)
        elif self.mode == "Refill" and self.round_start:
            self.has_probe_samples = True
            self._start_up()
        elif self.mode == "Up" and self._is_time_to_go_down():
            self._start_down(now)

    def _adapt_long_term(self):
        if self.ack_phase == "starting" and self.round_start:
            self.ack_phase = "feedback"
        is_probing = self.mode in ("Down", "Cruise", "Refill", "Up")
        if self.ack_phase == "stopping" and self.round_start and is_probing and not self.rs.is_limited:
            self.cycle += 1
        if self._is_too_high() or self.inflight_long == inf:
            return
        self.inflight_long = max(self.inflight_long, self.rs.tx_in_flight)
        if self.mode == "Up":
            self._probe_upward()

    def _probe_upward(self):
        if not self.was_filled or self.w < self.inflight_long:
            return
        self.up_acks += self.rs.newly_acked
        if self.up_acks >= self.up_count > 0:
            delta = self.up_acks // self.up_count
            self.up_acks -= delta * self.up_count
            self.inflight_long += delta
        if self.round_start:
            self._raise_slope()

    def _raise_slope(self):
        growth = self.mss << self.up_rounds
        self.up_rounds = min(self.up_rounds + 1, 30)
        self.up_count = max(self.w // growth, 1)

    def _maybe_refill(self, now):
        rounds = min(self._target() // self.mss, 62)
        is_due = self.cycle_stamp is None or now > self.cycle_stamp + self.wait
        if not is_due and (rounds == 0 or self.rounds_since_probe < rounds):
            return False
        self.bw_short = self.inflight_short = inf
        self.up_rounds = self.up_acks = 0
        self.ack_phase, self.next_round = "refilling", self.delivered
        self.mode, self.pacing_gain, self.gain = "Refill", 1.0, 2.0
        return True

    def _start_up(self):
        self.ack_phase, self.next_round = "starting", self.delivered
        self.full_bw, self.full_count, self.full_now = self.rs.rate, 0, False
        self.mode, self.pacing_gain, self.gain = "Up", 1.25, 2.25
        self._raise_slope()

    def _is_time_to_go_down(self):
        if self.was_filled and self.w >= self.inflight_long:
            self.full_bw, self.full_count, self.full_now = self.rs.rate, 0, False
            return False
        return self.full_now

    def _start_down(self, now):
        self.has_loss, self.bw_latest, self.inflight_latest = False, 0.0, 0
        self.up_count = 2**64 - 1
        self.rounds_since_probe, self.wait = self._draw()
        self.cycle_stamp, self.ack_phase, self.next_round = now, "stopping", self.delivered
        self.mode, self.pacing_gain, self.gain = "Down", 0.9, 2.0

    def _draw(self):
        """Rounds, 0 or 1, and a wait."""
        self.draws, rounds = divmod(self.draws, 2)
        return rounds, 2500 * MS

    def _check_probe_rtt(self, now):
        if self.mode == "ProbeRTT":
            self._handle_probe_rtt(now)
        elif self.is_expired and not self.idle_restart:
            self.mode, self.pacing_gain, self.gain = "ProbeRTT", 1.0, 0.5
            self.prior_w = max(self.prior_w, self.w)
            self.probe_done, self.ack_phase, self.next_round = None, "stopping", self.delivered
        if self.rs.delivered > 0:
            self.idle_restart = False

    def _handle_probe_rtt(self, now):
        if self.probe_done is None:
            if self.in_flight <= self._probe_rtt_window():
                self.probe_done, self.is_round_done = now + 200 * MS, False
                self.next_round = self.delivered
            return
        self.is_round_done |= self.round_start
        if self.is_round_done and now > self.probe_done:
            self.probe_stamp = now
            self.w = max(self.w, self.prior_w)
            self.bw_short = self.inflight_short = inf
            if self.is_full:
                self._start_down(now)
                self.mode, self.pacing_gain, self.gain = "Cruise", 1.0, 2.0
            else:
                self.mode, self.pacing_gain, self.gain = "Startup", STARTUP_GAIN, 2.0

    # The window.

    def _bdp(self, bw, gain):
        if self.min_rtt == inf:
            return INITIAL
        self.bdp = round(bw * self.min_rtt / SECOND)
        return int(gain * self.bdp)

    def _budget(self, inflight):
        offload = self.quantum + min(self.mss, round(0.025 * self.max_bw))
        inflight = max(inflight, offload, self.least)
        return inflight + 2 * self.mss if self.mode == "Up" else inflight

    def _inflight(self, gain):
        return self._budget(self._bdp(self.max_bw, gain))

    def _with_headroom(self):
        if self.inflight_long == inf:
            return inf
        headroom = max(self.mss, int(HEADROOM * self.inflight_long))
        return max(self.inflight_long - headroom, self.least)

    def _probe_rtt_window(self):
        return max(self._bdp(self.bw, 0.5), self.least)

    def _set_window(self):
        rate = self.pacing_gain * self.bw * MARGIN
        if self.is_full or rate > self.pace:
            self.pace = rate
        self.quantum = max(min(int(self.pace / 1000), 64 * 1024), 2 * self.mss)
        self.max_inflight = self._budget(self._bdp(self.max_bw, self.gain) + self.extra)
        if self.is_full:
            self.w = min(self.w + self.rs.newly_acked, self.max_inflight)
        elif self.w < self.max_inflight or self.delivered < INITIAL:
            self.w += self.rs.newly_acked
        self.w = max(self.w, self.least)
        if self.mode == "ProbeRTT":
            self.w = min(self.w, self._probe_rtt_window())
        cap = inf
        if self.mode in ("ProbeRTT", "Cruise"):
            cap = self._with_headroom()
        elif self.mode in ("Down", "Refill", "Up"):
            cap = self.inflight_long
        self.w = min(self.w, max(min(cap, self.inflight_short), self.least))

    def state(self):
        modes = ["Startup", "Drain", "Down", "Cruise", "Refill", "Up", "ProbeRTT"]
        return {
            "bandwidth_bytes_per_s": self.bw,
            "extra_acked_bytes": self.extra,
            "in_flight_bytes": self.in_flight,
            "inflight_long_bytes": self.inflight_long,
            "inflight_short_bytes": self.inflight_short,
            "max_inflight_bytes": self.max_inflight,
            "min_rtt_ms": self.min_rtt / 1e6,
            "mode": modes.index(self.mode),
            "rounds": self.round,
        }

    def cwnd(self):
        return self.w / self.mss
