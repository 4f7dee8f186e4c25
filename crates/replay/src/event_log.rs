//! Log of the events that an algorithm receives and of its windows and pacing rates.

use std::sync::{Arc, Mutex, PoisonError};

use cwndlab_control::{
    Ack, BeforeReduction, Change, Congestion, CongestionControl, Event, Extra, Path, Sent, State, Window,
};
use cwndlab_units::{Bytes, Rate, Time};

/// An event that is reported to an algorithm.
#[derive(Clone, Debug)]
pub enum Reported {
    /// `on_ack`.
    Ack(Ack),
    /// `on_congestion`.
    Congestion(Congestion),
    /// `on_sent`.
    Sent(Sent),
    /// `on_window`.
    Window(Window),
}

impl Reported {
    /// Time of the event.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::Ack(ack) => ack.now,
            Self::Congestion(event) => event.now,
            Self::Sent(sent) => sent.now,
            Self::Window(window) => window.now,
        }
    }

    /// A short description.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Ack(ack) => format!("an ACK of {} B", ack.acked.0),
            Self::Congestion(event) => format!("congestion ({:?})", event.cause).to_lowercase(),
            Self::Sent(sent) => format!("{} B sent", sent.size.0),
            Self::Window(window) => format!("the window ({:?})", window.change).to_lowercase(),
        }
    }

    /// Reports the event to an algorithm; returns the algorithm's event, if it has one.
    pub fn report_to(&self, control: &mut dyn CongestionControl) -> Option<Event> {
        match self {
            Self::Ack(ack) => return control.on_ack(ack),
            Self::Congestion(event) => control.on_congestion(event),
            Self::Sent(sent) => control.on_sent(sent),
            Self::Window(window) => control.on_window(window),
        }
        None
    }
}

/// An algorithm for the replay of a record, with the state that a transport keeps for an undo.
#[derive(Debug)]
pub struct Replayer {
    /// The algorithm.
    pub control: Box<dyn CongestionControl>,
    before: BeforeReduction,
}

impl Replayer {
    /// A replay to `control`, an algorithm of a new flow.
    #[must_use]
    pub fn new(control: Box<dyn CongestionControl>) -> Self {
        Self { control, before: BeforeReduction::default() }
    }

    /// Reports the next event.
    pub fn report(&mut self, event: &Reported) {
        match event {
            Reported::Congestion(event) => self.before.save(&*self.control, event),
            Reported::Window(window) if window.change == Change::Undo => self.before.restore(&mut self.control),
            _ => {}
        }
        let _ = event.report_to(&mut *self.control);
    }
}

/// An event, and the outputs of the algorithm after it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The event.
    pub event: Reported,
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

/// A wrapper that records the events and outputs of an algorithm.
#[derive(Clone, Debug)]
pub struct Recorder {
    inner: Box<dyn CongestionControl>,
    entries: SharedEntries,
}

impl Recorder {
    /// Records `inner` in `entries`.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionControl>, entries: SharedEntries) -> Self {
        Self { inner, entries }
    }

    fn record(&mut self, reported: Reported) -> Option<Event> {
        let event = reported.report_to(&mut *self.inner);
        let entry = Entry { event: reported, cwnd: self.inner.cwnd(), pacing: self.inner.pacing_rate() };
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        event
    }
}

impl CongestionControl for Recorder {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.record(Reported::Ack(ack.clone()))
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let _ = self.record(Reported::Congestion(event.clone()));
    }

    fn cwnd(&self) -> Bytes {
        self.inner.cwnd()
    }

    fn on_sent(&mut self, sent: &Sent) {
        let _ = self.record(Reported::Sent(*sent));
    }

    fn on_window(&mut self, window: &Window) {
        let _ = self.record(Reported::Window(*window));
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.inner.pacing_rate()
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        self.inner.state(extra)
    }
}
