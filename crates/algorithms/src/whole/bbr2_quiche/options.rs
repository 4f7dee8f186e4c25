//! The parameters of quiche's BBR version 2.

use cwndlab_control::options;

options! {
    pub struct Options {
        /// window, as a multiple of the BDP
        cwnd_gain: f64 = 2.0 in 1.0..=10.0,
        /// window in Up, as a multiple of the BDP
        up_cwnd_gain: f64 = 2.25 in 1.0..=10.0,
        /// maximum loss in a round, as a fraction of the data in flight
        loss_threshold: f64 = 0.015 in 0.0..=0.5,
        /// multiplicative decrease factor of the bounds
        beta: f64 = 0.7 in 0.1..=0.99,
        /// fraction of inflight_hi that is left to other flows between probes
        headroom: f64 = 0.15 in 0.0..=0.9,
        /// longest time in Down: min_rtt (min-rtt: quiche's default), or none (none: disable_probe_down_early_exit)
        down: DownLimit { MinRtt = "min-rtt", None = "none" } = MinRtt,
    }
}
