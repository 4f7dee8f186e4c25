//! The typed scenario: the contents of its tables, with units and defaults.

use cwndlab_config::{fields, Positive};
use cwndlab_units::Duration;

use super::field_types::{Jitter, Version};
use super::flow::Flows;
use super::table::tables;
use super::topology::Network;
use crate::class::Classes;
use crate::plan::NamedValuesPlan;

tables! {
    /// A scenario.
    TOP: Schema = "scenario",
        "A scenario: network, flows, duration and what is recorded. The seed is not part of it.";
}

fields! {
    /// A scenario with all fields.
    #[derive(Clone, Debug)]
    pub struct Schema {
        /// version of this schema
        schema_version: Version = required("'schema_version = 1'"),
        /// title, one line
        title: String = "",
        /// user-defined algorithms; cwndlab writes this table for classes that the caller passes
        algorithms: Classes = absent("", Vec::new()),
        /// simulated time
        duration: Positive<Duration> = required("'duration = \"60 s\"'"),
        /// sampling interval; zero disables samples
        sample_interval: Duration = "100 ms",
        /// record every packet
        packets: bool = false,
        /// record variables of the algorithms and of the transport (simulator only)
        named_values: Option<NamedValuesPlan> = absent("none"),
        /// start of the metrics; earlier samples are the warm-up
        measure_from: Duration = "0 s",
        /// default of the flows: maximum of the uniform random delay of a start
        start_jitter: Jitter = "0 s",
        /// each seed varies delays, rates, starts and the processing of packets by less than anybody measures
        perturb: bool = absent("false", false),
        /// the network
        network: Network,
        /// the flows
        flow: Flows = required("a '[[flow]]' with an algorithm"),
    }
}
