//! Workloads: what flows send, and when. A workload is one file with its `SPEC` (fields, units, defaults, ranges, source) and
//! its configuration, and one line in the list below (`docs/add-a-workload.md`).

use cwndlab_config::{registry, Choice, Faults, Reader};
use cwndlab_units::{Bytes, Rate};
use serde_json::Value;

use crate::application::{Application, ApplicationKind, Offered};
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

            /// Which application its flows have.
            #[must_use]
            pub fn application_kind(&self) -> ApplicationKind {
                match self {
                    $(Self::$name(config) => config.application_kind(),)*
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NEVER;
    use serde_json::json;

    fn read(document: &Value) -> Workload {
        let transport = if document["rate"].is_string() { Transport::Udp } else { Transport::Tcp };
        let mut faults = Faults::default();
        let read = Workload::from_document(document, String::new(), transport, &mut faults);
        read.unwrap_or_else(|| panic!("{document}: {faults:?}"))
    }

    /// Engines prepare flows by the kind, before they have the application.
    #[test]
    fn a_workload_knows_which_application_it_has() {
        let documents = [
            json!({ "kind": "bulk" }),
            json!({ "kind": "bulk", "bytes": "1 MB" }),
            json!({ "kind": "on-off", "on": "1 s", "off": "1 s" }),
            json!({ "kind": "on-off", "on": "1 s", "off": "1 s", "rate": "1 Mbps" }),
            json!({ "kind": "transfers", "bytes": "1 MB", "count": 1 }),
            json!({ "kind": "arrivals", "per_second": 1.0, "size": "1 MB" }),
            json!({ "kind": "request-response", "request": "1 kB", "response": "1 kB" }),
            json!({ "kind": "mqtt", "period": "1 s" }),
            json!({ "kind": "cbr", "rate": "1 Mbps" }),
            json!({ "kind": "vbr", "rate": "1 Mbps" }),
            json!({ "kind": "page-loads" }),
        ];
        for spec in SPECS {
            assert!(documents.iter().any(|one| one["kind"] == spec.name), "{} has no example", spec.name);
        }
        for document in documents {
            let workload = read(&document);
            let flow = FlowContext { flow: 0, seed: 1, stop: NEVER, header: Bytes(40) };
            let kind = match workload.application(&flow) {
                Application::ByteSource(_) => {
                    ApplicationKind::ByteSource { bulk: document == json!({ "kind": "bulk" }) }
                }
                Application::Arrivals(_) => ApplicationKind::Arrivals,
                Application::Dialogue(dialogue) => ApplicationKind::Dialogue(dialogue.opener()),
                Application::Datagrams(_) => ApplicationKind::Datagrams,
            };
            assert_eq!(workload.application_kind(), kind, "{document}");
        }
    }
}
