//! The backends, and the events and windows of an algorithm in a backend.

use cwndlab_control::Report;

/// A backend in which an algorithm runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Direct replay of the recorded events.
    Simulator,
    /// Replay through the decider of the kernel datapath.
    Kernel,
    /// Replay through the QUIC adapter.
    Quic,
}

impl Backend {
    /// Name of the backend.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Kernel => "kernel",
            Self::Quic => "quic",
        }
    }
}

/// The window of a backend after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedWindow {
    /// Index of the event in the log.
    pub at: usize,
    /// Window, full segments.
    pub segments: u64,
    /// Minimum window of the backend, segments.
    pub min_segments: u64,
}

/// The result of a replay in a backend.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Events that the algorithm received, each with the index of its cause in the log.
    pub events: Vec<(usize, Report)>,
    /// Windows of the algorithm.
    pub windows: Vec<ReplayedWindow>,
    /// Indices of events that are reported together with the next ACK.
    pub joined: Vec<usize>,
    /// The windows of the algorithm change without reports of sent segments.
    pub depends_on_sends: bool,
}
