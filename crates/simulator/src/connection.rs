//! A connection: sender, receiver and application.

use cwndlab_control::{Algorithm, CongestionControl, Path, Saved, Value};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_network::router_assist::{Header, Scheme};
use cwndlab_records::rows::TransferRow;
use cwndlab_records::stall::{SenderProgress, StallWatch};
use cwndlab_scenario::plan::{Ecn, FlowPlan, Pacing};
use cwndlab_traffic::action::Action;
use cwndlab_traffic::byte_source::{ByteSource, Drained, Transfer};
use cwndlab_traffic::datagrams::DatagramCounters;
use cwndlab_traffic::message_log::MessageLog;
use cwndlab_traffic::NEVER;
use cwndlab_transport::delayed_control::DelayedControl;
use cwndlab_transport::receiver::Receiver;
use cwndlab_transport::recovery::uses_sack;
use cwndlab_transport::sender::{Sender, ENDLESS};
use cwndlab_transport::wire::{AckPacket, PlainAck};
use cwndlab_units::{Bytes, ConnectionId, Duration, FlowId, IndexVec, Time};

use crate::dialogue::Direction;
use crate::end_samples::{SampleCounters, Samples};
use crate::no_control::NoControl;
use crate::packet_sink::{feedback, AnswerSink, PacketSink, WireFormat};
use crate::syn_answers::SynAnswers;
use crate::totals::Totals;
use crate::udp::Udp;
use cwndlab_path::lifetimes::Lifetime;
use cwndlab_path::network::Network;
use cwndlab_path::packet::{Packet, Tag, ACK, DATA, SYN, SYN_ACK};
use cwndlab_path::packet_options::{AckOptions, ReturnedHeader, SegmentOptions};
use cwndlab_path::timers::{PACE, RECEIVER, SENDER, TIMERS};

/// The plans of all flows.
type Plans = IndexVec<FlowId, FlowPlan>;

/// The number of a connection for datagrams, which no packet carries.
const NO_NUMBER: u32 = 256;

/// A connection. Fields are in the order of use: with hundreds of connections the connection is not in the cache when a
/// packet arrives, and the cost is the number of cache lines used.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Connection {
    /// The time of each timer's entry on the agenda; `NEVER` without one.
    pub(crate) armed: [Time; TIMERS],
    /// Time of the next action of the application.
    pub(crate) application: Time,
    /// Its identity.
    pub(crate) id: ConnectionId,
    /// The flow of the plan to which it belongs.
    pub(crate) owner: FlowId,
    /// Its number, which distinguishes its packets from those of its predecessors.
    number: u32,
    /// The segment number after the current transfer if all segments are full, or 0 if any delivery may complete a message.
    transfer_end: u64,
    format: WireFormat,
    /// Its application spans several connections and is run by the simulation.
    pub(crate) shared_application: bool,
    /// The receiver.
    pub(crate) receiver: Receiver,
    /// Samples taken ahead of the clock.
    pub(crate) samples: Samples,
    /// The sender.
    pub(crate) sender: Sender,
    /// Its start time.
    pub(crate) start: Time,
    /// Its completion time.
    pub(crate) end: Option<Time>,
    /// Completed transfers.
    pub(crate) transfers: Vec<TransferRow>,
    source: ByteSource,
    /// Totals of its predecessors, if any.
    predecessors: Option<Box<Totals>>,
    /// The application of a UDP flow.
    pub(crate) udp: Option<Udp>,
    /// The messages of a dialogue, for a flow with a service level.
    pub(crate) messages: Option<Box<MessageLog>>,
    /// Its direction of a dialogue.
    pub(crate) dialogue: Option<Box<Direction>>,
    /// The handshake at the receiver.
    answers: SynAnswers,
}

/// The algorithm's request to routers: the scheme, and the rate in bit/s.
fn router_request(algorithm: &Algorithm) -> Option<(Scheme, f64)> {
    let (name, part) = algorithm.router_assistance()?;
    let scheme = Scheme::from_name(name)?;
    let parameter = |name: &str| {
        part.arguments.pairs().find_map(|(parameter, value)| match value {
            Value::Number(number) if parameter == name => Some(number),
            _ => None,
        })
    };
    Some((scheme, scheme.requested_rate(&parameter)))
}

fn build_control(plan: &FlowPlan, seed: u64, id: ConnectionId, saved: Option<Saved>) -> Box<dyn CongestionControl> {
    let stack = &plan.stack;
    let Some(algorithm) = &plan.algorithm else { return Box::new(NoControl(stack.mss)) };
    let path = Path {
        mss: stack.mss,
        initial_cwnd: stack.mss * u64::from(stack.initial_window),
        initial_ssthresh: stack.initial_ssthresh.map(|segments| stack.mss * u64::from(segments)),
        paced: stack.pacing == Pacing::Always,
        seed: Stream::new(seed, Purpose::Algorithm, id.into()).bits(),
        classic_ecn: stack.ecn == Ecn::Classic,
        oracle_buffer: plan.oracle_buffer,
        saved,
    };
    let control = match &plan.constructor {
        Some(constructor) => constructor.construct(&path),
        None => algorithm.build(&path),
    };
    match plan.control_delay {
        Some(control_delay) => Box::new(DelayedControl::new(control, control_delay.delay, control_delay.interval)),
        None => control,
    }
}

fn new_sender(plan: &FlowPlan, seed: u64, id: ConnectionId, saved: Option<Saved>) -> Sender {
    let sender = Sender::new(build_control(plan, seed, id, saved), plan.recovery, &plan.stack);
    let Some(algorithm) = &plan.algorithm else { return sender };
    let sender = sender.with_requirements(algorithm);
    if plan.constructor.is_some() {
        sender.reporting_sent()
    } else {
        sender
    }
}

fn new_receiver(plan: &FlowPlan) -> Receiver {
    Receiver::new(&plan.stack, plan.stack.sack && uses_sack(plan.recovery))
}

/// The packet sink of a connection. A macro, because sender or receiver are borrowed at the same time.
macro_rules! sink {
    ($connection:expr, $network:expr, $now:expr) => {
        PacketSink {
            network: $network,
            now: $now,
            format: &$connection.format,
            srtt: $connection.format.request.map_or(Duration::ZERO, |_| $connection.sender.rtt().srtt()),
        }
    };
}

mod handshake;
mod prefetch;

impl Connection {
    /// The first connection of a flow, before its start.
    #[must_use]
    pub(crate) fn new(plan: &FlowPlan, flow: FlowId, lifetime: Lifetime, seed: u64, saved: Option<Saved>) -> Self {
        Self::of_flow(plan, flow.into(), flow, lifetime, seed, saved)
    }

    fn of_flow(
        plan: &FlowPlan,
        id: ConnectionId,
        owner: FlowId,
        Lifetime { start, stop }: Lifetime,
        seed: u64,
        saved: Option<Saved>,
    ) -> Self {
        Self {
            armed: [NEVER; TIMERS],
            application: start,
            id,
            owner,
            number: 0,
            transfer_end: u64::MAX,
            format: WireFormat::new(
                id,
                &plan.stack,
                plan.algorithm.as_ref().and_then(|algorithm| router_request(algorithm)),
            ),
            shared_application: false,
            receiver: new_receiver(plan),
            samples: Samples::new(),
            sender: new_sender(plan, seed, id, saved),
            start,
            end: None,
            transfers: Vec::new(),
            source: ByteSource::idle(stop),
            predecessors: None,
            udp: None,
            messages: None,
            dialogue: None,
            answers: SynAnswers::new(plan),
        }
    }

    /// A secondary connection of the flow `owner`, without an application.
    #[must_use]
    pub(crate) fn secondary(plan: &FlowPlan, id: ConnectionId, owner: FlowId, seed: u64) -> Self {
        let mut connection = Self::of_flow(plan, id, owner, Lifetime { start: Time::ZERO, stop: NEVER }, seed, None);
        connection.shared_application = true;
        connection.application = NEVER;
        connection
    }

    /// Delivers a packet to the sender or the receiver. `plans` are the plans of all flows.
    #[allow(clippy::inline_always)] // it only selects the endpoint
    #[inline(always)]
    pub(crate) fn deliver(&mut self, now: Time, packet: &Packet, network: &mut Network, plans: &Plans) {
        let current = packet.tag().number() == self.number;
        match packet.kind() {
            DATA if current => self.deliver_data(now, packet, network, plans),
            ACK => self.deliver_ack(now, packet, network, current),
            _ => self.deliver_slow_path(now, packet, network, plans),
        }
    }

    /// Delivers a packet of the handshake, a datagram, or a packet of an earlier connection.
    #[cold]
    fn deliver_slow_path(&mut self, now: Time, packet: &Packet, network: &mut Network, plans: &Plans) {
        let current = packet.tag().number() == self.number;
        match packet.kind() {
            SYN if current => self.deliver_syn(now, packet, network, &plans[self.owner]),
            SYN_ACK if current => self.deliver_syn_ack(now, packet, network, &plans[self.owner]),
            _ if packet.options().is_some() => network.options.free(*packet),
            DATA if self.udp.as_mut().is_some_and(|udp| udp.receive(now, packet)) => self.application = now,
            _ => {}
        }
    }

    #[inline(never)]
    fn deliver_data(&mut self, now: Time, packet: &Packet, network: &mut Network, plans: &Plans) {
        let mut data = packet.to_data(self.receiver.expected());
        if let Some(index) = packet.options() {
            let request = self.take_request(network, index);
            (data.len, data.feedback) = (request.len, feedback(&request, &plans[self.owner]));
        }
        // ACKs do not tell the RTT.
        let mut sink = PacketSink { network, now, format: &self.format, srtt: Duration::ZERO };
        self.receiver.on_data(now, data, packet.is_marked(), &mut sink);
        if self.receiver.expected() >= self.transfer_end {
            self.on_delivered(now, data.seq, data.len);
        }
    }

    #[inline(never)]
    fn deliver_ack(&mut self, now: Time, packet: &Packet, network: &mut Network, current: bool) {
        let plain = packet.to_plain_ack(self.sender.una(), self.format.window_shift);
        match packet.options() {
            None if !current => return,
            None => self.sender.on_plain_ack(now, plain, &mut sink!(self, network, now)),
            Some(index) => {
                let ack = self.take_options(network, index, plain);
                if !current {
                    return;
                }
                self.sender.on_ack(now, &ack, &mut sink!(self, network, now));
            }
        }
        if self.sender.is_drained() {
            self.on_drained(now);
        }
        if self.samples.values.is_some() {
            self.record_values(now);
        }
    }

    /// Records the named values of the sender after an event.
    #[cold]
    fn record_values(&mut self, now: Time) {
        if let Some(values) = &mut self.samples.values {
            values.take(now, &self.sender);
        }
    }

    /// The ACK with its options.
    fn take_options(&mut self, network: &mut Network, index: u32, plain: PlainAck) -> AckPacket {
        let options = network.options.take_ack(index);
        if let Some(header) = options.header {
            if let Some(Header { shares, .. }) = network.options.take_segment(header).header {
                network.options.returned.entry(self.id).or_insert(ReturnedHeader { shares, echo: None }).shares =
                    shares;
            }
        }
        let AckOptions { part, window, ce_count, accecn, blocks, feedback, .. } = options;
        AckPacket { part, window: Bytes(window), ce_count, accecn, blocks, feedback, ..plain.into() }
    }

    /// Removes and returns the options of a segment that reached the receiver.
    #[cold]
    fn take_request(&mut self, network: &mut Network, index: u32) -> SegmentOptions {
        let request = network.options.take_segment(index);
        if let Some(header) = request.header.filter(|header| header.scheme.is_returned()) {
            let first = ReturnedHeader { shares: Header::new(header.scheme, 0.0, Duration::ZERO).shares, echo: None };
            network.options.returned.entry(self.id).or_insert(first).echo = Some(header);
        }
        request
    }

    /// Handles a timer that is due.
    pub(crate) fn on_timer(&mut self, which: usize, now: Time, network: &mut Network, plan: &FlowPlan, seed: u64) {
        let mut sink = sink!(self, network, now);
        match which {
            SENDER => self.sender.on_timer(now, &mut sink),
            PACE => self.sender.on_pace(now, &mut sink),
            RECEIVER => self.receiver.on_timer(now, &mut sink),
            _ if self.udp.is_some() => self.send_datagrams(now, network),
            _ => self.run_source(now, network, plan, seed),
        }
        if self.sender.is_closed() && !self.source.is_done() {
            self.finish(now);
        }
        if self.samples.values.is_some() {
            self.record_values(now);
        }
    }

    /// The expiry of each timer.
    #[inline]
    #[must_use]
    pub(crate) fn due(&self) -> [Time; TIMERS] {
        [self.sender.timer(), self.sender.pace_timer(), self.receiver.timer(), self.application]
    }

    /// Time until which only packets change the receiver, and no sample of it is due.
    #[inline]
    pub(crate) fn receiver_free_until(&self) -> Time {
        self.receiver.timer().min(self.samples.receiver.next)
    }

    /// Time until which only packets change the sender, and no sample of it is due.
    #[inline]
    pub(crate) fn sender_free_until(&self) -> Time {
        let timer = self.sender.timer().min(self.sender.pace_timer()).min(self.application);
        timer.min(self.samples.sender.next)
    }

    /// Runs an application that only writes, whose timer is due.
    pub(crate) fn run_source(&mut self, now: Time, network: &mut Network, plan: &FlowPlan, seed: u64) {
        let (action, next) = self.source.on_timer(now);
        self.application = next;
        match action {
            Action::Open(bytes) => {
                let mut sink = sink!(self, network, now);
                self.sender.open(now, &mut sink);
                self.write(bytes, now, network, plan);
            }
            Action::Reopen(bytes) => {
                self.renew(plan, seed, self.saved(now));
                let mut sink = sink!(self, network, now);
                self.sender.open(now, &mut sink);
                self.write(bytes, now, network, plan);
            }
            Action::Write(bytes) => self.write(bytes, now, network, plan),
            Action::Supply(bytes) => self.supply(bytes, now, network),
            Action::Pause => self.sender.stop(),
            Action::Stop => {
                self.sender.stop();
                if self.sender.is_drained() {
                    self.finish(now);
                }
            }
            Action::Nothing => {}
        }
    }

    /// Writes the bytes of a transfer, or an endless supply.
    fn write(&mut self, bytes: Option<Bytes>, now: Time, network: &mut Network, plan: &FlowPlan) {
        if let Some(bytes) = bytes.filter(|bytes| bytes.0 > 0) {
            self.transfer_end = self.sender.next_segment() + bytes.0.div_ceil(plan.stack.mss.0);
            // A receiver that conceals losses does not have all data.
            let more = if plan.stack.conceal_losses { Bytes::ZERO } else { bytes };
            self.source.awaited = self.receiver.delivered() + more;
        }
        self.supply(bytes.unwrap_or(ENDLESS), now, network);
    }

    /// Sends the datagrams that are due.
    #[cold]
    fn send_datagrams(&mut self, now: Time, network: &mut Network) {
        let Some(datagrams) = self.udp.as_mut().and_then(Udp::datagrams) else { return };
        if now >= self.source.stop {
            self.finish(now);
            return;
        }
        let tag = Tag::new(self.id, 0);
        let next = datagrams.send(now, |one| network.forward(now, Packet::datagram(tag, now, &one)));
        self.application = next.min(self.source.stop);
    }

    /// Handles a delivery from `transfer_end` on, or in a dialogue the arrival of the segment `seq` of `len` bytes.
    #[cold]
    fn on_delivered(&mut self, now: Time, seq: u64, len: u32) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.messages.on_sent(self.sender.unsent());
            let (expected, delivered) = (self.receiver.expected(), self.receiver.delivered());
            let readable = if seq > expected && dialogue.messages.has_streams() {
                let from = delivered + self.sender.payload(expected, seq);
                dialogue.messages.on_arrived(from, from + Bytes(u64::from(len)))
            } else {
                dialogue.messages.on_delivered(delivered)
            };
            if readable {
                self.application = now;
            }
            return;
        }
        if self.receiver.delivered() < self.source.awaited {
            return; // segments smaller than the MSS are more
        }
        let Transfer { number, start, bytes } = self.source.complete_transfer();
        let (flow, start_ns, end_ns) = (self.owner.into(), start.as_nanos(), now.as_nanos());
        self.transfers.push(TransferRow { flow, transfer: number, start_ns, end_ns, size_bytes: bytes.0 });
        self.transfer_end = u64::MAX;
    }

    /// The transfer of an application that only writes, if the receiver does not have it in full.
    pub(crate) fn open_transfer(&self) -> Option<Transfer> {
        (self.dialogue.is_none() && self.transfer_end != u64::MAX).then(|| self.source.transfer())
    }

    /// Handles the acknowledgement of all data of the application.
    fn on_drained(&mut self, now: Time) {
        match self.source.on_drained(now) {
            Drained::Done => self.finish(now),
            Drained::Wait(next) => self.application = next,
            Drained::Nothing => {}
        }
    }

    /// Completes the connection. A connection of the workload "arrivals" is released immediately by its application
    /// timer.
    pub(crate) fn finish(&mut self, now: Time) {
        self.source.finish();
        self.end.get_or_insert(now);
        let released = self.id != self.owner.into() && self.shared_application && self.dialogue.is_none();
        self.application = if released { now } else { NEVER };
    }

    /// Stop time of its application.
    pub(crate) fn stop_at(&self) -> Time {
        self.source.stop
    }

    /// Sets an application that only writes.
    pub(crate) fn set_source(&mut self, source: ByteSource) {
        self.source = source;
    }

    /// Sets an application over UDP.
    pub(crate) fn set_udp(&mut self, application: Udp) {
        self.shared_application = matches!(application, Udp::Exchange(_));
        self.udp = Some(application);
        self.number = NO_NUMBER;
    }

    /// The counters of datagrams from the flow's sender to its receiver; `None` for a connection over TCP.
    pub(crate) fn datagram_counters(&self) -> Option<&DatagramCounters> {
        self.udp.as_ref().and_then(Udp::counters)
    }

    /// Makes it a direction of a dialogue, in which each delivery may complete a message.
    pub(crate) fn set_dialogue(&mut self, dialogue: Direction, nagle: bool) {
        self.dialogue = Some(Box::new(dialogue));
        self.shared_application = true;
        self.sender.set_nagle(nagle);
        self.transfer_end = 0;
    }

    /// Assigns it a transfer of this size.
    pub(crate) fn assign(&mut self, bytes: Bytes, number: u64, now: Time) {
        self.source.assign(number, bytes);
        (self.start, self.application, self.end) = (now, now, None);
    }

    /// Releases it: it ignores packets that are still in transit, and sends nothing.
    pub(crate) fn release(&mut self, plan: &FlowPlan, seed: u64) {
        self.renew(plan, seed, None);
        self.application = NEVER;
    }

    /// Moves its totals and transfers to another connection.
    pub(crate) fn move_totals(&mut self, to: &mut Self) {
        to.predecessors.get_or_insert_default().add(&self.totals());
        to.transfers.append(&mut self.transfers);
        self.predecessors = None;
        self.sender.reset_totals();
        self.receiver.reset_totals();
    }

    /// Writes data of the application.
    pub(crate) fn supply(&mut self, bytes: Bytes, now: Time, network: &mut Network) {
        let mut sink = sink!(self, network, now);
        self.sender.supply(bytes, now, &mut sink);
    }

    /// Writes data of an application that answers: its segments carry the ACKs of the connection in the other direction.
    pub(crate) fn supply_answer(&mut self, other: &mut Self, bytes: Bytes, now: Time, network: &mut Network) {
        let rtt = self.sender.rtt().estimate();
        let sink = sink!(self, network, now);
        let mut sink = AnswerSink { sink, receiver: &mut other.receiver, acks: &other.format, rtt };
        self.sender.supply(bytes, now, &mut sink);
    }

    /// What the connection leaves to the next one: an observation at the end of its last transfer, or at `now` without one.
    pub(crate) fn saved(&self, now: Time) -> Option<Saved> {
        let state = self.sender.state();
        let (rate, rtt) = state.delivery_rate.zip(state.min_rtt)?;
        let at = self.transfers.last().map_or(now, |last| Time::from_nanos(last.end_ns));
        Some(Saved { at, cwnd: rate.bytes_in(rtt), rtt })
    }

    /// Replaces a completed connection by a new one.
    pub(crate) fn renew(&mut self, plan: &FlowPlan, seed: u64, saved: Option<Saved>) {
        self.predecessors = Some(Box::new(self.totals()));
        self.answers = SynAnswers::new(plan);
        self.number = (self.number + 1) & 0xff;
        self.format.set_number(self.number);
        let nagle = self.sender.nagle();
        self.sender = new_sender(plan, seed, self.id, saved);
        self.sender.set_nagle(nagle);
        self.receiver = new_receiver(plan);
    }

    /// Its totals, including those of its predecessors.
    #[must_use]
    pub(crate) fn totals(&self) -> Totals {
        let rtt = self.sender.rtt();
        let (rtt_sum, rtt_count) = rtt.totals();
        let mut totals = Totals {
            counters: *self.sender.counters(),
            delivered: self.receiver.delivered().0,
            acks_sent: self.receiver.acks_sent(),
            rtt_sum,
            rtt_count,
            min_rtt: rtt.min_ever().as_nanos(),
        };
        if let Some(predecessors) = &self.predecessors {
            totals.add(predecessors);
        }
        if let Some(datagrams) = self.datagram_counters() {
            (totals.counters.sent_packets, totals.counters.sent_bytes) =
                (datagrams.sent_packets, datagrams.sent_bytes.0);
            totals.delivered = datagrams.received_bytes.0;
        }
        totals
    }

    /// The counters of a sample and the payload delivered, from those of the current sender and receiver.
    #[inline]
    pub(crate) fn counts(&self, mut counts: SampleCounters, delivered: Bytes) -> (SampleCounters, u64) {
        if let Some(datagrams) = self.datagram_counters() {
            counts.sender.sent_bytes = datagrams.sent_bytes.0;
            return (counts, datagrams.received_bytes.0);
        }
        let Some(predecessors) = &self.predecessors else { return (counts, delivered.0) };
        let Totals { counters, rtt_sum, rtt_count, .. } = **predecessors;
        counts.add(&SampleCounters { sender: counters, rtt_sum, rtt_count });
        (counts, delivered.0 + predecessors.delivered)
    }

    /// Passes the state of the sender at `now` to its watch. `lost_packets`: its data packets that the path lost.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        progress: SenderProgress,
        lost_packets: u64,
        plan: &FlowPlan,
        run: Duration,
    ) {
        let progress = SenderProgress { connection: u64::from(self.number), lost_packets, ..progress };
        let watch = self.samples.watch.get_or_insert_with(|| {
            // The time in which the application reads what the receive window holds, twice.
            let reads = plan
                .stack
                .read_rate
                .map_or(Duration::ZERO, |rate| rate.time_for_backlog(plan.stack.receive_window * 2));
            Box::new(StallWatch::new(now, plan.stack.initial_rto, reads, run).on_path(plan.base_rtt))
        });
        watch.observe(now, progress);
    }

    /// Header bytes of a data packet.
    #[must_use]
    pub(crate) fn header(&self) -> Bytes {
        Bytes(u64::from(self.format.header))
    }

    /// Memory in use, bytes.
    #[must_use]
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.sender.memory()
            + self.receiver.memory()
            + self.transfers.capacity() * 40
            + self.predecessors.as_ref().map_or(0, |predecessors| size_of_val(&**predecessors))
            + self.dialogue.as_ref().map_or(0, |dialogue| dialogue.memory())
            + self.udp.as_ref().map_or(0, Udp::memory)
            + self.messages.as_ref().map_or(0, |messages| messages.memory())
    }
}
