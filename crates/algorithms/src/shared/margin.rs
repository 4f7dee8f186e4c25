//! Comparisons of computed values with a rounding margin.
//!
//! Equations bring two values to exact equality by construction: a window that is limited to the value at which two
//! delays agree, a backlog of a whole number of segments, a bandwidth-delay product of whole segments. Real arithmetic
//! gives one answer there; the last bit of a double gives either. A decision that changes the phase, or that repeats
//! until the state changes, therefore treats values as equal that differ by less than the margin. Comparisons without a
//! margin state why they need none: operands that are exact (integers, copies, quotients of the same integers, which
//! IEEE 754 rounds alike), rules that are continuous at the tie, or an operand that moves on with every ACK.
//!
//! ```text
//! a below b: a < b − ε |b|;  a above b: a > b + ε |b|;  ε = 10⁻⁹     (1)
//! ```
//!
//! ε is far above the rounding of a few operations (10⁻¹⁵) and below the resolution of the measurements: a nanosecond of
//! an RTT of a second.

use cwndlab_units::maths::{ceil, floor};

/// ε of (1).
const MARGIN: f64 = 1e-9;

/// Whether `a` is less than `b` by more than rounding.
#[inline]
#[must_use]
pub fn below(a: f64, b: f64) -> bool {
    a < b - allowance(b)
}

/// Whether `a` is greater than `b` by more than rounding.
#[inline]
#[must_use]
pub fn above(a: f64, b: f64) -> bool {
    a > b + allowance(b)
}

/// ε |b|; 0 for an infinite `b`, which no rounding reaches.
#[inline]
fn allowance(b: f64) -> f64 {
    if b.is_finite() {
        MARGIN * b.abs()
    } else {
        0.0
    }
}

/// The largest whole number that is at most `value`, or above it by rounding only.
#[inline]
#[must_use]
pub fn whole_down(value: f64) -> f64 {
    floor(value + allowance(value))
}

/// The smallest whole number that is at least `value`, or below it by rounding only.
#[inline]
#[must_use]
pub fn whole_up(value: f64) -> f64 {
    ceil(value - allowance(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// x y / y = x in real arithmetic, and neither is below the other, in whatever order it is rounded.
        #[test]
        fn a_value_that_differs_by_rounding_is_neither_below_nor_above(x in 1e-9f64..1e9, y in 1e-9f64..1e9) {
            let same = x * y / y;
            prop_assert!(!below(same, x) && !above(same, x) && !below(x, same) && !above(x, same));
            prop_assert!(below(x, x * (1.0 + 1e-8)) && above(x * (1.0 + 1e-8), x));
        }

        /// n y / y is the whole number n.
        #[test]
        fn a_whole_number_that_was_computed_counts_as_whole(n in 0u32..10_000_000, y in 1e-9f64..1e9) {
            let n = f64::from(n);
            let same = n * y / y;
            prop_assert_eq!((whole_down(same), whole_up(same)), (n, n));
        }
    }

    #[test]
    fn nothing_finite_reaches_infinity() {
        assert!(below(1.0, f64::INFINITY) && !below(f64::INFINITY, f64::INFINITY));
        assert!(above(1.0, f64::NEG_INFINITY) && !above(f64::INFINITY, f64::INFINITY));
        assert!(!below(0.0, 0.0) && below(-1e-300, 0.0));
        assert_eq!((whole_down(0.5), whole_up(0.5)), (0.0, 1.0));
    }
}
