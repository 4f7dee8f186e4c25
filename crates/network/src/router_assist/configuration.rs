//! The interface of an agent's configuration.

/// The configuration of an agent, which [`fields!`](cwndlab_config::fields!) declares.
pub(super) trait Configuration: Sized {
    /// The state of the agent.
    type Agent;

    /// Rates include packet headers, as shares of the line; in other schemes they are rates of payload.
    const COUNTS_HEADERS: bool = false;

    /// The receiver returns the header with its ACKs, and the next request continues from its contents.
    const IS_RETURNED: bool = false;

    /// The agent also writes into the answer to a SYN, when it passes the router.
    fn answers(&self) -> bool {
        false
    }

    /// The rate that a sender requests, bit/s; infinity requests any rate. `parameter` returns a parameter of the
    /// algorithm that uses the scheme, if it exists.
    fn requested_rate(_parameter: &dyn Fn(&str) -> Option<f64>) -> f64 {
        f64::INFINITY
    }

    /// An agent for a line of `capacity` bit/s.
    fn build(&self, capacity: f64) -> Self::Agent;
}
