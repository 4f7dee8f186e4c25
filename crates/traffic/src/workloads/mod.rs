//! Workloads of flows. A workload is one file with its `SPEC` (fields, units, defaults, ranges, source) and its
//! configuration, and one line in the list below (`docs/add-a-workload.md`).

use cwndlab_config::{registry, Choice, Faults, Reader};
use cwndlab_units::{Bytes, Rate};
use serde_json::Value;

use crate::application::{Application, OfferedLoad};
use crate::configuration::{Configuration, PacketSizes, Transport};
use crate::flow_context::FlowContext;

macro_rules! workloads {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of a flow's workload.
            #[derive(Clone, Debug, PartialEq)] Workload
            $($name => $module,)*
        }

        /// The transport protocols that the workload `name` supports.
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

            /// The application of a flow, in its initial state.
            #[must_use]
            pub fn application(&self, flow: &FlowContext) -> Application {
                match self {
                    $(Self::$name(config) => config.application(flow),)*
                }
            }

            /// The load that the workload offers to the network.
            #[must_use]
            pub fn offered_load(&self) -> OfferedLoad {
                match self {
                    $(Self::$name(config) => config.offered_load(),)*
                }
            }

            /// Maximum number of simultaneous connections in addition to the flow's own.
            #[must_use]
            pub fn secondary_connections(&self) -> u32 {
                match self {
                    $(Self::$name(config) => config.secondary_connections(),)*
                }
            }

            /// Size of the largest packet over UDP, headers included; `None` over TCP.
            #[must_use]
            pub fn packet(&self) -> Option<Bytes> {
                match self {
                    $(Self::$name(config) => config.packet(),)*
                }
            }

            /// Whether the workload's rate is a share of the slowest line of the route.
            #[must_use]
            pub fn needs_line(&self) -> bool {
                match self {
                    $(Self::$name(config) => config.needs_line(),)*
                }
            }

            /// Sets the rate of that line and the flow's packet sizes.
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

/// The selection of a workload by `kind`.
pub static CHOICE: Choice = Choice {
    name: "workload",
    tag: "kind",
    default: None,
    example: "'kind = \"bulk\"', \"on-off\" or \"transfers\"",
    shorthand: false,
    tables: || SPECS.to_vec(),
};

/// Hint with a workload for a flow over UDP.
pub const UDP_EXAMPLE: &str = "write 'workload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"1500 B\" }'";

impl Workload {
    /// Unlimited data: the default workload of a flow over TCP.
    pub const BULK: Self = Self::Bulk(bulk::Config { bytes: None });

    /// Reads the workload at `path` of a document. Errors are added to `faults`.
    pub fn from_document(value: &Value, path: String, transport: Transport, faults: &mut Faults) -> Option<Self> {
        let table = Reader::choose(value, path, &CHOICE, faults)?;
        let kind = table.declared().name;
        if !transports(kind).contains(&transport) {
            let (what, hint) = match transport {
                Transport::Udp => (format!("'{kind}' is a TCP workload, but the flow's transport is UDP"), UDP_EXAMPLE),
                Transport::Tcp => (
                    format!("'{kind}' is a UDP workload, but the flow's transport is TCP"),
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
