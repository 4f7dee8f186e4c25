//! Transcendental functions from one pinned crate, with identical bits on every machine.

pub use libm::{cbrt, ceil, cos, exp, exp2, floor, log as ln, pow, round, sin, sqrt, tanh};

/// `count`, which is below 2⁶³, as a floating-point number. It is the same number as by `as f64`, at a quarter of the
/// cost: x86-64 converts signed numbers in one instruction.
#[inline]
#[must_use]
pub fn float(count: u64) -> f64 {
    debug_assert!(i64::try_from(count).is_ok(), "{count} is not below 2^63");
    count.cast_signed() as f64
}

/// `x`, which is at least 0, without its fraction, and at most 2⁶³ − 1. Below that it is the same number as by
/// `as u64`, at half of the cost.
#[inline]
#[must_use]
pub fn whole(x: f64) -> u64 {
    debug_assert!(x.is_nan() || x >= 0.0, "{x} is below 0");
    (x as i64).cast_unsigned()
}
