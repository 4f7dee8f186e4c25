//! What a comparison of windows counts, and what it tolerates.

use cwndlab_units::Time;

use crate::surprise::{Miss, Surprise};

/// The tolerances of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Segments: stacks that count whole segments differ by up to one from those that count bytes.
    pub segments: f64,
    /// Resolution of the logged windows, bytes.
    pub resolution: u64,
    /// Rounding to whole bytes, per ACK.
    pub per_ack: f64,
}

/// A compared window.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Time.
    pub time: Time,
    /// Logged window, bytes.
    pub logged: u64,
    /// The reference's window, bytes.
    pub reference: u64,
}

/// Counters of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// ACKs of new data that were compared.
    pub acks: u64,
    /// Those that the reference explains.
    pub explained: u64,
    /// Decisive ACKs: over them the reference changes its window by so much that a logged window that stays as it is
    /// would be a departure; and those from the last agreement to a departure, at least one. Of bytes in flight: those at
    /// which they reach the reference's window.
    pub decisive: u64,
    /// Those that the reference explains.
    pub decisive_explained: u64,
    /// ACKs during which the transport sets the window.
    pub unjudged: u64,
    /// ACKs at which the application was inferred to limit the sender.
    pub app_limited: u64,
    /// ACKs at which the limit is unclear.
    pub unclear: u64,
    /// Compared windows.
    pub checks: u64,
}

/// What a brief comparison keeps.
#[derive(Debug, Default)]
pub struct Brief {
    /// The windows that the reference does not explain.
    pub misses: Vec<Miss>,
    /// Their bits.
    pub surprise: Surprise,
    /// The bits of the windows that a window that stays as it is does not explain.
    pub constant_surprise: Surprise,
    /// Sum over the compared windows of the difference as a part of the tolerance.
    pub difference: f64,
    /// Bits above which the comparison ends, since nobody asks for the rest.
    pub(crate) most_bits: f64,
    /// Maximum of the bytes in flight in the span that is compared.
    pub(crate) peak: u64,
    /// The window that stays as it is, bytes.
    pub(crate) anchor: Option<u64>,
}
