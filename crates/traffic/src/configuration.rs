//! What a workload's configuration does, and fields that several workloads have.

use cwndlab_config::{Faults, Field, Kind, Reader};
use cwndlab_units::{Bytes, Rate};

use crate::application::{Application, ApplicationKind, Offered};
use crate::flow_context::FlowContext;

/// How many transfers, exchanges or pages there are.
pub(crate) const COUNT: Field = Field::new("count", Kind::Whole(1, u64::MAX), "how many").absent("without end");
/// Whether each has its own connection.
pub(crate) const NEW_CONNECTION: Field = Field::flag("new_connection", false, "each over a connection of its own");

/// What carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A connection with congestion control.
    Tcp,
    /// Packets alone.
    Udp,
}

/// Sizes of a connection's packets.
#[derive(Clone, Copy, Debug)]
pub struct PacketSizes {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// A packet without payload.
    pub ack: Bytes,
}

/// The configuration of a workload.
pub trait Configuration: Sized {
    /// What it may be carried by.
    const TRANSPORTS: &'static [Transport] = &[Transport::Tcp];

    /// Reads the fields of its `SPEC`.
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self>;

    /// Checks fields whose meaning depends on what carries the flow.
    fn check(&self, _transport: Transport, _table: &Reader<'_>, _faults: &mut Faults) {}

    /// Which application its flows have.
    fn application_kind(&self) -> ApplicationKind;

    /// The application of a flow at its beginning.
    fn application(&self, flow: &FlowContext) -> Application;

    /// What it offers to the network.
    fn offered(&self) -> Offered {
        Offered::Unknown
    }

    /// The most connections that it has at once beside the flow's own.
    fn secondary_connections(&self) -> u32 {
        0
    }

    /// Over UDP: bytes of its largest packet, headers included.
    fn packet(&self) -> Option<Bytes> {
        None
    }

    /// Its rate is a share of the slowest line of the route.
    fn needs_line(&self) -> bool {
        false
    }

    /// Tells it the rate of that line, and what its packets carry.
    fn set_line(&mut self, _rate: Rate, _sizes: &PacketSizes) {}
}
