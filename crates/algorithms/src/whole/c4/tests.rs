//! States and signals of C4 by hand and by reference values.

use super::*;
use cwndlab_control::testing::{ack_at, established, loss, path, timeout};
use cwndlab_units::{Duration, Time};

const MS: f64 = 1e6;

fn near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value} is not {expected} ± {within}");
}

/// A flow in `mode` with a nominal rate of `rate` bytes/s and a maximum RTT of `max_ms`.
fn flow(mode: Mode, rate: f64, max_ms: f64) -> C4 {
    let mut flow = C4::new(&path(10), Options::default());
    flow.nominal = Estimates { rate, max_rtt: max_ms * MS, min_rtt: max_ms * MS };
    flow.seek(1.0);
    flow.enter(mode);
    flow
}

/// The ACK of a segment that was sent with `prior` bytes delivered, with the rate `rate` bytes/s and the RTT `rtt_ms`.
fn ack(flow: &C4, rate: f64, rtt_ms: u64, prior: u64) -> Ack {
    let interval = Duration::from_millis(rtt_ms);
    let delivered = Bytes((rate * interval.as_secs()).round() as u64);
    Ack {
        delivered: Bytes(flow.delivered + 1000),
        rtt: Some(interval),
        delivery_rate: Some(DeliveryRate { delivered, interval, prior_delivered: Bytes(prior), app_limited: false }),
        ..ack_at(Time::from_nanos(1_000_000_000), 1)
    }
}

/// The last ACK of the present era: the first segment sent in it.
fn end(flow: &mut C4, rate: f64, rtt_ms: u64) -> Option<Event> {
    let last = ack(flow, rate, rtt_ms, flow.era.start);
    flow.on_ack(&last)
}

/// An ACK within the present era.
fn within(flow: &mut C4, rate: f64, rtt_ms: u64) -> Option<Event> {
    flow.era.start = flow.era.start.max(1);
    let one = ack(flow, rate, rtt_ms, flow.era.start - 1);
    flow.on_ack(&one)
}

/// Reference values of (7), (8) and (9), by hand from the draft's interpolation.
#[test]
fn sensitivity_sets_the_thresholds_of_delay_and_loss() {
    for (rate, s) in [(0.0, 0.0), (5e4, 0.0), (5e5, 0.436), (1e6, 0.92), (5e6, 0.956), (1e7, 1.0), (1e9, 1.0)] {
        near(sensitivity(rate), s, 5e-4);
    }
    for (s, threshold_ms, loss) in [(1.0, 5.0, 0.02), (0.5, 12.5, 0.27), (0.0, 20.0, 0.52)] {
        near(delay_threshold(s, 80.0 * MS), threshold_ms * MS, 1e-3);
        near(loss_threshold(s), loss, 1e-12);
    }
    assert_eq!(delay_threshold(0.0, 200.0 * MS), 25.0 * MS);
}

/// Reference values of (2): the minimum 40 and an era's 48 ms give 41, the maximum 100 and an era's 60 ms give 95, and an
/// era's 400 ms count as 290 with a minimum of 40.
#[test]
fn the_minimum_rises_and_the_maximum_falls_by_an_eighth() {
    let after = |min: f64, max: f64, era: (f64, f64), alpha: f64| {
        let mut flow = flow(Mode::Cruising, 1e6, max);
        flow.nominal.min_rtt = min * MS;
        (flow.era.min_rtt, flow.era.max_rtt, flow.era.alpha_previous) = (era.0 * MS, era.1 * MS, alpha);
        flow.update_rtts();
        (flow.nominal.min_rtt / MS, flow.nominal.max_rtt / MS)
    };
    assert_eq!(after(40.0, 100.0, (48.0, 60.0), 1.0), (41.0, 95.0));
    assert_eq!(after(40.0, 100.0, (40.0, 400.0), 15.0 / 16.0), (40.0, 290.0));
    assert_eq!(after(40.0, 100.0, (30.0, 110.0), 1.0), (30.0, 110.0));
    assert_eq!(after(40.0, 100.0, (30.0, 110.0), 1.25), (40.0, 100.0)); // segments of a push teach nothing
}

/// Reference value of (3): 2 MB/s and 50 ms in Cruising give 100 kB; by hand for the others, at least two segments.
#[test]
fn rate_and_window_are_the_nominal_ones_times_alpha() {
    let outputs = |mode, rate| {
        let flow = flow(mode, rate, 50.0);
        (flow.pacing_rate(), flow.cwnd())
    };
    assert_eq!(outputs(Mode::Cruising, 2e6), (Some(Rate(16_000_000)), Bytes(100_000)));
    assert_eq!(outputs(Mode::Recovery, 2e6), (Some(Rate(15_000_000)), Bytes(93_750)));
    assert_eq!(outputs(Mode::Pushing, 2e6), (Some(Rate(17_000_000)), Bytes(106_250)));
    assert_eq!(outputs(Mode::Initial, 2e6), (Some(Rate(32_000_000)), Bytes(200_000)));
    assert_eq!(outputs(Mode::Cruising, 2e4).1, Bytes(2000));
    let new = C4::new(&path(10), Options::default());
    assert_eq!((new.pacing_rate(), new.cwnd()), (None, Bytes(10_000)));
}

/// Reference value of (10): an excess of 1 ms with T = 5 ms reduces by a fifth; by hand, 10 ms by a quarter.
#[test]
fn delay_reduces_by_its_excess_up_to_a_quarter() {
    for (rtt_ms, rate) in [(85, 1e7), (86, 8e6), (95, 7.5e6)] {
        let mut flow = flow(Mode::Cruising, 1e7, 80.0); // s = 1, T = 5 ms
        let _ = within(&mut flow, 1e6, rtt_ms);
        near(flow.nominal.rate, rate, 1.0);
        assert_eq!(flow.mode == Mode::Recovery, rtt_ms > 85);
    }
}

/// The code beside the draft, c4_handle_rtt: only after an alpha above 1 is an RTT a signal.
#[test]
fn delay_may_count_after_a_push_only() {
    for (delay, alpha, mode) in
        [(Delay::All, 1.0, Mode::Recovery), (Delay::Push, 1.0, Mode::Cruising), (Delay::Push, 1.25, Mode::Recovery)]
    {
        let mut flow = flow(Mode::Cruising, 1e6, 80.0);
        (flow.options.delay, flow.era.alpha_previous) = (delay, alpha);
        let _ = within(&mut flow, 1e5, 120);
        assert_eq!(flow.mode, mode);
    }
}

/// (9) by hand: at 10 MB/s one loss, L = 1/16, is above 0.02; at 50 kB/s it takes 12, as 1 − (15/16)¹² = 0.539.
#[test]
fn slow_flows_tolerate_more_losses() {
    let lossy = |rate: f64, lost: u64| {
        let mut flow = flow(Mode::Cruising, rate, 100.0);
        let one = Ack { lost: Bytes(1000 * lost), ..ack(&flow, 1e4, 100, 0) };
        flow.era.start = 1;
        let _ = flow.on_ack(&one);
        flow.nominal.rate
    };
    assert_eq!([lossy(1e7, 1), lossy(5e4, 11), lossy(5e4, 12)], [7.5e6, 5e4, 3.75e4]);
}

/// The draft, "Initial state": the rate doubles while it grows, three eras without growth end it, an era that the
/// application limits does not count, and the maximum RTT is the first.
#[test]
fn initial_ends_after_three_eras_without_growth() {
    let mut flow = C4::new(&path(10), Options::default());
    flow.on_window(&established(Duration::from_millis(100), None));
    for (rate, eras) in [(1e5, 0), (2e5, 0), (2e5, 1), (2.4e5, 2), (3.1e5, 0), (3.1e5, 1), (3.1e5, 2)] {
        assert_eq!(end(&mut flow, rate, 100), None);
        assert_eq!((flow.eras, flow.mode), (eras, Mode::Initial));
    }
    let mut limited = ack(&flow, 1e5, 100, flow.era.start);
    limited.delivery_rate.as_mut().unwrap().app_limited = true;
    assert_eq!(flow.on_ack(&limited), None);
    assert_eq!(flow.eras, 2);
    let event = end(&mut flow, 3.1e5, 100).unwrap();
    assert_eq!((event.kind, event.reason), (EventKind::SlowStartExit, Reason::FullPipe));
    assert_eq!((flow.mode, flow.nominal.rate, flow.nominal.max_rtt), (Mode::Recovery, 3.1e5, 100.0 * MS));
}

/// The draft, "Initial state": delay ends it after two eras without growth, losses after more than 20 segments; the rate
/// is not reduced.
#[test]
fn signals_end_initial_under_conditions() {
    let mut delayed = flow(Mode::Initial, 1e7, 80.0);
    assert!(within(&mut delayed, 1e6, 120).is_none());
    delayed.eras = 2;
    assert_eq!(within(&mut delayed, 1e6, 120).unwrap().reason, Reason::Delay);
    let mut lossy = flow(Mode::Initial, 1e7, 80.0);
    for n in 1..=21 {
        let one = Ack { lost: Bytes(1000), ..ack(&lossy, 1e6, 80, 0) };
        lossy.era.start = 1;
        assert_eq!(lossy.on_ack(&one).is_some(), n == 21, "{n}");
    }
    assert_eq!((lossy.mode, lossy.nominal.rate), (Mode::Recovery, 1e7));
}

/// The draft, "States and Transition": Recovery, four eras of Cruising, and a push of 17/16; after a success 5/4.
#[test]
fn a_successful_push_makes_the_next_one_larger() {
    let mut flow = flow(Mode::Recovery, 1e6, 100.0);
    let mut alphas = Vec::new();
    for n in 0..14 {
        alphas.push(flow.alpha);
        let _ = end(&mut flow, if n < 6 { 1e6 } else { 1.01e6 }, 100);
    }
    let (recovery, low, push) = (0.9375, 1.0625, 1.25);
    assert_eq!(alphas[..7], [recovery, 1.0, 1.0, 1.0, 1.0, low, recovery]);
    assert_eq!(alphas[7..], [1.0, 1.0, 1.0, 1.0, push, recovery, 1.0]);
}

/// (6) by hand: after 17/16 any growth is enough, after 5/4 a sixteenth, 1/4 of what is expected.
#[test]
fn success_is_a_quarter_of_the_expected_growth() {
    let reached = |alpha, rate| Growth { rate: 16.0, alpha, unlimited: true }.is_reached(rate, 1.0625);
    assert!(!reached(1.0625, 16.0) && reached(1.0625, 16.01));
    assert!(!reached(1.25, 16.9) && reached(1.25, 17.0));
}

/// The draft, "Recovery state": three successive successes return to Initial.
#[test]
fn three_successes_restart_initial() {
    let mut flow = flow(Mode::Recovery, 1e6, 100.0);
    let mut rate = 1e6;
    for era in 0..18 {
        assert_ne!(flow.mode, Mode::Initial, "{era}");
        rate *= if flow.mode == Mode::Recovery { 1.1 } else { 1.0 };
        let _ = end(&mut flow, rate, 100);
    }
    assert_eq!((flow.mode, flow.successes), (Mode::Recovery, 2));
    let _ = end(&mut flow, 1.1 * rate, 100);
    assert_eq!((flow.mode, flow.successes), (Mode::Initial, 0));
}

/// The draft, "Restarting Initial if High Jitter": running_min below 2/5 of nominal_max, once. By hand: an era of 30 ms
/// lowers a maximum of 100 to 91.25 ms, of which 2/5 are 36.5.
#[test]
fn high_jitter_restarts_initial_once() {
    let mut flow = flow(Mode::Recovery, 1e6, 100.0);
    for mode in [Mode::Initial, Mode::Cruising] {
        flow.enter(Mode::Recovery);
        flow.era.alpha_previous = 1.0;
        (flow.nominal.min_rtt, flow.nominal.max_rtt) = (40.0 * MS, 100.0 * MS);
        let _ = end(&mut flow, 1e6, 30);
        assert_eq!((flow.nominal.max_rtt, flow.mode), (91.25 * MS, mode));
    }
}

/// The draft, "Nominal rate": measurements only raise it, and not in a Recovery with a signal.
#[test]
fn congested_recoveries_do_not_raise_the_rate() {
    let mut flow = flow(Mode::Recovery, 1e6, 100.0);
    let _ = within(&mut flow, 9e5, 100);
    let _ = within(&mut flow, 1.1e6, 100);
    assert_eq!(flow.nominal.rate, 1.1e6);
    let _ = within(&mut flow, 1e6, 200); // a signal in Recovery reduces nothing
    let _ = within(&mut flow, 1.2e6, 100);
    assert_eq!((flow.nominal.rate, flow.alpha), (1.1e6, RECOVERY_ALPHA));
}

/// The draft, "Pushing state": a signal ends it, and reduces nothing; the push is no success.
#[test]
fn a_signal_in_pushing_reduces_nothing() {
    let mut flow = flow(Mode::Pushing, 1e6, 100.0);
    let _ = within(&mut flow, 1.02e6, 200);
    assert_eq!((flow.mode, flow.nominal.rate), (Mode::Recovery, 1.02e6));
    let _ = end(&mut flow, 1.05e6, 100);
    assert_eq!((flow.mode, flow.nominal.rate, flow.successes), (Mode::Cruising, 1.02e6, 0));
}

/// The draft, "Do not react to Probe Time Out": the losses of a timeout are no signal. RFC 5681, section 3.1: the window
/// is one segment until the next ACK.
#[test]
fn a_timeout_is_no_signal() {
    let mut flow = flow(Mode::Cruising, 1e7, 100.0);
    flow.on_congestion(&timeout(100));
    assert_eq!(flow.cwnd(), Bytes(1000));
    let mut first = ack(&flow, 1e5, 100, 0);
    (first.lost, flow.era.start) = (Bytes(100_000), 1);
    let _ = flow.on_ack(&first);
    assert_eq!((flow.mode, flow.nominal.rate, flow.cwnd()), (Mode::Cruising, 1e7, Bytes(1_000_000)));
}

/// The code beside the draft: an echo of ECN reduces by a quarter.
#[test]
fn an_echo_of_ecn_reduces_by_a_quarter() {
    let mut flow = flow(Mode::Cruising, 1e6, 100.0);
    flow.on_congestion(&loss(100)); // losses count one by one, (9)
    assert_eq!(flow.nominal.rate, 1e6);
    flow.on_congestion(&Congestion { cause: Cause::Ecn, ..loss(100) });
    assert_eq!((flow.mode, flow.nominal.rate), (Mode::Recovery, 7.5e5));
}
