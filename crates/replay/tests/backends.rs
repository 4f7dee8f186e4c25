//! Every algorithm of the library, in every backend; and what is wrong on purpose is found.

use std::sync::Arc;

use cwndlab_conformance::texts;
use cwndlab_control::{Ack, Algorithm, Congestion, CongestionControl, Event};
use cwndlab_kernel::{Acked, Report, Rtt};
use cwndlab_replay::quic::Spoil;
use cwndlab_replay::verdict::{judge, simulator, Finding, KnownDifference, Replayed, Verdict};
use cwndlab_replay::{conform, kernel, quic, Backend, Course, COURSES};
use cwndlab_simulator::catalogue;
use cwndlab_units::{Bytes, Duration};

fn of(text: &str) -> Algorithm {
    catalogue().parse(text).expect("it is in the catalogue")
}

fn course(name: &str) -> &'static Course {
    COURSES.iter().find(|one| one.name == name).expect("it is one of them")
}

/// The same events, the same windows. Where nothing is lost, marked or paused, nothing is told differently either: but that
/// a sender whose pacer holds it back counts as limited, and that the kernel sums up what leaves.
#[test]
fn every_algorithm_answers_alike_in_every_place() {
    let catalogue = catalogue();
    let texts = texts(&catalogue);
    assert!(texts.len() > 60);
    for text in texts {
        let algorithm = of(&text);
        for found in conform(&algorithm) {
            let Finding { course, backend, verdict, windows, .. } = &found;
            let told = format!("{text} on {course} in {}: {:?}", backend.name(), found.first());
            assert_ne!(*verdict, Verdict::Differs, "{told}");
            if *verdict == Verdict::Absent {
                assert!(algorithm.router_assistance().is_some(), "{told}");
                continue;
            }
            assert!(*windows > 100, "{told}: {windows} windows");
            let natures: Vec<_> = found.told.iter().filter_map(|one| one.known).collect();
            match backend {
                Backend::Simulator => assert_eq!(*verdict, Verdict::Same, "{told}"),
                Backend::Kernel => assert!(natures.iter().all(|one| *one == KnownDifference::Sends), "{told}"),
                Backend::Quic if *course == "clean" => {
                    assert_eq!(*verdict, Verdict::Same, "{told}");
                    assert!(natures.iter().all(|one| *one == KnownDifference::Limit), "{told}");
                }
                Backend::Quic => {}
            }
        }
    }
}

fn over_quic(text: &str, course: &Course, spoil: Spoil) -> Finding {
    let algorithm = of(text);
    let log = course.record(&algorithm);
    let (one, path) = (algorithm.clone(), log.path.clone());
    let replayed = quic::replay_on(&log, algorithm.growth.spec.model_based, Arc::new(move || one.build(&path)), spoil);
    judge(course, Backend::Quic, &log, &replayed)
}

/// An adapter that loses bytes, dates packets wrongly or keeps losses to itself is found, and the field is named.
#[test]
fn a_broken_adapter_is_found_and_what_it_breaks_is_named() {
    assert_eq!(over_quic("cubic", course("clean"), Spoil::Nothing).verdict, Verdict::Same);
    for (spoil, on, field) in
        [(Spoil::HalfAcks, "clean", "acked"), (Spoil::Sooner, "clean", "rtt"), (Spoil::NoLosses, "loss", "in_flight")]
    {
        let found = over_quic("cubic", course(on), spoil);
        let first = found.first().expect("something differs");
        assert_eq!((found.verdict, first.field), (Verdict::Differs, field), "{spoil:?}: {first}");
    }
    // By hand: the handshake, ten segments, then an ACK for each, which releases two: that of the tenth is event 12 + 9 · 3.
    let found = over_quic("cubic", course("clean"), Spoil::HalfAcks);
    let text = found.first().expect("something differs").to_string();
    assert_eq!(text, "event 39 at 0.092125 s, an ACK of 1448 B: acked is 1448 in the record and 724 here");
}

fn in_the_kernel(text: &str, spoil: impl Fn(Report) -> Report) -> Finding {
    let algorithm = of(text);
    let course = course("clean");
    let log = course.record(&algorithm);
    let replayed: Replayed =
        kernel::replay_on(&log, algorithm.growth.spec.model_based, algorithm.build(&log.path), spoil);
    judge(course, Backend::Kernel, &log, &replayed)
}

#[test]
fn a_broken_report_of_the_kernel_is_found_and_what_it_breaks_is_named() {
    let field = |spoil: fn(Report) -> Report| {
        let found = in_the_kernel("cubic", spoil);
        assert_eq!(found.verdict, Verdict::Differs);
        found.first().expect("something differs").field
    };
    let twice = |report: Report| {
        let acked = Acked { segments: report.acked.segments * 2, ..report.acked };
        Report { acked, ..report }
    };
    assert_eq!(field(twice), "acked");
    let longer = |report: Report| {
        let rtt = Rtt { min: report.rtt.min + Duration(1), ..report.rtt };
        Report { rtt, ..report }
    };
    assert_eq!(field(longer), "min_rtt");
    assert_eq!(field(|report| Report { cwnd_limited: false, ..report }), "cwnd_limited");
    assert_eq!(in_the_kernel("cubic", |report| report).verdict, Verdict::Same);
}

/// Its window depends on what is not among the events: how often it was made.
#[derive(Clone, Debug)]
struct Moody(u64);

impl CongestionControl for Moody {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.0 += ack.acked.0;
        None
    }

    fn on_congestion(&mut self, _: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        Bytes(self.0)
    }
}

#[test]
fn an_algorithm_that_answers_by_something_else_than_its_events_is_found() {
    let course = course("clean");
    let log = course.record(&of("reno"));
    let found = simulator(course, &log, Box::new(Moody(log.path.initial_cwnd.0 + 1)));
    let first = found.first().expect("something differs").to_string();
    assert_eq!(
        first,
        "event 1 at 0.040083 s, the window (established): the window is 14480 B in the record and 14481 B here"
    );
}
