//! Flows beside those of the plan: the connections of arrivals, and the other half of each conversation.

use std::collections::BTreeMap;

use cwndlab_network::random::Stream;
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::{Intensity, Plan, Workload};
use cwndlab_transport::sender::Counters;

use crate::draw::{self, GAP_STREAM, SIZE_STREAM, TIME_STREAM};
use crate::engine::Engine;
use crate::flow::{add, Flow};
use crate::packet::MOST_FLOWS;
use crate::talk::Talk;
use crate::world::Losses;
use crate::NEVER;

/// Transfers that arrive by chance, and the connections that carry them.
#[derive(Debug)]
pub struct Source {
    times: Stream,
    sizes: Stream,
    begun: bool,
    /// No more will come.
    over: bool,
    arrived: u64,
    /// Connections that wait to be used again.
    free: Vec<u32>,
    /// All connections.
    pub(crate) all: Vec<u32>,
}

/// What all connections of a flow did.
pub(crate) struct Sum {
    pub(crate) count: Counters,
    pub(crate) delivered: u64,
    pub(crate) in_flight: u64,
    pub(crate) losses: Losses,
    /// Sum and number of RTT samples.
    pub(crate) rtt: (u64, u64),
}

/// By flow of the plan.
pub type Sources = BTreeMap<usize, Source>;

/// How many flows there may be beside those of the plan.
pub(crate) fn most_beside(plan: &Plan) -> usize {
    plan.flows
        .iter()
        .map(|flow| match flow.workload {
            Workload::Arrivals { connections, .. } => connections as usize,
            Workload::Exchanges { .. } | Workload::Mqtt(_) => 1,
            _ => 0,
        })
        .fold(0, usize::saturating_add)
}

const START_STREAM: u64 = 4;

/// When each flow starts: what its plan says, the distances that are drawn within a `count`, and the jitter, ns.
#[must_use]
pub fn starts(plan: &Plan, seed: u64) -> Vec<u64> {
    let (mut stream, mut sum) = (None, 0u64);
    (0u64..)
        .zip(&plan.flows)
        .map(|(index, flow)| {
            let later = flow.start_gap.as_ref().map_or(0, |gap| {
                if flow.number == 0 {
                    (stream, sum) = (Some(Stream::new(seed, GAP_STREAM, index)), 0);
                } else if let Some(stream) = &mut stream {
                    sum = sum.saturating_add(draw::pause(gap, stream));
                }
                sum
            });
            let jitter = Stream::new(seed, START_STREAM, index).below(flow.start_jitter.0);
            flow.start.0.saturating_add(later).saturating_add(jitter)
        })
        .collect()
}

impl Engine<'_> {
    /// Before anything happens: who needs what beside its own flow.
    pub(crate) fn prepare(&mut self) {
        let duplicates = self.plan.links.iter().any(|link| link.duplicate > 0.0);
        for index in 0..self.plan.flows.len() {
            let plan = &self.plan.flows[index];
            match &plan.workload {
                Workload::Arrivals { .. } => {
                    let stream = |purpose| Stream::new(self.seed, purpose, index as u64);
                    let (times, sizes) = (stream(TIME_STREAM), stream(SIZE_STREAM));
                    let source = Source {
                        times,
                        sizes,
                        begun: false,
                        over: false,
                        arrived: 0,
                        free: Vec::new(),
                        all: Vec::new(),
                    };
                    self.sources.insert(index, source);
                    self.flows[index].driven = true;
                }
                workload @ (Workload::Exchanges { .. } | Workload::Mqtt(_)) => {
                    let nagle = matches!(workload, Workload::Mqtt(sensor) if sensor.nagle);
                    let peer = self.flows.len() as u32;
                    self.world.add_flow(index as u32, true);
                    let mut other = Flow::beside(plan, peer, index as u32, self.seed);
                    other.converse(Talk::answering(index as u32), nagle);
                    self.flows.push(other);
                    let start = self.flows[index].start;
                    self.flows[index].converse(Talk::owner(peer, index as u32, start, self.seed), nagle);
                }
                Workload::Datagrams { .. } if duplicates => {
                    if let Some(datagrams) = &mut self.flows[index].datagrams {
                        datagrams.expect_duplicates();
                    }
                }
                _ => {}
            }
        }
    }

    /// The engine acts for an application.
    pub(crate) fn act(&mut self, index: usize, now: u64) {
        if self.flows[index].talk.is_some() {
            self.flows[index].application = NEVER;
            self.talk(index, now);
        } else if self.flows[index].owner as usize == index {
            self.arrive(index, now);
        } else {
            self.release(index, now);
        }
    }

    /// A transfer arrives. It does not ask how many others there are.
    fn arrive(&mut self, owner: usize, now: u64) {
        let Workload::Arrivals { intensity: Intensity::PerSecond(rate), ref size, count, connections } =
            self.plan.flows[owner].workload
        else {
            return;
        };
        let stop = self.flows[owner].stop_at();
        let Some(source) = self.sources.get_mut(&owner) else { return };
        if now >= stop {
            source.over = true;
        } else if source.begun {
            let (bytes, number) = (draw::whole(size, &mut source.sizes), source.arrived);
            source.arrived += 1;
            source.over = count.is_some_and(|count| source.arrived >= count);
            self.connect_transfer(owner, connections as usize, bytes, number, now);
        }
        let Some(source) = self.sources.get_mut(&owner) else { return };
        source.begun = true;
        // Exponential gaps make a Poisson process.
        let gap = draw::value(&cwndlab_scenario::plan::Distribution::Exponential(1e9 / rate), &mut source.times);
        let over = source.over;
        self.flows[owner].application = if over { NEVER } else { (now + (gap + 0.5) as u64).min(stop) };
        self.close_source(owner, now);
    }

    /// Puts a transfer on a connection of its own: one that is free, or a further one.
    fn connect_transfer(&mut self, owner: usize, most: usize, bytes: u64, number: u64, now: u64) {
        let plan = &self.plan.flows[owner];
        let Some(source) = self.sources.get_mut(&owner) else { return };
        let index = match source.free.pop() {
            Some(index) => index as usize,
            None if source.all.len() < most && self.flows.len() < MOST_FLOWS => {
                let index = self.flows.len();
                source.all.push(index as u32);
                self.world.add_flow(owner as u32, false);
                self.flows.push(Flow::beside(plan, index as u32, owner as u32, self.seed));
                index
            }
            None => {
                self.world.events.push(EventRow {
                    time_ns: now,
                    flow: owner as u32,
                    kind: "refused",
                    cause: "connections",
                    cwnd_before_bytes: 0,
                    cwnd_after_bytes: 0,
                    pipe_segments: None,
                });
                return;
            }
        };
        let flow = &mut self.flows[index];
        flow.occupy(bytes, number, now);
        flow.begin_transfer(now, &mut self.world, plan, self.seed);
        self.arm(index);
    }

    /// A connection has done its work.
    fn release(&mut self, index: usize, now: u64) {
        let owner = self.flows[index].owner as usize;
        self.flows[index].application = NEVER;
        let (before, beside) = self.flows.split_at_mut(index);
        beside[0].hand_over(&mut before[owner]);
        beside[0].rest(&self.plan.flows[owner], self.seed);
        if let Some(source) = self.sources.get_mut(&owner) {
            source.free.push(index as u32);
        }
        self.close_source(owner, now);
    }

    /// The flow is over when no transfer comes any more and none is under way.
    fn close_source(&mut self, owner: usize, now: u64) {
        let Some(source) = self.sources.get(&owner) else { return };
        if source.over && source.free.len() == source.all.len() {
            self.flows[owner].finish(now);
        }
    }

    /// A flow with all its connections.
    pub(crate) fn sum(&self, index: usize) -> Sum {
        let flow = &self.flows[index];
        let mut sum = Sum {
            count: flow.totals(),
            delivered: flow.delivered(),
            in_flight: flow.sender.in_flight().0,
            losses: self.world.losses[index],
            rtt: flow.rtt_sum(),
        };
        let Some(source) = self.sources.get(&index) else { return sum };
        for &one in &source.all {
            let flow = &self.flows[one as usize];
            let (rtt, losses) = (flow.rtt_sum(), self.world.losses[one as usize]);
            sum.count = add(&sum.count, &flow.totals());
            sum.delivered += flow.delivered();
            sum.in_flight += flow.sender.in_flight().0;
            sum.losses.queue += losses.queue;
            sum.losses.wire += losses.wire;
            sum.rtt = (sum.rtt.0 + rtt.0, sum.rtt.1 + rtt.1);
        }
        sum
    }

    /// At the end: what connections still hold is their flow's, transfers in the order of their arrival.
    pub(crate) fn gather(&mut self) {
        for (&owner, source) in &self.sources {
            for &one in &source.all {
                let (before, beside) = self.flows.split_at_mut(one as usize);
                beside[0].hand_over(&mut before[owner]);
                let losses = self.world.losses[one as usize];
                self.world.losses[owner].queue += losses.queue;
                self.world.losses[owner].wire += losses.wire;
            }
            self.flows[owner].transfers.sort_by_key(|row| row.transfer);
        }
    }
}
