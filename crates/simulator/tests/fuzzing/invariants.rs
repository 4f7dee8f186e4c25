//! Invariants of every run.

use std::collections::BTreeMap;

use cwndlab_records::rows::{LinkRow, LinkSampleRow, Records, SampleRow};
use cwndlab_scenario::plan::{LinePlan, LinkPlan, Plan, Workload};

type CheckResult = Result<(), String>;

fn ensure(condition: bool, what: impl FnOnce() -> String) -> CheckResult {
    if condition {
        Ok(())
    } else {
        Err(what())
    }
}

/// Checks the records of a run by its plan.
pub(super) fn check(plan: &Plan, records: &Records) -> CheckResult {
    ensure(records.flows.len() == plan.flows.len(), || "a flow has no row".to_owned())?;
    ensure(records.links.len() == plan.links.len(), || "a link has no row".to_owned())?;
    for (link_plan, row) in plan.links.iter().zip(&records.links) {
        link(link_plan, row, plan.duration.0 as f64)?;
    }
    link_samples(plan, records)?;
    flows(plan, records)?;
    samples(plan, records)?;
    let late = records.events.iter().map(|row| row.time_ns).chain(records.packets.iter().map(|row| row.time_ns)).max();
    ensure(late.is_none_or(|late| late <= plan.duration.0), || "something is recorded after the end".to_owned())?;
    for row in &records.transfers {
        ensure(row.start_ns <= row.end_ns && row.end_ns <= plan.duration.0, || {
            format!("transfer {} of flow {} lasts from {} to {} ns", row.transfer, row.flow, row.start_ns, row.end_ns)
        })?;
    }
    Ok(())
}

fn link(plan: &LinkPlan, row: &LinkRow, span: f64) -> CheckResult {
    let describe = |what: String| format!("link {}: {what}", row.name);
    ensure(row.dropped_packets + row.sent_packets <= row.arrived_packets, || {
        describe(format!("{} dropped and {} sent of {}", row.dropped_packets, row.sent_packets, row.arrived_packets))
    })?;
    // A packet that an 802.11 station gives up does not count as sent.
    let could = if plan.radio.is_some() { row.arrived_packets } else { row.sent_packets };
    ensure(row.lost_packets <= could, || describe(format!("{} lost of {could} sent", row.lost_packets)))?;
    for (name, value) in [
        ("mean_queue_packets", row.mean_queue_packets),
        ("mean_queue_bytes", row.mean_queue_bytes),
        ("utilisation", row.utilisation),
    ] {
        ensure(value.is_finite() && value >= 0.0, || describe(format!("{name} is {value}")))?;
    }
    ensure(row.mean_queue_packets <= row.max_queue_packets as f64 * (1.0 + 1e-9), || {
        describe(format!("a mean of {} packets wait, and {} at most", row.mean_queue_packets, row.max_queue_packets))
    })?;
    // A burst of tokens, or a packet that began before the end, is more than the line's mean carries.
    let constant = plan.line == LinePlan::Rate && !plan.schedule.changes_rate() && plan.radio.is_none();
    // Bytes of a packet under transmission are rounded up.
    let most = 1.0 + plan.rate.map_or(0.0, |rate| 8e9 / (rate.0 as f64 * span));
    ensure(!constant || row.utilisation <= most * (1.0 + 1e-9), || {
        describe(format!("utilisation is {}", row.utilisation))
    })?;
    if let (Some(most), None) = (row.capacity_packets, plan.radio) {
        ensure(row.max_queue_packets <= most.max(1), || {
            describe(format!("{} packets wait where {most} may", row.max_queue_packets))
        })?;
    }
    Ok(())
}

fn link_samples(plan: &Plan, records: &Records) -> CheckResult {
    let mut last: BTreeMap<u32, &LinkSampleRow> = BTreeMap::new();
    for row in &records.link_samples {
        let name = plan.link_name(row.link);
        let describe = |what: &str| format!("link {name} at {} ns: {what}: {row:?}", row.time_ns);
        for value in [row.queue_packet_ns, row.queue_byte_ns] {
            ensure(value.is_finite() && value >= 0.0, || describe("an integral is negative or no number"))?;
        }
        ensure(row.dropped_packets + row.queue_packets <= row.arrived_packets, || describe("more than arrived"))?;
        if let Some(before) = last.insert(row.link, row) {
            // Integrals are rounded to the 53 bits of a float.
            let grows = row.arrived_packets >= before.arrived_packets
                && row.dropped_packets >= before.dropped_packets
                && row.lost_packets >= before.lost_packets
                && row.marked_packets >= before.marked_packets
                && row.sent_bytes >= before.sent_bytes
                && row.queue_packet_ns >= before.queue_packet_ns
                && row.queue_byte_ns >= before.queue_byte_ns;
            ensure(grows, || describe("a counter falls"))?;
        }
    }
    // At the end at most one packet is in service.
    for (index, row) in last.into_iter().filter(|(_, row)| row.time_ns == plan.duration.0) {
        let (total, plan) = (&records.links[index as usize], &plan.links[index as usize]);
        let rest = total.arrived_packets.cast_signed()
            - (total.dropped_packets + total.sent_packets + row.queue_packets).cast_signed();
        let most = if plan.radio.is_some() { total.lost_packets.cast_signed() } else { 1 };
        ensure((0..=most).contains(&rest), || format!("link {}: {rest} packets are nowhere: {total:?}", total.name))?;
        let counted = (row.arrived_packets, row.dropped_packets, row.lost_packets, row.sent_bytes);
        let totals = (total.arrived_packets, total.dropped_packets, total.lost_packets, total.sent_bytes);
        ensure(counted == totals, || {
            format!("link {}: {counted:?} in the last sample, {totals:?} in all", total.name)
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
    for (plan_of, row) in plan.flows.iter().zip(&records.flows) {
        let describe = |what: &str| format!("flow {}: {what}: {row:?}", row.name);
        let routes = plan_of.forward.iter().chain(&plan_of.reverse);
        let moves = routes.clone().any(|&link| plan.links[link as usize].schedule.changes_wire());
        if let (Some(least), false) = (row.min_rtt_ns, moves) {
            ensure(least >= row.base_rtt_ns, || describe("an RTT sample is below the base RTT"))?;
        }
        if let (Some(least), Some(mean)) = (row.min_rtt_ns, row.mean_rtt_ns) {
            ensure(mean >= least, || describe("the mean RTT is below the smallest"))?;
        }
        if let (Some(least), Some(mean), Some(most)) = (row.min_delay_ns, row.mean_delay_ns, row.max_delay_ns) {
            ensure(least <= mean && mean <= most, || describe("the mean delay is out of bounds"))?;
        }
        ensure(row.retransmitted_packets <= row.sent_packets, || describe("more sent again than sent"))?;
        ensure(row.retransmitted_bytes <= row.sent_bytes, || describe("more sent again than sent"))?;
        ensure(row.acked_bytes <= row.sent_bytes, || describe("more acknowledged than sent"))?;
        // Exchanges deliver both ways, and requests are sent by the other end.
        let one_way =
            !matches!(plan_of.workload, Workload::RequestResponse(_) | Workload::Mqtt(_) | Workload::PageLoads(_));
        if one_way {
            ensure(row.delivered_bytes <= row.sent_bytes, || describe("more delivered than sent"))?;
            let once = row.sent_bytes - row.retransmitted_bytes;
            ensure(row.delivered_bytes <= once, || describe("more delivered than sent for the first time"))?;
        }
        if one_way && !duplicates {
            // A SYN counts as lost and not as sent; every connection sends a bounded number of them.
            let connections = match plan_of.workload {
                Workload::Arrivals(ref arrivals) => arrivals.count.unwrap_or(u64::from(arrivals.connections)),
                _ => 1 + transfers.get(&row.flow).copied().unwrap_or(0),
            };
            let syns = connections * (u64::from(plan_of.stack.syn_retries) + 1);
            ensure(row.queue_drops + row.wire_losses <= row.sent_packets + syns, || describe("more lost than sent"))?;
        }
        ensure(row.end_ns.is_none_or(|end| row.start_ns <= end && end <= plan.duration.0), || {
            describe("its end is not in the run")
        })?;
    }
    Ok(())
}

fn samples(plan: &Plan, records: &Records) -> CheckResult {
    let mut last: BTreeMap<u32, &SampleRow> = BTreeMap::new();
    for row in &records.samples {
        let describe = |what: &str| format!("flow {} at {} ns: {what}: {row:?}", row.flow, row.time_ns);
        if let Some(before) = last.insert(row.flow, row) {
            let grows = row.delivered_bytes >= before.delivered_bytes
                && row.sent_bytes >= before.sent_bytes
                && row.retransmitted_packets >= before.retransmitted_packets
                && row.queue_drops >= before.queue_drops
                && row.wire_losses >= before.wire_losses
                && row.rtt_count >= before.rtt_count
                && row.rtt_sum_ns.is_none_or(|sum| before.rtt_sum_ns.is_some_and(|before| sum >= before));
            ensure(grows, || describe("a counter falls"))?;
        }
    }
    for (flow, row) in last.into_iter().filter(|(_, row)| row.time_ns == plan.duration.0) {
        let total = &records.flows[flow as usize];
        let counted = (row.delivered_bytes, row.sent_bytes, row.queue_drops, row.wire_losses);
        let totals = (total.delivered_bytes, total.sent_bytes, total.queue_drops, total.wire_losses);
        ensure(counted == totals, || {
            format!("flow {}: {counted:?} in the last sample, {totals:?} in all", total.name)
        })?;
    }
    Ok(())
}
