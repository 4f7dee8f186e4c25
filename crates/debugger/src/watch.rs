//! The event at a time, with its neighbours.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cwndlab_control::Report as Reported;
use cwndlab_control::{Ack, Algorithm, Congestion, CongestionControl, Event, Extra, Path, Sent, State, Window};
use cwndlab_replay::wrap::{wrap_flow, Wrap};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Bytes, Duration, Fault, Rate, Time};

use crate::{is_shown, Moment, Snapshot};

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

/// A moment and its neighbours.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The events before it, in order.
    pub earlier: VecDeque<Line>,
    /// The first event at or after the time; `None` where there is none until the end of the run.
    pub moment: Option<Moment>,
    /// The events after it.
    pub later: Vec<Moment>,
}

impl View {
    fn is_complete(&self, context: usize) -> bool {
        self.moment.is_some() && self.later.len() >= context
    }
}

/// The first event of a flow's algorithm at or after `at`, with `context` events before and after it. The second value
/// is the algorithm; `None` for a flow without one.
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
    flow: usize,
    at: Time,
    context: usize,
    stop: &Arc<AtomicBool>,
) -> Result<(View, Option<Arc<Algorithm>>), Fault> {
    let watch = Arc::new(Watch { at, context, stop: Arc::clone(stop), view: Mutex::default() });
    let mut plan = Plan { sample_interval: Duration::ZERO, packets: false, ..plan.clone() };
    let wrap = Watching { watch: Arc::clone(&watch), connections: AtomicU32::new(0) };
    let Some(algorithm) = wrap_flow(&mut plan, flow, wrap) else {
        return Ok((View::default(), None));
    };
    let outcome = cwndlab_simulator::run(&plan, seed, stop, None);
    let view = std::mem::take(&mut *watch.view());
    match outcome {
        Err(cancelled) if !view.is_complete(context) => Err(cancelled),
        _ => Ok((view, Some(algorithm))),
    }
}

#[derive(Debug)]
struct Watch {
    at: Time,
    context: usize,
    /// Set when the view is complete.
    stop: Arc<AtomicBool>,
    view: Mutex<View>,
}

impl Watch {
    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
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
        Box::new(Watched { inner, watch: Arc::clone(&self.watch), connection, events: Arc::default() })
    }
}

/// The wrapper of a connection's algorithm.
#[derive(Clone, Debug)]
struct Watched {
    inner: Box<dyn CongestionControl>,
    watch: Arc<Watch>,
    connection: u32,
    /// Events so far. Shared with the copy that an undo restores.
    events: Arc<AtomicU64>,
}

impl Watched {
    fn report(&mut self, event: Reported) -> Option<Event> {
        if !is_shown(&event) || self.watch.stop.load(Ordering::Relaxed) {
            return event.deliver(&mut *self.inner);
        }
        let number = self.events.fetch_add(1, Ordering::Relaxed) + 1;
        if event.now() >= self.watch.at {
            return self.show(number, event);
        }
        let returned = event.deliver(&mut *self.inner);
        let mut view = self.watch.view();
        if view.earlier.len() >= self.watch.context {
            view.earlier.pop_front();
        }
        if self.watch.context > 0 {
            let (cwnd, pacing) = (self.inner.cwnd(), self.inner.pacing_rate());
            view.earlier.push_back(Line { number, event, cwnd, pacing });
        }
        returned
    }

    /// Reports an event that belongs to the view.
    fn show(&mut self, number: u64, event: Reported) -> Option<Event> {
        let before = Snapshot::of(&*self.inner);
        let returned = event.deliver(&mut *self.inner);
        let after = Snapshot::of(&*self.inner);
        let moment = Moment { number, connection: self.connection, event, before, after, returned };
        let mut view = self.watch.view();
        if view.moment.is_none() {
            view.moment = Some(moment);
        } else {
            view.later.push(moment);
        }
        if view.is_complete(self.watch.context) {
            self.watch.stop.store(true, Ordering::Relaxed);
        }
        returned
    }
}

impl CongestionControl for Watched {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.report(Reported::Ack(ack.clone()))
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let _ = self.report(Reported::Congestion(event.clone()));
    }

    fn cwnd(&self) -> Bytes {
        self.inner.cwnd()
    }

    fn on_sent(&mut self, sent: &Sent) {
        let _ = self.report(Reported::Sent(*sent));
    }

    fn on_window(&mut self, window: &Window) {
        let _ = self.report(Reported::Window(*window));
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.inner.pacing_rate()
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        self.inner.state(extra)
    }
}
