//! Sampling from distributions, with identical bits on every machine.

use cwndlab_network::random::Stream;
use cwndlab_units::{maths, Bytes, Duration};

use crate::distribution::Distribution;

/// Uniform in (0, 1], with a finite logarithm.
fn above_zero(stream: &mut Stream) -> f64 {
    1.0 - stream.unit()
}

/// Standard normal, by Marsaglia's polar method (SIAM Review 6(3), 1964); the second value of each pair is discarded.
fn normal(stream: &mut Stream) -> f64 {
    loop {
        let u = 2.0 * stream.unit() - 1.0;
        let v = 2.0 * stream.unit() - 1.0;
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return u * maths::sqrt(-2.0 * maths::ln(s) / s);
        }
    }
}

/// Gamma of scale 1 (Marsaglia and Tsang, ACM TOMS 26(3), 2000; shapes below 1 by their section 6).
fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        let lift = maths::pow(above_zero(stream), 1.0 / shape);
        return gamma(shape + 1.0, stream) * lift;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / maths::sqrt(9.0 * d);
    loop {
        let x = normal(stream);
        let base = 1.0 + c * x;
        if base <= 0.0 {
            continue;
        }
        let v = base * base * base;
        if maths::ln(above_zero(stream)) < 0.5 * x * x + d - d * v + d * maths::ln(v) {
            return d * v;
        }
    }
}

/// Draws a value.
pub fn sample(distribution: &Distribution, stream: &mut Stream) -> f64 {
    match *distribution {
        Distribution::Fixed(value) => value,
        Distribution::Uniform(low, high) => low + (high - low) * stream.unit(),
        Distribution::Exponential(mean) => -mean * maths::ln(above_zero(stream)),
        Distribution::Pareto { shape, min, max } => {
            // The inverse of the distribution function, truncated at `max`.
            let beyond = if max.is_finite() { maths::pow(min / max, shape) } else { 0.0 };
            let tail = beyond + (1.0 - beyond) * above_zero(stream);
            min * maths::pow(tail, -1.0 / shape)
        }
        Distribution::LogNormal { mu, sigma } => maths::exp(mu + sigma * normal(stream)),
        Distribution::Gamma { shape, scale } => scale * gamma(shape, stream),
        Distribution::Table(ref points) => {
            let probability = stream.unit();
            let at = points.partition_point(|&(_, upto)| upto <= probability).min(points.len() - 1);
            let (high, upto) = points[at];
            if at == 0 {
                return high;
            }
            let (low, from) = points[at - 1];
            low + (high - low) * (probability - from) / (upto - from)
        }
    }
}

/// Draws an integer of at least 1.
fn sample_positive(distribution: &Distribution, stream: &mut Stream) -> u64 {
    (sample(distribution, stream).min(1e18) + 0.5).max(1.0) as u64
}

/// Draws the size of a transfer, a message or a frame, at least 1 byte.
pub fn sample_size(distribution: &Distribution, stream: &mut Stream) -> Bytes {
    Bytes(sample_positive(distribution, stream))
}

/// Draws the length of an active period, at least 1 ns.
pub fn sample_period(distribution: &Distribution, stream: &mut Stream) -> Duration {
    Duration::from_nanos(sample_positive(distribution, stream))
}

/// Draws a pause, which may be 0.
pub fn sample_pause(distribution: &Distribution, stream: &mut Stream) -> Duration {
    Duration::from_nanos((sample(distribution, stream).min(1e18) + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_network::random::Purpose;

    /// Means of 200,000 draws are within five standard errors of the textbook values, variances within 10 %.
    #[test]
    fn moments_match_the_textbook() {
        let cases = [
            (Distribution::Uniform(2.0, 6.0), 4.0, 16.0 / 12.0),
            (Distribution::Exponential(3.0), 3.0, 9.0),
            (Distribution::Pareto { shape: 5.0, min: 2.0, max: f64::INFINITY }, 2.5, 4.0 * 5.0 / (16.0 * 3.0)),
            (Distribution::LogNormal { mu: 0.0, sigma: 0.5 }, 1.1331, 0.3647),
            (Distribution::Gamma { shape: 4.0, scale: 0.5 }, 2.0, 1.0),
            (Distribution::Gamma { shape: 0.5, scale: 2.0 }, 1.0, 2.0),
            (Distribution::Table([(10.0, 0.5), (20.0, 1.0)].into()), 12.5, 0.5 * 100.0 + 0.5 * (700.0 / 3.0) - 156.25),
        ];
        let n = 200_000.0;
        for (distribution, mean, variance) in cases {
            let mut stream = Stream::new(1, Purpose::Size, 0);
            let mut sum = 0.0;
            let mut squares = 0.0;
            for _ in 0..n as u32 {
                let one = sample(&distribution, &mut stream);
                sum += one;
                squares += one * one;
            }
            let sample_mean = sum / n;
            assert!(
                (sample_mean - mean).abs() < 5.0 * maths::sqrt(variance / n),
                "{distribution:?}: mean {sample_mean}"
            );
            assert!((distribution.mean() - mean).abs() < 1e-3 * mean, "{distribution:?}");
            let spread = squares / n - sample_mean * sample_mean;
            assert!((spread / variance - 1.0).abs() < 0.1, "{distribution:?}: variance {spread}");
        }
    }

    /// P(X > 10) of a Pareto of index 1.2 from 1, bounded at 1000: (10^-1.2 − 1000^-1.2) / (1 − 1000^-1.2).
    #[test]
    fn a_bounded_pareto_has_its_bounds_and_tail_probability() {
        let distribution = Distribution::Pareto { shape: 1.2, min: 1.0, max: 1000.0 };
        let mut stream = Stream::new(2, Purpose::Size, 0);
        let draws: Vec<f64> = (0..100_000).map(|_| sample(&distribution, &mut stream)).collect();
        assert!(draws.iter().all(|one| (1.0..=1000.0 + 1e-6).contains(one)));
        let beyond = maths::pow(1000.0, -1.2);
        let expected = (maths::pow(10.0, -1.2) - beyond) / (1.0 - beyond);
        let share = draws.iter().filter(|one| **one > 10.0).count() as f64 / 1e5;
        assert!((share - expected).abs() < 5.0 * maths::sqrt(expected / 1e5), "{share} instead of {expected}");
    }
}
