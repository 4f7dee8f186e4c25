//! An 802.11 neighbourhood: several cells whose stations do not all receive each other.
//!
//! A [`Neighbourhood`] advances from event to event: the start and end of a frame, a response a SIFS later, a timeout, the
//! end of a backoff. Each station has its own carrier sense (preamble detection, energy detection, NAV), so that backoff
//! counters freeze individually. A frame is received with the success probability of its SINR over its duration, in
//! periods of constant interference. The propagation delay is zero. Channel access is that of a single access category.

mod access;
pub mod error_rate;
mod minstrel;
mod queue;
pub mod radio;
mod rate_control;
mod reception;
mod station;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use cwndlab_units::maths::ln;
use cwndlab_units::{Duration, Time};

pub use radio::{Channel, PathLoss, Radio};
pub use rate_control::RateControl;
pub use station::{BusyTimes, LossCauses};

use self::station::{Activity, Backoff, FrameKind, NeighbourPath, SentFrame, Station};
use super::access_function::{Counters, PathTotals, QueueLength, Routed};
use super::airtimes::{FlowAirtimes, KnownFlow};
use super::contention::NEVER;
use super::medium::{with, FrameOutcome, QueueConfig};
use super::phy::Mode;
use super::rules::Rules;
use crate::aqm::QueuedPacket;
use crate::random::{Purpose, Stream};

/// A pair of sender and receiver.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourPathConfig {
    /// The sending station.
    pub from: u32,
    /// The receiving station.
    pub to: u32,
    /// Modulation and coding of data frames.
    pub rate_control: RateControl,
    /// Probability that noise destroys a data frame beside that of its SINR.
    pub error: f64,
}

/// An event. At the same time, frames end before timeouts, and timeouts precede the start of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The end of a frame, by its number.
    End(u64),
    /// The response timeout of a station, with its number.
    Timeout(u32, u64),
    /// A frame a SIFS after another one.
    Respond { station: u32, kind: ResponseKind, to: u32, nav: Duration, mode_bits: u32, bytes: u32 },
    /// A station whose NAV is that of an RTS receives nothing after it: the NAV is reset.
    ResetNav(u32, Time),
    /// The end of a backoff, with its generation.
    Access(u32, u64),
}

/// A response: the order of variants is that of events at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ResponseKind {
    Ack,
    Cts,
    Data,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
struct Signal {
    number: u64,
    from: u32,
    to: u32,
    kind: FrameKind,
    mode: Mode,
    start: Time,
    /// Reservation after its end: its duration field.
    nav: Duration,
    /// Size of a control frame, bytes.
    bytes: u32,
}

/// The stations of a neighbourhood.
///
/// The interface is that of [`Medium`](super::Medium): at the time that [`next`](Self::next) returns, the caller calls
/// [`process_until`](Self::process_until) and then [`take`](Self::take), before it offers further packets.
#[derive(Debug)]
pub struct Neighbourhood<P> {
    rules: Rules,
    radio: Radio,
    stations: Vec<Station<P>>,
    paths: Vec<NeighbourPath<P>>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    /// Frames on the air.
    signals: Vec<Signal>,
    /// Numbers of the frames that start at the present time.
    starting: Vec<u64>,
    /// Number of the next frame on the air, and of the next packet.
    next_signal: u64,
    serial: u64,
    /// Outcomes, all of the same time, and packets that disciplines dropped then.
    outcomes: Vec<FrameOutcome<P>>,
    dropped: Vec<QueuedPacket<Routed<P>>>,
    due: Time,
    flow_airtimes: FlowAirtimes,
}

impl<P: Copy> Neighbourhood<P> {
    /// Stations without frames, by their queues. Every station has its own random stream, so that stations
    /// that do not receive each other are independent.
    #[must_use]
    pub fn new(
        rules: Rules,
        radio: Radio,
        queues: Vec<QueueConfig<P>>,
        paths: &[NeighbourPathConfig],
        mut random: Stream,
    ) -> Self {
        let seed = random.bits();
        let station = |(index, queue): (usize, QueueConfig<P>)| {
            let paths = (0..).zip(paths).filter(|one| one.1.from as usize == index).map(|one| one.0).collect();
            new_station(&rules, queue, paths, Stream::new(seed, Purpose::Medium, index as u64))
        };
        let stations = queues.into_iter().enumerate().map(station).collect();
        let path = |config: &NeighbourPathConfig| new_path(config, &radio);
        Self {
            paths: paths.iter().map(path).collect(),
            stations,
            rules,
            radio,
            events: BinaryHeap::new(),
            signals: Vec::new(),
            starting: Vec::new(),
            next_signal: 0,
            serial: 0,
            outcomes: Vec::new(),
            dropped: Vec::new(),
            due: NEVER,
            flow_airtimes: FlowAirtimes::default(),
        }
    }

    /// Time of the next event, unless a packet is offered before; [`NEVER`] if there is none.
    #[must_use]
    pub fn next(&self) -> Time {
        if self.has_outcomes() {
            self.due
        } else {
            self.events.peek().map_or(NEVER, |event| event.0 .0)
        }
    }

    /// Whether the caller has to take something.
    fn has_outcomes(&self) -> bool {
        !self.outcomes.is_empty() || !self.dropped.is_empty()
    }

    /// Processes events until `now`, up to the first time with outcomes.
    pub fn process_until(&mut self, now: Time) {
        while !self.has_outcomes() {
            let Some(&Reverse((at, _))) = self.events.peek() else { return };
            if at > now {
                return;
            }
            self.process_at(at);
        }
    }

    /// Moves the outcomes until `now` to `taken`, which must be empty, and the packets that disciplines dropped to
    /// `dropped`.
    pub fn take(&mut self, now: Time, taken: &mut Vec<FrameOutcome<P>>, dropped: &mut Vec<QueuedPacket<P>>) {
        debug_assert!(taken.is_empty(), "the caller has processed the previous outcomes");
        if self.due <= now {
            std::mem::swap(&mut self.outcomes, taken);
            dropped.extend(self.dropped.drain(..).map(|one| with(one, one.packet.packet)));
            self.due = NEVER;
        }
    }

    /// Processes all events at `at`: ends of frames, timeouts, and then the frames that start together.
    fn process_at(&mut self, at: Time) {
        while let Some(&Reverse((time, event))) = self.events.peek() {
            if time > at {
                break;
            }
            self.events.pop();
            match event {
                Event::End(signal) => self.end_signal(at, signal),
                Event::Timeout(station, number) => self.time_out(at, station, number),
                Event::Respond { station, kind, to, nav, mode_bits, bytes } => {
                    self.respond(at, station, kind, to, nav, Mode::Ofdm { bits: mode_bits }, bytes);
                }
                Event::ResetNav(station, nav) => self.reset_nav(at, station, nav),
                Event::Access(station, generation) => self.access(at, station, generation),
            }
        }
        self.detect(at);
        if self.has_outcomes() {
            self.due = at;
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.paths.iter().map(|path| path.frames.capacity() * size_of::<SentFrame<P>>()).sum::<usize>()
            + self.events.capacity() * size_of::<(Time, Event)>()
    }

    /// Counters of a station.
    #[must_use]
    pub fn counters(&self, station: u32) -> Counters {
        self.stations[station as usize].counters
    }

    /// Failed exchanges of a station by cause.
    #[must_use]
    pub fn loss_causes(&self, station: u32) -> LossCauses {
        self.stations[station as usize].causes
    }

    /// Time of a station by activity until `now`.
    #[must_use]
    pub fn busy_times(&self, now: Time, station: u32) -> BusyTimes {
        self.stations[station as usize].busy_until(now)
    }

    /// Counters of a path.
    #[must_use]
    pub fn path_totals(&self, path: u32) -> PathTotals {
        self.paths[path as usize].totals
    }

    /// Packets and bytes of a path in the queue of its station, including those in transmission.
    #[must_use]
    pub fn path_backlog(&self, now: Time, path: u32) -> (u64, u64) {
        self.paths[path as usize].queue_length.at(now)
    }

    /// Arrival time of the packet of a path that has waited longest. Where none is in the device, that of the
    /// discipline.
    #[must_use]
    pub fn path_oldest(&self, path: u32) -> Option<Time> {
        let path = &self.paths[path as usize];
        let waiting = path.frames.iter().find(|frame| !frame.done).map(|frame| frame.one.since);
        waiting.or_else(|| self.stations[path.from as usize].queue.as_ref()?.oldest())
    }

    /// Integrals of the queue length of a path until `now`, in packet-nanoseconds and byte-nanoseconds.
    #[must_use]
    pub fn path_integrals(&self, now: Time, path: u32) -> (u128, u128) {
        self.paths[path as usize].queue_length.integrals(now)
    }

    /// Maximum number of packets of a path in the queue of its station.
    #[must_use]
    pub fn path_max_queue_length(&self, path: u32) -> u64 {
        self.paths[path as usize].queue_length.max
    }

    /// Integrals of the queue length of a station until `now`, in packet-nanoseconds and byte-nanoseconds.
    #[must_use]
    pub fn integrals(&self, now: Time, station: u32) -> (u128, u128) {
        self.stations[station as usize].queue_length.integrals(now)
    }

    /// Maximum number of packets in the queue of a station.
    #[must_use]
    pub fn max_queue_length(&self, station: u32) -> u64 {
        self.stations[station as usize].queue_length.max
    }

    /// Packets and bytes in the queue of a station.
    #[must_use]
    pub fn backlog(&self, now: Time, station: u32) -> (u64, u64) {
        self.stations[station as usize].queue_length.at(now)
    }

    /// By flow of the packets, the airtime of the exchanges with their frames.
    pub fn flow_airtimes(&self) -> impl Iterator<Item = (u64, Duration)> + '_ {
        self.flow_airtimes.all()
    }
}

/// A station without frames.
fn new_station<P>(rules: &Rules, queue: QueueConfig<P>, paths: Vec<u32>, random: Stream) -> Station<P> {
    let backoff = Backoff {
        slots: 0,
        ready: Time::ZERO + rules.aifs(&rules.access),
        idle_from: Time::ZERO,
        immediate: false,
        cw: rules.access.cw_min,
        generation: 0,
    };
    Station {
        backoff,
        sending: None,
        reception: None,
        activity: Activity::Idle,
        since: Time::ZERO,
        failed_reception: false,
        nav: Time::ZERO,
        nav_of_rts: false,
        gap_from: NEVER,
        exchange: None,
        request: None,
        paths,
        backlog: 0,
        limit: queue.limit,
        counts_in_service: queue.counts_in_service,
        queue: queue.discipline,
        room: rules.aggregation.filter(|_| rules.access.aggregates).map_or(1, |one| u64::from(one.frames)),
        queue_length: QueueLength::default(),
        counters: Counters::default(),
        causes: LossCauses::default(),
        busy: BusyTimes::default(),
        random,
    }
}

/// A path without frames.
fn new_path<P>(config: &NeighbourPathConfig, radio: &Radio) -> NeighbourPath<P> {
    let snr_db = radio::decibels(radio.power(config.from, config.to) / radio.noise(config.to));
    NeighbourPath {
        from: config.from,
        to: config.to,
        mode: config.rate_control.constant(snr_db),
        minstrel: config.rate_control.minstrel(),
        misses: 0,
        ln_noise: ln(1.0 - config.error),
        frames: VecDeque::new(),
        queue_length: QueueLength::default(),
        totals: PathTotals::default(),
        known_flow: KnownFlow::default(),
        max_bytes: None,
    }
}
