//! The start of a connection, and the packets of the handshake.

use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_scenario::plan::{Ecn, FlowPlan};
use cwndlab_transport::accecn::Codepoint;
use cwndlab_transport::accecn_handshake::Answer;
use cwndlab_transport::wire::Output;
use cwndlab_units::{Duration, Time};

use super::Connection;
use crate::packet_sink::{feedback, PacketSink};

impl Connection {
    /// Opens the connection with a SYN.
    pub(crate) fn open(&mut self, now: Time, network: &mut Network) {
        let mut sink = sink!(self, network, now);
        self.sender.open(now, &mut sink);
        self.source.start();
    }

    /// Opens one direction of a connection of QUIC.
    pub(crate) fn open_quic(&mut self, now: Time, network: &mut Network) {
        let window = self.receiver.first_window();
        let mut sink = sink!(self, network, now);
        self.sender.open_without_syn(now, window, &mut sink);
        self.source.start();
    }

    /// Number of the SYN-ACKs of this connection, and the RTT that its receiver measured in the handshake.
    pub(crate) fn syn_acks(&self) -> (u32, Duration) {
        (self.answers.number, self.receiver.handshake_rtt())
    }

    /// Accepts the connection that the other direction opened, after so many SYN-ACKs, with this RTT of the handshake.
    pub(crate) fn accept(&mut self, (number, rtt): (u32, Duration), now: Time, network: &mut Network) {
        let window = self.receiver.first_window();
        let mut sink = sink!(self, network, now);
        self.sender.accept(number, rtt, now, window, &mut sink);
    }

    /// The SYN at the receiver, which answers it. Accurate ECN is negotiated by the packets that arrive; other forms of ECN
    /// are not.
    pub(super) fn deliver_syn(&mut self, now: Time, packet: &Packet, network: &mut Network, plan: &FlowPlan) {
        self.answers.number += 1;
        let (mut flags, mut option) = (0, false);
        if plan.stack.ecn == Ecn::AccEcn {
            // A RST answers only a client that requests classic ECN too, which no sender here does.
            if let Answer::SynAck { flags: answer, option: with_option } =
                self.answers.ecn.on_syn(packet.accecn_flags(), packet.codepoint(plan.stack.ect1))
            {
                (flags, option) = (answer, with_option && plan.stack.accecn_option);
            }
            if self.answers.ecn.mode() == Some(Ecn::Off) {
                self.receiver.turn_accecn_off();
            }
            self.format.acks_are_ecn_capable &= self.answers.ecn.may_send_ect();
        }
        sink!(self, network, now).syn_ack(packet.options(), packet.timestamp, flags, option);
    }

    /// The SYN-ACK at the sender.
    pub(super) fn deliver_syn_ack(&mut self, now: Time, packet: &Packet, network: &mut Network, plan: &FlowPlan) {
        if let Some(header) = packet.options() {
            network.answer_at_sender(now, self.id, header);
        }
        let request = packet.options().map(|header| network.options.take_segment(header));
        let feedback = request.and_then(|request| feedback(&request, plan));
        self.receiver.on_established(now - packet.timestamp);
        let mut sink = sink!(self, network, now);
        if request.is_some() && feedback.is_none() {
            let cwnd = self.sender.cwnd();
            sink.event("fallback", "a router has no agent", cwnd, cwnd, f64::NAN);
        }
        let sent = if plan.stack.ect1 { Codepoint::Ect1 } else { Codepoint::NotEct };
        self.sender.on_syn_ack_flags(packet.accecn_flags(), sent, &mut sink);
        let window = self.receiver.first_window();
        self.sender.on_syn_ack(now, Some(packet.echo_of_syn(now)), window, feedback, &mut sink);
        self.record_values(now);
    }
}
