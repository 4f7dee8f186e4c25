//! BBR version 3: BBR with bounds from losses.
//!
//! Source: N. Cardwell, I. Swett, J. Beshay (ed.), "BBR Congestion Control", draft-ietf-ccwg-bbr, as of August 2026;
//! Google's public branch of version 3 with `text=branch`.
//!
//! ```text
//! bw       = min(max of the rate samples of two cycles, bw_short)              (1)
//! min_rtt  = min of 10 s                                                       (2)
//! pacing   = 0.99 gain bw                                                      (3)
//! Startup: gain 4 ln 2 until three rounds without growth of bw by 1/4, or a round of a recovery
//!   with six losses of over 2 %: inflight_long = max(bdp, delivered)           (4)
//! Drain: gain 0.5 until in flight ≤ bdp, at most three rounds
//! ProbeBW: Down 0.9 until in flight ≤ min(bdp, 0.85 inflight_long), Cruise 1, Refill 1 for a round,
//!   Up 1.25 until three rounds without growth                                  (5)
//! next probe: after 2 to 3 s, or min(bdp, w, 63) rounds                        (6)
//! lost > 2 % of the bytes in flight, in a probe: inflight_long = max(in flight, 0.7 target), Down      (7)
//! a round with losses, outside of probes: bw_short = max(delivery rate, 0.7 bw_short), inflight_short likewise (8)
//! headroom: 0.85 inflight_long is the bound in Cruise and ProbeRTT             (9)
//! ProbeRTT: every 5 s, w ≤ max(bdp / 2, 4) for 200 ms and a round              (10)
//! w = min(w + n, cwnd_gain bdp + extra_acked, bounds), at least 4              (11)
//! with ecn, F = marked / delivered:
//!   each round: alpha += (F - alpha) / 16, from 1; F ≥ 1/2 in two rounds: the end of Startup, as in (4)   (12)
//!   F > 1/2 in a probe: as (7);  a round with marks, outside of probes: inflight_short *= 1 - alpha / 3   (13)
//!   marks without losses that have ceased: the next probe, which first raises inflight_long by a half     (14)
//! ```
//!
//! Units: segments, segments/s, ns; bdp = bw min_rtt.
//! Differs from the source: the data in flight at the transmission of a segment is computed from deliveries and losses
//! since then, which is exact without reordering; all losses detected by one ACK are processed together. The response to
//! ECN is that of the public branch, off by default, since the draft has none; retransmissions carry no ECT.

pub mod bounds;
pub mod cycle;
pub mod ecn;
pub mod machine;
pub mod modes;
mod named_values;
pub mod options;
pub mod path_model;
pub mod undo;

use cwndlab_control::{Build, Confidence, Kind, Need, Spec};
use cwndlab_units::Duration;

use crate::whole::bbr3::machine::Bbr3;
use crate::whole::bbr3::options::{Bbr3Options, Options, Text};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bbr3",
    title: "BBR version 3",
    kind: Kind::Whole,
    source: "draft-ietf-ccwg-bbr (August 2026)",
    year: 2023,
    confidence: Confidence::High,
    summary: "BBR with bounds on bandwidth and inflight from losses. It probes for bandwidth every few seconds, bounds the inflight by the level at which a probe caused too many losses, and leaves headroom for other flows between probes.",
    parameters: Bbr3Options::PARAMETERS,
    choices: &[
        "the draft where the public branch differs",
        "the send quantum of Linux, as section 5.6.3 of the draft permits: one segment below 1.2 Mbit/s",
        "the data in flight at the transmission of a segment is computed from deliveries and losses since then",
        "the draft leaves the response to ECN open; that of the public branch is an option, off by default",
    ],
    pitfalls: &[
        "random loss above 2 % in a probe sets the same bounds as congestion",
        "needs seconds to use bandwidth that has become available",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Bbr3::new(path, &options(arguments.into())))),
};

fn options(options: Bbr3Options) -> Options {
    let draft = options.text == Text::Draft;
    Options {
        text: options.text,
        drain_gain: match (options.drain_gain, draft) {
            (0.0, true) => 0.5,
            (0.0, false) => 88.0 / 256.0,
            (gain, _) => gain,
        },
        drain_rounds: if options.drain_rounds > 0.0 { Some(options.drain_rounds as u64) } else { draft.then_some(3) },
        down_gain: if draft { 0.9 } else { 0.91 },
        aggregation_rounds: if draft { 10 } else { 5 },
        cwnd_gain: options.cwnd_gain,
        loss_threshold: options.loss_threshold,
        beta: options.beta,
        headroom: options.headroom,
        probe_rtt_interval: Duration::from_nanos((options.probe_rtt_interval * 1e9) as u64),
        min_rtt_window: Duration::from_nanos((options.min_rtt_window * 1e9) as u64),
        forget: options.forget,
        ecn: options.ecn,
        ecn_max_rtt: (options.ecn_max_rtt > 0.0).then(|| Duration::from_nanos((options.ecn_max_rtt * 1e6) as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole::bbr1;
    use crate::whole::bbr1::tests::{settled, steady, value, Clock};
    use cwndlab_control::testing::{established, loss, path, timeout, undo};
    use cwndlab_control::{Change, CongestionControl, Window};
    use cwndlab_units::{Bytes, Rate};

    fn bbr() -> Bbr3 {
        Bbr3::new(&path(10), &options(Bbr3Options::default()))
    }

    fn of(text: &str) -> Options {
        let algorithm = crate::catalogue().parse(&format!("bbr3({text})")).unwrap();
        options((&algorithm.growth.arguments).into())
    }

    fn gain(flow: &Bbr3) -> f64 {
        value(flow, "pacing_gain")
    }

    const DOWN: f64 = 2.0;
    const CRUISE: f64 = 3.0;
    const REFILL: f64 = 4.0;
    const UP: f64 = 5.0;

    /// Acknowledges one by one until the flow is in this state, with a BDP in flight.
    fn until(flow: &mut Bbr3, clock: &mut Clock, state: f64) {
        clock.in_flight = 90;
        bbr1::tests::until(flow, clock, state);
    }

    /// Reference values: 4 ln 2 = 2.7726 times the rate, here ten segments of 1000 bytes in 100 ms; the public branch
    /// paces at 1 % less (`bbr_bw_to_pacing_rate`), the draft does not (`InitPacingRate`).
    #[test]
    fn startup_paces_at_four_ln_two() {
        for (text, margin) in [("text=draft", 1.0), ("text=branch", 0.99)] {
            let mut flow = Bbr3::new(&path(10), &of(text));
            flow.on_window(&established(Duration::from_millis(100), None));
            let rate = margin * 4.0 * std::f64::consts::LN_2 * 800_000.0;
            assert_eq!(flow.pacing_rate(), Some(Rate(rate as u64)), "{text}");
        }
    }

    /// An ACK that reports ten losses, which are more than 2 % of the hundred segments in flight.
    fn lossy(flow: &mut Bbr3, clock: &mut Clock) {
        flow.on_congestion(&loss(100));
        bbr1::tests::lossy(flow, clock);
    }

    /// The draft, HandleSpuriousLossDetection: a flow that left Up by the loss goes to Refill, and its bound of the
    /// inflight is again that of before.
    #[test]
    fn a_spurious_loss_in_up_leads_to_refill() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        until(&mut flow, &mut clock, UP);
        steady(&mut flow, &mut clock, 50);
        lossy(&mut flow, &mut clock);
        assert_eq!(value(&flow, "state"), DOWN);
        assert!(value(&flow, "inflight_longterm_segments").is_finite());
        flow.on_window(&undo());
        assert_eq!(value(&flow, "state"), REFILL);
        assert_eq!(value(&flow, "inflight_longterm_segments"), f64::INFINITY);
        // The round begins with the ACK of the undo, so that Refill lasts at least until the next.
        steady(&mut flow, &mut clock, 1);
        assert_eq!(value(&flow, "state"), REFILL);
    }

    /// The draft, CheckFullBWReached: growth counts at the start of a round; in the public branch at each ACK.
    #[test]
    fn the_plateau_is_looked_for_at_the_start_of_a_round() {
        for (text, grown) in [("text=draft", 10.0), ("text=branch", 20.0)] {
            let mut flow = Bbr3::new(&path(10), &of(text));
            flow.on_window(&established(Duration::from_millis(100), None));
            let mut clock = Clock { bw: 100.0, rtt: 0.1, count: 0, in_flight: 10 };
            steady(&mut flow, &mut clock, 1);
            let mut ack = bbr1::tests::ack_of(&clock);
            ack.delivery_rate = ack.delivery_rate.map(|sample| cwndlab_control::DeliveryRate {
                delivered: Bytes(20_000),
                prior_delivered: Bytes(0),
                ..sample
            });
            flow.on_ack(&ack); // within the round
            assert_eq!(value(&flow, "full_bw_segments_per_s"), 10.0 * grown, "{text}");
        }
    }

    /// The cycle of the draft with little data in flight, so that Down and ProbeRTT end at once.
    #[test]
    fn the_cycle_is_down_cruise_refill_up() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 40;
        let mut seen = Vec::new();
        for _ in 0..20_000 {
            steady(&mut flow, &mut clock, 1);
            if seen.last() != Some(&gain(&flow)) {
                seen.push(gain(&flow));
            }
        }
        let from = seen.iter().position(|&one| one == 1.25).expect("it probes");
        assert_eq!(seen[from..from + 4], [1.25, 0.9, 1.0, 1.25], "{seen:?}");
        assert!(flow.cwnd() >= Bytes(200_000));
    }

    /// The draft: where other flows keep the queue full Drain ends after three rounds; in the public branch it
    /// continues.
    #[test]
    fn drain_lasts_at_most_three_rounds_in_the_draft() {
        let branch = 88.0 / 256.0;
        for (text, drain, after) in [
            ("text=draft", 0.5, 0.9),
            ("text=branch", branch, branch),
            ("text=branch,drain_rounds=3", branch, 0.91),
            ("drain_gain=0.35,drain_rounds=1000", 0.35, 0.35),
        ] {
            let mut flow = Bbr3::new(&path(10), &of(text));
            flow.on_window(&established(Duration::from_millis(100), None));
            let mut clock = Clock { bw: 1000.0, rtt: 0.1, count: 0, in_flight: 400 };
            while gain(&flow) > 1.0 {
                steady(&mut flow, &mut clock, 1);
            }
            let gains = [300, 200].map(|acks| {
                steady(&mut flow, &mut clock, acks);
                gain(&flow)
            });
            assert_eq!(gains, [drain, after], "{text}");
        }
    }

    /// An ACK of a segment with a mark.
    fn marked(flow: &mut Bbr3, clock: &mut Clock) {
        clock.count += 1;
        let mut ack = bbr1::tests::ack_of(clock);
        ack.ce = Bytes(1000);
        flow.on_ack(&ack);
    }

    /// The public branch: two rounds with all packets marked end Startup, where the draft alone needs a plateau.
    #[test]
    fn marks_end_startup_where_the_response_is_on() {
        for (text, mode) in [("ecn=on", 1.0), ("ecn=on,ecn_max_rtt=1", 0.0), ("ecn=off", 0.0)] {
            let mut flow = Bbr3::new(&path(10), &of(text));
            flow.on_window(&established(Duration::from_millis(5), None));
            let mut clock = Clock { bw: 2000.0, rtt: 0.005, count: 0, in_flight: 40 };
            (0..20).for_each(|_| marked(&mut flow, &mut clock));
            assert_eq!(value(&flow, "state"), mode, "{text}");
        }
    }

    /// The public branch: after marks without losses, and a round without marks, Refill follows at once; without the
    /// response it follows after nine rounds or more.
    #[test]
    fn a_probe_follows_marks_that_have_ceased() {
        for (text, state) in [("ecn=on", REFILL), ("ecn=off", CRUISE)] {
            let mut flow = Bbr3::new(&path(10), &of(text));
            let mut clock = settled(&mut flow, 20_000.0, 0.005);
            until(&mut flow, &mut clock, CRUISE);
            marked(&mut flow, &mut clock);
            assert_eq!(value(&flow, "state"), CRUISE);
            let round = clock.in_flight + 1;
            steady(&mut flow, &mut clock, round);
            assert_eq!(value(&flow, "state"), state, "{text}");
        }
    }

    /// Pull request 5 of the draft's repository: the bandwidth of the cycle before the last is forgotten as Down begins,
    /// not a round later. Here half of the bandwidth is delivered in two cycles.
    #[test]
    fn the_filter_of_the_bandwidth_may_forget_a_cycle_as_down_begins() {
        for (forget, known) in [("feedback", 1000.0), ("down", 500.0)] {
            let mut flow = Bbr3::new(&path(10), &of(&format!("forget={forget},probe_rtt_interval=1000")));
            let mut clock = settled(&mut flow, 1000.0, 0.1);
            until(&mut flow, &mut clock, CRUISE);
            let (mut downs, mut before) = (0, CRUISE);
            while downs < 2 {
                clock.count += 1;
                let mut ack = bbr1::tests::ack_of(&clock);
                ack.delivery_rate = ack
                    .delivery_rate
                    .map(|sample| cwndlab_control::DeliveryRate { delivered: Bytes(sample.delivered.0 / 2), ..sample });
                flow.on_ack(&ack);
                let state = value(&flow, "state");
                downs += u32::from(state == DOWN && before != DOWN);
                before = state;
            }
            assert_eq!(value(&flow, "max_bw_segments_per_s"), known, "{forget}");
        }
    }

    /// The draft: a timeout reduces the window to one segment, the end of the recovery restores it.
    #[test]
    fn the_window_is_restored_after_the_recovery_from_a_timeout() {
        let mut flow = bbr();
        settled(&mut flow, 1000.0, 0.1);
        let before = flow.cwnd();
        flow.on_congestion(&loss(100));
        assert_eq!(flow.cwnd(), before);
        flow.on_congestion(&timeout(100));
        assert_eq!(flow.cwnd(), Bytes(1000));
        flow.on_window(&Window { change: Change::Recovered, ..undo() });
        assert_eq!(flow.cwnd(), before);
    }
}
