use super::*;
use cwndlab_conformance::{check_sized, Size};
use cwndlab_control::testing::{ack_at, loss, path, timeout, undo, MSS};
use cwndlab_control::{Cause, Change, Congestion, CongestionControl, Feedback, Kind, Window};
use cwndlab_units::{Bytes, Duration, Rate};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn all_texts() -> Vec<String> {
    let catalogue = catalogue();
    let names = |kind| catalogue.specs.iter().filter(move |spec| spec.kind == kind).map(|spec| spec.name);
    let refused = |growth: &str, start: &str| {
        let entry = catalogue.specs.iter().find(|spec| spec.kind == Kind::SlowStart && spec.name == start);
        entry.is_some_and(|spec| spec.refuses.iter().any(|(other, _)| *other == growth))
    };
    names(Kind::Growth)
        .flat_map(|growth| names(Kind::SlowStart).map(move |start| (growth, start)))
        .filter(|(growth, start)| !refused(growth, start))
        .map(|(growth, start)| format!("{growth}+{start}"))
        .chain(names(Kind::Growth).map(str::to_owned))
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

/// The texts of the reference folders that name algorithms of this tree.
#[test]
fn the_senders_of_the_references_parse() {
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
fn faults_say_what_and_what_would_do() {
    let faults = [
        ("cubik", "no algorithm is called 'cubik'", "did you mean 'cubic'? `cwndlab list` shows them all"),
        (
            "hystart",
            "'hystart' is a slow start, not a growth",
            "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
        ),
        ("cubic+ccm-ss(mu=0.2)", "ccm-ss: mu = 0.2 is out of range", "mu goes from 0.5 to 10"),
        ("cubic+ccm-ss(nu=2)", "ccm-ss has no parameter called 'nu'", "did you mean 'mu'?"),
        ("cubic+ccm-ss(mu=x)", "ccm-ss: mu = 'x' is not a number", "mu goes from 0.5 to 10"),
        ("cubic+ccm-ss(delay=third)", "ccm-ss: delay = 'third' is not one of its words", "write one of half, full"),
        (
            "cubic+ccm-ss(mu=1.5",
            "the parentheses of 'cubic+ccm-ss(mu=1.5' do not match",
            "write 'cubic+ccm-ss(mu=1.5)/sack'",
        ),
        (
            "prr",
            "'prr' is a mechanism of the transport, not a growth",
            "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
        ),
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
fn the_canonical_text_reads_back_as_itself() {
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

/// The systems that the fact sheets describe, in the order of their index.
#[rustfmt::skip]
const KEYS: [&str; 68] = [
    "tahoe", "reno", "newreno", "highspeed", "scalable", "htcp", "bic", "cubic", "cubic-8312", "cubic-linux",
    "cubic-ns2", "hybla", "westwood", "westwood-plus", "libra", "cubic-fit", "vegas", "vegas-plus", "veno", "yeah",
    "illinois", "fast", "ctcp", "tcp-fit", "fast-fit", "fusion", "hcc", "ledbat", "ledbat-pp", "copa", "bbr1",
    "bbr3", "rcp-bbr", "standard", "vegas-ss", "hoe", "astart", "paced-start", "limited", "esse", "gallop",
    "quick-start", "alss-sirens", "capstart", "abe-tcp", "hystart", "hystart-linux", "hystart-pp", "afstart",
    "altss", "swift-start", "search", "sack", "fack", "prr", "rack-tlp", "rto", "undo", "dctcp", "ecn-classic",
    "abe-ecn", "rcp", "perc", "sirens", "abc-wireless", "ccm-ss", "iotcc", "phcc",
];

/// What this tree does not have yet: it may only shrink.
#[rustfmt::skip]
const NOT_YET: &[&str] = &[];

#[test]
fn every_key_of_the_sheets_is_an_entry_or_an_alias() {
    let catalogue = catalogue();
    let found = |key: &str| catalogue.find(key).is_some() || ALIASES.iter().any(|(alias, _)| *alias == key);
    let missing: Vec<_> = KEYS.into_iter().filter(|key| !found(key)).collect();
    let unexpected: Vec<_> = missing.iter().filter(|key| !NOT_YET.contains(key)).collect();
    assert!(unexpected.is_empty(), "no entry and no alias: {unexpected:?}");
    let done: Vec<_> = NOT_YET.iter().filter(|key| !missing.contains(key)).collect();
    assert!(done.is_empty(), "strike from NOT_YET: {done:?}");
}

fn number(row: &str) -> f64 {
    row.rsplit(',').next().unwrap().trim().parse().unwrap()
}

/// Every row of the file is computed by the code that uses it, or waits for what is not in this tree yet.
#[test]
fn every_known_answer_is_claimed() {
    let text = include_str!("../../../known-answers/known-answers.csv");
    let waiting = ["codel", "wifi-g"];
    // Asserted in the files of the algorithms (equations), of the transport (prr, rto) and of the network (loss), and in
    // the flow laws (mean windows).
    let elsewhere = [
        "rcp",
        "scalable",
        "cubic",
        "reno",
        "cubic-ns2",
        "ctcp",
        "htcp",
        "hybla",
        "illinois",
        "tcp-fit",
        "cubic-fit",
        "limited",
        "hystart",
        "ccm-ss",
        "quick-start",
        "prr",
        "rto",
        "gilbert-elliott",
        "dctcp",
        "iotcc",
        "phcc",
        "vegas",
        "fast",
        "ledbat-pp",
    ];
    for row in text.lines().skip(1).filter(|row| !row.is_empty()) {
        let mut columns = row.split(',');
        let (name, quantity, input) = (columns.next().unwrap(), columns.next().unwrap(), columns.next().unwrap());
        if name == "highspeed" {
            let w: f64 = input.strip_prefix("w=").unwrap().parse().unwrap();
            let ours = if quantity == "a(w)" { growth::highspeed::a(w) } else { growth::highspeed::b(w) };
            assert!((ours - number(row)).abs() < 1e-9 * number(row).max(1.0), "{row}: {ours}");
        } else {
            assert!(waiting.contains(&name) || elsewhere.contains(&name), "nobody claims {row}");
        }
    }
}

fn build(text: &str) -> Box<dyn CongestionControl> {
    catalogue().parse(text).unwrap().build(&path(10))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever comes: the window is finite and at least one segment, the same events give the same windows, and nothing
    /// grows while the window is not what limits.
    #[test]
    fn windows_are_sane(
        which in 0usize..10_000,
        events in prop::collection::vec((0u8..12, 1u64..40, 1u64..400_000_000, 1u64..200_000_000), 1..200),
    ) {
        let texts = all_texts();
        let text = &texts[which % texts.len()];
        let (mut one, mut two) = (build(text), build(text));
        let (mut now, mut round) = (0u64, 0);
        for (kind, n, rtt, gap) in events {
            now += gap;
            round += u64::from(gap > 100_000_000);
            let before = one.cwnd();
            for flow in [&mut one, &mut two] {
                match kind {
                    0 => flow.on_congestion(&loss(n)),
                    1 => flow.on_congestion(&timeout(n)),
                    _ => {
                        let mut ack = ack_at(now, n);
                        ack.rtt = Some(Duration(rtt));
                        ack.round = round;
                        ack.cwnd_limited = kind != 2;
                        ack.recovering = kind == 3;
                        flow.on_ack(&ack);
                    }
                }
            }
            prop_assert_eq!(one.cwnd(), two.cwnd(), "{}", text);
            prop_assert!(one.cwnd().0 >= 1000 && one.cwnd().0 < 1 << 40, "{}: {:?}", text, one.cwnd());
            if kind == 2 || kind == 3 {
                prop_assert!(one.cwnd() <= before, "{} grew", text);
            }
        }
    }

    /// The same for algorithms that implement the whole contract: with stamps of routers, marks, idleness and undo.
    #[test]
    fn whole_algorithms_keep_the_contract(
        which in 0usize..10_000,
        stamp in 0u64..2_000_000_000,
        events in prop::collection::vec((0u8..14, 1u64..40, 1u64..400_000_000, 1u64..200_000_000), 1..300),
    ) {
        let catalogue = catalogue();
        let wholes: Vec<_> = catalogue.specs.iter().filter(|spec| spec.kind == Kind::Whole).collect();
        let spec = wholes[which % wholes.len()];
        let (mut one, mut two) = (build(spec.name), build(spec.name));
        let feedback = (stamp > 0).then_some(Feedback { rate: Rate(stamp), accelerated: Bytes::ZERO });
        let (mut now, mut round) = (0u64, 0);
        for flow in [&mut one, &mut two] {
            let rtt = Some(Duration::from_millis(50));
            flow.on_window(&Window { change: Change::Established, rtt, feedback, ..undo() });
        }
        for (kind, n, rtt, gap) in events {
            now += gap;
            round += u64::from(gap > 100_000_000);
            let before = one.cwnd();
            for flow in [&mut one, &mut two] {
                match kind {
                    0 => flow.on_congestion(&loss(n)),
                    1 => flow.on_congestion(&timeout(n)),
                    2 => flow.on_congestion(&Congestion { repeated: true, ..timeout(n) }),
                    3 => flow.on_congestion(&Congestion { cause: Cause::Ecn, ..loss(n) }),
                    4 => flow.on_window(&Window { cwnd: before, ..undo() }),
                    5 => flow.on_window(&Window { change: Change::Idle, cwnd: before.min(MSS * n), ..undo() }),
                    _ => {
                        let mut ack = ack_at(now, n);
                        ack.rtt = (kind != 8).then_some(Duration(rtt));
                        ack.round = round;
                        ack.cwnd_limited = kind != 6;
                        ack.recovering = kind == 7;
                        flow.on_ack(&ack);
                    }
                }
            }
            prop_assert_eq!(one.cwnd(), two.cwnd(), "{}", spec.name);
            prop_assert_eq!(one.pacing_rate(), two.pacing_rate(), "{}", spec.name);
            prop_assert!(one.cwnd() >= MSS && one.cwnd().0 < 1 << 50, "{}: {:?}", spec.name, one.cwnd());
            if !spec.model_based && (kind == 6 || kind == 7) {
                prop_assert!(one.cwnd() <= before, "{} grew", spec.name);
            }
        }
    }
}

/// The public battery on every growth with its companion, every whole algorithm, and every slow start under Reno and
/// CUBIC. `cwndlab check` runs it in full size.
#[test]
fn every_algorithm_passes_the_battery() {
    let catalogue = catalogue();
    let texts = cwndlab_conformance::texts(&catalogue);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let examine = || {
        let mut broken = Vec::new();
        while let Some(text) = texts.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let algorithm = catalogue.parse(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.what));
            let make = |path: &cwndlab_control::Path| algorithm.build(path);
            let report = check_sized(text, &algorithm, make, &Size::SMALL);
            if !report.holds() {
                broken.push(report.to_string());
            }
        }
        broken
    };
    let broken: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(examine)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(broken.is_empty(), "{} algorithms fail:\n{}", broken.len(), broken.join("\n"));
}
