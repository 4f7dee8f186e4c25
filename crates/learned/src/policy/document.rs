//! The document of a policy.

use cwndlab_units::Duration;
use serde::Deserialize;
use serde_json::Value;

use super::action::{self, Action};
use super::features;
use super::network::Layer;
use crate::external::Every;

/// The version of the document.
const SCHEMA_VERSION: u64 = 1;

/// What a policy observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The features of an interval.
    pub kind: features::Kind,
    /// Number of intervals.
    pub history: usize,
}

impl Observation {
    /// The length of an observation.
    #[must_use]
    pub fn size(&self) -> usize {
        self.history * self.kind.bounds().len()
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Normalisation {
    mean: Vec<f64>,
    std: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EveryWord {
    Rtt,
    Interval,
    Ack,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema_version: u64,
    observation: Observation,
    action: Action,
    every: EveryWord,
    interval_ms: f64,
    normalisation: Normalisation,
    layers: Vec<Layer>,
}

/// A policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// What it observes.
    pub observation: Observation,
    /// What its output does.
    pub action: Action,
    /// When it decides.
    pub every: Every,
    /// Mean and deviation of each number of the observation.
    pub normalisation: Vec<(f64, f64)>,
    /// The layers.
    pub layers: Vec<Layer>,
}

impl Policy {
    /// The policy of a document.
    ///
    /// # Errors
    /// What is wrong with the document, in lower case.
    pub fn from_document(document: &Value) -> Result<Self, String> {
        let version = document.get("schema_version").unwrap_or(&Value::Null);
        if version.as_u64() != Some(SCHEMA_VERSION) {
            return Err(format!("schema_version {version} is not {SCHEMA_VERSION}"));
        }
        let read = Document::deserialize(document).map_err(|error| format!("cannot be read: {error}"))?;
        debug_assert_eq!(read.schema_version, SCHEMA_VERSION);
        let every = match read.every {
            EveryWord::Rtt => Every::Rtt,
            EveryWord::Interval => Every::Interval(Duration((read.interval_ms * 1e6) as u64)),
            EveryWord::Ack => Every::Ack,
        };
        let Normalisation { mean, std } = read.normalisation;
        let size = read.observation.size();
        if mean.len() != size || std.len() != size {
            return Err(format!("the normalisation is not of {size} numbers, one for each of the observation"));
        }
        let policy = Self {
            observation: read.observation,
            action: read.action,
            every,
            normalisation: mean.into_iter().zip(std).collect(),
            layers: read.layers,
        };
        policy.check(read.interval_ms)?;
        Ok(policy)
    }

    fn check(&self, interval_ms: f64) -> Result<(), String> {
        let (action, size) = (&self.action, self.observation.size());
        let least_scale = if action.kind == action::Kind::PowerWindow { 1.0 } else { 0.0 };
        if size == 0 || self.layers.is_empty() {
            return Err("the observation or the list of layers is empty".to_owned());
        }
        if !(interval_ms > 0.0 && interval_ms.is_finite()) {
            return Err(format!("interval_ms = {interval_ms} is no interval"));
        }
        if !(action.scale > least_scale && action.scale.is_finite()) {
            return Err(format!("action.scale = {} is not above {least_scale}", action.scale));
        }
        if !(1.0 <= action.lowest && action.lowest <= action.highest && action.highest.is_finite()) {
            return Err(format!("action.lowest = {} and highest = {} are no range", action.lowest, action.highest));
        }
        if self.normalisation.iter().any(|(mean, std)| !mean.is_finite() || !std.is_finite() || *std <= 0.0) {
            return Err("a deviation of the normalisation is not above 0".to_owned());
        }
        let mut inputs = size;
        for (index, layer) in self.layers.iter().enumerate() {
            if layer.weights.is_empty() || layer.weights.len() != layer.bias.len() {
                return Err(format!(
                    "layers[{index}] has {} rows of weights for a bias of {}",
                    layer.weights.len(),
                    layer.bias.len()
                ));
            }
            if let Some(row) = layer.weights.iter().find(|row| row.len() != inputs) {
                return Err(format!("layers[{index}] takes {} numbers, and gets {inputs}", row.len()));
            }
            inputs = layer.bias.len();
        }
        Ok(())
    }

    /// The output for an observation, limited to [−1, 1].
    #[must_use]
    pub fn output(&self, observation: &[f64]) -> f64 {
        let normalised = observation.iter().zip(&self.normalisation).map(|(value, (mean, std))| (value - mean) / std);
        let outputs = self.layers.iter().fold(normalised.collect::<Vec<_>>(), |values, layer| layer.outputs(&values));
        outputs[0].clamp(-1.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({
            "schema_version": 1,
            "observation": { "kind": "aurora", "history": 1 },
            "action": { "kind": "delta-window", "scale": 0.5, "lowest": 2.0, "highest": 100.0 },
            "every": "interval",
            "interval_ms": 10.0,
            "normalisation": { "mean": [0.0, 1.0, 1.0], "std": [1.0, 2.0, 1.0] },
            "layers": [{ "weights": [[1.0, -1.0, 0.5]], "bias": [0.25], "activation": "linear" }],
        })
    }

    /// By hand: (0.1 − 0) / 1 − (1.5 − 1) / 2 + 0.5 (1.2 − 1) / 1 + 0.25 = 0.2.
    #[test]
    fn a_policy_normalises_and_applies_its_layers() {
        let policy = Policy::from_document(&document()).expect("it is valid");
        assert_eq!(policy.every, Every::Interval(Duration::from_millis(10)));
        assert!((policy.output(&[0.1, 1.5, 1.2]) - 0.2).abs() < 1e-12);
        assert_eq!(policy.output(&[9.0, 1.0, 1.0]), 1.0);
    }

    #[test]
    fn faults_of_a_document_are_reported() {
        let with = |pointer: &str, value: Value| {
            let mut changed = document();
            *changed.pointer_mut(pointer).expect("it exists") = value;
            Policy::from_document(&changed).expect_err("it is not valid")
        };
        assert_eq!(with("/schema_version", json!(2)), "schema_version 2 is not 1");
        assert_eq!(with("/layers/0/weights/0", json!([1.0])), "layers[0] takes 1 numbers, and gets 3");
        assert_eq!(with("/layers", json!([])), "the observation or the list of layers is empty");
        assert_eq!(with("/normalisation/std/0", json!(0.0)), "a deviation of the normalisation is not above 0");
        assert_eq!(
            with("/normalisation/std", json!([1.0])),
            "the normalisation is not of 3 numbers, one for each of the observation"
        );
        assert_eq!(with("/action/scale", json!(0.0)), "action.scale = 0 is not above 0");
        assert_eq!(with("/action/lowest", json!(0.0)), "action.lowest = 0 and highest = 100 are no range");
        assert_eq!(with("/interval_ms", json!(0.0)), "interval_ms = 0 is no interval");
        assert!(with("/every", json!("week")).starts_with("cannot be read: unknown variant `week`"));
    }
}
