//! What sender and receiver say to each other, without headers.

use cwndlab_control::Feedback;
use cwndlab_units::Time;

/// A data segment as it leaves the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Index of the segment, from 0.
    pub seq: u32,
    /// Its payload, bytes.
    pub len: u32,
    /// It had been sent before.
    pub retransmission: bool,
    /// ECN-capable.
    pub ect: bool,
    /// The sender tells that it reduced its window (RFC 3168).
    pub cwr: bool,
    /// Timestamp value.
    pub stamp: Time,
    /// What the routers wrote on it, all of them; as it leaves, nothing.
    pub feedback: Option<Feedback>,
}

/// SACK blocks that an ACK carries at most: four without timestamps.
pub const MAX_BLOCKS: usize = 4;

/// SACK blocks: `[from, to)` in segments, the first one the most recent arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks.
    pub list: [(u32, u32); MAX_BLOCKS],
    /// How many of them are filled.
    pub len: u8,
    /// The first is a duplicate's report (RFC 2883).
    pub duplicate: bool,
}

impl Blocks {
    /// The filled ones.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.list[..self.len as usize]
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPacket {
    /// Next segment expected.
    pub ack: u32,
    /// Receive window, bytes.
    pub window: u32,
    /// Timestamp echo: of the segment that set it (RFC 7323, section 4.3).
    pub echo: Time,
    /// ECN echo (classic).
    pub ece: bool,
    /// Segments received with a CE mark so far (accurate ECN), modulo 2³².
    pub ce_count: u32,
    /// SACK blocks.
    pub blocks: Blocks,
    /// What the routers wrote on what this acknowledges; `accelerated` counts since the connection's start.
    pub feedback: Option<Feedback>,
}

/// Where an endpoint puts what it sends and remarks.
pub trait Output {
    /// Sends a data segment.
    fn data(&mut self, segment: &Data);
    /// Sends an ACK.
    fn ack(&mut self, ack: &AckPacket);
    /// Sends a SYN.
    fn syn(&mut self);
    /// Records what happened: kind, cause, window before and after in segments, and what it was held against.
    fn event(&mut self, kind: &'static str, cause: &'static str, before: u32, after: u32, pipe: f64);
}
