//! The state that an algorithm reports: the slow-start threshold, the phase, and named numbers for debugging.

use cwndlab_units::{maths, Bytes};

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
    /// The state of an algorithm that reports none.
    pub const UNKNOWN: Self = Self { ssthresh: Ssthresh::Unknown, phase: Phase::Unknown };
}

/// A slow-start threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ssthresh {
    /// The algorithm has none: the transport derives one from the congestion events (RFC 5681, section 3.1).
    Unknown,
    /// No threshold: slow start ends with a congestion event or by its own rule.
    Unlimited,
    /// Slow start while the window is below it.
    At(Bytes),
}

impl Ssthresh {
    /// A threshold of `segments` of `mss` bytes; infinity is [`Unlimited`](Self::Unlimited).
    #[inline]
    #[must_use]
    pub fn of(segments: f64, mss: f64) -> Self {
        if segments.is_finite() {
            // A rounding margin, as for the window: k segments may be stored as a sum of fractions.
            Self::At(Bytes(maths::whole((segments + 1e-9) * mss)))
        } else {
            Self::Unlimited
        }
    }

    /// The threshold in bytes, where there is one.
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
    /// The algorithm does not report it.
    Unknown,
    /// Slow start (RFC 5681, section 3.1).
    SlowStart,
    /// Conservative slow start (RFC 9406, section 4.2).
    ConservativeSlowStart,
    /// Congestion avoidance (RFC 5681, section 3.1).
    CongestionAvoidance,
    /// Loss recovery, or the reduction of the window after an ECN echo; the transport sets the window.
    Recovery,
    /// Loss recovery, or the reduction of the window after an ECN echo, in which the algorithm sets the window.
    OwnRecovery,
    /// The routers of the path set the rate.
    RouterControlled,
    /// A policy outside of the transport sets window and rate, during recovery too.
    PolicyControlled,
    /// BBR: doubles its rate until the path is full.
    Startup,
    /// BBR: drains the queue of Startup.
    Drain,
    /// BBR: cycles around the measured bandwidth.
    ProbeBw,
    /// BBR: lowers the window to measure the minimum round-trip time.
    ProbeRtt,
}

impl Phase {
    /// Its name in outputs; `None` for an algorithm that does not report it.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Unknown => return None,
            Self::SlowStart => "slow start",
            Self::ConservativeSlowStart => "conservative slow start",
            Self::CongestionAvoidance => "congestion avoidance",
            Self::Recovery | Self::OwnRecovery => "recovery",
            Self::RouterControlled => "router-controlled",
            Self::PolicyControlled => "policy-controlled",
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::ProbeBw => "ProbeBW",
            Self::ProbeRtt => "ProbeRTT",
        })
    }
}

impl Phase {
    /// The algorithm follows a model of the path or the rate of routers, which the undo of a reduction does not
    /// restore.
    #[must_use]
    pub fn follows_model(self) -> bool {
        use Phase::{Drain, PolicyControlled, ProbeBw, ProbeRtt, RouterControlled, Startup};
        matches!(self, Startup | Drain | ProbeBw | ProbeRtt | RouterControlled | PolicyControlled)
    }

    /// Slow start, conservative or not: the window is below the threshold.
    #[must_use]
    pub fn is_slow_start(self) -> bool {
        matches!(self, Self::SlowStart | Self::ConservativeSlowStart)
    }
}
