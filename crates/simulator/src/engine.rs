//! The event loop: handles the next event, which is the arrival of a packet at the end of a link, or a timer or a server that
//! is due.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cwndlab_records::rows::Records;
use cwndlab_scenario::plan::Plan;
use cwndlab_traffic::NEVER;
use cwndlab_units::Time;

use crate::sampler::Sampler;
use crate::simulation::Simulation;
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_path::timers::{APPLICATION, TIMERS};

/// Events between two checks for cancellation.
const CHECK_INTERVAL: u64 = 8192;

/// Why a run did not reach its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// It was cancelled, or took more events than it may.
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

/// The cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Events handled.
    pub events: u64,
    /// Segments delivered in order and acknowledged, and datagrams delivered.
    pub delivered_packets: u64,
    /// Memory held by connections and network at the end, bytes.
    pub memory_bytes: u64,
}

/// Runs the plan with this seed. `progress` receives the simulated time in ns.
pub fn run(plan: &Plan, seed: u64, cancel: &AtomicBool, progress: Option<&AtomicU64>) -> Result<Records, RunError> {
    run_counted(plan, seed, cancel, progress).map(|(records, _)| records)
}

/// Runs the plan with this seed; returns also the cost.
pub fn run_counted(
    plan: &Plan,
    seed: u64,
    cancel: &AtomicBool,
    progress: Option<&AtomicU64>,
) -> Result<(Records, Statistics), RunError> {
    let mut engine = Engine::new(plan, seed, u64::MAX, Order::Ahead);
    engine.run(cancel, progress)?;
    Ok(engine.finish())
}

/// Runs the plan with this seed, and stops if that takes more than `max_events` events.
pub fn run_within(plan: &Plan, seed: u64, max_events: u64) -> Result<(Records, Statistics), RunError> {
    let mut engine = Engine::new(plan, seed, max_events, Order::Ahead);
    engine.run(&AtomicBool::new(false), None)?;
    Ok(engine.finish())
}

/// Runs the plan with this seed and an event for every packet: no end of a connection runs ahead of the clock. The records
/// are the same; tests compare the two.
#[must_use]
pub fn run_by_events(plan: &Plan, seed: u64) -> (Records, Statistics) {
    let mut engine = Engine::new(plan, seed, u64::MAX, Order::Events);
    engine.run(&AtomicBool::new(false), None).unwrap_or_else(|_| unreachable!("nobody cancels it"));
    engine.finish()
}

/// In which order packets reach their endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Ahead of the clock where nobody can tell the difference.
    Ahead,
    /// By the clock.
    Events,
}

struct Engine<'a> {
    simulation: Simulation<'a>,
    sampler: Sampler,
    events: u64,
    max_events: u64,
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan, seed: u64, max_events: u64, order: Order) -> Self {
        let mut simulation = Simulation::new(plan, seed);
        let bulk = simulation.prepare_applications();
        if order == Order::Ahead {
            simulation.run_ends_ahead(&bulk);
        }
        for index in 0..simulation.connections.len() {
            simulation.arm_start(index);
        }
        Self { simulation, sampler: Sampler::new(plan), events: 0, max_events }
    }

    fn run(&mut self, cancel: &AtomicBool, progress: Option<&AtomicU64>) -> Result<(), RunError> {
        let end = Time::ZERO + self.simulation.plan.duration;
        // Until here events need no look at samples or at the end.
        let mut free_until = self.sampler.times.next.min(end);
        let mut countdown = CHECK_INTERVAL;
        loop {
            let (arrival, other) = (self.simulation.network.next_arrival(), self.simulation.network.agenda.next_time());
            let now = arrival.min(other);
            if now > free_until {
                self.sampler.sample_before(now, end, &mut self.simulation);
                if now > end {
                    break;
                }
                free_until = self.sampler.times.next.min(end);
            }
            countdown -= 1;
            if countdown == 0 {
                countdown = CHECK_INTERVAL;
                self.check(now, cancel, progress)?;
            }
            // At the same time links come before timers and servers.
            if arrival <= other {
                self.on_arrival(now);
            } else {
                self.on_other(now);
            }
        }
        self.events += CHECK_INTERVAL - countdown;
        self.sampler.sample_before(NEVER, end, &mut self.simulation);
        Ok(())
    }

    /// Stops the run if it was cancelled, else reports its progress.
    #[cold]
    fn check(&mut self, now: Time, cancel: &AtomicBool, progress: Option<&AtomicU64>) -> Result<(), RunError> {
        self.events += CHECK_INTERVAL;
        if cancel.load(Ordering::Relaxed) || self.events > self.max_events {
            return Err(RunError::Cancelled);
        }
        if let Some(progress) = progress {
            progress.store(now.0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A packet leaves its wire.
    #[allow(clippy::inline_always)] // the body of the loop
    #[inline(always)]
    fn on_arrival(&mut self, now: Time) {
        let simulation = &mut self.simulation;
        let network = &mut simulation.network;
        network.clock = now;
        let mut packet = Packet::default();
        network.take_arrival(&mut packet);
        if Network::has_arrived(&packet) {
            simulation.deliver(now, &packet);
        } else if network.advance(now, &mut packet) {
            simulation.deliver_ahead(&packet, self.sampler.times);
        }
    }

    /// A timer or a server is due, the agenda's top.
    #[inline(never)]
    fn on_other(&mut self, now: Time) {
        let simulation = &mut self.simulation;
        let network = &mut simulation.network;
        let source = network.agenda.source();
        (network.clock, network.events.source) = (now, source);
        if source < network.first_server {
            let timer = source - network.links.len() as u32;
            self.on_timer(now, timer);
            return;
        }
        network.serve(now, source - network.first_server);
        while let Some(early) = simulation.network.take_early() {
            simulation.deliver_ahead(&early, self.sampler.times);
        }
    }

    fn on_timer(&mut self, now: Time, timer: u32) {
        let (index, which) = (timer as usize / TIMERS, timer as usize % TIMERS);
        let simulation = &mut self.simulation;
        simulation.network.agenda.pop();
        if simulation.connections.start(index).is_some() {
            simulation.begin(index);
            simulation.connections[index].armed[which] = now;
        }
        let connection = &mut simulation.connections[index];
        if connection.armed[which] != now {
            return; // an earlier entry has replaced this one
        }
        connection.armed[which] = NEVER;
        if connection.due()[which] <= now {
            if which == APPLICATION && connection.shared_application {
                simulation.run_application(index, now);
            } else {
                let plan = &simulation.plan.flows[connection.owner as usize];
                connection.on_timer(which, now, &mut simulation.network, plan, simulation.seed);
            }
        }
        simulation.arm(index);
    }

    fn finish(mut self) -> (Records, Statistics) {
        let (records, delivered_packets) = self.sampler.finish(&mut self.simulation);
        let memory_bytes = (self.simulation.connections.memory() + self.simulation.network.memory()) as u64;
        (records, Statistics { events: self.events, delivered_packets, memory_bytes })
    }
}
