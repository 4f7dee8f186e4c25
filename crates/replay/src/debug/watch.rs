//! The event at a time, or the next or previous one of a kind, with its neighbours.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::wrap::{wrap_flow, Wrap};
use cwndlab_control::Report as Reported;
use cwndlab_control::{Algorithm, CongestionControl, Event, Observed, Observer, Path};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Bytes, Duration, Fault, FlowId, Rate, Time};

use crate::debug::kinds::Wanted;
use crate::debug::{is_shown, Moment, Snapshot};

/// An event before the moment, with the window and rate after it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number, as in [`Moment::number`].
    pub number: u64,
    /// The event.
    pub event: Reported,
    /// The window after it.
    pub cwnd: Bytes,
    /// The pacing rate after it.
    pub pacing: Option<Rate>,
}

impl Line {
    fn of(moment: &Moment) -> Self {
        let Snapshot { cwnd, pacing, .. } = moment.after;
        Self { number: moment.number, event: moment.event.clone(), cwnd, pacing }
    }
}

/// A moment and its neighbours.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The events before it, in order.
    pub earlier: VecDeque<Line>,
    /// The event of the search; `None` where there is none.
    pub moment: Option<Moment>,
    /// The events after it.
    pub later: Vec<Moment>,
}

/// The search for an event of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The kind of the event.
    pub wanted: Wanted,
    /// The first one at or after this time, or the last one before it.
    pub at: Time,
    /// Whether the last one before the time is searched for.
    pub backward: bool,
}

impl Search {
    /// The first event of any kind at or after `at`.
    #[must_use]
    pub fn from(at: Time) -> Self {
        Self { wanted: Wanted::Any, at, backward: false }
    }
}

/// The event of a flow's algorithm that a search finds, with `context` events before and after it. The second value is
/// the algorithm; `None` for a flow without one.
///
/// `stop` cancels the run, and is set as soon as the view is complete.
///
/// # Errors
/// If the run is cancelled.
///
/// # Panics
/// If the plan has no such flow.
pub fn look(
    plan: &Plan,
    seed: u64,
    flow: FlowId,
    search: Search,
    context: usize,
    stop: &Arc<AtomicBool>,
) -> Result<(View, Option<Arc<Algorithm>>), Fault> {
    let watch = Arc::new(Watch { search, context, stop: Arc::clone(stop), progress: Mutex::default() });
    let mut plan = Plan { sample_interval: Duration::ZERO, packets: false, ..plan.clone() };
    let wrap = Watching { watch: Arc::clone(&watch), connections: AtomicU32::new(0) };
    let Some(algorithm) = wrap_flow(&mut plan, flow, wrap) else {
        return Ok((View::default(), None));
    };
    let outcome = cwndlab_simulator::run(&plan, seed, stop, None);
    let progress = std::mem::take(&mut *watch.progress());
    match outcome {
        Err(cancelled) if !progress.is_complete => Err(cancelled),
        _ => Ok((progress.view, Some(algorithm))),
    }
}

/// The view so far.
#[derive(Debug, Default)]
struct Progress {
    view: View,
    /// The latest events, in order.
    latest: VecDeque<Line>,
    is_complete: bool,
}

impl Progress {
    fn add_line(&mut self, line: Line, context: usize) {
        self.latest.push_back(line);
        if self.latest.len() > context {
            self.latest.pop_front();
        }
    }
}

#[derive(Debug)]
struct Watch {
    search: Search,
    context: usize,
    /// Set when the view is complete.
    stop: Arc<AtomicBool>,
    progress: Mutex<Progress>,
}

impl Watch {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an event at `now` may be the one of the search.
    fn is_searched(&self, now: Time) -> bool {
        (now >= self.search.at) != self.search.backward
    }

    /// Adds an event.
    fn add(&self, moment: Moment) {
        let mut progress = self.progress();
        let line = Line::of(&moment);
        let is_searched = self.is_searched(moment.event.now());
        let Search { backward, wanted, .. } = self.search;
        if is_searched && (backward || progress.view.moment.is_none()) && wanted.matches(&moment) {
            let earlier = progress.latest.clone();
            progress.view = View { earlier, moment: Some(moment), later: Vec::new() };
        } else if progress.view.moment.is_some() && progress.view.later.len() < self.context {
            progress.view.later.push(moment);
        }
        progress.add_line(line, self.context);
        let is_found = progress.view.moment.is_some();
        let is_full = is_found && progress.view.later.len() >= self.context;
        // Backward, a later event may be found until the time is reached.
        let is_over = !backward || !is_searched;
        if is_over && (is_full || (backward && !is_found)) {
            progress.is_complete = true;
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct Watching {
    watch: Arc<Watch>,
    connections: AtomicU32,
}

impl Wrap for Watching {
    fn wrap(&self, inner: Box<dyn CongestionControl>, _: &Path) -> Box<dyn CongestionControl> {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed);
        let watcher = Watcher { watch: Arc::clone(&self.watch), connection, events: Arc::default() };
        Box::new(Observed::new(inner, watcher))
    }
}

/// Reports the events of a connection's algorithm to the watch.
#[derive(Clone, Debug)]
struct Watcher {
    watch: Arc<Watch>,
    connection: u32,
    /// Events so far. Shared with the copy that an undo restores.
    events: Arc<AtomicU64>,
}

impl Observer for Watcher {
    fn observe(&mut self, event: Reported, control: &mut dyn CongestionControl) -> Option<Event> {
        if !is_shown(&event) || self.watch.stop.load(Ordering::Relaxed) {
            return event.deliver(control);
        }
        let number = self.events.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.watch.search.backward && !self.watch.is_searched(event.now()) {
            let returned = event.deliver(control);
            let cwnd = control.cwnd();
            let pacing = control.pacing_rate();
            self.watch.progress().add_line(Line { number, event, cwnd, pacing }, self.watch.context);
            return returned;
        }
        let before = Snapshot::of(control);
        let returned = event.deliver(control);
        let after = Snapshot::of(control);
        self.watch.add(Moment { number, connection: self.connection, event, before, after, returned });
        returned
    }
}
