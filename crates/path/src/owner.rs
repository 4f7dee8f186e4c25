//! What queues and records know of a connection: its flow of the plan.

use cwndlab_network::aqm::{Codepoint, QueuedPacket};
use cwndlab_network::dscp::Dscp;
use cwndlab_scenario::plan::{Ecn, FlowPlan};
use cwndlab_units::{FlowId, Time};

use crate::packet::{Packet, CE, ECN};

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
        let is_scalable = plan.stack.ecn == Ecn::Accurate || plan.stack.ect1 || plan.workload.is_scalable();
        Self { flow, is_scalable, dscp: plan.dscp }
    }

    /// A packet of the flow as a queue has it, which it enters at `now`.
    pub(crate) fn queued(self, now: Time, packet: Packet) -> QueuedPacket<Packet> {
        let changed = packet.flags & ECN == CE;
        let ecn = match packet.is_ecn_capable() {
            true if self.is_scalable != changed => Codepoint::Scalable,
            true => Codepoint::Classic,
            false => Codepoint::NotCapable,
        };
        QueuedPacket {
            since: now,
            size: u32::from(packet.size),
            flow: u64::from(packet.tag.0) << 1 | u64::from(packet.is_forward()),
            ecn,
            dscp: self.dscp,
            marked: false,
            packet,
        }
    }
}
