//! MQTT 3.1.1: a subscriber, to which a broker sends on what it receives.

use std::collections::VecDeque;

use cwndlab_config::{fields, Faults, Reader, Table};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::{check_interval, Configuration};
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution_fields::Times;
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::mqtt::{
    connect, publish, subscribe, ACKNOWLEDGEMENT, CONNACK, CONNECT, PING, PINGREQ, PINGRESP, PUBACK, PUBCOMP, PUBLISH,
    PUBREC, PUBREL, SUBACK, SUBACK_SIZE, SUBSCRIBE,
};
use crate::server::Server;
use crate::NEVER;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "mqtt-subscription",
    "A broker that sends on to a subscriber what other flows deliver to its node (TCP). The flow goes from the broker to the subscriber, which opens the connection: CONNECT, CONNACK, SUBSCRIBE, SUBACK, then a PUBLISH for each message, acknowledged as in `mqtt`. The delay of a message counts from its generation at the publisher. Messages that reach the broker before the subscription are not sent on.",
    &[Config::FIELDS],
)
.class("MqttSubscription");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// names of the flows whose messages are sent on, of any workload with messages, such as `mqtt` and `coap`; a name
        /// stands for all flows of its `count`
        sources: Vec<String> = required("'sources = [\"alarms\"]'"),
        /// 0: at most once; 1: at least once; 2: exactly once
        qos: u8 = 0 in 0..=2,
        /// maximum number of messages of QoS 1 and 2 that are not acknowledged; further ones wait at the broker (MQTT 5.0,
        /// 3.1.2.11.3)
        receive_maximum: Option<u32> = absent("no limit") in 1..=65_535,
        /// maximum number of messages that wait at the broker; further ones are lost
        max_queued: Option<u32> = absent("no limit") in 1..=1_000_000_000,
        /// time that the broker needs for each message, one after another
        processing: Times = "0 s",
        /// length of the topic name, bytes
        topic: u32 = 20 in 1..=65_535,
        /// length of the client identifier, bytes
        client: u32 = 23 in 0..=65_535,
        /// maximum idle time of the subscriber before a PINGREQ; zero disables PINGREQ
        keep_alive: Duration = "60 s",
        /// Nagle's algorithm: a small segment waits while other data are unacknowledged (RFC 9293, 3.7.4), or small
        /// segments (profile linux)
        nagle: bool = false,
        /// TLS
        tls: Tls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let hint = "MQTT counts it in seconds (3.1.1, section 3.1.2.10); \"0 s\" disables PINGREQ";
        check_interval(table, "keep_alive", self.keep_alive, hint, faults);
    }
}

/// The subscriber opens the connection.
const OPENER: End = End::Receiver;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Handshake::default().secure(&self.tls).wrap(Box::new(Subscription::new(self, flow))))
    }

    fn secondary_connections(&self) -> u32 {
        1
    }

    fn sources(&self) -> &[String] {
        &self.sources
    }
}

/// The state of broker and subscriber.
#[derive(Debug)]
struct Subscription {
    config: Config,
    /// Time at which the broker stops to send messages on; [`NEVER`] after it.
    stop: Time,
    opened: bool,
    stopped: bool,
    /// The broker has the subscription.
    subscribed: bool,
    /// Time of the subscriber's last packet; [`NEVER`] before the subscription.
    last_sent: Time,
    broker: Server,
    /// Messages of QoS 1 and 2 that the subscriber has not acknowledged.
    in_flight: u32,
    /// Messages that wait for a free place, each with its time and size.
    waiting: VecDeque<(Time, Bytes)>,
    /// Messages that are not complete: those that wait, and those that were sent.
    incomplete: u64,
}

impl Subscription {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            stop: flow.stop,
            opened: false,
            stopped: false,
            subscribed: false,
            last_sent: NEVER,
            broker: Server::new(&config.processing, flow),
            in_flight: 0,
            waiting: VecDeque::new(),
            incomplete: 0,
        }
    }

    /// Whether the dialogue has ended: after its stop, when all messages are complete.
    fn is_finished(&self) -> bool {
        self.stopped && self.incomplete == 0
    }

    /// Notes a message that is complete: on arrival with QoS 0, with QoS 1 and 2 by its last acknowledgement.
    fn complete(&mut self, actions: &mut Vec<Action>) {
        self.incomplete -= 1;
        if self.is_finished() {
            actions.push(Action::Finish);
        }
    }

    /// Sends the messages for which there is a place.
    fn send_waiting(&mut self, now: Time, actions: &mut Vec<Action>) {
        while self.config.receive_maximum.is_none_or(|most| self.in_flight < most) {
            let Some((since, size)) = self.waiting.pop_front() else { break };
            self.in_flight += u32::from(self.config.qos > 0);
            let bytes = publish(self.config.topic, self.config.qos, size);
            self.broker.respond(bytes, Message { kind: PUBLISH, size, since }, now, actions);
        }
    }

    /// Sends a packet of the subscriber.
    fn reply(&mut self, bytes: Bytes, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.last_sent = now;
        actions.push(Action::Send(bytes, message));
    }

    /// Handles a PUBLISH, which the subscriber passes to its application at once.
    fn on_publish(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        actions.extend([Action::Deliver(message.since), Action::Record(message.since, message.size)]);
        match self.config.qos {
            0 => self.complete(actions),
            1 => self.reply(ACKNOWLEDGEMENT, Message { kind: PUBACK, ..message }, now, actions),
            _ => self.reply(ACKNOWLEDGEMENT, Message { kind: PUBREC, ..message }, now, actions),
        }
    }
}

impl Dialogue for Subscription {
    fn opener(&self) -> End {
        OPENER
    }

    fn nagle(&self, _: End) -> bool {
        self.config.nagle
    }

    fn due(&self) -> Time {
        if self.is_finished() {
            return NEVER;
        }
        let idle = self.config.keep_alive != Duration::ZERO && self.last_sent != NEVER;
        let ping = if idle { self.last_sent + self.config.keep_alive } else { NEVER };
        ping.min(self.stop)
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        let of_kind = |kind| Message { kind, size: Bytes::ZERO, since: now };
        if now >= self.stop {
            (self.stop, self.stopped) = (NEVER, true);
            actions.extend(self.is_finished().then_some(Action::Finish));
        } else if !std::mem::replace(&mut self.opened, true) {
            actions.extend([Action::Connect, Action::Send(connect(self.config.client), of_kind(CONNECT))]);
        } else {
            self.reply(PING, of_kind(PINGREQ), now, actions);
        }
    }

    fn responder_due(&self) -> Time {
        self.broker.due()
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.broker.on_timer(now, actions);
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let mut broker = |bytes, kind| actions.push(Action::Send(bytes, Message { kind, ..message }));
        match message.kind {
            CONNECT => broker(ACKNOWLEDGEMENT, CONNACK),
            SUBSCRIBE => {
                self.subscribed = true;
                broker(SUBACK_SIZE, SUBACK);
            }
            PUBREC => broker(ACKNOWLEDGEMENT, PUBREL),
            PINGREQ => broker(PING, PINGRESP),
            PUBACK | PUBCOMP => {
                self.in_flight -= 1;
                self.send_waiting(now, actions);
                self.complete(actions);
            }
            CONNACK => {
                self.reply(subscribe(self.config.topic), Message { kind: SUBSCRIBE, ..message }, now, actions);
            }
            PUBLISH => self.on_publish(message, now, actions),
            PUBREL => self.reply(ACKNOWLEDGEMENT, Message { kind: PUBCOMP, ..message }, now, actions),
            _ => {}
        }
    }

    fn on_forwarded(&mut self, since: Time, size: Bytes, now: Time, actions: &mut Vec<Action>) {
        if !self.subscribed || self.stopped {
            return;
        }
        actions.push(Action::Offer(since, size));
        let room = self.config.max_queued.is_none_or(|most| self.waiting.len() < most as usize);
        if room {
            self.waiting.push_back((since, size));
            self.incomplete += 1;
            self.send_waiting(now, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;

    const ONE: Bytes = Bytes(100);

    fn at(second: u64) -> Time {
        Time::from_nanos(second * 1_000_000_000)
    }

    fn config(qos: u8) -> Config {
        Config {
            sources: vec!["alarms".to_owned()],
            qos,
            receive_maximum: None,
            max_queued: None,
            processing: Distribution::Fixed(0.0),
            topic: 20,
            client: 10,
            keep_alive: Duration::from_secs(40),
            nagle: false,
            tls: Tls::NONE,
        }
    }

    fn subscription(config: &Config) -> Subscription {
        Subscription::new(config, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) })
    }

    fn message(kind: u8, since: u64) -> Message {
        Message { kind, size: if kind == SUBSCRIBE { Bytes::ZERO } else { ONE }, since: at(since) }
    }

    fn at_arrival(one: &mut Subscription, message: Message, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        one.on_message(message, at(now), &mut actions);
        actions
    }

    fn forwarded(one: &mut Subscription, since: u64, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        one.on_forwarded(at(since), ONE, at(now), &mut actions);
        actions
    }

    /// A subscription that the broker has.
    fn subscribed(config: &Config) -> Subscription {
        let mut one = subscription(config);
        one.on_timer(at(0), &mut Vec::new());
        at_arrival(&mut one, message(SUBSCRIBE, 0), 1);
        one
    }

    /// MQTT 3.1.1, 3.1, 3.2, 3.8, 3.9: CONNECT (24 bytes), CONNACK (4), SUBSCRIBE (27), SUBACK (5). A message that reaches
    /// the broker before SUBSCRIBE is not sent on. PINGREQ follows 40 s after the last packet.
    #[test]
    fn a_subscriber_connects_and_subscribes() {
        let mut one = subscription(&config(0));
        let mut actions = Vec::new();
        one.on_timer(at(0), &mut actions);
        let of_kind = |kind| Message { kind, size: Bytes::ZERO, since: at(0) };
        assert_eq!(actions, [Action::Connect, Action::Send(Bytes(24), of_kind(CONNECT))]);
        assert_eq!(at_arrival(&mut one, of_kind(CONNECT), 1), [Action::Send(Bytes(4), of_kind(CONNACK))]);
        assert_eq!(forwarded(&mut one, 0, 1), []);
        assert_eq!(at_arrival(&mut one, of_kind(CONNACK), 2), [Action::Send(Bytes(27), of_kind(SUBSCRIBE))]);
        assert_eq!(at_arrival(&mut one, of_kind(SUBSCRIBE), 3), [Action::Send(Bytes(5), of_kind(SUBACK))]);
        assert_eq!(one.due(), at(42));
    }

    /// The delay counts from the generation, 3 s before the message reaches the broker. QoS 1 and 2 as in figures 4.2 and 4.3
    /// of MQTT 3.1.1, section 4.3, with the broker as the sender.
    #[test]
    fn a_message_is_sent_on_and_acknowledged() {
        let mut one = subscribed(&config(0));
        let publish = |bytes, since| Action::Send(Bytes(bytes), message(PUBLISH, since));
        assert_eq!(forwarded(&mut one, 2, 5), [Action::Offer(at(2), ONE), publish(124, 2)]);
        let delivered = [Action::Deliver(at(2)), Action::Record(at(2), ONE)];
        assert_eq!(at_arrival(&mut one, message(PUBLISH, 2), 6), delivered);
        for (qos, acknowledgements) in [(1, vec![PUBACK]), (2, vec![PUBREC, PUBREL, PUBCOMP])] {
            let mut one = subscribed(&Config { receive_maximum: Some(1), ..config(qos) });
            assert_eq!(forwarded(&mut one, 2, 5), [Action::Offer(at(2), ONE), publish(126, 2)]);
            assert_eq!(forwarded(&mut one, 3, 5), [Action::Offer(at(3), ONE)], "the place is taken");
            let mut arrived = PUBLISH;
            for next in acknowledgements {
                let reply = at_arrival(&mut one, message(arrived, 2), 6);
                assert_eq!(reply.last(), Some(&Action::Send(Bytes(4), message(next, 2))));
                arrived = next;
            }
            assert_eq!(at_arrival(&mut one, message(arrived, 2), 7), [publish(126, 3)]);
        }
    }

    /// By hand: with two messages on their way at the stop, the last of their acknowledgements ends the dialogue, or with QoS 0
    /// the second arrival. What reaches the broker later is not sent on.
    #[test]
    fn the_last_message_before_the_stop_ends_the_dialogue() {
        for (qos, receive_maximum, last) in [(0, None, PUBLISH), (1, Some(1), PUBACK), (2, Some(1), PUBCOMP)] {
            let mut one = subscribed(&Config { receive_maximum, ..config(qos) });
            one.stop = at(10);
            forwarded(&mut one, 2, 5);
            forwarded(&mut one, 3, 6);
            let mut actions = Vec::new();
            one.on_timer(at(10), &mut actions);
            assert_eq!((actions, one.due()), (vec![], NEVER), "no packet of the subscriber, so no PINGREQ is due");
            assert_eq!(forwarded(&mut one, 4, 11), []);
            assert!(!at_arrival(&mut one, message(last, 2), 12).contains(&Action::Finish));
            assert_eq!(at_arrival(&mut one, message(last, 3), 13).last(), Some(&Action::Finish));
        }
        let mut idle = subscribed(&config(1));
        idle.stop = at(10);
        let mut actions = Vec::new();
        idle.on_timer(at(10), &mut actions);
        assert_eq!(actions, [Action::Finish]);
    }

    /// With a place for one waiting message, the third is lost: it is offered, and never sent.
    #[test]
    fn a_full_queue_of_the_broker_loses_the_newest() {
        let mut one = subscribed(&Config { receive_maximum: Some(1), max_queued: Some(1), ..config(1) });
        let sent = [2, 3, 4].map(|since| forwarded(&mut one, since, 5).len());
        assert_eq!(sent, [2, 1, 1]);
        assert_eq!(at_arrival(&mut one, message(PUBACK, 2), 6), [Action::Send(Bytes(126), message(PUBLISH, 3))]);
        assert_eq!(at_arrival(&mut one, message(PUBACK, 3), 7), []);
    }
}
