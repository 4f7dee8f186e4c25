//! The packets in flight, to know the bytes in flight when a lost one was sent: an [`Ack`] has the bytes of what is
//! acknowledged and lost, and the RTT names the newest acknowledged packet.

use std::collections::VecDeque;

use cwndlab_control::{Ack, Sent};
use cwndlab_units::Time;

use crate::shared::deliveries::sent_at;

/// A packet in flight. Amounts in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Its size.
    pub size: f64,
    /// In flight when it was sent, with it.
    pub in_flight: f64,
    /// Lost in total when it was sent.
    pub lost: f64,
    sent: Time,
    /// A newer packet was acknowledged before it.
    is_gap: bool,
}

/// The packets in flight in the order of their transmission.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    packets: VecDeque<Packet>,
    bytes: f64,
}

impl Outstanding {
    /// A packet is sent when `lost` bytes are lost in total.
    pub fn send(&mut self, sent: &Sent, lost: f64) {
        let size = sent.size.0 as f64;
        self.bytes += size;
        self.packets.push_back(Packet {
            size,
            in_flight: sent.in_flight.0 as f64,
            lost,
            sent: sent.now,
            is_gap: false,
        });
    }

    /// Removes what an ACK acknowledges, and returns its newest packet. Receivers acknowledge a packet above a gap at once:
    /// packets below the newest that the bytes do not include are the gap, directly below it.
    pub fn acknowledge(&mut self, ack: &Ack) -> Option<Packet> {
        let acked = ack.acked.0 as f64;
        let newest = self.newest(ack, acked)?;
        let packet = self.packets[newest];
        let mut left = acked - packet.size;
        self.bytes -= packet.size;
        let mut kept = VecDeque::new();
        for one in self.packets.drain(..newest) {
            if one.is_gap || left <= 0.0 {
                kept.push_back(Packet { is_gap: true, ..one });
            } else {
                left -= one.size;
                self.bytes -= one.size;
            }
        }
        self.packets.pop_front();
        while let Some(one) = kept.pop_back() {
            self.packets.push_front(one);
        }
        Some(packet)
    }

    /// The newest packet that an ACK acknowledges: of those that were sent when the RTT says, the first up to which there are
    /// as many bytes; without an RTT the first of all.
    fn newest(&self, ack: &Ack, acked: f64) -> Option<usize> {
        let sent = sent_at(ack);
        let first = sent.map_or(0, |sent| self.packets.partition_point(|one| one.sent < sent));
        let last = sent.map_or(self.packets.len(), |sent| self.packets.partition_point(|one| one.sent <= sent));
        let open = |one: &Packet| if one.is_gap { 0.0 } else { one.size };
        let mut bytes: f64 = self.packets.iter().take(first).map(open).sum();
        for index in first..last {
            bytes += open(&self.packets[index]);
            if bytes >= acked {
                return Some(index);
            }
        }
        last.checked_sub(1)
    }

    /// Removes the oldest packet, which is lost: of a gap, if there is one.
    pub fn lose(&mut self) -> Option<Packet> {
        let oldest = self.packets.iter().position(|one| one.is_gap).unwrap_or(0);
        let packet = self.packets.remove(oldest)?;
        self.bytes -= packet.size;
        Some(packet)
    }

    /// Forgets packets that are neither acknowledged nor lost, but not in flight: after a timeout.
    pub fn limit(&mut self, ack: &Ack) {
        while self.bytes > (ack.in_flight + ack.mss).0 as f64 && self.lose().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::{Bytes, Duration};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// By hand: eight packets are sent in pairs. ACKs of one of the first pair, one of the second, and two up to the fourth
    /// pair leave gaps at the second, the fifth and the sixth packet, which are lost in this order.
    #[test]
    fn the_packets_of_gaps_are_the_lost_ones() {
        let mut outstanding = Outstanding::default();
        for n in 1..=8 {
            let now = at(100 + 10 * ((n - 1) / 2));
            let (size, in_flight) = (Bytes(1000), Bytes(1000 * n));
            outstanding.send(&Sent { now, size, in_flight, retransmission: false, app_limited: false }, 0.0);
        }
        let mut newest = |ms: u64, sent_ms: u64, packets: u64| {
            let mut ack = ack_at(at(ms), packets);
            ack.rtt = Some(Duration::from_millis(ms - sent_ms));
            outstanding.acknowledge(&ack).map(|one| one.in_flight)
        };
        assert_eq!(newest(150, 100, 1), Some(1000.0)); // the first of the two, as far as an ACK tells
        assert_eq!(newest(160, 110, 1), Some(3000.0));
        assert_eq!(newest(170, 130, 2), Some(7000.0));
        let lost = [1, 2].map(|_| outstanding.lose().map_or(0.0, |one| one.in_flight));
        assert_eq!(lost, [2000.0, 5000.0]);
        let mut ack = ack_at(at(180), 1);
        ack.in_flight = Bytes::ZERO;
        outstanding.limit(&ack);
        assert_eq!((outstanding.packets.len(), outstanding.bytes), (1, 1000.0));
    }
}
