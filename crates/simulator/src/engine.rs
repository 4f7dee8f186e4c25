//! The loop: takes what happens next, lets it happen, writes down what was asked for.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cwndlab_records::rows::{FlowRow, Records, SampleRow};
use cwndlab_scenario::plan::Plan;
use cwndlab_transport::receiver::NEVER;

use crate::flow::{Flow, APPLICATION, PACE, RECEIVER, SENDER, TIMERS};
use crate::pool::{starts, Sources, Sum};
use crate::world::World;

/// Events between two looks at the outside world.
const PATIENCE: u64 = 8192;

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// It was asked to stop, or took more turns than it was given.
    Cancelled,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("run: stopped before its end"),
        }
    }
}

impl std::error::Error for RunError {}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Turns of the loop.
    pub events: u64,
    /// Segments delivered in order and acknowledged.
    pub delivered_packets: u64,
    /// Bytes held by flows and network at the end.
    pub memory_bytes: u64,
}

/// Runs the plan with this seed.
pub fn run(plan: &Plan, seed: u64, cancel: &AtomicBool, progress: Option<&AtomicU64>) -> Result<Records, RunError> {
    run_counted(plan, seed, cancel, progress).map(|(records, _)| records)
}

/// Runs the plan with this seed, and tells what it cost.
pub fn run_counted(
    plan: &Plan,
    seed: u64,
    cancel: &AtomicBool,
    progress: Option<&AtomicU64>,
) -> Result<(Records, Statistics), RunError> {
    let mut engine = Engine::new(plan, seed);
    engine.go(cancel, progress)?;
    Ok(engine.finish())
}

/// Runs the plan with this seed, and stops where that takes more than `most` turns of the loop.
pub fn run_within(plan: &Plan, seed: u64, most: u64) -> Result<(Records, Statistics), RunError> {
    let mut engine = Engine::new(plan, seed);
    engine.most = most;
    engine.go(&AtomicBool::new(false), None)?;
    Ok(engine.finish())
}

pub(crate) struct Engine<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seed: u64,
    pub(crate) world: World,
    /// Those of the plan, then those beside them.
    pub(crate) flows: Vec<Flow>,
    pub(crate) sources: Sources,
    records: Records,
    next_sample: u64,
    events: u64,
    /// The most turns of the loop.
    most: u64,
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan, seed: u64) -> Self {
        let world = World::new(plan, seed);
        let flows: Vec<Flow> = (0u32..)
            .zip(plan.flows.iter().zip(starts(plan, seed)))
            .map(|(index, (one, start))| Flow::new(one, index, start, seed))
            .collect();
        let mut engine = Self {
            plan,
            seed,
            world,
            flows,
            sources: Sources::new(),
            records: Records::default(),
            next_sample: if plan.sample_interval.0 == 0 { NEVER } else { plan.sample_interval.0 },
            events: 0,
            most: u64::MAX,
        };
        engine.prepare();
        for index in 0..engine.flows.len() {
            engine.arm(index);
        }
        engine
    }

    /// Puts a flow's timers on the agenda where they are due before their entry there. Entries that come too early
    /// are moved when they surface, so a timer that is pushed back with every ACK costs nothing.
    #[inline]
    pub(crate) fn arm(&mut self, index: usize) {
        let due = self.flows[index].due();
        for (which, &at) in due.iter().enumerate() {
            self.arm_one(index, which, at);
        }
    }

    /// Of a packet that arrived: the other end's timers it cannot have changed, and they stay out of the cache.
    #[inline]
    fn arm_end(&mut self, index: usize, receiving: bool) {
        let flow = &self.flows[index];
        let application = flow.application;
        if receiving {
            let at = flow.receiver.timer;
            self.arm_one(index, RECEIVER, at);
        } else {
            let (at, pace) = (flow.sender.timer, flow.sender.pace_timer);
            self.arm_one(index, SENDER, at);
            self.arm_one(index, PACE, pace);
        }
        self.arm_one(index, APPLICATION, application);
    }

    #[allow(clippy::inline_always)] // a handful of instructions, which the call would double
    #[inline(always)]
    fn arm_one(&mut self, index: usize, which: usize, at: u64) {
        let armed = &mut self.flows[index].armed[which];
        if at < *armed {
            *armed = at;
            let source = self.world.links.len() + index * TIMERS + which;
            self.world.agenda.push(at, source as u32);
        }
    }

    fn go(&mut self, cancel: &AtomicBool, progress: Option<&AtomicU64>) -> Result<(), RunError> {
        let end = self.plan.duration.0;
        let (links, servers) = (self.world.links.len() as u32, self.world.first_server);
        let mut countdown = PATIENCE;
        while let Some((now, source)) = self.world.agenda.peek() {
            if now > self.next_sample.min(end) {
                if now > end && self.next_sample > end {
                    break;
                }
                while self.next_sample < now && self.next_sample <= end {
                    self.sample(self.next_sample);
                    self.next_sample += self.plan.sample_interval.0;
                }
                if now > end {
                    break;
                }
            }
            countdown -= 1;
            if countdown == 0 {
                countdown = PATIENCE;
                self.events += PATIENCE;
                if cancel.load(Ordering::Relaxed) || self.events > self.most {
                    return Err(RunError::Cancelled);
                }
                if let Some(progress) = progress {
                    progress.store(now, Ordering::Relaxed);
                }
            }
            self.world.clock = now;
            if source < links {
                let packet = self.world.arrive(source);
                if World::has_arrived(&packet) {
                    let index = packet.flow();
                    let flow = &mut self.flows[index];
                    let plan = &self.plan.flows[flow.owner as usize];
                    flow.deliver(now, &packet, &mut self.world, plan, self.seed);
                    self.arm_end(index, packet.is_forward());
                } else {
                    self.world.forward(now, packet);
                }
            } else if source < servers {
                self.fire(now, source - links);
            } else {
                self.world.serve(now, source - servers);
            }
        }
        self.events += PATIENCE - countdown;
        while self.next_sample <= end {
            self.sample(self.next_sample);
            self.next_sample += self.plan.sample_interval.0;
        }
        Ok(())
    }

    fn fire(&mut self, now: u64, timer: u32) {
        let (index, which) = (timer as usize / TIMERS, timer as usize % TIMERS);
        self.world.agenda.pop();
        let flow = &mut self.flows[index];
        if flow.armed[which] != now {
            return; // an entry that an earlier one overtook
        }
        flow.armed[which] = NEVER;
        if flow.due()[which] <= now {
            if which == APPLICATION && flow.driven {
                self.act(index, now);
            } else {
                let plan = &self.plan.flows[flow.owner as usize];
                flow.on_timer(which, now, &mut self.world, plan, self.seed);
            }
        }
        self.arm(index);
    }

    fn sample(&mut self, now: u64) {
        self.world.settle_losses(now);
        for (index, (flow, plan)) in self.flows.iter().zip(&self.plan.flows).enumerate() {
            if now < flow.start {
                continue;
            }
            let sender = &flow.sender;
            let Sum { count, delivered, in_flight, losses, rtt: (rtt_sum_ns, rtt_count) } = self.sum(index);
            // Of many connections there is no window, of none neither.
            let windowed = plan.algorithm.is_some() && !self.sources.contains_key(&index);
            let datagrams = flow.datagrams.as_ref();
            let mss = plan.stack.mss.0;
            let rtt = &sender.rtt;
            self.records.samples.push(SampleRow {
                time_ns: now,
                flow: flow.index,
                cwnd_bytes: windowed.then_some(u64::from(sender.cwnd) * mss),
                ssthresh_bytes: sender.control.state(None).ssthresh.bytes().map(|threshold| threshold.0),
                in_flight_bytes: datagrams.is_none().then_some(in_flight),
                srtt_ns: (rtt.srtt > 0).then_some(rtt.srtt),
                rtt_ns: (rtt.last > 0).then_some(rtt.last),
                pacing_rate_bps: sender.pacing_rate(),
                delivery_rate_bps: (sender.delivery_rate > 0).then_some(sender.delivery_rate),
                delivered_bytes: delivered,
                sent_bytes: count.sent_bytes,
                retransmitted_bytes: count.retransmitted_bytes,
                retransmitted_packets: count.retransmitted_packets,
                congestion_events: count.recoveries + count.timeouts + count.ecn_reductions,
                timeouts: count.timeouts,
                queue_drops: losses.queue,
                wire_losses: losses.wire,
                rtt_sum_ns,
                rtt_count,
                state: sender.state as u8,
                delay_ns: datagrams.filter(|one| one.delays.count > 0).map(|one| one.delays.last),
                delay_sum_ns: datagrams.map(|one| one.delays.sum),
                delay_count: datagrams.map(|one| one.delays.count),
                jitter_ns: datagrams.map(|one| one.delays.jitter()),
            });
        }
        self.world.stations(now, &mut self.records.stations);
        for (index, plan) in self.plan.links.iter().enumerate().filter(|(_, plan)| plan.sampled) {
            let row = self.world.look(now, index).row(now, index as u32, plan);
            self.records.link_samples.push(row);
        }
    }

    fn finish(mut self) -> (Records, Statistics) {
        let end = self.plan.duration.0;
        self.world.settle_losses(end);
        self.gather();
        let mut delivered_packets = 0;
        for (flow, plan) in self.flows.iter_mut().zip(&self.plan.flows) {
            let count = flow.totals();
            let min_rtt = flow.min_rtt();
            let (sum, samples) = flow.rtt_sum();
            let losses = self.world.losses[flow.index as usize];
            let delays = flow.datagrams.as_ref().map(|one| one.delays).filter(|one| one.count > 0);
            delivered_packets += count.acked_bytes.div_ceil(plan.stack.mss.0) + delays.map_or(0, |one| one.count);
            self.records.transfers.append(&mut flow.transfers);
            self.records.flows.push(FlowRow {
                flow: flow.index,
                name: plan.name.clone(),
                algorithm: plan.algorithm_text.clone(),
                profile: plan.profile.clone(),
                mss_bytes: plan.stack.mss.0,
                base_rtt_ns: plan.base_rtt.0,
                start_ns: flow.start,
                end_ns: flow.end,
                delivered_bytes: flow.delivered(),
                acked_bytes: count.acked_bytes,
                sent_bytes: count.sent_bytes,
                wire_bytes: flow.wire_bytes(),
                sent_packets: count.sent_packets,
                retransmitted_bytes: count.retransmitted_bytes,
                retransmitted_packets: count.retransmitted_packets,
                ack_packets: flow.acks_sent(),
                queue_drops: losses.queue,
                wire_losses: losses.wire,
                timeouts: count.timeouts,
                recoveries: count.recoveries,
                ecn_reductions: count.ecn_reductions,
                undos: count.undos,
                loss_probes: count.loss_probes,
                min_rtt_ns: (min_rtt != u64::MAX).then_some(min_rtt),
                mean_rtt_ns: (samples > 0).then(|| sum / samples),
                min_delay_ns: delays.map(|one| one.min),
                mean_delay_ns: delays.and_then(|one| one.mean()),
                max_delay_ns: delays.map(|one| one.max),
                jitter_ns: delays.map(|one| one.jitter()),
                route: plan.route_text(),
            });
        }
        // The last sample may be the end.
        if self.records.stations.last().is_none_or(|last| last.time_ns != end) {
            self.world.stations(end, &mut self.records.stations);
        }
        self.records.links = self.world.link_rows(self.plan, end);
        let memory = self.flows.iter().map(Flow::memory).sum::<usize>() + self.world.memory();
        let statistics = Statistics { events: self.events, delivered_packets, memory_bytes: memory as u64 };
        self.records.events = std::mem::take(&mut self.world.events);
        self.records.packets = self.world.recorder.take().map(|recorder| recorder.rows).unwrap_or_default();
        (self.records, statistics)
    }
}
