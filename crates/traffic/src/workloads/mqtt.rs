//! MQTT 3.1.1: a sensor that publishes to a broker, and the broker's responses.

use std::collections::VecDeque;

use cwndlab_config::{fields, Faults, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::Sizes;
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::sampling::sample_size;
use crate::schedule::{Generation, Schedule};
use crate::NEVER;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "mqtt",
    "A sensor that publishes messages to a broker (TCP): CONNECT and CONNACK, then one PUBLISH or a burst of them every `period`, acknowledged by a PUBACK with QoS 1, and by PUBREC, PUBREL and PUBCOMP with QoS 2, and a PINGREQ and PINGRESP after an idle time of `keep_alive`. Packet sizes are those of MQTT 3.1.1 (2.2.3, 3.1 to 3.7, 3.12, 3.13), without will, user and password.",
    &[Config::FIELDS],
)
.class("Mqtt");

/// Maximum size of a message in MQTT 3.1.1 (2.2.3), rounded down: 256 MiB − 1.
const MAX_MESSAGE: f64 = 268_435_000.0;
/// A shorter keep-alive time, which CONNECT could not express, would make the PINGREQs most of the events of a run.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(1);
/// CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP: fixed header of 2 bytes, then 2 (MQTT 3.1.1, 3.2, 3.4 to 3.7).
const ACKNOWLEDGEMENT: Bytes = Bytes(4);
/// PINGREQ and PINGRESP: only a fixed header (3.12, 3.13).
const PING: Bytes = Bytes(2);

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// 0: at most once; 1: at least once, acknowledged by a PUBACK; 2: exactly once, released by a second exchange
        qos: u8 = 0 in 0..=2,
        /// maximum number of messages of QoS 1 and 2 that are not acknowledged; further ones wait at the sensor (MQTT 5.0,
        /// 3.1.2.11.3)
        receive_maximum: Option<u32> = absent("no limit") in 1..=65_535,
        /// payload of a message
        payload: Sizes = absent("uniform from 128 B to 1024 B", Distribution::Uniform(128.0, 1024.0)),
        /// times of the messages
        schedule: Schedule,
        /// maximum of the uniform random delay of each message; requires a constant period
        jitter: Duration = "0 s",
        /// length of the topic name, bytes
        topic: u32 = 20 in 1..=65_535,
        /// length of the client identifier, bytes
        client: u32 = 23 in 0..=65_535,
        /// maximum idle time before a PINGREQ; zero disables PINGREQ
        keep_alive: Duration = "60 s",
        /// Nagle's algorithm: a small segment waits while other data are unacknowledged (RFC 9293, 3.7.4), or small
        /// segments (profile linux)
        nagle: bool = false,
        /// TLS
        tls: Tls,
    }
    check
}

/// Length of the field "remaining length" in bytes of 7 bits (MQTT 3.1.1, 2.2.3).
fn remaining_length(bytes: u64) -> u64 {
    match bytes {
        0..=127 => 1,
        128..=16_383 => 2,
        16_384..=2_097_151 => 3,
        _ => 4,
    }
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if let Distribution::Fixed(largest) | Distribution::Uniform(_, largest) = self.payload {
            if largest > MAX_MESSAGE {
                faults.add(table.at("payload"), "an MQTT message has less than 256 MiB", "");
            }
        }
        let what = match self.schedule.constant() {
            Some(period) if self.jitter > period => Some("is longer than the period"),
            None if self.jitter != Duration::ZERO => Some("requires a constant period"),
            _ => None,
        };
        if let Some(what) = what {
            faults.add(table.at("jitter"), what, "messages are sent in order");
        }
        if self.keep_alive != Duration::ZERO && self.keep_alive < SHORTEST_KEEP_ALIVE {
            faults.add(
                table.at("keep_alive"),
                format!("is shorter than {SHORTEST_KEEP_ALIVE}"),
                "MQTT counts it in seconds (3.1.1, section 3.1.2.10); \"0 s\" disables PINGREQ",
            );
        }
    }

    /// Size of a CONNECT without will, user and password (3.1): fixed header; protocol name (2 + 4), level, flags,
    /// keep-alive (2); length (2) and client identifier.
    fn connect_bytes(&self) -> Bytes {
        let rest = 10 + 2 + u64::from(self.client);
        Bytes(1 + remaining_length(rest) + rest)
    }

    /// Size of a PUBLISH (3.3): fixed header; length (2) and topic; with QoS 1 a packet identifier; payload.
    fn publish_bytes(&self, payload: Bytes) -> Bytes {
        let identifier = if self.qos > 0 { 2 } else { 0 };
        let rest = 2 + u64::from(self.topic) + identifier + payload.0;
        Bytes(1 + remaining_length(rest) + rest)
    }
}

/// The end that publishes opens the connection.
const OPENER: End = End::Sender;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Handshake::default().secure(&self.tls).wrap(Box::new(Mqtt::new(self, flow))))
    }

    fn offered_load(&self) -> OfferedLoad {
        self.schedule.offered_load()
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

const CONNECT: u8 = 0;
const CONNACK: u8 = 1;
/// Carries the size of its payload.
const PUBLISH: u8 = 2;
/// Carries the payload size of the acknowledged message.
const PUBACK: u8 = 3;
const PINGREQ: u8 = 4;
const PINGRESP: u8 = 5;
/// Carries the payload size of its message, as do the next two.
const PUBREC: u8 = 6;
const PUBREL: u8 = 7;
const PUBCOMP: u8 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No connection is open.
    Closed,
    /// CONNECT was sent.
    Connecting,
    /// The broker accepted the connection.
    Connected,
}

/// The state of sensor and broker.
#[derive(Debug)]
struct Mqtt {
    config: Config,
    messages: Generation,
    payloads: Stream,
    jitter: Stream,
    stage: Stage,
    /// Time at which the next messages are published.
    publish: Time,
    /// Time of the last packet.
    last_sent: Time,
    /// Messages of QoS 1 and 2 that are not acknowledged.
    in_flight: u32,
    /// Messages that wait for a free place, each with its time and the size of its payload.
    waiting: VecDeque<(Time, Bytes)>,
}

impl Mqtt {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            messages: Generation::new(&config.schedule, flow),
            payloads: flow.stream(Purpose::Size),
            jitter: flow.stream(Purpose::Time),
            stage: Stage::Closed,
            publish: NEVER,
            last_sent: Time::ZERO,
            in_flight: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Draws the random delay of the next messages.
    fn set_publish(&mut self) {
        let jitter = Duration::from_nanos(self.jitter.below(self.config.jitter.as_nanos()));
        self.publish = if self.messages.next() == NEVER { NEVER } else { self.messages.next() + jitter };
    }

    /// Handles a CONNACK at `now`: publishing begins.
    fn on_connack(&mut self, now: Time) {
        self.stage = Stage::Connected;
        self.last_sent = now;
        self.messages.start(now);
        self.set_publish();
    }

    /// Sends what is due at `now`: PUBLISHes or a PINGREQ.
    fn send_next(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now < self.publish {
            self.last_sent = now;
            actions.push(Action::Send(PING, Message { kind: PINGREQ, size: Bytes::ZERO, since: now }));
            return;
        }
        for _ in 0..self.messages.take(now) {
            let payload = sample_size(&self.config.payload, &mut self.payloads);
            self.waiting.push_back((now, payload));
            actions.push(Action::Offer(now, payload));
        }
        self.set_publish();
        self.send_waiting(now, actions);
    }

    /// Sends the messages for which there is a place.
    fn send_waiting(&mut self, now: Time, actions: &mut Vec<Action>) {
        while self.config.receive_maximum.is_none_or(|most| self.in_flight < most) {
            let Some((since, size)) = self.waiting.pop_front() else { break };
            self.last_sent = now;
            self.in_flight += u32::from(self.config.qos > 0);
            actions.push(Action::Send(self.config.publish_bytes(size), Message { kind: PUBLISH, size, since }));
        }
    }

    fn complete(&mut self, message: Message, actions: &mut Vec<Action>) {
        actions.push(Action::Record(message.since, message.size));
        self.messages.complete(actions);
    }

    /// Handles the last acknowledgement of a message, whose place is free then.
    fn on_acknowledged(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.in_flight -= 1;
        self.complete(message, actions);
        self.send_waiting(now, actions);
    }
}

impl Dialogue for Mqtt {
    fn opener(&self) -> End {
        OPENER
    }

    fn nagle(&self) -> bool {
        self.config.nagle
    }

    /// The time of the next message, or of a PINGREQ if the idle time reaches the keep-alive time before.
    fn due(&self) -> Time {
        if self.stage != Stage::Connected || self.messages.is_finished() {
            return NEVER;
        }
        let keep_alive = self.config.keep_alive;
        let ping = if keep_alive == Duration::ZERO { NEVER } else { self.last_sent + keep_alive };
        self.publish.min(ping).min(self.messages.stop())
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.messages.ends(now, actions) {
            return;
        }
        if self.stage == Stage::Connected {
            self.send_next(now, actions);
        } else {
            self.stage = Stage::Connecting;
            let connect = Message { kind: CONNECT, size: Bytes::ZERO, since: now };
            actions.extend([Action::Connect, Action::Send(self.config.connect_bytes(), connect)]);
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind == PUBLISH {
            // With QoS 2 the broker may pass a message on at its PUBLISH (3.1.1, 4.3.3, figure 4.3, method B).
            actions.push(Action::Deliver(message.since));
        }
        let mut reply = |bytes, kind| actions.push(Action::Send(bytes, Message { kind, ..message }));
        match message.kind {
            CONNECT => reply(ACKNOWLEDGEMENT, CONNACK),
            PUBLISH if self.config.qos == 1 => reply(ACKNOWLEDGEMENT, PUBACK),
            PUBLISH if self.config.qos == 2 => reply(ACKNOWLEDGEMENT, PUBREC),
            PUBREC => reply(ACKNOWLEDGEMENT, PUBREL),
            PUBREL => reply(ACKNOWLEDGEMENT, PUBCOMP),
            PINGREQ => reply(PING, PINGRESP),
            CONNACK => self.on_connack(now),
            // A message with QoS 0 is complete on arrival, with QoS 1 and 2 when the sensor has the last acknowledgement.
            PUBLISH => self.complete(message, actions),
            PUBACK | PUBCOMP => self.on_acknowledged(message, now, actions),
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
            receive_maximum: None,
            payload: Distribution::Fixed(100.0),
            schedule: Schedule::each(Duration::from_secs(100)),
            jitter: Duration::ZERO,
            topic: 20,
            client: 10,
            keep_alive: Duration::from_secs(40),
            nagle: false,
            tls: Tls::NONE,
        }
    }

    /// By hand from the specification: CONNECT with a 10-byte identifier is 1 + 1 + 10 + 12 = 24 bytes. PUBLISH of 100
    /// bytes to a topic of 20: 1 + 1 + 22 + 100 = 124, at QoS 1 126; its remaining length exceeds 127 with a payload of
    /// 106 bytes, or 104 at QoS 1, and 16,383 with 16,362.
    #[test]
    fn packet_sizes_match_the_specification() {
        assert_eq!(config(0).connect_bytes(), Bytes(24));
        let sizes = |qos, payloads: &[u64]| -> Vec<u64> {
            payloads.iter().map(|&payload| config(qos).publish_bytes(Bytes(payload)).0).collect()
        };
        assert_eq!(sizes(0, &[100, 105, 106]), [124, 129, 131]);
        assert_eq!(sizes(1, &[100, 103, 104]), [126, 129, 131]);
        assert_eq!(sizes(0, &[16_361, 16_362]), [16_386, 16_388]);
    }

    /// MQTT 3.1.1, section 3.1.2.10: with a keep-alive time of 40 s and a message each 100 s, a PINGREQ follows 40 s
    /// after each packet.
    #[test]
    fn a_pingreq_is_sent_after_the_keep_alive_time() {
        let second = |n: u64| Time::from_nanos(n * 1_000_000_000);
        let mut sensor =
            Mqtt::new(&config(1), &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) });
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
            let offer = (kind == PUBLISH).then_some(Action::Offer(second(time), Bytes(size)));
            let expected: Vec<_> = offer.into_iter().chain([Action::Send(Bytes(bytes), message)]).collect();
            assert_eq!(std::mem::take(&mut actions), expected);
        }
        let publish = Message { kind: PUBLISH, size: Bytes(100), since: second(1) };
        sensor.on_message(publish, second(2), &mut actions);
        let acknowledgement = Message { kind: PUBACK, ..publish };
        let reply = [Action::Deliver(second(1)), Action::Send(Bytes(4), acknowledgement)];
        assert_eq!(std::mem::take(&mut actions), reply);
        sensor.on_message(acknowledgement, second(3), &mut actions);
        assert_eq!(actions, [Action::Record(second(1), Bytes(100))]);
    }

    fn second(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000_000)
    }

    /// A sensor whose connection is open at 1 s, when its first message is due.
    fn connected(config: &Config) -> Mqtt {
        let mut sensor = Mqtt::new(config, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) });
        let mut actions = Vec::new();
        sensor.on_timer(Time::ZERO, &mut actions);
        let connack = Message { kind: CONNACK, size: Bytes::ZERO, since: Time::ZERO };
        sensor.on_message(connack, second(1), &mut actions);
        sensor
    }

    /// MQTT 3.1.1, section 4.3.3, figure 4.3: PUBLISH, PUBREC, PUBREL, PUBCOMP, of which each of the last three has 4
    /// bytes; the message is recorded once, at the end.
    #[test]
    fn a_message_of_qos_2_takes_two_round_trips() {
        let mut sensor = connected(&config(2));
        let mut actions = Vec::new();
        sensor.on_timer(second(1), &mut actions);
        let publish = Message { kind: PUBLISH, size: Bytes(100), since: second(1) };
        let offer = Action::Offer(second(1), Bytes(100));
        assert_eq!(std::mem::take(&mut actions), [offer, Action::Send(Bytes(126), publish)]);
        let mut arrived = publish;
        for (time, kind, delivery) in
            [(2, PUBREC, Some(Action::Deliver(second(1)))), (3, PUBREL, None), (4, PUBCOMP, None)]
        {
            sensor.on_message(arrived, second(time), &mut actions);
            arrived = Message { kind, ..publish };
            let expected: Vec<_> = delivery.into_iter().chain([Action::Send(Bytes(4), arrived)]).collect();
            assert_eq!(std::mem::take(&mut actions), expected);
        }
        sensor.on_message(arrived, second(5), &mut actions);
        assert_eq!(actions, [Action::Record(second(1), Bytes(100))]);
    }

    /// MQTT 5.0, section 4.9: with Receive Maximum 1 the second message waits for the acknowledgement of the first.
    #[test]
    fn messages_beyond_the_receive_maximum_wait() {
        let mut sensor = connected(&Config { receive_maximum: Some(1), keep_alive: Duration::ZERO, ..config(1) });
        let mut actions = Vec::new();
        sensor.on_timer(second(1), &mut actions);
        let first = Message { kind: PUBLISH, size: Bytes(100), since: second(1) };
        let offer = |time| Action::Offer(second(time), Bytes(100));
        assert_eq!(std::mem::take(&mut actions), [offer(1), Action::Send(Bytes(126), first)]);
        sensor.on_timer(second(101), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [offer(101)]);
        sensor.on_message(Message { kind: PUBACK, ..first }, second(150), &mut actions);
        let second_message = Message { since: second(101), ..first };
        assert_eq!(actions, [Action::Record(second(1), Bytes(100)), Action::Send(Bytes(126), second_message)]);
    }

    /// A burst of three alarms is sent at once; the second burst has the last two of five messages, after which the sensor ends.
    #[test]
    fn a_burst_is_sent_at_once() {
        let schedule = Schedule { burst: Some(3), count: Some(5), ..Schedule::each(Duration::from_secs(100)) };
        let mut sensor = connected(&Config { schedule, keep_alive: Duration::ZERO, ..config(1) });
        for (time, number) in [(1, 3), (101, 2)] {
            let mut actions = Vec::new();
            assert_eq!(sensor.due(), second(time));
            sensor.on_timer(second(time), &mut actions);
            let publish = Message { kind: PUBLISH, size: Bytes(100), since: second(time) };
            let offers = vec![Action::Offer(second(time), Bytes(100)); number];
            assert_eq!(actions, [offers, vec![Action::Send(Bytes(126), publish); number]].concat());
            actions.clear();
            for _ in 0..number {
                sensor.on_message(Message { kind: PUBACK, ..publish }, second(time), &mut actions);
            }
            assert_eq!(actions.contains(&Action::Finish), number == 2);
        }
        assert_eq!(sensor.due(), NEVER);
    }
}
