//! Messages in the byte stream of one direction of a connection.

use std::collections::VecDeque;

use cwndlab_units::{Bytes, Time};

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A request, and the size of the response to it.
    Request(Bytes),
    /// A response of this size.
    Response(Bytes),
    /// MQTT CONNECT.
    Connect,
    /// MQTT CONNACK.
    ConnAck,
    /// MQTT PUBLISH with this payload.
    Publish(Bytes),
    /// MQTT PUBACK of a message with this payload.
    PubAck(Bytes),
    /// MQTT PINGREQ.
    PingReq,
    /// MQTT PINGRESP.
    PingResp,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Bytes of this direction up to the end of the message.
    end: Bytes,
    /// When the exchange that it belongs to began.
    pub since: Time,
    /// What it is.
    pub kind: MessageKind,
}

/// The messages of one direction.
#[derive(Debug, Default)]
pub struct MessageQueue {
    written: Bytes,
    under_way: VecDeque<Message>,
    /// Complete at the receiver, not yet read.
    received: VecDeque<Message>,
}

impl MessageQueue {
    /// Adds a message behind all others.
    pub fn write(&mut self, bytes: Bytes, kind: MessageKind, since: Time) {
        self.written += bytes;
        self.under_way.push_back(Message { end: self.written, since, kind });
    }

    /// The receiver has so much of this direction in order; returns whether it has a message to read.
    pub fn on_delivered(&mut self, delivered: Bytes) -> bool {
        while self.under_way.front().is_some_and(|message| message.end <= delivered) {
            self.received.extend(self.under_way.pop_front());
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
        (self.under_way.capacity() + self.received.capacity()) * size_of::<Message>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: messages of 100 and 50 bytes end at bytes 100 and 150 of the stream.
    #[test]
    fn a_message_is_readable_when_its_last_byte_is_delivered() {
        let mut queue = MessageQueue::default();
        queue.write(Bytes(100), MessageKind::Request(Bytes(7)), Time(1));
        queue.write(Bytes(50), MessageKind::PingReq, Time(2));
        assert!(!queue.on_delivered(Bytes(99)));
        assert!(queue.on_delivered(Bytes(149)));
        let request = (MessageKind::Request(Bytes(7)), Time(1));
        assert_eq!(queue.read().map(|message| (message.kind, message.since)), Some(request));
        assert!(queue.read().is_none() && !queue.is_readable());
        assert!(queue.on_delivered(Bytes(150)));
        assert_eq!(queue.read().map(|message| message.kind), Some(MessageKind::PingReq));
    }
}
