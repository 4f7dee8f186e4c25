//! Reads qlog: JSON-SEQ (`.sqlog`), one JSON object per line, or JSON (`.qlog`), of versions 0.3, 0.4 and the drafts.
//!
//! Stacks differ in names and forms, so that unknown fields and events are skipped. A record that cannot be read is
//! counted, and a note names the first one.

mod data;
mod lenient;

use std::collections::BTreeMap;

use cwndlab_units::{Fault, Time};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::{Event, Log, Protocol, Remark, What, ORIGIN};
use data::{plain_name, translate, Read};
use lenient::{Number, Text};

/// The fields that all events of a trace share.
#[derive(Deserialize, Default)]
#[serde(default)]
struct CommonFields {
    group_id: Text,
    #[serde(rename = "ODCID", alias = "odcid")]
    odcid: Text,
    time_format: Text,
    protocol_type: Option<serde_json::Value>,
    protocol_types: Option<serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Configuration {
    time_units: Text,
}

/// Where the events were logged: client, server or network.
#[derive(Deserialize, Default)]
#[serde(default)]
struct VantagePoint {
    name: Text,
    #[serde(rename = "type")]
    kind: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Trace<'a> {
    title: Text,
    vantage_point: VantagePoint,
    common_fields: CommonFields,
    configuration: Configuration,
    /// The columns of events that are lists, up to draft-01.
    event_fields: Vec<Text>,
    #[serde(borrow)]
    events: Option<Vec<&'a RawValue>>,
}

/// A file in JSON.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    traces: Vec<&'a RawValue>,
}

/// The first record of JSON-SEQ.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default)]
    qlog_version: Text,
    #[serde(default, borrow)]
    trace: Option<Trace<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawEvent<'a> {
    #[serde(alias = "relative_time")]
    time: Number,
    #[serde(alias = "event", alias = "event_type", alias = "type")]
    name: Text,
    group_id: Text,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// Collects the events of the connections of a file.
#[derive(Default)]
struct Collector {
    /// By name and number of the trace: two traces of one name are two vantage points.
    connections: BTreeMap<(String, usize), Connection>,
    /// Number of the trace that is read.
    trace: usize,
    unreadable: u64,
    first_unreadable: Option<String>,
    unlisted: u64,
    tcp: bool,
    /// Time of the last event, ms, for times relative to it.
    clock_ms: f64,
}

#[derive(Default)]
struct Connection {
    events: Vec<(f64, What)>,
    numbers: std::collections::BTreeSet<u64>,
    /// Type and name of the vantage point.
    vantage: [Option<String>; 2],
    /// Bytes of packets sent and received.
    sent: u64,
    received: u64,
    /// Size of the largest packet sent that is no probe of the path MTU, bytes.
    largest: u64,
}

impl Connection {
    /// Adds the bytes of packets sent, and names probes of the path MTU that the log does not name: a packet of PING and
    /// PADDING that is larger than all before it.
    fn sent(&mut self, read: &mut Read) {
        for what in &mut read.events {
            let What::PacketSent { bytes, mtu_probe, .. } = what else { continue };
            self.sent += *bytes;
            *mtu_probe |= read.padded_ping && *bytes > self.largest;
            if !*mtu_probe {
                self.largest = self.largest.max(*bytes);
            }
        }
    }

    /// What the reader of a result should know: who logs the receiver of a transfer compares an idle window.
    fn note(&self) -> Option<String> {
        let is_receiver = self.received > RECEIVER_BYTES && self.received / RECEIVER_SHARE > self.sent;
        is_receiver.then(|| {
            format!(
                "the log is that of a receiver: it has {} kB received and {} kB sent; audit the log of the other side",
                self.received / 1000,
                self.sent / 1000
            )
        })
    }

    /// Shortens ACK ranges by a packet if the log excludes their ends, as that of noq 1.4.0 does, where qlog includes
    /// them: then neighbours touch, which the gap of at least one packet excludes (RFC 9000, section 19.3.1), and no
    /// range has one number. Returns a note.
    fn shorten_ranges(&mut self) -> Option<String> {
        let spans: Vec<_> = self
            .events
            .iter_mut()
            .filter_map(|(_, what)| if let What::AckFrame { ranges, .. } = what { Some(ranges) } else { None })
            .collect();
        let touch =
            |ranges: &[(u64, u64)]| ranges.windows(2).any(|pair| pair[0].1 == pair[1].0 || pair[1].1 == pair[0].0);
        let has_single = spans.iter().any(|ranges| ranges.iter().any(|(first, end)| end - first == 1));
        if has_single || !spans.iter().any(|ranges| touch(ranges)) {
            return None;
        }
        spans.into_iter().flat_map(|ranges| ranges.iter_mut()).for_each(|(_, end)| *end -= 1);
        Some("the ACK ranges of the log exclude their ends, which qlog includes: neighbours touch".to_owned())
    }

    /// The log begins after the handshake: no handshake packets or remarks, and numbers far from the first.
    fn begins_late(&self) -> bool {
        let first = self.events.iter().find_map(|(_, what)| match what {
            What::PacketSent { space, number, .. } => Some(*space == 2 && *number > LATE_PACKET),
            What::Segment { seq, .. } => Some(*seq > LATE_BYTE),
            What::Remark { remark: Remark::Opened | Remark::Established, .. } => Some(false),
            _ => None,
        });
        first.unwrap_or(false)
    }
}

/// A log of fewer received bytes says nothing about its side.
const RECEIVER_BYTES: u64 = 100_000;
/// A receiver has received this many times the bytes that it sent.
const RECEIVER_SHARE: u64 = 4;
/// A log whose first packet has a higher number begins late: the initial window is sent.
const LATE_PACKET: u64 = 16;
/// The same in bytes.
const LATE_BYTE: u64 = 65_536;

fn fault<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new("", what, hint))
}

const NOT_QLOG: &str = "give a qlog file (.sqlog or .qlog), or a capture in pcap or pcapng";

/// Reads the log of `connection`, or of the only one.
///
/// # Errors
///
/// The text is not qlog, has no usable event, or has several connections and none is chosen.
pub fn read(bytes: &[u8], connection: Option<&str>) -> Result<Log, Fault> {
    if let Some(program) = crate::capture::compressed(bytes) {
        return fault(format!("is compressed with {program}"), format!("unpack it with `{program} -d` first"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return fault("is not text", NOT_QLOG) };
    // RFC 8259, section 8.1: a reader may ignore a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    let mut all = Collector::default();
    match serde_json::from_str::<Document<'_>>(text) {
        Ok(document) => all.document(&document),
        Err(error) => all.sequence(text, &error)?,
    }
    all.finish(connection)
}

impl Collector {
    fn document(&mut self, document: &Document<'_>) {
        for (at, raw) in document.traces.iter().enumerate() {
            let Ok(trace) = serde_json::from_str::<Trace<'_>>(raw.get()) else {
                self.skip(format!("trace {at}"));
                continue;
            };
            let name = trace_name(&trace).unwrap_or_else(|| format!("trace {at}"));
            self.trace = at;
            self.begin(&trace);
            let unit = unit(&trace);
            for (number, event) in trace.events.iter().flatten().enumerate() {
                self.event(event.get(), &trace, &name, unit, || format!("event {number} of trace {at}"));
            }
        }
    }

    /// JSON-SEQ, or one object per line. RFC 7464, section 2.1: a record separator begins each text of JSON-SEQ, which may
    /// have line breaks.
    fn sequence(&mut self, text: &str, error: &serde_json::Error) -> Result<(), Fault> {
        let separator = if text.contains('\u{1e}') { '\u{1e}' } else { '\n' };
        let records = || text.split(separator).map(str::trim).filter(|one| !one.is_empty());
        let Some(first) = records().next() else { return fault("is empty", NOT_QLOG) };
        let head = serde_json::from_str::<Head<'_>>(first);
        let Some(head) = head.ok().filter(|head| head.qlog_version.0.is_some() || head.trace.is_some()) else {
            if error.is_eof() && text.trim_start().starts_with('{') {
                let what = format!("ends within a value in line {}: the file is truncated", error.line());
                return fault(what, "close the log before you copy it, or write JSON-SEQ (.sqlog), which can be cut");
            }
            return fault(format!("is not qlog: {error}"), NOT_QLOG);
        };
        let trace = head.trace.unwrap_or_default();
        let name = trace_name(&trace).unwrap_or_else(|| "0".to_owned());
        self.begin(&trace);
        let unit = unit(&trace);
        let mut trace = trace;
        let mut name = name;
        let mut unit = unit;
        for (number, record) in records().enumerate().skip(1) {
            // Files that were joined: the head of the next one.
            if let Some(next) = next_head(record) {
                name = trace_name(&next).unwrap_or_else(|| number.to_string());
                unit = self::unit(&next);
                trace = next;
                self.trace += 1;
                self.begin(&trace);
                continue;
            }
            self.event(record, &trace, &name, unit, || format!("record {number}"));
        }
        Ok(())
    }

    fn begin(&mut self, trace: &Trace<'_>) {
        let common = &trace.common_fields;
        let mentions =
            |value: &Option<serde_json::Value>| value.as_ref().is_some_and(|one| one.to_string().contains("TCP"));
        self.tcp |= mentions(&common.protocol_type) || mentions(&common.protocol_types);
        self.clock_ms = 0.0;
    }

    fn skip(&mut self, place: String) {
        self.unreadable += 1;
        self.first_unreadable.get_or_insert(place);
    }

    fn event(&mut self, text: &str, trace: &Trace<'_>, name: &str, unit: f64, place: impl Fn() -> String) {
        let Some(event) = parse_event(text, &trace.event_fields) else { return self.skip(place()) };
        let (Some(time), Some(kind)) = (event.time.0, event.name.0.as_deref()) else { return self.skip(place()) };
        let format = trace.common_fields.time_format.0.as_deref().unwrap_or_default();
        let relative = matches!(format, "delta" | "relative_to_previous_event");
        self.clock_ms = time * unit + if relative { self.clock_ms } else { 0.0 };
        let Ok(mut read) = translate(&plain_name(kind), event.data.map_or("{}", RawValue::get), unit) else {
            return self.skip(place());
        };
        self.unlisted += u64::from(read.unlisted);
        if read.events.is_empty() && read.received == 0 {
            return;
        }
        let group = event.group_id.0.unwrap_or_else(|| name.to_owned());
        let connection = self.connections.entry((group, self.trace)).or_default();
        let point = &trace.vantage_point;
        connection.vantage = [&point.kind, &point.name].map(|one| one.0.clone().filter(|text| !text.is_empty()));
        connection.received += read.received;
        connection.sent(&mut read);
        connection.numbers.extend(read.connection);
        connection.events.extend(read.events.into_iter().map(|what| (self.clock_ms, what)));
    }

    fn finish(self, wanted: Option<&str>) -> Result<Log, Fault> {
        let mut usable = labelled(self.connections);
        let names = usable.keys().cloned().collect::<Vec<_>>().join(", ");
        let (name, mut chosen) = match wanted {
            Some(name) => match usable.remove_entry(name) {
                Some(found) => found,
                None => return fault(format!("has no connection '{name}'"), format!("its connections are: {names}")),
            },
            None if usable.len() > 1 => {
                let what = format!("has {} connections: {names}", usable.len());
                return fault(what, "choose one with `--connection NAME`");
            }
            None => match usable.pop_first() {
                Some(found) => found,
                None => return fault("has no event that an audit uses", "log the events of recovery and transport"),
            },
        };
        if chosen.numbers.len() > 1 {
            let what =
                format!("has {} connections of one flow, which share their logged windows", chosen.numbers.len());
            return fault(what, "audit a flow with one connection");
        }
        let mut notes: Vec<String> = chosen.note().into_iter().chain(chosen.shorten_ranges()).collect();
        if let Some(place) = self.first_unreadable {
            let count = self.unreadable;
            let plural = if self.unreadable == 1 { "" } else { "s" };
            notes.push(format!("{count} record{plural} of the log could not be read, the first is {place}"));
        }
        let protocol = if self.tcp { Protocol::Tcp } else { Protocol::Quic };
        let begins_late = chosen.begins_late();
        Ok(Log { begins_late, ..log(name, chosen.events, protocol, notes) })
    }
}

/// Names of the connections with events. Where two have one name, the vantage point tells them apart, or the number of
/// the trace.
fn labelled(connections: BTreeMap<(String, usize), Connection>) -> BTreeMap<String, Connection> {
    let mut named: BTreeMap<String, Vec<(usize, Connection)>> = BTreeMap::new();
    for ((name, trace), connection) in connections.into_iter().filter(|(_, one)| !one.events.is_empty()) {
        named.entry(name).or_default().push((trace, connection));
    }
    let mut labelled = BTreeMap::new();
    for (name, group) in named {
        let distinct = |part: usize| {
            let texts: std::collections::BTreeSet<_> =
                group.iter().filter_map(|(_, one)| one.vantage[part].clone()).collect();
            texts.len() == group.len()
        };
        let part = if group.len() == 1 { None } else { (0..2).find(|part| distinct(*part)) };
        let alone = group.len() == 1;
        for (trace, connection) in group {
            let suffix =
                part.and_then(|part| connection.vantage[part].clone()).unwrap_or_else(|| format!("trace {trace}"));
            let label = if alone { name.clone() } else { format!("{name}/{suffix}") };
            labelled.insert(label, connection);
        }
    }
    labelled
}

/// The trace of a record that begins a file in JSON-SEQ.
fn next_head(record: &str) -> Option<Trace<'_>> {
    if !record.contains("\"qlog_version\"") && !record.contains("\"file_schema\"") {
        return None;
    }
    let head: Head<'_> = serde_json::from_str(record).ok()?;
    head.trace
}

/// Shifts the times to [`ORIGIN`]. Times that run backwards, as of several threads, keep the order of the log.
fn log(connection: String, events: Vec<(f64, What)>, protocol: Protocol, notes: Vec<String>) -> Log {
    let origin_ms = events.iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
    let mut latest = ORIGIN;
    let shifted = events.into_iter().map(|(time, what)| {
        latest = latest.max(Time::from_nanos(ORIGIN.as_nanos() + ((time - origin_ms) * 1e6).round() as u64));
        Event { time: latest, what }
    });
    Log { events: shifted.collect(), protocol, windowless: false, begins_late: false, origin_ms, connection, notes }
}

fn trace_name(trace: &Trace<'_>) -> Option<String> {
    let common = &trace.common_fields;
    common.group_id.0.clone().or_else(|| common.odcid.0.clone()).or_else(|| trace.title.0.clone())
}

/// The unit of times and durations, ms.
fn unit(trace: &Trace<'_>) -> f64 {
    match trace.configuration.time_units.0.as_deref() {
        Some("us") => 1e-3,
        Some("s") => 1e3,
        _ => 1.0,
    }
}

/// An event as an object, or as a list: the columns of draft-00 and draft-01 stand in `event_fields`, and are
/// `[time, category, name, data]` where it is missing.
fn parse_event<'a>(text: &'a str, fields: &[Text]) -> Option<RawEvent<'a>> {
    if !text.starts_with('[') {
        return serde_json::from_str(text).ok();
    }
    let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let column = |names: &[&str]| {
        let is_named = |field: &Text| field.0.as_deref().is_some_and(|one| names.contains(&&*one.to_ascii_lowercase()));
        list.get(fields.iter().position(is_named)?).copied()
    };
    if let (Some(time), Some(name)) =
        (column(&["time", "relative_time", "delta_time"]), column(&["event", "event_type", "name"]))
    {
        let group_id = column(&["group_id"]).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let data = column(&["data"]).filter(|raw| raw.get().starts_with('{'));
        let time = serde_json::from_str(time.get()).ok()?;
        let name = serde_json::from_str(name.get()).ok()?;
        return Some(RawEvent { time, name, group_id, data });
    }
    let mut event = RawEvent { time: serde_json::from_str(list.first()?.get()).ok()?, ..RawEvent::default() };
    let mut words = 0;
    for value in &list[1..] {
        if value.get().starts_with('{') {
            event.data = Some(value);
        } else if words < 2 {
            event.name = serde_json::from_str(value.get()).ok()?;
            words += 1;
        }
    }
    Some(event)
}

#[cfg(test)]
mod tests;
