//! The state of an access function, of which an 802.11 station has one with DCF and four with EDCA: queue, contention
//! window, counters, and its frames per receiver.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use super::airtimes::KnownFlow;
use super::edca::AccessParameters;
use super::phy::{Mode, ACK_BYTES, RTS_BYTES, SIFS};
use super::rules::Rules;
use crate::aqm::{Discipline, QueuedPacket};
use crate::queue::Limit;

/// Counts of the current exchange. They are computed at its start and take effect at its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingExchange {
    /// End of the exchange, acknowledgement included.
    pub(super) until: Time,
    pub(super) sent: u64,
    pub(super) sent_bytes: u64,
    pub(super) given_up: u64,
}

/// Counters of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transmissions that require a response: an RTS, or data without one.
    pub attempts: u64,
    /// Transmissions without a response.
    pub failures: u64,
    /// Transmissions that collided with another one.
    pub collisions: u64,
    /// Frames dropped after the last attempt.
    pub given_up: u64,
    /// Acknowledged frames.
    pub sent: u64,
    /// Acknowledged bytes, as IP packets.
    pub sent_bytes: u64,
    /// Frames lost to noise, retries included.
    pub errors: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Airtime, responses included, without CF-End frames, ns.
    pub airtime_ns: u64,
}

impl Counters {
    /// Counts an acknowledged frame of `size` bytes.
    pub(super) fn add_sent(&mut self, size: u32) {
        self.sent += 1;
        self.sent_bytes += u64::from(size);
    }

    /// Adds the counters of another access function.
    pub(super) fn merge(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.failures += other.failures;
        self.collisions += other.collisions;
        self.given_up += other.given_up;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.errors += other.errors;
        self.dropped += other.dropped;
        self.airtime_ns += other.airtime_ns;
    }

    /// Counts the results of an exchange.
    pub(super) fn add(&mut self, airtime: Duration, exchange: PendingExchange) {
        self.airtime_ns += airtime.as_nanos();
        self.sent += exchange.sent;
        self.sent_bytes += exchange.sent_bytes;
        self.given_up += exchange.given_up;
    }
}

impl PathTotals {
    /// Counts an acknowledged frame of `size` bytes.
    pub(super) fn add_sent(&mut self, size: u32) {
        self.sent += 1;
        self.sent_bytes += u64::from(size);
    }

    /// Adds the counters of another access category.
    pub(super) fn merge(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.dropped += other.dropped;
        self.given_up += other.given_up;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
    }
}

/// Counters of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathTotals {
    /// Packets accepted by the queue.
    pub accepted: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets dropped after the last attempt.
    pub given_up: u64,
    /// Acknowledged packets.
    pub sent: u64,
    /// Acknowledged bytes, as IP packets.
    pub sent_bytes: u64,
}

/// The queue length in packets and bytes, with the integrals of both over time.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueLength {
    pub(super) packets: u64,
    bytes: u64,
    since: Time,
    packet_ns: u128,
    byte_ns: u128,
    /// End of the current exchange, and its packets and bytes. They count until then; the integrals already include them.
    departing: (Time, u64, u64),
    /// End of the transmission, `NEVER` while it is not known, and its packets and bytes: also those that will stay in the
    /// queue.
    transmitting: (Time, u64, u64),
    pub(super) max: u64,
}

/// 64 bits are insufficient for an integral: 125 MB for 74 s are 2⁶³ byte-nanoseconds.
fn product(length: u64, span: Duration) -> u128 {
    u128::from(length) * u128::from(span.as_nanos())
}

impl QueueLength {
    fn advance(&mut self, now: Time) {
        let span = now - self.since;
        self.packet_ns += product(self.packets, span);
        self.byte_ns += product(self.bytes, span);
        self.since = now;
    }

    /// Adds a packet.
    pub(super) fn join(&mut self, now: Time, size: u32) {
        self.enter(now, size);
        self.count_max(now);
    }

    /// Adds a packet for which a discipline may drop others, or itself; [`count_max`](Self::count_max) follows.
    pub(super) fn enter(&mut self, now: Time, size: u32) {
        self.advance(now);
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    pub(super) fn count_max(&mut self, now: Time) {
        self.max = self.max.max(self.at(now).0);
    }

    /// Removes a packet that a discipline dropped.
    pub(super) fn drop_one(&mut self, now: Time, size: u32) {
        self.advance(now);
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }

    /// Removes packets of an exchange from `now` to `until`.
    pub(super) fn leave(&mut self, now: Time, until: Time, packets: u64, bytes: u64) {
        if packets == 0 {
            return;
        }
        self.advance(now);
        self.packets -= packets;
        self.bytes -= bytes;
        self.departing = (until, packets, bytes);
        self.packet_ns += product(packets, until - now);
        self.byte_ns += product(bytes, until - now);
    }

    /// Packets and bytes at `now`, including those in transmission.
    pub(super) fn at(&self, now: Time) -> (u64, u64) {
        let (until, packets, bytes) = self.departing;
        if now < until {
            (self.packets + packets, self.bytes + bytes)
        } else {
            (self.packets, self.bytes)
        }
    }

    /// Packets and bytes, as IP packets, are in transmission until `until`.
    pub(super) fn transmit(&mut self, until: Time, packets: u64, bytes: u64) {
        self.transmitting = (until, packets, bytes);
    }

    /// Packets and bytes in service: those in transmission, otherwise the first in the queue, of size `first`.
    pub(super) fn in_service(&self, now: Time, first: u32) -> (u64, u64) {
        let (until, packets, bytes) = self.transmitting;
        if now < until {
            (packets, bytes)
        } else if self.packets > 0 {
            (1, u64::from(first))
        } else {
            (0, 0)
        }
    }

    pub(super) fn integrals(&self, now: Time) -> (u128, u128) {
        let (until, packets, bytes) = self.departing;
        let span = now - self.since;
        let ahead = until.saturating_since(now);
        (
            self.packet_ns + product(self.packets, span) - product(packets, ahead),
            self.byte_ns + product(self.bytes, span) - product(bytes, ahead),
        )
    }
}

/// State of a frame in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    /// Received, after a frame that is still missing.
    Received,
    /// Dropped after the last attempt, after a frame that is still queued.
    Lost,
    /// Received, but the sender has no acknowledgement.
    Unacknowledged,
}

impl State {
    /// Whether the sender is to transmit the frame.
    pub(super) fn is_pending(self) -> bool {
        matches!(self, Self::Waiting | Self::Unacknowledged)
    }
}

#[derive(Debug)]
pub(super) struct Frame<P> {
    pub(super) one: QueuedPacket<P>,
    pub(super) serial: u64,
    /// Failed attempts without RTS, and with RTS.
    pub(super) failures: [u32; 2],
    pub(super) state: State,
    /// It was sent in an aggregate: the window of its receiver waits for it.
    pub(super) in_window: bool,
    /// Its outcome was returned, while its sender waits for the acknowledgement.
    pub(super) reported: bool,
}

impl<P> Frame<P> {
    /// Counts a failed attempt, without RTS (0) or with it (1): whether it was the last one of `limit`.
    pub(super) fn fails(&mut self, which: usize, limit: u32) -> bool {
        self.failures[which] += 1;
        self.failures[which] >= limit
    }
}

/// Airtimes of the frames of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Airtimes {
    pub(super) rts: Duration,
    pub(super) ack: Duration,
    pub(super) block_ack: Duration,
    /// Size and airtime of the last data frame, as a cache: sizes repeat.
    data: (u32, Duration),
}

impl Airtimes {
    /// Airtimes of a path with this mode.
    pub(super) fn new(mode: Mode) -> Self {
        let sizes = [RTS_BYTES, ACK_BYTES, mode.block_ack_bytes()];
        let [rts, ack, block_ack] = sizes.map(|bytes| mode.control().airtime(bytes));
        Self { rts, ack, block_ack, data: (0, mode.airtime(0)) }
    }

    /// RTS and CTS before a data frame.
    pub(super) fn lead(&self) -> Duration {
        self.rts + SIFS + self.ack + SIFS
    }

    /// Airtime of a data frame of `bytes`.
    pub(super) fn data(&mut self, mode: Mode, bytes: u32) -> Duration {
        if self.data.0 != bytes {
            self.data = (bytes, mode.airtime(bytes));
        }
        self.data.1
    }
}

/// The frames of an access function to one receiver.
#[derive(Debug)]
pub(super) struct Path<P> {
    /// The access function that sends.
    pub(super) from: u32,
    /// The receiving station, if it also sends.
    pub(super) to: Option<u32>,
    pub(super) mode: Mode,
    pub(super) error: f64,
    /// Maximum size of an aggregate; 0: there are none.
    pub(super) max_bytes: u32,
    pub(super) airtimes: Airtimes,
    pub(super) frames: VecDeque<Frame<P>>,
    pub(super) queue_length: QueueLength,
    pub(super) totals: PathTotals,
    pub(super) pending_exchange: PendingExchange,
    pub(super) known_flow: KnownFlow,
}

impl<P> Path<P> {
    /// Sets the mode, with the airtimes and the size of aggregates that follow from it.
    pub(super) fn set_mode(&mut self, mode: Mode, access: &AccessParameters, rules: &Rules) {
        self.mode = mode;
        self.airtimes = Airtimes::new(mode);
        let airtime = match access.txop_limit {
            Duration::ZERO => Duration::MAX,
            limit => {
                let lead = if rules.rts_above.is_some() { self.airtimes.lead() } else { Duration::ZERO };
                limit.saturating_sub(lead + SIFS + self.airtimes.block_ack)
            }
        };
        self.max_bytes = if access.aggregates { rules.max_bytes(mode, airtime) } else { 0 };
    }

    /// Maximum size of an aggregate whose BlockAck ends within `rest`, bytes.
    pub(super) fn max_bytes_within(&self, rules: &Rules, rest: Duration) -> u32 {
        if self.max_bytes == 0 {
            return 0;
        }
        rules.max_bytes(self.mode, rest.saturating_sub(SIFS + self.airtimes.block_ack))
    }
}

/// A packet in the queue of a station, with its path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Routed<P> {
    /// The path.
    pub path: u32,
    /// The packet.
    pub packet: P,
}

/// An access function: that of DCF, or of an access category.
#[derive(Debug)]
pub(super) struct AccessFunction<P> {
    pub(super) access: AccessParameters,
    /// The interframe space before a backoff.
    pub(super) aifs: Duration,
    pub(super) limit: Limit,
    pub(super) counts_in_service: bool,
    /// Mark ECN-capable packets with which more than this number of packets wait; `u64::MAX`: none.
    pub(super) mark_above: u64,
    /// The discipline above the device; `None`: only the device's drop-tail queue.
    pub(super) queue: Option<Box<dyn Discipline<Routed<P>>>>,
    /// Frames in the device that are neither received nor dropped.
    pub(super) device: u64,
    /// Maximum number of frames that the device takes from the discipline: those of an aggregate.
    pub(super) room: u64,
    /// The function has a discipline, and the outcomes of its last transmission are not taken yet.
    pub(super) pending: bool,
    /// The function's path, if it has exactly one.
    pub(super) sole_path: Option<u32>,
    /// For several paths: path and serial number of each frame in the order of arrival; completed frames are skipped.
    pub(super) order: VecDeque<(u32, u64)>,
    pub(super) queue_length: QueueLength,
    pub(super) cw: u32,
    /// End of the last received frame: under [`Deferral::Keeps`](super::Deferral) the SIFS before the ACK counts as idle.
    pub(super) gap_from: Time,
    pub(super) counters: Counters,
    pub(super) pending_exchange: PendingExchange,
}

impl<P> AccessFunction<P> {
    /// Whether the queue admits a packet of `size` bytes; `first` is the size of the packet in service.
    pub(super) fn admits(&self, now: Time, size: u32, first: u32) -> bool {
        let (packets, bytes) = self.queue_length.at(now);
        let (serving, served) = if self.counts_in_service { (0, 0) } else { self.queue_length.in_service(now, first) };
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(max) => packets - serving < max || packets == 0,
            Limit::Bytes(max) => bytes - served + u64::from(size) <= max || packets == 0,
        }
    }

    /// Whether `mark_above` demands the mark of a packet that arrives at `now`.
    #[cold]
    pub(super) fn marks(&self, now: Time) -> bool {
        self.queue_length.at(now).0 - self.queue_length.in_service(now, 0).0 >= self.mark_above
    }
}
