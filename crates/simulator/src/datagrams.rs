//! A flow without a connection (UDP): a source that sends by its own clock, a sink that counts.

use cwndlab_control::{Ack, Congestion, CongestionControl, Event};
use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::{FlowPlan, Pattern, Workload};
use cwndlab_transport::receiver::NEVER;
use cwndlab_transport::sender::Counters;
use cwndlab_units::Bytes;

use crate::draw::{self, SIZE_STREAM, TIME_STREAM};
use crate::packet::{Packet, DATA};
use crate::world::World;

/// Stands where a flow has no congestion control; nobody asks it.
#[derive(Clone, Debug)]
pub struct Unheard(pub Bytes);

impl CongestionControl for Unheard {
    fn on_ack(&mut self, _ack: &Ack) -> Option<Event> {
        None
    }

    fn on_congestion(&mut self, _event: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        self.0
    }
}

/// One-way delays from the moment of sending to the sink, queues included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    /// Packets received.
    pub count: u64,
    /// Sum.
    pub sum: u64,
    /// The last packet's.
    pub last: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// 16 times the interarrival jitter, as RFC 3550's appendix A.8 keeps it in integers.
    jitter_16: u64,
}

impl Delays {
    fn add(&mut self, delay: u64) {
        if self.count > 0 {
            // RFC 3550, section 6.4.1: J += (|D| - J) / 16, where D, the difference of two packets' spacings at sender and
            // receiver, is the difference of their transit times. Packets count in the order of their arrival.
            self.jitter_16 = self.jitter_16 + delay.abs_diff(self.last) - ((self.jitter_16 + 8) >> 4);
        }
        self.min = if self.count == 0 { delay } else { self.min.min(delay) };
        self.max = self.max.max(delay);
        self.count += 1;
        self.sum += delay;
        self.last = delay;
    }

    /// The interarrival jitter (RFC 3550, section 6.4.1).
    #[must_use]
    pub fn jitter(&self) -> u64 {
        self.jitter_16 >> 4
    }

    /// Their mean.
    #[must_use]
    pub fn mean(&self) -> Option<u64> {
        self.sum.checked_div(self.count)
    }
}

/// Source and sink.
#[derive(Debug)]
pub struct Datagrams {
    pattern: Pattern,
    sizes: Stream,
    times: Stream,
    /// End of the active period; `None` in a silent one.
    until: Option<u64>,
    /// Active time since the last packet before the silence.
    carried: u64,
    /// What has arrived, by packet: where a wire may deliver a packet twice.
    seen: Option<Vec<u64>>,
    rate_bps: u64,
    packet: u32,
    header: u32,
    /// When the packets that are spaced evenly began, and how many of them left.
    since: Option<u64>,
    steps: u64,
    seq: u32,
    sent_bytes: u64,
    sent_packets: u64,
    /// Payload received.
    pub received_bytes: u64,
    /// Delays of what was received.
    pub delays: Delays,
}

impl Datagrams {
    /// Those of a flow; `None` where it is sent over a connection.
    #[must_use]
    pub fn of(plan: &FlowPlan, index: u32, seed: u64) -> Option<Self> {
        let Workload::Datagrams { rate, packet, pattern } = &plan.workload else { return None };
        Some(Self {
            pattern: pattern.clone(),
            sizes: Stream::new(seed, SIZE_STREAM, u64::from(index)),
            times: Stream::new(seed, TIME_STREAM, u64::from(index)),
            until: None,
            carried: 0,
            seen: None,
            rate_bps: rate.0,
            packet: packet.0 as u32,
            header: plan.stack.header.0 as u32,
            since: None,
            steps: 0,
            seq: 0,
            sent_bytes: 0,
            sent_packets: 0,
            received_bytes: 0,
            delays: Delays::default(),
        })
    }

    /// Some wire may deliver packets twice: the sink looks at their numbers.
    pub fn expect_duplicates(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Sends what is due; answers when more is.
    pub fn send(&mut self, now: u64, flow: u32, world: &mut World) -> u64 {
        match self.pattern {
            Pattern::Steady => {
                self.emit(now, self.packet, flow, world);
                self.since.get_or_insert(now);
                self.steps += 1;
                self.step(self.steps)
            }
            Pattern::OnOff { .. } => self.send_in_periods(now, flow, world),
            Pattern::Frames { interval, ref size } => {
                let mut rest = draw::whole(size, &mut self.sizes);
                while rest > 0 {
                    // A packet has a byte of payload at least.
                    let one = rest.min(u64::from(self.packet)).max(u64::from(self.header) + 1);
                    rest = rest.saturating_sub(one);
                    self.emit(now, one as u32, flow, world);
                }
                now + interval.0
            }
        }
    }

    /// Periods of activity and silence. The time since the last packet is carried over a silence, so that the mean rate is
    /// the rate's share of active time, however short the periods (ns-3's OnOffApplication does so with residual bits).
    fn send_in_periods(&mut self, now: u64, flow: u32, world: &mut World) -> u64 {
        let Pattern::OnOff { on, off } = self.pattern.clone() else { return NEVER };
        let until = if let Some(until) = self.until {
            self.emit(now, self.packet, flow, world);
            self.steps += 1;
            until
        } else {
            let until = now + draw::whole(&on, &mut self.times);
            (self.until, self.since, self.steps) = (Some(until), Some(now.saturating_sub(self.carried)), 1);
            until
        };
        let next = self.step(self.steps);
        if next < until {
            return next.max(now);
        }
        self.carried = until - self.step(self.steps - 1);
        self.until = None;
        until + draw::pause(&off, &mut self.times)
    }

    /// Evenly spaced packets: number n is due n packets' time after the first, rounded down, so that no error adds up.
    fn step(&self, n: u64) -> u64 {
        let bits = u128::from(n) * u128::from(self.packet) * 8_000_000_000;
        self.since.unwrap_or(0) + (bits / u128::from(self.rate_bps)) as u64
    }

    fn emit(&mut self, now: u64, size: u32, flow: u32, world: &mut World) {
        let len = size - self.header;
        self.sent_packets += 1;
        self.sent_bytes += u64::from(len);
        let packet =
            Packet { stamp: now, seq: self.seq, flow, aux: len, size: size as u16, flags: DATA, ..Packet::default() };
        self.seq = self.seq.wrapping_add(1);
        world.forward(now, packet);
    }

    /// A packet reaches the sink.
    pub fn receive(&mut self, now: u64, packet: &Packet) {
        if let Some(seen) = &mut self.seen {
            let (word, bit) = (packet.seq as usize / 64, 1 << (packet.seq % 64));
            if seen.len() <= word {
                seen.resize(word + 1, 0);
            }
            if seen[word] & bit != 0 {
                return;
            }
            seen[word] |= bit;
        }
        self.received_bytes += u64::from(packet.aux);
        self.delays.add(now - packet.stamp);
    }

    /// What was sent.
    #[must_use]
    pub fn count(&self) -> Counters {
        Counters { sent_packets: self.sent_packets, sent_bytes: self.sent_bytes, ..Counters::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550, appendix A.8, by hand in its integers: transit times 100, 260, 100, 100 differ by 160, 160, 0, so 16 J is
    /// 160, then 160 + 160 - 10 = 310, then 310 - 19 = 291; a report has 16 J >> 4.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut delays = Delays::default();
        let seen: Vec<u64> = [100, 260, 100, 100]
            .into_iter()
            .map(|transit| {
                delays.add(transit);
                delays.jitter()
            })
            .collect();
        assert_eq!(seen, [0, 10, 19, 18]);
    }

    /// A constant change of the transit time by 1 ms is a jitter of 1 ms in the end: the fixed point of J += (|D| - J) / 16.
    #[test]
    fn jitter_converges_to_a_constant_difference() {
        let mut delays = Delays::default();
        for packet in 0..1000 {
            delays.add(if packet % 2 == 0 { 5_000_000 } else { 6_000_000 });
        }
        assert!(delays.jitter().abs_diff(1_000_000) <= 1, "{}", delays.jitter());
    }
}
