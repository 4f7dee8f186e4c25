//! How packets come to a station, and from its queue into its device.

use cwndlab_units::Time;

use super::{Frame, Medium, Routed, State, Station};
use crate::aqm::Waiting;
use crate::queue::Limit;

impl<P: Copy> Medium<P> {
    /// A packet for a path; what is dropped for it goes to `dropped`.
    pub fn offer(&mut self, now: Time, path: u32, one: Waiting<P>, dropped: &mut Vec<Waiting<P>>) {
        self.settle(now);
        let index = self.paths[path as usize].from as usize;
        if self.stations[index].queue.is_some() {
            self.enqueue(now, index, path, one, dropped);
            return;
        }
        let first = self.first_size(index);
        let station = &mut self.stations[index];
        let to = &mut self.paths[path as usize];
        if !station.takes(now, one.size, first) {
            station.counters.dropped += 1;
            to.totals.dropped += 1;
            dropped.push(one);
            return;
        }
        let idle = station.device == 0;
        to.totals.accepted += 1;
        to.gauge.join(now, one.size);
        station.gauge.join(now, one.size);
        self.load(index, path, one);
        if idle {
            self.begin_contending(now, index);
            if self.outcomes.is_empty() {
                self.schedule_with(index);
            }
        }
    }

    /// A frame comes into the device.
    fn load(&mut self, index: usize, path: u32, one: Waiting<P>) {
        self.serial += 1;
        let frame = Frame { one, serial: self.serial, failures: [0; 2], state: State::Waiting };
        self.paths[path as usize].frames.push_back(frame);
        let station = &mut self.stations[index];
        if station.sole_path.is_none() {
            station.order.push_back((path, self.serial));
        }
        station.device += 1;
        self.contention.set_sends(index, true);
    }

    /// A packet for a station with a discipline.
    fn enqueue(&mut self, now: Time, index: usize, path: u32, one: Waiting<P>, dropped: &mut Vec<Waiting<P>>) {
        let serving = self.serving(index);
        let station = &mut self.stations[index];
        let Some(queue) = &mut station.queue else { return };
        let to = &mut self.paths[path as usize];
        to.totals.accepted += 1;
        to.gauge.join(now, one.size);
        station.gauge.join(now, one.size);
        queue.enqueue(now, serving, with(one, Routed { path, packet: one.packet }), &mut self.dropped);
        self.count_drops(now, index, dropped);
        let idle = self.stations[index].device == 0;
        if idle && !self.stations[index].pending && self.refill(now, index, dropped) {
            self.begin_contending(now, index);
            if self.outcomes.is_empty() {
                self.schedule_with(index);
            }
        }
    }

    /// The device takes what it has room for: one frame, or as many as an aggregate holds. Whether it has any now.
    pub(super) fn refill(&mut self, now: Time, index: usize, dropped: &mut Vec<Waiting<P>>) -> bool {
        let room = self.rules.aggregation.map_or(1, |aggregation| u64::from(aggregation.frames));
        while self.stations[index].device < room {
            let Some(queue) = &mut self.stations[index].queue else { break };
            let Some(one) = queue.dequeue(now, &mut self.dropped) else { break };
            self.load(index, one.packet.path, with(one, one.packet.packet));
        }
        self.count_drops(now, index, dropped);
        self.stations[index].device > 0
    }

    /// Counts what a discipline dropped.
    fn count_drops(&mut self, now: Time, index: usize, dropped: &mut Vec<Waiting<P>>) {
        let station = &mut self.stations[index];
        for one in self.dropped.drain(..) {
            let path = &mut self.paths[one.packet.path as usize];
            path.totals.accepted -= 1;
            path.totals.dropped += 1;
            station.counters.dropped += 1;
            path.gauge.drop_one(now, one.size);
            station.gauge.drop_one(now, one.size);
            dropped.push(with(one, one.packet.packet));
        }
    }

    /// Bytes of what is in service, for a discipline that counts it.
    fn serving(&mut self, index: usize) -> u32 {
        if self.stations[index].device == 0 {
            return 0;
        }
        let path = self.first_path(index);
        self.paths[path as usize].frames[0].one.size
    }

    fn first_size(&mut self, station: usize) -> u32 {
        if matches!(self.stations[station].limit, Limit::Bytes(_)) {
            self.serving(station)
        } else {
            0
        }
    }

    /// The path of the station's oldest frame.
    pub(super) fn first_path(&mut self, station: usize) -> u32 {
        let Station { sole_path, order, .. } = &mut self.stations[station];
        if let Some(path) = *sole_path {
            return path;
        }
        loop {
            let &(path, serial) = order.front().expect("a station with packets has one in its order");
            if self.paths[path as usize].frames.front().is_some_and(|frame| frame.serial <= serial) {
                return path;
            }
            order.pop_front();
        }
    }
}

/// The same arrival with another packet.
fn with<P, Q>(one: Waiting<P>, packet: Q) -> Waiting<Q> {
    Waiting { since: one.since, size: one.size, flow: one.flow, ecn: one.ecn, marked: one.marked, packet }
}
