//! All algorithms of the catalogue in all backends, and the detection of injected faults.

use cwndlab_conformance::algorithm_texts;
use cwndlab_control::{Ack, Algorithm, Congestion, CongestionControl, Driver, Event};
use cwndlab_kernel::{Acked, Report, Rtt};
use cwndlab_replay::quic::InjectedFault;
use cwndlab_replay::verdict::{judge, simulator, Finding, KnownDifference, Replayed, Verdict};
use cwndlab_replay::{conform, kernel, quic, Backend, Case, CASES};
use cwndlab_simulator::catalogue;
use cwndlab_units::{Bytes, Duration};

fn of(text: &str) -> Algorithm {
    catalogue().parse(text).expect("a known algorithm")
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|one| one.name == name).expect("a known case")
}

/// Equal events give equal windows. Without loss, marks and pauses the events are equal as well, except for the limit
/// of a paced sender over QUIC and the kernel's summary reports of sent segments.
#[test]
fn every_algorithm_has_the_same_windows_in_every_backend() {
    let catalogue = catalogue();
    let texts = algorithm_texts(&catalogue);
    assert!(texts.len() > 60);
    for text in texts {
        let algorithm = of(&text);
        for finding in conform(&algorithm) {
            let Finding { case, backend, verdict, windows, .. } = &finding;
            let message = format!("{text}, {case}, {}: {:?}", backend.name(), finding.first());
            assert_ne!(*verdict, Verdict::Differs, "{message}");
            if *verdict == Verdict::Absent {
                assert!(algorithm.router_assistance().is_some(), "{message}");
                continue;
            }
            assert!(*windows > 100, "{message}: {windows} windows");
            let known: Vec<_> = finding.events.iter().filter_map(|one| one.known).collect();
            match backend {
                Backend::Simulator => assert_eq!(*verdict, Verdict::Same, "{message}"),
                Backend::Kernel => assert!(known.iter().all(|one| *one == KnownDifference::SentSegments), "{message}"),
                Backend::Quic if *case == "clean" => {
                    assert_eq!(*verdict, Verdict::Same, "{message}");
                    assert!(known.iter().all(|one| *one == KnownDifference::WindowLimit), "{message}");
                }
                Backend::Quic => {}
            }
        }
    }
}

fn over_quic(text: &str, case: &Case, fault: InjectedFault) -> Finding {
    let algorithm = of(text);
    let log = case.record(&algorithm);
    let replayed = quic::replay_on(&log, &algorithm, fault);
    judge(case, Backend::Quic, &log, &replayed)
}

/// An adapter that omits bytes, has wrong sending times or does not report losses is detected, with the affected field.
#[test]
fn a_fault_of_the_adapter_is_detected_with_its_field() {
    assert_eq!(over_quic("cubic", case("clean"), InjectedFault::None).verdict, Verdict::Same);
    for (fault, name, field) in [
        (InjectedFault::HalfAcks, "clean", "acked"),
        (InjectedFault::EarlySendTimes, "clean", "rtt"),
        (InjectedFault::NoLosses, "loss", "in_flight"),
    ] {
        let finding = over_quic("cubic", case(name), fault);
        let first = finding.first().expect("a difference");
        assert_eq!((finding.verdict, first.field), (Verdict::Differs, field), "{fault:?}: {first}");
    }
    // By hand: the handshake, ten segments, then one ACK per segment, each of which releases two: the tenth ACK is
    // event 12 + 9 · 3.
    let finding = over_quic("cubic", case("clean"), InjectedFault::HalfAcks);
    let text = finding.first().expect("a difference").to_string();
    assert_eq!(text, "event 39 at 0.092125 s, an ACK of 1448 B: acked is 1448 in the record and 724 in the backend");
}

fn in_the_kernel(text: &str, spoil: impl Fn(Report) -> Report) -> Finding {
    let algorithm = of(text);
    let case = case("clean");
    let log = case.record(&algorithm);
    let replayed: Replayed = kernel::replay_on(&log, Driver::of(&algorithm, &log.path), spoil);
    judge(case, Backend::Kernel, &log, &replayed)
}

#[test]
fn a_fault_in_reports_of_the_kernel_is_detected_with_its_field() {
    let field = |spoil: fn(Report) -> Report| {
        let finding = in_the_kernel("cubic", spoil);
        assert_eq!(finding.verdict, Verdict::Differs);
        finding.first().expect("a difference").field
    };
    let twice = |report: Report| {
        let acked = Acked { segments: report.acked.segments * 2, ..report.acked };
        Report { acked, ..report }
    };
    assert_eq!(field(twice), "acked");
    let longer = |report: Report| {
        let rtt = Rtt { min: report.rtt.min + Duration::from_nanos(1), ..report.rtt };
        Report { rtt, ..report }
    };
    assert_eq!(field(longer), "min_rtt");
    assert_eq!(field(|report| Report { cwnd_limited: false, ..report }), "cwnd_limited");
    assert_eq!(in_the_kernel("cubic", |report| report).verdict, Verdict::Same);
}

/// An algorithm with hidden state: its window depends on a number that is not among the events.
#[derive(Clone, Debug)]
struct HiddenState(u64);

impl CongestionControl for HiddenState {
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
fn an_algorithm_with_hidden_state_is_detected() {
    let case = case("clean");
    let log = case.record(&of("reno"));
    let finding = simulator(case, &log, Driver::new(Box::new(HiddenState(log.path.initial_cwnd.0 + 1)), false));
    let first = finding.first().expect("a difference").to_string();
    assert_eq!(
        first,
        "event 1 at 0.040083 s, the window (established): the window is 14480 B in the record and 14481 B in the backend"
    );
}
