//! A network whose end is not known when it begins: that of an emulation.

use cwndlab_scenario::plan::Plan;
use cwndlab_units::Time;

use super::Network;
use crate::packet::Packet;
use crate::routes::Hop;

impl Network {
    /// The network of a run whose end is not known in advance. Packets cross only pure delays ahead of the clock, which
    /// [`stop`](Self::stop) can take back.
    #[must_use]
    pub fn without_end(plan: &Plan, seed: u64) -> Self {
        let mut network = Self { end: Time::MAX, ..Self::new(plan, seed) };
        network.routes.fuse_only_delays();
        network
    }

    /// Ends the run of a network [`without_end`](Self::without_end) at `end`: a packet that has crossed pure delays ahead
    /// of the clock returns to the wire on which it is at that time.
    pub fn stop(&mut self, end: Time) {
        let mut returned = Vec::new();
        while self.next_arrival() < Time::MAX {
            let mut packet = Packet::default();
            self.take_arrival(&mut packet);
            let mut index = self.routes.index_of_last_crossed(&packet);
            while self.routes.is_fused_delay(index) && packet.at > end + self.routes.hop(index).delay {
                let &Hop { delay, link, position, .. } = self.routes.hop(index);
                (packet.at, packet.hop) = (Time::ZERO + (packet.at - Time::ZERO - delay), position);
                self.crossed[link].packets -= 1;
                self.crossed[link].bytes -= u64::from(packet.size);
                index -= 1;
            }
            returned.push((self.routes.hop(index).link, packet));
        }
        returned.sort_by_key(|(_, packet)| packet.at); // a stable sort
        for (link, packet) in returned {
            *self.wires.add(link, packet.at) = packet;
        }
    }
}
