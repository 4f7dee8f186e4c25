use super::*;
use cwndlab_control::testing::{ack_at, loss, path, timeout, undo};
use cwndlab_control::{Change, CongestionControl, DeliveryRate, Kind, Sent, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn all_texts() -> Vec<String> {
    let catalogue = catalogue();
    let names = |kind| catalogue.specs.iter().filter(move |spec| spec.kind == kind).map(|spec| spec.name);
    names(Kind::Growth)
        .flat_map(|growth| names(Kind::SlowStart).map(move |start| format!("{growth}+{start}")))
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
        "reno(per_ack=true)+standard/sack",
        "cubic(reno_friendly=off)+hystart/sack",
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

fn number(row: &str) -> f64 {
    row.rsplit(',').next().unwrap().trim().parse().unwrap()
}

/// Every row of the file is computed by the code that uses it, or waits for what is not in this tree yet.
#[test]
fn every_known_answer_is_claimed() {
    let text = include_str!("../../../known-answers/known-answers.csv");
    let waiting = [
        "htcp",
        "hybla",
        "illinois",
        "vegas",
        "tcp-fit",
        "cubic-fit",
        "fast",
        "dctcp",
        "ledbat-pp",
        "quick-start",
        "iotcc",
        "phcc",
        "rcp",
        "codel",
        "wifi-g",
    ];
    // Asserted in the files of the algorithms (equations), of the transport (prr, rto) and of the network (loss), and in
    // the flow laws (mean windows).
    let elsewhere = [
        "scalable",
        "cubic",
        "reno",
        "cubic-ns2",
        "ctcp",
        "limited",
        "hystart",
        "ccm-ss",
        "prr",
        "rto",
        "gilbert-elliott",
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

fn wholes() -> Vec<&'static str> {
    ALL.iter().filter(|spec| spec.kind == Kind::Whole).map(|spec| spec.name).collect()
}

fn build(text: &str) -> Box<dyn CongestionControl> {
    catalogue().parse(text).unwrap().build(&path(10))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes: the window is finite and at least one segment, the same events give the same windows, and nothing
    /// grows while the window is not what limits.
    #[test]
    fn windows_are_sane(
        which in 0usize..48,
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
                        ack.rtt = Some(cwndlab_units::Duration(rtt));
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

    /// The same for algorithms that own their start, with rate samples, pacing, undo and idleness.
    #[test]
    fn whole_algorithms_are_sane(
        which in 0usize..64,
        events in prop::collection::vec((0u8..16, 1u64..40, 1u64..400_000_000, 1u64..200_000_000, 0u64..200), 1..300),
    ) {
        let names = wholes();
        let text = names[which % names.len()];
        let (mut one, mut two) = (build(text), build(text));
        let (mut now, mut round, mut delivered) = (0u64, 0, 0u64);
        for (kind, n, rtt, gap, flight) in events {
            now += gap;
            delivered += if kind > 5 { 1000 * n } else { 0 };
            round += u64::from(gap > 100_000_000);
            for flow in [&mut one, &mut two] {
                match kind {
                    0 => flow.on_congestion(&loss(n)),
                    1 => flow.on_congestion(&timeout(n)),
                    2 => flow.on_window(&Window { now: Time(now), ..undo() }),
                    3 => flow.on_window(&Window { now: Time(now), change: Change::Recovered, ..undo() }),
                    4 => flow.on_window(&Window {
                        now: Time(now), change: Change::Established, rtt: Some(Duration(rtt)), ..undo()
                    }),
                    5 => flow.on_sent(&Sent {
                        now: Time(now), size: Bytes(1000), in_flight: Bytes(1000 * n), retransmission: false, app_limited: rtt % 2 == 0,
                    }),
                    _ => {
                        let mut ack = ack_at(now, n);
                        ack.rtt = (kind != 6).then_some(Duration(rtt));
                        ack.round = round;
                        ack.delivered = Bytes(delivered);
                        ack.in_flight = Bytes(1000 * flight);
                        ack.prior_in_flight = Bytes(1000 * (flight + n));
                        ack.lost = Bytes(if kind == 7 { 1000 * n } else { 0 });
                        ack.cwnd_limited = kind != 8;
                        ack.recovering = kind == 9;
                        ack.delivery_rate = (kind != 10).then(|| DeliveryRate {
                            rate: Rate::of(Bytes(1000 * n), Duration(rtt)),
                            delivered: Bytes(1000 * n),
                            interval: Duration(rtt),
                            prior_delivered: Bytes(delivered - 1000 * n),
                            app_limited: kind == 11,
                        });
                        flow.on_ack(&ack);
                    }
                }
            }
            prop_assert_eq!(one.cwnd(), two.cwnd(), "{}", text);
            prop_assert_eq!(one.pacing_rate(), two.pacing_rate(), "{}", text);
            prop_assert!(one.cwnd().0 >= 1000 && one.cwnd().0 < 1 << 40, "{}: {:?}", text, one.cwnd());
        }
    }
}
