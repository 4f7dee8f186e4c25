//! Transfers that arrive as a Poisson process, however many are under way (open loop).

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_network::random::Stream;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use super::fields::COUNT;
use super::{Configuration, PacketSizes};
use crate::application::{Application, FlowContext, Offered};
use crate::distribution::Distribution;
use crate::distribution_fields::{self, Unit, SIZE};
use crate::sampling::{sample, sample_size, SIZE_STREAM, TIME_STREAM};
use crate::NEVER;

/// The entry among the workloads.
pub static SPEC: Table = Table::new(
    "arrivals",
    "A Poisson process of transfers, each over a connection of its own, however many there are: open loop (TCP).",
    &[&[
        Field::new("per_second", Kind::Number(0.0, 1e9), "arrivals per second").absent("by `load`"),
        Field::new(
            "load",
            Kind::Number(0.0, 100.0),
            "offered load as a share of the slowest line of the forward route, headers included",
        )
        .absent("by `per_second`"),
        Field::new("size", SIZE, "sizes of the transfers").required("'size = \"20 kB\"'"),
        COUNT,
        Field::whole(
            "connections",
            (1, 1_000_000),
            10_000,
            "connections at the same time at most; further arrivals are refused",
        ),
    ]],
)
.class("Arrivals");

/// How often transfers arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// Arrivals per second.
    PerSecond(f64),
    /// Offered load as a share of the slowest line of the forward route, headers included.
    Load(f64),
}

/// The configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How often.
    pub intensity: Intensity,
    /// Their sizes.
    pub size: Distribution,
    /// How many; `None` is without end.
    pub count: Option<u64>,
    /// Connections at the same time at most; what arrives beyond is refused.
    pub connections: u32,
}

fn read_intensity(table: &Reader<'_>, faults: &mut Faults) -> Option<Intensity> {
    match (table.get("per_second"), table.get("load")) {
        (Some(_), None) => table.number("per_second", faults).map(Intensity::PerSecond),
        (None, Some(_)) => table.number("load", faults).map(Intensity::Load),
        (None, None) => {
            faults.add(
                table.at("per_second"),
                "is missing",
                "write 'per_second = 20.0', or 'load = 0.5' for a share of the slowest line",
            );
            None
        }
        (Some(_), Some(_)) => {
            faults.add(table.at("load"), "stands beside 'per_second'", "one of them is enough");
            None
        }
    }
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let size = distribution_fields::positive(table, "size", Unit::Size, faults);
        let intensity = read_intensity(table, faults);
        if matches!(intensity, Some(Intensity::Load(_))) && size.as_ref().is_some_and(|size| size.mean().is_infinite())
        {
            faults.add(
                table.at("load"),
                "sizes without a mean make no load",
                "bound them by 'max', or give 'per_second'",
            );
        }
        Some(Self {
            intensity: intensity?,
            size: size?,
            count: table.whole("count", faults),
            connections: table.whole("connections", faults)? as u32,
        })
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Arrivals(ArrivalProcess::new(self, flow))
    }

    fn offered(&self) -> Offered {
        match self.intensity {
            Intensity::PerSecond(per_second) => Offered::Transfers { per_second, count: self.count },
            Intensity::Load(_) => Offered::Unknown,
        }
    }

    fn secondary_connections(&self) -> u32 {
        self.connections
    }

    fn needs_line(&self) -> bool {
        matches!(self.intensity, Intensity::Load(_))
    }

    /// A load becomes the number of arrivals per second that offers it: of each transfer its bytes, the headers of its
    /// segments and its SYN cross the line.
    fn set_line(&mut self, rate: Rate, sizes: &PacketSizes) {
        if let Intensity::Load(share) = self.intensity {
            let (bytes, segments) = self.size.bytes_and_segments(sizes.mss.0 as f64);
            let crossing = bytes + segments * sizes.header.0 as f64 + sizes.ack.0 as f64;
            self.intensity = Intensity::PerSecond(share * rate.0 as f64 / (8.0 * crossing));
        }
    }
}

/// The process.
#[derive(Debug)]
pub struct ArrivalProcess {
    /// Arrivals per second; `None` if the load has no line to refer to.
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

/// A transfer that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub number: u64,
    /// Its size.
    pub bytes: Bytes,
}

impl ArrivalProcess {
    /// The arrivals of a flow.
    #[must_use]
    pub fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            per_second: match config.intensity {
                Intensity::PerSecond(rate) => Some(rate),
                Intensity::Load(_) => None,
            },
            size: config.size.clone(),
            count: config.count,
            connections: config.connections,
            stop: flow.stop,
            times: flow.stream(TIME_STREAM),
            sizes: flow.stream(SIZE_STREAM),
            begun: false,
            over: false,
            arrived: 0,
        }
    }

    /// Connections at the same time at most.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// The timer is due at `now`; returns the transfer that arrives, and when the timer is due next. The first call only
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
        // Exponential gaps make a Poisson process.
        let gap = sample(&Distribution::Exponential(1e9 / per_second), &mut self.times);
        let next = if self.over { NEVER } else { (now + Duration((gap + 0.5) as u64)).min(self.stop) };
        (arrival, next)
    }

    /// Whether no more transfers arrive.
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
    fn arrivals_come_at_their_mean_rate() {
        let config = Config {
            intensity: Intensity::PerSecond(1_000.0),
            size: Distribution::Fixed(10.0),
            count: Some(20_000),
            connections: 1,
        };
        let flow = FlowContext { flow: 0, seed: 1, stop: NEVER, header: Bytes(40) };
        let mut process = ArrivalProcess::new(&config, &flow);
        let (mut now, mut arrived) = (Time::ZERO, 0);
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
