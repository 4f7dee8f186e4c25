//! Tests of the queues of stations: marks, lengths, and the transfer of packets to the device.

use super::*;
use crate::aqm::{Codepoint, Fifo};
use crate::wifi::Aggregation;

/// A queue above the device that holds `limit`.
fn above_the_device(limit: Limit) -> QueueConfig<u32> {
    let discipline = Some(Box::new(Fifo::new(limit, false)) as _);
    QueueConfig { discipline, ..QueueConfig::drop_tail(Limit::Unlimited, false) }
}

fn medium_with(rules: Rules, queue: QueueConfig<u32>, error: f64) -> Medium<u32> {
    Medium::new(rules, vec![queue], &[PathConfig { error, ..path(0, OFDM54) }], Stream::new(1, Purpose::Medium, 0))
}

/// RFC 8257, 3.1, by hand: of six packets at once the first is in service, and the others wait. With the fourth three wait,
/// the first number above two; the last is not ECN-capable. Above zero, every one is marked that can be.
#[test]
fn an_arrival_with_which_more_packets_wait_than_the_threshold_is_marked() {
    for (mark_above, counts, expected) in [(2, true, &[3, 4][..]), (2, false, &[3, 4]), (0, true, &[0, 1, 2, 3, 4])] {
        let queue = QueueConfig { mark_above: Some(mark_above), ..QueueConfig::drop_tail(Limit::Packets(9), counts) };
        let mut medium = medium_with(Rules::erp_ofdm(), queue, 0.0);
        for number in 0..6 {
            let ecn = if number < 5 { Codepoint::Classic } else { Codepoint::NotCapable };
            let one = QueuedPacket { ecn, ..packet(Time::ZERO, number, IP_BYTES) };
            medium.offer(Time::ZERO, 0, one, &mut Vec::new());
        }
        let mut marked = Vec::new();
        while medium.next() < FIRST {
            let now = medium.next();
            medium.process_until(now);
            marked.extend(take(&mut medium, now, &mut Vec::new()).into_iter().filter_map(|outcome| match outcome {
                FrameOutcome::Delivered(one) => one.marked.then_some(one.packet),
                FrameOutcome::Lost(_) => panic!("nothing is lost"),
            }));
        }
        assert_eq!(marked, expected);
    }
}

/// By hand: the device has the first of six packets, and three wait in the queue; the last two are dropped, and were never
/// among the packets of the station.
#[test]
fn the_maximum_length_has_no_dropped_packets() {
    let mut medium = medium_with(Rules::erp_ofdm(), above_the_device(Limit::Packets(3)), 0.0);
    let mut dropped = Vec::new();
    (0..6).for_each(|number| medium.offer(Time::ZERO, 0, packet(Time::ZERO, number, IP_BYTES), &mut dropped));
    assert_eq!(dropped.iter().map(|one| one.packet).collect::<Vec<_>>(), [4, 5]);
    assert_eq!((medium.stations().max_queue_length(0), medium.stations().path_max_queue_length(0)), (4, 4));
}

/// The devices of two stations hold the four frames of an aggregate each. When outcomes are taken they are full again as long
/// as packets wait: also that of a station whose first frame is still missing while others arrived, and whose last exchange
/// failed altogether.
#[test]
fn devices_are_full_after_outcomes_while_packets_wait() {
    let aggregation = Rules::ht().aggregation.map(|one| Aggregation { frames: 4, ..one });
    let mut medium = Medium::new(
        Rules { aggregation, ..Rules::ht() },
        (0..2).map(|_| above_the_device(Limit::Unlimited)).collect(),
        &[0, 1].map(|from| PathConfig { error: 0.5, ..path(from, MCS7) }),
        Stream::new(1, Purpose::Medium, 0),
    );
    for number in 0..1000 {
        medium.offer(Time::ZERO, number % 2, packet(Time::ZERO, number, IP_BYTES), &mut Vec::new());
    }
    let mut served = [false; 2];
    for round in 0..400 {
        let now = medium.next();
        medium.process_until(now);
        let taken = take(&mut medium, now, &mut Vec::new());
        let none = taken.is_empty();
        for outcome in taken {
            let (FrameOutcome::Delivered(one) | FrameOutcome::Lost(one)) = outcome;
            served[one.packet as usize % 2] = true;
        }
        let functions = medium.stations().functions.iter().zip(served).filter(|one| one.1);
        let devices: Vec<u64> = functions.map(|(function, _)| function.device).collect();
        assert!(none || devices.iter().all(|&device| device == 4), "{round}: {devices:?}");
    }
}

/// By hand: the capacity of ten packets holds eleven of twelve that arrive at once, since one is in contention. All eleven are
/// in the aggregate that begins 37 µs later, and do not count, also if noise destroys them: ten of twelve more fit.
#[test]
fn frames_of_an_aggregate_that_fails_do_not_count_towards_the_capacity() {
    for limit in [Limit::Packets(10), Limit::Bytes(10 * u64::from(IP_BYTES))] {
        let mut medium = medium_with(Rules::ht(), QueueConfig::drop_tail(limit, false), 1.0);
        let mut dropped = Vec::new();
        for at in [Time::ZERO, Time::ZERO + Duration::from_micros(100)] {
            (0..12).for_each(|number| medium.offer(at, 0, packet(at, number, IP_BYTES), &mut dropped));
        }
        assert_eq!(dropped.iter().map(|one| one.packet).collect::<Vec<_>>(), [11, 10, 11]);
        assert_eq!(medium.stations().max_queue_length(0), 21);
    }
}
