//! Loss recovery: loss detection, retransmission and window reduction. One file per kind; only the constructor selects
//! by [`RecoveryKind`].

mod dupack_based;
mod enter_loss;
mod fack;
mod newreno;
mod rack;
mod reduction;
mod reno;
mod sack;
mod sack_based;
mod strategy;
mod tahoe;

use cwndlab_control::RecoveryKind;
use cwndlab_units::Time;

use self::fack::Fack;
use self::newreno::NewReno;
use self::rack::RackTlp;
use self::reno::Reno;
use self::sack::Sack;
pub(crate) use self::strategy::LossRecovery;
use self::tahoe::Tahoe;
use crate::ack_summary::AckSummary;
use crate::stack::{Rules, Stack};
use crate::tcb::{Features, Tcb};
use crate::wire::Output;

/// Whether this kind of recovery evaluates SACK blocks. If not, SACK stays unused even if it is negotiated.
#[must_use]
pub fn uses_sack(kind: RecoveryKind) -> bool {
    Recovery::new(kind).uses_sack()
}

/// The recovery of a connection on which SACK is negotiated or not. Without SACK, the kinds that evaluate SACK blocks
/// cannot detect losses, and NewReno takes their place (RFC 6582, section 1; RFC 8985, section 3.1). Under Linux' rules
/// the states and the undo of RACK remain, and duplicate ACKs detect the losses (tcp_identify_packet_loss).
#[must_use]
pub fn with_negotiated_sack(kind: RecoveryKind, sack: bool, rules: Rules) -> RecoveryKind {
    let counts_duplicates = kind == RecoveryKind::Rack && rules == Rules::Linux;
    if uses_sack(kind) && !sack && !counts_duplicates {
        RecoveryKind::NewReno
    } else {
        kind
    }
}

/// The loss recovery of a sender. An enum instead of a trait object: it costs one predictable jump per ACK, and its
/// methods are inlined.
#[derive(Debug)]
pub(crate) enum Recovery {
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
    Fack(Fack),
    Rack(RackTlp),
}

/// Calls a method of the selected recovery.
macro_rules! delegate {
    ($recovery:expr, $method:ident($($argument:expr),*)) => {
        match $recovery {
            Recovery::Tahoe(one) => one.$method($($argument),*),
            Recovery::Reno(one) => one.$method($($argument),*),
            Recovery::NewReno(one) => one.$method($($argument),*),
            Recovery::Sack(one) => one.$method($($argument),*),
            Recovery::Fack(one) => one.$method($($argument),*),
            Recovery::Rack(one) => one.$method($($argument),*),
        }
    };
}

impl Recovery {
    /// The recovery of this kind.
    pub(crate) fn new(kind: RecoveryKind) -> Self {
        match kind {
            RecoveryKind::Tahoe => Self::Tahoe(Tahoe),
            RecoveryKind::Reno => Self::Reno(Reno),
            RecoveryKind::NewReno => Self::NewReno(NewReno::default()),
            RecoveryKind::Sack => Self::Sack(Sack::default()),
            RecoveryKind::Fack => Self::Fack(Fack::default()),
            RecoveryKind::Rack => Self::Rack(RackTlp),
        }
    }

    /// The features that it requires of the sender with this stack.
    pub(crate) fn features(&self, stack: &Stack) -> Features {
        let time_based = matches!(self, Self::Rack(_));
        let linux = time_based && stack.rules == Rules::Linux;
        Features { sack: self.uses_sack() && stack.sack, time_based, linux }
    }

    fn uses_sack(&self) -> bool {
        matches!(self, Self::Sack(_) | Self::Fack(_) | Self::Rack(_))
    }
}

impl LossRecovery for Recovery {
    #[inline]
    fn on_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        delegate!(self, on_ack(tcb, now, summary, out));
    }

    fn allows_fast_path(&self, tcb: &Tcb) -> bool {
        delegate!(self, allows_fast_path(tcb))
    }

    fn on_old_ack(&mut self, tcb: &mut Tcb, now: Time, summary: &mut AckSummary, out: &mut impl Output) {
        delegate!(self, on_old_ack(tcb, now, summary, out));
    }

    fn on_reordering_timer(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        delegate!(self, on_reordering_timer(tcb, now, out));
    }

    fn on_timeout(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        delegate!(self, on_timeout(tcb, now, out));
    }

    fn on_retransmit(&mut self, seq: u64) {
        delegate!(self, on_retransmit(seq));
    }

    fn next_hole(&mut self, tcb: &mut Tcb) -> Option<u64> {
        delegate!(self, next_hole(tcb))
    }

    fn restarts_rto(&mut self) -> bool {
        delegate!(self, restarts_rto())
    }

    fn holds_rto(&self) -> bool {
        delegate!(self, holds_rto())
    }
}
