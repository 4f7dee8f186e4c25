//! Variations of a generated scenario: what the scenario language has beyond the generator. They have their own random
//! stream, so that they do not change the generated part.

use cwndlab_network::random::{Purpose, Stream};
use serde_json::{json, Map, Value};

/// Seeds below this one are not varied: they are kept as they were when they found errors.
const FIRST: u64 = 100;

struct Draw(Stream);

impl Draw {
    fn bernoulli(&mut self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    fn choose<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.0.below(all.len() as u64) as usize].clone()
    }

    fn ms(&mut self, low: u64, high: u64) -> String {
        format!("{} ms", self.between(low, high))
    }
}

/// Varies the scenario of this seed.
pub(super) fn vary(scenario: &mut Value, seed: u64) {
    if seed < FIRST {
        return;
    }
    let draw = &mut Draw(Stream::new(seed, Purpose::Loss, 1));
    if scenario.get("dumbbell").is_some() && draw.bernoulli(0.1) {
        use_medium(draw, scenario);
    }
    let of_cell = &mut Draw(Stream::new(seed, Purpose::Loss, 2));
    if scenario.get("dumbbell").is_some() && of_cell.bernoulli(0.1) {
        use_cell(of_cell, scenario);
    }
    for link in links(scenario) {
        vary_link(draw, link);
    }
    if let Some(wlan) = scenario.get_mut("wlan") {
        vary_medium(draw, wlan);
    }
    let hops = scenario.pointer("/parking_lot/hops").and_then(Value::as_array).map(Vec::len);
    for flow in scenario["flow"].as_array_mut().into_iter().flatten() {
        if let Some(hops) = hops.filter(|_| draw.bernoulli(0.5)) {
            enter(draw, flow, hops as u64);
        }
        if flow.get("transport").is_none() {
            vary_flow(draw, flow);
        }
    }
    if scenario.pointer("/dumbbell/bottleneck/rate").is_some() && draw.bernoulli(0.2) {
        scenario["dumbbell"]["reverse"] = json!({ "rate": format!("{} kbps", draw.between(100, 100_000)) });
    }
    if draw.bernoulli(0.1) {
        scenario["named_values"] = json!({ "interval": "100 ms" });
    }
    if draw.bernoulli(0.1) {
        use_classes(draw, scenario);
    }
    if draw.bernoulli(0.5) {
        use_edca(draw, scenario);
    }
}

/// The access categories of EDCA on all media, and flows of all classes.
fn use_edca(draw: &mut Draw, scenario: &mut Value) {
    if scenario.get("wlan").or(scenario.get("medium")).is_none() {
        return;
    }
    let mut edca = json!({ "dscp_mapping": draw.choose(&["rfc8325", "precedence"]) });
    for category in ["background", "best_effort", "video", "voice"] {
        if draw.bernoulli(0.2) {
            edca[category] = match draw.between(0, 4) {
                0 => json!({ "aifsn": draw.between(1, 15) }),
                1 => json!({ "cw_min": 0, "cw_max": draw.between(0, 31) }),
                2 => json!({ "cw_min": draw.between(0, 2000) }),
                3 => json!({ "acm": true }),
                _ => json!({ "txop_limit": format!("{} us", draw.between(0, 8000)) }),
            };
        }
    }
    if scenario.get("wlan").is_some() && draw.bernoulli(0.2) {
        // All flows use the medium, and ask for time in whatever category they have.
        for category in ["background", "best_effort", "video", "voice"] {
            edca[category]["acm"] = json!(true);
        }
        for flow in scenario["flow"].as_array_mut().into_iter().flatten() {
            flow["reserve"] = json!(format!("{} kbps", draw.between(1, 10_000)));
        }
    }
    if let Some(wlan) = scenario.get_mut("wlan") {
        wlan["edca"] = edca.clone();
    }
    for medium in scenario.get_mut("medium").and_then(Value::as_array_mut).into_iter().flatten() {
        medium["edca"] = edca.clone();
        medium["access_point"] = json!("ap");
    }
    for flow in scenario["flow"].as_array_mut().into_iter().flatten() {
        flow["dscp"] = json!(draw.choose(&["CS0", "LE", "AF21", "AF41", "CS5", "EF"]));
    }
    if draw.bernoulli(0.3) {
        let media = scenario.get_mut("medium").and_then(Value::as_array_mut).into_iter().flatten();
        for edca in media.filter_map(|medium| medium.get_mut("edca")) {
            edca["protection"] = json!("multiple");
        }
        if let Some(edca) = scenario.pointer_mut("/wlan/edca") {
            edca["protection"] = json!("multiple");
        }
    }
}

/// Queues by class in place of drop-tail, and flows of all classes.
fn use_classes(draw: &mut Draw, scenario: &mut Value) {
    for link in links(scenario) {
        let kind = link.pointer("/queue/kind").and_then(Value::as_str).unwrap_or("droptail");
        if link.get("medium").is_none() && kind == "droptail" {
            let capacity = link.pointer("/queue/capacity").cloned().unwrap_or_else(|| json!("100 packets"));
            link["queue"] = match draw.between(0, 4) {
                0 => json!({ "kind": "priority", "capacity": capacity }),
                1 => json!({ "kind": "priority", "capacity": capacity, "police": {
                    "rate": format!("{} kbps", draw.between(1, 10_000)),
                    "burst": format!("{} B", draw.between(1, 100_000)),
                    "excess": draw.choose(&["drop", "demote"]),
                } }),
                2 => json!({ "kind": "drr", "capacity": capacity, "voice": draw.between(1, 1000) }),
                shaped => {
                    let tins = ["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"];
                    let mut cake = json!({ "kind": "cake", "capacity": capacity, "tins": draw.choose(&tins) });
                    if shaped == 3 {
                        cake["bandwidth"] = json!(format!("{} kbps", draw.between(10, 100_000)));
                        cake["overhead"] = json!(format!("{} B", draw.between(0, 256)));
                    }
                    cake["rtt"] = json!(draw.ms(1, 1000));
                    cake
                }
            };
        }
    }
    for flow in scenario["flow"].as_array_mut().into_iter().flatten() {
        flow["dscp"] = json!(draw.choose(&["CS0", "LE", "AF11", "AF41", "CS5", "EF"]));
    }
}

/// All link tables of the scenario.
fn links(scenario: &mut Value) -> Vec<&mut Value> {
    let mut found = Vec::new();
    for (key, value) in scenario.as_object_mut().into_iter().flatten() {
        match key.as_str() {
            "dumbbell" => found.extend(value.get_mut("bottleneck")),
            "parking_lot" => found.extend(value["hops"].as_array_mut().into_iter().flatten()),
            "link" => found.extend(value.as_array_mut().into_iter().flatten()),
            _ => {}
        }
    }
    found
}

/// Replaces the network by a wire and an 802.11 medium in a graph.
fn use_medium(draw: &mut Draw, scenario: &mut Value) {
    let mut medium = json!({ "name": "cell", "standard": draw.choose(&["802.11g", "802.11n"]) });
    vary_medium(draw, &mut medium);
    scenario["medium"] = json!([medium]);
    use_radio(draw, scenario, |_| json!({ "medium": "cell" }));
}

/// Replaces the network by a wire and a cell of LTE or NR in a graph.
fn use_cell(draw: &mut Draw, scenario: &mut Value) {
    let mut cell = json!({
        "name": "cell", "base_station": "ap", "technology": draw.choose(&["lte", "nr"]),
        "resource_blocks": draw.between(1, 273), "forwarding": draw.bernoulli(0.7),
        "scheduler": draw.choose(&["proportional-fair", "round-robin", "max-rate"]), "cqi_delay": draw.ms(0, 20),
    });
    if draw.bernoulli(0.5) {
        cell["harq"] = json!({ "probability": draw.between(0, 90) as f64 / 100.0, "most": draw.between(0, 4) });
    }
    if draw.bernoulli(0.3) {
        cell["rlc"] = json!({ "mode": "um" });
    }
    if draw.bernoulli(0.3) {
        cell["rrc"] = json!({ "inactivity": draw.ms(0, 500), "paging_cycle": draw.ms(1, 500) });
    }
    scenario["cell"] = json!([cell]);
    use_radio(draw, scenario, |draw| {
        let mut link = json!({ "cell": "cell", "snr": draw.between(0, 30), "delay": draw.ms(0, 50) });
        if draw.bernoulli(0.3) {
            link["fading"] = json!(draw.ms(1, 100));
        }
        if draw.bernoulli(0.3) {
            link["schedule"] =
                json!([{ "at": draw.ms(0, 1000), "handover": draw.ms(0, 300), "snr": draw.between(0, 30) }]);
            link["repeat"] = json!("1500 ms");
        }
        link
    });
}

/// Replaces the dumbbell by a graph of a server, an access point or base station, and stations with these links.
fn use_radio(draw: &mut Draw, scenario: &mut Value, air: impl Fn(&mut Draw) -> Value) {
    scenario.as_object_mut().expect("a scenario is a table").remove("dumbbell");
    let stations = draw.between(1, 3);
    let mut links = vec![json!({ "from": "server", "to": "ap", "rate": "100 Mbps", "delay": draw.ms(0, 100) })];
    for station in 0..stations {
        let mut link = air(draw);
        (link["from"], link["to"]) = (json!("ap"), json!(format!("sta{station}")));
        links.push(link);
    }
    scenario["link"] = json!(links);
    // The duration was that of the packets of another line.
    let most = (super::PACKETS * 1500.0 * 8.0 / 1e8 * 1e9) as u64;
    let duration = scenario["duration"].as_str().and_then(|text| text.trim_end_matches(" ns").parse::<u64>().ok());
    if duration.is_some_and(|ns| ns > most) {
        scenario["duration"] = json!(format!("{most} ns"));
        scenario["sample_interval"] = json!(format!("{} ns", most / 10));
    }
    for flow in scenario["flow"].as_array_mut().into_iter().flatten() {
        let flow = flow.as_object_mut().expect("a flow is a table");
        flow.remove("rtt");
        flow.remove("direction");
        let mut ends = [json!("server"), json!(format!("sta{}", draw.between(0, stations - 1)))];
        if draw.bernoulli(0.3) {
            ends.reverse();
        }
        let [from, to] = ends;
        flow.insert("from".to_owned(), from);
        flow.insert("to".to_owned(), to);
    }
}

fn vary_medium(draw: &mut Draw, medium: &mut Value) {
    if draw.bernoulli(0.3) {
        medium["frame_error"] = json!(draw.between(1, 60) as f64 / 100.0);
    }
    if draw.bernoulli(0.3) {
        medium["rts_above"] = json!(format!("{} B", draw.between(0, 2000)));
    }
    if draw.bernoulli(0.2) {
        medium["eifs"] = json!(true);
    }
    if draw.bernoulli(0.2) {
        medium["keeps_turn"] = json!(true);
    }
    if draw.bernoulli(0.2) {
        (medium["cw_min"], medium["cw_max"]) = (json!(7), json!(127));
    }
    if medium["standard"] == "802.11n" {
        if draw.bernoulli(0.3) {
            medium["aggregation"] = json!(false);
        }
        medium["mcs"] = json!(draw.between(0, 7));
    }
}

fn vary_link(draw: &mut Draw, link: &mut Value) {
    if link.get("medium").is_some() || link.get("cell").is_some() {
        return;
    }
    let kind = link.pointer("/queue/kind").and_then(Value::as_str).unwrap_or("droptail").to_owned();
    if kind == "droptail" && draw.bernoulli(0.1) {
        link["queue"] = json!({ "kind": "blue", "capacity": "100 packets", "ecn": draw.bernoulli(0.5) });
    }
    if ["red", "ared", "codel", "pie", "fq-pie"].contains(&kind.as_str()) && draw.bernoulli(0.5) {
        link["queue"]["ecn"] = json!(true);
    }
    if link.get("schedule").is_none() && draw.bernoulli(0.1) {
        let step = |draw: &mut Draw| {
            let loss = draw.choose(&[0.0, 0.01, 0.5, 1.0]);
            json!({ "at": draw.ms(1, 3000), "delay": draw.ms(0, 200), "loss": loss })
        };
        link["schedule"] = json!([step(draw)]);
    }
    if link.get("rate").is_some() && draw.bernoulli(0.2) {
        let stamp = json!({ "scheme": "bandwidth-stamp", "stamped": draw.choose(&["syn", "syn-ack"]) });
        let schemes = [json!("quick-start"), json!("sirens"), stamp, json!("rcp"), json!("perc"), json!("abc")];
        link["agents"] = json!([draw.choose(&schemes)]);
    }
}

/// Lets a flow of a parking lot cross only some hops.
fn enter(draw: &mut Draw, flow: &mut Value, hops: u64) {
    let first = draw.between(1, hops);
    (flow["enter"], flow["leave"]) = (json!(first), json!(draw.between(first + 1, hops + 1)));
}

fn vary_flow(draw: &mut Draw, flow: &mut Value) {
    // Each write is an event: few flows, so that their number does not exceed the events of a run.
    let is_single = flow.get("count").is_none();
    if draw.bernoulli(0.1) && is_single {
        let steps: Vec<Value> = (0..draw.between(1, 4))
            .map(|n| json!({ "at": format!("{} ms", n * 300), "rate": format!("{} kbps", draw.between(0, 20_000)) }))
            .collect();
        flow["workload"] = json!({ "kind": "scheduled-writes", "steps": steps });
    }
    if draw.bernoulli(0.1) {
        flow["stop"] = json!(draw.ms(1, 3000));
    }
    let mut stack = flow.get("stack").and_then(Value::as_object).cloned().unwrap_or_default();
    let set = |draw: &mut Draw, stack: &mut Map<String, Value>, name: &str, values: &[Value]| {
        if draw.bernoulli(0.1) {
            stack.insert(name.to_owned(), draw.choose(values));
        }
    };
    let flags = [json!(true), json!(false)];
    for flag in ["timestamps", "undo", "dsack", "tail_loss_probe", "limited_transmit", "auto_tuning", "tso_burst"] {
        set(draw, &mut stack, flag, &flags);
    }
    set(draw, &mut stack, "read_rate", &[json!("50 kbps"), json!("10 Mbps")]);
    set(draw, &mut stack, "ecn", &[json!("classic"), json!("accurate"), json!("dctcp")]);
    set(draw, &mut stack, "ack_every", &[json!(1), json!(2), json!(10)]);
    set(draw, &mut stack, "idle_restart", &[json!("off"), json!("rfc7661")]);
    if !stack.is_empty() {
        flow["stack"] = Value::Object(stack);
    }
}
