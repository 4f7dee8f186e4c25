//! Queue disciplines: who may wait, who goes next, which packets are dropped or marked.
//!
//! Drop-tail's departures are known on arrival, so that its link computes them ([`crate::queue`]). A discipline whose
//! decisions depend on the moment of departure runs by event: [`crate::aqm_link::AqmLink`] calls it when a packet arrives
//! and when the line is ready for one. Periodic work (PIE's and adaptive RED's updates) is caught up on at the next call,
//! since nothing changes in between; so a discipline needs no timer.
//!
//! A discipline is one file with its `SPEC` (fields, units, defaults, ranges, source), its configuration and its law, and
//! one line in the list below. Scenario files, JSON Schema, the Python class and the documentation derive from `SPEC`
//! (`docs/add-a-queue.md`).

pub mod discipline;
mod fair;
pub mod fifo;
pub mod size;

use cwndlab_config::{registry, Choice};

pub use codel::Codel;
pub use discipline::{Codepoint, Computed, Configuration, Discipline, Packet, Place, Waiting};
pub use fair::Fair;
pub use fifo::Fifo;
pub use size::Size;

macro_rules! disciplines {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of any discipline.
            #[derive(Clone, Copy, Debug, PartialEq)] Config
            $($name => $module,)*
        }

        impl Config {
            /// Where departures are known on arrival: how the link computes them.
            #[must_use]
            pub fn computed(&self) -> Option<Computed> {
                match self {
                    $(Self::$name(config) => config.computed(),)*
                }
            }

            /// Where they are not: the queue at work.
            #[must_use]
            pub fn build<P: Packet>(&self, place: Place) -> Option<Box<dyn Discipline<P>>> {
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
    tables: || SPECS.to_vec(),
};

impl Config {
    /// Drop-tail.
    pub const DROP_TAIL: Self = Self::DropTail(drop_tail::Config { counts_in_service: false });
}
