//! What a queue discipline is: its entry, its configuration, and the law that runs by event.

use std::fmt;

use cwndlab_config::{Faults, Reader};
use cwndlab_units::{Rate, Time};

use crate::queue::Limit;
use crate::random::Stream;

/// Where a queue stands.
#[derive(Clone, Debug)]
pub struct Place {
    /// What its capacity comes to.
    pub limit: Limit,
    /// The line's rate, its mean where that changes.
    pub rate: Rate,
    /// Its random stream.
    pub stream: Stream,
}

/// Drop-tail whose departures the link computes on arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Computed {
    /// The packet under transmission counts towards the capacity.
    pub counts_in_service: bool,
    /// Mark ECN-capable packets that find more than this many packets waiting.
    pub mark_above: Option<u32>,
}

/// What packets must be for a queue.
pub trait Packet: Copy + Default + fmt::Debug + Send + 'static {}
impl<P: Copy + Default + fmt::Debug + Send + 'static> Packet for P {}

/// The configuration of a discipline: one of [`computed`](Self::computed) and [`build`](Self::build) answers.
pub trait Configuration: Sized {
    /// Reads the fields of its `SPEC`.
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self>;

    /// Where departures are known on arrival: how the link computes them.
    fn computed(&self) -> Option<Computed> {
        None
    }

    /// Where they are not: the queue at work.
    fn build<P: Packet>(&self, _: Place) -> Option<Box<dyn Discipline<P>>> {
        None
    }
}

/// What the ECN field of a packet says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// Not-ECT: it can only be dropped.
    #[default]
    NotCapable,
    /// ECT(0): a mark means what a drop means (RFC 3168).
    Classic,
    /// ECT(1): the sender reduces in proportion to the marks (RFC 9331).
    Scalable,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting<P> {
    /// When it arrived.
    pub since: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// Packets of one direction of one connection have the same number.
    pub flow: u64,
    /// Its ECN field.
    pub ecn: Codepoint,
    /// The discipline marked it (CE).
    pub marked: bool,
    /// The packet itself.
    pub packet: P,
}

impl<P> Waiting<P> {
    /// Marks it if it can be marked; answers whether it could.
    pub fn mark(&mut self) -> bool {
        let capable = self.ecn != Codepoint::NotCapable;
        self.marked |= capable;
        capable
    }
}

/// A queue discipline.
///
/// Time never goes back from call to call. What is dropped, be it the packet that arrives or another, is moved to
/// `dropped`; every packet that was given to `enqueue` comes out exactly once, by `dequeue` or in `dropped`.
pub trait Discipline<P>: fmt::Debug + Send {
    /// `one` arrives at `now`; the packet on the line has `serving` bytes, 0 if the line is idle.
    fn enqueue(&mut self, now: Time, serving: u32, one: Waiting<P>, dropped: &mut Vec<Waiting<P>>);

    /// The line takes the next packet at `now`; nothing if none is left.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Waiting<P>>) -> Option<Waiting<P>>;

    /// Packets and bytes that wait.
    fn backlog(&self) -> (u64, u64);

    /// Memory held, bytes.
    fn memory(&self) -> usize;
}
