//! The layers of a policy: activation(weights · x + bias), in double precision and in a fixed order of operations.

use cwndlab_units::maths;
use serde::Deserialize;

/// The function of a layer's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// x
    Linear,
    /// max(x, 0)
    Relu,
    /// tanh x
    Tanh,
}

impl Activation {
    fn of(self, sum: f64) -> f64 {
        match self {
            Self::Linear => sum,
            Self::Relu => sum.max(0.0),
            Self::Tanh => maths::tanh(sum),
        }
    }
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// A row for each output.
    pub weights: Vec<Vec<f64>>,
    /// A number for each output.
    pub bias: Vec<f64>,
    /// The function of the sums.
    pub activation: Activation,
}

impl Layer {
    /// The outputs for these inputs.
    #[must_use]
    pub fn outputs(&self, inputs: &[f64]) -> Vec<f64> {
        let sum = |(row, bias): (&Vec<f64>, &f64)| {
            self.activation.of(row.iter().zip(inputs).fold(0.0, |sum, (weight, input)| sum + weight * input) + bias)
        };
        self.weights.iter().zip(&self.bias).map(sum).collect()
    }

    /// The largest magnitudes of the sums for inputs of at most these magnitudes. No activation increases them.
    #[must_use]
    pub fn largest(&self, inputs: &[f64]) -> Vec<f64> {
        let sum = |(row, bias): (&Vec<f64>, &f64)| {
            row.iter().zip(inputs).fold(bias.abs(), |sum, (weight, input)| sum + weight.abs() * input)
        };
        self.weights.iter().zip(&self.bias).map(sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 0.5·1 − 1·2 + 0.25 = −1.25, and 1·1 + 1·2 − 1 = 2.
    #[test]
    fn a_layer_is_the_function_of_weighted_sums() {
        let outputs = |activation| {
            let weights = vec![vec![0.5, -1.0], vec![1.0, 1.0]];
            Layer { weights, bias: vec![0.25, -1.0], activation }.outputs(&[1.0, 2.0])
        };
        assert_eq!(outputs(Activation::Linear), [-1.25, 2.0]);
        assert_eq!(outputs(Activation::Relu), [0.0, 2.0]);
        assert_eq!(outputs(Activation::Tanh), [maths::tanh(-1.25), maths::tanh(2.0)]);
    }
}
