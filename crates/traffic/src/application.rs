//! The application of a flow, which an engine runs.

use cwndlab_units::Bytes;

use crate::arrival_process::ArrivalProcess;
use crate::byte_source::ByteSource;
use crate::datagrams::Datagrams;
use crate::dialogue::{Dialogue, End};
use crate::exchange::DatagramExchange;

/// The application of a flow, in its initial state.
#[derive(Debug)]
pub enum Application {
    /// An application that only writes, over consecutive connections.
    ByteSource(ByteSource),
    /// An arrival process of transfers, each with its own connection.
    Arrivals(ArrivalProcess),
    /// An exchange of messages between both ends.
    Dialogue(Box<dyn Dialogue>),
    /// Datagrams without a connection.
    Datagrams(Datagrams),
    /// An exchange of datagrams between both ends.
    Exchange(Box<DatagramExchange>),
}

/// The kind of a workload's application, on which depends what an engine prepares before a flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationKind {
    /// A [`ByteSource`].
    ByteSource {
        /// It writes unlimited data without pauses.
        bulk: bool,
    },
    /// An [`ArrivalProcess`].
    Arrivals,
    /// A [`Dialogue`], in which this end is the client.
    Dialogue(End),
    /// [`Datagrams`].
    Datagrams,
    /// A [`DatagramExchange`].
    Exchange,
}

/// The load that a workload offers to the network, as far as it is known before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OfferedLoad {
    /// A number of bytes; `None`: as many as the network carries.
    Bytes(Option<Bytes>),
    /// An arrival process of transfers.
    Transfers {
        /// Arrivals per second.
        per_second: f64,
        /// Total number of transfers; `None`: unlimited.
        count: Option<u64>,
    },
    /// A stream of packets.
    Packets {
        /// Packets per second in active periods.
        per_second: f64,
    },
    /// Known only in the run.
    Unknown,
}
