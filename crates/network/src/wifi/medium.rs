//! The medium: who sends next, and what becomes of it.

mod look;
mod queue;

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use super::contention::{Contention, Space, NEVER};
use super::phy::{subframe_bytes, Mode, SIFS};
use super::rules::{Deferral, Rules};
use super::station::{Airtimes, Counters, Frame, Gauge, Path, PathTotals, Routed, State, Station, Underway};
use crate::aqm::{Discipline, Waiting};
use crate::queue::Limit;
use crate::random::Stream;

/// A station at the start.
#[derive(Debug)]
pub struct StationConfig<P> {
    /// How much its queue holds, without a discipline.
    pub limit: Limit,
    /// What is in service counts: the frames on the air, or else the one that contends.
    pub counts_in_service: bool,
    /// What stands above the device, which then takes a frame from it when it has none, or fills an aggregate.
    pub discipline: Option<Box<dyn Discipline<Routed<P>>>>,
}

impl<P> StationConfig<P> {
    /// A drop-tail queue in the device.
    #[must_use]
    pub fn drop_tail(limit: Limit, counts_in_service: bool) -> Self {
        Self { limit, counts_in_service, discipline: None }
    }
}

/// A pair of sender and receiver.
#[derive(Clone, Copy, Debug)]
pub struct PathConfig {
    /// The sending station.
    pub from: u32,
    /// The receiving one, if it ever sends.
    pub to: Option<u32>,
    /// How it sends.
    pub mode: Mode,
    /// Probability that noise destroys a data frame, or one frame of an aggregate.
    pub error: f64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
pub enum FrameOutcome<P> {
    /// It is at its receiver.
    Delivered(Waiting<P>),
    /// It was given up.
    Lost(Waiting<P>),
}

/// What a station is about to send.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    path: u32,
    frames: u32,
    /// What is on the air first, and lost in a collision: the RTS, or the data.
    first: Duration,
    /// From the start to the end of the data.
    data_end: Duration,
    /// SIFS and the answer.
    answer: Duration,
    behind_rts: bool,
}

/// How many frames of an exchange were received, and given up.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    received: u64,
    lost: u64,
}

/// The medium with its stations.
///
/// The caller asks [`next`](Self::next) when something happens, calls [`settle`](Self::settle) then, and takes what came
/// of it with [`take`](Self::take) before it offers anything.
#[derive(Debug)]
pub struct Medium<P> {
    rules: Rules,
    stations: Vec<Station<P>>,
    /// Their backoff counters.
    contention: Contention,
    /// Those with a discipline whose last transmission may not have been told of yet.
    pending: Vec<u32>,
    /// What the one winner sends.
    alone: Option<Exchange>,
    paths: Vec<Path<P>>,
    chance: Stream,
    serial: u64,
    /// When the next beacon is due.
    beacon_due: Time,
    /// The last transmission ends, or ended, with its answer.
    quiet: Time,
    /// When `outcomes` happen, if there are any.
    due: Time,
    outcomes: Vec<FrameOutcome<P>>,
    /// The next transmission begins, if nothing comes before it.
    start: Time,
    next: Time,
    /// Stations that begin then; scratch of `start`.
    winners: Vec<u32>,
    beacons: u64,
    /// Scratch of disciplines.
    dropped: Vec<Waiting<Routed<P>>>,
}

fn new_path<P>(config: &PathConfig, rules: &Rules) -> Path<P> {
    Path {
        from: config.from,
        to: config.to,
        mode: config.mode,
        error: config.error,
        most_bytes: rules.most_bytes(config.mode),
        known: Airtimes::new(config.mode),
        frames: VecDeque::new(),
        gauge: Gauge::default(),
        totals: PathTotals::default(),
        underway: Underway::default(),
    }
}

impl<P: Copy> Medium<P> {
    /// A silent medium.
    #[must_use]
    pub fn new(rules: Rules, stations: Vec<StationConfig<P>>, paths: &[PathConfig], chance: Stream) -> Self {
        let contention = Contention::new(stations.len(), rules.slot, Time::ZERO + rules.difs());
        let station = |config: StationConfig<P>| Station {
            limit: config.limit,
            counts_in_service: config.counts_in_service,
            queue: config.discipline,
            device: 0,
            pending: false,
            sole_path: None,
            order: VecDeque::new(),
            gauge: Gauge::default(),
            cw: rules.cw_min,
            gap_from: NEVER,
            counters: Counters::default(),
            underway: Underway::default(),
        };
        let mut medium = Self {
            stations: stations.into_iter().map(station).collect(),
            contention,
            pending: Vec::new(),
            alone: None,
            paths: paths.iter().map(|config| new_path(config, &rules)).collect(),
            chance,
            serial: 0,
            beacon_due: rules.beacon.map_or(NEVER, |beacon| Time::ZERO + beacon.interval),
            quiet: Time::ZERO,
            due: NEVER,
            outcomes: Vec::new(),
            start: NEVER,
            next: NEVER,
            winners: Vec::new(),
            beacons: 0,
            dropped: Vec::new(),
            rules,
        };
        medium.find_sole_paths();
        medium.schedule_next();
        medium
    }

    /// Tells stations with one path which it is.
    fn find_sole_paths(&mut self) {
        let mut paths = vec![0u32; self.stations.len()];
        for (path, one) in (0..).zip(&self.paths) {
            paths[one.from as usize] += 1;
            let sole = paths[one.from as usize] == 1;
            self.stations[one.from as usize].sole_path = sole.then_some(path);
        }
    }

    /// When something may happen, if nothing is offered before; [`NEVER`] if nothing will. Not before the last call's time.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Lets happen what does until `now`.
    pub fn settle(&mut self, now: Time) {
        while self.outcomes.is_empty() && self.start <= now {
            self.transmit();
            if self.outcomes.is_empty() {
                self.schedule_next();
            } else {
                self.next = self.due;
            }
        }
    }

    /// What became of packets by `now`, in their order, goes to `taken`, which is empty; drops of disciplines that are asked
    /// for the next frames go to `dropped`.
    pub fn take(&mut self, now: Time, taken: &mut Vec<FrameOutcome<P>>, dropped: &mut Vec<Waiting<P>>) {
        debug_assert!(taken.is_empty(), "the caller has handled what it took before");
        if self.due > now {
            return;
        }
        std::mem::swap(&mut self.outcomes, taken);
        self.due = NEVER;
        if !self.pending.is_empty() {
            self.refill_pending(now, dropped);
        }
        self.schedule_next();
    }

    /// Devices whose last transmission is told of take what they have room for.
    fn refill_pending(&mut self, now: Time, dropped: &mut Vec<Waiting<P>>) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_unstable();
        for index in pending.drain(..).map(|index| index as usize) {
            // Its backoff runs already.
            if std::mem::take(&mut self.stations[index].pending) {
                self.refill(now, index, dropped);
            }
        }
        self.pending = pending;
    }

    /// Memory held, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.paths.iter().map(|path| path.frames.capacity() * size_of::<Frame<P>>()).sum::<usize>()
            + self.stations.iter().map(|station| station.order.capacity() * 16).sum::<usize>()
    }

    /// A frame came to a station that had none.
    fn begin_contending(&mut self, now: Time, index: usize) {
        let (slot, edca) = (self.rules.slot, self.rules.counts_busy_slot);
        let difs = self.rules.difs();
        let deferral = self.rules.deferral;
        let station = &self.stations[index];
        let contention = &mut self.contention;
        if contention.slots(index) > 0 && contention.expiry(index) > now {
            return; // the backoff after its last frame still runs
        }
        let in_gap = now >= station.gap_from && now - station.gap_from < SIFS;
        let Space { ready, idle_from } = contention.space(index);
        if now < idle_from && !in_gap {
            contention.set_slots(index, self.chance.below(u64::from(station.cw) + 1) as u32);
            return;
        }
        contention.set_slots(index, 0);
        contention.set_fresh(index, true);
        if now > ready {
            let ready = match deferral {
                Deferral::Draws if edca => ready + Duration((now - ready).0.next_multiple_of(slot.0)),
                Deferral::Draws => now,
                Deferral::Keeps => now + difs,
            };
            contention.set_space(index, Space { ready, idle_from });
        }
    }

    /// When the next transmission begins, whose it is, and when there is something to tell of it.
    fn schedule_next(&mut self) {
        self.start = self.contention.first(self.beacon_start(), &mut self.winners);
        self.look_at_winners();
    }

    /// The same where a station has begun to contend since the last time, and nothing else has changed.
    fn schedule_with(&mut self, index: usize) {
        let expiry = self.contention.expiry(index);
        if expiry > self.start {
            return;
        }
        if expiry < self.start {
            self.start = expiry;
            self.winners.clear();
        }
        let at = self.winners.partition_point(|&one| (one as usize) < index);
        self.winners.insert(at, index as u32);
        self.look_at_winners();
    }

    /// When there is something to tell of the next transmission.
    fn look_at_winners(&mut self) {
        let start = self.start;
        self.next = start;
        self.alone = None;
        // One frame alone needs no look at its start.
        if let [only] = self.winners[..] {
            if self.rules.aggregation.is_none() && self.beacon_start() > start {
                let exchange = self.exchange(only as usize);
                self.next = start + exchange.data_end;
                self.alone = Some(exchange);
            }
        }
    }

    fn beacon_start(&self) -> Time {
        if self.beacon_due == NEVER {
            return NEVER;
        }
        self.beacon_due.max(self.quiet + self.rules.pifs())
    }

    /// What the station sends when its turn comes.
    fn exchange(&mut self, station: usize) -> Exchange {
        let index = self.first_path(station);
        let (frames, bytes) = self.aggregate(&self.paths[index as usize]);
        let path = &mut self.paths[index as usize];
        let data = path.known.data(path.mode, bytes);
        let Airtimes { rts, ack, block_ack, .. } = path.known;
        let answer = SIFS + if frames > 1 { block_ack } else { ack };
        let behind_rts = self.rules.rts_above.is_some_and(|above| bytes > above);
        let (first, lead) = if behind_rts { (rts, rts + SIFS + ack + SIFS) } else { (data, Duration::ZERO) };
        Exchange { path: index, frames, first, data_end: lead + data, answer, behind_rts }
    }

    /// How many frames go together, and how many bytes they are.
    fn aggregate(&self, path: &Path<P>) -> (u32, u32) {
        let alone = path.frames[0].one.size + self.rules.overhead;
        let Some(aggregation) = self.rules.aggregation else { return (1, alone) };
        let (mut count, mut padded, mut bytes) = (0, 0, 0);
        for frame in path.frames.iter().take(aggregation.frames as usize) {
            if frame.state != State::Waiting {
                continue;
            }
            let mpdu = frame.one.size + self.rules.overhead;
            let with = padded + mpdu + super::phy::DELIMITER_BYTES;
            if with > path.most_bytes {
                break;
            }
            count += 1;
            bytes = with;
            padded += subframe_bytes(mpdu);
        }
        if count > 1 {
            (count, bytes)
        } else {
            (1, alone)
        }
    }

    /// The transmission that begins at `self.start`.
    fn transmit(&mut self) {
        let at = self.start;
        let mut winners = std::mem::take(&mut self.winners);
        let beacon = self.rules.beacon.filter(|_| self.beacon_start() == at);
        if let Some(beacon) = beacon {
            // Within a station the beacon goes first, and its data backs off again.
            if let Some(place) = winners.iter().position(|&one| one == beacon.station) {
                winners.remove(place);
                self.back_off(beacon.station as usize, self.stations[beacon.station as usize].cw);
                let index = beacon.station as usize;
                self.contention.set_fresh(index, false);
                self.contention.set_space(index, Space { ready: at, ..self.contention.space(index) });
            }
            self.beacon_due += beacon.interval;
        }
        self.freeze(at);
        match (winners.as_slice(), beacon) {
            (&[only], None) => self.alone(at, only as usize),
            ([], Some(beacon)) => {
                self.beacons += 1;
                self.rest(at + beacon.airtime, self.rules.difs());
            }
            (several, beacon) => self.collide(at, several, beacon.map_or(Duration::ZERO, |beacon| beacon.airtime)),
        }
        self.winners = winners;
    }

    /// Everybody stops counting. Those that send draw another backoff anyway.
    fn freeze(&mut self, at: Time) {
        let more = u64::from(self.rules.counts_busy_slot);
        let keeps = self.rules.deferral == Deferral::Keeps;
        let (stations, chance) = (&self.stations, &mut self.chance);
        self.contention
            .freeze(at, more, |index| (!keeps).then(|| chance.below(u64::from(stations[index].cw) + 1) as u32));
    }

    /// The medium rests from `end` on; everybody waits `space` before going on.
    fn rest(&mut self, end: Time, space: Duration) {
        self.contention.rest(Space { ready: end + space, idle_from: end });
        self.quiet = end;
    }

    /// One station sends.
    fn alone(&mut self, at: Time, index: usize) {
        let exchange = self.alone.take().unwrap_or_else(|| self.exchange(index));
        let data_end = at + exchange.data_end;
        let end = data_end + exchange.answer;
        // Bystanders heard how long it takes, whether it is answered or not.
        self.rest(end, self.rules.difs());
        let tally = self.tell(at, index, exchange, false, end);
        let station = &mut self.stations[index];
        station.counters.errors += u64::from(exchange.frames) - tally.received;
        station.counters.airtime_ns += (end - at).0;
        if tally.received > 0 {
            self.back_off(index, self.rules.cw_min);
            if let (Deferral::Keeps, Some(to)) = (self.rules.deferral, self.paths[exchange.path as usize].to) {
                self.stations[to as usize].gap_from = data_end;
            }
        } else {
            station.counters.failures += 1;
            let ready = data_end + self.rules.timeout().max(self.rules.difs());
            self.contention.set_space(index, Space { ready, idle_from: data_end });
            self.back_off_failed(index, tally);
        }
        if !self.outcomes.is_empty() {
            self.due = data_end;
        }
    }

    /// Several send at once: all is lost.
    fn collide(&mut self, at: Time, several: &[u32], beacon: Duration) {
        let mut end = at + beacon;
        for &index in several {
            end = end.max(at + self.exchange(index as usize).first);
        }
        self.rest(end, self.rules.after_collision());
        for &index in several {
            let exchange = self.exchange(index as usize);
            let own_end = at + exchange.first;
            let tally = self.tell(at, index as usize, exchange, true, own_end);
            let station = &mut self.stations[index as usize];
            station.counters.failures += 1;
            station.counters.collisions += 1;
            station.counters.airtime_ns += exchange.first.0;
            let ready = (end + self.rules.difs()).max(own_end + self.rules.timeout());
            self.contention.set_space(index as usize, Space { ready, idle_from: end });
            self.back_off_failed(index as usize, tally);
        }
        if !self.outcomes.is_empty() {
            self.due = end;
        }
    }

    /// Which frames of the exchange that begins at `at` are received, and which of the others are given up; both leave
    /// the queue at `end`.
    fn tell(&mut self, at: Time, index: usize, exchange: Exchange, collided: bool, end: Time) -> Tally {
        // What collides behind an RTS is the RTS.
        let (which, limit) = if exchange.behind_rts && !collided {
            (1, self.rules.long_attempts)
        } else {
            (0, self.rules.short_attempts)
        };
        let path = &mut self.paths[exchange.path as usize];
        let mut tally = Tally::default();
        let (mut gone_bytes, mut sent_bytes) = (0, 0);
        let waiting = path.frames.iter_mut().filter(|frame| frame.state == State::Waiting);
        for frame in waiting.take(exchange.frames as usize) {
            if collided || (path.error > 0.0 && self.chance.unit() < path.error) {
                frame.failures[which] += 1;
                if frame.failures[which] < limit {
                    continue;
                }
                frame.state = State::Lost;
                tally.lost += 1;
            } else {
                frame.state = State::Received;
                tally.received += 1;
                sent_bytes += u64::from(frame.one.size);
            }
            gone_bytes += u64::from(frame.one.size);
        }
        path.totals.sent += tally.received;
        path.totals.sent_bytes += sent_bytes;
        path.totals.given_up += tally.lost;
        let underway = Underway { until: end, sent: tally.received, sent_bytes, given_up: tally.lost };
        path.underway = underway;
        path.gauge.leave(at, end, tally.received + tally.lost, gone_bytes);
        let station = &mut self.stations[index];
        station.device -= tally.received + tally.lost;
        self.contention.set_fresh(index, false);
        self.contention.set_sends(index, station.device > 0);
        if station.queue.is_some() {
            station.pending = tally.received + tally.lost > 0;
            self.pending.push(index as u32);
        }
        station.gauge.leave(at, end, tally.received + tally.lost, gone_bytes);
        station.underway = underway;
        station.counters.attempts += 1;
        station.counters.sent += tally.received;
        station.counters.sent_bytes += sent_bytes;
        station.counters.given_up += tally.lost;
        self.flush(exchange.path);
        tally
    }

    /// Nobody answered: the window doubles, or begins anew where a frame was given up.
    fn back_off_failed(&mut self, index: usize, tally: Tally) {
        let wider = self.rules.widened(self.stations[index].cw);
        self.back_off(index, if tally.lost > 0 { self.rules.cw_min } else { wider });
    }

    fn back_off(&mut self, index: usize, cw: u32) {
        let station = &mut self.stations[index];
        station.cw = cw;
        self.contention.set_slots(index, self.chance.below(u64::from(cw) + 1) as u32);
    }

    /// Hands over what is at the front and done with.
    fn flush(&mut self, path: u32) {
        let frames = &mut self.paths[path as usize].frames;
        while frames.front().is_some_and(|frame| frame.state != State::Waiting) {
            let Some(frame) = frames.pop_front() else { break };
            self.outcomes.push(match frame.state {
                State::Received => FrameOutcome::Delivered(frame.one),
                _ => FrameOutcome::Lost(frame.one),
            });
        }
    }
}
