//! Transfers that arrive as a Poisson process, however many are under way (open loop).

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::Rate;

use crate::application::{Application, ApplicationKind, Offered};
use crate::arrival_process::ArrivalProcess;
use crate::configuration::{Configuration, PacketSizes, COUNT};
use crate::distribution::Distribution;
use crate::distribution_fields::{self, Unit, SIZE};
use crate::flow_context::FlowContext;

/// The entry among the workloads.
pub static SPEC: Table = Table::new(
    "arrivals",
    "A Poisson process of transfers, each over a connection of its own with handshake and slow start, however many there are: open loop (TCP). `load` counts the headers of the transfers' segments and their SYNs. A transfer that finds `connections` others under way is refused: an event `refused`.",
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

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Arrivals
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let per_second = match self.intensity {
            Intensity::PerSecond(rate) => Some(rate),
            Intensity::Load(_) => None,
        };
        Application::Arrivals(ArrivalProcess::new(per_second, self.size.clone(), self.count, self.connections, flow))
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
