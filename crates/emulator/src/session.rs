//! A session: two network namespaces and the running path between them.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};

use cwndlab_linux::namespace::Namespace;
use cwndlab_linux::netlink::Route;
use cwndlab_linux::netstat::sender_counters;
use cwndlab_linux::pid_namespace::PidNamespace;
use cwndlab_linux::sock_diag::SockDiag;
use cwndlab_linux::tun::Tun;
use cwndlab_linux::{interface, netlink, sysctl};
use cwndlab_path::findings;
use cwndlab_path::lifetimes::Lifetimes;
use cwndlab_records::rows::{CalibrationRow, FlowRow, LatenessRow, Records};
use cwndlab_scenario::plan::{Ecn, FlowPlan, Plan};
use cwndlab_units::{Bytes, Duration, Fault, FlowId, Time};

use crate::addresses::{has_timestamps, Family, Side};
use crate::algorithm::ProgramAlgorithm;
use crate::counters::{DropCounters, FlowTraffic};
use crate::inbox::Inboxes;
use crate::lateness::Lateness;
use crate::path::{cancelled, Path};
use crate::program_sampler::ProgramSampler;
use crate::requirements::{check_plan, path_mtu, require_ipv6};

/// The name of the TUN device in both namespaces.
const DEVICE: &str = "path0";
/// Interval at which the start of a session checks whether it is cancelled.
const CANCEL_CHECK: Wait = Wait::from_millis(20);
/// The default of [`Options::max_lateness`].
pub const MAX_LATENESS: Duration = Duration::from_millis(1);

/// The accuracy of an emulated run.
#[derive(Clone, Debug, Default)]
pub struct Quality {
    /// Lateness of deliveries.
    pub lateness: Lateness,
    /// The path's thread had real-time priority.
    pub real_time: bool,
    /// Packets that belong to no flow.
    pub unmatched: u64,
    /// Packets that the receiving kernel rejected.
    pub refused: u64,
    /// The reason why the results are unreliable; `None` where they are reliable.
    pub unreliable: Option<String>,
    /// The release of the kernel.
    pub notes: Vec<String>,
    /// The kernel's TCP counters on the senders' side over the whole run, by the kernel's names. They are exact sums
    /// over all flows.
    pub counters: Vec<(String, u64)>,
}

/// A kernel setting of one side, written after those of [`Session`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The side.
    pub side: Side,
    /// Name of the setting, such as `net.ipv4.tcp_comp_sack_nr`.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Setting {
    /// Writes the setting; the calling thread must be in the side's namespace.
    fn write(&self) -> Result<(), Fault> {
        let place = format!("settings.{}.{}", self.side.name(), self.name);
        let hint = "name a setting below net, such as net.ipv4.tcp_comp_sack_nr (ip-sysctl.rst of the kernel)";
        // Other settings belong to the whole machine.
        if !self.name.starts_with("net.") {
            return Err(Fault::new(place, "is no setting of a network namespace", hint));
        }
        if sysctl::read(&self.name).is_none() {
            return Err(Fault::new(place, "this kernel has no such setting in a network namespace", hint));
        }
        sysctl::write(&self.name, &self.value)
            .map_err(|error| Fault::new(place, format!("'{}' is refused: {}", self.value, error.what), ""))
    }
}

/// The configuration of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// The congestion control of the connections of programs.
    pub algorithm: ProgramAlgorithm,
    /// A run is unreliable if more than 1 % of its deliveries are later than this.
    pub max_lateness: Duration,
    /// The endpoints are programs: only the traffic on the path is recorded.
    pub programs: bool,
    /// Kernel settings of the sides, beside those that the emulator writes.
    pub settings: Vec<Setting>,
}

impl Default for Options {
    fn default() -> Self {
        Self { algorithm: ProgramAlgorithm::Program, max_lateness: MAX_LATENESS, programs: false, settings: Vec::new() }
    }
}

/// The state that the path's thread shares with other threads.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    drops: DropCounters,
}

impl Shared {
    /// Waits for what the path's thread sends once it is calibrated. `cancel` stops it.
    fn wait<T>(&self, started: &mpsc::Receiver<T>, cancel: &AtomicBool) -> Result<T, mpsc::RecvTimeoutError> {
        loop {
            match started.recv_timeout(CANCEL_CHECK) {
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.stop.fetch_or(cancel.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                outcome => return outcome,
            }
        }
    }
}

type PathThread = JoinHandle<(Path, Result<(), Fault>)>;

/// Two network namespaces and the running path between them. Dropping it ends programs, path and namespaces.
#[derive(Debug)]
pub struct Session {
    plan: Arc<Plan>,
    sides: [Namespace; 2],
    programs: Option<PidNamespace>,
    sampler: Option<ProgramSampler>,
    shared: Arc<Shared>,
    path: Option<PathThread>,
    calibration: Vec<CalibrationRow>,
    notes: Vec<String>,
    max_lateness: Duration,
    inboxes: Arc<Inboxes>,
    /// Start of the run.
    pub start: Instant,
}

/// Initial send buffer of the emulator's own endpoints, bytes. It limits no sender, since the kernel enlarges it with the
/// window. Buffers of many runs at a time must not exceed the kernel's memory for TCP (`tcp_mem`): under pressure it
/// shrinks receive windows to four segments (`tcp_adjust_rcv_ssthresh`), as with 16 MB each.
const SEND_BUFFER: u64 = 1 << 20;

/// The initial receive buffer that gives a window of `initial` bytes: the kernel's 131,072 bytes give 65,535
/// (ip-sysctl.rst, `tcp_rmem`).
fn receive_buffer(initial: Bytes) -> u64 {
    2 * (initial.0 + 1)
}

/// Writes the TCP settings of a namespace, which has one for all flows: that of the first one over TCP. The largest
/// buffers must not limit a flow's window. Programs get the kernel's default send buffer.
fn write_settings(plan: &Plan, programs: bool) -> Result<(), Fault> {
    let rate = plan.links.iter().filter_map(|link| link.rate).map(|rate| rate.0).max().unwrap_or(1_000_000_000);
    let rtt = plan.flows.iter().map(|flow| flow.base_rtt.as_nanos()).max().unwrap_or(0);
    let buffer = ((rate as f64 / 8.0 * (rtt as f64 * 1e-9 + 0.2)) as u64 * 4).clamp(64 << 20, 512 << 20);
    let first = plan.flows.iter().find(|flow| flow.algorithm.is_some()).unwrap_or(&plan.flows[0.into()]);
    let stack = &first.stack;
    let receive = receive_buffer(stack.initial_receive_window).min(buffer);
    let send = if programs { 65_536 } else { SEND_BUFFER };
    let flag = |on: bool| if on { "1" } else { "0" };
    for (name, value) in [
        // Otherwise the kernel keeps ssthresh per destination, from one connection to the next.
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
        ("net.ipv4.tcp_timestamps", flag(has_timestamps(stack.header)).to_owned()),
        ("net.ipv4.tcp_sack", flag(stack.sack).to_owned()),
        ("net.ipv4.tcp_rmem", format!("4096 {receive} {buffer}")),
        ("net.ipv4.tcp_wmem", format!("4096 {send} {buffer}")),
        ("net.ipv4.conf.all.rp_filter", "0".to_owned()),
        ("net.ipv4.conf.default.rp_filter", "0".to_owned()),
        ("net.ipv4.ip_nonlocal_bind", "1".to_owned()),
    ] {
        sysctl::write(name, &value)?;
    }
    write_ecn(plan)?;
    if !programs {
        // Flows of many short connections from one address must not run out of ports (TIME-WAIT).
        sysctl::write("net.ipv4.tcp_tw_reuse", "1")?;
        sysctl::write("net.ipv4.ip_local_port_range", "1024 65535")?;
    }
    Ok(())
}

/// `TCP_ECN_IN_ACCECN_OUT_ACCECN` of `include/net/tcp_ecn.h`: accurate ECN in both directions.
const ACCURATE_ECN: &str = "3";
/// The setting that selects the form of ECN.
const ECN_SETTING: &str = "net.ipv4.tcp_ecn";

/// Writes the form of ECN of a namespace. Accurate ECN has no other selection, so that it takes flows of which all have
/// it, and a kernel whose setting accepts it. Otherwise routes select ECN.
fn write_ecn(plan: &Plan) -> Result<(), Fault> {
    let mut tcp = plan.flows.iter().filter(|flow| flow.algorithm.is_some()).peekable();
    let is_wanted = tcp.peek().is_some() && tcp.all(|flow| matches!(flow.stack.ecn, Ecn::Accurate | Ecn::AccEcn));
    if is_wanted && sysctl::write(ECN_SETTING, ACCURATE_ECN).is_ok() {
        return Ok(());
    }
    sysctl::write(ECN_SETTING, "0")
}

/// The form of ECN of flows that have not the classic one, as a line for the notes. Must be called within a namespace of
/// the session.
fn ecn_note(plan: &Plan) -> Option<String> {
    let is_accurate = sysctl::read(ECN_SETTING).as_deref() == Some(ACCURATE_ECN);
    let is_other = |flow: &&FlowPlan| flow.stack.ecn.counts_marks();
    let names: Vec<_> = plan.flows.iter().filter(is_other).map(|flow| flow.name.to_string()).collect();
    let names = names.join(", ");
    if names.is_empty() {
        None
    } else if is_accurate {
        Some(format!("ECN of {names}: accurate (RFC 9768)"))
    } else {
        Some(format!(
            "ECN of {names}: classic (RFC 3168); accurate ECN takes all TCP flows and a kernel in which {ECN_SETTING} can \
             be {ACCURATE_ECN}"
        ))
    }
}

/// The lines for the notes of a session. Must be called within one of its namespaces.
fn session_notes(plan: &Plan, options: &Options) -> Vec<String> {
    let mut notes = vec![format!("kernel {}", sysctl::read("kernel.osrelease").unwrap_or_default())];
    if options.programs {
        notes.extend(options.algorithm.notes(plan));
    }
    notes.extend(ecn_note(plan));
    notes.extend(options.settings.iter().map(|one| format!("{}: {} = {}", one.side.name(), one.name, one.value)));
    notes
}

/// Adds the routes to the other side: one to its whole prefix, and one to the address of each flow with ECN or another
/// congestion control than flow 0. A namespace has one setting of ECN and one default of the congestion control, a route
/// has its own.
fn add_routes(plan: &Plan, side: Side, family: Family, algorithms: &[Option<String>]) -> Result<(), Fault> {
    let other = side.other();
    let (prefix, full) = match family {
        Family::V4 => ((other.prefix().into(), 16), 32),
        Family::V6 => ((other.prefix6().into(), 64), 128),
    };
    let first = algorithms.first().and_then(Option::as_deref);
    let route = Route { prefix, source: side.address(0.into(), family), algorithm: first, ecn: false };
    netlink::add_route(&route, DEVICE)?;
    for ((flow, one), algorithm) in plan.flows.enumerate().zip(algorithms) {
        let ecn = one.algorithm.is_some() && one.stack.ecn != Ecn::Off;
        let algorithm = algorithm.as_deref();
        if ecn || algorithm != first {
            let prefix = (other.address(flow, family), full);
            netlink::add_route(&Route { prefix, algorithm, ecn, ..route }, DEVICE)?;
        }
    }
    Ok(())
}

/// Writes the IPv6 settings of a namespace: the path is a point-to-point link without routers, so that its devices need
/// no link-local addresses, and the kernel sends no discovery of neighbours or routers over it.
fn write_settings6() -> Result<(), Fault> {
    for (name, value) in [
        ("net.ipv6.conf.all.disable_ipv6", "0"),
        ("net.ipv6.conf.default.disable_ipv6", "0"),
        ("net.ipv6.conf.default.addr_gen_mode", "1"), // IN6_ADDR_GEN_MODE_NONE
        ("net.ipv6.conf.default.accept_ra", "0"),
        ("net.ipv6.conf.default.accept_dad", "0"),
        ("net.ipv6.ip_nonlocal_bind", "1"),
    ] {
        sysctl::write(name, value)?;
    }
    Ok(())
}

/// Creates the namespace of a side. Its prefixes are local, as that of a loopback device is; packets to the other side
/// leave through the TUN device. IPv6 is absent where the kernel or the MTU does not allow it.
fn create_side(plan: &Plan, side: Side, options: &Options) -> Result<(Namespace, Tun), Fault> {
    let namespace = Namespace::new()?;
    let tun = namespace.enter(|| {
        write_settings(plan, options.programs)?;
        interface::add_local_prefix(side.address4(0.into()))?;
        let has_ipv6 = require_ipv6(plan, "").is_ok();
        if has_ipv6 {
            write_settings6()?;
            netlink::add_local_prefix6(side.address6(0.into()))?;
        }
        let tun = Tun::new(DEVICE, path_mtu(plan))?;
        let algorithms = options.algorithm.by_flow(plan);
        for family in [Family::V4, Family::V6].into_iter().filter(|family| *family == Family::V4 || has_ipv6) {
            add_routes(plan, side, family, &algorithms)?;
        }
        options.settings.iter().filter(|one| one.side == side).try_for_each(Setting::write)?;
        Ok(tun)
    })?;
    Ok((namespace, tun))
}

impl Session {
    /// Creates the two sides, calibrates the path and starts it. `seed` determines losses, as in the simulator. `cancel`
    /// ends the calibration; it has no effect afterwards.
    ///
    /// # Errors
    ///
    /// A plan that records packets or named values, a flow over QUIC, one over IPv6 where the path has none, a failed
    /// system call, or a calibration that `cancel` ended.
    pub fn open(plan: Arc<Plan>, seed: u64, options: &Options, cancel: &AtomicBool) -> Result<Self, Fault> {
        check_plan(&plan, options.programs)?;
        let plan = if plan.perturb { Arc::new(plan.perturbed(seed).into_owned()) } else { plan };
        let (left, left_tun) = create_side(&plan, Side::Senders, options)?;
        let (right, right_tun) = create_side(&plan, Side::Receivers, options)?;
        let notes = left.enter(|| Ok(session_notes(&plan, options)))?;
        let programs = options.programs.then(PidNamespace::new).transpose()?;
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), drops: DropCounters::new(plan.flows.len()) });
        #[allow(clippy::disallowed_methods, reason = "an emulation runs on the wall clock")]
        let start = Instant::now();
        let inboxes = Inboxes::new(&plan)?;
        let mut path = Path::new(Arc::clone(&plan), seed, [left_tun, right_tun], start, options.programs);
        path.inboxes = Arc::clone(&inboxes);
        let (inner, (ready, started)) = (Arc::clone(&shared), mpsc::channel());
        let thread = std::thread::Builder::new().name("cwndlab-path".to_owned()).spawn(move || {
            let done = path.calibrate(&inner.stop, &inner.drops).and_then(|calibrated| {
                // The receiver waits as long as this thread exists.
                let _ = ready.send(calibrated);
                path.run(&inner.stop, &inner.drops)
            });
            (path, done)
        });
        let thread = thread.map_err(|error| Fault::new("thread", error.to_string(), ""))?;
        let mut session = Self {
            plan,
            sides: [left, right],
            programs,
            sampler: None,
            shared,
            path: Some(thread),
            calibration: Vec::new(),
            notes,
            max_lateness: options.max_lateness,
            inboxes,
            start,
        };
        match session.shared.wait(&started, cancel) {
            Ok(_) if session.shared.stop.load(Ordering::Relaxed) => Err(cancelled()),
            Ok((calibration, start)) => {
                (session.calibration, session.start) = (calibration, start);
                if options.programs {
                    session.start_sampler()?;
                }
                Ok(session)
            }
            Err(_) => {
                Err(session.stop().err().unwrap_or_else(|| Fault::new("emulate", "the path's thread panicked", "")))
            }
        }
    }

    /// Samples the TCP connections of programs on the senders' side, where the plan has samples.
    fn start_sampler(&mut self) -> Result<(), Fault> {
        let interval = self.plan.sample_interval;
        if interval.as_nanos() > 0 {
            let socket = self.namespace(Side::Senders).enter(SockDiag::new)?;
            let flows = self.plan.flows.len() as u32;
            self.sampler = Some(ProgramSampler::start(socket, self.start, interval, flows));
        }
        Ok(())
    }

    /// The messages that wait to be sent on.
    pub(crate) fn inboxes(&self) -> &Inboxes {
        &self.inboxes
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Whether the path has IPv6: the kernel has it, and the MTU is not below 1280 bytes.
    #[must_use]
    pub fn has_ipv6(&self) -> bool {
        require_ipv6(&self.plan, "").is_ok()
    }

    /// Lines on the kernel and its settings: its release, the congestion control of programs, the form of ECN.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The address of a flow's endpoint.
    ///
    /// # Errors
    ///
    /// IPv6 where the path has none.
    pub fn address(&self, side: Side, flow: FlowId, family: Family) -> Result<IpAddr, Fault> {
        if family == Family::V6 {
            require_ipv6(&self.plan, "family")?;
        }
        Ok(side.address(flow, family))
    }

    /// The namespace of a side.
    #[must_use]
    pub fn namespace(&self, side: Side) -> &Namespace {
        &self.sides[usize::from(side == Side::Receivers)]
    }

    /// Moves the calling thread into the namespace of a side permanently. Processes that the thread starts afterwards
    /// run there and end with the session.
    pub fn join(&self, side: Side) -> Result<(), Fault> {
        if let Some(programs) = &self.programs {
            programs.join()?;
        }
        self.namespace(side).join()
    }

    /// The time since the start of the run.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// Whether the path's thread ended before the run was stopped, which indicates an error.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.path.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Data packets lost so far, by flow.
    #[must_use]
    pub fn drops(&self) -> &DropCounters {
        &self.shared.drops
    }

    /// Stops the path and returns it. Packets in transit are lost.
    pub(crate) fn stop(&mut self) -> Result<Path, Fault> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.path.take() else {
            return Err(Fault::new("emulate", "the path has ended already", ""));
        };
        let (path, done) = thread.join().map_err(|_| Fault::new("emulate", "the path's thread panicked", ""))?;
        done.map(|()| path)
    }

    /// Ends programs, path and namespaces. Returns the records of the programs' flows, the quality of the run and its
    /// duration.
    pub fn close(mut self) -> Result<(Records, Quality, Duration), Fault> {
        drop(self.programs.take());
        let end = self.now();
        let mut path = self.stop()?;
        let (mut records, quality) = self.path_records(&mut path, end);
        for ((flow, one), traffic) in self.plan.flows.enumerate().zip(&path.counters.traffic) {
            records.flows.push(program_row(flow, one, traffic, &path));
        }
        path.network.set_airtimes(&self.plan, end.max(path.network.clock), &mut records.flows);
        records.samples = std::mem::take(&mut path.counters.flow_samples);
        if let Some(sampler) = self.sampler.take() {
            sampler.finish(&mut records.samples);
        }
        findings::add(&self.plan, &Lifetimes::default(), &mut records);
        Ok((records, quality, Duration::from_nanos(end.as_nanos())))
    }

    /// The records and the quality of the path of a run that ended at `end`.
    pub(crate) fn path_records(&self, path: &mut Path, end: Time) -> (Records, Quality) {
        let lateness = std::mem::take(&mut path.counters.lateness);
        // The path's thread may have forwarded a packet after the end of the run.
        let end = end.max(path.network.clock);
        path.network.stop(end);
        let records = Records {
            findings: path.network.check_counters(&self.plan, end),
            links: path.network.link_rows(&self.plan, end),
            link_samples: std::mem::take(&mut path.counters.link_samples),
            lateness: lateness.buckets().map(|(late_ns, packets)| LatenessRow { late_ns, packets }).collect(),
            calibration: self.calibration.clone(),
            ..Records::default()
        };
        let counters = &path.counters;
        let quality = Quality {
            real_time: counters.real_time,
            unmatched: counters.unmatched,
            refused: counters.refused,
            unreliable: self.unreliable_reason(&lateness),
            notes: self.notes.clone(),
            counters: self.namespace(Side::Senders).enter(|| Ok(sender_counters())).unwrap_or_default(),
            lateness,
        };
        (records, quality)
    }

    fn unreliable_reason(&self, lateness: &Lateness) -> Option<String> {
        let max = self.max_lateness;
        let is_late = lateness.beyond(max.as_nanos()) > (lateness.total() / 100).max(1);
        is_late.then(|| {
            let late = lateness.quantile(0.99) as f64 / 1e6;
            format!("1 % of the deliveries were {late:.2} ms late or more, {} ms are allowed", max.as_millis())
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.programs.take());
        if let Some(sampler) = self.sampler.take() {
            sampler.finish(&mut []);
        }
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.path.take() {
            let _ = thread.join();
        }
    }
}

/// The row of a program's flow, from its traffic on the path.
fn program_row(flow: FlowId, plan: &FlowPlan, traffic: &FlowTraffic, path: &Path) -> FlowRow {
    let losses = path.network.losses[flow.into()];
    let delay = traffic.delay;
    let measured = |delay: Duration| (traffic.delay.count > 0).then_some(delay.as_nanos());
    FlowRow {
        flow: flow.into(),
        name: plan.name.to_string(),
        algorithm: "program".to_owned(),
        profile: "kernel".to_owned(),
        mss_bytes: plan.stack.mss.0,
        base_rtt_ns: plan.base_rtt.as_nanos(),
        start_ns: traffic.first.unwrap_or_default().as_nanos(),
        end_ns: traffic.first.map(|_| traffic.last.as_nanos()),
        delivered_bytes: traffic.delivered_payload,
        sent_bytes: traffic.sent_payload,
        wire_bytes: traffic.sent_bytes,
        sent_packets: traffic.sent_packets,
        ack_packets: traffic.reverse_packets,
        queue_drops: losses.queue,
        wire_losses: losses.wire,
        min_delay_ns: measured(delay.min),
        mean_delay_ns: measured(Duration::from_nanos(delay.sum.as_nanos() / delay.count.max(1))),
        max_delay_ns: measured(delay.max),
        route: plan.route_text(),
        ..FlowRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ip-sysctl.rst, `tcp_rmem`: a default of 131,072 bytes "results in initial window of 65535". 2,092,735 bytes are
    /// those of the paths of `validate --kernel`.
    #[test]
    fn a_receive_buffer_is_twice_the_initial_window() {
        assert_eq!([65_535, 2_092_735].map(|window| receive_buffer(Bytes(window))), [131_072, 4_185_472]);
    }
}
