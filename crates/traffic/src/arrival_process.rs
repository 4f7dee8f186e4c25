//! A Poisson process of transfers, independent of the number of active transfers (open loop).

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::sampling::{sample, sample_size};
use crate::NEVER;

/// The state of an arrival process.
#[derive(Debug)]
pub struct ArrivalProcess {
    /// Arrivals per second; `None` if a load was given and its line is unknown.
    per_second: Option<f64>,
    size: Distribution,
    count: Option<u64>,
    connections: u32,
    stop: Time,
    times: Stream,
    sizes: Stream,
    begun: bool,
    over: bool,
    arrived: u64,
}

/// An arriving transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Number of the transfer, from 0.
    pub number: u64,
    /// Size of the transfer.
    pub bytes: Bytes,
}

impl ArrivalProcess {
    /// The arrival process of a flow: `per_second` arrivals (no arrivals with `None`) of the given sizes, up to `count`
    /// of them, with at most `connections` simultaneous connections.
    #[must_use]
    pub fn new(
        per_second: Option<f64>,
        size: Distribution,
        count: Option<u64>,
        connections: u32,
        flow: &FlowContext,
    ) -> Self {
        Self {
            per_second,
            size,
            count,
            connections,
            stop: flow.stop,
            times: flow.stream(Purpose::Time),
            sizes: flow.stream(Purpose::Size),
            begun: false,
            over: false,
            arrived: 0,
        }
    }

    /// Maximum number of simultaneous connections.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// Handles the timer, which is due at `now`; returns the arriving transfer and the next timer. The first call only
    /// starts the process.
    pub fn on_timer(&mut self, now: Time) -> (Option<Arrival>, Time) {
        let Some(per_second) = self.per_second else { return (None, NEVER) };
        let mut arrival = None;
        if now >= self.stop {
            self.over = true;
        } else if self.begun {
            let bytes = sample_size(&self.size, &mut self.sizes);
            arrival = Some(Arrival { number: self.arrived, bytes });
            self.arrived += 1;
            self.over = self.count.is_some_and(|count| self.arrived >= count);
        }
        self.begun = true;
        // The interarrival times of a Poisson process are exponential.
        let gap = sample(&Distribution::Exponential(1e9 / per_second), &mut self.times);
        let next = if self.over { NEVER } else { (now + Duration::from_nanos((gap + 0.5) as u64)).min(self.stop) };
        (arrival, next)
    }

    /// Whether the process has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Poisson process of 1,000 arrivals per second: 20,000 of them take 20 s, with a standard deviation of 1/√20,000 =
    /// 0.7 % of that.
    #[test]
    fn arrivals_have_the_configured_mean_rate() {
        let flow = FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) };
        let mut process = ArrivalProcess::new(Some(1_000.0), Distribution::Fixed(10.0), Some(20_000), 1, &flow);
        let mut now = Time::ZERO;
        let mut arrived = 0;
        loop {
            let (arrival, next) = process.on_timer(now);
            if let Some(arrival) = arrival {
                assert_eq!(arrival, Arrival { number: arrived, bytes: Bytes(10) });
                arrived += 1;
            }
            if next == NEVER {
                break;
            }
            now = next;
        }
        assert_eq!((arrived, process.is_over()), (20_000, true));
        assert!((now.as_secs() / 20.0 - 1.0).abs() < 0.03, "{now:?}");
    }
}
