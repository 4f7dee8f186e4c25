//! AMQP 1.0: a client that sends messages to a broker by credit, settled at once or after a response.
//!
//! Source: OASIS AMQP 1.0, part 2 (transport). The client opens the connection, authenticates by SASL, and attaches a
//! link on which it is the sender. The default sizes of frames follow from the encodings of part 1: 8 bytes of frame
//! header, 3 of descriptor, 3 of list header, then the fields:
//!
//! ```text
//! transfer:    14 + handle 1, delivery-id 2, tag 2 + 4, format 1, settled 1, section header 5 = 30
//! disposition: 14 + role 1, first 2, last 1, settled 1, state 4 = 23
//! flow:        14 + four session fields 2 + 5 + 2 + 5, handle 1, delivery-count 2, link-credit 2 = 33
//! ```

use std::collections::VecDeque;

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::PositiveSizes;
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::sampling::sample_size;
use crate::schedule::{Generation, Schedule};
use crate::NEVER;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "amqp",
    "A client that sends messages to a broker by AMQP 1.0 (OASIS; TCP): protocol headers, SASL, open, begin and attach, then messages every `period`, as many as the broker's link credit allows, settled by the client or by dispositions, and empty frames of both ends at half the idle time-out. A transfer is complete when the message is settled.",
    &[Config::FIELDS],
)
.class("Amqp");

words! {
    /// When a message is settled.
    pub enum Settlement {
        /// by its sender when it is sent: at most once
        Settled = "settled",
        /// by the broker's disposition: at least once (receiver settle mode `first`)
        First = "first",
        /// by the client's disposition that follows the broker's: exactly once (receiver settle mode `second`)
        Second = "second",
    }
}

/// Protocol header of SASL and of AMQP, and an empty frame, which has only the frame header.
const HEADER: Bytes = Bytes(8);
/// A shorter idle time-out would make empty frames most of the events of a run.
const SHORTEST_IDLE_TIMEOUT: Duration = Duration::from_millis(2);

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// when a message is settled
        settlement: Settlement = "first",
        /// payload of a message
        payload: PositiveSizes = absent("uniform from 128 B to 1024 B", Distribution::Uniform(128.0, 1024.0)),
        /// times of the messages, from the end of the set-up
        schedule: Schedule,
        /// link credit: number of messages that the broker accepts; it grants it again when half of it is used
        credit: u32 = 100 in 1..=1_000_000,
        /// the broker writes each frame of the set-up on its own, as RabbitMQ does
        separate_writes: bool = absent("false", false),
        /// open, begin and attach are sent together; false: one after the other, each with a round trip
        pipelined: bool = true,
        /// `idle-time-out` that both ends announce; after half of it without a frame an end sends an empty one, as
        /// go-amqp and AMQP.Net Lite do; zero disables it
        idle_timeout: Duration = "60 s",
        /// largest frame; a larger message takes several transfer frames
        max_frame: Bytes = "65536 B",
        /// size of a SASL frame: mechanisms, initial response, outcome
        sasl: Positive<Bytes> = "50 B",
        /// size of an open frame
        open: Positive<Bytes> = "100 B",
        /// size of a begin frame
        begin: Positive<Bytes> = "40 B",
        /// size of an attach frame
        attach: Positive<Bytes> = "150 B",
        /// size of a flow frame
        flow: Positive<Bytes> = "33 B",
        /// headers of a transfer frame: frame, performative, section
        transfer: Bytes = "30 B",
        /// size of a disposition frame
        disposition: Positive<Bytes> = "23 B",
        /// TLS
        tls: Tls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.max_frame < Bytes(512) {
            faults.add(table.at("max_frame"), "is less than 512 B", "each peer accepts frames of that size");
        } else if self.max_frame <= self.transfer {
            faults.add(table.at("transfer"), "leaves no room for a payload in a frame", "see 'max_frame'");
        }
        if self.idle_timeout != Duration::ZERO && self.idle_timeout < SHORTEST_IDLE_TIMEOUT {
            let what = format!("is shorter than {SHORTEST_IDLE_TIMEOUT}");
            faults.add(table.at("idle_timeout"), what, "\"0 s\" disables it");
        }
    }

    /// The set-up after TLS: SASL's headers and mechanisms, its initial response and outcome, then AMQP's header with the
    /// open frame, begin and attach, whose answer has the first credit.
    fn handshake(&self) -> Handshake {
        let whole = |frames: &[Bytes]| vec![frames.iter().fold(Bytes::ZERO, |sum, &frame| sum + frame)];
        let broker = |frames: &[Bytes]| if self.separate_writes { frames.to_vec() } else { whole(frames) };
        let handshake = Handshake::default().secure(&self.tls).then_in_parts([
            whole(&[HEADER]),
            broker(&[HEADER, self.sasl]),
            whole(&[self.sasl]),
            whole(&[self.sasl]),
        ]);
        if self.pipelined {
            let all = [HEADER, self.open, self.begin, self.attach, self.flow];
            return handshake.then_in_parts([whole(&all[..4]), broker(&all)]);
        }
        let open = [HEADER, self.open];
        handshake.then_in_parts([
            whole(&open),
            broker(&open),
            whole(&[self.begin]),
            whole(&[self.begin]),
            whole(&[self.attach]),
            broker(&[self.attach, self.flow]),
        ])
    }

    /// Size of a message in its transfer frames.
    fn transfer_bytes(&self, payload: Bytes) -> Bytes {
        let frames = payload.0.div_ceil((self.max_frame - self.transfer).0);
        payload + Bytes(self.transfer.0 * frames)
    }
}

/// The end that sends messages opens the connection.
const OPENER: End = End::Sender;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(self.handshake().wrap(Box::new(Amqp::new(self, flow))))
    }

    fn offered_load(&self) -> OfferedLoad {
        self.schedule.offered_load()
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// Carries the size of its payload, as do the next two.
const TRANSFER: u8 = 0;
/// The broker's disposition.
const ACCEPTED: u8 = 1;
/// The client's disposition.
const SETTLED: u8 = 2;
/// Carries the number of messages that the broker has received.
const FLOW: u8 = 3;
const EMPTY: u8 = 4;

/// The state of client and broker.
#[derive(Debug)]
struct Amqp {
    config: Config,
    messages: Generation,
    payloads: Stream,
    /// Messages that wait for credit.
    waiting: VecDeque<(Time, Bytes)>,
    sent: u64,
    /// Number of messages that the client may have sent.
    limit: u64,
    received: u64,
    /// Number of received messages at the last grant of credit.
    granted: u64,
    /// Times at which the client and the broker sent their last frame.
    client_sent: Time,
    broker_sent: Time,
}

impl Amqp {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            messages: Generation::new(&config.schedule, flow),
            payloads: flow.stream(Purpose::Size),
            waiting: VecDeque::new(),
            sent: 0,
            limit: u64::from(config.credit),
            received: 0,
            granted: 0,
            client_sent: Time::ZERO,
            broker_sent: Time::ZERO,
        }
    }

    /// Time of an end's next empty frame, if its last frame was sent at `sent`.
    fn empty_due(&self, sent: Time) -> Time {
        if self.config.idle_timeout == Duration::ZERO {
            NEVER
        } else {
            sent + Duration::from_nanos(self.config.idle_timeout.as_nanos() / 2)
        }
    }

    /// Sends the messages for which there is credit.
    fn send_waiting(&mut self, now: Time, actions: &mut Vec<Action>) {
        while self.sent < self.limit {
            let Some((since, size)) = self.waiting.pop_front() else { break };
            self.sent += 1;
            self.client_sent = now;
            actions.push(Action::Send(self.config.transfer_bytes(size), Message { kind: TRANSFER, size, since }));
        }
    }

    /// Handles a message at the broker.
    fn on_transfer(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        actions.push(Action::Deliver(message.since));
        if self.config.settlement == Settlement::Settled {
            self.complete(message, actions);
        } else {
            self.broker_sent = now;
            actions.push(Action::Send(self.config.disposition, Message { kind: ACCEPTED, ..message }));
        }
        self.received += 1;
        if self.received - self.granted >= u64::from(self.config.credit.div_ceil(2)) {
            self.granted = self.received;
            self.broker_sent = now;
            let flow = Message { kind: FLOW, size: Bytes(self.received), since: now };
            actions.push(Action::Send(self.config.flow, flow));
        }
    }

    fn complete(&mut self, message: Message, actions: &mut Vec<Action>) {
        actions.push(Action::Record(message.since, message.size));
        self.messages.complete(actions);
    }
}

fn empty(now: Time) -> Action {
    Action::Send(HEADER, Message { kind: EMPTY, size: Bytes::ZERO, since: now })
}

impl Dialogue for Amqp {
    fn opener(&self) -> End {
        OPENER
    }

    fn due(&self) -> Time {
        if !self.messages.is_running() {
            return NEVER;
        }
        self.messages.due().min(self.empty_due(self.client_sent))
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.messages.opens_or_ends(now, actions) {
            return;
        }
        for _ in 0..self.messages.take(now) {
            let payload = sample_size(&self.config.payload, &mut self.payloads);
            self.waiting.push_back((now, payload));
            actions.push(Action::Offer(now, payload));
        }
        self.send_waiting(now, actions);
        if self.empty_due(self.client_sent) <= now {
            self.client_sent = now;
            actions.push(empty(now));
        }
    }

    fn on_connected(&mut self, now: Time, _: &mut Vec<Action>) {
        (self.client_sent, self.broker_sent) = (now, now);
        self.messages.start(now);
    }

    fn responder_due(&self) -> Time {
        if !self.messages.is_running() {
            return NEVER;
        }
        self.empty_due(self.broker_sent)
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.broker_sent = now;
        actions.push(empty(now));
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            TRANSFER => self.on_transfer(message, now, actions),
            ACCEPTED if self.config.settlement == Settlement::Second => {
                self.client_sent = now;
                actions.push(Action::Send(self.config.disposition, Message { kind: SETTLED, ..message }));
            }
            ACCEPTED | SETTLED => self.complete(message, actions),
            FLOW => {
                self.limit = message.size.0 + u64::from(self.config.credit);
                self.send_waiting(now, actions);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogue::PART;
    use crate::handshake::testing::sent_sizes;

    fn config(settlement: Settlement) -> Config {
        Config {
            settlement,
            payload: Distribution::Fixed(100.0),
            schedule: Schedule::each(Duration::from_secs(10)),
            credit: 100,
            separate_writes: false,
            pipelined: true,
            idle_timeout: Duration::ZERO,
            max_frame: Bytes(65_536),
            sasl: Bytes(50),
            open: Bytes(100),
            begin: Bytes(40),
            attach: Bytes(150),
            flow: Bytes(33),
            transfer: Bytes(30),
            disposition: Bytes(23),
            tls: Tls::NONE,
        }
    }

    fn context() -> FlowContext {
        FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) }
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    /// A client whose link is attached at 0 s, when its first message is due.
    fn connected(config: &Config) -> Amqp {
        let mut client = Amqp::new(config, &context());
        let mut actions = Vec::new();
        client.on_timer(at(0), &mut actions);
        assert_eq!(actions, [Action::Connect]);
        client.on_connected(at(0), &mut Vec::new());
        client
    }

    fn at_timer(client: &mut Amqp, seconds: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        client.on_timer(at(seconds), &mut actions);
        actions
    }

    fn at_message(client: &mut Amqp, message: Message, seconds: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        client.on_message(message, at(seconds), &mut actions);
        actions
    }

    fn message(kind: u8, seconds: u64) -> Message {
        Message { kind, size: Bytes(100), since: at(seconds) }
    }

    /// AMQP 1.0, part 2: after the protocol headers and SASL, two round trips, open, begin and attach take one round
    /// trip together or three one by one. The broker's answer to attach has the first credit.
    #[test]
    fn the_set_up_takes_three_or_five_round_trips() {
        let pipelined = config(Settlement::First);
        let set_up = |config: &Config| sent_sizes(config.application(&context()));
        assert_eq!(set_up(&pipelined), [[8, 58], [50, 50], [298, 331]]);
        let one_by_one = Config { pipelined: false, ..pipelined };
        assert_eq!(set_up(&one_by_one), [[8, 58], [50, 50], [108, 108], [40, 40], [150, 183]]);
    }

    /// By hand: the broker writes header and mechanisms, the outcome, then header, open, begin, attach and the credit, or the
    /// answers to each, on their own; the client does not.
    #[test]
    fn a_broker_may_write_each_frame_on_its_own() {
        let separate = Config { separate_writes: true, ..config(Settlement::First) };
        let sums = |config: &Config| -> Vec<Vec<u64>> {
            let Application::Dialogue(mut dialogue) = config.application(&context()) else { panic!("a dialogue") };
            let mut actions = Vec::new();
            dialogue.on_timer(at(0), &mut actions);
            let mut flights = Vec::new();
            loop {
                let sent = actions.drain(..).filter_map(|action| match action {
                    Action::Send(bytes, message) if message.kind >= PART => Some((bytes.0, message)),
                    _ => None,
                });
                let (sizes, messages): (Vec<u64>, Vec<Message>) = sent.unzip();
                let Some(&last) = messages.last() else { return flights };
                flights.push(sizes);
                dialogue.on_message(last, at(0), &mut actions);
            }
        };
        let sasl = [vec![8], vec![8, 50], vec![50], vec![50]];
        assert_eq!(sums(&separate), [&sasl[..], &[vec![298], vec![8, 100, 40, 150, 33]]].concat());
        let one_by_one = Config { pipelined: false, ..separate };
        let rest = [vec![108], vec![8, 100], vec![40], vec![40], vec![150], vec![150, 33]];
        assert_eq!(sums(&one_by_one), [&sasl[..], &rest].concat());
    }

    /// Receiver settle modes of part 2: a settled message needs no disposition, mode `first` one, and mode `second` two.
    #[test]
    fn a_message_takes_as_many_dispositions_as_its_settlement() {
        let record = Action::Record(at(0), Bytes(100));
        let disposition = |kind| Action::Send(Bytes(23), message(kind, 0));
        for settlement in [Settlement::Settled, Settlement::First, Settlement::Second] {
            let mut client = connected(&config(settlement));
            let transfer = Action::Send(Bytes(130), message(TRANSFER, 0));
            assert_eq!(at_timer(&mut client, 0), [Action::Offer(at(0), Bytes(100)), transfer]);
            let arrived = at_message(&mut client, message(TRANSFER, 0), 1);
            let reply = if settlement == Settlement::Settled { record } else { disposition(ACCEPTED) };
            assert_eq!(arrived, [Action::Deliver(at(0)), reply]);
            if settlement == Settlement::Settled {
                continue;
            }
            let second = settlement == Settlement::Second;
            let accepted = at_message(&mut client, message(ACCEPTED, 0), 2);
            assert_eq!(accepted, [if second { disposition(SETTLED) } else { record }]);
            if second {
                assert_eq!(at_message(&mut client, message(SETTLED, 0), 3), [record]);
            }
        }
    }

    /// Part 2, link credit: of five messages at once, four are sent with a credit of four; after two of them the broker
    /// grants four beyond what it has received.
    #[test]
    fn messages_without_credit_wait_for_a_flow_frame() {
        let schedule = Schedule { burst: Some(7), ..Schedule::each(Duration::from_secs(10)) };
        let mut client = connected(&Config { credit: 4, schedule, ..config(Settlement::Settled) });
        let transfer = Action::Send(Bytes(130), message(TRANSFER, 0));
        assert_eq!(at_timer(&mut client, 0).iter().filter(|&&action| action == transfer).count(), 4);
        assert_eq!(at_message(&mut client, message(TRANSFER, 0), 1).len(), 2);
        let flow = Message { kind: FLOW, size: Bytes(2), since: at(1) };
        assert_eq!(at_message(&mut client, message(TRANSFER, 0), 1)[2], Action::Send(Bytes(33), flow));
        assert_eq!(at_message(&mut client, flow, 2), [transfer; 2], "limit 6, of which 4 are sent");
    }

    /// By hand: a frame of 512 bytes has 482 bytes of payload; 1000 bytes take three.
    #[test]
    fn a_large_message_takes_several_frames() {
        let small = Config { max_frame: Bytes(512), ..config(Settlement::First) };
        let sizes = [482, 483, 1000].map(|payload| small.transfer_bytes(Bytes(payload)).0);
        assert_eq!(sizes, [512, 543, 1090]);
    }

    /// Part 2, idle time-out: with 8 s, each end sends an empty frame of 8 bytes after 4 s without another one.
    #[test]
    fn empty_frames_follow_half_the_idle_time_out() {
        let mut client = connected(&Config { idle_timeout: Duration::from_secs(8), ..config(Settlement::First) });
        at_timer(&mut client, 0);
        at_message(&mut client, message(TRANSFER, 0), 1);
        assert_eq!((client.due(), client.responder_due()), (at(4), at(5)));
        assert_eq!(at_timer(&mut client, 4), [empty(at(4))]);
        let mut actions = Vec::new();
        client.on_responder_timer(at(5), &mut actions);
        assert_eq!(actions, [empty(at(5))]);
        assert_eq!((client.due(), client.responder_due()), (at(8), at(9)));
    }
}
