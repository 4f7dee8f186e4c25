//! The first difference between an algorithm and another one that receives the same events.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wrap::{wrap_flow, Wrap};
use cwndlab_control::Report as Reported;
use cwndlab_control::{Algorithm, CongestionControl, Event, Observed, Observer, Path};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Bytes, Duration, Fault, FlowId, Time};

use crate::debug::{is_shown, Moment, Snapshot};

/// The first event after which two algorithms differ.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The event, with the state of the flow's own algorithm.
    pub moment: Moment,
    /// The state of the other algorithm before it.
    pub before: Snapshot,
    /// The state of the other algorithm after it.
    pub after: Snapshot,
}

/// Runs a flow with its own algorithm, reports every event to `other` as well, and returns the first event at or after
/// `from` that leaves the two windows more than `tolerance` bytes apart, or only one of the two with another pacing rate.
/// `None` where there is no such event.
///
/// `stop` cancels the run, and is set at the divergence.
///
/// # Errors
/// If the run is cancelled.
///
/// # Panics
/// If the plan has no such flow.
pub fn diverge(
    plan: &Plan,
    seed: u64,
    flow: FlowId,
    other: &Algorithm,
    from: Time,
    tolerance: Bytes,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Divergence>, Fault> {
    let search = Arc::new(Search { from, tolerance, stop: Arc::clone(stop), found: Mutex::default() });
    let mut plan = Plan { sample_interval: Duration::ZERO, packets: false, ..plan.clone() };
    let wrap = Shadowing { other: other.clone(), search: Arc::clone(&search), connections: AtomicU32::new(0) };
    if wrap_flow(&mut plan, flow, wrap).is_none() {
        return Ok(None);
    }
    let outcome = cwndlab_simulator::run(&plan, seed, stop, None);
    let found = search.found.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (outcome, found) {
        (Err(cancelled), None) => Err(cancelled),
        (_, found) => Ok(found),
    }
}

#[derive(Debug)]
struct Search {
    from: Time,
    tolerance: Bytes,
    /// Set when a divergence is found.
    stop: Arc<AtomicBool>,
    found: Mutex<Option<Divergence>>,
}

#[derive(Debug)]
struct Shadowing {
    other: Algorithm,
    search: Arc<Search>,
    connections: AtomicU32,
}

impl Wrap for Shadowing {
    fn wrap(&self, inner: Box<dyn CongestionControl>, path: &Path) -> Box<dyn CongestionControl> {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed);
        let other = self.other.build(path);
        let shadow = Shadow { other, search: Arc::clone(&self.search), connection, events: Arc::default() };
        Box::new(Observed::new(inner, shadow))
    }
}

/// The other algorithm of a connection.
#[derive(Clone, Debug)]
struct Shadow {
    other: Box<dyn CongestionControl>,
    search: Arc<Search>,
    connection: u32,
    /// Events so far. Shared with the copy that an undo restores.
    events: Arc<AtomicU64>,
}

impl Observer for Shadow {
    fn observe(&mut self, event: Reported, own: &mut dyn CongestionControl) -> Option<Event> {
        if self.search.stop.load(Ordering::Relaxed) {
            return event.deliver(own);
        }
        if !is_shown(&event) {
            let _ = event.deliver(&mut *self.other);
            return event.deliver(own);
        }
        let number = self.events.fetch_add(1, Ordering::Relaxed) + 1;
        if event.now() < self.search.from {
            let _ = event.deliver(&mut *self.other);
            return event.deliver(own);
        }
        // The copies cost more than the report, but not as much as a second run.
        let mine = Snapshot::of(own);
        let others = Snapshot::of(&*self.other);
        let returned = event.deliver(own);
        let _ = event.deliver(&mut *self.other);
        if self.differs(own) {
            let after = Snapshot::of(&*self.other);
            let moment =
                Moment { number, connection: self.connection, event, before: mine, after: Snapshot::of(own), returned };
            let mut found = self.search.found.lock().unwrap_or_else(PoisonError::into_inner);
            *found = Some(Divergence { moment, before: others, after });
            self.search.stop.store(true, Ordering::Relaxed);
        }
        returned
    }
}

impl Shadow {
    fn differs(&self, own: &dyn CongestionControl) -> bool {
        let windows = own.cwnd().0.abs_diff(self.other.cwnd().0);
        windows > self.search.tolerance.0 || own.pacing_rate() != self.other.pacing_rate()
    }
}
