//! Values beyond the limits and unknown fields are rejected with a message.

use std::fmt::Write as _;
use std::sync::Arc;

use cwndlab_algorithms::catalogue;
use cwndlab_scenario::plan::{Capacity, Plan, Workload};
use cwndlab_scenario::Scenario;
use cwndlab_units::Rate;
use serde_json::{json, Value};

fn faults(document: &Value) -> Vec<cwndlab_units::Fault> {
    match Scenario::from_json(&document.to_string(), None) {
        Ok(scenario) => scenario.plan(&catalogue()).err().unwrap_or_default(),
        Err(faults) => faults,
    }
}

fn plan(document: &Value) -> Plan {
    let scenario = Scenario::from_json(&document.to_string(), None).unwrap();
    scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0])).0
}

fn messages(document: &Value) -> String {
    faults(document).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn dumbbell(flow: Value) -> Value {
    json!({
        "schema_version": 1, "duration": "10 s",
        "dumbbell": { "bottleneck": { "rate": "10 Mbps", "delay": "10 ms" } },
        "flow": [flow],
    })
}

fn cubic() -> Value {
    json!({ "algorithm": "cubic", "rtt": "50 ms" })
}

/// Routes have at most 255 links, as an IP packet has at most 255 hops (RFC 791, 3.1): a parking lot of 253 hops and
/// two access links, or a chain of 255 links. One more is rejected, for explicit and for computed routes.
#[test]
fn a_route_of_more_than_255_links_is_rejected() {
    let lot = |hops: usize| {
        let hop = json!({ "rate": "10 Mbps" });
        json!({ "schema_version": 1, "duration": "1 s", "parking_lot": { "hops": vec![hop; hops] }, "flow": [cubic()] })
    };
    assert_eq!(plan(&lot(253)).flows[0.into()].forward.len(), 255);
    let message = "flow[0]: the forward route of 'flow0' has 256 links; the maximum is 255\n  hint: shorten the path\n\
                   flow[0]: the reverse route of 'flow0' has 256 links; the maximum is 255\n  hint: shorten the path";
    assert_eq!(messages(&lot(254)), message);
    let chain = |links: usize, explicit: bool| {
        let link = |n: usize| json!({ "name": format!("l{n}"), "from": format!("n{n}"), "to": format!("n{}", n + 1), "rate": "10 Mbps", "delay": "1 ms" });
        let mut flow = json!({ "algorithm": "cubic", "from": "n0", "to": format!("n{links}") });
        if explicit {
            flow["route"] = json!((0..links).map(|n| format!("l{n}")).collect::<Vec<_>>());
        }
        json!({ "schema_version": 1, "duration": "1 s", "link": (0..links).map(link).collect::<Vec<_>>(), "flow": [flow] })
    };
    for explicit in [false, true] {
        assert_eq!(plan(&chain(255, explicit)).flows[0.into()].forward.len(), 255);
        assert_eq!(messages(&chain(256, explicit)), message);
    }
}

/// By hand: delays of a-b-d 1 + 1 ms, of a-c-d 1 + 1 ms, of a-d 3 ms. The first two are equal, and the order of the
/// links decides.
#[test]
fn routes_are_shortest_by_delay_then_hops_then_order() {
    let link = |from: &str, to: &str, delay: &str| json!({ "from": from, "to": to, "delay": delay, "rate": "1 Mbps" });
    let route = |links: Value| {
        let flow = json!({ "algorithm": "cubic", "from": "a", "to": "d" });
        let plan = plan(&json!({ "schema_version": 1, "duration": "1 s", "link": links, "flow": [flow] }));
        plan.flows[0.into()].forward.iter().map(|&one| plan.link_name(one)).collect::<Vec<_>>().join(" ")
    };
    let (ab, bd, ac, cd) =
        (link("a", "b", "1 ms"), link("b", "d", "1 ms"), link("a", "c", "1 ms"), link("c", "d", "1 ms"));
    assert_eq!(route(json!([ab, bd, ac, cd, link("a", "d", "3 ms")])), "a-b b-d");
    assert_eq!(route(json!([ac, cd, ab, bd, link("a", "d", "3 ms")])), "a-c c-d");
    assert_eq!(route(json!([ab, bd, ac, cd, link("a", "d", "2 ms")])), "a-d");
}

/// An unknown field in any table of a document is a fault with the path of that table.
#[test]
fn an_unknown_field_is_a_fault_in_every_table() {
    fn tables(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                found.push(path.to_owned());
                map.iter().for_each(|(key, value)| tables(value, &format!("{path}/{key}"), found));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(n, value)| tables(value, &format!("{path}/{n}"), found));
            }
            _ => {}
        }
    }
    let size = json!({ "kind": "pareto", "shape": 1.2, "min": "1 kB", "max": "1 MB" });
    let tcp = json!({ "algorithm": "cubic", "rtt": "50 ms", "stack": { "ecn": "classic" }, "control": { "delay": "1 ms" },
        "start_step": { "kind": "exponential", "mean": "1 s" }, "workload": { "kind": "arrivals", "load": 0.1, "size": size } });
    let link = json!({
        "trace": { "file": "3g", "bytes": 1500 }, "queue": { "kind": "fq-codel" }, "harq": { "most": 2 },
        "jitter": { "spread": "1 ms" }, "loss": [{ "kind": "bernoulli", "p": 0.1 }], "agents": [{ "scheme": "rcp" }],
        "schedule": [{ "at": "1 s", "delay": "2 ms" }],
    });
    let bucket = json!({ "token_bucket": { "rate": "1 Mbps", "burst": "15 kB" } });
    let head = json!({ "schema_version": 1, "duration": "10 s", "flow": [tcp] });
    let with = |key: &str, value: Value| {
        let mut document = head.clone();
        document[key] = value;
        document
    };
    let mut graph = with("link", json!([{ "from": "a", "to": "b", "medium": "m" }]));
    graph["node"] = json!([{ "name": "a" }, { "name": "b" }]);
    graph["medium"] =
        json!([{ "name": "m", "access_point": "a", "standard": "802.11g", "beacon": { "interval": "100 ms" } }]);
    graph["flow"][0].as_object_mut().unwrap().remove("rtt");
    (graph["flow"][0]["from"], graph["flow"][0]["to"]) = (json!("a"), json!("b"));
    let documents = [
        with(
            "dumbbell",
            json!({ "bottleneck": link, "reverse": bucket, "access": { "rate": "1 Gbps", "queue": { "capacity": "9 packets" } } }),
        ),
        with("parking_lot", json!({ "hops": [bucket, { "rate": "1 Mbps" }] })),
        with(
            "wlan",
            json!({ "standard": "802.11g", "wire": { "rate": "1 Gbps" }, "stations": [{ "rate": "6 Mbps" }] }),
        ),
        graph,
    ];
    let mut checked = 0;
    for document in documents {
        assert_eq!(messages(&document), "", "{document}");
        let mut found = Vec::new();
        tables(&document, "", &mut found);
        for pointer in found {
            let mut altered = document.clone();
            altered.pointer_mut(&pointer).unwrap()["zzz"] = json!(1);
            let all = faults(&altered);
            assert!(all.iter().any(|fault| fault.place.ends_with("zzz")), "{pointer}: {all:?}");
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}

/// Replaces the dumbbell by two nodes and their link.
fn graph(one: &mut Value) {
    one.as_object_mut().expect("a table").remove("dumbbell");
    one["link"] = json!([{ "from": "a", "to": "b", "rate": "10 Mbps", "delay": "5 ms" }]);
    one["flow"][0]["from"] = json!("a");
    one["flow"][0]["to"] = json!("b");
}

#[test]
fn fields_of_other_topologies_and_kinds_are_faults() {
    let mut cases = Vec::new();
    let mut case = |change: fn(&mut Value), place: &str| {
        let mut document = dumbbell(cubic());
        change(&mut document);
        cases.push((messages(&document), place.to_owned()));
    };
    case(
        |one| one["dumbbell"]["bottleneck"]["loss"] = json!({ "kind": "bernoulli", "p": 0.1, "r": 0.5 }),
        "dumbbell.bottleneck.loss.r: 'bernoulli' has no such field",
    );
    case(
        |one| one["dumbbell"]["bottleneck"]["agents"] = json!([{ "scheme": "rcp", "theta": 0.5 }]),
        "dumbbell.bottleneck.agents[0].theta: 'rcp' has no such field",
    );
    case(
        |one| one["dumbbell"]["bottleneck"]["queue"] = json!({ "kind": "droptail", "mark_above": 3 }),
        "dumbbell.bottleneck.queue.mark_above: 'droptail' has no such field",
    );
    case(
        |one| one["flow"][0]["start_step"] = json!({ "kind": "exponential", "mean": "1 s", "cv": 2.0 }),
        "flow[0].start_step.cv: 'exponential' has no such field",
    );
    case(|one| one["flow"][0]["enter"] = json!(1), "flow[0].enter: belongs to a network of '[parking_lot]'");
    case(|one| one["flow"][0]["route"] = json!(["l"]), "flow[0].route: belongs to a network of '[[link]]'s");
    case(graph, "flow[0].rtt: belongs to a network without '[[link]]'s, which defines them by links and routes");
    let reversed: fn(&mut Value) = |one| {
        graph(one);
        one["flow"][0].as_object_mut().expect("a table").remove("rtt");
        one["flow"][0]["direction"] = json!("reverse");
    };
    case(reversed, "flow[0].direction: belongs to a network without '[[link]]'s");
    case(|one| one["node"] = json!([{ "name": "a" }]), "node: belongs to a network of '[[link]]'s");
    case(
        |one| one["flow"] = one["flow"][0].clone(),
        "flow: expected a list of tables, got one table\n  hint: write '[[flow]]'",
    );
    for (message, expected) in cases {
        assert!(message.starts_with(&expected), "{message:?} instead of {expected:?}");
    }
}

#[test]
fn values_beyond_the_range_of_counters_are_rejected() {
    let queue = |capacity: &str| {
        let mut document = dumbbell(cubic());
        document["dumbbell"]["bottleneck"]["queue"] = json!({ "capacity": capacity });
        messages(&document)
    };
    assert_eq!(queue("4294967295 packets"), "");
    assert!(queue("99999999999999999999 packets").contains("is more than 4294967295 packets"));
    assert!(queue("1e9 bdp").contains("1000000000 bdp are more than 4294967295 packets"), "{}", queue("1e9 bdp"));
    // Beyond 2⁶⁴ packets, too.
    assert!(queue("1e18 bdp").contains("bdp are more than 4294967295 packets"), "{}", queue("1e18 bdp"));
    let mut long = dumbbell(cubic());
    long["duration"] = json!("9000 h");
    assert!(messages(&long).starts_with("duration: "), "{}", messages(&long));
    let mut many = dumbbell(json!({ "algorithm": "cubic", "rtt": "50 ms", "count": 1_000_000 }));
    many["flow"].as_array_mut().unwrap().push(cubic());
    assert!(messages(&many).contains("there are 1000001 flows; the maximum is 1000000"));
}

/// By hand: 10 s at 1 ns are 10¹⁰ samples of three counters; 3·10¹⁰ rows are 600 times the limit.
#[test]
fn too_many_rows_are_rejected_before_the_run() {
    let mut often = dumbbell(cubic());
    often["sample_interval"] = json!("1 ns");
    assert_eq!(
        messages(&often),
        "sample_interval: 10000000000 samples of 1 flows and 2 links are more than 50000000 rows\n  \
         hint: an interval of 1 ms or more; \"0 s\" disables samples"
    );
    let mut small = dumbbell(cubic());
    small["dumbbell"]["bottleneck"]["rate"] = json!("1 Tbps");
    small["flow"][0]["workload"] = json!({ "kind": "arrivals", "load": 0.5, "size": "1 B" });
    assert!(
        messages(&small).starts_with("flow[0].workload: ") && messages(&small).contains("transfers are expected"),
        "{}",
        messages(&small)
    );
    let udp = json!({ "transport": "udp", "rtt": "50 ms", "workload": { "kind": "cbr", "rate": "1 Tbps", "packet": "29 B" } });
    let mut twice = dumbbell(udp);
    assert_eq!(messages(&twice), "");
    twice["dumbbell"]["bottleneck"]["duplicate"] = json!(0.01);
    assert!(
        messages(&twice).contains("datagrams are expected; duplicates are detected among 4294967295"),
        "{}",
        messages(&twice)
    );
    let mut every = dumbbell(cubic());
    every["packets"] = json!(true);
    every["dumbbell"]["bottleneck"]["rate"] = json!("100 Gbps");
    assert!(messages(&every).starts_with("packets: about "), "{}", messages(&every));
}

/// A transfer of 1 byte consists of its data packet and its SYN: with profile linux 1 + 52 and about 60 bytes, not a
/// full segment. The expected arrival rate is computed from the packet sizes of the plan.
#[test]
fn a_load_of_small_transfers_is_computed_from_their_packets() {
    let plan = plan(&dumbbell(json!({ "algorithm": "cubic", "rtt": "50 ms",
        "workload": { "kind": "arrivals", "load": 0.5, "size": "1 B" } })));
    let stack = &plan.flows[0.into()].stack;
    let bits = 8.0 * (1 + stack.header.0 + stack.ack.0) as f64;
    let Workload::Arrivals(arrivals) = &plan.flows[0.into()].workload else {
        panic!("{:?}", plan.flows[0.into()].workload)
    };
    let rate = arrivals.per_second.unwrap();
    assert!((rate - 5e6 / bits).abs() < 1e-6 * rate, "{rate}");
}

#[test]
fn control_characters_are_rejected_in_names_and_escaped_in_messages() {
    let mut document = dumbbell(cubic());
    document["flow"][0]["name"] = json!("\u{1b}[31mred");
    assert_eq!(
        messages(&document),
        "flow[0].name: '\\u{1b}[31mred' has a control character\n  hint: names are printed on terminals"
    );
    let mut document = dumbbell(cubic());
    document["flow"][0]["\u{1b}]0;title\u{7}"] = json!(1);
    let message = messages(&document);
    assert!(message.starts_with("flow[0].\\u{1b}]0;title\\u{7}: no such field"), "{message:?}");
    let text = "schema_version = 1\nx = \"\u{1b}[2J\"\n";
    let fault = &Scenario::from_toml(text, None).unwrap_err()[0];
    assert!(!fault.to_string().contains('\u{1b}'), "{fault}");
}

/// The time for planning is proportional to the number of flows; with a linear search for nodes 100,000 flows took
/// minutes.
#[test]
fn a_plan_may_have_100_000_flows() {
    let planned = plan(&dumbbell(
        json!({ "algorithm": "cubic", "rtt": "50 ms", "count": 100_000, "workload": { "kind": "bulk" } }),
    ));
    assert_eq!((planned.flows.len(), planned.links.len()), (100_000, 400_002));
    let mut names = String::new();
    write!(names, "{} {}", planned.flows[99_999.into()].name, planned.nodes[200_001]).unwrap();
    assert_eq!(names, "flow0-100000 d99999");
}

/// By hand: 400 Gbit/s for a day are 4.32 · 10¹⁵ bytes, 2.88 · 10¹² packets of 1500 bytes, so that sequence numbers
/// wrap around. A queue of 1 bdp of 100 ms holds 5 GB, 3,333,333 packets. Full for a day it has an integral of 5 · 10⁹
/// B · 8.64 · 10¹³ ns = 4.3 · 10²³ byte-nanoseconds, which exceeds 64 bits; the integrals have 128 bits. A schedule
/// that falls from 400 to 200 Gbit/s at noon has a mean of 300 over 3.456 · 10²⁵ bit/s·ns, which also needs 128 bits.
#[test]
fn a_day_at_400_gigabit_is_planned() {
    let tcp = json!({ "algorithm": "cubic", "rtt": "100 ms", "count": 1000, "start_step": "80 s" });
    let udp = json!({ "transport": "udp", "rtt": "100 ms",
        "workload": { "kind": "cbr", "rate": "400 Gbps", "packet": "1500 B" } });
    let document = |flows: Value| {
        json!({
            "schema_version": 1, "duration": "24 h", "sample_interval": "60 s",
            "dumbbell": { "bottleneck": { "rate": "400 Gbps", "delay": "10 ms" } }, "flow": flows,
        })
    };
    let planned = plan(&document(json!([tcp, udp])));
    assert_eq!(
        (planned.duration.as_nanos(), planned.flows[999.into()].start.as_nanos()),
        (86_400_000_000_000, 79_920_000_000_000)
    );
    assert_eq!(planned.links[0.into()].capacity, Capacity::Packets(3_333_333));
    let mut falls = document(json!([udp]));
    falls["dumbbell"]["bottleneck"]["schedule"] = json!([{ "at": "12 h", "rate": "200 Gbps" }]);
    assert_eq!(plan(&falls).links[0.into()].rate, Some(Rate::from_mbps(300_000)));
}

/// Equal flows and links share their common properties: 1,000 flows of one table, and 1,000 tables that differ only in
/// RTT and start.
#[test]
fn equal_flows_and_links_share_their_common_properties() {
    let head = dumbbell(cubic());
    let mut counted = head.clone();
    counted["flow"][0]["count"] = json!(1000);
    let mut tables = head;
    let flow = |n: usize| {
        json!({ "algorithm": "cubic", "rtt": format!("{} us", 50_000 + n), "start": format!("{n} ms"),
            "stack": { "min_rto": "250 ms" } })
    };
    tables["flow"] = (0..1000).map(flow).collect();
    for document in [counted, tables] {
        let planned = plan(&document);
        let flow = &planned.flows[0.into()].kind;
        let link = &planned.links[2.into()].kind;
        assert_eq!((planned.flows.len(), planned.links.len()), (1000, 4002));
        assert!(planned.flows.iter().all(|one| Arc::ptr_eq(&one.kind, flow)));
        assert!(planned.links.iter().skip(2).all(|one| Arc::ptr_eq(&one.kind, link)));
    }
}

/// By hand: 1 Gbit/s in packets of 125 bytes are a million per second, of which a run records 50 million at most.
#[test]
fn the_messages_of_a_service_level_are_limited() {
    let document = |duration: &str, service: bool| {
        let workload = json!({ "kind": "cbr", "rate": "1 Gbps", "packet": "125 B" });
        let mut flow = json!({ "transport": "udp", "rtt": "50 ms", "workload": workload });
        if service {
            flow["service"] = json!({ "deadline": "1 s" });
        }
        let mut document = dumbbell(flow);
        document["duration"] = json!(duration);
        document
    };
    let message = "flow[0].service: about 100000000 messages would be recorded; the maximum of a run is 50000000\n  \
                   hint: a lower rate, larger packets, a shorter duration, or fewer flows with a service level";
    assert_eq!(messages(&document("100 s", true)), message);
    assert_eq!(messages(&document("49 s", true)), "");
    assert_eq!(messages(&document("100 s", false)), "");
}
