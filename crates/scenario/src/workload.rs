//! What applications send, and when.

use cwndlab_units::{Bytes, Duration, Rate};

use crate::distribution::Distribution;
use crate::plan::{Ecn, Stack};
use crate::schema::UDP_HEADER;

/// What an application sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// As much as possible, or `bytes` of it.
    Bulk {
        /// How much; `None` is endless.
        bytes: Option<Bytes>,
    },
    /// Sends as much as possible for `on`, then is silent for `off`, and so on.
    OnOff {
        /// Length of an active period.
        on: Duration,
        /// Length of a silent one.
        off: Duration,
    },
    /// The same with periods drawn at random.
    RandomOnOff {
        /// Lengths of active periods.
        on: Distribution,
        /// Lengths of silent ones.
        off: Distribution,
    },
    /// `count` transfers of `bytes` each, the next one `gap` after the last was acknowledged.
    Transfers {
        /// How many; `None` is without end.
        count: Option<u64>,
        /// Size of each.
        bytes: Bytes,
        /// Pause between them.
        gap: Duration,
        /// Each over a connection of its own, with handshake and initial window.
        new_connection: bool,
    },
    /// Transfers that arrive as a Poisson process, each over a connection of its own, however many there are (open loop).
    Arrivals {
        /// How often.
        intensity: Intensity,
        /// Their sizes.
        size: Distribution,
        /// How many; `None` is without end.
        count: Option<u64>,
        /// Connections at the same time at most; what arrives beyond is refused.
        connections: u32,
    },
    /// The receiver asks, the sender answers, the receiver thinks and asks again.
    Exchanges {
        /// Sizes of requests, sent against the flow's direction.
        request: Distribution,
        /// Sizes of responses, sent in the flow's direction.
        response: Distribution,
        /// From the end of a response to the next request.
        think: Distribution,
        /// How many exchanges; `None` is without end.
        count: Option<u64>,
        /// Each over a connection of its own.
        new_connection: bool,
    },
    /// A sensor that publishes messages to a broker (MQTT 3.1.1).
    Mqtt(Mqtt),
    /// Datagrams of `packet` bytes on the wire at `rate`, headers included (UDP).
    Datagrams {
        /// While it sends.
        rate: Rate,
        /// Bytes of the largest packet, headers included.
        packet: Bytes,
        /// When it sends.
        pattern: Pattern,
    },
}

impl Workload {
    /// A load becomes the number of arrivals per second that offers it: of each transfer its bytes, the headers of its
    /// segments and its SYN cross the line.
    #[must_use]
    pub fn with_load_of(mut self, slowest: Option<Rate>, stack: &Stack) -> Self {
        if let (Self::Arrivals { intensity, size, .. }, Some(rate)) = (&mut self, slowest) {
            if let Intensity::Load(share) = *intensity {
                let (bytes, segments) = size.bytes_and_segments(stack.mss.0 as f64);
                let crossing = bytes + segments * stack.header.0 as f64 + stack.ack.0 as f64;
                *intensity = Intensity::PerSecond(share * rate.0 as f64 / (8.0 * crossing));
            }
        }
        self
    }
}

/// Sizes of a flow without a stack: the payload of its largest packet, and the headers of IPv4 and UDP.
pub(crate) fn stack(workload: &Workload, base: &Stack) -> Stack {
    let header = Bytes(UDP_HEADER);
    let mss = match workload {
        Workload::Datagrams { packet, .. } => Bytes(packet.0 - header.0),
        _ => base.mss,
    };
    Stack { mss, header, ecn: Ecn::Off, ..base.clone() }
}

/// How often transfers arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// Arrivals per second.
    PerSecond(f64),
    /// Offered load as a share of the slowest line of the forward route, headers included.
    Load(f64),
}

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

/// A sensor of MQTT.
#[derive(Clone, Debug, PartialEq)]
pub struct Mqtt {
    /// 0: at most once. 1: at least once, acknowledged by the broker.
    pub qos: u8,
    /// Payload of a message.
    pub payload: Distribution,
    /// From one message to the next.
    pub period: Duration,
    /// Each message is later by a uniform draw from [0, this).
    pub jitter: Duration,
    /// Bytes of the topic's name.
    pub topic: u32,
    /// Bytes of the client's identifier.
    pub client: u32,
    /// The longest silence before a PINGREQ; `None` sends none.
    pub keep_alive: Option<Duration>,
    /// Nagle's algorithm holds back small segments while others are not acknowledged (RFC 9293, 3.7.4).
    pub nagle: bool,
}

/// Bytes of the field "remaining length" (MQTT 3.1.1, 2.2.3): 7 bits each.
fn remaining_length(bytes: u64) -> u64 {
    match bytes {
        0..=127 => 1,
        128..=16_383 => 2,
        16_384..=2_097_151 => 3,
        _ => 4,
    }
}

impl Mqtt {
    /// CONNACK, PUBACK: fixed header of 2 bytes, then 2 (MQTT 3.1.1, 3.2, 3.4).
    pub const ACKNOWLEDGEMENT: u64 = 4;
    /// PINGREQ and PINGRESP: a fixed header alone (3.12, 3.13).
    pub const PING: u64 = 2;

    /// CONNECT without will, user and password (3.1): fixed header; protocol name (2 + 4), level, flags, keep-alive (2); the
    /// identifier after its length.
    #[must_use]
    pub fn connect_bytes(&self) -> u64 {
        let rest = 10 + 2 + u64::from(self.client);
        1 + remaining_length(rest) + rest
    }

    /// PUBLISH (3.3): fixed header; the topic after its length; with QoS 1 a packet identifier; the payload.
    #[must_use]
    pub fn publish_bytes(&self, payload: u64) -> u64 {
        let identifier = if self.qos > 0 { 2 } else { 0 };
        let rest = 2 + u64::from(self.topic) + identifier + payload;
        1 + remaining_length(rest) + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the specification: CONNECT with a 10-byte identifier is 1 + 1 + 10 + 12 = 24 bytes. PUBLISH of 100 bytes to
    /// a topic of 20: 1 + 1 + 22 + 100 = 124, at QoS 1 126; its remaining length passes 127 with a payload of 106 bytes, or
    /// 104 at QoS 1, and 16,383 with 16,362.
    #[test]
    fn packets_have_the_specifications_sizes() {
        let sensor = |qos| Mqtt {
            qos,
            payload: Distribution::Fixed(100.0),
            period: Duration::from_secs(1),
            jitter: Duration::ZERO,
            topic: 20,
            client: 10,
            keep_alive: None,
            nagle: false,
        };
        assert_eq!(sensor(0).connect_bytes(), 24);
        assert_eq!([100, 105, 106].map(|payload| sensor(0).publish_bytes(payload)), [124, 129, 131]);
        assert_eq!([100, 103, 104].map(|payload| sensor(1).publish_bytes(payload)), [126, 129, 131]);
        assert_eq!([16_361, 16_362].map(|payload| sensor(0).publish_bytes(payload)), [16_386, 16_388]);
    }
}
