//! Workloads: what flows send, and when. A workload is one file with its `SPEC` (fields, units, defaults, ranges, source) and
//! its configuration, and one line in the list below (`docs/add-a-workload.md`).

use cwndlab_config::{registry, Choice, Faults, Reader};
use cwndlab_units::{Bytes, Rate};
use serde_json::Value;

use crate::application::{Application, FlowContext, Offered};

mod packets;

pub use packets::UDP_HEADER;

/// What carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A connection with congestion control.
    Tcp,
    /// Packets alone.
    Udp,
}

/// Sizes of a connection's packets.
#[derive(Clone, Copy, Debug)]
pub struct PacketSizes {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// A packet without payload.
    pub ack: Bytes,
}

/// The configuration of a workload.
pub trait Configuration: Sized {
    /// What it may be carried by.
    const TRANSPORTS: &'static [Transport] = &[Transport::Tcp];

    /// Reads the fields of its `SPEC`.
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self>;

    /// Checks fields whose meaning depends on what carries the flow.
    fn check(&self, _transport: Transport, _table: &Reader<'_>, _faults: &mut Faults) {}

    /// The application of a flow at its beginning.
    fn application(&self, flow: &FlowContext) -> Application;

    /// What it offers to the network.
    fn offered(&self) -> Offered {
        Offered::Unknown
    }

    /// The most connections that it has at once beside the flow's own.
    fn secondary_connections(&self) -> u32 {
        0
    }

    /// Over UDP: bytes of its largest packet, headers included.
    fn packet(&self) -> Option<Bytes> {
        None
    }

    /// Its rate is a share of the slowest line of the route.
    fn needs_line(&self) -> bool {
        false
    }

    /// Tells it the rate of that line, and what its packets carry.
    fn set_line(&mut self, _rate: Rate, _sizes: &PacketSizes) {}
}

macro_rules! workloads {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// What an application sends.
            #[derive(Clone, Debug, PartialEq)] Workload
            $($name => $module,)*
        }

        /// What the workload of this name may be carried by.
        fn transports(name: &str) -> &'static [Transport] {
            $(if name == $module::SPEC.name {
                return $module::Config::TRANSPORTS;
            })*
            &[]
        }

        impl Workload {
            fn check(&self, transport: Transport, table: &Reader<'_>, faults: &mut Faults) {
                match self {
                    $(Self::$name(config) => config.check(transport, table, faults),)*
                }
            }

            /// The application of a flow at its beginning.
            #[must_use]
            pub fn application(&self, flow: &FlowContext) -> Application {
                match self {
                    $(Self::$name(config) => config.application(flow),)*
                }
            }

            /// What it offers to the network.
            #[must_use]
            pub fn offered(&self) -> Offered {
                match self {
                    $(Self::$name(config) => config.offered(),)*
                }
            }

            /// The most connections that it has at once beside the flow's own.
            #[must_use]
            pub fn secondary_connections(&self) -> u32 {
                match self {
                    $(Self::$name(config) => config.secondary_connections(),)*
                }
            }

            /// Over UDP: bytes of its largest packet, headers included.
            #[must_use]
            pub fn packet(&self) -> Option<Bytes> {
                match self {
                    $(Self::$name(config) => config.packet(),)*
                }
            }

            /// Its rate is a share of the slowest line of the route.
            #[must_use]
            pub fn needs_line(&self) -> bool {
                match self {
                    $(Self::$name(config) => config.needs_line(),)*
                }
            }

            /// Tells it the rate of that line, and what its packets carry.
            pub fn set_line(&mut self, rate: Rate, sizes: &PacketSizes) {
                match self {
                    $(Self::$name(config) => config.set_line(rate, sizes),)*
                }
            }
        }
    };
}

workloads! {
    Bulk => bulk,
    OnOff => on_off,
    Transfers => transfers,
    Arrivals => arrivals,
    RequestResponse => request_response,
    Mqtt => mqtt,
    Cbr => cbr,
    Vbr => vbr,
    PageLoads => page_loads,
}

/// The choice of a workload by `kind`.
pub static CHOICE: Choice = Choice {
    name: "workload",
    tag: "kind",
    default: None,
    example: "'kind = \"bulk\"', \"on-off\" or \"transfers\"",
    shorthand: false,
    tables: || SPECS.to_vec(),
};

/// What a flow over UDP may have as its workload.
pub const UDP_EXAMPLE: &str = "write 'workload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"1500 B\" }'";

impl Workload {
    /// As much as possible, without end: what a flow over TCP sends if it names no workload.
    pub const BULK: Self = Self::Bulk(bulk::Config { bytes: None });

    /// Reads a workload from a document, where it stands at `path`.
    pub fn from_document(value: &Value, path: String, transport: Transport, faults: &mut Faults) -> Option<Self> {
        let table = Reader::choose(value, path, &CHOICE, faults)?;
        let word = table.declared().name;
        if !transports(word).contains(&transport) {
            let (what, hint) = match transport {
                Transport::Udp => (format!("'{word}' is sent by TCP, and the flow's transport is UDP"), UDP_EXAMPLE),
                Transport::Tcp => (
                    format!("'{word}' is sent by UDP, and the flow's transport is TCP"),
                    "write 'transport = \"udp\"' and no algorithm",
                ),
            };
            faults.add(table.at("kind"), what, hint);
            return None;
        }
        let workload = Self::read(&table, faults)?;
        workload.check(transport, &table, faults);
        Some(workload)
    }
}

/// Fields that several workloads have.
mod fields {
    use cwndlab_config::{Field, Kind};

    pub(super) const COUNT: Field = Field::new("count", Kind::Whole(1, u64::MAX), "how many").absent("without end");
    pub(super) const NEW_CONNECTION: Field = Field::flag("new_connection", false, "each over a connection of its own");
}
