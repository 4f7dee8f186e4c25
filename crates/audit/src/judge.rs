//! Replays the events to the reference and compares its windows with the logged ones.

use cwndlab_control::{Algorithm, BeforeReduction, Change, Congestion, CongestionControl, Path, Ssthresh, Window};
use cwndlab_replay::event_log::Reported;
use cwndlab_units::{Bytes, Duration, Time};

use crate::departure::{classify, Departure, Found, Interval, Named};
use crate::item::{Check, Item, Limit, Step, View};

/// Maximum number of sequences that are followed at the same time.
const MAX_BRANCHES: usize = 12;

/// The tolerances of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Segments: stacks that count whole segments differ by up to one from those that count bytes.
    pub segments: f64,
    /// Resolution of the logged windows, bytes.
    pub resolution: u64,
    /// Rounding to whole bytes, per ACK.
    pub per_ack: f64,
}

/// A compared window.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Time.
    pub time: Time,
    /// Logged window, bytes.
    pub logged: u64,
    /// The reference's window, bytes.
    pub reference: u64,
}

/// Counters of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// ACKs of new data that were compared.
    pub acks: u64,
    /// Those that the reference explains.
    pub explained: u64,
    /// ACKs during which the transport sets the window.
    pub unjudged: u64,
    /// ACKs at which the application was inferred to limit the sender.
    pub app_limited: u64,
    /// ACKs at which the limit is unclear.
    pub unclear: u64,
    /// Compared windows.
    pub checks: u64,
}

/// The comparison.
#[derive(Debug)]
pub struct Judge<'a> {
    algorithm: &'a Algorithm,
    path: Path,
    quic: bool,
    tolerance: Tolerance,
    branches: Vec<Box<dyn CongestionControl>>,
    /// The reference at the last comparison.
    base: Box<dyn CongestionControl>,
    before_reduction: BeforeReduction,
    /// The reference before the last congestion event, and that event.
    last_reduction: Option<(Box<dyn CongestionControl>, Congestion)>,
    last: Interval,
    all: Interval,
    acks_since_sync: u64,
    what: String,
    what_event: Option<Reported>,
    last_logged: Option<u64>,
    /// What the comparison counted.
    pub counts: Counts,
    /// The departures.
    pub departures: Vec<Departure>,
    /// The compared windows.
    pub series: Vec<Point>,
}

impl<'a> Judge<'a> {
    /// A comparison with `algorithm`.
    #[must_use]
    pub fn new(algorithm: &'a Algorithm, path: Path, quic: bool, tolerance: Tolerance) -> Self {
        let base = algorithm.build(&path);
        Self {
            algorithm,
            path,
            quic,
            tolerance,
            branches: vec![base.snapshot()],
            base,
            before_reduction: BeforeReduction::default(),
            last_reduction: None,
            last: Interval::new(),
            all: Interval::new(),
            acks_since_sync: 0,
            what: String::new(),
            what_event: None,
            last_logged: None,
            counts: Counts::default(),
            departures: Vec::new(),
            series: Vec::new(),
        }
    }

    /// The state of the most likely sequence.
    #[must_use]
    pub fn view(&self) -> View {
        let control = &self.branches[0];
        let spec = self.algorithm.growth.spec;
        let cwnd = self.window(&**control);
        let slow_start = match control.state(None).ssthresh {
            Ssthresh::At(threshold) => cwnd + self.path.mss.0 <= threshold.0,
            Ssthresh::Unlimited => true,
            Ssthresh::Unknown => false,
        };
        let observes_sent = !matches!(spec.build, cwndlab_control::Build::CongestionAvoidance(_));
        View { cwnd, slow_start, observes_sent, model_based: spec.model_based }
    }

    /// The window of an algorithm, at least the minimum of the protocol (RFC 9002, section 7.2).
    fn window(&self, control: &dyn CongestionControl) -> u64 {
        control.cwnd().0.max(if self.quic { 2 } else { 1 } * self.path.mss.0)
    }

    /// The handshake is complete, at an unknown time.
    pub fn established(&mut self, now: Time) {
        let cwnd = self.path.initial_cwnd;
        let window = Window {
            now,
            change: Change::Established,
            cwnd,
            ssthresh: None,
            idle: Duration::ZERO,
            rtt: None,
            feedback: None,
        };
        for control in &mut self.branches {
            control.on_window(&window);
        }
        self.base = self.branches[0].snapshot();
    }

    /// Processes an item of the reconstruction.
    pub fn item(&mut self, item: Item) {
        match item {
            Item::Step(step) => self.step(step),
            Item::Check(check) => self.check(&check),
            Item::Unjudged(acks) => self.counts.unjudged += u64::from(acks),
        }
    }

    fn step(&mut self, step: Step) {
        self.note(&step);
        let count = step.alternatives.len();
        let tried = if self.branches.len() * count > MAX_BRANCHES { 1 } else { count };
        let mut next = Vec::with_capacity(self.branches.len() * tried);
        for control in std::mem::take(&mut self.branches) {
            for other in 1..tried {
                let mut copy = control.snapshot();
                self.report(&mut copy, &step.alternatives[other]);
                next.push(copy);
            }
            let mut control = control;
            self.report(&mut control, &step.alternatives[0]);
            let first = next.len() - (tried - 1);
            next.insert(first, control);
        }
        self.branches = next;
    }

    fn report(&mut self, control: &mut Box<dyn CongestionControl>, events: &[Reported]) {
        for event in events {
            match event {
                Reported::Congestion(congestion) => {
                    self.before_reduction.save(&**control, congestion);
                    self.last_reduction = Some((control.snapshot(), congestion.clone()));
                }
                Reported::Window(window) if window.change == Change::Undo => self.before_reduction.restore(control),
                _ => {}
            }
            let _ = event.report_to(&mut **control);
        }
    }

    /// Remembers what the step means for the kind of a departure.
    fn note(&mut self, step: &Step) {
        let main = step.main_event();
        for interval in [&mut self.last, &mut self.all] {
            interval.acks += u64::from(step.acks);
            if step.acks > 0 {
                interval.recovering = Some(interval.recovering.unwrap_or(true) && step.recovering);
            }
            match main {
                Some(Reported::Congestion(event)) => interval.cause = Some(event.cause),
                Some(Reported::Window(window)) => interval.idle |= window.change == Change::Idle,
                _ => {}
            }
        }
        self.acks_since_sync += u64::from(step.acks);
        self.counts.acks += u64::from(step.acks);
        match step.limit {
            Some(Limit::Application) => self.counts.app_limited += 1,
            Some(Limit::Unclear) => self.counts.unclear += 1,
            _ => {}
        }
        if let (Some(Limit::Application), Some(Reported::Ack(ack))) = (step.limit, main) {
            // What slow start and Reno would have added.
            let view = self.view();
            let growth = if view.slow_start { ack.acked.0 } else { ack.acked.0 * self.path.mss.0 / view.cwnd.max(1) };
            self.all.unused_growth += growth;
        }
        if !matches!(main, Some(Reported::Sent(_)) | None) {
            self.what_event = main.cloned();
        }
    }

    /// Distance of a window from the logged one, which stands for the interval up to the next multiple of the
    /// resolution.
    fn distance(&self, reference: u64, logged: u64) -> u64 {
        let end = logged + self.tolerance.resolution - 1;
        logged.saturating_sub(reference).max(reference.saturating_sub(end))
    }

    fn limit(&self) -> u64 {
        let segments = self.tolerance.segments * self.path.mss.0 as f64;
        (segments + self.tolerance.per_ack * self.acks_since_sync as f64).round() as u64
    }

    fn check(&mut self, check: &Check) {
        let limit = self.limit();
        // Windows in whole segments do not tell alternatives apart that differ by less.
        let indistinct = if self.tolerance.resolution > 1 { limit / 4 } else { 0 };
        let distances = self.branches.iter().map(|one| {
            let reference = self.window(&**one);
            if check.is_flight {
                check.cwnd.saturating_sub(reference)
            } else {
                self.distance(reference, check.cwnd)
            }
        });
        let (best, distance) = distances
            .enumerate()
            .min_by_key(|one| one.1.saturating_sub(indistinct))
            .expect("there is always at least one branch");
        let chosen = self.branches.swap_remove(best);
        let reference = self.window(&*chosen);
        self.counts.checks += 1;
        self.series.push(Point { time: check.time, logged: check.cwnd, reference });
        let before = self.last_logged.unwrap_or(check.cwnd);
        let reduced = self.last.cause.is_some();
        let mut chosen = chosen;
        if distance > limit {
            self.depart(check, &mut chosen, (before, reference, limit));
        } else {
            if distance * 4 <= limit {
                self.counts.explained += self.all.acks;
                self.all = Interval::new();
            } else if self.all.since.is_none() {
                self.all.since = Some(check.time);
            }
            if reduced && distance > 0 {
                self.adopt(&mut *chosen, check);
            }
        }
        self.last = Interval::new();
        self.last_logged = Some(check.cwnd);
        self.base = chosen.snapshot();
        self.branches = vec![chosen];
    }

    /// The reference takes over the logged window.
    fn adopt(&mut self, control: &mut dyn CongestionControl, check: &Check) {
        control.on_window(&Window {
            now: check.time,
            change: Change::Recovered,
            cwnd: Bytes(check.cwnd),
            ssthresh: None,
            idle: Duration::ZERO,
            rtt: None,
            feedback: None,
        });
        self.acks_since_sync = 0;
    }

    fn depart(&mut self, check: &Check, chosen: &mut Box<dyn CongestionControl>, numbers: (u64, u64, u64)) {
        let (before, reference, tolerance) = numbers;
        let prior = self.window(&*self.base);
        let found = Found {
            first: self.last_logged.is_none() && self.counts.acks == 0,
            model_based: self.algorithm.growth.spec.model_based,
            before,
            logged: check.cwnd,
            reference,
            tolerance: tolerance.max(self.tolerance.resolution),
            phase: (self.base.state(None).phase, chosen.state(None).phase),
            reference_grew: reference.saturating_sub(prior),
        };
        let kind = classify(&found, &self.last, &self.all);
        self.what = self.what_event.as_ref().map_or_else(|| "the start of the log".to_owned(), Reported::describe);
        self.departures.push(Departure {
            time: self.what_event.as_ref().map_or(check.time, Reported::now),
            since: self.all.since.unwrap_or(check.time),
            event: check.event,
            kind,
            what: self.what.clone(),
            logged: (before, check.cwnd),
            reference: (prior, reference),
            source: kind.source(self.algorithm, self.quic, found.phase.0),
            state: (named(&*self.base), named(&**chosen)),
            phase: found.phase,
            acks: self.all.acks,
        });
        self.all = Interval::new();
        self.resynchronise(chosen, check, kind);
    }

    /// The reference continues from the logged window: as a new flow where the log has left slow start and the
    /// reference has not, and the reverse.
    fn resynchronise(
        &mut self,
        chosen: &mut Box<dyn CongestionControl>,
        check: &Check,
        kind: crate::departure::DepartureKind,
    ) {
        use crate::departure::DepartureKind as K;
        if self.algorithm.growth.spec.model_based {
            self.acks_since_sync = 0;
            return; // the window follows from measurements, which stay
        }
        if matches!(kind, K::Reduction | K::NoReduction) {
            if let Some(control) = self.reduced_to(check.cwnd) {
                *chosen = control;
                self.acks_since_sync = 0;
                return;
            }
        }
        let initial_ssthresh = match kind {
            K::EarlySlowStartExit => Some(Bytes(check.ssthresh.unwrap_or(check.cwnd).min(check.cwnd))),
            K::LateSlowStartExit => None,
            _ => return self.adopt(&mut **chosen, check),
        };
        let path = Path { initial_cwnd: Bytes(check.cwnd), initial_ssthresh, ..self.path.clone() };
        *chosen = self.algorithm.build(&path);
        self.acks_since_sync = 0;
    }

    /// The reference after its last congestion event, with the data in flight, or the window before the event, that
    /// gives the logged window: its slow-start threshold is then the logged window, and its epoch begins there.
    fn reduced_to(&self, logged: u64) -> Option<Box<dyn CongestionControl>> {
        let (before, event) = self.last_reduction.as_ref()?;
        let reduced = |control: &dyn CongestionControl, event: &Congestion| {
            let mut control = control.snapshot();
            control.on_congestion(event);
            control
        };
        let is_logged = |control: &dyn CongestionControl| control.cwnd().0.abs_diff(logged) <= self.path.mss.0;
        let scale = |amount: Bytes, result: u64| Bytes((amount.0 as f64 * logged as f64 / result.max(1) as f64) as u64);
        let result = reduced(&**before, event).cwnd().0;
        let flight = Congestion { in_flight: scale(event.in_flight, result), ..event.clone() };
        let by_flight = reduced(&**before, &flight);
        if is_logged(&*by_flight) {
            return Some(by_flight);
        }
        let mut other = before.snapshot();
        let cwnd = scale(other.cwnd(), result);
        let window = Window {
            now: event.now,
            change: Change::Recovered,
            cwnd,
            ssthresh: None,
            idle: Duration::ZERO,
            rtt: None,
            feedback: None,
        };
        other.on_window(&window);
        let by_window = reduced(&*other, &Congestion { in_flight: cwnd, ..event.clone() });
        is_logged(&*by_window).then_some(by_window)
    }

    /// Ends the comparison. A log that writes changes only leaves the last window in force, which explains the ACKs
    /// after it where the reference agrees; the others are not judged.
    pub fn finish(&mut self) {
        let waiting = self.last.acks;
        let agrees = |logged| self.distance(self.window(&*self.branches[0]), logged) <= self.limit();
        let unjudged = if self.last_logged.is_some_and(agrees) { 0 } else { waiting };
        self.counts.acks -= unjudged;
        self.counts.unjudged += unjudged;
        self.counts.explained += self.all.acks - unjudged;
    }
}

/// The named numbers of a state.
fn named(control: &dyn CongestionControl) -> Vec<Named> {
    let mut all = Vec::new();
    let state = control.state(Some(&mut |name, value| all.push((name, value))));
    if let Ssthresh::At(threshold) = state.ssthresh {
        all.push(("ssthresh_bytes", threshold.0 as f64));
    }
    all
}
