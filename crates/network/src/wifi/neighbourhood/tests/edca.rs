//! The access categories of stations that all receive each other, beside the medium in which they do.

use super::*;
use crate::dscp::Dscp;
use crate::wifi::{AccessCategory, DscpMapping, Edca};

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
fn both(rules: &Rules, mode: Mode, senders: &[(u32, AccessCategory)], seconds: u64) -> [Vec<f64>; 2] {
    use AccessCategory as Category;
    let rules = Rules { edca: Some(Edca::new(DscpMapping::Rfc8325, 15, 63, None)), ..rules.clone().with_qos() };
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
    let all: [&[(u32, AccessCategory)]; 5] = [
        &[(0, Voice)],
        &[(0, Voice), (1, BestEffort)],
        &[(0, Video), (1, BestEffort), (2, BestEffort)],
        &[(0, BestEffort), (1, Background)],
        &[(0, Voice), (0, BestEffort), (1, BestEffort)],
    ];
    for (rules, mode) in [(Rules::ht(), MCS7), (Rules::erp_ofdm(), OFDM54)] {
        for senders in all {
            let [cell, medium] = both(&rules, mode, senders, 60);
            let sums = [&cell, &medium].map(|rates| rates.iter().sum::<f64>());
            assert!((sums[0] / sums[1] - 1.0).abs() < 0.01, "{senders:?}: {cell:?} for {medium:?}");
            for (a, b) in cell.iter().zip(&medium) {
                assert!((a / sums[0] - b / sums[1]).abs() < 0.02, "{senders:?}: {cell:?} for {medium:?}");
            }
        }
    }
}
