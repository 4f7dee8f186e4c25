//! Invariants of all runs.

use std::collections::BTreeMap;

use cwndlab_records::rows::{LinkRow, LinkSampleRow, Records, SampleRow};
use cwndlab_scenario::plan::{LinePlan, LinkPlan, Plan, Workload};
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_units::{Bytes, Duration, Rate};

type CheckResult = Result<(), String>;

fn ensure(condition: bool, what: impl FnOnce() -> String) -> CheckResult {
    if condition {
        Ok(())
    } else {
        Err(what())
    }
}

/// Checks the records of a run against its plan.
pub(super) fn check(plan: &Plan, records: &Records) -> CheckResult {
    ensure(records.flows.len() == plan.flows.len(), || "a flow has no row".to_owned())?;
    ensure(records.links.len() == plan.links.len(), || "a link has no row".to_owned())?;
    for (link_plan, row) in plan.links.iter().zip(&records.links) {
        link(link_plan, row)?;
    }
    link_samples(plan, records)?;
    flows(plan, records)?;
    samples(plan, records)?;
    findings(plan, records)?;
    let last = records.events.iter().map(|row| row.time_ns).chain(records.packets.iter().map(|row| row.time_ns)).max();
    ensure(last.is_none_or(|last| last <= plan.duration.as_nanos()), || "a record is later than the end".to_owned())?;
    for row in &records.transfers {
        ensure(row.start_ns <= row.end_ns && row.end_ns <= plan.duration.as_nanos(), || {
            format!("transfer {} of flow {} lasts from {} to {} ns", row.transfer, row.flow, row.start_ns, row.end_ns)
        })?;
    }
    Ok(())
}

/// Whether the link is on a medium or a cell.
fn shared(plan: &LinkPlan) -> bool {
    plan.radio.is_some() || plan.cell.is_some()
}

fn link(plan: &LinkPlan, row: &LinkRow) -> CheckResult {
    let describe = |what: String| format!("link {}: {what}", row.name);
    ensure(row.dropped_packets + row.sent_packets <= row.arrived_packets, || {
        describe(format!("{} dropped and {} sent of {}", row.dropped_packets, row.sent_packets, row.arrived_packets))
    })?;
    // A packet that a medium or a cell gave up does not count as sent.
    let max_lost = if shared(plan) { row.arrived_packets } else { row.sent_packets };
    ensure(row.lost_packets <= max_lost, || describe(format!("{} lost of {max_lost} sent", row.lost_packets)))?;
    for (name, value) in [
        ("mean_queue_packets", row.mean_queue_packets),
        ("mean_queue_bytes", row.mean_queue_bytes),
        ("utilisation", row.utilisation),
    ] {
        ensure(value.is_finite() && value >= 0.0, || describe(format!("{name} is {value}")))?;
    }
    ensure(row.mean_queue_packets <= row.max_queue_packets as f64 * (1.0 + 1e-9), || {
        describe(format!(
            "the mean queue of {} packets exceeds the maximum of {}",
            row.mean_queue_packets, row.max_queue_packets
        ))
    })?;
    // A burst of tokens can exceed the mean rate of the line.
    let constant = plan.line == LinePlan::Rate && !plan.schedule.changes_rate() && !shared(plan);
    ensure(!constant || row.utilisation <= 1.0 + 1e-9, || describe(format!("utilisation is {}", row.utilisation)))?;
    if let (Some(max), false) = (row.capacity_packets, shared(plan)) {
        ensure(row.max_queue_packets <= max.max(1), || {
            describe(format!("a queue of {} packets exceeds the capacity of {max}", row.max_queue_packets))
        })?;
    }
    Ok(())
}

fn link_samples(plan: &Plan, records: &Records) -> CheckResult {
    let mut last: BTreeMap<u32, &LinkSampleRow> = BTreeMap::new();
    for row in &records.link_samples {
        let name = plan.link_name(row.link.into());
        let describe = |what: &str| format!("link {name} at {} ns: {what}: {row:?}", row.time_ns);
        for value in [row.queue_packet_ns, row.queue_byte_ns] {
            ensure(value.is_finite() && value >= 0.0, || describe("an integral is negative or not a number"))?;
        }
        ensure(row.dropped_packets + row.queue_packets <= row.arrived_packets, || {
            describe("more packets than arrived")
        })?;
        if let Some(before) = last.insert(row.link, row) {
            // Integrals are rounded to the 53 bits of a float.
            let monotonic = row.arrived_packets >= before.arrived_packets
                && row.dropped_packets >= before.dropped_packets
                && row.lost_packets >= before.lost_packets
                && row.marked_packets >= before.marked_packets
                && row.sent_bytes >= before.sent_bytes
                && row.queue_packet_ns >= before.queue_packet_ns
                && row.queue_byte_ns >= before.queue_byte_ns;
            ensure(monotonic, || describe("a counter decreases"))?;
        }
    }
    // At the end at max one packet is in service.
    for (index, row) in last.into_iter().filter(|(_, row)| row.time_ns == plan.duration.as_nanos()) {
        let total = &records.links[index as usize];
        let plan = &plan.links[index.into()];
        let rest = total.arrived_packets.cast_signed()
            - (total.dropped_packets + total.sent_packets + row.queue_packets).cast_signed();
        let max = if shared(plan) { total.lost_packets.cast_signed() } else { 1 };
        ensure((0..=max).contains(&rest), || {
            format!("link {}: {rest} packets are unaccounted for: {total:?}", total.name)
        })?;
        let counted = (row.arrived_packets, row.dropped_packets, row.lost_packets, row.sent_bytes);
        let totals = (total.arrived_packets, total.dropped_packets, total.lost_packets, total.sent_bytes);
        ensure(counted == totals, || {
            format!("link {}: {counted:?} in the last sample, {totals:?} in total", total.name)
        })?;
    }
    Ok(())
}

fn flows(plan: &Plan, records: &Records) -> CheckResult {
    let mut transfers: BTreeMap<u32, u64> = BTreeMap::new();
    for row in &records.transfers {
        *transfers.entry(row.flow).or_default() += 1;
    }
    let duplicates = plan.links.iter().any(|link| link.duplicate > 0.0);
    for (flow_plan, row) in plan.flows.iter().zip(&records.flows) {
        let describe = |what: &str| format!("flow {}: {what}: {row:?}", row.name);
        let routes = flow_plan.forward.iter().chain(&flow_plan.reverse);
        let delay_varies = routes.clone().any(|&link| plan.links[link].schedule.changes_wire());
        if let (Some(min), false) = (row.min_rtt_ns, delay_varies) {
            ensure(min >= row.base_rtt_ns, || describe("an RTT sample is below the base RTT"))?;
        }
        if let (Some(min), Some(mean)) = (row.min_rtt_ns, row.mean_rtt_ns) {
            ensure(mean >= min, || describe("the mean RTT is below the smallest"))?;
        }
        if let (Some(min), Some(mean), Some(max)) = (row.min_delay_ns, row.mean_delay_ns, row.max_delay_ns) {
            ensure(min <= mean && mean <= max, || describe("the mean delay is not between minimum and maximum"))?;
        }
        ensure(row.retransmitted_packets <= row.sent_packets, || describe("more packets retransmitted than sent"))?;
        ensure(row.retransmitted_bytes <= row.sent_bytes, || describe("more bytes retransmitted than sent"))?;
        ensure(row.acked_bytes <= row.sent_bytes, || describe("more acknowledged than sent"))?;
        // Dialogues deliver data in both directions, and the other endpoint sends the requests.
        let one_way = !matches!(flow_plan.workload.application_kind(), ApplicationKind::Dialogue(_));
        if one_way {
            ensure(row.delivered_bytes <= row.sent_bytes, || describe("more delivered than sent"))?;
            let first_transmissions = row.sent_bytes - row.retransmitted_bytes;
            ensure(row.delivered_bytes <= first_transmissions, || {
                describe("more delivered than sent for the first time")
            })?;
        }
        if one_way && !duplicates {
            // A SYN counts as lost but not as sent; every connection sends a bounded number of SYNs.
            let connections = match flow_plan.workload {
                Workload::Arrivals(ref arrivals) => arrivals.count.unwrap_or(u64::from(arrivals.connections)),
                _ => 1 + transfers.get(&row.flow).copied().unwrap_or(0),
            };
            let stack = &flow_plan.stack;
            let syns = connections * (u64::from(stack.syn_retries + stack.syn_linear_timeouts) + 1);
            ensure(row.queue_drops + row.wire_losses <= row.sent_packets + syns, || describe("more lost than sent"))?;
        }
        ensure(row.end_ns.is_none_or(|end| row.start_ns <= end && end <= plan.duration.as_nanos()), || {
            describe("its end is outside of the run")
        })?;
    }
    Ok(())
}

/// The run's own findings: its counters add up, and no connection hangs where nothing is lost.
fn findings(plan: &Plan, records: &Records) -> CheckResult {
    if let Some(finding) = records.findings.iter().find(|row| row.code == "counters") {
        return Err(format!("counters: {}", finding.text));
    }
    let loses = records.links.iter().any(|link| link.dropped_packets + link.lost_packets > 0);
    // Behind a queue that takes longer than the initial timeout, ACKs may take longer than any timeout that the sender
    // has seen.
    let largest = plan.flows.iter().map(|flow| flow.stack.mss.0).max().unwrap_or(0).max(1400) + 100;
    let queues_long = |link: &LinkPlan, row: &LinkRow| {
        let wait = |rate: Rate| rate.time_for_backlog(Bytes(largest.saturating_mul(row.max_queue_packets)));
        link.rate.is_some_and(|rate| wait(rate) > Duration::from_secs(1))
    };
    let varies = plan.links.iter().zip(&records.links).any(|(link, row)| {
        queues_long(link, row)
            || link.varies()
            || link.schedule.changes_wire()
            || link.jitter.is_some()
            || link.harq.is_some()
            || shared(link)
    });
    for finding in records.findings.iter().filter(|row| row.code == "hang" && !loses && !varies) {
        let flow = finding.flow.map(|flow| &plan.flows[flow.into()]);
        // A sender that waits for the receive window has nothing to do.
        let small =
            flow.is_some_and(|flow| flow.stack.receive_window < flow.stack.mss || flow.stack.read_rate.is_some());
        ensure(small, || format!("without a loss: {}", finding.text))?;
    }
    ensure(records.findings.windows(2).all(|pair| severity(pair[0].severity) >= severity(pair[1].severity)), || {
        "findings are not sorted".to_owned()
    })
}

fn severity(name: &str) -> usize {
    ["note", "warning", "severe"].iter().position(|one| *one == name).expect("a severity")
}

fn samples(plan: &Plan, records: &Records) -> CheckResult {
    let mut last: BTreeMap<u32, &SampleRow> = BTreeMap::new();
    for row in &records.samples {
        let describe = |what: &str| format!("flow {} at {} ns: {what}: {row:?}", row.flow, row.time_ns);
        if let Some(before) = last.insert(row.flow, row) {
            let monotonic = row.delivered_bytes >= before.delivered_bytes
                && row.sent_bytes >= before.sent_bytes
                && row.retransmitted_packets >= before.retransmitted_packets
                && row.queue_drops >= before.queue_drops
                && row.wire_losses >= before.wire_losses
                && row.rtt_count >= before.rtt_count
                && row.rtt_sum_ns.is_none_or(|sum| before.rtt_sum_ns.is_some_and(|before| sum >= before));
            ensure(monotonic, || describe("a counter decreases"))?;
        }
    }
    for (flow, row) in last.into_iter().filter(|(_, row)| row.time_ns == plan.duration.as_nanos()) {
        let total = &records.flows[flow as usize];
        let counted = (row.delivered_bytes, row.sent_bytes, row.queue_drops, row.wire_losses);
        let totals = (total.delivered_bytes, total.sent_bytes, total.queue_drops, total.wire_losses);
        ensure(counted == totals, || {
            format!("flow {}: {counted:?} in the last sample, {totals:?} in total", total.name)
        })?;
    }
    Ok(())
}
