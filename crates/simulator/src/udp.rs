//! Applications over UDP: a source of datagrams with its sink, or a direction of an exchange.

use cwndlab_path::packet::Packet;
use cwndlab_traffic::datagrams::{DatagramCounters, Datagrams};
use cwndlab_traffic::exchange::{DatagramExchange, ReceivedDatagram, StackReport};
use cwndlab_traffic::message_log::LoggedMessage;
use cwndlab_units::{ConnectionId, Time};

/// The application of a connection over UDP.
#[derive(Debug)]
pub(crate) enum Udp {
    /// A source and its sink.
    Datagrams(Box<Datagrams>),
    /// One direction of an exchange.
    Exchange(Box<ExchangeDirection>),
}

/// One direction of an exchange, whose datagrams arrive at one of its endpoints.
#[derive(Debug)]
pub(crate) struct ExchangeDirection {
    /// The connection of the other direction.
    pub(crate) peer: ConnectionId,
    /// Datagrams that have arrived and are not handled.
    pub(crate) arrived: Vec<ReceivedDatagram>,
    /// The exchange, in the direction of the plan's flow only.
    pub(crate) exchange: Option<Box<DatagramExchange>>,
}

impl Udp {
    /// The source of datagrams.
    pub(crate) fn datagrams(&mut self) -> Option<&mut Datagrams> {
        match self {
            Self::Datagrams(datagrams) => Some(datagrams),
            Self::Exchange(_) => None,
        }
    }

    /// Takes a datagram that arrived; returns whether the application is to run at once.
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet) -> bool {
        let (sent, seq, payload) = (packet.timestamp, packet.seq, packet.payload());
        match self {
            Self::Datagrams(datagrams) => {
                datagrams.receive(now, sent, seq, payload);
                false
            }
            Self::Exchange(direction) => {
                direction.arrived.push(ReceivedDatagram { sent, seq, len: payload, is_marked: packet.is_marked() });
                true
            }
        }
    }

    /// The exchange, in the direction of the plan's flow.
    pub(crate) fn exchange(&mut self) -> Option<&mut DatagramExchange> {
        match self {
            Self::Datagrams(_) => None,
            Self::Exchange(direction) => direction.exchange.as_deref_mut(),
        }
    }

    /// What the hosted stacks of sender and receiver have reported; `None` without them.
    pub(crate) fn stacks(&self) -> Option<[&StackReport; 2]> {
        match self {
            Self::Datagrams(_) => None,
            Self::Exchange(direction) => direction.exchange.as_ref().and_then(|exchange| exchange.stacks()),
        }
    }

    /// The counters of datagrams from the flow's sender to its receiver.
    pub(crate) fn counters(&self) -> Option<&DatagramCounters> {
        match self {
            Self::Datagrams(datagrams) => Some(&datagrams.counters),
            Self::Exchange(direction) => direction.exchange.as_ref().map(|exchange| exchange.counters()),
        }
    }

    /// Removes and returns the messages.
    pub(crate) fn take_messages(&mut self) -> Vec<LoggedMessage> {
        match self {
            Self::Datagrams(datagrams) => datagrams.take_messages(),
            Self::Exchange(direction) => {
                direction.exchange.as_mut().map(|exchange| exchange.take_messages()).unwrap_or_default()
            }
        }
    }

    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Datagrams(datagrams) => size_of_val(&**datagrams),
            Self::Exchange(one) => size_of_val(&**one) + one.exchange.as_ref().map_or(0, |exchange| exchange.memory()),
        }
    }
}
