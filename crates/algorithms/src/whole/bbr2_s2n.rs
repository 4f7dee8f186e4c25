//! BBR version 2 as in s2n-quic.
//!
//! Source: N. Cardwell, Y. Cheng, S. Hassas Yeganeh, I. Swett, V. Jacobson, "BBR Congestion Control",
//! draft-cardwell-iccrg-bbr-congestion-control-02, March 2022, as implemented in s2n-quic-core 0.91.0, src/recovery/bbr and
//! src/recovery/bandwidth.
//!
//! ```text
//! rate     = delivered since the newest packet was sent / the longer of its send and ACK interval;
//!   the interval of the last sample where no more was delivered at its transmission           (1)
//! bw       = min(max of the rates, kept for two cycles, bw_lo)                                (2)
//! pacing   = 0.99 gain bw                                                                     (3)
//! Startup: gain 2.77 until three rounds without growth of the maximum by 1/4, or a round with eight losses of
//!   over 2 %; neither sets inflight_hi                                                        (4)
//! Drain: gain 0.5 until in flight ≤ bdp
//! ProbeBW: Down 0.9 until in flight ≤ min(bdp, 0.85 inflight_hi), or for min_rtt; Cruise 1; Refill 1 for a round;
//!   Up 1.25 for min_rtt, and until in flight > 1.25 bdp                                       (5)
//! next probe: 2 to 3 s after Down began, or after min(bdp, w, 63) rounds, less 0 or 1         (6)
//! two losses, lost > 2 % of the bytes in flight, in a probe: inflight_hi = max(in flight, 0.7 target), Down    (7)
//! a round with losses, outside of probes: bw_lo = max(delivery rate, 0.7 bw_lo), inflight_lo likewise    (8)
//! ProbeRTT: 5 s after the last minimum of the RTT, w ≤ max(bdp / 2, 4) for 200 ms and a round    (9)
//! w = min(w + n, 2 bdp + extra_acked, bounds), at least 4; unchanged by a loss; 0.85 inflight_hi bounds it in
//!   Cruise and ProbeRTT                                                                       (10)
//! ```
//!
//! Units: bytes, bytes/s, ns; the limits of w are in segments; bdp = bw min_rtt. A loss is one or more packets that an ACK
//! shows to be lost.
//! Differs from the source: all losses that one ACK shows are a single one of (4) and (7), where s2n-quic counts runs of
//! packet numbers; lost packets are the oldest in flight below an acknowledged one, and the data in flight at the
//! transmission of an acknowledged one is computed from deliveries and losses since then; both are exact without
//! reordering. The response to ECN is left out. The draft itself has another (1), a sample for each ACK (sample=ack);
//! three losses in (4), and any in (7); a filter of two values in (2); no time limit of Down; and packet conservation in
//! the first round of a recovery, which s2n-quic does not have.

pub mod cycle;
pub mod machine;
pub mod model;
pub mod options;
pub mod outstanding;

use cwndlab_control::{Build, Confidence, Kind, Need, Spec};

use crate::whole::bbr2_s2n::machine::Bbr2;
use crate::whole::bbr2_s2n::options::Options;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bbr2-s2n",
    title: "BBR version 2 of s2n-quic",
    kind: Kind::Whole,
    source: "Cardwell et al., IETF draft, March 2022, as in s2n-quic-core 0.91.0",
    year: 2022,
    confidence: Confidence::High,
    summary: "BBR version 2 as the QUIC stack s2n-quic has it: bounds on bandwidth and inflight from losses, and probes for bandwidth every few seconds. Its rate samples last until a newer packet is acknowledged, and losses do not reduce the window at once.",
    parameters: Options::PARAMETERS,
    choices: &[
        "losses that one ACK shows are a single one, since the contract has their bytes only",
        "the response to ECN is left out",
        "neither a timeout nor persistent congestion changes the window, as in the stack",
    ],
    pitfalls: &[
        "where the receiver acknowledges rarely, a rate sample exceeds the rate of the path",
        "over TCP a timeout does not reduce the window",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Bbr2::new(path, arguments.into()))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole::bbr1::tests::{ack_of, lossy, settled, steady, until, value, Clock};
    use cwndlab_control::testing::{established, path, timeout};
    use cwndlab_control::{CongestionControl, Sent};
    use cwndlab_units::{Bytes, Duration, Rate};

    const DOWN: f64 = 2.0;
    const CRUISE: f64 = 3.0;
    const REFILL: f64 = 4.0;
    const UP: f64 = 5.0;
    const PROBE_RTT: f64 = 6.0;

    fn bbr() -> Bbr2 {
        Bbr2::new(&path(10), Options::default())
    }

    /// `Pacer::new` and `initialize_pacing_rate`: by hand, 0.99 · 2.77 windows of 10,000 bytes in a millisecond, and in the
    /// first RTT of 100 ms, 2,193,840 bit/s.
    #[test]
    fn startup_paces_at_its_gain_of_the_initial_window() {
        let mut flow = bbr();
        let rate = |flow: &Bbr2| flow.pacing_rate().map_or(0.0, |Rate(rate)| rate as f64);
        assert!((rate(&flow) - 219_384_000.0).abs() <= 1.0, "{}", rate(&flow));
        flow.on_window(&established(Duration::from_millis(100), None));
        assert!((rate(&flow) - 2_193_840.0).abs() <= 1.0, "{}", rate(&flow));
    }

    /// `set_cwnd` and `max_inflight`: by hand, 1000 segments/s and 100 ms are 100 segments; the window is twice that and
    /// the aggregation of one segment. Losses outside of a probe, and a timeout, leave it.
    #[test]
    fn the_window_is_two_bdp_plus_aggregation() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, CRUISE);
        steady(&mut flow, &mut clock, 1100);
        let near = |flow: &Bbr2| (flow.cwnd().0 as f64 / 1000.0 - 201.0).abs() < 0.01;
        assert!(near(&flow), "{}", flow.cwnd().0);
        flow.on_congestion(&timeout(100));
        assert!(near(&flow));
    }

    /// `update_probe_bw_cycle_phase`: with 130 segments in flight, more than 1.25 BDP of 100 and two segments, Up ends after
    /// a round trip; so does Down, whose queue does not drain. By hand: 100 ms are 100 ACKs.
    #[test]
    fn up_and_down_last_a_round_trip_where_the_queue_stays() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, REFILL);
        until(&mut flow, &mut clock, UP);
        clock.in_flight = 130;
        for (state, next) in [(UP, DOWN), (DOWN, CRUISE)] {
            assert_eq!(value(&flow, "state"), state);
            let before = clock.count;
            until(&mut flow, &mut clock, next);
            assert!((100..=102).contains(&(clock.count - before)), "{state}: {}", clock.count - before);
        }
    }

    /// `excessive_inflight`: eight losses in a round end Startup, seven do not, and inflight_hi stays without a bound.
    #[test]
    fn eight_losses_end_startup() {
        for (losses, state) in [(7, 0.0), (8, 1.0)] {
            let mut flow = bbr();
            flow.on_window(&established(Duration::from_millis(100), None));
            let mut clock = Clock { bw: 1000.0, rtt: 0.1, count: 0, in_flight: 400 };
            steady(&mut flow, &mut clock, 50);
            (0..losses).for_each(|_| lossy(&mut flow, &mut clock));
            steady(&mut flow, &mut clock, 100);
            assert_eq!(value(&flow, "state"), state, "{losses} losses");
            assert_eq!(value(&flow, "inflight_hi_segments"), f64::INFINITY);
        }
    }

    /// `is_loss_too_high` and `on_inflight_too_high`: a probe ends with its second loss above 2 %. By hand: then 100
    /// segments were delivered and 20 lost since the transmission of the acknowledged one, of 120 in flight.
    #[test]
    fn two_losses_end_a_probe() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, UP);
        clock.in_flight = 120; // more than a BDP, so that Down lasts
        lossy(&mut flow, &mut clock);
        assert_eq!((value(&flow, "state"), value(&flow, "inflight_hi_segments")), (UP, f64::INFINITY));
        lossy(&mut flow, &mut clock);
        assert_eq!(value(&flow, "state"), DOWN);
        assert!((value(&flow, "inflight_hi_segments") - 120.0).abs() < 1e-9);
    }

    /// `handle_lost_packet` and `inflight_hi_from_lost_packet`: by hand, packets of 1000 bytes are sent with 101,000 bytes in
    /// flight and more, and the oldest three are lost in the second event of the probe. The third exceeds 2 % of its
    /// 103,000: inflight_hi is 102,000 and a prefix of 40 / 0.98. `start_down` resets the count of losses, so that the sample
    /// of the same ACK counts as safe, and raises the bound to the 104,000 of its packet (`adapt_upper_bounds`).
    #[test]
    fn a_lost_packet_sets_inflight_hi_and_the_sample_raises_it() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, UP);
        clock.in_flight = 120;
        lossy(&mut flow, &mut clock);
        let now = ack_of(&clock).now;
        for n in 101..=110 {
            let (size, in_flight) = (Bytes(1000), Bytes(1000 * n));
            flow.on_sent(&Sent { now, size, in_flight, retransmission: false, app_limited: false });
        }
        clock.count += 1;
        let mut ack = ack_of(&clock);
        (ack.lost, ack.rtt) = (Bytes(3000), None);
        flow.on_ack(&ack);
        assert_eq!(value(&flow, "state"), DOWN);
        let high = value(&flow, "inflight_hi_segments");
        assert!((high - 104.0).abs() < 1e-6, "{high}");
    }

    /// `data_rate::Model::update_lower_bound`: a round with losses in Cruise bounds bandwidth and inflight, by what was
    /// delivered in it: here as much as before, so that the bound is that of the path. Refill removes both bounds.
    #[test]
    fn losses_in_cruise_set_the_lower_bounds_until_refill() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 80;
        until(&mut flow, &mut clock, CRUISE);
        lossy(&mut flow, &mut clock);
        let window = flow.cwnd().0 as f64 / 1000.0;
        steady(&mut flow, &mut clock, 120);
        assert_eq!(value(&flow, "state"), CRUISE);
        assert!((value(&flow, "bw_lo_segments_per_s") - 1000.0).abs() < 1e-3);
        // The inflight: 0.7 of the window of two BDP and aggregation is more than the 100 segments that were delivered.
        let low = value(&flow, "inflight_lo_segments");
        assert!((low - 0.7 * window).abs() < 0.1, "{low} of {window}");
        until(&mut flow, &mut clock, REFILL);
        assert_eq!(value(&flow, "inflight_lo_segments"), f64::INFINITY);
    }

    /// `MinRttWindowedFilter`: samples equal to the minimum renew it, so that ProbeRTT never begins; with a larger RTT from
    /// some time on it does, 5 s later. Its window is half of the BDP (`probe_rtt_cwnd`); afterwards the largest window
    /// that was saved returns (`restore_cwnd`).
    #[test]
    fn probe_rtt_begins_five_seconds_after_the_last_minimum() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 40;
        for _ in 0..20_000 {
            steady(&mut flow, &mut clock, 1);
            assert_ne!(value(&flow, "state"), PROBE_RTT);
        }
        clock.rtt = 0.11;
        let before = clock.count;
        until(&mut flow, &mut clock, PROBE_RTT);
        assert!((4980..=5010).contains(&(clock.count - before)), "{}", clock.count - before);
        steady(&mut flow, &mut clock, 1);
        let window = flow.cwnd().0 as f64 / 1000.0;
        assert!((45.0..=56.0).contains(&window), "{window}");
        until(&mut flow, &mut clock, CRUISE);
        assert!(value(&flow, "prior_cwnd_segments") > 190.0 && flow.cwnd() > Bytes(190_000));
    }
}
