//! Conversations: both ends of a connection send messages. Each direction is a flow of its own, with its sender and its
//! receiver; they share the handshake.

use std::collections::VecDeque;

use cwndlab_network::random::Stream;
use cwndlab_records::rows::TransferRow;
use cwndlab_scenario::plan::{Mqtt, Workload};

use crate::draw::{self, OTHER_STREAM, SIZE_STREAM, TIME_STREAM};
use crate::engine::Engine;
use crate::NEVER;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A request, and the size of the response that it asks for.
    Request(u64),
    /// A response of this size.
    Response(u64),
    /// CONNECT.
    Connect,
    /// CONNACK.
    Connected,
    /// PUBLISH: payload.
    Publish(u64),
    /// PUBACK of a message of this payload.
    Published(u64),
    /// PINGREQ.
    Ping,
    /// PINGRESP.
    Pong,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The connection's bytes in this direction up to its end.
    end: u64,
    /// When what it is about began.
    since: u64,
    word: Word,
}

/// One direction of a conversation.
#[derive(Debug)]
pub struct Talk {
    /// The flow of the other direction.
    peer: u32,
    written: u64,
    under_way: VecDeque<Message>,
    /// Arrived whole, not yet looked at.
    heard: VecDeque<Message>,
    /// When the application of this direction's sender acts next.
    next: u64,
    /// What only the direction that owns the records has.
    state: Option<Box<State>>,
}

/// The application's.
#[derive(Debug)]
struct State {
    sizes: Stream,
    times: Stream,
    others: Stream,
    opened: bool,
    /// The regular moment of the next message, its jitter apart.
    beat: u64,
    publish: u64,
    spoke: u64,
}

impl Talk {
    /// The direction whose flow is in the records.
    #[must_use]
    pub fn owner(peer: u32, index: u32, start: u64, seed: u64) -> Self {
        let stream = |purpose| Stream::new(seed, purpose, u64::from(index));
        let state = State {
            sizes: stream(SIZE_STREAM),
            times: stream(TIME_STREAM),
            others: stream(OTHER_STREAM),
            opened: false,
            beat: 0,
            publish: NEVER,
            spoke: 0,
        };
        Self { next: start, state: Some(Box::new(state)), ..Self::answering(peer) }
    }

    /// The other one.
    #[must_use]
    pub fn answering(peer: u32) -> Self {
        Self { peer, written: 0, under_way: VecDeque::new(), heard: VecDeque::new(), next: NEVER, state: None }
    }

    /// So many bytes arrived in order; says whether a message is whole now.
    pub fn hear(&mut self, delivered: u64) -> bool {
        while self.under_way.front().is_some_and(|message| message.end <= delivered) {
            self.heard.extend(self.under_way.pop_front());
        }
        !self.heard.is_empty()
    }

    /// A new connection.
    fn renew(&mut self) {
        self.written = 0;
        self.under_way.clear();
        self.heard.clear();
    }

    /// Memory, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        (self.under_way.capacity() + self.heard.capacity()) * size_of::<Message>() + size_of::<State>()
    }
}

impl Engine<'_> {
    /// One direction's application acts: it looks at what it heard, then at the clock.
    pub(crate) fn talk(&mut self, index: usize, now: u64) {
        let Some(talk) = &mut self.flows[index].talk else { return };
        let peer = talk.peer as usize;
        while let Some(message) = self.flows[index].talk.as_mut().and_then(|talk| talk.heard.pop_front()) {
            self.answer(index, peer, message, now);
        }
        let due = self.flows[index].talk.as_ref().is_some_and(|talk| talk.next <= now);
        if due {
            self.speak(index, peer, now);
        }
        for one in [index, peer] {
            let flow = &mut self.flows[one];
            if let Some(talk) = &flow.talk {
                let waits = talk.heard.is_empty();
                flow.application = if waits { talk.next } else { now };
            }
            self.arm(one);
        }
    }

    fn state(&mut self, index: usize) -> &mut State {
        let talk = self.flows[index].talk.as_mut().expect("only conversations come here");
        talk.state.as_mut().expect("the owner has one")
    }

    fn next(&mut self, index: usize, at: u64) {
        self.flows[index].talk.as_mut().expect("only conversations come here").next = at;
    }

    /// Hands a message to the sender of `index`.
    fn say(&mut self, index: usize, bytes: u64, word: Word, since: u64, now: u64) {
        let flow = &mut self.flows[index];
        let talk = flow.talk.as_mut().expect("only conversations come here");
        talk.written += bytes;
        talk.under_way.push_back(Message { end: talk.written, since, word });
        flow.supply(bytes, now, &mut self.world);
    }

    /// The end that did not open the connection takes part from the first message on.
    fn accept(&mut self, index: usize, opener: usize, now: u64) {
        let answered = Some(self.flows[opener].answered).filter(|_| self.flows[opener].answers == 1);
        let flow = &mut self.flows[index];
        flow.accept(answered, now, &mut self.world);
    }

    /// The clock of `owner` says that it is time.
    fn speak(&mut self, owner: usize, peer: usize, now: u64) {
        self.next(owner, NEVER);
        let plan = &self.plan.flows[owner];
        if now >= self.flows[owner].stop_at() {
            self.flows[owner].finish(now);
            return;
        }
        match &plan.workload {
            Workload::Exchanges { request, response, new_connection, .. } => {
                if !self.state(owner).opened || *new_connection {
                    self.connect(peer, owner, now);
                }
                let state = self.state(owner);
                let size = draw::whole(response, &mut state.sizes);
                let asked = draw::whole(request, &mut state.others);
                self.say(peer, asked, Word::Request(size), now, now);
            }
            Workload::Mqtt(sensor) => {
                if self.state(owner).opened {
                    self.publish(owner, sensor, now);
                } else {
                    self.connect(owner, peer, now);
                    self.say(owner, sensor.connect_bytes(), Word::Connect, now, now);
                }
            }
            _ => {}
        }
    }

    /// A connection, the first or another one, that `opener` opens.
    fn connect(&mut self, opener: usize, other: usize, now: u64) {
        let owner = self.flows[opener].owner as usize;
        let again = self.state(owner).opened;
        self.state(owner).opened = true;
        let plan = &self.plan.flows[owner];
        for one in [opener, other] {
            let flow = &mut self.flows[one];
            if again {
                flow.renew(plan, self.seed);
            }
            if let Some(talk) = &mut flow.talk {
                talk.renew();
            }
        }
        self.flows[opener].open(now, &mut self.world);
    }

    fn publish(&mut self, owner: usize, sensor: &Mqtt, now: u64) {
        if now >= self.state(owner).publish {
            let state = self.state(owner);
            let payload = draw::whole(&sensor.payload, &mut state.sizes);
            state.spoke = now;
            state.beat += sensor.period.0;
            state.publish = state.beat + state.times.below(sensor.jitter.0);
            self.say(owner, sensor.publish_bytes(payload), Word::Publish(payload), now, now);
        } else {
            self.state(owner).spoke = now;
            self.say(owner, Mqtt::PING, Word::Ping, now, now);
        }
        self.schedule(owner, sensor);
    }

    /// The next message, or a ping where silence would last too long.
    fn schedule(&mut self, owner: usize, sensor: &Mqtt) {
        let stop = self.flows[owner].stop_at();
        let state = self.state(owner);
        let ping = sensor.keep_alive.map_or(NEVER, |time| state.spoke + time.0);
        let at = state.publish.min(ping).min(stop);
        self.next(owner, at);
    }

    /// A message reached the receiver of `index`; what is sent back goes by `peer`.
    fn answer(&mut self, index: usize, peer: usize, message: Message, now: u64) {
        let owner = self.flows[index].owner as usize;
        let plan = &self.plan.flows[owner];
        match (message.word, &plan.workload) {
            (Word::Request(size), _) => {
                self.accept(peer, index, now);
                self.say(peer, size, Word::Response(size), message.since, now);
            }
            (Word::Response(size), Workload::Exchanges { think, count, .. }) => {
                self.note(owner, message.since, now, size);
                let done = count.is_some_and(|count| self.flows[owner].transfers.len() as u64 >= count);
                let stop = self.flows[owner].stop_at();
                if done || stop <= now {
                    self.flows[owner].finish(now);
                } else {
                    let pause = draw::pause(think, &mut self.state(owner).times);
                    self.next(owner, (now + pause).min(stop));
                }
            }
            (Word::Connect, _) => {
                self.accept(peer, index, now);
                self.say(peer, Mqtt::ACKNOWLEDGEMENT, Word::Connected, message.since, now);
            }
            (Word::Connected, Workload::Mqtt(sensor)) => {
                let state = self.state(owner);
                (state.beat, state.spoke) = (now, now);
                state.publish = now + state.times.below(sensor.jitter.0);
                self.schedule(owner, sensor);
            }
            (Word::Publish(payload), Workload::Mqtt(sensor)) => {
                if sensor.qos == 0 {
                    self.note(owner, message.since, now, payload);
                } else {
                    self.say(peer, Mqtt::ACKNOWLEDGEMENT, Word::Published(payload), message.since, now);
                }
            }
            (Word::Published(payload), _) => self.note(owner, message.since, now, payload),
            (Word::Ping, _) => self.say(peer, Mqtt::PING, Word::Pong, message.since, now),
            _ => {}
        }
    }

    /// A transfer, or a message, is over.
    fn note(&mut self, owner: usize, start_ns: u64, end_ns: u64, size_bytes: u64) {
        let rows = &mut self.flows[owner].transfers;
        rows.push(TransferRow { flow: owner as u32, transfer: rows.len() as u64, start_ns, end_ns, size_bytes });
    }
}
