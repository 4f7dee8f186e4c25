//! The path: the network of a plan on the wall clock, between two TUN devices.
//!
//! One thread reads packets from the devices, forwards them over the links of their flow, and writes them to the other
//! device when they leave the last link. The times of a packet follow from the times that the links computed, not from
//! the times at which the thread woke up, so that lateness does not accumulate. It affects only the delivery, where it
//! is counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

use cwndlab_linux::tun::Tun;
use cwndlab_path::network::{Network, Observed};
use cwndlab_path::packet::{Packet, Tag, ACK, DATA, ECT, SYN};
use cwndlab_records::rows::CalibrationRow;
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Duration, Fault, FlowId, Time};

use crate::addresses::flow_of;
use crate::calibration;
use crate::counters::{DropCounters, PathCounters};
use crate::inbox::Inboxes;
use crate::ip::{set_ecn, Headers, CE, ECT_0, NOT_ECT};
use crate::packet_store::PacketStore;
use crate::udp_sources::UdpSources;
use crate::waiting::Waiting;

/// Maximum size of a packet that a device returns, bytes.
const MAX_PACKET: usize = 65_536;
/// Packets read from a device before the event queue is checked again.
const BATCH: usize = 32;
/// Timeout of a probe, in addition to two round trips.
const PROBE_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum sleep of the thread before it checks the stop flag.
const STOP_CHECK: Duration = Duration::from_millis(20);
/// A time after the end of every run.
const NEVER: Time = Time::from_nanos(u64::MAX);

/// The error of a run that was stopped before its end.
pub(crate) fn cancelled() -> Fault {
    Fault::new("emulate", "the run was cancelled before its end", "")
}

/// A delivery during calibration: the index of the receiving side, and the time.
type Delivery = (usize, Time);

/// The network of a plan between two devices. Index 0 is the senders' side, 1 the receivers' side.
#[derive(Debug)]
pub struct Path {
    plan: Arc<Plan>,
    /// The network, the same as in the simulator.
    pub network: Network,
    devices: [Tun; 2],
    store: PacketStore,
    /// Counters and samples.
    pub counters: PathCounters,
    start: Instant,
    /// End of the run; [`NEVER`] where programs end it. Nothing later passes, is sampled or is counted.
    end: Time,
    next_sample: Time,
    /// The path samples the flows. False where another thread reads their `TCP_INFO`.
    samples_flows: bool,
    seed: u64,
    /// Flows over UDP, whose datagrams the path generates.
    pub sources: UdpSources,
    /// The messages that wait to be sent on.
    pub(crate) inboxes: Arc<Inboxes>,
    /// Deliveries during calibration; `None` otherwise.
    delivered: Option<Vec<Delivery>>,
    waiting: Waiting,
}

/// The network of a plan without packets, which programs can end at any time. It reports lost and duplicated packets.
fn observed_network(plan: &Plan, seed: u64) -> Network {
    let mut network = Network::without_end(plan, seed);
    network.observed = Some(Observed::default());
    network
}

impl Path {
    /// Builds the plan's network between the senders' and the receivers' device. With `samples_flows` it samples the
    /// traffic of each flow, until it is stopped; otherwise it ends with the plan.
    #[must_use]
    pub fn new(plan: Arc<Plan>, seed: u64, devices: [Tun; 2], start: Instant, samples_flows: bool) -> Self {
        let interval = plan.sample_interval.as_nanos();
        Self {
            network: observed_network(&plan, seed),
            devices,
            store: PacketStore::default(),
            counters: PathCounters::new(plan.flows.len()),
            start,
            end: if samples_flows { NEVER } else { Time::ZERO + plan.duration },
            next_sample: if interval == 0 { NEVER } else { Time::from_nanos(interval) },
            samples_flows,
            seed,
            sources: UdpSources::none(),
            inboxes: Arc::default(),
            delivered: None,
            waiting: Waiting::default(),
            plan,
        }
    }

    /// Measures the routes of the first flows with probes, then restarts with an empty path. Returns the measurements
    /// and the time of the restart. Must be called by the thread that runs the path.
    ///
    /// # Errors
    ///
    /// A device that fails, or `stop` before the end of the measurements.
    pub fn calibrate(
        &mut self,
        stop: &AtomicBool,
        drops: &DropCounters,
    ) -> Result<(Vec<CalibrationRow>, Instant), Fault> {
        self.begin_waiting();
        self.delivered = Some(Vec::new());
        let next_sample = std::mem::replace(&mut self.next_sample, NEVER);
        let end = std::mem::replace(&mut self.end, NEVER);
        let mut rows = Vec::new();
        for flow in self.plan.flows.ids().take(calibration::MEASURED_FLOWS) {
            rows.extend(self.measure_base_rtt(flow, stop, drops)?);
            rows.extend(self.measure_train(flow, stop, drops)?);
        }
        self.delivered = None;
        (self.next_sample, self.end) = (next_sample, end);
        self.network = observed_network(&self.plan, self.seed);
        if !self.samples_flows {
            self.sources = UdpSources::from_plan(&self.plan, self.seed, &mut self.network);
        }
        drops.reset(); // drops of probes are not part of the run
        self.store = PacketStore::default();
        self.counters = PathCounters::new(self.plan.flows.len());
        #[allow(clippy::disallowed_methods, reason = "an emulation runs on the wall clock")]
        {
            self.start = Instant::now();
        }
        Ok((rows, self.start))
    }

    /// The timeout of a flow's probe.
    fn probe_timeout(&self, flow: FlowId) -> Duration {
        self.plan.flows[flow].base_rtt * 2 + PROBE_TIMEOUT
    }

    fn measure_base_rtt(
        &mut self,
        flow: FlowId,
        stop: &AtomicBool,
        drops: &DropCounters,
    ) -> Result<Option<CalibrationRow>, Fault> {
        let Some(expected) = calibration::base_rtt(&self.plan, flow) else { return Ok(None) };
        let mut min = None;
        for number in 0..calibration::ECHOES {
            let sent = self.now();
            self.receive(sent, 0, &calibration::probe(flow, true, number, calibration::ECHO_SIZE));
            let until = sent + self.probe_timeout(flow);
            let has_returned = |deliveries: &[Delivery]| deliveries.iter().any(|one| one.0 == 0);
            for (_, at) in self.run_probe(until, stop, drops, has_returned)?.iter().filter(|one| one.0 == 0) {
                min = Some(min.map_or(*at - sent, |min: Duration| min.min(*at - sent)));
            }
        }
        let measured = min.map_or(f64::NAN, |min| min.as_nanos() as f64);
        Ok(Some(CalibrationRow { flow: flow.into(), quantity: "base_rtt_ns", expected, measured }))
    }

    fn measure_train(
        &mut self,
        flow: FlowId,
        stop: &AtomicBool,
        drops: &DropCounters,
    ) -> Result<Vec<CalibrationRow>, Fault> {
        let Some(train) = calibration::Train::for_flow(&self.plan, flow) else { return Ok(Vec::new()) };
        let now = self.now();
        let packet = calibration::probe(flow, false, 0, train.size);
        for _ in 0..train.packets {
            self.receive(now, 0, &packet);
        }
        self.record_losses(now, drops);
        let duration = Duration::from_nanos(train.expected_arrivals * train.size as u64 * 8_000_000_000 / train.rate);
        let is_complete = |deliveries: &[Delivery]| deliveries.len() as u64 >= train.packets;
        let deliveries = self.run_probe(now + duration + self.probe_timeout(flow), stop, drops, is_complete)?;
        let arrivals: Vec<u64> = deliveries.iter().filter(|one| one.0 == 1).map(|one| one.1.as_nanos()).collect();
        Ok(train.rows(flow, &arrivals))
    }

    /// Runs until `until` or until the deliveries are complete, and returns the deliveries.
    fn run_probe(
        &mut self,
        until: Time,
        stop: &AtomicBool,
        drops: &DropCounters,
        is_complete: impl Fn(&[Delivery]) -> bool,
    ) -> Result<Vec<Delivery>, Fault> {
        let mut buffer = vec![0u8; MAX_PACKET];
        let is_done = |path: &Self| path.delivered.as_deref().is_some_and(&is_complete);
        while self.now() < until && !is_done(self) {
            if stop.load(Ordering::Relaxed) {
                return Err(cancelled());
            }
            self.step(&mut buffer, drops)?;
        }
        Ok(self.delivered.replace(Vec::new()).unwrap_or_default())
    }

    /// Gives the calling thread the priority of the path's thread.
    fn begin_waiting(&mut self) {
        self.waiting = Waiting::begin();
        self.counters.real_time = self.waiting.is_real_time();
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// Runs until `stop`, and at least until the end of the run if that has come.
    pub fn run(&mut self, stop: &AtomicBool, drops: &DropCounters) -> Result<(), Fault> {
        self.begin_waiting();
        let mut buffer = vec![0u8; MAX_PACKET];
        while !stop.load(Ordering::Relaxed) {
            self.step(&mut buffer, drops)?;
        }
        self.advance(drops);
        Ok(())
    }

    /// Processes events and packets that are due, then sleeps until the next.
    fn step(&mut self, buffer: &mut [u8], drops: &DropCounters) -> Result<(), Fault> {
        self.advance_to(self.now(), drops);
        for side in 0..2 {
            for _ in 0..BATCH {
                let Some(length) = self.devices[side].read(buffer)? else { break };
                let now = self.now();
                self.advance_to(now, drops);
                if now <= self.end {
                    self.receive(now, side, &buffer[..length]);
                }
            }
        }
        self.advance(drops);
        self.wait();
        Ok(())
    }

    /// Processes all events and samples that are due, and publishes the drop counters.
    fn advance(&mut self, drops: &DropCounters) {
        let now = self.now();
        self.advance_to(now, drops);
        self.record_losses(now, drops);
    }

    /// The flow of a packet from `side`; `None` if the packet belongs to no flow, or to a flow over UDP, whose packets
    /// are not the kernel's.
    fn flow_of(&self, side: usize, headers: &Headers) -> Option<FlowId> {
        let (sender, receiver) = match side {
            0 => (headers.source, headers.destination),
            _ => (headers.destination, headers.source),
        };
        flow_of(sender, receiver, self.plan.flows.len() as u32).filter(|&flow| !self.sources.has(flow.into()))
    }

    /// Puts a packet from the kernel of `side` on the first link of its flow.
    fn receive(&mut self, now: Time, side: usize, bytes: &[u8]) {
        let headers = Headers::parse(bytes);
        let Some((headers, flow)) = headers.and_then(|headers| Some((headers, self.flow_of(side, &headers)?))) else {
            self.counters.unmatched += 1;
            return;
        };
        let traffic = &mut self.counters.traffic[flow];
        if side == 0 {
            traffic.on_sent(bytes.len() as u64, u64::from(headers.payload));
        } else {
            traffic.reverse_packets += 1;
        }
        traffic.first.get_or_insert(now);
        traffic.last = now;
        let kind = match (side, headers.payload) {
            (0, 0) => SYN, // no payload in the direction of data: handshake, window update or final ACK
            (0, _) => DATA,
            _ => ACK,
        };
        let flags = kind | if headers.ecn_capable && headers.payload > 0 { ECT } else { 0 };
        let size = bytes.len().min(usize::from(u16::MAX)) as u16;
        self.network.clock = now;
        let mut packet = Packet::new(flags, Tag::new(flow.into(), 0), now, size).with_stored(self.store.insert(bytes));
        packet.seq = headers.sequence;
        self.network.forward(now, packet);
    }

    /// Processes all events and samples that are due by `now` or the end of the run, each at its own time.
    fn advance_to(&mut self, now: Time, drops: &DropCounters) {
        let now = now.min(self.end);
        while self.next_sample <= now {
            self.process_until(self.next_sample);
            self.record_losses(self.next_sample, drops);
            self.sample();
        }
        self.process_until(now);
    }

    /// Processes all events that are due by `now`.
    fn process_until(&mut self, now: Time) {
        loop {
            let at = self.network.next_event();
            if self.sources.next <= at.min(now) {
                self.sources.send(&mut self.network);
                continue;
            }
            if at > now {
                return;
            }
            if let Some(packet) = self.network.process_next_event(at) {
                self.deliver(at, packet);
            }
        }
    }

    /// Delivers a packet that left its last link at `at` to the kernel of the other side.
    fn deliver(&mut self, at: Time, packet: Packet) {
        if self.sources.has(packet.connection()) {
            self.sources.receive(at, &packet, &mut self.network, &self.inboxes);
            return;
        }
        self.record_copies();
        let bytes = match changed_ecn(packet, self.store.bytes(packet.stored())) {
            Some(codepoint) => self.store.changed(packet.stored(), |bytes| set_ecn(bytes, codepoint)),
            None => self.store.bytes(packet.stored()),
        };
        let side = usize::from(packet.is_forward());
        if side == 1 {
            let payload = Headers::parse(bytes).map_or(0, |headers| u64::from(headers.payload));
            self.counters.traffic[self.network.owner(packet.connection())].on_delivered(payload, at - packet.timestamp);
        }
        if !self.devices[side].write(bytes) {
            self.counters.refused += 1;
        }
        self.store.remove_copy(packet.stored());
        let done = self.now();
        if let Some(delivered) = &mut self.delivered {
            delivered.push((side, done));
        }
        self.counters.lateness.add(done.as_nanos().saturating_sub(at.as_nanos()));
    }

    /// Updates the packet store for duplicated packets. Must precede the removal of any copy: a packet and its copy may
    /// be duplicated and delivered in one call of [`Self::advance_to`].
    fn record_copies(&mut self) {
        let Some(observed) = &mut self.network.observed else { return };
        for packet in observed.duplicated.drain(..).filter(|packet| !self.sources.has(packet.connection())) {
            self.store.add_copy(packet.stored());
        }
    }

    /// Updates the packet store for lost and duplicated packets, and publishes the drop counters of `now`.
    fn record_losses(&mut self, now: Time, drops: &DropCounters) {
        self.record_copies();
        let counted = self.network.count_losses_until(now.min(self.end));
        let Some(observed) = &mut self.network.observed else { return };
        if !counted && observed.lost.is_empty() {
            return;
        }
        for packet in observed.lost.drain(..).filter(|packet| !self.sources.has(packet.connection())) {
            self.store.remove_copy(packet.stored());
        }
        drops.set(&self.network.losses);
    }

    /// Samples links and flows, whose events until then are processed.
    fn sample(&mut self) {
        let now = self.next_sample;
        for (link, plan) in self.plan.links.enumerate().filter(|(_, plan)| plan.sampled) {
            let row = self.network.link_snapshot(now, link, plan).row(now, link);
            self.counters.link_samples.push(row);
        }
        for flow in self.plan.flows.ids() {
            let losses = self.network.losses[flow.into()];
            self.counters.flow_samples.extend(self.sources.sample(now, flow, losses));
        }
        if self.samples_flows {
            for (flow, traffic) in self.counters.traffic.enumerate().filter(|(_, one)| one.first.is_some()) {
                let losses = self.network.losses[flow.into()];
                self.counters.flow_samples.push(traffic.sample(now, flow, losses));
            }
        }
        self.next_sample += self.plan.sample_interval;
    }

    /// Waits until an event is due or a packet arrives.
    fn wait(&mut self) {
        let next = self.network.next_event().min(self.next_sample).min(self.sources.next);
        let next = if next > self.end { NEVER } else { next };
        let descriptors = [self.devices[0].descriptor(), self.devices[1].descriptor()];
        let start = self.start;
        self.waiting.wait(next, STOP_CHECK, descriptors, || Time::from_nanos(start.elapsed().as_nanos() as u64));
    }
}

/// The ECN field with which a packet leaves the path, where queues or links have changed that of `bytes`.
fn changed_ecn(packet: Packet, bytes: &[u8]) -> Option<u8> {
    if packet.is_marked() {
        return Some(CE);
    }
    if packet.is_ecn_capable() {
        return packet.has_other_ect().then_some(ECT_0);
    }
    // Segments without a payload cross the path as packets without ECN, whatever their field is.
    Headers::parse(bytes).is_some_and(|headers| headers.ecn_capable && headers.payload > 0).then_some(NOT_ECT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_algorithms::catalogue;
    use cwndlab_scenario::Scenario;
    use serde_json::json;

    /// RFC 3168, section 5: the codepoints of a segment of 20 bytes that entered with ECT(1) or ECT(0), and left the path
    /// cleared, unchanged, with the other ECT, or marked.
    #[test]
    fn a_packet_leaves_with_the_ecn_field_that_the_path_gave_it() {
        let flags = [0, ECT, CE_ALONE, ECT | CE_ALONE];
        for (entered, left) in
            [(1, [Some(NOT_ECT), None, Some(ECT_0), Some(CE)]), (0, [None, None, Some(ECT_0), Some(CE)])]
        {
            let mut bytes = vec![0x45, entered, 0, 60, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 101, 0, 1, 10, 102, 0, 1];
            bytes.extend([0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
            bytes.extend([7; 20]);
            for (flags, codepoint) in flags.into_iter().zip(left) {
                let packet = Packet::new(DATA | flags, Tag::default(), Time::ZERO, 60);
                assert_eq!(changed_ecn(packet, &bytes), codepoint, "{flags}");
            }
        }
    }

    /// CE of a packet of the path, which with ECT is a mark.
    const CE_ALONE: u8 = 16;

    /// By hand: 10 packets of 1000 bytes reach the bottleneck after 5 ms, leave it every 8 µs and are on its wire for 30 ms;
    /// the link behind it takes 5 ms. After 35.05 ms, six have reached that link.
    #[test]
    fn links_behind_the_bottleneck_count_no_packet_that_has_not_reached_them() {
        let document = json!({
            "schema_version": 1, "duration": "60 s",
            "dumbbell": { "bottleneck": { "rate": "1 Gbps", "delay": "30 ms" } },
            "flow": [{ "algorithm": "cubic", "rtt": "80 ms" }],
        });
        let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
        let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
        for (end, behind) in [(20_000_000, 0), (35_050_000, 6), (38_000_000, 10)] {
            let end = Time::from_nanos(end);
            let mut network = observed_network(&plan, 1);
            for _ in 0..10 {
                network.forward(Time::ZERO, Packet::new(DATA, Tag::default(), Time::ZERO, 1000));
            }
            while network.next_event() <= end {
                assert!(network.process_next_event(network.next_event()).is_none(), "no packet has arrived");
            }
            network.stop(end);
            let arrived: Vec<u64> = network.link_rows(&plan, end).iter().map(|link| link.arrived_packets).collect();
            assert_eq!(arrived, [10, 0, 10, behind, 0, 0]);
            assert_eq!(network.check_counters(&plan, end), []);
        }
    }
}
