//! The perturbed plans of all bundled scenarios and of links that vary. The bounds are those of `docs/scenario.md`:
//! 0.5 % of a delay, 0.1 % of a rate, a start within one RTT, less than 1 µs of processing.

use std::collections::BTreeSet;
use std::path::Path;

use cwndlab_algorithms::catalogue;
use cwndlab_scenario::plan::{LinePlan, LinkPlan, Plan};
use cwndlab_scenario::Scenario;
use cwndlab_units::Duration;
use proptest::prelude::*;

/// A dumbbell with a schedule and a token bucket, a graph with a shared last link, and a cell of 802.11.
const OTHERS: [&str; 3] = [
    r#"
        dumbbell.bottleneck = { rate = "9 Mbps", delay = "10 ms", schedule = [
            { at = "1 s", rate = "3 Mbps", delay = "30 ms" }, { at = "2 s", rate = "0 Mbps" }, { at = "3 s", rate = "1 Gbps" } ] }
        dumbbell.reverse = { token_bucket = { rate = "10 Mbps", burst = "15 kB", peak = "100 Mbps" }, delay = "1 ns" }
        dumbbell.access = { rate = "1 Gbps" }
        flow = [{ algorithm = "reno", rtt = "20 ms", count = 3 }, { algorithm = "cubic", rtt = "77 ms", start_jitter = "0 s" }]
    "#,
    r#"
        link = [
            { from = "a", to = "b", rate = "10 Mbps", delay = "13 ms" },
            { from = "b", to = "c", rate = "1 Gbps", jitter = { spread = "5 ms", reorder = true } },
        ]
        flow = [{ algorithm = "reno", from = "a", to = "c" }, { algorithm = "cubic", from = "b", to = "c" },
                { transport = "udp", from = "c", to = "a", workload = { kind = "cbr", rate = "1 Mbps" } }]
    "#,
    r#"
        wlan = { standard = "802.11n" }
        flow = [{ algorithm = "reno", rtt = "20 ms", count = 2 }, { algorithm = "cubic", rtt = "7 ms", direction = "upload" }]
    "#,
];

fn scenarios() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    assert!(paths.len() >= 20);
    let bundled = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        Scenario::from_toml(&text, Some(&folder)).unwrap()
    });
    let head = "schema_version = 1\nduration = \"10 s\"\n";
    let others = OTHERS.iter().map(|text| Scenario::from_toml(&format!("{head}{}", inline(text)), None).unwrap());
    bundled.chain(others).collect()
}

/// TOML has tables in one line only.
fn inline(text: &str) -> String {
    let mut depth = 0_i32;
    let join = |letter: char| {
        depth += i32::from("[{".contains(letter)) - i32::from("]}".contains(letter));
        if letter == '\n' && depth > 0 {
            ' '
        } else {
            letter
        }
    };
    text.chars().map(join).collect::<String>().replace(", ]", "]")
}

fn plan(scenario: &Scenario, perturb: bool) -> Plan {
    let mut scenario = scenario.clone();
    scenario.set("perturb", if perturb { "true" } else { "false" }).unwrap();
    scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0])).0
}

fn within(before: u64, after: u64, share: f64) -> bool {
    before.abs_diff(after) as f64 <= before as f64 * share
}

fn rates(link: &LinkPlan) -> Vec<u64> {
    let line = match &link.line {
        LinePlan::TokenBucket(bucket) => vec![Some(bucket.rate), bucket.peak],
        _ => vec![],
    };
    let steps = link.schedule.steps.iter().map(|step| step.rate);
    [link.rate].into_iter().chain(line).chain(steps).flatten().map(|rate| rate.0).collect()
}

fn delays(link: &LinkPlan) -> Vec<u64> {
    let steps = link.schedule.steps.iter().filter_map(|step| step.delay);
    [link.delay].into_iter().chain(steps).map(Duration::as_nanos).collect()
}

fn check_link(before: &LinkPlan, after: &LinkPlan) {
    assert_eq!((before.from, before.to, before.capacity), (after.from, after.to, after.capacity));
    let pairs = |values: fn(&LinkPlan) -> Vec<u64>| -> Vec<(u64, u64)> {
        assert_eq!(values(before).len(), values(after).len());
        values(before).into_iter().zip(values(after)).collect()
    };
    assert!(pairs(rates).iter().all(|&(one, other)| within(one, other, 0.001)), "{before:?} {after:?}");
    assert!(pairs(delays).iter().all(|&(one, other)| within(one, other, 0.005)), "{before:?} {after:?}");
    if before.jitter == after.jitter {
        return;
    }
    let added = after.jitter.unwrap();
    assert!(before.jitter.is_none() && before.radio.is_none() && !added.reorder);
    assert!(added.spread <= Duration::from_nanos(1_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_perturbed_plan_is_within_the_documented_bounds_and_the_same_for_the_same_seed(seed: u64) {
        for scenario in scenarios() {
            let before = plan(&scenario, false);
            let declared = plan(&scenario, true);
            prop_assert!(matches!(before.perturbed(seed), std::borrow::Cow::Borrowed(_)));
            let after = declared.perturbed(seed).into_owned();
            prop_assert_eq!(format!("{after:?}"), format!("{:?}", declared.perturbed(seed)));
            prop_assert_ne!(format!("{after:?}"), format!("{:?}", declared.perturbed(seed ^ 1)));
            prop_assert_eq!(before.links.len(), after.links.len());
            for (one, other) in before.links.iter().zip(&after.links) {
                check_link(one, other);
            }
            for (one, other) in before.flows.iter().zip(&after.flows) {
                prop_assert!(within(one.base_rtt.as_nanos(), other.base_rtt.as_nanos(), 0.005));
                prop_assert_eq!((one.start, &one.kind, &one.forward), (other.start, &other.kind, &other.forward));
                prop_assert!(other.start_jitter == one.start_jitter || other.start_jitter == one.base_rtt);
            }
        }
    }
}

#[test]
fn hosts_of_every_kind_of_network_process_packets_for_up_to_a_microsecond() {
    for scenario in scenarios() {
        let after = plan(&scenario, true).perturbed(1).into_owned();
        for route in after.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
            let last = &after.links[*route.last().unwrap()];
            assert!(last.radio.is_some() || last.cell.is_some() || last.jitter.is_some(), "{last:?}");
        }
    }
}

#[test]
fn a_scenario_keeps_the_starts_that_it_states() {
    let declared = plan(&scenarios()[scenarios().len() - 3], true);
    let jitters: Vec<Duration> = declared.flows.iter().map(|flow| flow.start_jitter).collect();
    assert_eq!(jitters, [20, 20, 20, 0].map(Duration::from_millis));
}

/// Two flows of one declaration are the planted tie: without perturbation their links are the same.
#[test]
fn equal_flows_have_different_rtts_for_each_seed() {
    let declared = plan(&scenarios()[scenarios().len() - 3], true);
    let rtts: BTreeSet<u64> = (0..20)
        .flat_map(|seed| {
            declared.perturbed(seed).flows.iter().take(3).map(|flow| flow.base_rtt.as_nanos()).collect::<Vec<_>>()
        })
        .collect();
    assert!(rtts.len() > 50, "{rtts:?}");
}

/// The draws do not depend on what flows send, so that algorithms are compared under the same perturbation.
#[test]
fn all_algorithms_have_the_same_perturbed_network() {
    for mut scenario in scenarios() {
        let mut networks = BTreeSet::new();
        for algorithm in ["reno", "bbr3"] {
            scenario.set("flow[0].algorithm", algorithm).unwrap();
            scenario.set("perturb", "true").unwrap();
            if let Ok((declared, _)) = scenario.plan(&catalogue()) {
                networks.insert(format!("{:?}", declared.perturbed(3).links));
            }
        }
        assert!(networks.len() <= 1);
    }
}

/// `perturb = false` is the default, which the canonical form leaves out; what is perturbed is another experiment.
#[test]
fn only_a_perturbed_scenario_has_another_hash() {
    for scenario in scenarios() {
        let hash = |perturb: &str| {
            let mut scenario = scenario.clone();
            scenario.set("perturb", perturb).unwrap();
            scenario.hash().unwrap()
        };
        assert_eq!(hash("false"), scenario.hash().unwrap());
        assert_ne!(hash("true"), hash("false"));
    }
}

/// A perturbed scenario without a `start_jitter` has that of one RTT: the same runs have the same hash, others another.
#[test]
fn the_default_start_jitter_of_a_perturbed_scenario_is_part_of_its_hash() {
    let mut scenario = scenarios().pop().unwrap();
    scenario.set("perturb", "true").unwrap();
    let hash = |jitter: &str| {
        let mut scenario = scenario.clone();
        scenario.set("start_jitter", jitter).unwrap();
        scenario.hash().unwrap()
    };
    let text = scenario.to_toml();
    assert!(!text.contains("start_jitter"), "{text}");
    assert_eq!(scenario.hash().unwrap(), hash("rtt"));
    assert_ne!(scenario.hash().unwrap(), hash("0 s"));
}
