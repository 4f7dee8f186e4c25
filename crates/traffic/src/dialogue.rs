//! Dialogues: applications whose two ends send each other messages over one connection at a time.
//!
//! One state machine plays both ends. Engines carry its messages, each direction in order, and tell it when a message has
//! arrived in full; what the bytes of a message stand for travels beside them in a [`MessageQueue`].

use std::collections::VecDeque;
use std::fmt;

use cwndlab_units::{Bytes, Time};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the flow's data comes from.
    Sender,
    /// Where it goes.
    Receiver,
}

/// What a message stands for; the numbers mean something to the dialogue alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which of the dialogue's messages it is.
    pub kind: u8,
    /// A size that belongs to it, such as that of the answer that it asks for.
    pub size: Bytes,
    /// When the exchange that it belongs to began.
    pub since: Time,
}

/// What an end does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens the connection, the first one or another one in its place; the opener alone does.
    Connect,
    /// Sends a message of so many bytes.
    Send(Bytes, Message),
    /// Records a transfer of this size that began then and is complete.
    Record(Time, Bytes),
    /// Ends the dialogue.
    Finish,
}

/// An application at both ends of a connection.
///
/// The end that opens the connection has the timer. Whatever a call answers is done by the end that it was made for: the
/// opener at [`on_timer`](Self::on_timer), the end that a message reached at [`on_message`](Self::on_message).
pub trait Dialogue: fmt::Debug + Send {
    /// The end that opens the connection.
    fn opener(&self) -> End;

    /// Whether Nagle's algorithm holds back small segments (RFC 9293, 3.7.4).
    fn nagle(&self) -> bool {
        false
    }

    /// When the timer is due, after the first call at the start of the flow; [`NEVER`](crate::NEVER) while it is stopped.
    fn due(&self) -> Time;

    /// The timer is due at `now`.
    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>);

    /// A message has arrived in full.
    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>);
}

/// The messages of one direction of a connection.
#[derive(Debug, Default)]
pub struct MessageQueue {
    written: Bytes,
    /// Each with the bytes of this direction up to its end.
    under_way: VecDeque<(Bytes, Message)>,
    /// Complete at the receiver, not yet read.
    received: VecDeque<Message>,
}

impl MessageQueue {
    /// Adds a message behind all others, before its first byte is sent.
    pub fn write(&mut self, bytes: Bytes, message: Message) {
        self.written += bytes;
        self.under_way.push_back((self.written, message));
    }

    /// The receiver has so much of this direction in order; returns whether it has a message to read.
    pub fn on_delivered(&mut self, delivered: Bytes) -> bool {
        while self.under_way.front().is_some_and(|(end, _)| *end <= delivered) {
            self.received.extend(self.under_way.pop_front().map(|(_, message)| message));
        }
        !self.received.is_empty()
    }

    /// Takes the oldest message that is complete at the receiver.
    pub fn read(&mut self) -> Option<Message> {
        self.received.pop_front()
    }

    /// Whether the receiver has a message to read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        !self.received.is_empty()
    }

    /// Begins anew for another connection.
    pub fn clear(&mut self) {
        self.written = Bytes::ZERO;
        self.under_way.clear();
        self.received.clear();
    }

    /// Memory held, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.under_way.capacity() * size_of::<(Bytes, Message)>() + self.received.capacity() * size_of::<Message>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: messages of 100 and 50 bytes end at bytes 100 and 150 of the stream.
    #[test]
    fn a_message_is_readable_when_its_last_byte_is_delivered() {
        let mut queue = MessageQueue::default();
        let message = |kind| Message { kind, size: Bytes(7), since: Time(u64::from(kind)) };
        queue.write(Bytes(100), message(1));
        queue.write(Bytes(50), message(2));
        assert!(!queue.on_delivered(Bytes(99)));
        assert!(queue.on_delivered(Bytes(149)));
        assert_eq!(queue.read(), Some(message(1)));
        assert!(queue.read().is_none() && !queue.is_readable());
        assert!(queue.on_delivered(Bytes(150)));
        assert_eq!(queue.read(), Some(message(2)));
    }
}
