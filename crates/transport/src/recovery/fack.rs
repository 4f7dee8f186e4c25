//! FACK: a segment is lost when the highest SACKed segment is more than three above it; rate halving reduces the
//! window.
//!
//! Source: M. Mathis and J. Mahdavi, "Forward acknowledgement: refining TCP congestion control", SIGCOMM 1996,
//! doi:10.1145/248156.248181; Linux 2.6, tcp_mark_lost_retrans and tcp_cwnd_down.

use cwndlab_control::Change;
use cwndlab_units::Time;

use super::sack_based::{self, SackBased};
use super::strategy::LossRecovery;
use crate::ack_summary::AckSummary;
use crate::stack::Rampdown;
use crate::tcb::Tcb;
use crate::wire::Output;

/// FACK's recovery.
#[derive(Debug, Default)]
pub(crate) struct Fack {
    /// Rate halving: every second ACK reduces the window.
    odd_ack: bool,
}

impl Fack {
    /// Linux 2.6, tcp_cwnd_down: every second ACK reduces the window by one segment.
    fn halve(&mut self, tcb: &mut Tcb, floor: u32) {
        self.odd_ack = !self.odd_ack;
        if !self.odd_ack && tcb.cwnd > floor {
            tcb.cwnd -= 1;
        }
        tcb.cwnd = tcb.cwnd.min(tcb.scoreboard.in_flight() + 1);
    }
}

impl SackBased for Fack {
    const CAUSE: &'static str = "fack";

    fn mark_lost(&self, tcb: &mut Tcb) -> u32 {
        let board = &mut tcb.scoreboard;
        let limit = board.fack_limit(tcb.stack.dup_thresh);
        let fack = board.fack();
        // A retransmission is lost if data sent after it was delivered (Linux 2.6, tcp_mark_lost_retrans).
        board.mark_below(limit) + board.mark_retransmitted_while(|one| fack > one.next)
    }

    fn on_reduction_start(&mut self) {
        self.odd_ack = false;
    }

    fn reduces_at_once(&self, tcb: &Tcb) -> bool {
        matches!(tcb.stack.rampdown, Rampdown::None | Rampdown::InFlight)
    }

    fn reduce(&mut self, tcb: &mut Tcb, summary: &AckSummary, marked: bool) {
        match tcb.stack.rampdown {
            Rampdown::None => tcb.cwnd = tcb.ssthresh,
            Rampdown::InFlight => tcb.cwnd = tcb.ssthresh.min(tcb.scoreboard.in_flight() + 1),
            Rampdown::RateHalving => self.halve(tcb, tcb.ssthresh),
            Rampdown::RateHalvingToHalf => self.halve(tcb, (tcb.ssthresh / 2).max(2)),
            Rampdown::Proportional => tcb.reduce_proportionally(summary.rate.segments, summary.advanced, marked),
        }
    }

    fn exit_window(&self, tcb: &mut Tcb, now: Time) -> u32 {
        let halves = matches!(tcb.stack.rampdown, Rampdown::RateHalving | Rampdown::RateHalvingToHalf);
        let mut window = if halves { tcb.ssthresh.min(tcb.cwnd) } else { tcb.ssthresh };
        if tcb.stack.exit_burst > 0 {
            window = window.min(tcb.scoreboard.in_flight() + tcb.stack.exit_burst);
        }
        if window < tcb.ssthresh {
            tcb.notify_window(now, Change::Recovered, window.max(1));
        }
        window
    }
}

impl LossRecovery for Fack {
    #[inline]
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        sack_based::on_ack(self, tcb, now, summary, out);
    }

    fn allows_fast_path(&self, tcb: &Tcb) -> bool {
        tcb.undo.marker.is_none()
    }
}
