//! A Poisson process of transfers, independent of the number of active transfers (open loop).

use cwndlab_config::{fields, Faults, Positive, Reader, Table};
use cwndlab_units::Rate;

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::arrival_process::ArrivalProcess;
use crate::configuration::{Configuration, PacketSizes};
use crate::distribution_fields::PositiveSizes;
use crate::flow_context::FlowContext;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "arrivals",
    "A Poisson process of transfers, each over a new connection with handshake and slow start, independent of the number of active transfers: open loop (TCP). `load` includes the headers of segments and the SYNs. An arrival is refused, with an event `refused`, while `connections` transfers are active.",
    &[Config::FIELDS],
)
.class("Arrivals");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// arrivals per second
        per_second: Option<f64> = absent("computed from `load`") up to 1e9,
        /// offered load as a share of the slowest line of the forward route, headers included
        load: Option<f64> = absent("given by `per_second`") up to 100.0,
        /// sizes of the transfers
        size: PositiveSizes = required("'size = \"20 kB\"'"),
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// maximum number of simultaneous connections; further arrivals are refused
        connections: u32 = 10_000 in 1..=1_000_000,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        match (self.per_second, self.load) {
            (None, None) => faults.add(
                table.at("per_second"),
                "is missing",
                "write 'per_second = 20.0', or 'load = 0.5' for a share of the slowest line",
            ),
            (Some(_), Some(_)) => faults.add(table.at("load"), "conflicts with 'per_second'", "remove one of them"),
            (None, Some(_)) if self.size.mean().is_infinite() => {
                let hint = "set 'max', or use 'per_second'";
                faults.add(table.at("load"), "a load requires sizes with a finite mean", hint);
            }
            _ => {}
        }
    }
}

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Arrivals
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Arrivals(ArrivalProcess::new(
            self.per_second,
            self.size.clone(),
            self.count,
            self.connections,
            flow,
        ))
    }

    fn offered_load(&self) -> OfferedLoad {
        match self.per_second {
            Some(per_second) => OfferedLoad::Transfers { per_second, count: self.count },
            None => OfferedLoad::Unknown,
        }
    }

    fn secondary_connections(&self) -> u32 {
        self.connections
    }

    fn needs_line(&self) -> bool {
        self.per_second.is_none()
    }

    /// Converts a load into arrivals per second. The line carries the bytes of each transfer, the headers of its
    /// segments and its SYN.
    fn set_line(&mut self, rate: Rate, sizes: &PacketSizes) {
        if let (None, Some(share)) = (self.per_second, self.load) {
            let (bytes, segments) = self.size.bytes_and_segments(sizes.mss.0 as f64);
            let crossing = bytes + segments * sizes.header.0 as f64 + sizes.ack.0 as f64;
            self.per_second = Some(share * rate.0 as f64 / (8.0 * crossing));
        }
    }
}
