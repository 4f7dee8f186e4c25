//! Drop-tail with computed departures: what waits is a list of service starts.

use cwndlab_units::{Duration, Time};

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
    limit: Limit,
    /// Waiting packets are kept, to be counted; a queue without limit that nobody looks at needs none of that.
    tracked: bool,
    counts_in_service: bool,
    /// Mark ECN-capable packets that find more than this many waiting.
    mark_above: u64,
    waiting: Ring<Waiting>,
    bytes: u64,
    in_service: u32,
    /// Integral over time of packets and bytes that wait, each counted in full when it joins. In 128 bits: 125 MB that
    /// wait for 74 s are 2⁶³ byte-nanoseconds, and behind an outage a wait lasts 2⁶⁰ ns.
    packet_ns: u128,
    byte_ns: u128,
    /// End of the run: waits of untracked packets count up to there.
    end: Time,
    pub(crate) most: u64,
    /// The longest wait (untracked queues).
    pub(crate) longest: Duration,
}

impl Queue {
    /// An empty queue of a run that lasts until `end`.
    #[must_use]
    pub fn new(limit: Limit, counts_in_service: bool, mark_above: Option<u32>, watched: bool, end: Time) -> Self {
        Self {
            limit,
            tracked: watched || limit != Limit::Unlimited || mark_above.is_some(),
            counts_in_service,
            mark_above: mark_above.map_or(u64::MAX, u64::from),
            waiting: Ring::default(),
            bytes: 0,
            in_service: 0,
            packet_ns: 0,
            byte_ns: 0,
            end,
            most: 0,
            longest: Duration::ZERO,
        }
    }

    /// Forgets the packets whose service began.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        while let Some(front) = self.waiting.front() {
            if front.start > now {
                break;
            }
            self.bytes -= u64::from(front.size);
            self.in_service = front.size;
            self.waiting.pop();
        }
    }

    /// A packet arrives at `now`; the line is free at `free`. Answers the start of service, or `None` if it is full,
    /// and whether to mark the packet.
    #[inline]
    pub fn join(&mut self, now: Time, free: Time, size: u32) -> (Option<Time>, bool) {
        if !self.tracked {
            let start = free.max(now);
            self.count(start.min(self.end).saturating_since(now), size);
            self.longest = self.longest.max(start - now);
            return (Some(start), false);
        }
        self.advance(now);
        if free <= now {
            self.in_service = size;
            return (Some(now), self.mark_above == 0);
        }
        let waiting = self.waiting.len() as u64;
        let serving = u64::from(self.counts_in_service);
        let bytes = self.bytes + serving * u64::from(self.in_service);
        if !self.limit.admits(waiting + serving, bytes, size) {
            return (None, false);
        }
        self.waiting.push(Waiting { start: free, size });
        self.bytes += u64::from(size);
        self.count(free - now, size);
        self.most = self.most.max(waiting + 1);
        (Some(free), waiting >= self.mark_above)
    }

    #[inline]
    fn count(&mut self, wait: Duration, size: u32) {
        self.packet_ns += u128::from(wait.0);
        self.byte_ns += u128::from(wait.0) * u128::from(size);
    }

    /// Waiting packets are counted one by one.
    #[must_use]
    pub fn is_tracked(&self) -> bool {
        self.tracked
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

    /// The exact integrals up to `now` of packets and bytes waiting: those who still wait count up to `now`. None of them
    /// joined after `now`.
    #[must_use]
    pub fn integrals(&self, now: Time) -> (u128, u128) {
        let (mut packets, mut bytes) = (self.packet_ns, self.byte_ns);
        for one in self.waiting.iter() {
            let rest = u128::from((one.start - now).0);
            packets -= rest;
            bytes -= rest * u128::from(one.size);
        }
        (packets, bytes)
    }

    /// Memory held, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.waiting.memory()
    }
}
