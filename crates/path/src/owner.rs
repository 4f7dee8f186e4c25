//! What queues and records know of a connection: its flow of the plan.

use cwndlab_network::aqm::{Codepoint, QueuedPacket};
use cwndlab_network::dscp::Dscp;
use cwndlab_scenario::plan::{Ecn, FlowPlan};
use cwndlab_units::{FlowId, Time};

use crate::packet::{Packet, ECN, ECT};

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
        let ecn = match packet.flags & ECN {
            0 => Codepoint::NotCapable,
            ECN => Codepoint::Ce,
            field if (field == ECT) == self.is_scalable => Codepoint::Scalable,
            _ => Codepoint::Classic,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CE;

    /// A queue sees the ECN field alone (RFC 3168, section 5): after a mark nobody knows which ECT the sender set.
    #[test]
    fn a_marked_packet_has_the_codepoint_ce_for_every_sender() {
        for (is_scalable, own, other) in
            [(false, Codepoint::Classic, Codepoint::Scalable), (true, Codepoint::Scalable, Codepoint::Classic)]
        {
            let owner = PacketOwner { flow: 0.into(), is_scalable, dscp: Dscp::default() };
            let of = |flags| owner.queued(Time::ZERO, Packet { flags, ..Packet::default() }).ecn;
            assert_eq!([0, ECT, CE, ECN].map(of), [Codepoint::NotCapable, own, other, Codepoint::Ce]);
        }
    }
}
