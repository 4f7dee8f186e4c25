//! What an algorithm says of its state: the slow-start threshold, the phase, and named numbers for debugging.

use cwndlab_units::Bytes;

/// Receives the named numbers of a state. None may be NaN.
pub type Extra<'a> = &'a mut dyn FnMut(&'static str, f64);

/// The state of an algorithm between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The slow-start threshold: the flow is in slow start while its window is below it.
    pub ssthresh: Ssthresh,
    /// The phase.
    pub phase: Phase,
}

impl State {
    /// The state of an algorithm that says nothing of itself.
    pub const UNKNOWN: Self = Self { ssthresh: Ssthresh::Unknown, phase: Phase::Unknown };
}

/// A slow-start threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ssthresh {
    /// The algorithm keeps none: the transport derives one from the congestion events (RFC 5681, section 3.1).
    Unknown,
    /// Slow start until something ends it.
    Unlimited,
    /// Slow start while the window is below it.
    At(Bytes),
}

impl Ssthresh {
    /// A threshold of `segments` of `mss` bytes, where infinity is "without limit".
    #[inline]
    #[must_use]
    pub fn of(segments: f64, mss: f64) -> Self {
        if segments.is_finite() {
            // A hair more, as of the window: k segments stored as a sum of fractions are k segments.
            Self::At(Bytes(((segments + 1e-9) * mss) as u64))
        } else {
            Self::Unlimited
        }
    }

    /// The threshold where there is one.
    #[must_use]
    pub fn bytes(self) -> Option<Bytes> {
        match self {
            Self::At(bytes) => Some(bytes),
            Self::Unknown | Self::Unlimited => None,
        }
    }
}

/// The phase of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The algorithm does not say.
    Unknown,
    /// Slow start (RFC 5681, section 3.1).
    SlowStart,
    /// Conservative slow start (RFC 9406, section 4.2).
    ConservativeSlowStart,
    /// Congestion avoidance (RFC 5681, section 3.1).
    CongestionAvoidance,
    /// The transport repairs a loss, or reduces the window after an ECN echo; the window is its own.
    Recovery,
    /// The routers of the path set the rate.
    RouterControlled,
    /// BBR: doubles its rate until the path is full.
    Startup,
    /// BBR: drains the queue that Startup left.
    Drain,
    /// BBR: cycles around the bandwidth that it measured.
    ProbeBw,
    /// BBR: lowers the window to measure the smallest round-trip time.
    ProbeRtt,
}

impl Phase {
    /// The algorithm follows a model of the path or the routers' rate, which outlives a reduction that was spurious.
    #[must_use]
    pub fn follows_model(self) -> bool {
        use Phase::{Drain, ProbeBw, ProbeRtt, RouterControlled, Startup};
        matches!(self, Startup | Drain | ProbeBw | ProbeRtt | RouterControlled)
    }

    /// Slow start, conservative or not: the window is below the threshold.
    #[must_use]
    pub fn is_slow_start(self) -> bool {
        matches!(self, Self::SlowStart | Self::ConservativeSlowStart)
    }
}
