//! The path: the simulator's own network on the wall clock, between two TUN devices.
//!
//! One thread takes packets off the devices, puts them on the links of their flow, and hands them over when the links
//! say so. A packet's moments are computed from the moments that the links computed before, not from when this thread
//! woke up, so that lateness does not add up: it shows in the delivery alone, and there it is counted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use cwndlab_path::losses::Losses;
use cwndlab_path::network::{Network, Observed};
use cwndlab_path::packet::{Packet, ACK, CE, DATA, ECT, SYN};
use cwndlab_records::rows::{CalibrationRow, LinkSampleRow, SampleRow};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::Time;

use crate::calibration;
use crate::datagram::{self, mark, view};
use crate::device::Tun;
use crate::fault::Fault;
use crate::lateness::Lateness;
use crate::source::Sources;

/// Longest packet that a device hands over.
const LONGEST: usize = 65_536;
/// Packets taken off a device before the agenda is looked at again.
const BATCH: usize = 32;
/// What a probe may take beyond two round trips, ns.
const PROBING: u64 = 50_000_000;
/// Wakes up at least this often to see whether it shall stop, ns.
const PATIENCE: u64 = 20_000_000;

/// Packets in the path, by number.
#[derive(Debug, Default)]
struct Store {
    packets: Vec<(Vec<u8>, u32)>,
    free: Vec<u32>,
}

impl Store {
    fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.packets.push((Vec::with_capacity(2048), 0));
            self.packets.len() as u32 - 1
        });
        let slot = &mut self.packets[at as usize];
        slot.0.clear();
        slot.0.extend_from_slice(bytes);
        slot.1 = 1;
        at
    }

    /// One copy of it is gone.
    fn leave(&mut self, at: u32) {
        let slot = &mut self.packets[at as usize];
        slot.1 -= 1;
        if slot.1 == 0 {
            self.free.push(at);
        }
    }
}

/// What the path counted.
#[derive(Debug, Default)]
pub struct Passed {
    /// Lateness of deliveries.
    pub lateness: Lateness,
    /// Packets of no flow (neighbour discovery, stray resets).
    pub strangers: u64,
    /// Packets that the receiving kernel did not take.
    pub refused: u64,
    /// Samples of the links.
    pub samples: Vec<LinkSampleRow>,
    /// What each flow carried.
    pub traffic: Vec<Traffic>,
    /// Samples of the flows, where it takes them.
    pub flow_samples: Vec<SampleRow>,
    /// The thread had real-time priority.
    pub real_time: bool,
}

/// What the path saw of a flow: that is all there is to know of a program's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Packets that the senders' side put on the path.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Their payload.
    pub sent_payload: u64,
    /// Packets that the receivers' side put on it.
    pub answers: u64,
    /// Payload that reached the receivers' side.
    pub delivered_payload: u64,
    /// When the first packet of either side came, ns.
    pub first: Option<u64>,
    /// When the last one came.
    pub last: u64,
    /// Delays to the receivers' side, ns: number, sum, least, most, the last one.
    pub delay: (u64, u64, u64, u64, u64),
}

impl Traffic {
    fn arrived(&mut self, payload: u64, delay: u64) {
        self.delivered_payload += payload;
        let (number, sum, least, most, _) = self.delay;
        let least = if number == 0 { delay } else { least.min(delay) };
        self.delay = (number + 1, sum + delay, least, most.max(delay), delay);
    }

    fn sample(&self, time_ns: u64, flow: u32, losses: Losses) -> SampleRow {
        SampleRow {
            time_ns,
            flow,
            delivered_bytes: self.delivered_payload,
            sent_bytes: self.sent_payload,
            queue_drops: losses.queue,
            wire_losses: losses.wire,
            delay_ns: (self.delay.0 > 0).then_some(self.delay.4),
            ..SampleRow::default()
        }
    }
}

/// Data packets of each flow that queues dropped and wires lost, for whoever samples the flows.
#[derive(Debug)]
pub struct Drops {
    /// By queues.
    pub queue: Vec<AtomicU64>,
    /// By wires.
    pub wire: Vec<AtomicU64>,
}

impl Drops {
    /// None yet.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        let zeros = || (0..flows).map(|_| AtomicU64::new(0)).collect();
        Self { queue: zeros(), wire: zeros() }
    }
}

/// The path at work.
#[derive(Debug)]
pub struct Path {
    plan: Arc<Plan>,
    /// The simulator's network.
    pub network: Network,
    devices: [Tun; 2],
    store: Store,
    /// What it counted.
    pub passed: Passed,
    start: Instant,
    next_sample: u64,
    /// Samples the flows, too: nobody else does.
    samples_flows: bool,
    seed: u64,
    /// Flows over UDP that the path sends itself.
    pub sources: Sources,
    /// While it is calibrated: of each delivery its side, and when it was, ns.
    delivered: Option<Vec<(usize, u64)>>,
}

impl Path {
    /// The plan's network between two devices, the senders' and the receivers'; with `samples_flows` it samples what
    /// each flow carried.
    #[must_use]
    pub fn new(plan: Arc<Plan>, seed: u64, devices: [Tun; 2], start: Instant, samples_flows: bool) -> Self {
        let mut network = Network::new(&plan, seed);
        network.observed = Some(Observed::default());
        let interval = plan.sample_interval.0;
        let passed = Passed { traffic: vec![Traffic::default(); plan.flows.len()], ..Passed::default() };
        Self {
            plan,
            network,
            devices,
            store: Store::default(),
            passed,
            start,
            next_sample: if interval == 0 { u64::MAX } else { interval },
            samples_flows,
            seed,
            sources: Sources::none(),
            delivered: None,
        }
    }

    /// Measures the routes of the first flows with probes, then begins anew with the path at rest; answers when that
    /// was. To be called by the thread that runs it.
    pub fn calibrate(&mut self, stop: &AtomicBool, drops: &Drops) -> Result<(Vec<CalibrationRow>, Instant), Fault> {
        self.passed.real_time = ask_for_real_time();
        self.delivered = Some(Vec::new());
        let next_sample = std::mem::replace(&mut self.next_sample, u64::MAX);
        let mut rows = Vec::new();
        for flow in 0..self.plan.flows.len().min(calibration::FLOWS) as u32 {
            rows.extend(self.calibrate_flow(flow, stop, drops)?);
        }
        self.delivered = None;
        self.next_sample = next_sample;
        if !self.samples_flows {
            self.sources = Sources::of(&self.plan, self.seed);
        }
        self.network = Network::new(&self.plan, self.seed);
        self.network.observed = Some(Observed::default());
        for count in drops.queue.iter().chain(&drops.wire) {
            count.store(0, Ordering::Relaxed); // the probes' are not the flows'
        }
        self.store = Store::default();
        self.passed = Passed { traffic: vec![Traffic::default(); self.plan.flows.len()], ..Passed::default() };
        #[allow(clippy::disallowed_methods, reason = "an emulation runs on the wall clock")]
        {
            self.start = Instant::now();
        }
        Ok((rows, self.start))
    }

    fn calibrate_flow(&mut self, flow: u32, stop: &AtomicBool, drops: &Drops) -> Result<Vec<CalibrationRow>, Fault> {
        let mut rows = Vec::new();
        let patience = self.plan.flows[flow as usize].base_rtt.0 * 2 + PROBING;
        if let Some(expected) = calibration::base_rtt(&self.plan, flow) {
            let mut least = u64::MAX;
            for number in 0..calibration::ECHOES {
                let sent = self.now();
                self.enter(sent, 0, &calibration::probe(flow, true, number, calibration::ECHO));
                let back = |seen: &[(usize, u64)]| seen.iter().any(|one| one.0 == 0);
                for (_, at) in self.probed(sent + patience, stop, drops, back)?.iter().filter(|one| one.0 == 0) {
                    least = least.min(at - sent);
                }
            }
            let measured = if least == u64::MAX { f64::NAN } else { least as f64 };
            rows.push(CalibrationRow { flow, quantity: "base_rtt_ns", expected, measured });
        }
        if let Some(train) = calibration::Train::of(&self.plan, flow) {
            let (now, packet) = (self.now(), calibration::probe(flow, false, 0, train.size));
            for _ in 0..train.packets {
                self.enter(now, 0, &packet);
            }
            self.tidy(drops);
            let long = train.fit * train.size as u64 * 8_000_000_000 / train.rate;
            let all = |seen: &[(usize, u64)]| seen.len() as u64 >= train.packets;
            let seen = self.probed(now + long + patience, stop, drops, all)?;
            let arrivals: Vec<u64> = seen.iter().filter(|one| one.0 == 1).map(|one| one.1).collect();
            rows.extend(train.rows(flow, &arrivals));
        }
        Ok(rows)
    }

    /// Runs until `until`, or until what was delivered is enough, or all of it is; answers what was delivered.
    fn probed(
        &mut self,
        until: u64,
        stop: &AtomicBool,
        drops: &Drops,
        enough: impl Fn(&[(usize, u64)]) -> bool,
    ) -> Result<Vec<(usize, u64)>, Fault> {
        let mut buffer = vec![0u8; LONGEST];
        while self.now() < until && !stop.load(Ordering::Relaxed) && !self.delivered.as_deref().is_some_and(&enough) {
            self.step(&mut buffer, drops)?;
        }
        Ok(self.delivered.replace(Vec::new()).unwrap_or_default())
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Runs until `stop`.
    pub fn run(&mut self, stop: &AtomicBool, drops: &Drops) -> Result<(), Fault> {
        self.passed.real_time = ask_for_real_time();
        let mut buffer = vec![0u8; LONGEST];
        while !stop.load(Ordering::Relaxed) {
            self.step(&mut buffer, drops)?;
        }
        Ok(())
    }

    /// What is due, what came, and sleep until there is more of it.
    fn step(&mut self, buffer: &mut [u8], drops: &Drops) -> Result<(), Fault> {
        self.catch_up(self.now());
        for side in 0..2 {
            for _ in 0..BATCH {
                let Some(length) = self.devices[side].read(buffer)? else { break };
                let now = self.now();
                self.catch_up(now);
                self.enter(now, side, &buffer[..length]);
            }
        }
        self.tidy(drops);
        self.sample();
        self.wait();
        Ok(())
    }

    /// A packet from the kernel on one side.
    fn enter(&mut self, now: u64, side: usize, bytes: &[u8]) {
        let Some(seen) = view(bytes) else {
            self.passed.strangers += 1;
            return;
        };
        let (sender, receiver) = match side {
            0 => (seen.source, seen.destination),
            _ => (seen.destination, seen.source),
        };
        let Some(flow) = datagram::flow(sender, receiver, self.plan.flows.len() as u32) else {
            self.passed.strangers += 1;
            return;
        };
        if self.sources.has(flow as usize) {
            self.passed.strangers += 1;
            return;
        }
        let traffic = &mut self.passed.traffic[flow as usize];
        if side == 0 {
            traffic.sent_packets += 1;
            traffic.sent_bytes += bytes.len() as u64;
            traffic.sent_payload += u64::from(seen.payload);
        } else {
            traffic.answers += 1;
        }
        traffic.first.get_or_insert(now);
        traffic.last = now;
        let kind = match (side, seen.payload) {
            (0, 0) => SYN, // no payload on the way of the data: handshake, window updates, the last ACK
            (0, _) => DATA,
            _ => ACK,
        };
        let aux = self.store.put(bytes);
        let flags = kind | if seen.capable && seen.payload > 0 { ECT } else { 0 };
        let size = bytes.len().min(usize::from(u16::MAX)) as u16;
        let now = Time(now);
        self.network.clock = now;
        self.network
            .forward(now, Packet { stamp: now, seq: seen.sequence, flow, aux, size, flags, ..Packet::default() });
    }

    /// Everything that is due by `now`, each at its own moment.
    fn catch_up(&mut self, now: u64) {
        loop {
            let due = self.network.agenda.peek().filter(|(at, _)| at.0 <= now);
            if self.sources.next <= due.map_or(now, |(at, _)| at.0) {
                self.sources.send(&mut self.network);
                continue;
            }
            let Some((at, source)) = due else { return };
            if let Some(packet) = self.network.turn(at, source) {
                self.deliver(at.0, packet);
            }
        }
    }

    fn deliver(&mut self, at: u64, packet: Packet) {
        if self.sources.has(packet.flow()) {
            self.sources.receive(Time(at), &packet);
            return;
        }
        let slot = &mut self.store.packets[packet.aux as usize].0;
        if packet.flags & CE != 0 {
            mark(slot);
        }
        let side = usize::from(packet.is_forward());
        if side == 1 {
            let payload = view(slot).map_or(0, |seen| u64::from(seen.payload));
            self.passed.traffic[packet.flow()].arrived(payload, at - packet.stamp.0);
        }
        if !self.devices[side].write(slot) {
            self.passed.refused += 1;
        }
        self.store.leave(packet.aux);
        let done = self.now();
        if let Some(delivered) = &mut self.delivered {
            delivered.push((side, done));
        }
        let late = done.saturating_sub(at);
        self.passed.lateness.add(late);
    }

    /// What was lost or doubled on the way.
    fn tidy(&mut self, drops: &Drops) {
        let counted = self.network.settle_losses(Time(self.now()));
        let Some(observed) = &mut self.network.observed else { return };
        if !counted && observed.lost.is_empty() && observed.doubled.is_empty() {
            return;
        }
        let kept = |packet: &Packet| !self.sources.has(packet.flow());
        for packet in observed.doubled.drain(..).filter(kept) {
            self.store.packets[packet.aux as usize].1 += 1;
        }
        for packet in observed.lost.drain(..).filter(kept) {
            self.store.leave(packet.aux);
        }
        for (flow, losses) in self.network.losses.iter().enumerate() {
            drops.queue[flow].store(losses.queue, Ordering::Relaxed);
            drops.wire[flow].store(losses.wire, Ordering::Relaxed);
        }
    }

    fn sample(&mut self) {
        let now = self.now();
        while self.next_sample <= now {
            for (index, plan) in self.plan.links.iter().enumerate().filter(|(_, link)| link.sampled) {
                let row = self.network.link_snapshot(Time(now), index).row(Time(self.next_sample), index as u32, plan);
                self.passed.samples.push(row);
            }
            for flow in 0..self.plan.flows.len() as u32 {
                let losses = self.network.losses[flow as usize];
                self.passed.flow_samples.extend(self.sources.sample(self.next_sample, flow, losses));
            }
            if self.samples_flows {
                for (flow, traffic) in (0u32..).zip(&self.passed.traffic).filter(|(_, one)| one.first.is_some()) {
                    let losses = self.network.losses[flow as usize];
                    self.passed.flow_samples.push(traffic.sample(self.next_sample, flow, losses));
                }
            }
            self.next_sample += self.plan.sample_interval.0;
        }
    }

    /// Sleeps until something is due, or a packet comes.
    fn wait(&self) {
        let now = self.now();
        let next = self.network.agenda.peek().map_or(u64::MAX, |(at, _)| at.0).min(self.next_sample);
        let next = next.min(self.sources.next);
        let rest = next.saturating_sub(now).min(PATIENCE);
        if rest == 0 {
            return;
        }
        let poll = |device: &Tun| libc::pollfd { fd: device.descriptor(), events: libc::POLLIN, revents: 0 };
        let mut both = [poll(&self.devices[0]), poll(&self.devices[1])];
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: rest.cast_signed() };
        // SAFETY: two descriptors that live, and a time that does; no signal mask.
        let _ = unsafe { libc::ppoll(both.as_mut_ptr(), 2, &raw const timeout, std::ptr::null()) };
    }
}

/// Of the path's thread and of the ends' among the real-time priorities: nothing that waits for the path goes before it.
const PATH: i32 = 50;
const ENDS: i32 = 20;

/// Asks for SCHED_FIFO for the calling thread; else at least for short timer slack.
fn ask_for_real_time() -> bool {
    ask(libc::SCHED_FIFO, PATH)
}

/// Asks for SCHED_RR for an end of a flow: what it does is a host's own work, which others of this machine shall not
/// hold up.
pub(crate) fn ask_for_an_ends_priority() {
    ask(libc::SCHED_RR, ENDS);
}

fn ask(policy: i32, priority: i32) -> bool {
    let wish = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives; both calls change this thread alone.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_000);
        libc::sched_setscheduler(0, policy, &raw const wish) == 0
    }
}
