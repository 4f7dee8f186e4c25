//! One direction of a dialogue, in which both endpoints of a connection send messages. Each direction is a connection
//! of the simulator with its own sender and receiver; both share the handshake.

use cwndlab_traffic::dialogue::{Dialogue, End, MessageQueue};
use cwndlab_traffic::NEVER;
use cwndlab_units::{ConnectionId, FlowId, Time};

/// One direction of a dialogue.
#[derive(Debug)]
pub(crate) struct Direction {
    /// The connection of the other direction.
    pub(crate) peer: ConnectionId,
    /// The messages of this direction.
    pub(crate) messages: MessageQueue,
    /// Time of the next action of the application: of its opener in the direction of the plan's flow, of the other end in
    /// the opposite direction.
    pub(crate) next: Time,
    /// The first connection has been opened.
    pub(crate) opened: bool,
    /// The endpoint that did not open the connection has accepted it.
    pub(crate) accepted: bool,
    /// The application, in the direction of the plan's flow only.
    pub(crate) application: Option<Box<dyn Dialogue>>,
}

impl Direction {
    /// A direction, with the first action of its application, if any, at `start`.
    pub(crate) fn new(peer: ConnectionId, start: Time, application: Option<Box<dyn Dialogue>>) -> Self {
        Self { peer, messages: MessageQueue::default(), next: start, opened: false, accepted: false, application }
    }

    /// A direction without application.
    pub(crate) fn responding(peer: ConnectionId) -> Self {
        Self::new(peer, NEVER, None)
    }

    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.messages.memory() + self.application.as_ref().map_or(0, |one| size_of_val(&**one))
    }
}

/// The two connections of a dialogue.
#[derive(Clone, Copy)]
pub(crate) struct Endpoints {
    /// The flow, whose first connection is that from its sender to its receiver.
    pub(crate) flow: FlowId,
    /// The connection from the flow's receiver to its sender.
    pub(crate) backward: ConnectionId,
}

impl Endpoints {
    /// The connection on which an endpoint sends.
    pub(crate) fn from(self, end: End) -> ConnectionId {
        match end {
            End::Sender => self.flow.into(),
            End::Receiver => self.backward,
        }
    }

    /// The connection on which an endpoint receives.
    pub(crate) fn to(self, end: End) -> ConnectionId {
        match end {
            End::Sender => self.backward,
            End::Receiver => self.flow.into(),
        }
    }
}
