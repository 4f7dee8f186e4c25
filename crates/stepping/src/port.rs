//! The passage between a run and its owner.
//!
//! The run executes on the stack of a coroutine. Its parts suspend it through the [`Yielder`] of that coroutine, whose
//! address is in the port.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use corosensei::Yielder;
use cwndlab_learned::{Action, Decider, Report};
use cwndlab_simulator::{FlowState, RunState, Stop, Stops};
use cwndlab_units::Time;

/// What the owner passes to the run when it continues.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resume {
    /// Continue, with this decision where one is due.
    Continue(Action),
    /// Show the state of a flow; only at a stop.
    Show(usize),
}

/// What the run passes to the owner when it is suspended.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // a decision allocates nothing
pub(crate) enum Suspended {
    /// A decision of this flow is due.
    Decision(usize, Report),
    /// The run has stopped.
    Stopped(Stop),
    /// The state of a flow, `None` before its start.
    State(Option<Box<FlowState>>),
}

/// The yielder of the coroutine of a run.
pub(crate) type Suspender = Yielder<Resume, Suspended>;

/// The shared state of a run and its owner. Only one of them executes at a time.
#[derive(Debug)]
pub(crate) struct Port {
    /// The yielder; null before the coroutine starts and after its end.
    suspender: AtomicPtr<Suspender>,
    /// Time of the next stop, ns.
    stop_at: AtomicU64,
    /// Decisions suspend the run.
    deciding: AtomicBool,
    /// Actions of each flow that are not applied yet.
    pending: Vec<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    present: AtomicBool,
    action: Mutex<Action>,
}

impl Port {
    /// The port of a run with this number of flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            suspender: AtomicPtr::new(ptr::null_mut()),
            stop_at: AtomicU64::new(u64::MAX),
            deciding: AtomicBool::new(false),
            pending: (0..flows).map(|_| Pending::default()).collect(),
        }
    }

    /// Calls `work` in the coroutine of this yielder.
    pub(crate) fn within<T>(&self, suspender: &Suspender, work: impl FnOnce() -> T) -> T {
        /// Forgets the yielder at the end of the coroutine, also where it unwinds.
        struct Forget<'a>(&'a Port);
        impl Drop for Forget<'_> {
            fn drop(&mut self) {
                self.0.suspender.store(ptr::null_mut(), Ordering::Relaxed);
            }
        }
        let _forget = Forget(self);
        self.suspender.store(ptr::from_ref(suspender).cast_mut(), Ordering::Relaxed);
        work()
    }

    /// Suspends the run; called by its parts.
    fn suspend(&self, message: Suspended) -> Resume {
        let suspender = self.suspender.load(Ordering::Relaxed);
        assert!(!suspender.is_null(), "a part of the run is used outside of its coroutine");
        // SAFETY: the yielder is on the stack of the coroutine below `within`, which sets the pointer to null before it
        // returns. Only parts of the run call this function, and they exist and execute only within that call.
        unsafe { (*suspender).suspend(message) }
    }

    /// Sets the time of the next stop, and whether decisions suspend the run before.
    pub(crate) fn set_goal(&self, stop_at: Time, deciding: bool) {
        self.stop_at.store(stop_at.as_nanos(), Ordering::Relaxed);
        self.deciding.store(deciding, Ordering::Relaxed);
    }

    /// Sets an action that a flow applies at its next event.
    pub(crate) fn set_pending(&self, flow: usize, action: Action) {
        let pending = &self.pending[flow];
        let mut earlier = pending.action.lock().unwrap_or_else(PoisonError::into_inner);
        *earlier = earlier.then(action);
        pending.present.store(true, Ordering::Relaxed);
    }

    #[cold]
    fn take_pending(&self, flow: usize) -> Action {
        let pending = &self.pending[flow];
        pending.present.store(false, Ordering::Relaxed);
        std::mem::take(&mut *pending.action.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The decider of a flow: the owner of the run.
#[derive(Clone)]
pub(crate) struct Owner {
    port: Arc<Port>,
    flow: usize,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({})", self.flow)
    }
}

impl Owner {
    /// The decider of this flow.
    pub(crate) fn new(port: Arc<Port>, flow: usize) -> Self {
        Self { port, flow }
    }
}

impl Decider for Owner {
    fn decide(&mut self, report: &Report) -> Action {
        if !self.port.deciding.load(Ordering::Relaxed) {
            return Action::default();
        }
        match self.port.suspend(Suspended::Decision(self.flow, report.clone())) {
            Resume::Continue(action) => action,
            Resume::Show(_) => unreachable!("the owner has the report of the flow"),
        }
    }

    #[inline]
    fn pending(&mut self) -> Option<Action> {
        let present = self.port.pending[self.flow].present.load(Ordering::Relaxed);
        present.then(|| self.port.take_pending(self.flow))
    }
}

/// The stops that the owner sets.
pub(crate) struct OwnersStops(pub(crate) Arc<Port>);

impl Stops for OwnersStops {
    #[inline]
    fn next(&self) -> Time {
        Time::from_nanos(self.0.stop_at.load(Ordering::Relaxed))
    }

    fn stop(&mut self, reason: Stop, state: &mut RunState<'_, '_>) {
        let mut message = Suspended::Stopped(reason);
        while let Resume::Show(flow) = self.0.suspend(message) {
            message = Suspended::State(state.flow((flow as u32).into()).map(Box::new));
        }
    }
}
