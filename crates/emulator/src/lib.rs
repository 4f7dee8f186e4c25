//! The emulator: the scenario's own network on the wall clock, between the real TCP of two network namespaces.
//!
//! Senders live in one namespace and receivers in another; a TUN device in each carries their packets to [`path`], which
//! runs the simulator's links, queues, losses and media on them ([`between`]). The ends are kernel TCP ([`ends`]) or any
//! program. What is recorded has the simulator's tables. Namespaces and devices live as long as this process, and so do
//! the programs ([`keeper`]): nothing is left.

pub mod between;
pub mod calibration;
pub mod datagram;
pub mod device;
pub mod ends;
pub mod fault;
pub mod info;
pub mod keeper;
pub mod lateness;
pub mod memory;
pub mod namespace;
pub mod netlink;
pub mod path;
pub mod source;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use cwndlab_control::kernel_name::{self, kernel_name, kernels_own};
use cwndlab_records::rows::{FlowRow, Records};
use cwndlab_scenario::plan::{FlowPlan, Plan, Workload};
use cwndlab_traffic::start_times::start_times;

pub use between::{Between, Ends, Quality, Side, LATE};

use ends::talk::Talk;
use ends::{End, Run, Watch};
use fault::{fault, Fault};
use namespace::sysctl;
use path::Path;

/// Between two looks at the kernel's state of a connection, ns: a recovery lasts a round trip, and shall not be missed.
const LOOK: u64 = 5_000_000;

/// Whose congestion control the emulator's own ends use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datapath {
    /// The kernel's own, where it has what the flow asks for.
    #[default]
    Kernel,
    /// Ours in the kernel's TCP, under the names by which [`kernel_name()`] registers them.
    Ours,
}

/// What this kernel's TCP has.
fn available() -> Vec<String> {
    let known = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    known.split_whitespace().map(str::to_owned).collect()
}

/// The kernel's name for an algorithm that is named for the programs of a path: the kernel's own where it stands for the
/// library's, else the library's where it is registered.
///
/// # Errors
///
/// A fault where this kernel has neither.
pub fn kernel_algorithm(name: &str) -> Result<String, Fault> {
    let (known, catalogue) = (available(), cwndlab_algorithms::catalogue());
    kernel_name::resolve(name, &catalogue, &known).ok_or_else(|| {
        let has = known.iter().map(|one| kernel_name::library_name(one)).collect::<Vec<_>>().join(", ");
        let hint = kernel_name::misnamed(name).unwrap_or_else(|| match catalogue.parse(name) {
            Ok(_) => format!("`cwndlab kernel run --algorithm '{name}'` registers it while it runs"),
            Err(fault) => fault.hint,
        });
        fault("--algorithm", format!("this kernel has no '{name}'; it has {has}"), hint)
    })
}

/// The kernel's name for the algorithm of a flow; empty for one over UDP.
fn name_of(index: usize, flow: &FlowPlan, datapath: Datapath) -> Result<String, Fault> {
    let Some(algorithm) = &flow.algorithm else { return Ok(String::new()) };
    let ours = algorithm.growth.spec.name;
    let known = available();
    let has = |name: &str| known.iter().any(|one| one == name);
    let own = kernels_own(algorithm).filter(|_| datapath == Datapath::Kernel);
    if let Some(own) = own.filter(|own| has(own)) {
        return Ok(own.to_owned());
    }
    let name = kernel_name(algorithm);
    if has(&name) {
        return Ok(name);
    }
    let name = own.map_or(name, str::to_owned);
    let known = known.join(" ");
    let place = format!("flow[{index}].algorithm");
    let hint = match name.strip_prefix(kernel_name::PREFIX) {
        Some(_) => format!("`cwndlab kernel run --algorithm '{}'` registers it while it runs", flow.algorithm_text),
        None => "choose another algorithm, or ours in the kernel: --datapath cwndlab".to_owned(),
    };
    Err(fault(place, format!("this kernel has no '{name}' to stand for '{ours}'; it has {known}"), hint))
}

fn workload(index: usize, flow: &FlowPlan) -> Result<(), Fault> {
    match flow.workload {
        Workload::Arrivals { .. } => Err(fault(
            format!("flow[{index}].workload"),
            "the emulator's own ends do not send transfers that arrive by chance",
            "write 'transfers' with 'new_connection', or put a program at the ends: `cwndlab emulate`",
        )),
        _ => Ok(()),
    }
}

/// Runs the plan between real TCP senders and receivers of this machine.
///
/// It lasts as long as the scenario says. `seed` draws losses and starts, as in the simulator; the kernel's own timing
/// is what it is, so two runs differ. 1 % of deliveries later than `late` ns make it unreliable.
pub fn emulate(
    plan: Arc<Plan>,
    seed: u64,
    datapath: Datapath,
    late: u64,
    cancel: &AtomicBool,
) -> Result<(Records, Quality), Fault> {
    let mut names = Vec::new();
    for (index, flow) in plan.flows.iter().enumerate() {
        names.push(name_of(index, flow, datapath)?);
        workload(index, flow)?;
    }
    let mut between = Between::open(Arc::clone(&plan), seed, &Ends { late, ..Ends::default() })?;
    let mut listeners = Vec::new();
    for (flow, (one, name)) in (0u32..).zip(plan.flows.iter().zip(&names)) {
        let side = Talk::opener(one).other();
        let listen = || ends::listener(flow, one, side, name);
        listeners.push(if name.is_empty() { None } else { Some(between.namespace(side).enter(listen)?) });
    }
    let (stop, ends) = (AtomicBool::new(false), plan.flows.iter().map(|_| End::default()).collect::<Vec<_>>());
    let run = Run { start: between.start, stop: &stop };
    let begins: Vec<u64> = start_times(&plan, seed).into_iter().map(|start| start.0).collect();
    let talks: Vec<_> = (0u32..)
        .zip(plan.flows.iter().zip(names.iter().zip(&ends)))
        .map(|(flow, (one, (name, end)))| Talk::of(flow, one, (seed, begins[flow as usize]), name, end))
        .collect();
    let mut observer = Observer { between: &between, run, ends: &ends, watches: vec![], records: Records::default() };
    let mut failure = None;
    std::thread::scope(|scope| {
        let mut senders = Vec::new();
        for (flow, listener) in (0u32..).zip(&listeners) {
            let Some(listener) = listener else { continue };
            let index = flow as usize;
            let (one, name, end, talk) = (&plan.flows[index], &names[index], &ends[index], talks[index].as_ref());
            let (begin, opener, between) = (begins[index], Talk::opener(one), &between);
            scope.spawn(move || {
                if between.join(opener.other()).is_ok() {
                    path::ask_for_an_ends_priority();
                    match talk {
                        Some(talk) => talk.answer(run, listener),
                        None => ends::receiver(run, flow, listener, end),
                    }
                }
            });
            senders.push(scope.spawn(move || {
                between.join(opener)?;
                path::ask_for_an_ends_priority();
                match talk {
                    Some(talk) => talk.open(run),
                    None => ends::sender(run, flow, one, (seed, begin), name, end),
                }
            }));
        }
        let observer = &mut observer;
        let _ = scope
            .spawn(move || {
                path::ask_for_an_ends_priority();
                observer.watch(cancel);
            })
            .join();
        stop.store(true, Ordering::Relaxed);
        for sender in senders {
            let ended = sender.join().unwrap_or_else(|_| Err(fault("emulate", "an end of a flow failed", "")));
            if let Err(fault) = ended {
                failure.get_or_insert(fault);
            }
        }
    });
    let Observer { watches, records: seen, .. } = observer;
    let mut path = between.stop()?;
    if let Some(fault) = failure {
        return Err(fault);
    }
    if cancel.load(Ordering::Relaxed) {
        return Err(fault("emulate", "stopped before its end", ""));
    }
    let (records, quality) = between.ended(&mut path, plan.duration.0);
    let mut records = Records { samples: seen.samples, events: seen.events, ..records };
    records.samples.append(&mut path.passed.flow_samples);
    records.samples.sort_by_key(|row| (row.time_ns, row.flow));
    for (flow, ((one, end), watch)) in (0u32..).zip(plan.flows.iter().zip(&ends).zip(&watches)) {
        let sent = path.sources.row(flow, one, path.network.losses[flow as usize]);
        records.flows.push(sent.unwrap_or_else(|| row(flow, one, end, watch, &path, &names[flow as usize])));
        records.transfers.append(&mut end.transfers.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
    Ok((records, quality))
}

/// Who looks at the flows while they run.
struct Observer<'a> {
    between: &'a Between,
    run: Run<'a>,
    ends: &'a [End],
    watches: Vec<Watch>,
    records: Records,
}

impl Observer<'_> {
    /// Samples the flows until the run is over.
    fn watch(&mut self, cancel: &AtomicBool) {
        let (duration, interval) = (self.between.plan().duration.0, self.between.plan().sample_interval.0);
        let interval = if interval == 0 { u64::MAX } else { interval };
        self.watches = vec![Watch::default(); self.ends.len()];
        let (mut next_look, mut next_sample) = (LOOK, interval);
        while self.run.now() < duration && !cancel.load(Ordering::Relaxed) && !self.between.is_broken() {
            between::sleep_until(self.run.start, next_look.min(next_sample).min(duration));
            let now = self.run.now();
            for (flow, (watch, end)) in (0u32..).zip(self.watches.iter_mut().zip(self.ends)) {
                watch.look(now, flow, end, &mut self.records.events);
                if next_sample <= now {
                    let drops = &self.between.shared.drops;
                    self.records.samples.extend(watch.sample(next_sample, flow, end, drops));
                }
            }
            while next_look <= now {
                next_look += LOOK;
            }
            while next_sample <= now {
                next_sample += interval;
            }
        }
    }
}

fn row(flow: u32, plan: &FlowPlan, end: &End, watch: &Watch, path: &Path, kernel: &str) -> FlowRow {
    let (info, losses) = (watch.info, path.network.losses[flow as usize]);
    let at = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|&at| at != u64::MAX);
    FlowRow {
        flow,
        name: plan.name.clone(),
        algorithm: format!("kernel:{kernel}"),
        profile: "kernel".to_owned(),
        mss_bytes: if info.mss > 0 { info.mss } else { plan.stack.mss.0 },
        base_rtt_ns: plan.base_rtt.0,
        start_ns: at(&end.started).unwrap_or(plan.start.0),
        end_ns: at(&end.ended),
        delivered_bytes: end.delivered.load(Ordering::Relaxed),
        acked_bytes: info.acked_bytes,
        sent_bytes: info.sent_bytes,
        wire_bytes: info.sent_bytes + info.data_segments * plan.stack.header.0,
        sent_packets: info.data_segments,
        retransmitted_bytes: info.retransmitted_bytes,
        retransmitted_packets: info.retransmitted,
        ack_packets: info.segments_in,
        queue_drops: losses.queue,
        wire_losses: losses.wire,
        timeouts: info.timeouts,
        recoveries: watch.recoveries,
        ecn_reductions: watch.reductions,
        undos: 0,
        loss_probes: 0,
        min_rtt_ns: info.min_rtt_ns,
        mean_rtt_ns: (watch.rtt.1 > 0).then(|| watch.rtt.0 / watch.rtt.1),
        min_delay_ns: None,
        mean_delay_ns: None,
        max_delay_ns: None,
        jitter_ns: None,
        route: plan.route_text(),
    }
}
