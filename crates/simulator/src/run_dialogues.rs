//! Runs dialogues: requests and responses, and MQTT.

use cwndlab_records::rows::TransferRow;
use cwndlab_traffic::messages::{Message, MessageKind};
use cwndlab_traffic::NEVER;
use cwndlab_units::{Bytes, Time};

use crate::dialogue::{Application, Dialogue};
use crate::simulation::Simulation;

impl Simulation<'_> {
    /// The application of a direction acts: it reads the messages that arrived, then does what is due.
    pub(crate) fn run_dialogue(&mut self, index: usize, now: Time) {
        self.connections[index].application = NEVER;
        let peer = self.dialogue(index).peer as usize;
        while let Some(message) = self.dialogue(index).messages.read() {
            self.on_message(index, peer, message, now);
        }
        if self.dialogue(index).next <= now {
            self.on_due(index, peer, now);
        }
        for one in [index, peer] {
            let connection = &mut self.connections[one];
            if let Some(dialogue) = &connection.dialogue {
                connection.application = if dialogue.messages.is_readable() { now } else { dialogue.next };
            }
            self.arm(one);
        }
    }

    fn dialogue(&mut self, index: usize) -> &mut Dialogue {
        self.connections[index].dialogue.as_mut().expect("the connection is a direction of a dialogue")
    }

    fn application(&mut self, owner: usize) -> &mut Application {
        self.dialogue(owner).application.as_mut().expect("the plan's flow has the application")
    }

    /// Writes a message to the sender of `index`.
    fn send_message(&mut self, index: usize, bytes: Bytes, kind: MessageKind, since: Time, now: Time) {
        self.dialogue(index).messages.write(bytes, kind, since);
        self.connections[index].supply(bytes, now, &mut self.network);
    }

    /// The end that did not open the connection takes part from the first message on.
    fn accept(&mut self, index: usize, opener: usize, now: Time) {
        let answered = self.connections[opener].handshake_start();
        self.connections[index].accept(answered, now, &mut self.network);
    }

    /// The timer of the application is due.
    fn on_due(&mut self, owner: usize, peer: usize, now: Time) {
        self.dialogue(owner).next = NEVER;
        if now >= self.connections[owner].stop_at() {
            self.connections[owner].finish(now);
            return;
        }
        let opened = self.dialogue(owner).opened;
        match self.application(owner) {
            Application::Client(client) => {
                let exchange = client.start_exchange();
                if exchange.connect {
                    self.connect(peer, owner, now);
                }
                self.send_message(peer, exchange.request, MessageKind::Request(exchange.response), now, now);
            }
            Application::Publisher(publisher) if opened => {
                let (bytes, kind) = publisher.on_due(now);
                self.send_message(owner, bytes, kind, now, now);
                self.schedule_publisher(owner);
            }
            Application::Publisher(publisher) => {
                let bytes = publisher.connect_bytes();
                self.connect(owner, peer, now);
                self.send_message(owner, bytes, MessageKind::Connect, now, now);
            }
        }
    }

    /// `opener` opens a connection, the first one or another one.
    fn connect(&mut self, opener: usize, other: usize, now: Time) {
        let owner = self.connections[opener].owner as usize;
        let again = std::mem::replace(&mut self.dialogue(owner).opened, true);
        let plan = &self.plan.flows[owner];
        for one in [opener, other] {
            if again {
                self.connections[one].renew(plan, self.seed);
            }
            self.dialogue(one).messages.clear();
        }
        self.connections[opener].open(now, &mut self.network);
    }

    /// Sets the timer of a sensor.
    fn schedule_publisher(&mut self, owner: usize) {
        let stop = self.connections[owner].stop_at();
        let Application::Publisher(publisher) = self.application(owner) else { return };
        let next = publisher.next_due().min(stop);
        self.dialogue(owner).next = next;
    }

    /// A message reached the receiver of `index`; the reply goes by `peer`.
    fn on_message(&mut self, index: usize, peer: usize, message: Message, now: Time) {
        let owner = self.connections[index].owner as usize;
        let stop = self.connections[owner].stop_at();
        let reply = match (message.kind, self.application(owner)) {
            (MessageKind::Request(response), _) => Some((response, MessageKind::Response(response))),
            (MessageKind::Response(bytes), Application::Client(client)) => {
                let next = client.on_response(now, stop);
                self.record_transfer(owner, message.since, now, bytes);
                match next {
                    Some(next) => self.dialogue(owner).next = next,
                    None => self.connections[owner].finish(now),
                }
                None
            }
            (MessageKind::ConnAck, Application::Publisher(publisher)) => {
                publisher.on_connack(now);
                self.schedule_publisher(owner);
                None
            }
            (MessageKind::PubAck(payload), _) => {
                self.record_transfer(owner, message.since, now, payload);
                None
            }
            (kind, Application::Publisher(publisher)) => {
                let reply = publisher.broker_reply(kind);
                if let (MessageKind::Publish(payload), None) = (kind, reply) {
                    self.record_transfer(owner, message.since, now, payload);
                }
                reply
            }
            _ => None,
        };
        if matches!(message.kind, MessageKind::Request(_) | MessageKind::Connect) {
            self.accept(peer, index, now);
        }
        if let Some((bytes, kind)) = reply {
            self.send_message(peer, bytes, kind, message.since, now);
        }
    }

    /// Records a transfer or a message that is complete.
    fn record_transfer(&mut self, owner: usize, start: Time, end: Time, size: Bytes) {
        let rows = &mut self.connections[owner].transfers;
        rows.push(TransferRow {
            flow: owner as u32,
            transfer: rows.len() as u64,
            start_ns: start.0,
            end_ns: end.0,
            size_bytes: size.0,
        });
    }
}
