//! Findings on a run with links: on its plan, and on its tables at its end.
//!
//! `cwndlab_records::findings` has the codes. Connections that stop are found by `cwndlab_records::stall`, counters that
//! do not add up by [`Network::check_counters`](crate::network::Network::check_counters).

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_control::{Need, Value};
use cwndlab_network::router_assist::Scheme;
use cwndlab_records::findings::{
    self, COUNTERS, DOWNGRADED, HOST_QUEUE, IGNORED_MARKS, MISSING_AGENT, MISSING_ECN, NEVER_STARTS, NOTHING_DELIVERED,
    RECEIVE_WINDOW, REFUSED, STARTS_AFTER_WARM_UP, STARTS_LATE,
};
use cwndlab_records::rows::{FindingRow, FlowRow, Records};
use cwndlab_scenario::plan::{Capacity, Ecn, FlowPlan, Plan, Workload};
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_units::{Duration, FlowId, LinkId, Time};

use crate::lifetimes::Lifetimes;
use crate::medium_time::Downgrade;

/// Round trips after its start in which a flow should deliver data, and the least time for them.
const START_ROUND_TRIPS: u64 = 20;
const START_TIME: Duration = Duration::from_secs(10);
/// Packets below which a queue is not large.
const MIN_HELD: u64 = 100;
/// Reductions because of ECN below which a sender is not judged.
const MIN_MARKS: usize = 3;

/// Findings of a code on single flows; one more has the number of all others.
const MAX_OF_CODE: u32 = 100;

/// The algorithm of a flow of an emulated program, and the profile of a flow over the kernel's TCP.
const PROGRAM: &str = "program";
const KERNEL: &str = "kernel";

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Adds the findings on the plan, on its flows' lifetimes and on the tables of its run to the records, and sorts all findings.
pub fn add(plan: &Plan, lifetimes: &Lifetimes, records: &mut Records) {
    let mut found = std::mem::take(&mut records.findings);
    found.extend(lifetimes.refused.iter().map(|&one| refusal(plan, one)));
    found.extend(lifetimes.downgraded.iter().map(|one| downgrade(plan, one)));
    let refused: BTreeSet<FlowId> = lifetimes.refused.iter().map(|&(flow, ..)| flow).collect();
    let duplicates = plan.links.iter().any(|link| link.duplicate > 0.0);
    let echoes = Echoes::by_flow(records);
    let mut named = BTreeSet::new();
    let mut counted = Counted::default();
    counted.add(&mut found);
    for (row, flow) in records.flows.iter().zip(&plan.flows) {
        on_host_queue(plan, flow, row, records, &mut named, &mut found);
        // A program chooses its algorithm, its start and what it sends.
        if row.algorithm != PROGRAM {
            on_plan(plan, row.flow.into(), flow, &mut found);
            if !refused.contains(&row.flow.into()) {
                on_start(plan, row, &mut found);
            }
            on_deliveries(plan, flow, row, &mut found);
            on_ecn(flow, row, records, echoes.get(&row.flow), &mut found);
            if row.profile != KERNEL {
                on_counters(flow, row, duplicates, &mut found); // the kernel counts SYN and FIN as bytes
            }
        }
        counted.add(&mut found);
    }
    records.findings = counted.finish();
    findings::sort(&mut records.findings);
}

/// Findings, at most [`MAX_OF_CODE`] of each code on single flows: of ten thousand flows that start too late, a reader
/// needs their number.
#[derive(Default)]
struct Counted {
    kept: Vec<FindingRow>,
    /// For each code the number of findings on single flows, and the last one beyond the maximum.
    counts: BTreeMap<&'static str, (u32, Option<FindingRow>)>,
}

impl Counted {
    /// Takes over `found`.
    fn add(&mut self, found: &mut Vec<FindingRow>) {
        for row in found.drain(..) {
            let (count, last) = self.counts.entry(row.code).or_default();
            let is_of_flow = row.flow.is_some() && row.link.is_none();
            *count += u32::from(is_of_flow);
            if !is_of_flow || *count <= MAX_OF_CODE {
                self.kept.push(row);
            } else {
                *last = Some(row);
            }
        }
    }

    /// All findings.
    fn finish(mut self) -> Vec<FindingRow> {
        for (count, last) in self.counts.into_values() {
            let Some(last) = last else { continue };
            let text = format!("and {} further findings on flows, such as: {}", count - MAX_OF_CODE, last.text);
            self.kept.push(FindingRow { flow: None, link: None, time_ns: None, text, ..last });
        }
        self.kept
    }
}

/// A flow that was refused at a time.
fn refusal(plan: &Plan, (flow, time, link): (FlowId, Time, LinkId)) -> FindingRow {
    let (name, link) = (&plan.flows[flow].name, plan.link_name(link));
    let text = format!("{name} was refused at {:.3} s: {link} had no room for its rate", seconds(time.as_nanos()));
    FindingRow { time_ns: Some(time.as_nanos()), ..REFUSED.of_flow(flow, text) }
}

/// A flow that uses a lower access category.
fn downgrade(plan: &Plan, one: &Downgrade) -> FindingRow {
    let (name, medium) = (&plan.flows[one.flow].name, &plan.media[one.medium as usize].name);
    let category = one.category.name();
    let text = if one.unasked {
        format!("{name} reserves no medium time on {medium}, and uses the category {category}")
    } else {
        format!("{medium} has no medium time for {name}, which uses the category {category}")
    };
    FindingRow { time_ns: Some(one.at.as_nanos()), ..DOWNGRADED.of_flow(one.flow, text) }
}

/// Findings that follow from the scenario alone.
fn on_plan(plan: &Plan, id: FlowId, flow: &FlowPlan, found: &mut Vec<FindingRow>) {
    let name = &flow.name;
    let measured = plan.duration.saturating_sub(plan.measure_from);
    found.extend(findings::short_run(id, &name.to_string(), measured, flow.base_rtt));
    let Some(algorithm) = &flow.algorithm else { return };
    let window = flow.stack.receive_window;
    let mss = flow.stack.mss;
    if window < mss {
        let text =
            format!("the receive window of {name} is {} bytes, less than a segment of {} bytes", window.0, mss.0);
        found.push(RECEIVE_WINDOW.of_flow(id, text));
    }
    if let Some((scheme, _)) = algorithm.router_assistance() {
        if let Some(link) = router_without_agent(plan, flow, scheme) {
            let text = &flow.algorithm_text;
            let link = plan.link_name(link);
            let text = format!(
                "{name}: {text} needs the router agent '{scheme}', which link {link} does not have: it runs without"
            );
            found.push(MISSING_AGENT.of_flow(id, text));
        }
    }
    if (algorithm.needs(Need::Ecn) || algorithm.needs(Need::L4s)) && flow.stack.ecn == Ecn::Off {
        let text = format!("{name}: {} needs ECN, which its stack turns off", flow.algorithm_text);
        found.push(MISSING_ECN.of_flow(id, text));
    }
}

/// The first router on the route that has no agent of this scheme. Routers are links with a rate, without the first of
/// several links.
fn router_without_agent(plan: &Plan, flow: &FlowPlan, scheme: &str) -> Option<LinkId> {
    let scheme = Scheme::from_name(scheme)?;
    let routers = flow.forward.iter().skip(usize::from(flow.forward.len() > 1));
    routers.copied().find(|&link| {
        let link = &plan.links[link];
        link.rate.is_some() && link.agents.iter().all(|agent| agent.scheme() != scheme)
    })
}

/// Flows that start late or never.
fn on_start(plan: &Plan, row: &FlowRow, found: &mut Vec<FindingRow>) {
    let end = plan.duration.as_nanos();
    let warm_up = plan.measure_from.as_nanos();
    let name = &row.name;
    let start = seconds(row.start_ns);
    let finding = if row.start_ns >= end {
        NEVER_STARTS.of_flow(
            row.flow.into(),
            format!("{name} would start at {start:.3} s, but the run ends at {:.3} s", seconds(end)),
        )
    } else if row.start_ns > end - end / 10 {
        STARTS_LATE.of_flow(
            row.flow.into(),
            format!("{name} starts at {start:.3} s, in the last tenth of a run of {:.3} s", seconds(end)),
        )
    } else if warm_up > 0 && row.start_ns > warm_up {
        STARTS_AFTER_WARM_UP.of_flow(
            row.flow.into(),
            format!("{name} starts at {start:.3} s, after the end of the warm-up at {:.3} s", seconds(warm_up)),
        )
    } else {
        return;
    };
    found.push(FindingRow { time_ns: Some(row.start_ns), ..finding });
}

/// Flows that deliver nothing, or send most of it again.
fn on_deliveries(plan: &Plan, flow: &FlowPlan, row: &FlowRow, found: &mut Vec<FindingRow>) {
    let had = Duration::from_nanos(plan.duration.as_nanos().saturating_sub(row.start_ns));
    let needs = (flow.base_rtt * START_ROUND_TRIPS).max(START_TIME);
    let sends_at_once = matches!(flow.workload, Workload::Bulk(_)) || row.sent_packets > 0;
    if row.delivered_bytes == 0 && row.end_ns.is_none() && had >= needs && sends_at_once {
        let text = if row.sent_packets == 0 && flow.algorithm.is_some() {
            format!("{}: its connection was not established in {:.3} s", row.name, seconds(had.as_nanos()))
        } else {
            format!(
                "{} delivered nothing in {:.3} s ({} packets sent)",
                row.name,
                seconds(had.as_nanos()),
                row.sent_packets
            )
        };
        found.push(FindingRow { time_ns: Some(row.start_ns), ..NOTHING_DELIVERED.of_flow(row.flow.into(), text) });
    }
    found.extend(findings::repetitions(row));
}

/// The echoes of marks to one sender.
struct Echoes {
    count: usize,
    /// Time of the first, ns.
    first: u64,
    /// One of them reduced the window.
    reduced: bool,
}

impl Echoes {
    /// The echoes of every flow that had any.
    fn by_flow(records: &Records) -> BTreeMap<u32, Self> {
        let mut all = BTreeMap::new();
        for event in records.events.iter().filter(|event| event.kind == "ecn") {
            let one = all.entry(event.flow).or_insert(Self { count: 0, first: event.time_ns, reduced: false });
            one.count += 1;
            one.reduced |= event.cwnd_after_bytes < event.cwnd_before_bytes;
        }
        all
    }
}

/// Algorithms that need ECN on a path without marks, and senders that ignore marks.
fn on_ecn(flow: &FlowPlan, row: &FlowRow, records: &Records, echoes: Option<&Echoes>, found: &mut Vec<FindingRow>) {
    let Some(algorithm) = flow.algorithm.as_ref().filter(|_| flow.stack.ecn != Ecn::Off) else { return };
    let route = || flow.forward.iter().filter_map(|&link| records.links.get(link.index()));
    if algorithm.needs(Need::Ecn) || algorithm.needs(Need::L4s) {
        let dropped: u64 = route().map(|link| link.dropped_packets).sum();
        if dropped > 0 && route().all(|link| link.marked_packets == 0) {
            let text = format!(
                "{}: {} needs ECN, but no queue on its route marks ({dropped} packets dropped)",
                row.name, flow.algorithm_text
            );
            found.push(MISSING_ECN.of_flow(row.flow.into(), text));
        }
        return;
    }
    // BBR's option `ecn` reduces a bound at the end of the round.
    if algorithm.growth.arguments.get("ecn") == Some(Value::Word("on")) {
        return;
    }
    let Some(&Echoes { count, first, reduced: false }) = echoes else { return };
    if count >= MIN_MARKS {
        let text = format!(
            "{} negotiates ECN, but its algorithm did not reduce its window after any of {count} echoes of marks",
            row.name
        );
        found.push(FindingRow { time_ns: Some(first), ..IGNORED_MARKS.of_flow(row.flow.into(), text) });
    }
}

/// The unlimited queue of an access link that holds more than the path, once for each link; `named` has those before.
fn on_host_queue(
    plan: &Plan,
    flow: &FlowPlan,
    row: &FlowRow,
    records: &Records,
    named: &mut BTreeSet<LinkId>,
    found: &mut Vec<FindingRow>,
) {
    let Some((&first, rest)) = flow.forward.split_first() else { return };
    let link = &plan.links[first];
    let counted = &records.links[first.index()];
    if rest.is_empty() || link.rate.is_none() || link.capacity != Capacity::Unlimited {
        return;
    }
    let size = flow.stack.mss.0 + flow.stack.header.0;
    let links = || rest.iter().map(|&link| &plan.links[link]);
    let Some(rate) = links().filter_map(|link| link.rate).min() else { return };
    let queues: u64 = links()
        .map(|link| match link.capacity {
            Capacity::Unlimited => 0,
            Capacity::Packets(packets) => u64::from(packets),
            Capacity::Bytes(bytes) => bytes.0 / size,
        })
        .sum();
    let in_flight = (rate.0 as f64 * flow.base_rtt.as_nanos() as f64 / 8e9 / size as f64) as u64;
    let path = in_flight + queues;
    if counted.max_queue_packets > path.max(MIN_HELD) {
        let held = counted.max_queue_packets;
        let text = format!("link {}, the unlimited queue of the host of {}, held up to {held} packets; the rest of the path holds {path}", counted.name, row.name);
        let finding = HOST_QUEUE.of_link(first, text);
        if named.insert(first) {
            found.push(FindingRow { flow: Some(row.flow), ..finding });
        }
    }
}

/// Counters of a flow that do not add up. `duplicates`: a link duplicates packets.
fn on_counters(flow: &FlowPlan, row: &FlowRow, duplicates: bool, found: &mut Vec<FindingRow>) {
    // Dialogues deliver data in both directions, and the other endpoint sends the requests.
    let dialogue = matches!(flow.workload.application_kind(), ApplicationKind::Dialogue(_));
    let is_tcp = flow.algorithm.is_some();
    let wrong = if row.retransmitted_packets > row.sent_packets || row.retransmitted_bytes > row.sent_bytes {
        format!("{} packets retransmitted of {} sent", row.retransmitted_packets, row.sent_packets)
    } else if row.acked_bytes + row.retransmitted_bytes > row.sent_bytes {
        format!(
            "{} bytes acknowledged and {} retransmitted of {} sent",
            row.acked_bytes, row.retransmitted_bytes, row.sent_bytes
        )
    } else if !dialogue && is_tcp && row.acked_bytes > row.delivered_bytes {
        format!("{} bytes acknowledged of {} delivered", row.acked_bytes, row.delivered_bytes)
    } else if !dialogue && (is_tcp || !duplicates) && row.delivered_bytes + row.retransmitted_bytes > row.sent_bytes {
        format!(
            "{} bytes delivered and {} retransmitted of {} sent",
            row.delivered_bytes, row.retransmitted_bytes, row.sent_bytes
        )
    } else {
        return;
    };
    found.push(COUNTERS.of_flow(row.flow.into(), format!("{}: {wrong}", row.name)));
}
