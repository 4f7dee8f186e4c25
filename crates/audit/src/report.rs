//! The result of an audit as JSON.

use std::collections::BTreeMap;

use cwndlab_control::Phase;
use serde_json::{json, Map, Value};

use crate::comparison::Brief;
use crate::departure::{Departure, DepartureKind, Named};
use crate::event::Log;
use crate::replay::Audit;
use crate::surprise::Miss;

/// Departures that are written in full; the groups count all of them.
const MAX_DEPARTURES: usize = 1000;
/// Compared windows that are written.
const MAX_POINTS: usize = 8000;

fn state(named: &[Named], in_phase: Phase) -> Value {
    let mut map: Map<String, Value> = named.iter().map(|(name, value)| ((*name).to_owned(), number(*value))).collect();
    map.insert("phase".to_owned(), json!(in_phase.name().unwrap_or("unknown")));
    Value::Object(map)
}

/// A number; JSON has no infinity.
fn number(value: f64) -> Value {
    if value.is_infinite() {
        json!(if value > 0.0 { "infinite" } else { "-infinite" })
    } else {
        json!(value)
    }
}

fn departure(one: &Departure) -> Value {
    json!({
        "time_ms": Log::ms(one.time),
        "since_ms": Log::ms(one.since),
        "kind": one.kind.name(),
        "meaning": one.kind.describe(),
        "event": one.what,
        "source": one.source,
        "logged_before_bytes": one.logged.0,
        "logged_bytes": one.logged.1,
        "reference_before_bytes": one.reference.0,
        "reference_bytes": one.reference.1,
        "state_before": state(&one.state.0, one.phase.0),
        "state_after": state(&one.state.1, one.phase.1),
        "acks": one.acks,
    })
}

fn groups(departures: &[Departure], mss: u64) -> Vec<Value> {
    let mut kinds: BTreeMap<DepartureKind, Group<'_>> = BTreeMap::new();
    for one in departures {
        let logged = one.logged.1;
        let reference = one.reference.1;
        let difference = logged.abs_diff(reference);
        let group = kinds.entry(one.kind).or_insert(Group { first: one, count: 0, acks: 0, largest: 0, percent: 0.0 });
        group.count += 1;
        group.acks += one.acks;
        group.largest = group.largest.max(difference);
        group.percent = group.percent.max(100.0 * difference as f64 / reference.max(1) as f64);
    }
    let mut groups: Vec<_> = kinds.into_iter().collect();
    groups.sort_by_key(|(_, group)| group.first.time);
    let group = |(kind, group): (DepartureKind, Group<'_>)| {
        json!({
            "kind": kind.name(),
            "meaning": kind.describe(),
            "source": group.first.source,
            "departures": group.count,
            "acks": group.acks,
            "first_ms": Log::ms(group.first.time),
            "largest_segments": group.largest as f64 / mss as f64,
            "largest_percent": group.percent,
        })
    };
    groups.into_iter().map(group).collect()
}

/// The departures of one kind.
struct Group<'a> {
    first: &'a Departure,
    count: u64,
    acks: u64,
    /// The largest difference of the windows, bytes, and in per cent of the reference's.
    largest: u64,
    percent: f64,
}

/// A brief comparison as JSON: what the ranking of algorithms needs; null where it ended for its bits.
#[must_use]
pub fn brief(log: &Log, audit: &Audit<'_>) -> Value {
    let judge = &audit.judge;
    let counts = &judge.counts;
    if judge.is_beyond() {
        return Value::Null;
    }
    let row = |one: &Miss| json!([Log::ms(one.time), one.acks, one.kind.name(), one.logged, one.reference]);
    let empty = Brief::default();
    let brief = judge.brief.as_ref().unwrap_or(&empty);
    json!({
        "algorithm": audit.algorithm.to_string(),
        "protocol": log.protocol.name(),
        "connection": log.connection,
        "windowless": log.windowless,
        "coarse": audit.is_coarse,
        "mss_bytes": audit.path.mss.0,
        "acks": counts.acks,
        "decisive": counts.decisive,
        "decisive_explained": counts.decisive_explained,
        "unjudged": counts.unjudged,
        "app_limited": counts.app_limited,
        "windows": counts.checks,
        "difference": brief.difference,
        "bits": brief.surprise.bits(counts.checks),
        "constant_bits": brief.constant_surprise.bits(counts.checks),
        "misses": brief.misses.iter().map(row).collect::<Vec<_>>(),
        "notes": audit.notes,
    })
}

/// The result as JSON.
#[must_use]
pub fn to_json(log: &Log, audit: &Audit<'_>) -> Value {
    let judge = &audit.judge;
    let counts = &judge.counts;
    let stride = judge.series.len().div_ceil(MAX_POINTS).max(1);
    let points: Vec<Value> = judge
        .series
        .iter()
        .step_by(stride)
        .map(|point| json!([Log::ms(point.time), point.logged, point.reference]))
        .collect();
    let departures = &judge.departures;
    json!({
        "algorithm": audit.algorithm.to_string(),
        "protocol": log.protocol.name(),
        "connection": log.connection,
        "log_start_ms": log.origin_ms,
        "windowless": log.windowless,
        "mss_bytes": audit.path.mss.0,
        "initial_cwnd_bytes": audit.path.initial_cwnd.0,
        "tolerance_segments": audit.tolerance.segments,
        "resolution_bytes": audit.tolerance.resolution,
        "rounding_bytes_per_ack": audit.tolerance.per_ack,
        "acks": counts.acks,
        "explained": counts.explained,
        "decisive": counts.decisive,
        "decisive_explained": counts.decisive_explained,
        "unjudged": counts.unjudged,
        "app_limited": counts.app_limited,
        "unclear": counts.unclear,
        "windows": counts.checks,
        "departure_count": departures.len(),
        "groups": groups(departures, audit.path.mss.0.max(1)),
        "departures": departures.iter().take(MAX_DEPARTURES).map(departure).collect::<Vec<_>>(),
        "series": points,
        "notes": audit.notes,
    })
}
