//! One direction of a dialogue. In a dialogue both ends of a connection send messages: each direction is a connection of
//! the simulator with its own sender and receiver, and the two share the handshake.

use cwndlab_scenario::plan::Workload;
use cwndlab_traffic::messages::MessageQueue;
use cwndlab_traffic::mqtt::Publisher;
use cwndlab_traffic::request_response::Client;
use cwndlab_traffic::NEVER;
use cwndlab_units::Time;

/// The application that drives a dialogue.
#[derive(Debug)]
pub(crate) enum Application {
    /// A client that sends requests.
    Client(Client),
    /// A sensor that publishes.
    Publisher(Publisher),
}

impl Application {
    /// The application of a flow; `None` if its workload has no dialogue.
    pub(crate) fn new(workload: &Workload, flow: u32, seed: u64) -> Option<Self> {
        let client = Client::new(workload, flow, seed).map(Self::Client);
        client.or_else(|| Publisher::new(workload, flow, seed).map(Self::Publisher))
    }
}

/// One direction.
#[derive(Debug)]
pub(crate) struct Dialogue {
    /// The connection of the other direction.
    pub(crate) peer: u32,
    /// The messages of this direction.
    pub(crate) messages: MessageQueue,
    /// When the application acts next.
    pub(crate) next: Time,
    /// Whether the first connection was opened.
    pub(crate) opened: bool,
    /// Only in the direction of the plan's flow.
    pub(crate) application: Option<Box<Application>>,
}

impl Dialogue {
    /// A direction; its application, if it has one, acts first at `start`.
    pub(crate) fn new(peer: u32, start: Time, application: Option<Application>) -> Self {
        let application = application.map(Box::new);
        Self { peer, messages: MessageQueue::default(), next: start, opened: false, application }
    }

    /// The direction that only responds.
    pub(crate) fn responding(peer: u32) -> Self {
        Self::new(peer, NEVER, None)
    }

    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.messages.memory() + size_of::<Application>()
    }
}
