//! An algorithm from outside of the catalogue, whose methods may unwind: a class in Python, for instance.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use cwndlab_algorithms::catalogue;
use cwndlab_control::{Ack, Congestion, CongestionControl, Constructor, Event, Extra, Path, Sent, State, Window};
use cwndlab_units::{Bytes, Rate};

/// A function that is called once where an algorithm unwinds, in the thread that called the algorithm.
pub type OnFailure = Arc<dyn Fn() + Send + Sync>;

/// The name of the algorithm that takes over.
const SUBSTITUTE: &str = "reno";

/// An algorithm, and Reno after a failure of it. A connection of `quinn` would not survive a panic of its controller.
#[derive(Clone)]
pub(crate) struct Guarded {
    control: Box<dyn CongestionControl>,
    path: Path,
    /// `None` after a failure.
    on_failure: Option<OnFailure>,
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guarded").field("control", &self.control).finish_non_exhaustive()
    }
}

/// Reno in congestion avoidance, with this window.
fn substitute(path: &Path, window: Bytes) -> Box<dyn CongestionControl> {
    let reno = catalogue().parse(SUBSTITUTE).unwrap_or_else(|fault| panic!("{SUBSTITUTE}: {}", fault.what));
    reno.build(&Path { initial_cwnd: window, initial_ssthresh: Some(window), ..path.clone() })
}

impl Guarded {
    pub(crate) fn new(constructor: &Constructor, path: Path, on_failure: OnFailure) -> Self {
        let created = catch_unwind(AssertUnwindSafe(|| constructor.construct(&path)));
        if let Ok(control) = created {
            return Self { control, path, on_failure: Some(on_failure) };
        }
        on_failure();
        Self { control: substitute(&path, path.initial_cwnd), path, on_failure: None }
    }

    /// Calls the algorithm; after a failure with the call repeated for its substitute, so that no event is lost.
    fn call<T>(&mut self, event: impl Fn(&mut dyn CongestionControl) -> T) -> T {
        let Some(on_failure) = self.on_failure.take() else { return event(&mut *self.control) };
        let window = self.control.cwnd();
        // The algorithm is not used after it has unwound.
        if let Ok(returned) = catch_unwind(AssertUnwindSafe(|| event(&mut *self.control))) {
            self.on_failure = Some(on_failure);
            return returned;
        }
        on_failure();
        self.control = substitute(&self.path, window);
        event(&mut *self.control)
    }
}

impl CongestionControl for Guarded {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.call(|control| control.on_ack(ack))
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.call(|control| control.on_congestion(event));
    }

    fn cwnd(&self) -> Bytes {
        self.control.cwnd()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.call(|control| control.on_sent(sent));
    }

    fn on_window(&mut self, window: &Window) {
        self.call(|control| control.on_window(window));
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        self.control.state(extra)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }
}
