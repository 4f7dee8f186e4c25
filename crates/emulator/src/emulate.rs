//! Runs of a scenario between the emulator's own endpoints.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration as Wait;

use cwndlab_path::application_rows;
use cwndlab_path::findings;
use cwndlab_path::lifetimes::{Lifetime, Lifetimes};
use cwndlab_records::rows::{FlowRow, Records};
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_units::{Duration, Fault, FlowId, Rate, Time};

use crate::addresses::Side;
use crate::algorithm::{self, Datapath, ProgramAlgorithm};
use crate::endpoints::application::Application;
use crate::endpoints::connection::{listener, set_priority, Endpoint, FlowState, RunClock};
use crate::endpoints::tcp_sampler::TcpSampler;
use crate::locking::lock;
use crate::path::{cancelled, Path};
use crate::session::{Options, Quality, Session};

/// Interval of `TCP_INFO` reads. It must be shorter than a recovery, which lasts a round trip.
const READ_INTERVAL: Duration = Duration::from_millis(5);

/// The highest rate at which the emulator forwards packets, about.
const MAX_LINE: Rate = Rate(1_000_000_000);

/// A flow of the run.
struct FlowRun {
    /// The kernel's name of its congestion control; empty for a flow over UDP.
    algorithm: String,
    listener: Option<TcpListener>,
    lifetime: Lifetime,
    /// Rate of the slowest line of its route.
    line_rate: Rate,
    state: FlowState,
    sampler: TcpSampler,
}

/// Creates the listeners of all flows.
fn create_flows(session: &Session, algorithms: Vec<String>, lifetimes: &Lifetimes) -> Result<Vec<FlowRun>, Fault> {
    let plan = session.plan();
    let flows = plan.flows.enumerate().zip(&lifetimes.of).zip(algorithms);
    flows
        .map(|(((flow, one), &lifetime), algorithm)| {
            let side = Application::client_side(one).other();
            let listen = || listener(flow, one, side, &algorithm);
            let listener = if algorithm.is_empty() { None } else { Some(session.namespace(side).enter(listen)?) };
            let state = FlowState::default();
            let sampler = TcpSampler::default();
            Ok(FlowRun { algorithm, listener, lifetime, line_rate: slowest_line(plan, one), state, sampler })
        })
        .collect()
}

/// Runs the plan between kernel TCP senders and receivers on this machine, for the duration of the scenario.
///
/// `seed` determines losses and start times, as in the simulator. The kernel's timing is not reproducible, so that two
/// runs differ. `options` are those of the session; its endpoints are the emulator's own, with the algorithms of the plan.
///
/// # Errors
///
/// An algorithm that this kernel lacks, a failed system call, or a run that `cancel` stopped.
pub fn emulate(
    plan: Arc<Plan>,
    seed: u64,
    datapath: Datapath,
    options: &Options,
    cancel: &AtomicBool,
) -> Result<(Records, Quality), Fault> {
    let mut algorithms = Vec::new();
    for (id, flow) in plan.flows.enumerate() {
        algorithms.push(algorithm::of_flow(id, flow, datapath)?);
    }
    let options = Options { algorithm: ProgramAlgorithm::Program, programs: false, ..options.clone() };
    let mut session = Session::open(plan, seed, &options, cancel)?;
    let plan = Arc::clone(session.plan()); // with the run's perturbations
    let lifetimes = Lifetimes::new(session.plan(), seed);
    let mut flows = create_flows(&session, algorithms, &lifetimes)?;
    let (sampled, failure) = run_endpoints(&session, &mut flows, seed, cancel);
    let mut path = session.stop()?;
    if let Some(fault) = failure.or_else(|| path.sources.failure()) {
        return Err(fault);
    }
    if cancel.load(Ordering::Relaxed) {
        return Err(cancelled());
    }
    let (records, quality) = session.path_records(&mut path, Time::from_nanos(plan.duration.as_nanos()));
    let mut records = Records { samples: sampled.samples, events: sampled.events, ..records };
    records.samples.append(&mut path.counters.flow_samples);
    records.samples.sort_by_key(|row| (row.time_ns, row.flow));
    for ((flow, one), run) in plan.flows.enumerate().zip(flows) {
        records.findings.extend(run.sampler.finding(flow, &one.name.to_string()));
        let udp = path.sources.row(flow, one, path.network.losses[flow.into()]);
        records.flows.push(udp.unwrap_or_else(|| tcp_row(flow, one, &run, &path)));
        path.sources.take_messages(flow, &run.state);
        if one.service.is_some() {
            records.messages.extend(application_rows::messages(flow, lock(&run.state.messages).take()));
        }
        records.events.append(&mut run.state.events.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut transfers = run.state.transfers.into_inner().unwrap_or_else(PoisonError::into_inner);
        transfers.sort_by_key(|row| row.transfer); // arrivals may overtake each other
        records.transfers.append(&mut transfers);
    }
    path.network.set_airtimes(
        &plan,
        path.network.clock.max(Time::from_nanos(plan.duration.as_nanos())),
        &mut records.flows,
    );
    records.events.sort_by_key(|row| row.time_ns); // a stable sort
    findings::add(&plan, &lifetimes, &mut records);
    Ok((records, quality))
}

/// Rate of the slowest line of a flow's route; [`MAX_LINE`] where no line has a rate.
fn slowest_line(plan: &Plan, flow: &FlowPlan) -> Rate {
    let rates = flow.forward.iter().filter_map(|&link| plan.links[link].rate);
    rates.min().unwrap_or(MAX_LINE).min(MAX_LINE)
}

/// The application of a flow, with its listener and the side of its client; `None` for a flow over UDP.
fn endpoint<'a>(
    session: &'a Session,
    run: RunClock<'a>,
    seed: u64,
    flow: FlowId,
    plan: &'a FlowPlan,
    one: &'a FlowRun,
) -> Option<(Application<'a>, &'a TcpListener, Side)> {
    let listener = one.listener.as_ref()?;
    let &FlowRun { ref algorithm, lifetime, line_rate, ref state, .. } = one;
    let (inboxes, keeps_messages) = (session.inboxes(), session.plan().keeps_messages(flow));
    let endpoint = Endpoint { run, flow, plan, seed, lifetime, line_rate, algorithm, state, inboxes, keeps_messages };
    Some((Application::new(endpoint)?, listener, Application::client_side(plan)))
}

/// Runs all endpoints until the end of the run. Returns samples and events, and the first error of an endpoint.
fn run_endpoints(session: &Session, flows: &mut [FlowRun], seed: u64, cancel: &AtomicBool) -> (Records, Option<Fault>) {
    let stop = AtomicBool::new(false);
    let run = RunClock { start: session.start, stop: &stop };
    let mut samplers = vec![TcpSampler::default(); flows.len()];
    let mut sampled = Records::default();
    let mut failure = None;
    let shared: &[FlowRun] = flows;
    let each = session.plan().flows.enumerate().zip(shared);
    let endpoint = |((flow, plan), one)| endpoint(session, run, seed, flow, plan, one);
    let applications: Vec<_> = each.map(endpoint).collect();
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for (application, listener, side) in applications.iter().flatten() {
            scope.spawn(move || {
                if session.join(side.other()).is_ok() {
                    set_priority();
                    application.run_server(listener);
                }
            });
            clients.push(scope.spawn(move || {
                session.join(*side)?;
                set_priority();
                application.run_client()
            }));
        }
        let sampled = &mut sampled;
        let samplers = &mut samplers;
        let _ = scope
            .spawn(move || {
                set_priority();
                sample_flows(session, run, shared, samplers, sampled, cancel);
            })
            .join();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            let ended = client.join().unwrap_or_else(|_| Err(Fault::new("emulate", "an endpoint panicked", "")));
            failure = failure.take().or(ended.err());
        }
    });
    for (flow, sampler) in flows.iter_mut().zip(samplers) {
        flow.sampler = sampler;
    }
    (sampled, failure)
}

/// Samples the flows until the run is over.
fn sample_flows(
    session: &Session,
    run: RunClock<'_>,
    flows: &[FlowRun],
    samplers: &mut [TcpSampler],
    records: &mut Records,
    cancel: &AtomicBool,
) {
    let plan = session.plan();
    let end = Time::from_nanos(plan.duration.as_nanos());
    let interval = plan.sample_interval;
    let interval = if interval.as_nanos() == 0 { Duration::from_nanos(u64::MAX) } else { interval };
    let (mut next_read, mut next_sample) =
        (Time::from_nanos(READ_INTERVAL.as_nanos()), Time::from_nanos(interval.as_nanos()));
    while run.now() < end && !cancel.load(Ordering::Relaxed) && !session.is_broken() {
        let next = next_read.min(next_sample).min(end);
        std::thread::sleep(Wait::from_nanos(next.as_nanos().saturating_sub(run.now().as_nanos())));
        let now = run.now();
        for ((flow, flow_plan), (sampler, one)) in plan.flows.enumerate().zip(samplers.iter_mut().zip(flows)) {
            sampler.update(now, flow, &one.state, &mut records.events);
            let losses = session.drops().get(flow);
            sampler.watch(now, losses.queue + losses.wire, flow_plan.base_rtt, plan.duration);
            if next_sample <= now {
                let many = flow_plan.workload.application_kind() == ApplicationKind::Arrivals;
                records.samples.extend(sampler.sample(next_sample, flow, many, &one.state, session.drops()));
            }
        }
        while next_read <= now {
            next_read += READ_INTERVAL;
        }
        while next_sample <= now {
            next_sample += interval;
        }
    }
}

/// The row of a flow over kernel TCP.
fn tcp_row(flow: FlowId, plan: &FlowPlan, run: &FlowRun, path: &Path) -> FlowRow {
    let sampler = &run.sampler;
    let info = run.sampler.info;
    let counters = info.sender.counters;
    let losses = path.network.losses[flow.into()];
    let at = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|&at| at != u64::MAX);
    FlowRow {
        flow: flow.into(),
        name: plan.name.to_string(),
        algorithm: format!("kernel:{}", run.algorithm),
        profile: "kernel".to_owned(),
        mss_bytes: if info.mss.0 > 0 { info.mss.0 } else { plan.stack.mss.0 },
        base_rtt_ns: plan.base_rtt.as_nanos(),
        start_ns: at(&run.state.started).unwrap_or(run.lifetime.start.as_nanos()),
        end_ns: at(&run.state.ended),
        delivered_bytes: run.state.delivered.load(Ordering::Relaxed),
        acked_bytes: counters.acked_bytes,
        sent_bytes: counters.sent_bytes,
        wire_bytes: counters.sent_bytes + counters.sent_packets * plan.stack.header.0,
        sent_packets: counters.sent_packets,
        retransmitted_bytes: counters.retransmitted_bytes,
        retransmitted_packets: counters.retransmitted_packets,
        ack_packets: info.segments_in,
        queue_drops: losses.queue,
        wire_losses: losses.wire,
        timeouts: counters.timeouts,
        recoveries: counters.recoveries,
        ecn_reductions: counters.ecn_reductions,
        min_rtt_ns: info.sender.min_rtt.map(Duration::as_nanos),
        mean_rtt_ns: sampler.rtt_sum.checked_div(sampler.rtt_count),
        route: plan.route_text(),
        ..FlowRow::default()
    }
}
