//! The properties of a flow that its application uses.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, FlowId, Time};

/// The properties of the flow of an application.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    /// The flow.
    pub flow: FlowId,
    /// Seed of the run.
    pub seed: u64,
    /// Time at which the application stops.
    pub stop: Time,
    /// Size of a packet's headers.
    pub header: Bytes,
}

impl FlowContext {
    /// The flow's random stream for this purpose.
    #[must_use]
    pub fn stream(&self, purpose: Purpose) -> Stream {
        Stream::new(self.seed, purpose, u64::from(self.flow))
    }
    /// A further random stream of the flow for this purpose, in an application that needs several.
    #[must_use]
    pub fn further_stream(&self, purpose: Purpose) -> Stream {
        Stream::of_part(self.seed, purpose, 1, u64::from(self.flow))
    }
}
