//! Adaptive RED: adapts `max_p` to keep the average queue midway between the thresholds.
//!
//! Source: Floyd, Gummadi, Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management", 2001. [`super::red`] implements it, equation (7).

use cwndlab_config::{fields, Positive, Table};
use cwndlab_units::{Duration, Fault, Rate};

use super::discipline::too_frequent;
use super::red::{Drops, Parameters, Red, Thresholds};
use super::{capacity, Configuration, Discipline, Packet, QueueContext};

/// The declaration of adaptive RED.
pub static SPEC: Table = Table::new(
    "ared",
    "RED that adapts `max_p` to keep the average queue midway between the thresholds (Floyd, Gummadi, Shenker 2001).",
    &[&[capacity::field("1000 packets")], Config::FIELDS],
)
.class("Ared");

fields! {
    /// Adaptive RED's configuration.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// the thresholds
        thresholds: Thresholds { min_th = "auto", max_th = "auto", weight = "auto" },
        /// time between two updates of `max_p`
        interval: Positive<Duration> = "500 ms",
        /// the probability
        drops: Drops,
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        let parameters = Parameters::new(&self.thresholds, &self.drops, Some(self.interval), context.rate);
        Some(Box::new(Red::new(parameters, context.limit, context.stream)))
    }

    fn fault_at(&self, rate: Rate) -> Option<Fault> {
        too_frequent("interval", self.interval).or_else(|| self.thresholds.fault_at(&self.drops, rate))
    }
}
