//! Replays the events to the reference and compares its windows with the logged ones.

use std::collections::BTreeSet;
use std::rc::Rc;

use cwndlab_control::{Algorithm, Change, Congestion, CongestionControl, Driver, Path, Report, Ssthresh, Window};
use cwndlab_units::{Bytes, Time};

use crate::comparison::{Brief, Counts, Point, Tolerance};
use crate::departure::{classify, Departure, DepartureKind, Found, Interval, Named};
use crate::item::{Check, Item, Limit, Since, Step, View};
use crate::surprise::Miss;

/// Sequences that are followed at the same time: with more, each is continued by the most likely events only. Of those
/// that lead to one state, one is followed.
const MAX_BRANCHES: usize = 24;

/// A sequence of the alternatives: the reference after it.
#[derive(Clone, Debug)]
struct Branch {
    driver: Driver,
    /// The reference before the last congestion event, and that event.
    last_reduction: Option<Rc<(Box<dyn CongestionControl>, Congestion)>>,
    /// Bytes in flight of a paced reference less those of the sender.
    excess: f64,
    /// Maximum of the bytes in flight that the reference permitted in the span that is compared.
    peak: u64,
    /// Pacing or the receiver, not the window, limits the reference.
    unfilled: bool,
}

/// The part of the bytes in flight by which they may differ from the window, beside the tolerance.
const FLIGHT_PART: u64 = 64;

/// Sequences that a brief comparison follows.
const BRIEF_BRANCHES: usize = 3;

impl Branch {
    fn new(driver: Driver) -> Self {
        Self { driver, last_reduction: None, excess: 0.0, peak: 0, unfilled: false }
    }

    fn report(&mut self, events: &[Report]) {
        for event in events {
            if let Report::Congestion(congestion) = event {
                self.last_reduction = Some(Rc::new((self.driver.control.snapshot(), congestion.clone())));
            }
            let _ = self.driver.deliver(event);
        }
    }

    fn set_window(&mut self, now: Time, cwnd: u64) {
        self.driver.on_window(&Window::new(now, Change::Recovered, Bytes(cwnd)));
    }
}

/// The ACKs since the windows last changed by more than the tolerance.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The logged window then, bytes.
    anchor: u64,
    /// ACKs that must change the window: it was full, or they report a congestion event.
    acks: u64,
}

/// Congestion events after which the state of a sender is known whose log begins late: the first sets the threshold, and
/// the second follows from a known maximum (RFC 9438, section 4.7).
const EVENTS_UNTIL_KNOWN: u32 = 2;

/// The comparison.
#[derive(Debug)]
pub struct Judge<'a> {
    algorithm: &'a Algorithm,
    path: Path,
    quic: bool,
    tolerance: Tolerance,
    branches: Vec<Branch>,
    /// The reference at the last comparison.
    base: Box<dyn CongestionControl>,
    /// Congestion events until the state of the sender is known.
    unknown: u32,
    /// The largest window that the log permits now, bytes.
    most_cwnd: u64,
    stretch: Stretch,
    last: Interval,
    all: Interval,
    acks_since_sync: u64,
    what: String,
    what_event: Option<Report>,
    last_logged: Option<u64>,
    /// In place of departures and series, for comparisons with many algorithms.
    pub brief: Option<Brief>,
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
            branches: vec![Branch::new(Driver::new(base.snapshot(), algorithm.is_model_based()))],
            stretch: Stretch { anchor: base.cwnd().0, acks: 0 },
            base,
            unknown: 0,
            most_cwnd: u64::MAX,
            last: Interval::new(),
            all: Interval::new(),
            acks_since_sync: 0,
            what: String::new(),
            what_event: None,
            last_logged: None,
            brief: None,
            counts: Counts::default(),
            departures: Vec::new(),
            series: Vec::new(),
        }
    }

    /// The log begins in the middle of the connection: nothing is judged until two congestion events have set the state.
    pub fn begin_late(&mut self) {
        self.unknown = EVENTS_UNTIL_KNOWN;
    }

    /// Keeps only what the ranking of many algorithms needs, and follows few alternatives; of more than `most_bits`, only
    /// that it is more.
    pub fn be_brief(&mut self, most_bits: f64) {
        self.brief = Some(Brief { most_bits, ..Brief::default() });
    }

    /// Whether the corrections have more bits than the brief comparison asks for. Further windows can only add to them.
    #[must_use]
    pub fn is_beyond(&self) -> bool {
        self.brief.as_ref().is_some_and(|brief| brief.surprise.bits(self.counts.checks) > brief.most_bits)
    }

    /// Whether the state of the sender is still unknown.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.unknown > 0
    }

    /// The largest of the logged windows around the next event, bytes.
    pub fn log_permits(&mut self, cwnd: Option<u64>) {
        self.most_cwnd = cwnd.map_or(u64::MAX, |cwnd| cwnd.saturating_add(self.tolerance.resolution - 1));
    }

    /// The state of the most likely sequence.
    #[must_use]
    pub fn view(&self) -> View {
        let control = &self.branches[0].driver.control;
        let spec = self.algorithm.growth.spec;
        let cwnd = self.window(&**control);
        let slow_start = match control.state(None).ssthresh {
            Ssthresh::At(threshold) => cwnd + self.path.mss.0 <= threshold.0,
            Ssthresh::Unlimited => true,
            Ssthresh::Unknown => false,
        };
        let observes_sent = !matches!(spec.build, cwndlab_control::Build::CongestionAvoidance(_));
        let permitted_cwnd = cwnd.min(self.most_cwnd);
        let (model_based, paced) = (self.algorithm.is_model_based(), control.pacing_rate().is_some());
        View { cwnd, permitted_cwnd, slow_start, observes_sent, model_based, paced }
    }

    /// The window of an algorithm, at least the minimum of the protocol (RFC 9002, section 7.2).
    fn window(&self, control: &dyn CongestionControl) -> u64 {
        control.cwnd().0.max(if self.quic { 2 } else { 1 } * self.path.mss.0)
    }

    /// The window of the reference, or the bytes in flight that it permitted.
    fn reference(&self, branch: &Branch, check: &Check) -> u64 {
        if check.since.is_some() {
            branch.peak
        } else {
            self.window(&*branch.driver.control)
        }
    }

    /// The bytes in flight that window and pacing permit at the time of a check, for algorithms that set a pacing rate.
    fn predict(&self, branch: &Branch, check: &Check) -> u64 {
        let control = &*branch.driver.control;
        let cwnd = self.window(control);
        let Some((since, rate)) = check.since.zip(control.pacing_rate()) else { return cwnd };
        let start = (since.in_flight as f64 + branch.excess).max(0.0);
        let paced = rate.bytes_in(check.time.saturating_since(since.time)).0 as f64;
        (start + paced).min(start.max(cwnd as f64)) as u64
    }

    /// The handshake is complete, at an unknown time.
    pub fn established(&mut self, now: Time) {
        let cwnd = self.path.initial_cwnd;
        let window = Window::new(now, Change::Established, cwnd);
        for branch in &mut self.branches {
            branch.driver.control.on_window(&window);
        }
        self.base = self.branches[0].driver.control.snapshot();
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
        if let Some(Report::Congestion(event)) = step.main_event().filter(|_| self.unknown > 0) {
            // The data in flight is the best estimate of an unknown window.
            for branch in &mut self.branches {
                branch.set_window(event.now, event.in_flight.0);
            }
            self.unknown -= u32::from(!event.repeated);
        }
        let count = step.alternatives.len();
        let most = if self.brief.is_some() { BRIEF_BRANCHES } else { MAX_BRANCHES };
        let tried = if self.branches.len() > most { 1 } else { count };
        let mut next = Vec::with_capacity(self.branches.len() * tried);
        for mut branch in std::mem::take(&mut self.branches) {
            let others = step.alternatives[1..tried].iter().map(|events| {
                let mut copy = branch.clone();
                copy.report(events);
                copy
            });
            let others: Vec<_> = others.collect();
            branch.report(&step.alternatives[0]);
            next.push(branch);
            next.extend(others);
        }
        if next.len() > 1 && self.brief.is_some() {
            let mut seen = BTreeSet::new();
            next.retain(|one| seen.insert(outline(&*one.driver.control)));
        } else if next.len() > 1 {
            let mut seen = BTreeSet::new();
            next.retain(|one| seen.insert(format!("{:?}", one.driver)));
        }
        self.branches = next;
    }

    /// Remembers what the step means for the kind of a departure.
    fn note(&mut self, step: &Step) {
        let main = step.main_event();
        let is_known = self.unknown == 0;
        for interval in [&mut self.last, &mut self.all] {
            interval.acks += if is_known { u64::from(step.acks) } else { 0 };
            if step.acks > 0 {
                interval.recovering = Some(interval.recovering.unwrap_or(true) && step.recovering);
            }
            match main {
                Some(Report::Congestion(event)) => interval.cause = Some(event.cause),
                // A reduction that was undone is the cause of nothing.
                Some(Report::Window(window)) if window.change == Change::Undo => interval.cause = None,
                Some(Report::Window(window)) => interval.idle |= window.change == Change::Idle,
                _ => {}
            }
        }
        self.acks_since_sync += u64::from(step.acks);
        if !is_known {
            self.counts.unjudged += u64::from(step.acks);
            return;
        }
        let is_event = matches!(main, Some(Report::Congestion(_)));
        let model_based = self.algorithm.is_model_based();
        let must_change = is_event || !step.recovering && (model_based || step.limit == Some(Limit::Window));
        self.stretch.acks += if must_change { u64::from(step.acks) } else { 0 };
        self.counts.acks += u64::from(step.acks);
        match step.limit {
            Some(Limit::Application) => self.counts.app_limited += 1,
            Some(Limit::Unclear) => self.counts.unclear += 1,
            _ => {}
        }
        if let (Some(Limit::Application), Some(Report::Ack(ack))) = (step.limit, main) {
            // What slow start and Reno would have added.
            let view = self.view();
            let growth = if view.slow_start { ack.acked.0 } else { ack.acked.0 * self.path.mss.0 / view.cwnd.max(1) };
            self.all.unused_growth += growth;
        }
        if !matches!(main, Some(Report::Sent(_)) | None) {
            self.what_event = main.cloned();
        }
    }

    /// Distance of a window from the logged one, which stands for the interval up to the next multiple of the
    /// resolution.
    fn distance(&self, reference: u64, logged: u64) -> u64 {
        let end = logged + self.tolerance.resolution - 1;
        logged.saturating_sub(reference).max(reference.saturating_sub(end))
    }

    /// Whether the windows agree, as opposed to a difference that may grow: within a quarter of the tolerance, or half of
    /// it where the log has whole segments.
    fn agrees(&self, distance: u64, limit: u64) -> bool {
        distance * if self.tolerance.resolution > 1 { 2 } else { 4 } <= limit
    }

    /// The middle of the interval that a logged window stands for.
    fn middle(&self, logged: u64) -> u64 {
        logged + self.tolerance.resolution / 2
    }

    fn limit(&self) -> u64 {
        let segments = self.tolerance.segments * self.path.mss.0 as f64;
        (segments + self.tolerance.per_ack * self.acks_since_sync as f64).round() as u64
    }

    /// Follows the bytes in flight of a span; its maximum, at its end. What is in flight when nothing was sent may be left
    /// from before a reduction, and is no window.
    fn span(&mut self, check: &Check, since: Since) -> Option<Check> {
        let peak = |of: u64, last: u64| {
            let of = if check.cwnd > since.in_flight { of } else { 0 };
            of.max(if since.begins { 0 } else { last })
        };
        for at in 0..self.branches.len() {
            let permitted = self.predict(&self.branches[at], check).min(since.receivable);
            let window = self.window(&*self.branches[at].driver.control);
            let branch = &mut self.branches[at];
            branch.unfilled = permitted < window;
            branch.excess = permitted as f64 - check.cwnd as f64;
            branch.peak = peak(permitted, branch.peak);
        }
        let brief = self.brief.get_or_insert_default();
        brief.peak = peak(check.cwnd, brief.peak);
        since.ends.then_some(Check { cwnd: brief.peak, ..*check })
    }

    fn check(&mut self, check: &Check) {
        if self.unknown > 0 {
            return self.follow(check);
        }
        let Some((ref check, limit)) = self.compared(check) else { return };
        // Windows in whole segments do not tell alternatives apart that differ by less.
        let indistinct = if self.tolerance.resolution > 1 { limit / 4 } else { 0 };
        let distances = self.branches.iter().map(|one| {
            let reference = self.reference(one, check);
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
        let mut chosen = self.branches.swap_remove(best);
        let reference = self.reference(&chosen, check);
        self.counts.checks += 1;
        self.note_check(check, reference, distance, limit);
        let reduced = self.last.cause.is_some();
        if distance > limit {
            chosen.excess = 0.0;
            self.counts.decisive += if check.is_flight { self.last.acks } else { self.all.acks.max(1) };
            self.depart(check, &mut chosen, self.last_logged.unwrap_or(check.cwnd), reference, limit);
            self.stretch = Stretch { anchor: check.cwnd, acks: 0 };
        } else {
            if self.agrees(distance, limit) {
                self.counts.explained += self.all.acks;
                self.all = Interval::new();
            } else if self.all.since.is_none() {
                self.all.since = Some(check.time);
            }
            self.tell(check, reference, distance, limit);
            // The bytes in flight are a lower bound of the window: below the threshold, slow start would begin anew.
            let exceeds = check.since.is_none() || check.cwnd > reference;
            // A window that follows from measurements is not corrected: to such an algorithm a given one ends its recovery.
            if reduced && distance > 0 && exceeds && !self.algorithm.is_model_based() {
                chosen.set_window(check.time, check.cwnd);
                self.acks_since_sync = 0;
            }
        }
        self.last = Interval::new();
        self.last_logged = Some(check.cwnd);
        self.base = chosen.driver.control.snapshot();
        self.branches = vec![chosen];
    }

    /// Keeps a compared window; briefly, its difference, and whether a window that stays as it is would explain it.
    fn note_check(&mut self, check: &Check, reference: u64, distance: u64, limit: u64) {
        let Some(brief) = &mut self.brief else {
            return self.series.push(Point { time: check.time, logged: check.cwnd, reference });
        };
        brief.difference += distance as f64 / limit as f64;
        let anchor = *brief.anchor.get_or_insert(check.cwnd);
        if anchor.abs_diff(check.cwnd) > limit {
            let (time, kind) = (check.time, DepartureKind::Model);
            let Counts { acks, checks, .. } = self.counts;
            let (logged, reference, tolerance) = (check.cwnd, anchor, limit);
            let miss = Miss { time, acks, checks, kind, logged, reference, tolerance };
            brief.constant_surprise.add(&miss, None);
            brief.anchor = Some(check.cwnd);
        }
    }

    /// What is compared, and its tolerance; `None` within a span of bytes in flight.
    fn compared(&mut self, check: &Check) -> Option<(Check, u64)> {
        let limit = self.limit();
        let Some(since) = check.since else { return Some((*check, limit)) };
        let check = self.span(check, since)?;
        // The data in flight at a congestion event is that of the capture, not of the sender.
        let limit = if self.last.cause.is_some() { 2 * limit } else { limit };
        Some((check, limit + check.cwnd / FLIGHT_PART))
    }

    /// Counts the ACKs that could have told, where the windows agree.
    fn tell(&mut self, check: &Check, reference: u64, distance: u64, limit: u64) {
        let acks = if check.is_flight {
            if check.cwnd + limit >= reference {
                self.last.acks
            } else {
                0
            }
        } else if self.agrees(distance, limit) && self.distance(reference, self.stretch.anchor) > limit {
            let acks = self.stretch.acks;
            self.stretch = Stretch { anchor: check.cwnd, acks: 0 };
            acks
        } else {
            0
        };
        self.counts.decisive += acks;
        self.counts.decisive_explained += acks;
    }

    /// The reference takes over the logged window while the state of the sender is unknown.
    fn follow(&mut self, check: &Check) {
        self.branches.truncate(1);
        let reference = self.window(&*self.branches[0].driver.control);
        if !check.is_flight || check.cwnd > reference {
            let cwnd = if check.is_flight { check.cwnd } else { self.middle(check.cwnd) };
            self.branches[0].set_window(check.time, cwnd);
        }
        self.stretch = Stretch { anchor: check.cwnd, acks: 0 };
        self.acks_since_sync = 0;
        (self.last, self.all) = (Interval::new(), Interval::new());
        self.last_logged = Some(check.cwnd);
        self.base = self.branches[0].driver.control.snapshot();
    }

    fn depart(&mut self, check: &Check, chosen: &mut Branch, before: u64, reference: u64, tolerance: u64) {
        let prior = self.window(&*self.base);
        let found = Found {
            first: self.last_logged.is_none() && self.counts.acks == 0,
            model_based: self.algorithm.is_model_based(),
            before,
            logged: check.cwnd,
            reference,
            tolerance: tolerance.max(self.tolerance.resolution),
            phase: (self.base.state(None).phase, chosen.driver.control.state(None).phase),
            reference_grew: reference.saturating_sub(prior),
        };
        let kind = classify(&found, &self.last, &self.all);
        if let Some(brief) = &mut self.brief {
            let (time, logged) = (check.time, check.cwnd);
            let Counts { acks, checks, .. } = self.counts;
            let miss = Miss { time, acks, checks, kind, logged, reference, tolerance };
            brief.surprise.add(&miss, brief.misses.last());
            brief.misses.push(miss);
            self.all = Interval::new();
            return self.resynchronise(chosen, check, kind);
        }
        self.what = self.what_event.as_ref().map_or_else(|| "the start of the log".to_owned(), Report::describe);
        self.departures.push(Departure {
            time: self.what_event.as_ref().map_or(check.time, Report::now),
            since: self.all.since.unwrap_or(check.time),
            event: check.event,
            kind,
            what: self.what.clone(),
            logged: (before, check.cwnd),
            reference: (prior, reference),
            source: kind.source(self.algorithm, self.quic, found.phase.0),
            state: (named(&*self.base), named(&*chosen.driver.control)),
            phase: found.phase,
            acks: self.all.acks,
        });
        self.all = Interval::new();
        self.resynchronise(chosen, check, kind);
    }

    /// The reference continues from the logged window: as a new flow where the log has left slow start and the
    /// reference has not, and the reverse.
    fn resynchronise(&mut self, chosen: &mut Branch, check: &Check, kind: DepartureKind) {
        use DepartureKind as K;
        if self.algorithm.is_model_based() || chosen.unfilled {
            self.acks_since_sync = 0;
            return; // the window follows from measurements, which stay; bytes in flight below it say nothing of it
        }
        // A correction below the threshold would begin slow start. Where another reduction explains the window, the
        // reference takes that: its threshold is then the window.
        let falls_below = || {
            let threshold = chosen.driver.control.state(None).ssthresh;
            kind == K::SlowAvoidance && matches!(threshold, Ssthresh::At(threshold) if check.cwnd < threshold.0)
        };
        if matches!(kind, K::Reduction | K::NoReduction) || falls_below() {
            if let Some(control) = self.reduced_to(chosen, check.cwnd) {
                chosen.driver.control = control;
                self.acks_since_sync = 0;
                return;
            }
        }
        let initial_ssthresh = match kind {
            K::EarlySlowStartExit => Some(Bytes(check.ssthresh.unwrap_or(check.cwnd).min(check.cwnd))),
            // The log has left slow start meanwhile: the reference keeps what it knows of the path.
            K::LateSlowStartExit if check.ssthresh.is_none_or(|threshold| threshold > check.cwnd) => None,
            _ => {
                chosen.set_window(check.time, self.middle(check.cwnd));
                self.acks_since_sync = 0;
                return;
            }
        };
        let path = Path { initial_cwnd: Bytes(check.cwnd), initial_ssthresh, ..self.path.clone() };
        chosen.driver.control = self.algorithm.build(&path);
        self.acks_since_sync = 0;
    }

    /// The reference after its last congestion event, with the data in flight, or the window before the event, that
    /// gives the logged window: its slow-start threshold is then the logged window, and its epoch begins there.
    fn reduced_to(&self, chosen: &Branch, logged: u64) -> Option<Box<dyn CongestionControl>> {
        let (before, event) = &**chosen.last_reduction.as_ref()?;
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
        let window = Window::new(event.now, Change::Recovered, cwnd);
        other.on_window(&window);
        let by_window = reduced(&*other, &Congestion { in_flight: cwnd, ..event.clone() });
        is_logged(&*by_window).then_some(by_window)
    }

    /// Ends the comparison. A log that writes changes only leaves the last window in force, which explains the ACKs
    /// after it where the reference agrees; the others are not judged.
    pub fn finish(&mut self) {
        let waiting = self.last.acks;
        let agrees = |logged| self.distance(self.window(&*self.branches[0].driver.control), logged) <= self.limit();
        let unjudged = if self.last_logged.is_some_and(agrees) { 0 } else { waiting };
        self.counts.acks -= unjudged;
        self.counts.unjudged += unjudged;
        self.counts.explained += self.all.acks - unjudged;
    }
}

/// What distinguishes two sequences in a brief comparison: window and threshold.
fn outline(control: &dyn CongestionControl) -> (u64, Option<u64>) {
    let threshold = match control.state(None).ssthresh {
        Ssthresh::At(threshold) => Some(threshold.0),
        Ssthresh::Unlimited | Ssthresh::Unknown => None,
    };
    (control.cwnd().0, threshold)
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

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_algorithms::catalogue;
    use cwndlab_control::testing::{ack_at, loss};

    const MSS: u64 = 1000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(1_000_000_000 + ms * 1_000_000)
    }

    fn step(ms: u64, alternatives: Vec<Vec<Report>>) -> Item {
        Item::Step(Step { acks: 1, limit: Some(Limit::Unclear), ..Step::window(0, alternatives, at(ms)) })
    }

    /// An ACK of so many segments.
    fn ack(ms: u64, segments: u64, limited: bool) -> Vec<Report> {
        let mut ack = ack_at(at(ms), segments);
        (ack.mss, ack.acked, ack.cwnd_limited) = (Bytes(MSS), Bytes(segments * MSS), limited);
        vec![Report::Ack(ack)]
    }

    /// A loss with so many segments in flight.
    fn congestion(ms: u64, in_flight: u64) -> Vec<Report> {
        let event = Congestion { now: at(ms), mss: Bytes(MSS), in_flight: Bytes(in_flight * MSS), ..loss(in_flight) };
        vec![Report::Congestion(event)]
    }

    /// A logged window of so many segments.
    fn check(ms: u64, cwnd: u64) -> Item {
        let (time, cwnd) = (at(ms), cwnd * MSS);
        Item::Check(Check { time, event: 0, cwnd, ssthresh: None, is_flight: false, since: None })
    }

    fn reno() -> Algorithm {
        catalogue().parse("reno+standard").expect("an entry")
    }

    fn judge(algorithm: &Algorithm) -> Judge<'_> {
        let path = Path {
            mss: Bytes(MSS),
            initial_cwnd: Bytes(10 * MSS),
            initial_ssthresh: None,
            paced: false,
            seed: 0,
            classic_ecn: false,
            oracle_buffer: None,
            saved: None,
        };
        Judge::new(algorithm, path, false, Tolerance { segments: 1.0, resolution: 1, per_ack: 0.0 })
    }

    fn judged(logged: u64) -> Counts {
        let algorithm = reno();
        let mut judge = judge(&algorithm);
        judge.item(step(50, vec![ack(50, 8, true), ack(50, 8, false)]));
        judge.item(step(60, vec![congestion(60, 10)]));
        let undo = Window::new(at(70), Change::Undo, Bytes(5 * MSS));
        judge.item(step(70, vec![vec![Report::Window(undo)]]));
        let cwnd = logged * MSS;
        judge.item(check(80, logged));
        assert_eq!(judge.series[0].reference == cwnd, judge.departures.is_empty(), "{:?}", judge.departures);
        judge.counts
    }

    /// By hand: an ACK of eight segments in slow start makes 18 of 10, or counts not. The reduction is undone, so that
    /// either window is that before it (RFC 9438, section 4.9.2), and no other is.
    #[test]
    fn an_undo_restores_the_window_of_each_sequence() {
        for (window, explained) in [(18, true), (10, true), (14, false), (5, false)] {
            let counts = judged(window);
            assert_eq!(counts.explained > 0, explained, "{window} segments: {counts:?}");
        }
    }

    /// By hand: a loss with 18 segments in flight leaves 9 and a threshold of 9. The log falls on to 7, which a loss with
    /// 14 explains: the reference continues from 7 in congestion avoidance, where an ACK of seven segments adds one. In
    /// slow start it would add two, up to the threshold.
    #[test]
    fn a_correction_below_the_threshold_begins_no_slow_start() {
        let algorithm = reno();
        let mut judge = judge(&algorithm);
        judge.item(step(50, vec![ack(50, 8, true)]));
        judge.item(step(60, vec![congestion(60, 18)]));
        for (ms, logged) in [(70, 9), (80, 8), (90, 7)] {
            judge.item(check(ms, logged));
        }
        assert_eq!(judge.departures.iter().map(|one| one.kind).collect::<Vec<_>>(), [DepartureKind::SlowAvoidance]);
        judge.item(step(100, vec![ack(100, 7, true)]));
        assert_eq!(judge.branches[0].driver.control.cwnd(), Bytes(8 * MSS));
    }

    /// A log that begins late and ends before its second congestion event: every ACK of it is unjudged.
    #[test]
    fn acks_before_the_state_is_known_are_not_judged() {
        let algorithm = reno();
        let mut judge = judge(&algorithm);
        judge.begin_late();
        judge.item(step(50, vec![ack(50, 8, true)]));
        judge.item(step(60, vec![congestion(60, 18)]));
        judge.item(step(70, vec![ack(70, 1, true)]));
        judge.finish();
        let Counts { acks, explained, unjudged, .. } = judge.counts;
        assert_eq!((acks, explained, unjudged), (0, 0, 3)); // each step has an ACK
    }
}
