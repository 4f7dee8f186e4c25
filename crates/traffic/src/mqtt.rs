//! A sensor that publishes to a broker (MQTT 3.1.1), and the broker's replies.

use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::{Mqtt, Workload};
use cwndlab_units::{Bytes, Duration, Time};

use crate::messages::MessageKind;
use crate::sampling::{sample_size, SIZE_STREAM, TIME_STREAM};
use crate::NEVER;

/// The sensor.
#[derive(Debug)]
pub struct Publisher {
    config: Mqtt,
    payloads: Stream,
    jitter: Stream,
    /// Regular time of the next message, without its jitter.
    regular: Time,
    /// When the next message is published.
    publish: Time,
    /// When the last packet was sent.
    last_sent: Time,
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
            regular: Time::ZERO,
            publish: NEVER,
            last_sent: Time::ZERO,
        })
    }

    /// Size of the CONNECT packet.
    #[must_use]
    pub fn connect_bytes(&self) -> Bytes {
        Bytes(self.config.connect_bytes())
    }

    /// The broker accepted the connection at `now`: publishing begins.
    pub fn on_connack(&mut self, now: Time) {
        (self.regular, self.last_sent) = (now, now);
        self.publish = now + self.draw_jitter();
    }

    fn draw_jitter(&mut self) -> Duration {
        Duration(self.jitter.below(self.config.jitter.0))
    }

    /// When the next packet is sent: a message, or a PINGREQ before the silence exceeds the keep-alive time.
    #[must_use]
    pub fn next_due(&self) -> Time {
        let ping = self.config.keep_alive.map_or(NEVER, |time| self.last_sent + time);
        self.publish.min(ping)
    }

    /// The packet that is due at `now`: its size, and what it is.
    pub fn on_due(&mut self, now: Time) -> (Bytes, MessageKind) {
        self.last_sent = now;
        if now < self.publish {
            return (Bytes(Mqtt::PING), MessageKind::PingReq);
        }
        let payload = sample_size(&self.config.payload, &mut self.payloads);
        self.regular += self.config.period;
        self.publish = self.regular + self.draw_jitter();
        (Bytes(self.config.publish_bytes(payload.0)), MessageKind::Publish(payload))
    }

    /// The broker's reply: its size, and what it is. Messages of QoS 0 and replies have none.
    #[must_use]
    pub fn broker_reply(&self, kind: MessageKind) -> Option<(Bytes, MessageKind)> {
        match kind {
            MessageKind::Connect => Some((Bytes(Mqtt::ACKNOWLEDGEMENT), MessageKind::ConnAck)),
            MessageKind::Publish(payload) if self.config.qos > 0 => {
                Some((Bytes(Mqtt::ACKNOWLEDGEMENT), MessageKind::PubAck(payload)))
            }
            MessageKind::PingReq => Some((Bytes(Mqtt::PING), MessageKind::PingResp)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_scenario::plan::Distribution;

    /// MQTT 3.1.1, section 3.1.2.10: with a keep-alive time of 40 s and a message each 100 s, PINGREQs follow each packet by
    /// 40 s. Sizes by hand (see `packets_have_the_specifications_sizes` in the scenario crate).
    #[test]
    fn pings_fill_silences_longer_than_the_keep_alive_time() {
        let second = |n: u64| Time(n * 1_000_000_000);
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
        assert_eq!(sensor.connect_bytes(), Bytes(24));
        sensor.on_connack(second(1));
        let publish = (Bytes(126), MessageKind::Publish(Bytes(100)));
        let ping = (Bytes(2), MessageKind::PingReq);
        for (time, packet) in [(1, publish), (41, ping), (81, ping), (101, publish), (141, ping)] {
            assert_eq!(sensor.next_due(), second(time));
            assert_eq!(sensor.on_due(second(time)), packet);
        }
        assert_eq!(sensor.broker_reply(publish.1), Some((Bytes(4), MessageKind::PubAck(Bytes(100)))));
        assert_eq!(sensor.broker_reply(MessageKind::PubAck(Bytes(100))), None);
    }
}
