//! A run on several threads: one has the shared links, the others have the endpoints of the flows, of which the first may
//! have a part as well.
//!
//! The clock of the shared links advances by windows of half the time by which the parts may differ
//! ([`cwndlab_path::division`]). While the links process the window that begins at `T`, the endpoints process what the window
//! before has sent to them, their timers, and their samples up to `T`; between two windows the parts exchange packets and
//! losses. Each endpoint processes the same events in the same order as in a run on one thread, so that the records are
//! the same for any number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::Arc;
use std::thread::Scope;

use cwndlab_path::division::{ByConnection, Division, Exchange};
use cwndlab_path::event_sources::Owner;
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_records::rows::{Records, SampleRow};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{ConnectionId, Duration, Fault, FlowId, LinkId, Time};

use crate::batches::{self, MIN_FLOWS};
use crate::end_samples::SampleTimes;
use crate::engine::{Engine, LookAhead, Statistics};
use crate::sampler::Sampler;
use crate::simulation::Simulation;
use crate::stops::{Collects, RunState, Stop};

/// Attempts to receive before a thread sleeps: to wake a thread takes longer than a window of few packets.
const ATTEMPTS: u32 = 4096;

/// Runs the plan with this seed on up to `threads` threads. The records are those of [`crate::run`]. A plan that cannot be
/// divided runs on one thread: with flows other than bulk data, controls that may share state, saved parameters, packet
/// records, or endpoints that share the links on which they send or send without delay.
pub fn run_parallel(
    plan: &Plan,
    seed: u64,
    threads: usize,
    cancel: &AtomicBool,
    progress: Option<&AtomicU64>,
) -> Result<(Records, Statistics), Fault> {
    let plan = plan.perturbed(seed);
    let mut engine = Engine::without_starts(&plan, seed, u64::MAX, LookAhead::Enabled);
    if let Some(division) = engine.simulation.division().filter(|_| threads > 1) {
        return run_divided(engine, &division, threads, cancel, progress, None);
    }
    engine.arm_starts();
    engine.run_alone(cancel, progress)
}

/// What a run on several threads takes, by its parts, each of which ran alone; seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedule {
    /// The shared links.
    pub links: f64,
    /// All parts, one after another.
    pub one_thread: f64,
    /// All windows, each as long as its longest part.
    pub several_threads: f64,
}

/// Runs the plan as on `threads` threads, but one part after another, and returns how long they would take together without
/// the exchanges; `None` if the plan cannot be divided. `clock` returns seconds.
pub fn schedule(plan: &Plan, seed: u64, threads: usize, clock: &dyn Fn() -> f64) -> Result<Option<Schedule>, Fault> {
    let plan = plan.perturbed(seed);
    let engine = Engine::without_starts(&plan, seed, u64::MAX, LookAhead::Enabled);
    let Some(division) = engine.simulation.division().filter(|_| threads > 1) else { return Ok(None) };
    let mut timing = Timing { clock, since: clock(), longest: 0.0, here: 0.0, schedule: Schedule::default() };
    run_divided(engine, &division, threads, &AtomicBool::new(false), None, Some(&mut timing))?;
    Ok(Some(timing.schedule))
}

fn run_divided(
    mut engine: Engine<'_>,
    division: &Division,
    threads: usize,
    cancel: &AtomicBool,
    progress: Option<&AtomicU64>,
    timing: Option<&mut Timing<'_>>,
) -> Result<(Records, Statistics), Fault> {
    let Simulation { plan, seed, .. } = engine.simulation;
    std::thread::scope(|scope| {
        let network = &mut engine.simulation.network;
        let mut windows = Windows::new(scope, plan, seed, division, Turns::new(threads, plan.flows.len()));
        windows.timing = timing;
        network.report_losses();
        network.leave_routes_early(division);
        if plan.flows.len() >= MIN_FLOWS {
            network.sort_arrivals(division);
        }
        windows.send();
        windows.receive(network);
        windows.restart_clock();
        engine.run(cancel, progress, &mut windows)?;
        engine.sampler.samples().append(&mut windows.samples);
        let (records, cost) = engine.finish();
        Ok((records, Statistics { events: cost.events + windows.events, threads: windows.threads(), ..cost }))
    })
}

/// The clock of a [`schedule`].
struct Timing<'c> {
    clock: &'c dyn Fn() -> f64,
    /// Start of the current window by the clock.
    since: f64,
    /// The longest part of endpoints of the window before on another thread.
    longest: f64,
    /// The part of endpoints on the thread of the shared links.
    here: f64,
    schedule: Schedule,
}

impl Timing<'_> {
    /// Adds the window of the shared links that ends now.
    fn add_links(&mut self) {
        let links = (self.clock)() - self.since;
        self.schedule.links += links;
        self.schedule.one_thread += links;
        let here = links + std::mem::take(&mut self.here);
        self.schedule.several_threads += here.max(std::mem::take(&mut self.longest));
    }

    /// Adds a part of endpoints, which is on the thread of the shared links or on another one.
    fn add_part(&mut self, seconds: f64, is_here: bool) {
        self.schedule.one_thread += seconds;
        if is_here {
            self.here += seconds;
        } else {
            self.longest = self.longest.max(seconds);
        }
    }
}

/// The parts to which the endpoints of flows belong.
#[derive(Clone, Debug)]
struct Turns {
    /// The parts of successive flows, again and again.
    parts: Arc<[usize]>,
    /// The first part is on the thread of the shared links.
    has_first_here: bool,
}

impl Turns {
    /// The parts of a run on at most `threads` threads. With many flows on two threads the endpoints take longer than the
    /// shared links, whose thread therefore has a quarter of them.
    fn new(threads: usize, flows: usize) -> Self {
        if threads == 2 && flows >= MIN_FLOWS {
            return Self { parts: [1, 1, 1, 0].into(), has_first_here: true };
        }
        Self { parts: (0..(threads - 1).min(flows)).collect(), has_first_here: false }
    }

    /// The number of parts.
    fn count(&self) -> usize {
        self.parts.iter().max().map_or(0, |last| last + 1)
    }

    /// The part of a flow's endpoints.
    fn part(&self, flow: usize) -> usize {
        self.parts[flow % self.parts.len()]
    }
}

/// The endpoints of a part: those of the flows whose turn it is.
#[derive(Clone, Debug)]
struct Share {
    turns: Turns,
    part: usize,
}

impl Share {
    fn flows(&self, plan: &Plan) -> impl Iterator<Item = FlowId> + use<'_> {
        plan.flows.ids().filter(|flow| self.turns.part(flow.index()) == self.part)
    }

    /// The links that only packets of its endpoints cross.
    fn links<'d>(&self, plan: &Plan, division: &'d Division) -> impl Iterator<Item = &'d LinkId> + use<'_, 'd> {
        let of = |flow: FlowId| division.leaving_links[flow].iter().chain(&division.arriving_links[flow]).flatten();
        self.flows(plan).flat_map(of)
    }
}

/// What the thread of the shared links sends to a thread of endpoints.
struct Work {
    /// Packets that reach endpoints, and losses.
    exchange: Exchange,
    /// The time up to which the exchange is complete.
    known: Time,
    /// The time up to which the endpoints process timers.
    until: Time,
}

/// What a thread of endpoints sends back.
enum Answer<'p> {
    /// Packets that reach shared links, and losses, after each window.
    Window(Exchange),
    /// Its state at the end.
    End(Box<Endpoints<'p>>),
}

/// Where the endpoints of a part are.
enum Place<'p> {
    /// On another thread. `work`: `None` after the last window.
    Thread { work: Option<Sender<Work>>, answers: Receiver<Answer<'p>> },
    /// On the thread of the shared links.
    Here(Box<Endpoints<'p>>),
}

/// Endpoints, as the thread of the shared links knows them.
struct Part<'p> {
    share: Share,
    /// Packets and losses for the next window.
    next: Exchange,
    /// What it has sent last and [`Windows::receive`] has not read; else memory for the window after the next.
    received: Exchange,
    /// It has not answered yet.
    is_busy: bool,
    place: Place<'p>,
}

impl<'p> Part<'p> {
    fn is_here(&self) -> bool {
        matches!(self.place, Place::Here(_))
    }

    /// Sends it what is known up to `known`; it processes timers up to `until`.
    fn send(&mut self, known: Time, until: Time) {
        let exchange = std::mem::replace(&mut self.next, std::mem::take(&mut self.received));
        let work = Work { exchange, known, until };
        match &mut self.place {
            // It fails if the thread has panicked, which the scope reports.
            Place::Thread { work: thread, .. } => {
                self.is_busy = thread.as_ref().is_some_and(|thread| thread.send(work).is_ok());
            }
            Place::Here(endpoints) => self.received = endpoints.process(work),
        }
    }

    /// Waits for its answer.
    fn wait(&mut self) {
        if !std::mem::take(&mut self.is_busy) {
            return;
        }
        if let Place::Thread { answers, .. } = &self.place {
            if let Some(Answer::Window(exchange)) = receive(answers) {
                self.received = exchange;
            }
        }
    }

    /// Its state at the end; `None` if its thread has panicked.
    fn end(self) -> Option<Box<Endpoints<'p>>> {
        match self.place {
            Place::Here(endpoints) => Some(endpoints),
            Place::Thread { work, answers } => {
                drop(work);
                receive(&answers).and_then(|answer| match answer {
                    Answer::End(endpoints) => Some(endpoints),
                    Answer::Window(_) => None,
                })
            }
        }
    }
}

/// The windows of the shared links' clock.
struct Windows<'p, 't, 'c> {
    plan: &'p Plan,
    division: &'p Division,
    /// Length of a window.
    length: Duration,
    /// Start of the current window.
    start: Time,
    /// The first time after the run.
    stop: Time,
    turns: Turns,
    parts: Vec<Part<'p>>,
    /// Rows of the table `samples`, from all parts.
    samples: Vec<SampleRow>,
    /// Events of all parts.
    events: u64,
    /// The parts run one after another, and this measures them.
    timing: Option<&'t mut Timing<'c>>,
}

impl<'p> Windows<'p, '_, '_> {
    /// Starts the threads of endpoints.
    fn new<'s>(scope: &'s Scope<'s, 'p>, plan: &'p Plan, seed: u64, division: &'p Division, turns: Turns) -> Self {
        let part = |part| {
            let share = Share { turns: turns.clone(), part };
            let place = if part == 0 && turns.has_first_here {
                Place::Here(Box::new(Endpoints::new(plan, seed, division, &share)))
            } else {
                let (work, received) = channel();
                let (sent, answers) = channel();
                let share = share.clone();
                scope.spawn(move || Endpoints::new(plan, seed, division, &share).work(&received, &sent));
                Place::Thread { work: Some(work), answers }
            };
            Part { share, next: Exchange::default(), received: Exchange::default(), is_busy: false, place }
        };
        let parts = (0..turns.count()).map(part).collect();
        let length = Duration::from_nanos(u64::midpoint(division.arriving.as_nanos(), division.leaving.as_nanos()));
        Self {
            plan,
            division,
            length,
            start: Time::ZERO,
            stop: Time::ZERO + plan.duration + Duration::from_nanos(1),
            turns,
            parts,
            samples: Vec::new(),
            events: 0,
            timing: None,
        }
    }

    /// What was done before the run does not count for its first window.
    fn restart_clock(&mut self) {
        self.timing.iter_mut().for_each(|timing| timing.since = (timing.clock)());
    }

    /// Threads of the run.
    fn threads(&self) -> usize {
        self.turns.count() + usize::from(!self.turns.has_first_here)
    }

    /// Sends the parts what is known up to the start of the current window. Initially they process the endpoints up to the
    /// time after which packets of the first window reach them.
    fn send(&mut self) {
        let until = (self.start + self.division.arriving).min(self.stop);
        // The part of this thread is the first one, and the others work at the same time.
        for part in self.parts.iter_mut().rev() {
            let begin = self.timing.as_ref().map(|timing| (timing.clock)());
            part.send(self.start, until);
            if let Some((timing, begin)) = self.timing.as_mut().zip(begin) {
                part.wait();
                timing.add_part((timing.clock)() - begin, part.is_here());
            }
        }
    }

    /// Receives what the parts send. Their packets are then on the way to the shared links.
    fn receive(&mut self, network: &mut Network) {
        for part in &mut self.parts {
            part.wait();
            network.adopt_losses(&part.received);
            network.adopt_wires(&part.received);
            part.received.clear();
        }
    }

    /// Ends the parts, and moves their state to `simulation`.
    fn join(&mut self, simulation: &mut Simulation<'_>) {
        for part in self.parts.drain(..) {
            let share = part.share.clone();
            let Some(mut ends) = part.end() else { continue };
            self.events += ends.events;
            self.samples.append(ends.sampler.samples());
            for flow in share.flows(self.plan) {
                simulation.connections.swap(flow.into(), &mut ends.simulation.connections);
            }
            simulation.network.absorb(&mut ends.simulation.network, share.links(self.plan, self.division));
        }
        self.samples.sort_by_key(|row| (row.time_ns, row.flow));
    }
}

impl Collects for Windows<'_, '_, '_> {
    const SORTS: bool = true;

    /// The last time of the current window.
    fn next(&self) -> Time {
        if self.start >= self.stop {
            return Time::MAX;
        }
        Time::from_nanos((self.start + self.length).min(self.stop).as_nanos() - 1)
    }

    /// The parts process all packets.
    fn collects(&self, _: Time) -> bool {
        true
    }

    fn take(&mut self, collected: &mut Vec<Packet>, simulation: &mut Simulation<'_>, _: SampleTimes) {
        let network = &mut simulation.network;
        // Each flow has one connection, which has its number.
        let part_of = |connection: ConnectionId| self.turns.part(connection.index());
        for packet in collected.drain(..) {
            network.give(packet, &mut self.parts[part_of(packet.connection())].next);
        }
        for loss in network.take_losses() {
            self.parts[part_of(loss.1)].next.add_loss(loss);
        }
    }

    fn stop(&mut self, reason: Stop, state: &mut RunState<'_, '_>) {
        if reason == Stop::Check {
            return;
        }
        self.receive(&mut state.simulation().network);
        self.timing.iter_mut().for_each(|timing| timing.add_links());
        if reason == Stop::End {
            self.join(state.simulation());
            return;
        }
        self.start = (self.start + self.length).min(self.stop);
        self.send();
        self.restart_clock();
    }
}

/// The next value; `None` if the other thread has ended.
fn receive<T>(from: &Receiver<T>) -> Option<T> {
    for _ in 0..ATTEMPTS {
        match from.try_recv() {
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            other => return other.ok(),
        }
    }
    from.recv().ok()
}

/// The endpoints of a part.
struct Endpoints<'p> {
    simulation: Simulation<'p>,
    sampler: Sampler,
    order: ByConnection,
    events: u64,
}

impl<'p> Endpoints<'p> {
    fn new(plan: &'p Plan, seed: u64, division: &Division, share: &Share) -> Self {
        let mut simulation = Simulation::new(plan, seed);
        let bulk = simulation.prepare_applications();
        simulation.run_ends_ahead(&bulk);
        simulation.network.become_part(division);
        for flow in share.flows(plan) {
            simulation.arm_start(flow.into());
        }
        Self {
            simulation,
            sampler: Sampler::of_flows(plan),
            order: ByConnection::new(plan, share.flows(plan).count()),
            events: 0,
        }
    }

    /// Processes windows until there are no more.
    fn work(mut self, received: &Receiver<Work>, answers: &Sender<Answer<'p>>) {
        while let Some(work) = receive(received) {
            let answer = Answer::Window(self.process(work));
            if answers.send(answer).is_err() {
                return; // the run has failed
            }
        }
        let _ = answers.send(Answer::End(Box::new(self)));
    }

    /// Processes the endpoints of a window; returns what they send.
    fn process(&mut self, Work { mut exchange, known, until }: Work) -> Exchange {
        let simulation = &mut self.simulation;
        let plan = simulation.plan;
        simulation.network.adopt_losses(&exchange);
        // Losses count from the time at which samples can be taken.
        simulation.network.clock = known;
        exchange.sort(&mut self.order);
        let ask = |_: &Network, packet: &Packet| exchange.prefetch(packet);
        let adopt = |network: &mut Network, packet| network.adopt(packet, &exchange);
        batches::deliver(exchange.packets(), simulation, self.sampler.times, ask, adopt);
        while simulation.network.agenda.next_time() < until {
            self.events += 1;
            let (now, source) = (simulation.network.agenda.next_time(), simulation.network.agenda.source());
            simulation.network.events.source = source;
            let Owner::Timer(id, which) = simulation.network.sources.owner(source) else {
                unreachable!("servers belong to shared links")
            };
            simulation.on_timer(now, id, which, Some(self.sampler.times));
        }
        self.sampler.sample_before(known, Time::ZERO + plan.duration, simulation);
        exchange.clear();
        for loss in simulation.network.take_losses() {
            exchange.add_loss(loss);
        }
        simulation.network.give_sent(&mut exchange);
        exchange
    }
}
