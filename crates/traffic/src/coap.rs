//! Client and server of CoAP over UDP (RFC 7252), which workloads/coap.rs declares as a workload.
//!
//! - [`configuration`]: the fields, and the sizes of messages;
//! - `messages`: kinds of messages, and what their senders remember;
//! - [`timeout`]: retransmission timeouts, the congestion control.

pub mod configuration;
pub(crate) mod messages;
pub mod timeout;

use std::collections::VecDeque;

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use self::configuration::{Config, Method};
use self::messages::{
    Job, Known, Outstanding, ACKNOWLEDGED, EMPTY, EXCHANGE_LIFETIME, NOTIFY, PIGGYBACKED, REGISTER, REQUEST, SEPARATE,
};
use self::timeout::Timeouts;
use crate::dialogue::{End, Message};
use crate::distribution::Distribution;
use crate::exchange::{Action, Exchange};
use crate::flow_context::FlowContext;
use crate::sampling::{sample_pause, sample_size};
use crate::NEVER;

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Running,
    /// It generates no messages; those that it generated are still sent.
    Stopped,
}

/// The state of client and server.
#[derive(Debug)]
pub(crate) struct Coap {
    config: Config,
    stop: Time,
    sizes: Stream,
    times: Stream,
    random: Stream,
    /// Timeouts of the messages of client and server: each end measures its own.
    timeouts: [Timeouts; 2],
    /// Time of the next message of the application.
    next: Time,
    generated: u64,
    ended: u64,
    waiting: VecDeque<Job>,
    active: Vec<Job>,
    outstanding: Vec<Outstanding>,
    /// Responses that a server is working on.
    responses: Vec<(Time, Message)>,
    known: Known,
    /// The client is registered, and the time at which it registers again.
    registered: bool,
    stale: Time,
    notified: u64,
    stage: Stage,
}

/// Index of the timeouts of an end's messages.
fn estimator(config: &Config, from: End) -> usize {
    usize::from(from != config.client())
}

impl Coap {
    /// Client and server before their start.
    pub(crate) fn new(config: &Config, flow: &FlowContext) -> Self {
        let timeouts = || Timeouts::new(config.control, config.ack_timeout, config.ack_random_factor);
        Self {
            config: config.clone(),
            stop: flow.stop,
            sizes: flow.stream(Purpose::Size),
            times: flow.stream(Purpose::Time),
            random: flow.stream(Purpose::Other),
            timeouts: [timeouts(), timeouts()],
            next: NEVER,
            generated: 0,
            ended: 0,
            waiting: VecDeque::new(),
            active: Vec::new(),
            outstanding: Vec::new(),
            responses: Vec::new(),
            known: Known::default(),
            registered: false,
            stale: NEVER,
            notified: 0,
            stage: Stage::Before,
        }
    }

    fn job(&self, since: Time) -> Option<Job> {
        self.active.iter().copied().find(|job| job.since == since)
    }

    /// Draws the size of a payload; a distribution without an upper bound may exceed what a message carries.
    fn draw_payload(&mut self) -> Bytes {
        let size = sample_size(&self.config.payload, &mut self.sizes);
        self.config.limit().map_or(size, |limit| size.min(limit))
    }

    /// Generates a message of the application.
    fn generate(&mut self, now: Time, actions: &mut Vec<Action>) {
        let total = self.draw_payload();
        self.generated += 1;
        let more = self.config.count.is_none_or(|count| self.generated < count);
        // The start of a message is its identity: no two are equal.
        let pause = sample_pause(&self.config.period, &mut self.times).max(Duration::from_nanos(1));
        self.next = if more { now + pause } else { NEVER };
        actions.push(Action::Offer(now, total));
        if self.config.method == Method::Observe {
            if !self.registered {
                return self.count_ended(1, actions); // nobody listens
            }
            // A newer state replaces one that waits (RFC 7641, 4.5.2).
            self.drop_waiting(actions);
        }
        self.waiting.push_back(Job { since: now, total, done: Bytes::ZERO });
        self.send_waiting(now, actions);
    }

    /// Sends the messages for which there is a place.
    fn send_waiting(&mut self, now: Time, actions: &mut Vec<Action>) {
        loop {
            let places = !self.config.confirmable || self.active.len() < self.config.nstart as usize;
            let Some(job) = places.then(|| self.waiting.pop_front()).flatten() else { return };
            self.active.push(job);
            self.send_job(job, now, actions);
        }
    }

    /// Sends the request, or the notification, for the next block of a message.
    fn send_job(&mut self, job: Job, now: Time, actions: &mut Vec<Action>) {
        let notify = self.config.method == Method::Observe;
        let kind = if notify { NOTIFY } else { REQUEST };
        let from = if notify { End::Sender } else { self.config.client() };
        let message = Message { kind, size: job.done, since: job.since };
        let bytes = if notify {
            self.notified += 1;
            self.config.notification_bytes(self.notified, job.total)
        } else {
            self.config.request_bytes(job)
        };
        self.send(from, bytes, message, now, actions);
    }

    /// Sends a message, which is retransmitted if it is confirmable.
    fn send(&mut self, from: End, bytes: Bytes, message: Message, now: Time, actions: &mut Vec<Action>) {
        if self.config.confirmable || message.kind == REGISTER {
            let others = self.outstanding.iter().filter(|one| one.from == from).count() as u64;
            let timeouts = &mut self.timeouts[estimator(&self.config, from)];
            let schedule = timeouts.start(now, others, &mut self.random);
            let due = now + schedule.current;
            self.outstanding.push(Outstanding {
                from,
                bytes,
                message,
                first_sent: now,
                schedule,
                retransmissions: 0,
                due,
                acknowledged: false,
            });
        }
        actions.push(Action::Send(from, bytes, message));
    }

    /// Handles the timers of messages that wait for an answer.
    fn retransmit(&mut self, now: Time, actions: &mut Vec<Action>) {
        for at in (0..self.outstanding.len()).rev() {
            let one = &mut self.outstanding[at];
            if one.due > now {
                continue;
            }
            if one.acknowledged || one.retransmissions >= self.config.max_retransmit {
                let given_up = self.outstanding.swap_remove(at);
                self.give_up(given_up.message, now, actions);
                continue;
            }
            one.retransmissions += 1;
            self.timeouts[estimator(&self.config, one.from)].back_off(&mut one.schedule, one.retransmissions);
            one.due = now + one.schedule.current;
            actions.push(Action::Send(one.from, one.bytes, one.message));
        }
    }

    /// A message without an answer: its sender goes on with the next one, or forgets the client (RFC 7641, 4.5).
    fn give_up(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            REGISTER if self.stage == Stage::Running => self.register(now, actions),
            REGISTER | SEPARATE => {}
            kind => {
                if kind == NOTIFY {
                    self.registered = false;
                    self.drop_waiting(actions);
                }
                self.end_job(message.since, now, actions);
            }
        }
    }

    /// Removes a message of the application; a next one may be sent.
    fn end_job(&mut self, since: Time, now: Time, actions: &mut Vec<Action>) {
        self.active.retain(|job| job.since != since);
        self.send_waiting(now, actions);
        self.count_ended(1, actions);
    }

    /// Time at which the answer to the oldest message that is not confirmable cannot come any more; confirmable ones have
    /// their timers.
    fn expiry(&self) -> Time {
        let oldest = self.active.first().filter(|_| !self.config.confirmable);
        oldest.map_or(NEVER, |job| job.since + EXCHANGE_LIFETIME)
    }

    /// Removes the messages whose answer cannot come any more.
    fn expire(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.expiry() <= now {
            let before = self.active.len();
            self.active.retain(|job| job.since + EXCHANGE_LIFETIME > now);
            self.count_ended(before - self.active.len(), actions);
        }
    }

    /// Removes the messages that wait.
    fn drop_waiting(&mut self, actions: &mut Vec<Action>) {
        let number = self.waiting.len();
        self.waiting.clear();
        self.count_ended(number, actions);
    }

    /// Counts messages that are complete, given up or replaced; the last one ends the exchange.
    fn count_ended(&mut self, number: usize, actions: &mut Vec<Action>) {
        self.ended += number as u64;
        if self.config.count.is_some_and(|count| self.ended >= count) {
            actions.push(Action::Finish);
        }
    }

    /// Ends the exchange after its stop, once nothing is left to be sent or answered.
    fn finish_if_idle(&self, actions: &mut Vec<Action>) {
        let idle = self.active.is_empty() && self.waiting.is_empty() && self.outstanding.is_empty();
        if self.stage == Stage::Stopped && idle {
            actions.push(Action::Finish);
        }
    }

    /// Sends the client's registration.
    fn register(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.stale = NEVER;
        let observe = Bytes(1); // the option Observe with value 0 has no bytes of value
        let bytes = self.config.with_payload(Bytes(u64::from(self.config.options)) + observe, Bytes::ZERO);
        let message = Message { kind: REGISTER, size: Bytes::ZERO, since: now };
        self.send(End::Receiver, bytes, message, now, actions);
    }

    /// Takes the acknowledgement of a message of this kind; returns whether the message waited for it.
    fn acknowledge(&mut self, kind: u8, message: Message, now: Time) -> bool {
        let waits = |one: &Outstanding| {
            (one.message.kind, one.message.since, one.message.size) == (kind, message.since, message.size)
        };
        let Some(at) = self.outstanding.iter().position(waits) else { return false };
        let one = self.outstanding.swap_remove(at);
        if !one.acknowledged {
            let timeouts = &mut self.timeouts[estimator(&self.config, one.from)];
            timeouts.on_answer(now, one.first_sent, one.retransmissions);
        }
        true
    }

    /// Takes the empty acknowledgement of a request, whose response follows.
    fn on_empty(&mut self, message: Message, now: Time) {
        let waits = |one: &&mut Outstanding| {
            let (kind, since, size) = (one.message.kind, one.message.since, one.message.size);
            kind == REQUEST && (since, size) == (message.since, message.size) && !one.acknowledged
        };
        let Some(one) = self.outstanding.iter_mut().find(waits) else { return };
        one.acknowledged = true;
        one.due = one.first_sent + EXCHANGE_LIFETIME;
        let timeouts = &mut self.timeouts[estimator(&self.config, one.from)];
        timeouts.on_answer(now, one.first_sent, one.retransmissions);
    }

    /// The server has a request.
    fn on_request(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let server = self.config.client().other();
        let first = self.known.is_new(message, now);
        let Some(job) = self.job(message.since) else { return }; // given up by its client
        let at_offset = Job { done: message.size, ..job };
        let is_last = message.size + self.config.block(job.total, message.size) >= job.total;
        if first && self.config.method == Method::Post && is_last {
            actions.push(Action::Deliver(message.since));
        }
        let separate = self.config.processing != Distribution::Fixed(0.0);
        if self.config.confirmable {
            let (kind, bytes) = if separate {
                (EMPTY, self.config.empty_bytes())
            } else {
                (PIGGYBACKED, self.config.response_bytes(at_offset))
            };
            actions.push(Action::Send(server, bytes, Message { kind, ..message }));
        }
        if first && separate {
            let due = now + sample_pause(&self.config.processing, &mut self.times);
            self.responses.push((due, Message { kind: SEPARATE, ..message }));
        } else if first && !self.config.confirmable {
            let response = Message { kind: SEPARATE, ..message };
            self.send(server, self.config.response_bytes(at_offset), response, now, actions);
        }
    }

    /// The client has a response.
    fn on_response(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind == SEPARATE && self.config.confirmable {
            let acknowledgement = Message { kind: ACKNOWLEDGED, ..message };
            actions.push(Action::Send(self.config.client(), self.config.empty_bytes(), acknowledgement));
        }
        let waited = self.acknowledge(REQUEST, message, now);
        let Some(job) = self.job(message.since).filter(|_| waited || !self.config.confirmable) else { return };
        let job = Job { done: message.size + self.config.block(job.total, message.size), ..job };
        if job.done < job.total {
            self.send_job(job, now, actions);
            return;
        }
        if self.config.method == Method::Get {
            actions.push(Action::Deliver(job.since));
        }
        actions.push(Action::Record(job.since, job.total));
        self.end_job(job.since, now, actions);
    }

    /// The client has the state at `now`: it registers again after Max-Age, unless its application has stopped.
    fn renew(&mut self, now: Time) {
        self.stale = if self.stage == Stage::Running { now + self.config.max_age } else { NEVER };
    }

    /// The client has a notification.
    fn on_notification(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.renew(now);
        if self.known.is_new(message, now) {
            actions.push(Action::Deliver(message.since));
            if let Some(job) = self.job(message.since).filter(|_| !self.config.confirmable) {
                actions.push(Action::Record(job.since, job.total));
                self.end_job(job.since, now, actions);
            }
        }
        if self.config.confirmable {
            let acknowledgement = Message { kind: ACKNOWLEDGED, ..message };
            actions.push(Action::Send(End::Receiver, self.config.empty_bytes(), acknowledgement));
        }
    }

    /// The flow's sender has a registration: the acknowledgement carries the state; messages follow at their times.
    fn on_registration(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let begins = !std::mem::replace(&mut self.registered, true) && self.next == NEVER && self.generated == 0;
        if begins && self.stage == Stage::Running {
            self.next = now + sample_pause(&self.config.period, &mut self.times);
        }
        let state = self.draw_payload();
        let bytes = self.config.notification_bytes(self.notified, state);
        actions.push(Action::Send(End::Sender, bytes, Message { kind: PIGGYBACKED, ..message }));
    }
}

impl Coap {
    /// Starts the application, or stops it at its time.
    fn advance(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now >= self.stop {
            self.stage = Stage::Stopped;
            (self.stop, self.next, self.stale) = (NEVER, NEVER, NEVER);
        } else if self.stage == Stage::Before {
            self.stage = Stage::Running;
            match self.config.method {
                Method::Observe => self.register(now, actions),
                Method::Post | Method::Get => self.next = now,
            }
        }
    }

    /// Handles a message that has arrived.
    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            REQUEST => self.on_request(message, now, actions),
            REGISTER => self.on_registration(message, now, actions),
            NOTIFY => self.on_notification(message, now, actions),
            // A registration is acknowledged with the present state.
            PIGGYBACKED if self.acknowledge(REGISTER, message, now) => self.renew(now),
            PIGGYBACKED | SEPARATE => self.on_response(message, now, actions),
            EMPTY => self.on_empty(message, now),
            _ if self.acknowledge(SEPARATE, message, now) => {}
            _ if self.acknowledge(NOTIFY, message, now) => {
                if let Some(job) = self.job(message.since) {
                    actions.push(Action::Record(job.since, job.total));
                }
                self.end_job(message.since, now, actions);
            }
            _ => {}
        }
    }
}

impl Exchange for Coap {
    fn due(&self) -> Time {
        let outstanding = self.outstanding.iter().map(|one| one.due);
        let responses = self.responses.iter().map(|&(due, _)| due);
        let first = outstanding.chain(responses).min().unwrap_or(NEVER);
        first.min(self.next).min(self.stale).min(self.expiry()).min(self.stop)
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.advance(now, actions);
        self.retransmit(now, actions);
        self.expire(now, actions);
        while let Some(at) = self.responses.iter().position(|&(due, _)| due <= now) {
            let (_, message) = self.responses.swap_remove(at);
            if let Some(job) = self.job(message.since) {
                let bytes = self.config.response_bytes(Job { done: message.size, ..job });
                self.send(self.config.client().other(), bytes, message, now, actions);
            }
        }
        if self.stale <= now {
            self.register(now, actions);
        }
        if self.next <= now {
            self.generate(now, actions);
        }
        self.finish_if_idle(actions);
    }

    fn on_datagram(&mut self, _: End, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.on_message(message, now, actions);
        self.finish_if_idle(actions);
    }
}

#[cfg(test)]
mod tests;
