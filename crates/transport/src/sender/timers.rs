//! The timers: retransmission, tail loss probe, reordering, persist, SYN.

use cwndlab_control::{Cause, RecoveryKind};

use super::{Sender, State};
use crate::receiver::NEVER;
use crate::scoreboard::SACKED;
use crate::wire::Output;

/// What a probe allows a lone segment's delayed ACK (RFC 8985, 7.2: the worst-case delayed-ACK timer).
const PROBE_ACK_ALLOWANCE_NS: u64 = 200_000_000;
/// Probe timeout without an RTT sample.
const PROBE_WITHOUT_RTT_NS: u64 = 1_000_000_000;

impl Sender {
    /// Opens the connection.
    pub fn open(&mut self, now: u64, out: &mut impl Output) {
        self.opened_at = now;
        out.event("open", "", 0, self.cwnd, f64::NAN);
        out.syn();
        self.rto_at = now + self.rtt.rto();
        self.schedule();
    }

    /// The earliest of the timers is what the engine waits for.
    #[inline]
    pub(crate) fn schedule(&mut self) {
        self.timer = self.rto_at.min(self.probe_at).min(self.reorder_at);
    }

    /// New data was acknowledged: RFC 6298 (5.2, 5.3).
    #[inline]
    pub(crate) fn restart_timers(&mut self, now: u64) {
        if self.board.outstanding() == 0 {
            self.rto_at = NEVER;
            self.probe_at = NEVER;
            self.reorder_at = NEVER;
            return;
        }
        // RFC 6582, "Impatient": in NewReno's recovery only the first partial ACK restarts the timer.
        if self.kind == RecoveryKind::NewReno && self.state == State::Recovery {
            if self.partial_seen {
                return;
            }
            self.partial_seen = true;
        }
        self.rto_at = now + self.rtt.rto();
        self.schedule_probe(now);
    }

    #[inline]
    pub(crate) fn schedule_probe(&mut self, now: u64) {
        self.probe_at = NEVER;
        if self.stack.tail_loss_probe
            && self.kind == RecoveryKind::Rack
            && self.state == State::Open
            && self.probe_end.is_none()
            && self.board.sacked == 0
        {
            let wait = if self.rtt.srtt == 0 { PROBE_WITHOUT_RTT_NS } else { 2 * self.rtt.srtt };
            let alone = if self.board.outstanding() == 1 { PROBE_ACK_ALLOWANCE_NS } else { 0 };
            self.probe_at = (now + wait + alone).min(self.rto_at);
        }
    }

    /// The engine's clock reached `timer`.
    pub fn on_timer(&mut self, now: u64, out: &mut impl Output) {
        if !self.established {
            self.on_syn_timeout(now, out);
        } else if self.persist && now >= self.rto_at {
            self.on_persist(now, out);
        } else if now >= self.reorder_at {
            self.reorder_at = NEVER;
            if self.detect(now) > 0 || self.board.lost > 0 {
                if self.state < State::Recovery {
                    self.enter_recovery(now, out);
                    self.step_down(0, false, true);
                }
                self.transmit(now, out);
            }
        } else if now >= self.probe_at && self.probe_at < self.rto_at {
            self.on_probe(now, out);
        } else if now >= self.rto_at {
            self.on_timeout(now, out);
        }
        self.schedule();
    }

    fn on_syn_timeout(&mut self, now: u64, out: &mut impl Output) {
        if self.syn_tries >= self.stack.syn_retries {
            self.dead = true;
            self.rto_at = NEVER;
            out.event("close", "syn-timeout", self.cwnd, 0, f64::NAN);
            return;
        }
        self.syn_tries += 1;
        self.rtt.back_off();
        out.event("timeout", "syn", self.cwnd, self.cwnd, f64::NAN);
        out.syn();
        self.rto_at = now + self.rtt.rto();
    }

    /// The window is closed: one segment asks whether it still is (RFC 9293, 3.8.6.1).
    fn on_persist(&mut self, now: u64, out: &mut impl Output) {
        self.rtt.back_off();
        self.rto_at = now + self.rtt.rto();
        self.probe_window(now, out);
    }

    fn on_probe(&mut self, now: u64, out: &mut impl Output) {
        self.probe_at = NEVER;
        self.count.loss_probes += 1;
        out.event("loss-probe", "tail", self.cwnd, self.cwnd, f64::NAN);
        if !self.send_new_as_probe(now, out) {
            let mut last = self.board.next - 1;
            while last > self.board.una && self.board.get(last).flags & SACKED != 0 {
                last -= 1;
            }
            self.retransmit(last, now, out);
            self.probe_end = Some(last + 1);
        }
        self.rto_at = now + self.rtt.rto();
    }

    fn on_timeout(&mut self, now: u64, out: &mut impl Output) {
        if self.board.outstanding() == 0 {
            self.rto_at = NEVER;
            return;
        }
        let before = self.cwnd;
        // RFC 5681, equation 4, and Linux' icsk_retransmits: nothing was acknowledged since the timer expired last.
        let repeated = self.state == State::Loss && self.timed_out == self.board.una;
        self.timed_out = self.board.una;
        let first = self.state != State::Loss;
        self.rtt.back_off();
        self.count.timeouts += 1;
        self.congestion(now, Cause::Timeout, true, repeated);
        if first {
            self.begin_doubt();
        }
        self.board.lose_all();
        self.lost_total += u64::from(self.board.lost);
        self.high_seq = self.board.next;
        self.high_rxt = self.board.una;
        self.state = State::Loss;
        self.cwnd = self.target;
        self.dupacks = 0;
        self.probe_end = None;
        self.probe_at = NEVER;
        self.reorder_at = NEVER;
        if first {
            self.frto = self.stack.undo;
        }
        self.force = true;
        out.event("timeout", "rto", before, self.cwnd, f64::NAN);
        self.rto_at = now + self.rtt.rto();
        self.transmit(now, out);
    }
}
