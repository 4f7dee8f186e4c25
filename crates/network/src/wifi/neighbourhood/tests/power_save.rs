//! Power save: delays by beacons, and the buffer of the access point.

use super::*;
use crate::wifi::rules::Beacon;

const BEACONS: Duration = Duration::from_micros(102_400);

/// An access point (station 0) and a station that dozes after 50 ms. Path 0 leads to the station, path 1 back.
fn cell() -> Neighbourhood<u32> {
    let beacon = Beacon { station: 0, interval: BEACONS, airtime: Duration::from_micros(1000), bytes: 68 };
    let rules = Rules { power_save: Some(Duration::from_millis(50)), beacon: Some(beacon), ..Rules::ht() };
    let radio = Radio::new(&vec![vec![NEAR; 2]; 2], &[CHANNEL; 2]);
    let paths = [config((0, 1, MCS7)), config((1, 0, MCS7))];
    neighbourhood(&rules, radio, Limit::Packets(1000), &paths, Stream::new(1, Purpose::Medium, 0))
}

/// Offers packets of paths at times in ms; the delivery of each, in ms.
fn deliveries(all: &mut Neighbourhood<u32>, offers: &[(u64, u32)], until_ms: u64) -> Vec<(u32, f64)> {
    let offers: Vec<_> = offers.iter().map(|&(ms, path)| (ms * 1000, path)).collect();
    deliveries_us(all, &offers, until_ms)
}

/// The same with times of offers in µs.
fn deliveries_us(all: &mut Neighbourhood<u32>, offers: &[(u64, u32)], until_ms: u64) -> Vec<(u32, f64)> {
    let (mut offers, mut taken, mut found) = (offers.iter().peekable(), Vec::new(), Vec::new());
    let end = Time::ZERO + Duration::from_millis(until_ms);
    loop {
        let next = offers.peek().map_or(NEVER, |one| Time::ZERO + Duration::from_micros(one.0));
        let now = next.min(all.next());
        if now > end {
            return found;
        }
        all.process_until(now);
        all.take(now, &mut taken, &mut Vec::new());
        found.extend(taken.drain(..).map(|outcome| {
            let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
            (one.packet, now.as_nanos() as f64 / 1e6)
        }));
        while let Some(&(_, path)) = offers.next_if(|one| Time::ZERO + Duration::from_micros(one.0) <= now) {
            all.offer(now, path, packet(path), &mut Vec::new());
        }
    }
}

/// By hand: at 20 ms the station is awake. At 300 ms it dozes, and the third beacon ends at about 308.2 ms. A packet
/// 30 ms later finds it awake.
#[test]
fn a_dozing_station_gets_its_packets_after_the_next_beacon() {
    let found = deliveries(&mut cell(), &[(20, 0), (300, 0), (330, 0)], 1000);
    let times: Vec<f64> = found.iter().map(|one| one.1).collect();
    assert_eq!(times.len(), 3);
    assert!((20.0..21.0).contains(&times[0]), "{times:?}");
    assert!((308.2..309.5).contains(&times[1]), "{times:?}");
    assert!((330.0..331.0).contains(&times[2]), "{times:?}");
}

/// Its own frame wakes the station before the beacon.
#[test]
fn a_frame_of_the_station_fetches_what_is_kept_for_it() {
    let found = deliveries(&mut cell(), &[(210, 0), (240, 1)], 1000);
    assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), [1, 0]);
    assert!(found.iter().all(|one| (240.0..242.0).contains(&one.1)), "{found:?}");
}

/// The access point keeps 64 packets: of 100 at once the oldest 36 are dropped, and no packet disappears.
#[test]
fn the_buffer_for_a_dozing_station_drops_the_oldest_packets() {
    let mut all = cell();
    let mut dropped = Vec::new();
    let now = Time::ZERO + Duration::from_millis(110);
    all.process_until(now);
    for number in 0..100 {
        all.offer(now, 0, QueuedPacket { size: 100 + number, ..packet(0) }, &mut dropped);
    }
    assert_eq!(dropped.iter().map(|one| one.size).collect::<Vec<_>>(), (100..136).collect::<Vec<_>>());
    let (mut taken, mut delivered) = (Vec::new(), 0);
    while all.next() < now + S {
        let at = all.next();
        all.process_until(at);
        all.take(at, &mut taken, &mut Vec::new());
        delivered += taken.drain(..).len();
    }
    assert_eq!(delivered, 64);
    let totals = all.stations().path_totals(now + S, 0);
    assert_eq!((totals.accepted, totals.sent, totals.dropped), (64, 64, 36));
    assert_eq!(all.stations().path_backlog(now + S, 0), (0, 0));
}

/// By hand: a packet of 300 ms, after which another comes, is the oldest until the third beacon, of 307.2 ms, has fetched both.
#[test]
fn what_is_kept_for_a_station_has_its_arrival_time() {
    let mut all = cell();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    for ms in [300, 304] {
        all.process_until(at(ms));
        all.take(at(ms), &mut Vec::new(), &mut Vec::new());
        all.offer(at(ms), 0, QueuedPacket { since: at(ms), ..packet(0) }, &mut Vec::new());
    }
    assert_eq!((all.held_since(0), all.held_since(1)), (Some(at(300)), None));
    assert!(deliveries(&mut all, &[], 310).len() == 2 && all.held_since(0).is_none());
}

/// By hand: the third beacon begins at 307.2 ms. From 307.3 ms on a sender that the access point does not hear is ten times as
/// strong at the dozing station, too much for 6 Mbit/s, so that it gets its packet after the fourth beacon.
#[test]
fn a_beacon_that_a_hidden_frame_destroys_wakes_nobody() {
    let beacon = Beacon { station: 0, interval: BEACONS, airtime: Duration::from_micros(1000), bytes: 68 };
    let dozes = Rules { power_save: Some(Duration::from_millis(50)), beacon: Some(beacon), ..Rules::ht() };
    let mut powers = vec![vec![NONE; 4]; 4];
    for (one, other, power) in [(0, 1, NEAR), (2, 1, NEAR + 10.0), (2, 3, NEAR)] {
        (powers[one][other], powers[other][one]) = (power, power);
    }
    let queues = (0..4).map(|_| QueueConfig::drop_tail(Limit::Unlimited, true)).collect();
    let paths = [config((0, 1, MCS7)), config((2, 3, OFDM6))];
    let radio = Radio::new(&powers, &[CHANNEL; 4]);
    let stream = Stream::new(1, Purpose::Medium, 0);
    let mut all = Neighbourhood::new(vec![dozes, Rules::ht()], &[0, 0, 1, 1], radio, queues, &paths, stream);
    let hidden = (307_300, 1);
    let found = deliveries_us(&mut all, &[(300_000, 0), hidden], 1000);
    assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), [1, 0]);
    assert!((410.6..412.0).contains(&found[1].1), "{found:?}");
}
