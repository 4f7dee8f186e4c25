//! QUIC over a wire in memory against the simulator's TCP on the same path.
//!
//! Both carry the same bytes: a QUIC packet of 1452 bytes behind 28 bytes of IP and UDP headers, a TCP segment of 1452 bytes
//! behind 28 bytes of headers. What differs by nature, hence the tolerances:
//!
//! - `quinn` paces at 1.25 windows per RTT in bursts of ten packets, the simulator's sender does not pace: the queue overflows a
//!   packet sooner or later;
//! - QUIC acknowledges every second packet after at most 25 ms (`max_ack_delay`), which the simulator's receiver is told to do;
//! - of 1452 bytes QUIC spends about 35 on its own headers, so that goodput is 2 to 3 % less;
//! - QUIC ends a recovery with the first packet that left in it, TCP with the last that left before it.

mod wire;

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_control::{Ack, Congestion, CongestionControl, Event};
use cwndlab_quic::{controller, Factory};
use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_units::Bytes;
use serde_json::json;
use wire::{transfer, Line, Outcome, Work, HEADERS, MTU};

const RATE: u64 = 20_000_000;
const RTT_MS: u64 = 40;
const QUEUE: usize = 68;
const SECONDS: u64 = 40;

fn quic(name: &str, work: Work, forward: Line, seconds: u64) -> Outcome {
    let factory = Factory::clone(&controller(name).expect("QUIC runs it")).seed(1);
    transfer(factory, work, forward, back(), seconds * 1_000_000_000)
}

fn back() -> Line {
    Line::new(1_000_000_000, RTT_MS * 500_000, 10_000)
}

fn path() -> Line {
    Line::new(RATE, RTT_MS * 500_000, QUEUE)
}

/// The same in the simulator.
fn tcp(name: &str) -> Records {
    let document = json!({
        "schema_version": 1, "duration": format!("{SECONDS} s"), "sample_interval": "10 ms",
        "node": [{ "name": "a" }, { "name": "b" }],
        "link": [
            { "from": "a", "to": "b", "rate": format!("{} Mbps", RATE / 1_000_000), "delay": format!("{} ms", RTT_MS / 2),
              "queue": { "capacity": format!("{QUEUE} packets") } },
            { "from": "b", "to": "a", "rate": "1 Gbps", "delay": format!("{} ms", RTT_MS / 2) },
        ],
        "flow": [{ "algorithm": name, "from": "a", "to": "b",
            "stack": { "mss": format!("{MTU} B"), "header": format!("{HEADERS} B"), "tso_burst": false, "quick_acks": 0,
                       "ack_delay": "25 ms" } }],
    });
    let scenario = Scenario::from_json(&document.to_string(), None).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let plan = scenario.plan(&cwndlab_simulator::catalogue());
    let (plan, _) = plan.unwrap_or_else(|faults| panic!("{}", faults[0]));
    cwndlab_simulator::run(&plan, 1, &AtomicBool::new(false), None).expect("nobody cancels")
}

/// Of a run from `FROM` on: mean window and windows at its losses, in packets; number of reductions.
#[derive(Debug)]
struct Shape {
    mean: f64,
    peaks: f64,
    cuts: usize,
}

/// The first slow start is over.
const FROM: u64 = 5_000_000_000;

fn of_quic(outcome: &Outcome) -> Shape {
    let (mut area, mut peaks, mut last) = (0.0, Vec::new(), None::<(u64, f64)>);
    for answer in &outcome.answers {
        let packets = answer.cwnd.0 as f64 / f64::from(MTU);
        if let Some((then, before)) = last.filter(|(then, _)| *then >= FROM) {
            area += before * (answer.now.0 - then) as f64;
            if answer.congestion {
                peaks.push(before);
            }
        }
        last = Some((answer.now.0, packets));
    }
    let span = last.expect("something was answered").0 - FROM;
    Shape { mean: area / span as f64, peaks: mean(&peaks), cuts: peaks.len() }
}

fn of_tcp(records: &Records) -> Shape {
    let windows: Vec<f64> = records
        .samples
        .iter()
        .filter(|row| row.time_ns >= FROM)
        .filter_map(|row| row.cwnd_bytes)
        .map(|bytes| bytes as f64 / f64::from(MTU))
        .collect();
    let entries = records.events.iter().filter(|event| event.kind == "recovery" && event.time_ns >= FROM);
    let peaks: Vec<f64> = entries.map(|event| event.cwnd_before_bytes as f64 / f64::from(MTU)).collect();
    Shape { mean: mean(&windows), peaks: mean(&peaks), cuts: peaks.len() }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What the simulator says of a window holds over QUIC: the mean within 2 %, the window at a loss within 2 packets, the number
/// of reductions within one; goodput less QUIC's own headers, which are 2 to 3 % of a packet.
fn compare(name: &str) -> Outcome {
    let (outcome, records) = (quic(name, Work::Endless, path(), SECONDS), tcp(name));
    let (over, said) = (of_quic(&outcome), of_tcp(&records));
    let told = format!("{name}: over QUIC {over:?}, in the simulator {said:?}");
    assert!((over.mean / said.mean - 1.0).abs() < 0.02, "{told}");
    assert!((over.peaks - said.peaks).abs() < 2.0, "{told}");
    assert!(over.cuts.abs_diff(said.cuts) <= 1, "{told}");
    let share = outcome.delivered as f64 / records.flows[0].delivered_bytes as f64;
    assert!((0.96..0.99).contains(&share), "{told}, goodput {share}");
    outcome
}

/// By hand: 67 packets fill the path and 68 the queue, so the window is full at 135 packets and a Reno that halves there rises for
/// 68 round trips of 40 to 80 ms: about 4 s.
#[test]
fn reno_over_quic_matches_the_simulator() {
    let outcome = compare("reno");
    let cuts = outcome.answers.iter().filter(|answer| answer.congestion).map(|answer| answer.now.0 as f64 / 1e9);
    let cuts: Vec<f64> = cuts.collect();
    let cycles: Vec<f64> = cuts.windows(2).map(|pair| pair[1] - pair[0]).skip(2).collect();
    assert!(cycles.len() > 5 && cycles.iter().all(|one| (3.5..5.0).contains(one)), "{cycles:?}");
}

#[test]
fn cubic_over_quic_matches_the_simulator() {
    compare("cubic");
}

/// RFC 9000 (13.4) and RFC 9002 (7.1): marks reach the algorithm. DCTCP keeps the queue about its threshold (RFC 8257), and loses
/// nothing.
#[test]
fn dctcp_reacts_to_marks_and_loses_nothing() {
    let outcome = quic("dctcp", Work::Endless, path().marking(10), 20);
    let shape = of_quic(&outcome);
    assert_eq!(outcome.drops, 0);
    assert!(shape.cuts > 50 && (67.0..90.0).contains(&shape.mean), "{shape:?}");
}

/// RFC 9002, 7.8: a window that is not used does not grow. 100 kB are 69 packets; slow start counts until twice that much is
/// allowed.
#[test]
fn an_application_limited_sender_keeps_its_window() {
    let outcome = quic("cubic", Work::Bursts(100_000, 500_000_000), path(), 20);
    let most = outcome.answers.iter().map(|answer| answer.cwnd.0).max().expect("there are answers");
    assert!(most <= 2 * 100_000, "{most} B");
    assert!(outcome.most_in_flight <= 110_000, "{} B", outcome.most_in_flight);
}

/// RFC 9002, 7.6.2: after persistent congestion the window is two packets; then it comes back.
#[test]
fn persistent_congestion_leaves_two_packets_and_the_window_recovers() {
    let outcome = quic("reno", Work::Endless, path().dark(10_000_000_000, 14_000_000_000), 25);
    let least = outcome.answers.iter().filter(|answer| answer.now.0 > FROM).min_by_key(|answer| answer.cwnd);
    let least = least.expect("there are answers");
    assert_eq!(least.cwnd.0, 2 * u64::from(MTU));
    assert!((14_000_000_000..20_000_000_000).contains(&least.now.0), "{least:?}");
    let last = outcome.answers.last().expect("there are answers");
    assert!(last.cwnd.0 > 50 * u64::from(MTU), "{last:?}");
}

/// A window of ten packets for ever.
#[derive(Clone, Debug)]
struct Ten;

impl CongestionControl for Ten {
    fn on_ack(&mut self, _: &Ack) -> Option<Event> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn cwnd(&self) -> Bytes {
        Bytes(10 * u64::from(MTU))
    }
}

/// `quinn` blocks a packet that would fill the window, RFC 9002 (7) one that would exceed it: all ten packets are in flight.
#[test]
fn a_full_window_is_in_flight() {
    let factory = Factory::made_by("ten", false, Arc::new(|_| Box::new(Ten)));
    let outcome = transfer(factory, Work::Endless, path(), back(), 5_000_000_000);
    // A round trip is the path's, two packets of 592 µs each (the first of a pair waits for the second's ACK) and the ACK's.
    let rounds = 5e9 / (RTT_MS as f64 * 1e6 + 2.0 * 592_000.0);
    let packets = outcome.delivered as f64 / 1417.0 / rounds;
    assert!((9.5..10.0).contains(&packets), "{packets} packets per round trip");
}

#[test]
fn the_same_transfer_gives_the_same_windows() {
    let answers = || quic("bbr3", Work::Endless, path(), 6).answers;
    assert_eq!(answers(), answers());
}
