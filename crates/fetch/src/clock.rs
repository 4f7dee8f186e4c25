//! The monotonic and the wall clock of live measurements.

use std::time::{Instant, SystemTime};

/// The monotonic clock.
#[allow(clippy::disallowed_methods, reason = "a live measurement runs on the wall clock")]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// The wall clock, ns since 1970 (UTC).
#[allow(clippy::disallowed_methods, reason = "a live measurement runs on the wall clock")]
#[must_use]
pub fn unix_ns() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Time since `then`, ns.
#[must_use]
pub fn since_ns(then: Instant) -> u64 {
    now().saturating_duration_since(then).as_nanos() as u64
}
