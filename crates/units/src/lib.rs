//! Types for time, durations, sizes and rates: integers in nanoseconds, bytes and bits per second; and for the
//! identities of flows, connections, links, servers and sources of events.
//!
//! All crates compute with these types, and all stacks report the state of a sender in them ([`SenderState`]). Only
//! equations use floating point, with `cbrt`, `pow`, `exp` and `ln` from [`maths`], so that a run has the same result on
//! every machine.

mod fault;
mod identities;
pub mod maths;
pub mod panics;
mod parse;
mod print;
pub mod random;
pub mod rto;
mod sender_state;
pub mod spelling;
pub mod windowed;

pub use fault::{printable, Fault, FaultKind};
pub use identities::{ConnectionId, EventSource, FlowId, IndexVec, LinkId, ServerId};
pub use parse::{parse_bytes, parse_duration, parse_rate, rate_units, size_units, time_units};
pub use sender_state::{BusyTimes, CaState, Outstanding, SenderCounters, SenderState};

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Nanoseconds in a second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($($field:tt)?)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($($field)? u64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);
            /// The largest value; stands for "no limit".
            pub const MAX: Self = Self(u64::MAX);
        }
    };
}

quantity! {
    /// A point in time, in nanoseconds since the start of the run.
    Time()
}
quantity! {
    /// A duration in nanoseconds.
    Duration()
}
quantity! {
    /// A number of bytes.
    Bytes(pub)
}
quantity! {
    /// A rate in bits per second.
    Rate(pub)
}

macro_rules! additive {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<u64> for $name {
            type Output = Self;
            #[inline]
            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                Self(all.map(|one| one.0).sum())
            }
        }
        impl $name {
            /// The difference; zero instead of a negative one.
            #[inline]
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
    };
}

additive!(Duration);
additive!(Bytes);
additive!(Rate);

impl Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, span: Duration) -> Self {
        Self(self.0 - span.0)
    }
}

impl Time {
    /// `n` nanoseconds after the start of the run.
    #[inline]
    #[must_use]
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The duration since `earlier`; zero if that is in the future.
    #[inline]
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start of the run.
    #[inline]
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }
}

impl Duration {
    /// `n` nanoseconds.
    #[inline]
    #[must_use]
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// The duration in nanoseconds.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// `n` microseconds.
    #[must_use]
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` milliseconds.
    #[must_use]
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// `n` seconds.
    #[must_use]
    pub const fn from_secs(n: u64) -> Self {
        Self(n * NANOS_PER_SECOND)
    }

    /// `seconds`, rounded to the nearest nanosecond; zero for negative numbers.
    #[must_use]
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * NANOS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// The duration in seconds.
    #[inline]
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// The duration in milliseconds.
    #[inline]
    #[must_use]
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Bytes {
    /// The number of bits.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Rate {
    /// `n` megabits per second (10⁶ bits).
    #[must_use]
    pub const fn from_mbps(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// The serialisation time of `size` at this rate, rounded up to the nanosecond, so that a line never exceeds its
    /// rate.
    #[inline]
    #[must_use]
    pub const fn time_for(self, size: Bytes) -> Duration {
        // A packet's size, up to 2.3 GB, fits into 2^64 ns·bit/s: no 128-bit division is needed.
        Duration((size.0 * 8 * NANOS_PER_SECOND).div_ceil(self.0))
    }

    /// The serialisation time of a backlog of any size at this rate, rounded up.
    #[must_use]
    pub const fn time_for_backlog(self, size: Bytes) -> Duration {
        Duration((size.0 as u128 * 8 * NANOS_PER_SECOND as u128).div_ceil(self.0 as u128) as u64)
    }

    /// The bytes transmitted in `span`, rounded down.
    #[must_use]
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        Bytes((self.0 as u128 * span.0 as u128 / (8 * NANOS_PER_SECOND as u128)) as u64)
    }

    /// `size` per `span`; zero if `span` is zero.
    #[must_use]
    pub const fn of(size: Bytes, span: Duration) -> Self {
        if span.0 == 0 {
            return Self(0);
        }
        Self((size.0 as u128 * 8 * NANOS_PER_SECOND as u128 / span.0 as u128) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1500 bytes are 12,000 bits, 1.2 ms at 10 Mbit/s.
    #[test]
    fn a_full_packet_takes_1200_microseconds_at_10_megabit() {
        assert_eq!(Rate::from_mbps(10).time_for(Bytes(1500)), Duration::from_micros(1200));
    }

    /// By hand: 8 bits at 3 bit/s are 2.666… s, rounded up.
    #[test]
    fn serialisation_time_is_rounded_up() {
        assert_eq!(Rate(3).time_for(Bytes(1)), Duration(2_666_666_667));
    }

    #[test]
    fn a_rate_is_size_over_duration() {
        assert_eq!(Rate::of(Bytes(1500), Duration::from_micros(1200)), Rate::from_mbps(10));
        assert_eq!(Rate::of(Bytes(1500), Duration::ZERO), Rate(0));
        assert_eq!(Rate::from_mbps(10).bytes_in(Duration::from_micros(1200)), Bytes(1500));
    }

    /// By hand: a day at 400 Gbit/s is 86,400 s · 50 GB/s = 4.32 · 10¹⁵ bytes, 3.5 · 10¹⁶ bits, and 8.64 · 10¹³ ns; 64 bits
    /// hold 1.8 · 10¹⁹. A backlog of 5 GB is 4 · 10¹⁰ bits, 0.1 s at that rate; in ns·bit/s it is 4 · 10¹⁹.
    #[test]
    fn a_day_at_400_gigabit_fits() {
        let rate = Rate::from_mbps(400_000);
        let day = Duration::from_secs(86_400);
        let bytes = Bytes(4_320_000_000_000_000);
        assert_eq!((rate.bytes_in(day), bytes.bits()), (bytes, 34_560_000_000_000_000));
        assert_eq!((Rate::of(bytes, day), rate.time_for_backlog(bytes)), (rate, day));
        assert_eq!(rate.time_for_backlog(Bytes(5_000_000_000)), Duration::from_millis(100));
        assert_eq!(Rate(3).time_for_backlog(Bytes(1)), Rate(3).time_for(Bytes(1)));
    }
}
