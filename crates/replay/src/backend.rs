//! Where an algorithm answers: the backends, what it is told in one, and its windows there.

use crate::event_log::Reported;

/// Where an algorithm answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Told the record itself once more.
    Simulator,
    /// Behind the kernel decider.
    Kernel,
    /// Behind the QUIC adapter.
    Quic,
}

impl Backend {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Kernel => "kernel",
            Self::Quic => "quic",
        }
    }
}

/// A window that a backend answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The event in the log.
    pub at: usize,
    /// Whole segments.
    pub segments: u64,
    /// The least that the backend allows.
    pub least: u64,
}

/// What happened in a backend.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// What the algorithm was told, and by which event of the log.
    pub told: Vec<(usize, Reported)>,
    /// What it answered.
    pub answers: Vec<Answer>,
    /// Events that were told together with the next ACK.
    pub joined: Vec<usize>,
    /// The algorithm answers otherwise where it is not told of each segment that leaves.
    pub depends_on_sends: bool,
}
