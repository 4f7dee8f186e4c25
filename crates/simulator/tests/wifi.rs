//! Flows over 802.11: invariants, and results computed by hand.

use std::sync::atomic::AtomicBool;

use cwndlab_path::network::Network;
use cwndlab_records::rows::{FlowRow, Records, StationRow};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use cwndlab_units::Time;
use serde_json::{json, Value};

fn simulate(document: &Value, seed: u64) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, seed, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn wlan(cell: &Value, flows: &Value) -> Value {
    json!({ "schema_version": 1, "duration": "10 s", "wlan": cell, "flow": flows })
}

/// A station's totals.
fn totals<'a>(records: &'a Records, station: &str) -> &'a StationRow {
    records.stations.iter().rfind(|row| row.station == station).expect("the station has rows")
}

/// By hand, with immediate access, so that no backoff is drawn: a SYN of 40 bytes is sent a DIFS of 28 µs after its arrival and takes
/// 20 + 4 · ⌈(22 + 8 · 76) / 216⌉ + 6 = 38 µs; the SYN-ACK waits for SIFS, the ACK of 34 µs and DIFS; the segment of
/// 1500 bytes takes 254 µs after its DIFS. The wire of 20 ms is crossed three times.
#[test]
fn a_transfer_takes_airtime_and_the_wire_to_the_nanosecond() {
    let flow = json!([{ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "workload": { "kind": "bulk", "bytes": "1460 B" } }]);
    let records = simulate(&wlan(&json!({ "standard": "802.11g", "keeps_turn": true }), &flow), 1);
    let air = (28 + 38) + (10 + 34 + 28 + 38) + (28 + 254);
    assert_eq!(records.transfers[0].end_ns, 60_000_000 + air * 1000);
    assert_eq!(totals(&records, "ap").failures, 0);
}

/// By hand, as above: the access point sends the SYN for 38 µs and the segment for 254, the station the SYN-ACK and one
/// ACK for 38 each; SIFS and the ACK of 802.11 add 44 to each of the four.
#[test]
fn airtime_of_a_flow_is_that_of_its_frames_with_their_responses() {
    let flow = json!([{ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "workload": { "kind": "bulk", "bytes": "1460 B" } }]);
    let records = simulate(&wlan(&json!({ "standard": "802.11g", "keeps_turn": true }), &flow), 1);
    let flow = &records.flows[0];
    let data = (38 + 44) + (254 + 44);
    let acks = 2 * (38 + 44);
    assert_eq!((flow.airtime_ns, flow.ack_airtime_ns), (Some(data * 1000), Some(acks * 1000)));
}

/// Each frame belongs to one flow: a station's airtime is that of the data that it sends and of the ACKs for the data that
/// it receives, also where it sends several flows in one aggregate, retries and collides.
#[test]
fn airtimes_of_the_flows_of_a_station_add_up_to_its_own() {
    let flow = |from: &str, to: &str| json!({ "algorithm": "cubic", "from": from, "to": to });
    for standard in ["802.11g", "802.11n"] {
        let wire = |to: &str, delay: &str| json!({ "from": "ap", "to": to, "rate": "1 Gbps", "delay": delay });
        let records = simulate(
            &json!({
                "schema_version": 1, "duration": "5 s",
                "medium": [{ "name": "wlan", "standard": standard }],
                "link": [
                    { "from": "ap", "to": "near", "medium": "wlan", "frame_error": 0.1 },
                    { "from": "ap", "to": "far", "medium": "wlan" },
                    wire("s0", "5 ms"), wire("s1", "20 ms"),
                ],
                "flow": [
                    flow("s0", "near"), flow("s1", "near"), flow("near", "s0"), flow("far", "s1"), flow("s0", "far"),
                    flow("s0", "s1"),
                ],
            }),
            1,
        );
        let [data, acks] = [|row: &FlowRow| row.airtime_ns, |row: &FlowRow| row.ack_airtime_ns]
            .map(|of| records.flows.iter().map(of).collect::<Vec<_>>());
        assert_eq!((data[5], acks[5]), (None, None), "a flow that crosses no medium");
        let sum = |sent: &[usize], received: &[usize]| {
            let sum =
                |column: &[Option<u64>], flows: &[usize]| flows.iter().filter_map(|&flow| column[flow]).sum::<u64>();
            sum(&data, sent) + sum(&acks, received)
        };
        let airtime = |station| totals(&records, station).airtime_ns;
        assert_eq!(airtime("near"), sum(&[2], &[0, 1]), "{standard}");
        assert_eq!(airtime("far"), sum(&[3], &[4]), "{standard}");
        assert_eq!(airtime("ap"), sum(&[0, 1, 4], &[2, 3]), "{standard}");
        assert!(totals(&records, "ap").collisions > 0 && totals(&records, "ap").frame_errors > 0);
        assert!(data[..5].iter().all(|one| one.is_some_and(|airtime| airtime > 10_000_000)), "{data:?}");
    }
}

/// The counters of stations and links agree; every packet is delivered, dropped, given up or still queued.
#[test]
fn stations_and_links_count_the_same() {
    let flows = json!([
        { "algorithm": "cubic", "rtt": "30 ms", "count": 4 },
        { "algorithm": "newreno", "rtt": "50 ms", "count": 3, "direction": "upload", "dscp": "AF41" },
        { "algorithm": "newreno", "rtt": "50 ms", "dscp": "EF" },
    ]);
    for cell in [
        json!({ "standard": "802.11g", "frame_error": 0.05, "edca": "rfc8325", "beacon": "102.4 ms" }),
        json!({ "standard": "802.11n", "frame_error": 0.1, "edca": "precedence", "queue": { "kind": "fq-codel" } }),
        json!({ "standard": "802.11g", "frame_error": 0.05, "queue": { "capacity": "30 packets" }, "beacon": "102.4 ms" }),
        json!({ "standard": "802.11n", "frame_error": 0.1, "rts_above": "2000 B", "queue": { "capacity": "60 packets" } }),
        json!({ "standard": "802.11n", "queue": { "kind": "fq-codel" }, "station_queue": { "capacity": "64 KiB" } }),
    ] {
        let records = simulate(&wlan(&cell, &flows), 3);
        let air: Vec<_> = records.links.iter().filter(|link| link.name.contains("sta")).collect();
        for station in ["ap", "sta0", "sta5"] {
            let row = totals(&records, station);
            let own = air.iter().filter(|link| link.name.starts_with(&format!("{station}-")));
            let sum = |of: fn(&cwndlab_records::rows::LinkRow) -> u64| own.clone().map(|link| of(link)).sum::<u64>();
            assert_eq!(sum(|link| link.sent_packets), row.sent_packets);
            assert_eq!(sum(|link| link.dropped_packets), row.dropped_packets);
            assert_eq!(sum(|link| link.lost_packets), row.given_up_packets);
            let arrived = sum(|link| link.arrived_packets);
            let left = row.sent_packets + row.dropped_packets + row.given_up_packets;
            // A frame being acknowledged counts as sent and stays in the queue until its ACK.
            assert!(arrived <= left + row.queue_packets && left <= arrived, "{station}: {arrived} {row:?}");
            assert!(row.collisions <= row.failures && row.failures <= row.attempts);
        }
        for flow in &records.flows {
            assert!(flow.delivered_bytes > 0, "{} received no data", flow.name);
        }
    }
}

/// By hand: a voice packet at the access point waits for the exchange on the air, at most 302 µs, for 19 µs and for up to
/// three slots, and takes 62 µs. It may lose one contention. Without access categories it waits for the queue of up to 100
/// packets, of which one takes about 400 µs. The wire has 20 ms.
#[test]
fn voice_waits_for_one_frame_with_edca_and_for_the_queue_without() {
    let flows = json!([
        { "transport": "udp", "rtt": "40 ms", "dscp": "EF", "workload": { "kind": "cbr", "rate": "80 kbps", "packet": "200 B" } },
        { "algorithm": "cubic", "rtt": "40 ms", "count": 3 },
    ]);
    let delay_ms = |cell: Value| {
        let records = simulate(&wlan(&cell, &flows), 1);
        records.flows[0].mean_delay_ns.expect("packets arrived") as f64 / 1e6
    };
    let edca = delay_ms(json!({ "standard": "802.11g", "edca": "rfc8325" }));
    assert!((20.08..20.8).contains(&edca), "{edca}");
    let dcf = delay_ms(json!({ "standard": "802.11g" }));
    assert!((35.0..65.0).contains(&dcf), "{dcf}");
}

/// IEEE 802.11: the throughput of a medium is at most that of a cycle without collisions: 30.5 Mbit/s of IP packets at
/// 54 Mbit/s.
#[test]
fn a_cell_reaches_its_cycle_throughput_and_depends_only_on_its_seed() {
    let flows = json!([{ "transport": "udp", "rtt": "0 s", "count": 5, "direction": "upload",
        "workload": { "kind": "cbr", "rate": "20 Mbps", "packet": "1500 B" } }]);
    let document = wlan(&json!({ "standard": "802.11g" }), &flows);
    let one = simulate(&document, 1);
    let sent: u64 = one.flows.iter().map(|flow| flow.delivered_bytes).sum();
    assert!((20e6..30.5e6).contains(&(sent as f64 * 0.8)), "{sent}");
    assert_eq!(one.stations, simulate(&document, 1).stations);
    assert_ne!(one.stations, simulate(&document, 2).stations);
}

/// Links of a graph share a medium like those of a wireless LAN.
#[test]
fn a_graph_with_a_medium_has_the_records_of_a_wireless_lan() {
    let flow = |ends: Value| {
        let mut flow = json!({ "algorithm": "cubic", "profile": "rfc" });
        for (key, value) in ends.as_object().unwrap() {
            flow[key] = value.clone();
        }
        json!([flow])
    };
    let lan = wlan(&json!({ "standard": "802.11g", "wire": { "rate": "1 Gbps" } }), &flow(json!({ "rtt": "40 ms" })));
    let graph = json!({
        "schema_version": 1, "duration": "10 s",
        "medium": [{ "name": "wlan", "standard": "802.11g" }],
        "link": [
            { "from": "ap", "to": "sta0", "medium": "wlan" },
            { "from": "s0", "to": "ap", "rate": "1 Gbps", "delay": "20 ms", "queue": { "capacity": "unlimited" } },
        ],
        "flow": flow(json!({ "from": "s0", "to": "sta0" })),
    });
    let lan = simulate(&lan, 1);
    let graph = simulate(&graph, 1);
    assert_eq!(lan.stations, graph.stations);
    assert_eq!(lan.flows[0].delivered_bytes, graph.flows[0].delivered_bytes);
}

/// The construction of a cell is linear in its stations; a linear search for each node would take minutes.
#[test]
fn one_hundred_thousand_stations_share_a_medium() {
    let mut document = wlan(
        &json!({ "standard": "802.11g", "beacon": "102.4 ms" }),
        &json!([{ "algorithm": "cubic", "rtt": "40 ms", "count": 100_000, "direction": "upload" }]),
    );
    document["sample_interval"] = json!("0 s");
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let mut stations = Vec::new();
    Network::new(&plan, 1).station_rows(Time::ZERO, &mut stations);
    assert_eq!(stations.len(), 100_001);
    assert!(["ap", "sta0", "sta99999"].iter().all(|name| stations.iter().any(|row| row.station == *name)));
}
