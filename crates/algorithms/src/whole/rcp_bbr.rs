//! RCP-BBR: BBR for real-time media (our reconstruction).
//!
//! Source: named in M. Najmuddin and others, "Congestion Control in High-speed Networks Using the Probabilistic
//! Estimation Approach", Computing, 2020; no description was available.
//!
//! ```text
//! as bbr1, with cwnd_gain = 1.25 in its (4)     (1)
//! ProbeBW: pacing 1.1, 0.9, 1, 1, 1, 1, 1, 1    (2)
//! recovery: no response, always its (5)         (3)
//! ```
//!
//! Units: as `bbr1`.
//! Differs from the source: all of it is our reconstruction of "BBR with reduced latency".

use cwndlab_control::{options, Build, Confidence, Kind, Need, Spec};
use cwndlab_units::Duration;

use crate::whole::bbr1::machine::Bbr1;
use crate::whole::bbr1::path_model::Options;

options! {
    struct RcpBbrOptions {
        /// window in ProbeBW, as a multiple of the BDP; our choice
        cwnd_gain: f64 = 1.25 in 1.0..=10.0,
        /// pacing gain of the probing phase of ProbeBW; the gain of the next phase is 2 minus this value; our choice
        probe_gain: f64 = 1.1 in 1.0..=1.9,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "rcp-bbr",
    title: "RCP-BBR",
    kind: Kind::Whole,
    source: "named in Najmuddin et al., Computing, 2020",
    year: 2020,
    confidence: Confidence::Low,
    summary: "BBR version 1 with a smaller window and smaller probing gains, for media that need low delay. Our reconstruction.",
    parameters: RcpBbrOptions::PARAMETERS,
    choices: &["a preset of bbr1 without response to losses, since no description is available"],
    pitfalls: &["not the router-assisted scheme rcp", "the bandwidth estimate grows by at most a tenth per probe"],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Bbr1::new(path, &options(arguments.into())))),
};

fn options(options: RcpBbrOptions) -> Options {
    Options {
        cwnd_gain: options.cwnd_gain,   // (1)
        probe_gain: options.probe_gain, // (2)
        min_rtt_window: Duration::from_secs(10),
        aggregation: true,
        policer: true,
        conserve: false, // (3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole::bbr1::tests::{settled, steady};
    use cwndlab_control::testing::{loss, path};
    use cwndlab_control::CongestionControl;

    /// By hand: 1000 segments/s × 100 ms are 100 segments. The window is 1.25 times that, plus three quanta of two,
    /// plus 2 in the probing phase, plus the ACK aggregation.
    #[test]
    fn the_window_is_a_quarter_above_the_bdp() {
        let mut flow = Bbr1::new(&path(10), &options(RcpBbrOptions::default()));
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        steady(&mut flow, &mut clock, 500);
        let w = flow.cwnd().0 / 1000;
        assert!((132..=138).contains(&w), "{w}");
        flow.on_congestion(&loss(100));
        assert_eq!(flow.cwnd().0 / 1000, w);
    }
}
