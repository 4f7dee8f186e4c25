//! What a flow's application sends, as written.

use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::Value;

use super::distribution::{self, Unit};
use super::fields::WORKLOAD;
use crate::distribution::Distribution;
use crate::plan::{Intensity, Mqtt, Pattern, Workload};
use crate::read::{Faults, Table};

/// IPv4 and UDP.
pub(crate) const UDP_HEADER: u64 = 28;
/// The largest IPv4 packet.
const MOST_BYTES: u64 = 65_535;
/// Connections of one flow of arrivals at the same time, unless it says otherwise.
const CONNECTIONS: u64 = 10_000;
/// The largest message of MQTT (3.1.1, 2.2.3): 256 MiB less one.
const MOST_MESSAGE: f64 = 268_435_000.0;

pub(super) const UDP_EXAMPLE: &str = "write 'workload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"1500 B\" }'";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bulk,
    OnOff,
    Transfers,
    Arrivals,
    Exchanges,
    Mqtt,
    Cbr,
    Vbr,
}

const KINDS: &[(&str, Kind)] = &[
    ("bulk", Kind::Bulk),
    ("on-off", Kind::OnOff),
    ("transfers", Kind::Transfers),
    ("arrivals", Kind::Arrivals),
    ("request-response", Kind::Exchanges),
    ("mqtt", Kind::Mqtt),
    ("cbr", Kind::Cbr),
    ("vbr", Kind::Vbr),
];

impl Kind {
    /// Its fields beside `kind`.
    fn fields(self, udp: bool) -> &'static [&'static str] {
        match self {
            Self::Bulk => &["bytes"],
            Self::OnOff if udp => &["on", "off", "rate", "packet"],
            Self::OnOff => &["on", "off"],
            Self::Transfers => &["bytes", "count", "gap", "new_connection"],
            Self::Arrivals => &["per_second", "load", "size", "count", "connections"],
            Self::Exchanges => &["request", "response", "think", "count", "new_connection"],
            Self::Mqtt => &["qos", "payload", "period", "jitter", "topic", "client", "keep_alive", "nagle"],
            Self::Cbr => &["rate", "packet"],
            Self::Vbr => &["rate", "packet", "frame_rate", "cv", "sizes"],
        }
    }

    fn goes_over(self, udp: bool) -> bool {
        match self {
            Self::OnOff => true,
            Self::Cbr | Self::Vbr => udp,
            _ => !udp,
        }
    }
}

pub(super) fn read_workload(value: &Value, path: String, udp: bool, faults: &mut Faults) -> Option<Workload> {
    let table = Table::new(value, path, WORKLOAD, faults)?;
    let kind = table.word("kind", KINDS, faults);
    let kind = table.require("kind", kind, "'kind = \"bulk\"', \"on-off\" or \"transfers\"", faults)?;
    let word = KINDS.iter().find(|(_, one)| *one == kind).map_or("", |(word, _)| word);
    if !kind.goes_over(udp) {
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
    let fields = kind.fields(udp);
    for key in WORKLOAD.iter().filter(|key| **key != "kind" && !fields.contains(key) && table.get(key).is_some()) {
        faults.add(table.at(key), format!("'{word}' has no such field"), format!("fields here: {}", fields.join(", ")));
    }
    match kind {
        Kind::Bulk => Some(Workload::Bulk { bytes: read_bytes(&table, faults) }),
        Kind::OnOff => read_on_off(&table, udp, faults),
        Kind::Transfers => {
            let bytes = read_bytes(&table, faults);
            Some(Workload::Transfers {
                bytes: table.require("bytes", bytes, "'bytes = \"100 kB\"'", faults)?,
                count: table.whole("count", 1, u64::MAX, faults),
                gap: table.duration("gap", faults).unwrap_or_default(),
                new_connection: table.flag("new_connection", faults).unwrap_or(false),
            })
        }
        Kind::Arrivals => read_arrivals(&table, faults),
        Kind::Exchanges => {
            let request = distribution::require(&table, "request", Unit::Size, faults);
            let response = distribution::require(&table, "response", Unit::Size, faults);
            let think = match table.get("think") {
                Some(_) => distribution::read(&table, "think", Unit::Time, faults),
                None => Some(Distribution::Fixed(0.0)),
            };
            Some(Workload::Exchanges {
                request: request?,
                response: response?,
                think: think?,
                count: table.whole("count", 1, u64::MAX, faults),
                new_connection: table.flag("new_connection", faults).unwrap_or(false),
            })
        }
        Kind::Mqtt => read_mqtt(&table, faults).map(Workload::Mqtt),
        Kind::Cbr => {
            let (rate, packet) = read_packets(&table, faults)?;
            Some(Workload::Datagrams { rate, packet, pattern: Pattern::Steady })
        }
        Kind::Vbr => read_video(&table, faults),
    }
}

fn read_bytes(table: &Table<'_>, faults: &mut Faults) -> Option<Bytes> {
    let bytes = table.bytes("bytes", faults);
    if bytes == Some(Bytes::ZERO) {
        faults.add(table.at("bytes"), "is zero", "write \"10 MB\"");
    }
    bytes
}

fn read_on_off(table: &Table<'_>, udp: bool, faults: &mut Faults) -> Option<Workload> {
    let on = distribution::require(table, "on", Unit::Time, faults);
    let off = distribution::read(table, "off", Unit::Time, faults);
    let off = table.require("off", off, "'off = \"2 s\"'", faults);
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

/// A positive number.
fn number(table: &Table<'_>, key: &str, most: f64, faults: &mut Faults) -> Option<f64> {
    let value = table.get(key)?;
    let found = value.as_f64().filter(|number| *number > 0.0 && *number <= most);
    if found.is_none() {
        faults.add(table.at(key), format!("a number above 0 and up to {most} is wanted, this is {value}"), "");
    }
    found
}

fn read_arrivals(table: &Table<'_>, faults: &mut Faults) -> Option<Workload> {
    let size = distribution::require(table, "size", Unit::Size, faults);
    let intensity = match (table.get("per_second"), table.get("load")) {
        (Some(_), None) => number(table, "per_second", 1e9, faults).map(Intensity::PerSecond),
        (None, Some(_)) => number(table, "load", 100.0, faults).map(Intensity::Load),
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
        count: table.whole("count", 1, u64::MAX, faults),
        connections: table.whole("connections", 1, 1_000_000, faults).unwrap_or(CONNECTIONS) as u32,
    })
}

fn read_mqtt(table: &Table<'_>, faults: &mut Faults) -> Option<Mqtt> {
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
    let period = table.duration("period", faults);
    let period = table.require("period", period, "'period = \"10 s\"'", faults);
    if period == Some(Duration::ZERO) {
        faults.add(table.at("period"), "is zero", "write \"10 s\"");
    }
    let jitter = table.duration("jitter", faults).unwrap_or_default();
    if period.is_some_and(|period| jitter > period) {
        faults.add(table.at("jitter"), "is longer than the period", "messages are sent in order");
    }
    let keep_alive = match table.get("keep_alive") {
        Some(_) => table.duration("keep_alive", faults).filter(|time| *time != Duration::ZERO),
        None => Some(Duration::from_secs(60)),
    };
    Some(Mqtt {
        qos: table.whole("qos", 0, 1, faults).unwrap_or(0) as u8,
        payload: payload?,
        period: period?,
        jitter,
        topic: table.whole("topic", 1, 65_535, faults).unwrap_or(20) as u32,
        client: table.whole("client", 0, 65_535, faults).unwrap_or(23) as u32,
        keep_alive,
        nagle: table.flag("nagle", faults).unwrap_or(false),
    })
}

/// Rate and packet size of a source of datagrams.
fn read_packets(table: &Table<'_>, faults: &mut Faults) -> Option<(Rate, Bytes)> {
    let rate = table.rate("rate", faults);
    let rate = table.require("rate", rate, "'rate = \"2 Mbps\"'", faults);
    let packet = if table.get("packet").is_some() { table.bytes("packet", faults) } else { Some(Bytes(1500)) };
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

fn read_video(table: &Table<'_>, faults: &mut Faults) -> Option<Workload> {
    let frames = if table.get("frame_rate").is_some() { number(table, "frame_rate", 1e6, faults) } else { Some(25.0) };
    let cv = if table.get("cv").is_some() { number(table, "cv", 100.0, faults) } else { Some(0.5) };
    let gamma = if table.get("sizes").is_some() {
        table.word("sizes", &[("log-normal", false), ("gamma", true)], faults)
    } else {
        Some(false)
    };
    let (rate, packet) = read_packets(table, faults)?;
    let (frames, cv) = (frames?, cv?);
    let mean = rate.0 as f64 / 8.0 / frames;
    let size = if gamma? { distribution::gamma(mean, cv) } else { distribution::log_normal(mean, cv) };
    let interval = Duration((1e9 / frames) as u64);
    Some(Workload::Datagrams { rate, packet, pattern: Pattern::Frames { interval, size } })
}

/// A flow of datagrams has neither a window nor a stack.
pub(super) fn refuse_tcp_fields(table: &Table<'_>, faults: &mut Faults) {
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
