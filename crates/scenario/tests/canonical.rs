//! The canonical form of a scenario, and the declarations of fields. Expected forms are written by hand from
//! `docs/canonical-form.md`.

use cwndlab_scenario::Scenario;
use serde_json::{json, Value};
use sha2::{Digest, Sha256};

fn canonical(text: &str) -> Value {
    Scenario::from_toml(text, None).expect("TOML").canonical().unwrap_or_else(|faults| panic!("{}", faults[0]))
}

fn hash(text: &str) -> String {
    Scenario::from_toml(text, None).expect("TOML").hash().expect("no faults")
}

const SHORT: &str = r#"
schema_version = 1
duration = "10 s"
dumbbell.bottleneck = { rate = "10 Mbps", delay = "10 ms", loss = { kind = "bernoulli", p = 0.5 } }
[[flow]]
algorithm = "reno"
rtt = "40 ms"
"#;

/// The same scenario with other units, another order of keys, and explicit defaults.
const LONG: &str = r#"
duration = "10000 ms"
schema_version = 1
title = ""
packets = false
sample_interval = "0.1 s"
[[flow]]
rtt = "40000 us"
algorithm = "reno"
transport = "tcp"
profile = "linux"
count = 1
stack = { sack = true, min_rto = "200 ms" }
[dumbbell]
bottleneck = { delay = "0.01 s", rate = "10000 kbps", duplicate = 0, loss = [{ p = 0.5, kind = "bernoulli" }] }
reverse = { rate = "10 Mbit/s" }
"#;

#[test]
fn equivalent_scenarios_have_equal_canonical_forms() {
    assert_eq!(canonical(SHORT), canonical(LONG));
    assert_eq!(hash(SHORT), hash(LONG));
}

#[test]
fn the_canonical_form_matches_the_documentation() {
    let form = canonical(SHORT);
    assert_eq!((&form["canonical_version"], &form["schema_version"]), (&json!(1), &json!(1)));
    assert_eq!(form["duration_ns"], json!(10_000_000_000_u64));
    assert_eq!(form["start_jitter_ns"], json!(0));
    let link = json!({
        "rate_bps": 10_000_000, "delay_ns": 10_000_000, "duplicate": 0.0, "loss": [{ "kind": "bernoulli", "p": 0.5 }],
    });
    assert_eq!(form["dumbbell"]["bottleneck"], link);
    assert_eq!(
        form["dumbbell"]["reverse"],
        json!({ "rate_bps": 10_000_000, "delay_ns": 10_000_000, "duplicate": 0.0 })
    );
    let flow = &form["flow"][0];
    assert_eq!((&flow["rtt_ns"], &flow["start_ns"], &flow["count"]), (&json!(40_000_000), &json!(0), &json!(1)));
    assert_eq!(flow["stack"]["min_rto_ns"], json!(200_000_000));
    assert!(form.get("algorithms").is_none() && form.get("title") == Some(&json!("")));
}

/// A regression value: it changes only with `canonical_version`, or with the declarations of the scenario's fields.
#[test]
fn the_hash_is_stable() {
    assert_eq!(hash(SHORT), "f1d20a7e7e301a5ab9e3c2a392e11222ee97837070ae06030be2ed3f667c34a7");
}

#[test]
fn the_form_of_a_queue_has_its_kind_and_defaults() {
    let text = SHORT.replace("delay = \"10 ms\"", "delay = \"10 ms\", queue = { kind = \"codel\", target = \"7 ms\" }");
    let expected = json!({
        "kind": "codel", "capacity": { "packets": 1000 }, "target_ns": 7_000_000, "interval_ns": 100_000_000, "ecn": false,
    });
    assert_eq!(canonical(&text)["dumbbell"]["bottleneck"]["queue"], expected);
    let plain = SHORT.replace("delay = \"10 ms\"", "delay = \"10 ms\", queue = { capacity = \"0.5 bdp\" }");
    let expected = json!({ "kind": "droptail", "capacity": { "bdp": 0.5 }, "counts_in_service": false });
    assert_eq!(canonical(&plain)["dumbbell"]["bottleneck"]["queue"], expected);
}

#[test]
fn the_name_of_an_agent_selects_its_defaults() {
    let text = |agents: &str| SHORT.replace("delay = \"10 ms\"", &format!("delay = \"10 ms\", agents = {agents}"));
    let form = canonical(&text("[\"rcp\"]"));
    let expected = json!([{ "scheme": "rcp", "alpha": 0.4, "beta": 0.4 }]);
    assert_eq!(form["dumbbell"]["bottleneck"]["agents"], expected);
    assert_eq!(form, canonical(&text("[{ scheme = \"rcp\", beta = 0.4 }]")));
}

#[test]
fn only_used_classes_affect_the_hash_and_file_paths_do_not() {
    let class = |file: &str, algorithm: &str| {
        let class = format!("[algorithms.mine]\nclass = \"Mine\"\nfile = \"{file}\"\nsha256 = \"00\"\n[[flow]]");
        SHORT.replace("[[flow]]", &class).replace("\"reno\"", &format!("\"{algorithm}\""))
    };
    assert_eq!(hash(&class("a.py", "reno")), hash(SHORT));
    assert_eq!(hash(&class("a.py", "mine")), hash(&class("b/c.py", "mine")));
    assert_ne!(hash(&class("a.py", "mine")), hash(SHORT));
}

/// All tables, choices and fields are described.
#[test]
fn every_field_is_documented() {
    let declared = cwndlab_scenario::schema::declarations();
    let mut fields = 0;
    let tables = declared["tables"].as_object().expect("tables").values();
    let chosen = declared["choices"].as_object().expect("choices").values();
    let chosen = chosen.flat_map(|choice| choice["tables"].as_object().expect("tables").values());
    for table in tables.chain(chosen) {
        assert!(table["doc"].as_str().is_some_and(|doc| doc.ends_with('.')), "{table}");
        for field in table["fields"].as_array().expect("fields") {
            assert!(!field["doc"].as_str().unwrap_or_default().trim().is_empty(), "{field}");
            fields += 1;
        }
    }
    assert!(fields > 200, "{fields}");
}

/// The hash, which is computed in parts, equals the hash of the complete text of the form.
#[test]
fn the_hash_covers_the_complete_form() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut texts = vec![SHORT.to_owned(), format!("{SHORT}[[flow]]\nalgorithm = \"cubic\"\nrtt = \"1 s\"\n")];
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|end| end == "toml") {
            texts.push(std::fs::read_to_string(entry).unwrap());
        }
    }
    for text in texts {
        assert_eq!(hash(&text), format!("{:x}", Sha256::digest(canonical(&text).to_string())));
    }
}

/// The fields that MQTT received since its first version do not change scenarios without them.
#[test]
fn a_constant_period_of_mqtt_keeps_its_form() {
    let text = r#"
schema_version = 1
duration = "10 s"
dumbbell.bottleneck = { rate = "10 Mbps", delay = "10 ms" }
[[flow]]
algorithm = "reno"
rtt = "40 ms"
workload = { kind = "mqtt", period = "10 s" }
"#;
    let expected = json!({
        "kind": "mqtt", "client": 23, "jitter_ns": 0, "keep_alive_ns": 60_000_000_000_u64, "nagle": false,
        "period_ns": 10_000_000_000_u64, "qos": 0, "topic": 20,
    });
    assert_eq!(canonical(text)["flow"][0]["workload"], expected);
    let poisson = text.replace("\"10 s\" }", "{ kind = \"exponential\", mean = \"10 s\" }, burst = 3 }");
    let workload = &canonical(&poisson)["flow"][0]["workload"];
    assert_eq!(workload["burst"], json!(3));
    assert_eq!(workload["period"], json!({ "kind": "exponential", "mean_ns": 10_000_000_000_u64 }));
}
