//! The packets of the handshake.

use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_scenario::plan::{Ecn, FlowPlan, PeerEcn};
use cwndlab_transport::accecn::{client_mode, syn_ack_flags, Codepoint};
use cwndlab_transport::wire::Output;
use cwndlab_units::{Duration, Time};

use super::Connection;
use crate::packet_sink::{feedback, PacketSink};

impl Connection {
    /// The SYN at the receiver, which answers it. Requests for Accurate ECN say how the SYN arrived; other forms of ECN are
    /// not negotiated packet by packet.
    pub(super) fn deliver_syn(&mut self, now: Time, packet: &Packet, network: &mut Network, plan: &FlowPlan) {
        self.syn_acks = (now, self.syn_acks.1 + 1);
        let flags = match packet.accecn_flags() {
            0 => 0,
            flags => syn_ack_flags(flags, packet.codepoint(plan.stack.ect1), PeerEcn::Accurate),
        };
        sink!(self, network, now).syn_ack(packet.options(), flags);
    }

    /// The SYN-ACK at the sender.
    pub(super) fn deliver_syn_ack(&mut self, now: Time, packet: &Packet, network: &mut Network, plan: &FlowPlan) {
        let request = packet.options().map(|header| network.options.take_header(header));
        let feedback = request.and_then(|request| feedback(&request, plan));
        self.receiver.on_established(now - packet.timestamp);
        let mut sink = sink!(self, network, now);
        if request.is_some() && feedback.is_none() {
            let cwnd = self.sender.cwnd();
            sink.event("fallback", "a router has no agent", cwnd, cwnd, f64::NAN);
        }
        if let (Ecn::AccEcn, Some(arrived)) = client_mode(packet.accecn_flags()) {
            let sent = if plan.stack.ect1 { Codepoint::Ect1 } else { Codepoint::NotEct };
            self.sender.on_syn_codepoint(sent, arrived, &mut sink);
        }
        self.sender.on_syn_ack(now, self.receiver.first_window(), feedback, &mut sink);
        self.record_values(now);
    }
}
