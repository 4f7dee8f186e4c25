//! Adaptive RED: adapts `max_p` to keep the average queue midway between the thresholds.
//!
//! Source: Floyd, Gummadi, Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management", 2001. [`super::red`] implements it, equation (7).

use cwndlab_config::{Faults, Field, Literal, Reader, Table};

use super::red::{automatic, Config as Red, FIELDS};
use super::{capacity, Configuration, Discipline, Packet, QueueContext};

/// The declaration of adaptive RED.
pub static SPEC: Table = Table::new(
        "ared",
        "RED that adapts `max_p` to keep the average queue midway between the thresholds (Floyd, Gummadi, Shenker 2001).",
        &[
            &[
                capacity::field("1000 packets"),
                automatic("min_th", "average queue below which no packet is dropped, packets; `\"auto\"`: half of the packets that the line sends in `target`, at least 5").or(Literal::Text("auto")),
                automatic("max_th", "average queue at which the probability reaches `max_p`, packets; `\"auto\"`: three times `min_th`").or(Literal::Text("auto")),
                automatic("weight", "weight of a new value in the average; `\"auto\"`: 1 − e^(−1/C) for a line of C packets per second").or(Literal::Text("auto")),
                Field::duration("interval", "500 ms", "time between two updates of `max_p`").above_zero(),
            ],
            FIELDS,
        ],
)
.class("Ared");

/// Adaptive RED's configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config(pub Red);

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let interval = table.duration("interval", faults);
        let red = Red::read(table, faults)?;
        Some(Self(Red { adaptive: Some(interval?), ..red }))
    }

    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        self.0.build(context)
    }
}
