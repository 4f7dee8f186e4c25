//! BBR version 2 as in quiche.
//!
//! Source: N. Cardwell, Y. Cheng, S. Hassas Yeganeh, I. Swett, V. Jacobson, "BBR Congestion Control",
//! draft-cardwell-iccrg-bbr-congestion-control-02, March 2022, as implemented in quiche 0.30.0, src/recovery/gcongestion
//! (`bbr2_gcongestion`), which follows Google's QUICHE and has constants of version 3.
//!
//! ```text
//! rate     = min(sent / send interval, delivered / ACK interval) of the newest packet          (1)
//! bw       = min(max of the rates of two cycles, bw_lo)                                        (2)
//! pacing   = gain bw; w / R after the first ACK; 2.885 w / 333 ms before it                    (3)
//! Startup: gain 2.773 until three rounds without growth of the maximum by 1/4, or a round without it that has
//!   eight losses of over 1.5 %: inflight_hi = max(bdp, delivered in it)                        (4)
//! Drain: gain 1 / 2.885 until in flight ≤ bdp
//! ProbeBW: Down 0.9 until in flight < bdp and ≤ 0.85 inflight_hi, or for min_rtt; Cruise 1; Refill 1 for a round;
//!   Up 1.25 until two rounds with at least max(1.25 bdp, bdp + 2 segments) in flight all the time    (5)
//! next probe: 2.0005 s after Down began, or after min(bdp, w, 63) rounds, in segments of 1300 bytes    (6)
//! two losses of over 1.5 % in a round of a probe: inflight_hi = max(delivered, 0.7 target), Down     (7)
//! a round with losses, outside of probes: bw_lo = max(rate, 0.7 bw_lo), inflight_lo likewise   (8)
//! ProbeRTT: after a Down, once min_rtt is older than 10 s: w ≤ bdp / 2 for 200 ms              (9)
//! w = min(w + n, gain bdp + max ack height, bounds), gain 2, in Up 2.25; at least the initial window; unchanged
//!   by a loss; 0.85 inflight_hi bounds it in Cruise and ProbeRTT                               (10)
//! ```
//!
//! Units: bytes, bytes/s, ns; bdp = bw min_rtt. A loss is one or more packets that an ACK shows to be lost.
//! Differs from the source: where an ACK acknowledges several packets, the sample is that of the newest, and quiche has
//! the largest of all; what was sent and what was in flight at the transmission of a packet is computed from deliveries and
//! losses since then, which is exact without reordering; losses that a timer finds count with the next ACK. The draft
//! itself has 2 % in (4) and (7), and any loss in (7); a margin of 1 % in (3); Up until 1.25 bdp are in flight; a window of
//! at least four segments; ProbeRTT every 5 s; random times of probes; and packet conservation in recovery.

pub mod cycle;
pub mod heights;
pub mod machine;
pub mod model;
pub mod modes;
pub mod options;

use cwndlab_control::{Build, Confidence, Kind, Need, Spec};

use crate::whole::bbr2_quiche::machine::Bbr2;
use crate::whole::bbr2_quiche::options::Options;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bbr2-quiche",
    title: "BBR version 2 of quiche",
    kind: Kind::Whole,
    source: "Cardwell et al., IETF draft, March 2022, as in quiche 0.30.0",
    year: 2023,
    confidence: Confidence::High,
    summary: "BBR version 2 as the QUIC stack quiche has it, after Google's QUICHE: bounds on bandwidth and inflight from losses, a probe for bandwidth every two seconds without a random part, and a window that is never below the initial one.",
    parameters: Options::PARAMETERS,
    choices: &[
        "losses that one ACK shows are a single one, as in the stack",
        "of several packets of an ACK, the newest gives the rate sample",
        "a timeout does not change the window, as in the stack",
    ],
    pitfalls: &[
        "flows that began together probe together, since the time between probes is not random",
        "the window is at least the initial one, on a path with a smaller BDP too",
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
    use crate::whole::bbr1::tests::{lossy, settled, steady, until, value, Clock};
    use crate::whole::bbr2_quiche::options::DownLimit;
    use cwndlab_control::testing::{established, path, timeout};
    use cwndlab_control::CongestionControl;
    use cwndlab_units::{Bytes, Duration, Rate};

    const DOWN: f64 = 2.0;
    const CRUISE: f64 = 3.0;
    const UP: f64 = 5.0;
    const PROBE_RTT: f64 = 6.0;

    fn bbr() -> Bbr2 {
        Bbr2::new(&path(10), Options::default())
    }

    /// `initial_pacing_rate` and `update_pacing_rate`: by hand, 2.885 windows of 10,000 bytes in 333 ms are 693,093 bit/s,
    /// and a window in the RTT of the first ACK, 100 ms, 800,000.
    #[test]
    fn the_first_rates_are_those_of_a_window() {
        let mut flow = bbr();
        assert_eq!(flow.pacing_rate(), Some(Rate(693_093)));
        let mut clock = Clock { bw: 1000.0, rtt: 0.1, count: 0, in_flight: 10 };
        steady(&mut flow, &mut clock, 1);
        assert_eq!(flow.pacing_rate(), Some(Rate(800_000)));
    }

    /// `update_congestion_window`: by hand, 1000 segments/s and 100 ms are 100 segments; the window is twice that and the
    /// height of an ACK, of up to two segments. Neither losses outside of a probe nor a timeout change it.
    #[test]
    fn the_window_is_two_bdp_plus_the_height_of_acks() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, CRUISE);
        steady(&mut flow, &mut clock, 1300);
        let window = flow.cwnd().0;
        assert!((199_990..=202_010).contains(&window), "{window}");
        flow.on_congestion(&timeout(100));
        assert_eq!(flow.cwnd(), Bytes(window));
    }

    /// `BBRv2::new`, `cwnd_limits`: by hand, a BDP of one segment would give a window of two; it is the initial one of ten.
    #[test]
    fn the_window_is_at_least_the_initial_one() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 10.0, 0.1);
        steady(&mut flow, &mut clock, 500);
        assert_eq!(flow.cwnd(), Bytes(10_000));
    }

    /// `check_persistent_queue`: with 130 segments in flight, more than 1.25 BDP of 100, Up ends after two rounds, by hand
    /// 200 ACKs; with 120 it does not.
    #[test]
    fn up_lasts_two_rounds_where_the_queue_stays() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, UP);
        clock.in_flight = 120;
        steady(&mut flow, &mut clock, 1000);
        assert_eq!(value(&flow, "state"), UP);
        clock.in_flight = 130;
        let before = clock.count;
        until(&mut flow, &mut clock, DOWN);
        assert!((200..=302).contains(&(clock.count - before)), "{}", clock.count - before);
    }

    /// `has_stayed_long_enough_in_probe_down`: with 130 segments in flight Down ends after a round trip, by hand 100 ACKs, and
    /// without this limit it does not.
    #[test]
    fn down_lasts_a_round_trip_where_the_queue_stays() {
        for (down, state) in [(DownLimit::MinRtt, CRUISE), (DownLimit::None, DOWN)] {
            let mut flow = Bbr2::new(&path(10), Options { down, ..Options::default() });
            let mut clock = settled(&mut flow, 1000.0, 0.1);
            clock.in_flight = 90;
            until(&mut flow, &mut clock, UP);
            clock.in_flight = 130;
            until(&mut flow, &mut clock, DOWN);
            steady(&mut flow, &mut clock, 99);
            assert_eq!(value(&flow, "state"), DOWN);
            steady(&mut flow, &mut clock, 3);
            assert_eq!(value(&flow, "state"), state);
        }
    }

    /// `check_excessive_losses`: eight losses in a round without growth end Startup, seven do not. By hand, inflight_hi is
    /// then what a round delivered, the BDP of 100 segments.
    #[test]
    fn eight_losses_end_startup() {
        for (losses, state, high) in [(7, 0.0, f64::INFINITY), (8, 1.0, 100.0)] {
            let mut flow = bbr();
            flow.on_window(&established(Duration::from_millis(100), None));
            let mut clock = Clock { bw: 1000.0, rtt: 0.1, count: 0, in_flight: 400 };
            steady(&mut flow, &mut clock, 250);
            (0..losses).for_each(|_| lossy(&mut flow, &mut clock));
            steady(&mut flow, &mut clock, 60);
            assert_eq!(value(&flow, "state"), state, "{losses} losses");
            let found = value(&flow, "inflight_hi_segments");
            assert!(found == high || (found - high).abs() < 1e-6, "{found}");
        }
    }

    /// `maybe_adapt_upper_bounds`: the second loss of a round of a probe ends it. By hand, inflight_hi is what was delivered
    /// since the newest packet was sent, 100 segments, and not the 120 in flight.
    #[test]
    fn two_losses_end_a_probe() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, UP);
        lossy(&mut flow, &mut clock);
        assert_eq!((value(&flow, "state"), value(&flow, "inflight_hi_segments")), (UP, f64::INFINITY));
        lossy(&mut flow, &mut clock);
        assert_eq!(value(&flow, "state"), DOWN);
        assert!((value(&flow, "inflight_hi_segments") - 100.0).abs() < 1e-6);
    }

    /// `maybe_expire_min_rtt` and `ProbeRTT`: with a constant RTT the minimum is as old as the flow, so that the first Down
    /// that ends after 10 s leads to ProbeRTT, with a window of half of the BDP for 200 ms; then Cruise continues.
    #[test]
    fn probe_rtt_follows_a_down_after_ten_seconds() {
        let mut flow = bbr();
        let mut clock = settled(&mut flow, 1000.0, 0.1);
        clock.in_flight = 90;
        until(&mut flow, &mut clock, UP);
        while value(&flow, "state") != PROBE_RTT {
            clock.in_flight = if value(&flow, "state") == UP { 130 } else { 40 };
            steady(&mut flow, &mut clock, 1);
            assert!(clock.count < 15_000);
        }
        assert!(clock.count >= 9_900, "{}", clock.count);
        assert!((49_990..=50_010).contains(&flow.cwnd().0), "{}", flow.cwnd().0);
        let before = clock.count;
        until(&mut flow, &mut clock, CRUISE);
        assert!((200..=203).contains(&(clock.count - before)), "{}", clock.count - before);
    }
}
