//! Two instances of an algorithm, told the same, and every rule held against every answer.

use std::sync::atomic::{AtomicBool, Ordering};

use cwndlab_control::{Ack, BeforeReduction, Change, Congestion, CongestionControl, Path, Sent, State, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::describe;
use crate::event::Event;
use crate::event_log::RecordedEvent;
use crate::panics::{guarded, Broken, Quiet};
use crate::report::{Finding, Report, Violation};
use crate::rules::{Step, Verdict, COMES_BACK, COST, NO_PANIC, RULES};
use crate::traits::Traits;

/// The case ends: the algorithm panicked or ended it, or somebody wishes to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended;

/// Whether the case goes on.
pub(crate) type Going = Result<(), Ended>;

/// Events between two looks at the wish to stop.
const STOP_EVERY: u64 = 4096;

/// How to make an algorithm.
pub(crate) type Maker<'a> = &'a dyn Fn(&Path) -> Box<dyn CongestionControl>;

/// What has been found so far.
pub(crate) struct Tally<'a> {
    findings: Vec<Finding>,
    model_based: bool,
    events: u64,
    stop: &'a AtomicBool,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(traits: &Traits, stop: &'a AtomicBool) -> Self {
        let finding = |rule: &crate::rules::Rule| Finding {
            rule: rule.name,
            judged: 0,
            violation: None,
            note: if traits.model_based && rule.excepts_models {
                "excepted, since it is model-based".to_owned()
            } else {
                String::new()
            },
        };
        Self { findings: RULES.iter().map(finding).collect(), model_based: traits.model_based, events: 0, stop }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The algorithm ended the case itself.
    fn breaks(&mut self, rule: &'static str, violation: Violation) {
        let at = RULES.iter().position(|one| one.name == rule).unwrap_or(NO_PANIC);
        self.findings[at].judged += 1;
        self.findings[at].violation.get_or_insert(violation);
    }

    fn excepted(&self, at: usize) -> bool {
        self.model_based && RULES[at].excepts_models
    }

    pub(crate) fn report(mut self, algorithm: &str, ns_per_ack: Option<f64>) -> Report {
        self.findings[COST].note =
            ns_per_ack.map_or("not measured: it panics".to_owned(), |ns| format!("{ns:.1} ns per ACK"));
        self.findings[NO_PANIC].judged = self.events;
        Report { algorithm: algorithm.to_owned(), findings: self.findings, events: self.events, ns_per_ack }
    }
}

/// What was answered to an event.
struct Answers {
    window: Bytes,
    pacing: Option<Rate>,
    twin: (Bytes, Option<Rate>),
    /// Where it was asked for.
    state: Option<State>,
    nan: Option<&'static str>,
}

/// An algorithm and what its transport keeps for an undo.
struct Instance {
    control: Box<dyn CongestionControl>,
    before: BeforeReduction,
}

impl Instance {
    fn new(control: Box<dyn CongestionControl>) -> Self {
        Self { control, before: BeforeReduction::default() }
    }

    fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Made(_) => {}
            Event::Ack(ack) => drop(self.control.on_ack(ack)),
            Event::Congestion(event) => {
                self.before.save(&*self.control, event);
                self.control.on_congestion(event);
            }
            Event::Window(window, _) => {
                if window.change == Change::Undo {
                    self.before.restore(&mut self.control);
                }
                self.control.on_window(window);
            }
            Event::Sent(sent) => self.control.on_sent(sent),
        }
    }

    fn answer(&self) -> (Bytes, Option<Rate>) {
        (self.control.cwnd(), self.control.pacing_rate())
    }
}

/// One case of one algorithm.
pub(crate) struct Harness<'a, 'b> {
    case: String,
    one: Instance,
    two: Instance,
    tally: &'a mut Tally<'b>,
    mss: Bytes,
    event: u64,
    window: Bytes,
    pacing: Option<Rate>,
    stood: Bytes,
    peak: Bytes,
    since: Option<(u64, Congestion)>,
    /// The congestion event to come means that a standing queue ran over.
    pub(crate) overflow: bool,
    /// `state` is looked at once in so many events.
    pub(crate) look_every: u64,
    /// Where events are kept, if they are.
    pub(crate) event_log: Option<Vec<RecordedEvent>>,
    _quiet: Quiet,
}

impl<'a, 'b> Harness<'a, 'b> {
    /// A new flow on `path`, or nothing where even that panics.
    pub(crate) fn new(case: &str, make: Maker<'_>, path: &Path, tally: &'a mut Tally<'b>) -> Option<Self> {
        let quiet = Quiet::new();
        if tally.stopped() {
            return None;
        }
        let (one, two) = match guarded(|| (Instance::new(make(path)), Instance::new(make(path)))) {
            Ok(made) => made,
            Err(Broken { rule, why }) => {
                let (before, after) = (path.initial_cwnd, path.initial_cwnd);
                let violation = Violation {
                    case: case.to_owned(),
                    event: 0,
                    now: Time::ZERO,
                    what: describe::event(&Event::Made(path)),
                    before,
                    after,
                    mss: path.mss,
                    why,
                    since: String::new(),
                };
                tally.breaks(rule, violation);
                return None;
            }
        };
        let mut harness = Self {
            case: case.to_owned(),
            one,
            two,
            tally,
            mss: path.mss,
            event: 0,
            window: path.initial_cwnd,
            pacing: None,
            stood: Bytes::ZERO,
            peak: path.initial_cwnd,
            since: None,
            overflow: false,
            look_every: 1,
            event_log: None,
            _quiet: quiet,
        };
        harness.step(&Event::Made(path)).ok()?;
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

    pub(crate) fn ack(&mut self, ack: &Ack) -> Going {
        self.step(&Event::Ack(ack))
    }

    pub(crate) fn congestion(&mut self, event: &Congestion) -> Going {
        self.step(&Event::Congestion(event))?;
        if !event.repeated {
            self.since = Some((self.event, event.clone()));
        }
        Ok(())
    }

    pub(crate) fn on_window(&mut self, window: &Window) -> Going {
        self.step(&Event::Window(window, self.mss))
    }

    pub(crate) fn sent(&mut self, sent: &Sent) -> Going {
        self.step(&Event::Sent(sent))
    }

    /// What a case demands at its end: after what it did the window has come back.
    pub(crate) fn expect_back(&mut self, now: Time, after: &str) {
        let holds = self.window > self.mss;
        let finding = &mut self.tally.findings[COMES_BACK];
        finding.judged += 1;
        if holds || finding.violation.is_some() {
            return;
        }
        let violation = self.violation(
            now,
            after.to_owned(),
            self.window,
            self.window,
            "packets have been arriving again for a hundred round trips, and the window is not above one segment"
                .to_owned(),
        );
        self.tally.findings[COMES_BACK].violation = Some(violation);
    }

    fn answers(&mut self, event: &Event<'_>, look: bool) -> Result<Answers, Broken> {
        let (one, two) = (&mut self.one, &mut self.two);
        guarded(move || {
            one.report(event);
            two.report(event);
            let mut nan = None;
            let state = look.then(|| {
                one.control.state(Some(&mut |name, value| {
                    if value.is_nan() {
                        nan = nan.or(Some(name));
                    }
                }))
            });
            let (window, pacing) = one.answer();
            Answers { window, pacing, twin: two.answer(), state, nan }
        })
    }

    /// Reports an event to both instances and judges what they answer.
    fn step(&mut self, event: &Event<'_>) -> Going {
        self.count(event);
        let look = self.event.is_multiple_of(self.look_every);
        let answers = match self.answers(event, look) {
            Ok(answers) => answers,
            Err(Broken { rule, why }) => {
                let violation = self.violation(event.now(), describe::event(event), self.window, self.window, why);
                self.tally.breaks(rule, violation);
                return Err(Ended);
            }
        };
        let step = Step {
            event: *event,
            mss: self.mss,
            model_based: self.tally.model_based,
            before: self.window,
            after: answers.window,
            stood: self.stood,
            peak: self.peak,
            pacing: answers.pacing,
            twin: answers.twin,
            state: answers.state,
            nan: answers.nan,
            overflow: self.overflow,
        };
        self.judge(&step);
        self.advance(&step);
        if self.event.is_multiple_of(STOP_EVERY) && self.tally.stopped() {
            return Err(Ended);
        }
        Ok(())
    }

    /// Numbers an event, and keeps it where events are kept. The making of a flow has no number.
    fn count(&mut self, event: &Event<'_>) {
        if !matches!(event, Event::Made(_)) {
            self.event += 1;
        }
        self.tally.events += 1;
        if let Some(event_log) = &mut self.event_log {
            event_log.extend(RecordedEvent::of(event));
        }
    }

    /// Holds a step against each rule that is not broken yet.
    fn judge(&mut self, step: &Step<'_>) {
        for (at, rule) in RULES.iter().enumerate() {
            if self.tally.findings[at].violation.is_some() || self.tally.excepted(at) {
                continue;
            }
            match (rule.judge)(step) {
                Verdict::Silent => {}
                Verdict::Holds => self.tally.findings[at].judged += 1,
                Verdict::Fails(why) => {
                    self.tally.findings[at].judged += 1;
                    let (now, what) = (step.event.now(), describe::event(&step.event));
                    let violation = self.violation(now, what, step.before, step.after, why);
                    self.tally.findings[at].violation = Some(violation);
                }
            }
        }
    }

    /// Keeps what the next step is compared with.
    fn advance(&mut self, step: &Step<'_>) {
        if matches!(step.event, Event::Congestion(event) if !event.repeated) {
            self.stood = step.before;
        }
        self.window = step.after;
        self.pacing = step.pacing;
        self.peak = self.peak.max(step.after);
    }

    fn violation(&self, now: Time, what: String, before: Bytes, after: Bytes, why: String) -> Violation {
        let since = self.since.as_ref().map_or(String::new(), |(number, event)| {
            let ago = Duration(now.0.saturating_sub(event.now.0));
            format!("event {number}, {:.3} ms before, {}", ago.as_millis(), describe::congestion(event))
        });
        Violation { case: self.case.clone(), event: self.event, now, what, before, after, mss: self.mss, why, since }
    }
}
