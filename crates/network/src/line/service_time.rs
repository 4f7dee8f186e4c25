//! Serialisation at a constant rate, and departures that keep the exact rate.
//!
//! A departure is rounded up to the nanosecond. The next packet of a busy period begins at the exact departure: with a
//! serialisation time rounded by itself, a line of 99 Gbit/s would carry 86 % of its rate in packets of 64 bytes, which
//! take 5.17 ns.

use cwndlab_units::{Duration, Rate, Time};

use super::timetable::NEVER;

/// The serialisation time of a packet, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTime {
    /// Whole nanoseconds.
    pub time: Duration,
    /// The part that rounding added, in 2⁻³² ns, rounded down: in a billion packets that is a quarter of a nanosecond.
    pub excess: u32,
}

impl ServiceTime {
    /// The serialisation time of `size` bytes at `rate`.
    #[must_use]
    pub fn new(rate: Rate, size: u32) -> Self {
        // Divisions of 64 bits take a tenth of the instructions: below 4 Gbit/s, and below 2 GB.
        if rate.0 >> 32 == 0 && size >> 31 == 0 {
            let work = u64::from(size) * 8_000_000_000; // ns·bit/s
            let time = work.div_ceil(rate.0);
            return Self { time: Duration::from_nanos(time), excess: (((time * rate.0 - work) << 32) / rate.0) as u32 };
        }
        let work = u128::from(size) * 8_000_000_000; // ns·bit/s
        let rate = u128::from(rate.0);
        let time = work.div_ceil(rate);
        Self { time: Duration::from_nanos(time as u64), excess: (((time * rate - work) << 32) / rate) as u32 }
    }
}

/// The departures of a line, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departures {
    /// The last departure, rounded up: the line is idle afterwards.
    pub last: Time,
    /// The part of it that rounding added, in 2⁻³² ns.
    excess: u32,
}

impl Departures {
    /// The departure of a packet whose service begins at `start`, or at the exact last departure if that is `start`.
    #[allow(clippy::inline_always)] // a handful of instructions, which the call would double
    #[inline(always)]
    pub fn next(&mut self, start: Time, service: ServiceTime) -> Time {
        if start <= self.last {
            return self.follow(service);
        }
        // The line was idle. A packet that need not wait departs long before `NEVER`.
        (self.last, self.excess) = (Time::from_nanos(start.as_nanos() + service.time.as_nanos()), service.excess);
        self.last
    }

    /// The departure of a packet whose service begins at the exact last departure.
    #[allow(clippy::inline_always)] // a handful of instructions, which the call would double
    #[inline(always)]
    pub fn follow(&mut self, service: ServiceTime) -> Time {
        let (excess, nanosecond) = self.excess.overflowing_add(service.excess);
        self.excess = excess;
        // These sums cannot overflow: `NEVER` is far below the maximum.
        self.last = Time::from_nanos(self.last.as_nanos() + service.time.as_nanos() - u64::from(nanosecond));
        if self.last > NEVER {
            self.last = NEVER; // after a permanent outage the time stays there for any number of packets
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: 64 bytes are 512 bits, 5.1717… ns at 99 Gbit/s; the multiples of it, rounded up.
    #[test]
    fn departures_of_a_busy_line_are_multiples_of_the_exact_serialisation_time() {
        let service = ServiceTime::new(Rate(99_000_000_000), 64);
        let mut departures = Departures::default();
        let left: Vec<u64> = (0..8).map(|_| departures.next(departures.last, service).as_nanos()).collect();
        assert_eq!(left, [6, 11, 16, 21, 26, 32, 37, 42]);
        assert_eq!(departures.next(Time::from_nanos(100), service), Time::from_nanos(106), "the line was idle");
    }

    proptest! {
        /// The departure of the last of n packets is the time of all their bits, rounded up: exact for whole bit/s up to
        /// the 2⁻³² ns of each packet, less than a nanosecond in all.
        #[test]
        fn a_line_carries_its_rate(rate in 1_000u64..2_000_000_000_000, sizes in prop::collection::vec(40u32..9_000, 1..2_000)) {
            let mut departures = Departures::default();
            let mut bits = 0u128;
            for &size in &sizes {
                departures.next(departures.last, ServiceTime::new(Rate(rate), size));
                bits += u128::from(size) * 8;
            }
            let exact = (bits * 1_000_000_000).div_ceil(u128::from(rate)) as u64;
            prop_assert!((exact..=exact + 1).contains(&departures.last.as_nanos()), "{} for {exact} ns", departures.last.as_nanos());
        }
    }
}
