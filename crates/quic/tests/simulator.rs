//! QUIC over a wire in memory against the simulator's TCP on the same path.
//!
//! Both carry the same bytes: a QUIC packet of 1452 bytes behind 28 bytes of IP and UDP headers, a TCP segment of 1452 bytes
//! behind 28 bytes of headers. What differs by nature, hence the tolerances:
//!
//! - `quinn` paces at 1.25 windows per RTT in bursts of ten packets, the simulator's sender does not pace: the queue overflows a
//!   few packets sooner or later, so the window at a loss differs by some segments, and with it the length of a cycle;
//! - of 1452 bytes QUIC spends about 30 on its own headers, so that goodput is 2 % less;
//! - QUIC ends a recovery with the first packet that left in it, TCP with the last that left before it.

mod wire;

use std::sync::atomic::AtomicBool;

use cwndlab_quic::{controller, Factory};
use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use serde_json::json;
use wire::{transfer, Line, Outcome, Work, HEADERS, MTU};

const RATE: u64 = 20_000_000;
const RTT_MS: u64 = 40;
const QUEUE: usize = 68;
const SECONDS: u64 = 40;

fn quic(name: &str, work: Work, forward: Line) -> Outcome {
    let factory = Factory::clone(&controller(name).expect("QUIC runs it")).seed(1);
    let back = Line::new(1_000_000_000, RTT_MS * 500_000, 10_000);
    transfer(factory, work, forward, back, SECONDS * 1_000_000_000)
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

#[test]
fn look() {
    for name in ["reno", "cubic"] {
        let out = quic(name, Work::Endless, path());
        let sim = tcp(name);
        println!("{name}: quic {:?} {} drops {}", of_quic(&out), out.delivered, out.drops);
        println!("{name}: tcp  {:?} {} drops {}", of_tcp(&sim), sim.flows[0].delivered_bytes, sim.flows[0].queue_drops);
        for a in out.answers.iter().filter(|a| a.congestion).take(5) {
            println!("  {a:?}");
        }
        println!("  {}", out.most_in_flight);
    }
    let out = quic("dctcp", Work::Endless, Line { mark_from: Some(10), ..path() });
    println!("dctcp {:?} {} drops {}", of_quic(&out), out.delivered, out.drops);
    let out = quic("cubic", Work::Bursts(100_000, 500_000_000), path());
    println!("bursts {:?} {} {}", of_quic(&out), out.delivered, out.most_in_flight);
}
