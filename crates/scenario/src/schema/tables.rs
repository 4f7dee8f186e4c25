//! Every table of a scenario but those of plug-ins, which stand beside their code: fields, units, defaults, ranges, meaning.

use cwndlab_config::{Custom, Field, Kind, Literal, Table, Word};
use cwndlab_network::{aqm, loss, router_assist};
use cwndlab_traffic::{distribution_fields, workloads};
use cwndlab_transport::stack::Stack;
use serde_json::{json, Value};

use crate::profile::words;
use crate::trace;

/// The only version of the schema so far.
pub const SCHEMA_VERSION: u64 = 1;

const RATE_OR_NONE: &[Kind] = &[Kind::Rate, Kind::Words(&[("none", "serialises in no time")])];
const QUEUE: Kind = Kind::Choice(&aqm::CHOICE);
const AGENTS: Kind = Kind::List(&Kind::Choice(&router_assist::CHOICE));
const START_JITTER: Kind = Kind::Either(&[Kind::Duration, Kind::Words(&[("rtt", "the flow's base RTT")])]);

/// A scenario.
pub static TOP: Table = Table::new(
    "scenario",
    "A scenario: the network, the flows, how long, what to record. The seed is no part of it.",
    &[&[
        Field::new("schema_version", Kind::Whole(1, 1), "version of this schema").required("'schema_version = 1'"),
        Field::new("title", Kind::Text, "one line on what it shows").or(Literal::Text("")),
        Field::new(
            "algorithms",
            Kind::Keyed(&CLASS),
            "algorithms that are in no catalogue; cwndlab writes this table when a class of one's own is handed over",
        ),
        Field::new("duration", Kind::Duration, "simulated time").required("'duration = \"60 s\"'").above_zero(),
        Field::duration("sample_interval", "100 ms", "interval of the samples; zero takes none"),
        Field::flag("packets", false, "record every packet"),
        Field::duration("measure_from", "0 s", "metrics leave out what was before (warm-up)"),
        Field::new(
            "start_jitter",
            START_JITTER,
            "for every flow that has none: a uniform draw from [0, this) delays its start",
        )
        .or(Literal::Text("0 s")),
        Field::new("dumbbell", Kind::Table(&DUMBBELL), "one bottleneck"),
        Field::new("parking_lot", Kind::Table(&PARKING_LOT), "a row of bottlenecks"),
        Field::new("wlan", Kind::Table(&WLAN), "a wireless LAN"),
        Field::new("node", Kind::Tables(&NODE), "nodes of a graph").absent("those that links name"),
        Field::new("medium", Kind::Tables(&MEDIUM), "media of 802.11 that links of a graph share"),
        Field::new("link", Kind::Tables(&NAMED_LINK), "links of a graph"),
        Field::new("flow", Kind::Tables(&FLOW), "the flows").required("a '[[flow]]' with an algorithm"),
    ]],
);

/// An algorithm that whoever runs the scenario hands over.
pub static CLASS: Table = Table::new(
    "algorithm",
    "An algorithm of one's own.",
    &[&[
        Field::new("class", Kind::Text, "name of the class").required("'class = \"Mine\"'"),
        Field::word(
            "kind",
            &[("whole", "a whole algorithm"), ("growth", "congestion avoidance alone")],
            "whole",
            "what it is",
        ),
        Field::new("file", Kind::Text, "the file that it was read from").absent("unknown"),
        Field::new("sha256", Kind::Text, "SHA-256 of its source, in hex").absent("unknown"),
        Field::new("parameters", Kind::Values, "names and defaults of its parameters"),
    ]],
);

/// One bottleneck.
pub static DUMBBELL: Table = Table::new(
    "dumbbell",
    "Sources, r1, the bottleneck, r2, destinations.",
    &[&[
        Field::new("bottleneck", Kind::Table(&LINK), "the link from r1 to r2, named `bottleneck`")
            .required("'bottleneck = { rate = \"100 Mbps\", delay = \"10 ms\" }'"),
        Field::new(
            "reverse",
            Kind::Table(&LINK),
            "the link from r2 to r1, named `bottleneck-reverse`; what it does not name is the bottleneck's",
        )
        .absent("the bottleneck without its losses"),
        Field::new(
            "access",
            Kind::Table(&ACCESS),
            "the access links; a flow's delay beyond the bottleneck's is split evenly over them",
        )
        .absent("they serialise in no time"),
    ]],
);

/// A row of bottlenecks.
pub static PARKING_LOT: Table = Table::new(
    "parking_lot",
    "A row of bottlenecks.",
    &[&[
        Field::new(
            "hops",
            Kind::List(&Kind::Table(&LINK)),
            "the links between the routers r1, r2 and so on, named `hop1`, `hop2` and so on",
        )
        .required("'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'"),
        Field::new("access", Kind::Table(&ACCESS), "the access links").absent("they serialise in no time"),
    ]],
);

/// Access links.
pub static ACCESS: Table = Table::new(
    "access",
    "Access links.",
    &[&[
        Field::new("rate", Kind::Rate, "rate of each").absent("they serialise in no time"),
        Field::new("queue", QUEUE, "queue of each").absent("unlimited"),
        Field::new("agents", AGENTS, "what their routers do for schemes that ask them").absent("as the first hop's"),
    ]],
);

static LINK_FIELDS: [Field; 12] = [
    Field::new("rate", Kind::Either(RATE_OR_NONE), "rate of the line; `\"none\"` serialises in no time")
        .absent("serialises in no time"),
    Field::new("trace", Kind::Custom(&TRACE_FORM), "the line follows a trace of delivery opportunities"),
    Field::new("token_bucket", Kind::Table(&TOKEN_BUCKET), "the line is a token bucket"),
    Field::new("schedule", Kind::List(&Kind::Table(&STEP)), "steps of rate, delay and loss"),
    Field::new("repeat", Kind::Duration, "the schedule begins anew after this time").absent("it does not repeat"),
    Field::new("harq", Kind::Table(&HARQ), "retransmissions of a radio link"),
    Field::duration("delay", "0 s", "propagation delay, one way"),
    Field::new("queue", QUEUE, "what waits for the line")
        .absent("drop-tail of one bandwidth-delay product at a bottleneck, unlimited on access links"),
    Field::new(
        "loss",
        Kind::List(&Kind::Choice(&loss::CHOICE)),
        "loss models, applied in this order at the far end of the wire",
    ),
    Field::new("jitter", Kind::Table(&JITTER), "delay variation"),
    Field::probability("duplicate", 0.0, "probability that a packet arrives twice"),
    Field::new("agents", AGENTS, "what its router does for schemes that ask it"),
];

/// A link.
pub static LINK: Table = Table::new(
    "link",
    "A link in one direction: a queue, a line that serialises, a wire that delays and may lose.",
    &[&LINK_FIELDS],
);

/// A link of a graph.
pub static NAMED_LINK: Table = Table::new(
    "named_link",
    "A link between nodes of a graph.",
    &[
        &[
            Field::new("name", Kind::Text, "its name, unique").absent("`FROM-TO`"),
            Field::new("from", Kind::Text, "the node where it begins").required("'from = \"r1\"'"),
            Field::new("to", Kind::Text, "the node where it ends").required("'to = \"r1\"'"),
            Field::flag(
                "duplex",
                true,
                "the other direction is made too, with the same parameters, unless it is given",
            ),
        ],
        &LINK_FIELDS,
        &[
            Field::new("medium", Kind::Text, "the medium of 802.11 that it is on, in place of a line of its own"),
            Field::new("mcs", Kind::Whole(0, 7), "802.11n: modulation and coding scheme").absent("the medium's"),
            Field::new("streams", Kind::Whole(1, 4), "802.11n: spatial streams").absent("the medium's"),
            Field::new("short_guard", Kind::Flag, "802.11n: a guard interval of 400 ns").absent("the medium's"),
            Field::new("frame_error", Kind::Probability, "probability that noise destroys a data frame")
                .absent("the medium's"),
        ],
    ],
);

static TRACE_FORM: Custom = Custom {
    accepts: "the name of a trace or of a file, or a table `trace`",
    schema: || {
        let names: Vec<&str> = trace::KINDS.iter().map(|kind| kind.name).collect();
        json!({
            "anyOf": [
                { "type": "string", "description": "a file in Mahimahi's format, or a synthetic trace", "examples": names },
                {
                    "type": "object", "additionalProperties": false,
                    "properties": {
                        "file": { "type": "string", "description": "a file in Mahimahi's format, or a synthetic trace" },
                        "text": { "type": "string", "description": "what would stand in the file" },
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

/// The moments by their hash: what a file is called means nothing.
fn canonical_trace(value: &Value) -> Value {
    let table = if value.is_string() { json!({ "file": value }) } else { value.clone() };
    let mut form = cwndlab_config::canonical::table(&TRACE, &table);
    let stamps = match (table["file"].as_str(), table["text"].as_str()) {
        (Some(name), _) => trace::Kind::named(name).map(trace::Kind::by_name),
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
            "a file beside the scenario's in Mahimahi's format, or the name of a synthetic trace",
        ),
        Field::new("text", Kind::Lines, "what would stand in the file"),
        Field::whole(
            "bytes",
            (1, 65_535),
            1500,
            "bytes of an opportunity; Mahimahi itself sends 1504 with its tunnel's header",
        ),
        Field::duration("offset", "0 s", "where in the trace the run begins"),
    ]],
);

/// A token bucket.
pub static TOKEN_BUCKET: Table = Table::new(
    "token_bucket",
    "A token bucket: tokens come at `rate`, at most `burst` of them are kept, and a packet waits for its own.",
    &[&[
        Field::new("rate", Kind::Rate, "rate of the tokens").required("'rate = \"10 Mbps\"'"),
        Field::new("burst", Kind::Bytes, "size of the bucket, which is full at first").required("'burst = \"15 kB\"'"),
        Field::new("peak", Kind::Rate, "rate at which a packet leaves").absent("it leaves in no time"),
    ]],
);

/// A step of a schedule.
pub static STEP: Table = Table::new(
    "step",
    "A step of a schedule; what it does not name stays as it is.",
    &[&[
        Field::new("at", Kind::Duration, "when; steps ascend").required("'at = \"10 s\"'"),
        Field::new("rate", Kind::RateOrOutage, "rate from then on; `\"0 Mbps\"` is an outage").absent("as before"),
        Field::new("delay", Kind::Duration, "propagation delay from then on").absent("as before"),
        Field::new("loss", Kind::Probability, "loss probability from then on, beside the link's `loss`")
            .absent("as before"),
    ]],
);

/// Retransmissions of a radio link: a first attempt fails in a tenth of all cases, since rates are chosen for that (3GPP TS
/// 36.213 §7.2.3), and the next one is 8 ms later (eight processes, FDD; TS 36.213 §7).
pub static HARQ: Table = Table::new(
    "harq",
    "Retransmissions of a radio link, as LTE's (3GPP TS 36.213, section 7).",
    &[&[
        Field::probability("probability", 0.1, "an attempt fails with this probability"),
        Field::duration("round", "8 ms", "time until the next attempt"),
        Field::whole("most", (0, 100), 3, "the most retransmissions"),
    ]],
);

/// A node of a graph.
pub static NODE: Table = Table::new(
    "node",
    "A node of a graph.",
    &[&[Field::new("name", Kind::Text, "its name, unique").required("'name = \"r1\"'")]],
);

/// Delay variation.
pub static JITTER: Table = Table::new(
    "jitter",
    "Delay variation: each packet is late by a uniform draw from [0, `spread`).",
    &[&[
        Field::new("spread", Kind::Duration, "upper end of the draw").required("'spread = \"5 ms\"'"),
        Field::flag("reorder", false, "packets may overtake each other"),
    ]],
);

const STANDARDS: &[Word] =
    &[("802.11g", "ERP-OFDM with DCF"), ("802.11n", "20 MHz at 2.4 GHz, HT-mixed format, EDCA best effort")];
const BEACON_OR_INTERVAL: &[Kind] = &[Kind::Duration, Kind::Table(&BEACON)];

/// What `[[medium]]` and `[wlan]` share.
const MEDIUM_FIELDS: &[Field] = &[
    Field::new("standard", Kind::Words(STANDARDS), "which part of 802.11").required("'standard = \"802.11g\"' or \"802.11n\""),
    Field::new("rate", Kind::Rate, "802.11g: 6, 9, 12, 18, 24, 36, 48 or 54 Mbps for data frames").absent("54 Mbps with 802.11g"),
    Field::new("mcs", Kind::Whole(0, 7), "802.11n: modulation and coding scheme").absent("7 with 802.11n"),
    Field::new("streams", Kind::Whole(1, 4), "802.11n: spatial streams").absent("1 with 802.11n"),
    Field::new("short_guard", Kind::Flag, "802.11n: a guard interval of 400 ns").absent("false with 802.11n"),
    Field::probability("frame_error", 0.0, "probability that noise destroys a data frame, or each frame of an aggregate"),
    Field::duration("slot", "9 us", "`\"9 us\"`, or `\"20 us\"` as beside 802.11b stations"),
    Field::whole("cw_min", (0, 32_767), 15, "smallest contention window"),
    Field::whole("cw_max", (0, 32_767), 1023, "largest contention window"),
    Field::whole("short_attempts", (1, 32_767), 7, "attempts after which a frame is given up"),
    Field::whole("long_attempts", (1, 32_767), 4, "the same for data behind an RTS"),
    Field::new("rts_above", Kind::Bytes, "frames of more bytes, MAC header and FCS included, go behind RTS and CTS").absent("never"),
    Field::flag("eifs", false, "bystanders of a collision wait an EIFS and not DIFS"),
    Field::new("aggregation", Kind::Flag, "A-MPDU with BlockAck").absent("true with 802.11n"),
    Field::flag("keeps_turn", false, "a frame for an idle medium goes after DIFS without a backoff, even if the medium turns busy before, as in ns-3"),
    Field::new("beacon", Kind::Either(BEACON_OR_INTERVAL), "beacons of the access point at 1 Mbps").absent("none"),
];

/// A medium of 802.11.
pub static MEDIUM: Table = Table::new(
    "medium",
    "A medium of 802.11 that links of a graph share.",
    &[
        &[
            Field::new("name", Kind::Text, "its name, unique").required("'name = \"cell\"'"),
            Field::new("access_point", Kind::Text, "the node that sends beacons"),
        ],
        MEDIUM_FIELDS,
    ],
);

/// A wireless LAN.
pub static WLAN: Table = Table::new(
    "wlan",
    "Servers, wires, an access point and stations: every flow has a server, a wire and a station of its own.",
    &[
        &[
            Field::new("queue", QUEUE, "the access point's queue, one for all stations")
                .absent("drop-tail of 100 packets"),
            Field::new("station_queue", QUEUE, "each station's queue").absent("as `queue`"),
            Field::new("wire", Kind::Table(&ACCESS), "the wires; their delay is the flow's RTT")
                .absent("they serialise in no time"),
            Field::new(
                "stations",
                Kind::List(&Kind::Table(&WLAN_STATION)),
                "what is particular to stations, in the order of the flows",
            ),
        ],
        MEDIUM_FIELDS,
    ],
);

/// A station of a wireless LAN.
pub static WLAN_STATION: Table = Table::new(
    "station",
    "What is particular to a station, in both directions.",
    &[&[
        Field::new("rate", Kind::Rate, "802.11g: rate of data frames").absent("the medium's"),
        Field::new("mcs", Kind::Whole(0, 7), "802.11n: modulation and coding scheme").absent("the medium's"),
        Field::new("streams", Kind::Whole(1, 4), "802.11n: spatial streams").absent("the medium's"),
        Field::new("short_guard", Kind::Flag, "802.11n: a guard interval of 400 ns").absent("the medium's"),
        Field::new("frame_error", Kind::Probability, "probability that noise destroys a data frame")
            .absent("the medium's"),
    ]],
);

/// Beacons; by default with the elements that 802.11g asks for.
pub static BEACON: Table = Table::new(
    "beacon",
    "Beacons of an access point.",
    &[&[
        Field::new("interval", Kind::Duration, "time between beacons").required("'interval = \"102.4 ms\"'"),
        Field::bytes("size", "68 B", "size of the frame"),
    ]],
);

const TRANSPORTS: &[Word] =
    &[("tcp", "a TCP connection"), ("udp", "datagrams without window, acknowledgements and repair")];
const DIRECTIONS: &[Word] = &[
    ("forward", "from left to right"),
    ("reverse", "from right to left"),
    ("download", "to the station"),
    ("upload", "from the station"),
];

/// A flow.
pub static FLOW: Table = Table::new(
    "flow",
    "A flow, or several of its kind.",
    &[&[
        Field::word("transport", TRANSPORTS, "tcp", "what carries it"),
        Field::new("algorithm", Kind::Text, "`AVOIDANCE[+SLOW_START][/RECOVERY]`, or a name of `algorithms`; TCP only")
            .absent("required over TCP"),
        Field::new("name", Kind::Text, "its label, unique").absent("`flow<i>`"),
        Field::new("rtt", Kind::Duration, "base RTT, both ways (dumbbell, parking lot, wireless LAN)")
            .absent("required there"),
        Field::new(
            "direction",
            Kind::Words(DIRECTIONS),
            "dumbbell, parking lot: `\"forward\"` or `\"reverse\"`; wireless LAN: `\"download\"` or `\"upload\"`",
        )
        .absent("forward; download"),
        Field::duration("start", "0 s", "when the application begins"),
        Field::new("stop", Kind::Duration, "when it stops producing data").absent("never"),
        Field::new("start_jitter", START_JITTER, "a uniform draw from [0, this) delays its start")
            .absent("the scenario's"),
        Field::whole("count", (1, 1_000_000), 1, "how many such flows; names get `-1`, `-2` and so on"),
        Field::new(
            "start_step",
            distribution_fields::TIME,
            "time between their starts; a distribution draws each: exponential ones are a Poisson process",
        )
        .or(Literal::Text("0 s")),
        Field::new("workload", Kind::Choice(&workloads::CHOICE), "what it sends")
            .absent("`bulk` over TCP, required over UDP"),
        Field::word("profile", words::NAMES, "linux", "stack profile"),
        Field::new("stack", Kind::Table(&STACK), "values of the stack in place of the profile's"),
        Field::new("control", Kind::Table(&CONTROL), "the algorithm is asked from afar, as the kernel path does"),
        Field::new("from", Kind::Text, "the node where it begins (graph)").absent("required in a graph"),
        Field::new("to", Kind::Text, "the node where it ends (graph)").absent("required in a graph"),
        Field::new("route", Kind::Names, "links of its way (graph)")
            .absent("the shortest by delay, then hops, then name"),
        Field::new("reverse_route", Kind::Names, "links of the way back (graph)")
            .absent("the shortest by delay, then hops, then name"),
        Field::new("enter", Kind::Whole(1, 1_000_000), "the router where it enters (parking lot)").absent("the first"),
        Field::new("leave", Kind::Whole(1, 1_000_000), "the router where it leaves (parking lot)").absent("the last"),
    ]],
);

/// An algorithm that is asked from afar.
pub static CONTROL: Table = Table::new(
    "control",
    "The algorithm is asked from afar, as the kernel path does.",
    &[&[
        Field::duration("delay", "0 s", "time to the algorithm and back"),
        Field::duration("interval", "0 s", "ACKs within this time are reported together"),
    ]],
);

/// A field of a stack, whose meaning stands in the transport.
const fn stack(name: &'static str, kind: Kind) -> Field {
    Field::new(name, kind, Stack::meaning(name)).absent("the profile's")
}

const fn count(name: &'static str, low: u64, high: u64) -> Field {
    stack(name, Kind::Whole(low, high))
}

/// Values of a stack.
pub static STACK: Table = Table::new(
    "stack",
    "Values of a stack in place of its profile's.",
    &[&[
        stack("mss", Kind::Bytes),
        stack("header", Kind::Bytes),
        stack("ack", Kind::Bytes),
        stack("sack_block", Kind::Bytes),
        stack("ack_counting", Kind::Words(words::ACK_COUNTING_WORDS)),
        count("initial_window", 1, 1_000_000),
        count("initial_ssthresh", 2, 100_000_000),
        stack("min_rto", Kind::Duration),
        stack("max_rto", Kind::Duration),
        stack("initial_rto", Kind::Duration),
        stack("rto_arithmetic", Kind::Words(words::RTO_ARITHMETIC_WORDS)),
        stack("rto_restart", Kind::Words(words::RTO_RESTART_WORDS)),
        stack("rto_granularity", Kind::Duration),
        stack("rto_floor_on_variance", Kind::Flag),
        count("ack_every", 1, 1000),
        stack("ack_delay", Kind::Duration),
        count("quick_acks", 0, 4_000_000_000),
        stack("sack", Kind::Flag),
        count("sack_blocks", 1, 4),
        stack("dsack", Kind::Flag),
        stack("timestamps", Kind::Flag),
        stack("ecn", Kind::Words(words::ECN_WORDS)),
        stack("pacing", Kind::Words(words::PACING_WORDS)),
        count("pacing_quantum", 1, 1000),
        stack("tso_burst", Kind::Flag),
        stack("receive_window", Kind::Bytes),
        stack("auto_tuning", Kind::Flag),
        stack("read_rate", Kind::Rate),
        stack("idle_restart", Kind::Words(words::IDLE_RESTART_WORDS)),
        stack("limited_transmit", Kind::Flag),
        stack("undo", Kind::Flag),
        stack("tail_loss_probe", Kind::Flag),
        stack("prr", Kind::Words(words::PRR_WORDS)),
        stack("rampdown", Kind::Words(words::RAMPDOWN_WORDS)),
        count("dup_thresh", 1, 1000),
        count("syn_retries", 0, 100),
        count("exit_burst", 0, 1_000_000),
    ]],
);
