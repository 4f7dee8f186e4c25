//! Real TCP over the simulator's links: function is asserted, timing is not. Skips where namespaces may not be made.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_emulator::{emulate, Datapath, Quality};
use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::catalogue;
use serde_json::{json, Value};

fn run(document: &Value) -> Option<(Records, Quality)> {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    match emulate(Arc::new(plan), 1, Datapath::Kernel, &AtomicBool::new(false)) {
        Ok(found) => Some(found),
        Err(fault) if fault.path.contains("unshare") || fault.path.contains("/dev/net/tun") => {
            eprintln!("skipped: {fault}");
            None
        }
        Err(fault) => panic!("{fault}"),
    }
}

fn dumbbell(duration: &str, queue: Value, flows: Value) -> Value {
    json!({
        "schema_version": 1, "duration": duration,
        "dumbbell": { "bottleneck": { "rate": "20 Mbps", "delay": "5 ms", "queue": queue } },
        "flow": flows,
    })
}

#[test]
fn the_kernels_tcp_fills_the_simulators_link() {
    let flows = json!([{ "algorithm": "cubic", "rtt": "20 ms" }]);
    let Some((records, quality)) = run(&dumbbell("3 s", json!({ "capacity": "100 packets" }), flows)) else { return };
    let flow = &records.flows[0];
    assert!(quality.lateness.total() > 3_000 && quality.refused == 0);
    assert!(flow.delivered_bytes > 3_000_000, "{}", flow.delivered_bytes);
    assert!(flow.min_rtt_ns.expect("a sample") >= 20_000_000);
    assert!(records.links[0].max_queue_packets <= 100);
    assert!(!records.samples.is_empty() && !records.link_samples.is_empty());
    assert!(flow.delivered_bytes <= flow.sent_bytes);
}
