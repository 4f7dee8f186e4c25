//! The lines of links. A line computes the departure of a packet's last bit from the start of its service and its size.
//!
//! The start of service is known when a packet is enqueued in a drop-tail queue, so that a departure needs no event
//! (`docs/decisions/0002`). Behind a [`discipline`](crate::aqm) the same [`Line`] computes each departure at the start
//! of service.

mod bucket;
mod opportunities;
mod service_time;
mod steps;
mod timetable;

use cwndlab_units::{Duration, Rate, Time};

pub use bucket::TokenBucket;
pub use opportunities::Opportunities;
pub use service_time::{Departures, ServiceTime};
pub use steps::RateSteps;
pub use timetable::{Timetable, NEVER};

/// Time over which the present rate of a trace is measured.
const TRACE_WINDOW: Duration = Duration::from_millis(40);

/// A line.
#[derive(Clone, Debug)]
pub enum Line {
    /// Zero serialisation time.
    Instant,
    /// A constant rate.
    Fixed(Rate),
    /// A schedule of rates.
    Steps(Box<RateSteps>),
    /// The delivery opportunities of a trace.
    Opportunities(Box<Opportunities>),
    /// A token bucket.
    Bucket(Box<TokenBucket>),
}

impl Line {
    /// Departure time of the last bit of a packet of `size` bytes whose service begins at `start`, rounded up; `departures`
    /// are those of this line. `start` must not precede the last of them; where it equals that, service begins at the exact
    /// departure. Returns [`NEVER`] after a permanent outage.
    pub fn serve(&mut self, departures: &mut Departures, start: Time, size: u32) -> Time {
        if let Some(service) = self.service_time(size) {
            return departures.next(start, service);
        }
        let at = match self {
            _ if start >= NEVER => NEVER,
            Self::Instant | Self::Fixed(_) => start,
            Self::Steps(steps) => steps.serve(start, size),
            Self::Opportunities(trace) => trace.serve(start, size),
            Self::Bucket(bucket) => bucket.serve(start, size),
        };
        departures.last = at.min(NEVER);
        departures.last
    }

    /// A packet arrives at `now` while no other waits: it cannot use the rest of an opportunity at that time.
    #[inline]
    pub fn arrive(&mut self, now: Time) {
        if let Self::Opportunities(trace) = self {
            trace.miss(now);
        }
    }

    /// The serialisation time of a packet; `None` if it does not depend on its size alone.
    #[must_use]
    pub fn service_time(&self, size: u32) -> Option<ServiceTime> {
        match self {
            Self::Instant => Some(ServiceTime::default()),
            Self::Fixed(rate) => Some(ServiceTime::new(*rate, size)),
            Self::Steps(_) | Self::Opportunities(_) | Self::Bucket(_) => None,
        }
    }

    /// The serialisation time depends only on the size of the packet.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Instant | Self::Fixed(_))
    }

    /// The present rate, bit/s: that of a trace over the last 40 ms, and that of a token bucket without its burst; `None` for
    /// an unlimited rate.
    #[must_use]
    pub fn present_rate(&self, now: Time) -> Option<f64> {
        match self {
            Self::Instant => None,
            Self::Fixed(rate) => Some(rate.0 as f64),
            Self::Steps(steps) => Some(steps.rate_at(now).0 as f64),
            Self::Opportunities(trace) => Some(trace.rate_until(now, TRACE_WINDOW)),
            Self::Bucket(bucket) => Some(bucket.rate().0 as f64),
        }
    }

    /// Carriable bytes until `now`; `None` for an unlimited rate.
    #[must_use]
    pub fn offered(&self, now: Time) -> Option<u64> {
        match self {
            Self::Instant => None,
            Self::Fixed(rate) => Some(rate.bytes_in(Duration::from_nanos(now.as_nanos())).0),
            Self::Steps(steps) => Some(steps.offered(now)),
            Self::Opportunities(trace) => Some(trace.offered(now)),
            Self::Bucket(bucket) => Some(bucket.offered(now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Bytes;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn any_line() -> impl Strategy<Value = Line> {
        prop_oneof![
            (1_000_000u64..1_000_000_000).prop_map(|rate| Line::Fixed(Rate(rate))),
            (prop::collection::vec((1u64..20_000_000, 0u64..100_000_000), 1..6), 1_000u64..50_000_000).prop_map(
                |(gaps, first)| {
                    let mut at = Time::ZERO;
                    let mut steps = vec![(Time::ZERO, Rate(first))];
                    for (gap, rate) in gaps {
                        at += Duration::from_nanos(gap);
                        steps.push((at, Rate(rate)));
                    }
                    Line::Steps(Box::new(RateSteps::new(&steps, Some(Duration::from_nanos(at.as_nanos() + 1)))))
                }
            ),
            prop::collection::vec(0u32..5, 1..50).prop_map(|gaps| {
                let mut at = 1;
                let stamps: Arc<[u32]> = gaps
                    .iter()
                    .map(|gap| {
                        at += gap;
                        at
                    })
                    .collect();
                Line::Opportunities(Box::new(Opportunities::new(stamps, 1500, Duration::ZERO)))
            }),
            (1_000_000u64..100_000_000, 1500u64..20_000)
                .prop_map(|(rate, burst)| Line::Bucket(Box::new(TokenBucket::new(Rate(rate), Bytes(burst), None)))),
        ]
    }

    proptest! {
        /// Departures are in the order of service, none precedes its start, and no line carries more than its carriable
        /// bytes.
        #[test]
        fn every_line_is_monotone_and_carries_at_most_its_carriable_bytes(
            mut line in any_line(), packets in prop::collection::vec((0u64..3_000_000, 40u32..1500), 1..200),
        ) {
            let mut now = Time::ZERO;
            let mut departures = Departures::default();
            let mut carried = 0;
            for (gap, size) in packets {
                now += Duration::from_nanos(gap);
                let start = departures.last.max(now);
                let departure = line.serve(&mut departures, start, size);
                prop_assert!(departure >= start);
                carried += u64::from(size);
                let offered = line.offered(departure).unwrap();
                prop_assert!(carried <= offered + 1, "{carried} of {offered} bytes");
            }
        }
    }
}
