//! Brokers, which send on the messages of other flows, and sessions that outlive their connections.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{MessageRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

const MS: u64 = 1_000_000;

/// A sensor, a broker and two desks, joined by lines of 8 Mbit/s (a byte takes 1 µs) and 10 ms.
fn document(flows: &Value) -> Value {
    let link = |from: &str, to: &str| json!({ "from": from, "to": to, "rate": "8 Mbps", "delay": "10 ms" });
    json!({
        "schema_version": 1, "duration": "30 s", "flow": flows,
        "link": [link("sensor", "broker"), link("broker", "desk-a"), link("broker", "desk-b")],
    })
}

fn flow(name: &str, from: &str, to: &str, workload: &Value) -> Value {
    json!({ "name": name, "from": from, "to": to, "algorithm": "reno", "profile": "rfc", "stack": { "ack_every": 1 },
        "service": { "deadline": "1 s" }, "workload": workload })
}

fn simulate(document: &Value) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

fn fault(document: &Value) -> (String, String) {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the fields are valid");
    let faults = scenario.plan(&catalogue()).expect_err("the plan has a fault");
    (faults[0].place.clone(), format!("{} {}", faults[0].what, faults[0].hint))
}

fn messages(records: &Records, flow: u32) -> Vec<&MessageRow> {
    records.messages.iter().filter(|row| row.flow == flow).collect()
}

fn sensor(qos: u8) -> Value {
    json!({ "kind": "mqtt", "qos": qos, "payload": "100 B", "period": "10 s", "topic": 20 })
}

/// By hand: a PUBLISH of 124 bytes with 40 of headers takes 164 µs on each line and 10 ms, so that a subscriber has it 20.328
/// ms after its generation. With QoS 1 it has 126 bytes; the broker's PUBLISH follows its ACK of 40 bytes to the sensor
/// only on the other line.
#[test]
fn the_delay_counts_from_the_publisher() {
    for (qos, packet) in [(0, 164), (1, 166)] {
        let subscription = json!({ "kind": "mqtt-subscription", "sources": ["sensor"], "qos": qos, "topic": 20 });
        let flows = json!([
            flow("sensor", "sensor", "broker", &sensor(qos)),
            flow("a", "broker", "desk-a", &subscription),
            flow("b", "broker", "desk-b", &subscription),
        ]);
        let mut document = document(&flows);
        document["flow"][0]["start"] = json!("1 s");
        let records = simulate(&document);
        let generated: Vec<u64> = messages(&records, 0).iter().map(|row| row.generated_ns).collect();
        assert_eq!(generated.len(), 3, "{generated:?}");
        for (index, hops) in [(0, 1), (1, 2), (2, 2)] {
            // The first PUBLISH waits on the line behind the ACK of CONNACK.
            for (row, &at) in messages(&records, index).iter().zip(&generated).skip(1) {
                let delay = hops * (10 * MS + packet * 1000);
                assert_eq!((row.generated_ns, row.delivered_ns), (at, Some(at + delay)), "flow {index}");
            }
        }
    }
}

/// The messages of CoAP reach a subscriber of MQTT through the broker as well, which needs 5 ms for each.
#[test]
fn a_broker_takes_messages_of_any_protocol() {
    let coap = json!({ "kind": "coap", "payload": "100 B", "period": "10 s" });
    let subscription = json!({ "kind": "mqtt-subscription", "sources": ["device"], "processing": "5 ms", "topic": 20 });
    let mut device = flow("device", "sensor", "broker", &coap);
    device["transport"] = json!("udp");
    device["start"] = json!("1 s");
    for field in ["algorithm", "profile", "stack", "service"] {
        device.as_object_mut().expect("a table").remove(field);
    }
    let records = simulate(&document(&json!([device, flow("desk", "broker", "desk-a", &subscription)])));
    assert!(messages(&records, 0).is_empty(), "without a service level there are no rows");
    let received = messages(&records, 1);
    assert_eq!(received.len(), 3);
    // POST of 24 bytes of header, token and options, a marker and the payload; 28 bytes of UDP and IP.
    let request = 10 * MS + (24 + 1 + 100 + 28) * 1000;
    let publish = 10 * MS + 164 * 1000;
    for row in received {
        assert_eq!(row.delivered_ns, Some(row.generated_ns + request + 5 * MS + publish));
    }
}

/// An outage from 5 to 15 s: the sensor with a timeout opens a new connection, after which all messages of QoS 1 arrive;
/// with a clean session those that the broker had not acknowledged are lost. Packets that wait at the line during the outage
/// are of the old connection.
#[test]
fn a_session_outlives_its_connection() {
    let delivered = |clean: bool| {
        let workload = json!({ "kind": "mqtt", "qos": 1, "payload": "100 B", "period": "1 s", "response_timeout": "3 s",
            "clean_session": clean });
        let mut document = document(&json!([flow("sensor", "sensor", "broker", &workload)]));
        document["link"][0]["schedule"] = json!([{ "at": "5 s", "rate": "0 bps" }, { "at": "15 s", "rate": "8 Mbps" }]);
        let records = simulate(&document);
        let rows = messages(&records, 0);
        let end = 29_000 * MS;
        let lost = rows.iter().filter(|row| row.delivered_ns.is_none() && row.generated_ns < end).count();
        (rows.len(), lost)
    };
    assert_eq!(delivered(false), (30, 0));
    let (offered, lost) = delivered(true);
    assert_eq!((offered, lost), (30, 3), "those of the 3 s before the reconnect");
}

/// A subscriber that starts 15 s after the sensor has the message of 20 s, and not those of 0 and 10 s.
#[test]
fn a_late_subscriber_has_later_messages() {
    let subscription = json!({ "kind": "mqtt-subscription", "sources": ["sensor"] });
    let mut late = flow("late", "broker", "desk-a", &subscription);
    late["start"] = json!("15 s");
    let records = simulate(&document(&json!([flow("sensor", "sensor", "broker", &sensor(0)), late])));
    let received: Vec<u64> = messages(&records, 1).iter().map(|row| row.generated_ns / 1_000_000_000).collect();
    assert_eq!((messages(&records, 0).len(), received), (3, vec![20]));
}

#[test]
fn faults_name_the_source() {
    let subscription = |source: &str| json!({ "kind": "mqtt-subscription", "sources": [source] });
    let faults = |source: &str, from: &str| {
        let flows = json!([
            flow("sensor", "sensor", "broker", &sensor(0)),
            flow("bulk", "sensor", "broker", &json!({ "kind": "bulk" })),
            flow("desk", from, "desk-a", &subscription(source)),
        ]);
        let mut document = document(&flows);
        document["flow"][1].as_object_mut().expect("a table").remove("service");
        fault(&document)
    };
    let place = "flow[2].workload.sources".to_owned();
    let unknown = faults("sensors", "broker");
    assert_eq!(unknown, (place.clone(), "there is no flow 'sensors' did you mean 'sensor'?".to_owned()));
    for (source, from, what) in
        [("bulk", "broker", "has no messages"), ("sensor", "desk-b", "does not end at the node")]
    {
        let (found, text) = faults(source, from);
        assert!(found == place && text.contains(what), "{found}: {text}");
    }
    let flows = json!([
        flow("there", "broker", "desk-a", &subscription("back")),
        flow("back", "desk-a", "broker", &subscription("there")),
    ]);
    assert_eq!(fault(&document(&flows)).1.trim(), "the flow would send on its own messages");
}
