//! The parameters of BBR version 3.

use cwndlab_units::Duration;

/// The source that the algorithm follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// The pseudo-code of the draft.
    Draft,
    /// Google's public branch.
    Branch,
}

/// The parameters of the entry.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The source.
    pub text: Text,
    /// Pacing gain of Drain.
    pub drain_gain: f64,
    /// Maximum duration of Drain in rounds; `None`: no limit.
    pub drain_rounds: Option<u64>,
    /// Pacing gain of Down.
    pub down_gain: f64,
    /// Window of the maximum excess of aggregated ACKs, rounds.
    pub aggregation_rounds: u64,
    /// Window, as a multiple of the BDP.
    pub cwnd_gain: f64,
    /// Maximum fraction of lost segments.
    pub loss_threshold: f64,
    /// Multiplicative decrease factor of the bounds.
    pub beta: f64,
    /// Fraction of inflight_long that is left to other flows.
    pub headroom: f64,
    /// Time between two ProbeRTT.
    pub probe_rtt_interval: Duration,
}
