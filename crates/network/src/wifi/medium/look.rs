//! What a medium counted and holds.

use cwndlab_units::Time;

use super::{Counters, Medium, PathTotals};

impl<P: Copy> Medium<P> {
    /// How many stations there are.
    #[must_use]
    pub fn stations(&self) -> u32 {
        self.stations.len() as u32
    }

    /// What a station counted up to `now`: what is on the air is neither sent nor given up yet.
    #[must_use]
    pub fn counters(&self, now: Time, station: u32) -> Counters {
        let station = &self.stations[station as usize];
        let (mut counters, underway) = (station.counters, station.underway);
        if now < underway.until {
            counters.sent -= underway.sent;
            counters.sent_bytes -= underway.sent_bytes;
            counters.given_up -= underway.given_up;
        }
        counters
    }

    /// What a path counted up to `now`.
    #[must_use]
    pub fn path_totals(&self, now: Time, path: u32) -> PathTotals {
        let path = &self.paths[path as usize];
        let (mut totals, underway) = (path.totals, path.underway);
        if now < underway.until {
            totals.sent -= underway.sent;
            totals.sent_bytes -= underway.sent_bytes;
            totals.given_up -= underway.given_up;
        }
        totals
    }

    /// Packets and bytes of a path in the queue of its station, those on the air included.
    #[must_use]
    pub fn path_backlog(&self, now: Time, path: u32) -> (u64, u64) {
        self.paths[path as usize].gauge.held(now)
    }

    /// Their integrals up to `now`: packet-nanoseconds and byte-nanoseconds.
    #[must_use]
    pub fn path_integrals(&self, now: Time, path: u32) -> (u128, u128) {
        self.paths[path as usize].gauge.integrals(now)
    }

    /// The most packets that a path ever had in the queue.
    #[must_use]
    pub fn path_most(&self, path: u32) -> u64 {
        self.paths[path as usize].gauge.most
    }

    /// Packets and bytes in the queue of a station.
    #[must_use]
    pub fn backlog(&self, now: Time, station: u32) -> (u64, u64) {
        self.stations[station as usize].gauge.held(now)
    }

    /// Their integrals up to `now`.
    #[must_use]
    pub fn integrals(&self, now: Time, station: u32) -> (u128, u128) {
        self.stations[station as usize].gauge.integrals(now)
    }

    /// The most packets that a station ever held.
    #[must_use]
    pub fn most(&self, station: u32) -> u64 {
        self.stations[station as usize].gauge.most
    }

    /// Beacons sent.
    #[must_use]
    pub fn beacons(&self) -> u64 {
        self.beacons
    }
}
