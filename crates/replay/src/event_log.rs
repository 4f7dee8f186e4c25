//! What an algorithm is told and what it answers, kept in order.

use std::sync::{Arc, Mutex, PoisonError};

use cwndlab_control::{
    Ack, BeforeReduction, Change, Congestion, CongestionControl, Event, Extra, Path, Sent, State, Window,
};
use cwndlab_units::{Bytes, Rate, Time};

/// An event as it was told.
#[derive(Clone, Debug)]
pub enum Reported {
    /// Data was acknowledged.
    Ack(Ack),
    /// Congestion was seen.
    Congestion(Congestion),
    /// A segment left.
    Sent(Sent),
    /// The transport changed the window.
    Window(Window),
}

impl Reported {
    /// When.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::Ack(ack) => ack.now,
            Self::Congestion(event) => event.now,
            Self::Sent(sent) => sent.now,
            Self::Window(window) => window.now,
        }
    }

    /// In a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Ack(ack) => format!("an ACK of {} B", ack.acked.0),
            Self::Congestion(event) => format!("congestion ({:?})", event.cause).to_lowercase(),
            Self::Sent(sent) => format!("{} B leave", sent.size.0),
            Self::Window(window) => format!("the window ({:?})", window.change).to_lowercase(),
        }
    }

    /// Reports it to an algorithm.
    fn tell(&self, control: &mut dyn CongestionControl) -> Option<Event> {
        match self {
            Self::Ack(ack) => return control.on_ack(ack),
            Self::Congestion(event) => control.on_congestion(event),
            Self::Sent(sent) => control.on_sent(sent),
            Self::Window(window) => control.on_window(window),
        }
        None
    }
}

/// An algorithm to which a record is replayed, with what its transport keeps for an undo.
#[derive(Debug)]
pub struct Replayer {
    /// The algorithm.
    pub control: Box<dyn CongestionControl>,
    before: BeforeReduction,
}

impl Replayer {
    /// A new flow of `control`.
    #[must_use]
    pub fn new(control: Box<dyn CongestionControl>) -> Self {
        Self { control, before: BeforeReduction::default() }
    }

    /// Reports the next event.
    pub fn report(&mut self, told: &Reported) {
        match told {
            Reported::Congestion(event) => self.before.save(&*self.control, event),
            Reported::Window(window) if window.change == Change::Undo => self.before.restore(&mut self.control),
            _ => {}
        }
        let _ = told.tell(&mut *self.control);
    }
}

/// An event and the answers to it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was told.
    pub told: Reported,
    /// The window afterwards.
    pub cwnd: Bytes,
    /// The pacing rate afterwards.
    pub pacing: Option<Rate>,
}

/// What one flow's algorithm was told from its start on.
#[derive(Clone, Debug)]
pub struct EventLog {
    /// The path with which it was made.
    pub path: Path,
    /// The events.
    pub entries: Vec<Entry>,
}

/// Where a [`Recorder`] writes.
pub type SharedEntries = Arc<Mutex<Vec<Entry>>>;

/// The entries so far; the shared log is empty afterwards.
#[must_use]
pub fn take_entries(entries: &SharedEntries) -> Vec<Entry> {
    std::mem::take(&mut *entries.lock().unwrap_or_else(PoisonError::into_inner))
}

/// An algorithm whose events and answers are written down.
#[derive(Clone, Debug)]
pub struct Recorder {
    inner: Box<dyn CongestionControl>,
    entries: SharedEntries,
}

impl Recorder {
    /// Writes down what `inner` is told.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionControl>, entries: SharedEntries) -> Self {
        Self { inner, entries }
    }

    fn write(&mut self, told: Reported) -> Option<Event> {
        let event = told.tell(&mut *self.inner);
        let entry = Entry { told, cwnd: self.inner.cwnd(), pacing: self.inner.pacing_rate() };
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        event
    }
}

impl CongestionControl for Recorder {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.write(Reported::Ack(ack.clone()))
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let _ = self.write(Reported::Congestion(event.clone()));
    }

    fn cwnd(&self) -> Bytes {
        self.inner.cwnd()
    }

    fn on_sent(&mut self, sent: &Sent) {
        let _ = self.write(Reported::Sent(*sent));
    }

    fn on_window(&mut self, window: &Window) {
        let _ = self.write(Reported::Window(*window));
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.inner.pacing_rate()
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        self.inner.state(extra)
    }
}
