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
    /// The length of an observation; `None` if it exceeds the address space.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        self.history.checked_mul(self.kind.bounds().len())
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
            EveryWord::Interval => Every::Interval(Duration::from_nanos((read.interval_ms * 1e6) as u64)),
            EveryWord::Ack => Every::Ack,
        };
        let Normalisation { mean, std } = read.normalisation;
        let Some(size) = read.observation.size() else {
            let history = read.observation.history;
            return Err(format!(
                "observation.history = {history} is too long: the normalisation has {} numbers",
                mean.len()
            ));
        };
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
        let action = &self.action;
        let size = self.normalisation.len();
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
        if inputs != 1 {
            let last = self.layers.len() - 1;
            return Err(format!(
                "layers[{last}] has {inputs} outputs, and an action takes 1: keep the row of the weights and the bias that decide"
            ));
        }
        self.check_range()
    }

    /// Whether all sums are finite for every observation. The features are bounded, and so is each sum: an output is
    /// never infinite or NaN.
    fn check_range(&self) -> Result<(), String> {
        let bounds = self.observation.kind.bounds();
        let largest = |(&(low, high, _), &(mean, std)): (&(f64, f64, f64), &(f64, f64))| {
            f64::max((low - mean).abs(), (high - mean).abs()) / std
        };
        let mut values: Vec<f64> = bounds.iter().cycle().zip(&self.normalisation).map(largest).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Err("an observation normalised exceeds the range of numbers: a deviation is too small".to_owned());
        }
        for (index, layer) in self.layers.iter().enumerate() {
            values = layer.largest(&values);
            if values.iter().any(|value| !value.is_finite()) {
                return Err(format!(
                    "layers[{index}] exceeds the range of numbers for some observations: its weights are too large"
                ));
            }
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
    use proptest::prelude::*;
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
        let two =
            json!([{ "weights": [[1.0, -1.0, 0.5], [0.0, 0.0, 1.0]], "bias": [0.25, 0.0], "activation": "linear" }]);
        assert_eq!(
            with("/layers", two),
            "layers[0] has 2 outputs, and an action takes 1: keep the row of the weights and the bias that decide"
        );
        assert!(with("/every", json!("week")).starts_with("cannot be read: unknown variant `week`"));
    }

    /// By hand: 3 features times (2⁶⁴ + 2) / 3 intervals are 2⁶⁴ + 2 numbers, 2 in 64 bits.
    #[test]
    fn a_history_beyond_the_address_space_is_a_fault() {
        let mut document = document();
        document["observation"]["history"] = json!(6_148_914_691_236_517_206_u64);
        document["normalisation"] = json!({ "mean": [0.0, 0.0], "std": [1.0, 1.0] });
        assert_eq!(
            Policy::from_document(&document).expect_err("it is too long"),
            "observation.history = 6148914691236517206 is too long: the normalisation has 2 numbers"
        );
    }

    /// By hand: the send ratio is at most 1000, and 1000 · 10³⁰⁶ is infinite in a double; two such sums of opposite sign
    /// are NaN.
    #[test]
    fn a_network_that_overflows_is_a_fault() {
        let mut overflowing = document();
        overflowing["layers"] = json!([
            { "weights": [[0.0, 0.0, 1e306], [0.0, 0.0, 1e306]], "bias": [0.0, 0.0], "activation": "linear" },
            { "weights": [[1.0, -1.0]], "bias": [0.0], "activation": "linear" },
        ]);
        assert_eq!(
            Policy::from_document(&overflowing).expect_err("it overflows"),
            "layers[0] exceeds the range of numbers for some observations: its weights are too large"
        );
        overflowing["layers"][0]["activation"] = json!("tanh");
        assert!(Policy::from_document(&overflowing).is_err(), "the sums overflow before the activation");
        let mut tiny = document();
        tiny["normalisation"]["std"][0] = json!(1e-308);
        assert_eq!(
            Policy::from_document(&tiny).expect_err("it overflows"),
            "an observation normalised exceeds the range of numbers: a deviation is too small"
        );
    }

    proptest! {
        /// Any document that is accepted gives a number between −1 and 1 for any observation within the bounds.
        #[test]
        fn the_output_of_an_accepted_policy_is_a_number(
            exponents in prop::collection::vec(-308i32..308, 9), signs in any::<u16>(), at in prop::collection::vec(0u8..3, 3),
        ) {
            let weight = |index: usize| {
                let sign = if signs >> index & 1 == 1 { -1.0 } else { 1.0 };
                sign * cwndlab_units::maths::pow(10.0, f64::from(exponents[index]))
            };
            let mut changed = document();
            changed["layers"] = json!([
                { "weights": [[weight(0), weight(1), weight(2)], [weight(3), weight(4), weight(5)]], "bias": [weight(6), 0.0], "activation": "linear" },
                { "weights": [[weight(7), weight(8)]], "bias": [0.0], "activation": "tanh" },
            ]);
            if let Ok(policy) = Policy::from_document(&changed) {
                let bounds = policy.observation.kind.bounds();
                let values: Vec<f64> = bounds.iter().zip(&at).map(|(&(low, high, neutral), at)| [low, high, neutral][*at as usize]).collect();
                prop_assert!((-1.0..=1.0).contains(&policy.output(&values)));
            }
        }
    }
}
