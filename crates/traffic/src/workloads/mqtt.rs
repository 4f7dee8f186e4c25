//! MQTT 3.1.1: a sensor that publishes to a broker, and the broker's responses.

use std::collections::VecDeque;

use cwndlab_config::{fields, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{check_interval, Configuration};
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::Sizes;
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::mqtt::{
    connect, publish, ACKNOWLEDGEMENT, CONNACK, CONNECT, PING, PINGREQ, PINGRESP, PUBACK, PUBCOMP, PUBLISH, PUBREC,
    PUBREL,
};
use crate::sampling::sample_size;
use crate::schedule::{Generation, Schedule};
use crate::NEVER;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "mqtt",
    "A sensor that publishes messages to a broker (TCP): CONNECT and CONNACK, then one PUBLISH or a burst of them every `period`, acknowledged by a PUBACK with QoS 1, and by PUBREC, PUBREL and PUBCOMP with QoS 2, and a PINGREQ and PINGRESP after an idle time of `keep_alive`. With `response_timeout` the sensor opens a new connection when the broker is silent, and resumes its session (4.4). Packet sizes are those of MQTT 3.1.1 (2.2.3, 3.1 to 3.7, 3.12, 3.13), without will, user and password.",
    &[Config::FIELDS],
)
.class("Mqtt");

/// Maximum size of a message in MQTT 3.1.1 (2.2.3), rounded down: 256 MiB − 1.
const MAX_MESSAGE: f64 = 268_435_000.0;
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
        /// time that the sensor waits for a packet of the broker (CONNACK, an acknowledgement, PINGRESP), after which it opens
        /// a new connection; a PINGREQ is then also sent after `keep_alive` without a packet of the broker
        response_timeout: Option<Positive<Duration>> = absent("it waits for ever"),
        /// whether a new connection has a new session: messages that are not acknowledged are lost. Otherwise those of QoS 1
        /// and 2 are sent again in their order (MQTT 3.1.1, 4.4)
        clean_session: bool = absent("false", false),
        /// Nagle's algorithm: a small segment waits while other data are unacknowledged (RFC 9293, 3.7.4), or small
        /// segments (profile linux)
        nagle: bool = false,
        /// Nagle's algorithm at the broker (mosquitto: `set_tcp_nodelay` turns it off)
        broker_nagle: Option<bool> = absent("as at the sensor"),
        /// TLS
        tls: Tls,
    }
    check
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
        let hint = "MQTT counts it in seconds (3.1.1, section 3.1.2.10); \"0 s\" disables PINGREQ";
        check_interval(table, "keep_alive", self.keep_alive, hint, faults);
        if let Some(timeout) = self.response_timeout {
            check_interval(table, "response_timeout", timeout, "leave it out to wait for ever", faults);
        }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No connection is open.
    Closed,
    /// CONNECT was sent.
    Connecting,
    /// The broker accepted the connection.
    Connected,
}

/// A message after its first PUBLISH.
#[derive(Clone, Copy, Debug)]
struct Sent {
    since: Time,
    size: Bytes,
    /// The broker has it.
    delivered: bool,
    /// The sensor has the PUBREC.
    released: bool,
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
    /// Time of the last packet of the broker.
    last_received: Time,
    /// Time since which a packet of the broker is awaited; [`NEVER`] if none is.
    awaiting: Time,
    /// A PINGRESP is awaited.
    pinged: bool,
    /// Messages that are not acknowledged, or with QoS 0 not delivered, in the order of their first PUBLISH.
    unacknowledged: VecDeque<Sent>,
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
            last_received: Time::ZERO,
            awaiting: NEVER,
            pinged: false,
            unacknowledged: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Draws the random delay of the next messages.
    fn set_publish(&mut self) {
        let jitter = Duration::from_nanos(self.jitter.below(self.config.jitter.as_nanos()));
        self.publish = if self.messages.next() == NEVER { NEVER } else { self.messages.next() + jitter };
    }

    /// Opens a connection; the session of an earlier one remains or is lost.
    fn open(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.stage = Stage::Connecting;
        self.pinged = false;
        self.awaiting = now;
        if self.config.clean_session || self.config.qos == 0 {
            for _ in std::mem::take(&mut self.unacknowledged) {
                self.messages.complete(actions);
            }
        }
        let message = Message { kind: CONNECT, size: Bytes::ZERO, since: now };
        actions.extend([Action::Connect, Action::Send(connect(self.config.client), message)]);
    }

    /// Handles a CONNACK at `now`: publishing begins, or the session is resumed.
    fn on_connack(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.stage = Stage::Connected;
        self.last_sent = now;
        if !self.messages.has_started() {
            self.messages.start(now);
            return self.set_publish();
        }
        for one in &self.unacknowledged {
            let (kind, bytes) = if one.released {
                (PUBREL, ACKNOWLEDGEMENT)
            } else {
                (PUBLISH, publish(self.config.topic, self.config.qos, one.size))
            };
            actions.push(Action::Send(bytes, Message { kind, size: one.size, since: one.since }));
        }
        self.send_waiting(now, actions);
    }

    /// Notes a packet of the broker.
    fn on_received(&mut self, now: Time) {
        self.last_received = now;
        let awaits = self.pinged || self.config.qos > 0 && !self.unacknowledged.is_empty();
        self.awaiting = if awaits { now } else { NEVER };
    }

    /// Sends what is due at `now`: PUBLISHes or a PINGREQ.
    fn send_next(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now < self.publish {
            if now < self.ping_due() {
                return;
            }
            self.last_sent = now;
            self.pinged = true;
            self.awaiting = self.awaiting.min(now);
            actions.push(Action::Send(PING, Message { kind: PINGREQ, size: Bytes::ZERO, since: now }));
            return;
        }
        for _ in 0..self.messages.take(now) {
            let payload = sample_size(&self.config.payload, &mut self.payloads);
            self.waiting.push_back((now, payload));
            actions.push(Action::Offer(now, payload));
        }
        self.set_publish();
        if self.stage == Stage::Connected {
            self.send_waiting(now, actions);
        }
    }

    /// Sends the messages for which there is a place.
    fn send_waiting(&mut self, now: Time, actions: &mut Vec<Action>) {
        let confirmed = self.config.qos > 0;
        let most = self.config.receive_maximum.filter(|_| confirmed).map_or(usize::MAX, |most| most as usize);
        while self.unacknowledged.len() < most {
            let Some((since, size)) = self.waiting.pop_front() else { break };
            self.last_sent = now;
            self.awaiting = if confirmed { self.awaiting.min(now) } else { self.awaiting };
            self.unacknowledged.push_back(Sent { since, size, delivered: false, released: false });
            actions.push(Action::Send(
                publish(self.config.topic, self.config.qos, size),
                Message { kind: PUBLISH, size, since },
            ));
        }
    }

    fn complete(&mut self, message: Message, actions: &mut Vec<Action>) {
        actions.push(Action::Record(message.since, message.size));
        self.messages.complete(actions);
    }

    /// Handles a PUBLISH at the broker, which has a message of a resumed session perhaps already.
    fn on_publish(&mut self, message: Message, actions: &mut Vec<Action>) {
        let mut same = self.unacknowledged.iter_mut().filter(|one| one.since == message.since);
        if let Some(one) = same.find(|one| !one.delivered) {
            one.delivered = true;
            // With QoS 2 the broker may pass a message on at its PUBLISH (3.1.1, 4.3.3, figure 4.3, method B).
            actions.push(Action::Deliver(message.since));
        }
        if self.config.qos == 0 {
            // A message with QoS 0 is complete on arrival, with QoS 1 and 2 when the sensor has the last acknowledgement.
            self.remove(message);
            self.complete(message, actions);
        }
    }

    /// Removes a message from those that are not acknowledged; returns whether it was one.
    fn remove(&mut self, message: Message) -> bool {
        let at = self.unacknowledged.iter().position(|one| one.since == message.since);
        at.is_some_and(|at| self.unacknowledged.remove(at).is_some())
    }

    /// Notes a PUBREC, which the sensor answers with a PUBREL.
    fn on_pubrec(&mut self, message: Message, now: Time) {
        self.last_sent = now;
        let mut same = self.unacknowledged.iter_mut().filter(|one| one.since == message.since);
        if let Some(one) = same.find(|one| !one.released) {
            one.released = true;
        }
    }

    /// Handles the last acknowledgement of a message, whose place is free then.
    fn on_acknowledged(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        if self.remove(message) {
            self.complete(message, actions);
        }
        self.send_waiting(now, actions);
    }
}

impl Mqtt {
    /// Time at which the sensor gives its connection up.
    fn reconnect_due(&self) -> Time {
        let timeout = self.config.response_timeout.filter(|_| self.awaiting != NEVER);
        timeout.map_or(NEVER, |timeout| self.awaiting + timeout)
    }

    /// Time of the next PINGREQ.
    fn ping_due(&self) -> Time {
        let keep_alive = self.config.keep_alive;
        if keep_alive == Duration::ZERO || self.stage != Stage::Connected {
            return NEVER;
        }
        // With a timeout, silence of the broker has to be noticed, as mosquitto's and Paho's clients do.
        let notices = self.config.response_timeout.is_some() && !self.pinged;
        let quiet = if notices { self.last_sent.min(self.last_received) } else { self.last_sent };
        quiet + keep_alive
    }
}

impl Dialogue for Mqtt {
    fn opener(&self) -> End {
        OPENER
    }

    fn nagle(&self, end: End) -> bool {
        match self.config.broker_nagle {
            Some(nagle) if end == self.opener().other() => nagle,
            _ => self.config.nagle,
        }
    }

    /// The time of the next message, or of a PINGREQ if the idle time reaches the keep-alive time before.
    fn due(&self) -> Time {
        // Without a timeout nothing happens at a sensor that waits for its CONNACK.
        let waits = self.stage == Stage::Connecting && self.config.response_timeout.is_none();
        if self.stage == Stage::Closed || waits || self.messages.is_finished() {
            return NEVER;
        }
        self.publish.min(self.ping_due()).min(self.reconnect_due()).min(self.messages.stop())
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.messages.ends(now, actions) {
            return;
        }
        if self.messages.next() == NEVER {
            self.publish = NEVER;
        }
        if self.stage == Stage::Closed || self.reconnect_due() <= now {
            self.open(now, actions);
        } else {
            self.send_next(now, actions);
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            PUBLISH => self.on_publish(message, actions),
            PUBREC => self.on_pubrec(message, now),
            PINGRESP => self.pinged = false,
            CONNACK => self.on_connack(now, actions),
            PUBACK | PUBCOMP => self.on_acknowledged(message, now, actions),
            _ => {}
        }
        if matches!(message.kind, PUBREC | PINGRESP | CONNACK | PUBACK | PUBCOMP) {
            self.on_received(now);
        }
        let mut reply = |bytes, kind| actions.push(Action::Send(bytes, Message { kind, ..message }));
        match message.kind {
            CONNECT => reply(ACKNOWLEDGEMENT, CONNACK),
            PUBLISH if self.config.qos == 1 => reply(ACKNOWLEDGEMENT, PUBACK),
            PUBLISH if self.config.qos == 2 => reply(ACKNOWLEDGEMENT, PUBREC),
            PUBREC => reply(ACKNOWLEDGEMENT, PUBREL),
            PUBREL => reply(ACKNOWLEDGEMENT, PUBCOMP),
            PINGREQ => reply(PING, PINGRESP),
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
            response_timeout: None,
            clean_session: false,
            nagle: false,
            broker_nagle: None,
            tls: Tls::NONE,
        }
    }

    /// paho-mqtt leaves Nagle's algorithm on, which `set_tcp_nodelay` of mosquitto turns off.
    #[test]
    fn each_end_has_its_own_nagle() {
        let ends = |broker_nagle| {
            let config = Config { nagle: true, broker_nagle, ..config(1) };
            let context = FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) };
            let sensor = Mqtt::new(&config, &context);
            [End::Sender, End::Receiver].map(|end| sensor.nagle(end))
        };
        assert_eq!(ends(None), [true, true]);
        assert_eq!(ends(Some(false)), [true, false]);
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
        connected_until(config, NEVER)
    }

    fn connected_until(config: &Config, stop: Time) -> Mqtt {
        let mut sensor = Mqtt::new(config, &FlowContext { flow: 0.into(), seed: 1, stop, header: Bytes(40) });
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

    /// By hand: at the stop at 110 s the message of 1 s is not acknowledged, and that of 101 s waits. It is sent after it, and
    /// its acknowledgement ends the flow. Meanwhile a PINGREQ follows 40 s after the last packet, that of 81 s.
    #[test]
    fn messages_that_wait_at_the_stop_are_sent() {
        let mut sensor = connected_until(&Config { receive_maximum: Some(1), ..config(1) }, second(110));
        let mut sent = Vec::new();
        while sensor.due() <= second(121) {
            let (now, mut actions) = (sensor.due(), Vec::new());
            sensor.on_timer(now, &mut actions);
            sent.extend(actions.iter().filter(|one| matches!(one, Action::Send(..))).map(|_| now));
        }
        assert_eq!(sent, [1, 41, 81, 121].map(second), "a PUBLISH, and three PINGREQs");
        let message = |since| Message { kind: PUBACK, size: Bytes(100), since: second(since) };
        let mut actions = Vec::new();
        sensor.on_message(message(1), second(130), &mut actions);
        let publish = Message { kind: PUBLISH, ..message(101) };
        let record = |since| Action::Record(second(since), Bytes(100));
        assert_eq!(std::mem::take(&mut actions), [record(1), Action::Send(Bytes(126), publish)]);
        sensor.on_message(message(101), second(131), &mut actions);
        assert_eq!((actions, sensor.due()), (vec![record(101), Action::Finish], NEVER));
    }

    /// MQTT 3.1.1, section 3.1.2.10: each packet of the client counts, also the PUBREL at 31 s. The PINGREQ follows 40 s later, at
    /// 71 s, not 40 s after the PUBLISH.
    #[test]
    fn a_pubrel_defers_the_pingreq() {
        let mut sensor = connected(&config(2));
        sensor.on_timer(second(1), &mut Vec::new());
        assert_eq!(sensor.due(), second(41));
        sensor.on_message(Message { kind: PUBREC, size: Bytes(100), since: second(1) }, second(31), &mut Vec::new());
        assert_eq!(sensor.due(), second(71));
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

    /// A sensor that waits 5 s for the broker, with two messages sent at 1 s, the first of which the broker has.
    fn interrupted(config: &Config) -> Mqtt {
        let schedule = Schedule { burst: Some(2), count: Some(4), ..Schedule::each(Duration::from_secs(7)) };
        let response_timeout = Some(Duration::from_secs(5));
        let mut sensor = connected(&Config { schedule, response_timeout, ..config.clone() });
        let mut actions = Vec::new();
        sensor.on_timer(second(1), &mut actions);
        assert_eq!(actions.len(), 4);
        sensor.on_message(Message { kind: PUBLISH, size: Bytes(100), since: second(1) }, second(2), &mut actions);
        sensor
    }

    /// MQTT 3.1.1, section 4.4: after a reconnect the client sends PUBLISH packets that are not acknowledged again, in their
    /// order. The broker, which has the first message, does not deliver it once more.
    #[test]
    fn a_resumed_session_sends_unacknowledged_messages_again() {
        let mut sensor = interrupted(&config(1));
        assert_eq!(sensor.due(), second(6));
        let mut actions = Vec::new();
        sensor.on_timer(second(6), &mut actions);
        let of_kind = |kind, size, since| Message { kind, size: Bytes(size), since: second(since) };
        let reconnect = [Action::Connect, Action::Send(Bytes(24), of_kind(CONNECT, 0, 6))];
        assert_eq!(std::mem::take(&mut actions), reconnect);
        assert_eq!(sensor.due(), second(8), "messages are generated while the sensor has no connection");
        sensor.on_timer(second(8), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [Action::Offer(second(8), Bytes(100)); 2]);
        assert_eq!(sensor.due(), second(11));
        sensor.on_timer(second(11), &mut actions);
        assert_eq!(std::mem::take(&mut actions)[0], Action::Connect);
        sensor.on_message(of_kind(CONNACK, 0, 11), second(12), &mut actions);
        let again = |since| Action::Send(Bytes(126), of_kind(PUBLISH, 100, since));
        assert_eq!(std::mem::take(&mut actions), [again(1), again(1), again(8), again(8)]);
        for (delivered, since) in [(true, 1), (false, 1), (true, 8), (true, 8)] {
            sensor.on_message(of_kind(PUBLISH, 100, since), second(13), &mut actions);
            let acknowledgement = Action::Send(Bytes(4), of_kind(PUBACK, 100, since));
            let deliver = delivered.then_some(Action::Deliver(second(since)));
            assert_eq!(std::mem::take(&mut actions), deliver.into_iter().chain([acknowledgement]).collect::<Vec<_>>());
        }
        for since in [1, 1, 8, 8] {
            sensor.on_message(of_kind(PUBACK, 100, since), second(14), &mut actions);
        }
        assert_eq!(actions.last(), Some(&Action::Finish));
    }

    /// Section 3.1.2.4: a clean session forgets them, and so does QoS 0 (4.3.1).
    #[test]
    fn a_clean_session_forgets_unacknowledged_messages() {
        for config in [Config { clean_session: true, ..config(1) }, config(0)] {
            let mut sensor = interrupted(&config);
            let mut actions = Vec::new();
            if config.qos == 0 {
                assert_eq!(sensor.due(), second(8), "nothing is awaited");
                sensor.open(second(6), &mut actions);
            } else {
                sensor.on_timer(second(6), &mut actions);
            }
            actions.clear();
            sensor.on_message(Message { kind: CONNACK, size: Bytes::ZERO, since: second(6) }, second(7), &mut actions);
            assert_eq!(actions, []);
        }
    }

    /// Section 4.4: of a message whose PUBREC has arrived, PUBREL is sent again.
    #[test]
    fn a_resumed_session_releases_received_messages() {
        let mut sensor = interrupted(&config(2));
        let mut actions = Vec::new();
        let of_kind = |kind, size| Message { kind, size: Bytes(size), since: second(1) };
        sensor.on_message(of_kind(PUBREC, 100), second(3), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [Action::Send(Bytes(4), of_kind(PUBREL, 100))]);
        sensor.on_timer(second(8), &mut actions);
        actions.clear();
        sensor.on_message(of_kind(CONNACK, 0), second(9), &mut actions);
        let released = Action::Send(Bytes(4), of_kind(PUBREL, 100));
        assert_eq!(actions[..2], [released, Action::Send(Bytes(126), of_kind(PUBLISH, 100))]);
    }

    /// A silent broker is noticed although the sensor sends each 100 ms: PINGREQ after 40 s without its packets, and a new
    /// connection 5 s later.
    #[test]
    fn a_silent_broker_is_noticed() {
        let schedule = Schedule::each(Duration::from_millis(100));
        let response_timeout = Some(Duration::from_secs(5));
        let mut sensor = connected(&Config { schedule, response_timeout, ..config(0) });
        let mut found = Vec::new();
        while sensor.due() < second(60) && found.len() < 2 {
            let now = sensor.due();
            let mut actions = Vec::new();
            sensor.on_timer(now, &mut actions);
            let is_ping = |one: &Action| matches!(one, Action::Send(_, message) if message.kind == PINGREQ);
            if actions.iter().any(is_ping) || actions.contains(&Action::Connect) {
                found.push(now);
            }
        }
        assert_eq!(found, [second(41), second(46)]);
    }
}
