//! Workloads: what flows send, and when. A workload is one file with its `SPEC` (fields, units, defaults, ranges, source) and
//! its configuration, and one line in the list below (`docs/add-a-workload.md`).

use cwndlab_config::{registry, Choice, Faults, Reader};
use cwndlab_units::{Bytes, Rate};
use serde_json::Value;

use crate::application::{Application, Offered};
use crate::configuration::{Configuration, PacketSizes, Transport};
use crate::flow_context::FlowContext;

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
