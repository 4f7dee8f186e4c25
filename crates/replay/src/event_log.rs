//! Log of the events that an algorithm receives and of its windows and pacing rates.

use std::sync::{Arc, Mutex, PoisonError};

use cwndlab_control::{CongestionControl, Event, Observed, Observer, Path, Report};
use cwndlab_units::{Bytes, Rate};

/// An event, and the outputs of the algorithm after it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The event.
    pub event: Report,
    /// Window after the event.
    pub cwnd: Bytes,
    /// Pacing rate after the event.
    pub pacing: Option<Rate>,
}

/// The events of a flow's algorithm from the start of the flow.
#[derive(Clone, Debug)]
pub struct EventLog {
    /// The path with which the algorithm was created.
    pub path: Path,
    /// The events.
    pub entries: Vec<Entry>,
}

/// The shared log of a [`Recorder`].
pub type SharedEntries = Arc<Mutex<Vec<Entry>>>;

/// Removes and returns all entries of a shared log.
#[must_use]
pub fn take_entries(entries: &SharedEntries) -> Vec<Entry> {
    std::mem::take(&mut *entries.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Records the events and outputs of an algorithm.
#[derive(Clone, Debug)]
pub struct Recorder(SharedEntries);

impl Recorder {
    /// `control` with a recorder of its events in `entries`.
    #[must_use]
    pub fn wrap(control: Box<dyn CongestionControl>, entries: &SharedEntries) -> Box<dyn CongestionControl> {
        Box::new(Observed::new(control, Self(Arc::clone(entries))))
    }
}

impl Observer for Recorder {
    fn observe(&mut self, report: Report, control: &mut dyn CongestionControl) -> Option<Event> {
        let event = report.deliver(control);
        let entry = Entry { event: report, cwnd: control.cwnd(), pacing: control.pacing_rate() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        event
    }
}
