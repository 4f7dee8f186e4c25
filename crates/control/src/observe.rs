//! A wrapper of a congestion control that observes each report.

use std::fmt;

use crate::contract::{Ack, Congestion, CongestionControl, Sent, Window};
use crate::event::Event;
use crate::report::Report;
use crate::state::{Extra, State};
use cwndlab_units::{Bytes, Rate};

/// Receives each report to an observed algorithm, and [delivers](Report::deliver) it. An undo restores the observer with
/// the algorithm; what must remain is shared by its copies.
pub trait Observer: fmt::Debug + Send + Clone + 'static {
    /// Delivers `report` to `control`, and returns the algorithm's event.
    fn observe(&mut self, report: Report, control: &mut dyn CongestionControl) -> Option<Event>;
}

/// An algorithm with an observer. Its window, rate and state are those of the algorithm.
#[derive(Clone, Debug)]
pub struct Observed<O> {
    control: Box<dyn CongestionControl>,
    observer: O,
}

impl<O: Observer> Observed<O> {
    /// Observes `control`, the algorithm of a new flow.
    #[must_use]
    pub fn new(control: Box<dyn CongestionControl>, observer: O) -> Self {
        Self { control, observer }
    }
}

impl<O: Observer> CongestionControl for Observed<O> {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.observer.observe(Report::Ack(ack.clone()), &mut *self.control)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let _ = self.observer.observe(Report::Congestion(event.clone()), &mut *self.control);
    }

    fn cwnd(&self) -> Bytes {
        self.control.cwnd()
    }

    fn on_sent(&mut self, sent: &Sent) {
        let _ = self.observer.observe(Report::Sent(*sent), &mut *self.control);
    }

    fn on_window(&mut self, window: &Window) {
        let _ = self.observer.observe(Report::Window(*window), &mut *self.control);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        self.control.state(extra)
    }
}
