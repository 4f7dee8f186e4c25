//! Storage for the options of ACKs, and for what data segments carry beside their payload, which do not fit into a packet
//! of 32 bytes.

use std::collections::BTreeMap;

use cwndlab_control::Feedback;
use cwndlab_network::router_assist::{Header, MAX_HOPS};
use cwndlab_transport::accecn::AccEcnFeedback;
use cwndlab_transport::wire::SackBlocks;
use cwndlab_units::ConnectionId;
use prefetch_index::prefetch_index;

use crate::packet::{Packet, ACK};

/// The options of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckOptions {
    /// Bytes that it acknowledges of the segment after those that it acknowledges whole.
    pub part: u32,
    /// SACK blocks.
    pub blocks: SackBlocks,
    /// Receive window, bytes.
    pub window: u64,
    /// CE marks counted by the receiver.
    pub ce_count: u32,
    /// Feedback of Accurate ECN.
    pub accecn: Option<AccEcnFeedback>,
    /// Feedback of the routers.
    pub feedback: Option<Feedback>,
    /// Index of the router header that reached the receiver, if the scheme returns it.
    pub header: Option<u32>,
}

/// What a packet other than an ACK carries beside its payload, whose length its index replaces in the packet.
#[derive(Clone, Copy, Debug)]
pub struct SegmentOptions {
    /// The router header.
    pub header: Option<Header>,
    /// Payload of the packet, bytes.
    pub len: u32,
    /// The ACK of the other direction of a dialogue.
    pub ack: Option<Packet>,
}

/// The state of a returned header at the two endpoints of a connection: each request continues the previous one.
#[derive(Clone, Copy, Debug)]
pub struct ReturnedHeader {
    /// At the sender: the initial shares of the next request.
    pub shares: [f64; MAX_HOPS],
    /// At the receiver: the header to send back.
    pub echo: Option<Header>,
}

/// The options of packets in transit, by their index ([`Packet::options`]).
#[derive(Debug, Default)]
pub struct PacketOptions {
    acks: Vec<AckOptions>,
    free_acks: Vec<u32>,
    segments: Vec<SegmentOptions>,
    free_segments: Vec<u32>,
    /// Returned headers by connection.
    pub returned: BTreeMap<ConnectionId, ReturnedHeader>,
}

impl PacketOptions {
    /// Stores the options of an ACK; returns their index.
    pub fn store_ack(&mut self, options: AckOptions) -> u32 {
        if let Some(index) = self.free_acks.pop() {
            self.acks[index as usize] = options;
            return index;
        }
        self.acks.push(options);
        self.acks.len() as u32 - 1
    }

    /// Removes and returns the options of an ACK.
    pub fn take_ack(&mut self, index: u32) -> AckOptions {
        self.free_acks.push(index);
        self.acks[index as usize]
    }

    /// Asks for the options of a packet, if it is an ACK and has any.
    #[inline]
    pub fn prefetch(&self, packet: &Packet) {
        if let Some(index) = packet.options() {
            prefetch_index(&self.acks, index as usize);
        }
    }

    /// The options of an ACK in transit.
    #[must_use]
    pub fn ack(&self, index: u32) -> &AckOptions {
        &self.acks[index as usize]
    }

    /// Stores the options of a packet other than an ACK; returns their index.
    pub fn store_segment(&mut self, options: SegmentOptions) -> u32 {
        if let Some(index) = self.free_segments.pop() {
            self.segments[index as usize] = options;
            return index;
        }
        self.segments.push(options);
        self.segments.len() as u32 - 1
    }

    /// Removes and returns the options of a packet other than an ACK.
    pub fn take_segment(&mut self, index: u32) -> SegmentOptions {
        self.free_segments.push(index);
        self.segments[index as usize]
    }

    /// The options of a packet other than an ACK in transit.
    #[must_use]
    pub fn segment(&self, index: u32) -> &SegmentOptions {
        &self.segments[index as usize]
    }

    /// The router header of a packet in transit, for changes by a router.
    pub fn header_mut(&mut self, index: u32) -> Option<&mut Header> {
        self.segments[index as usize].header.as_mut()
    }

    /// Removes and returns the ACK that a segment carries.
    pub fn take_carried_ack(&mut self, index: u32) -> Option<Packet> {
        self.segments[index as usize].ack.take()
    }

    /// Frees the entries of a packet with options.
    pub fn free(&mut self, packet: Packet) {
        if packet.kind() != ACK {
            self.free_segments.push(packet.aux);
            return;
        }
        if let Some(header) = self.take_ack(packet.aux).header {
            self.free_segments.push(header);
        }
    }

    /// Copies the entries of a duplicated packet with options; returns the index of the copy.
    pub fn copy(&mut self, packet: Packet) -> u32 {
        if packet.kind() != ACK {
            return self.store_segment(self.segments[packet.aux as usize]);
        }
        let mut options = self.acks[packet.aux as usize];
        options.header = options.header.map(|index| self.store_segment(self.segments[index as usize]));
        self.store_ack(options)
    }

    /// Memory in use by the options of ACKs, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.acks.capacity() * size_of::<AckOptions>()
    }
}
