//! What a packet carries for the routers.

use cwndlab_units::Duration;

use super::Scheme;

/// The most links of a route on which PERC can tell them apart.
pub const MAX_HOPS: usize = 16;

/// What a packet carries for the routers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Which agents it speaks to.
    pub scheme: Scheme,
    /// The least rate that any router wrote, bit/s; as it leaves, what the sender asks for (infinity: anything).
    pub rate: f64,
    /// Routers that wrote.
    pub routers: u8,
    /// "Accelerate"; a router may turn it into "brake".
    pub accelerate: bool,
    /// The sender's smoothed round-trip time; zero before it has one.
    pub rtt: Duration,
    /// PERC: what each link of the route allotted on the last round, bit/s.
    pub shares: [f64; MAX_HOPS],
}

impl Header {
    /// A header as it leaves the sender.
    #[must_use]
    pub fn new(scheme: Scheme, rate: f64, rtt: Duration) -> Self {
        Self { scheme, rate, routers: 0, accelerate: true, rtt, shares: [f64::INFINITY; MAX_HOPS] }
    }
}
