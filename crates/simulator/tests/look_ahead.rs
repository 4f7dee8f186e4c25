//! Look-ahead (`crates/path/src/look_ahead.rs`) does not change results: a run without it has the same records.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use cwndlab_simulator::engine::{run_by_events, run_counted};
use cwndlab_simulator::{run_parallel, Statistics};
use proptest::prelude::*;

use hashes::{plan, record_hash};

mod hashes;

/// The costs of a run with and without look-ahead, which must have the same records.
fn costs(text: &str) -> (Statistics, Statistics) {
    let plan = plan(text);
    let (ahead, cost) = run_counted(&plan, 1, &AtomicBool::new(false), None).expect("it is not cancelled");
    let (by_events, cost_by_events) = run_by_events(&plan, 1);
    assert_eq!(record_hash(&plan, &ahead), record_hash(&plan, &by_events), "{text}");
    let (parallel, _) = run_parallel(&plan, 1, 3, &AtomicBool::new(false), None).expect("it is not cancelled");
    assert_eq!(record_hash(&plan, &ahead), record_hash(&plan, &parallel), "on three threads: {text}");
    (cost, cost_by_events)
}

/// While packets are recorded, every link offers its packets in the general way (`HopKind::Full`), with the same records.
fn watched(text: &str) {
    let [plain, watched] = [plan(text), plan(&format!("packets = true\n{text}"))];
    let [records, mut general] = [&plain, &watched]
        .map(|plan| run_counted(plan, 1, &AtomicBool::new(false), None).expect("it is not cancelled").0);
    assert!(!std::mem::take(&mut general.packets).is_empty());
    assert_eq!(record_hash(&plain, &records), record_hash(&plain, &general), "{text}");
}

/// Of the three events per packet, including half of the two of an ACK, look-ahead leaves one and a half.
#[test]
fn look_ahead_halves_the_events_per_packet() {
    let (ahead, by_events) = costs(&dumbbell(&[flow("cubic", 20, "")], 50, 100, "", "100 ms"));
    let share = ahead.events as f64 / by_events.events as f64;
    assert!((0.45..0.6).contains(&share), "{share}");
}

/// The frames of an aggregate reach several servers and stations simultaneously, with a queue discipline as well.
#[test]
fn a_wireless_lan_has_the_same_records_without_look_ahead() {
    for (standard, queue) in [("802.11g", ""), ("802.11n", ""), ("802.11n", ", kind = \"fq-codel\"")] {
        let mut text = format!(
            "schema_version = 1\nduration = \"2 s\"\nsample_interval = \"3 ms\"\n[wlan]\nstandard = \"{standard}\"\n\
             queue = {{ capacity = \"60 packets\"{queue} }}\nwire = {{ rate = \"1 Gbps\" }}\n"
        );
        for direction in ["download", "upload"] {
            text += &flow("cubic/sack", 20, &format!("direction = \"{direction}\"\nname = \"{direction}\""));
        }
        for text in [text.clone(), format!("perturb = true\n{text}")] {
            let (ahead, by_events) = costs(&text);
            assert!(ahead.events < by_events.events, "{standard}");
        }
    }
}

/// A flow in TOML.
fn flow(algorithm: &str, rtt_ms: u32, rest: &str) -> String {
    format!("[[flow]]\nalgorithm = \"{algorithm}\"\nrtt = \"{rtt_ms} ms\"\ncount = 2\n{rest}\n")
}

fn dumbbell(flows: &[String], rate_mbps: u32, capacity: u32, queue: &str, interval: &str) -> String {
    let mut text = format!(
        "schema_version = 1\nduration = \"2 s\"\nsample_interval = \"{interval}\"\n[dumbbell]\n\
         bottleneck = {{ rate = \"{rate_mbps} Mbps\", delay = \"2 ms\", \
         queue = {{ capacity = \"{capacity} packets\"{queue} }} }}\naccess = {{ rate = \"100 Mbps\" }}\n"
    );
    for one in flows {
        let _ = write!(text, "{one}");
    }
    text
}

fn any_flow() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(vec![
        "cubic",
        "cubic/rack",
        "reno/newreno",
        "bbr1",
        "bbr3",
        "ctcp/sack",
        "dctcp",
        "copa",
        "vegas/fack",
        "phcc",
    ]);
    let rest = prop::sample::select(vec![
        "",
        "start = \"300 ms\"\nstop = \"1200 ms\"",
        "start_step = \"70 ms\"",
        "direction = \"reverse\"",
        "workload = { kind = \"transfers\", bytes = \"50 kB\", gap = \"20 ms\" }",
        "stack = { pacing = \"always\" }",
        "stack = { read_rate = \"5 Mbps\" }",
        "stack = { ecn = \"classic\" }",
        "stack = { tso_burst = false, quick_acks = 0, header = \"40 B\", mss = \"1460 B\" }",
    ]);
    (algorithm, prop::sample::select(vec![8u32, 12, 20, 24, 31, 100]), rest)
        .prop_map(|(algorithm, rtt, rest)| flow(algorithm, rtt, rest))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Round numbers make many events simultaneous; short intervals make endpoints pass many samples.
    #[test]
    fn records_are_the_same_without_look_ahead(
        flows in prop::collection::vec(any_flow(), 1..4),
        rate in prop::sample::select(vec![5u32, 10, 12, 48, 100]),
        capacity in 2u32..60,
        queue in prop::sample::select(vec!["", ", kind = \"codel\"", ", kind = \"fq-codel\"", ", kind = \"red\""]),
        interval in prop::sample::select(vec!["1 ms", "7 ms", "100 ms", "0 s"]),
    ) {
        let text = dumbbell(&flows, rate, capacity, queue, interval);
        costs(&text);
        costs(&format!("perturb = true\n{text}"));
        watched(&format!("perturb = true\n{text}"));
    }
}
