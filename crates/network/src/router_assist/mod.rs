//! Router assistance: what a router does for schemes that ask it. Each is tested alone against scripted arrivals.
//!
//! An agent belongs to a link. It sees every packet that is offered to it, and writes on those whose header speaks its
//! scheme. Rates are in bit/s (f64), times in nanoseconds, sizes in bytes on the wire. A scheme is one file and one line in
//! the list below.

use cwndlab_config::{registry, Choice, Faults, Reader};

pub use abc::Abc;
pub use perc::Perc;
pub use quick_start::QuickStart;
pub use rcp::Rcp;
pub use sirens::Sirens;
pub use stamp::Stamp;

/// The configuration of a scheme's agent.
trait Configuration: Sized {
    /// The agent at work.
    type Agent;

    /// Reads the fields of its `SPEC`.
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self>;

    /// An agent of a line of `capacity` bit/s.
    fn build(&self, capacity: f64) -> Self::Agent;
}

macro_rules! schemes {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of any scheme's agent.
            #[derive(Clone, Debug, PartialEq)] Config
            $($name => $module,)*
        }

        /// The scheme that a header speaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Scheme {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name,)*
        }

        impl Config {
            /// The scheme.
            #[must_use]
            pub fn scheme(&self) -> Scheme {
                match self {
                    $(Self::$name(_) => Scheme::$name,)*
                }
            }

            /// An agent of a line of `capacity` bit/s.
            #[must_use]
            pub fn build(&self, capacity: f64) -> Agent {
                match self {
                    $(Self::$name(config) => Agent::$name(config.build(capacity)),)*
                }
            }
        }

        /// An agent at work.
        #[derive(Clone, Debug)]
        pub enum Agent {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($name),)*
        }

        impl Agent {
            /// The headers that it answers.
            #[must_use]
            pub fn scheme(&self) -> Scheme {
                match self {
                    $(Self::$name(_) => Scheme::$name,)*
                }
            }

            /// A packet is offered to the link; one whose header speaks the agent's scheme is written on.
            pub fn pass(&mut self, arrival: Arrival, header: Option<&mut Header>) {
                let scheme = self.scheme();
                let mut header = header.filter(|header| header.scheme == scheme);
                if let Some(header) = &mut header {
                    header.routers += u8::from(arrival.router);
                }
                match self {
                    $(Self::$name(agent) => agent.pass(arrival, header),)*
                }
            }
        }
    };
}

schemes! {
    QuickStart => quick_start,
    Sirens => sirens,
    Stamp => stamp,
    Rcp => rcp,
    Perc => perc,
    Abc => abc,
}

/// The choice of an agent by `scheme`; its name alone takes the defaults.
pub static CHOICE: Choice = Choice {
    name: "agent",
    tag: "scheme",
    default: None,
    example: "'scheme = \"rcp\"', or just its name in the list",
    shorthand: true,
    tables: || SPECS.to_vec(),
};

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
    /// The sender's smoothed round-trip time, ns; zero before it has one.
    pub rtt: u64,
    /// PERC: what each link of the route allotted on the last round, bit/s.
    pub shares: [f64; MAX_HOPS],
}

impl Header {
    /// A header as it leaves the sender.
    #[must_use]
    pub fn new(scheme: Scheme, rate: f64, rtt: u64) -> Self {
        Self { scheme, rate, routers: 0, accelerate: true, rtt, shares: [f64::INFINITY; MAX_HOPS] }
    }
}

/// A packet as an agent sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrives at the link.
    pub now: u64,
    /// Bytes on the wire.
    pub size: u32,
    /// Its flow.
    pub flow: u32,
    /// The place of the link in the flow's route, from 0.
    pub hop: u8,
    /// How long the line is still busy with what came before, ns.
    pub backlog: u64,
    /// It opens the connection.
    pub syn: bool,
    /// The link leaves a router, not the sender itself: its answer counts.
    pub router: bool,
}

/// The load of a link, over intervals one after another.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    interval: u64,
    start: u64,
    bytes: u64,
    rate: f64,
}

impl Meter {
    /// A meter of an idle link.
    #[must_use]
    pub fn new(interval: u64) -> Self {
        Self { interval: interval.max(1), start: 0, bytes: 0, rate: 0.0 }
    }

    /// A packet passes.
    pub fn count(&mut self, now: u64, size: u32) {
        self.turn(now);
        self.bytes += u64::from(size);
    }

    /// Bits per second of the last interval that is over. One that lasted longer, since nobody looked, counts whole.
    pub fn rate(&mut self, now: u64) -> f64 {
        self.turn(now);
        self.rate
    }

    fn turn(&mut self, now: u64) {
        let passed = now.saturating_sub(self.start);
        if passed >= self.interval {
            self.rate = self.bytes as f64 * 8e9 / passed as f64;
            (self.start, self.bytes) = (now, 0);
        }
    }
}

#[cfg(test)]
pub(crate) mod scripted {
    use super::Arrival;

    /// A full packet of flow 0 at `now`.
    pub(crate) fn packet(now: u64) -> Arrival {
        Arrival { now, size: 1500, flow: 0, hop: 1, backlog: 0, syn: false, router: true }
    }

    /// Milliseconds in nanoseconds.
    pub(crate) const MS: u64 = 1_000_000;
}

#[cfg(test)]
mod tests {
    use super::scripted::{packet, MS};
    use super::*;

    /// By hand: 100 packets of 1500 bytes in 100 ms are 12 Mbit/s; after 900 ms of silence the long interval counts.
    #[test]
    fn a_meter_tells_the_last_interval() {
        let mut meter = Meter::new(100 * MS);
        for n in 0..100 {
            meter.count(n * MS, 1500);
        }
        assert_eq!(meter.rate(99 * MS), 0.0);
        assert_eq!(meter.rate(100 * MS), 12e6);
        assert_eq!(meter.rate(1100 * MS), 0.0);
    }

    #[test]
    fn an_agent_writes_only_on_headers_of_its_own_scheme() {
        let mut agent = Agent::Sirens(Sirens::new(100e6, 100 * MS));
        let mut other = Header::new(Scheme::Rcp, f64::INFINITY, 0);
        agent.pass(packet(0), Some(&mut other));
        assert_eq!((other.routers, other.rate), (0, f64::INFINITY));
        let mut mine = Header::new(Scheme::Sirens, f64::INFINITY, 0);
        agent.pass(packet(0), Some(&mut mine));
        assert_eq!((mine.routers, mine.rate), (1, 100e6));
    }
}
