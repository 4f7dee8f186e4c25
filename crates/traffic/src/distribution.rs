//! Distributions of times (ns) and sizes (bytes), all in base units.

use std::sync::Arc;

use cwndlab_units::maths;

/// The distribution of a time or a size.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// A constant.
    Fixed(f64),
    /// Uniform between two bounds.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: P(X > x) = (min / x)^shape for x ≥ `min`; bounded Pareto if `max` is finite.
    Pareto {
        /// Tail index.
        shape: f64,
        /// Lower bound.
        min: f64,
        /// Upper bound; may be infinite.
        max: f64,
    },
    /// Log-normal: ln X is normal.
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
    /// A cumulative distribution function as points (value, probability), ascending in both, with linear interpolation.
    /// The probability of the first point is a point mass, that of the last point is 1.
    Table(Arc<[(f64, f64)]>),
}

impl Distribution {
    /// Log-normal by mean and coefficient of variation.
    #[must_use]
    pub fn log_normal(mean: f64, cv: f64) -> Self {
        let variance = maths::ln(1.0 + cv * cv);
        Self::LogNormal { mu: maths::ln(mean) - variance / 2.0, sigma: maths::sqrt(variance) }
    }

    /// Gamma by mean and coefficient of variation.
    #[must_use]
    pub fn gamma(mean: f64, cv: f64) -> Self {
        Self::Gamma { shape: 1.0 / (cv * cv), scale: mean * cv * cv }
    }

    /// The expected value; infinite for a Pareto tail of index 1 or less.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(value) | Self::Exponential(value) => value,
            Self::Uniform(low, high) => f64::midpoint(low, high),
            Self::Pareto { shape, min, max } if max.is_infinite() => {
                if shape > 1.0 {
                    shape * min / (shape - 1.0)
                } else {
                    f64::INFINITY
                }
            }
            Self::Pareto { shape, min, max } => {
                let ratio = min / max;
                let mass = 1.0 - maths::pow(ratio, shape);
                if (shape - 1.0).abs() < 1e-12 {
                    min * -maths::ln(ratio) / mass
                } else {
                    shape / (shape - 1.0) * min * (1.0 - maths::pow(ratio, shape - 1.0)) / mass
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

/// Number of points for the numerical integration of an expected value.
const POINTS: u32 = 4096;

impl Distribution {
    /// Expected number of bytes of a transfer (an integer, at least 1) and of its segments of up to `mss` bytes.
    #[must_use]
    pub fn bytes_and_segments(&self, mss: f64) -> (f64, f64) {
        let whole = |size: f64| (size + 0.5).floor().max(1.0);
        // Only the rounding term, which is bounded, is integrated numerically, so that a heavy tail causes no error.
        let bytes = self.mean() + self.expected(&|size| whole(size) - size);
        let segments = self.mean() / mss + self.expected(&|size| (whole(size) / mss).ceil() - size / mss);
        (bytes, segments)
    }

    /// Expected value of a bounded function, by the midpoint rule.
    fn expected(&self, f: &dyn Fn(f64) -> f64) -> f64 {
        // Midpoints of equal subintervals of (0, 1).
        let parts = || (0..POINTS).map(|n| (f64::from(n) + 0.5) / f64::from(POINTS));
        let weighted = |points: &mut dyn Iterator<Item = (f64, f64)>| {
            let mut sum = 0.0;
            let mut weights = 0.0;
            for (value, weight) in points {
                sum += weight * f(value);
                weights += weight;
            }
            sum / weights
        };
        match *self {
            Self::Fixed(value) => f(value),
            Self::Uniform(low, high) => weighted(&mut parts().map(|p| (low + (high - low) * p, 1.0))),
            Self::Exponential(mean) => weighted(&mut parts().map(|p| (-mean * maths::ln(p), 1.0))),
            Self::Pareto { shape, min, max } => {
                let beyond = if max.is_finite() { maths::pow(min / max, shape) } else { 0.0 };
                let value = |p: f64| min * maths::pow(beyond + (1.0 - beyond) * p, -1.0 / shape);
                weighted(&mut parts().map(|p| (value(p), 1.0)))
            }
            // Integration over ±8 standard deviations.
            Self::LogNormal { mu, sigma } => weighted(&mut parts().map(|p| {
                let z = 16.0 * p - 8.0;
                (maths::exp(mu + sigma * z), maths::exp(-z * z / 2.0))
            })),
            // As a function of ln x the density is x^shape · e^(−x/scale) for any shape.
            Self::Gamma { shape, scale } => {
                let span = 40.0 / shape.min(1.0) + 8.0;
                weighted(&mut parts().map(|p| {
                    let log = span * (p - 1.0) + 5.0 + maths::ln(shape.max(1.0));
                    let x = maths::exp(log);
                    let peak = shape * maths::ln(shape) - shape;
                    (scale * x, maths::exp((shape * log - x - peak).min(0.0)))
                }))
            }
            Self::Table(ref points) => {
                let first = points.first().map_or(0.0, |&(value, probability)| f(value) * probability);
                let steps = points.windows(2).map(|two| {
                    let even = Self::Uniform(two[0].0, two[1].0);
                    (two[1].1 - two[0].1) * even.expected(f)
                });
                first + steps.sum::<f64>()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, segments of 1000 bytes: 1 byte takes one; 1000 and 1001 take one and two; uniform on 0 … 2000 takes one
    /// or two with equal probability; exponential with mean 1000: Σ e^−k = 1 / (1 − 1/e) = 1.5820; Pareto of index 2
    /// from 1000 on: 1 + Σ k^−2 = 1 + π²/6 = 2.6449; a gamma of shape 1 is exponential; log-normal with median 1000 and
    /// sigma 0.1: half of the transfers take two.
    #[test]
    fn expected_segments_match_values_by_hand() {
        let cases = [
            (Distribution::Fixed(1.0), 1.0),
            (Distribution::Fixed(1000.0), 1.0),
            (Distribution::Fixed(1001.0), 2.0),
            (Distribution::Uniform(0.0, 2000.0), 1.5),
            (Distribution::Exponential(1000.0), 1.5820),
            (Distribution::Pareto { shape: 2.0, min: 1000.0, max: f64::INFINITY }, 2.6449),
            (Distribution::Gamma { shape: 1.0, scale: 1000.0 }, 1.5820),
            (Distribution::LogNormal { mu: maths::ln(1000.0), sigma: 0.1 }, 1.5),
            (Distribution::Table([(500.0, 0.25), (1500.0, 1.0)].into()), 0.25 + 0.375 + 0.75),
        ];
        for (distribution, expected) in cases {
            let (bytes, segments) = distribution.bytes_and_segments(1000.0);
            assert!((segments - expected).abs() < 0.02, "{distribution:?}: {segments} instead of {expected}");
            assert!((bytes - distribution.mean()).abs() < 0.6, "{distribution:?}: {bytes} bytes");
        }
        assert_eq!(Distribution::Fixed(0.2).bytes_and_segments(1000.0), (1.0, 1.0));
    }

    /// Textbook means: a Pareto of index 2 from 1 has 2; bounded at 10: 2 · (1 − 0.1) / (1 − 0.01) = 1.8182; index 1
    /// bounded at e: 1 / (1 − 1/e) = 1.5820; log-normal (0, 1): √e.
    #[test]
    fn means_match_the_textbook() {
        let pareto = |shape, max| Distribution::Pareto { shape, min: 1.0, max }.mean();
        let near = |mean: f64, expected: f64| assert!((mean - expected).abs() < 1e-4, "{mean} instead of {expected}");
        near(pareto(2.0, f64::INFINITY), 2.0);
        near(pareto(2.0, 10.0), 1.8182);
        near(pareto(1.0, std::f64::consts::E), 1.5820);
        assert!(pareto(1.0, f64::INFINITY).is_infinite());
        near(Distribution::LogNormal { mu: 0.0, sigma: 1.0 }.mean(), 1.6487);
        near(Distribution::Table([(10.0, 0.5), (20.0, 1.0)].into()).mean(), 12.5);
    }
}
