//! A drop-tail queue with computed departures: a list of service start times and packet sizes.

use cwndlab_units::Time;

use crate::ring::Ring;

/// A queued packet: start time of its service, and its size.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    start: Time,
    size: u32,
}

/// The capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Unlimited.
    Unlimited,
    /// Maximum number of packets.
    Packets(u64),
    /// Maximum number of bytes.
    Bytes(u64),
}

impl Limit {
    /// Whether a queue of this length admits another packet of `size` bytes.
    #[inline]
    #[must_use]
    pub fn admits(self, packets: u64, bytes: u64, size: u32) -> bool {
        match self {
            Self::Packets(max) => packets < max,
            Self::Bytes(max) => bytes + u64::from(size) <= max,
            Self::Unlimited => true,
        }
    }

    /// Whether a queue with this number of packets and of bytes is within the capacity.
    #[inline]
    #[must_use]
    pub fn holds(self, (packets, bytes): (u64, u64)) -> bool {
        match self {
            Self::Packets(max) => packets <= max,
            Self::Bytes(max) => bytes <= max,
            Self::Unlimited => true,
        }
    }
}

/// A drop-tail queue of a line.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Start of the service of the first queued packet; `Time::MAX` if the queue is empty.
    next_start: Time,
    entries: Ring<Entry>,
    /// Arrival times of the entries, before a line of varying rate: elsewhere the length of the queue gives the delay.
    arrivals: Option<Box<Ring<Time>>>,
    bytes: u64,
    /// Capacity in packets, without the packet in service.
    max_packets: u64,
    /// Capacity in bytes; includes the packet in service if `counts_in_service`.
    max_bytes: u64,
    /// Mark ECN-capable packets with which the queue has more than this number of packets, without the one in service.
    mark_above: u64,
    /// The maximum length, packets.
    pub(crate) max_length: u64,
    in_service: u32,
    counts_in_service: bool,
}

impl Queue {
    /// An empty queue; `varies`: the rate of its line varies.
    #[must_use]
    pub fn new(limit: Limit, counts_in_service: bool, mark_above: Option<u32>, varies: bool) -> Self {
        let (packets, bytes) = match limit {
            Limit::Unlimited => (u64::MAX, u64::MAX),
            Limit::Packets(max) => (max.saturating_sub(u64::from(counts_in_service)), u64::MAX),
            Limit::Bytes(max) => (u64::MAX, max),
        };
        Self {
            next_start: Time::MAX,
            entries: Ring::default(),
            arrivals: varies.then(Box::default),
            bytes: 0,
            max_packets: packets,
            max_bytes: bytes,
            mark_above: mark_above.map_or(u64::MAX, u64::from),
            max_length: 0,
            in_service: 0,
            counts_in_service,
        }
    }

    /// Removes the packets whose service has begun.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        while self.next_start <= now {
            let Some(front) = self.entries.pop() else { break };
            self.bytes -= u64::from(front.size);
            self.in_service = front.size;
            self.next_start = self.entries.front().map_or(Time::MAX, |one| one.start);
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.pop();
            }
        }
    }

    /// Starts the service of a packet that arrives at an idle line, after [`advance`](Self::advance). Returns whether to
    /// mark it.
    #[inline]
    pub fn serve(&mut self, size: u32) -> bool {
        self.in_service = size;
        self.mark_above == 0
    }

    /// Enqueues a packet that arrives at `now`, after [`advance`](Self::advance); its service starts at `start`. Returns
    /// whether to mark it, or `None` if the queue is full.
    #[inline]
    pub fn join(&mut self, now: Time, start: Time, size: u32) -> Option<bool> {
        let length = self.entries.len() as u64;
        if length >= self.max_packets || self.max_bytes < u64::MAX && self.exceeds_bytes(size) {
            return None;
        }
        self.push(start, size);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.push(now);
        }
        Some(length >= self.mark_above)
    }

    /// Whether another packet of `size` bytes exceeds the capacity in bytes.
    #[inline]
    fn exceeds_bytes(&self, size: u32) -> bool {
        self.bytes + u64::from(size) + self.counted_service() > self.max_bytes
    }

    /// Adds a packet whose service begins at `start`, after [`advance`](Self::advance).
    #[inline]
    pub fn push(&mut self, start: Time, size: u32) {
        if self.entries.is_empty() {
            self.next_start = start;
        }
        self.entries.push(Entry { start, size });
        self.bytes += u64::from(size);
        self.max_length = self.max_length.max(self.entries.len() as u64);
    }

    /// Removes the first packet: the start of its service, and its size. For callers that do not
    /// [`advance`](Self::advance).
    pub fn take_first(&mut self) -> Option<(Time, u32)> {
        let Entry { start, size } = self.entries.pop()?;
        self.bytes -= u64::from(size);
        Some((start, size))
    }

    /// Whether no packet waits, after [`advance`](Self::advance).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
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

    /// Length in packets and bytes, after [`advance`](Self::advance).
    #[must_use]
    pub fn backlog(&self) -> (u64, u64) {
        (self.entries.len() as u64, self.bytes)
    }

    /// Arrival time of the first packet, after [`advance`](Self::advance); `None` if the queue is empty, or the rate of its
    /// line constant.
    #[must_use]
    pub fn oldest(&self) -> Option<Time> {
        self.arrivals.as_ref().and_then(|arrivals| arrivals.front().copied())
    }

    /// Size of the packet in service; meaningful only while the line is busy.
    #[must_use]
    pub fn in_service(&self) -> u32 {
        self.in_service
    }

    /// Sum of the waiting times of the queued packets after `now`, in packet-nanoseconds and byte-nanoseconds. All of them
    /// arrived by `now`.
    #[must_use]
    pub fn remaining_wait(&self, now: Time) -> (u128, u128) {
        let longest = self.entries.back().map_or(0, |one| (one.start - now).as_nanos());
        // Every packet has at least one byte, so that this product bounds both sums.
        if longest.checked_mul(self.bytes).is_some() {
            let mut packets = 0;
            let mut bytes = 0;
            self.entries.iter().for_each(|one| {
                let rest = (one.start - now).as_nanos();
                packets += rest;
                bytes += rest * u64::from(one.size);
            });
            return (packets.into(), bytes.into());
        }
        let mut packets = 0;
        let mut bytes = 0;
        for one in self.entries.iter() {
            let rest = u128::from((one.start - now).as_nanos());
            packets += rest;
            bytes += rest * u128::from(one.size);
        }
        (packets, bytes)
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let arrivals = self.arrivals.as_ref().map_or(0, |arrivals| size_of::<Ring<Time>>() + arrivals.memory());
        size_of::<Self>() + self.entries.memory() + arrivals
    }
}
