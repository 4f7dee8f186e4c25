//! The plans of scenarios, and their error messages.

use std::path::Path;

use cwndlab_algorithms::catalogue;
use cwndlab_control::{Domain, Kind, Value};
use cwndlab_scenario::plan::{AckCounting, Capacity, Plan};
use cwndlab_scenario::Scenario;
use cwndlab_units::{Duration, LinkId, Rate};
use proptest::prelude::*;

fn plan(text: &str) -> Result<Plan, String> {
    let join =
        |faults: Vec<cwndlab_units::Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let scenario = Scenario::from_toml(text, None).map_err(join)?;
    scenario.plan(&catalogue()).map(|(plan, _)| plan).map_err(join)
}

const HEAD: &str = "schema_version = 1\nduration = \"10 s\"\n";
const NET: &str = "[dumbbell]\nbottleneck = { rate = \"10 Mbps\", delay = \"10 ms\" }\n";
const FLOW: &str = "[[flow]]\nalgorithm = \"cubic\"\nrtt = \"40 ms\"\n";

/// Half of 100 Mbit/s × 50 ms in 1500-byte packets is 208; both flows cross the bottleneck in one direction.
#[test]
fn the_plan_of_the_example_matches_its_document() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/two-flows.toml")).unwrap();
    let plan = plan(&text).unwrap();
    assert_eq!(plan.links[0.into()].rate, Some(Rate::from_mbps(100)));
    assert_eq!(plan.links[0.into()].capacity, Capacity::Packets(208));
    let flows: Vec<_> = plan.flows.iter().map(|flow| (&*flow.algorithm_text, flow.base_rtt, flow.start)).collect();
    assert_eq!(
        flows,
        [
            ("cubic+hystart-pp/rack", Duration::from_millis(50), Duration::ZERO),
            ("reno+standard/rack", Duration::from_millis(50), Duration::from_secs(5)),
        ]
    );
    let names = |route: &[LinkId]| route.iter().map(|&link| plan.link_name(link)).collect::<Vec<_>>();
    assert_eq!(names(&plan.flows[1.into()].forward), ["s1-r1", "bottleneck", "r2-d1"]);
}

#[test]
fn every_bundled_scenario_has_a_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut n = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            plan(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|faults| panic!("{}: {faults}", path.display()));
            n += 1;
        }
    }
    assert!(n >= 10);
}

#[test]
fn all_faults_are_reported_together() {
    let text = format!(
        "schema_version = 1\nduration = \"10\"\n[dumbbell]\nbottleneck = {{ rate = \"0 Mbps\", delay = \"-5 ms\", queu = 1 }}\n{}{}",
        "[[flow]]\nalgorithm = \"cubik\"\nrtt = 40\n", ""
    );
    assert_eq!(
        plan(&text).unwrap_err(),
        "duration: '10' has no unit\n  hint: write '50 ms' or '10 s'\n\
         dumbbell.bottleneck.queu: no such field\n  hint: did you mean 'queue'?\n\
         dumbbell.bottleneck.rate: the rate is zero\n  hint: a link with rate zero carries no packets; write \"none\" for one that serialises in no time\n\
         dumbbell.bottleneck.delay: '-5 ms' is negative\n  hint: write '50 ms' or '10 s'\n\
         flow[0].rtt: '40' has no unit\n  hint: write '50 ms' or '10 s'\n\
         flow[0].algorithm: no algorithm is called 'cubik'\n  hint: did you mean 'cubic'? `cwndlab list` shows them all"
    );
}

#[test]
fn each_fault_has_its_message() {
    let graph =
        "[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbps\"\n[[link]]\nfrom = \"b\"\nto = \"c\"\nduplex = false\n";
    let cases = [
        (format!("{}{NET}{FLOW}", HEAD.replace('1', "7")), "schema_version: version 7 is not supported; this program reads version 1\n  hint: use the release that wrote the scenario"),
        (format!("{HEAD}{FLOW}"), "there is no network\n  hint: write '[dumbbell]', '[parking_lot]', '[wlan]' or '[[link]]'"),
        (format!("{HEAD}{NET}"), "flow: is missing\n  hint: write a '[[flow]]' with an algorithm"),
        (
            format!("{HEAD}{NET}{}", FLOW.replace("40 ms", "15 ms")),
            "flow[0].rtt: 15 ms is shorter than 20 ms, the round-trip delay of the links between the routers\n  hint: increase rtt, or reduce the delay of the links",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("delay", "queue = { capacity = \"0.5 packets\" }, delay")),
            "dumbbell.bottleneck.queue.capacity: '0.5 packets' is less than a packet\n  hint: write \"100 packets\", \"64 KiB\", \"20 ms\", \"0.5 bdp\" or \"unlimited\"",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("delay", "queue = { kind = \"codl\" }, delay")),
            "dumbbell.bottleneck.queue.kind: 'codl' is not a valid value\n  hint: did you mean 'codel'?",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("delay", "queue = { kind = \"codel\", max_p = 0.1 }, delay")),
            "dumbbell.bottleneck.queue.max_p: 'codel' has no such field\n  hint: fields here: kind, capacity, target, interval, ecn, ce_threshold, ce_threshold_ect1",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("delay", "queue = { kind = \"red\", min_th = 20, max_th = 15 }, delay")),
            "dumbbell.bottleneck.queue.max_th: 15 packets are not above min_th, 20 packets\n  hint: three times min_th is usual",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("delay", "queue = { kind = \"ared\", max_th = 4 }, delay")),
            "dumbbell.bottleneck.queue.max_th: 4 packets are not above min_th, 5 packets\n  hint: three times min_th is usual",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("delay", "queue = { kind = \"pie\", update = \"0 s\" }, delay")),
            "dumbbell.bottleneck.queue.update: is zero\n  hint: write \"15 ms\"",
        ),
        (
            format!("{HEAD}{NET}{FLOW}name = \"x\"\n{FLOW}name = \"x\"\n"),
            "flow[1].name: 'x' is the name of another flow\n  hint: names are unique",
        ),
        (
            format!("{HEAD}{graph}[[flow]]\nalgorithm = \"reno\"\nfrom = \"a\"\nto = \"c\"\n"),
            "flow[0].reverse_route: there is no path from 'c' to 'a'\n  hint: add a link",
        ),
        (
            format!("{HEAD}{graph}[[flow]]\nalgorithm = \"reno\"\nfrom = \"a\"\nto = \"b\"\nroute = [\"a-b\", \"b-a\", \"a-b\"]\n"),
            "flow[0].route: the route visits 'a' twice\n  hint: a route has no cycle",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("delay", "loss = { kind = \"bernoulli\", p = 2 }, delay")),
            "dumbbell.bottleneck.loss.p: expected a probability from 0 to 1, got 2",
        ),
        (
            format!("{HEAD}{NET}{FLOW}profile = \"linus\"\n"),
            "flow[0].profile: no profile is called 'linus'\n  hint: did you mean 'linux'?",
        ),
        (
            format!("{HEAD}{NET}{FLOW}dscp = 46\nname = 5\n"),
            "flow[0].name: expected a text, got a number\n  hint: write \"5\"\n\
             flow[0].dscp: expected a text, got a number\n  hint: one of CS0, LE, CS1, AF11, AF12, AF13, CS2, AF21, AF22, AF23, CS3, AF31, AF32, AF33, CS4, AF41, AF42, AF43, CS5, VA, EF, CS6, CS7",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("rate = \"10 Mbps\"", "token_bucket = { rate = \"0 Mbps\", burst = \"9 kB\" }")),
            "dumbbell.bottleneck.token_bucket.rate: the rate is zero\n  hint: write a rate above zero",
        ),
        (
            format!("{HEAD}{}{FLOW}", NET.replace("rate = \"10 Mbps\"", "trace = { file = \"3g\", text = \"1\" }")),
            "dumbbell.bottleneck.trace: has both a file and a text\n  hint: leave out one of them",
        ),
        (
            format!("{HEAD}{NET}{}", FLOW.replace("cubic", "cubic(beta=0.7, c=0.4, beta=0.8)")),
            "flow[0].algorithm: 'beta' has two values\n  hint: leave out one of them",
        ),
        (format!("{HEAD}[dumbbell\n"), "line 3, column 10: this is not TOML: unclosed table, expected `]`"),
    ];
    for (text, message) in cases {
        assert_eq!(plan(&text).unwrap_err(), message, "{text}");
    }
}

/// A faulty field counts as absent for the checks between fields, and causes no other fault.
#[test]
fn a_faulty_field_hides_no_other_fault() {
    let flow = "[[flow]]\ntransport = \"udp\"\nalgorithm = \"reno\"\nrtt = \"40\"\nstart = \"2 s\"\nstop = \"1 s\"\n";
    assert_eq!(
        plan(&format!("{HEAD}{NET}{flow}")).unwrap_err(),
        "flow[0].rtt: '40' has no unit\n  hint: write '50 ms' or '10 s'\n\
         flow[0].algorithm: a flow over UDP has no congestion control\n  hint: remove it, or write 'transport = \"tcp\"'\n\
         flow[0].workload: is missing\n  hint: write 'workload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"1500 B\" }'\n\
         flow[0].stop: is not after the start"
    );
    let graph = "[[node]]\nname = true\n[[link]]\nfrom = \"a\"\nto = \"b\"\n";
    let flow = "[[flow]]\nalgorithm = \"reno\"\nfrom = \"a\"\nto = \"b\"\n";
    assert_eq!(plan(&format!("{HEAD}{graph}{flow}")).unwrap_err(), "node[0].name: expected a text, got true or false");
}

/// A receive window of zero never opens.
#[test]
fn a_receive_window_of_zero_is_a_fault() {
    assert_eq!(
        plan(&format!("{HEAD}{NET}{FLOW}stack = {{ receive_window = \"0 B\" }}\n")).unwrap_err(),
        "flow[0].stack.receive_window: is closed for ever, so that no data can be sent\n  hint: write \"64 kB\""
    );
    assert!(plan(&format!("{HEAD}{NET}{FLOW}stack = {{ receive_window = \"1 B\" }}\n")).is_ok());
    // By hand: the shift to 32 bits is 16 from 2⁴⁷ B on, and 65535 >> 16 is zero.
    let large = |bytes: u64| plan(&format!("{HEAD}{NET}{FLOW}stack = {{ receive_window = \"{bytes} B\" }}\n"));
    assert!(large((1 << 47) - 1).is_ok());
    assert!(large(1 << 47).unwrap_err().starts_with("flow[0].stack.receive_window: is so large that the window scale"));
}

/// RFC 6582, section 1: NewReno is the recovery without SACK, and the records say so. Linux' own is named as with SACK.
#[test]
fn without_sack_the_plan_names_newreno() {
    for (profile, named) in
        [("linux", "cubic+hystart-pp/rack"), ("rfc", "cubic+hystart-pp/newreno"), ("ns2", "cubic+hystart-pp/newreno")]
    {
        let text = format!("{HEAD}{NET}{FLOW}profile = \"{profile}\"\nstack = {{ sack = false }}\n");
        assert_eq!(&*plan(&text).unwrap().flows[0.into()].algorithm_text, named);
    }
    let text = format!("{HEAD}{NET}{FLOW}stack = {{ sack = false }}\n").replace("cubic", "cubic/tahoe");
    assert_eq!(&*plan(&text).unwrap().flows[0.into()].algorithm_text, "cubic+hystart-pp/tahoe");
}

/// RFC 5681, section 3.1: a segment per ACK in slow start, bytes after it. RFC 9406, section 4.2, and RFC 3465 have a
/// limit L of their own, and a whole algorithm has its own rules; what a scenario sets stays.
#[test]
fn the_profile_rfc_limits_slow_starts_that_do_not_limit_themselves() {
    let counting = |algorithm: &str, stack: &str| {
        let text = format!("{HEAD}{NET}{FLOW}profile = \"rfc\"\nstack = {{ {stack} }}\n");
        plan(&text.replace("\"cubic\"", &format!("\"{algorithm}\""))).unwrap().flows[0.into()].stack.ack_counting
    };
    for limited in ["reno", "cubic+standard", "cubic-8312", "reno+hystart", "vegas", "hybla"] {
        assert_eq!(counting(limited, ""), AckCounting::AcksInSlowStart, "{limited}");
    }
    for own in ["cubic", "reno+hystart-pp", "reno+standard(limit=2)", "bbr1", "bbr3", "copa", "phcc"] {
        assert_eq!(counting(own, ""), AckCounting::Bytes, "{own}");
        assert_eq!(counting(own, "ack_counting = \"acks-in-slow-start\""), AckCounting::AcksInSlowStart, "{own}");
    }
}

#[test]
fn set_changes_a_field_and_reports_unknown_fields() {
    let mut scenario = Scenario::from_toml(&format!("{HEAD}{NET}{FLOW}"), None).unwrap();
    scenario.set("dumbbell.bottleneck.rate", "20 Mbps").unwrap();
    scenario.set("flow[0].stack.initial_window", "2").unwrap();
    let plan = scenario.plan(&catalogue()).unwrap().0;
    assert_eq!((plan.links[0.into()].rate, plan.flows[0.into()].stack.initial_window), (Some(Rate::from_mbps(20)), 2));
    let message = |scenario: &mut Scenario, path: &str| scenario.set(path, "1").unwrap_err()[0].to_string();
    assert_eq!(message(&mut scenario, "flow[0].rt"), "flow[0].rt: no such field\n  hint: did you mean 'rtt'?");
    assert_eq!(
        message(&mut scenario, "flow[3].rtt"),
        "flow[3]: the list has 1 items\n  hint: indices start at 0; 'flow[+]' adds one"
    );
}

/// A table with a name is found by it: its place in the file is nothing that a reader knows.
#[test]
fn set_finds_tables_by_name() {
    let named = FLOW.replace("[[flow]]", "[[flow]]\nname = \"upload\"");
    let mut scenario = Scenario::from_toml(&format!("{HEAD}{NET}{named}"), None).unwrap();
    scenario.set("flow[upload].rtt", "80 ms").unwrap();
    let rtt = |scenario: &Scenario| scenario.plan(&catalogue()).unwrap().0.flows[0.into()].base_rtt;
    assert_eq!(rtt(&scenario), Duration::from_millis(80));
    let message = |scenario: &mut Scenario, path: &str| scenario.set(path, "1 s").unwrap_err()[0].to_string();
    assert_eq!(
        message(&mut scenario, "flow[uplod].rtt"),
        "flow[uplod]: no item is called 'uplod'\n  hint: did you mean 'upload'?"
    );
    assert_eq!(
        message(&mut scenario, "flow.upload.rtt"),
        "flow.upload: is not in a table\n  hint: write 'flow[upload]': an item of a list is in brackets"
    );
    let mut unnamed = Scenario::from_toml(&format!("{HEAD}{NET}{FLOW}"), None).unwrap();
    assert_eq!(
        message(&mut unnamed, "flow[upload].rtt"),
        "flow[upload]: no item is called 'upload'\n  hint: its items have no names: write an index, from 0 on"
    );
}

/// A new flow is a copy of the last one without its name, since names are unique.
#[test]
fn set_adds_a_flow() {
    let named = FLOW.replace("[[flow]]", "[[flow]]\nname = \"first\"\nstart = \"2 s\"");
    let mut scenario = Scenario::from_toml(&format!("{HEAD}{NET}{named}"), None).unwrap();
    scenario.set("flow[+].algorithm", "reno").unwrap();
    scenario.set("flow[1].rtt", "80 ms").unwrap();
    let plan = scenario.plan(&catalogue()).unwrap().0;
    let flows: Vec<_> = plan
        .flows
        .iter()
        .map(|flow| (flow.name.to_string(), &*flow.algorithm_text, flow.base_rtt, flow.start))
        .collect();
    let start = Duration::from_secs(2);
    assert_eq!(
        flows,
        [
            ("first".to_owned(), "cubic+hystart-pp/rack", Duration::from_millis(40), start),
            ("flow1".to_owned(), "reno+standard/rack", Duration::from_millis(80), start),
        ]
    );
    let fault = scenario.set("dumbbell[+].rate", "1 Mbps").unwrap_err()[0].to_string();
    assert_eq!(fault, "dumbbell: is not a list\n  hint: write 'flow[1].rtt' or 'dumbbell.bottleneck.rate'");
}

/// A star is every item that the list has when the change is made; a flow over UDP has no algorithm.
#[test]
fn set_changes_every_flow() {
    let mut scenario = Scenario::from_toml(&format!("{HEAD}{NET}{FLOW}"), None).unwrap();
    assert_eq!(scenario.set("flow[+].start", "1 s").unwrap(), ["flow[1].start"]);
    assert_eq!(scenario.set("flow[*].rtt", "80 ms").unwrap(), ["flow[0].rtt", "flow[1].rtt"]);
    let udp = "{ transport = 'udp', rtt = '80 ms', workload = { kind = 'cbr', rate = '1 Mbps' } }";
    assert_eq!(scenario.set("flow[+]", udp).unwrap(), ["flow[2]"]);
    assert_eq!(scenario.set("flow[*].algorithm", "reno").unwrap(), ["flow[0].algorithm", "flow[1].algorithm"]);
    let plan = scenario.plan(&catalogue()).unwrap().0;
    assert!(plan.flows.iter().all(|flow| flow.base_rtt == Duration::from_millis(80)));
    let message = |scenario: &mut Scenario, path: &str| scenario.set(path, "1 s").unwrap_err()[0].to_string();
    assert_eq!(message(&mut scenario, "flo[*].rtt"), "flo: no such field\n  hint: did you mean 'flow'?");
    assert_eq!(
        message(&mut scenario, "dumbbell[*].rtt"),
        "dumbbell: is not a list\n  hint: write 'flow[1].rtt' or 'dumbbell.bottleneck.rate'"
    );
}

/// A removed field has its default, as one that was never written.
#[test]
fn unset_restores_the_default() {
    let mut scenario = Scenario::from_toml(&format!("{HEAD}{NET}{FLOW}"), None).unwrap();
    let before = scenario.hash().unwrap();
    scenario.set("title", "a title").unwrap();
    scenario.set("flow[0].start", "1 s").unwrap();
    assert_eq!(scenario.unset("title").unwrap(), ["title"]);
    assert_eq!(scenario.unset("flow[*].start").unwrap(), ["flow[0].start"]);
    assert_eq!(scenario.unset("flow[0].name").unwrap(), ["flow[0].name"]);
    assert_eq!(scenario.hash().unwrap(), before);
    let message = |scenario: &mut Scenario, path: &str| scenario.unset(path).unwrap_err()[0].to_string();
    assert_eq!(message(&mut scenario, "flow[0].strat"), "flow[0].strat: no such field\n  hint: did you mean 'start'?");
    assert_eq!(
        message(&mut scenario, "flow[0]"),
        "flow[0]: is an item of a list and has no default\n  hint: write the list without it"
    );
}

/// Equivalent documents have equal hashes, different scenarios have different hashes.
#[test]
fn equivalent_scenarios_have_equal_hashes() {
    let hash = |text: &str| Scenario::from_toml(text, None).unwrap().hash().unwrap();
    let one = hash(&format!("{HEAD}{NET}{FLOW}"));
    assert_eq!(one, hash(&format!("duration = \"10000 ms\"\nschema_version = 1\n{NET}[[flow]]\nrtt = \"0.04 s\"\nalgorithm = \"cubic\"\nprofile = \"linux\"\n")));
    assert_ne!(one, hash(&format!("{HEAD}{NET}{}", FLOW.replace("40", "41"))));
}

proptest! {
    /// Reading a document never panics.
    #[test]
    fn arbitrary_text_does_not_panic(text in "\\PC{0,200}") {
        let _ = plan(&text);
        let _ = plan(&format!("{HEAD}{NET}{FLOW}{text}"));
    }

    #[test]
    fn any_value_in_any_field_does_not_panic(
        path in prop::sample::select(vec!["duration", "flow[0].rtt", "flow[0].algorithm", "dumbbell.bottleneck.rate",
            "dumbbell.bottleneck.queue", "flow[0].stack", "flow[0].workload", "dumbbell.access", "flow", "dumbbell"]),
        value in prop::sample::select(vec!["1", "-1", "\"\"", "\"1 ms\"", "\"5 Mbps\"", "[]", "{}", "true", "{ kind = \"bulk\" }", "\"0.1 bdp\"", "1e300"]),
    ) {
        let mut scenario = Scenario::from_toml(&format!("{HEAD}{NET}{FLOW}"), None).unwrap();
        if scenario.set(path, value).is_ok() {
            let _ = scenario.plan(&catalogue());
        }
    }
}

/// The mechanisms of the catalogue refer to fields of a stack, with the values of profile `linux`.
#[test]
fn mechanisms_have_stack_fields_with_linux_defaults() {
    let stack = |set: &str| {
        let flow = format!("{FLOW}stack = {{ {set} }}\n");
        let plan = plan(&format!("{HEAD}{NET}{flow}")).unwrap_or_else(|faults| panic!("{set}: {faults}"));
        format!("{:?}", plan.flows[0.into()].stack)
    };
    let plain = stack("");
    let mut fields = 0;
    for spec in catalogue().specs.iter().filter(|spec| spec.kind == Kind::Mechanism) {
        for one in spec.parameters {
            let Some(field) = one.name.strip_prefix("stack.") else { continue };
            let written = |value: Value| match value {
                Value::Number(number) if one.unit.is_empty() => format!("{field} = {number}"),
                Value::Number(number) => format!("{field} = \"{number} {}\"", one.unit),
                Value::Word(word @ ("true" | "false")) => format!("{field} = {word}"),
                Value::Word(word) => format!("{field} = \"{word}\""),
            };
            assert_eq!(stack(&written(one.default)), plain, "{}: {field}", spec.name);
            if let Domain::Words(words) = one.domain {
                let others = words.iter().filter(|word| Value::Word(word) != one.default);
                others.for_each(|word| assert_ne!(stack(&written(Value::Word(word))), plain, "{field} = {word}"));
            }
            fields += 1;
        }
    }
    assert!(fields >= 10);
}
