//! Reno: fast retransmit and fast recovery; the first ACK of new data ends the recovery.
//!
//! Source: RFC 2581, section 3.2.

use cwndlab_units::Time;

use super::dupack_based::{self, DupackBased};
use super::strategy::LossRecovery;
use crate::ack_summary::AckSummary;
use crate::tcb::Tcb;
use crate::wire::Output;

/// Reno's recovery.
#[derive(Debug)]
pub(crate) struct Reno;

impl DupackBased for Reno {
    fn enter(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        dupack_based::enter_fast_recovery(tcb, now, out);
    }
}

impl LossRecovery for Reno {
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        dupack_based::on_ack(self, tcb, now, summary, out);
    }

    fn allows_fast_path(&self, tcb: &Tcb) -> bool {
        tcb.dupacks.is_clear()
    }
}
