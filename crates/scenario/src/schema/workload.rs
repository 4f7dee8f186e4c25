//! What a flow's application sends, as written.

use cwndlab_config::{Choice, Faults, Field, Kind, Literal, Reader, Table, Word};
use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::Value;

use super::distribution::{self, Unit, SIZE, TIME};
use crate::distribution::Distribution;
use crate::plan::{Intensity, Mqtt, Pattern, Workload};

/// IPv4 and UDP.
pub(crate) const UDP_HEADER: u64 = 28;
/// The largest IPv4 packet.
const MOST_BYTES: u64 = 65_535;
/// The largest message of MQTT (3.1.1, 2.2.3): 256 MiB less one.
const MOST_MESSAGE: f64 = 268_435_000.0;

pub(super) const UDP_EXAMPLE: &str = "write 'workload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"1500 B\" }'";

static TABLES: &[Table] = &[
    Table::new(
        "bulk",
        "As much as possible (TCP).",
        &[&[Field::new("bytes", Kind::Bytes, "how much").absent("without end").above_zero()]],
    ),
    Table::new(
        "on-off",
        "Active for a time, silent for a time, and so on (TCP, UDP).",
        &[&[
            Field::new("on", TIME, "lengths of active periods").required("'on = \"2 s\"'"),
            Field::new("off", TIME, "lengths of silent periods").required("'off = \"2 s\"'"),
            Field::new("rate", Kind::Rate, "UDP: rate while active, headers included").absent("required over UDP"),
            Field::new("packet", Kind::Bytes, "UDP: size of a packet, headers included").absent("1500 B over UDP"),
        ]],
    ),
    Table::new(
        "transfers",
        "One transfer after another (TCP).",
        &[&[
            Field::new("bytes", Kind::Bytes, "size of each").required("'bytes = \"100 kB\"'").above_zero(),
            COUNT,
            Field::duration("gap", "0 s", "from the last acknowledgement of one to the start of the next"),
            NEW_CONNECTION,
        ]],
    ),
    Table::new(
        "arrivals",
        "A Poisson process of transfers, each over a connection of its own, however many there are: open loop (TCP).",
        &[&[
            Field::new("per_second", Kind::Number(0.0, 1e9), "arrivals per second").absent("by `load`"),
            Field::new(
                "load",
                Kind::Number(0.0, 100.0),
                "offered load as a share of the slowest line of the forward route, headers included",
            )
            .absent("by `per_second`"),
            Field::new("size", SIZE, "sizes of the transfers").required("'size = \"20 kB\"'"),
            COUNT,
            Field::whole(
                "connections",
                (1, 1_000_000),
                10_000,
                "connections at the same time at most; further arrivals are refused",
            ),
        ]],
    ),
    Table::new(
        "request-response",
        "The flow's receiver is the client: its request goes against the flow's direction, the response in it (TCP).",
        &[&[
            Field::new("request", SIZE, "sizes of requests").required("'request = \"20 kB\"'"),
            Field::new("response", SIZE, "sizes of responses").required("'response = \"20 kB\"'"),
            Field::new("think", TIME, "from the end of a response to the next request").or(Literal::Text("0 s")),
            COUNT,
            NEW_CONNECTION,
        ]],
    ),
    Table::new(
        "mqtt",
        "A sensor that publishes messages to a broker (MQTT 3.1.1; TCP).",
        &[&[
            Field::whole("qos", (0, 1), 0, "0: at most once; 1: at least once, acknowledged by a PUBACK"),
            Field::new("payload", SIZE, "payload of a message").absent("even from 128 B to 1024 B"),
            Field::new("period", Kind::Duration, "from one message to the next")
                .required("'period = \"10 s\"'")
                .above_zero(),
            Field::duration("jitter", "0 s", "each message is later by a uniform draw from [0, this)"),
            Field::whole("topic", (1, 65_535), 20, "bytes of the topic's name"),
            Field::whole("client", (0, 65_535), 23, "bytes of the client's identifier"),
            Field::duration("keep_alive", "60 s", "the longest silence before a PINGREQ; zero sends none"),
            Field::flag(
                "nagle",
                false,
                "Nagle's algorithm holds back small segments while others are not acknowledged (RFC 9293, 3.7.4)",
            ),
        ]],
    ),
    Table::new("cbr", "Packets of one size, evenly spaced (UDP).", &[DATAGRAMS]),
    Table::new(
        "vbr",
        "Video: frames of random size at even intervals, each sent at once (UDP).",
        &[
            DATAGRAMS,
            &[
                Field::new("frame_rate", Kind::Number(0.0, 1e6), "frames per second").or(Literal::Number(25.0)),
                Field::new("cv", Kind::Number(0.0, 100.0), "coefficient of variation of a frame's size")
                    .or(Literal::Number(0.5)),
                Field::word("sizes", FRAME_SIZES, "log-normal", "distribution of a frame's size"),
            ],
        ],
    ),
];

const FRAME_SIZES: &[Word] = &[("log-normal", "log-normal"), ("gamma", "gamma")];
const COUNT: Field = Field::new("count", Kind::Whole(1, u64::MAX), "how many").absent("without end");
const NEW_CONNECTION: Field = Field::flag("new_connection", false, "each over a connection of its own");
const DATAGRAMS: &[Field] = &[
    Field::new("rate", Kind::Rate, "rate, headers included").required("'rate = \"2 Mbps\"'"),
    Field::bytes("packet", "1500 B", "size of a packet, headers included"),
];

/// The choice of a workload by `kind`.
pub(super) static CHOICE: Choice = Choice {
    name: "workload",
    tag: "kind",
    default: None,
    example: "'kind = \"bulk\"', \"on-off\" or \"transfers\"",
    shorthand: false,
    tables: || TABLES.iter().collect(),
};

fn goes_over(kind: &str, udp: bool) -> bool {
    match kind {
        "on-off" => true,
        "cbr" | "vbr" => udp,
        _ => !udp,
    }
}

pub(super) fn read_workload(value: &Value, path: String, udp: bool, faults: &mut Faults) -> Option<Workload> {
    let table = Reader::choose(value, path, &CHOICE, faults)?;
    let word = table.declared().name;
    if !goes_over(word, udp) {
        let (what, hint) = if udp {
            (format!("'{word}' is sent by TCP, and the flow's transport is UDP"), UDP_EXAMPLE)
        } else {
            (
                format!("'{word}' is sent by UDP, and the flow's transport is TCP"),
                "write 'transport = \"udp\"' and no algorithm",
            )
        };
        faults.add(table.at("kind"), what, hint);
        return None;
    }
    match word {
        "bulk" => Some(Workload::Bulk { bytes: table.bytes("bytes", faults) }),
        "on-off" => read_on_off(&table, udp, faults),
        "transfers" => {
            let (bytes, count) = (table.bytes("bytes", faults), table.whole("count", faults));
            let (gap, new_connection) = (table.duration("gap", faults), table.flag("new_connection", faults));
            Some(Workload::Transfers { bytes: bytes?, count, gap: gap?, new_connection: new_connection? })
        }
        "arrivals" => read_arrivals(&table, faults),
        "request-response" => {
            let request = distribution::positive(&table, "request", Unit::Size, faults);
            let response = distribution::positive(&table, "response", Unit::Size, faults);
            let think = distribution::read(&table, "think", Unit::Time, faults);
            let (count, new_connection) = (table.whole("count", faults), table.flag("new_connection", faults));
            Some(Workload::Exchanges {
                request: request?,
                response: response?,
                think: think?,
                count,
                new_connection: new_connection?,
            })
        }
        "mqtt" => read_mqtt(&table, faults).map(Workload::Mqtt),
        "cbr" => {
            let (rate, packet) = read_packets(&table, faults)?;
            Some(Workload::Datagrams { rate, packet, pattern: Pattern::Steady })
        }
        _ => read_video(&table, faults),
    }
}

fn read_on_off(table: &Reader<'_>, udp: bool, faults: &mut Faults) -> Option<Workload> {
    let on = distribution::positive(table, "on", Unit::Time, faults);
    let off = distribution::read(table, "off", Unit::Time, faults);
    for key in ["rate", "packet"].into_iter().filter(|key| !udp && table.gives(key)) {
        faults.add(
            table.at(key),
            "belongs to a flow over UDP",
            "leave it out: TCP sends as much as possible while active",
        );
    }
    if udp {
        let (rate, packet) = read_packets(table, faults)?;
        return Some(Workload::Datagrams { rate, packet, pattern: Pattern::OnOff { on: on?, off: off? } });
    }
    Some(match (on?, off?) {
        (Distribution::Fixed(on), Distribution::Fixed(off)) => {
            Workload::OnOff { on: Duration(on as u64), off: Duration(off as u64) }
        }
        (on, off) => Workload::RandomOnOff { on, off },
    })
}

fn read_arrivals(table: &Reader<'_>, faults: &mut Faults) -> Option<Workload> {
    let size = distribution::positive(table, "size", Unit::Size, faults);
    let intensity = match (table.get("per_second"), table.get("load")) {
        (Some(_), None) => table.number("per_second", faults).map(Intensity::PerSecond),
        (None, Some(_)) => table.number("load", faults).map(Intensity::Load),
        (None, None) => {
            faults.add(
                table.at("per_second"),
                "is missing",
                "write 'per_second = 20.0', or 'load = 0.5' for a share of the slowest line",
            );
            None
        }
        (Some(_), Some(_)) => {
            faults.add(table.at("load"), "stands beside 'per_second'", "one of them is enough");
            None
        }
    };
    if matches!(intensity, Some(Intensity::Load(_))) && size.as_ref().is_some_and(|size| size.mean().is_infinite()) {
        faults.add(table.at("load"), "sizes without a mean make no load", "bound them by 'max', or give 'per_second'");
    }
    Some(Workload::Arrivals {
        intensity: intensity?,
        size: size?,
        count: table.whole("count", faults),
        connections: table.whole("connections", faults)? as u32,
    })
}

fn read_mqtt(table: &Reader<'_>, faults: &mut Faults) -> Option<Mqtt> {
    let payload = match table.get("payload") {
        Some(_) => distribution::read(table, "payload", Unit::Size, faults),
        None => Some(Distribution::Uniform(128.0, 1024.0)),
    };
    let largest = match payload {
        Some(Distribution::Fixed(most) | Distribution::Uniform(_, most)) => most,
        _ => 0.0,
    };
    if largest > MOST_MESSAGE {
        faults.add(table.at("payload"), "MQTT carries less than 256 MiB per message", "");
    }
    let (period, jitter) = (table.duration("period", faults), table.duration("jitter", faults));
    if let (Some(period), Some(jitter)) = (period, jitter) {
        if jitter > period {
            faults.add(table.at("jitter"), "is longer than the period", "messages are sent in order");
        }
    }
    let (qos, topic) = (table.whole("qos", faults), table.whole("topic", faults));
    let (client, keep_alive) = (table.whole("client", faults), table.duration("keep_alive", faults));
    let nagle = table.flag("nagle", faults);
    Some(Mqtt {
        qos: qos? as u8,
        payload: payload?,
        period: period?,
        jitter: jitter?,
        topic: topic? as u32,
        client: client? as u32,
        keep_alive: Some(keep_alive?).filter(|time| *time != Duration::ZERO),
        nagle: nagle?,
    })
}

/// Rate and packet size of a source of datagrams.
fn read_packets(table: &Reader<'_>, faults: &mut Faults) -> Option<(Rate, Bytes)> {
    let rate = table.rate("rate", faults);
    if rate.is_none() && !table.gives("rate") && table.declared().name == "on-off" {
        faults.add(table.at("rate"), "is missing", "write 'rate = \"2 Mbps\"'");
    }
    let packet = table.bytes("packet", faults).or((!table.gives("packet")).then_some(Bytes(1500)));
    if packet.is_some_and(|packet| packet.0 <= UDP_HEADER || packet.0 > MOST_BYTES) {
        faults.add(
            table.at("packet"),
            format!("a packet has {UDP_HEADER} bytes of headers, some payload, and {MOST_BYTES} bytes at most"),
            "write \"1500 B\"",
        );
        return None;
    }
    Some((rate?, packet?))
}

fn read_video(table: &Reader<'_>, faults: &mut Faults) -> Option<Workload> {
    let (frames, cv) = (table.number("frame_rate", faults), table.number("cv", faults));
    let gamma = table.word("sizes", faults).map(|word| word == "gamma");
    let (rate, packet) = read_packets(table, faults)?;
    let (frames, cv) = (frames?, cv?);
    let mean = rate.0 as f64 / 8.0 / frames;
    let size = if gamma? { distribution::gamma(mean, cv) } else { distribution::log_normal(mean, cv) };
    let interval = Duration((1e9 / frames) as u64);
    Some(Workload::Datagrams { rate, packet, pattern: Pattern::Frames { interval, size } })
}

/// A flow of datagrams has neither a window nor a stack.
pub(super) fn refuse_tcp_fields(table: &Reader<'_>, faults: &mut Faults) {
    for key in ["algorithm", "profile", "stack", "control"] {
        if table.get(key).is_some() {
            faults.add(
                table.at(key),
                "a flow over UDP has none: nothing controls its rate",
                "leave it out, or write 'transport = \"tcp\"'",
            );
        }
    }
}
