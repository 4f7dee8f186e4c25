//! Adaptive RED: `max_p` moves so that the average queue stays midway between the thresholds.
//!
//! Source: Floyd, Gummadi, Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management", 2001. The law is that of [`super::red`], equation (7).

use cwndlab_config::{Faults, Field, Literal, Reader, Table};

use super::red::{automatic, Config as Red, FIELDS};
use super::{size, Configuration, Discipline, Packet, Place};

/// Adaptive RED's entry among the disciplines.
pub static SPEC: Table = Table::new(
        "ared",
        "Adaptive RED: `max_p` moves so that the average stays midway between the thresholds (Floyd, Gummadi, Shenker 2001).",
        &[
            &[
                size::field("1000 packets"),
                automatic("min_th", "average queue below which nothing is dropped, packets; `\"auto\"`: half of what the line sends in `target`, at least 5").or(Literal::Text("auto")),
                automatic("max_th", "average queue at which the probability reaches `max_p`, packets; `\"auto\"`: three times `min_th`").or(Literal::Text("auto")),
                automatic("weight", "weight of a new value in the average; `\"auto\"`: 1 − e^(−1/C) for a line of C packets per second").or(Literal::Text("auto")),
                Field::duration("interval", "500 ms", "time between two steps of `max_p`").above_zero(),
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

    fn build<P: Packet>(&self, place: Place) -> Option<Box<dyn Discipline<P>>> {
        self.0.build(place)
    }
}
