//! The event loop. An event is the arrival of a packet at the end of a link, a timer or a server event.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cwndlab_records::rows::Records;
use cwndlab_scenario::plan::Plan;
use cwndlab_traffic::NEVER;
use cwndlab_units::{Fault, FaultKind, Time};

use crate::batches::Batches;
use crate::sampler::Sampler;
use crate::simulation::Simulation;
use crate::stops::{Collects, NoStops, RunState, Stop, Stops};
use cwndlab_path::event_sources::Owner;
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;

/// Events between two checks for cancellation.
const CHECK_INTERVAL: u64 = 8192;

/// The cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Events handled.
    pub events: u64,
    /// Segments delivered in order and acknowledged, and datagrams delivered.
    pub delivered_packets: u64,
    /// Memory in use by connections and network at the end, bytes.
    pub memory_bytes: u64,
    /// Threads of the run.
    pub threads: usize,
}

/// Runs the plan with this seed. `progress` receives the simulated time in ns.
pub fn run(plan: &Plan, seed: u64, cancel: &AtomicBool, progress: Option<&AtomicU64>) -> Result<Records, Fault> {
    run_counted(plan, seed, cancel, progress).map(|(records, _)| records)
}

/// Runs the plan with this seed; returns the records and the cost.
pub fn run_counted(
    plan: &Plan,
    seed: u64,
    cancel: &AtomicBool,
    progress: Option<&AtomicU64>,
) -> Result<(Records, Statistics), Fault> {
    let plan = plan.perturbed(seed);
    Engine::new(&plan, seed, u64::MAX, LookAhead::Enabled).run_alone(cancel, progress)
}

/// Runs the plan with this seed, suspended at `stops`. The records are those of [`run`], unless an algorithm is changed
/// at a stop.
pub fn run_stopping(
    plan: &Plan,
    seed: u64,
    cancel: &AtomicBool,
    stops: &mut impl Stops,
) -> Result<(Records, Statistics), Fault> {
    let plan = plan.perturbed(seed);
    let mut engine = Engine::new(&plan, seed, u64::MAX, LookAhead::Enabled);
    engine.run(cancel, None, stops)?;
    Ok(engine.finish())
}

/// Runs the plan with this seed; fails after `max_events` events.
pub fn run_within(plan: &Plan, seed: u64, max_events: u64) -> Result<(Records, Statistics), Fault> {
    let plan = plan.perturbed(seed);
    let mut engine = Engine::new(&plan, seed, max_events, LookAhead::Enabled);
    engine.run(&AtomicBool::new(false), None, &mut NoStops)?;
    Ok(engine.finish())
}

/// Runs the plan with this seed and without look-ahead: every arrival is an event. Tests compare the records, which are
/// the same.
#[must_use]
pub fn run_by_events(plan: &Plan, seed: u64) -> (Records, Statistics) {
    let plan = plan.perturbed(seed);
    let mut engine = Engine::new(&plan, seed, u64::MAX, LookAhead::Disabled);
    engine
        .run(&AtomicBool::new(false), None, &mut NoStops)
        .unwrap_or_else(|_| unreachable!("the run is not cancelled"));
    engine.finish()
}

/// Whether endpoints process packets ahead of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookAhead {
    /// Ahead of the clock where results do not depend on it.
    Enabled,
    /// At the time of arrival.
    Disabled,
}

pub(crate) struct Engine<'a> {
    pub(crate) simulation: Simulation<'a>,
    pub(crate) sampler: Sampler,
    events: u64,
    max_events: u64,
    /// Packets that reach their endpoints after the next stop.
    collected: Vec<Packet>,
    /// The memory of the list before, for the next one.
    spare: Vec<Packet>,
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan, seed: u64, max_events: u64, look_ahead: LookAhead) -> Self {
        let mut engine = Self::without_starts(plan, seed, max_events, look_ahead);
        engine.arm_starts();
        engine
    }

    /// The state before the run, in which no flow starts.
    pub(crate) fn without_starts(plan: &'a Plan, seed: u64, max_events: u64, look_ahead: LookAhead) -> Self {
        let mut simulation = Simulation::new(plan, seed);
        let bulk = simulation.prepare_applications();
        if look_ahead == LookAhead::Enabled {
            simulation.run_ends_ahead(&bulk);
        }
        Self {
            simulation,
            sampler: Sampler::new(plan),
            events: 0,
            max_events,
            collected: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Adds the starts of all flows to the agenda.
    pub(crate) fn arm_starts(&mut self) {
        for id in self.simulation.connections.ids() {
            self.simulation.arm_start(id);
        }
    }

    /// Runs to the end on one thread.
    pub(crate) fn run_alone(
        mut self,
        cancel: &AtomicBool,
        progress: Option<&AtomicU64>,
    ) -> Result<(Records, Statistics), Fault> {
        match Batches::of(&mut self.simulation) {
            Some(mut batches) => self.run(cancel, progress, &mut batches)?,
            None => self.run(cancel, progress, &mut NoStops)?,
        }
        Ok(self.finish())
    }

    /// Processes all events.
    #[inline(never)] // within a caller the loop has fewer registers
    pub(crate) fn run<S: Collects>(
        &mut self,
        cancel: &AtomicBool,
        progress: Option<&AtomicU64>,
        stops: &mut S,
    ) -> Result<(), Fault> {
        let end = Time::ZERO + self.simulation.plan.duration;
        // Events up to this time precede the next sample and the end.
        let mut free_until = self.sampler.times.next.min(end);
        let mut countdown = CHECK_INTERVAL;
        loop {
            let arrival = self.next_arrival::<S>();
            let other = self.simulation.network.agenda.next_time();
            let now = arrival.min(other);
            if now > free_until.min(stops.next()) {
                if stops.next() <= end && now > stops.next() {
                    self.stop(stops, end);
                    free_until = self.sampler.times.next.min(end);
                    continue; // an endpoint may have sent a packet that arrives before `now`
                }
                self.sampler.sample_before(now, end, &mut self.simulation);
                if now > end {
                    break;
                }
                free_until = self.sampler.times.next.min(end);
            }
            if S::SORTS && now == self.simulation.network.next_sorted() && self.simulation.network.begin_day() {
                continue; // its first packet may arrive after `now`
            }
            countdown -= 1;
            if countdown == 0 {
                countdown = CHECK_INTERVAL;
                self.check(now, cancel, progress, stops)?;
            }
            // Arrivals precede simultaneous timers and servers.
            if arrival <= other {
                self.on_arrival(now, stops);
            } else {
                self.on_agenda_event(now, stops);
            }
        }
        self.events += CHECK_INTERVAL - countdown;
        self.simulation.failure.take().map_or(Ok(()), Err)?;
        self.sampler.sample_before(NEVER, end, &mut self.simulation);
        stops.stop(Stop::End, &mut RunState::new(&mut self.simulation, end));
        if S::SORTS {
            self.end_sorting();
        }
        Ok(())
    }

    /// Time of the next arrival, or of the beginning of a day of sorted packets before it.
    #[allow(clippy::inline_always)] // part of the body of the loop
    #[inline(always)]
    fn next_arrival<S: Collects>(&self) -> Time {
        let network = &self.simulation.network;
        let next = network.next_arrival();
        if S::SORTS {
            next.min(network.next_sorted())
        } else {
            next
        }
    }

    /// Packets that reach their endpoints after the end are put on the last links of their routes.
    #[cold]
    fn end_sorting(&mut self) {
        for mut packet in self.collected.drain(..) {
            self.simulation.network.finish_route(&mut packet);
        }
        self.simulation.network.stop_sorting();
    }

    /// Stops at the time of the next stop, before which all events are processed. Endpoints then process the packets
    /// that arrive before the stop that follows.
    #[cold]
    fn stop(&mut self, stops: &mut impl Collects, end: Time) {
        let at = stops.next();
        self.sampler.sample_before(Time::from_nanos(at.as_nanos() + 1), end, &mut self.simulation);
        stops.take(&mut self.collected, &mut self.simulation, self.sampler.times);
        stops.stop(Stop::Time, &mut RunState::new(&mut self.simulation, at));
        let mut due = std::mem::take(&mut self.collected);
        std::mem::swap(&mut self.collected, &mut self.spare);
        for packet in due.drain(..) {
            self.simulation.network.set_source(&packet);
            self.deliver_ahead(&packet, stops);
        }
        self.spare = due;
    }

    /// Stops the run if it was cancelled or an application failed, else reports its progress.
    #[cold]
    fn check(
        &mut self,
        now: Time,
        cancel: &AtomicBool,
        progress: Option<&AtomicU64>,
        stops: &mut impl Collects,
    ) -> Result<(), Fault> {
        self.events += CHECK_INTERVAL;
        if cancel.load(Ordering::Relaxed) {
            return Err(Fault::new("run", "stopped before its end", "").of_kind(FaultKind::Cancelled));
        }
        if let Some(fault) = self.simulation.failure.take() {
            return Err(fault);
        }
        if self.events > self.max_events {
            let what = format!("exceeds {} events", self.max_events);
            return Err(Fault::new("run", what, "").of_kind(FaultKind::LimitExceeded));
        }
        if let Some(progress) = progress {
            progress.store(now.as_nanos(), Ordering::Relaxed);
        }
        stops.stop(Stop::Check, &mut RunState::new(&mut self.simulation, now));
        Ok(())
    }

    /// Processes an arrival.
    #[allow(clippy::inline_always)] // the body of the loop
    #[inline(always)]
    fn on_arrival<S: Collects>(&mut self, now: Time, stops: &S) {
        let simulation = &mut self.simulation;
        let network = &mut simulation.network;
        network.clock = now;
        let mut packet = Packet::default();
        if S::SORTS && network.is_next_sorted(now) {
            if network.advance_sorted(now, &mut packet) {
                self.deliver_ahead(&packet, stops);
            }
            return;
        }
        network.take_arrival(&mut packet);
        if Network::has_arrived(&packet) {
            simulation.deliver(now, &packet);
        } else if network.advance(now, &mut packet) {
            self.deliver_ahead(&packet, stops);
        }
    }

    /// Delivers a packet ahead of the clock, unless it arrives after the next stop.
    #[allow(clippy::inline_always)] // part of the body of the loop
    #[inline(always)]
    fn deliver_ahead(&mut self, packet: &Packet, stops: &impl Collects) {
        if stops.collects(packet.at) {
            self.collected.push(*packet);
        } else {
            self.simulation.deliver_ahead(packet, self.sampler.times);
        }
    }

    /// Processes the top of the agenda, a timer or a server event.
    #[inline(never)]
    fn on_agenda_event(&mut self, now: Time, stops: &impl Collects) {
        let simulation = &mut self.simulation;
        let network = &mut simulation.network;
        let source = network.agenda.source();
        (network.clock, network.events.source) = (now, source);
        match network.sources.owner(source) {
            Owner::Timer(id, which) => {
                simulation.on_timer(now, id, which, None);
                return;
            }
            Owner::Server(server) => network.serve(now, server),
        }
        while let Some(early) = self.simulation.network.take_early() {
            self.deliver_ahead(&early, stops);
        }
    }

    pub(crate) fn finish(mut self) -> (Records, Statistics) {
        let (records, delivered_packets) = self.sampler.finish(&mut self.simulation);
        let memory_bytes = (self.simulation.connections.memory() + self.simulation.network.memory()) as u64;
        (records, Statistics { events: self.events, delivered_packets, memory_bytes, threads: 1 })
    }
}
