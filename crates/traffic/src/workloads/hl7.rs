//! HL7 version 2 over MLLP: messages of a clinical system to another one, each acknowledged before the next.
//!
//! MLLP (minimal lower layer protocol) frames a message by three bytes: 0x0B in front, 0x1C 0x0D at the end.

use std::collections::VecDeque;

use cwndlab_config::{fields, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, Times};
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::sampling::sample_size;
use crate::schedule::{Generation, Schedule};
use crate::server::Server;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "hl7",
    "HL7 version 2 messages over MLLP (TCP): one message every `period`, framed by three bytes, and its acknowledgement. A message waits until the previous one is acknowledged. The first message opens the connection, which stays open. A transfer ends with the acknowledgement.",
    &[Config::FIELDS],
)
.class("Hl7");

/// Start block, end block and carriage return of MLLP.
const FRAMING: Bytes = Bytes(3);

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// size of a message without its framing
        message: PositiveSizes = absent("uniform from 1 kB to 5 kB, as observation results", Distribution::Uniform(1e3, 5e3)),
        /// times of the messages
        schedule: Schedule,
        /// size of an acknowledgement without its framing
        ack: Bytes = "150 B",
        /// time from the arrival of a message to its acknowledgement
        processing: Times = "0 s",
        /// TLS
        tls: Tls,
    }
}

/// The end that sends messages opens the connection.
const OPENER: End = End::Sender;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Handshake::default().secure(&self.tls).wrap(Box::new(Hl7::new(self, flow))))
    }

    fn offered_load(&self) -> OfferedLoad {
        self.schedule.offered_load()
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// Carries its size, as does its acknowledgement.
const MESSAGE: u8 = 0;
const ACK: u8 = 1;

/// The state of both systems.
#[derive(Debug)]
struct Hl7 {
    config: Config,
    messages: Generation,
    sizes: Stream,
    opened: bool,
    /// A message is not acknowledged.
    outstanding: bool,
    waiting: VecDeque<(Time, Bytes)>,
    server: Server,
}

impl Hl7 {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            messages: Generation::new(&config.schedule, flow),
            sizes: flow.stream(Purpose::Size),
            opened: false,
            outstanding: false,
            waiting: VecDeque::new(),
            server: Server::new(&config.processing, flow),
        }
    }

    /// Sends the next message, unless one is outstanding.
    fn send_next(&mut self, actions: &mut Vec<Action>) {
        if self.outstanding {
            return;
        }
        if let Some((since, size)) = self.waiting.pop_front() {
            self.outstanding = true;
            actions.push(Action::Send(size + FRAMING, Message { kind: MESSAGE, size, since }));
        }
    }
}

impl Dialogue for Hl7 {
    fn opener(&self) -> End {
        OPENER
    }

    fn due(&self) -> Time {
        self.messages.due()
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.messages.ends(now, actions) {
            return;
        }
        if !std::mem::replace(&mut self.opened, true) {
            self.messages.start(now);
            actions.push(Action::Connect);
        }
        for _ in 0..self.messages.take(now) {
            let size = sample_size(&self.config.message, &mut self.sizes);
            self.waiting.push_back((now, size));
            actions.push(Action::Offer(now, size));
        }
        self.send_next(actions);
    }

    fn responder_due(&self) -> Time {
        self.server.due()
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.server.on_timer(now, actions);
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind == MESSAGE {
            actions.push(Action::Deliver(message.since));
            self.server.respond(self.config.ack + FRAMING, Message { kind: ACK, ..message }, now, actions);
            return;
        }
        self.outstanding = false;
        actions.push(Action::Record(message.since, message.size));
        self.messages.complete(actions);
        self.send_next(actions);
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Duration;

    use super::*;
    use crate::NEVER;

    fn system(processing: f64) -> Hl7 {
        system_until(processing, NEVER)
    }

    fn system_until(processing: f64, stop: Time) -> Hl7 {
        let config = Config {
            message: Distribution::Fixed(2000.0),
            schedule: Schedule::each(Duration::from_secs(10)),
            ack: Bytes(150),
            processing: Distribution::Fixed(processing),
            tls: Tls::NONE,
        };
        Hl7::new(&config, &FlowContext { flow: 0.into(), seed: 1, stop, header: Bytes(40) })
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn at_timer(system: &mut Hl7, seconds: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        system.on_timer(at(seconds), &mut actions);
        actions
    }

    fn at_message(system: &mut Hl7, message: Message, seconds: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        system.on_message(message, at(seconds), &mut actions);
        actions
    }

    /// MLLP: 3 bytes around the message and around its acknowledgement. The second message, of 10 s, waits for the
    /// acknowledgement of the first one at 15 s.
    #[test]
    fn one_message_is_outstanding() {
        let mut system = system(0.0);
        let message = |kind, since| Message { kind, size: Bytes(2000), since: at(since) };
        let offer = |since| Action::Offer(at(since), Bytes(2000));
        let send = |since| Action::Send(Bytes(2003), message(MESSAGE, since));
        assert_eq!(at_timer(&mut system, 0), [Action::Connect, offer(0), send(0)]);
        assert_eq!(at_timer(&mut system, 10), [offer(10)]);
        let arrived = at_message(&mut system, message(MESSAGE, 0), 14);
        assert_eq!(arrived, [Action::Deliver(at(0)), Action::Send(Bytes(153), message(ACK, 0))]);
        let acknowledged = at_message(&mut system, message(ACK, 0), 15);
        assert_eq!(acknowledged, [Action::Record(at(0), Bytes(2000)), send(10)]);
    }

    /// By hand: of the messages of 0 and 10 s none is acknowledged at the stop at 15 s. The second one is sent after it, and its
    /// acknowledgement ends the flow; there is none of 20 s.
    #[test]
    fn messages_that_wait_at_the_stop_are_sent() {
        let mut system = system_until(0.0, at(15));
        at_timer(&mut system, 0);
        at_timer(&mut system, 10);
        assert_eq!(system.due(), at(15));
        assert_eq!((at_timer(&mut system, 15), system.due()), (vec![], NEVER));
        let message = |kind, since| Message { kind, size: Bytes(2000), since: at(since) };
        let record = |since| Action::Record(at(since), Bytes(2000));
        let first = at_message(&mut system, message(ACK, 0), 16);
        assert_eq!(first, [record(0), Action::Send(Bytes(2003), message(MESSAGE, 10))]);
        assert_eq!(at_message(&mut system, message(ACK, 10), 17), [record(10), Action::Finish]);
    }

    /// By hand: a message that arrives at 1 s and takes 2 s is acknowledged at 3 s.
    #[test]
    fn an_acknowledgement_follows_the_processing() {
        let mut system = system(2e9);
        at_timer(&mut system, 0);
        let message = Message { kind: MESSAGE, size: Bytes(2000), since: at(0) };
        assert_eq!(at_message(&mut system, message, 1), [Action::Deliver(at(0))]);
        assert_eq!(system.responder_due(), at(3));
        let mut actions = Vec::new();
        system.on_responder_timer(at(3), &mut actions);
        assert_eq!(actions, [Action::Send(Bytes(153), Message { kind: ACK, ..message })]);
        assert_eq!(system.responder_due(), NEVER);
    }
}
