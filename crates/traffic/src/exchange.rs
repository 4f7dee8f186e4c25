//! Exchanges: applications whose two ends send each other datagrams, which may be lost (UDP).
//!
//! One state machine, an [`Exchange`], implements both ends, each with its own timers. [`DatagramExchange`] gives its
//! datagrams sequence numbers and holds their meaning beside the bytes, for the engines.

use std::collections::VecDeque;
use std::fmt;

pub use cwndlab_hosted::report::StackReport;
use cwndlab_units::{Bytes, Duration, Fault, Time};

use crate::datagrams::{Datagram, DatagramCounters};
use crate::dialogue::{End, Message};
use crate::message_log::{LoggedMessage, MessageLog};
use crate::NEVER;

/// The maximum lifetime of a datagram in the network: the maximum segment lifetime of RFC 9293, section 3.4.2.
const LIFETIME: Duration = Duration::from_secs(120);

/// An action of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// This end sends a datagram with this number of bytes after the headers of IP and UDP.
    Send(End, Bytes, Message),
    /// A message of the application was generated at this time, with this size; it is sent now or later.
    Offer(Time, Bytes),
    /// The message that was generated at this time has reached the application to which it is addressed.
    Deliver(Time),
    /// Record a complete transfer with this start time and size.
    Record(Time, Bytes),
    /// End the exchange.
    Finish,
}

/// An application at both ends of a flow over UDP.
pub trait Exchange: fmt::Debug + Send {
    /// Due time of the next timer of either end, after the first call at the start of the flow; [`NEVER`] while all are
    /// stopped.
    fn due(&self) -> Time;

    /// Handles the timers that are due at `now`; appends the actions.
    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>);

    /// Handles a datagram that has arrived at the end `at`, perhaps once more; appends the actions.
    fn on_datagram(&mut self, at: End, message: Message, now: Time, actions: &mut Vec<Action>);

    /// Whether queues may mark the datagrams of the flow's sender (ECN).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Handles the mark of a datagram that [`on_datagram`](Self::on_datagram) receives next.
    fn on_mark(&mut self, _message: Message) {}

    /// What the hosted stacks of sender and receiver have reported; `None` without them.
    fn stacks(&self) -> Option<[&StackReport; 2]> {
        None
    }

    /// Why the run cannot go on.
    fn failure(&self) -> Option<&Fault> {
        None
    }
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedDatagram {
    /// Time of sending.
    pub sent: Time,
    /// Sequence number.
    pub seq: u32,
    /// Payload, bytes.
    pub len: u32,
    /// A queue has marked it (CE).
    pub is_marked: bool,
}

/// A completed transfer of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Start of the exchange.
    pub start: Time,
    /// Its end.
    pub end: Time,
    /// Its size.
    pub size: Bytes,
}

/// A datagram that may still arrive.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    message: Message,
    received: bool,
}

/// The datagrams of one direction.
#[derive(Debug, Default)]
struct Direction {
    /// Sequence number of the first datagram in `sent`.
    first: u32,
    sent: VecDeque<Sent>,
    counters: DatagramCounters,
}

impl Direction {
    /// Numbers a datagram; forgets those that the network cannot hold any more.
    fn send(&mut self, now: Time, message: Message, bytes: Bytes) -> u32 {
        while self.sent.front().is_some_and(|one| now - one.at > LIFETIME) {
            self.sent.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        let seq = self.first.wrapping_add(self.sent.len() as u32);
        self.sent.push_back(Sent { at: now, message, received: false });
        self.counters.count_sent(bytes);
        seq
    }

    /// The meaning of a datagram that arrived at `now`; counts its first copy.
    fn receive(&mut self, now: Time, sent: Time, seq: u32, len: u32) -> Option<Message> {
        let one = self.sent.get_mut(seq.wrapping_sub(self.first) as usize)?;
        if !std::mem::replace(&mut one.received, true) {
            self.counters.count_received(now - sent, Bytes(u64::from(len)));
        }
        Some(one.message)
    }
}

/// A running exchange of a flow.
#[derive(Debug)]
pub struct DatagramExchange {
    application: Box<dyn Exchange>,
    header: Bytes,
    forward: Direction,
    backward: Direction,
    actions: Vec<Action>,
    started: bool,
    ended: Option<Time>,
    /// Completed transfers.
    pub transfers: Vec<Transfer>,
    /// The messages, for a flow that asks for them.
    log: Option<MessageLog>,
    /// Messages with their times of generation and sizes that were delivered and are to be sent on, for a flow that keeps
    /// its messages.
    pub delivered: Vec<(Time, Bytes)>,
}

impl DatagramExchange {
    /// The exchange of an application whose datagrams have headers of this size.
    #[must_use]
    pub fn new(application: Box<dyn Exchange>, header: Bytes) -> Self {
        Self {
            application,
            header,
            forward: Direction::default(),
            backward: Direction::default(),
            actions: Vec::new(),
            started: false,
            ended: None,
            transfers: Vec::new(),
            log: None,
            delivered: Vec::new(),
        }
    }

    /// Keeps the messages.
    pub fn keep_messages(&mut self) {
        self.log = Some(MessageLog::default());
    }

    /// Removes and returns the messages.
    pub fn take_messages(&mut self) -> Vec<LoggedMessage> {
        self.log.as_mut().map(MessageLog::take).unwrap_or_default()
    }

    /// Counters of the datagrams from the flow's sender to its receiver.
    #[must_use]
    pub fn counters(&self) -> &DatagramCounters {
        &self.forward.counters
    }

    /// What the hosted stacks of sender and receiver have reported; `None` without them.
    #[must_use]
    pub fn stacks(&self) -> Option<[&StackReport; 2]> {
        self.application.stacks()
    }

    /// Why the run cannot go on.
    #[must_use]
    pub fn failure(&self) -> Option<&Fault> {
        self.application.failure()
    }

    /// End of the exchange, if it has ended.
    #[must_use]
    pub fn ended(&self) -> Option<Time> {
        self.ended
    }

    /// Due time of the next timer: at once before the first call of [`on_timer`](Self::on_timer), [`NEVER`] without one.
    #[must_use]
    pub fn due(&self) -> Time {
        if self.ended.is_some() {
            NEVER
        } else if self.started {
            self.application.due()
        } else {
            Time::ZERO
        }
    }

    /// Handles the timers that are due at `now`; sends datagrams from the given ends by `send`.
    pub fn on_timer(&mut self, now: Time, send: impl FnMut(End, Datagram)) {
        self.started = true;
        self.application.on_timer(now, &mut self.actions);
        self.apply(now, send);
    }

    /// Handles the datagram `one`, which arrived at the end `at`.
    pub fn receive(&mut self, at: End, now: Time, one: ReceivedDatagram, send: impl FnMut(End, Datagram)) {
        let direction = if at == End::Receiver { &mut self.forward } else { &mut self.backward };
        if let Some(message) = direction.receive(now, one.sent, one.seq, one.len) {
            if one.is_marked {
                self.application.on_mark(message);
            }
            self.application.on_datagram(at, message, now, &mut self.actions);
            self.apply(now, send);
        }
    }

    fn apply(&mut self, now: Time, mut send: impl FnMut(End, Datagram)) {
        for action in self.actions.drain(..) {
            match action {
                Action::Send(from, bytes, message) => {
                    let direction = if from == End::Sender { &mut self.forward } else { &mut self.backward };
                    let seq = direction.send(now, message, bytes);
                    let size = (bytes + self.header).0 as u16;
                    let is_ecn_capable = from == End::Sender && self.application.is_ecn_capable();
                    send(from, Datagram { seq, len: bytes.0 as u32, size, is_ecn_capable });
                }
                Action::Offer(at, size) => {
                    if let Some(log) = &mut self.log {
                        log.offer(at, size);
                    }
                }
                Action::Deliver(since) => {
                    let size = self.log.as_mut().and_then(|log| log.deliver(since, now));
                    self.delivered.extend(size.map(|size| (since, size)));
                }
                Action::Record(start, size) => self.transfers.push(Transfer { start, end: now, size }),
                Action::Finish => self.ended = self.ended.or(Some(now)),
            }
        }
    }

    /// Allocated memory, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let sent = self.forward.sent.capacity() + self.backward.sent.capacity();
        let log = self.log.as_ref().map_or(0, MessageLog::memory);
        size_of::<Self>() + sent * size_of::<Sent>() + self.transfers.capacity() * size_of::<Transfer>() + log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one datagram of 10 bytes from each end at its timer, and records what arrives.
    #[derive(Debug)]
    struct Echo;

    impl Exchange for Echo {
        fn due(&self) -> Time {
            NEVER
        }

        fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
            let message = Message { kind: 0, size: Bytes(10), since: now };
            actions.push(Action::Offer(now, Bytes(10)));
            actions.extend([End::Sender, End::Receiver].map(|end| Action::Send(end, Bytes(10), message)));
        }

        fn on_datagram(&mut self, at: End, message: Message, _: Time, actions: &mut Vec<Action>) {
            if at == End::Receiver {
                actions.push(Action::Deliver(message.since));
            }
        }
    }

    /// By hand: of two datagrams the first is delayed by 5 ns and arrives twice, the second is lost.
    #[test]
    fn a_datagram_counts_once_and_a_lost_message_stays_in_the_log() {
        let mut exchange = DatagramExchange::new(Box::new(Echo), Bytes(28));
        exchange.keep_messages();
        let at = Time::from_nanos;
        let mut sent = Vec::new();
        for now in [100, 200] {
            exchange.on_timer(at(now), |end, one| sent.push((end, one)));
        }
        let sizes: Vec<_> = sent.iter().map(|(end, one)| (*end, one.seq, one.size)).collect();
        let ends = [End::Sender, End::Receiver];
        assert_eq!(sizes, [0, 1].iter().flat_map(|&seq| ends.map(|end| (end, seq, 38))).collect::<Vec<_>>());
        for now in [105, 106] {
            let one = ReceivedDatagram { sent: at(100), seq: 0, len: 10, is_marked: false };
            exchange.receive(End::Receiver, at(now), one, |_, _| {});
        }
        assert_eq!(exchange.counters().received_bytes, Bytes(10));
        assert_eq!((exchange.counters().delays.count, exchange.counters().delays.max.as_nanos()), (1, 5));
        assert_eq!(exchange.take_messages().iter().map(|one| one.delivered).collect::<Vec<_>>(), [Some(at(105)), None]);
    }
}
