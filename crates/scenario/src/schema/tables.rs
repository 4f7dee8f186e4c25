//! The tables of a scenario: names and meanings. The configurations that they contain declare their fields. Plug-ins declare
//! their tables in their own modules.

use cwndlab_config::{Custom, Faults, Reader, Table, TableType};
use serde_json::{json, Value};

use super::line::TraceFields;
use super::medium::{NamedMedium, StationFields};
use super::typed::{Access, Dumbbell, Flow, Link, NamedLink, Node, ParkingLot, Schema, Wlan};
use crate::class::ClassFields;
use crate::plan::{ControlDelay, HarqPlan, JitterPlan, NamedValuesPlan, StepPlan, TokenBucketPlan};
use crate::trace;

/// Declares tables. A configuration in parentheses is the value of fields that contain the table.
macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident: $(($value:ident))? $($fields:ident)? = $name:literal, $about:literal;)+) => {$(
        $(#[$doc])*
        pub static $table: Table = Table::new($name, $about, &[$($value::FIELDS)? $($fields::FIELDS)?]);

        $(impl TableType for $value {
            const TABLE: &'static Table = &$table;

            fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
                Self::read(table, faults)
            }
        })?
    )+};
}

tables! {
    /// A scenario.
    TOP: Schema = "scenario",
        "A scenario: network, flows, duration and what is recorded. The seed is not part of it.";
    /// The recorded variables of algorithms and transport.
    NAMED_VALUES: NamedValuesPlan = "named_values",
        "Variables of the algorithms and of the transport in the table `named_values`: a row for each value that changed since the last snapshot of its flow. Snapshots follow events of the sender: ACKs, timers, writes.";
    /// A user-defined algorithm.
    CLASS: ClassFields = "algorithm", "A user-defined algorithm.";
    /// A dumbbell.
    DUMBBELL: (Dumbbell) = "dumbbell", "Sources, r1, the bottleneck, r2, destinations.";
    /// A parking lot.
    PARKING_LOT: (ParkingLot) = "parking_lot", "Bottlenecks in series.";
    /// Access links.
    ACCESS: (Access) = "access", "Access links.";
    /// A link.
    LINK: Link = "link",
        "A link in one direction: a queue, a line that serialises, a wire that delays and loses packets.";
    /// A link of a graph.
    NAMED_LINK: NamedLink = "named_link", "A link between nodes of a graph.";
    /// A trace of delivery opportunities.
    TRACE: TraceFields = "trace", "A trace of delivery opportunities.";
    /// A token bucket.
    TOKEN_BUCKET: (TokenBucketPlan) = "token_bucket",
        "A token bucket: tokens accumulate at `rate`, up to `burst`, and a packet waits for its tokens.";
    /// A step of a schedule.
    STEP: StepPlan = "step", "A step of a schedule, which changes only the stated values.";
    /// Retransmissions of a radio link.
    HARQ: (HarqPlan) = "harq", "Retransmissions of a radio link, as in LTE (3GPP TS 36.213, section 7).";
    /// A node of a graph.
    NODE: (Node) = "node", "A node of a graph.";
    /// Delay variation.
    JITTER: (JitterPlan) = "jitter", "Delay variation: a uniform random delay from [0, `spread`) of each packet.";
    /// A medium of 802.11.
    MEDIUM: NamedMedium = "medium", "A medium of 802.11 that links of a graph share.";
    /// A wireless LAN.
    WLAN: (Wlan) = "wlan",
        "Servers, wires, an access point and stations: one server, one wire and one station per flow.";
    /// A station of a wireless LAN.
    WLAN_STATION: StationFields = "station", "Parameters of an individual station, in both directions.";
    /// A flow.
    FLOW: Flow = "flow", "A flow, or several equal flows.";
    /// A delay between transport and algorithm.
    CONTROL: (ControlDelay) = "control", "Delay between transport and algorithm, as in the kernel datapath.";
}

/// The file of a policy, or its contents.
pub(crate) static POLICY_FORM: Custom = Custom {
    accepts: "a file of `cwndlab.gym.Policy`, `\"policy.json\"`, or its contents",
    schema: || serde_json::json!({ "type": ["string", "object"] }),
    canonical: Value::clone,
    python: "str | Mapping[str, Any]",
};

pub(super) static TRACE_FORM: Custom = Custom {
    accepts: "the name of a trace or of a file, or a table `trace`",
    // Not that of `TRACE`: beside a plain text its fields have other descriptions.
    schema: || {
        let names: Vec<&str> = trace::SYNTHETIC.iter().map(|kind| kind.name).collect();
        json!({
            "anyOf": [
                { "type": "string", "description": "a file in Mahimahi's format, or a synthetic trace", "examples": names },
                {
                    "type": "object", "additionalProperties": false,
                    "properties": {
                        "file": { "type": "string", "description": "a file in Mahimahi's format, or a synthetic trace" },
                        "text": { "type": "string", "description": "contents of a file" },
                        "bytes": { "type": "integer", "minimum": 1, "maximum": 65_535, "default": 1500 },
                        "offset": { "$ref": "#/$defs/duration" },
                    },
                },
            ],
        })
    },
    canonical: canonical_trace,
    python: "str | Trace",
};

/// The canonical form has the hash of the times; it is independent of file names.
fn canonical_trace(value: &Value) -> Value {
    let table = if value.is_string() { json!({ "file": value }) } else { value.clone() };
    let mut form = cwndlab_config::canonical::table(&TRACE, &table);
    let stamps = match (table["file"].as_str(), table["text"].as_str()) {
        (Some(name), _) => trace::SyntheticTrace::named(name).map(trace::SyntheticTrace::default_trace),
        (None, Some(text)) => trace::parse(text, "text").ok(),
        (None, None) => None,
    };
    if let (Some(stamps), Some(form)) = (stamps, form.as_object_mut()) {
        form.remove("file");
        form.remove("text");
        form.insert("sha256".to_owned(), trace::sha256(&stamps).into());
        let bytes = form.get("bytes").and_then(Value::as_u64).unwrap_or_default();
        form.insert("mean_bps".to_owned(), trace::mean_rate(&stamps, bytes).0.into());
    }
    form
}
