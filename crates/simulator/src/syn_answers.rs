//! The handshake of a connection at its receiver, which answers SYNs.

use cwndlab_scenario::plan::FlowPlan;
use cwndlab_transport::accecn_handshake::ServerHandshake;
use cwndlab_units::Time;

/// The handshake of a connection at its receiver.
#[derive(Debug)]
pub(crate) struct SynAnswers {
    /// Time of the last SYN-ACK.
    pub(crate) last: Time,
    /// Number of SYN-ACKs.
    pub(crate) number: u32,
    /// The negotiation of Accurate ECN.
    pub(crate) ecn: ServerHandshake,
}

impl SynAnswers {
    /// The state before the first SYN.
    pub(crate) fn new(plan: &FlowPlan) -> Self {
        Self { last: Time::ZERO, number: 0, ecn: ServerHandshake::new(plan.stack.peer_ecn) }
    }
}
