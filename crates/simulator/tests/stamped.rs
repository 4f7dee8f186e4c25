//! A sender with router feedback (a stamp) in its handshake; the feedback is scripted.

use cwndlab_control::{Feedback, Path, RecoveryKind};
use cwndlab_scenario::profile;
use cwndlab_simulator::catalogue;
use cwndlab_transport::sender::{Sender, ENDLESS};
use cwndlab_transport::wire::{AckPacket, Data, Output, SackBlocks};
use cwndlab_units::{Bytes, Rate, Time};

/// The transmission times of segments, and the events.
#[derive(Default)]
struct Line {
    sent_at: Vec<u64>,
    events: Vec<(&'static str, &'static str)>,
}

impl Output for Line {
    fn data(&mut self, segment: &Data) {
        self.sent_at.push(segment.timestamp.as_nanos());
    }
    fn ack(&mut self, _: &AckPacket) {}
    fn syn(&mut self, _: u32) {}
    fn event(&mut self, kind: &'static str, cause: &'static str, _: u32, _: u32, _: f64) {
        self.events.push((kind, cause));
    }
}

const MS: u64 = 1_000_000;

/// Runs a handshake of 100 ms, a round trip of 100 ms and the first ACK.
fn first_round(algorithm: &str, stamp: Option<u64>) -> (Sender, Line) {
    let stack = profile::find("linux").expect("the profile exists").0;
    let control = catalogue().parse(algorithm).expect("the text form is valid").build(&Path {
        mss: stack.mss,
        initial_cwnd: stack.mss * u64::from(stack.initial_window),
        initial_ssthresh: None,
        paced: false,
        seed: 1,
        classic_ecn: false,
        oracle_buffer: None,
        saved: None,
    });
    let mut sender = Sender::new(control, RecoveryKind::Rack, &stack.into());
    let mut line = Line::default();
    sender.open(Time::ZERO, &mut line);
    sender.supply(ENDLESS, Time::ZERO, &mut line);
    let feedback = stamp.map(|bps| Feedback { rate: Rate(bps), accelerated: Bytes::ZERO });
    sender.on_syn_ack(Time::from_nanos(100 * MS), None, Bytes(1 << 20), feedback, &mut line);
    while sender.pace_timer().as_nanos() < 200 * MS {
        sender.on_pace(sender.pace_timer(), &mut line);
    }
    let ack = AckPacket {
        ack: 1,
        part: 0,
        window: Bytes(1 << 20),
        echo: Time::from_nanos(100 * MS),
        ece: false,
        ce_count: 0,
        accecn: None,
        blocks: SackBlocks::default(),
        feedback: None,
    };
    sender.on_ack(Time::from_nanos(200 * MS), &ack, &mut line);
    (sender, line)
}

/// 46.336 Mbit/s over 100 ms are 400 segments of 1448 bytes; the window is a quarter of them, spread over the round
/// trip.
#[test]
fn a_stamped_window_is_spread_over_the_round_trip() {
    let (sender, line) = first_round("iotcc", Some(46_336_000));
    let first: Vec<_> = line.sent_at.iter().filter(|at| **at < 200 * MS).collect();
    assert!((94..=100).contains(&first.len()), "{}", first.len()); // the headers take their share of the rate
                                                                   // Linux does not pace the first ten packets of a connection.
    let gaps: Vec<_> = first.chunks(2).skip(5).map(|pair| *pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| (1_900_000..2_200_000).contains(&(pair[1] - pair[0]))), "{gaps:?}");
    assert!(line.events.contains(&("slow-start-exit", "stamp")), "{:?}", line.events);
    assert_eq!(sender.pacing_rate(), None);
    // x = 100 segments · 0.1 s, at most 8: the first ACK adds eight.
    assert_eq!(sender.cwnd(), 108);
}

/// On a path with a router without an agent the sender sends ten segments at once and records an event.
#[test]
fn an_unstamped_path_begins_with_the_initial_window() {
    let (sender, line) = first_round("iotcc", None);
    assert_eq!(line.sent_at.iter().filter(|at| **at == 100 * MS).count(), 10);
    assert!(line.events.contains(&("fallback", "no-stamp")), "{:?}", line.events);
    assert_eq!(sender.cwnd(), 11);
}
