//! Queues of stations: arrivals, and the transfer of packets from a discipline to the device.

use cwndlab_units::Time;

use super::station::SentFrame;
use super::Neighbourhood;
use crate::aqm::QueuedPacket;
use crate::queue::Limit;
use crate::wifi::access_function::Routed;
use crate::wifi::medium::with;

impl<P: Copy> Neighbourhood<P> {
    /// Enqueues a packet for a path. Appends the packets that are dropped to `dropped`.
    pub fn offer(&mut self, now: Time, path: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.process_until(now);
        let from = self.paths[path as usize].from;
        if self.stations[from as usize].queue.is_none() && !self.admits(now, path, one.size) {
            self.stations[from as usize].counters.dropped += 1;
            self.paths[path as usize].totals.dropped += 1;
            dropped.push(one);
            return;
        }
        let serving = self.serving(from);
        let to = &mut self.paths[path as usize];
        let station = &mut self.stations[from as usize];
        to.totals.accepted += 1;
        to.queue_length.join(now, one.size);
        station.queue_length.join(now, one.size);
        let idle = station.backlog == 0;
        if let Some(queue) = &mut station.queue {
            let mut lost = Vec::new();
            queue.enqueue(now, serving, with(one, Routed { path, packet: one.packet }), &mut lost);
            self.count_drops(now, from, &lost);
            dropped.extend(lost.into_iter().map(|one| with(one, one.packet.packet)));
        } else {
            self.load(path, one);
        }
        if idle {
            self.refill(now, from);
            if self.stations[from as usize].backlog > 0 {
                self.begin_contending(now, from);
            }
        }
    }

    /// Whether the queue without a discipline has room.
    fn admits(&self, now: Time, path: u32, size: u32) -> bool {
        let station = &self.stations[self.paths[path as usize].from as usize];
        let (packets, bytes) = station.queue_length.at(now);
        let in_service = if station.counts_in_service { 0 } else { u64::from(packets > 0) };
        match station.limit {
            Limit::Unlimited => true,
            Limit::Packets(max) => packets - in_service < max,
            Limit::Bytes(max) => {
                let served = if in_service > 0 { u64::from(self.serving(self.paths[path as usize].from)) } else { 0 };
                bytes - served + u64::from(size) <= max || packets == 0
            }
        }
    }

    /// Size of the packet in service, bytes; 0 if there is none.
    fn serving(&self, station: u32) -> u32 {
        let oldest = |path: &u32| {
            let waiting = self.paths[*path as usize].frames.iter().find(|frame| !frame.done);
            waiting.map(|frame| (frame.serial, frame.one.size))
        };
        self.stations[station as usize].paths.iter().filter_map(oldest).min().map_or(0, |(_, size)| size)
    }

    /// Adds a frame to the device.
    fn load(&mut self, path: u32, one: QueuedPacket<P>) {
        self.serial += 1;
        let serial = self.serial;
        let to = &mut self.paths[path as usize];
        to.frames.push_back(SentFrame { one, serial, failures: [0; 2], received: false, done: false, reported: false });
        self.stations[to.from as usize].backlog += 1;
    }

    /// Fills the device from the discipline: one frame, or the maximum of an aggregate.
    pub(super) fn refill(&mut self, now: Time, index: u32) {
        let mut lost = Vec::new();
        loop {
            let station = &mut self.stations[index as usize];
            let Some(queue) = station.queue.as_mut().filter(|_| station.backlog < station.room) else { break };
            let Some(one) = queue.dequeue(now, &mut lost) else { break };
            self.load(one.packet.path, with(one, one.packet.packet));
        }
        self.count_drops(now, index, &lost);
        self.dropped.append(&mut lost);
    }

    /// Counts packets that the discipline dropped.
    fn count_drops(&mut self, now: Time, index: u32, lost: &[QueuedPacket<Routed<P>>]) {
        let station = &mut self.stations[index as usize];
        for one in lost {
            let path = &mut self.paths[one.packet.path as usize];
            path.totals.accepted -= 1;
            path.totals.dropped += 1;
            station.counters.dropped += 1;
            path.queue_length.drop_one(now, one.size);
            station.queue_length.drop_one(now, one.size);
        }
    }
}
