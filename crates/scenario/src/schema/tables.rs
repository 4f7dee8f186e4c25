//! The tables of a scenario: fields, units, defaults, ranges, meanings. Plug-ins declare their tables in their own
//! modules.

use cwndlab_config::{Custom, Field, FieldType, Kind, Literal, Table, Word};
use cwndlab_network::dscp::Dscp;
use cwndlab_network::{aqm, loss, router_assist};
use cwndlab_traffic::distribution_fields::Times;
use cwndlab_traffic::workloads;
use serde_json::{json, Value};

use super::radio_fields::{MediumFields, RadioFields};
use crate::plan::{HarqPlan, JitterPlan, NamedValuesPlan, StepPlan};
use crate::profile::{self, STACK};
use crate::trace;

/// The version of the schema.
pub const SCHEMA_VERSION: u64 = 1;

const RATE_OR_NONE: &[Kind] = &[Kind::Rate, Kind::Words(&[("none", "zero serialisation time")])];
const QUEUE: Kind = Kind::Choice(&aqm::CHOICE);
const AGENTS: Kind = Kind::List(&Kind::Choice(&router_assist::CHOICE));
const REPORT_INTERVAL: Kind =
    Kind::Either(&[Kind::Duration, Kind::Words(&[("rtt", "once per round trip, and each ACK in slow start")])]);
const START_JITTER: Kind = Kind::Either(&[Kind::Duration, Kind::Words(&[("rtt", "the flow's base RTT")])]);

/// A scenario.
pub static TOP: Table = Table::new(
    "scenario",
    "A scenario: network, flows, duration and what is recorded. The seed is not part of it.",
    &[&[
        Field::new("schema_version", Kind::Integer(1, 1), "version of this schema").required("'schema_version = 1'"),
        Field::new("title", Kind::Text, "title, one line").or(Literal::Text("")),
        Field::new(
            "algorithms",
            Kind::Keyed(&CLASS),
            "user-defined algorithms; cwndlab writes this table for classes that the caller passes",
        ),
        Field::new("duration", Kind::Duration, "simulated time").required("'duration = \"60 s\"'").above_zero(),
        Field::duration("sample_interval", "100 ms", "sampling interval; zero disables samples"),
        Field::flag("packets", false, "record every packet"),
        Field::new(
            "named_values",
            Kind::Table(&NAMED_VALUES),
            "record variables of the algorithms and of the transport (simulator only)",
        )
        .absent("none"),
        Field::duration("measure_from", "0 s", "start of the metrics; earlier samples are the warm-up"),
        Field::new(
            "start_jitter",
            START_JITTER,
            "default of the flows: maximum of the uniform random delay of a start",
        )
        .or(Literal::Text("0 s")),
        Field::new(
            "perturb",
            Kind::Flag,
            "each seed varies delays, rates, starts and the processing of packets by less than anybody measures",
        )
        .absent("false"),
        Field::new("dumbbell", Kind::Table(&DUMBBELL), "one bottleneck"),
        Field::new("parking_lot", Kind::Table(&PARKING_LOT), "bottlenecks in series"),
        Field::new("wlan", Kind::Table(&WLAN), "a wireless LAN"),
        Field::new("node", Kind::Tables(&NODE), "nodes of a graph").absent("the nodes of the links"),
        Field::new("medium", Kind::Tables(&MEDIUM), "media of 802.11 that links of a graph share"),
        Field::new("link", Kind::Tables(&NAMED_LINK), "links of a graph"),
        Field::new("flow", Kind::Tables(&FLOW), "the flows").required("a '[[flow]]' with an algorithm"),
    ]],
);

/// The recorded variables of algorithms and transport.
pub static NAMED_VALUES: Table = Table::new(
    "named_values",
    "Variables of the algorithms and of the transport in the table `named_values`: a row for each value that changed since the last snapshot of its flow. Snapshots follow events of the sender: ACKs, timers, writes.",
    &[NamedValuesPlan::FIELDS],
);

/// A user-defined algorithm.
pub static CLASS: Table = Table::new(
    "algorithm",
    "A user-defined algorithm.",
    &[&[
        Field::new("class", Kind::Text, "name of the class").absent("a policy"),
        Field::new(
            "policy",
            Kind::Custom(&POLICY_FORM),
            "policy that decides in place of a class: a file of `cwndlab.gym.Policy`, relative to the scenario's, or its contents",
        )
        .absent("a class"),
        Field::word(
            "kind",
            &[("whole", "a whole algorithm"), ("growth", "only congestion avoidance")],
            "whole",
            "kind of the algorithm",
        ),
        Field::new("file", Kind::Text, "source file").absent("unknown"),
        Field::new("sha256", Kind::Text, "SHA-256 of the source, in hex").absent("unknown"),
        Field::new("parameters", Kind::Values, "names and defaults of the parameters"),
    ]],
);

/// The file of a policy, or its contents.
static POLICY_FORM: Custom = Custom {
    accepts: "a file of `cwndlab.gym.Policy`, `\"policy.json\"`, or its contents",
    schema: || serde_json::json!({ "type": ["string", "object"] }),
    canonical: Value::clone,
    python: "str | Mapping[str, Any]",
};

/// A dumbbell.
pub static DUMBBELL: Table = Table::new(
    "dumbbell",
    "Sources, r1, the bottleneck, r2, destinations.",
    &[&[
        Field::new("bottleneck", Kind::Table(&LINK), "the link from r1 to r2, named `bottleneck`")
            .required("'bottleneck = { rate = \"100 Mbps\", delay = \"10 ms\" }'"),
        Field::new(
            "reverse",
            Kind::Table(&LINK),
            "the link from r2 to r1, named `bottleneck-reverse`; other fields are those of the bottleneck",
        )
        .absent("the bottleneck without its losses"),
        Field::new(
            "access",
            Kind::Table(&ACCESS),
            "access links; the flow's delay minus that of the bottleneck is divided equally among them",
        )
        .absent("zero serialisation time"),
    ]],
);

/// A parking lot.
pub static PARKING_LOT: Table = Table::new(
    "parking_lot",
    "Bottlenecks in series.",
    &[&[
        Field::new(
            "hops",
            Kind::List(&Kind::Table(&LINK)),
            "links between the routers r1, r2, …, named `hop1`, `hop2`, …",
        )
        .required("'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'"),
        Field::new("access", Kind::Table(&ACCESS), "access links").absent("zero serialisation time"),
    ]],
);

/// Access links.
pub static ACCESS: Table = Table::new(
    "access",
    "Access links.",
    &[&[
        Field::new("rate", Kind::Rate, "rate of each link").absent("zero serialisation time"),
        Field::new("queue", QUEUE, "queue of each link").absent("unlimited"),
        Field::new("agents", AGENTS, "router agents of the links").absent("those of the first hop"),
    ]],
);

static LINK_FIELDS: [Field; 12] = [
    Field::new("rate", Kind::Either(RATE_OR_NONE), "rate of the line; `\"none\"`: zero serialisation time")
        .absent("zero serialisation time"),
    Field::new("trace", Kind::Custom(&TRACE_FORM), "trace of delivery opportunities that the line follows"),
    Field::new("token_bucket", Kind::Table(&TOKEN_BUCKET), "token bucket that limits the line"),
    Field::new("schedule", Kind::List(&Kind::Table(&STEP)), "steps of rate, delay and loss"),
    Field::new("repeat", Kind::Duration, "period of the schedule").absent("no repetition"),
    Field::new("harq", Kind::Table(&HARQ), "retransmissions of a radio link"),
    Field::duration("delay", "0 s", "propagation delay, one way"),
    Field::new("queue", QUEUE, "queue of the link")
        .absent("drop-tail with a capacity of one bandwidth-delay product at a bottleneck, unlimited on access links"),
    Field::new(
        "loss",
        Kind::List(&Kind::Choice(&loss::CHOICE)),
        "loss models, applied in this order at the far end of the wire",
    ),
    Field::new("jitter", Kind::Table(&JITTER), "delay variation"),
    Field::probability("duplicate", 0.0, "probability that a packet arrives twice"),
    Field::new("agents", AGENTS, "router agents: schemes in which the router writes feedback into packet headers"),
];

/// A link.
pub static LINK: Table = Table::new(
    "link",
    "A link in one direction: a queue, a line that serialises, a wire that delays and loses packets.",
    &[&LINK_FIELDS],
);

/// A link of a graph.
pub static NAMED_LINK: Table = Table::new(
    "named_link",
    "A link between nodes of a graph.",
    &[
        &[
            Field::new("name", Kind::Text, "unique name").absent("`FROM-TO`"),
            Field::new("from", Kind::Text, "source node").required("'from = \"r1\"'"),
            Field::new("to", Kind::Text, "destination node").required("'to = \"r1\"'"),
            Field::flag(
                "duplex",
                true,
                "a link in the reverse direction with the same parameters is added, unless it is given",
            ),
        ],
        &LINK_FIELDS,
        &[Field::new("medium", Kind::Text, "medium of 802.11, in place of a line")],
        RadioFields::FIELDS,
    ],
);

static TRACE_FORM: Custom = Custom {
    accepts: "the name of a trace or of a file, or a table `trace`",
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

/// A trace of delivery opportunities.
pub static TRACE: Table = Table::new(
    "trace",
    "A trace of delivery opportunities.",
    &[&[
        Field::new(
            "file",
            Kind::Text,
            "file in Mahimahi's format, relative to the scenario's, or the name of a synthetic trace",
        ),
        Field::new("text", Kind::Lines, "contents of a file"),
        Field::integer(
            "bytes",
            (1, 65_535),
            1500,
            "bytes per opportunity; Mahimahi sends 1504, with the header of its tunnel",
        ),
        Field::duration("offset", "0 s", "time of the trace at which the run begins"),
    ]],
);

/// A token bucket.
pub static TOKEN_BUCKET: Table = Table::new(
    "token_bucket",
    "A token bucket: tokens accumulate at `rate`, up to `burst`, and a packet waits for its tokens.",
    &[&[
        Field::new("rate", Kind::Rate, "rate of the tokens").required("'rate = \"10 Mbps\"'"),
        Field::new("burst", Kind::Bytes, "size of the bucket, which is initially full").required("'burst = \"15 kB\"'"),
        Field::new("peak", Kind::Rate, "peak rate").absent("zero serialisation time"),
    ]],
);

/// A step of a schedule.
pub static STEP: Table =
    Table::new("step", "A step of a schedule, which changes only the stated values.", &[StepPlan::FIELDS]);

/// Retransmissions of a radio link.
pub static HARQ: Table =
    Table::new("harq", "Retransmissions of a radio link, as in LTE (3GPP TS 36.213, section 7).", &[HarqPlan::FIELDS]);

/// A node of a graph.
pub static NODE: Table = Table::new(
    "node",
    "A node of a graph.",
    &[&[Field::new("name", Kind::Text, "unique name").required("'name = \"r1\"'")]],
);

/// Delay variation.
pub static JITTER: Table = Table::new(
    "jitter",
    "Delay variation: a uniform random delay from [0, `spread`) of each packet.",
    &[JitterPlan::FIELDS],
);

/// A medium of 802.11.
pub static MEDIUM: Table = Table::new(
    "medium",
    "A medium of 802.11 that links of a graph share.",
    &[
        &[
            Field::new("name", Kind::Text, "unique name").required("'name = \"cell\"'"),
            Field::new("access_point", Kind::Text, "the node that sends beacons"),
        ],
        MediumFields::FIELDS,
    ],
);

/// A wireless LAN.
pub static WLAN: Table = Table::new(
    "wlan",
    "Servers, wires, an access point and stations: one server, one wire and one station per flow.",
    &[
        &[
            Field::new("queue", QUEUE, "queue of the access point, shared by all stations")
                .absent("drop-tail of 100 packets"),
            Field::new("station_queue", QUEUE, "queue of each station").absent("as `queue`"),
            Field::new("wire", Kind::Table(&ACCESS), "wires; their delay is the RTT of the flow")
                .absent("zero serialisation time"),
            Field::new(
                "stations",
                Kind::List(&Kind::Table(&WLAN_STATION)),
                "parameters of individual stations, in the order of the flows",
            ),
        ],
        MediumFields::FIELDS,
    ],
);

/// A station of a wireless LAN.
pub static WLAN_STATION: Table = Table::new(
    "station",
    "Parameters of an individual station, in both directions.",
    &[&[Field::new("rate", Kind::Rate, "802.11g: rate of data frames").absent("the medium's")], RadioFields::FIELDS],
);

const TRANSPORTS: &[Word] =
    &[("tcp", "a TCP connection"), ("udp", "datagrams without window, acknowledgements and retransmissions")];
const DIRECTIONS: &[Word] = &[
    ("forward", "from left to right"),
    ("reverse", "from right to left"),
    ("download", "to the station"),
    ("upload", "from the station"),
];

/// A flow.
pub static FLOW: Table = Table::new(
    "flow",
    "A flow, or several equal flows.",
    &[&[
        Field::word("transport", TRANSPORTS, "tcp", "transport protocol"),
        Field::new("algorithm", Kind::Text, "`AVOIDANCE[+SLOW_START][/RECOVERY]`, or a name of `algorithms`; TCP only")
            .absent("required over TCP"),
        Field::new("name", Kind::Text, "unique name").absent("`flow<i>`"),
        Field::new("rtt", Kind::Duration, "base RTT (dumbbell, parking lot, wireless LAN)").absent("required there"),
        Field::new(
            "direction",
            Kind::Words(DIRECTIONS),
            "dumbbell, parking lot: `\"forward\"` or `\"reverse\"`; wireless LAN: `\"download\"` or `\"upload\"`",
        )
        .absent("forward; download"),
        Field::duration("start", "0 s", "start of the application"),
        Field::new("stop", Kind::Duration, "time at which the application stops").absent("never"),
        Field::new("start_jitter", START_JITTER, "maximum of the uniform random delay of the start")
            .absent("the scenario's `start_jitter`"),
        Field::integer(
            "count",
            (1, 1_000_000),
            1,
            "number of flows; with more than one, names have the suffixes `-1`, `-2`, …",
        ),
        Field::new(
            "start_step",
            Times::KIND,
            "time between their starts; a distribution gives random times, the exponential one a Poisson process",
        )
        .or(Literal::Text("0 s")),
        Field::new("workload", Kind::Choice(&workloads::CHOICE), "workload")
            .absent("`bulk` over TCP, required over UDP"),
        Field::of::<Dscp>("dscp", "class of its packets in both directions, for queues that serve by class")
            .absent("CS0"),
        Field::word("profile", profile::NAMES, "linux", "stack profile"),
        Field::new("stack", Kind::Table(&STACK), "parameters of the stack that override those of the profile"),
        Field::new(
            "control",
            Kind::Table(&CONTROL),
            "delay between transport and algorithm, as in the kernel datapath",
        ),
        Field::new("from", Kind::Text, "source node (graph)").absent("required in a graph"),
        Field::new("to", Kind::Text, "destination node (graph)").absent("required in a graph"),
        Field::new("route", Kind::Names, "links of the forward route (graph)")
            .absent("the shortest by delay, then hops, then the order of the links"),
        Field::new("reverse_route", Kind::Names, "links of the reverse route (graph)")
            .absent("the shortest by delay, then hops, then the order of the links"),
        Field::new("enter", Kind::Integer(1, 1_000_000), "router where the flow enters (parking lot)")
            .absent("the first"),
        Field::new("leave", Kind::Integer(1, 1_000_000), "router where the flow leaves (parking lot)")
            .absent("the last"),
    ]],
);

/// A delay between transport and algorithm.
pub static CONTROL: Table = Table::new(
    "control",
    "Delay between transport and algorithm, as in the kernel datapath.",
    &[&[
        Field::duration("delay", "0 s", "time from an event to the application of the new window"),
        Field::new(
            "interval",
            REPORT_INTERVAL,
            "minimum time between reports of ACKs; zero reports each ACK, `\"rtt\"` once per round trip and each ACK in slow start",
        )
        .or(Literal::Text("0 s")),
    ]],
);
