//! The tables of a run: samples at an interval, totals at the end.

use std::collections::BTreeMap;

use cwndlab_records::declaration::fitting;
use cwndlab_records::rows::{FindingRow, FlowRow, Records, SampleRow};
use cwndlab_records::stall::{SenderProgress, Stall};
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_traffic::NEVER;
use cwndlab_units::{Bytes, ConnectionId, Duration, FlowId, IndexVec, LinkId, Time};

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::connections::Connections;
use crate::end_samples::{SampleCounters, SampleTimes, SenderSample};
use crate::message_rows;
use crate::simulation::Simulation;
use crate::udp::Udp;
use cwndlab_path::application_rows;
use cwndlab_path::findings;
use cwndlab_path::losses::Losses;
use cwndlab_path::stack_rows;

/// Maximum number of rows for which memory is reserved at the start.
const MAX_RESERVED_ROWS: u64 = 1 << 16;

/// The tables, and the times of samples.
pub(crate) struct Sampler {
    records: Records,
    /// The times of samples.
    pub(crate) times: SampleTimes,
    /// The sampled links.
    links: Vec<LinkId>,
}

/// Totals of a flow over several connections.
#[derive(Default)]
struct FlowTotals {
    counts: SampleCounters,
    delivered: u64,
    in_flight: Bytes,
    losses: Losses,
}

impl FlowTotals {
    /// The totals of the connections of the workload "arrivals". `losses`: those of all connections.
    fn of(arrivals: &ArrivalConnections, connections: &Connections, losses: &IndexVec<ConnectionId, Losses>) -> Self {
        let mut sum = Self::default();
        for &one in &arrivals.all {
            let connection = &connections[one];
            let losses = losses[one];
            let sender = &connection.sender;
            let counts = SampleCounters::of(sender);
            let (counts, delivered) = connection.counts(counts, connection.receiver.delivered());
            sum.add(&Self { counts, delivered, in_flight: sender.in_flight(), losses });
        }
        sum
    }

    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.delivered += other.delivered;
        self.in_flight += other.in_flight;
        self.losses.queue += other.losses.queue;
        self.losses.wire += other.losses.wire;
    }
}

impl Sampler {
    /// Empty tables. The first sample is due after one interval; without an interval there are no samples.
    pub(crate) fn new(plan: &Plan) -> Self {
        let interval = plan.sample_interval;
        let links: Vec<LinkId> = plan.links.ids().filter(|&link| plan.links[link].sampled).collect();
        let instants = plan.duration.as_nanos().checked_div(interval.as_nanos()).unwrap_or(0);
        let rows = |each: usize| instants.saturating_mul(each as u64).min(MAX_RESERVED_ROWS) as usize;
        Self {
            records: Records {
                samples: Vec::with_capacity(rows(plan.flows.len())),
                link_samples: Vec::with_capacity(rows(links.len())),
                ..Records::default()
            },
            links,
            times: SampleTimes {
                next: if interval == Duration::ZERO { NEVER } else { Time::ZERO + interval },
                interval,
            },
        }
    }

    /// Empty tables of flows alone.
    pub(crate) fn of_flows(plan: &Plan) -> Self {
        Self { links: Vec::new(), ..Self::new(plan) }
    }

    /// The rows of the table `samples`.
    pub(crate) fn samples(&mut self) -> &mut Vec<SampleRow> {
        &mut self.records.samples
    }

    /// Takes the samples that are due before `before`, but not after `end`.
    #[cold]
    pub(crate) fn sample_before(&mut self, before: Time, end: Time, simulation: &mut Simulation) {
        while self.times.next < before && self.times.next <= end {
            self.sample(self.times.next, simulation);
            self.times.next += self.times.interval;
        }
    }

    fn sample(&mut self, now: Time, simulation: &mut Simulation) {
        simulation.network.count_losses_until(now);
        let Simulation { plan, network, connections, arrivals, .. } = simulation;
        for (id, flow) in plan.flows.enumerate() {
            let others = arrivals.get(&id).map(|all| FlowTotals::of(all, connections, &network.losses));
            let first = ConnectionId::from(id);
            let Some(connection) = connections.started_mut(first).filter(|one| now >= one.start) else { continue };
            let losses = network.losses[first];
            let row_context = RowContext { now, losses, plan: flow, run: plan.duration, others };
            push_row(&mut self.records.samples, connection, &row_context);
        }
        for id in connections.ids().skip(plan.flows.len()) {
            let connection = &mut connections[id];
            if is_watch_due(now, connection) {
                let flow = &plan.flows[connection.owner];
                observe(now, progress_now(connection), connection, network.losses[id], flow, plan.duration);
            }
        }
        simulation.network.station_rows(now, &mut self.records.stations);
        simulation.network.cell_user_rows(now, &mut self.records.cell_users);
        for &link in &self.links {
            let plan = &simulation.plan.links[link];
            self.records.link_samples.push(simulation.network.link_snapshot(now, link, plan).row(now, link));
        }
    }

    /// Writes the totals at the end of the run; returns the tables and the number of delivered packets.
    pub(crate) fn finish(mut self, simulation: &mut Simulation) -> (Records, u64) {
        let end = Time::ZERO + simulation.plan.duration;
        simulation.network.count_losses_until(end);
        self.records.findings = stalls(end, simulation);
        self.records.findings.append(&mut simulation.network.check_counters(simulation.plan, end));
        simulation.collect_arrivals();
        let mut delivered_packets = 0;
        for (flow, plan) in simulation.plan.flows.enumerate() {
            let mut late = None; // a flow that would start after the end has a row as well
            let connection = match simulation.connections.start(flow.into()) {
                Some(start) => late.insert(simulation.new_connection(flow, start)),
                None => &mut simulation.connections[flow.into()],
            };
            if plan.service.is_some() {
                self.records.messages.extend(message_rows::rows(flow, connection));
            }
            if let Some(exchange) = connection.udp.as_mut().and_then(Udp::exchange) {
                self.records.transfers.extend(application_rows::transfers(flow, exchange));
            }
            self.records.transfers.extend(std::mem::take(&mut connection.transfers)); // and its memory
            if let Some(values) = &mut connection.samples.values {
                self.records.named_values.extend(std::mem::take(&mut values.rows));
            }
            let row = flow_row(connection, plan, simulation.network.losses[flow.into()]);
            let datagrams = connection.datagram_counters().map_or(0, |one| one.delays.count);
            delivered_packets += row.acked_bytes.div_ceil(plan.stack.mss.0) + datagrams;
            self.records.flows.push(row);
        }
        self.records.named_values.sort_by_key(|row| (row.time_ns, row.flow)); // a stable sort

        // The last sample may be at the end of the run.
        if self.records.stations.last().is_none_or(|last| last.time_ns != end.as_nanos()) {
            simulation.network.station_rows(end, &mut self.records.stations);
        }
        if self.records.cell_users.last().is_none_or(|last| last.time_ns != end.as_nanos()) {
            simulation.network.cell_user_rows(end, &mut self.records.cell_users);
        }
        self.records.link_events = simulation.network.take_link_events();
        simulation.network.set_airtimes(simulation.plan, end, &mut self.records.flows);
        self.records.links = simulation.network.link_rows(simulation.plan, end);
        self.records.events = simulation.take_events();
        self.records.packets = simulation.network.take_packets();
        findings::add(simulation.plan, &simulation.lifetimes, &mut self.records);
        (self.records, delivered_packets)
    }
}

/// Whether the state of a sender at `now` counts for its watch.
#[inline]
fn is_watch_due(now: Time, connection: &Connection) -> bool {
    connection.samples.watch.as_ref().is_none_or(|watch| watch.is_due(now))
}

/// Passes the state of a sender at `now` to its watch.
#[inline(never)]
fn observe(
    now: Time,
    progress: SenderProgress,
    connection: &mut Connection,
    losses: Losses,
    plan: &FlowPlan,
    run: Duration,
) {
    if plan.algorithm.is_some() {
        connection.observe(now, progress, losses.queue + losses.wire, plan, run);
    }
}

/// The findings on connections that stopped; at most one for each flow.
fn stalls(end: Time, simulation: &mut Simulation) -> Vec<FindingRow> {
    let mut worst: BTreeMap<FlowId, Stall> = BTreeMap::new();
    let plan = simulation.plan;
    for id in simulation.connections.ids() {
        let Some(connection) = simulation.connections.started_mut(id) else { continue };
        let flow = &plan.flows[connection.owner];
        observe(end, progress_now(connection), connection, simulation.network.losses[id], flow, plan.duration);
        let Some(stall) = connection.samples.watch.as_ref().and_then(|watch| watch.worst()) else { continue };
        let worse = |other: &Stall| other.code.severity < stall.code.severity;
        if worst.get(&connection.owner).is_none_or(worse) {
            worst.insert(connection.owner, stall);
        }
    }
    worst.into_iter().map(|(flow, stall)| stall.finding(flow, &simulation.plan.flows[flow].name.to_string())).collect()
}

/// What a row of the table `samples` has beside the state of its connection.
struct RowContext<'a> {
    now: Time,
    /// Losses of the connection.
    losses: Losses,
    plan: &'a FlowPlan,
    /// Duration of the run.
    run: Duration,
    /// Totals of the flow's other connections.
    others: Option<FlowTotals>,
}

/// Adds a row of the table `samples`.
#[inline]
fn push_row(rows: &mut Vec<SampleRow>, connection: &mut Connection, context: &RowContext<'_>) {
    // Two copies of the code: a sample that is taken now need not be stored and loaded. The watch comes first, so that no
    // value of the sample has to be kept during its call.
    if let Some(sender) = connection.samples.sender.take() {
        watch(connection, context, |_| sender.progress());
        push_row_of(rows, &sender, connection, context);
    } else {
        watch(connection, context, progress_now);
        push_row_of(rows, &SenderSample::of(&connection.sender), connection, context);
    }
    if let Some(stacks) = connection.udp.as_ref().and_then(Udp::stacks) {
        rows.last_mut().into_iter().for_each(|row| stack_rows::set_sample(row, stacks));
    }
}

/// Passes the state of the sender to its watch, if that is due.
#[inline]
fn watch(connection: &mut Connection, context: &RowContext<'_>, progress: impl FnOnce(&Connection) -> SenderProgress) {
    let &RowContext { now, losses, plan, run, .. } = context;
    if is_watch_due(now, connection) {
        observe(now, progress(connection), connection, losses, plan, run);
    }
}

/// The progress of the sender, for its watch.
#[cold]
fn progress_now(connection: &Connection) -> SenderProgress {
    let sender = &connection.sender;
    SenderProgress::of(&sender.state_without_threshold(), sender.idle_acks())
}

/// As [`push_row`], from the sample `sender` of the sender.
#[allow(clippy::inline_always)] // so that the sample stays in registers
#[inline(always)]
fn push_row_of(
    rows: &mut Vec<SampleRow>,
    sender: &SenderSample,
    connection: &mut Connection,
    context: &RowContext<'_>,
) {
    let delivered = connection.samples.receiver.take().unwrap_or_else(|| connection.receiver.delivered());
    let (counts, delivered) = connection.counts(sender.counts(), delivered);
    let mut sum = FlowTotals { counts, delivered, in_flight: sender.state.in_flight, losses: context.losses };
    if let Some(others) = &context.others {
        sum.add(others);
    }
    let FlowTotals { counts, delivered, in_flight, losses } = sum;
    // The row is made in its place: as the result of a function it would be moved there.
    rows.push(SampleRow::default());
    let Some(row) = rows.last_mut() else { return };
    (row.time_ns, row.flow) = (context.now.as_nanos(), connection.owner.into());
    row.set_sender(&sender.state);
    row.set_counters(&counts.sender);
    row.in_flight_bytes = Some(in_flight.0);
    row.delivered_bytes = delivered;
    (row.queue_drops, row.wire_losses) = (losses.queue, losses.wire);
    (row.rtt_sum_ns, row.rtt_count) = (fitting(counts.rtt_sum), counts.rtt_count);
    // Values of a single connection, such as the window, exist only for flows with exactly one.
    if context.plan.algorithm.is_none() || context.others.is_some() {
        row.cwnd_bytes = None;
    }
    if let Some(datagrams) = connection.datagram_counters() {
        let delays = &datagrams.delays;
        row.in_flight_bytes = None;
        row.delay_ns = (delays.count > 0).then(|| delays.last.as_nanos());
        row.delay_sum_ns = fitting(delays.sum);
        row.delay_count = Some(delays.count);
        row.jitter_ns = Some(delays.jitter().as_nanos());
    }
}

/// A row of the table `flows`.
fn flow_row(connection: &Connection, plan: &FlowPlan, losses: Losses) -> FlowRow {
    let totals = connection.totals();
    let count = &totals.counters;
    let delays = connection.datagram_counters().map(|one| one.delays).filter(|one| one.count > 0);
    let mut row = FlowRow {
        flow: connection.owner.into(),
        name: plan.name.to_string(),
        algorithm: plan.algorithm_text.to_string(),
        profile: plan.profile.to_string(),
        mss_bytes: plan.stack.mss.0,
        base_rtt_ns: plan.base_rtt.as_nanos(),
        start_ns: connection.start.as_nanos(),
        end_ns: connection.end.map(Time::as_nanos),
        delivered_bytes: totals.delivered,
        acked_bytes: count.acked_bytes,
        sent_bytes: count.sent_bytes,
        wire_bytes: count.sent_bytes + count.sent_packets * connection.header().0,
        sent_packets: count.sent_packets,
        retransmitted_bytes: count.retransmitted_bytes,
        retransmitted_packets: count.retransmitted_packets,
        ack_packets: totals.acks_sent,
        queue_drops: losses.queue,
        wire_losses: losses.wire,
        timeouts: count.timeouts,
        recoveries: count.recoveries,
        ecn_reductions: count.ecn_reductions,
        undos: count.undos,
        loss_probes: count.loss_probes,
        min_rtt_ns: (totals.min_rtt != u64::MAX).then_some(totals.min_rtt),
        mean_rtt_ns: totals.rtt_sum.checked_div(u128::from(totals.rtt_count)).map(|mean| mean as u64),
        min_delay_ns: delays.map(|one| one.min.as_nanos()),
        mean_delay_ns: delays.and_then(|one| one.mean()).map(Duration::as_nanos),
        max_delay_ns: delays.map(|one| one.max.as_nanos()),
        jitter_ns: delays.map(|one| one.jitter().as_nanos()),
        airtime_ns: None,
        ack_airtime_ns: None,
        route: plan.route_text(),
    };
    if let Some(stacks) = connection.udp.as_ref().and_then(Udp::stacks) {
        stack_rows::set_totals(&mut row, stacks);
    }
    row
}
