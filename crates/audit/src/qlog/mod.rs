//! Reads qlog: JSON-SEQ (`.sqlog`), one JSON object per line, or JSON (`.qlog`), of versions 0.3, 0.4 and the drafts.
//!
//! Stacks differ in names and forms, so that unknown fields and events are skipped. A record that cannot be read is
//! counted, and a note names the first one.

mod data;
mod lenient;

use std::collections::BTreeMap;

use cwndlab_control::Fault;
use cwndlab_units::Time;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::{Event, Log, Protocol, What, ORIGIN};
use data::{plain_name, translate};
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

#[derive(Deserialize, Default)]
#[serde(default)]
struct Trace<'a> {
    title: Text,
    common_fields: CommonFields,
    configuration: Configuration,
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
    connections: BTreeMap<String, Connection>,
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
}

fn fault<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { what: what.into(), hint: hint.into() })
}

const NOT_QLOG: &str = "give a qlog file (.sqlog or .qlog), or a capture in pcap or pcapng";

/// Reads the log of `connection`, or of the only one.
///
/// # Errors
///
/// The text is not qlog, has no usable event, or has several connections and none is chosen.
pub fn read(bytes: &[u8], connection: Option<&str>) -> Result<Log, Fault> {
    let Ok(text) = std::str::from_utf8(bytes) else { return fault("is not text", NOT_QLOG) };
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
            self.begin(&trace);
            let unit = unit(&trace);
            for (number, event) in trace.events.iter().flatten().enumerate() {
                self.event(event.get(), &trace, &name, unit, || format!("event {number} of trace {at}"));
            }
        }
    }

    /// JSON-SEQ (RFC 7464), or one object per line.
    fn sequence(&mut self, text: &str, error: &serde_json::Error) -> Result<(), Fault> {
        let records = || text.split(['\u{1e}', '\n']).map(str::trim).filter(|one| !one.is_empty());
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
        for (number, record) in records().enumerate().skip(1) {
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
        let Some(event) = parse_event(text) else { return self.skip(place()) };
        let (Some(time), Some(kind)) = (event.time.0, event.name.0.as_deref()) else { return self.skip(place()) };
        let format = trace.common_fields.time_format.0.as_deref().unwrap_or_default();
        let relative = matches!(format, "delta" | "relative_to_previous_event");
        self.clock_ms = time * unit + if relative { self.clock_ms } else { 0.0 };
        let Ok(read) = translate(&plain_name(kind), event.data.map_or("{}", RawValue::get), unit) else {
            return self.skip(place());
        };
        self.unlisted += u64::from(read.unlisted);
        if read.events.is_empty() {
            return;
        }
        let group = event.group_id.0.unwrap_or_else(|| name.to_owned());
        let connection = self.connections.entry(group).or_default();
        connection.numbers.extend(read.connection);
        connection.events.extend(read.events.into_iter().map(|what| (self.clock_ms, what)));
    }

    fn finish(self, wanted: Option<&str>) -> Result<Log, Fault> {
        let mut usable: BTreeMap<_, _> =
            self.connections.into_iter().filter(|(_, one)| !one.events.is_empty()).collect();
        let names = usable.keys().cloned().collect::<Vec<_>>().join(", ");
        let (name, chosen) = match wanted {
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
        let mut notes = Vec::new();
        if let Some(place) = self.first_unreadable {
            let (count, plural) = (self.unreadable, if self.unreadable == 1 { "" } else { "s" });
            notes.push(format!("{count} record{plural} of the log could not be read, the first is {place}"));
        }
        let protocol = if self.tcp { Protocol::Tcp } else { Protocol::Quic };
        Ok(log(name, chosen.events, protocol, notes))
    }
}

/// Shifts the times to [`ORIGIN`]. Times that run backwards, as of several threads, keep the order of the log.
fn log(connection: String, events: Vec<(f64, What)>, protocol: Protocol, notes: Vec<String>) -> Log {
    let origin_ms = events.iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
    let mut latest = ORIGIN;
    let shifted = events.into_iter().map(|(time, what)| {
        latest = latest.max(Time(ORIGIN.0 + ((time - origin_ms) * 1e6).round() as u64));
        Event { time: latest, what }
    });
    Log { events: shifted.collect(), protocol, windowless: false, origin_ms, connection, notes }
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

/// An event as an object, or as the list `[time, category, name, data]` of draft-01.
fn parse_event(text: &str) -> Option<RawEvent<'_>> {
    if !text.starts_with('[') {
        return serde_json::from_str(text).ok();
    }
    let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
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
