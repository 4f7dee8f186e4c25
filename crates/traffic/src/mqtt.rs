//! A sensor that publishes to a broker (MQTT 3.1.1), and the broker's replies.

use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::{Mqtt, Workload};

use crate::messages::MessageKind;
use crate::sampling::{sample_size, SIZE_STREAM, TIME_STREAM};
use crate::NEVER;

/// The sensor.
#[derive(Debug)]
pub struct Publisher {
    config: Mqtt,
    payloads: Stream,
    jitter: Stream,
    /// Regular time of the next message, without its jitter, ns.
    regular: u64,
    /// When the next message is published, ns.
    publish: u64,
    /// When the last packet was sent, ns.
    last_sent: u64,
}

impl Publisher {
    /// The sensor of a flow; `None` if its workload is another one.
    #[must_use]
    pub fn new(workload: &Workload, flow: u32, seed: u64) -> Option<Self> {
        let Workload::Mqtt(config) = workload else { return None };
        let stream = |purpose| Stream::new(seed, purpose, u64::from(flow));
        Some(Self {
            config: config.clone(),
            payloads: stream(SIZE_STREAM),
            jitter: stream(TIME_STREAM),
            regular: 0,
            publish: NEVER,
            last_sent: 0,
        })
    }

    /// Size of the CONNECT packet, bytes.
    #[must_use]
    pub fn connect_bytes(&self) -> u64 {
        self.config.connect_bytes()
    }

    /// The broker accepted the connection at `now`: publishing begins.
    pub fn on_connack(&mut self, now: u64) {
        (self.regular, self.last_sent) = (now, now);
        self.publish = now + self.jitter.below(self.config.jitter.0);
    }

    /// When the next packet is sent, ns: a message, or a PINGREQ before the silence exceeds the keep-alive time.
    #[must_use]
    pub fn next_due(&self) -> u64 {
        let ping = self.config.keep_alive.map_or(NEVER, |time| self.last_sent + time.0);
        self.publish.min(ping)
    }

    /// The packet that is due at `now`: its size in bytes, and what it is.
    pub fn on_due(&mut self, now: u64) -> (u64, MessageKind) {
        self.last_sent = now;
        if now < self.publish {
            return (Mqtt::PING, MessageKind::PingReq);
        }
        let payload = sample_size(&self.config.payload, &mut self.payloads);
        self.regular += self.config.period.0;
        self.publish = self.regular + self.jitter.below(self.config.jitter.0);
        (self.config.publish_bytes(payload), MessageKind::Publish(payload))
    }

    /// The broker's reply: its size in bytes, and what it is. Messages of QoS 0 and replies have none.
    #[must_use]
    pub fn broker_reply(&self, kind: MessageKind) -> Option<(u64, MessageKind)> {
        match kind {
            MessageKind::Connect => Some((Mqtt::ACKNOWLEDGEMENT, MessageKind::ConnAck)),
            MessageKind::Publish(payload) if self.config.qos > 0 => {
                Some((Mqtt::ACKNOWLEDGEMENT, MessageKind::PubAck(payload)))
            }
            MessageKind::PingReq => Some((Mqtt::PING, MessageKind::PingResp)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_scenario::plan::Distribution;
    use cwndlab_units::Duration;

    /// MQTT 3.1.1, section 3.1.2.10: with a keep-alive time of 40 s and a message each 100 s, PINGREQs follow each packet by
    /// 40 s. Sizes by hand (see `packets_have_the_specifications_sizes` in the scenario crate).
    #[test]
    fn pings_fill_silences_longer_than_the_keep_alive_time() {
        let second = 1_000_000_000;
        let workload = Workload::Mqtt(Mqtt {
            qos: 1,
            payload: Distribution::Fixed(100.0),
            period: Duration::from_secs(100),
            jitter: Duration::ZERO,
            topic: 20,
            client: 10,
            keep_alive: Some(Duration::from_secs(40)),
            nagle: false,
        });
        let mut sensor = Publisher::new(&workload, 0, 1).expect("the workload is MQTT");
        assert_eq!(sensor.connect_bytes(), 24);
        sensor.on_connack(second);
        let publish = (126, MessageKind::Publish(100));
        let ping = (2, MessageKind::PingReq);
        for (time, packet) in [(1, publish), (41, ping), (81, ping), (101, publish), (141, ping)] {
            assert_eq!(sensor.next_due(), time * second);
            assert_eq!(sensor.on_due(time * second), packet);
        }
        assert_eq!(sensor.broker_reply(publish.1), Some((4, MessageKind::PubAck(100))));
        assert_eq!(sensor.broker_reply(MessageKind::PubAck(100)), None);
    }
}
