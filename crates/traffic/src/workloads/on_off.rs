//! Alternating active and silent periods.

use cwndlab_config::{fields, Faults, Reader, Table};
use cwndlab_units::{Bytes, Rate};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, SendPattern};
use crate::distribution_fields::{PositiveTimes, Times};
use crate::flow_context::FlowContext;
use crate::packets::{Packets, DEFAULT_PACKET};

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "on-off",
    "Alternating active (`on`) and silent (`off`) periods (TCP, UDP). In active periods TCP sends unlimited data, UDP evenly spaced packets at `rate`. The active time since the last packet carries over to the next active period, so that the mean rate is `rate` × on / (on + off) for any length of the periods.",
    &[Config::FIELDS],
)
.class("OnOff");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// lengths of active periods
        on: PositiveTimes = required("'on = \"2 s\"'"),
        /// lengths of silent periods
        off: Times = required("'off = \"2 s\"'"),
        /// UDP: rate in active periods, headers included
        rate: Option<Rate> = absent("required over UDP"),
        /// UDP: size of a packet, headers included
        packet: Option<Bytes> = absent("1500 B over UDP"),
    }
    check
}

impl Config {
    /// The packets over UDP.
    fn packets(&self) -> Option<Packets> {
        self.rate.map(|rate| Packets { rate, packet: self.packet.unwrap_or(DEFAULT_PACKET) })
    }

    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if let Some(packets) = self.packets() {
            packets.check(table, faults);
        }
    }
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Tcp, Transport::Udp];

    fn check_transport(&self, transport: Transport, table: &Reader<'_>, faults: &mut Faults) {
        if transport == Transport::Udp && self.rate.is_none() {
            faults.add(table.at("rate"), "is missing", "write 'rate = \"2 Mbps\"'");
        }
        for (key, given) in [("rate", self.rate.is_some()), ("packet", self.packet.is_some())] {
            if transport == Transport::Tcp && given {
                faults.add(
                    table.at(key),
                    "is only for a flow over UDP",
                    "remove it: TCP sends unlimited data in active periods",
                );
            }
        }
    }

    fn application_kind(&self) -> ApplicationKind {
        match self.packets() {
            Some(_) => ApplicationKind::Datagrams,
            None => ApplicationKind::ByteSource { bulk: false },
        }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let on = self.on.clone();
        let off = self.off.clone();
        match self.packets() {
            Some(Packets { rate, packet }) => {
                Application::Datagrams(Datagrams::new(rate, packet, SendPattern::OnOff { on, off }, flow))
            }
            None => Application::ByteSource(ByteSource::new(WritePattern::Periods { on, off }, flow)),
        }
    }

    fn offered_load(&self) -> OfferedLoad {
        let load = |packets: Packets| OfferedLoad::Packets { per_second: packets.per_second() };
        self.packets().map_or(OfferedLoad::Unknown, load)
    }

    fn packet(&self) -> Option<Bytes> {
        self.packets().map(|packets| packets.packet)
    }
}
