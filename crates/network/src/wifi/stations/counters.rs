//! Counters and queue lengths of stations and paths: the sums over their access categories.

use std::ops::Add;

use cwndlab_units::{Duration, Time};

use super::{AccessFunction, Counters, Path, PathTotals, Stations};

/// The sum of pairs.
fn sum<T: Default + Add<Output = T>>(pairs: impl Iterator<Item = (T, T)>) -> (T, T) {
    pairs.fold(Default::default(), |(a, b), (c, d)| (a + c, b + d))
}

impl<P: Copy> Stations<P> {
    /// Number of stations.
    #[must_use]
    pub fn number(&self) -> u32 {
        (self.functions.len() / self.categories) as u32
    }

    fn station(&self, station: u32) -> &[AccessFunction<P>] {
        &self.functions[self.by_category(station)]
    }

    fn path(&self, path: u32) -> &[Path<P>] {
        &self.paths[self.by_category(path)]
    }

    /// Counters of a station until `now`. Frames in transmission are neither sent nor dropped yet.
    #[must_use]
    pub fn counters(&self, now: Time, station: u32) -> Counters {
        let mut counters = Counters::default();
        for function in self.station(station) {
            counters.merge(&function.counters);
            let pending = function.pending_exchange;
            if now < pending.until {
                counters.sent -= pending.sent;
                counters.sent_bytes -= pending.sent_bytes;
                counters.given_up -= pending.given_up;
            }
        }
        counters
    }

    /// Counters of a path until `now`.
    #[must_use]
    pub fn path_totals(&self, now: Time, path: u32) -> PathTotals {
        let mut totals = PathTotals::default();
        for path in self.path(path) {
            totals.merge(&path.totals);
            let pending = path.pending_exchange;
            if now < pending.until {
                totals.sent -= pending.sent;
                totals.sent_bytes -= pending.sent_bytes;
                totals.given_up -= pending.given_up;
            }
        }
        totals
    }

    /// Packets and bytes of a path in the queues of its station, including those in transmission.
    #[must_use]
    pub fn path_backlog(&self, now: Time, path: u32) -> (u64, u64) {
        sum(self.path(path).iter().map(|one| one.queue_length.at(now)))
    }

    /// Arrival time of the packet of a path that has waited longest. Where none is in the device, that of the
    /// discipline.
    #[must_use]
    pub fn path_oldest(&self, path: u32) -> Option<Time> {
        let oldest = |path: &Path<P>| {
            let queue = self.functions[path.from as usize].queue.as_ref();
            path.frames.front().map(|frame| frame.one.since).or_else(|| queue?.oldest())
        };
        self.path(path).iter().filter_map(oldest).min()
    }

    /// Integrals of the queue length of a path until `now`, in packet-nanoseconds and byte-nanoseconds.
    #[must_use]
    pub fn path_integrals(&self, now: Time, path: u32) -> (u128, u128) {
        sum(self.path(path).iter().map(|one| one.queue_length.integrals(now)))
    }

    /// Maximum number of packets of a path in the queues of its station.
    #[must_use]
    pub fn path_max_queue_length(&self, path: u32) -> u64 {
        self.path(path)[0].queue_length.max
    }

    /// Packets and bytes in the queues of a station.
    #[must_use]
    pub fn backlog(&self, now: Time, station: u32) -> (u64, u64) {
        sum(self.station(station).iter().map(|one| one.queue_length.at(now)))
    }

    /// Integrals of the queue length of a station until `now`, in packet-nanoseconds and byte-nanoseconds.
    #[must_use]
    pub fn integrals(&self, now: Time, station: u32) -> (u128, u128) {
        sum(self.station(station).iter().map(|one| one.queue_length.integrals(now)))
    }

    /// Maximum number of packets in the queues of a station.
    #[must_use]
    pub fn max_queue_length(&self, station: u32) -> u64 {
        self.station(station)[0].queue_length.max
    }

    /// By flow of the packets, the airtime of the exchanges with their frames: with responses, retries and collisions. An
    /// aggregate is shared in proportion to the bytes of the packets. All flows together have the airtime of the stations.
    pub fn flow_airtimes(&self) -> impl Iterator<Item = (u64, Duration)> + '_ {
        self.flow_airtimes.all()
    }
}
