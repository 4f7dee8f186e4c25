//! The events of a case.

use cwndlab_control::{Ack, Congestion, Path, Sent, Window};
use cwndlab_units::{Bytes, Time};

/// An event that is reported to an algorithm.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Creation of the algorithm.
    Created(&'a Path),
    /// `on_ack`.
    Ack(&'a Ack),
    /// `on_congestion`.
    Congestion(&'a Congestion),
    /// `on_window`, with the payload of a segment.
    Window(&'a Window, Bytes),
    /// `on_sent`.
    Sent(&'a Sent),
}

impl Event<'_> {
    /// Time of the event.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::Created(_) => Time::ZERO,
            Self::Ack(ack) => ack.now,
            Self::Congestion(event) => event.now,
            Self::Window(window, _) => window.now,
            Self::Sent(sent) => sent.now,
        }
    }
}
