//! Workloads of flows. A workload is one file with its `SPEC` (name, source) and its configuration (fields, units,
//! defaults, ranges), and one line in the list below (`docs/add-a-workload.md`).

use cwndlab_config::{registry, Choice, Faults, Reader};
use cwndlab_units::{Bytes, Rate};
use serde_json::Value;

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{Configuration, PacketSizes, Transport};
use crate::flow_context::FlowContext;
use crate::media::custom::CustomControl;

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
            fn check_transport(&self, transport: Transport, table: &Reader<'_>, faults: &mut Faults) {
                match self {
                    $(Self::$name(config) => config.check_transport(transport, table, faults),)*
                }
            }

            /// The kind of application of its flows.
            #[must_use]
            pub fn application_kind(&self) -> ApplicationKind {
                match self {
                    $(Self::$name(config) => config.application_kind(),)*
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

            /// Names of the flows whose messages its application sends on.
            #[must_use]
            pub fn sources(&self) -> &[String] {
                match self {
                    $(Self::$name(config) => config.sources(),)*
                }
            }

            /// Maximum number of simultaneous connections in addition to the flow's own.
            #[must_use]
            pub fn secondary_connections(&self) -> u32 {
                match self {
                    $(Self::$name(config) => config.secondary_connections(),)*
                }
            }

            /// Whether its connections are QUIC's.
            #[must_use]
            pub fn is_quic(&self) -> bool {
                match self {
                    $(Self::$name(config) => config.is_quic(),)*
                }
            }

            /// Size of the largest packet over UDP, headers included; `None` over TCP.
            #[must_use]
            pub fn packet(&self) -> Option<Bytes> {
                match self {
                    $(Self::$name(config) => config.packet(),)*
                }
            }

            /// Whether its packets over UDP carry ECT(1).
            #[must_use]
            pub fn is_scalable(&self) -> bool {
                match self {
                    $(Self::$name(config) => config.is_scalable(),)*
                }
            }

            /// The congestion control for media that a class of the user implements.
            #[must_use]
            pub fn custom_control(&self) -> Option<&CustomControl> {
                match self {
                    $(Self::$name(config) => config.custom_control(),)*
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
    UdpRequestResponse => udp_request_response,
    Mqtt => mqtt,
    MqttSubscription => mqtt_subscription,
    Amqp => amqp,
    Xmpp => xmpp,
    Hl7 => hl7,
    Dicom => dicom,
    Rest => rest,
    Coap => coap,
    CoapTcp => coap_tcp,
    Cbr => cbr,
    Vbr => vbr,
    AdaptiveVideo => adaptive_video,
    Hosted => hosted,
    PageLoads => page_loads,
    ScheduledWrites => scheduled_writes,
    Call => call,
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
        workload.check_transport(transport, &table, faults);
        Some(workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NEVER;
    use serde_json::json;

    fn read(document: &Value) -> Workload {
        let udp = document["rate"].is_string()
            || ["coap", "udp-request-response", "adaptive-video", "hosted"]
                .iter()
                .any(|kind| document["kind"] == *kind);
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let mut faults = Faults::default();
        let read = Workload::from_document(document, String::new(), transport, &mut faults);
        read.unwrap_or_else(|| panic!("{document}: {faults:?}"))
    }

    /// A message without bytes never arrives, so that a dialogue with one would wait for it for ever. All such sizes of the
    /// workloads whose ends send messages are refused at zero.
    #[test]
    fn no_message_has_0_bytes() {
        let fields = [
            ("dicom", vec!["associate", "accept", "command", "response"]),
            ("amqp", vec!["sasl", "open", "begin", "attach", "flow", "disposition"]),
            ("xmpp", vec!["stream", "features", "sasl", "bind"]),
            ("rest", vec!["first_header", "header", "first_response_header", "response_header"]),
            ("page-loads", vec!["main", "object", "request"]),
            ("request-response", vec!["request", "response"]),
        ];
        for (kind, names) in fields {
            for name in names {
                let required = match kind {
                    "rest" => json!({ "gap": "1 s" }),
                    "page-loads" => json!({}),
                    "request-response" => json!({ "request": "1 kB", "response": "1 kB" }),
                    _ => json!({ "period": "1 s" }),
                };
                let mut document = required;
                document["kind"] = json!(kind);
                let mut faults = Faults::default();
                Workload::from_document(&document, String::new(), Transport::Tcp, &mut faults);
                assert!(faults.0.is_empty(), "{document}");
                document[name] = json!("0 B");
                Workload::from_document(&document, String::new(), Transport::Tcp, &mut faults);
                assert!(faults.0.iter().any(|one| format!("{one:?}").contains(name)), "{document}");
            }
        }
    }

    /// A timer that expires each nanosecond would be all that a run does; a keep-alive of zero is none.
    #[test]
    fn a_timer_takes_a_millisecond_at_least() {
        let cases = [
            (json!({ "kind": "mqtt", "period": "1 s" }), vec!["keep_alive", "response_timeout"], Transport::Tcp),
            (json!({ "kind": "mqtt-subscription", "sources": ["one"] }), vec!["keep_alive"], Transport::Tcp),
            (json!({ "kind": "xmpp", "period": "1 s" }), vec!["keep_alive", "response_timeout"], Transport::Tcp),
            (json!({ "kind": "coap-tcp", "period": "1 s" }), vec!["keep_alive"], Transport::Tcp),
            (json!({ "kind": "coap", "period": "1 s" }), vec!["ack_timeout", "max_age"], Transport::Udp),
            (
                json!({ "kind": "udp-request-response", "request": "1 B", "response": "1 B" }),
                vec!["timeout"],
                Transport::Udp,
            ),
            (json!({ "kind": "adaptive-video" }), vec!["feedback"], Transport::Udp),
        ];
        for (document, names, transport) in cases {
            for name in names {
                for (time, is_refused) in [("1 ns", true), ("999 us", true), ("1 ms", false)] {
                    let mut document = document.clone();
                    document[name] = json!(time);
                    let found = faults(&document, transport);
                    let expected = format!("{name}: is shorter than 1 ms");
                    assert_eq!(found.iter().any(|one| one.starts_with(&expected)), is_refused, "{document} {found:?}");
                }
            }
        }
    }

    fn faults(document: &Value, transport: Transport) -> Vec<String> {
        let mut faults = Faults::default();
        Workload::from_document(document, String::new(), transport, &mut faults);
        faults.0.iter().map(ToString::to_string).collect()
    }

    /// By hand: 127 numbers of streams, beside the marker of a stop and the request, fit one byte. The smallest rate of libwebrtc
    /// is 5 kbit/s; RFC 7959, section 2.2, numbers 2²⁰ blocks; a datagram of 1500 bytes has 1472 of UDP, of which DTLS 1.3 takes 11
    /// and DTLS 1.2 takes 29; notifications do not come in blocks.
    #[test]
    fn what_a_workload_cannot_be_is_refused() {
        let streams = |count| vec![json!({ "frame_rate": 1, "frame": "80 B" }); count];
        let call = |streams: Vec<Value>| json!({ "kind": "call", "streams": streams });
        let late = json!({ "frame_rate": 1, "frame": "80 B", "stop_after": "1 s" });
        let gcc =
            |rate: &str| json!({ "kind": "adaptive-video", "control": "gcc", "min_rate": "1 kbps", "max_rate": rate });
        let frames = |rate| json!({ "kind": "adaptive-video", "frame_rate": rate });
        let blocks =
            |size: u64| json!({ "kind": "coap", "period": "1 s", "block": "16 B", "payload": format!("{size} B") });
        let dtls = |version: &str, size: u64| {
            json!({ "kind": "udp-request-response", "request": "1 B", "response": format!("{size} B"), "dtls": version,
                "dtls_authentication": "certificates" })
        };
        let observe = |size: u64, most: &str| {
            json!({ "kind": "coap-tcp", "method": "observe", "period": "1 s", "payload": format!("{size} B"),
                "max_message_size": most })
        };
        let (tcp, udp) = (Transport::Tcp, Transport::Udp);
        for (valid, refused, transport, expected) in [
            (call(streams(127)), call(streams(128)), tcp, "streams: a call has 1 to 127 streams"),
            (call(streams(1)), call(vec![late]), tcp, "streams: a stream with 'stop_after' has no 'group'"),
            (gcc("5 kbps"), gcc("4999 bps"), udp, "max_rate: is less than 5 kbps"),
            (frames(0.01), frames(0.009), udp, "frame_rate: is less than 0.01"),
            (blocks(16 << 20), blocks((16 << 20) + 1), udp, "payload: is more than 1048576 blocks"),
            (dtls("none", 1472), dtls("none", 1473), udp, "response: is larger than 1472 B"),
            (dtls("1.3", 1461), dtls("1.3", 1462), udp, "response: is larger than 1461 B"),
            (dtls("1.2", 1443), dtls("1.2", 1444), udp, "response: is larger than 1443 B"),
            (observe(1024, "1152 B"), observe(1025, "1152 B"), tcp, "payload: is larger than 1024 B"),
            (observe(7168, "8 kB"), observe(7169, "8 kB"), tcp, "payload: is larger than 7168 B"),
        ] {
            assert_eq!(faults(&valid, transport), Vec::<String>::new(), "{valid}");
            let found = faults(&refused, transport);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{refused} {found:?}");
        }
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
            json!({ "kind": "mqtt-subscription", "sources": ["sensors"] }),
            json!({ "kind": "amqp", "period": "1 s" }),
            json!({ "kind": "xmpp", "period": "1 s" }),
            json!({ "kind": "hl7", "period": "1 s" }),
            json!({ "kind": "dicom", "period": "1 s" }),
            json!({ "kind": "rest", "gap": "1 s" }),
            json!({ "kind": "rest", "gap": "1 s", "client": "sender", "tls": "1.3-0rtt" }),
            json!({ "kind": "rest", "gap": "1 s", "http": "3", "tls": "1.3" }),
            json!({ "kind": "coap", "period": "1 s" }),
            json!({ "kind": "coap-tcp", "period": "1 s", "method": "get" }),
            json!({ "kind": "udp-request-response", "request": "60 B", "response": "200 B" }),
            json!({ "kind": "cbr", "rate": "1 Mbps" }),
            json!({ "kind": "vbr", "rate": "1 Mbps" }),
            json!({ "kind": "adaptive-video" }),
            json!({ "kind": "hosted", "stack": "quinn" }),
            json!({ "kind": "page-loads" }),
            json!({ "kind": "call", "streams": [{ "frame_rate": 50, "frame": "80 B" }] }),
            json!({ "kind": "scheduled-writes", "steps": [{ "at": "0 s", "rate": "unlimited" }] }),
        ];
        for spec in SPECS {
            assert!(documents.iter().any(|one| one["kind"] == spec.name), "{} has no example", spec.name);
        }
        for document in documents {
            let workload = read(&document);
            let flow = FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) };
            let kind = match workload.application(&flow) {
                Application::ByteSource(_) => {
                    ApplicationKind::ByteSource { bulk: document == json!({ "kind": "bulk" }) }
                }
                Application::Arrivals(_) => ApplicationKind::Arrivals,
                Application::Dialogue(dialogue) => ApplicationKind::Dialogue(dialogue.opener()),
                Application::Datagrams(_) => ApplicationKind::Datagrams,
                Application::Exchange(_) => ApplicationKind::Exchange,
            };
            assert_eq!(workload.application_kind(), kind, "{document}");
        }
    }
}
