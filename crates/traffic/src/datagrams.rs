//! A flow without a connection (UDP): a source that sends by its own clock, and a sink that counts.

use cwndlab_network::random::Stream;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::delays::Delays;
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::sampling::{sample_pause, sample_period, sample_size, SIZE_STREAM, TIME_STREAM};
use crate::NEVER;

/// When a source of datagrams sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Always, evenly spaced.
    Steady,
    /// Evenly spaced in active periods, nothing in silent ones.
    OnOff {
        /// Lengths of active periods.
        on: Distribution,
        /// Lengths of silent ones.
        off: Distribution,
    },
    /// Frames at even intervals; each leaves at once, in as many packets as it takes.
    Frames {
        /// Between frames.
        interval: Duration,
        /// Bytes of a frame on the wire, headers included.
        size: Distribution,
    },
}

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
    until: Option<Time>,
    /// Active time between the last packet and the silence.
    carried: Duration,
    /// A bit for each packet received, if a wire may duplicate packets.
    seen: Option<Vec<u64>>,
    rate: Rate,
    packet: u32,
    header: u32,
    /// When the evenly spaced packets began, and how many of them were sent.
    since: Option<Time>,
    steps: u64,
    seq: u32,
    /// Payload sent.
    pub sent_bytes: Bytes,
    /// Packets sent.
    pub sent_packets: u64,
    /// Payload received.
    pub received_bytes: Bytes,
    /// One-way delays of the packets received.
    pub delays: Delays,
}

impl Datagrams {
    /// Source and sink of a flow: packets of `packet` bytes at `rate`, headers included.
    #[must_use]
    pub fn new(rate: Rate, packet: Bytes, pattern: Pattern, flow: &FlowContext) -> Self {
        Self {
            pattern,
            sizes: flow.stream(SIZE_STREAM),
            times: flow.stream(TIME_STREAM),
            until: None,
            carried: Duration::ZERO,
            seen: None,
            rate,
            packet: packet.0 as u32,
            header: flow.header.0 as u32,
            since: None,
            steps: 0,
            seq: 0,
            sent_bytes: Bytes::ZERO,
            sent_packets: 0,
            received_bytes: Bytes::ZERO,
            delays: Delays::default(),
        }
    }

    /// Makes the sink ignore duplicates, which a wire may create.
    pub fn expect_duplicates(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Sends the datagrams due at `now`; returns when the next ones are due.
    pub fn send(&mut self, now: Time, mut send: impl FnMut(Datagram)) -> Time {
        match self.pattern {
            Pattern::Steady => {
                self.emit(self.packet, &mut send);
                self.since.get_or_insert(now);
                self.steps += 1;
                self.step(self.steps)
            }
            Pattern::OnOff { .. } => self.send_in_periods(now, &mut send),
            Pattern::Frames { interval, ref size } => {
                let mut rest = sample_size(size, &mut self.sizes).0;
                while rest > 0 {
                    // A packet has a byte of payload at least.
                    let one = rest.min(u64::from(self.packet)).max(u64::from(self.header) + 1);
                    rest = rest.saturating_sub(one);
                    self.emit(one as u32, &mut send);
                }
                now + interval
            }
        }
    }

    /// Periods of activity and silence. The time since the last packet is carried over a silence, so that the mean rate is
    /// the rate's share of active time, however short the periods (ns-3's OnOffApplication does so with residual bits).
    fn send_in_periods(&mut self, now: Time, send: &mut impl FnMut(Datagram)) -> Time {
        let Pattern::OnOff { on, off } = self.pattern.clone() else { return NEVER };
        let until = if let Some(until) = self.until {
            self.emit(self.packet, send);
            self.steps += 1;
            until
        } else {
            let until = now + sample_period(&on, &mut self.times);
            (self.until, self.since, self.steps) = (Some(until), Some(Time(now.0.saturating_sub(self.carried.0))), 1);
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
    fn step(&self, n: u64) -> Time {
        let bits = u128::from(n) * u128::from(self.packet) * 8_000_000_000;
        self.since.unwrap_or(Time::ZERO) + Duration((bits / u128::from(self.rate.0)) as u64)
    }

    fn emit(&mut self, size: u32, send: &mut impl FnMut(Datagram)) {
        let len = size - self.header;
        self.sent_packets += 1;
        self.sent_bytes += Bytes(u64::from(len));
        let datagram = Datagram { seq: self.seq, len, size: size as u16 };
        self.seq = self.seq.wrapping_add(1);
        send(datagram);
    }

    /// A datagram with this number and payload, sent at `sent`, reaches the sink at `now`.
    pub fn receive(&mut self, now: Time, sent: Time, seq: u32, len: u32) {
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
        self.received_bytes += Bytes(u64::from(len));
        self.delays.add(now - sent);
    }
}
