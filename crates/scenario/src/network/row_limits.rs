//! Limits on the number of recorded rows, checked before a run because the rows must fit in memory.

use cwndlab_config::Faults;
use cwndlab_traffic::application::OfferedLoad;
use cwndlab_units::Fault;

use crate::plan::{FlowPlan, Plan};

/// Maximum number of rows of all tables: with about 250 bytes per sample 12 GB.
const MAX_ROWS: f64 = 50e6;
/// Maximum number of datagrams of a flow with duplicates: their sequence numbers, which identify duplicates, have 32
/// bits.
const MAX_DATAGRAMS: f64 = u32::MAX as f64;

/// Assumed number of named values of a flow that records all.
const ALL_NAMES: usize = 50;

/// Expected counts of a flow, as far as they follow from its workload.
#[derive(Default)]
struct Expected {
    transfers: f64,
    datagrams: f64,
    /// Data packets of a bulk transfer, without retransmissions.
    data_packets: f64,
    /// Rows if every packet is recorded at every link.
    packet_rows: f64,
}

/// The faults of a plan that exceeds the limits; `paths` are the paths of its flows in the document.
pub(super) fn check(plan: &Plan, paths: &[&str]) -> Vec<Fault> {
    let mut faults = Faults::default();
    reject_short_interval(plan, &mut faults);
    let mut transfers = 0.0;
    let mut packet_rows = 0.0;
    let duplicates = plan.links.iter().any(|link| link.duplicate > 0.0);
    for (flow, path) in plan.flows.iter().zip(paths) {
        let expected = expect(plan, flow);
        transfers += expected.transfers;
        packet_rows += expected.packet_rows;
        if transfers > MAX_ROWS {
            faults.add(
                format!("{path}.workload"),
                format!("{:.0} transfers are expected; the maximum of a run is {MAX_ROWS}", expected.transfers),
                "fewer 'per_second', a smaller 'load' or a 'count', larger sizes, a shorter duration",
            );
            return faults.0;
        }
        if duplicates && expected.datagrams > MAX_DATAGRAMS {
            faults.add(
                format!("{path}.workload"),
                format!(
                    "{:.0} datagrams are expected; duplicates are detected among {MAX_DATAGRAMS:.0}",
                    expected.datagrams
                ),
                "links without 'duplicate', a lower rate, larger packets or a shorter duration",
            );
        }
    }
    reject_many_messages(plan, paths, &mut faults);
    reject_many_values(plan, &mut faults);
    if plan.packets && packet_rows > MAX_ROWS {
        faults.add(
            "packets",
            format!(
                "about {packet_rows:.0} rows would be recorded, one per packet and link; the maximum is {MAX_ROWS}"
            ),
            "a shorter duration, lower rates, or 'packets = false'",
        );
    }
    faults.0
}

/// Rejects a sampling interval with too many samples.
fn reject_short_interval(plan: &Plan, faults: &mut Faults) {
    if plan.sample_interval.as_nanos() == 0 {
        return;
    }
    let end = plan.duration.as_nanos() as f64;
    let instants = end / plan.sample_interval.as_nanos() as f64;
    let sampled = plan.links.iter().filter(|link| link.sampled).count();
    let each = (plan.flows.len() + sampled) as f64;
    if instants * each > MAX_ROWS {
        let min_ms = (end * each / MAX_ROWS / 1e6).ceil().max(1.0);
        let flows = plan.flows.len();
        faults.add(
            "sample_interval",
            format!("{instants:.0} samples of {flows} flows and {sampled} links are more than {MAX_ROWS} rows"),
            format!("an interval of {min_ms} ms or more; \"0 s\" disables samples"),
        );
    }
}

/// Rejects flows with service levels whose messages are too many rows.
fn reject_many_messages(plan: &Plan, paths: &[&str], faults: &mut Faults) {
    let mut messages = 0.0;
    for (flow, path) in plan.flows.iter().zip(paths).filter(|(flow, _)| flow.service.is_some()) {
        let expected = expect(plan, flow);
        messages += expected.transfers + expected.datagrams;
        if messages > MAX_ROWS {
            faults.add(
                format!("{path}.service"),
                format!("about {messages:.0} messages would be recorded; the maximum of a run is {MAX_ROWS}"),
                "a lower rate, larger packets, a shorter duration, or fewer flows with a service level",
            );
            return;
        }
    }
}

/// Rejects named values with too many rows, if each changes between two snapshots.
fn reject_many_values(plan: &Plan, faults: &mut Faults) {
    let Some(values) = &plan.named_values else { return };
    let Some(interval) = values.interval else { return };
    let names = if values.names.is_empty() { ALL_NAMES } else { values.names.len() };
    let snapshots = |flow: &FlowPlan| {
        let events = expect(plan, flow).data_packets;
        if interval.as_nanos() == 0 {
            events
        } else {
            events.min(plan.duration.as_nanos() as f64 / interval.as_nanos() as f64)
        }
    };
    let rows = plan.flows.iter().map(snapshots).sum::<f64>() * names as f64;
    if rows > MAX_ROWS {
        faults.add(
            "named_values",
            format!("up to {rows:.0} rows would be recorded, one per snapshot and value; the maximum is {MAX_ROWS}"),
            "fewer 'names', a longer 'interval', or 'on_change' without 'interval'",
        );
    }
}

/// Expected counts of a flow, limited by its workload and its lines.
fn expect(plan: &Plan, flow: &FlowPlan) -> Expected {
    let stop = flow.stop.map_or(plan.duration, |stop| stop.min(plan.duration));
    let span = stop.as_nanos().saturating_sub(flow.start.as_nanos()) as f64;
    let hops = (flow.forward.len() + flow.reverse.len()) as f64;
    match flow.workload.offered_load() {
        OfferedLoad::Transfers { per_second, count } => {
            let transfers = (per_second * span * 1e-9).min(count.map_or(f64::INFINITY, |count| count as f64));
            Expected { transfers, packet_rows: transfers * hops, ..Expected::default() }
        }
        OfferedLoad::Packets { per_second } => {
            let datagrams = per_second * span * 1e-9;
            Expected { datagrams, packet_rows: datagrams * flow.forward.len() as f64, ..Expected::default() }
        }
        OfferedLoad::Bytes(bytes) => {
            let size = (flow.stack.mss.0 + flow.stack.header.0) as f64;
            let rates = flow.forward.iter().filter_map(|&link| plan.links[link].rate);
            let line = rates.min().map_or(0.0, |rate| rate.0 as f64 / 8.0 * span * 1e-9);
            let carried = bytes.map_or(line, |bytes| line.min(bytes.0 as f64));
            let data_packets = carried / size;
            Expected { data_packets, packet_rows: data_packets * hops, ..Expected::default() }
        }
        OfferedLoad::Unknown => Expected::default(),
    }
}
