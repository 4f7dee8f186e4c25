//! The interface of an agent's configuration.

use cwndlab_config::{Faults, Reader};

/// The configuration of an agent.
pub(super) trait Configuration: Sized {
    /// The state of the agent.
    type Agent;

    /// Reads the fields of `SPEC`.
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self>;

    /// An agent for a line of `capacity` bit/s.
    fn build(&self, capacity: f64) -> Self::Agent;
}
