//! Drop-tail with computed departures: what waits is a list of service starts.

use cwndlab_units::Time;

use crate::ring::Ring;

/// A packet that waits: when its service starts, and its size.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    start: Time,
    size: u32,
}

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Any number.
    Unlimited,
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
}

impl Limit {
    /// One more of `size` bytes fits beside so many packets and bytes.
    #[inline]
    #[must_use]
    pub fn admits(self, packets: u64, bytes: u64, size: u32) -> bool {
        match self {
            Self::Packets(most) => packets < most,
            Self::Bytes(most) => bytes + u64::from(size) <= most,
            Self::Unlimited => true,
        }
    }
}

/// A drop-tail queue in front of a line that serves in order.
#[derive(Clone, Debug)]
pub struct Queue {
    /// When the service of the first one begins that waits; `Time::MAX` if none does.
    next_start: Time,
    waiting: Ring<Waiting>,
    bytes: u64,
    /// So many packets may wait, the one in service not counted.
    most_packets: u64,
    /// So many bytes may wait; the one in service counts if `counts_in_service`.
    most_bytes: u64,
    /// Mark ECN-capable packets that find more than this many waiting.
    mark_above: u64,
    /// The most that ever waited.
    pub(crate) most: u64,
    in_service: u32,
    counts_in_service: bool,
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: Limit, counts_in_service: bool, mark_above: Option<u32>) -> Self {
        let (packets, bytes) = match limit {
            Limit::Unlimited => (u64::MAX, u64::MAX),
            Limit::Packets(most) => (most.saturating_sub(u64::from(counts_in_service)), u64::MAX),
            Limit::Bytes(most) => (u64::MAX, most),
        };
        Self {
            next_start: Time::MAX,
            waiting: Ring::default(),
            bytes: 0,
            most_packets: packets,
            most_bytes: bytes,
            mark_above: mark_above.map_or(u64::MAX, u64::from),
            most: 0,
            in_service: 0,
            counts_in_service,
        }
    }

    /// Forgets the packets whose service began.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        while self.next_start <= now {
            let Some(front) = self.waiting.pop() else { break };
            self.bytes -= u64::from(front.size);
            self.in_service = front.size;
            self.next_start = self.waiting.front().map_or(Time::MAX, |one| one.start);
        }
    }

    /// A packet arrives at `now`; the line is free at `free`. Returns the start of its service and whether to mark it, or
    /// `None` if the queue is full.
    #[inline]
    pub fn join(&mut self, now: Time, free: Time, size: u32) -> Option<(Time, bool)> {
        self.advance(now);
        if free <= now {
            self.in_service = size;
            return Some((now, self.mark_above == 0));
        }
        let waiting = self.waiting.len() as u64;
        let bytes = self.bytes + u64::from(size);
        if waiting >= self.most_packets || bytes + self.counted_service() > self.most_bytes {
            return None;
        }
        if waiting == 0 {
            self.next_start = free;
        }
        self.waiting.push(Waiting { start: free, size });
        self.bytes = bytes;
        self.most = self.most.max(waiting + 1);
        Some((free, waiting >= self.mark_above))
    }

    /// The bytes in service that count towards the limit.
    #[inline]
    fn counted_service(&self) -> u64 {
        if self.counts_in_service {
            u64::from(self.in_service)
        } else {
            0
        }
    }

    /// Packets and bytes that wait at `now`, after [`advance`](Self::advance).
    #[must_use]
    pub fn backlog(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.bytes)
    }

    /// Size of the packet in service, if the line is busy.
    #[must_use]
    pub fn in_service(&self) -> u32 {
        self.in_service
    }

    /// What those who wait will wait beyond `now`, in packet-nanoseconds and byte-nanoseconds. None of them joined after
    /// `now`.
    #[must_use]
    pub fn rest(&self, now: Time) -> (u128, u128) {
        let longest = self.waiting.back().map_or(0, |one| (one.start - now).0);
        // No packet has less than a byte.
        if longest.checked_mul(self.bytes).is_some() {
            let (mut packets, mut bytes) = (0, 0);
            for one in self.waiting.iter() {
                let rest = (one.start - now).0;
                packets += rest;
                bytes += rest * u64::from(one.size);
            }
            return (packets.into(), bytes.into());
        }
        let (mut packets, mut bytes) = (0, 0);
        for one in self.waiting.iter() {
            let rest = u128::from((one.start - now).0);
            packets += rest;
            bytes += rest * u128::from(one.size);
        }
        (packets, bytes)
    }

    /// Memory held, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.waiting.memory()
    }
}
