//! A station: its counter, its queue, what it counted; and the frames on their way from it to one receiver.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use super::phy::{Mode, ACK_BYTES, BLOCK_ACK_BYTES, RTS_BYTES};
use crate::aqm::{Discipline, Waiting};
use crate::queue::Limit;

/// What the exchange under way comes to: it is known when it begins, and counts when it is answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Underway {
    /// When it is answered.
    pub(super) until: Time,
    pub(super) sent: u64,
    pub(super) sent_bytes: u64,
    pub(super) given_up: u64,
}

/// What a station counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transmissions begun that ask for an answer: RTS, or data that goes without.
    pub attempts: u64,
    /// Those without an answer.
    pub failures: u64,
    /// Of these, those that met another transmission.
    pub collisions: u64,
    /// Frames given up.
    pub given_up: u64,
    /// Frames that were answered.
    pub sent: u64,
    /// Their bytes as IP packets.
    pub sent_bytes: u64,
    /// Frames lost to noise, retries included.
    pub errors: u64,
    /// Frames that met a full queue.
    pub dropped: u64,
    /// Time on the air, answers included, ns.
    pub airtime_ns: u64,
}

/// What one path counts, beside its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathTotals {
    /// Taken into the queue.
    pub accepted: u64,
    /// Refused.
    pub dropped: u64,
    /// Given up.
    pub given_up: u64,
    /// Answered.
    pub sent: u64,
    /// Their bytes as IP packets.
    pub sent_bytes: u64,
}

/// How many packets and bytes are held, and the integrals of both over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauge {
    pub(super) packets: u64,
    bytes: u64,
    since: Time,
    packet_ns: u128,
    byte_ns: u128,
    /// On the air: they count until they are answered, and their integral up to there is in already.
    leaving: (Time, u64, u64),
    pub(super) most: u64,
}

/// An integral outgrows 64 bits: 125 MB for 74 s are 2⁶³ byte-nanoseconds.
fn product(held: u64, span: Duration) -> u128 {
    u128::from(held) * u128::from(span.0)
}

impl Gauge {
    fn advance(&mut self, now: Time) {
        let span = now - self.since;
        self.packet_ns += product(self.packets, span);
        self.byte_ns += product(self.bytes, span);
        self.since = now;
    }

    pub(super) fn join(&mut self, now: Time, size: u32) {
        self.advance(now);
        self.packets += 1;
        self.bytes += u64::from(size);
        self.most = self.most.max(self.held(now).0);
    }

    /// One is dropped out of the queue.
    pub(super) fn drop_one(&mut self, now: Time, size: u32) {
        self.advance(now);
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }

    pub(super) fn leave(&mut self, now: Time, until: Time, packets: u64, bytes: u64) {
        if packets == 0 {
            return;
        }
        self.advance(now);
        self.packets -= packets;
        self.bytes -= bytes;
        self.leaving = (until, packets, bytes);
        self.packet_ns += product(packets, until - now);
        self.byte_ns += product(bytes, until - now);
    }

    /// Packets and bytes, those on the air included.
    pub(super) fn held(&self, now: Time) -> (u64, u64) {
        let (until, packets, bytes) = self.leaving;
        if now < until {
            (self.packets + packets, self.bytes + bytes)
        } else {
            (self.packets, self.bytes)
        }
    }

    /// Packets and bytes of which it is sure that they are in service: those on the air, or the first in line.
    pub(super) fn in_service(&self, now: Time, first: u32) -> (u64, u64) {
        let (until, packets, bytes) = self.leaving;
        if now < until {
            (packets, bytes)
        } else if self.packets > 0 {
            (1, u64::from(first))
        } else {
            (0, 0)
        }
    }

    pub(super) fn integrals(&self, now: Time) -> (u128, u128) {
        let (until, packets, bytes) = self.leaving;
        let (span, ahead) = (now - self.since, until.saturating_since(now));
        (
            self.packet_ns + product(self.packets, span) - product(packets, ahead),
            self.byte_ns + product(self.bytes, span) - product(bytes, ahead),
        )
    }
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    /// At the receiver, behind one that is missing there.
    Received,
    /// Given up, behind one that is not.
    Lost,
}

#[derive(Debug)]
pub(super) struct Frame<P> {
    pub(super) one: Waiting<P>,
    pub(super) serial: u64,
    /// Failures without and behind an RTS.
    pub(super) failures: [u32; 2],
    pub(super) state: State,
}

/// How long the frames of a path are on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Airtimes {
    pub(super) rts: Duration,
    pub(super) ack: Duration,
    pub(super) block_ack: Duration,
    /// The last data: its bytes and its time. Sizes repeat.
    data: (u32, Duration),
}

impl Airtimes {
    /// Those of a path that sends in this mode.
    pub(super) fn new(mode: Mode) -> Self {
        let [rts, ack, block_ack] = [RTS_BYTES, ACK_BYTES, BLOCK_ACK_BYTES].map(|bytes| mode.control().airtime(bytes));
        Self { rts, ack, block_ack, data: (0, mode.airtime(0)) }
    }

    /// That of data of so many bytes.
    pub(super) fn data(&mut self, mode: Mode, bytes: u32) -> Duration {
        if self.data.0 != bytes {
            self.data = (bytes, mode.airtime(bytes));
        }
        self.data.1
    }
}

/// From one station to another.
#[derive(Debug)]
pub(super) struct Path<P> {
    pub(super) from: u32,
    pub(super) to: Option<u32>,
    pub(super) mode: Mode,
    pub(super) error: f64,
    pub(super) most_bytes: u32,
    pub(super) known: Airtimes,
    pub(super) frames: VecDeque<Frame<P>>,
    pub(super) gauge: Gauge,
    pub(super) totals: PathTotals,
    pub(super) underway: Underway,
}

/// A packet in the queue of a station, and the path that it takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Routed<P> {
    /// The path.
    pub path: u32,
    /// The packet.
    pub packet: P,
}

/// A contender.
#[derive(Debug)]
pub(super) struct Station<P> {
    pub(super) limit: Limit,
    pub(super) counts_in_service: bool,
    /// What stands above the device; without one the device's own drop-tail queue is all.
    pub(super) queue: Option<Box<dyn Discipline<Routed<P>>>>,
    /// Frames in the device that are not received or given up.
    pub(super) device: u64,
    /// It has a discipline, and what became of its last transmission is not told yet.
    pub(super) pending: bool,
    /// Its path, if it has only one.
    pub(super) sole_path: Option<u32>,
    /// Where there are several: paths in the order in which frames came, with the frame's number; those that went already
    /// are skipped.
    pub(super) order: VecDeque<(u32, u64)>,
    pub(super) gauge: Gauge,
    pub(super) cw: u32,
    /// When it last received a frame: the SIFS before its answer counts as idle where a turn is kept.
    pub(super) gap_from: Time,
    pub(super) counters: Counters,
    pub(super) underway: Underway,
}

impl<P> Station<P> {
    /// A packet of this size fits into its queue.
    pub(super) fn takes(&self, now: Time, size: u32, first: u32) -> bool {
        let (packets, bytes) = self.gauge.held(now);
        let (serving, served) = if self.counts_in_service { (0, 0) } else { self.gauge.in_service(now, first) };
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(most) => packets - serving < most || packets == 0,
            Limit::Bytes(most) => bytes - served + u64::from(size) <= most || packets == 0,
        }
    }
}
