//! Queues of 802.11 stations: arrivals, and the transfer of packets to the device.

use cwndlab_units::Time;

use super::{AccessFunction, Frame, Medium, Routed, State};
use crate::aqm::QueuedPacket;
use crate::dscp::Dscp;
use crate::queue::Limit;

impl<P: Copy> Medium<P> {
    /// Enqueues a packet for a path. Appends the packets that are dropped to `dropped`.
    #[allow(clippy::inline_always)] // its only caller is the event loop
    #[inline(always)]
    pub fn offer(&mut self, now: Time, path: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.process_until(now);
        let path = if self.categories > 1 { self.path_of(path, one.dscp) } else { path };
        let index = self.paths[path as usize].from as usize;
        if self.functions[index].queue.is_some() {
            self.enqueue(now, index, path, one, dropped);
            return;
        }
        let first = self.first_size(index);
        let function = &mut self.functions[index];
        let to = &mut self.paths[path as usize];
        if !function.admits(now, one.size, first) {
            function.counters.dropped += 1;
            to.totals.dropped += 1;
            dropped.push(one);
            return;
        }
        let idle = function.device == 0;
        to.totals.accepted += 1;
        to.queue_length.join(now, one.size);
        function.queue_length.join(now, one.size);
        if self.categories > 1 {
            self.count_max_length(now, index, path);
        }
        self.load(index, path, one);
        if idle {
            self.begin_contending(now, index);
            if self.outcomes.is_empty() {
                self.schedule_with(index);
            }
        }
    }

    /// The path of a packet: that of its access category.
    #[cold]
    fn path_of(&self, path: u32, dscp: Dscp) -> u32 {
        let category = self.rules.edca.as_ref().map_or(0, |edca| edca.category(dscp) as u32);
        path * self.categories as u32 + category
    }

    /// The first access category has the maximum length of all queues of the station, or of the path.
    #[cold]
    fn count_max_length(&mut self, now: Time, index: usize, path: u32) {
        let (station, path) = (index / self.categories, path as usize / self.categories);
        let packets = self.backlog(now, station as u32).0;
        let max = &mut self.functions[station * self.categories].queue_length.max;
        *max = packets.max(*max);
        let packets = self.path_backlog(now, path as u32).0;
        let max = &mut self.paths[path * self.categories].queue_length.max;
        *max = packets.max(*max);
    }

    /// Adds a frame to the device.
    fn load(&mut self, index: usize, path: u32, one: QueuedPacket<P>) {
        self.serial += 1;
        let frame = Frame { one, serial: self.serial, failures: [0; 2], state: State::Waiting };
        self.paths[path as usize].frames.push_back(frame);
        let function = &mut self.functions[index];
        if function.sole_path.is_none() {
            function.order.push_back((path, self.serial));
        }
        function.device += 1;
        self.contention.set_sends(index, true);
    }

    /// Enqueues a packet at an access function with a discipline.
    fn enqueue(
        &mut self,
        now: Time,
        index: usize,
        path: u32,
        one: QueuedPacket<P>,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) {
        let serving = self.serving(index);
        let function = &mut self.functions[index];
        let Some(queue) = &mut function.queue else { return };
        let to = &mut self.paths[path as usize];
        to.totals.accepted += 1;
        to.queue_length.join(now, one.size);
        function.queue_length.join(now, one.size);
        queue.enqueue(now, serving, with(one, Routed { path, packet: one.packet }), &mut self.dropped);
        if self.categories > 1 {
            self.count_max_length(now, index, path);
        }
        self.count_drops(now, index, dropped);
        let idle = self.functions[index].device == 0;
        if idle && !self.functions[index].pending && self.refill(now, index, dropped) {
            self.begin_contending(now, index);
            if self.outcomes.is_empty() {
                self.schedule_with(index);
            }
        }
    }

    /// Fills the device from the discipline: one frame, or the maximum of an aggregate. Returns whether it has frames.
    pub(super) fn refill(&mut self, now: Time, index: usize, dropped: &mut Vec<QueuedPacket<P>>) -> bool {
        while self.functions[index].device < self.functions[index].room {
            let Some(queue) = &mut self.functions[index].queue else { break };
            let Some(one) = queue.dequeue(now, &mut self.dropped) else { break };
            self.load(index, one.packet.path, with(one, one.packet.packet));
        }
        self.count_drops(now, index, dropped);
        self.functions[index].device > 0
    }

    /// Counts the packets that the discipline dropped.
    fn count_drops(&mut self, now: Time, index: usize, dropped: &mut Vec<QueuedPacket<P>>) {
        let function = &mut self.functions[index];
        for one in self.dropped.drain(..) {
            let path = &mut self.paths[one.packet.path as usize];
            path.totals.accepted -= 1;
            path.totals.dropped += 1;
            function.counters.dropped += 1;
            path.queue_length.drop_one(now, one.size);
            function.queue_length.drop_one(now, one.size);
            dropped.push(with(one, one.packet.packet));
        }
    }

    /// Size of the packet in service, bytes; 0 if there is none.
    fn serving(&mut self, index: usize) -> u32 {
        if self.functions[index].device == 0 {
            return 0;
        }
        let path = self.first_path(index);
        self.paths[path as usize].frames[0].one.size
    }

    fn first_size(&mut self, index: usize) -> u32 {
        if matches!(self.functions[index].limit, Limit::Bytes(_)) {
            self.serving(index)
        } else {
            0
        }
    }

    /// The path of an access function's oldest frame.
    pub(super) fn first_path(&mut self, index: usize) -> u32 {
        let AccessFunction { sole_path, order, .. } = &mut self.functions[index];
        if let Some(path) = *sole_path {
            return path;
        }
        loop {
            let &(path, serial) = order.front().expect("an access function with frames has an entry in its order");
            if self.paths[path as usize].frames.front().is_some_and(|frame| frame.serial <= serial) {
                return path;
            }
            order.pop_front();
        }
    }
}

/// The queued packet with another payload type.
pub(in crate::wifi) fn with<P, Q>(one: QueuedPacket<P>, packet: Q) -> QueuedPacket<Q> {
    let QueuedPacket { since, size, flow, ecn, dscp, marked, .. } = one;
    QueuedPacket { since, size, flow, ecn, dscp, marked, packet }
}
