//! Transmission: retransmissions first, then new data, limited by congestion window, receive window and pacing.

use cwndlab_control::Sent;
use cwndlab_units::{Bytes, CaState, Duration, Rate, Time};

use super::Sender;
use crate::cwnd_validation::{restart_ssthresh, restart_window};
use crate::pacer::Pacer;
use crate::recovery::LossRecovery;
use crate::rexmit::Rexmit;
use crate::stack::{Pacing, RtoRestart, Rules};
use crate::timers::Timer;
use crate::tso::{autosize, Burst, DEFER_LIMIT, MIN_BURST, UNPACED_PACKETS};
use crate::wire::{Data, Output};

/// Maximum time for which a window below a full segment delays data (RFC 9293, section 3.8.6.2.1, rule 4: 0.1 to 1 s).
const OVERRIDE_TIMEOUT: Duration = Duration::from_secs(1);

/// The segments sent in one step.
enum SendStep {
    Retransmission,
    /// This many new segments; more may follow.
    New(u32),
    /// This many new segments, up to the window.
    UpToWindow(u32),
    Nothing,
}

impl Sender {
    /// Sends all segments allowed at `now`.
    pub(super) fn transmit(&mut self, now: Time, out: &mut impl Output) {
        if !self.established {
            return;
        }
        if self.is_idle() {
            self.restart_after_idle(now, out);
        }
        self.validation.deferred = false;
        let (sent, sent_new) = self.send_bursts(now, out);
        if self.tcb.rexmit == Rexmit::New {
            // RFC 5682, section 2.1, step 2b: without new data F-RTO ends, and lost segments are retransmitted.
            self.tcb.rexmit = Rexmit::None;
            if !sent_new {
                self.tcb.undo.frto = false;
                self.tcb.rexmit = Rexmit::Lost;
                self.transmit(now, out);
                return;
            }
        }
        let waits = self.pacer.is_blocked(now) && self.can_send();
        self.pacer.set_timer(waits);
        self.after_sending(now, sent, sent_new);
    }

    /// After a fast-path ACK: the number of segments to send, if only the windows limit transmission and the data fills
    /// the segments.
    #[inline]
    pub(super) fn free_window(&self) -> Option<u32> {
        let tcb = &self.tcb;
        let flight_size = tcb.scoreboard.flight_size();
        if self.pacer.is_on() || tcb.stack.tso_burst && !tcb.controller.spaced || flight_size == 0 {
            return None;
        }
        let room = tcb.cwnd.min(tcb.send_buffer.rwnd).saturating_sub(flight_size);
        tcb.send_buffer.fills(room).then_some(room)
    }

    /// The equivalent of [`transmit`](Self::transmit) in this case. The timers restart once, for the ACK and the
    /// transmission together. A separate function, so that ACK processing has all registers.
    #[inline(never)]
    pub(super) fn fill_window(&mut self, room: u32, now: Time, out: &mut impl Output) {
        self.validation.deferred = false;
        self.pacer.set_timer(false);
        if room > 0 {
            self.send_new(room, now, out);
        }
        let tcb = &mut self.tcb;
        let window_full = tcb.scoreboard.flight_size() >= tcb.cwnd;
        self.validation.update(window_full, tcb.scoreboard.una, tcb.scoreboard.next);
        if room > 0 {
            tcb.restart_timers_after_new_data(now);
        } else {
            tcb.restart_rto(now);
        }
        if tcb.send_buffer.is_partial() && !window_full {
            tcb.rate.set_app_limited(tcb.in_flight());
        }
    }

    /// Sends bursts until a limit is reached. Returns the number of segments sent, and whether any was new.
    #[inline]
    fn send_bursts(&mut self, now: Time, out: &mut impl Output) -> (u32, bool) {
        let paced = self.pacer.is_on();
        let limit = if paced { self.paced_burst() } else { u32::MAX };
        let mut sent = 0;
        let mut sent_new = false;
        let mut burst = Burst::default();
        loop {
            if self.pacer.is_blocked(now) && !self.tcb.force_retransmit {
                break;
            }
            burst.allowance = 0;
            let before = self.tcb.counters.sent_bytes;
            let mut step = 0;
            while step < limit {
                match self.send_step(now, limit - step, &mut burst, out) {
                    SendStep::Retransmission => step += 1,
                    SendStep::New(segments) => {
                        sent_new = true;
                        step += segments;
                    }
                    SendStep::UpToWindow(segments) => {
                        sent_new = true;
                        step += segments;
                        break;
                    }
                    SendStep::Nothing => break,
                }
            }
            sent += step;
            if step == 0 || !paced {
                break;
            }
            let tcb = &self.tcb;
            if !(tcb.stack.tso_burst && tcb.counters.sent_packets < UNPACED_PACKETS) {
                self.pacer.on_burst(now, Bytes(tcb.counters.sent_bytes - before));
            }
        }
        (sent, sent_new)
    }

    /// Whether there is a segment that the congestion and the receive window allow.
    fn can_send(&mut self) -> bool {
        let board = &mut self.tcb.scoreboard;
        board.in_flight() < self.tcb.cwnd
            && (board.next_lost().is_some() || self.tcb.send_buffer.may_send(board.flight_size()))
    }

    #[inline]
    fn after_sending(&mut self, now: Time, sent: u32, sent_new: bool) {
        let tcb = &mut self.tcb;
        let window_full = tcb.scoreboard.in_flight() >= tcb.cwnd;
        self.validation.update(window_full, tcb.scoreboard.una, tcb.scoreboard.next);
        if sent > 0 {
            tcb.start_timers(now, sent_new);
        } else if !tcb.send_buffer.is_empty() && tcb.scoreboard.flight_size() == 0 && tcb.send_buffer.rwnd == 0 {
            let overrides = tcb.send_buffer.has_small_window() && tcb.stack.rules == Rules::Rfc;
            let wait = if overrides { tcb.rtt.rto().min(OVERRIDE_TIMEOUT) } else { tcb.rtt.rto() };
            tcb.timers.start_persist(now, wait);
        }
        // Less than a segment is unsent (draft-ietf-ccwg-bbr, section 4.1.2.4; Linux, tcp_rate_check_app_limited): the
        // rest, or data that Nagle's algorithm delays. Nothing lost is left to be sent.
        if tcb.send_buffer.is_partial() && !window_full && tcb.scoreboard.next_lost().is_none() {
            tcb.rate.set_app_limited(tcb.in_flight());
        }
    }

    /// Sends a retransmission, or at most `max` new segments that need no further checks between them.
    #[inline]
    fn send_step(&mut self, now: Time, max: u32, burst: &mut Burst, out: &mut impl Output) -> SendStep {
        let tcb = &mut self.tcb;
        let in_flight = tcb.scoreboard.in_flight();
        if tcb.scoreboard.lost > 0 && tcb.rexmit == Rexmit::Lost {
            if in_flight >= tcb.cwnd && !tcb.force_retransmit {
                return SendStep::Nothing;
            }
            if let Some(seq) = tcb.scoreboard.next_lost() {
                return self.retransmit_lost(seq, now, out);
            }
        }
        tcb.force_retransmit = false;
        let window = self.usable_window();
        let tcb = &mut self.tcb;
        let flight_size = tcb.scoreboard.flight_size();
        if in_flight >= window || flight_size >= tcb.send_buffer.rwnd {
            if tcb.send_buffer.is_empty() || !tcb.send_buffer.fits_small_window(flight_size) {
                return SendStep::Nothing;
            }
            self.send_new(1, now, out);
            return SendStep::UpToWindow(1);
        }
        if tcb.send_buffer.is_partial() {
            if tcb.send_buffer.is_empty() {
                return self.fill_hole(now, out);
            }
            if tcb.send_buffer.delays_short(flight_size, tcb.scoreboard.una) {
                return SendStep::Nothing;
            }
            tcb.send_buffer.note_short(tcb.scoreboard.next);
        }
        let room = (window - in_flight).min(tcb.send_buffer.rwnd - flight_size);
        let max = if tcb.scoreboard.lost > 0 { 1 } else { max };
        let mut segments = tcb.send_buffer.full_or_one(room.min(max));
        if tcb.stack.tso_burst && !tcb.controller.spaced && tcb.state <= CaState::Cwr {
            if burst.allowance == 0 && !self.begin_burst(now, window - in_flight, burst) {
                return SendStep::Nothing;
            }
            segments = segments.min(burst.allowance);
            burst.allowance -= segments;
        }
        self.send_new(segments, now, out);
        if segments < room {
            SendStep::New(segments)
        } else {
            SendStep::UpToWindow(segments)
        }
    }

    /// The window for new data: extended by limited transmit (RFC 3042), or without it reduced by the SACKed segments.
    #[inline]
    fn usable_window(&self) -> u32 {
        let tcb = &self.tcb;
        if tcb.state <= CaState::Disorder && (tcb.dupacks.count > 0 || tcb.scoreboard.sacked > 0) {
            if tcb.dupacks.count > 0 && tcb.stack.limited_transmit {
                return tcb.cwnd + tcb.dupacks.limited_transmit();
            }
            if !tcb.stack.limited_transmit {
                return tcb.cwnd.saturating_sub(tcb.scoreboard.sacked);
            }
        }
        tcb.cwnd
    }

    /// Retransmits `seq`, which is marked lost, if the receive window allows it.
    fn retransmit_lost(&mut self, seq: u64, now: Time, out: &mut impl Output) -> SendStep {
        let tcb = &mut self.tcb;
        // Linux, __tcp_retransmit_skb: beyond a shrunken receive window only the first segment is retransmitted, as a probe.
        if seq >= tcb.scoreboard.una.saturating_add(u64::from(tcb.send_buffer.rwnd.max(1))) {
            return SendStep::Nothing;
        }
        tcb.force_retransmit = false;
        self.recovery.on_retransmit(seq);
        self.retransmit(seq, now, out);
        SendStep::Retransmission
    }

    /// If there is no new data, retransmits a segment that is not marked lost, if the recovery selects one (RFC 6675,
    /// NextSeg).
    fn fill_hole(&mut self, now: Time, out: &mut impl Output) -> SendStep {
        match self.recovery.next_hole(&mut self.tcb) {
            Some(seq) => {
                self.retransmit(seq, now, out);
                SendStep::Retransmission
            }
            None => SendStep::Nothing,
        }
    }

    /// Sends `segments` segments of new data.
    #[allow(clippy::inline_always)] // called for each segment of a burst
    #[inline(always)]
    pub(super) fn send_new(&mut self, segments: u32, now: Time, out: &mut impl Output) {
        if self.tcb.scoreboard.flight_size() == 0 {
            self.tcb.rate.start(now);
        }
        let reducing = self.tcb.state.is_reducing();
        let mut data = self.data(false, now);
        let mut bytes = 0;
        let bursts = segments > 1 && self.tcb.stack.tso_burst;
        for left in (0..segments).rev() {
            let tcb = &mut self.tcb;
            data.push = bursts && left == 0;
            data.len = tcb.send_buffer.take_segment();
            data.seq = tcb.scoreboard.push(tcb.rate.new_segment(now, data.len));
            bytes += u64::from(data.len);
            self.emit(&data, out);
            data.cwr = false;
            if reducing {
                self.tcb.prr.on_sent();
            }
        }
        self.count_sent(segments, bytes, now);
    }

    fn retransmit(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        tcb.scoreboard.retransmit(seq, now);
        tcb.undo.on_retransmit(now);
        tcb.prr.on_sent();
        let held = tcb.state == CaState::Recovery && self.recovery.holds_rto();
        let first = seq == tcb.scoreboard.una && tcb.timers.running != Timer::Reordering;
        if tcb.stack.rto_restart != RtoRestart::NewData && first && !held {
            tcb.arm_rto(now);
        }
        self.emit_copy(seq, now, out);
    }

    /// Sends the last segment again as a tail loss probe. The copy counts neither as in flight nor as a retransmission
    /// for the undo (Linux, tcp_send_loss_probe, calls __tcp_retransmit_skb).
    pub(super) fn send_tail_copy(&mut self, now: Time, out: &mut impl Output) {
        let seq = self.tcb.scoreboard.next - 1;
        self.tcb.scoreboard.send_copy(seq, now);
        self.emit_copy(seq, now, out);
    }

    /// Sends a copy of a segment and restarts its rate sample.
    fn emit_copy(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let segment = tcb.scoreboard.get_mut(seq);
        tcb.rate.on_retransmit(segment);
        let len = u32::from(segment.len);
        tcb.counters.retransmitted_packets += 1;
        tcb.counters.retransmitted_bytes += u64::from(len);
        let copy = Data { seq, len, ..self.data(true, now) };
        self.emit(&copy, out);
        self.count_sent(1, u64::from(len), now);
    }

    /// A data segment sent at `now`, without number and payload.
    #[inline]
    fn data(&mut self, retransmission: bool, now: Time) -> Data {
        let ect = self.tcb.ecn.sends_ect(&self.tcb.stack, retransmission);
        let cwr = self.tcb.ecn.take_cwr(retransmission);
        Data {
            seq: 0,
            len: 0,
            retransmission,
            ect,
            ect_changed: false,
            cwr,
            push: false,
            timestamp: now,
            feedback: None,
        }
    }

    /// Counts `segments` segments with `bytes` of payload in total.
    #[inline]
    fn count_sent(&mut self, segments: u32, bytes: u64, now: Time) {
        self.last_sent = now;
        self.tcb.counters.sent_packets += u64::from(segments);
        self.tcb.counters.sent_bytes += bytes;
    }

    #[allow(clippy::inline_always)] // called for each segment of a burst
    #[inline(always)]
    fn emit(&mut self, data: &Data, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        out.data(data);
        if tcb.controller.observes_sent {
            tcb.controller.on_sent(&Sent {
                now: data.timestamp,
                size: Bytes(u64::from(data.len)),
                in_flight: tcb.in_flight(),
                retransmission: data.retransmission,
                app_limited: tcb.rate.is_app_limited(),
            });
        }
    }

    /// Starts a burst of new data in a window with room for `room` segments: sets the number of segments that need no
    /// further checks. Returns `false` if the sender defers it for a larger one.
    #[inline]
    fn begin_burst(&mut self, now: Time, room: u32, burst: &mut Burst) -> bool {
        let left = self.queue_buffers.left(self.tcb.scoreboard.next);
        let supplied = room.min(self.tcb.send_buffer.segments()).min(left);
        // tcp_write_xmit defers no lone segment, tcp_tso_should_defer nothing in the middle of the queue that may leave whole.
        if left > room && self.should_defer(now, room, burst) {
            self.validation.deferred = true;
            return false;
        }
        burst.allowance = if supplied <= MIN_BURST { supplied } else { supplied.min(burst.goal(|| self.burst_goal())) };
        true
    }

    /// Whether to wait for a larger burst because an ACK that allows it is due soon (Linux, tcp_tso_should_defer).
    #[inline]
    fn should_defer(&self, now: Time, room: u32, burst: &mut Burst) -> bool {
        let tcb = &self.tcb;
        if room >= (tcb.cwnd / 3).max(1) || tcb.scoreboard.flight_size() == 0 {
            return false;
        }
        if now > self.last_sent.max(self.pacer.next_send_time()) + DEFER_LIMIT {
            return false;
        }
        if room >= tcb.send_buffer.segments() || (room >= MIN_BURST && room >= burst.goal(|| self.burst_goal())) {
            return false;
        }
        // Only if the ACK of the oldest segment is due within a millisecond and half an RTT (Linux since 6.18; earlier
        // versions, half an RTT).
        let srtt = tcb.rtt.srtt();
        let due = tcb.scoreboard.get(tcb.scoreboard.una).sent_at + srtt;
        due <= now + DEFER_LIMIT.min(srtt / 2)
    }

    /// Segments in a burst at the pacing rate, or at Linux' default rate.
    fn burst_goal(&self) -> u32 {
        let rate = if self.pacer.is_on() { self.pacer.rate() } else { self.default_rate() };
        autosize(rate, self.tcb.mss())
    }

    /// Segments in a burst of a paced sender: with TSO autosizing at least a millisecond of the pacing rate.
    fn paced_burst(&self) -> u32 {
        let tcb = &self.tcb;
        let quantum = tcb.stack.pacing_quantum.max(1);
        if tcb.controller.spaced {
            1
        } else if tcb.stack.tso_burst {
            // tcp_cwnd_test: half of the window at most
            quantum.max(self.burst_goal()).min((tcb.cwnd / 2).max(1))
        } else {
            quantum
        }
    }

    /// The pacing rate for an algorithm without one (Linux, tcp_update_pacing_rate).
    fn default_rate(&self) -> Rate {
        let tcb = &self.tcb;
        let window = tcb.cwnd.max(tcb.scoreboard.flight_size());
        Pacer::rate_of(window, tcb.mss(), tcb.rtt.srtt(), || tcb.is_below_ssthresh(2))
    }

    /// Sets the pacing rate from the algorithm, or by the stack's rule.
    #[inline]
    pub(super) fn update_pacing_rate(&mut self) {
        if self.tcb.stack.pacing == Pacing::Off && !self.pacer.is_on() {
            return;
        }
        let rate = match (self.tcb.stack.pacing, self.tcb.controller.pacing_rate()) {
            (Pacing::Off, _) | (Pacing::Algorithm, None) => Rate::ZERO,
            (_, Some(rate)) => rate.max(Rate(1)),
            (Pacing::Always, None) => self.default_rate(),
        };
        self.pacer.set_rate(rate);
    }

    /// Handles the expiry of [`pace_timer`](Self::pace_timer).
    pub fn on_pace(&mut self, now: Time, out: &mut impl Output) {
        self.pacer.timer = Time::MAX;
        self.transmit(now, out);
    }

    /// Whether data is about to be sent after an idle period: no segment is in flight, and it is not the first data.
    #[inline]
    fn is_idle(&self) -> bool {
        let tcb = &self.tcb;
        tcb.scoreboard.flight_size() == 0
            && !tcb.send_buffer.is_empty()
            && self.last_sent > Time::ZERO
            && !tcb.controller.is_model_based()
    }

    fn restart_after_idle(&mut self, now: Time, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let idle = now - self.last_sent;
        let initial = tcb.stack.initial_window;
        let Some(window) = restart_window(tcb.stack.idle_restart, idle, tcb.rtt.rto(), tcb.cwnd, initial) else {
            return;
        };
        let before = tcb.cwnd;
        tcb.controller.on_idle(now, window, restart_ssthresh(tcb.stack.idle_restart, before), idle);
        tcb.cwnd = window;
        out.event("idle-restart", "idle", before, window, f64::NAN);
    }
}
