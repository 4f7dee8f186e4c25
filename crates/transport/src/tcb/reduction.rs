//! Congestion events: the report to the algorithm, and the reduction that follows.

use cwndlab_control::{Cause, Change, Congestion, EventKind, Phase, Reason};
use cwndlab_units::{CaState, Time};

use super::Tcb;
use crate::stack::Prr as PrrVersion;
use crate::wire::Output;

impl Tcb {
    /// Reports congestion to the algorithm and sets `ssthresh` to its new window. Records the end of a slow start,
    /// unless the window restarts at one segment (`restart`), in slow start again. `repeated`: the window of data has its
    /// reduction already, as where the timer expires again for the same segment.
    pub(crate) fn on_congestion(
        &mut self,
        now: Time,
        cause: Cause,
        restart: bool,
        repeated: bool,
        out: &mut impl Output,
    ) {
        let before = self.cwnd;
        let ends_slow_start = !restart && !repeated && self.is_in_slow_start();
        let flight = self.flight_at_congestion();
        let event = Congestion {
            now,
            mss: self.stack.mss,
            cause,
            restart,
            repeated,
            in_flight: self.controller.bytes(flight),
            lost: self.controller.bytes(self.scoreboard.lost),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            round: self.rate.round(),
        };
        self.ssthresh = self.controller.on_congestion(&event, flight, self.stack.undo && self.features.knows_pipe());
        if ends_slow_start {
            let cause = if cause == Cause::Ecn { "ecn" } else { Reason::Loss.name() };
            out.event(EventKind::SlowStartExit.name(), cause, before, self.ssthresh, f64::NAN);
        }
    }

    /// Whether the window is in slow start. A window that follows a model of the path is in none.
    fn is_in_slow_start(&self) -> bool {
        let phase = self.controller.algorithm().state(None).phase;
        let excluded = self.controller.is_model_based() || phase.follows_model() || phase == Phase::CongestionAvoidance;
        !excluded && self.is_below_ssthresh(1)
    }

    /// FlightSize without the segments sent by limited transmit (RFC 5681, section 3.2, step 2): those beyond the
    /// window, one for each segment that a SACK or one of the first two duplicate ACKs reported.
    fn flight_at_congestion(&self) -> u32 {
        let flight_size = self.scoreboard.flight_size();
        let beyond = flight_size.saturating_sub(self.cwnd);
        if self.features.knows_pipe() {
            flight_size - self.scoreboard.sacked.min(beyond)
        } else if self.state == CaState::Recovery {
            // Each duplicate ACK that allowed a segment also reported a delivered one.
            flight_size.min(self.ssthresh)
        } else if self.stack.limited_transmit {
            flight_size - self.dupacks.limited_transmit().min(beyond)
        } else {
            flight_size
        }
    }

    /// Starts proportional rate reduction with an ACK that newly delivers so many segments, which count as delivered in the
    /// reduction (RFC 9937, section 6: `RecoverFS` includes them).
    pub(crate) fn start_prr(&mut self, delivered: u32) {
        self.prr.start(match self.stack.prr {
            _ if self.features.linux => self.cwnd, // tcp_init_cwnd_reduction: prior_cwnd
            PrrVersion::Rfc6937 => self.scoreboard.flight_size(),
            PrrVersion::Rfc9937 => self.scoreboard.flight_size() - self.scoreboard.sacked + delivered,
        });
    }

    /// Updates the window after an ACK during proportional rate reduction. `marked`: segments were marked lost because
    /// of this ACK.
    pub(crate) fn reduce_proportionally(&mut self, delivered: u32, advanced: bool, marked: bool) {
        if delivered == 0 && self.features.linux {
            return; // tcp_cwnd_reduction
        }
        let safe = match self.stack.prr {
            PrrVersion::Rfc6937 => true,
            PrrVersion::Rfc9937 => advanced && !marked,
        };
        self.cwnd = self.prr.cwnd(self.scoreboard.in_flight(), self.ssthresh, delivered, safe);
    }

    /// Notifies the algorithm of a window set by the transport.
    pub(crate) fn notify_window(&mut self, now: Time, change: Change, cwnd: u32) {
        self.controller.notify_window(now, change, cwnd);
    }

    /// Notifies a model-based algorithm of the end of a recovery.
    #[inline]
    pub(crate) fn notify_recovered(&mut self, now: Time) {
        if self.controller.is_model_based() {
            self.notify_window(now, Change::Recovered, self.cwnd);
        }
    }

    /// Starts the undo state of a reduction. Keeps the time of outstanding retransmissions from an earlier recovery,
    /// because their ACKs do not prove a spurious reduction (Linux, tcp_init_undo, tcp_retrans_stamp_cleanup).
    pub(crate) fn init_undo(&mut self) {
        let marker = self.stack.undo.then_some(self.scoreboard.una);
        let outstanding = self.scoreboard.retrans + u32::from(self.timers.tlp_copy_outstanding());
        self.undo.init(marker, outstanding);
        if !self.scoreboard.any_retrans_done() {
            self.undo.clear_retrans_stamp();
        }
    }
}
