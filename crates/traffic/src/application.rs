//! What an engine drives: the application of a flow at its beginning.

use cwndlab_units::Bytes;

use crate::arrival_process::ArrivalProcess;
use crate::byte_source::ByteSource;
use crate::datagrams::Datagrams;
use crate::dialogue::{Dialogue, End};

/// The application of a flow.
#[derive(Debug)]
pub enum Application {
    /// It only writes, over one connection after another.
    ByteSource(ByteSource),
    /// Transfers that arrive, each over a connection of its own.
    Arrivals(ArrivalProcess),
    /// Both ends send messages.
    Dialogue(Box<dyn Dialogue>),
    /// Packets without a connection.
    Datagrams(Datagrams),
}

/// Which of these a workload has: what an engine prepares for it depends on that before a flow begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationKind {
    /// A [`ByteSource`].
    ByteSource {
        /// It writes once, without end.
        bulk: bool,
    },
    /// An [`ArrivalProcess`].
    Arrivals,
    /// A [`Dialogue`], in which this end opens the connection.
    Dialogue(End),
    /// [`Datagrams`].
    Datagrams,
}

/// What a workload offers to the network, where that is known before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// As much as the network carries, or so many bytes of it.
    Bytes(Option<Bytes>),
    /// So many transfers per second, up to this number of them.
    Transfers {
        /// Arrivals per second.
        per_second: f64,
        /// How many; `None` is without end.
        count: Option<u64>,
    },
    /// So many packets per second.
    Packets {
        /// While it sends.
        per_second: f64,
    },
    /// It depends on the run.
    Unknown,
}
