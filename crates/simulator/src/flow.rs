//! A flow: a sender, a receiver, and the application above them.

use cwndlab_control::{Algorithm, CongestionControl, Need, Path};
use cwndlab_network::agent::{quick_start, Header, Scheme};
use cwndlab_network::random::Stream;
use cwndlab_records::rows::TransferRow;
use cwndlab_scenario::plan::{FlowPlan, Pacing, Workload};
use cwndlab_transport::delayed_control::DelayedControl;
use cwndlab_transport::receiver::Receiver;
use cwndlab_transport::recovery::uses_sack;
use cwndlab_transport::sender::{Counters, Sender, ENDLESS};
use cwndlab_transport::wire::{expand, AckPacket, Blocks, Data, Output};
use cwndlab_units::{Bytes, Time};

use crate::datagrams::{Datagrams, Unheard};
use crate::draw::{self, TIME_STREAM};
use crate::packet::{Packet, ACK, AGAIN, CWR, DATA, ECE, ECT, EXTRA, SYN, SYN_ACK};
use crate::port::{feedback, spoken, Port};
use crate::talk::Talk;
use crate::world::{Asked, Circulating, World};
use crate::NEVER;

/// The timers of a flow.
pub const TIMERS: usize = 4;
/// Retransmission, probe, reordering, persist.
pub const SENDER: usize = 0;
/// The next paced burst.
pub const PACE: usize = 1;
/// Delayed ACK, window update.
pub const RECEIVER: usize = 2;
/// Starts, stops, pauses.
pub const APPLICATION: usize = 3;

const FLOW_STREAM: u64 = 3;

/// The number of no connection: no packet bears it.
const NONE: u32 = 256;

/// What the application does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Sending,
    Silent,
    Done,
}

/// A flow at work. In the order in which it is touched: with hundreds of flows each packet finds its own out of the cache,
/// and what counts is the number of lines that it needs.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// When each timer's entry stands on the agenda; `NEVER` if none does.
    pub armed: [u64; TIMERS],
    /// When the application acts next.
    pub application: u64,
    /// Its index among all flows, those beside the plan's included.
    pub index: u32,
    /// Index of its plan.
    pub owner: u32,
    /// Number of the connection.
    pub connection: u32,
    transfer_end: u64,
    header: u32,
    ack_size: u32,
    block_size: u32,
    mss: u32,
    window_shift: u32,
    /// What its packets ask routers: the scheme and the rate.
    asks: Option<(Scheme, f64)>,
    ecn: bool,
    /// The engine acts for its application: arrivals, their connections, conversations.
    pub(crate) driven: bool,
    stage: Stage,
    /// Receiving end.
    pub receiver: Receiver,
    /// Sending end.
    pub sender: Sender,
    /// When it started.
    pub start: u64,
    /// When it was done.
    pub end: Option<u64>,
    /// Completed transfers.
    pub transfers: Vec<TransferRow>,
    workload: Workload,
    stop: u64,
    transfer: u64,
    transfer_start: u64,
    transfer_size: u64,
    /// Counters and deliveries of connections that are over.
    past: Counters,
    past_delivered: u64,
    past_acks: u64,
    past_rtt: (u64, u64),
    past_min_rtt: u64,
    /// Its source and sink of datagrams, where it has no connection.
    pub datagrams: Option<Box<Datagrams>>,
    /// Its half of a conversation.
    pub talk: Option<Box<Talk>>,
    /// When it answered the SYN of this connection, and how often.
    pub(crate) answered: u64,
    pub(crate) answers: u32,
    /// Draws lengths of periods.
    times: Option<Box<Stream>>,
}

/// The rate that a flow asks for: Quick-Start's request, else anything.
fn request(algorithm: &Algorithm) -> f64 {
    let part = algorithm.slow_start.as_ref();
    match part.filter(|part| part.spec.needs.contains(&Need::Agent(cwndlab_control::Scheme::QuickStart))) {
        Some(part) => quick_start::rate(part.arguments.number("n") as u8),
        None => f64::INFINITY,
    }
}

fn build_control(plan: &FlowPlan, seed: u64, index: u32) -> Box<dyn CongestionControl> {
    let stack = &plan.stack;
    let Some(algorithm) = &plan.algorithm else { return Box::new(Unheard(stack.mss)) };
    let control = algorithm.build(&Path {
        mss: stack.mss,
        initial_cwnd: stack.mss * u64::from(stack.initial_window),
        initial_ssthresh: stack.initial_ssthresh.map(|segments| stack.mss * u64::from(segments)),
        paced: stack.pacing == Pacing::Always,
        seed: Stream::new(seed, FLOW_STREAM, u64::from(index)).bits(),
        oracle_buffer: plan.oracle_buffer,
    });
    match plan.remote {
        Some(remote) => Box::new(DelayedControl::new(control, remote.delay, remote.interval)),
        None => control,
    }
}

fn new_sender(plan: &FlowPlan, seed: u64, index: u32) -> Sender {
    let sender = Sender::new(build_control(plan, seed, index), plan.recovery, &plan.stack);
    match &plan.algorithm {
        Some(algorithm) => sender.with_spec(algorithm.growth.spec),
        None => sender,
    }
}

/// Two counts as one.
pub(crate) fn add(past: &Counters, now: &Counters) -> Counters {
    Counters {
        sent_packets: past.sent_packets + now.sent_packets,
        sent_bytes: past.sent_bytes + now.sent_bytes,
        retransmitted_packets: past.retransmitted_packets + now.retransmitted_packets,
        retransmitted_bytes: past.retransmitted_bytes + now.retransmitted_bytes,
        acked_bytes: past.acked_bytes + now.acked_bytes,
        timeouts: past.timeouts + now.timeouts,
        recoveries: past.recoveries + now.recoveries,
        ecn_reductions: past.ecn_reductions + now.ecn_reductions,
        undos: past.undos + now.undos,
        loss_probes: past.loss_probes + now.loss_probes,
    }
}

impl Flow {
    /// A flow before its start.
    #[must_use]
    pub fn new(plan: &FlowPlan, index: u32, start: u64, seed: u64) -> Self {
        let datagrams = Datagrams::of(plan, index, seed).map(Box::new);
        let random = matches!(plan.workload, Workload::RandomOnOff { .. });
        Self {
            index,
            owner: index,
            sender: new_sender(plan, seed, index),
            receiver: Receiver::new(&plan.stack, plan.stack.sack && uses_sack(plan.recovery)),
            armed: [NEVER; TIMERS],
            application: start,
            start,
            end: None,
            connection: if datagrams.is_some() { NONE } else { 0 },
            transfers: Vec::new(),
            stage: Stage::Before,
            workload: plan.workload.clone(),
            stop: plan.stop.map_or(NEVER, |stop| stop.0.max(start)),
            transfer: 0,
            transfer_start: start,
            transfer_end: u64::MAX,
            transfer_size: 0,
            header: plan.stack.header.0 as u32,
            ack_size: plan.stack.ack.0 as u32,
            block_size: plan.stack.sack_block.0 as u32,
            mss: plan.stack.mss.0 as u32,
            window_shift: plan.stack.window_shift(),
            ecn: plan.stack.ecn != cwndlab_scenario::plan::Ecn::Off,
            past: Counters::default(),
            past_delivered: 0,
            past_acks: 0,
            past_rtt: (0, 0),
            past_min_rtt: u64::MAX,
            asks: plan.algorithm.as_ref().and_then(|one| Some((spoken(one.scheme()?), request(one)))),
            datagrams,
            talk: None,
            answered: 0,
            answers: 0,
            driven: false,
            times: random.then(|| Box::new(Stream::new(seed, TIME_STREAM, u64::from(index)))),
        }
    }

    #[inline]
    fn port<'a>(&self, world: &'a mut World, now: u64) -> Port<'a> {
        Port {
            world,
            flow: self.index | (self.connection << 24),
            now,
            mss: self.mss,
            header: self.header,
            ack_size: self.ack_size,
            block_size: self.block_size,
            ecn: self.ecn,
            window_shift: self.window_shift,
            asks: self.asks.map(|(scheme, rate)| (scheme, rate, self.sender.rtt().srtt().0)),
        }
    }

    /// A packet reaches one of the flow's ends.
    #[inline]
    pub fn deliver(&mut self, now: u64, packet: &Packet, world: &mut World, plan: &FlowPlan, seed: u64) {
        let mine = packet.flow >> 24 == self.connection;
        match packet.kind() {
            DATA if mine => {
                let asked = (packet.flags & EXTRA != 0).then(|| self.hear(world, packet));
                let data = Data {
                    seq: expand(packet.seq, self.receiver.expected()),
                    len: asked.map_or(packet.aux, |asked| asked.len),
                    retransmission: packet.flags & AGAIN != 0,
                    ect: packet.flags & ECT != 0,
                    cwr: packet.flags & CWR != 0,
                    stamp: Time(packet.stamp),
                    feedback: asked.and_then(|asked| feedback(&asked, plan)),
                };
                let mut port = self.port(world, now);
                self.receiver.on_data(Time(now), &data, packet.flags & crate::packet::CE != 0, &mut port);
                if self.receiver.expected() >= self.transfer_end {
                    self.complete_transfer(now);
                }
            }
            ACK => {
                let mut ack = AckPacket {
                    ack: expand(packet.seq, self.sender.una()),
                    window: Bytes(u64::from(packet.aux) << self.window_shift),
                    echo: Time(packet.stamp),
                    ece: packet.flags & ECE != 0,
                    ce_count: 0,
                    blocks: Blocks::default(),
                    feedback: None,
                };
                if packet.flags & EXTRA != 0 {
                    self.unpack(world, packet, &mut ack);
                }
                if !mine {
                    return;
                }
                let mut port = self.port(world, now);
                self.sender.on_ack(Time(now), &ack, &mut port);
                if self.sender.is_drained() {
                    self.on_drained(now, world, plan, seed);
                }
            }
            SYN if mine => {
                let header = (packet.flags & EXTRA != 0).then_some(packet.aux);
                self.answered = now;
                self.answers += 1;
                self.port(world, now).answer(header);
            }
            SYN_ACK if mine => {
                let asked = (packet.flags & EXTRA != 0).then(|| world.answered(packet.aux));
                let heard = asked.and_then(|asked| feedback(&asked, plan));
                let mut port = self.port(world, now);
                if asked.is_some() && heard.is_none() {
                    let cwnd = self.sender.cwnd();
                    port.event("fallback", "a router has no agent", cwnd, cwnd, f64::NAN);
                }
                self.sender.on_syn_ack(Time(now), self.receiver.first_window(), heard, &mut port);
            }
            _ if packet.flags & EXTRA != 0 => world.forget(*packet),
            DATA => {
                if let Some(datagrams) = &mut self.datagrams {
                    datagrams.receive(now, packet);
                }
            }
            _ => {}
        }
    }

    /// What the ACK carries beyond its number and window.
    fn unpack(&mut self, world: &mut World, packet: &Packet, ack: &mut AckPacket) {
        let extra = world.take(packet.aux);
        if let Some(header) = extra.header {
            let shares = world.answered(header).header.shares;
            world.circulating.entry(self.index).or_insert(Circulating { shares, echo: None }).shares = shares;
        }
        (ack.window, ack.ce_count, ack.blocks, ack.feedback) =
            (Bytes(extra.window), extra.ce_count, extra.blocks, extra.feedback);
    }

    /// A packet that asked routers reaches the receiver.
    #[cold]
    fn hear(&mut self, world: &mut World, packet: &Packet) -> Asked {
        let asked = world.answered(packet.aux);
        if asked.header.scheme == Scheme::Perc {
            let first = Circulating { shares: Header::new(Scheme::Perc, 0.0, 0).shares, echo: None };
            world.circulating.entry(self.index).or_insert(first).echo = Some(asked.header);
        }
        asked
    }

    /// A timer of the flow is due.
    pub fn on_timer(&mut self, which: usize, now: u64, world: &mut World, plan: &FlowPlan, seed: u64) {
        let mut port = self.port(world, now);
        match which {
            SENDER => self.sender.on_timer(Time(now), &mut port),
            PACE => self.sender.on_pace(Time(now), &mut port),
            RECEIVER => self.receiver.on_timer(Time(now), &mut port),
            _ if self.datagrams.is_some() => self.send_datagrams(now, world),
            _ => self.act(now, world, plan, seed),
        }
        if self.sender.is_closed() && self.stage != Stage::Done {
            self.finish(now);
        }
    }

    /// When each timer is due.
    #[inline]
    #[must_use]
    pub fn due(&self) -> [u64; TIMERS] {
        [self.sender.timer().0, self.sender.pace_timer().0, self.receiver.timer().0, self.application]
    }

    /// The application's next step.
    fn act(&mut self, now: u64, world: &mut World, plan: &FlowPlan, seed: u64) {
        self.application = NEVER;
        if now >= self.stop {
            self.sender.stop();
            self.stage = Stage::Done;
            if self.sender.is_drained() {
                self.finish(now);
            }
            return;
        }
        match self.stage {
            Stage::Before => {
                let mut port = self.port(world, now);
                self.sender.open(Time(now), &mut port);
                self.begin(now, world, plan);
            }
            Stage::Sending => {
                // The end of an active period.
                self.sender.stop();
                self.stage = Stage::Silent;
                match &self.workload {
                    Workload::OnOff { off, .. } => self.application = now + off.0,
                    Workload::RandomOnOff { off, .. } => {
                        self.application = now + self.times.as_mut().map_or(0, |times| draw::pause(off, times));
                    }
                    _ => {}
                }
            }
            Stage::Silent => {
                if let Workload::Transfers { new_connection: true, .. } = self.workload {
                    self.reconnect(now, world, plan, seed);
                }
                self.begin(now, world, plan);
            }
            Stage::Done => {}
        }
        self.application = self.application.min(self.stop);
    }

    /// The source of datagrams is due.
    #[cold]
    fn send_datagrams(&mut self, now: u64, world: &mut World) {
        let Some(datagrams) = &mut self.datagrams else { return };
        if now >= self.stop {
            self.finish(now);
            return;
        }
        self.application = datagrams.send(now, self.index, world).min(self.stop);
    }

    fn begin(&mut self, now: u64, world: &mut World, plan: &FlowPlan) {
        self.stage = Stage::Sending;
        let bytes = match self.workload {
            Workload::Bulk { bytes: None } => ENDLESS.0,
            Workload::Bulk { bytes: Some(bytes) } | Workload::Transfers { bytes, .. } => {
                self.transfer_start = now;
                self.transfer_size = bytes.0;
                self.transfer_end = self.sender.next_segment() + bytes.0.div_ceil(plan.stack.mss.0);
                bytes.0
            }
            Workload::OnOff { on, .. } => {
                self.application = now + on.0;
                ENDLESS.0
            }
            Workload::RandomOnOff { ref on, .. } => {
                self.application = now + self.times.as_mut().map_or(1, |times| draw::whole(on, times));
                ENDLESS.0
            }
            // They do not begin here.
            Workload::Arrivals { .. } | Workload::Exchanges { .. } | Workload::Mqtt(_) | Workload::Datagrams { .. } => {
                0
            }
        };
        let mut port = self.port(world, now);
        self.sender.supply(Bytes(bytes), Time(now), &mut port);
    }

    #[cold]
    fn complete_transfer(&mut self, now: u64) {
        if let Some(talk) = &mut self.talk {
            if talk.hear(self.receiver.delivered().0) {
                self.application = now;
            }
            return;
        }
        self.transfers.push(TransferRow {
            flow: self.owner,
            transfer: self.transfer,
            start_ns: self.transfer_start,
            end_ns: now,
            size_bytes: self.transfer_size,
        });
        self.transfer += 1;
        self.transfer_end = u64::MAX;
    }

    /// Everything handed over is acknowledged.
    fn on_drained(&mut self, now: u64, _world: &mut World, _plan: &FlowPlan, _seed: u64) {
        match self.workload {
            _ if self.stage == Stage::Done => self.finish(now),
            Workload::Bulk { bytes: Some(_) } if self.stage == Stage::Sending => self.finish(now),
            Workload::Transfers { count, gap, .. } if self.stage == Stage::Sending => {
                if count.is_some_and(|count| self.transfer >= count) {
                    self.finish(now);
                } else {
                    self.stage = Stage::Silent;
                    self.application = (now + gap.0).min(self.stop);
                }
            }
            _ => {}
        }
    }

    /// It is done. A connection of arrivals still has to be taken back: the engine acts at once.
    pub(crate) fn finish(&mut self, now: u64) {
        self.stage = Stage::Done;
        self.end.get_or_insert(now);
        self.application = if self.owner != self.index && self.driven && self.talk.is_none() { now } else { NEVER };
    }

    /// When its application stops.
    pub(crate) fn stop_at(&self) -> u64 {
        self.stop
    }

    /// A flow beside those of the plan, with `owner`'s plan; it waits until it is told.
    #[must_use]
    pub(crate) fn beside(plan: &FlowPlan, index: u32, owner: u32, seed: u64) -> Self {
        let mut flow = Self::new(plan, index, 0, seed);
        (flow.owner, flow.driven, flow.application, flow.stop) = (owner, true, NEVER, NEVER);
        flow
    }

    /// Half of a conversation: each arrival of data may complete a message.
    pub(crate) fn converse(&mut self, talk: Talk, nagle: bool) {
        self.talk = Some(Box::new(talk));
        self.driven = true;
        self.sender.set_nagle(nagle);
        self.transfer_end = 0;
    }

    /// A connection for a transfer of this size.
    pub(crate) fn occupy(&mut self, bytes: u64, number: u64, now: u64) {
        self.workload = Workload::Bulk { bytes: Some(Bytes(bytes)) };
        self.stage = Stage::Before;
        (self.start, self.application, self.end, self.transfer) = (now, now, None, number);
    }

    /// Opens the connection that it occupies and hands its transfer over.
    pub(crate) fn begin_transfer(&mut self, now: u64, world: &mut World, plan: &FlowPlan, seed: u64) {
        self.act(now, world, plan, seed);
    }

    /// Free: packets that are still under way are not heard, and nothing is sent.
    pub(crate) fn rest(&mut self, plan: &FlowPlan, seed: u64) {
        self.renew(plan, seed);
        self.application = NEVER;
    }

    /// What the flow did is counted elsewhere from now on.
    pub(crate) fn hand_over(&mut self, to: &mut Self) {
        let now = self.totals();
        to.past = add(&to.past, &now);
        to.past_delivered += self.delivered();
        to.past_acks += self.acks_sent();
        let (sum, count) = self.rtt_sum();
        to.past_rtt = (to.past_rtt.0 + sum, to.past_rtt.1 + count);
        to.past_min_rtt = to.past_min_rtt.min(self.min_rtt());
        to.transfers.append(&mut self.transfers);
        (self.past, self.past_delivered, self.past_acks, self.past_rtt) = (Counters::default(), 0, 0, (0, 0));
        self.sender.reset_totals();
        self.receiver.reset_totals();
    }

    /// Opens its connection.
    pub(crate) fn open(&mut self, now: u64, world: &mut World) {
        let mut port = self.port(world, now);
        self.sender.open(Time(now), &mut port);
        self.stage = Stage::Sending;
    }

    /// The connection that the other end opened is this one's, too; its SYN was answered at `answered`, or several times.
    pub(crate) fn accept(&mut self, answered: Option<u64>, now: u64, world: &mut World) {
        let window = self.receiver.first_window();
        let mut port = self.port(world, now);
        self.sender.accept(answered.map(Time), Time(now), window, &mut port);
    }

    /// The application hands over more.
    pub(crate) fn supply(&mut self, bytes: u64, now: u64, world: &mut World) {
        let mut port = self.port(world, now);
        self.sender.supply(Bytes(bytes), Time(now), &mut port);
    }

    fn reconnect(&mut self, now: u64, world: &mut World, plan: &FlowPlan, seed: u64) {
        self.renew(plan, seed);
        let mut port = self.port(world, now);
        self.sender.open(Time(now), &mut port);
    }

    /// Another connection in place of the one that is over.
    pub(crate) fn renew(&mut self, plan: &FlowPlan, seed: u64) {
        self.past = self.totals();
        self.past_delivered = self.delivered();
        self.past_acks = self.acks_sent();
        self.past_rtt = self.rtt_sum();
        self.past_min_rtt = self.min_rtt();
        self.answers = 0;
        self.connection = (self.connection + 1) & 0xff;
        let nagle = self.sender.nagle();
        self.sender = new_sender(plan, seed, self.index);
        self.sender.set_nagle(nagle);
        self.receiver = Receiver::new(&plan.stack, plan.stack.sack && uses_sack(plan.recovery));
    }

    /// Counters over all connections.
    #[must_use]
    pub fn totals(&self) -> Counters {
        if let Some(datagrams) = &self.datagrams {
            return datagrams.count();
        }
        add(&self.past, self.sender.counters())
    }

    /// Payload delivered in order to the application.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.past_delivered + self.datagrams.as_ref().map_or(self.receiver.delivered().0, |one| one.received_bytes)
    }

    /// ACKs that the receiver sent.
    #[must_use]
    pub fn acks_sent(&self) -> u64 {
        self.past_acks + self.receiver.acks_sent()
    }

    /// Sum and number of RTT samples.
    #[must_use]
    pub fn rtt_sum(&self) -> (u64, u64) {
        let (sum, count) = self.sender.rtt().totals();
        (self.past_rtt.0 + sum.0, self.past_rtt.1 + count)
    }

    /// The smallest RTT of all connections, ns; `u64::MAX` without a sample.
    #[must_use]
    pub fn min_rtt(&self) -> u64 {
        self.past_min_rtt.min(self.sender.rtt().min_ever().0)
    }

    /// Bytes on the wire that the sender caused.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        let totals = self.totals();
        totals.sent_bytes + totals.sent_packets * u64::from(self.header)
    }

    /// Memory of the flow, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.sender.memory()
            + self.receiver.memory()
            + self.transfers.capacity() * 40
            + self.talk.as_ref().map_or(0, |talk| talk.memory())
    }
}
