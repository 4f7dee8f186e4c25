//! Tests of the medium: cycles by hand, Bianchi's Markov chain, ns-3's cell, and invariants of random runs.

mod edca;
mod queues;

use proptest::prelude::*;

use super::phy::{self, dsss_airtime, Format, Mode, ACK_BYTES, LONG_SLOT, SIFS};
use cwndlab_units::{Duration, Time};

use super::{
    Beacon, Counters, Deferral, DscpMapping, Edca, FrameOutcome, Medium, PathConfig, Protection, QueueConfig, Rules,
    NEVER,
};
use crate::aqm::{codel, Codel, QueuedPacket};
use crate::dscp::Dscp;
use crate::queue::Limit;
use crate::random::{Purpose, Stream};

const S: Duration = Duration::from_secs(1);
/// One second after the start of the run.
const FIRST: Time = Time::from_nanos(S.as_nanos());
const OFDM54: Mode = Mode::Ofdm { bits: 216 };
const MCS7: Mode = Mode::Ht { mcs: 7, streams: 1, short_guard: false, format: Format::HT20 };
const IP_BYTES: u32 = 1500;
/// Payload of a UDP packet of 1500 bytes.
const UDP_BITS: f64 = 1472.0 * 8.0;

fn path(from: u32, mode: Mode) -> PathConfig {
    PathConfig { from, to: None, mode, error: 0.0 }
}

/// Stations with 100 packets each.
fn stations<P>(number: u32) -> Vec<QueueConfig<P>> {
    (0..number).map(|_| QueueConfig::drop_tail(Limit::Packets(100), true)).collect()
}

fn medium(rules: Rules, senders: u32, mode: Mode, seed: u64) -> Medium<u32> {
    let paths: Vec<PathConfig> = (0..senders).map(|from| path(from, mode)).collect();
    Medium::new(rules, stations(senders), &paths, Stream::new(seed, Purpose::Medium, 0))
}

fn packet<P>(now: Time, packet: P, size: u32) -> QueuedPacket<P>
where
    P: Default,
{
    QueuedPacket { since: now, size, packet, ..QueuedPacket::default() }
}

/// The outcomes until `now`, in order.
fn take<P: Copy>(medium: &mut Medium<P>, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Vec<FrameOutcome<P>> {
    let mut taken = Vec::new();
    medium.take(now, &mut taken, dropped);
    taken
}

/// Results of a saturated run.
struct Run {
    /// Packets delivered, by path.
    delivered: Vec<u64>,
    counters: Vec<Counters>,
    seconds: f64,
}

impl Run {
    fn mbps(&self) -> f64 {
        self.delivered.iter().sum::<u64>() as f64 * UDP_BITS / self.seconds / 1e6
    }

    fn retry_ratio(&self) -> f64 {
        let sum = |of: fn(&Counters) -> u64| self.counters.iter().map(of).sum::<u64>() as f64;
        sum(|one| one.failures) / sum(|one| one.attempts)
    }
}

/// Every path always has frames to send.
fn saturate(medium: Medium<u32>, paths: u32, seconds: u64) -> Run {
    saturate_with(medium, paths, seconds, |_| Dscp::default())
}

/// Every path always has frames to send, with its codepoint.
fn saturate_with(mut medium: Medium<u32>, paths: u32, seconds: u64, dscp: impl Fn(u32) -> Dscp) -> Run {
    let fill = |medium: &mut Medium<u32>, now, path| {
        let one = QueuedPacket { dscp: dscp(path), ..packet(now, path, IP_BYTES) };
        medium.offer(now, path, one, &mut Vec::new());
    };
    for path in 0..paths {
        for _ in 0..70 {
            fill(&mut medium, Time::ZERO, path);
        }
    }
    let mut delivered = vec![0; paths as usize];
    while medium.next() < Time::ZERO + S * seconds {
        let now = medium.next();
        medium.process_until(now);
        for outcome in take(&mut medium, now, &mut Vec::new()) {
            let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
            let path = one.packet;
            delivered[path as usize] += u64::from(matches!(outcome, FrameOutcome::Delivered(_)));
            fill(&mut medium, now, path);
        }
    }
    let counters = (0..medium.stations().number()).map(|station| medium.stations().counters(NEVER, station)).collect();
    Run { delivered, counters, seconds: seconds as f64 }
}

/// Throughput and collision probability per attempt of n saturated stations, Mbit/s: Bianchi's chain with backoff
/// freezing, where the first slot after DIFS belongs to the last sender alone (Tinnirello, Bianchi, Xiao, IEEE Trans.
/// Veh. Technol. 59(2), 2010); the formulas are those of the reference's README, times in µs.
fn refined(n: i32, data: f64, ack: f64, slot: f64) -> (f64, f64) {
    let power = |base: f64, exponent: i32| (0..exponent).fold(1.0, |product, _| product * base);
    let tau_of = |p: f64| {
        let k = 1.0 - power(p, 7);
        let windows: f64 = (0..7).map(|j| power(p, j) * (16.0 * power(2.0, j) - 1.0)).sum();
        1.0 / (1.0 + (1.0 - p) / (2.0 * k) * (windows - k))
    };
    // p = 1 − (1 − τ)ⁿ⁻¹, by bisection.
    let mut low = 0.0;
    let mut high = 1.0 - 1e-9;
    for _ in 0..100 {
        let p = 0.5 * (low + high);
        if 1.0 - power(1.0 - tau_of(p), n - 1) > p {
            low = p;
        } else {
            high = p;
        }
    }
    let tau = tau_of(low);
    let idle = power(1.0 - tau, n);
    let one = f64::from(n) * tau * power(1.0 - tau, n - 1);
    let difs = 10.0 + 2.0 * slot;
    let b = 1.0 / 16.0;
    let success = (data + 10.0 + ack + difs) / (1.0 - b) + slot;
    let collision = data + difs + slot;
    let mean = idle * slot + one * success + (1.0 - idle - one) * collision;
    // Per attempt: a success carries 1/(1 − B) frames, of which only the first can collide.
    let attempts = f64::from(n) * tau + one * b / (1.0 - b);
    let failures = f64::from(n) * tau - one;
    (one / (1.0 - b) * UDP_BITS / mean, failures / attempts)
}

/// The reference's README gives 29.93, 30.54, 29.12, 27.34 and 25.26 Mbit/s and 0, 0.103, 0.264, 0.376 and 0.481 for its
/// `refined_*` columns.
#[test]
fn the_refined_model_matches_the_reference() {
    for (n, mbps, p) in
        [(1, 29.926, 0.0), (2, 30.539, 0.1029), (5, 29.116, 0.2636), (10, 27.344, 0.3764), (20, 25.258, 0.4810)]
    {
        let (ours, ratio) = refined(n, 254.0, 34.0, 9.0);
        assert!((ours - mbps).abs() < 0.001 && (ratio - p).abs() < 1e-4, "{n}: {ours} {ratio}");
    }
}

/// `reference/ns3/README.md`, "What to expect" of `u_up`, with its tolerances: one sender ±0.3 % of payload per cycle,
/// several ±1.5 %, the retry ratio ±0.015; and the refined model, which has no ACK timeout, within 2 %.
#[test]
fn saturated_uploads_match_ns3_and_the_refined_model() {
    for (n, mbps, ratio) in
        [(1, 29.93, 0.0), (2, 30.31, 0.108), (5, 29.15, 0.258), (10, 27.47, 0.370), (20, 25.41, 0.474)]
    {
        let run = saturate(medium(Rules::erp_ofdm(), n, OFDM54, 1), n, 20);
        let ours = run.mbps();
        let retries = run.retry_ratio();
        let allowed = if n == 1 { 0.003 } else { 0.015 };
        assert!((ours / mbps - 1.0).abs() < allowed, "{n}: {ours} Mbit/s");
        assert!((retries - ratio).abs() < 0.015, "{n}: {retries}");
        let (chain, collisions) = refined(n.cast_signed(), 254.0, 34.0, 9.0);
        assert!((ours / chain - 1.0).abs() < 0.02 && (retries - collisions).abs() < 0.015, "{n}: {ours} {retries}");
    }
}

/// Source: the same README, `u_up_slot20`: 23.66 and 24.19 Mbit/s.
#[test]
fn throughput_with_a_long_slot_matches_ns3() {
    let rules = Rules { slot: LONG_SLOT, ..Rules::erp_ofdm() };
    for (n, mbps, allowed) in [(1, 23.66, 0.003), (10, 24.19, 0.015)] {
        let ours = saturate(medium(rules.clone(), n, OFDM54, 1), n, 20).mbps();
        assert!((ours / mbps - 1.0).abs() < allowed, "{n}: {ours}");
    }
}

/// Source: the same README, `u_up_nodetect`: 30.29 Mbit/s with 2 stations, which both send in every collision, and 25.90
/// with 10, where the others wait for an EIFS with an ACK of 304 µs.
#[test]
fn throughput_with_eifs_matches_ns3() {
    assert_eq!(dsss_airtime(ACK_BYTES), Duration::from_micros(304));
    let rules = Rules { eifs_ack: Some(Rules::lowest_ack()), ..Rules::erp_ofdm() };
    for (n, mbps) in [(2, 30.29), (10, 25.90)] {
        let ours = saturate(medium(rules.clone(), n, OFDM54, 1), n, 20).mbps();
        assert!((ours / mbps - 1.0).abs() < 0.015, "{n}: {ours}");
    }
}

/// By hand: an RTS of 20 bytes and a CTS of 14 take 34 µs each at 24 Mbit/s, and a SIFS follows each, so that a cycle is
/// 88 µs longer. A collision takes 34 µs instead of 254.
#[test]
fn an_rts_adds_88_us_and_shortens_collisions() {
    let rules = Rules { rts_above: Some(500), ..Rules::erp_ofdm() };
    let one = saturate(medium(rules.clone(), 1, OFDM54, 1), 1, 20).mbps();
    assert!((one / (UDP_BITS / (393.5 + 88.0)) - 1.0).abs() < 0.003, "{one}");
    let forty = |rules| saturate(medium(rules, 40, OFDM54, 1), 40, 20);
    let with = forty(rules);
    let without = forty(Rules::erp_ofdm());
    assert!((with.retry_ratio() - without.retry_ratio()).abs() < 0.02);
    let gain = with.mbps() / without.mbps();
    let collisions = without.retry_ratio();
    assert!(gain > 1.0, "{gain} with {collisions} of all attempts in vain");
}

/// By hand: with a frame error rate of 20 % a frame needs 1.25 attempts; the contention window is doubled by every
/// failure, 15, 31, 63 …, and a frame is dropped after seven failures: 0.2⁷ of all frames.
#[test]
fn frames_lost_to_noise_are_retransmitted() {
    let path = PathConfig { error: 0.2, ..path(0, OFDM54) };
    let medium = Medium::new(Rules::erp_ofdm(), stations(1), &[path], Stream::new(1, Purpose::Medium, 0));
    let run = saturate(medium, 1, 60);
    assert!((run.retry_ratio() - 0.2).abs() < 0.005, "{}", run.retry_ratio());
    // A failed attempt is over at its ACK timeout, 39 µs after the data, where a success and DIFS need 72.
    let backoff: f64 = (0..7)
        .map(|k| 4.5 * (16.0 * f64::from(1 << k) - 1.0) * [1.0, 0.2, 0.04, 0.008, 0.0016, 0.00032, 0.000_064][k])
        .sum();
    let cycle = backoff + 254.0 + 72.0 + 0.25 * (254.0 + 39.0);
    assert!((run.mbps() / (UDP_BITS / cycle) - 1.0).abs() < 0.005, "{} for {}", run.mbps(), UDP_BITS / cycle);
    assert_eq!(run.counters[0].collisions, 0);
}

/// `reference/ns3/README.md`: a beacon every 102.4 ms at 1 Mbit/s reduces the throughput of one sender by 0.7 %, from
/// 29.93 to 29.71 Mbit/s.
#[test]
fn throughput_with_beacons_matches_ns3() {
    let beacon = Beacon { station: 1, interval: Duration::from_micros(102_400), airtime: dsss_airtime(68), bytes: 68 };
    let rules = Rules { beacon: Some(beacon), ..Rules::erp_ofdm() };
    let medium = Medium::new(rules, stations(2), &[path(0, OFDM54)], Stream::new(1, Purpose::Medium, 0));
    let ours = saturate(medium, 1, 20).mbps();
    assert!((ours / 29.71 - 1.0).abs() < 0.003, "{ours}");
}

/// Jain's index over 20 s is at least 0.997 in the reference.
#[test]
fn stations_with_equal_parameters_get_equal_throughput() {
    let run = saturate(medium(Rules::erp_ofdm(), 20, OFDM54, 3), 20, 20);
    let (sum, squares) =
        run.delivered.iter().fold((0.0, 0.0), |(sum, squares), &n| (sum + n as f64, squares + (n * n) as f64));
    let jain = sum * sum / (20.0 * squares);
    assert!(jain > 0.99, "{jain}");
}

/// The anomaly of 802.11 (Heusse, Rousseau, Berger-Sabbatel, Duda, INFOCOM 2003): all stations
/// deliver the same number of frames, so that a station at 6 Mbit/s reduces a fast one to its own throughput.
#[test]
fn a_slow_station_reduces_the_throughput_of_a_fast_one() {
    let paths = [path(0, OFDM54), path(1, Mode::Ofdm { bits: 24 })];
    let medium = Medium::new(Rules::erp_ofdm(), stations(2), &paths, Stream::new(1, Purpose::Medium, 0));
    let run = saturate(medium, 2, 60);
    let ratio = run.delivered[0] as f64 / run.delivered[1] as f64;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(run.delivered[0] as f64 * UDP_BITS / 60.0 < 5e6);
}

/// `links-and-queues.md`, 802.11n at MCS 7: 31.4 Mbit/s of IP packets without aggregation. With aggregation, 5.484 ms
/// hold 28 subframes of 1544 bytes: ⌈(22 + 8 · 43,230) / 260⌉ = 1331 symbols, 5366 µs, of a cycle of 37 + 67.5 + 5366 +
/// 10 + 38 µs.
#[test]
fn the_throughput_of_one_802_11n_sender_follows_from_its_cycle() {
    let single = Rules { aggregation: None, ..Rules::ht() };
    let ip = |run: Run| run.delivered[0] as f64 * 12e3 / run.seconds / 1e6;
    let ours = ip(saturate(medium(single, 1, MCS7, 1), 1, 20));
    assert!((ours / 31.37 - 1.0).abs() < 0.003, "{ours}");
    let ours = ip(saturate(medium(Rules::ht(), 1, MCS7, 1), 1, 20));
    assert!((ours / (28.0 * 12e3 / 5518.5) - 1.0).abs() < 0.003, "{ours}");
    let fast = Mode::Ht { mcs: 7, streams: 2, short_guard: false, format: Format::HT20 };
    let ours = ip(saturate(medium(Rules::ht(), 1, fast, 1), 1, 20));
    // 42 of them are 64,848 bytes, the most below 65,535: 998 symbols after a preamble of 40 µs.
    assert!((ours / (42.0 * 12e3 / (104.5 + 40.0 + 998.0 * 4.0 + 6.0 + 48.0)) - 1.0).abs() < 0.003, "{ours}");
}

/// IEEE 802.11-2016, 10.3.4.2: a frame that arrives after the medium was idle for a DIFS is sent immediately.
#[test]
fn a_frame_for_an_idle_medium_is_sent_immediately() {
    let mut medium = medium(Rules::erp_ofdm(), 2, OFDM54, 1);
    assert_eq!(medium.next(), NEVER);
    medium.offer(FIRST, 0, packet(FIRST, 7, IP_BYTES), &mut Vec::new());
    let received = FIRST + Duration::from_micros(254);
    let ack = SIFS + Duration::from_micros(34);
    assert_eq!(medium.next(), received);
    medium.process_until(received);
    let taken = take(&mut medium, received, &mut Vec::new());
    assert!(matches!(taken[..], [FrameOutcome::Delivered(one)] if one.packet == 7));
    assert_eq!(medium.stations().backlog(received, 0), (1, 1500));
    assert_eq!(medium.stations().backlog(received + ack, 0), (0, 0));
    assert_eq!(medium.stations().integrals(FIRST + S, 0).0, u128::from((received + ack - FIRST).as_nanos()));
    assert_eq!(phy::RATES_MBPS.last(), Some(&54));
}

/// By hand: a response that is ready at the end of the frame backs off, because the medium is busy. With
/// `Deferral::Keeps` it is sent a DIFS after the ACK of 34 µs, at 254 + 10 + 34 + 28 µs, and arrives 254 µs later.
#[test]
fn an_immediate_response_backs_off_except_with_the_access_rule_of_ns3() {
    let answered = |deferral, seed| {
        let paths = [PathConfig { to: Some(1), ..path(0, OFDM54) }, path(1, OFDM54)];
        let rules = Rules { deferral, ..Rules::erp_ofdm() };
        let mut medium = Medium::new(rules, stations(2), &paths, Stream::new(seed, Purpose::Medium, 0));
        medium.offer(FIRST, 0, packet(FIRST, 0, IP_BYTES), &mut Vec::new());
        let at = medium.next();
        medium.process_until(at);
        let _ = take(&mut medium, at, &mut Vec::new());
        medium.offer(at, 1, packet(at, 1, IP_BYTES), &mut Vec::new());
        medium.next() - at
    };
    let gap = SIFS + Duration::from_micros(34 + 28 + 254);
    let waits: Vec<u64> = (0..20).map(|seed| (answered(Deferral::Draws, seed) - gap).as_nanos() / 9_000).collect();
    assert!(waits.iter().all(|&slots| slots < 16) && waits.iter().any(|&slots| slots > 0));
    assert!((0..20).all(|seed| answered(Deferral::Keeps, seed) == gap));
}

proptest! {
    /// Every packet is delivered once in the order of its path and category, or dropped, or still queued. Queues stay within their
    /// limits, and the airtime of the delivered packets does not exceed the duration.
    #[test]
    fn packets_are_conserved_and_keep_their_order(
        offers in prop::collection::vec((0u64..400_000, 0u32..4, 40u32..1500, 0usize..4), 1..300),
        limit in 1u64..30,
        error in prop::sample::select(vec![0.0, 0.3, 0.9]),
        ht in any::<bool>(),
        rts in any::<bool>(),
        counts in any::<bool>(),
        categories in prop::sample::select(vec![1u32, 4]),
        protection in prop::sample::select(vec![Protection::Single, Protection::Multiple]),
    ) {
        let (rules, mode) = if ht { (Rules::ht(), MCS7) } else { (Rules::erp_ofdm(), OFDM54) };
        let rules = Rules { rts_above: rts.then_some(400), ..rules };
        let edca = Edca { protection, ..Edca::new(DscpMapping::Precedence, 15, 1023, Some(0)) };
        let rules = if categories == 4 { Rules { edca: Some(edca), ..rules.with_qos() } } else { rules };
        // An AP with two stations: paths 0 and 1 are its own, 2 and 3 theirs.
        let paths: Vec<PathConfig> = [0, 0, 1, 2].iter().map(|&from| PathConfig { error, ..path(from, mode) }).collect();
        let stations = (0..3 * categories).map(|_| QueueConfig::drop_tail(Limit::Packets(limit), counts)).collect();
        let dscps = [Dscp::Cs1, Dscp::Cs0, Dscp::Cs4, Dscp::Cs6];
        let classes: Vec<usize> = offers.iter().map(|&(.., class)| if categories > 1 { class } else { 0 }).collect();
        let mut medium = Medium::new(rules, stations, &paths, Stream::new(7, Purpose::Medium, 0));
        let mut now = Time::ZERO;
        let mut accepted = [0u64; 4];
        let mut refused = [0u64; 4];
        let mut delivered_numbers: [Vec<u32>; 4] = Default::default();
        let mut given_up = 0u64;
        let mut air = 0;
        let run = |medium: &mut Medium<(usize, u32)>, until: Time, delivered_numbers: &mut [Vec<u32>; 4], given_up: &mut u64, air: &mut u64| {
            while medium.next() <= until {
                let at = medium.next();
                medium.process_until(at);
                for outcome in take(medium, at, &mut Vec::new()) {
                    let delivered = matches!(outcome, FrameOutcome::Delivered(_));
                    let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
                    let (path, number) = one.packet;
                    if delivered {
                        *air += 20_000;
                        delivered_numbers[path].push(number);
                    } else {
                        *given_up += 1;
                    }
                }
            }
        };
        for (number, (gap, path, size, class)) in offers.into_iter().enumerate() {
            now += Duration::from_nanos(gap);
            run(&mut medium, now, &mut delivered_numbers, &mut given_up, &mut air);
            let mut dropped = Vec::new();
            let dscp = dscps[class];
            let one = QueuedPacket { flow: number as u64 % 5, dscp, ..packet(now, (path as usize, number as u32), size) };
            medium.offer(now, path, one, &mut dropped);
            *(if dropped.is_empty() { &mut accepted } else { &mut refused }).get_mut(path as usize).unwrap() += 1;
            for station in 0..3 {
                let (held, _) = medium.stations().backlog(now, station);
                let serving = if counts { 0 } else if ht { 64 } else { 1 };
                prop_assert!(held <= u64::from(categories) * (limit + serving));
            }
        }
        // After ten idle seconds all queues are empty.
        run(&mut medium, now + S * 10, &mut delivered_numbers, &mut given_up, &mut air);
        prop_assert_eq!(medium.next(), NEVER);
        let delivered: u64 = delivered_numbers.iter().map(|one| one.len() as u64).sum();
        prop_assert_eq!(accepted.iter().sum::<u64>(), delivered + given_up);
        for (path, numbers) in delivered_numbers.iter().enumerate() {
            for class in 0..4 {
                let of_class: Vec<u32> = numbers.iter().copied().filter(|&one| classes[one as usize] == class).collect();
                prop_assert!(of_class.windows(2).all(|pair| pair[0] < pair[1]));
            }
            let totals = medium.stations().path_totals(NEVER, path as u32);
            prop_assert_eq!((totals.accepted, totals.dropped, totals.sent), (accepted[path], refused[path], numbers.len() as u64));
            prop_assert_eq!(medium.stations().path_backlog(now + S * 10, path as u32), (0, 0));
        }
        let station_given_up: u64 = (0..3).map(|station| medium.stations().counters(NEVER, station).given_up).sum();
        prop_assert_eq!(station_given_up, given_up);
        let airtime: u64 = (0..3).map(|station| medium.stations().counters(NEVER, station).airtime_ns).sum();
        prop_assert_eq!(medium.stations().flow_airtimes().map(|(_, one)| one.as_nanos()).sum::<u64>(), airtime);
        prop_assert!(ht || Time::from_nanos(air) <= now + S * 10);
    }
}

/// With CoDel above the device, the throughput of a saturated sender still follows from its cycle, and the queueing delay
/// is near the target; 100 packets in a drop-tail queue wait for 40 ms.
#[test]
fn codel_above_the_device_limits_the_queueing_delay() {
    let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
    let config = codel::Config { target, interval, ecn: false, ce_threshold: None, ce_threshold_ect1: false };
    let codel = QueueConfig {
        limit: Limit::Unlimited,
        counts_in_service: false,
        mark_above: None,
        discipline: Some(Box::new(Codel::new(config, Limit::Packets(100)))),
    };
    let mut medium =
        Medium::new(Rules::erp_ofdm(), vec![codel], &[path(0, OFDM54)], Stream::new(1, Purpose::Medium, 0));
    // 5 % more than it carries.
    let mut dropped = Vec::new();
    let mut delivered = 0u64;
    let mut late = 0u64;
    let mut offered = 0u64;
    for number in 0..60_000u64 {
        let now = Time::from_nanos(number * 393_500 * 20 / 21);
        while medium.next() <= now {
            let at = medium.next();
            medium.process_until(at);
            for outcome in take(&mut medium, at, &mut dropped) {
                let FrameOutcome::Delivered(one) = outcome else { panic!("nothing is lost") };
                delivered += 1;
                late += u64::from(at > Time::ZERO + S * 20 && at - one.since > Duration::from_millis(20));
            }
        }
        medium.offer(now, 0, packet(now, 0u32, IP_BYTES), &mut dropped);
        offered += 1;
    }
    let now = Time::from_nanos(60_000 * 393_500 * 20 / 21);
    let mbps = delivered as f64 * 12e3 / (now.as_nanos() as f64 / 1e9) / 1e6;
    assert!((mbps / 30.5 - 1.0).abs() < 0.005, "{mbps}");
    // One in twenty, by the draws of the backoff; in the drop-tail queue nearly all.
    assert!(late * 10 < delivered, "{late} of {delivered}");
    let totals = medium.stations().path_totals(NEVER, 0);
    assert_eq!(totals.dropped, dropped.len() as u64);
    assert_eq!(offered, delivered + totals.dropped + medium.stations().backlog(now, 0).0);
}
