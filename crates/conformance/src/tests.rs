use super::*;
use cwndlab_control::{Ack, Congestion, Event, Window};
use cwndlab_units::Bytes;

use crate::faulty::Fault;
use crate::rules::RULES;

fn examine(fault: Fault) -> Report {
    check_sized(&format!("{fault:?}"), Traits::default(), |path| faulty::with_fault(fault, path), &Size::SMALL)
}

/// RFC 5681, section 3.1, as `faulty::without_fault` has it: nothing of the battery forbids it.
#[test]
fn a_right_reno_passes_everything() {
    let report = check_sized("reno", Traits::default(), faulty::without_fault, &Size::SMALL);
    assert!(report.holds(), "{report}");
    for finding in &report.findings {
        assert!(finding.judged > 0 || ["pacing", "cost"].contains(&finding.rule), "{} was never judged", finding.rule);
    }
}

/// Each fault was put in by hand, and so were the rules that it is meant to break.
#[test]
fn a_fault_breaks_the_rules_that_are_meant_and_no_other() {
    let mut not_found: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    for &fault in Fault::ALL {
        let report = examine(fault);
        assert_eq!(report.broken(), fault.breaks(), "{report}");
        not_found.retain(|rule| !fault.breaks().contains(rule));
    }
    assert_eq!(not_found, ["cost"], "no fault shows that these rules find anything");
}

#[test]
fn two_examinations_say_the_same_but_for_the_cost() {
    let mut reports = [(); 2].map(|()| examine(Fault::GrowsInRecovery));
    for report in &mut reports {
        report.ns_per_ack = None;
        report.findings[rules::COST].note.clear();
    }
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn a_violation_says_where_what_and_why() {
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
fn a_panic_is_told_with_its_text_and_place() {
    let report = examine(Fault::UnwrapsTheRtt);
    let row = report.rows().into_iter().find(|row| !row.holds).unwrap();
    assert!(row.detail.contains("panics: every ACK has an RTT (crates/conformance/src/faulty.rs:"), "{}", row.detail);
}

/// An adapter to another language: its algorithm answers to the fifth ACK what is no window.
#[derive(Clone, Debug)]
struct Adapter(Box<dyn CongestionControl>, u32, &'static str);

impl CongestionControl for Adapter {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.1 += 1;
        if self.1 == 5 {
            Broken { rule: self.2, why: "cwnd() is nan".to_owned() }.unwind();
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
fn what_ends_its_course_names_the_rule() {
    for (named, meant) in [("one-segment", "one-segment"), ("no-panic", "no-panic"), ("no rule", "no-panic")] {
        let make =
            |path: &Path| -> Box<dyn CongestionControl> { Box::new(Adapter(faulty::without_fault(path), 0, named)) };
        let report = check_sized("adapter", Traits::default(), make, &Size::SMALL);
        // No case lasts long enough for a window to come back or not.
        assert_eq!(report.broken(), [meant], "{report}");
        assert_eq!(report.ns_per_ack, None);
        let row = report.rows().into_iter().find(|row| !row.holds).unwrap();
        assert!(row.detail.starts_with("case 'bottleneck', event "), "{}", row.detail);
        assert!(row.detail.ends_with(" segments of 1460 B: cwnd() is nan"), "{}", row.detail);
    }
}

#[test]
fn rows_are_algorithm_rule_holds_detail() {
    let row = Row { algorithm: "a".to_owned(), rule: "undo", holds: true, detail: "3 answers".to_owned() };
    let text = serde_json::to_string(&row).unwrap();
    assert_eq!(text, r#"{"algorithm":"a","rule":"undo","holds":true,"detail":"3 answers"}"#);
}

#[test]
fn what_is_model_based_is_excepted_and_the_report_says_so() {
    let traits = Traits { model_based: true, ..Traits::default() };
    let report = check_sized("model", traits, |path| faulty::with_fault(Fault::GrowsUnused, path), &Size::SMALL);
    assert!(report.holds(), "{report}");
    let excepted: Vec<_> =
        report.findings.iter().filter(|finding| finding.note.starts_with("excepted")).map(|one| one.rule).collect();
    assert_eq!(excepted, ["unused-window", "recovery", "backs-off", "restart"]);
}

#[test]
fn a_wish_to_stop_is_obeyed() {
    assert_eq!(
        check_until("reno", Traits::default(), faulty::without_fault, &Size::FULL, &AtomicBool::new(true)),
        None
    );
}

#[test]
fn the_constants_name_the_rules_they_mean() {
    let names = [rules::COMES_BACK, rules::NO_PANIC, rules::COST].map(|at| RULES[at].name);
    assert_eq!(names, ["comes-back", "no-panic", "cost"]);
}
