//! Queues of 802.11 stations: arrivals, and the transfer of packets to the device.

use cwndlab_units::Time;

use super::{AccessCategory, AccessFunction, Frame, Routed, Stations};
use crate::aqm::QueuedPacket;
use crate::dscp::Dscp;
use crate::queue::Limit;
use crate::wifi::access_function::State;

impl<P: Copy> Stations<P> {
    /// Enqueues a packet for a path. Appends the packets that are dropped to `dropped`. Returns the access function whose
    /// device was empty, if it has a frame now.
    #[allow(clippy::inline_always)] // called for every packet
    #[inline(always)]
    pub(in crate::wifi) fn offer(
        &mut self,
        now: Time,
        path: u32,
        mut one: QueuedPacket<P>,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) -> Option<usize> {
        let path = if self.categories > 1 { self.path_of(path, one.dscp) } else { path };
        let index = self.paths[path as usize].from as usize;
        if self.functions[index].queue.is_some() {
            return self.enqueue(now, index, path, one, dropped).then_some(index);
        }
        let first = self.first_size(index);
        let function = &mut self.functions[index];
        let to = &mut self.paths[path as usize];
        if !function.admits(now, one.size, first) {
            function.counters.dropped += 1;
            to.totals.dropped += 1;
            dropped.push(one);
            return None;
        }
        if function.mark_above < u64::MAX && function.marks(now) {
            one.mark();
        }
        let idle = function.device == 0;
        to.totals.accepted += 1;
        to.queue_length.join(now, one.size);
        function.queue_length.join(now, one.size);
        if self.categories > 1 {
            self.count_max_length(now, index, path);
        }
        self.load(index, path, one);
        idle.then_some(index)
    }

    /// The path of a packet: that of its access category.
    #[cold]
    fn path_of(&self, path: u32, dscp: Dscp) -> u32 {
        let first = path as usize * self.categories;
        let mapping = self.mappings[self.paths[first].from as usize / self.categories];
        let category = mapping.map_or(AccessCategory::BestEffort, |mapping| mapping.category(dscp));
        (first + category as usize) as u32
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
        let (serial, state) = (self.serial, State::Waiting);
        let frame = Frame { one, serial, failures: [0; 2], state, in_window: false, reported: false };
        self.paths[path as usize].frames.push_back(frame);
        let function = &mut self.functions[index];
        if function.sole_path.is_none() {
            function.order.push_back((path, self.serial));
        }
        function.device += 1;
    }

    /// Enqueues a packet at an access function with a discipline. Returns whether its device was empty and has a frame now.
    fn enqueue(
        &mut self,
        now: Time,
        index: usize,
        path: u32,
        one: QueuedPacket<P>,
        dropped: &mut Vec<QueuedPacket<P>>,
    ) -> bool {
        let serving = self.serving(index);
        let function = &mut self.functions[index];
        let Some(queue) = &mut function.queue else { return false };
        let to = &mut self.paths[path as usize];
        to.totals.accepted += 1;
        to.queue_length.enter(now, one.size);
        function.queue_length.enter(now, one.size);
        queue.enqueue(now, serving, with(one, Routed { path, packet: one.packet }), &mut self.dropped);
        self.count_drops(now, index, dropped);
        self.paths[path as usize].queue_length.count_max(now);
        self.functions[index].queue_length.count_max(now);
        if self.categories > 1 {
            self.count_max_length(now, index, path);
        }
        let idle = self.functions[index].device == 0;
        idle && !self.functions[index].pending && self.refill(now, index, dropped)
    }

    /// Refills the devices of access functions whose outcomes were taken, and calls `refilled` with each of them and
    /// whether its device has frames.
    pub(in crate::wifi) fn refill_pending(
        &mut self,
        now: Time,
        dropped: &mut Vec<QueuedPacket<P>>,
        mut refilled: impl FnMut(usize, bool),
    ) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_unstable();
        for index in pending.drain(..).map(|index| index as usize) {
            // The backoff after its last frame is already in progress.
            if std::mem::take(&mut self.functions[index].pending) {
                refilled(index, self.refill(now, index, dropped));
            }
        }
        self.pending = pending;
    }

    /// Fills the device from the discipline: one frame, or the maximum of an aggregate. Returns whether it has frames.
    fn refill(&mut self, now: Time, index: usize, dropped: &mut Vec<QueuedPacket<P>>) -> bool {
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
    pub(in crate::wifi) fn first_path(&mut self, index: usize) -> u32 {
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
fn with<P, Q>(one: QueuedPacket<P>, packet: Q) -> QueuedPacket<Q> {
    let QueuedPacket { since, size, flow, ecn, dscp, marked, .. } = one;
    QueuedPacket { since, size, flow, ecn, dscp, marked, packet }
}
