//! Queue disciplines that decide by event: who may wait, who goes next, who is dropped or marked.
//!
//! Plain drop-tail needs none of this, since its departures are computed on arrival ([`crate::queue`]). A discipline
//! whose decisions depend on the moment of departure is asked by [`crate::served::Served`] when a packet arrives and
//! when the line is ready for one. Periodic work (PIE's and adaptive RED's updates) is caught up on at the next call,
//! since nothing changes in between; so a discipline needs no timer.

mod codel;
mod drop_tail;
mod dual_pi2;
mod fair;
mod pie;
mod red;

use std::fmt;

pub use codel::{Codel, CodelConfig, Law};
pub use drop_tail::DropTail;
pub use dual_pi2::{DualPi2, DualPi2Config};
pub use fair::{Fair, FairConfig, Manager};
pub use pie::{Pie, PieConfig};
pub use red::{Adapt, Red, RedConfig};

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
    /// When it arrived, ns.
    pub since: u64,
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
/// `gone`; every packet that was given to `enqueue` comes out exactly once, by `dequeue` or in `gone`.
pub trait Discipline<P>: fmt::Debug + Send {
    /// `one` arrives at `now`; the packet on the line has `serving` bytes, 0 if the line is idle.
    fn enqueue(&mut self, now: u64, serving: u32, one: Waiting<P>, gone: &mut Vec<Waiting<P>>);

    /// The line takes the next packet at `now`; nothing if none is left.
    fn dequeue(&mut self, now: u64, gone: &mut Vec<Waiting<P>>) -> Option<Waiting<P>>;

    /// Packets and bytes that wait.
    fn backlog(&self) -> (u64, u64);

    /// Memory held, bytes.
    fn memory(&self) -> usize;
}
