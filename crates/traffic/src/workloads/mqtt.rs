//! A sensor that publishes to a broker (MQTT 3.1.1), and the broker's replies.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_network::random::Stream;
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{self, Unit, SIZE};
use crate::flow_context::FlowContext;
use crate::sampling::{sample_size, SIZE_STREAM, TIME_STREAM};
use crate::NEVER;

/// The entry among the workloads.
pub static SPEC: Table = Table::new(
    "mqtt",
    "A sensor that publishes messages to a broker (TCP): CONNECT, CONNACK, then a PUBLISH every `period`, with QoS 1 acknowledged by a PUBACK; a PINGREQ and PINGRESP after `keep_alive` of silence. Packet sizes are those of MQTT 3.1.1 (2.2.3, 3.1 to 3.4, 3.12, 3.13), without will, user and password.",
    &[&[
        Field::whole("qos", (0, 1), 0, "0: at most once; 1: at least once, acknowledged by a PUBACK"),
        Field::new("payload", SIZE, "payload of a message").absent("even from 128 B to 1024 B"),
        Field::new("period", Kind::Duration, "from one message to the next")
            .required("'period = \"10 s\"'")
            .above_zero(),
        Field::duration("jitter", "0 s", "each message is later by a uniform draw from [0, this)"),
        Field::whole("topic", (1, 65_535), 20, "bytes of the topic's name"),
        Field::whole("client", (0, 65_535), 23, "bytes of the client's identifier"),
        Field::duration("keep_alive", "60 s", "the longest silence before a PINGREQ; zero sends none"),
        Field::flag(
            "nagle",
            false,
            "Nagle's algorithm holds back small segments while others are not acknowledged (RFC 9293, 3.7.4)",
        ),
    ]],
)
.class("Mqtt");

/// The largest message of MQTT (3.1.1, 2.2.3): 256 MiB less one.
const MAX_MESSAGE: f64 = 268_435_000.0;
/// CONNACK, PUBACK: fixed header of 2 bytes, then 2 (MQTT 3.1.1, 3.2, 3.4).
const ACKNOWLEDGEMENT: Bytes = Bytes(4);
/// PINGREQ and PINGRESP: a fixed header alone (3.12, 3.13).
const PING: Bytes = Bytes(2);

/// The configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
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

impl Config {
    /// CONNECT without will, user and password (3.1): fixed header; protocol name (2 + 4), level, flags, keep-alive (2); the
    /// identifier after its length.
    fn connect_bytes(&self) -> Bytes {
        let rest = 10 + 2 + u64::from(self.client);
        Bytes(1 + remaining_length(rest) + rest)
    }

    /// PUBLISH (3.3): fixed header; the topic after its length; with QoS 1 a packet identifier; the payload.
    fn publish_bytes(&self, payload: Bytes) -> Bytes {
        let identifier = if self.qos > 0 { 2 } else { 0 };
        let rest = 2 + u64::from(self.topic) + identifier + payload.0;
        Bytes(1 + remaining_length(rest) + rest)
    }
}

/// The end that publishes opens the connection.
const OPENER: End = End::Sender;

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let payload = match table.get("payload") {
            Some(_) => distribution_fields::read(table, "payload", Unit::Size, faults),
            None => Some(Distribution::Uniform(128.0, 1024.0)),
        };
        let largest = match payload {
            Some(Distribution::Fixed(most) | Distribution::Uniform(_, most)) => most,
            _ => 0.0,
        };
        if largest > MAX_MESSAGE {
            faults.add(table.at("payload"), "MQTT carries less than 256 MiB per message", "");
        }
        let (period, jitter) = (table.duration("period", faults), table.duration("jitter", faults));
        if let (Some(period), Some(jitter)) = (period, jitter) {
            if jitter > period {
                faults.add(table.at("jitter"), "is longer than the period", "messages are sent in order");
            }
        }
        let (qos, topic) = (table.whole("qos", faults), table.whole("topic", faults));
        let (client, keep_alive) = (table.whole("client", faults), table.duration("keep_alive", faults));
        let nagle = table.flag("nagle", faults);
        Some(Self {
            qos: qos? as u8,
            payload: payload?,
            period: period?,
            jitter: jitter?,
            topic: topic? as u32,
            client: client? as u32,
            keep_alive: Some(keep_alive?).filter(|time| *time != Duration::ZERO),
            nagle: nagle?,
        })
    }

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Box::new(Mqtt::new(self, flow)))
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

const CONNECT: u8 = 0;
const CONNACK: u8 = 1;
/// With its payload.
const PUBLISH: u8 = 2;
/// With the payload of what it acknowledges.
const PUBACK: u8 = 3;
const PINGREQ: u8 = 4;
const PINGRESP: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No connection is open.
    Closed,
    /// CONNECT is sent.
    Connecting,
    /// The broker accepted the connection.
    Connected,
    Done,
}

/// Sensor and broker.
#[derive(Debug)]
struct Mqtt {
    config: Config,
    stop: Time,
    payloads: Stream,
    jitter: Stream,
    stage: Stage,
    /// Regular time of the next message, without its jitter.
    regular: Time,
    /// When the next message is published.
    publish: Time,
    /// When the last packet was sent.
    last_sent: Time,
}

impl Mqtt {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            stop: flow.stop,
            payloads: flow.stream(SIZE_STREAM),
            jitter: flow.stream(TIME_STREAM),
            stage: Stage::Closed,
            regular: Time::ZERO,
            publish: NEVER,
            last_sent: Time::ZERO,
        }
    }

    fn draw_jitter(&mut self) -> Duration {
        Duration(self.jitter.below(self.config.jitter.0))
    }

    /// The broker accepted the connection at `now`: publishing begins.
    fn on_connack(&mut self, now: Time) {
        self.stage = Stage::Connected;
        (self.regular, self.last_sent) = (now, now);
        self.publish = now + self.draw_jitter();
    }

    /// The packet that is due at `now`: a message, or a PINGREQ.
    fn next_packet(&mut self, now: Time) -> Action {
        self.last_sent = now;
        if now < self.publish {
            return Action::Send(PING, Message { kind: PINGREQ, size: Bytes::ZERO, since: now });
        }
        let payload = sample_size(&self.config.payload, &mut self.payloads);
        self.regular += self.config.period;
        self.publish = self.regular + self.draw_jitter();
        Action::Send(self.config.publish_bytes(payload), Message { kind: PUBLISH, size: payload, since: now })
    }
}

impl Dialogue for Mqtt {
    fn opener(&self) -> End {
        OPENER
    }

    fn nagle(&self) -> bool {
        self.config.nagle
    }

    /// A message is due, or a PINGREQ before the silence exceeds the keep-alive time.
    fn due(&self) -> Time {
        if self.stage != Stage::Connected {
            return NEVER;
        }
        let ping = self.config.keep_alive.map_or(NEVER, |time| self.last_sent + time);
        self.publish.min(ping).min(self.stop)
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now >= self.stop {
            self.stage = Stage::Done;
            actions.push(Action::Finish);
        } else if self.stage == Stage::Connected {
            let packet = self.next_packet(now);
            actions.push(packet);
        } else {
            self.stage = Stage::Connecting;
            let connect = Message { kind: CONNECT, size: Bytes::ZERO, since: now };
            actions.extend([Action::Connect, Action::Send(self.config.connect_bytes(), connect)]);
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let mut reply = |bytes, kind| actions.push(Action::Send(bytes, Message { kind, ..message }));
        match message.kind {
            CONNECT => reply(ACKNOWLEDGEMENT, CONNACK),
            PUBLISH if self.config.qos > 0 => reply(ACKNOWLEDGEMENT, PUBACK),
            PINGREQ => reply(PING, PINGRESP),
            CONNACK => self.on_connack(now),
            // A message of QoS 0 is complete when it arrives, another when the sensor has its PUBACK.
            PUBLISH | PUBACK => actions.push(Action::Record(message.since, message.size)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(qos: u8) -> Config {
        Config {
            qos,
            payload: Distribution::Fixed(100.0),
            period: Duration::from_secs(100),
            jitter: Duration::ZERO,
            topic: 20,
            client: 10,
            keep_alive: Some(Duration::from_secs(40)),
            nagle: false,
        }
    }

    /// By hand from the specification: CONNECT with a 10-byte identifier is 1 + 1 + 10 + 12 = 24 bytes. PUBLISH of 100 bytes to
    /// a topic of 20: 1 + 1 + 22 + 100 = 124, at QoS 1 126; its remaining length passes 127 with a payload of 106 bytes, or
    /// 104 at QoS 1, and 16,383 with 16,362.
    #[test]
    fn packets_have_the_specifications_sizes() {
        assert_eq!(config(0).connect_bytes(), Bytes(24));
        let sizes = |qos, payloads: &[u64]| -> Vec<u64> {
            payloads.iter().map(|&payload| config(qos).publish_bytes(Bytes(payload)).0).collect()
        };
        assert_eq!(sizes(0, &[100, 105, 106]), [124, 129, 131]);
        assert_eq!(sizes(1, &[100, 103, 104]), [126, 129, 131]);
        assert_eq!(sizes(0, &[16_361, 16_362]), [16_386, 16_388]);
    }

    /// MQTT 3.1.1, section 3.1.2.10: with a keep-alive time of 40 s and a message each 100 s, PINGREQs follow each packet by
    /// 40 s.
    #[test]
    fn pings_fill_silences_longer_than_the_keep_alive_time() {
        let second = |n: u64| Time(n * 1_000_000_000);
        let mut sensor = Mqtt::new(&config(1), &FlowContext { flow: 0, seed: 1, stop: NEVER, header: Bytes(40) });
        let mut actions = Vec::new();
        sensor.on_timer(Time::ZERO, &mut actions);
        let connect = Message { kind: CONNECT, size: Bytes::ZERO, since: Time::ZERO };
        assert_eq!(std::mem::take(&mut actions), [Action::Connect, Action::Send(Bytes(24), connect)]);
        assert_eq!(sensor.due(), NEVER);
        sensor.on_message(Message { kind: CONNACK, ..connect }, second(1), &mut actions);
        for (time, bytes, kind, size) in
            [(1, 126, PUBLISH, 100), (41, 2, PINGREQ, 0), (81, 2, PINGREQ, 0), (101, 126, PUBLISH, 100)]
        {
            assert_eq!(sensor.due(), second(time));
            sensor.on_timer(second(time), &mut actions);
            let message = Message { kind, size: Bytes(size), since: second(time) };
            assert_eq!(std::mem::take(&mut actions), [Action::Send(Bytes(bytes), message)]);
        }
        let publish = Message { kind: PUBLISH, size: Bytes(100), since: second(1) };
        sensor.on_message(publish, second(2), &mut actions);
        let acknowledgement = Message { kind: PUBACK, ..publish };
        assert_eq!(std::mem::take(&mut actions), [Action::Send(Bytes(4), acknowledgement)]);
        sensor.on_message(acknowledgement, second(3), &mut actions);
        assert_eq!(actions, [Action::Record(second(1), Bytes(100))]);
    }
}
