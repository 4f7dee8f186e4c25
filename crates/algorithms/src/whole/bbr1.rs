//! BBR, version 1.
//!
//! Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control",
//! ACM Queue 14(5), 2016; Linux 6.18 `net/ipv4/tcp_bbr.c`.
//!
//! ```text
//! bw      = max of the delivery-rate samples of 10 rounds                       (1)
//! min_rtt = min of the RTT samples of 10 s                                      (2)
//! pacing  = 0.99 pacing_gain bw                                                 (3)
//! target  = ⌈cwnd_gain bw min_rtt⌉ + extra_acked + 3 quanta, even               (4)
//! each ack: w = min(w + n, target) once the pipe is full, w + n before          (5)
//! Startup: gains 739/256 until bw grew by less than 1/4 in each of 3 rounds     (6)
//! Drain:   pacing 88/256 until in flight ≤ bw min_rtt + quanta                  (7)
//! ProbeBW: pacing 5/4, 3/4, 1, 1, 1, 1, 1, 1, one min_rtt each, from anywhere but 3/4; cwnd_gain 2   (8)
//! ProbeRTT: min_rtt 10 s old: w ≤ 4 for 200 ms and a round                      (9)
//! recovery: first round w = in flight + n, then (5); at its end w as before it  (10)
//! ```
//!
//! Units: segments, segments/s, ns; the quantum is what leaves in a millisecond, two at least.
//! Differs from the source: real numbers where Linux counts in 1/2²⁴ segments per µs, and no ticks of 4 ms.

pub mod machine;
pub mod path_model;
pub mod policer;

use cwndlab_control::{Arguments, Build, Confidence, Domain, Kind, Need, Parameter, Spec, Value};
use cwndlab_units::Duration;

use crate::whole::bbr1::machine::Bbr1;
use crate::whole::bbr1::path_model::Options;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bbr1",
    title: "BBR version 1",
    kind: Kind::Whole,
    source: "doi:10.1145/3012426.3022184; Linux 6.18 tcp_bbr.c",
    year: 2016,
    confidence: Confidence::High,
    summary: "A model of the path, its bottleneck's rate and its round-trip time, sets pacing rate and window; losses do not.",
    parameters: &[
        Parameter {
            name: "cwnd_gain",
            unit: "",
            default: Value::Number(2.0),
            domain: Domain::Range(1.0, 10.0),
            doc: "window of ProbeBW in bandwidth-delay products",
        },
        Parameter {
            name: "probe_gain",
            unit: "",
            default: Value::Number(1.25),
            domain: Domain::Range(1.0, 1.9),
            doc: "pacing gain of the phase that probes; the phase after it paces at 2 minus this",
        },
        Parameter {
            name: "min_rtt_window",
            unit: "s",
            default: Value::Number(10.0),
            domain: Domain::Range(0.1, 1000.0),
            doc: "age of min_rtt at which ProbeRTT measures it again",
        },
        Parameter {
            name: "aggregation",
            unit: "",
            default: Value::Word("on"),
            domain: Domain::Words(&["on", "off"]),
            doc: "add to the window what ACKs bring at once beyond the rate (Linux since 5.1; not in the paper)",
        },
        Parameter {
            name: "policer",
            unit: "",
            default: Value::Word("on"),
            domain: Domain::Words(&["on", "off"]),
            doc: "look for a token-bucket policer and keep to its rate (Linux; not in the paper)",
        },
        Parameter {
            name: "loss",
            unit: "",
            default: Value::Word("conserve"),
            domain: Domain::Words(&["conserve", "ignore"]),
            doc: "conserve: packet conservation in the first round of a recovery (Linux); ignore: (5) always",
        },
    ],
    choices: &[
        "gains as Linux rounds them, 739/256 and 88/256, where the paper has 2/ln 2 and its inverse",
        "a delivery-rate sample's app-limited mark during ProbeRTT is set here, since the transport does not know of it",
    ],
    pitfalls: &[
        "several flows in a buffer below 1.5 bandwidth-delay products lose packets for ever",
        "takes more than its share from loss-based flows in small buffers, less in large ones",
        "a queue that never empties passes for propagation delay until all flows probe at once",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    refuses: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Bbr1::new(path, &options(arguments)))),
};

fn options(arguments: &Arguments) -> Options {
    Options {
        cwnd_gain: arguments.number("cwnd_gain"),
        probe_gain: arguments.number("probe_gain"),
        min_rtt_window: Duration((arguments.number("min_rtt_window") * 1e9) as u64),
        aggregation: arguments.word("aggregation") == "on",
        policer: arguments.word("policer") == "on",
        conserve: arguments.word("loss") == "conserve",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, path, timeout};
    use cwndlab_control::{Change, CongestionControl, DeliveryRate, Path, Window};
    use cwndlab_units::{Bytes, Rate, Time};

    /// A bottleneck of `bw` segments/s and `rtt` seconds that delivers without end.
    pub(crate) struct Clock {
        pub(crate) bw: f64,
        pub(crate) rtt: f64,
        pub(crate) count: u64,
        pub(crate) in_flight: u64,
    }

    /// `n` more segments are acknowledged, one by one.
    pub(crate) fn steady(flow: &mut dyn CongestionControl, clock: &mut Clock, n: u64) {
        for _ in 0..n {
            clock.count += 1;
            let now = (1e9 * (clock.count as f64 / clock.bw + clock.rtt)) as u64;
            let mut ack = ack_at(Time(now), 1);
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
            flow.on_ack(&ack);
        }
    }

    /// Through Startup and Drain.
    pub(crate) fn settled(flow: &mut dyn CongestionControl, bw: f64, rtt: f64) -> Clock {
        let established = Window {
            now: Time(0),
            change: Change::Established,
            cwnd: flow.cwnd(),
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
        Bbr1::new(&path(10), &options(&Arguments::defaults(SPEC.parameters)))
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

    /// The sheet: 10 Mbit/s × 40 ms are 50,000 bytes, 34.5 segments of 1448; twice that and three quanta of two, even, and
    /// what the receiver's ACKs bring at once, here one.
    #[test]
    fn the_window_is_two_products_and_room_for_bursts() {
        let wide = Path { mss: Bytes(1448), initial_cwnd: Bytes(14_480), ..path(10) };
        let mut flow = Bbr1::new(&wide, &options(&Arguments::defaults(SPEC.parameters)));
        let mss = Bytes(1448);
        flow.on_window(&Window {
            now: Time(0),
            change: Change::Established,
            cwnd: Bytes(14_480),
            idle: Duration::ZERO,
            rtt: Some(Duration::from_millis(40)),
            feedback: None,
        });
        for count in 1..=2000u64 {
            let mut ack = ack_at(Time(40_000_000 + count * 1_158_400), 1);
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
        assert!((76..=78).contains(&w), "⌈69.1⌉ + 1 + 6, even, and 2 while probing: {w}");
    }

    /// Linux: 2885/1000 + 1 and 1000/2885 in 1/256, and the margin of 1 %: 10 segments in 100 ms pace at 2.858 times that.
    #[test]
    fn startup_paces_at_its_gain_of_the_initial_window() {
        let rate = 0.99 * 739.0 / 256.0 * 100.0 * 8000.0;
        let mut flow = bbr();
        assert_eq!(flow.pacing_rate(), Some(Rate((rate * 100.0) as u64)), "1 ms until the RTT is known");
        settled(&mut flow, 100.0, 0.1);
        assert!(flow.pacing_rate() <= Some(Rate((1.25 * 0.99 * 800_000.0) as u64)), "Startup is over");
        let mut first = bbr();
        let rtt = Some(Duration::from_millis(100));
        first.on_window(&Window { change: Change::Established, rtt, ..cwndlab_control::testing::undo() });
        assert_eq!(first.pacing_rate(), Some(Rate(rate as u64)));
    }

    /// The sheet: 5/4 and 3/4 for a round-trip time each, six of 1; never begun with 3/4. By hand over 80 round trips.
    #[test]
    fn the_cycle_has_eight_phases() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 140;
        let mut seen = Vec::new();
        for _ in 0..9000 {
            steady(&mut flow, &mut clock, 1);
            if seen.last() != Some(&gain(&flow)) {
                seen.push(gain(&flow));
            }
        }
        let from = seen.iter().position(|&one| one == 1.25).unwrap();
        assert!(seen[from..].chunks(3).take(8).all(|three| three == [1.25, 0.75, 1.0]), "{seen:?}");
    }

    /// Linux: the first round of a recovery sends as much as arrives; its end brings the old window back.
    #[test]
    fn a_recovery_conserves_packets_and_gives_the_window_back() {
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
            idle: Duration::ZERO,
            ..cwndlab_control::testing::undo()
        };
        flow.on_window(&recovered);
        steady(&mut flow, &mut clock, 1);
        assert_eq!(flow.cwnd(), before);
        flow.on_congestion(&timeout(100));
        assert_eq!(flow.cwnd(), Bytes(1000));
    }

    /// 10 s after the last smaller sample: four segments for 200 ms and a round.
    #[test]
    fn an_old_minimum_is_measured_anew() {
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
