//! Writes qlog (JSON text sequence, version 0.4) for the stacks whose own log lacks what an audit needs, and holds what
//! the programs share.
//!
//! The log is written when the transfer has ended: a packet that was neither acknowledged nor declared lost by then had
//! no frame that elicits an ACK, and did not count as in flight. The stacks do not say which packets these are.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use serde_json::{json, Value};

/// Payload of the largest UDP datagram: 1500 bytes less the headers of IPv4 and UDP.
pub const DATAGRAM: u16 = 1472;
/// Number of the packet number space of the handshake and of application data in keys of packets.
pub type Packet = (Space, u64);

/// A packet number space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    Initial,
    Handshake,
    Application,
}

impl Space {
    fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Handshake => "handshake",
            Self::Application => "1RTT",
        }
    }
}

/// Values of congestion control after an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metrics {
    pub cwnd: u64,
    pub ssthresh: Option<u64>,
    pub in_flight: Option<u64>,
    pub srtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    pub latest_rtt: Option<Duration>,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    Sent {
        packet: Packet,
        bytes: u64,
    },
    /// An ACK frame; the ranges include their ends.
    Acked {
        space: Space,
        ranges: Vec<(u64, u64)>,
    },
    Lost {
        packet: Packet,
    },
    Metrics(Metrics),
    /// The state of congestion control is this one from now on, by its name in qlog.
    State(&'static str),
}

/// The events of a connection, each with its time since the start.
#[derive(Debug, Default)]
pub struct Log {
    events: Vec<(Duration, Event)>,
}

fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 * 1e-6
}

impl Log {
    pub fn push(&mut self, time: Duration, event: Event) {
        self.events.push((time, event));
    }

    /// Writes the log; `title` names the stack with its version.
    pub fn write(&mut self, path: &str, title: &str, mss: u16) -> std::io::Result<()> {
        self.write_to(BufWriter::new(File::create(path)?), title, mss)
    }

    /// Writes the log to an open file.
    pub fn write_to(&mut self, mut file: impl Write, title: &str, mss: u16) -> std::io::Result<()> {
        self.events.sort_by_key(|one| one.0);
        let counted = self.counted();
        let mut record = |value: Value| writeln!(file, "\u{1e}{value}");
        record(json!({
            "qlog_format": "JSON-SEQ", "qlog_version": "0.4", "title": title,
            "trace": {"vantage_point": {"type": "client"}, "common_fields": {"time_format": "relative_to_epoch"}},
        }))?;
        record(json!({
            "time": 0.0, "name": "recovery:parameters_set", "data": {"max_datagram_size": mss},
        }))?;
        let is_counted = |event: &Event| matches!(event, Event::Sent { packet, .. } if counted.contains(packet));
        let last = self.events.iter().rposition(|(_, event)| is_counted(event)).unwrap_or(0);
        for (at, (time, event)) in self.events.iter().enumerate() {
            // What is neither acknowledged nor lost, although a later packet is, does not count as in flight.
            if at < last && matches!(event, Event::Sent { .. }) && !is_counted(event) {
                continue;
            }
            let (name, data) = event.qlog();
            record(json!({"time": ms(*time), "name": name, "data": data}))?;
        }
        file.flush()
    }

    /// The packets that were acknowledged or lost.
    fn counted(&self) -> BTreeSet<Packet> {
        let mut sent: BTreeSet<Packet> = BTreeSet::new();
        let mut counted = BTreeSet::new();
        for (_, event) in &self.events {
            match event {
                Event::Sent { packet, .. } => {
                    sent.insert(*packet);
                }
                Event::Acked { space, ranges } => {
                    for &(first, last) in ranges {
                        let acked: Vec<Packet> = sent.range((*space, first)..=(*space, last)).copied().collect();
                        acked.iter().for_each(|one| {
                            sent.remove(one);
                        });
                        counted.extend(acked);
                    }
                }
                Event::Lost { packet } => {
                    counted.insert(*packet);
                }
                Event::Metrics(_) | Event::State(_) => {}
            }
        }
        counted
    }
}

impl Event {
    fn qlog(&self) -> (&'static str, Value) {
        match self {
            Self::Sent { packet: (space, number), bytes } => (
                "transport:packet_sent",
                json!({
                    "header": {"packet_type": space.name(), "packet_number": number},
                    "raw": {"length": bytes}, "frames": [{"frame_type": "stream"}],
                }),
            ),
            Self::Acked { space, ranges } => (
                "transport:packet_received",
                json!({
                    "header": {"packet_type": space.name()},
                    "frames": [{"frame_type": "ack", "acked_ranges": ranges}],
                }),
            ),
            Self::Lost { packet: (space, number) } => {
                ("recovery:packet_lost", json!({"header": {"packet_type": space.name(), "packet_number": number}}))
            }
            Self::Metrics(one) => ("recovery:metrics_updated", one.qlog()),
            Self::State(state) => ("recovery:congestion_state_updated", json!({"new": state})),
        }
    }
}

impl Metrics {
    fn qlog(&self) -> Value {
        let mut data = json!({"congestion_window": self.cwnd});
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                data[name] = value;
            }
        };
        set("ssthresh", self.ssthresh.map(Value::from));
        set("bytes_in_flight", self.in_flight.map(Value::from));
        set("smoothed_rtt", self.srtt.map(|one| json!(ms(one))));
        set("min_rtt", self.min_rtt.map(|one| json!(ms(one))));
        set("latest_rtt", self.latest_rtt.map(|one| json!(ms(one))));
        data
    }
}

/// The arguments of a sender: `ADDRESS CERTIFICATE ALGORITHM BYTES PAUSES LOG`.
pub struct Arguments {
    pub address: std::net::SocketAddr,
    /// The receiver's certificate in PEM, which the receiver writes at its start.
    pub certificate: String,
    pub algorithm: String,
    pub bytes: usize,
    /// Pauses of a second in the data.
    pub pauses: usize,
    pub log: String,
}

impl Arguments {
    /// Those of the process from `first` on.
    pub fn read(first: usize) -> Result<Self, String> {
        let all: Vec<String> = std::env::args().skip(first).collect();
        let [address, certificate, algorithm, bytes, pauses, log] = <[String; 6]>::try_from(all)
            .map_err(|_| "arguments: ADDRESS CERTIFICATE ALGORITHM BYTES PAUSES LOG".to_owned())?;
        let wrong = |name: &str, text: &str| format!("{name} '{text}' is not valid");
        Ok(Self {
            address: address.parse().map_err(|_| wrong("address", &address))?,
            certificate,
            algorithm,
            bytes: bytes.parse().map_err(|_| wrong("number of bytes", &bytes))?,
            pauses: pauses.parse().map_err(|_| wrong("number of pauses", &pauses))?,
            log,
        })
    }

    /// The sizes of the parts between the pauses.
    pub fn parts(&self) -> Vec<usize> {
        let part = self.bytes / (self.pauses + 1);
        vec![part; self.pauses + 1]
    }
}
