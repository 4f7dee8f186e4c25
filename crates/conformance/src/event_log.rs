//! Recorded events of a case, for a replay.

use cwndlab_control::{Ack, Congestion, Window};

use crate::event::Event;

/// A recorded event.
#[derive(Clone, Debug)]
pub(crate) enum RecordedEvent {
    Ack(Ack),
    Congestion(Congestion),
    Window(Window),
}

impl RecordedEvent {
    /// The record of an event; `None` for events that are not recorded.
    pub(crate) fn of(event: &Event<'_>) -> Option<Self> {
        match event {
            Event::Ack(ack) => Some(Self::Ack((*ack).clone())),
            Event::Congestion(event) => Some(Self::Congestion((*event).clone())),
            Event::Window(window, _) => Some(Self::Window(**window)),
            Event::Created(_) | Event::Sent(_) => None,
        }
    }
}
