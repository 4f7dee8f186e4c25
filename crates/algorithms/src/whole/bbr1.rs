//! BBR version 1: pacing rate and window from a model of the path.
//!
//! Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14(5), 2016; Linux 6.18 `net/ipv4/tcp_bbr.c`.
//!
//! ```text
//! bw      = max of the delivery-rate samples of 10 rounds                       (1)
//! min_rtt = min of the RTT samples of 10 s                                      (2)
//! pacing  = 0.99 pacing_gain bw                                                 (3)
//! target  = ⌈cwnd_gain bw min_rtt⌉ + extra_acked + 3 quanta, even               (4)
//! each ack: w = min(w + n, target) with a full pipe, w + n before               (5)
//! Startup: gains 739/256 until bw grew by less than 1/4 in each of 3 rounds     (6)
//! Drain:   pacing 88/256 until in flight ≤ bw min_rtt + quanta                  (7)
//! ProbeBW: pacing 5/4, 3/4, 1, 1, 1, 1, 1, 1, one min_rtt each, starting anywhere but at 3/4; cwnd_gain 2   (8)
//! ProbeRTT: min_rtt older than 10 s: w ≤ 4 for 200 ms and a round               (9)
//! recovery: first round w = in flight + n, then (5); w is restored at its end   (10)
//! ```
//!
//! Units: segments, segments/s, ns; the quantum is the data sent in a millisecond, at least two segments.
//! Differs from the source: real numbers instead of Linux' 1/2²⁴ segments per µs, and no clock ticks of 4 ms.

pub mod machine;
mod named_values;
pub mod path_model;
pub mod policer;

use cwndlab_control::{options, Build, Confidence, Kind, Need, Spec};
use cwndlab_units::Duration;

use crate::whole::bbr1::machine::Bbr1;
use crate::whole::bbr1::path_model::Options;

options! {
    struct Bbr1Options {
        /// window in ProbeBW, as a multiple of the BDP
        cwnd_gain: f64 = 2.0 in 1.0..=10.0,
        /// pacing gain of the probing phase of ProbeBW; the gain of the next phase is 2 minus this value
        probe_gain: f64 = 1.25 in 1.0..=1.9,
        /// age of min_rtt at which ProbeRTT starts
        min_rtt_window: f64["s"] = 10.0 in 0.1..=1000.0,
        /// on: the window includes the excess of aggregated ACKs over the bandwidth (Linux since 5.1; not in the paper)
        aggregation: bool = true,
        /// on: detects token-bucket policers and uses their rate (Linux; not in the paper)
        policer: bool = true,
        /// conserve: packet conservation in the first round of a recovery (Linux); ignore: recoveries do not change the
        /// window
        loss: Loss { Conserve = "conserve", Ignore = "ignore" } = Conserve,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bbr1",
    title: "BBR version 1",
    kind: Kind::Whole,
    source: "doi:10.1145/3012426.3022184; Linux 6.18 tcp_bbr.c",
    year: 2016,
    confidence: Confidence::High,
    summary: "A model of the path, with the bottleneck bandwidth and the minimum round-trip time, sets pacing rate and window. Losses do not reduce them.",
    parameters: Bbr1Options::PARAMETERS,
    choices: &[
        "the gains 739/256 and 88/256, as rounded in Linux, where the paper has 2/ln 2 and its inverse",
        "rate samples of ProbeRTT are marked application-limited by the algorithm, since the transport has no information on ProbeRTT",
    ],
    pitfalls: &[
        "several flows with a buffer below 1.5 BDP lose packets permanently",
        "in competition with loss-based flows it takes more than its share in small buffers and less in large ones",
        "a standing queue counts as propagation delay until all flows are in ProbeRTT at the same time",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Bbr1::new(path, &options(arguments.into())))),
};

fn options(options: Bbr1Options) -> Options {
    Options {
        cwnd_gain: options.cwnd_gain,
        probe_gain: options.probe_gain,
        min_rtt_window: Duration::from_nanos((options.min_rtt_window * 1e9) as u64),
        aggregation: options.aggregation,
        policer: options.policer,
        conserve: options.loss == Loss::Conserve,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, established, loss, path, timeout};
    use cwndlab_control::{Ack, Change, CongestionControl, DeliveryRate, Path, Window};
    use cwndlab_units::{Bytes, Rate, Time};

    /// A bottleneck of `bw` segments/s with an RTT of `rtt` seconds, which always delivers.
    pub(crate) struct Clock {
        pub(crate) bw: f64,
        pub(crate) rtt: f64,
        pub(crate) count: u64,
        pub(crate) in_flight: u64,
    }

    /// The ACK of the last segment.
    pub(crate) fn ack_of(clock: &Clock) -> Ack {
        let now = (1e9 * (clock.count as f64 / clock.bw + clock.rtt)) as u64;
        let mut ack = ack_at(Time::from_nanos(now), 1);
        let product = (clock.bw * clock.rtt) as u64;
        ack.delivered = Bytes(1000 * clock.count);
        ack.rtt = Some(Duration::from_secs_f64(clock.rtt));
        ack.in_flight = Bytes(1000 * clock.in_flight);
        ack.prior_in_flight = ack.in_flight;
        ack.delivery_rate = Some(DeliveryRate {
            delivered: Bytes(1000 * product),
            interval: Duration::from_secs_f64(clock.rtt),
            prior_delivered: Bytes(1000 * clock.count.saturating_sub(product)),
            app_limited: false,
        });
        ack
    }

    /// Acknowledges `n` segments, one by one.
    pub(crate) fn steady(flow: &mut dyn CongestionControl, clock: &mut Clock, n: u64) {
        for _ in 0..n {
            clock.count += 1;
            flow.on_ack(&ack_of(clock));
        }
    }

    /// A value of a flow's state; NaN if there is none of this name.
    pub(crate) fn value(flow: &dyn CongestionControl, of: &str) -> f64 {
        let mut found = f64::NAN;
        let _ = flow.state(Some(&mut |name, value| {
            if name == of {
                found = value;
            }
        }));
        found
    }

    /// Acknowledges one by one until the flow is in this state.
    pub(crate) fn until(flow: &mut dyn CongestionControl, clock: &mut Clock, state: f64) {
        for _ in 0..20_000 {
            if value(flow, "state") == state {
                return;
            }
            steady(flow, clock, 1);
        }
        panic!("the flow does not enter state {state}");
    }

    /// Acknowledges one segment, and ten are lost.
    pub(crate) fn lossy(flow: &mut dyn CongestionControl, clock: &mut Clock) {
        clock.count += 1;
        let mut ack = ack_of(clock);
        ack.lost = Bytes(10_000);
        flow.on_ack(&ack);
    }

    /// Runs a flow through Startup and Drain.
    pub(crate) fn settled(flow: &mut dyn CongestionControl, bw: f64, rtt: f64) -> Clock {
        let established = Window {
            now: Time::from_nanos(0),
            change: Change::Established,
            cwnd: flow.cwnd(),
            ssthresh: None,
            idle: Duration::ZERO,
            rtt: Some(Duration::from_secs_f64(rtt)),
            feedback: None,
        };
        flow.on_window(&established);
        let product = (bw * rtt) as u64;
        let mut clock = Clock { bw, rtt, count: 0, in_flight: product };
        steady(flow, &mut clock, 8 * product);
        clock
    }

    fn bbr() -> Bbr1 {
        Bbr1::new(&path(10), &options(Bbr1Options::default()))
    }

    fn gain(flow: &Bbr1) -> f64 {
        let mut gain = 0.0;
        let _ = flow.state(Some(&mut |name, value| {
            if name == "pacing_gain" {
                gain = value;
            }
        }));
        gain
    }

    /// Reference values: 10 Mbit/s × 40 ms are 50,000 bytes, 34.5 segments of 1448. The window is twice that plus the
    /// ACK aggregation, here one segment, plus three quanta of two segments, rounded up to an even number.
    #[test]
    fn the_window_is_two_bdp_plus_aggregation_and_quanta() {
        let wide = Path { mss: Bytes(1448), initial_cwnd: Bytes(14_480), ..path(10) };
        let mut flow = Bbr1::new(&wide, &options(Bbr1Options::default()));
        let mss = Bytes(1448);
        flow.on_window(&Window {
            now: Time::from_nanos(0),
            change: Change::Established,
            cwnd: Bytes(14_480),
            ssthresh: None,
            idle: Duration::ZERO,
            rtt: Some(Duration::from_millis(40)),
            feedback: None,
        });
        for count in 1..=2000u64 {
            let mut ack = ack_at(Time::from_nanos(40_000_000 + count * 1_158_400), 1);
            (ack.mss, ack.acked) = (mss, mss);
            ack.delivered = mss * count;
            ack.rtt = Some(Duration::from_millis(40));
            ack.in_flight = mss * 34;
            ack.delivery_rate = Some(DeliveryRate {
                delivered: Bytes(50_000),
                interval: Duration::from_millis(40),
                prior_delivered: Bytes((1448 * count).saturating_sub(50_000)),
                app_limited: false,
            });
            flow.on_ack(&ack);
        }
        let w = flow.cwnd().0 / 1448;
        assert!((76..=78).contains(&w), "⌈69.1⌉ + 1 + 6, even, plus 2 in the probing phase: {w}");
    }

    /// Linux: gains of 2885/1000 (plus 1/256) and 1000/2885 in units of 1/256, and the margin of 1 %: the pacing rate
    /// is 2.858 times 10 segments per 100 ms.
    #[test]
    fn startup_paces_at_its_gain_of_the_initial_window() {
        let rate = 0.99 * 739.0 / 256.0 * 100.0 * 8000.0;
        let mut flow = bbr();
        assert_eq!(flow.pacing_rate(), Some(Rate((rate * 100.0) as u64)), "1 ms before the first RTT sample");
        settled(&mut flow, 100.0, 0.1);
        assert!(flow.pacing_rate() <= Some(Rate((1.25 * 0.99 * 800_000.0) as u64)), "Startup is over");
        let mut first = bbr();
        let rtt = Duration::from_millis(100);
        first.on_window(&established(rtt, None));
        assert_eq!(first.pacing_rate(), Some(Rate(rate as u64)));
        // After a handshake with losses: of one segment (Linux, `tcp_init_transfer`).
        let mut lossy = bbr();
        lossy.on_window(&Window { cwnd: Bytes(1000), ..established(rtt, None) });
        assert_eq!((lossy.cwnd(), lossy.pacing_rate()), (Bytes(1000), Some(Rate((rate / 10.0) as u64))));
    }

    /// Reference values: 5/4 and 3/4 for one RTT each, six RTTs of 1; the cycle never starts at 3/4. Over 80 round
    /// trips.
    #[test]
    fn the_gain_cycle_has_eight_phases() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 140;
        let mut gains = Vec::new();
        for _ in 0..9000 {
            steady(&mut flow, &mut clock, 1);
            if gains.last() != Some(&gain(&flow)) {
                gains.push(gain(&flow));
            }
        }
        let from = gains.iter().position(|&one| one == 1.25).unwrap();
        assert!(gains[from..].chunks(3).take(8).all(|three| three == [1.25, 0.75, 1.0]), "{gains:?}");
    }

    /// Linux: packet conservation in the first round of a recovery; the end of the recovery restores the window.
    #[test]
    fn a_recovery_conserves_packets_and_then_restores_the_window() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        steady(&mut flow, &mut clock, 300);
        let before = flow.cwnd();
        flow.on_congestion(&loss(100));
        assert_eq!(flow.cwnd(), before);
        clock.in_flight = 80;
        steady(&mut flow, &mut clock, 1);
        assert_eq!(flow.cwnd(), Bytes(81_000));
        let recovered = Window {
            change: Change::Recovered,
            cwnd: before,
            ssthresh: None,
            idle: Duration::ZERO,
            ..cwndlab_control::testing::undo()
        };
        flow.on_window(&recovered);
        steady(&mut flow, &mut clock, 1);
        assert_eq!(flow.cwnd(), before);
        flow.on_congestion(&timeout(100));
        assert_eq!(flow.cwnd(), Bytes(1000));
    }

    /// 10 s after the last lower sample: four segments for 200 ms and a round.
    #[test]
    fn an_expired_min_rtt_starts_probe_rtt() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.rtt = 0.11;
        steady(&mut flow, &mut clock, 9300);
        assert_eq!(flow.cwnd(), Bytes(4000));
        clock.in_flight = 4;
        steady(&mut flow, &mut clock, 500);
        assert!(flow.cwnd().0 > 200_000);
    }
}
