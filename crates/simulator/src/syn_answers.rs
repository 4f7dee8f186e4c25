//! The handshake of a connection at its receiver, which answers SYNs.

use cwndlab_scenario::plan::FlowPlan;
use cwndlab_transport::accecn_handshake::ServerHandshake;

/// The handshake of a connection at its receiver.
#[derive(Debug)]
pub(crate) struct SynAnswers {
    /// Number of SYN-ACKs.
    pub(crate) number: u32,
    /// The negotiation of Accurate ECN.
    pub(crate) ecn: ServerHandshake,
}

impl SynAnswers {
    /// The state before the first SYN.
    pub(crate) fn new(plan: &FlowPlan) -> Self {
        Self { number: 0, ecn: ServerHandshake::new(plan.stack.peer_ecn) }
    }
}
