//! What the configuration of a scheme's agent is.

use cwndlab_config::{Faults, Reader};

/// The configuration of a scheme's agent.
pub(super) trait Configuration: Sized {
    /// The agent at work.
    type Agent;

    /// Reads the fields of its `SPEC`.
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self>;

    /// An agent of a line of `capacity` bit/s.
    fn build(&self, capacity: f64) -> Self::Agent;
}
