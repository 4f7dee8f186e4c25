//! Entering recovery, the window until the loss is repaired, leaving it, taking it back.

use cwndlab_control::{Cause, Change, Congestion, RecoveryKind};
use cwndlab_units::{Bytes, Time};

use super::{Gain, Sender, State};
use crate::stack::{Prr, Rampdown};
use crate::wire::{AckPacket, Output};

impl Sender {
    /// What this ACK means for the state, detection included.
    #[inline]
    pub(crate) fn react(
        &mut self,
        now: u64,
        ack: &AckPacket,
        prior_una: u64,
        idle: bool,
        gain: &mut Gain,
        out: &mut impl Output,
    ) {
        if self.kind == RecoveryKind::Rack {
            let plain = self.state == State::Open && gain.advanced && ack.blocks.len == 0 && !gain.ece;
            if plain && self.probe_end.is_none() && self.board.sacked == 0 {
                return;
            }
            self.react_by_time(now, ack, prior_una, idle, gain, out);
            return;
        }
        if gain.ece && self.state <= State::Disorder && self.board.una >= self.high_seq {
            self.enter_cwr(now, out);
        }
        if !Self::uses_sack(self.kind) {
            self.react_to_duplicates(now, ack, gain.advanced, prior_una, gain, out);
            return;
        }
        if self.state == State::Open && self.board.sacked == 0 && self.board.lost == 0 && self.undo_from.is_none() {
            return;
        }
        self.react_to_sack(now, ack, gain, out);
    }

    fn react_to_sack(&mut self, now: u64, ack: &AckPacket, gain: &Gain, out: &mut impl Output) {
        if (gain.advanced || gain.duplicate) && self.try_undo(now, ack, gain, out) {
            return;
        }
        if self.state >= State::Cwr && self.board.una >= self.high_seq {
            self.leave(now, out);
        }
        let marked = self.detect(now);
        match self.state {
            State::Open | State::Disorder => {
                if self.board.lost > 0 {
                    self.enter_recovery(now, out);
                } else {
                    self.state = if self.board.sacked > 0 { State::Disorder } else { State::Open };
                }
            }
            State::Cwr if self.board.lost > 0 => self.enter_recovery(now, out),
            State::Loss => self.step_frto(gain.advanced, gain),
            _ => {}
        }
        if matches!(self.state, State::Recovery | State::Cwr) {
            self.step_down(gain.segments, gain.advanced, marked > 0);
        }
    }

    /// Tells the algorithm, and remembers where it wants to go.
    pub(crate) fn congestion(&mut self, now: u64, cause: Cause, restart: bool, repeated: bool) {
        let mss = u64::from(self.mss);
        // FlightSize without what SACK reported; limited transmit sent one segment per SACKed one, so it is excluded too.
        let flight = if Self::uses_sack(self.kind) {
            self.board.outstanding() - self.board.sacked
        } else if self.state == State::Recovery {
            // What left on behalf of duplicates is not in flight: each of them tells of a segment that arrived.
            self.board.outstanding().min(self.target)
        } else {
            self.board.outstanding().saturating_sub(if self.stack.limited_transmit { self.dupacks.min(2) } else { 0 })
        };
        let event = Congestion {
            now: Time(now),
            mss: Bytes(mss),
            cause,
            restart,
            repeated,
            in_flight: Bytes(u64::from(flight) * mss),
            lost: Bytes(u64::from(self.board.lost) * mss),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            round: self.round,
        };
        if self.stack.undo && Self::uses_sack(self.kind) {
            self.before.save(&*self.control, &event);
        }
        self.control.on_congestion(&event);
        self.target = self.control_window();
        if !repeated {
            self.derived_before = self.derived_ssthresh;
            self.derived_ssthresh = if restart { (flight / 2).max(2) } else { self.target };
        }
    }

    pub(crate) fn start_reduction(&mut self) {
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.recover_fs = match self.stack.prr {
            _ if self.linux => self.cwnd, // tcp_init_cwnd_reduction: prior_cwnd
            Prr::Rfc6937 => self.board.outstanding(),
            Prr::Rfc9937 => self.board.outstanding() - self.board.sacked,
        }
        .max(1);
        self.halving_odd = false;
    }

    pub(crate) fn enter_recovery(&mut self, now: u64, out: &mut impl Output) {
        let before = self.cwnd;
        let cause = match self.kind {
            RecoveryKind::Fack => "fack",
            RecoveryKind::Sack => "sack",
            _ => "fast-retransmit",
        };
        self.start_reduction();
        if self.state != State::Cwr {
            self.congestion(now, Cause::Loss, false, false);
        }
        self.state = State::Recovery;
        self.high_seq = self.board.next;
        self.high_rxt = self.board.una;
        self.rescued = false;
        self.force = !self.leaves_window();
        self.begin_doubt();
        self.count.recoveries += 1;
        let at_once = match self.kind {
            RecoveryKind::Sack => self.stack.rampdown != Rampdown::Proportional,
            RecoveryKind::Fack => matches!(self.stack.rampdown, Rampdown::None | Rampdown::InFlight),
            _ => false,
        };
        if at_once && !self.leaves_window() {
            self.cwnd = self.target;
        }
        out.event("recovery", cause, before, self.target, f64::NAN);
    }

    pub(crate) fn enter_cwr(&mut self, now: u64, out: &mut impl Output) {
        let before = self.cwnd;
        self.start_reduction();
        self.congestion(now, Cause::Ecn, false, false);
        self.state = State::Cwr;
        self.high_seq = self.board.next;
        self.cwr_pending = true;
        self.count.ecn_reductions += 1;
        out.event("ecn", "echo", before, self.target, f64::NAN);
    }

    /// The window of this ACK while it falls.
    pub(crate) fn step_down(&mut self, delivered: u32, advanced: bool, marked: bool) {
        if self.leaves_window() {
            return;
        }
        let pipe = self.board.in_flight();
        match self.kind {
            RecoveryKind::Sack if self.stack.rampdown != Rampdown::Proportional => self.cwnd = self.target,
            RecoveryKind::Fack => match self.stack.rampdown {
                Rampdown::None => self.cwnd = self.target,
                Rampdown::InFlight => self.cwnd = self.target.min(pipe + 1),
                Rampdown::RateHalving => self.halve(self.target, pipe),
                Rampdown::RateHalvingToHalf => self.halve((self.target / 2).max(2), pipe),
                Rampdown::Proportional => self.reduce_proportionally(pipe, delivered, advanced, marked),
            },
            _ => self.reduce_proportionally(pipe, delivered, advanced, marked),
        }
    }

    /// Linux 2.6, tcp_cwnd_down: one segment less for every second ACK.
    fn halve(&mut self, floor: u32, pipe: u32) {
        self.halving_odd = !self.halving_odd;
        if !self.halving_odd && self.cwnd > floor {
            self.cwnd -= 1;
        }
        self.cwnd = self.cwnd.min(pipe + 1);
    }

    /// Proportional rate reduction (RFC 9937; RFC 6937 with its slow-start reduction bound).
    fn reduce_proportionally(&mut self, pipe: u32, delivered: u32, advanced: bool, marked: bool) {
        if delivered == 0 && self.linux {
            return; // tcp_cwnd_reduction
        }
        self.prr_delivered += delivered;
        let safe = match self.stack.prr {
            Prr::Rfc6937 => true,
            Prr::Rfc9937 => advanced && !marked,
        };
        let (done, out) = (self.prr_delivered, self.prr_out);
        let allowed = prr_allows(pipe, self.target, self.recover_fs, done, out, delivered, safe);
        let allowed = allowed.max(u32::from(self.prr_out == 0));
        self.cwnd = pipe + allowed;
    }

    /// Everything that was outstanding at the entry is acknowledged.
    pub(crate) fn leave(&mut self, now: u64, out: &mut impl Output) {
        let from = self.state;
        self.state = if self.board.sacked > 0 { State::Disorder } else { State::Open };
        self.relax_reordering();
        self.force = false;
        self.frto = false;
        self.tell_end(now);
        if from == State::Loss || self.leaves_window() {
            out.event("recovered", "", self.cwnd, self.cwnd, f64::NAN);
            return;
        }
        let mut window = self.target;
        if self.kind == RecoveryKind::Fack {
            let halves = matches!(self.stack.rampdown, Rampdown::RateHalving | Rampdown::RateHalvingToHalf);
            window = if halves { window.min(self.cwnd) } else { window };
            if self.stack.exit_burst > 0 {
                window = window.min(self.board.in_flight() + self.stack.exit_burst);
            }
            if window < self.target {
                self.impose(now, Change::Recovered, window.max(1), 0);
            }
        }
        out.event("recovered", "", self.cwnd, window, f64::NAN);
        self.cwnd = window.max(1);
    }

    /// A model-based algorithm hears of the end of a recovery.
    #[inline]
    pub(crate) fn tell_end(&mut self, now: u64) {
        if self.model_based {
            self.impose(now, Change::Recovered, self.cwnd, 0);
        }
    }

    /// After the algorithm spoke: the window outside of a reduction is the algorithm's.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if !matches!(self.state, State::Cwr | State::Recovery) || self.leaves_window() {
            self.cwnd = self.control_window();
        }
    }

    /// From here on a reduction may turn out to be spurious. What is on its way again from a recovery before keeps its stamp:
    /// its ACKs are no sign that nothing was lost now (Linux, tcp_init_undo, tcp_retrans_stamp_cleanup).
    pub(crate) fn begin_doubt(&mut self) {
        self.undo_from = self.stack.undo.then_some(self.board.una);
        // What is on its way again, the probe too, is no proof by its D-SACK; 0 would say that all of it was needless.
        let resent = self.board.retrans + u32::from(self.probe_end.is_some() && self.probe_again);
        self.undo_retrans = if resent > 0 { resent.cast_signed() } else { -1 };
        if !self.board.any_resent() {
            self.retrans_stamp = 0;
        }
    }

    /// Was the reduction spurious? Eifel by timestamps (RFC 3522), D-SACK (RFC 3708), F-RTO (RFC 5682).
    fn try_undo(&mut self, now: u64, ack: &AckPacket, gain: &Gain, out: &mut impl Output) -> bool {
        if !self.stack.undo || self.undo_from.is_none() {
            return false;
        }
        let eifel =
            self.stack.timestamps && self.retrans_stamp > 0 && ack.echo.0 > 0 && ack.echo.0 < self.retrans_stamp;
        // Linux, tcp_try_undo_partial: a part of the window that came late says nothing of the rest while some of it is sent again.
        let partial = self.state == State::Recovery && self.board.una < self.high_seq;
        let eifel = eifel && !(partial && self.board.retrans > 0);
        let frto = self.frto && self.state == State::Loss && gain.original;
        let resent = self.undo_retrans == 0 && self.retrans_stamp > 0 && gain.duplicate;
        if !(eifel || frto || resent) {
            if self.state <= State::Disorder && self.board.una >= self.high_seq + u64::from(self.cwnd) {
                self.undo_from = None; // a window later nobody will complain
            }
            return false;
        }
        let cause = if frto {
            "f-rto"
        } else if eifel {
            "eifel"
        } else {
            "dsack"
        };
        self.undo(now, cause, out);
        true
    }

    fn undo(&mut self, now: u64, cause: &'static str, out: &mut impl Output) {
        let before = self.cwnd;
        self.undo_from = None;
        self.derived_ssthresh = self.derived_before;
        self.count.undos += 1;
        self.before.restore(&mut self.control);
        self.impose(now, Change::Undo, before, 0);
        self.board.unlose_all();
        self.state = if self.board.sacked > 0 { State::Disorder } else { State::Open };
        self.frto = false;
        self.force = false;
        self.cwnd = self.control_window().max(before);
        self.rtt.backoff = 0;
        out.event("undo", cause, before, self.cwnd, f64::NAN);
    }

    /// F-RTO: an ACK that does not advance, or does so with retransmitted data only, ends the doubt (RFC 5682, 2.1).
    fn step_frto(&mut self, advanced: bool, gain: &Gain) {
        if self.frto && (!advanced || !gain.original) {
            self.frto = advanced && self.board.una < self.high_seq && gain.segments <= 1;
        }
    }
}

/// RFC 9937, section 6: how many segments this ACK allows. `safe` adds one below `ssthresh`, as RFC 6937's slow-start
/// reduction bound always does.
fn prr_allows(
    pipe: u32,
    ssthresh: u32,
    recover_fs: u32,
    prr_delivered: u32,
    prr_out: u32,
    delivered: u32,
    safe: bool,
) -> u32 {
    if pipe > ssthresh {
        let share = u64::from(prr_delivered) * u64::from(ssthresh);
        return (share.div_ceil(u64::from(recover_fs)) as u32).saturating_sub(prr_out);
    }
    let limit = prr_delivered.saturating_sub(prr_out).max(delivered) + u32::from(safe);
    limit.min(ssthresh - pipe)
}

#[cfg(test)]
mod tests {
    use super::prr_allows;

    /// `known-answers.csv`: RecoverFS 20, ssthresh 10, 6 delivered, 2 out: ⌈6 · 10/20⌉ − 2 = 1.
    #[test]
    fn prr_sends_its_share_while_the_pipe_is_above_ssthresh() {
        assert_eq!(prr_allows(14, 10, 20, 6, 2, 1, false), 1);
        assert_eq!(prr_allows(11, 10, 20, 20, 0, 1, false), 10);
    }

    /// By hand: pipe 4 below ssthresh 10, 12 delivered, 8 out: 4, and 5 on a safe ACK.
    #[test]
    fn prr_catches_up_below_ssthresh_and_adds_one_on_a_safe_ack() {
        assert_eq!(prr_allows(4, 10, 20, 12, 8, 1, false), 4);
        assert_eq!(prr_allows(4, 10, 20, 12, 8, 1, true), 5);
    }
}
