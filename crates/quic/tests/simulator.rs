//! Comparison of QUIC over a wire in memory with the simulator's TCP on the same path.
//!
//! Both send packets of the same size: a QUIC packet of 1452 bytes behind 28 bytes of IP and UDP headers, a TCP segment
//! of 1452 bytes behind 28 bytes of headers. Expected differences, which determine the tolerances:
//!
//! - `quinn` paces at 1.25 windows per RTT in bursts of ten packets, the simulator's sender does not pace: the queue
//!   overflows one packet earlier or later;
//! - QUIC acknowledges every second packet after at most 25 ms (`max_ack_delay`); the simulator's receiver is
//!   configured to do the same;
//! - of 1452 bytes QUIC uses about 35 for its own headers, so that goodput is 2 to 3 % lower;
//! - QUIC ends a recovery with the first packet that was sent in it, TCP with the last that was sent before it.

mod wire;

use std::sync::atomic::AtomicBool;

use cwndlab_control::{Ack, Congestion, CongestionControl, Constructor, Event};
use cwndlab_quic::{controller_factory, Factory};
use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_units::Bytes;
use serde_json::json;
use wire::{transfer, Line, Outcome, Workload, HEADERS, MTU};

const RATE: u64 = 20_000_000;
const RTT_MS: u64 = 40;
const QUEUE: usize = 68;
const SECONDS: u64 = 40;

fn quic(name: &str, workload: Workload, forward: Line, seconds: u64) -> Outcome {
    let factory = Factory::clone(&controller_factory(name).expect("QUIC supports it")).with_seed(1);
    transfer(factory, workload, forward, reverse_path(), seconds * 1_000_000_000)
}

fn reverse_path() -> Line {
    Line::new(1_000_000_000, RTT_MS * 500_000, 10_000)
}

fn path() -> Line {
    Line::new(RATE, RTT_MS * 500_000, QUEUE)
}

/// The same transfer in the simulator.
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
    cwndlab_simulator::run(&plan, 1, &AtomicBool::new(false), None).expect("it is not cancelled")
}

/// Statistics of a run from `FROM` on: mean window and mean window at a loss, packets; number of reductions.
#[derive(Debug)]
struct WindowStats {
    mean: f64,
    cwnd_at_loss: f64,
    reductions: usize,
}

/// Start of the statistics, after the first slow start, ns.
const FROM: u64 = 5_000_000_000;

fn quic_stats(outcome: &Outcome) -> WindowStats {
    let mut area = 0.0;
    let mut cwnd_at_loss = Vec::new();
    let mut last = None::<(u64, f64)>;
    for observation in &outcome.observations {
        let packets = observation.cwnd.0 as f64 / f64::from(MTU);
        if let Some((then, before)) = last.filter(|(then, _)| *then >= FROM) {
            area += before * (observation.now.as_nanos() - then) as f64;
            if observation.congestion {
                cwnd_at_loss.push(before);
            }
        }
        last = Some((observation.now.as_nanos(), packets));
    }
    let span = last.expect("there are observations").0 - FROM;
    WindowStats { mean: area / span as f64, cwnd_at_loss: mean(&cwnd_at_loss), reductions: cwnd_at_loss.len() }
}

fn tcp_stats(records: &Records) -> WindowStats {
    let windows: Vec<f64> = records
        .samples
        .iter()
        .filter(|row| row.time_ns >= FROM)
        .filter_map(|row| row.cwnd_bytes)
        .map(|bytes| bytes as f64 / f64::from(MTU))
        .collect();
    let entries = records.events.iter().filter(|event| event.kind == "recovery" && event.time_ns >= FROM);
    let cwnd_at_loss: Vec<f64> = entries.map(|event| event.cwnd_before_bytes as f64 / f64::from(MTU)).collect();
    WindowStats { mean: mean(&windows), cwnd_at_loss: mean(&cwnd_at_loss), reductions: cwnd_at_loss.len() }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Compares QUIC with the simulator. Tolerances: 2 % of the mean window, 2 packets of the window at a loss, one
/// reduction. Goodput is lower by QUIC's own headers, which are 2 to 3 % of a packet.
fn compare(name: &str) -> Outcome {
    let outcome = quic(name, Workload::Endless, path(), SECONDS);
    let records = tcp(name);
    let over_quic = quic_stats(&outcome);
    let simulated = tcp_stats(&records);
    let message = format!("{name}: over QUIC {over_quic:?}, in the simulator {simulated:?}");
    assert!((over_quic.mean / simulated.mean - 1.0).abs() < 0.02, "{message}");
    assert!((over_quic.cwnd_at_loss - simulated.cwnd_at_loss).abs() < 2.0, "{message}");
    assert!(over_quic.reductions.abs_diff(simulated.reductions) <= 1, "{message}");
    let ratio = outcome.delivered as f64 / records.flows[0].delivered_bytes as f64;
    assert!((0.96..0.99).contains(&ratio), "{message}, goodput ratio {ratio}");
    outcome
}

/// By hand: 67 packets fill the path and 68 the queue, so the queue overflows at a window of 135 packets. After halving
/// it there, Reno increases the window for 68 round trips of 40 to 80 ms: about 4 s.
#[test]
fn reno_over_quic_matches_the_simulator() {
    let outcome = compare("reno");
    let reductions = outcome
        .observations
        .iter()
        .filter(|observation| observation.congestion)
        .map(|observation| observation.now.as_nanos() as f64 / 1e9);
    let reductions: Vec<f64> = reductions.collect();
    let cycles: Vec<f64> = reductions.windows(2).map(|pair| pair[1] - pair[0]).skip(2).collect();
    assert!(cycles.len() > 5 && cycles.iter().all(|one| (3.5..5.0).contains(one)), "{cycles:?}");
}

#[test]
fn cubic_over_quic_matches_the_simulator() {
    compare("cubic");
}

/// RFC 9000 (13.4) and RFC 9002 (7.1): marks are reported to the algorithm. DCTCP keeps the queue near the marking
/// threshold (RFC 8257) and loses no packet.
#[test]
fn dctcp_reacts_to_marks_and_loses_no_packet() {
    let outcome = quic("dctcp", Workload::Endless, path().with_marking(10), 20);
    let stats = quic_stats(&outcome);
    assert_eq!(outcome.drops, 0);
    assert!(stats.reductions > 50 && (67.0..90.0).contains(&stats.mean), "{stats:?}");
}

/// RFC 9331, 4.1, and RFC 3168, 5: `quinn` sends ECT(0), so that a mark is answered as a loss. By hand: 67 packets fill the
/// path and 10 more reach the threshold; a halving at about 78 leaves 39, and 39 round trips of 40 ms follow. The mean is
/// 58 packets, below those of the path, and in 15 s there are nine reductions.
#[test]
fn prague_over_quic_responds_to_marks_as_to_losses() {
    let outcome = quic("prague", Workload::Endless, path().with_marking(10), 20);
    let stats = quic_stats(&outcome);
    assert_eq!(outcome.drops, 0);
    assert!((7..=12).contains(&stats.reductions) && (53.0..63.0).contains(&stats.mean), "{stats:?}");
}

/// RFC 9002, 7.8: an underutilised window does not grow. 100 kB are 69 packets; slow start grows the window to at most
/// twice that size.
#[test]
fn an_application_limited_sender_keeps_its_window() {
    let outcome = quic("cubic", Workload::Bursts(100_000, 500_000_000), path(), 20);
    let max_cwnd =
        outcome.observations.iter().map(|observation| observation.cwnd.0).max().expect("there are observations");
    assert!(max_cwnd <= 2 * 100_000, "{max_cwnd} B");
    assert!(outcome.max_in_flight <= 110_000, "{} B", outcome.max_in_flight);
}

/// RFC 9002, 7.6.2: after persistent congestion the window is two packets.
#[test]
fn persistent_congestion_reduces_the_window_to_two_packets_and_it_grows_again() {
    let outcome = quic("reno", Workload::Endless, path().with_outage(10_000_000_000, 14_000_000_000), 25);
    let min = outcome
        .observations
        .iter()
        .filter(|observation| observation.now.as_nanos() > FROM)
        .min_by_key(|observation| observation.cwnd);
    let min = min.expect("there are observations");
    assert_eq!(min.cwnd.0, 2 * u64::from(MTU));
    assert!((14_000_000_000..20_000_000_000).contains(&min.now.as_nanos()), "{min:?}");
    let last = outcome.observations.last().expect("there are observations");
    assert!(last.cwnd.0 > 50 * u64::from(MTU), "{last:?}");
}

/// A constant window of ten packets.
#[derive(Clone, Debug)]
struct FixedWindow;

impl CongestionControl for FixedWindow {
    fn on_ack(&mut self, _: &Ack) -> Option<Event> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn cwnd(&self) -> Bytes {
        Bytes(10 * u64::from(MTU))
    }
}

/// `quinn` blocks a packet that would fill the window, RFC 9002 (7) only one that would exceed it: with the adapter all
/// ten packets are in flight.
#[test]
fn a_full_window_is_in_flight() {
    let factory = Factory::from_constructor("ten", false, Constructor::new(|_| Box::new(FixedWindow)));
    let outcome = transfer(factory, Workload::Endless, path(), reverse_path(), 5_000_000_000);
    // A round trip consists of the path's RTT and two packets of 592 µs: one ACK acknowledges a pair.
    let rounds = 5e9 / (RTT_MS as f64 * 1e6 + 2.0 * 592_000.0);
    let packets = outcome.delivered as f64 / 1417.0 / rounds;
    assert!((9.5..10.0).contains(&packets), "{packets} packets per round trip");
}

#[test]
fn the_same_transfer_gives_the_same_windows() {
    let observations = || quic("bbr3", Workload::Endless, path(), 6).observations;
    assert_eq!(observations(), observations());
}
