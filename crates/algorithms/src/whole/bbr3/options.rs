//! The parameters of BBR version 3.

use cwndlab_control::options;
use cwndlab_units::Duration;

options! {
    pub struct Bbr3Options {
        /// draft: the pseudo-code; branch (public branch): gains of Drain and Down 88/256 and 0.91 for 0.5 and 0.9,
        /// Drain until the queue is empty, five to ten rounds of ACK aggregation of at most 100 ms, and the inflight at
        /// the next departure
        text: Text { Draft = "draft", Branch = "branch" } = Draft,
        /// window, as a multiple of the BDP; 0.25 more in Up
        cwnd_gain: f64 = 2.0 in 1.0..=10.0,
        /// maximum loss in a probe, as a fraction of the data in flight
        loss_threshold: f64 = 0.02 in 0.0..=0.5,
        /// multiplicative decrease factor of the bounds
        beta: f64 = 0.7 in 0.1..=0.99,
        /// fraction of inflight_long that is left to other flows between probes
        headroom: f64 = 0.15 in 0.0..=0.9,
        /// age of the minimum RTT at which ProbeRTT starts
        probe_rtt_interval: f64["s"] = 5.0 in 0.1..=1000.0,
        /// length of the filter of the minimum RTT; at least probe_rtt_interval, and equal to it the minimum expires as
        /// ProbeRTT starts
        min_rtt_window: f64["s"] = 10.0 in 0.1..=1000.0,
        /// pacing gain of Drain; 0: that of the text
        drain_gain: f64 = 0.0 in 0.0..=1.0,
        /// maximum duration of Drain; 0: that of the text, 3 rounds in the draft and no limit in the branch
        drain_rounds: f64["rounds"] = 0.0 in 0.0..=1e6,
        /// time at which the filter of the bandwidth forgets the cycle before the last: a round after the end of a probe,
        /// by ack_phase (feedback), or at the start of Down (down: pull request 5 of the draft's repository, mvfst)
        forget: Forget { Feedback = "feedback", Down = "down" } = Feedback,
        /// response to ECN marks of the public branch; needs ECN that counts marks (dctcp or accecn)
        ecn: bool = false,
        /// largest minimum RTT at which a flow begins to respond to marks; 0: no limit
        ecn_max_rtt: f64["ms"] = 5.0 in 0.0..=10_000.0,
    }
}

/// The parameters of the algorithm, from the options of the entry.
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
    /// Length of the filter of the minimum RTT.
    pub min_rtt_window: Duration,
    /// Time at which the filter of the bandwidth forgets a cycle.
    pub forget: Forget,
    /// Response to ECN marks.
    pub ecn: bool,
    /// Largest minimum RTT at which a flow begins to respond to marks; `None`: no limit.
    pub ecn_max_rtt: Option<Duration>,
}
