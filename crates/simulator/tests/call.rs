//! Calls: media streams with priorities over one connection.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{MessageRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

/// A call over 1 Mbit/s and 20 ms, with at most four segments in flight, which fill the line.
fn call(streams: &Value, length: &str) -> Records {
    let document = json!({
        "schema_version": 1, "duration": "10 s",
        "dumbbell": { "bottleneck": { "rate": "1 Mbps", "delay": "10 ms", "queue": { "capacity": "100 packets" } } },
        "flow": [{
            "algorithm": "reno", "rtt": "20 ms", "service": { "class": "call" },
            "stack": { "receive_window": "5792 B", "auto_tuning": false },
            "workload": { "kind": "call", "streams": streams, "length": length },
        }],
    });
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn delay_ms(row: &MessageRow) -> f64 {
    (row.delivered_ns.expect("delivered") - row.generated_ns) as f64 * 1e-6
}

/// By hand: a frame of 62.5 kB takes 44 packets of 12 ms, half a second. Audio that goes first waits for four packets in
/// flight at most, and takes its own one and 10 ms: 70 ms. Audio of the same time that goes last waits for the whole frame.
#[test]
fn data_of_the_lowest_priority_is_sent_first() {
    let longest = |priority: u32| {
        let streams = json!([
            { "frame_rate": 50, "frame": "80 B", "priority": priority },
            { "frame_rate": 1, "frame": "62.5 kB", "priority": 4 },
        ]);
        let records = call(&streams, "990 ms");
        assert_eq!(records.messages.len(), 51);
        let audio = records.messages.iter().filter(|row| row.size_bytes == 80 && row.generated_ns >= 100_000_000);
        audio.map(delay_ms).fold(0.0, f64::max)
    };
    assert!(longest(2) < 71.0, "{}", longest(2));
    assert!(longest(6) > 400.0, "{}", longest(6));
    assert!(longest(4) > 400.0, "in the order of generation: {}", longest(4));
}

/// draft-huitema-ccwg-c4-test: a late frame stops its group. By hand: groups of 62.5 + 29 · 6.25 = 243.75 kB a second are twice
/// what the line carries, so that the first frame of the second group would wait for a second. With a limit of 100 ms the
/// first frame, of half a second, stops its group, and the first frame of the next group is sent at once.
#[test]
fn a_late_group_makes_room_for_the_next() {
    let first_of_second = |limit: Option<&str>| {
        let mut stream = json!({ "frame_rate": 30, "frame": "6250 B", "first_frame": "62.5 kB", "group": 30 });
        if let Some(limit) = limit {
            stream["stop_after"] = json!(limit);
        }
        let records = call(&json!([stream]), "1.9 s");
        let first = records.messages.iter().filter(|row| row.size_bytes == 62_500).nth(1).expect("two groups");
        // The request arrives after a round trip and a half, with packets of 152 bytes at most.
        assert!((1_030_000_000..1_034_000_000).contains(&first.generated_ns), "{}", first.generated_ns);
        (delay_ms(first), records.messages.iter().filter(|row| row.delivered_ns.is_none()).count())
    };
    let (stopped, missing) = first_of_second(Some("100 ms"));
    assert!((530.0..600.0).contains(&stopped) && missing > 10, "{stopped} {missing}");
    let (waited, missing) = first_of_second(None);
    assert!(waited > 1400.0 && missing == 0, "{waited} {missing}");
}
