//! Runs two instances of an algorithm on the same events and checks all rules after each event.

use std::sync::atomic::{AtomicBool, Ordering};

use cwndlab_control::{self as control, Congestion, CongestionControl, Driver, Path, State};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::broken_rule::{catch_panic, BrokenRule};
use crate::describe;
use crate::report::{Finding, Report, Violation};
use crate::rules::{Step, Verdict, COMES_BACK, COST, NO_PANIC, RULES};
use crate::traits::Traits;

/// The case has ended: by a panic, by the algorithm, or by a cancellation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaseEnded;

/// `Ok` while the case continues.
pub(crate) type CaseResult = Result<(), CaseEnded>;

/// Number of events between two checks for a cancellation.
const CANCEL_INTERVAL: u64 = 4096;

/// The constructor of an algorithm.
pub(crate) type Maker<'a> = &'a dyn Fn(&Path) -> Box<dyn CongestionControl>;

/// The findings so far.
pub(crate) struct Findings<'a> {
    rules: Vec<Finding>,
    model_based: bool,
    events: u64,
    stop: &'a AtomicBool,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(traits: &Traits, stop: &'a AtomicBool) -> Self {
        let finding = |rule: &crate::rules::Rule| Finding {
            rule: rule.name,
            checks: 0,
            violation: None,
            note: if traits.model_based && rule.exempts_model_based {
                "exempt, since the algorithm is model-based".to_owned()
            } else {
                String::new()
            },
        };
        Self { rules: RULES.iter().map(finding).collect(), model_based: traits.model_based, events: 0, stop }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Records a violation that ended a case.
    fn record_violation(&mut self, rule: &'static str, violation: Violation) {
        let at = RULES.iter().position(|one| one.name == rule).unwrap_or(NO_PANIC);
        self.rules[at].checks += 1;
        self.rules[at].violation.get_or_insert(violation);
    }

    /// Whether the algorithm is exempt from the rule.
    fn is_exempt(&self, at: usize) -> bool {
        self.model_based && RULES[at].exempts_model_based
    }

    pub(crate) fn report(mut self, algorithm: &str, ns_per_ack: Option<f64>) -> Report {
        self.rules[COST].note =
            ns_per_ack.map_or("not measured because of a panic".to_owned(), |ns| format!("{ns:.1} ns per ACK"));
        self.rules[NO_PANIC].checks = self.events;
        Report { algorithm: algorithm.to_owned(), findings: self.rules, events: self.events, ns_per_ack }
    }
}

/// The outputs of both instances after an event.
struct Outputs {
    window: Bytes,
    pacing: Option<Rate>,
    second: (Bytes, Option<Rate>),
    /// The state, at events where it is checked.
    state: Option<State>,
    nan: Option<&'static str>,
}

/// Window and pacing rate of an instance.
fn outputs(driver: &Driver) -> (Bytes, Option<Rate>) {
    (driver.control.cwnd(), driver.control.pacing_rate())
}

/// The state of one case of one algorithm.
pub(crate) struct Harness<'a, 'b> {
    case: String,
    /// Description of the creation of the flow.
    created: String,
    first: Driver,
    second: Driver,
    findings: &'a mut Findings<'b>,
    mss: Bytes,
    event: u64,
    window: Bytes,
    pacing: Option<Rate>,
    before_reduction: Bytes,
    peak: Bytes,
    /// Number and contents of the last congestion event.
    last_congestion: Option<(u64, Congestion)>,
    /// The next congestion event indicates the overflow of a standing queue.
    pub(crate) overflow: bool,
    /// Number of events between two checks of `state`.
    pub(crate) state_interval: u64,
    /// The reports so far except those of sent segments, if recording is enabled.
    pub(crate) event_log: Option<Vec<control::Report>>,
}

impl<'a, 'b> Harness<'a, 'b> {
    /// A new flow on `path`; `None` after a cancellation or a panic in the constructor.
    pub(crate) fn new(case: &str, make: Maker<'_>, path: &Path, findings: &'a mut Findings<'b>) -> Option<Self> {
        if findings.is_cancelled() {
            return None;
        }
        let model_based = findings.model_based;
        let created = describe::creation(path);
        let instance = || Driver::new(make(path), model_based);
        let (first, second) = match catch_panic(|| (instance(), instance())) {
            Ok(instances) => instances,
            Err(BrokenRule { rule, why }) => {
                let violation = Violation {
                    case: case.to_owned(),
                    event: 0,
                    now: Time::ZERO,
                    what: created,
                    before: path.initial_cwnd,
                    after: path.initial_cwnd,
                    mss: path.mss,
                    why,
                    last_congestion: String::new(),
                };
                findings.record_violation(rule, violation);
                return None;
            }
        };
        let mut harness = Self {
            case: case.to_owned(),
            created,
            first,
            second,
            findings,
            mss: path.mss,
            event: 0,
            window: path.initial_cwnd,
            pacing: None,
            before_reduction: Bytes::ZERO,
            peak: path.initial_cwnd,
            last_congestion: None,
            overflow: false,
            state_interval: 1,
            event_log: None,
        };
        harness.step(None).ok()?;
        Some(harness)
    }

    /// The window after the last event.
    pub(crate) fn window(&self) -> Bytes {
        self.window
    }

    /// The pacing rate after the last event.
    pub(crate) fn pacing(&self) -> Option<Rate> {
        self.pacing
    }

    pub(crate) fn mss(&self) -> Bytes {
        self.mss
    }

    /// Delivers a report.
    pub(crate) fn report(&mut self, report: impl Into<control::Report>) -> CaseResult {
        let report = report.into();
        self.step(Some(&report))?;
        match report {
            control::Report::Congestion(event) if !event.repeated => self.last_congestion = Some((self.event, event)),
            _ => {}
        }
        Ok(())
    }

    /// The requirement at the end of a case with outages: the window has grown above one segment.
    pub(crate) fn expect_recovered(&mut self, now: Time, after: &str) {
        let holds = self.window > self.mss;
        let finding = &mut self.findings.rules[COMES_BACK];
        finding.checks += 1;
        if holds || finding.violation.is_some() {
            return;
        }
        let violation = self.violation(
            now,
            after.to_owned(),
            self.window,
            self.window,
            "a hundred round trips after the outage the window is not above one segment".to_owned(),
        );
        self.findings.rules[COMES_BACK].violation = Some(violation);
    }

    /// Delivers a report to both instances; returns their outputs, with the state if `with_state`.
    fn outputs(&mut self, report: Option<&control::Report>, with_state: bool) -> Result<Outputs, BrokenRule> {
        let first = &mut self.first;
        let second = &mut self.second;
        catch_panic(move || {
            for driver in [&mut *first, &mut *second] {
                let _ = report.and_then(|report| driver.deliver(report));
            }
            let mut nan = None;
            let state = with_state.then(|| {
                first.control.state(Some(&mut |name, value| {
                    if value.is_nan() {
                        nan = nan.or(Some(name));
                    }
                }))
            });
            let (window, pacing) = outputs(first);
            Outputs { window, pacing, second: outputs(second), state, nan }
        })
    }

    /// Delivers a report, or none at the creation of the flow, and checks the outputs of both instances.
    fn step(&mut self, report: Option<&control::Report>) -> CaseResult {
        self.count(report);
        let with_state = self.event.is_multiple_of(self.state_interval);
        let outputs = match self.outputs(report, with_state) {
            Ok(outputs) => outputs,
            Err(BrokenRule { rule, why }) => {
                let violation = self.violation_at(report, self.window, self.window, why);
                self.findings.record_violation(rule, violation);
                return Err(CaseEnded);
            }
        };
        let step = Step {
            report,
            mss: self.mss,
            model_based: self.findings.model_based,
            before: self.window,
            after: outputs.window,
            before_reduction: self.before_reduction,
            peak: self.peak,
            pacing: outputs.pacing,
            second: outputs.second,
            state: outputs.state,
            nan: outputs.nan,
            overflow: self.overflow,
        };
        self.check(&step);
        self.advance(&step);
        if self.event.is_multiple_of(CANCEL_INTERVAL) && self.findings.is_cancelled() {
            return Err(CaseEnded);
        }
        Ok(())
    }

    /// Counts an event, and records it if recording is enabled. The creation of a flow is not counted.
    fn count(&mut self, report: Option<&control::Report>) {
        self.event += u64::from(report.is_some());
        self.findings.events += 1;
        if let Some(event_log) = &mut self.event_log {
            event_log.extend(report.filter(|report| !matches!(report, control::Report::Sent(_))).cloned());
        }
    }

    /// Checks a step against each rule without a violation so far.
    fn check(&mut self, step: &Step<'_>) {
        for (at, rule) in RULES.iter().enumerate() {
            if self.findings.rules[at].violation.is_some() || self.findings.is_exempt(at) {
                continue;
            }
            match (rule.check)(step) {
                Verdict::NotApplicable => {}
                Verdict::Holds => self.findings.rules[at].checks += 1,
                Verdict::Fails(why) => {
                    self.findings.rules[at].checks += 1;
                    let violation = self.violation_at(step.report, step.before, step.after, why);
                    self.findings.rules[at].violation = Some(violation);
                }
            }
        }
    }

    /// Updates the state for the next step.
    fn advance(&mut self, step: &Step<'_>) {
        if matches!(step.report, Some(control::Report::Congestion(event)) if !event.repeated) {
            self.before_reduction = step.before;
        }
        self.window = step.after;
        self.pacing = step.pacing;
        self.peak = self.peak.max(step.after);
    }

    fn violation_at(&self, report: Option<&control::Report>, before: Bytes, after: Bytes, why: String) -> Violation {
        let what = report.map_or_else(|| self.created.clone(), |report| describe::report(report, self.mss));
        self.violation(report.map_or(Time::ZERO, control::Report::now), what, before, after, why)
    }

    fn violation(&self, now: Time, what: String, before: Bytes, after: Bytes, why: String) -> Violation {
        let last_congestion = self.last_congestion.as_ref().map_or(String::new(), |(number, event)| {
            let ago = Duration::from_nanos(now.as_nanos().saturating_sub(event.now.as_nanos()));
            format!("event {number}, {:.3} ms before, {}", ago.as_millis(), describe::congestion(event))
        });
        let case = self.case.clone();
        let event = self.event;
        let mss = self.mss;
        Violation { case, event, now, what, before, after, mss, why, last_congestion }
    }
}
