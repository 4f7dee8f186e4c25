//! The course of Disorder, reduction, Recovery and Loss under RACK: what each ACK means, when a state ends, what is taken
//! back. It follows Linux 6.x function by function (tcp_input.c; each is named at what does its work); where `linux` is asked
//! for, the RFCs say otherwise.

use cwndlab_control::{Cause, Change};

use super::timers::Pending;
use super::{Gain, Resend, Sender, State};
use crate::scoreboard::SACKED;
use crate::stack::Ecn;
use crate::wire::{AckPacket, Output};

impl Sender {
    /// An ACK that is not plain (tcp_ack, from tcp_rack_update_reo_wnd on).
    pub(crate) fn react_by_time(
        &mut self,
        now: u64,
        ack: &AckPacket,
        prior_una: u64,
        idle: bool,
        gain: &mut Gain,
        out: &mut impl Output,
    ) {
        if idle {
            if gain.duplicate {
                self.alert(now, ack, prior_una, gain, out);
            }
            self.judge_probe(now, ack, gain, out);
            return;
        }
        self.widen_reordering(gain);
        self.judge_probe(now, ack, gain, out);
        let dubious = self.state != State::Open || gain.sacked || gain.duplicate || gain.ece;
        if dubious || Self::is_duplicate(ack, gain) {
            self.alert(now, ack, prior_una, gain, out);
        }
        if matches!(self.state, State::Recovery | State::Cwr) {
            self.step_down(gain.segments, gain.advanced, self.lost_total > gain.prior_lost);
        }
    }

    /// The ACK tells of nothing new but an arrival (tcp_ack, `num_dupack`).
    fn is_duplicate(ack: &AckPacket, gain: &Gain) -> bool {
        !(gain.advanced || gain.window_update || ack.window == 0 || gain.duplicate)
    }

    /// tcp_fastretrans_alert.
    pub(crate) fn alert(&mut self, now: u64, ack: &AckPacket, prior_una: u64, gain: &mut Gain, out: &mut impl Output) {
        self.restorable &= !gain.ece;
        let reneged = self.board.outstanding() > 0 && self.board.get(self.board.una).flags & SACKED != 0;
        if gain.advanced && reneged && self.linux {
            self.resend = Resend::Hold;
            self.doubt_sacks(now, gain);
            return;
        }
        if self.state == State::Open {
            self.retrans_stamp = 0;
        } else if self.board.una >= self.high_seq {
            match self.state {
                // One window more than the reduction covers: the CWR bit has to reach the receiver.
                State::Cwr if self.board.una > self.high_seq => self.end_reduction(now, out),
                State::Recovery => {
                    let needless = self.end_doubt(now, ack, out);
                    if !needless {
                        self.end_reduction(now, out);
                    }
                }
                _ => {}
            }
        }
        match self.state {
            State::Recovery => {
                if gain.advanced && self.undo_part(now, ack, prior_una, out) {
                    self.resend = Resend::Hold;
                    return;
                }
                if self.undo_by_duplicates(now, out) {
                    self.keep_open();
                }
                self.identify_losses(now, gain);
                if self.state == State::Recovery {
                    self.resend = Resend::Lost;
                    return;
                }
                if self.board.lost > 0 {
                    self.enter_episode(now, gain.ece, out);
                }
            }
            State::Loss => {
                self.repair_loss(now, ack, gain, out);
                let lost_again = self.identify_losses(now, gain);
                if self.state == State::Open || lost_again {
                    self.watch(now, gain, out);
                }
            }
            _ => self.watch(now, gain, out),
        }
    }

    /// Open, Disorder, CWR, and what Loss turned into (tcp_fastretrans_alert, `default`; tcp_try_to_open).
    fn watch(&mut self, now: u64, gain: &mut Gain, out: &mut impl Output) {
        if self.state <= State::Disorder {
            self.undo_by_duplicates(now, out);
        }
        self.identify_losses(now, gain);
        if self.board.lost > 0 {
            self.enter_episode(now, gain.ece, out);
            return;
        }
        if !self.board.any_resent() {
            self.retrans_stamp = 0;
        }
        if gain.ece {
            self.restorable = false;
            if self.state < State::Cwr {
                self.undo_from = None;
                let before = self.cwnd;
                self.begin_reduction(now, Cause::Ecn);
                self.state = State::Cwr;
                self.count.ecn_reductions += 1;
                out.event("ecn", "echo", before, self.target, f64::NAN);
            }
        }
        if self.state != State::Cwr {
            self.keep_open();
        }
    }

    /// tcp_try_keep_open.
    fn keep_open(&mut self) {
        let clean = self.board.sacked == 0 && self.board.lost == 0 && !self.board.any_resent();
        let state = if clean { State::Open } else { State::Disorder };
        if self.state != state {
            self.state = state;
            self.high_seq = self.board.next;
        }
    }

    /// tcp_init_cwnd_reduction.
    fn begin_reduction(&mut self, now: u64, cause: Cause) {
        self.start_reduction();
        self.congestion(now, cause, false, false);
        self.high_seq = self.board.next;
        self.probe_end = None;
        self.cwr_pending = self.stack.ecn != Ecn::Off;
    }

    /// tcp_enter_recovery.
    pub(crate) fn enter_episode(&mut self, now: u64, ece: bool, out: &mut impl Output) {
        let before = self.cwnd;
        self.begin_doubt();
        self.restorable = false;
        if !matches!(self.state, State::Cwr | State::Recovery) {
            self.restorable = !ece;
            self.begin_reduction(now, Cause::Loss);
        }
        if !self.linux && self.pending == Pending::Probe {
            self.return_to_rto(now); // RFC 8985, 7.2: none in recovery; Linux' gives way when the head goes again
        }
        self.state = State::Recovery;
        self.resend = Resend::Lost;
        self.force = !self.leaves_window();
        self.count.recoveries += 1;
        out.event("recovery", "rack", before, self.target, f64::NAN);
    }

    /// The reduction is done (tcp_end_cwnd_reduction).
    fn end_reduction(&mut self, now: u64, out: &mut impl Output) {
        self.state = State::Open;
        self.force = false;
        let before = self.cwnd;
        if !self.leaves_window() {
            self.cwnd = self.target;
        }
        self.tell_end(now);
        out.event("recovered", "", before, self.cwnd, f64::NAN);
    }

    /// tcp_may_undo: every retransmission was reported needless, or the first of them left after what arrived.
    fn may_undo(&self, ack: &AckPacket) -> bool {
        self.undo_from.is_some() && (self.undo_retrans == 0 || self.was_late(ack))
    }

    /// tcp_packet_delayed, Eifel (RFC 3522): what arrived left before the first retransmission.
    fn was_late(&self, ack: &AckPacket) -> bool {
        if self.retrans_stamp == 0 {
            return true; // nothing was sent again so far
        }
        self.stack.timestamps && ack.echo.0 > 0 && ack.echo.0 < self.retrans_stamp
    }

    fn cause_of_undo(&self) -> &'static str {
        if self.undo_retrans == 0 {
            "dsack"
        } else {
            "eifel"
        }
    }

    /// All that was outstanding is acknowledged: was it needless? (tcp_try_undo_recovery.) Answers whether it was.
    fn end_doubt(&mut self, now: u64, ack: &AckPacket, out: &mut impl Output) -> bool {
        let needless = self.may_undo(ack);
        if needless {
            let cause = self.cause_of_undo();
            self.take_back(now, false, cause, out);
        } else {
            self.relax_reordering();
        }
        self.state = State::Open;
        self.frto = false;
        needless
    }

    /// Part of the window came late, by its timestamp: the rest may have, too. While some of it is on its way again nothing
    /// is lost for sure, and nothing goes again; else the reduction is taken back (tcp_try_undo_partial).
    fn undo_part(&mut self, now: u64, ack: &AckPacket, prior_una: u64, out: &mut impl Output) -> bool {
        if self.undo_from.is_none() || !self.was_late(ack) {
            return false;
        }
        self.note_reordering(prior_una);
        if self.board.retrans > 0 {
            return true;
        }
        if !self.board.any_resent() {
            self.retrans_stamp = 0;
        }
        self.take_back(now, true, "eifel", out);
        self.keep_open();
        false
    }

    /// tcp_try_undo_dsack.
    fn undo_by_duplicates(&mut self, now: u64, out: &mut impl Output) -> bool {
        if self.undo_from.is_none() || self.undo_retrans != 0 {
            return false;
        }
        self.prolong_reordering();
        self.take_back(now, false, "dsack", out);
        true
    }

    /// Loss: F-RTO, and whether the repair is done (tcp_process_loss).
    fn repair_loss(&mut self, now: u64, ack: &AckPacket, gain: &Gain, out: &mut impl Output) {
        let repaired = self.board.una >= self.high_seq;
        if gain.advanced && self.may_undo(ack) {
            let cause = self.cause_of_undo();
            self.undo_loss(now, cause, out);
            return;
        }
        if self.frto {
            // RFC 5682, section 3.1, step 3b.
            if gain.original {
                self.undo_loss(now, "f-rto", out);
                return;
            }
            if self.board.next > self.high_seq {
                if gain.sacked || Self::is_duplicate(ack, gain) {
                    self.frto = false; // step 3a: the loss was real
                }
            } else if gain.advanced && !repaired {
                self.high_seq = self.board.next;
                if self.unsent > 0 && self.board.outstanding() < self.peer_window {
                    self.resend = Resend::NewFirst; // step 2b
                    return;
                }
                self.frto = false;
            }
        }
        if repaired {
            if !self.end_doubt(now, ack, out) {
                self.force = false;
                self.tell_end(now);
                out.event("recovered", "", self.cwnd, self.cwnd, f64::NAN);
            }
            return;
        }
        self.resend = Resend::Lost;
    }

    /// tcp_try_undo_loss.
    fn undo_loss(&mut self, now: u64, cause: &'static str, out: &mut impl Output) {
        self.take_back(now, true, cause, out);
        self.timed_out = u64::MAX;
        self.state = State::Open;
        self.frto = false;
    }

    /// The reduction was needless: the window comes back, and what was marked lost is in flight again if the repair itself
    /// was needless (tcp_undo_cwnd_reduction).
    fn take_back(&mut self, now: u64, unmark: bool, cause: &'static str, out: &mut impl Output) {
        let before = self.cwnd;
        if unmark {
            self.board.unlose_all();
        }
        if self.restorable {
            self.before.restore(&mut self.control);
            self.impose(now, Change::Undo, before, 0);
            self.cwnd = self.control_window().max(before);
        }
        self.undo_from = None;
        self.rack_advanced = true;
        self.force = false;
        self.count.undos += 1;
        out.event("undo", cause, before, self.cwnd, f64::NAN);
    }

    /// The tail loss probe is answered: was it needed? (tcp_process_tlp_ack; RFC 8985, section 7.4.2.)
    fn judge_probe(&mut self, now: u64, ack: &AckPacket, gain: &Gain, out: &mut impl Output) {
        let Some(end) = self.probe_end.filter(|&end| ack.ack >= end) else { return };
        if !self.probe_again || gain.probe_duplicate {
            self.probe_end = None; // new data arrived, or both copies
        } else if ack.ack > end {
            // Only one of the two copies arrived: a loss, which costs a reduction.
            let before = self.cwnd;
            self.begin_reduction(now, Cause::Loss);
            self.count.recoveries += 1;
            if !self.leaves_window() {
                self.cwnd = self.target;
            }
            self.state = State::Cwr;
            self.keep_open();
            self.tell_end(now);
            out.event("recovery", "tail-loss-probe", before, self.target, f64::NAN);
        } else if !(gain.advanced || gain.window_update || ack.window == 0 || gain.sacked) {
            self.probe_end = None; // a bare duplicate: both copies arrived
        }
    }
}
