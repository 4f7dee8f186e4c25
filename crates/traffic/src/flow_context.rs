//! What an application is told of its flow.

use cwndlab_network::random::Stream;
use cwndlab_units::{Bytes, Time};

/// The flow that an application belongs to.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    /// Its number.
    pub flow: u32,
    /// The seed of the run.
    pub seed: u64,
    /// When the application stops.
    pub stop: Time,
    /// Headers of a packet.
    pub header: Bytes,
}

impl FlowContext {
    /// The flow's random stream for this purpose.
    #[must_use]
    pub fn stream(&self, purpose: u64) -> Stream {
        Stream::new(self.seed, purpose, u64::from(self.flow))
    }
}
