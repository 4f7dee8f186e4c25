//! A flow without a connection (UDP): a source with its own timer, and a sink that counts packets and delays.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::delays::Delays;
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::message_log::LoggedMessage;
use crate::sampling::{sample_pause, sample_period, sample_size};
use crate::NEVER;

/// The sending pattern of a source of datagrams.
#[derive(Clone, Debug, PartialEq)]
pub enum SendPattern {
    /// Evenly spaced packets.
    Steady,
    /// Evenly spaced packets in active periods, none in silent periods.
    OnOff {
        /// Lengths of active periods.
        on: Distribution,
        /// Lengths of silent periods.
        off: Distribution,
    },
    /// Frames at constant intervals. A frame is sent as one burst of packets.
    Frames {
        /// Time between two frames.
        interval: Duration,
        /// Size of a frame in bytes, headers included.
        size: Distribution,
    },
}

/// A datagram of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sequence number, modulo 2³².
    pub seq: u32,
    /// Payload, bytes.
    pub len: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Queues may mark it (ECN).
    pub is_ecn_capable: bool,
}

/// What source and sink of a direction have counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatagramCounters {
    /// Sent payload.
    pub sent_bytes: Bytes,
    /// Number of sent packets.
    pub sent_packets: u64,
    /// Received payload.
    pub received_bytes: Bytes,
    /// One-way delays of the received packets.
    pub delays: Delays,
}

impl DatagramCounters {
    /// Counts a datagram with this payload that is sent.
    pub(crate) fn count_sent(&mut self, payload: Bytes) {
        self.sent_packets += 1;
        self.sent_bytes += payload;
    }

    /// Counts a datagram with this payload that arrived after `delay`.
    pub(crate) fn count_received(&mut self, delay: Duration, payload: Bytes) {
        self.received_bytes += payload;
        self.delays.add(delay);
    }
}

/// A message of a source: consecutive packets that were sent together, such as a frame of video.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Number of its first packet, from 0.
    first: u64,
    generated: Time,
    /// Packets that have not arrived.
    missing: u32,
    /// Arrival of the last of its packets so far.
    arrived: Time,
    size: Bytes,
}

/// The state of source and sink.
#[derive(Debug)]
pub struct Datagrams {
    pattern: SendPattern,
    sizes: Stream,
    times: Stream,
    /// End of the active period; `None` in a silent period.
    until: Option<Time>,
    /// Active time between the last packet and the silent period.
    carried: Duration,
    /// One bit for each received packet; `None` if no wire duplicates packets.
    received: Option<Vec<u64>>,
    rate: Rate,
    packet: u32,
    header: u32,
    /// Start of the evenly spaced packets.
    since: Option<Time>,
    /// Number of packets sent since that start.
    steps: u64,
    seq: u32,
    /// Counters.
    pub counters: DatagramCounters,
    /// The messages, for a flow that asks for them.
    bursts: Option<Vec<Burst>>,
}

impl Datagrams {
    /// Source and sink of a flow: packets of `packet` bytes at `rate`, headers included.
    #[must_use]
    pub fn new(rate: Rate, packet: Bytes, pattern: SendPattern, flow: &FlowContext) -> Self {
        Self {
            pattern,
            sizes: flow.stream(Purpose::Size),
            times: flow.stream(Purpose::Time),
            until: None,
            carried: Duration::ZERO,
            received: None,
            rate,
            packet: packet.0 as u32,
            header: flow.header.0 as u32,
            since: None,
            steps: 0,
            seq: 0,
            counters: DatagramCounters::default(),
            bursts: None,
        }
    }

    /// Keeps the messages: frames, or single packets.
    pub fn keep_messages(&mut self) {
        self.bursts = Some(Vec::new());
    }

    /// Removes and returns the messages. A frame is delivered with the last of its packets.
    pub fn take_messages(&mut self) -> Vec<LoggedMessage> {
        let bursts = self.bursts.take().unwrap_or_default().into_iter();
        let message = |Burst { generated, missing, arrived, size, .. }| LoggedMessage {
            generated,
            delivered: (missing == 0).then_some(arrived),
            size,
        };
        bursts.map(message).collect()
    }

    /// Enables the detection of duplicates: the sink counts each packet once.
    pub fn expect_duplicates(&mut self) {
        self.received = Some(Vec::new());
    }

    /// Sends the datagrams that are due at `now` by `send`; returns the time of the next ones.
    pub fn send(&mut self, now: Time, send: impl FnMut(Datagram)) -> Time {
        let before = self.counters;
        let next = self.send_due(now, send);
        if let Some(bursts) = self.bursts.as_mut().filter(|_| self.counters.sent_packets > before.sent_packets) {
            bursts.push(Burst {
                first: before.sent_packets,
                generated: now,
                missing: (self.counters.sent_packets - before.sent_packets) as u32,
                arrived: now,
                size: self.counters.sent_bytes - before.sent_bytes,
            });
        }
        next
    }

    fn send_due(&mut self, now: Time, mut send: impl FnMut(Datagram)) -> Time {
        match self.pattern {
            SendPattern::Steady => {
                self.emit(self.packet, &mut send);
                self.since.get_or_insert(now);
                self.steps += 1;
                self.step(self.steps)
            }
            SendPattern::OnOff { .. } => self.send_in_periods(now, &mut send),
            SendPattern::Frames { interval, ref size } => {
                let mut rest = sample_size(size, &mut self.sizes).0;
                while rest > 0 {
                    // A packet has at least one byte of payload.
                    let one = rest.min(u64::from(self.packet)).max(u64::from(self.header) + 1);
                    rest = rest.saturating_sub(one);
                    self.emit(one as u32, &mut send);
                }
                now + interval
            }
        }
    }

    /// Active and silent periods. The active time since the last packet carries over to the next active period, so that
    /// the mean rate is the rate × the share of active time for any length of the periods (as the residual bits of
    /// ns-3's OnOffApplication).
    fn send_in_periods(&mut self, now: Time, send: &mut impl FnMut(Datagram)) -> Time {
        let SendPattern::OnOff { on, off } = self.pattern.clone() else { return NEVER };
        let until = if let Some(until) = self.until {
            self.emit(self.packet, send);
            self.steps += 1;
            until
        } else {
            let until = now + sample_period(&on, &mut self.times);
            (self.until, self.since, self.steps) =
                (Some(until), Some(Time::from_nanos(now.as_nanos().saturating_sub(self.carried.as_nanos()))), 1);
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

    /// Due time of the evenly spaced packet `n`: the time of n packets after the start, rounded down once, so that
    /// rounding errors do not accumulate.
    fn step(&self, n: u64) -> Time {
        let bits = u128::from(n) * u128::from(self.packet) * 8_000_000_000;
        self.since.unwrap_or(Time::ZERO) + Duration::from_nanos((bits / u128::from(self.rate.0)) as u64)
    }

    /// Sends a datagram of `size` bytes, headers included.
    fn emit(&mut self, size: u32, send: &mut impl FnMut(Datagram)) {
        let len = size - self.header;
        self.counters.count_sent(Bytes(u64::from(len)));
        let datagram = Datagram { seq: self.seq, len, size: size as u16, is_ecn_capable: false };
        self.seq = self.seq.wrapping_add(1);
        send(datagram);
    }

    /// Counts a datagram with sequence number `seq` and `len` bytes of payload, sent at `sent` and received at `now`.
    pub fn receive(&mut self, now: Time, sent: Time, seq: u32, len: u32) {
        if let Some(received) = &mut self.received {
            let word = seq as usize / 64;
            let bit = 1 << (seq % 64);
            if received.len() <= word {
                received.resize(word + 1, 0);
            }
            if received[word] & bit != 0 {
                return;
            }
            received[word] |= bit;
        }
        self.counters.count_received(now - sent, Bytes(u64::from(len)));
        if let Some(bursts) = &mut self.bursts {
            // The sequence number is that of the packet modulo 2³²: the number is the last one sent with it.
            let behind = self.seq.wrapping_sub(seq);
            let number = self.counters.sent_packets - u64::from(behind);
            let at = bursts.partition_point(|one| one.first <= number) - 1;
            bursts[at].missing = bursts[at].missing.saturating_sub(1);
            bursts[at].arrived = now;
        }
    }
}
