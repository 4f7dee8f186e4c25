//! Converts the segments and ACKs of a connection to packets, and sends them over the network.

use cwndlab_control::Feedback;
use cwndlab_network::router_assist::{Header, Scheme};
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::{Ecn, FlowPlan, Stack};
use cwndlab_transport::accecn_handshake::syn_flags;
use cwndlab_transport::accecn_option::SYN_ACK_OPTION_SIZE;
use cwndlab_transport::receiver::Receiver;
use cwndlab_transport::rtt::Estimate;
use cwndlab_transport::wire::{AckPacket, Data, Output, PlainAck};
use cwndlab_units::{Bytes, ConnectionId, Duration, Rate, Time};

use cwndlab_path::network::Network;
use cwndlab_path::packet::{accecn_flags, Packet, Tag, ECT, SYN};
use cwndlab_path::packet_options::{AckOptions, SegmentOptions};

/// The fields of packets that all packets of a connection share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireFormat {
    /// The connection and its number.
    pub(crate) tag: Tag,
    /// Header bytes of a data packet.
    pub(crate) header: u32,
    /// Size of an ACK without SACK blocks, bytes.
    ack_size: u32,
    /// Size of a SACK block, bytes.
    block_size: u32,
    /// Payload of a full segment, bytes.
    mss: u32,
    /// Window scale: right shift of the window of an ACK, bits.
    pub(crate) window_shift: u8,
    /// Every ACK has options: of ECN, or for routers.
    acks_have_options: bool,
    /// The connection requests Accurate ECN.
    requests_accecn: bool,
    /// Its SYNs are ECN-capable.
    syns_are_ecn_capable: bool,
    /// Its ACKs are ECN-capable.
    pub(crate) acks_are_ecn_capable: bool,
    /// The request of packets to routers: the scheme, and the rate in bit/s.
    pub(crate) request: Option<(Scheme, f64)>,
}

impl WireFormat {
    /// The packet format of a connection with this identity, stack and request to routers.
    pub(crate) fn new(id: ConnectionId, stack: &Stack, request: Option<(Scheme, f64)>) -> Self {
        Self {
            tag: Tag::new(id, 0),
            header: stack.header.0 as u32,
            ack_size: stack.ack.0 as u32,
            block_size: stack.sack_block.0 as u32,
            mss: stack.mss.0 as u32,
            window_shift: stack.window_shift() as u8,
            acks_have_options: stack.ecn != Ecn::Off || request.is_some(),
            requests_accecn: stack.ecn == Ecn::AccEcn,
            syns_are_ecn_capable: stack.ect1,
            acks_are_ecn_capable: stack.ecn == Ecn::AccEcn && stack.ecn_acks,
            request,
        }
    }

    /// The flags of a SYN after this number of retransmissions. A SYN that no longer requests Accurate ECN is not ECN-capable
    /// either (RFC 9768, section 3.1.4.1).
    fn syn_flags(&self, retransmissions: u32) -> u8 {
        let request = if self.requests_accecn { syn_flags(retransmissions) } else { 0 };
        accecn_flags(request) | if self.syns_are_ecn_capable && request != 0 { ECT } else { 0 }
    }

    /// Sets the connection's number.
    pub(crate) fn set_number(&mut self, number: u32) {
        self.tag = Tag::new(self.tag.connection(), number);
    }
}

/// The output of the sender and the receiver of a connection.
pub(crate) struct PacketSink<'a> {
    /// The network.
    pub(crate) network: &'a mut Network,
    /// The current time.
    pub(crate) now: Time,
    pub(crate) format: &'a WireFormat,
    /// The sender's smoothed RTT, if there is a request.
    pub(crate) srtt: Duration,
}

impl PacketSink<'_> {
    /// The router header of a packet.
    fn new_header(&self, scheme: Scheme, rate: f64) -> Header {
        let mut header = Header::new(scheme, rate, self.srtt);
        if scheme.is_returned() {
            if let Some(last) = self.network.options.returned.get(&self.format.tag.connection()) {
                header.shares = last.shares;
            }
        }
        header
    }

    /// Stores the router header of a packet; returns its index.
    #[cold]
    fn router_header(&mut self, scheme: Scheme, rate: f64, len: u32) -> u32 {
        let header = Some(self.new_header(scheme, rate));
        self.network.options.store_segment(SegmentOptions { header, len, ack: None })
    }

    /// Sends a data segment with an ACK of the other direction.
    fn data_with_ack(&mut self, segment: &Data, ack: Packet) {
        let header = self.format.request.map(|(scheme, rate)| self.new_header(scheme, rate));
        let options = SegmentOptions { header, len: segment.len, ack: Some(ack) };
        let index = self.network.options.store_segment(options);
        let size = (segment.len + self.format.header) as u16;
        self.network.forward(self.now, Packet::data(self.format.tag, segment, size).with_options(index));
    }

    /// Stores a copy of the last received router header for its return; returns its index.
    #[cold]
    fn echo_header(&mut self) -> Option<u32> {
        let header = self.network.options.returned.get(&self.format.tag.connection())?.echo;
        header.map(|_| self.network.options.store_segment(SegmentOptions { header, len: 0, ack: None }))
    }

    /// Stores the options of an ACK; returns their index.
    #[cold]
    fn ack_options(&mut self, ack: &AckPacket) -> u32 {
        let is_returned = self.format.request.is_some_and(|(scheme, _)| scheme.is_returned());
        let header = is_returned.then(|| self.echo_header()).flatten();
        self.network.options.store_ack(AckOptions {
            header,
            part: ack.part,
            blocks: ack.blocks,
            window: ack.window.0,
            ce_count: ack.ce_count,
            accecn: ack.accecn,
            feedback: ack.feedback,
        })
    }

    /// Sends an ACK of a connection whose ACKs all have options.
    #[cold]
    fn ack_with_options(&mut self, ack: PlainAck) {
        self.ack(&ack.into());
    }

    /// Sends a SYN-ACK with the router header of the SYN and the echo of its timestamp, these flags of Accurate ECN, and its
    /// option if `option`.
    pub(crate) fn syn_ack(&mut self, header: Option<u32>, echo: Time, flags: u8, option: bool) {
        let size = self.format.ack_size + if option { SYN_ACK_OPTION_SIZE } else { 0 };
        let packet = Packet::syn_ack(accecn_flags(flags), self.format.tag, self.now, echo, size as u16);
        self.network.forward(self.now, header.map_or(packet, |index| packet.with_options(index)));
    }
}

/// The feedback of all routers on the path; `None` if one of them has no agent. The rates of some schemes include
/// headers; they are converted to payload rates.
pub(crate) fn feedback(request: &SegmentOptions, plan: &FlowPlan) -> Option<Feedback> {
    let header = request.header.as_ref()?;
    let mss = plan.stack.mss.0 as f64;
    let above = plan.stack.header.0 as f64;
    let payload = if header.scheme.counts_headers() { mss / (mss + above) } else { 1.0 };
    (header.routers >= plan.routers).then(|| Feedback {
        rate: Rate((header.rate * payload).clamp(0.0, MAX_BPS) as u64),
        accelerated: Bytes(if header.accelerate { u64::from(request.len) } else { 0 }),
    })
}

/// Maximum rate in a feedback, bit/s; stands for an unlimited rate.
const MAX_BPS: f64 = 1e15;

impl Output for PacketSink<'_> {
    #[allow(clippy::inline_always)] // called for each segment of a burst: common values stay in registers
    #[inline(always)]
    fn data(&mut self, segment: &Data) {
        let mut packet = Packet::data(self.format.tag, segment, (segment.len + self.format.header) as u16);
        if let Some((scheme, rate)) = self.format.request {
            packet = packet.with_options(self.router_header(scheme, rate, segment.len));
        }
        self.network.forward(self.now, packet);
    }

    #[allow(clippy::inline_always)] // as a call it would store the ACK and load it again
    #[inline(always)]
    fn ack(&mut self, ack: &AckPacket) {
        let mut size = (self.format.ack_size + u32::from(ack.blocks.len) * self.format.block_size) as u16;
        if let Some(option) = ack.accecn.and_then(|feedback| feedback.option) {
            size += u16::from(option.size);
        }
        let mut packet = Packet::ack(self.format.tag, ack, self.format.window_shift, size);
        if self.format.acks_are_ecn_capable {
            packet = packet.with_ect();
        }
        if ack.blocks.len > 0 || ack.part > 0 || self.format.acks_have_options {
            let copy = *ack; // so that an ACK without options stays in registers
            packet = packet.with_options(self.ack_options(&copy));
        }
        self.network.forward(self.now, packet);
    }

    #[allow(clippy::inline_always)] // as a call it would store the ACK and load it again
    #[inline(always)]
    fn plain_ack(&mut self, ack: PlainAck) {
        if self.format.acks_have_options {
            self.ack_with_options(ack);
        } else {
            let packet = Packet::plain_ack(self.format.tag, ack, self.format.window_shift, self.format.ack_size as u16);
            self.network.forward(self.now, packet);
        }
    }

    fn syn(&mut self, retransmissions: u32) {
        let flags = SYN | self.format.syn_flags(retransmissions);
        let mut packet = Packet::new(flags, self.format.tag, self.now, self.format.ack_size as u16);
        if let Some((scheme, rate)) = self.format.request {
            packet = packet.with_options(self.router_header(scheme, rate, 0));
        }
        self.network.forward(self.now, packet);
    }

    fn event(&mut self, kind: &'static str, cause: &'static str, before: u32, after: u32, pipe: f64) {
        let connection = self.format.tag.connection();
        let owner = self.network.owner(connection);
        // The table of transfers records secondary connections.
        if connection != owner.into() && matches!(kind, "open" | "established") {
            return;
        }
        self.network.log(EventRow {
            time_ns: self.now.as_nanos(),
            flow: owner.into(),
            kind,
            cause,
            cwnd_before_bytes: u64::from(before) * u64::from(self.format.mss),
            cwnd_after_bytes: u64::from(after) * u64::from(self.format.mss),
            pipe_segments: (!pipe.is_nan()).then_some(pipe),
        });
    }
}

/// The output of the sender of an endpoint whose segments carry the ACKs of its receiver.
pub(crate) struct AnswerSink<'a> {
    pub(crate) sink: PacketSink<'a>,
    /// The receiver of the same endpoint, of the connection in the other direction.
    pub(crate) receiver: &'a mut Receiver,
    /// The packet format of that connection.
    pub(crate) acks: &'a WireFormat,
    /// The estimates of the endpoint's sender.
    pub(crate) rtt: Estimate,
}

impl Output for AnswerSink<'_> {
    fn data(&mut self, segment: &Data) {
        match self.receiver.on_data_sent(self.sink.now, self.rtt) {
            Some(ack) => {
                self.sink.data_with_ack(segment, Packet::plain_ack(self.acks.tag, ack, self.acks.window_shift, 0));
            }
            None => self.sink.data(segment),
        }
    }

    fn ack(&mut self, ack: &AckPacket) {
        self.sink.ack(ack);
    }

    fn syn(&mut self, retransmissions: u32) {
        self.sink.syn(retransmissions);
    }

    fn event(&mut self, kind: &'static str, cause: &'static str, before: u32, after: u32, pipe: f64) {
        self.sink.event(kind, cause, before, after, pipe);
    }
}
