//! The timer: retransmission, tail loss probe, reordering, persist, SYN. There is one, as RFC 8985, section 8, and Linux
//! (`icsk_pending`) have it: whatever is armed takes the place of what was.

use cwndlab_control::{Cause, Change, RecoveryKind};

use super::detection::TIMEOUT_MIN_NS;
use super::{Gain, Sender, State};
use crate::receiver::NEVER;
use crate::scoreboard::SACKED;
use crate::wire::Output;

/// What a probe allows a lone segment's delayed ACK (RFC 8985, 7.2: the worst-case delayed-ACK timer).
const PROBE_ACK_ALLOWANCE_NS: u64 = 200_000_000;
/// Probe timeout without an RTT sample.
const PROBE_WITHOUT_RTT_NS: u64 = 1_000_000_000;
/// Doublings of the persist timer at most (Linux, tcp_probe0_when: the largest RTO over the smallest).
const MOST_DOUBLINGS: u32 = 10;
/// What looks like reneging is given half an RTT, and this at least, to be put right (Linux, tcp_check_sack_reneging).
const RENEGING_NS: u64 = 10_000_000;
/// A timer that should have expired expires now: in a microsecond (Linux, tcp_rearm_rto).
const OVERDUE_NS: u64 = 1_000;

/// What `Sender::timer` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// Off.
    Nothing,
    /// Retransmission; before the connection is open, of the SYN.
    Rto,
    /// Tail loss probe.
    Probe,
    /// RACK's reordering timer.
    Reorder,
    /// The window is closed.
    Persist,
}

impl Sender {
    /// Opens the connection.
    pub fn open(&mut self, now: u64, out: &mut impl Output) {
        self.opened_at = now;
        out.event("open", "", 0, self.cwnd, f64::NAN);
        out.syn();
        self.arm_rto(now);
    }

    #[inline]
    pub(crate) fn arm(&mut self, what: Pending, at: u64) {
        self.pending = what;
        self.timer = at;
    }

    pub(crate) fn disarm(&mut self) {
        self.arm(Pending::Nothing, NEVER);
    }

    /// The retransmission timer begins anew.
    #[inline]
    pub(crate) fn arm_rto(&mut self, now: u64) {
        self.rto_at = now + self.rtt.rto();
        self.arm(Pending::Rto, self.rto_at);
    }

    /// Another timer takes the place of the retransmission timer, which began anew if `advanced`.
    #[inline]
    pub(crate) fn keep_rto(&mut self, now: u64, advanced: bool) {
        if advanced {
            self.rto_at = now + self.rtt.rto();
        }
    }

    /// When the retransmission timer is due while another one runs: by RFC 6298 an RTO after the last progress; by Linux
    /// (tcp_rto_delta_us) an RTO after the oldest segment left last.
    fn rto_due(&self) -> u64 {
        if self.linux {
            self.board.get(self.board.una).sent_at + self.rtt.rto()
        } else {
            self.rto_at
        }
    }

    /// The retransmission timer comes back where another one ran (Linux, tcp_rearm_rto).
    pub(crate) fn return_to_rto(&mut self, now: u64) {
        if self.board.outstanding() == 0 {
            self.disarm();
        } else if matches!(self.pending, Pending::Probe | Pending::Reorder) {
            self.rto_at = self.rto_due().max(now + OVERDUE_NS);
            self.arm(Pending::Rto, self.rto_at);
        } else {
            self.arm_rto(now);
        }
    }

    /// New data was acknowledged: RFC 6298 (5.2, 5.3).
    #[inline]
    pub(crate) fn restart_timers(&mut self, now: u64) {
        if self.board.outstanding() == 0 {
            self.disarm();
            return;
        }
        // RFC 6582, "Impatient": in NewReno's recovery only the first partial ACK restarts the timer.
        if self.kind == RecoveryKind::NewReno && self.state == State::Recovery {
            if self.partial_seen {
                return;
            }
            self.partial_seen = true;
        }
        let rto_at = now + self.rtt.rto();
        let other = self.linux && matches!(self.pending, Pending::Probe | Pending::Reorder);
        if self.schedule_probe(now, rto_at) {
            self.rto_at = rto_at;
        } else if other {
            self.return_to_rto(now);
        } else {
            self.rto_at = rto_at;
            self.arm(Pending::Rto, rto_at);
        }
    }

    /// Something left: the retransmission timer runs if none did, and the probe's begins anew with new data.
    #[inline]
    pub(crate) fn start_timers(&mut self, now: u64, sent_new: bool) {
        if matches!(self.pending, Pending::Nothing | Pending::Persist) {
            self.arm_rto(now);
        }
        let waits = self.pending == Pending::Reorder && !self.linux;
        if sent_new && self.stack.tail_loss_probe && self.kind == RecoveryKind::Rack && !waits {
            let due = self.rto_due();
            if !self.schedule_probe(now, due) && self.pending == Pending::Probe {
                self.return_to_rto(now);
            }
        }
    }

    /// Arms the tail loss probe, which comes no later than the retransmission timer would (RFC 8985, 7.2; Linux,
    /// tcp_schedule_loss_probe). Answers whether it may.
    #[inline]
    fn schedule_probe(&mut self, now: u64, rto_at: u64) -> bool {
        if !self.stack.tail_loss_probe
            || self.kind != RecoveryKind::Rack
            || !matches!(self.state, State::Open | State::Cwr)
        {
            return false;
        }
        let alone = self.board.outstanding() == 1;
        let (delayed, slack) =
            if self.linux { (self.stack.min_rto.0, TIMEOUT_MIN_NS) } else { (PROBE_ACK_ALLOWANCE_NS, 0) };
        let wait = match self.rtt.srtt {
            0 => PROBE_WITHOUT_RTT_NS,
            srtt => 2 * srtt + if alone { delayed } else { slack },
        };
        let at = now + wait;
        self.arm(Pending::Probe, if rto_at > now { at.min(rto_at) } else { at });
        true
    }

    /// The engine's clock reached `timer`.
    pub fn on_timer(&mut self, now: u64, out: &mut impl Output) {
        if now < self.timer {
            return;
        }
        if !self.established {
            self.on_syn_timeout(now, out);
            return;
        }
        match self.pending {
            Pending::Nothing => self.disarm(),
            Pending::Rto => self.on_timeout(now, out),
            Pending::Probe => self.on_probe(now, out),
            Pending::Reorder => self.on_reorder(now, out),
            Pending::Persist => self.on_persist(now, out),
        }
    }

    fn on_syn_timeout(&mut self, now: u64, out: &mut impl Output) {
        if self.syn_tries >= self.stack.syn_retries {
            self.dead = true;
            self.disarm();
            out.event("close", "syn-timeout", self.cwnd, 0, f64::NAN);
            return;
        }
        self.syn_tries += 1;
        self.rtt.back_off();
        out.event("timeout", "syn", self.cwnd, self.cwnd, f64::NAN);
        out.syn();
        self.arm_rto(now);
    }

    /// What waited for others is late now (Linux, tcp_rack_reo_timeout).
    fn on_reorder(&mut self, now: u64, out: &mut impl Output) {
        let marked = self.detect(now) > 0;
        let enters = if self.linux { self.state != State::Recovery } else { self.state < State::Recovery };
        if marked && enters {
            self.enter_episode(now, false, out);
            self.step_down(u32::from(self.linux), false, true);
        }
        if self.board.lost > 0 {
            self.transmit(now, out);
        }
        if matches!(self.pending, Pending::Reorder | Pending::Nothing) {
            self.return_to_rto(now);
        }
    }

    /// The window is closed and nothing is in flight: the persist timer runs (Linux, tcp_check_probe_timer).
    pub(crate) fn watch_window(&mut self, now: u64) {
        if self.pending == Pending::Nothing && self.peer_window == 0 {
            self.window_probes = 0;
            self.arm(Pending::Persist, now + self.rtt.rto());
        }
    }

    /// An ACK while nothing was in flight: the window has opened, or it is still closed and the peer alive, so that the timer
    /// begins anew (Linux, tcp_ack_probe).
    pub(crate) fn note_answer(&mut self, now: u64) {
        if self.pending != Pending::Persist {
            return;
        }
        if self.peer_window > 0 {
            self.disarm();
        } else {
            self.await_window(now);
        }
    }

    fn await_window(&mut self, now: u64) {
        let wait = self.rtt.rto().saturating_mul(1 << self.window_probes.min(MOST_DOUBLINGS));
        self.arm(Pending::Persist, now + wait.min(self.stack.max_rto.0));
    }

    /// The window is still closed as far as anybody knows: an empty segment asks (RFC 9293, 3.8.6.1, wants an octet; segments
    /// are whole here, and Linux' tcp_write_wakeup sends none either).
    fn on_persist(&mut self, now: u64, out: &mut impl Output) {
        if self.unsent == 0 || self.board.outstanding() > 0 {
            self.disarm();
            return;
        }
        self.window_probes += 1;
        self.probe_window(now, out);
        self.await_window(now);
    }

    /// Linux, tcp_send_loss_probe: new data, or the last segment again; one probe at a time.
    fn on_probe(&mut self, now: u64, out: &mut impl Output) {
        if self.probe_end.is_none() && self.board.outstanding() > 0 {
            self.count.loss_probes += 1;
            out.event("loss-probe", "tail", self.cwnd, self.cwnd, f64::NAN);
            self.probe_again = !self.send_new_as_probe(now, out);
            if self.probe_again {
                self.send_tail_again(now, out);
            }
            self.probe_end = Some(self.board.next);
            self.arm_rto(now);
        } else {
            self.return_to_rto(now);
        }
    }

    /// The receiver seems to have thrown away what it SACKed: it gets a moment for ACKs that say otherwise.
    pub(crate) fn doubt_sacks(&mut self, now: u64, gain: &mut Gain) {
        self.keep_rto(now, true);
        self.arm(Pending::Rto, now + (self.rtt.srtt / 2).max(RENEGING_NS));
        gain.rearm = false;
    }

    fn on_timeout(&mut self, now: u64, out: &mut impl Output) {
        if self.board.outstanding() == 0 {
            self.disarm();
            return;
        }
        let before = self.cwnd;
        // Nothing was acknowledged since the timer expired last (Linux, icsk_retransmits).
        let again = self.timed_out == self.board.una;
        // A closed window makes the retransmission a question for it (Linux, tcp_retransmit_timer): that does not count.
        self.timed_out = if self.linux && self.peer_bytes == 0 { u64::MAX } else { self.board.una };
        let first = self.state != State::Loss;
        // RFC 5681, equation 4; Linux, tcp_enter_loss: once per window of data.
        let repeated = if self.linux {
            self.state > State::Disorder && self.board.una < self.high_seq && (first || again)
        } else {
            !first && again
        };
        if self.board.get(self.board.una).flags & SACKED != 0 {
            self.board.forget_sacks();
        } else if self.linux && self.state <= State::Disorder && self.board.sacked >= self.stack.dup_thresh {
            self.reordering = self.stack.dup_thresh; // it was overestimated
        }
        self.rtt.back_off();
        self.count.timeouts += 1;
        self.congestion(now, Cause::Timeout, true, repeated);
        self.lose_for_timeout(now);
        if self.linux && !repeated || !self.linux && first {
            self.restorable = true;
            self.begin_doubt();
        }
        self.lost_total += u64::from(self.board.lost);
        // RFC 5682, section 2.1, and its SACK variant: the first timeout, and at Linux those that repeat it.
        if self.linux {
            self.frto = self.stack.undo && (self.state < State::Recovery || again);
        } else if first {
            self.frto = self.stack.undo;
        }
        self.high_seq = self.board.next;
        self.high_rxt = self.board.una;
        self.state = State::Loss;
        self.cwnd = self.target;
        if self.linux && self.board.in_flight() > 0 && !self.model_based {
            self.cwnd = self.board.in_flight() + 1;
            self.impose(now, Change::Recovered, self.cwnd, 0);
        }
        self.dupacks = 0;
        self.probe_end = None;
        self.force = true;
        out.event("timeout", "rto", before, self.cwnd, f64::NAN);
        self.arm_rto(now);
        self.transmit(now, out);
    }

    /// All that is in flight is lost; RACK spares what left lately (RFC 8985, section 6.3; Linux, tcp_timeout_mark_lost).
    fn lose_for_timeout(&mut self, now: u64) {
        if self.kind == RecoveryKind::Rack {
            let window = self.patience();
            self.board.lose_all(|segment| segment.sent_at + window > now);
        } else {
            self.board.lose_all(|_| false);
        }
    }
}
