//! As much data as possible, or a certain amount.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::Bytes;

use crate::application::{Application, ApplicationKind, Offered};
use crate::byte_source::{ByteSource, Script};
use crate::configuration::Configuration;
use crate::flow_context::FlowContext;

/// The entry among the workloads.
pub static SPEC: Table = Table::new(
    "bulk",
    "As much as possible (TCP).",
    &[&[Field::new("bytes", Kind::Bytes, "how much").absent("without end").above_zero()]],
)
.class("Bulk");

/// The configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How much; `None` is without end.
    pub bytes: Option<Bytes>,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        Some(Self { bytes: table.bytes("bytes", faults) })
    }

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::ByteSource { bulk: self.bytes.is_none() }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::ByteSource(ByteSource::new(Script::Once(self.bytes), flow))
    }

    fn offered(&self) -> Offered {
        Offered::Bytes(self.bytes)
    }
}
