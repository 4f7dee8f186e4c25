//! The size of the battery.

/// The numbers of events of the battery. Rules and cases are the same for all sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatterySize {
    /// ACKs of the long flow.
    pub long_acks: u64,
    /// Window of the cases with large windows, segments.
    pub wide_segments: u64,
    /// ACKs of each other case.
    pub acks: u64,
    /// Number of randomised event sequences of each kind.
    pub streams: u64,
    /// Events of each randomised sequence.
    pub events: u64,
    /// Number of ACKs and of repetitions of the cost measurement.
    pub timed: (usize, u32),
}

impl BatterySize {
    /// 10⁷ ACKs, windows of 10⁶ segments: seconds per algorithm in an optimised build.
    pub const FULL: Self = Self {
        long_acks: 10_000_000,
        wide_segments: 1_000_000,
        acks: 30_000,
        streams: 40,
        events: 5_000,
        timed: (65_536, 5),
    };
    /// For algorithms that take microseconds per ACK, such as Python classes: equal cases and windows, with a fifth of
    /// the ACKs in the long flow.
    pub const SLOW: Self = Self { long_acks: 2_000_000, ..Self::FULL };
    /// Sufficient to detect the faults of [`faulty`](crate::faulty); a tenth of a second without optimisation.
    pub const SMALL: Self =
        Self { long_acks: 20_000, wide_segments: 30_000, acks: 2_500, streams: 6, events: 800, timed: (2_048, 1) };
}
