//! ABE TCP: standard slow start that sets ssthresh after a loss from a bandwidth estimate (our reconstruction).
//!
//! Source: a name and two remarks in the tables of M. Ahmad et al., IEEE Access 6, 2018 ("bandwidth estimation",
//! "worked well in multiple packet losses", 2010); no paper could be identified. Not RFC 8511, which is `abe-ecn`. The
//! reconstruction uses the estimator of Westwood+ (L. Grieco, S. Mascolo, CCR 34(2), 2004).
//!
//! ```text
//! each ack: w += n                                                       (1)
//! each RTT: B ← 0.9 B + 0.1 (b + b_prev)/2,  b = acked bytes / RTT       (2)   initially B = b
//! loss in slow start: ssthresh = w = max(B RTT_min / MSS, 2)             (3)
//! ```
//!
//! Units: bytes/s, seconds; windows in segments. Confidence: low. Differs from the source: unknown.

use cwndlab_control::{options, Ack, Build, Capabilities, Confidence, Congestion, Extra, Kind, SlowStart, Spec, Step};

use crate::congestion_avoidance::reno::segments;

options! {
    struct Options {
        /// weight of a new sample, one per RTT; 0.1 is Westwood+
        gain: f64 = 0.1 in 0.001..=1.0,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "abe-tcp",
    title: "ABE TCP",
    kind: Kind::SlowStart,
    source: "named by Ahmad et al., IEEE Access 2018",
    year: 2010,
    confidence: Confidence::Low,
    summary: "Standard slow start. A loss in slow start sets ssthresh to the estimated bandwidth times RTT_min instead of the value from congestion avoidance. Our reconstruction.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the estimator is that of Westwood+, initialised with its first sample",
        "the response to losses after slow start is that of congestion avoidance",
    ],
    pitfalls: &[
        "the filter averages over ten round trips, in which slow start doubles its rate six times or more: B lags, and the first loss sets ssthresh to less than a fifth of the BDP (gain = 1 does not lag)",
        "only the reduction differs, not the end of slow start: it overshoots as standard slow start does",
    ],
    companion: "",
    needs: &[],
    incompatible: &[
        ("westwood", "it sets the window to B*RTT_min after every loss itself"),
        ("westwood-plus", "it sets the window to B*RTT_min after every loss itself"),
    ],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(AbeTcp::new(arguments.into()))),
};

/// Slow start of ABE TCP.
#[derive(Clone, Debug)]
pub struct AbeTcp {
    gain: f64,
    /// B and the last sample, bytes/s.
    b: f64,
    previous: f64,
    /// Start of the sample, ns, and the bytes delivered until then.
    since: Option<(u64, u64)>,
    /// The last ACK arrived in slow start.
    in_slow_start: bool,
}

impl AbeTcp {
    fn new(options: Options) -> Self {
        Self { gain: options.gain, b: 0.0, previous: 0.0, since: None, in_slow_start: true }
    }

    #[inline]
    fn observe(&mut self, ack: &Ack) {
        let now = ack.now.as_nanos();
        let Some((begin, delivered)) = self.since else {
            self.since = Some((now, ack.delivered.0));
            return;
        };
        if now - begin >= ack.srtt.as_nanos().max(1) {
            self.sample((ack.delivered.0.saturating_sub(delivered)) as f64 * 1e9 / (now - begin) as f64);
            self.since = Some((now, ack.delivered.0));
        }
    }

    /// (2).
    fn sample(&mut self, sample: f64) {
        if self.b == 0.0 {
            (self.b, self.previous) = (sample, sample);
        } else {
            self.b += self.gain * (f64::midpoint(sample, self.previous) - self.b);
            self.previous = sample;
        }
    }
}

impl SlowStart for AbeTcp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, _: f64, _: f64) -> Step {
        self.in_slow_start = true;
        self.observe(ack);
        Step::grow(segments(ack)) // (1)
    }

    fn outside(&mut self, ack: &Ack, _: f64, ssthresh: f64) -> f64 {
        self.in_slow_start = false;
        self.observe(ack);
        ssthresh
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64, ssthresh: f64) -> f64 {
        if !self.in_slow_start || self.b == 0.0 {
            return ssthresh;
        }
        // (3); a loss never increases the window.
        (self.b * event.min_rtt.as_secs() / event.mss.0 as f64).min(w).max(2.0)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: false, outside: true }
    }

    fn extra(&self, put: Extra<'_>) {
        put("b_bps", self.b * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};
    use cwndlab_units::{Bytes, Duration};

    fn start(b: f64) -> AbeTcp {
        AbeTcp { b, ..AbeTcp::new(Options::default()) }
    }

    /// Reference values of `westwood`: B = 10 Mbit/s, RTT_min = 50 ms, 1460 bytes: 42 segments.
    #[test]
    fn a_loss_in_slow_start_sets_ssthresh_to_the_estimate() {
        let mut one = start(10e6 / 8.0);
        let mut event = loss(100);
        (event.mss, event.min_rtt) = (Bytes(1460), Duration::from_millis(50));
        assert_eq!(one.on_congestion(&event, 100.0, 50.0) as u64, 42);
        let _ = one.outside(&ack(1), 43.0, 42.0);
        assert_eq!(
            one.on_congestion(&event, 100.0, 50.0),
            50.0,
            "a later loss does not change the value from congestion avoidance"
        );
        assert_eq!(start(0.0).on_congestion(&event, 100.0, 50.0), 50.0, "no estimate");
    }

    /// Reference values of `westwood-plus`: samples of 10 Mbit/s with a previous sample of 0: 0.5, then 1.45 Mbit/s.
    #[test]
    fn the_filter_is_that_of_westwood_plus() {
        let mut one = start(1e-12);
        for expected in [0.5, 1.45] {
            one.sample(10.0);
            assert!((one.b - expected).abs() < 1e-9, "{}", one.b);
        }
    }
}
