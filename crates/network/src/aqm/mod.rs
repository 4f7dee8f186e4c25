//! Queue disciplines: who may wait, who goes next, which packets are dropped or marked.
//!
//! Drop-tail's departures are known on arrival, so that its link computes them ([`crate::queue`]). A discipline whose
//! decisions depend on the moment of departure runs by event: [`crate::served::Served`] calls it when a packet arrives
//! and when the line is ready for one. Periodic work (PIE's and adaptive RED's updates) is caught up on at the next call,
//! since nothing changes in between; so a discipline needs no timer.
//!
//! A discipline is one file with its `SPEC` (fields, units, defaults, ranges, source), its configuration and its law, and
//! one line in the list below. Scenario files, JSON Schema, the Python class and the documentation derive from `SPEC`
//! (`docs/add-a-queue.md`).

mod fair;
pub mod fifo;
pub mod size;

use std::fmt;

use cwndlab_config::{Choice, Faults, Reader, Table};
use cwndlab_units::Rate;

use crate::queue::Limit;
use crate::random::Stream;

pub use codel::Codel;
pub use fair::Fair;
pub use fifo::Fifo;
pub use size::Size;

/// A discipline's entry: everything that other places know of it.
#[derive(Debug)]
pub struct Spec {
    /// Its fields; the table's name is the word of `kind`.
    pub table: Table,
    /// The name of its class in Python.
    pub python: &'static str,
}

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

/// A queue that runs by event.
pub type Served<P> = Box<dyn Discipline<P>>;

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
    fn build<P: Packet>(&self, _: Place) -> Option<Served<P>> {
        None
    }
}

macro_rules! disciplines {
    ($($name:ident => $module:ident,)*) => {
        $(pub mod $module;)*

        /// Every discipline's entry, in the order of documentation.
        pub static SPECS: &[&Spec] = &[$(&$module::SPEC),*];

        /// The configuration of any discipline.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Config {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($module::Config),)*
        }

        impl Configuration for Config {
            fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
                $(if table.declared().name == $module::SPEC.table.name {
                    return $module::Config::read(table, faults).map(Self::$name);
                })*
                None
            }

            fn computed(&self) -> Option<Computed> {
                match self {
                    $(Self::$name(config) => config.computed(),)*
                }
            }

            fn build<P: Packet>(&self, place: Place) -> Option<Served<P>> {
                match self {
                    $(Self::$name(config) => config.build(place),)*
                }
            }
        }
    };
}

disciplines! {
    DropTail => drop_tail,
    StepEcn => step_ecn,
    Red => red,
    Ared => ared,
    Codel => codel,
    Pie => pie,
    DualPi2 => dual_pi2,
    Fq => fq,
    FqCodel => fq_codel,
    FqPie => fq_pie,
    Blue => blue,
}

/// The choice of a queue's discipline by `kind`.
pub static CHOICE: Choice = Choice {
    name: "queue",
    tag: "kind",
    default: Some("droptail"),
    example: "'kind = \"codel\"'",
    shorthand: false,
    tables: || SPECS.iter().map(|one| &one.table).collect(),
};

impl Config {
    /// Drop-tail.
    pub const DROP_TAIL: Self = Self::DropTail(drop_tail::Config { counts_in_service: false });
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
