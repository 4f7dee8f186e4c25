//! Tests of the conformance battery: faulty algorithms break its rules, and correct ones do not.

use super::*;
use cwndlab_control::{Ack, Congestion, Event, Window};
use cwndlab_units::Bytes;

use crate::faulty::Fault;
use crate::rules::RULES;

fn examine(fault: Fault) -> Report {
    check_sized(&format!("{fault:?}"), Traits::default(), |path| faulty::with_fault(fault, path), &BatterySize::SMALL)
}

/// RFC 5681, section 3.1, as implemented by `faulty::without_fault`, violates no rule.
#[test]
fn reno_without_a_fault_satisfies_all_rules() {
    let report = check_sized("reno", Traits::default(), faulty::without_fault, &BatterySize::SMALL);
    assert!(report.holds(), "{report}");
    for finding in &report.findings {
        assert!(finding.checks > 0 || ["pacing", "cost"].contains(&finding.rule), "{} was never checked", finding.rule);
    }
}

/// Each fault declares the rules that it violates.
#[test]
fn a_fault_violates_exactly_its_declared_rules() {
    let mut undetected: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    for &fault in Fault::ALL {
        let report = examine(fault);
        assert_eq!(report.broken(), fault.breaks(), "{report}");
        undetected.retain(|rule| !fault.breaks().contains(rule));
    }
    assert_eq!(undetected, ["cost"], "rules without a fault that violates them");
}

#[test]
fn two_reports_are_equal_except_for_the_cost() {
    let mut reports = [(); 2].map(|()| examine(Fault::GrowsInRecovery));
    for report in &mut reports {
        report.ns_per_ack = None;
        report.findings[rules::COST].note.clear();
    }
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn a_violation_has_case_event_and_reason() {
    let report = examine(Fault::GrowsUnused);
    let row = report.rows().into_iter().find(|row| !row.holds).unwrap();
    assert_eq!((row.algorithm.as_str(), row.rule), ("GrowsUnused", "unused-window"));
    assert_eq!(
        row.detail,
        "case 'app-limited', event 8 at 0.100584 s: an ACK of 1460 B (RTT 50.584 ms, min 50.000 ms, 5 segments in \
         flight, round 1, app-limited, window not used): the window goes from 10 to 11 segments of 1460 B: on_ack grows \
         the window although `cwnd_limited` is false: the window was not used"
    );
}

#[test]
fn a_panic_is_reported_with_its_text_and_location() {
    let report = examine(Fault::UnwrapsTheRtt);
    let row = report.rows().into_iter().find(|row| !row.holds).unwrap();
    assert!(row.detail.contains("panics: every ACK has an RTT (crates/conformance/src/faulty.rs:"), "{}", row.detail);
}

/// An adapter to another language whose algorithm returns an invalid window after the fifth ACK.
#[derive(Clone, Debug)]
struct Adapter(Box<dyn CongestionControl>, u32, &'static str);

impl CongestionControl for Adapter {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.1 += 1;
        if self.1 == 5 {
            BrokenRule { rule: self.2, why: "cwnd() is nan".to_owned() }.unwind();
        }
        self.0.on_ack(ack)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.0.on_congestion(event);
    }

    fn on_window(&mut self, window: &Window) {
        self.0.on_window(window);
    }

    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }
}

#[test]
fn an_algorithm_may_report_the_violated_rule() {
    for (named, reported) in [("one-segment", "one-segment"), ("no-panic", "no-panic"), ("no rule", "no-panic")] {
        let make =
            |path: &Path| -> Box<dyn CongestionControl> { Box::new(Adapter(faulty::without_fault(path), 0, named)) };
        let report = check_sized("adapter", Traits::default(), make, &BatterySize::SMALL);
        // No case is long enough to check the rule `comes-back`.
        assert_eq!(report.broken(), [reported], "{report}");
        assert_eq!(report.ns_per_ack, None);
        let row = report.rows().into_iter().find(|row| !row.holds).unwrap();
        assert!(row.detail.starts_with("case 'bottleneck', event "), "{}", row.detail);
        assert!(row.detail.ends_with(" segments of 1460 B: cwnd() is nan"), "{}", row.detail);
    }
}

#[test]
fn rows_are_algorithm_rule_holds_detail() {
    let row = Row { algorithm: "a".to_owned(), rule: "undo", holds: true, detail: "3 checks".to_owned() };
    let text = serde_json::to_string(&row).unwrap();
    assert_eq!(text, r#"{"algorithm":"a","rule":"undo","holds":true,"detail":"3 checks"}"#);
}

#[test]
fn model_based_algorithms_are_exempt_and_the_report_states_it() {
    let traits = Traits { model_based: true, ..Traits::default() };
    let report = check_sized("model", traits, |path| faulty::with_fault(Fault::GrowsUnused, path), &BatterySize::SMALL);
    assert!(report.holds(), "{report}");
    let exempt: Vec<_> =
        report.findings.iter().filter(|finding| finding.note.starts_with("exempt")).map(|one| one.rule).collect();
    assert_eq!(exempt, ["unused-window", "recovery", "backs-off", "restart"]);
}

#[test]
fn the_battery_is_cancelled() {
    assert_eq!(
        check_until("reno", Traits::default(), faulty::without_fault, &BatterySize::FULL, &AtomicBool::new(true)),
        None
    );
}

#[test]
fn the_rule_constants_are_the_indices_of_their_rules() {
    let names = [rules::COMES_BACK, rules::NO_PANIC, rules::COST].map(|at| RULES[at].name);
    assert_eq!(names, ["comes-back", "no-panic", "cost"]);
}
