//! A Poisson process of transfers, independent of the number of active transfers (open loop).

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::Rate;

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::arrival_process::ArrivalProcess;
use crate::configuration::{Configuration, PacketSizes, COUNT};
use crate::distribution::Distribution;
use crate::distribution_fields::{self, Unit, SIZE};
use crate::flow_context::FlowContext;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "arrivals",
    "A Poisson process of transfers, each over a new connection with handshake and slow start, independent of the number of active transfers: open loop (TCP). `load` includes the headers of segments and the SYNs. An arrival is refused, with an event `refused`, while `connections` transfers are active.",
    &[&[
        Field::new("per_second", Kind::Number(0.0, 1e9), "arrivals per second").absent("computed from `load`"),
        Field::new(
            "load",
            Kind::Number(0.0, 100.0),
            "offered load as a share of the slowest line of the forward route, headers included",
        )
        .absent("given by `per_second`"),
        Field::new("size", SIZE, "sizes of the transfers").required("'size = \"20 kB\"'"),
        COUNT,
        Field::integer(
            "connections",
            (1, 1_000_000),
            10_000,
            "maximum number of simultaneous connections; further arrivals are refused",
        ),
    ]],
)
.class("Arrivals");

/// The arrival rate of transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// Arrivals per second.
    PerSecond(f64),
    /// Offered load as a share of the slowest line of the forward route, headers included.
    Load(f64),
}

/// The configuration of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Arrival rate.
    pub intensity: Intensity,
    /// Distribution of the sizes.
    pub size: Distribution,
    /// Total number of transfers; `None`: unlimited.
    pub count: Option<u64>,
    /// Maximum number of simultaneous connections; further arrivals are refused.
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
            faults.add(table.at("load"), "conflicts with 'per_second'", "remove one of them");
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
            faults.add(table.at("load"), "a load requires sizes with a finite mean", "set 'max', or use 'per_second'");
        }
        Some(Self {
            intensity: intensity?,
            size: size?,
            count: table.integer("count", faults),
            connections: table.integer("connections", faults)? as u32,
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

    fn offered_load(&self) -> OfferedLoad {
        match self.intensity {
            Intensity::PerSecond(per_second) => OfferedLoad::Transfers { per_second, count: self.count },
            Intensity::Load(_) => OfferedLoad::Unknown,
        }
    }

    fn secondary_connections(&self) -> u32 {
        self.connections
    }

    fn needs_line(&self) -> bool {
        matches!(self.intensity, Intensity::Load(_))
    }

    /// Converts a load into arrivals per second. The line carries the bytes of each transfer, the headers of its
    /// segments and its SYN.
    fn set_line(&mut self, rate: Rate, sizes: &PacketSizes) {
        if let Intensity::Load(share) = self.intensity {
            let (bytes, segments) = self.size.bytes_and_segments(sizes.mss.0 as f64);
            let crossing = bytes + segments * sizes.header.0 as f64 + sizes.ack.0 as f64;
            self.intensity = Intensity::PerSecond(share * rate.0 as f64 / (8.0 * crossing));
        }
    }
}
