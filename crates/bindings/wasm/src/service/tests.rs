use super::*;
use cwndlab_records::plain::Values;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A bundled scenario with the duration that `known-answers/record-hashes.json` has for it.
fn scenario(name: &str, duration: &str) -> String {
    let folder = root().join("scenarios");
    let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("is bundled");
    let mut scenario = Scenario::from_toml(&text, Some(&folder)).expect("is valid");
    scenario.set("duration", duration).expect("is valid");
    scenario.to_json()
}

fn ask(service: &mut Service, request: &Value) -> Value {
    serde_json::from_slice(&service.call(request.to_string().as_bytes())).expect("an answer is JSON")
}

/// `known-answers/record-hashes.json` has the hashes of the Python module, which CI compares on every platform.
#[test]
fn hashes_are_the_known_ones() {
    let known = std::fs::read_to_string(root().join("known-answers/record-hashes.json")).expect("is there");
    let known: Value = serde_json::from_str(&known).expect("is JSON");
    let mut service = Service::default();
    for name in ["single", "two-flows", "loss", "parking-lot", "wlan", "lte"] {
        let expected = &known[name];
        let text = scenario(name, expected["duration"].as_str().expect("is text"));
        let answer = ask(&mut service, &json!({"do": "run", "scenario": text, "seed": expected["seed"]}));
        assert_eq!(answer["hash"], expected["hash"], "{name}: {}", answer["faults"]);
    }
}

/// Segments of 1,448 B over 20 Mbit/s, as a hand calculation: at most 20e6 / 8 / 1,500 packets a second.
#[test]
fn columns_are_read_where_the_answer_says() {
    let document = json!({
        "schema_version": 1, "duration": "2 s",
        "dumbbell": {"bottleneck": {"rate": "20 Mbps", "delay": "10 ms"}},
        "flow": [{"algorithm": "reno", "rtt": "40 ms", "name": "left"}, {"algorithm": "cubic", "rtt": "60 ms"}],
    });
    let mut service = Service::default();
    let request = json!({"do": "run", "scenario": document.to_string(), "seed": 1});
    let answer = ask(&mut service, &request);
    let tables = answer["tables"].as_array().expect("is a list");
    let named = |name: &str| tables.iter().find(|one| one["name"] == name).expect("has rows");
    assert_eq!(named("flows")["rows"], 2);
    assert!(tables.iter().all(|one| one["name"] != "transfers"), "tables without rows are left out");
    let samples = named("samples");
    assert_eq!(samples["rows"], 2 * 20, "{samples}");
    let columns = samples["columns"].as_array().expect("is a list");
    let cwnd = columns.iter().find(|one| one["name"] == "cwnd_bytes").expect("is a column");
    assert_eq!((&cwnd["type"], &cwnd["unit"]), (&json!("int64"), &json!("bytes")));
    let (table, _, plain) =
        service.tables().expect("a run has tables").present().find(|one| one.0.name == "samples").expect("has rows");
    let at = table.columns.iter().position(|one| one.name == "cwnd_bytes").expect("is a column");
    let Values::Int64(values) = &plain[at].values else { panic!("{:?}", plain[at]) };
    assert_eq!(cwnd["values"], json!(values.as_ptr() as usize));
    // RFC 6928: ten segments at first.
    assert_eq!(values[0] % 1448, 0);
    assert!(answer["packets"].as_u64().is_some_and(|packets| packets > 1000 && packets < 2 * 1667));
}

#[test]
fn a_request_that_cannot_be_carried_out_names_all_faults() {
    let document = json!({
        "schema_version": 1, "duration": "2 s",
        "dumbbell": {"bottleneck": {"rate": "20", "delay": "10 ms"}},
        "flow": [{"algorithm": "renno", "rtt": "40 ms"}],
    });
    let request = json!({"do": "run", "scenario": document.to_string(), "seed": 1});
    let answer = ask(&mut Service::default(), &request);
    let places: Vec<&str> = answer["faults"]
        .as_array()
        .expect("is a list")
        .iter()
        .map(|one| one["where"].as_str().expect("is text"))
        .collect();
    assert!(places.contains(&"dumbbell.bottleneck.rate"), "{answer}");
    let answer = ask(&mut Service::default(), &json!({"do": "walk"}));
    assert_eq!(answer["faults"][0]["where"], "request");
}

#[test]
fn check_returns_the_same_scenario_as_toml() {
    let text = scenario("two-flows", "15 s");
    let mut service = Service::default();
    let first = ask(&mut service, &json!({"do": "check", "scenario": text}));
    let second = ask(&mut service, &json!({"do": "check", "scenario": first["toml"], "format": "toml"}));
    assert_eq!(first["scenario_hash"], second["scenario_hash"]);
    assert_eq!(second["document"]["flow"][0]["algorithm"], "cubic");
}

/// RFC 9438, section 4.6: a loss reduces the window to 0.7 of it; the first loss of this run is at 0.45 s
/// (docs/debug.md).
#[test]
fn look_shows_the_event_with_its_equations() {
    let request = json!({
        "do": "look", "scenario": scenario("two-flows", "15 s"), "seed": 1, "flow": 0, "at_ns": 451_813_696_u64,
    });
    let answer = ask(&mut Service::default(), &request);
    assert_eq!(answer["moment"]["fields"]["cause"], "loss", "{answer}");
    assert_eq!(answer["moment"]["places"][0]["entry"], "cubic");
    assert!(answer["transport"]["after"]["cwnd_bytes"].as_u64().is_some_and(|cwnd| cwnd > 0));
    let request = json!({"do": "look", "scenario": scenario("single", "1 s"), "seed": 1, "flow": 9, "at_ns": 0});
    assert_eq!(ask(&mut Service::default(), &request)["faults"][0]["where"], "flow");
}
