//! What queues and records know of a connection: its flow of the plan.

use cwndlab_network::dscp::Dscp;
use cwndlab_scenario::plan::{Ecn, FlowPlan};
use cwndlab_units::FlowId;

/// The flow to which a connection belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketOwner {
    pub(crate) flow: FlowId,
    /// Its packets carry ECT(1).
    pub(crate) is_scalable: bool,
    /// Class of its packets.
    pub(crate) dscp: Dscp,
}

impl PacketOwner {
    /// The flow with this plan.
    pub(crate) fn of(flow: FlowId, plan: &FlowPlan) -> Self {
        Self { flow, is_scalable: plan.stack.ecn == Ecn::Accurate, dscp: plan.dscp }
    }
}
