//! The parameters of s2n-quic's BBR version 2.

use cwndlab_control::options;

options! {
    pub struct Options {
        /// window, as a multiple of the BDP
        cwnd_gain: f64 = 2.0 in 1.0..=10.0,
        /// pacing gain of Up
        up_gain: f64 = 1.25 in 1.0..=4.0,
        /// maximum loss in a probe, as a fraction of the data in flight
        loss_threshold: f64 = 0.02 in 0.0..=0.5,
        /// multiplicative decrease factor of the bounds
        beta: f64 = 0.7 in 0.1..=0.99,
        /// fraction of inflight_hi that is left to other flows between probes
        headroom: f64 = 0.15 in 0.0..=0.9,
        /// interval of a rate sample: kept where the newest acknowledged packet was sent with as much data delivered as
        /// that of the last sample (kept: s2n-quic), or that of each ACK (ack: the draft)
        sample: Sample { Kept = "kept", Ack = "ack" } = Kept,
        /// rounds, 0 or 1, that were drawn after the first probes, to audit a log: the digits of the binary number below its
        /// first one, the last one first; their waits are 3 s. 0: all are drawn
        draws: f64 = 0.0 in 0.0..=9e15,
    }
}
