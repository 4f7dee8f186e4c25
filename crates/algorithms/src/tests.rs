//! Tests of the catalogue: names, text forms, error messages and files of the entries.

use super::*;
use cwndlab_conformance::{check_sized, BatterySize};
use cwndlab_control::testing::{ack_at, established, loss, path, timeout, undo};
use cwndlab_control::{Ack, CongestionControl, Driver, Kind};
use cwndlab_units::maths::pow;
use cwndlab_units::{Duration, Time};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

fn all_texts() -> Vec<String> {
    let catalogue = catalogue();
    let names = |kind| catalogue.specs.iter().filter(move |spec| spec.kind == kind).map(|spec| spec.name);
    let refused = |avoidance: &str, start: &str| {
        let entry = catalogue.specs.iter().find(|spec| spec.kind == Kind::SlowStart && spec.name == start);
        entry.is_some_and(|spec| spec.incompatible.iter().any(|(other, _)| *other == avoidance))
    };
    names(Kind::CongestionAvoidance)
        .flat_map(|avoidance| names(Kind::SlowStart).map(move |start| (avoidance, start)))
        .filter(|(avoidance, start)| !refused(avoidance, start))
        .map(|(avoidance, start)| format!("{avoidance}+{start}"))
        .chain(names(Kind::CongestionAvoidance).map(str::to_owned))
        .collect()
}

#[test]
fn names_are_unique_within_a_kind_and_aliases_resolve() {
    let catalogue = catalogue();
    let names: BTreeSet<_> = catalogue.specs.iter().map(|spec| (format!("{:?}", spec.kind), spec.name)).collect();
    assert_eq!(names.len(), catalogue.specs.len());
    for (alias, target) in ALIASES {
        let text = if ["hystart++"].contains(alias) {
            format!("cubic+{alias}")
        } else if *alias == "rack-tlp" {
            format!("cubic/{alias}")
        } else {
            (*alias).to_owned()
        };
        catalogue.parse(&text).unwrap_or_else(|fault| panic!("{alias} = {target}: {}", fault.what));
    }
}

/// `TCP_CA_NAME_MAX` is 16 with the terminating byte (Linux, include/net/tcp.h).
#[test]
fn names_in_the_kernel_are_short_and_unique() {
    let catalogue = catalogue();
    let mut texts = all_texts();
    let wholes = catalogue.specs.iter().filter(|spec| matches!(spec.kind, Kind::Whole | Kind::Router));
    let wholes = wholes.filter(|spec| !matches!(spec.build, cwndlab_control::Build::Mechanism));
    texts.extend(wholes.map(|spec| spec.name.to_owned()));
    texts.extend(["cubic+ccm-ss", "cubic+ccm-ss(mu=1.5)", "cubic(beta=0.5)", "reno+hystart"].map(str::to_owned));
    let mut texts_by_name = std::collections::BTreeMap::new();
    for text in texts {
        let algorithm = catalogue.parse(&text).expect("an entry's name is an algorithm");
        let name = cwndlab_control::kernel_name(&algorithm);
        assert!(name.len() <= 15 && name.starts_with("cwndlab_"), "{text}: {name}");
        let bare = cwndlab_control::Algorithm { recovery: None, ..algorithm }.to_string();
        let before = texts_by_name.insert(name.clone(), bare.clone());
        assert!(before.is_none_or(|before| before == bare), "{name} stands for {bare} and another algorithm");
    }
    assert_eq!(cwndlab_control::kernel_name(&catalogue.parse("phcc").expect("an entry")), "cwndlab_phcc");
}

/// Names in the kernel are global, and recovery is the kernel's: the same algorithm twice, or with two recoveries, has
/// one name; parameters or a slow start give another.
#[test]
fn algorithms_of_one_name_in_the_kernel_are_found_before_they_are_registered() {
    let catalogue = catalogue();
    let conflict = |texts: &[&str]| {
        let algorithms: Vec<_> = texts.iter().map(|text| catalogue.parse(text).expect("an entry")).collect();
        let references: Vec<_> = algorithms.iter().collect();
        let found = cwndlab_control::kernel_name::equal_names(&references);
        found.map(|(one, other)| (one.to_string(), other.to_string()))
    };
    let pair = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
    assert_eq!(conflict(&["reno", "phcc", "phcc"]), pair("phcc", "phcc"));
    let sack = "cubic+hystart-pp/sack";
    let rack = "cubic+hystart-pp/rack";
    assert_eq!(conflict(&["cubic/sack", "reno", "cubic/rack"]), pair(sack, rack));
    assert_eq!(conflict(&["cubic", "cubic(beta=0.8)", "cubic+ccm-ss", "reno"]), None);
}

/// The algorithms of the reference scenarios.
#[test]
fn the_algorithms_of_the_references_parse() {
    for text in [
        "reno(abc=1)+standard/fack",
        "reno+standard/fack",
        "bic(ack_ratio=ns2)+standard/fack",
        "cubic-ns2(ack_ratio=ns2)+standard/fack",
        "highspeed(min_cwnd=half)+standard/fack",
        "scalable(min_cwnd=half, ai_cnt=50)+standard/fack",
        "ctcp(gamma=30, auto=off)+standard/fack",
        "highspeed+standard/sack",
        "cubic-linux+hystart-linux/rack",
        "htcp(rtt_scaling=linux, rtt=smoothed)+standard/fack",
        "hybla(rho=linux, min_cwnd=half)",
        "illinois(decrease=ns2, min_cwnd=half)+standard/fack",
        "veno(rtt=last)+standard/fack",
        "westwood-plus(filter=linux, min_interval=0.05, ssthresh=half)+standard/fack",
        "reno+standard/fack(rampdown=none)",
        "reno(per_ack=true)+standard/sack",
        "cubic(reno_friendly=off)+hystart/sack",
        "vegas(loss=0.5, rounding=half-up, base=handshake, floor=ssthresh, step=other, min_cwnd=half)/fack",
        "vegas(alpha=1, beta=3, rtt=mean, rounding=whole)+vegas-ss(rounding=whole)/reno",
        "yeah(base=handshake, min_cwnd=half)/fack",
    ] {
        catalogue().parse(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.what));
    }
}

#[test]
fn faults_contain_the_error_and_a_hint() {
    let faults = [
        ("cubik", "no algorithm is called 'cubik'", "did you mean 'cubic'? `cwndlab list` shows them all"),
        (
            "hystart",
            "'hystart' is a slow-start algorithm, not a congestion-avoidance algorithm",
            "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
        ),
        ("cubic+ccm-ss(mu=0.2)", "ccm-ss: mu = 0.2 is out of range", "mu ranges from 0.5 to 10"),
        ("cubic+ccm-ss(nu=2)", "ccm-ss has no parameter called 'nu'", "did you mean 'mu'?"),
        ("cubic+ccm-ss(mu=x)", "ccm-ss: mu = 'x' is not a number", "mu ranges from 0.5 to 10"),
        ("cubic+ccm-ss(delay=third)", "ccm-ss: delay = 'third' is not one of its values", "write one of half, full"),
        (
            "cubic+ccm-ss(mu=1.5",
            "the parentheses of 'cubic+ccm-ss(mu=1.5' do not match",
            "write 'cubic+ccm-ss(mu=1.5)/sack'",
        ),
        (
            "own.py",
            "'own.py' is a file, not an algorithm",
            "name its class here, and the file by --algorithm-file, in Python by algorithms=",
        ),
        (
            "prr",
            "'prr' is a mechanism of the transport, not a congestion-avoidance algorithm",
            "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
        ),
        (
            "cubic+bbr",
            "'bbr' is a whole algorithm, not a slow-start algorithm",
            "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
        ),
        (
            "cubic+sack-tcp",
            "'sack-tcp' is 'reno+standard/sack', not a slow-start algorithm",
            "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
        ),
        // Suggestions are of the required kind only: 'bbr' differs by one letter, but is not a slow start.
        ("cubic+bbrr", "no algorithm is called 'bbrr'", "`cwndlab list` shows them all"),
        (
            "cubic+",
            "a part of the algorithm is empty",
            "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
        ),
    ];
    for (text, what, hint) in faults {
        let fault = catalogue().parse(text).unwrap_err();
        assert_eq!((fault.what.as_str(), fault.hint.as_str()), (what, hint), "{text}");
    }
}

#[test]
fn the_canonical_text_parses_to_the_same_algorithm() {
    for text in all_texts()
        .into_iter()
        .chain(["newreno", "cubic + ccm-ss( mu = 1.5, beta=0.3 )/fack", "reno(abc=1)/rack"].map(String::from))
    {
        let algorithm = catalogue().parse(&text).unwrap();
        assert_eq!(catalogue().parse(&algorithm.to_string()).unwrap(), algorithm, "{text}");
    }
    assert_eq!(catalogue().parse("newreno").unwrap().to_string(), "reno+standard/newreno");
    assert_eq!(catalogue().parse("cubic+ccm-ss(mu=1.5)").unwrap().to_string(), "cubic+ccm-ss");
}

/// Algorithms and mechanisms that the catalogue must contain.
#[rustfmt::skip]
const KEYS: [&str; 73] = [
    "tahoe", "reno", "newreno", "highspeed", "scalable", "htcp", "bic", "cubic", "cubic-8312", "cubic-linux",
    "cubic-ns2", "hybla", "westwood", "westwood-plus", "libra", "cubic-fit", "vegas", "vegas-plus", "veno", "yeah",
    "illinois", "fast", "ctcp", "tcp-fit", "fast-fit", "fusion", "hcc", "ledbat", "ledbat-pp", "copa", "bbr1",
    "bbr2-s2n", "bbr2-quiche", "bbr3", "rcp-bbr", "standard", "vegas-ss", "hoe", "astart", "paced-start", "limited",
    "esse", "gallop",
    "quick-start", "alss-sirens", "capstart", "abe-tcp", "hystart", "hystart-linux", "hystart-pp", "afstart",
    "altss", "swift-start", "search", "rapid-start", "suss", "careful-resume", "sack", "fack", "prr", "rack-tlp", "rto", "undo", "dctcp", "ecn-classic",
    "abe-ecn", "rcp", "perc", "sirens", "abc-wireless", "ccm-ss", "iotcc", "phcc",
];

#[test]
fn every_required_name_is_an_entry_or_an_alias() {
    let catalogue = catalogue();
    let is_known = |key: &str| catalogue.find(key).is_some() || ALIASES.iter().any(|(alias, _)| *alias == key);
    let missing: Vec<_> = KEYS.into_iter().filter(|key| !is_known(key)).collect();
    assert!(missing.is_empty(), "no entry and no alias: {missing:?}");
}

fn number(row: &str) -> f64 {
    row.rsplit(',').next().unwrap().trim().parse().unwrap()
}

/// The files whose tests assert the rows of a name, where that is not the file of its entry.
const ASSERTED_IN: &[(&str, &[&str])] = &[
    ("cubic", &["algorithms/src/congestion_avoidance/cubic.rs", "algorithms/src/tests.rs"]),
    ("reno", &["algorithms/src/tests.rs"]),
    ("tcp-fit", &["algorithms/src/shared/virtual_flows.rs", "algorithms/src/congestion_avoidance/tcp_fit.rs"]),
    ("cubic-fit", &["algorithms/src/shared/virtual_flows.rs", "algorithms/src/congestion_avoidance/cubic_fit.rs"]),
    ("phcc", &["algorithms/src/whole/phcc.rs", "algorithms/src/whole/phcc/likelihood.rs"]),
    ("quick-start", &["algorithms/src/slow_start/quick_start.rs"]),
    ("hystart", &["algorithms/src/shared/hybrid.rs"]),
    ("prr", &["transport/src/prr.rs"]),
    ("rto", &["transport/src/rtt.rs"]),
    ("rcp", &["network/src/router_assist/rcp.rs"]),
    ("gilbert-elliott", &["network/src/loss/gilbert_elliott.rs"]),
    ("codel", &["network/src/aqm/codel.rs"]),
    ("wifi-g", &["network/src/wifi/phy.rs"]),
];

/// All numeric literals of a source file.
fn literals(source: &str) -> Vec<f64> {
    let part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    let words = source.split(|letter| !part(letter));
    words.filter_map(|word| word.replace('_', "").trim_end_matches('.').parse().ok()).collect()
}

/// The source file that computes a row of `known-answers.csv` contains its value, at full precision. Units may differ
/// by powers of a thousand.
#[test]
fn every_known_answer_is_asserted() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = include_str!("../../../known-answers/known-answers.csv");
    let mut missing = Vec::new();
    for row in text.lines().skip(1).filter(|row| !row.is_empty()) {
        let mut columns = row.split(',');
        let name = columns.next().unwrap();
        let quantity = columns.next().unwrap();
        let input = columns.next().unwrap();
        if name == "highspeed" {
            let w: f64 = input.strip_prefix("w=").unwrap().parse().unwrap();
            let computed = if quantity == "a(w)" {
                congestion_avoidance::highspeed::a(w)
            } else {
                congestion_avoidance::highspeed::b(w)
            };
            assert!((computed - number(row)).abs() < 1e-9 * number(row).max(1.0), "{row}: {computed}");
            continue;
        }
        let file = name.replace('-', "_");
        let own =
            ["congestion_avoidance", "whole", "slow_start"].map(|kind| format!("algorithms/src/{kind}/{file}.rs"));
        let listed = ASSERTED_IN.iter().find(|(one, _)| *one == name);
        let files = listed.map_or(own.to_vec(), |(_, files)| files.iter().map(|file| (*file).to_owned()).collect());
        let value = number(row);
        let found = files.iter().filter_map(|file| std::fs::read_to_string(crates.join(file)).ok()).any(|source| {
            let is = |literal: f64, scale: f64| (literal * scale - value).abs() <= 1e-9 * value.abs();
            literals(&source).iter().any(|one| [1.0, 1e3, 1e6, 1e9, 1e-3].iter().any(|scale| is(*one, *scale)))
        });
        if !found {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "no test asserts {missing:#?}");
}

/// Mean window of congestion avoidance, segments, over four epochs of 1/p segments with one loss at the end of each, at
/// an RTT of 100 ms: segments × RTT / time. The first loss is at the window `peak`.
fn mean_window(text: &str, p: f64, peak: f64) -> f64 {
    let mut flow = catalogue().parse(text).unwrap().build(&path(peak.round() as u64));
    let mut now = 0.0;
    let mut counted = 0u64;
    for _ in 0..4 {
        flow.on_congestion(&loss(flow.cwnd().0 / 1000));
        for _ in 0..(1.0 / p).round() as u64 {
            now += 1e8 * 1000.0 / flow.cwnd().0 as f64;
            counted += 1;
            flow.on_ack(&ack_at(Time::from_nanos(now as u64), 1));
        }
    }
    counted as f64 * 1e8 / now
}

/// `known-answers.csv`: Reno's √(3/(2p)) (Mathis et al., CCR 27(3), 1997), and CUBIC's
/// (C (3 + β) / (4 (1 − β)))^¼ (RTT³/p³)^¼ (RFC 9438, equation 6), at an RTT of 100 ms, with the constants of the
/// entries. Congestion avoidance follows them where windows are so large that rounding to segments has little effect.
#[test]
fn mean_windows_follow_the_response_functions() {
    let congestion_avoidance::cubic::Options { c, beta, .. } = congestion_avoidance::cubic::Options::default();
    let reno_law = |p: f64| (1.5 / p).sqrt();
    let cubic_law = |p: f64| pow(c * (3.0 + beta) / (4.0 * (1.0 - beta)), 0.25) * pow(0.1 / p, 0.75);
    let rows = [
        (1e-2, 12.247_448_713_915_89, 5.926_115_577_918_007),
        (1e-3, 38.729_833_462_074_17, 33.324_996_873_176_83),
        (1e-4, 122.474_487_139_158_91, 187.400_229_036_259_36),
        (1e-6, 1_224.744_871_391_589, 5_926.115_577_918_006),
    ];
    for (p, reno, cubic) in rows {
        assert!((reno_law(p) / reno - 1.0).abs() < 1e-12 && (cubic_law(p) / cubic - 1.0).abs() < 1e-12);
        if p < 1e-5 {
            continue; // 40 million ACKs
        }
        let mean = mean_window("reno+standard", p, reno * 4.0 / 3.0);
        assert!((mean / reno - 1.0).abs() < 0.08, "reno at {p}: {mean}, expected {reno}");
        let text = "cubic(reno_friendly=off, fast_convergence=off, base=cwnd)+standard";
        let mean = mean_window(text, p, cubic * 4.0 / (3.0 + beta));
        // At 6 segments rounding and the minimum of two segments raise the mean.
        assert!(p > 5e-3 || (mean / cubic - 1.0).abs() < 0.08, "cubic at {p}: {mean}, expected {cubic}");
    }
}

/// The reports of the `texts` that fail the conformance battery, which runs on four threads.
fn failures(texts: &[String], size: &BatterySize) -> Vec<String> {
    let catalogue = catalogue();
    let next = AtomicUsize::new(0);
    let check = || {
        let mut failures = Vec::new();
        while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let algorithm = catalogue.parse(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.what));
            let make = |path: &cwndlab_control::Path| algorithm.build(path);
            let report = check_sized(text, &algorithm, make, size);
            if !report.holds() {
                failures.push(report.to_string());
            }
        }
        failures
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(check)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// RFC 4015, section 3, and RFC 9438, section 4.9: after the undo of a spurious reduction the state of an algorithm is
/// that before it. A model-based algorithm keeps its model of the path (Linux, `bbr_undo_cwnd`).
#[test]
fn an_undo_restores_the_whole_state_of_every_algorithm_without_a_model() {
    for text in cwndlab_conformance::algorithm_texts(&catalogue()) {
        let algorithm = catalogue().parse(&text).unwrap_or_else(|fault| panic!("{text}: {}", fault.what));
        let mut driver = Driver::of(&algorithm, &path(10));
        driver.on_window(&established(Duration::from_millis(100), None));
        for n in 0..40 {
            let ack = Ack { round: n / 10, ..ack_at(Time::from_nanos(1_000_000_000 + n * 5_000_000), 1) };
            let _ = driver.control.on_ack(&ack);
        }
        let keeps = driver.control.state(None).phase.follows_model();
        let restored = |control: &dyn CongestionControl| {
            let mut control = control.snapshot();
            control.on_window(&undo());
            format!("{control:?}")
        };
        let before = format!("{:?}", driver.control);
        let notified = restored(&*driver.control);
        driver.on_congestion(&timeout(20));
        assert_ne!(format!("{:?}", driver.control), before, "{text}");
        driver.on_window(&undo());
        assert_eq!(format!("{:?}", driver.control) == notified, !keeps, "{text}");
    }
}

/// The conformance battery on all congestion-avoidance algorithms with their default slow start, all whole algorithms,
/// and all slow starts with Reno and CUBIC. `cwndlab check` runs it in full size.
#[test]
fn every_algorithm_passes_the_conformance_battery() {
    let mut texts = cwndlab_conformance::algorithm_texts(&catalogue());
    texts.push("cubic+careful-resume(saved_cwnd=400, saved_rtt=0.05)".to_owned());
    let failures = failures(&texts, &BatterySize::SMALL);
    assert!(failures.is_empty(), "{} algorithms fail:\n{}", failures.len(), failures.join("\n"));
}

/// A smaller battery on all permitted combinations of congestion avoidance and slow start.
#[test]
fn every_combination_with_a_slow_start_passes_a_small_conformance_battery() {
    let small = BatterySize { long_acks: 500, wide_segments: 2_000, acks: 40, streams: 1, events: 200, timed: (16, 1) };
    let failures = failures(&all_texts(), &small);
    assert!(failures.is_empty(), "{} combinations fail:\n{}", failures.len(), failures.join("\n"));
}
