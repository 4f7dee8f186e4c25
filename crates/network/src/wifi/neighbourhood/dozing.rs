//! Dozing stations: packets are kept for them, and released when they wake.

use cwndlab_units::{Duration, Time};

use super::Neighbourhood;
use crate::aqm::QueuedPacket;
use crate::wifi::contention::NEVER;

/// Packets that an access point keeps for a dozing station.
const BUFFER: usize = 64;

impl<P: Copy> Neighbourhood<P> {
    /// The span for which a station stays awake after a data frame, if it saves power.
    fn awake_span(&self, station: u32) -> Option<Duration> {
        let saves = self.power_save.awake_until[station as usize] < NEVER;
        self.rules[self.transceivers[station as usize].rules as usize].power_save.filter(|_| saves)
    }

    /// A station that saves power sends or receives data: it stays awake, and gets what is kept for it.
    pub(super) fn stay_awake(&mut self, at: Time, station: u32) {
        if let Some(span) = self.awake_span(station) {
            self.power_save.awake_until[station as usize] = at + span;
            if !self.power_save.held[station as usize].is_empty() {
                self.power_save.woken.push(station);
            }
        }
    }

    /// A beacon was received: packets kept for the station wake it.
    pub(super) fn hear_beacon(&mut self, at: Time, station: u32, from: u32) {
        let beacon = self.rules[self.transceivers[station as usize].rules as usize].beacon;
        let is_own = beacon.is_some_and(|beacon| beacon.station == from);
        if is_own && !self.power_save.held[station as usize].is_empty() {
            self.stay_awake(at, station);
        }
    }

    /// The dozing receiver of a path.
    pub(super) fn dozing(&mut self, now: Time, path: u32) -> Option<u32> {
        let first = &self.stations.paths[path as usize * self.stations.categories];
        let (from, to) = (first.from / self.stations.categories as u32, first.to);
        if let Some(span) = self.awake_span(from) {
            let until = &mut self.power_save.awake_until[from as usize];
            *until = now + span; // it has a packet to send
        }
        let to = to?;
        self.awake_span(to)?;
        let queued = self.stations.path_backlog(now, path).0 > self.power_save.held[to as usize].len() as u64;
        let sends = self.stations.by_category(to).any(|index| self.stations.functions[index].device > 0);
        (self.power_save.awake_until[to as usize] <= now && !queued && !sends).then_some(to)
    }

    /// Keeps a packet for a dozing station.
    pub(super) fn hold(
        &mut self,
        now: Time,
        station: u32,
        path: u32,
        one: QueuedPacket<P>,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) {
        if self.power_save.held[station as usize].len() == BUFFER {
            if let Some((path, oldest)) = self.power_save.held[station as usize].pop_front() {
                let index = self.forget(now, path, oldest.size);
                self.stations.functions[index].counters.dropped += 1;
                self.stations.paths[path as usize * self.stations.categories].totals.dropped += 1;
                dropped.push(oldest);
            }
        }
        let first = &mut self.stations.paths[path as usize * self.stations.categories];
        first.totals.accepted += 1;
        first.queue_length.join(now, one.size);
        self.stations.functions[first.from as usize].queue_length.join(now, one.size);
        self.power_save.held[station as usize].push_back((path, one));
    }

    /// Arrival time of the first packet of a path that is kept for its receiver.
    #[must_use]
    pub fn held_since(&self, path: u32) -> Option<Time> {
        let to = self.stations.paths[path as usize * self.stations.categories].to?;
        let mut held = self.power_save.held[to as usize].iter();
        held.find(|held| held.0 == path).map(|held| held.1.since)
    }

    /// Takes a kept packet out of the counts of its path and its access function, whose index is returned.
    fn forget(&mut self, now: Time, path: u32, size: u32) -> usize {
        let first = &mut self.stations.paths[path as usize * self.stations.categories];
        first.totals.accepted -= 1;
        first.queue_length.drop_one(now, size);
        let index = first.from as usize;
        self.stations.functions[index].queue_length.drop_one(now, size);
        index
    }

    /// Queues what was kept for the stations that woke.
    pub(super) fn release(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) {
        for station in std::mem::take(&mut self.power_save.woken) {
            for (path, one) in std::mem::take(&mut self.power_save.held[station as usize]) {
                self.forget(now, path, one.size);
                if let Some(index) = self.stations.offer(now, path, one, dropped) {
                    self.begin_contending(now, index);
                }
            }
        }
    }
}
