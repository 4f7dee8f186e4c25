//! Constant bit rate: evenly spaced packets of one size.

use cwndlab_config::{Faults, Reader, Table};
use cwndlab_units::{Bytes, Rate};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, SendPattern};
use crate::flow_context::FlowContext;
use crate::packets;

/// The declaration of the workload.
pub static SPEC: Table =
    Table::new("cbr", "Constant bit rate: evenly spaced packets of one size (UDP).", &[packets::FIELDS]).class("Cbr");

/// The configuration of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Rate, headers included.
    pub rate: Rate,
    /// Size of a packet, headers included.
    pub packet: Bytes,
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (rate, packet) = packets::read(table, faults)?;
        Some(Self { rate, packet })
    }

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Datagrams
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Datagrams(Datagrams::new(self.rate, self.packet, SendPattern::Steady, flow))
    }

    fn offered_load(&self) -> OfferedLoad {
        OfferedLoad::Packets { per_second: packets::per_second(self.rate, self.packet) }
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.packet)
    }
}
