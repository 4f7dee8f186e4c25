//! A link in one direction: a drop-tail queue with computed departures, a line and a wire.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};
use prefetch_index::prefetch_index;

use crate::impairments::{EcnChange, Impairments};
use crate::line::{Departures, Line};
use crate::loss::Loss;
use crate::queue::{Limit, Queue};
use crate::random::Stream;
use crate::size_classes::SizeClasses;
use crate::wire::{Changes, Harq, WifiJitter};

/// Configuration of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The line.
    pub line: Line,
    /// Propagation delay.
    pub delay: Duration,
    /// Capacity of the queue.
    pub limit: Limit,
    /// The packet in service counts towards the limit.
    pub counts_in_service: bool,
    /// Mark ECN-capable packets with which the queue has more than this number of packets, without the one in service.
    pub mark_above: Option<u32>,
    /// Loss processes of the wire, in order.
    pub losses: Vec<Loss>,
    /// Schedule of delay and loss; its delay replaces `delay`.
    pub changes: Option<Changes>,
    /// Retransmissions of a radio link.
    pub harq: Option<Harq>,
    /// Delay variation: maximum, and whether packets may be reordered.
    pub jitter: Option<(Duration, bool)>,
    /// Delay variation of bad Wi-Fi.
    pub wifi_jitter: Option<WifiJitter>,
    /// Probability that the wire duplicates a packet.
    pub duplicate: f64,
    /// Change of the ECN field.
    pub ecn: Option<EcnChange>,
    /// Random stream for jitter and duplicates.
    pub stream: Stream,
}

/// A packet offered to a link.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Bytes on the wire.
    pub size: u32,
    /// It is ECN-capable.
    pub ect: bool,
    /// It carries payload.
    pub payload: bool,
}

/// The outcome for an offered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The queue was full.
    Dropped,
    /// The loss model destroyed it on the wire.
    Lost {
        /// Departure time of its last bit from the line.
        departure: Time,
    },
    /// It arrives.
    Arrives {
        /// Departure time of its last bit from the line.
        departure: Time,
        /// Arrival time at the far end.
        at: Time,
        /// Arrival time of a duplicate.
        again: Option<Time>,
        /// It was marked.
        marked: bool,
    },
}

/// Counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Dropped by the queue.
    pub dropped: u64,
    /// Lost on the wire, including packets that have not left the line yet.
    pub lost: u64,
    /// Marked.
    pub marked: u64,
    /// Accepted packets: departed, in service or queued.
    pub accepted: u64,
    /// Their bytes.
    pub accepted_bytes: u64,
}

impl Totals {
    /// Packets offered.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.accepted + self.dropped
    }
}

/// The state of a link.
///
/// Fields are in the order of use: a packet that does not wait on an unlimited link touches two cache lines of the three.
/// With 100,000 flows there are 400,000 links, so that the footprint per link decides the cache misses.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link {
    /// The departures from the line, which is idle after the last of them.
    departures: Departures,
    delay: Duration,
    /// Start of the service of the first packet that waits in an unlimited queue; `Time::MAX` if none waits. Few links
    /// ever have a second one, which is then in `queue`.
    next_start: Time,
    /// The size of that packet.
    next_size: u32,
    /// Size of the packet in service while another waits in an unlimited queue.
    in_service: u32,
    /// The line has a constant rate.
    constant: bool,
    /// The line has a constant rate, and the queue neither drops nor marks.
    unlimited: bool,
    /// A packet waited in an unlimited queue.
    has_waited: bool,
    /// Packets wait behind the first one in an unlimited queue.
    waits_behind: bool,
    /// The queue; of an unlimited one what waits behind the first packet, and `None` before any does.
    queue: Option<Box<Queue>>,
    dropped: u64,
    accepted: SizeClasses,
    marked: u64,
    lost: u64,
    line: Line,
    impairments: Option<Box<Impairments>>,
}

const _: () = assert!(size_of::<Link>() == 192);

impl Link {
    /// An idle link.
    #[must_use]
    pub fn new(config: LinkConfig) -> Self {
        let constant = config.line.is_constant();
        let unlimited = constant && config.limit == Limit::Unlimited && config.mark_above.is_none();
        let impairments = Impairments {
            losses: config.losses,
            changes: config.changes,
            harq: config.harq,
            jitter: config.jitter,
            wifi_jitter: config.wifi_jitter,
            duplicate: config.duplicate,
            ecn: config.ecn,
            stream: config.stream,
            last_arrival: Time::ZERO,
            pending_losses: VecDeque::new(),
        };
        let queue = || Box::new(Queue::new(config.limit, config.counts_in_service, config.mark_above, !constant));
        Self {
            departures: Departures::default(),
            delay: config.delay,
            next_start: Time::MAX,
            next_size: 0,
            in_service: 0,
            constant,
            unlimited,
            has_waited: false,
            waits_behind: false,
            queue: (!unlimited).then(queue),
            dropped: 0,
            accepted: SizeClasses::default(),
            marked: 0,
            lost: 0,
            line: config.line,
            impairments: (!impairments.is_none()).then(|| Box::new(impairments)),
        }
    }

    /// Asks for what a packet reads that does not wait.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_index(std::slice::from_ref(&self.delay), 0);
        prefetch_index(std::slice::from_ref(&self.accepted), 0);
    }

    /// Whether arrivals can be out of order.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.impairments.as_ref().is_some_and(|one| one.reorders())
    }

    /// Whether the wire has only a constant delay; [`pass_queue`](Self::pass_queue) requires this.
    #[inline]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.impairments.is_none()
    }

    /// The delay of a plain wire; `None` if its wire can lose, delay or change packets.
    #[inline]
    #[must_use]
    pub fn plain_delay(&self) -> Option<Duration> {
        self.is_plain().then_some(self.delay)
    }

    /// Whether the wire has a delay that varies in order, and no other impairment; [`vary`](Self::vary) requires this.
    #[must_use]
    pub fn only_varies(&self) -> bool {
        self.impairments.as_ref().is_some_and(|one| one.is_at_most_variation())
    }

    /// The arrival time of a packet that would arrive at `at` by a constant delay.
    #[inline]
    pub fn vary(&mut self, at: Time) -> Time {
        self.impairments.as_mut().map_or(at, |one| one.vary(at))
    }

    /// The delay of a link that only delays, and perhaps [varies](Self::vary) it: unlimited rate and queue. A caller that
    /// adds the delay itself reports the packets afterwards with [`count_forwarded`](Self::count_forwarded).
    #[must_use]
    pub fn pure_delay(&self) -> Option<Duration> {
        let delays = self.is_plain() || self.only_varies();
        (delays && self.unlimited && matches!(self.line, Line::Instant)).then_some(self.delay)
    }

    /// Whether the wire is plain, the rate constant and the queue unlimited; [`pass_line`](Self::pass_line) requires
    /// this.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.is_plain() && self.unlimited
    }

    /// Counts packets that crossed a link that only delays.
    pub fn count_forwarded(&mut self, packets: u64, bytes: u64) {
        self.accepted.add(packets, bytes);
    }

    /// Counts a marked packet.
    #[inline]
    pub fn count_marked(&mut self) {
        self.marked += 1;
    }

    /// Offers a packet to a plain link. Returns its arrival time, before a [variation](Self::vary), and whether to mark it;
    /// `None` if it is dropped.
    #[inline]
    pub fn pass_queue(&mut self, now: Time, size: u32) -> Option<(Time, bool)> {
        if self.unlimited {
            return Some((self.pass_line(now, size), false));
        }
        self.pass_limited(now, size)
    }

    /// As [`pass_queue`](Self::pass_queue), on a link that is not [unlimited](Self::is_unlimited).
    #[allow(clippy::inline_always)] // the body of the engine's loop
    #[inline(always)]
    pub fn pass_limited(&mut self, now: Time, size: u32) -> Option<(Time, bool)> {
        let queue = self.queue.as_mut().expect("a limited queue exists from the start");
        queue.advance(now);
        let start = self.departures.last;
        if start <= now {
            let mark = queue.serve(size);
            let departure = match self.accepted.count_unqueued(size) {
                Some(service) if self.constant => self.departures.next(now, service),
                counted => self.serve_new_size(now, size, Duration::ZERO, counted.is_some()),
            };
            return Some((Time::from_nanos(departure.as_nanos() + self.delay.as_nanos()), mark));
        }
        let Some(mark) = queue.join(now, start, size) else {
            self.dropped += 1;
            return None;
        };
        let wait = start - now;
        let departure = match self.accepted.count(size, wait) {
            Some(service) if self.constant => self.departures.follow(service),
            counted => self.serve_new_size(start, size, wait, counted.is_some()),
        };
        Some((Time::from_nanos(departure.as_nanos() + self.delay.as_nanos()), mark))
    }

    /// Offers a packet to a plain link of constant rate with an unlimited queue. Returns its arrival time.
    #[allow(clippy::inline_always)] // a handful of instructions, which the call would double
    #[inline(always)]
    pub fn pass_line(&mut self, now: Time, size: u32) -> Time {
        let start = self.departures.last;
        let departure = if start > now {
            let wait = start - now;
            self.wait(now, start, size);
            match self.accepted.count(size, wait) {
                Some(service) => self.departures.follow(service),
                None => self.serve_new_size(start, size, wait, false),
            }
        } else {
            match self.accepted.count_unqueued(size) {
                Some(service) => self.departures.next(now, service),
                None => self.serve_new_size(now, size, Duration::ZERO, false),
            }
        };
        Time::from_nanos(departure.as_nanos() + self.delay.as_nanos())
    }

    /// Removes the packets whose service has begun from an unlimited queue: the first one, and perhaps others.
    #[inline]
    fn begin_service(&mut self, now: Time) {
        self.in_service = self.next_size;
        self.next_start = Time::MAX;
        if self.waits_behind {
            self.begin_next(now);
        }
    }

    /// As [`begin_service`](Self::begin_service), for the packets behind the first one.
    #[inline(never)]
    fn begin_next(&mut self, now: Time) {
        let Some(queue) = &mut self.queue else { return };
        while let Some((start, size)) = queue.take_first() {
            (self.next_start, self.next_size) = (start, size);
            if start > now {
                self.waits_behind = !queue.is_empty();
                return;
            }
            (self.in_service, self.next_start) = (size, Time::MAX);
        }
        self.waits_behind = false;
    }

    /// Adds a packet that arrives at `now`, and whose service begins at `start`, to an unlimited queue. Packets whose
    /// service has begun leave it only here and before somebody reads it: while the line is idle that costs nothing.
    #[inline]
    fn wait(&mut self, now: Time, start: Time, size: u32) {
        if self.next_start <= now {
            self.begin_service(now);
        }
        if self.next_start == Time::MAX {
            (self.next_start, self.next_size) = (start, size);
            (self.in_service, self.has_waited) = (self.accepted.latest_size(), true);
        } else {
            self.wait_behind(start, size);
        }
    }

    /// As [`wait`](Self::wait), behind another packet.
    #[inline(never)]
    fn wait_behind(&mut self, start: Time, size: u32) {
        let queue = || Box::new(Queue::new(Limit::Unlimited, false, None, false));
        self.queue.get_or_insert_with(queue).push(start, size);
        self.waits_behind = true;
    }

    /// Serves a packet whose service time is not cached: its size is new, or the rate varies. A packet that is not
    /// `counted` is counted here. The times of two sizes are cached, because sizes repeat; this saves the division.
    #[cold]
    fn serve_new_size(&mut self, start: Time, size: u32, wait: Duration, counted: bool) -> Time {
        let service = self.line.service_time(size);
        if !counted {
            self.accepted.count_new(size, wait, service.unwrap_or_default());
        }
        if let Some(service) = service {
            return self.departures.next(start, service);
        }
        if wait == Duration::ZERO {
            self.line.arrive(start);
        }
        self.line.serve(&mut self.departures, start, size)
    }

    /// Offers a packet at `now`, which must not precede the previous offer.
    pub fn offer(&mut self, now: Time, packet: Offer) -> Outcome {
        let Some((at, mark)) = self.pass_queue(now, packet.size) else { return Outcome::Dropped };
        let departure = self.departures.last;
        let marked = mark && packet.ect;
        self.marked += u64::from(marked);
        if self.is_plain() {
            return Outcome::Arrives { departure, at, again: None, marked };
        }
        self.cross(now, departure, packet.payload, marked)
    }

    /// Applies loss, delay variation and duplication of the wire to a packet that leaves the line at `departure`.
    pub fn cross(&mut self, now: Time, departure: Time, payload: bool, marked: bool) -> Outcome {
        let Some(impairments) = &mut self.impairments else {
            return Outcome::Arrives { departure, at: departure + self.delay, again: None, marked };
        };
        if impairments.loses(departure, payload, &mut self.delay) {
            impairments.count_lost(now, departure);
            self.lost += 1;
            return Outcome::Lost { departure };
        }
        let at = impairments.arrival(departure, self.delay);
        let again = impairments.duplicate(departure, self.delay);
        Outcome::Arrives { departure, at, again, marked }
    }

    /// The change of the ECN field of a packet that crosses the wire.
    #[must_use]
    pub fn ecn_change(&self) -> Option<EcnChange> {
        self.impairments.as_ref()?.ecn
    }

    /// Packets lost on the wire until `now`. A loss counts from the packet's departure from the line.
    pub fn lost(&mut self, now: Time) -> u64 {
        self.lost - self.impairments.as_mut().map_or(0, |one| one.pending_losses(now))
    }

    /// Carriable bytes of the line until `now`; `None` for an unlimited rate.
    #[must_use]
    pub fn offered(&self, now: Time) -> Option<u64> {
        self.line.offered(now)
    }

    /// The present rate of the line, bit/s; `None` for an unlimited rate.
    #[must_use]
    pub fn present_rate(&self, now: Time) -> Option<f64> {
        self.line.present_rate(now)
    }

    /// Time until the line has served all accepted packets.
    #[must_use]
    pub fn backlog_time(&self, now: Time) -> Duration {
        self.departures.last.saturating_since(now)
    }

    /// The counters.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let (accepted, accepted_bytes) = self.accepted.accepted();
        Totals { dropped: self.dropped, lost: self.lost, marked: self.marked, accepted, accepted_bytes }
    }

    /// Removes the packets whose service has begun by `now` from the queue.
    fn advance(&mut self, now: Time) {
        if !self.unlimited {
            self.queue.as_mut().expect("a limited queue exists from the start").advance(now);
        } else if self.next_start <= now {
            self.begin_service(now);
        }
    }

    /// The first packet of an unlimited queue, after [`advance`](Self::advance): the start of its service, and its size.
    fn first(&self) -> Option<(Time, u32)> {
        (self.next_start < Time::MAX).then_some((self.next_start, self.next_size))
    }

    /// Packets and bytes in the queue at `now`, without the packet in service.
    pub fn backlog(&mut self, now: Time) -> (u64, u64) {
        self.advance(now);
        let first = self.first().map_or((0, 0), |(_, size)| (1, u64::from(size)));
        let (packets, bytes) = self.queue.as_ref().map_or((0, 0), |queue| queue.backlog());
        (first.0 + packets, first.1 + bytes)
    }

    /// Time for which the first packet of the queue has waited at `now`; 0 for an empty queue. Known where the rate of the
    /// line varies.
    pub fn age(&mut self, now: Time) -> Duration {
        self.queue.as_mut().map_or(Duration::ZERO, |queue| {
            queue.advance(now);
            queue.oldest().map_or(Duration::ZERO, |since| now.saturating_since(since))
        })
    }

    /// Packets and bytes that left the line by `now`, at which or before which all of them arrived.
    pub fn sent(&mut self, now: Time) -> (u64, u64) {
        let (accepted, accepted_bytes) = self.accepted.accepted();
        let (packets, bytes) = self.backlog(now);
        if self.departures.last <= now {
            return (accepted, accepted_bytes);
        }
        // Without a queue behind it, the packet in service is the last one.
        let waiting = self.queue.as_ref().filter(|queue| !queue.is_empty() && !self.unlimited);
        let serving = match waiting {
            Some(queue) => queue.in_service(),
            None if self.first().is_some() => self.in_service,
            None => self.accepted.latest_size(),
        };
        (accepted - packets - 1, accepted_bytes - bytes - u64::from(serving))
    }

    /// The exact integrals of the queue length until `now`, in packet-nanoseconds and byte-nanoseconds.
    pub fn integrals(&mut self, now: Time) -> (u128, u128) {
        self.advance(now);
        let (packets, bytes) = self.accepted.integrals();
        let future = self.queue.as_ref().map_or((0, 0), |queue| queue.remaining_wait(now));
        let (rest, size) =
            self.first().map_or((0, 0), |(start, size)| (u128::from((start - now).as_nanos()), u128::from(size)));
        (packets - future.0 - rest, bytes - future.1 - rest * size)
    }

    /// The maximum queue length, packets.
    #[must_use]
    pub fn max_queue_length(&self) -> u64 {
        u64::from(self.has_waited) + self.queue.as_ref().map_or(0, |queue| queue.max_length)
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.queue.as_ref().map_or(0, |queue| queue.memory())
    }
}

#[cfg(test)]
pub(crate) mod tests;
