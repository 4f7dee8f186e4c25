//! Queue disciplines: admission, order of service, drops and marks.
//!
//! The departures of drop-tail are known on arrival, so that its link computes them ([`crate::queue`]). A discipline
//! whose decisions depend on the time of departure is event-driven: [`crate::aqm_link::AqmLink`] calls it when a packet
//! arrives and when the line is ready for the next packet. Periodic updates (PIE, adaptive RED) are executed at the
//! next call, since nothing changes in between. A discipline therefore needs no timer; a shaper states when it releases the
//! next packet.
//!
//! A discipline is one file with its `SPEC` (name, source), its configuration (fields, units, defaults, ranges) and its
//! algorithm, and one line in the list below. Scenario files, JSON Schema, the Python class and the documentation
//! derive from `SPEC` (`docs/add-a-queue.md`).

pub mod capacity;
mod classes;
mod cobalt;
pub mod discipline;
mod fair;
pub mod fifo;
mod longest;
pub mod police;
mod tins;

use cwndlab_config::{registry, Choice};
use cwndlab_units::{Fault, Rate};

pub use capacity::CapacitySpec;
pub use codel::Codel;
pub use discipline::{Codepoint, ComputedDropTail, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
pub use fair::FairQueue;
pub use fifo::Fifo;

macro_rules! disciplines {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of any discipline.
            #[derive(Clone, Copy, Debug, PartialEq)] Config
            $($name => $module,)*
        }

        impl Config {
            /// The settings of a queue whose departures are known on arrival; `None` for an event-driven discipline.
            #[must_use]
            pub fn computed(&self) -> Option<ComputedDropTail> {
                match self {
                    $(Self::$name(config) => config.computed(),)*
                }
            }

            /// An empty queue of an event-driven discipline; `None` for a discipline whose departures are computed.
            #[must_use]
            pub fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
                match self {
                    $(Self::$name(config) => config.build(context),)*
                }
            }

            /// Whether the discipline withholds packets from an idle line.
            #[must_use]
            pub fn shapes(&self) -> bool {
                match self {
                    $(Self::$name(config) => config.shapes(),)*
                }
            }

            /// What is wrong with the settings on a line of this rate, at a field of the queue.
            #[must_use]
            pub fn fault_at(&self, rate: Rate) -> Option<Fault> {
                match self {
                    $(Self::$name(config) => config.fault_at(rate),)*
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
    Priority => priority,
    Drr => drr,
    Cake => cake,
}

/// The selection of a queue discipline by `kind`.
pub static CHOICE: Choice = Choice {
    name: "queue",
    tag: "kind",
    default: Some("droptail"),
    example: "'kind = \"codel\"'",
    shorthand: false,
    tables: || SPECS.to_vec(),
};

impl Config {
    /// Drop-tail.
    pub const DROP_TAIL: Self = Self::DropTail(drop_tail::Config { counts_in_service: false });
}
