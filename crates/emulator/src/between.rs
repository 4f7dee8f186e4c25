//! Two namespaces with the path at work between them, and what runs at its ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};

use cwndlab_records::rows::{CalibrationRow, FlowRow, LatenessRow, Records};
use cwndlab_scenario::plan::{Ecn, FlowPlan, Plan};
use cwndlab_units::Time;

use crate::datagram::{address, LEFT, RIGHT};
use crate::device::{self, Tun};
use crate::fault::{fault, Fault};
use crate::keeper::Keeper;
use crate::lateness::Lateness;
use crate::namespace::{counters, set_sysctl, sysctl, Namespace};
use crate::netlink;
use crate::path::{Drops, Path, Traffic};

/// The device in both namespaces.
const DEVICE: &str = "path0";

/// A side of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the flows' senders are.
    Senders,
    /// Where their receivers are.
    Receivers,
}

impl Side {
    fn prefix(self) -> [u8; 2] {
        match self {
            Self::Senders => LEFT,
            Self::Receivers => RIGHT,
        }
    }

    /// The one across the path.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Senders => Self::Receivers,
            Self::Receivers => Self::Senders,
        }
    }

    /// The address of a flow's end on this side.
    #[must_use]
    pub fn address(self, flow: u32) -> [u8; 4] {
        address(self.prefix(), flow)
    }
}

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
    /// Why its figures are not to be relied on; nothing where they are.
    pub unreliable: Option<String>,
    /// Of the kernel: release, and the settings that were in force.
    pub notes: Vec<String>,
    /// What the kernel counted at the senders over the whole run, by its own names: exact, of all flows together.
    pub counters: Vec<(String, u64)>,
}

/// The lateness that a run may have, unless told otherwise, ns.
pub const LATE: u64 = 1_000_000;

/// How the two sides are made.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// The congestion control of every connection, whatever programs choose; `None` leaves it to them.
    pub algorithm: Option<String>,
    /// 1 % of the deliveries later than this make a run unreliable, ns; 0 is [`LATE`].
    pub late: u64,
    /// Programs run there: what the path sees of them is all that is recorded of a flow.
    pub programs: bool,
}

/// What the path's thread shares with the others.
#[derive(Debug)]
pub(crate) struct Shared {
    stop: AtomicBool,
    pub(crate) drops: Drops,
}

/// The two sides, the path between them at work.
#[derive(Debug)]
pub struct Between {
    plan: Arc<Plan>,
    sides: [Namespace; 2],
    keeper: Option<Keeper>,
    pub(crate) shared: Arc<Shared>,
    forwarding: Option<JoinHandle<(Path, Result<(), Fault>)>>,
    calibration: Vec<CalibrationRow>,
    late: u64,
    /// When it began.
    pub start: Instant,
}

/// What our own ends' buffers begin with, bytes: so much that neither waits for the other's auto-tuning, and that the
/// receiver acknowledges as in `known-answers/linux`, each of the first 700 segments or so and then every second one.
const FIRST_BUFFER: u64 = 16 << 20;

/// Settings of both namespaces; a flow's window must not be cut short by buffers. Programs find the kernel's own first
/// sizes.
fn settle(plan: &Plan, programs: bool) -> Result<(), Fault> {
    let rate = plan.links.iter().filter_map(|link| link.rate).map(|rate| rate.0).max().unwrap_or(1_000_000_000);
    let rtt = plan.flows.iter().map(|flow| flow.base_rtt.0).max().unwrap_or(0);
    let buffer = ((rate as f64 / 8.0 * (rtt as f64 * 1e-9 + 0.2)) as u64 * 4).clamp(64 << 20, 512 << 20);
    let (receive, send) = if programs { (131_072, 65_536) } else { (FIRST_BUFFER, FIRST_BUFFER) };
    let stack = &plan.flows[0].stack;
    let flag = |on: bool| if on { "1" } else { "0" };
    let ecn = plan.flows.iter().any(|flow| flow.stack.ecn != Ecn::Off);
    for (name, value) in [
        // Else ssthresh is remembered per destination, from one connection to the next.
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
        ("net.ipv4.tcp_timestamps", flag(stack.header.0 > 40).to_owned()),
        ("net.ipv4.tcp_sack", flag(stack.sack).to_owned()),
        ("net.ipv4.tcp_ecn", flag(ecn).to_owned()),
        ("net.ipv4.tcp_rmem", format!("4096 {receive} {buffer}")),
        ("net.ipv4.tcp_wmem", format!("4096 {send} {buffer}")),
        ("net.ipv4.conf.all.rp_filter", "0".to_owned()),
        ("net.ipv4.conf.default.rp_filter", "0".to_owned()),
        ("net.ipv4.ip_nonlocal_bind", "1".to_owned()),
    ] {
        set_sysctl(name, &value)?;
    }
    Ok(())
}

/// A side: its addresses are local as a loopback's are, what goes to the other side leaves by the device.
fn side(plan: &Plan, side: Side, ends: &Ends) -> Result<(Namespace, Tun), Fault> {
    let namespace = Namespace::new()?;
    let mtu =
        plan.flows.iter().map(|flow| flow.stack.mss.0 + flow.stack.header.0).max().unwrap_or(1500).max(576) as u32;
    let tun = namespace.enter(|| {
        settle(plan, ends.programs)?;
        device::own_prefix(side.address(0))?;
        let tun = Tun::new(DEVICE, mtu)?;
        let far = side.other().prefix();
        netlink::route([far[0], far[1], 0, 0], side.address(0), DEVICE, ends.algorithm.as_deref())?;
        Ok(tun)
    })?;
    Ok((namespace, tun))
}

impl Between {
    /// Makes the two sides and sets the path to work. `seed` draws losses as in the simulator.
    pub fn open(plan: Arc<Plan>, seed: u64, ends: &Ends) -> Result<Self, Fault> {
        if plan.packets {
            let hint = "leave it out; a capture on the device path0 has the real ones";
            return Err(fault("packets", "the emulator does not write them down", hint));
        }
        let (left, left_tun) = side(&plan, Side::Senders, ends)?;
        let (right, right_tun) = side(&plan, Side::Receivers, ends)?;
        let keeper = ends.programs.then(Keeper::new).transpose()?;
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), drops: Drops::new(plan.flows.len()) });
        let late = if ends.late == 0 { LATE } else { ends.late };
        #[allow(clippy::disallowed_methods, reason = "an emulation runs on the wall clock")]
        let start = Instant::now();
        let mut path = Path::new(Arc::clone(&plan), seed, [left_tun, right_tun], start, ends.programs);
        let (told, (ready, begun)) = (Arc::clone(&shared), mpsc::channel());
        let forwarding = std::thread::spawn(move || {
            let done = path.calibrate(&told.stop, &told.drops).and_then(|calibrated| {
                // Whoever waits for it waits as long as this thread lives.
                let _ = ready.send(calibrated);
                path.run(&told.stop, &told.drops)
            });
            (path, done)
        });
        let forwarding = Some(forwarding);
        let mut between =
            Self { plan, sides: [left, right], keeper, shared, forwarding, calibration: Vec::new(), late, start };
        match begun.recv() {
            Ok((calibration, start)) => {
                (between.calibration, between.start) = (calibration, start);
                Ok(between)
            }
            Err(_) => Err(between.stop().err().unwrap_or_else(|| fault("emulate", "the path's thread died", ""))),
        }
    }
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A side's namespace.
    #[must_use]
    pub fn namespace(&self, side: Side) -> &Namespace {
        &self.sides[usize::from(side == Side::Receivers)]
    }

    /// Moves the calling thread to a side, for good; what it starts from then on runs there and ends with the two sides.
    pub fn join(&self, side: Side) -> Result<(), Fault> {
        if let Some(keeper) = &self.keeper {
            keeper.join()?;
        }
        self.namespace(side).join()
    }

    /// Now, ns since the beginning.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// The path's thread has ended by itself: it failed.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.forwarding.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the path and hands it over. What waits in it is gone.
    pub(crate) fn stop(&mut self) -> Result<Path, Fault> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let Some(forwarding) = self.forwarding.take() else {
            return Err(fault("emulate", "the path has ended already", ""));
        };
        let (path, done) = forwarding.join().map_err(|_| fault("emulate", "the path's thread died", ""))?;
        done.map(|()| path)
    }

    /// Ends all: programs that still run, path and namespaces. Answers what was recorded of programs' flows, how good
    /// the clockwork was, and how long it lasted, ns.
    pub fn close(mut self) -> Result<(Records, Quality, u64), Fault> {
        drop(self.keeper.take());
        let end = self.now();
        let mut path = self.stop()?;
        let (mut records, quality) = self.ended(&mut path, end);
        for (flow, (one, traffic)) in (0u32..).zip(self.plan.flows.iter().zip(&path.passed.traffic)) {
            records.flows.push(row(flow, one, traffic, &path));
        }
        records.samples = std::mem::take(&mut path.passed.flow_samples);
        Ok((records, quality, end))
    }

    /// What every run records of its path.
    pub(crate) fn ended(&self, path: &mut Path, end: u64) -> (Records, Quality) {
        let lateness = std::mem::take(&mut path.passed.lateness);
        // The path's thread may have forwarded a packet after the moment at which the run was to end.
        let end = end.max(path.network.clock.0);
        let records = Records {
            links: path.network.link_rows(&self.plan, Time(end)),
            link_samples: std::mem::take(&mut path.passed.samples),
            lateness: lateness.buckets().map(|(late_ns, packets)| LatenessRow { late_ns, packets }).collect(),
            calibration: self.calibration.clone(),
            ..Records::default()
        };
        let is_late = lateness.beyond(self.late) > (lateness.total() / 100).max(1);
        let unreliable = is_late.then(|| {
            let found = lateness.quantile(0.99) as f64 / 1e6;
            format!("1 % of the deliveries were {found:.2} ms late or more, {} ms are allowed", self.late as f64 / 1e6)
        });
        let notes = vec![format!("kernel {}", sysctl("kernel.osrelease").unwrap_or_default())];
        let passed = &path.passed;
        let (real_time, strangers, refused) = (passed.real_time, passed.strangers, passed.refused);
        let counters = self.namespace(Side::Senders).enter(|| Ok(counters())).unwrap_or_default();
        (records, Quality { lateness, real_time, strangers, refused, unreliable, notes, counters })
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        drop(self.keeper.take());
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(forwarding) = self.forwarding.take() {
            let _ = forwarding.join();
        }
    }
}

/// What the path saw of a flow.
fn row(flow: u32, plan: &FlowPlan, traffic: &Traffic, path: &Path) -> FlowRow {
    let losses = path.network.losses[flow as usize];
    let (number, sum, least, most, _) = traffic.delay;
    let seen = |delay: u64| (number > 0).then_some(delay);
    FlowRow {
        flow,
        name: plan.name.clone(),
        algorithm: "program".to_owned(),
        profile: "kernel".to_owned(),
        mss_bytes: plan.stack.mss.0,
        base_rtt_ns: plan.base_rtt.0,
        start_ns: traffic.first.unwrap_or(0),
        end_ns: traffic.first.map(|_| traffic.last),
        delivered_bytes: traffic.delivered_payload,
        sent_bytes: traffic.sent_payload,
        wire_bytes: traffic.sent_bytes,
        sent_packets: traffic.sent_packets,
        ack_packets: traffic.answers,
        queue_drops: losses.queue,
        wire_losses: losses.wire,
        min_delay_ns: seen(least),
        mean_delay_ns: seen(sum / number.max(1)),
        max_delay_ns: seen(most),
        route: plan.route_text(),
        ..FlowRow::default()
    }
}

/// Sleeps, but no longer than until `until` in ns of a run.
pub(crate) fn sleep_until(start: Instant, until: u64) {
    std::thread::sleep(Wait::from_nanos(until.saturating_sub(start.elapsed().as_nanos() as u64)));
}
