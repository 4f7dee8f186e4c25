//! What the TCP segments of a sender show, for stacks that do not report it: bytes in flight, samples of the RTT (RFC 6298,
//! without those of retransmitted segments) and retransmissions. A datagram of such a stack is an IPv4 packet.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{Answer, Value};

/// The fields of a segment.
struct Segment {
    sequence: u32,
    acknowledged: Option<u32>,
    /// Bytes of data.
    data: u32,
}

impl Segment {
    /// `None` if the packet is not TCP over IPv4.
    fn read(packet: &[u8]) -> Option<Self> {
        let header = usize::from(packet.first()? & 15) * 4;
        let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
        let tcp = packet.get(header..length).filter(|tcp| tcp.len() >= 20 && packet[9] == 6)?;
        let number = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let data = tcp.len().checked_sub(usize::from(tcp[12] >> 4) * 4)? as u32;
        let has_ack = tcp[13] & 16 != 0;
        Some(Self { sequence: number(4), acknowledged: has_ack.then(|| number(8)), data })
    }
}

/// Whether a sequence number is after another one (RFC 9293, section 3.4).
fn is_after(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) > 0
}

/// The segments of a sender that are not acknowledged.
#[derive(Debug, Default)]
pub struct Segments {
    /// Sequence numbers of their ends, with the time of sending if they were sent once.
    outstanding: VecDeque<(u32, Option<Duration>)>,
    acknowledged: Option<u32>,
    /// The end of the highest segment.
    highest: Option<u32>,
    smoothed: Option<Duration>,
    retransmitted: u64,
    retransmitted_bytes: u64,
}

impl Segments {
    /// The sender's stack has sent a packet.
    pub fn sent(&mut self, now: Duration, packet: &[u8]) {
        let Some(segment) = Segment::read(packet).filter(|segment| segment.data > 0) else { return };
        let end = segment.sequence.wrapping_add(segment.data);
        let highest = *self.highest.get_or_insert(segment.sequence);
        self.acknowledged.get_or_insert(segment.sequence);
        if is_after(highest, segment.sequence) {
            self.retransmitted += 1;
            self.retransmitted_bytes += u64::from(segment.data);
            let covered = self.outstanding.iter_mut().filter(|(one, _)| is_after(*one, segment.sequence));
            covered.take_while(|(one, _)| !is_after(*one, end)).for_each(|one| one.1 = None);
        }
        if is_after(end, highest) {
            self.highest = Some(end);
            self.outstanding.push_back((end, (!is_after(highest, segment.sequence)).then_some(now)));
        }
    }

    /// The sender's stack has received a packet.
    pub fn received(&mut self, now: Duration, packet: &[u8], answer: &mut Answer) {
        let acknowledged = Segment::read(packet).and_then(|segment| segment.acknowledged);
        let (Some(new), Some(before)) = (acknowledged, self.acknowledged) else { return };
        if !is_after(new, before) {
            return;
        }
        self.acknowledged = Some(new);
        let (mut sample, mut is_ambiguous) = (None, false);
        while let Some(&(_, sent)) = self.outstanding.front().filter(|(end, _)| !is_after(*end, new)) {
            self.outstanding.pop_front();
            sample = sent.map(|sent| now - sent);
            is_ambiguous |= sent.is_none();
        }
        if let Some(sample) = sample.filter(|_| !is_ambiguous) {
            let smoothed = self.smoothed.map_or(sample, |smoothed| (smoothed * 7 + sample) / 8);
            self.smoothed = Some(smoothed);
            answer.value(Value::Rtt, sample.as_nanos() as u64);
            answer.value(Value::SmoothedRtt, smoothed.as_nanos() as u64);
        }
    }

    /// Reports the totals.
    pub fn report(&self, answer: &mut Answer) {
        answer.value(Value::LostPackets, self.retransmitted);
        answer.value(Value::LostBytes, self.retransmitted_bytes);
        if let (Some(highest), Some(acknowledged)) = (self.highest, self.acknowledged) {
            // The acknowledgement of a FIN is one beyond the data.
            answer.value(
                Value::InFlight,
                u64::from(if is_after(highest, acknowledged) { highest.wrapping_sub(acknowledged) } else { 0 }),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with the headers of RFC 791 and RFC 9293 without options, by hand.
    fn packet(sequence: u32, acknowledged: u32, data: usize) -> Vec<u8> {
        let mut packet =
            vec![0x45, 0, 0, 40 + data as u8, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 1];
        packet.extend(sequence.to_be_bytes());
        packet.extend(acknowledged.to_be_bytes());
        packet.extend([0x50, 0x10, 0, 0, 0, 0, 0, 0]);
        packet.resize(40 + data, 0);
        packet
    }

    /// By hand: three segments of 10 bytes across the end of the sequence numbers; the second one is retransmitted. The
    /// ACK of the first one takes 5 ms; those of the others are no samples.
    #[test]
    fn samples_of_retransmitted_segments_do_not_count() {
        let at = Duration::from_millis;
        let (mut segments, mut answer) = (Segments::default(), Answer::default());
        let first = u32::MAX - 14;
        for number in 0..3 {
            segments.sent(at(0), &packet(first.wrapping_add(10 * number), 0, 10));
        }
        segments.received(at(5), &packet(0, first + 10, 0), &mut answer);
        assert_eq!(segments.smoothed, Some(at(5)));
        segments.sent(at(6), &packet(first + 10, 0, 10));
        segments.received(at(30), &packet(0, first.wrapping_add(30), 0), &mut answer);
        assert_eq!((segments.smoothed, segments.retransmitted), (Some(at(5)), 1));
        segments.sent(at(31), &packet(first.wrapping_add(30), 0, 10));
        segments.received(at(52), &packet(0, first.wrapping_add(40), 0), &mut answer);
        assert_eq!(segments.smoothed, Some(at(7)));
    }
}
