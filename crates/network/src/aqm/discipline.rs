//! The interfaces of a queue discipline: its configuration, and its event-driven algorithm.

use std::fmt;

use cwndlab_units::{Duration, Fault, Rate, Time};

use crate::dscp::Dscp;
use crate::queue::Limit;
use crate::random::Stream;

/// The parameters of a queue that depend on its link.
#[derive(Clone, Debug)]
pub struct QueueContext {
    /// Resolved capacity.
    pub limit: Limit,
    /// Rate of the line; the mean if the rate varies.
    pub rate: Rate,
    /// Random stream of the queue.
    pub stream: Stream,
}

/// Settings of a drop-tail queue whose departures the link computes on arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputedDropTail {
    /// The packet under transmission counts towards the capacity.
    pub counts_in_service: bool,
    /// An arriving ECN-capable packet is marked if with it more than this number of packets wait.
    pub mark_above: Option<u32>,
}

/// The bounds on the type of a queue's packets.
pub trait Packet: Copy + Default + fmt::Debug + Send + 'static {}
impl<P: Copy + Default + fmt::Debug + Send + 'static> Packet for P {}

/// The configuration of a discipline, which [`fields!`](cwndlab_config::fields!) declares. Either [`computed`](Self::computed) or [`build`](Self::build) returns a value.
pub trait Configuration: Sized {
    /// The settings of a queue whose departures are known on arrival; `None` for an event-driven discipline.
    fn computed(&self) -> Option<ComputedDropTail> {
        None
    }

    /// An empty queue of an event-driven discipline; `None` for a discipline whose departures are computed.
    fn build<P: Packet>(&self, _: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        None
    }

    /// Whether the discipline withholds packets from an idle line.
    fn shapes(&self) -> bool {
        false
    }

    /// What is wrong with these settings on a line of this rate, at a field: settings that the rate determines are unknown
    /// when the document is read.
    fn fault_at(&self, _: Rate) -> Option<Fault> {
        None
    }
}

/// The fault of a time between two updates that is below 1 µs: a queue makes all updates of a pause at once.
pub(super) fn too_frequent(field: &str, interval: Duration) -> Option<Fault> {
    let short = interval < Duration::from_micros(1);
    short.then(|| Fault::new(field, format!("{} ns is less than 1 us", interval.as_nanos()), "write \"1 ms\""))
}

/// The ECN capability of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// Not-ECT: the packet can be dropped but not marked.
    #[default]
    NotCapable,
    /// ECT(0): the sender responds to a mark as to a loss (RFC 3168).
    Classic,
    /// ECT(1): the sender reduces in proportion to the marks (RFC 9331).
    Scalable,
    /// CE: an earlier queue or the path marked the packet, which no longer tells what its sender set.
    Ce,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueuedPacket<P> {
    /// Time of arrival at the queue.
    pub since: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// Identifier of one direction of one connection.
    pub flow: u64,
    /// ECN capability.
    pub ecn: Codepoint,
    /// What the sender asks of queues.
    pub dscp: Dscp,
    /// The discipline set CE.
    pub marked: bool,
    /// The packet itself.
    pub packet: P,
}

impl<P> QueuedPacket<P> {
    /// Sets the mark if the packet is ECN-capable; returns whether it is.
    pub fn mark(&mut self) -> bool {
        let capable = self.ecn != Codepoint::NotCapable;
        self.marked |= capable;
        capable
    }
}

/// A queue discipline.
///
/// `now` never decreases between calls. A dropped packet, the arriving one or another, is appended to `dropped`. Every
/// packet passed to `enqueue` leaves exactly once, either by `dequeue` or in `dropped`.
pub trait Discipline<P>: fmt::Debug + Send {
    /// Enqueues or drops `one`, which arrives at `now`; `serving` is the size of the packet on the line in bytes, 0 if
    /// idle.
    fn enqueue(&mut self, now: Time, serving: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>);

    /// Removes and returns the next packet for the line at `now`; `None` if the queue is empty, or a shaper withholds it.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>>;

    /// Time at which a shaper releases the next packet, after `dequeue` returned none; `None` if the queue is empty.
    fn next_release(&self) -> Option<Time> {
        None
    }

    /// Queue length in packets and in bytes.
    fn backlog(&self) -> (u64, u64);

    /// Arrival time of the packet that has waited longest; `None` if the queue is empty.
    fn oldest(&self) -> Option<Time>;

    /// Allocated memory, bytes.
    fn memory(&self) -> usize;
}
