//! A flow without a connection (UDP): a source that sends by its own clock, and a sink that counts.

use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::{FlowPlan, Pattern, Workload};

use crate::delays::Delays;
use crate::sampling::{sample_pause, sample_size, SIZE_STREAM, TIME_STREAM};
use crate::NEVER;

/// A datagram that the source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its number, modulo 2³².
    pub seq: u32,
    /// Payload, bytes.
    pub len: u32,
    /// Bytes on the wire.
    pub size: u16,
}

/// Source and sink.
#[derive(Debug)]
pub struct Datagrams {
    pattern: Pattern,
    sizes: Stream,
    times: Stream,
    /// End of the active period; `None` in a silent one.
    until: Option<u64>,
    /// Active time between the last packet and the silence, ns.
    carried: u64,
    /// A bit for each packet received, if a wire may duplicate packets.
    seen: Option<Vec<u64>>,
    rate_bps: u64,
    packet: u32,
    header: u32,
    /// When the evenly spaced packets began, ns, and how many of them were sent.
    since: Option<u64>,
    steps: u64,
    seq: u32,
    /// Payload sent, bytes.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Payload received, bytes.
    pub received_bytes: u64,
    /// One-way delays of the packets received.
    pub delays: Delays,
}

impl Datagrams {
    /// Source and sink of a flow; `None` if it has a connection.
    #[must_use]
    pub fn new(plan: &FlowPlan, index: u32, seed: u64) -> Option<Self> {
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

    /// Makes the sink ignore duplicates, which a wire may create.
    pub fn expect_duplicates(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Sends the datagrams due at `now`; returns when the next ones are due, ns.
    pub fn send(&mut self, now: u64, mut send: impl FnMut(Datagram)) -> u64 {
        match self.pattern {
            Pattern::Steady => {
                self.emit(self.packet, &mut send);
                self.since.get_or_insert(now);
                self.steps += 1;
                self.step(self.steps)
            }
            Pattern::OnOff { .. } => self.send_in_periods(now, &mut send),
            Pattern::Frames { interval, ref size } => {
                let mut rest = sample_size(size, &mut self.sizes);
                while rest > 0 {
                    // A packet has a byte of payload at least.
                    let one = rest.min(u64::from(self.packet)).max(u64::from(self.header) + 1);
                    rest = rest.saturating_sub(one);
                    self.emit(one as u32, &mut send);
                }
                now + interval.0
            }
        }
    }

    /// Periods of activity and silence. The time since the last packet is carried over a silence, so that the mean rate is
    /// the rate's share of active time, however short the periods (ns-3's OnOffApplication does so with residual bits).
    fn send_in_periods(&mut self, now: u64, send: &mut impl FnMut(Datagram)) -> u64 {
        let Pattern::OnOff { on, off } = self.pattern.clone() else { return NEVER };
        let until = if let Some(until) = self.until {
            self.emit(self.packet, send);
            self.steps += 1;
            until
        } else {
            let until = now + sample_size(&on, &mut self.times);
            (self.until, self.since, self.steps) = (Some(until), Some(now.saturating_sub(self.carried)), 1);
            until
        };
        let next = self.step(self.steps);
        if next < until {
            return next.max(now);
        }
        self.carried = until - self.step(self.steps - 1);
        self.until = None;
        until + sample_pause(&off, &mut self.times)
    }

    /// Evenly spaced packets: number n is due n packets' time after the first, rounded down, so that no error adds up.
    fn step(&self, n: u64) -> u64 {
        let bits = u128::from(n) * u128::from(self.packet) * 8_000_000_000;
        self.since.unwrap_or(0) + (bits / u128::from(self.rate_bps)) as u64
    }

    fn emit(&mut self, size: u32, send: &mut impl FnMut(Datagram)) {
        let len = size - self.header;
        self.sent_packets += 1;
        self.sent_bytes += u64::from(len);
        let datagram = Datagram { seq: self.seq, len, size: size as u16 };
        self.seq = self.seq.wrapping_add(1);
        send(datagram);
    }

    /// A datagram with this number and payload, sent at `sent`, reaches the sink at `now`.
    pub fn receive(&mut self, now: u64, sent: u64, seq: u32, len: u32) {
        if let Some(seen) = &mut self.seen {
            let (word, bit) = (seq as usize / 64, 1 << (seq % 64));
            if seen.len() <= word {
                seen.resize(word + 1, 0);
            }
            if seen[word] & bit != 0 {
                return;
            }
            seen[word] |= bit;
        }
        self.received_bytes += u64::from(len);
        self.delays.add(now - sent);
    }
}
