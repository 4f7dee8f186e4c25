//! The access categories of stations that all receive each other, beside the medium in which they do.

use super::*;
use crate::dscp::Dscp;
use crate::wifi::{AccessCategory, AccessParameters, DscpMapping, Edca, Protection};

/// A codepoint of each access category.
const DSCPS: [Dscp; 4] = [Dscp::Cs1, Dscp::Cs0, Dscp::Af41, Dscp::Ef];

/// What both kinds of medium do for a caller.
trait Shared {
    fn next(&self) -> Time;
    fn advance(&mut self, now: Time, taken: &mut Vec<FrameOutcome<u32>>);
    fn give(&mut self, now: Time, path: u32, one: QueuedPacket<u32>);
}

macro_rules! shared {
    ($kind:ident) => {
        impl Shared for $kind<u32> {
            fn next(&self) -> Time {
                self.next()
            }
            fn advance(&mut self, now: Time, taken: &mut Vec<FrameOutcome<u32>>) {
                self.process_until(now);
                self.take(now, taken, &mut Vec::new());
            }
            fn give(&mut self, now: Time, path: u32, one: QueuedPacket<u32>) {
                self.offer(now, path, one, &mut Vec::new());
            }
        }
    };
}

shared!(Neighbourhood);
shared!(Medium);

/// Mbit/s of each path; its sender always has frames of one category.
fn mbps(all: &mut dyn Shared, categories: &[AccessCategory], seconds: u64) -> Vec<f64> {
    let mut delivered = vec![0u64; categories.len()];
    for (path, &category) in (0..).zip(categories) {
        for _ in 0..70 {
            all.give(Time::ZERO, path, QueuedPacket { dscp: DSCPS[category as usize], ..packet(path) });
        }
    }
    let mut taken = Vec::new();
    while all.next() < Time::ZERO + S * seconds {
        let now = all.next();
        all.advance(now, &mut taken);
        for outcome in taken.drain(..) {
            let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
            delivered[one.packet as usize] += u64::from(matches!(outcome, FrameOutcome::Delivered(_)));
            all.give(now, one.packet, QueuedPacket { since: now, ..one });
        }
    }
    delivered.iter().map(|&frames| frames as f64 * f64::from(IP_BYTES) * 8.0 / seconds as f64 / 1e6).collect()
}

/// Both media with these senders, and a receiver: Mbit/s by sender in a neighbourhood and on a medium.
fn both(
    rules: &Rules,
    mode: Mode,
    senders: &[(u32, AccessCategory)],
    protection: Protection,
    seconds: u64,
) -> [Vec<f64>; 2] {
    use AccessCategory as Category;
    let edca = Edca { protection, ..Edca::new(DscpMapping::Rfc8325, 15, 63, None) };
    let rules = Rules { edca: Some(edca), ..rules.clone().with_qos() };
    let stations = senders.iter().map(|one| one.0).max().unwrap_or(0) + 1;
    let categories: Vec<Category> = senders.iter().map(|one| one.1).collect();
    let queues = |number| (0..number * 4).map(|_| QueueConfig::drop_tail(Limit::Packets(1000), true)).collect();
    let n = stations as usize + 1;
    let paths: Vec<_> = senders.iter().map(|&(from, _)| config((from, stations, mode))).collect();
    let radio = Radio::new(&vec![vec![NEAR; n]; n], &vec![CHANNEL; n]);
    let stream = || Stream::new(7, Purpose::Medium, 0);
    let rules_of = vec![rules.clone()];
    let mut cell = Neighbourhood::new(rules_of, &vec![0; n], radio, queues(stations + 1), &paths, stream());
    let paths: Vec<PathConfig> = paths.iter().map(|path| PathConfig { to: None, ..path.0 }).collect();
    let mut medium = Medium::new(rules, queues(stations), &paths, stream());
    [mbps(&mut cell, &categories, seconds), mbps(&mut medium, &categories, seconds)]
}

/// The sum within 1 %, shares within 0.02. The largest window has 63 slots: beside voice, best effort counts about one slot
/// per TXOP, so that a window of 1023 slots takes a second, and the few such windows of a minute would decide its share.
#[test]
fn access_categories_match_those_of_the_medium() {
    use AccessCategory::{Background, BestEffort, Video, Voice};
    use Protection::{Multiple, Single};
    let all: [(&[(u32, AccessCategory)], _); 8] = [
        (&[(0, Voice)], Single),
        (&[(0, Voice), (1, BestEffort)], Single),
        (&[(0, Video), (1, BestEffort), (2, BestEffort)], Single),
        (&[(0, BestEffort), (1, Background)], Single),
        (&[(0, Voice), (0, BestEffort), (1, BestEffort)], Single),
        (&[(0, Voice), (1, BestEffort)], Multiple),
        (&[(0, Video), (1, BestEffort), (2, BestEffort)], Multiple),
        (&[(0, Voice), (0, BestEffort), (1, BestEffort)], Multiple),
    ];
    for (rules, mode) in [(Rules::ht(), MCS7), (Rules::erp_ofdm(), OFDM54)] {
        for (senders, protection) in all {
            let [cell, medium] = both(&rules, mode, senders, protection, 60);
            let sums = [&cell, &medium].map(|rates| rates.iter().sum::<f64>());
            assert!((sums[0] / sums[1] - 1.0).abs() < 0.01, "{senders:?}: {cell:?} for {medium:?}");
            for (a, b) in cell.iter().zip(&medium) {
                assert!((a / sums[0] - b / sums[1]).abs() < 0.02, "{senders:?}: {cell:?} for {medium:?}");
            }
        }
    }
}

/// Rules of 802.11n with TXOPs of 2080 µs for voice (IEEE 802.11-2016, table 9-137).
fn with_protection(protection: Protection) -> Rules {
    let edca = Edca::new(DscpMapping::Rfc8325, 15, 1023, None);
    let limit = |one: AccessParameters| match one.txop_limit {
        Duration::ZERO => one,
        _ => AccessParameters { txop_limit: Duration::from_micros(2080), ..one },
    };
    let edca = Edca { protection, stations: edca.stations.map(limit), ..edca };
    Rules { edca: Some(edca), ..Rules::ht() }
}

/// Kind, start, airtime and duration field, µs.
type SentFrame = (FrameKind, u64, u64, u64);

/// The frames of three packets of voice from station 1 to station 0, and the end of the NAV of station 2, which receives
/// station 0 only, after each of them.
fn frames_of_a_txop(protection: Protection) -> (Vec<SentFrame>, Vec<u64>) {
    let powers = vec![vec![NEAR, NEAR, NEAR], vec![NEAR, NEAR, NONE], vec![NEAR, NONE, NEAR]];
    let queues = (0..12).map(|_| QueueConfig::drop_tail(Limit::Packets(10), true)).collect();
    let radio = Radio::new(&powers, &[CHANNEL; 3]);
    let stream = Stream::new(1, Purpose::Medium, 0);
    let rules = vec![with_protection(protection)];
    let mut all = Neighbourhood::new(rules, &[0; 3], radio, queues, &[config((1, 0, MCS7))], stream);
    for _ in 0..3 {
        all.offer(Time::ZERO, 0, QueuedPacket { dscp: Dscp::Ef, ..packet(0) }, &mut Vec::new());
    }
    let us = |time: Time| (time - Time::ZERO).as_nanos() / 1000;
    let (mut frames, mut navs): (Vec<SentFrame>, _) = (Vec::new(), Vec::new());
    while all.next() < NEVER {
        let now = all.next();
        all.process_until(now);
        if let Some(signal) = all.signals.last().filter(|signal| signal.start == now) {
            frames.push((signal.kind, us(now), 0, signal.nav.as_nanos() / 1000));
        } else if let Some(last) = frames.last_mut().filter(|last| last.2 == 0 && all.signals.is_empty()) {
            last.2 = us(now) - last.1;
            navs.push(us(all.transceivers[2].nav));
        }
        all.take(now, &mut Vec::new(), &mut Vec::new());
    }
    (frames, navs)
}

/// By hand (9.2.5.2): a frame takes 234 µs, its ACK 34 µs, a SIFS 10 µs. The first frame starts at 28 µs. Its duration field
/// has the ACK and the next frame with its ACK, 44 + 10 + 234 + 44 µs; that of the last frame has the ACK. The duration field
/// of an ACK is that of its frame less 44 µs.
#[test]
fn single_protection_reserves_the_next_exchange_of_a_txop() {
    let (frames, navs) = frames_of_a_txop(Protection::Single);
    let (data, ack) = (FrameKind::Data, FrameKind::Ack);
    let expected = [
        (data, 28, 234, 332),
        (ack, 272, 34, 288),
        (data, 316, 234, 332),
        (ack, 560, 34, 288),
        (data, 604, 234, 44),
        (ack, 848, 34, 0),
    ];
    assert_eq!(frames, expected);
    assert_eq!(navs, [0, 306 + 288, 594, 594 + 288, 882, 882]);
}

/// By hand (9.2.5.2, 10.22.2.9): the TXOP that starts at 28 µs reaches to 2108 µs, and so do all duration fields. Its last
/// frame is received at 882 µs; a SIFS later, a CF-End of 20 bytes at 1 Mbit/s takes 192 + 160 µs. Station 2 does not receive
/// it: its NAV remains.
#[test]
fn multiple_protection_reserves_a_txop_and_a_cf_end_truncates_it() {
    let (frames, navs) = frames_of_a_txop(Protection::Multiple);
    let (data, ack) = (FrameKind::Data, FrameKind::Ack);
    let expected = [
        (data, 28, 234, 2108 - 262),
        (ack, 272, 34, 2108 - 306),
        (data, 316, 234, 2108 - 550),
        (ack, 560, 34, 2108 - 594),
        (data, 604, 234, 2108 - 838),
        (ack, 848, 34, 2108 - 882),
        (FrameKind::CfEnd, 892, 352, 0),
    ];
    assert_eq!(frames, expected);
    assert_eq!(navs, [0, 2108, 2108, 2108, 2108, 2108, 2108]);
}

/// ns-3.37 (`known-answers/ns3-radio/cells.json`, "edca 802.11n voice and best effort"): 41.0 Mbit/s of voice, and none of
/// best effort. By hand: of 2080 µs seven frames take 2006, too much for a CF-End. The holder starts its next TXOP at most
/// 28 + 27 µs later, when the NAV of the other station has not ended.
#[test]
fn multiple_protection_of_voice_starves_best_effort() {
    let powers = vec![vec![NEAR; 3]; 3];
    let queues = (0..12).map(|_| QueueConfig::drop_tail(Limit::Packets(1000), true)).collect();
    let radio = Radio::new(&powers, &[CHANNEL; 3]);
    let paths = [config((1, 0, MCS7)), config((2, 0, MCS7))];
    let stream = Stream::new(1, Purpose::Medium, 0);
    let rules = vec![with_protection(Protection::Multiple)];
    let mut all = Neighbourhood::new(rules, &[0; 3], radio, queues, &paths, stream);
    let rates = mbps(&mut all, &[AccessCategory::Voice, AccessCategory::BestEffort], 5);
    assert!((rates[0] / 41.03 - 1.0).abs() < 0.003 && rates[1] < 0.1, "{rates:?}");
}
