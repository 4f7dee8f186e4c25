//! One direction of a dialogue. In a dialogue both ends of a connection send messages: each direction is a connection of
//! the simulator with its own sender and receiver, and the two share the handshake.

use cwndlab_traffic::dialogue::{Dialogue, End, MessageQueue};
use cwndlab_traffic::NEVER;
use cwndlab_units::Time;

/// One direction.
#[derive(Debug)]
pub(crate) struct Direction {
    /// The connection of the other direction.
    pub(crate) peer: u32,
    /// The messages of this direction.
    pub(crate) messages: MessageQueue,
    /// When the application acts next.
    pub(crate) next: Time,
    /// Whether the first connection was opened.
    pub(crate) opened: bool,
    /// Whether the end that did not open the connection takes part in it.
    pub(crate) accepted: bool,
    /// Only in the direction of the plan's flow.
    pub(crate) application: Option<Box<dyn Dialogue>>,
}

impl Direction {
    /// A direction; its application, if it has one, acts first at `start`.
    pub(crate) fn new(peer: u32, start: Time, application: Option<Box<dyn Dialogue>>) -> Self {
        Self { peer, messages: MessageQueue::default(), next: start, opened: false, accepted: false, application }
    }

    /// The direction that only responds.
    pub(crate) fn responding(peer: u32) -> Self {
        Self::new(peer, NEVER, None)
    }

    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.messages.memory() + self.application.as_ref().map_or(0, |one| size_of_val(&**one))
    }
}

/// The connections of a dialogue: the flow's own, whose sender is the flow's, and the one of the other direction.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    /// From the flow's sender to its receiver.
    pub(crate) forward: usize,
    /// From its receiver to its sender.
    pub(crate) backward: usize,
}

impl Ends {
    /// The connection on which an end sends.
    pub(crate) fn from(self, end: End) -> usize {
        match end {
            End::Sender => self.forward,
            End::Receiver => self.backward,
        }
    }

    /// The connection on which an end receives.
    pub(crate) fn to(self, end: End) -> usize {
        match end {
            End::Sender => self.backward,
            End::Receiver => self.forward,
        }
    }
}
