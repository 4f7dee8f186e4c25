//! Recovery without SACK: Tahoe, Reno and NewReno count duplicate ACKs.

use cwndlab_control::{Cause, Change, RecoveryKind};

use super::{Gain, Sender, State};
use crate::wire::{AckPacket, Output};

impl Sender {
    pub(crate) fn react_to_duplicates(
        &mut self,
        now: u64,
        ack: &AckPacket,
        advanced: bool,
        prior_una: u64,
        gain: &mut Gain,
        out: &mut impl Output,
    ) {
        if !advanced {
            if self.board.outstanding() > 0 && ack.ack == self.board.una {
                self.on_duplicate(now, out);
            }
            return;
        }
        let acked = (ack.ack - prior_una) as u32;
        // What duplicates told of has been delivered before: it does not count twice (Linux, tcp_add_reno_sack).
        let known = self.delivered_before.min(acked - 1);
        self.delivered_before -= known;
        gain.bytes = gain.bytes.saturating_sub(u64::from(known) * u64::from(self.mss)).max(1);
        let full = self.board.una >= self.high_seq;
        match self.state {
            State::Recovery if self.kind == RecoveryKind::NewReno && !full => self.on_partial(acked),
            State::Recovery => self.finish_fast_recovery(now, full, out),
            State::Loss | State::Cwr if full => self.leave(now, out),
            State::Cwr => self.step_down(acked, true, false),
            _ => {}
        }
        if self.state != State::Recovery {
            self.dupacks = 0;
        }
        if self.state == State::Open {
            self.delivered_before = 0;
        }
    }

    fn on_duplicate(&mut self, now: u64, out: &mut impl Output) {
        self.dupacks += 1;
        self.delivered_before = (self.delivered_before + 1).min(self.board.outstanding() - 1);
        if self.state == State::Recovery {
            self.cwnd += 1; // RFC 5681, section 3.2, step 4: the segment that caused it has left
        } else if self.dupacks == self.stack.dup_thresh && self.is_news() && self.state != State::Loss {
            self.fast_retransmit(now, out);
        } else if self.state == State::Cwr {
            self.step_down(1, false, false);
        }
    }

    /// RFC 6582, section 3.2, step 2: the ACK covers more than `recover`, so these duplicates are not the echo of
    /// what was sent again without need.
    fn is_news(&self) -> bool {
        self.high_seq == 0 || self.board.una > self.high_seq
    }

    fn fast_retransmit(&mut self, now: u64, out: &mut impl Output) {
        let before = self.cwnd;
        self.count.recoveries += 1;
        self.retrans_stamp = 0;
        self.lost_total += 1;
        if self.kind == RecoveryKind::Tahoe {
            self.congestion(now, Cause::Loss, true, false);
            self.high_seq = self.board.next;
            self.board.lose_all(|_| false);
            self.state = State::Loss;
            self.cwnd = self.target;
            self.dupacks = 0;
        } else {
            self.congestion(now, Cause::Loss, false, false);
            self.high_seq = self.board.next;
            let head = self.board.una;
            self.board.mark_lost(head);
            self.state = State::Recovery;
            self.partial_seen = false;
            self.cwnd = self.target + self.stack.dup_thresh; // step 3: ssthresh + 3
        }
        self.force = true;
        out.event("recovery", "fast-retransmit", before, self.target, f64::NAN);
    }

    /// RFC 6582, section 3.2, step 3, partial acknowledgement.
    fn on_partial(&mut self, acked: u32) {
        self.cwnd = self.cwnd.saturating_sub(acked).max(1) + 1;
        let head = self.board.una;
        if self.board.outstanding() > 0 {
            self.board.mark_lost(head);
            self.lost_total += 1;
            self.force = true;
        }
    }

    fn finish_fast_recovery(&mut self, now: u64, full: bool, out: &mut impl Output) {
        self.state = State::Open;
        self.force = false;
        let mut window = self.target;
        if self.kind == RecoveryKind::NewReno && full {
            // RFC 6582, section 3.2, step 3, full acknowledgement, option (1).
            window = window.min(self.board.in_flight().max(1) + 1);
            if window < self.target {
                self.impose(now, Change::Recovered, window, 0);
            }
        }
        self.tell_end(now);
        out.event("recovered", "", self.cwnd, window, f64::NAN);
        self.cwnd = window;
    }
}
