//! The events of a case, recorded to be reported again.

use cwndlab_control::{Ack, Congestion, Window};

use crate::event::Event;

/// An event as it is kept.
#[derive(Clone, Debug)]
pub(crate) enum RecordedEvent {
    Ack(Ack),
    Congestion(Congestion),
    Window(Window),
}

impl RecordedEvent {
    /// What is kept of an event; segments that leave are not.
    pub(crate) fn of(event: &Event<'_>) -> Option<Self> {
        match event {
            Event::Ack(ack) => Some(Self::Ack((*ack).clone())),
            Event::Congestion(event) => Some(Self::Congestion((*event).clone())),
            Event::Window(window, _) => Some(Self::Window(**window)),
            Event::Made(_) | Event::Sent(_) => None,
        }
    }
}
