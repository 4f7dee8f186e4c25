//! An 802.11 neighbourhood: several cells whose stations do not all receive each other.
//!
//! A [`Neighbourhood`] advances from event to event: the start and end of a frame, a response a SIFS later, a timeout, the
//! end of a backoff. Each station has its own carrier sense (preamble detection, energy detection, NAV), so that backoff
//! counters freeze individually. A frame is received with the success probability of its SINR over its duration, in
//! periods of constant interference. The propagation delay is zero.

mod access;
mod block_ack;
mod dozing;
pub mod error_rate;
mod minstrel;
mod power_save;
pub mod radio;
mod rate_control;
mod reception;
#[cfg(test)]
mod tests;
mod transceiver;
mod txop;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cwndlab_units::{Duration, Time};

pub use radio::{Channel, PathLoss, Radio};
pub use rate_control::RateControl;
pub use transceiver::{BusyTimes, LossCauses};

use self::minstrel::Minstrel;
use self::power_save::PowerSave;
use self::rate_control::ideal;
use self::transceiver::{Activity, Backoff, FrameKind, OwnExchange, Transceiver};
use super::contention::NEVER;
use super::medium::FrameOutcome;
use super::phy::Mode;
use super::rules::Rules;
use super::stations::{PathConfig, QueueConfig, Stations};
use crate::aqm::QueuedPacket;
use crate::random::{Purpose, Stream};

/// The receiver of a beacon.
const BROADCAST: u32 = u32::MAX;

/// An event. At the same time, frames end before timeouts, and timeouts precede the start of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The end of a frame, by its number.
    End(u64),
    /// The response timeout of a station, with its number.
    Timeout(u32, u64),
    /// A beacon is due, by the rules of its medium.
    Beacon(u32),
    /// A frame a SIFS after another one.
    Respond { station: u32, kind: ResponseKind, to: u32, nav: Duration, mode_bits: u32, bytes: u32 },
    /// The next exchange of the TXOP of a station.
    Continue(u32),
    /// The beacon of a station.
    SendBeacon(u32),
    /// A station whose NAV is that of an RTS may have received nothing after it: the NAV is reset.
    ResetNav(u32, Time),
    /// The end of the backoff of an access function.
    Access(u32),
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
    /// Rules of the media.
    rules: Vec<Rules>,
    radio: Radio,
    transceivers: Vec<Transceiver>,
    stations: Stations<P>,
    /// By access function.
    backoffs: Vec<Backoff>,
    /// By path, the rate adaptation that depends on its acknowledgements.
    minstrels: Vec<Option<Minstrel>>,
    /// By access function, its next exchange, if that is a request for a BlockAck.
    requests: Vec<Option<OwnExchange>>,
    power_save: PowerSave<P>,
    /// By rules, the threshold of energy detection, mW.
    energy_mw: Vec<f64>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    /// Frames on the air.
    signals: Vec<Signal>,
    /// Numbers of the frames that start at the present time.
    starting: Vec<u64>,
    /// Number of the next frame on the air.
    next_signal: u64,
    /// Outcomes, all of the same time.
    outcomes: Vec<FrameOutcome<P>>,
    /// Time of the outcomes, or of devices to refill.
    due: Time,
}

impl<P: Copy> Neighbourhood<P> {
    /// Stations without frames. `media` holds for each station the index of its rules. If any of these has EDCA, each
    /// station has four queues, in the order of [`AccessCategory::ALL`](super::AccessCategory::ALL). Every station has its
    /// own random stream, so that stations that do not receive each other are independent.
    #[must_use]
    pub fn new(
        rules: Vec<Rules>,
        media: &[u32],
        radio: Radio,
        queues: Vec<QueueConfig<P>>,
        paths: &[(PathConfig, RateControl)],
        mut random: Stream,
    ) -> Self {
        let adapt = |&(config, control): &(PathConfig, RateControl)| {
            let snr = |to| radio::decibels(radio.power(config.from, to) / radio.noise(to));
            match (control, config.to) {
                (RateControl::Ideal, Some(to)) => PathConfig { mode: ideal(config.mode, snr(to)), ..config },
                _ => config,
            }
        };
        let minstrel = |&(config, control): &(PathConfig, RateControl)| {
            (control == RateControl::Minstrel).then(|| Minstrel::new(config.mode))
        };
        let minstrels = paths.iter().map(minstrel).collect();
        let paths: Vec<PathConfig> = paths.iter().map(adapt).collect();
        let of_station: Vec<&Rules> = media.iter().map(|&medium| &rules[medium as usize]).collect();
        let stations = Stations::new(&of_station, queues, &paths);
        let backoff =
            |aifs| Backoff { slots: 0, ready: Time::ZERO + aifs, immediate: false, due: NEVER, failures: [0; 2] };
        let seed = random.bits();
        let transceiver = |(index, &rules)| new_transceiver(rules, Stream::new(seed, Purpose::Medium, index));
        let beacons = (0..).zip(&rules).filter_map(|(index, rules)| Some((index, rules.beacon?)));
        let beacons = beacons.map(|(index, beacon)| Reverse((Time::ZERO + beacon.interval, Event::Beacon(index))));
        Self {
            transceivers: (0..).zip(media).map(transceiver).collect(),
            backoffs: stations.functions.iter().map(|function| backoff(function.aifs)).collect(),
            minstrels,
            requests: stations.functions.iter().map(|_| None).collect(),
            energy_mw: rules.iter().map(|rules| radio::milliwatts(rules.energy_detection_dbm)).collect(),
            power_save: PowerSave::new(&rules, media),
            stations,
            events: beacons.collect(),
            rules,
            radio,
            signals: Vec::new(),
            starting: Vec::new(),
            next_signal: 0,
            outcomes: Vec::new(),
            due: NEVER,
        }
    }

    /// Time of the next event, unless a packet is offered before; [`NEVER`] if there is none.
    #[must_use]
    pub fn next(&self) -> Time {
        if self.due < NEVER {
            self.due
        } else {
            self.events.peek().map_or(NEVER, |event| event.0 .0)
        }
    }

    /// Processes events until `now`, up to the first time with outcomes.
    pub fn process_until(&mut self, now: Time) {
        while self.due == NEVER {
            let Some(&Reverse((at, _))) = self.events.peek() else { return };
            if at > now {
                return;
            }
            self.process_at(at);
        }
    }

    /// Moves the outcomes until `now` to `taken`, which must be empty, and refills devices. Appends the packets that
    /// disciplines drop to `dropped`.
    pub fn take(&mut self, now: Time, taken: &mut Vec<FrameOutcome<P>>, dropped: &mut Vec<QueuedPacket<P>>) {
        debug_assert!(taken.is_empty(), "the caller has processed the previous outcomes");
        if self.due > now {
            return;
        }
        std::mem::swap(&mut self.outcomes, taken);
        self.due = NEVER;
        let mut refilled = Vec::new();
        self.stations.refill_pending(now, dropped, |index, sends| refilled.extend(sends.then_some(index)));
        for index in refilled {
            self.arm(now, index);
        }
        self.release(now, dropped);
    }

    /// Enqueues a packet for a path. Appends the packets that are dropped to `dropped`.
    pub fn offer(&mut self, now: Time, path: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.process_until(now);
        if let Some(station) = self.dozing(now, path) {
            return self.hold(now, station, path, one, dropped);
        }
        if let Some(index) = self.stations.offer(now, path, one, dropped) {
            self.begin_contending(now, index);
        }
    }

    /// The stations.
    #[must_use]
    pub fn stations(&self) -> &Stations<P> {
        &self.stations
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
                Event::Beacon(rules) => self.queue_beacon(at, rules),
                Event::Continue(station) => self.continue_txop(at, station),
                Event::SendBeacon(station) => self.send_beacon(at, station),
                Event::ResetNav(station, nav) => self.reset_nav(at, station, nav),
                Event::Access(index) => self.access(at, index as usize),
            }
        }
        self.detect(at);
        if !self.outcomes.is_empty() || !self.stations.pending.is_empty() || !self.power_save.woken.is_empty() {
            self.due = at;
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    /// Failed exchanges of a station by cause.
    #[must_use]
    pub fn loss_causes(&self, station: u32) -> LossCauses {
        self.transceivers[station as usize].causes
    }

    /// Time of a station by activity until `now`.
    #[must_use]
    pub fn busy_times(&self, now: Time, station: u32) -> BusyTimes {
        self.transceivers[station as usize].busy_until(now)
    }
}

/// A transceiver without frames, by the rules of its medium.
fn new_transceiver(rules: u32, random: Stream) -> Transceiver {
    Transceiver {
        rules,
        sending: None,
        reception: None,
        activity: Activity::Idle,
        since: Time::ZERO,
        failed_reception: false,
        nav: Time::ZERO,
        nav_of_rts: false,
        idle_from: Time::ZERO,
        gap_from: NEVER,
        exchange: None,
        txop: None,
        beacon_waits: false,
        beacon_at: NEVER,
        causes: LossCauses::default(),
        busy: BusyTimes::default(),
        random,
    }
}
