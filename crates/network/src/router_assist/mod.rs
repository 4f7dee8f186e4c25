//! Router assistance: the router side of schemes in which routers write feedback into packet headers.
//!
//! An agent belongs to a link. It processes every packet that arrives at the link and updates the headers of its own
//! scheme. Rates are in bit/s (f64), sizes in bytes on the wire. A scheme is one file and one line in the list below.
//! Tests run each agent alone with scripted arrivals.

mod arrival;
mod configuration;
mod header;
mod load_meter;
mod scheme;

use cwndlab_config::{registry, Choice};
use cwndlab_units::{ConnectionId, Time};

use configuration::Configuration;

pub use abc::Abc;
pub use arrival::Arrival;
pub use header::{Header, MAX_HOPS};
pub use load_meter::LoadMeter;
pub use perc::Perc;
pub use quick_start::QuickStart;
pub use rcp::Rcp;
pub use scheme::Scheme;
pub use sirens::Sirens;
pub use stamp::Stamp;

macro_rules! schemes {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of an agent.
            #[derive(Clone, Debug, PartialEq)] Config
            $($name => $module,)*
        }

        impl Config {
            /// The scheme of the agent.
            #[must_use]
            pub fn scheme(&self) -> Scheme {
                match self {
                    $(Self::$name(_) => Scheme(Position::$name as u8),)*
                }
            }

            /// The agent also writes into SYN-ACKs that pass its router: [`Agent::on_syn_ack`].
            #[must_use]
            pub fn answers(&self) -> bool {
                match self {
                    $(Self::$name(config) => config.answers(),)*
                }
            }

            /// An agent for a line of `capacity` bit/s.
            #[must_use]
            pub fn build(&self, capacity: f64) -> Agent {
                match self {
                    $(Self::$name(config) => Agent::$name(config.build(capacity)),)*
                }
            }
        }

        /// All schemes; the index in this list identifies a scheme.
        #[derive(Clone, Copy)]
        enum Position {
            $($name,)*
        }

        impl Scheme {
            /// The scheme of this name, as in its `SPEC`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                SPECS.iter().zip(0..).find(|(spec, _)| spec.name == name).map(|(_, position)| Self(position))
            }

            /// Its rates are shares of the line, headers of packets included.
            #[must_use]
            pub fn counts_headers(self) -> bool {
                [$($module::Config::COUNTS_HEADERS),*][usize::from(self.0)]
            }

            /// The receiver returns the header with its ACKs, and the next request continues from its contents.
            #[must_use]
            pub fn is_returned(self) -> bool {
                [$($module::Config::IS_RETURNED),*][usize::from(self.0)]
            }

            /// The rate that a sender requests, bit/s; `parameter` returns a parameter of the algorithm that uses the scheme.
            #[must_use]
            pub fn requested_rate(self, parameter: &dyn Fn(&str) -> Option<f64>) -> f64 {
                [$($module::Config::requested_rate),*][usize::from(self.0)](parameter)
            }
        }

        /// The state of an agent.
        #[derive(Clone, Debug)]
        pub enum Agent {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($name),)*
        }

        impl Agent {
            /// The scheme whose headers the agent updates.
            #[must_use]
            pub fn scheme(&self) -> Scheme {
                match self {
                    $(Self::$name(_) => Scheme(Position::$name as u8),)*
                }
            }

            /// Processes a packet that arrives at the link; updates `header` if it belongs to the agent's scheme.
            pub fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
                let scheme = self.scheme();
                let mut header = header.filter(|header| header.scheme == scheme);
                if let Some(header) = &mut header {
                    header.routers += u8::from(arrival.router);
                }
                match self {
                    $(Self::$name(agent) => agent.on_packet(arrival, header),)*
                }
            }

            /// Processes the SYN-ACK of a connection whose SYN crossed the link, when it passes the router of the link
            /// at `now`; updates `header` if it belongs to the agent's scheme.
            pub fn on_syn_ack(&mut self, now: Time, connection: ConnectionId, header: &mut Header) {
                let scheme = self.scheme();
                if let Self::Stamp(agent) = self {
                    if header.scheme == scheme {
                        agent.on_syn_ack(now, connection, header);
                    }
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

/// The selection of an agent by `scheme`; the name alone selects the defaults.
pub static CHOICE: Choice = Choice {
    name: "agent",
    tag: "scheme",
    default: None,
    example: "'scheme = \"rcp\"', or the name itself in the list",
    shorthand: true,
    tables: || SPECS.to_vec(),
};

#[cfg(test)]
mod tests {
    use super::arrival::scripted::packet;
    use super::*;
    use cwndlab_units::Duration;

    fn named(name: &str) -> Scheme {
        Scheme::from_name(name).expect("a scheme of this name")
    }

    #[test]
    fn an_agent_updates_only_headers_of_its_own_scheme() {
        let mut agent = Agent::Sirens(Sirens::new(100e6, Duration::from_millis(100)));
        let mut other = Header::new(named("rcp"), f64::INFINITY, Duration::ZERO);
        agent.on_packet(packet(0), Some(&mut other));
        assert_eq!((other.routers, other.rate), (0, f64::INFINITY));
        let mut own = Header::new(named("sirens"), f64::INFINITY, Duration::ZERO);
        agent.on_packet(packet(0), Some(&mut own));
        assert_eq!((own.routers, own.rate), (1, 100e6));
    }
}
