//! The interface of a workload's configuration.

use cwndlab_config::{Faults, Reader};
use cwndlab_units::{Bytes, Duration, Rate};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::flow_context::FlowContext;
use crate::media::custom::CustomControl;

/// The transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP: a connection with congestion control.
    Tcp,
    /// UDP: packets without a connection.
    Udp,
}

/// The packet sizes of a connection.
#[derive(Clone, Copy, Debug)]
pub struct PacketSizes {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of a packet without payload.
    pub ack: Bytes,
}

/// The shortest interval of a timer that repeats: a shorter one would make its expiries most of the events of a run.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Refuses an interval of a timer that is shorter than a millisecond, but not zero, which disables it.
pub(crate) fn check_interval(table: &Reader<'_>, name: &str, interval: Duration, hint: &str, faults: &mut Faults) {
    if interval != Duration::ZERO && interval < SHORTEST_INTERVAL {
        faults.add(table.at(name), format!("is shorter than {SHORTEST_INTERVAL}"), hint);
    }
}

/// The configuration of a workload, which [`fields!`](cwndlab_config::fields!) declares.
pub trait Configuration: Sized {
    /// The transport protocols that the workload supports.
    const TRANSPORTS: &'static [Transport] = &[Transport::Tcp];

    /// Checks the fields that depend on the transport protocol.
    fn check_transport(&self, _transport: Transport, _table: &Reader<'_>, _faults: &mut Faults) {}

    /// The kind of application of its flows.
    fn application_kind(&self) -> ApplicationKind;

    /// The application of a flow, in its initial state.
    fn application(&self, flow: &FlowContext) -> Application;

    /// The load that the workload offers to the network.
    fn offered_load(&self) -> OfferedLoad {
        OfferedLoad::Unknown
    }

    /// Names of the flows whose messages the application sends on.
    fn sources(&self) -> &[String] {
        &[]
    }

    /// Maximum number of simultaneous connections in addition to the flow's own.
    fn secondary_connections(&self) -> u32 {
        0
    }

    /// Whether the connections are QUIC's: their packets have its headers, their handshake is the application's, and each
    /// message has a stream of its own.
    fn is_quic(&self) -> bool {
        false
    }

    /// Size of the largest packet over UDP, headers included; `None` over TCP.
    fn packet(&self) -> Option<Bytes> {
        None
    }

    /// Whether its packets over UDP carry ECT(1).
    fn is_scalable(&self) -> bool {
        false
    }

    /// The congestion control for media that a class of the user implements.
    fn custom_control(&self) -> Option<&CustomControl> {
        None
    }

    /// Whether the workload's rate is a share of the slowest line of the route.
    fn needs_line(&self) -> bool {
        false
    }

    /// Sets the rate of that line and the flow's packet sizes.
    fn set_line(&mut self, _rate: Rate, _sizes: &PacketSizes) {}
}
