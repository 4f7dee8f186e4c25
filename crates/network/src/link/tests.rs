//! Tests of a link: arrivals, counters and queues by hand, an M/D/1 queue, and invariants of random packets.

use super::*;
use crate::line::{RateSteps, NEVER};
use crate::random::Purpose;
use cwndlab_units::Rate;
use proptest::prelude::*;

fn link(rate: u64, delay: u64, limit: Limit) -> Link {
    Link::new(config(rate, delay, limit))
}

/// A link without impairments.
pub(crate) fn config(rate: u64, delay: u64, limit: Limit) -> LinkConfig {
    LinkConfig {
        line: Line::Fixed(Rate(rate)),
        delay: Duration::from_nanos(delay),
        limit,
        counts_in_service: false,
        mark_above: None,
        losses: Vec::new(),
        changes: None,
        harq: None,
        jitter: None,
        wifi_jitter: None,
        duplicate: 0.0,
        ecn: None,
        stream: Stream::new(1, Purpose::Loss, 1),
    }
}

const FULL: Offer = Offer { size: 1500, ect: false, payload: true };

/// By hand: 1500 bytes at 12 Mbit/s take 1 ms, then 5 ms of wire.
#[test]
fn arrival_is_serialisation_plus_propagation_to_the_nanosecond() {
    let mut link = link(12_000_000, 5_000_000, Limit::Unlimited);
    let at = |outcome| match outcome {
        Outcome::Arrives { at, .. } => at.as_nanos(),
        other => panic!("{other:?}"),
    };
    assert_eq!(at(link.offer(Time::from_nanos(0), FULL)), 6_000_000);
    assert_eq!(at(link.offer(Time::from_nanos(0), FULL)), 7_000_000);
    assert_eq!(at(link.offer(Time::from_nanos(10_000_000), FULL)), 16_000_000);
}

/// By hand: of packets that leave the line every ms, those behind a delayed one arrive with it, each with 1 ms less
/// delay than its predecessor, unless its own delay is longer.
#[test]
fn wifi_jitter_keeps_packets_in_order() {
    let wifi_jitter = Some(WifiJitter::with_mean(Duration::from_millis(7)));
    let mut link = Link::new(LinkConfig { wifi_jitter, ..config(12_000_000, 0, Limit::Unlimited) });
    assert!(!link.reorders());
    let arrivals: Vec<u64> = (0..5_000)
        .map(|n| match link.offer(Time::from_nanos(n * 1_000_000), FULL) {
            Outcome::Arrives { at, .. } => at.as_nanos(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(arrivals.is_sorted());
    let together = arrivals.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(together > 4_000, "{together}: nearly all packets are behind a spike");
}

/// By hand: without `counts_in_service` a limit of 2 holds 3 packets at once.
#[test]
fn the_packet_in_service_does_not_count() {
    let mut link = link(12_000_000, 0, Limit::Packets(2));
    let accepted: Vec<bool> = (0..5).map(|_| link.offer(Time::from_nanos(0), FULL) != Outcome::Dropped).collect();
    assert_eq!(accepted, [true, true, true, false, false]);
    assert_eq!(link.max_queue_length(), 2);
    assert_ne!(link.offer(Time::from_nanos(1_000_000), FULL), Outcome::Dropped);
}

/// By hand: three packets at once at 1 ms each; 2 + 1 packet-milliseconds of waiting.
#[test]
fn the_queue_integral_is_exact_at_any_time() {
    let mut link = link(12_000_000, 0, Limit::Unlimited);
    for _ in 0..3 {
        let _ = link.offer(Time::from_nanos(0), FULL);
    }
    assert_eq!(link.integrals(Time::from_nanos(500_000)).0, 1_000_000);
    assert_eq!(link.integrals(Time::from_nanos(1_500_000)).0, 2_500_000);
    assert_eq!(link.sent(Time::from_nanos(1_500_000)), (1, 1500));
    assert_eq!(link.integrals(Time::from_nanos(9_000_000)), (3_000_000, 4_500_000_000));
}

/// By hand: two packets 10 ms apart with 1 ms of serialisation; at 10.5 ms only the first has left.
#[test]
fn an_idle_line_counts_departed_packets() {
    let mut link = link(12_000_000, 0, Limit::Unlimited);
    let _ = link.offer(Time::from_nanos(0), FULL);
    let _ = link.offer(Time::from_nanos(10_000_000), FULL);
    assert_eq!(link.sent(Time::from_nanos(5_000_000)), (1, 1500));
    assert_eq!(link.sent(Time::from_nanos(10_500_000)).0, 1);
    assert_eq!(link.sent(Time::from_nanos(11_000_000)), (2, 3000));
}

/// By hand: 100 MB in packets of 10 kB at 1 Mbit/s take 80 ms each. At 100 s 1250 have left and one is in service, 8749
/// wait: the integral is that of 10⁴ − 1 packets less one every 80 ms, Σ (9999 − n) · 80 ms for n = 0 … 1249. That is
/// 0.937 · 10¹⁹ byte-nanoseconds, more than 2⁶³.
#[test]
fn a_standing_queue_of_100_megabytes_is_counted_beyond_64_bits() {
    let mut link = link(1_000_000, 0, Limit::Bytes(200_000_000));
    let packet = Offer { size: 10_000, ect: false, payload: true };
    for _ in 0..10_000 {
        assert_ne!(link.offer(Time::from_nanos(0), packet), Outcome::Dropped);
    }
    let waiting: u128 = (0..1250).map(|n| 9999 - n).sum();
    let (packets, bytes) = link.integrals(Time::from_nanos(100_000_000_000));
    assert_eq!(packets, waiting * 80_000_000);
    assert_eq!(bytes, waiting * 80_000_000 * 10_000);
    assert!(bytes > 1 << 63);
}

/// By hand: 1 ms of serialisation per packet at 12 Mbit/s.
#[test]
fn a_wire_loss_counts_from_the_departure_of_the_packet() {
    let mut config = config(12_000_000, 0, Limit::Unlimited);
    let list = crate::loss::list::Config { indices: [0, 2].into(), counts: crate::loss::list::Counts::All };
    config.losses = vec![crate::loss::Config::List(list).build(Stream::new(1, Purpose::Loss, 1))];
    let mut link = Link::new(config);
    for _ in 0..4 {
        let _ = link.offer(Time::from_nanos(0), FULL);
    }
    assert_eq!(
        [0, 999_999, 1_000_000, 2_999_999, 3_000_000].map(|now| link.lost(Time::from_nanos(now))),
        [0, 0, 1, 1, 2]
    );
}

/// Definition of `NEVER`: departures after a permanent outage stay there, at any rate.
#[test]
fn departures_after_a_permanent_outage_do_not_overflow() {
    for line in [
        Line::Steps(Box::new(RateSteps::new(&[(Time::ZERO, Rate(1_000)), (Time::from_nanos(1), Rate(0))], None))),
        Line::Fixed(Rate(1)),
    ] {
        let mut link = Link::new(LinkConfig { line, ..config(1, 0, Limit::Unlimited) });
        link.departures.last = NEVER - Duration::from_nanos(1);
        for _ in 0..40_000 {
            assert_eq!(link.pass_queue(Time::from_nanos(1), 65_535), Some((NEVER, false)));
        }
        assert_eq!(link.integrals(Time::from_nanos(2)).0, 40_000);
    }
}

/// M/D/1 (Kleinrock 1975): the mean wait is ρ/(2(1−ρ)) service times; here ρ = 0.8 and 1 ms, so 2 ms.
#[test]
fn poisson_arrivals_have_the_mean_wait_of_an_md1_queue() {
    let mut link = link(12_000_000, 0, Limit::Unlimited);
    let mut stream = Stream::new(5, Purpose::Loss, 0);
    let mut now = 0.0;
    let n = 2_000_000u64;
    for _ in 0..n {
        now += -cwndlab_units::maths::ln(1.0 - stream.unit()) * 1e6 / 0.8;
        let _ = link.offer(Time::from_nanos(now as u64), FULL);
    }
    let mean = link.integrals(Time::from_nanos(now as u64 + 1_000_000_000)).0 as f64 / n as f64;
    assert!((mean / 2e6 - 1.0).abs() < 0.03, "{mean} ns");
}

proptest! {
    /// Every packet arrives once or is dropped, arrivals are in order, and departures follow arrivals.
    #[test]
    fn packets_are_conserved(gaps in prop::collection::vec((0u64..3_000_000, 40u32..1500), 1..300), limit in 1u64..20) {
        let mut link = link(10_000_000, 1_000, Limit::Packets(limit));
        let mut now = Time::ZERO;
        let mut last = Time::ZERO;
        let mut through = 0;
        for ((gap, size), offered) in gaps.into_iter().zip(1u64..) {
            now += Duration::from_nanos(gap);
            if let Outcome::Arrives { at, departure, .. } = link.offer(now, Offer { size, ect: false, payload: true }) {
                prop_assert!(at > last && departure > now);
                last = at;
                through += 1;
            }
            let (waiting, _) = link.backlog(now);
            prop_assert!(waiting <= limit);
            let totals = link.totals();
            prop_assert_eq!(totals.arrived(), offered);
            let (left, _) = link.sent(now);
            prop_assert!(left + waiting + 1 >= totals.accepted);
        }
        prop_assert_eq!(link.totals().accepted, through);
        prop_assert_eq!(link.sent(last).0, through);
    }

    /// A queue and a variation of the delay after it are what an offer is where that is the only impairment.
    #[test]
    fn a_variation_after_a_queue_is_an_offer(
        packets in prop::collection::vec((0u64..2_000_000, 40u32..1500), 1..200),
        spread in 0u64..3_000_000,
        instant in any::<bool>(),
        limit in prop::sample::select(vec![Limit::Unlimited, Limit::Packets(5)]),
    ) {
        let line = if instant { Line::Instant } else { Line::Fixed(Rate(10_000_000)) };
        let jitter = Some((Duration::from_nanos(spread), false));
        let mut links = [(); 2].map(|()| Link::new(LinkConfig { line: line.clone(), jitter, ..config(1, 1_000, limit) }));
        prop_assert!(links[0].only_varies());
        let mut now = Time::ZERO;
        for (gap, size) in packets {
            now += Duration::from_nanos(gap);
            let offered = match links[0].offer(now, Offer { size, ect: false, payload: true }) {
                Outcome::Arrives { at, .. } => Some(at),
                _ => None,
            };
            let passed = links[1].pass_queue(now, size).map(|(at, _)| links[1].vary(at));
            prop_assert_eq!(offered, passed);
        }
    }

    /// An unlimited queue, whose first packet stands apart, counts as one of so many packets that none is dropped.
    #[test]
    fn an_unlimited_queue_counts_as_one_that_never_fills(
        packets in prop::collection::vec((0u64..3_000_000, 40u32..1500, any::<bool>()), 1..200),
    ) {
        let mut links = [Limit::Unlimited, Limit::Packets(1 << 40)].map(|limit| link(10_000_000, 1_000, limit));
        let mut now = Time::ZERO;
        for (gap, size, looks) in packets {
            now += Duration::from_nanos(gap);
            let [one, other] = links.each_mut().map(|link| link.offer(now, Offer { size, ect: false, payload: true }));
            prop_assert_eq!(one, other);
            if looks {
                let [one, other] = links.each_mut().map(|link| (link.backlog(now), link.sent(now), link.integrals(now)));
                prop_assert_eq!(one, other);
            }
            let [one, other] = links.each_ref().map(Link::max_queue_length);
            prop_assert_eq!(one, other);
        }
        let end = now + Duration::from_nanos(500_000_000);
        let [one, other] = links.each_mut().map(|link| (link.backlog(end), link.sent(end), link.integrals(end)));
        prop_assert_eq!(one, other);
    }
}

/// By hand: `jitter` reorders packets by at most its spread. Packets stay in order behind one that HARQ or Wi-Fi delays. A
/// schedule that reduces the delay by 30 ms lets packets of 1 ms each overtake up to 30 others.
#[test]
fn other_delays_keep_their_order_beside_a_jitter_that_reorders() {
    let plain = config(100_000_000, 10_000_000, Limit::Unlimited);
    let stream = Stream::new(1, Purpose::Harq, 1);
    let round = Duration::from_millis(8);
    let harq = Harq { probability: 0.1, round, max_retransmissions: 3, stream: stream.clone(), block: None };
    let state = |delay| crate::wire::WireState { delay: Duration::from_millis(delay), loss: 0.0, wifi_jitter: None };
    let steps = [(Time::ZERO, state(40)), (Time::from_nanos(50_000_000), state(10))];
    let spread = Duration::from_micros(1);
    let cases = [
        (LinkConfig { harq: Some(harq), ..plain.clone() }, spread),
        (LinkConfig { wifi_jitter: Some(WifiJitter::with_mean(Duration::from_millis(7))), ..plain.clone() }, spread),
        (LinkConfig { changes: Some(Changes::new(&steps, None, stream)), ..plain }, Duration::from_millis(30)),
    ];
    for (case, most) in cases {
        let mut link = Link::new(LinkConfig { jitter: Some((spread, true)), ..case });
        let mut latest = Time::ZERO;
        let (mut late, mut out_of_order) = (0, 0);
        for ms in 0..1000 {
            let now = Time::from_nanos(ms * 1_000_000);
            let Outcome::Arrives { at, .. } = link.offer(now, FULL) else { panic!("no loss") };
            assert!(at + most > latest, "{at:?} after {latest:?}");
            out_of_order += u32::from(at < latest);
            late += u32::from(at > now + Duration::from_millis(12));
            latest = latest.max(at);
        }
        assert!(late > 0 && out_of_order > 0, "{late} {out_of_order}");
    }
}
