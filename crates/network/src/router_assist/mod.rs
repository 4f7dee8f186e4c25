//! Router assistance: what a router does for schemes that ask it. Each is tested alone against scripted arrivals.
//!
//! An agent belongs to a link. It sees every packet that is offered to it, and writes on those whose header speaks its
//! scheme. Rates are in bit/s (f64), sizes in bytes on the wire. A scheme is one file and one line in the list below.

mod arrival;
mod configuration;
mod header;
mod meter;

use cwndlab_config::{registry, Choice};

use configuration::Configuration;

pub use abc::Abc;
pub use arrival::Arrival;
pub use header::{Header, MAX_HOPS};
pub use meter::Meter;
pub use perc::Perc;
pub use quick_start::QuickStart;
pub use rcp::Rcp;
pub use sirens::Sirens;
pub use stamp::Stamp;

macro_rules! schemes {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of any scheme's agent.
            #[derive(Clone, Debug, PartialEq)] Config
            $($name => $module,)*
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

        /// The scheme of a header and of the agents that process it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Scheme {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name,)*
        }

        impl Scheme {
            /// The scheme of this name, as in its `SPEC`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                $(if name == $module::SPEC.name {
                    return Some(Self::$name);
                })*
                None
            }

            /// Its rates are shares of the line, headers of packets included.
            #[must_use]
            pub fn counts_headers(self) -> bool {
                match self {
                    $(Self::$name => $module::Config::COUNTS_HEADERS,)*
                }
            }

            /// The receiver returns the header with its ACKs, and the next request continues with what it says.
            #[must_use]
            pub fn is_returned(self) -> bool {
                match self {
                    $(Self::$name => $module::Config::IS_RETURNED,)*
                }
            }

            /// The rate that a sender requests, bit/s; `parameter` returns a parameter of the algorithm that uses the scheme.
            #[must_use]
            pub fn requested_rate(self, parameter: &dyn Fn(&str) -> f64) -> f64 {
                match self {
                    $(Self::$name => $module::Config::requested_rate(parameter),)*
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

#[cfg(test)]
mod tests {
    use super::arrival::scripted::packet;
    use super::*;
    use cwndlab_units::Duration;

    #[test]
    fn an_agent_writes_only_on_headers_of_its_own_scheme() {
        let mut agent = Agent::Sirens(Sirens::new(100e6, Duration::from_millis(100)));
        let mut other = Header::new(Scheme::Rcp, f64::INFINITY, Duration::ZERO);
        agent.pass(packet(0), Some(&mut other));
        assert_eq!((other.routers, other.rate), (0, f64::INFINITY));
        let mut mine = Header::new(Scheme::Sirens, f64::INFINITY, Duration::ZERO);
        agent.pass(packet(0), Some(&mut mine));
        assert_eq!((mine.routers, mine.rate), (1, 100e6));
    }
}
