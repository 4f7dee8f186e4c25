//! No connection hangs, whatever its stack: loss-based algorithms with random losses over random stacks.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_records::rows::FindingRow;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run_within};
use serde_json::{json, Map, Value};

const ALGORITHMS: [&str; 3] = ["reno", "ctcp", "cubic"];
const LOSSES: [f64; 3] = [1e-4, 1e-3, 1e-2];
/// Random stacks for each algorithm and loss; 13, 32, 34 and 35 hung without SACK, because spurious-timeout detection
/// undid real timeouts.
const STACKS: [u64; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 13, 32, 34, 35];

fn choose<T: Clone>(stream: &mut Stream, all: &[T]) -> T {
    all[stream.below(all.len() as u64) as usize].clone()
}

/// A flow for 150 s over 3 Mbit/s with this loss: about 37,000 packets.
fn scenario(algorithm: &str, loss: f64, number: u64) -> Value {
    let stream = &mut Stream::new(number, Purpose::Loss, (loss * 1e6) as u64);
    let mut stack = Map::new();
    for flag in ["undo", "timestamps", "sack", "dsack", "tail_loss_probe", "limited_transmit"] {
        if stream.below(3) == 0 {
            stack.insert(flag.to_owned(), json!(stream.below(2) == 0));
        }
    }
    let recovery = choose(stream, &["", "", "", "/rack", "/sack", "/newreno", "/fack"]);
    json!({
        "schema_version": 1, "duration": "150 s", "sample_interval": "500 ms",
        "dumbbell": { "bottleneck": {
            "rate": "3 Mbps", "delay": "10 ms", "queue": { "capacity": format!("{} packets", 20 + stream.below(200)) },
            "loss": [{ "kind": "bernoulli", "p": loss }],
        } },
        "flow": [{
            "algorithm": format!("{algorithm}{recovery}"), "rtt": format!("{} ms", 20 + stream.below(280)),
            "profile": choose(stream, &["linux", "rfc", "ns2", "windows-10-20h1", "windows-10-20h1"]), "stack": stack,
        }],
    })
}

/// The finding on a connection that hangs.
fn hang(document: &Value, seed: u64) -> Option<FindingRow> {
    let scenario = Scenario::from_json(&document.to_string(), None).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let (records, _) = run_within(&plan, seed, 10_000_000).expect("the run ends");
    records.findings.into_iter().find(|row| row.code == "hang")
}

/// RFC 6298, section 5, and RFC 5681, section 3.2: a sender with data to send and a path that delivers recovers from a
/// loss within a few timeouts.
#[test]
fn no_connection_hangs_with_random_losses_over_random_stacks() {
    let mut found = Vec::new();
    for algorithm in ALGORITHMS {
        for loss in LOSSES {
            for number in STACKS {
                let document = scenario(algorithm, loss, number);
                if let Some(finding) = hang(&document, number) {
                    found.push(format!("seed {number}, loss {loss}: {}\n  {}", document["flow"][0], finding.text));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
