//! Consecutive transfers.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::{Bytes, Duration};

use crate::application::{Application, ApplicationKind};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::{Configuration, COUNT, NEW_CONNECTION};
use crate::flow_context::FlowContext;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "transfers",
    "Consecutive transfers, each `gap` after the last acknowledgement of the previous one (TCP).",
    &[&[
        Field::new("bytes", Kind::Bytes, "size of a transfer").required("'bytes = \"100 kB\"'").above_zero(),
        COUNT,
        Field::duration("gap", "0 s", "time from the last acknowledgement of a transfer to the start of the next one"),
        NEW_CONNECTION,
    ]],
)
.class("Transfers");

/// The configuration of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Size of a transfer.
    pub bytes: Bytes,
    /// Number of transfers; `None`: unlimited.
    pub count: Option<u64>,
    /// Time from the last acknowledgement of a transfer to the start of the next one.
    pub gap: Duration,
    /// Each transfer has a new connection, with handshake and initial window.
    pub new_connection: bool,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (bytes, count) = (table.bytes("bytes", faults), table.integer("count", faults));
        let (gap, new_connection) = (table.duration("gap", faults), table.flag("new_connection", faults));
        Some(Self { bytes: bytes?, count, gap: gap?, new_connection: new_connection? })
    }

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::ByteSource { bulk: false }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let &Self { bytes, count, gap, new_connection } = self;
        Application::ByteSource(ByteSource::new(WritePattern::Transfers { count, bytes, gap, new_connection }, flow))
    }
}
