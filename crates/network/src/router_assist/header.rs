//! The packet header of router-assisted schemes.

use cwndlab_units::Duration;

use super::scheme::Scheme;

/// Maximum number of links of a route for which a header of PERC has separate entries.
pub const MAX_HOPS: usize = 16;

/// A packet header of a router-assisted scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// The scheme whose agents update the header.
    pub scheme: Scheme,
    /// Minimum of the rates written by routers, bit/s; initially the rate that the sender requests (infinity: no
    /// limit).
    pub rate: f64,
    /// Number of routers that updated the header.
    pub routers: u8,
    /// ABC: "accelerate"; a router may change it to "brake".
    pub accelerate: bool,
    /// The sender's SRTT; zero before the first RTT sample.
    pub rtt: Duration,
    /// PERC: rate allotted by each link of the route in the last round, bit/s.
    pub shares: [f64; MAX_HOPS],
}

impl Header {
    /// A header as sent by the sender; `rate` in bit/s.
    #[must_use]
    pub fn new(scheme: Scheme, rate: f64, rtt: Duration) -> Self {
        Self { scheme, rate, routers: 0, accelerate: true, rtt, shares: [f64::INFINITY; MAX_HOPS] }
    }
}
