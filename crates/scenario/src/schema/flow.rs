//! Reads a flow: algorithm, stack, timing, workload and route.

use cwndlab_config::reader::wrong_word;
use cwndlab_config::{Faults, FieldType, Reader};
use cwndlab_network::dscp::Dscp;
use cwndlab_control::{RecoveryKind, ReportSchedule};
use cwndlab_traffic::configuration::Transport;
use cwndlab_traffic::distribution_fields::Times;
use cwndlab_traffic::workloads::UDP_EXAMPLE;
use cwndlab_traffic::Workload;
use cwndlab_units::spelling::nearest;
use cwndlab_units::Duration;
use serde_json::Value;

use super::tables::FLOW;
use super::typed::{Flow, Jitter, Timing};
use crate::plan::{ControlDelay, Stack};
use crate::profile;

/// The names of directions; true for the reverse direction (from right to left, or from the station).
pub(super) type Directions = &'static [(&'static str, bool)];
pub(super) const WIRED: Directions = &[("forward", false), ("reverse", true)];
pub(super) const WIRELESS: Directions = &[("download", false), ("upload", true)];

pub(super) fn read_jitter(table: &Reader<'_>, faults: &mut Faults) -> Option<Jitter> {
    if table.get("start_jitter").and_then(Value::as_str) == Some("rtt") {
        return Some(Jitter::Rtt);
    }
    table.duration("start_jitter", faults).map(Jitter::Fixed)
}

/// The delay between transport and algorithm.
fn read_control(table: &Reader<'_>, faults: &mut Faults) -> Option<ControlDelay> {
    let delay = table.duration("delay", faults);
    let schedule = read_schedule(table, faults);
    Some(ControlDelay { delay: delay?, schedule: schedule? })
}

/// When ACKs are reported to a remote algorithm.
fn read_schedule(table: &Reader<'_>, faults: &mut Faults) -> Option<ReportSchedule> {
    if table.get("interval").and_then(Value::as_str) == Some("rtt") {
        return Some(ReportSchedule::Rtt);
    }
    let interval = table.duration("interval", faults)?;
    Some(if interval.as_nanos() == 0 { ReportSchedule::Ack } else { ReportSchedule::Every(interval) })
}

/// Whether the flow has the reverse direction.
fn read_direction(table: &Reader<'_>, directions: Directions, faults: &mut Faults) -> bool {
    let Some(word) = table.string("direction", faults) else { return false };
    let direction = directions.iter().find(|(one, _)| *one == word);
    if direction.is_none() {
        wrong_word(&table.at("direction"), &word, directions.iter().map(|(one, _)| *one), faults);
    }
    direction.is_some_and(|(_, reverse)| *reverse)
}

pub(super) fn read_flow(value: &Value, path: String, directions: Directions, faults: &mut Faults) -> Option<Flow> {
    let table = Reader::new(value, path.clone(), &FLOW, faults)?;
    let udp = table.word("transport", faults) == Some("udp");
    let algorithm = read_algorithm(&table, udp, faults);
    let profile = table.string("profile", faults)?;
    let (stack, recovery) = read_stack(&table, &profile, faults)?;
    let control = table.table("control", faults).and_then(|inner| read_control(&inner, faults));
    let workload = read_workload(&table, udp, faults);
    let start = table.duration("start", faults).unwrap_or_default();
    let stop = table.duration("stop", faults);
    if stop.is_some_and(|stop| stop <= start) {
        faults.add(table.at("stop"), "is not after the start", "");
    }
    let gaps = match table.get("start_step") {
        Some(value) if value.is_object() => Times::read(&table, "start_step", faults),
        _ => None,
    };
    Some(Flow {
        name: table.string("name", faults),
        rtt: table.duration("rtt", faults),
        reverse: read_direction(&table, directions, faults),
        timing: Timing {
            start,
            stop,
            jitter: read_jitter(&table, faults),
            count: table.integer("count", faults).unwrap_or(1),
            step: match &gaps {
                None => table.duration("start_step", faults).unwrap_or_default(),
                Some(_) => Duration::ZERO,
            },
            gaps,
        },
        workload: workload?,
        dscp: Option::<Dscp>::read(&table, "dscp", faults)?.unwrap_or_default(),
        profile,
        stack,
        ecn_given: table.get("stack").is_some_and(|value| value.get("ecn").is_some()),
        counting_given: table.get("stack").is_some_and(|value| value.get("ack_counting").is_some()),
        restart_given: table.get("stack").is_some_and(|value| value.get("rto_restart").is_some()),
        recovery,
        control,
        ends: (table.string("from", faults), table.string("to", faults)),
        routes: (table.names("route", faults), table.names("reverse_route", faults)),
        hops: (table.integer("enter", faults), table.integer("leave", faults)),
        algorithm: if udp { None } else { Some(algorithm?) },
        path,
    })
}

/// The text of the algorithm; `None` over UDP.
fn read_algorithm(table: &Reader<'_>, udp: bool, faults: &mut Faults) -> Option<String> {
    let algorithm = table.string("algorithm", faults);
    if udp {
        reject_tcp_fields(table, faults);
        return None;
    }
    if !table.gives("algorithm") {
        let example = "'algorithm = \"cubic\"' (or 'transport = \"udp\"' for a flow without congestion control)";
        faults.add(table.at("algorithm"), "is missing", format!("write {example}"));
    }
    algorithm
}

/// The stack of the profile with the flow's overrides, and the profile's loss recovery.
fn read_stack(table: &Reader<'_>, profile: &str, faults: &mut Faults) -> Option<(Stack, RecoveryKind)> {
    let Some((mut stack, recovery)) = profile::find(profile) else {
        let near = nearest(profile, profile::names());
        let hint = near.map_or_else(
            || format!("one of {}", profile::names().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean '{near}'?"),
        );
        faults.add(table.at("profile"), format!("no profile is called '{profile}'"), hint);
        return None;
    };
    if let Some(inner) = table.table("stack", faults) {
        profile::override_with(&mut stack, &inner, faults);
    }
    Some((stack, recovery))
}

/// The workload of the flow; the default over TCP is bulk data.
fn read_workload(table: &Reader<'_>, udp: bool, faults: &mut Faults) -> Option<Workload> {
    let Some(value) = table.get("workload") else {
        if udp {
            faults.add(table.at("workload"), "is missing", UDP_EXAMPLE);
            return None;
        }
        return Some(Workload::BULK);
    };
    let transport = if udp { Transport::Udp } else { Transport::Tcp };
    Workload::from_document(value, table.at("workload"), transport, faults)
}

/// Rejects fields of TCP in a flow over UDP.
fn reject_tcp_fields(table: &Reader<'_>, faults: &mut Faults) {
    for key in ["algorithm", "profile", "stack", "control"] {
        if table.get(key).is_some() {
            faults.add(
                table.at(key),
                "a flow over UDP has no congestion control",
                "remove it, or write 'transport = \"tcp\"'",
            );
        }
    }
}
