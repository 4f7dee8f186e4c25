//! Constant bit rate: evenly spaced packets of one size.

use cwndlab_config::{fields, Table};
use cwndlab_units::Bytes;

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, SendPattern};
use crate::flow_context::FlowContext;
use crate::packets::Packets;

/// The declaration of the workload.
pub static SPEC: Table =
    Table::new("cbr", "Constant bit rate: evenly spaced packets of one size (UDP).", &[Config::FIELDS]).class("Cbr");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// rate and packet size
        packets: Packets,
    }
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Datagrams
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Datagrams(Datagrams::new(self.packets.rate, self.packets.packet, SendPattern::Steady, flow))
    }

    fn offered_load(&self) -> OfferedLoad {
        OfferedLoad::Packets { per_second: self.packets.per_second() }
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.packets.packet)
    }
}
