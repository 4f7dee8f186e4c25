//! Tests of EDCA: interframe spaces and cycles by hand, ns-3's example, and a model with contention zones.

use super::*;
use crate::dscp::Dscp;
use crate::wifi::{AccessCategory, AccessParameters, DscpMapping, Edca, Protection};

/// A codepoint of each access category.
const DSCPS: [Dscp; 4] = [Dscp::Cs1, Dscp::Cs0, Dscp::Af41, Dscp::Ef];

fn edca(rules: Rules, access_point: Option<u32>) -> Rules {
    Rules { edca: Some(Edca::new(DscpMapping::Rfc8325, 15, 1023, access_point)), ..rules.with_qos() }
}

/// EDCA with another TXOP limit for all categories.
fn with_txop(rules: Rules, txop_limit: Duration) -> Rules {
    let mut rules = edca(rules, None);
    let edca = rules.edca.as_mut().unwrap();
    edca.stations = edca.stations.map(|one| AccessParameters { txop_limit, ..one });
    rules
}

/// Senders that always have frames of one category each.
fn run(rules: Rules, mode: Mode, senders: &[AccessCategory], seed: u64) -> Run {
    let paths: Vec<PathConfig> = (0..).zip(senders).map(|(from, _)| path(from, mode)).collect();
    let queues = stations(4 * senders.len() as u32);
    let dscp = |path: u32| DSCPS[senders[path as usize] as usize];
    saturate_with(
        Medium::new(rules, queues, &paths, Stream::new(seed, Purpose::Medium, 0)),
        paths.len() as u32,
        20,
        dscp,
    )
}

/// RFC 8325, section 4.3 (figure 1), with LE by RFC 8622, section 11; and the IP precedence by RFC 8325, section 2.3,
/// which names the categories that it calls inconsistent.
#[test]
fn codepoints_have_the_user_priorities_of_rfc_8325() {
    use AccessCategory::{Background, BestEffort, Video, Voice};
    let groups: [(&[Dscp], u8); 7] = [
        (&[Dscp::Cs6, Dscp::Cs7], 7),
        (&[Dscp::Ef, Dscp::Va], 6),
        (&[Dscp::Cs5], 5),
        (&[Dscp::Af41, Dscp::Af42, Dscp::Af43, Dscp::Cs4, Dscp::Af31, Dscp::Af32, Dscp::Af33, Dscp::Cs3], 4),
        (&[Dscp::Af21, Dscp::Af22, Dscp::Af23], 3),
        (&[Dscp::Cs1, Dscp::Le], 1),
        (&[Dscp::Cs0, Dscp::Cs2, Dscp::Af11, Dscp::Af12, Dscp::Af13], 0),
    ];
    for (dscps, priority) in groups {
        assert!(dscps.iter().all(|&dscp| DscpMapping::Rfc8325.user_priority(dscp) == priority), "{priority}");
    }
    let precedence = |dscp| AccessCategory::of_user_priority(DscpMapping::Precedence.user_priority(dscp));
    let cases = [(Dscp::Ef, Video), (Dscp::Af31, BestEffort), (Dscp::Af21, Background), (Dscp::Af11, Background)];
    assert!(cases.into_iter().all(|(dscp, category)| precedence(dscp) == category));
    assert_eq!([Dscp::Cs0, Dscp::Le, Dscp::Cs4, Dscp::Cs6].map(precedence), [BestEffort, BestEffort, Video, Voice]);
}

/// hostapd.conf: `wmm_ac_*` for stations (limits in units of 32 µs), `tx_queue_data*` for the access point.
#[test]
fn parameters_of_the_categories_are_those_of_wmm() {
    let Edca { stations, access_point, .. } = edca(Rules::ht(), Some(0)).edca.unwrap();
    let table = |all: [AccessParameters; 4]| {
        all.map(|one| (one.aifsn, one.cw_min, one.cw_max, one.txop_limit.as_nanos() / 32_000))
    };
    assert_eq!(table(stations), [(7, 15, 1023, 0), (3, 15, 1023, 0), (2, 7, 15, 94), (2, 3, 7, 47)]);
    assert_eq!(table(access_point.unwrap().1), [(7, 15, 1023, 0), (3, 15, 63, 0), (1, 7, 15, 94), (1, 3, 7, 47)]);
    assert_eq!(stations.map(|one| one.aggregates), [true, true, true, false]);
}

/// By hand: SIFS and 7, 3, 2 and 2 slots; 10 + 63, 27, 18 and 18 µs. (With the SIFS of 16 µs of 5 GHz they are 79, 43, 34
/// and 34.) An access point waits for one slot before voice and video. The first frame of 1538 bytes takes 258 µs.
#[test]
fn a_frame_waits_for_the_aifs_of_its_category() {
    for (access_point, spaces) in [(None, [73, 37, 28, 28]), (Some(0), [73, 37, 19, 19])] {
        for (dscp, space) in DSCPS.into_iter().zip(spaces) {
            let rules = edca(Rules::erp_ofdm(), access_point);
            let paths = [path(0, OFDM54)];
            let mut medium = Medium::new(rules, stations(4), &paths, Stream::new(1, Purpose::Medium, 0));
            let one = QueuedPacket { dscp, ..packet(Time::ZERO, 0u32, IP_BYTES) };
            medium.offer(Time::ZERO, 0, one, &mut Vec::new());
            assert_eq!(medium.next(), Time::ZERO + Duration::from_micros(space + 258), "{dscp:?}");
        }
    }
}

/// ns-3, `examples/wireless/wifi-80211e-txop.cc` with `--verifyResults`: one sender of 802.11a at 54 Mbit/s has 28 to 29
/// Mbit/s as best effort, 36.5 to 37 with TXOPs of 4.096 ms, 36.5 to 37.5 as video with the same limit, and 31.5 to 32.5
/// without. Its cycles are those of 802.11g: SIFS is 6 µs longer, and no frame has the signal extension of 6 µs.
///
/// By hand: an exchange takes 258 + 10 + 34 µs. 13 of them, 10 µs apart, are 4046 µs. A cycle adds AIFS and the mean
/// backoff: 37 + 67.5 or 28 + 31.5 µs. ns-3 has beacons, which take 0.7 %.
#[test]
fn the_throughput_of_one_sender_with_txops_matches_ns3() {
    let limit = Duration::from_micros(4096);
    for (category, limit, frames, cycle, bounds) in [
        (AccessCategory::BestEffort, Duration::ZERO, 1.0, 302.0 + 104.5, 28.0..29.0),
        (AccessCategory::BestEffort, limit, 13.0, 4046.0 + 104.5, 36.5..37.0),
        (AccessCategory::Video, limit, 13.0, 4046.0 + 59.5, 36.5..37.5),
        (AccessCategory::Video, Duration::ZERO, 1.0, 302.0 + 59.5, 31.5..32.6),
    ] {
        let ours = run(with_txop(Rules::erp_ofdm(), limit), OFDM54, &[category], 1).mbps();
        assert!((ours / (frames * UDP_BITS / cycle) - 1.0).abs() < 0.003, "{category:?} {limit}: {ours}");
        assert!(bounds.contains(&ours), "{category:?} {limit}: {ours}");
    }
}

/// By hand, 802.11n at MCS 7. Video: an aggregate and its BlockAck, 48 µs, fit into 3008 µs with up to 729 symbols, 15
/// frames of 1544 bytes; 713 symbols, 2894 µs; cycles of 2942 + 28 + 31.5 µs. Voice: single frames of 234 + 44 µs, five of
/// which are 1430 µs with their gaps; cycles of 1430 + 28 + 13.5 µs. An RTS at the beginning adds 88 µs: four remain, 1142
/// + 88 µs.
#[test]
fn a_txop_limits_aggregates_and_voice_is_not_aggregated() {
    let ip = |rules, category| run(rules, MCS7, &[category], 1).mbps() * 12e3 / UDP_BITS;
    let rts = Rules { rts_above: Some(500), ..edca(Rules::ht(), None) };
    for (rules, category, frames, cycle) in [
        (edca(Rules::ht(), None), AccessCategory::Video, 15.0, 2942.0 + 59.5),
        (edca(Rules::ht(), None), AccessCategory::Voice, 5.0, 1430.0 + 41.5),
        (rts, AccessCategory::Voice, 4.0, 1142.0 + 88.0 + 41.5),
    ] {
        let ours = ip(rules, category);
        assert!((ours / (frames * 12e3 / cycle) - 1.0).abs() < 0.003, "{category:?}: {ours}");
    }
}

/// By hand: voice and video of a station that find the medium idle would send at the same time, 28 µs later. Voice is sent
/// and received; video draws from a window of 15 in place of 7, waits 28 µs and its backoff, and is received too.
#[test]
fn voice_wins_an_internal_collision_and_video_backs_off() {
    let slots = |seed| {
        let rules = edca(Rules::erp_ofdm(), None);
        let mut medium = Medium::new(rules, stations(4), &[path(0, OFDM54)], Stream::new(seed, Purpose::Medium, 0));
        for number in [2usize, 3] {
            let one = QueuedPacket { dscp: DSCPS[number], ..packet(Time::ZERO, number, IP_BYTES) };
            medium.offer(Time::ZERO, 0, one, &mut Vec::new());
        }
        let mut times = Vec::new();
        while medium.next() < NEVER {
            let now = medium.next();
            medium.process_until(now);
            let taken = take(&mut medium, now, &mut Vec::new());
            times.extend(taken.iter().map(|outcome| match outcome {
                FrameOutcome::Delivered(one) => (one.packet, now),
                FrameOutcome::Lost(_) => panic!("nothing is lost"),
            }));
        }
        let counters = medium.stations().counters(NEVER, 0);
        assert_eq!((counters.attempts, counters.failures, counters.collisions, counters.sent), (2, 0, 0, 2));
        let [(3, voice), (2, video)] = times[..] else { panic!("{times:?}") };
        assert_eq!(voice, Time::ZERO + Duration::from_micros(28 + 258));
        let backoff = video - voice - Duration::from_micros(10 + 34 + 28 + 258);
        assert_eq!(backoff.as_nanos() % 9000, 0);
        backoff.as_nanos() / 9000
    };
    let drawn: std::collections::BTreeSet<u64> = (0..400).map(slots).collect();
    assert_eq!(drawn, (0..16).collect());
}

/// By hand: voice sends frames of 234 µs with ACKs of 44 µs from 28 µs on, a SIFS apart, in a TXOP until 28 + 2080 µs; three
/// of them end at 882 µs, seven at 2034 µs. A best-effort frame of another station that arrives meanwhile waits for 37 µs
/// and its backoff after that. With multiple protection it waits for a CF-End, from 892 to 1244 µs, or for the NAV, to
/// 2108 µs: at 2044 µs the rest is shorter than a CF-End.
#[test]
fn best_effort_waits_for_the_nav_of_a_txop_of_voice() {
    use Protection::{Multiple, Single};
    for (protection, frames, idle) in [(Single, 3, 882), (Multiple, 3, 1244), (Single, 7, 2034), (Multiple, 7, 2108)] {
        let mut rules = with_txop(Rules::ht(), Duration::from_micros(2080));
        rules.edca.as_mut().unwrap().protection = protection;
        let slots = |seed| {
            let paths = [path(0, MCS7), path(1, MCS7)];
            let mut medium = Medium::new(rules.clone(), stations(8), &paths, Stream::new(seed, Purpose::Medium, 0));
            let offer = |medium: &mut Medium<usize>, at, from: u32, category: usize| {
                let one = QueuedPacket { dscp: DSCPS[category], ..packet(at, category, IP_BYTES) };
                medium.offer(at, from, one, &mut Vec::new());
            };
            (0..frames).for_each(|_| offer(&mut medium, Time::ZERO, 0, 3));
            offer(&mut medium, Time::ZERO + Duration::from_micros(100), 1, 1);
            let mut last = Time::ZERO;
            while medium.next() < NEVER {
                last = medium.next();
                medium.process_until(last);
                take(&mut medium, last, &mut Vec::new());
            }
            let backoff = last - Time::ZERO - Duration::from_micros(idle + 37 + 234);
            assert_eq!(backoff.as_nanos() % 9000, 0);
            backoff.as_nanos() / 9000
        };
        let drawn: std::collections::BTreeSet<u64> = (0..400).map(slots).collect();
        assert_eq!(drawn, (0..16).collect(), "{protection:?}, {frames} frames");
    }
}

/// Saturated stations with the same parameters.
#[derive(Clone, Copy)]
struct Class {
    stations: i32,
    cw_min: u32,
    cw_max: u32,
}

fn power(base: f64, exponent: i32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

/// Bianchi's chain with seven attempts: attempts per slot in which a class contends, for a collision probability `p`.
fn tau(class: Class, p: f64) -> f64 {
    let stages = (0..7).scan(class.cw_min, |cw, j| {
        let slots = f64::from(*cw) / 2.0 + 1.0;
        *cw = (2 * *cw + 1).min(class.cw_max);
        Some((power(p, j), power(p, j) * slots))
    });
    let (attempts, slots) = stages.fold((0.0, 0.0), |(a, s), (attempt, slot)| (a + attempt, s + slot));
    attempts / slots
}

/// Throughput of each class, Mbit/s: contention zones (Robinson, Randhawa, IEEE JSAC 22(5), 2004). In the first `d` slots
/// after AIFS only the first class contends. `busy`: data, SIFS, ACK and the AIFS of the first class, µs.
fn zones(classes: [Class; 2], d: i32, busy: f64) -> [f64; 2] {
    let [a, b] = classes;
    let (mut pa, mut pb) = (0.3, 0.3);
    let mut rates = [0.0; 2];
    for _ in 0..2000 {
        let (ta, tb) = (tau(a, pa), tau(b, pb));
        let (idle_a, idle_b) = (power(1.0 - ta, a.stations), power(1.0 - tb, b.stations));
        // Slots of both zones between two transmissions.
        let first: f64 = (0..d).map(|k| power(idle_a, k)).sum();
        let second = power(idle_a, d) / (1.0 - idle_a * idle_b);
        let others_a = idle_a / (1.0 - ta);
        pa += 0.1 * (1.0 - others_a * (first + second * idle_b) / (first + second) - pa);
        pb += 0.1 * (1.0 - idle_a * idle_b / (1.0 - tb) - pb);
        let one_a = f64::from(a.stations) * ta * others_a * (first + second * idle_b);
        let one_b = f64::from(b.stations) * tb * idle_a * idle_b / (1.0 - tb) * second;
        let time = busy + 9.0 * (first + second - 1.0);
        // A collision has no ACK, and its senders wait for one.
        let time = time - (1.0 - one_a - one_b) * 44.0;
        rates = [one_a, one_b].map(|one| one * UDP_BITS / time);
    }
    rates
}

/// Saturated stations without TXOPs, and the model, for categories that differ in AIFS, in the contention window, or in
/// both. The model has no ACK timeout, which lasts up to two slots longer than AIFS.
#[test]
fn shares_of_saturated_categories_match_the_model() {
    use AccessCategory::{Background, BestEffort};
    for (aifsn, windows, n, m) in [(7, [15, 15], 5, 5), (5, [15, 15], 5, 5), (3, [15, 63], 5, 5), (4, [31, 127], 4, 8)]
    {
        let mut rules = with_txop(Rules::erp_ofdm(), Duration::ZERO);
        let edca = rules.edca.as_mut().unwrap();
        edca.stations[Background as usize].aifsn = aifsn;
        for (category, cw_min) in [BestEffort, Background].into_iter().zip(windows) {
            edca.stations[category as usize].cw_min = cw_min;
        }
        let classes =
            [(n, windows[0]), (m, windows[1])].map(|(stations, cw_min)| Class { stations, cw_min, cw_max: 1023 });
        let senders: Vec<AccessCategory> =
            (0..n + m).map(|one| if one < n { BestEffort } else { Background }).collect();
        let ours = run(rules, OFDM54, &senders, 1);
        let model = zones(classes, aifsn.cast_signed() - 3, 258.0 + 44.0 + 37.0);
        for (stations, model) in [0..n, n..n + m].into_iter().zip(model) {
            let frames: u64 = stations.map(|one| ours.delivered[one as usize]).sum();
            let mbps = frames as f64 * UDP_BITS / ours.seconds / 1e6;
            assert!((mbps / model - 1.0).abs() < 0.05, "AIFSN {aifsn}, windows {windows:?}: {mbps} for {model}");
        }
    }
}

/// By hand: a saturated voice sender draws at most 3 slots after an AIFSN of 2. Background waits for 7 slots, and is never
/// sent; best effort waits for 3.
#[test]
fn saturated_voice_starves_background_but_not_best_effort() {
    use AccessCategory::{Background, BestEffort, Voice};
    let frames = |other| run(edca(Rules::erp_ofdm(), None), OFDM54, &[Voice, other], 1).delivered[1];
    assert_eq!(frames(Background), 0);
    let best_effort = frames(BestEffort);
    assert!(best_effort > 100, "{best_effort}");
}

/// By hand (IEEE 802.11-2016, 10.22.2.4: at a slot boundary a function decrements its counter or draws a backoff, not both):
/// voice of the access point would send with a beacon, and draws 0 to 3 slots instead, each in a quarter of all cases. They
/// follow the beacon and an AIFS of 19 µs. Limits: four standard deviations of 2000 draws.
#[test]
fn a_backoff_drawn_in_a_collision_with_a_beacon_does_not_count_that_slot() {
    let due = Duration::from_micros(19 + 9 * 1000);
    let airtime = Duration::from_micros(736);
    let beacon = Some(Beacon { station: 0, interval: due, airtime, bytes: 68 });
    let edca = Some(Edca::new(DscpMapping::Rfc8325, 15, 1023, Some(0)));
    let rules = Rules { edca, beacon, ..Rules::erp_ofdm().with_qos() };
    let mut found = [0; 4];
    for seed in 0..2000 {
        let stream = Stream::new(seed, Purpose::Medium, 0);
        let mut medium = Medium::new(rules.clone(), stations(4), &[path(0, OFDM54)], stream);
        let now = Time::ZERO + due - Duration::from_micros(5);
        let one = QueuedPacket { dscp: Dscp::Ef, ..packet(now, 0, IP_BYTES) };
        while medium.next() < now {
            medium.process_until(medium.next());
        }
        medium.offer(now, 0, one, &mut Vec::new());
        let end = loop {
            let at = medium.next();
            medium.process_until(at);
            if !take(&mut medium, at, &mut Vec::new()).is_empty() {
                break at;
            }
        };
        let start = Time::ZERO + due + airtime + Duration::from_micros(19) + OFDM54.airtime(IP_BYTES + 38);
        found[((end - start).as_nanos() / 9_000) as usize] += 1;
    }
    assert!(found.iter().all(|count| (423..=577).contains(count)), "{found:?}");
}
