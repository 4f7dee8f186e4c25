//! The header that identifies a run.

use cwndlab_units::{Duration, Time};

use crate::declaration::Unsigned;
use crate::rows::RunRow;

/// Identifies a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The scenario as JSON, from which it can be run again.
    pub scenario: String,
    /// SHA-256 of the scenario's canonical form, in hexadecimal.
    pub scenario_hash: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// `simulate`, `emulate` or `live`.
    pub engine: String,
    /// Version of the engine.
    pub version: String,
    /// Name of the machine.
    pub host: String,
    /// Duration of the run on its own clock.
    pub duration: Duration,
    /// Start of the measurement; metrics exclude earlier times.
    pub measure_from: Time,
    /// Interval between samples; zero where there are none.
    pub sample_interval: Duration,
    /// Notes on the run, one line each.
    pub notes: Vec<String>,
}

impl Header {
    /// The row of `runs`.
    pub(crate) fn row(&self) -> RunRow {
        RunRow {
            scenario_hash: self.scenario_hash.clone(),
            seed: Unsigned(self.seed),
            engine: self.engine.clone(),
            version: self.version.clone(),
            host: self.host.clone(),
            duration_ns: self.duration.as_nanos(),
            measure_from_ns: self.measure_from.as_nanos(),
            sample_interval_ns: self.sample_interval.as_nanos(),
            notes: self.notes.join("\n"),
        }
    }
}
