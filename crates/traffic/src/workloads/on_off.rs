//! Alternating active and silent periods.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::{Bytes, Rate};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, SendPattern};
use crate::distribution::Distribution;
use crate::distribution_fields::{self, Unit, TIME};
use crate::flow_context::FlowContext;
use crate::packets;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "on-off",
    "Alternating active (`on`) and silent (`off`) periods (TCP, UDP). In active periods TCP sends unlimited data, UDP evenly spaced packets at `rate`. The active time since the last packet carries over to the next active period, so that the mean rate is `rate` × on / (on + off) for any length of the periods.",
    &[&[
        Field::new("on", TIME, "lengths of active periods").required("'on = \"2 s\"'"),
        Field::new("off", TIME, "lengths of silent periods").required("'off = \"2 s\"'"),
        Field::new("rate", Kind::Rate, "UDP: rate in active periods, headers included").absent("required over UDP"),
        Field::new("packet", Kind::Bytes, "UDP: size of a packet, headers included").absent("1500 B over UDP"),
    ]],
)
.class("OnOff");

/// The configuration of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Lengths of active periods.
    pub on: Distribution,
    /// Lengths of silent periods.
    pub off: Distribution,
    /// UDP: rate in active periods and size of a packet, headers included.
    pub packets: Option<(Rate, Bytes)>,
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Tcp, Transport::Udp];

    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let on = distribution_fields::positive(table, "on", Unit::Time, faults);
        let off = distribution_fields::read(table, "off", Unit::Time, faults);
        let packets = if table.gives("rate") { packets::read(table, faults) } else { None };
        Some(Self { on: on?, off: off?, packets })
    }

    fn check(&self, transport: Transport, table: &Reader<'_>, faults: &mut Faults) {
        if transport == Transport::Udp && !table.gives("rate") {
            faults.add(table.at("rate"), "is missing", "write 'rate = \"2 Mbps\"'");
        }
        for key in ["rate", "packet"].into_iter().filter(|key| transport == Transport::Tcp && table.gives(key)) {
            faults.add(
                table.at(key),
                "is only for a flow over UDP",
                "remove it: TCP sends unlimited data in active periods",
            );
        }
    }

    fn application_kind(&self) -> ApplicationKind {
        match self.packets {
            Some(_) => ApplicationKind::Datagrams,
            None => ApplicationKind::ByteSource { bulk: false },
        }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let (on, off) = (self.on.clone(), self.off.clone());
        match self.packets {
            Some((rate, packet)) => {
                Application::Datagrams(Datagrams::new(rate, packet, SendPattern::OnOff { on, off }, flow))
            }
            None => Application::ByteSource(ByteSource::new(WritePattern::Periods { on, off }, flow)),
        }
    }

    fn offered_load(&self) -> OfferedLoad {
        let packets = |(rate, packet)| OfferedLoad::Packets { per_second: packets::per_second(rate, packet) };
        self.packets.map_or(OfferedLoad::Unknown, packets)
    }

    fn packet(&self) -> Option<Bytes> {
        self.packets.map(|(_, packet)| packet)
    }
}
