//! Dialogues: applications whose two ends exchange messages over one connection at a time.
//!
//! One state machine implements both ends. Engines transport its messages in order in each direction and notify it when
//! a message has arrived in full. A [`MessageQueue`] holds the meaning of a message beside its bytes.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use cwndlab_units::{Bytes, Time};

use crate::NEVER;

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sending end of the flow.
    Sender,
    /// The receiving end of the flow.
    Receiver,
}

impl End {
    /// The opposite end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// The meaning of a message, whose values only the dialogue interprets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Kind of the message.
    pub kind: u8,
    /// A size that belongs to the message, such as the size of the requested response.
    pub size: Bytes,
    /// Start time of the message's exchange.
    pub since: Time,
}

/// An action of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open the connection or replace it by a new one; only for the opener.
    Connect,
    /// Send a message with this number of bytes.
    Send(Bytes, Message),
    /// Send a message with this number of bytes when no message of a lower priority waits: priorities decide when data is
    /// sent, not when it is written. An end that sends such messages sends no others.
    Queue(Bytes, Message, u32),
    /// Do not send what is left of the queued messages of the same kind and size.
    Withdraw(Message),
    /// A message of the application was generated at this time, with this size; it is sent now or later.
    Offer(Time, Bytes),
    /// The message that was generated at this time has reached the application to which it is addressed.
    Deliver(Time),
    /// Record a complete transfer with this start time and size.
    Record(Time, Bytes),
    /// End the dialogue.
    Finish,
}

/// An application at both ends of a connection.
///
/// The actions of [`on_timer`](Self::on_timer) are those of the end that opens the connection, the actions of
/// [`on_responder_timer`](Self::on_responder_timer) those of the other end, and the actions of
/// [`on_message`](Self::on_message) those of the end that received the message.
pub trait Dialogue: fmt::Debug + Send {
    /// The end that opens the connection.
    fn opener(&self) -> End;

    /// Whether Nagle's algorithm holds back small segments of an end (RFC 9293, 3.7.4).
    fn nagle(&self, _end: End) -> bool {
        false
    }

    /// Due time of the opener's timer, after the first call at the start of the flow; [`NEVER`] while it is stopped.
    fn due(&self) -> Time;

    /// Handles the opener's timer, which is due at `now`; appends the actions.
    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>);

    /// Handles the end of a connection's handshake at the opener (`handshake`); appends the actions.
    fn on_connected(&mut self, _now: Time, _actions: &mut Vec<Action>) {}

    /// Due time of the other end's timer, which a message to that end sets; [`NEVER`] while it is stopped.
    fn responder_due(&self) -> Time {
        NEVER
    }

    /// Handles the other end's timer, which is due at `now`; appends the actions.
    fn on_responder_timer(&mut self, _now: Time, _actions: &mut Vec<Action>) {}

    /// Handles a message that has arrived in full at `now`; appends the actions.
    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>);

    /// Handles a message, generated at `since`, that one of the sources (`Configuration::sources`) delivered to the node of
    /// the end that does not open the connection; appends the actions of that end.
    fn on_forwarded(&mut self, _since: Time, _size: Bytes, _now: Time, _actions: &mut Vec<Action>) {}
}

/// Kind of the messages of a handshake. No message that is written after one of them is read before it: what a connection
/// protects can be read only with the keys of the handshake.
pub(crate) const FLIGHT: u8 = u8::MAX;

/// Kind of the parts of a message before the last one. They have no meaning without it, and no application reads them.
pub(crate) const PART: u8 = u8::MAX - 1;

/// Sends a message in parts, each written on its own: without Nagle's algorithm the last segment of each is short.
pub(crate) fn send_in_parts(parts: &[Bytes], message: Message, actions: &mut Vec<Action>) {
    let Some((&last, before)) = parts.split_last() else { return };
    actions.extend(before.iter().map(|&bytes| Action::Send(bytes, Message { kind: PART, ..message })));
    actions.push(Action::Send(last, message));
}

/// The messages of one direction of a connection.
#[derive(Debug, Default)]
pub struct MessageQueue {
    written: Bytes,
    /// Messages in transmission, each with its end as a byte offset of this direction.
    in_transit: VecDeque<(Bytes, Message)>,
    /// Messages that are complete at the receiver and not yet read.
    received: VecDeque<Message>,
    /// Messages on streams of their own (RFC 9000, 2.2); `None` in a connection that delivers in order.
    streams: Option<Box<Streams>>,
    /// Queued messages that are not sent in full, by priority, each with the bytes that are left.
    queued: BTreeMap<u32, VecDeque<(Bytes, Message)>>,
    /// Bytes of queued messages without those that were withdrawn.
    supplied: Bytes,
}

/// Data above those in order, and the messages that were complete before earlier ones.
#[derive(Debug, Default)]
struct Streams {
    /// Byte ranges that the receiver has above those in order, ascending and disjoint.
    ranges: Vec<(u64, u64)>,
    /// Ends of the messages in transmission that have been read, ascending.
    read: VecDeque<Bytes>,
}

impl Streams {
    /// Adds a byte range.
    fn add(&mut self, from: u64, to: u64) {
        let first = self.ranges.partition_point(|&(_, end)| end < from);
        let last = self.ranges.partition_point(|&(start, _)| start <= to);
        let merged = self.ranges[first..last].iter().fold((from, to), |one, &(a, b)| (one.0.min(a), one.1.max(b)));
        self.ranges.splice(first..last, [merged]);
    }

    /// Whether the receiver has the whole range.
    fn contains(&self, from: u64, to: u64) -> bool {
        self.ranges.iter().any(|&(start, end)| start <= from && to <= end)
    }
}

impl MessageQueue {
    /// Appends a message, before its first byte is sent.
    pub fn write(&mut self, bytes: Bytes, message: Message) {
        self.written += bytes;
        self.in_transit.push_back((self.written, message));
    }

    /// Puts each message on a stream of its own: one that is complete is read although earlier ones are not.
    pub fn use_streams(&mut self) {
        self.streams = Some(Box::default());
    }

    /// Whether each message has a stream of its own.
    #[must_use]
    pub fn has_streams(&self) -> bool {
        self.streams.is_some()
    }

    /// Appends a message that waits for its turn ([`Action::Queue`]), after [`on_sent`](Self::on_sent).
    pub fn enqueue(&mut self, bytes: Bytes, message: Message, priority: u32) {
        self.supplied += bytes;
        self.queued.entry(priority).or_default().push_back((bytes, message));
    }

    /// Takes the queued messages with the kind and the size of `message` back, after [`on_sent`](Self::on_sent); returns the
    /// bytes of them that are not sent.
    pub fn withdraw(&mut self, message: Message) -> Bytes {
        let mut left = Bytes::ZERO;
        for messages in self.queued.values_mut() {
            messages.retain(|&(bytes, one)| {
                let is_kept = (one.kind, one.size) != (message.kind, message.size);
                left += if is_kept { Bytes::ZERO } else { bytes };
                is_kept
            });
        }
        self.queued.retain(|_, messages| !messages.is_empty());
        self.supplied = self.supplied.saturating_sub(left);
        left
    }

    /// Notes that all queued data but `unsent` bytes were sent: of the lowest priorities, in order. It precedes each change
    /// of the queue, which decides what is sent next.
    pub fn on_sent(&mut self, unsent: Bytes) {
        let mut new = self.supplied.saturating_sub(unsent).saturating_sub(self.written);
        while let Some(mut first) = self.queued.first_entry().filter(|_| new > Bytes::ZERO) {
            let messages = first.get_mut();
            let Some((left, message)) = messages.front_mut() else {
                first.remove();
                continue;
            };
            let part = (*left).min(new);
            (*left, new) = (left.saturating_sub(part), new.saturating_sub(part));
            self.written += part;
            if *left == Bytes::ZERO {
                self.in_transit.push_back((self.written, *message));
                messages.pop_front();
            }
        }
    }

    /// Sets the number of bytes that the receiver has in order; returns whether a message is readable.
    pub fn on_delivered(&mut self, delivered: Bytes) -> bool {
        while let Some(&(end, message)) = self.in_transit.front().filter(|(end, _)| *end <= delivered) {
            self.in_transit.pop_front();
            let read = self.streams.as_mut().map(|streams| &mut streams.read);
            match read.filter(|read| read.front() == Some(&end)) {
                Some(read) => drop(read.pop_front()),
                None if message.kind == PART => {}
                None => self.received.push_back(message),
            }
        }
        if let Some(streams) = &mut self.streams {
            streams.ranges.retain(|&(_, end)| end > delivered.0);
        }
        self.receive_streams();
        !self.received.is_empty()
    }

    /// Handles the arrival of the bytes from `from` to `to` while earlier ones are missing; returns whether a message is
    /// readable. Without streams none is that was not.
    pub fn on_arrived(&mut self, from: Bytes, to: Bytes) -> bool {
        let Some(streams) = &mut self.streams else { return !self.received.is_empty() };
        streams.add(from.0, to.0);
        self.receive_streams();
        !self.received.is_empty()
    }

    /// Receives the messages that are complete although earlier ones are not.
    fn receive_streams(&mut self) {
        let Some(streams) = self.streams.as_mut().filter(|streams| !streams.ranges.is_empty()) else { return };
        let mut start = 0; // the first message lacks the byte that is next in order, wherever it begins
        for &(end, message) in &self.in_transit {
            if let Err(at) = streams.read.binary_search(&end) {
                if streams.contains(start, end.0) {
                    streams.read.insert(at, end);
                    if message.kind != PART {
                        self.received.push_back(message);
                    }
                } else if message.kind == FLIGHT {
                    break;
                }
            }
            start = end.0;
        }
    }

    /// Removes and returns the oldest message that is complete at the receiver.
    pub fn read(&mut self) -> Option<Message> {
        self.received.pop_front()
    }

    /// Whether the receiver has a message to read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        !self.received.is_empty()
    }

    /// Resets the queue for a new connection.
    pub fn clear(&mut self) {
        self.written = Bytes::ZERO;
        self.in_transit.clear();
        self.received.clear();
        if let Some(streams) = &mut self.streams {
            **streams = Streams::default();
        }
        self.queued.clear();
        self.supplied = Bytes::ZERO;
    }

    /// Allocated memory, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let streams = self.streams.as_ref().map_or(0, |one| {
            size_of::<Streams>()
                + one.ranges.capacity() * size_of::<(u64, u64)>()
                + one.read.capacity() * size_of::<Bytes>()
        });
        self.in_transit.capacity() * size_of::<(Bytes, Message)>()
            + self.received.capacity() * size_of::<Message>()
            + streams
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: messages of 100 and 50 bytes end at bytes 100 and 150 of the stream.
    #[test]
    fn a_message_is_readable_when_its_last_byte_is_delivered() {
        let mut queue = MessageQueue::default();
        let message = |kind| Message { kind, size: Bytes(7), since: Time::from_nanos(u64::from(kind)) };
        queue.write(Bytes(100), message(1));
        queue.write(Bytes(50), message(2));
        assert!(!queue.on_delivered(Bytes(99)));
        assert!(queue.on_delivered(Bytes(149)));
        assert_eq!(queue.read(), Some(message(1)));
        assert!(queue.read().is_none() && !queue.is_readable());
        assert!(queue.on_delivered(Bytes(150)));
        assert_eq!(queue.read(), Some(message(2)));
    }

    /// By hand: of a message of 12 and 88 bytes nothing is read before its last byte, and then once.
    #[test]
    fn parts_of_a_message_are_not_read() {
        let message = Message { kind: 1, size: Bytes(7), since: Time::ZERO };
        let mut actions = Vec::new();
        send_in_parts(&[Bytes(12), Bytes(88)], message, &mut actions);
        for streams in [false, true] {
            let mut queue = MessageQueue::default();
            if streams {
                queue.use_streams();
            }
            for action in &actions {
                let Action::Send(bytes, message) = *action else { panic!("{action:?}") };
                queue.write(bytes, message);
            }
            assert!(!queue.on_arrived(Bytes::ZERO, Bytes(12)) && !queue.on_delivered(Bytes(99)));
            assert!(queue.on_delivered(Bytes(100)));
            assert_eq!([queue.read(), queue.read()], [Some(message), None]);
        }
    }

    /// RFC 9000, section 2.2: a stream is delivered in order, whatever is missing of others. By hand: messages of 100 bytes;
    /// the first 50 bytes arrive late. In order, all three wait for them.
    #[test]
    fn a_message_on_a_stream_of_its_own_does_not_wait_for_others() {
        let message = |kind| Message { kind, size: Bytes(7), since: Time::ZERO };
        let filled = || {
            let mut queue = MessageQueue::default();
            (1..=3).for_each(|kind| queue.write(Bytes(100), message(kind)));
            queue
        };
        let mut queue = filled();
        queue.use_streams();
        assert!(!queue.on_arrived(Bytes(50), Bytes(150)), "half of the second");
        assert!(!queue.on_arrived(Bytes(250), Bytes(300)));
        assert!(queue.on_arrived(Bytes(150), Bytes(250)));
        assert_eq!([queue.read(), queue.read(), queue.read()], [Some(message(2)), Some(message(3)), None]);
        assert!(!queue.on_arrived(Bytes(150), Bytes(250)), "a duplicate");
        assert!(queue.on_delivered(Bytes(300)));
        assert_eq!([queue.read(), queue.read()], [Some(message(1)), None]);
        let mut ordered = filled();
        assert!(!ordered.on_arrived(Bytes(50), Bytes(300)) && ordered.on_delivered(Bytes(300)));
    }

    /// RFC 9001, section 5.7: what arrives before the flight of the handshake that its keys depend on waits for it.
    #[test]
    fn no_message_overtakes_a_flight_of_the_handshake() {
        let message = |kind| Message { kind, size: Bytes(7), since: Time::ZERO };
        let mut queue = MessageQueue::default();
        queue.use_streams();
        for kind in [1, FLIGHT, 3] {
            queue.write(Bytes(100), message(kind));
        }
        assert!(!queue.on_arrived(Bytes(200), Bytes(300)), "the third has arrived, the flight has not");
        assert!(queue.on_arrived(Bytes(100), Bytes(200)));
        assert_eq!([queue.read(), queue.read(), queue.read()], [Some(message(FLIGHT)), Some(message(3)), None]);
        assert!(queue.on_delivered(Bytes(300)));
        assert_eq!(queue.read(), Some(message(1)));
    }

    /// By hand: 100 bytes of priority 4, of which 40 are sent before 20 bytes of priority 2 arrive. These go next, at bytes 40
    /// to 60, then the other 60, at bytes 60 to 120.
    #[test]
    fn what_is_sent_next_has_the_lowest_priority() {
        let mut queue = MessageQueue::default();
        let message = |kind| Message { kind, size: Bytes(7), since: Time::ZERO };
        queue.enqueue(Bytes(100), message(1), 4);
        queue.on_sent(Bytes(60));
        queue.enqueue(Bytes(20), message(2), 2);
        queue.on_sent(Bytes::ZERO);
        assert!(!queue.on_delivered(Bytes(59)));
        assert!(queue.on_delivered(Bytes(60)));
        assert_eq!(queue.read(), Some(message(2)));
        assert!(!queue.on_delivered(Bytes(119)) && queue.on_delivered(Bytes(120)));
        assert_eq!(queue.read(), Some(message(1)));
    }

    /// By hand: of 100 bytes 30 are sent, and 70 are withdrawn; the message is never delivered, the next one ends at 50.
    #[test]
    fn what_is_withdrawn_is_not_sent() {
        let mut queue = MessageQueue::default();
        let message = |kind| Message { kind, size: Bytes(7), since: Time::ZERO };
        queue.enqueue(Bytes(100), message(1), 4);
        queue.on_sent(Bytes(70));
        assert_eq!(queue.withdraw(message(1)), Bytes(70));
        assert_eq!(queue.withdraw(message(1)), Bytes::ZERO);
        queue.enqueue(Bytes(20), message(2), 4);
        queue.on_sent(Bytes::ZERO);
        assert!(!queue.on_delivered(Bytes(49)) && queue.on_delivered(Bytes(50)));
        assert_eq!((queue.read(), queue.read()), (Some(message(2)), None));
    }
}
