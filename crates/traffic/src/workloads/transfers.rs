//! One transfer after another.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::{Bytes, Duration};

use crate::application::{Application, ApplicationKind};
use crate::byte_source::{ByteSource, Script};
use crate::configuration::{Configuration, COUNT, NEW_CONNECTION};
use crate::flow_context::FlowContext;

/// The entry among the workloads.
pub static SPEC: Table = Table::new(
    "transfers",
    "One transfer after another, the next one `gap` after the last was acknowledged (TCP).",
    &[&[
        Field::new("bytes", Kind::Bytes, "size of each").required("'bytes = \"100 kB\"'").above_zero(),
        COUNT,
        Field::duration("gap", "0 s", "from the last acknowledgement of one to the start of the next"),
        NEW_CONNECTION,
    ]],
)
.class("Transfers");

/// The configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Size of each.
    pub bytes: Bytes,
    /// How many; `None` is without end.
    pub count: Option<u64>,
    /// From the last acknowledgement of one to the start of the next.
    pub gap: Duration,
    /// Each over a connection of its own, with handshake and initial window.
    pub new_connection: bool,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (bytes, count) = (table.bytes("bytes", faults), table.whole("count", faults));
        let (gap, new_connection) = (table.duration("gap", faults), table.flag("new_connection", faults));
        Some(Self { bytes: bytes?, count, gap: gap?, new_connection: new_connection? })
    }

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::ByteSource { bulk: false }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let &Self { bytes, count, gap, new_connection } = self;
        Application::ByteSource(ByteSource::new(Script::Transfers { count, bytes, gap, new_connection }, flow))
    }
}
