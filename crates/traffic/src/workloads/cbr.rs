//! Packets of one size, evenly spaced.

use cwndlab_config::{Faults, Reader, Table};
use cwndlab_units::{Bytes, Rate};

use crate::application::{Application, ApplicationKind, Offered};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, Pattern};
use crate::flow_context::FlowContext;
use crate::packets;

/// The entry among the workloads.
pub static SPEC: Table =
    Table::new("cbr", "Packets of one size, evenly spaced (UDP).", &[packets::FIELDS]).class("Cbr");

/// The configuration.
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
        Application::Datagrams(Datagrams::new(self.rate, self.packet, Pattern::Steady, flow))
    }

    fn offered(&self) -> Offered {
        Offered::Packets { per_second: packets::per_second(self.rate, self.packet) }
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.packet)
    }
}
