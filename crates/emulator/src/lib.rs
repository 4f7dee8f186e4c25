//! The emulator: the scenario's own network on the wall clock, between the real TCP of two network namespaces.
//!
//! Senders live in one namespace and receivers in another; a TUN device in each carries their packets to [`path`], which
//! runs the simulator's links, queues, losses and media on them. The ends are kernel TCP ([`ends`]) or any program.
//! What is recorded has the simulator's tables. Namespaces and devices live as long as this process: nothing is left.

pub mod datagram;
pub mod device;
pub mod ends;
pub mod fault;
pub mod info;
pub mod lateness;
pub mod namespace;
pub mod path;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration as Wait, Instant};

use cwndlab_records::rows::{FlowRow, Records};
use cwndlab_scenario::plan::{Ecn, FlowPlan, Plan, Workload};
use cwndlab_simulator::pool::starts;

use device::Tun;
use ends::{End, Run, Watch};
use fault::{fault, Fault};
use lateness::Lateness;
use namespace::{counters, set_sysctl, sysctl, Namespace};
use path::{Drops, Path};

/// Between two looks at the kernel's state of a connection, ns: a recovery lasts a round trip, and shall not be missed.
const LOOK: u64 = 5_000_000;

/// How good the clockwork of a run was.
#[derive(Clone, Debug, Default)]
pub struct Quality {
    /// Lateness of deliveries.
    pub lateness: Lateness,
    /// The path's thread had real-time priority.
    pub real_time: bool,
    /// Packets that belonged to no flow.
    pub strangers: u64,
    /// Packets that the receiving kernel refused.
    pub refused: u64,
    /// Of the kernel: release, and the settings that were in force.
    pub notes: Vec<String>,
    /// What the kernel counted at the senders over the whole run, by its own names: exact, of all flows together.
    pub counters: Vec<(String, u64)>,
}

/// The kernel's name for the algorithm of a flow.
pub fn kernel_name(index: usize, flow: &FlowPlan) -> Result<String, Fault> {
    let Some(algorithm) = &flow.algorithm else {
        return Err(fault(
            format!("flow[{index}].transport"),
            "the emulator's own ends speak TCP",
            "leave this flow out",
        ));
    };
    let ours = algorithm.growth.spec.name;
    let name = match ours {
        "reno" => "reno".to_owned(),
        "cubic" | "cubic-linux" => "cubic".to_owned(),
        "bbr1" => "bbr".to_owned(),
        other => format!("cwndlab_{}", other.replace('-', "_")),
    };
    let known = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    if known.split_whitespace().any(|one| one == name) {
        return Ok(name);
    }
    Err(fault(
        format!("flow[{index}].algorithm"),
        format!("this kernel has no '{name}' to stand for '{ours}'"),
        format!("it has {known}; reno, cubic and bbr1 are those of ours that it stands for"),
    ))
}

fn workload(index: usize, flow: &FlowPlan) -> Result<(), Fault> {
    match flow.workload {
        Workload::Bulk { .. } | Workload::OnOff { .. } | Workload::Transfers { .. } => Ok(()),
        _ => Err(fault(
            format!("flow[{index}].workload"),
            "the emulator's own ends do not send this",
            "it has bulk, on-off and transfers",
        )),
    }
}

/// What buffers begin with, bytes: so much that neither end waits for the other's auto-tuning, and that the receiver
/// acknowledges as in `known-answers/linux`, each of the first 700 segments or so and then every second one.
const FIRST_BUFFER: u64 = 16 << 20;

/// Settings of both namespaces; a flow's window must not be cut short by buffers.
fn settle(plan: &Plan) -> Result<(), Fault> {
    let rate = plan.links.iter().filter_map(|link| link.rate).map(|rate| rate.0).max().unwrap_or(1_000_000_000);
    let rtt = plan.flows.iter().map(|flow| flow.base_rtt.0).max().unwrap_or(0);
    let buffer = ((rate as f64 / 8.0 * (rtt as f64 * 1e-9 + 0.2)) as u64 * 4).clamp(64 << 20, 512 << 20);
    let stack = &plan.flows[0].stack;
    let flag = |on: bool| if on { "1" } else { "0" };
    let ecn = plan.flows.iter().any(|flow| flow.stack.ecn != Ecn::Off);
    for (name, value) in [
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
        ("net.ipv4.tcp_timestamps", flag(stack.header.0 > 40).to_owned()),
        ("net.ipv4.tcp_sack", flag(stack.sack).to_owned()),
        ("net.ipv4.tcp_ecn", flag(ecn).to_owned()),
        ("net.ipv4.tcp_rmem", format!("4096 {FIRST_BUFFER} {buffer}")),
        ("net.ipv4.tcp_wmem", format!("4096 {FIRST_BUFFER} {buffer}")),
        ("net.ipv4.conf.all.rp_filter", "0".to_owned()),
        ("net.ipv4.conf.default.rp_filter", "0".to_owned()),
        ("net.ipv4.ip_nonlocal_bind", "1".to_owned()),
    ] {
        set_sysctl(name, &value)?;
    }
    Ok(())
}

/// One side: its addresses are local as a loopback's are, what goes to the other side leaves by the device.
fn side(plan: &Plan, own: [u8; 2], far: [u8; 2]) -> Result<(Namespace, Tun), Fault> {
    let namespace = Namespace::new()?;
    let mtu =
        plan.flows.iter().map(|flow| flow.stack.mss.0 + flow.stack.header.0).max().unwrap_or(1500).max(576) as u32;
    let tun = namespace.enter(|| {
        settle(plan)?;
        device::own_prefix([own[0], own[1], 0, 1])?;
        let tun = Tun::new("path0", mtu)?;
        device::route([far[0], far[1], 0, 0], "path0")?;
        Ok(tun)
    })?;
    Ok((namespace, tun))
}

/// Runs the plan between real TCP senders and receivers of this machine.
///
/// It lasts as long as the scenario says. `seed` draws losses and starts, as in the simulator; the kernel's own timing
/// is what it is, so two runs differ.
pub fn emulate(
    plan: &Plan,
    seed: u64,
    cancel: &AtomicBool,
    progress: Option<&AtomicU64>,
) -> Result<(Records, Quality), Fault> {
    if plan.packets {
        let hint = "leave it out; a capture on the device path0 has the real ones";
        return Err(fault("packets", "the emulator does not write them down", hint));
    }
    let mut names = Vec::new();
    for (index, flow) in plan.flows.iter().enumerate() {
        names.push(kernel_name(index, flow)?);
        workload(index, flow)?;
    }
    let (left, left_tun) = side(plan, datagram::LEFT, datagram::RIGHT)?;
    let (right, right_tun) = side(plan, datagram::RIGHT, datagram::LEFT)?;
    let listeners = right.enter(|| {
        (0u32..).zip(&plan.flows).map(|(flow, plan)| ends::listener(flow, plan)).collect::<Result<Vec<_>, _>>()
    })?;
    let (stop, drops) = (AtomicBool::new(false), Drops::new(plan.flows.len()));
    let ends: Vec<End> = plan.flows.iter().map(|_| End::default()).collect();
    #[allow(clippy::disallowed_methods, reason = "an emulation runs on the wall clock")]
    let start = Instant::now();
    let run = Run { start, stop: &stop };
    let mut path = Path::new(plan, seed, left_tun, right_tun, start);
    let mut records = Records::default();
    let mut watches = vec![Watch::default(); plan.flows.len()];
    let mut failure = None;
    std::thread::scope(|scope| {
        let (path, stop, drops) = (&mut path, &stop, &drops);
        let forwarding = scope.spawn(move || path.run(stop, drops));
        for (flow, listener) in (0u32..).zip(&listeners) {
            let end = &ends[flow as usize];
            let right = &right;
            scope.spawn(move || {
                if right.join().is_ok() {
                    ends::receiver(run, flow, listener, end);
                }
            });
        }
        let mut senders = Vec::new();
        for (flow, begin) in (0u32..).zip(starts(plan, seed)) {
            let index = flow as usize;
            let (one, name, end, left) = (&plan.flows[index], &names[index], &ends[index], &left);
            senders.push(scope.spawn(move || {
                left.join()?;
                ends::sender(run, flow, one, begin, name, end)
            }));
        }
        watch(plan, run, &ends, drops, &mut watches, &mut records, cancel, progress, &|| forwarding.is_finished());
        stop.store(true, Ordering::Relaxed);
        for sender in senders {
            if let Ok(Err(fault)) = sender.join() {
                failure.get_or_insert(fault);
            }
        }
        if let Ok(Err(fault)) = forwarding.join() {
            failure.get_or_insert(fault);
        }
    });
    if let Some(fault) = failure {
        return Err(fault);
    }
    if cancel.load(Ordering::Relaxed) {
        return Err(fault("emulate", "stopped before its end", ""));
    }
    records.links = path.world.link_rows(plan, plan.duration.0);
    records.link_samples = std::mem::take(&mut path.passed.samples);
    for (flow, ((one, end), watch)) in (0u32..).zip(plan.flows.iter().zip(&ends).zip(&watches)) {
        records.flows.push(row(flow, one, end, watch, &path, &names[flow as usize]));
        records.transfers.append(&mut end.transfers.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
    let passed = std::mem::take(&mut path.passed);
    let counters = left.enter(|| Ok(counters()))?;
    let quality = Quality {
        lateness: passed.lateness,
        real_time: passed.real_time,
        strangers: passed.strangers,
        refused: passed.refused,
        notes: vec![format!("kernel {}", sysctl("kernel.osrelease").unwrap_or_default())],
        counters,
    };
    Ok((records, quality))
}

/// Samples the flows until the run is over.
#[allow(clippy::too_many_arguments, reason = "a loop that was taken out of the function that owns all of this")]
fn watch(
    plan: &Plan,
    run: Run<'_>,
    ends: &[End],
    drops: &Drops,
    watches: &mut [Watch],
    records: &mut Records,
    cancel: &AtomicBool,
    progress: Option<&AtomicU64>,
    is_broken: &dyn Fn() -> bool,
) {
    let interval = if plan.sample_interval.0 == 0 { u64::MAX } else { plan.sample_interval.0 };
    let (mut next_look, mut next_sample) = (LOOK, interval);
    while run.now() < plan.duration.0 && !cancel.load(Ordering::Relaxed) && !is_broken() {
        let next = next_look.min(next_sample).min(plan.duration.0);
        std::thread::sleep(Wait::from_nanos(next.saturating_sub(run.now())));
        let now = run.now();
        for (flow, (watch, end)) in (0u32..).zip(watches.iter_mut().zip(ends)) {
            watch.look(now, flow, end, &mut records.events);
            if next_sample <= now {
                records.samples.extend(watch.sample(next_sample, flow, end, drops));
            }
        }
        if let Some(progress) = progress {
            progress.store(now, Ordering::Relaxed);
        }
        while next_look <= now {
            next_look += LOOK;
        }
        while next_sample <= now {
            next_sample += interval;
        }
    }
}

fn row(flow: u32, plan: &FlowPlan, end: &End, watch: &Watch, path: &Path<'_>, kernel: &str) -> FlowRow {
    let (info, losses) = (watch.info, path.world.losses[flow as usize]);
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
    }
}
