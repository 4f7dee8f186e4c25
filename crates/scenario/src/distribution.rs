//! Distributions of times (ns) and sizes (bytes), all in base units.

use std::sync::Arc;

use cwndlab_units::maths;

/// What a time or a size is drawn from.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always this.
    Fixed(f64),
    /// Even between the two.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: P(X > x) = (least / x)^shape from `least` on; cut at `most` (bounded Pareto) where that is finite.
    Pareto {
        /// Tail index.
        shape: f64,
        /// Smallest value.
        least: f64,
        /// Largest value; may be infinite.
        most: f64,
    },
    /// ln X is normal.
    LogNormal {
        /// Mean of ln X.
        mu: f64,
        /// Standard deviation of ln X.
        sigma: f64,
    },
    /// Gamma.
    Gamma {
        /// Shape.
        shape: f64,
        /// Scale.
        scale: f64,
    },
    /// A distribution function by points (value, probability), ascending in both, straight between them; the first point
    /// has its probability as a mass of its own, the last one's is 1.
    Table(Arc<[(f64, f64)]>),
}

impl Distribution {
    /// The expected value; infinite for a Pareto tail of index 1 or less.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(value) | Self::Exponential(value) => value,
            Self::Uniform(low, high) => f64::midpoint(low, high),
            Self::Pareto { shape, least, most } if most.is_infinite() => {
                if shape > 1.0 {
                    shape * least / (shape - 1.0)
                } else {
                    f64::INFINITY
                }
            }
            Self::Pareto { shape, least, most } => {
                let ratio = least / most;
                let mass = 1.0 - maths::pow(ratio, shape);
                if (shape - 1.0).abs() < 1e-12 {
                    least * -maths::ln(ratio) / mass
                } else {
                    shape / (shape - 1.0) * least * (1.0 - maths::pow(ratio, shape - 1.0)) / mass
                }
            }
            Self::LogNormal { mu, sigma } => maths::exp(mu + sigma * sigma / 2.0),
            Self::Gamma { shape, scale } => shape * scale,
            Self::Table(ref points) => {
                let first = points.first().map_or(0.0, |&(value, probability)| value * probability);
                let steps = points.windows(2).map(|two| (two[1].1 - two[0].1) * f64::midpoint(two[0].0, two[1].0));
                first + steps.sum::<f64>()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Textbook means: a Pareto of index 2 from 1 has 2; cut at 10 it has 2 · (1 − 0.1) / (1 − 0.01) = 1.8182; index 1 cut at
    /// e has 1 / (1 − 1/e) = 1.5820; a log-normal (0, 1) has √e.
    #[test]
    fn means_are_the_textbooks() {
        let pareto = |shape, most| Distribution::Pareto { shape, least: 1.0, most }.mean();
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-4, "{found} instead of {wanted}");
        near(pareto(2.0, f64::INFINITY), 2.0);
        near(pareto(2.0, 10.0), 1.8182);
        near(pareto(1.0, std::f64::consts::E), 1.5820);
        assert!(pareto(1.0, f64::INFINITY).is_infinite());
        near(Distribution::LogNormal { mu: 0.0, sigma: 1.0 }.mean(), 1.6487);
        near(Distribution::Table([(10.0, 0.5), (20.0, 1.0)].into()).mean(), 12.5);
    }
}
