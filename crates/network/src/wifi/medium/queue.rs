//! Queues of 802.11 stations: arrivals, and the transfer of packets to the device.

use cwndlab_units::Time;

use super::{Frame, Medium, Routed, State, Station};
use crate::aqm::QueuedPacket;
use crate::queue::Limit;

impl<P: Copy> Medium<P> {
    /// Enqueues a packet for a path. Appends the packets that are dropped to `dropped`.
    pub fn offer(&mut self, now: Time, path: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.process_until(now);
        let index = self.paths[path as usize].from as usize;
        if self.stations[index].queue.is_some() {
            self.enqueue(now, index, path, one, dropped);
            return;
        }
        let first = self.first_size(index);
        let station = &mut self.stations[index];
        let to = &mut self.paths[path as usize];
        if !station.admits(now, one.size, first) {
            station.counters.dropped += 1;
            to.totals.dropped += 1;
            dropped.push(one);
            return;
        }
        let idle = station.device == 0;
        to.totals.accepted += 1;
        to.queue_length.join(now, one.size);
        station.queue_length.join(now, one.size);
        self.load(index, path, one);
        if idle {
            self.begin_contending(now, index);
            if self.outcomes.is_empty() {
                self.schedule_with(index);
            }
        }
    }

    /// Adds a frame to the device.
    fn load(&mut self, index: usize, path: u32, one: QueuedPacket<P>) {
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

    /// Enqueues a packet at a station with a discipline.
    fn enqueue(
        &mut self,
        now: Time,
        index: usize,
        path: u32,
        one: QueuedPacket<P>,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) {
        let serving = self.serving(index);
        let station = &mut self.stations[index];
        let Some(queue) = &mut station.queue else { return };
        let to = &mut self.paths[path as usize];
        to.totals.accepted += 1;
        to.queue_length.join(now, one.size);
        station.queue_length.join(now, one.size);
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

    /// Fills the device from the discipline: one frame, or the maximum of an aggregate. Returns whether it has frames.
    pub(super) fn refill(&mut self, now: Time, index: usize, dropped: &mut Vec<QueuedPacket<P>>) -> bool {
        let room = self.rules.aggregation.map_or(1, |aggregation| u64::from(aggregation.frames));
        while self.stations[index].device < room {
            let Some(queue) = &mut self.stations[index].queue else { break };
            let Some(one) = queue.dequeue(now, &mut self.dropped) else { break };
            self.load(index, one.packet.path, with(one, one.packet.packet));
        }
        self.count_drops(now, index, dropped);
        self.stations[index].device > 0
    }

    /// Counts the packets that the discipline dropped.
    fn count_drops(&mut self, now: Time, index: usize, dropped: &mut Vec<QueuedPacket<P>>) {
        let station = &mut self.stations[index];
        for one in self.dropped.drain(..) {
            let path = &mut self.paths[one.packet.path as usize];
            path.totals.accepted -= 1;
            path.totals.dropped += 1;
            station.counters.dropped += 1;
            path.queue_length.drop_one(now, one.size);
            station.queue_length.drop_one(now, one.size);
            dropped.push(with(one, one.packet.packet));
        }
    }

    /// Size of the packet in service, bytes; 0 if there is none.
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
            let &(path, serial) = order.front().expect("a station with frames has an entry in its order");
            if self.paths[path as usize].frames.front().is_some_and(|frame| frame.serial <= serial) {
                return path;
            }
            order.pop_front();
        }
    }
}

/// The queued packet with another payload type.
fn with<P, Q>(one: QueuedPacket<P>, packet: Q) -> QueuedPacket<Q> {
    let QueuedPacket { since, size, flow, ecn, dscp, marked, .. } = one;
    QueuedPacket { since, size, flow, ecn, dscp, marked, packet }
}
