//! Transcendental functions from one pinned crate, with identical bits on every machine.

pub use libm::{cbrt, ceil, exp, exp2, floor, log as ln, pow, round, sqrt};
