//! The events of a case: what an algorithm is told, and when.

use cwndlab_control::{Ack, Congestion, Path, Sent, Window};
use cwndlab_units::{Bytes, Time};

/// What an algorithm was told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It was made.
    Made(&'a Path),
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
    /// When.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::Made(_) => Time::ZERO,
            Self::Ack(ack) => ack.now,
            Self::Congestion(event) => event.now,
            Self::Window(window, _) => window.now,
            Self::Sent(sent) => sent.now,
        }
    }
}
