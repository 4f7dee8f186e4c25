//! How much of the battery is run.

/// How much of it: the rules and cases are the same in any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// ACKs of the long case.
    pub long_acks: u64,
    /// Window of the wide case, segments.
    pub wide_segments: u64,
    /// ACKs of any other case.
    pub acks: u64,
    /// Streams of each kind of fuzz.
    pub streams: u64,
    /// Events of such a stream.
    pub events: u64,
    /// ACKs whose cost is measured, and how often.
    pub timed: (usize, u32),
}

impl Size {
    /// 10⁷ ACKs, windows of 10⁶ segments: seconds per algorithm where the compiler optimises.
    pub const FULL: Self = Self {
        long_acks: 10_000_000,
        wide_segments: 1_000_000,
        acks: 30_000,
        streams: 40,
        events: 5_000,
        timed: (65_536, 5),
    };
    /// For what costs microseconds per ACK, as an algorithm in another language does: as many cases and as wide
    /// windows, but a fifth of the long case.
    pub const SLOW: Self = Self { long_acks: 2_000_000, ..Self::FULL };
    /// Enough to find the faults of [`faulty`](crate::faulty), in a tenth of a second without optimisation.
    pub const SMALL: Self =
        Self { long_acks: 20_000, wide_segments: 30_000, acks: 2_500, streams: 6, events: 800, timed: (2_048, 1) };
}
