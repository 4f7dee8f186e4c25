//! Unlimited data, or a given amount.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::Bytes;

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::Configuration;
use crate::flow_context::FlowContext;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "bulk",
    "Unlimited data, or a given amount (TCP).",
    &[&[Field::new("bytes", Kind::Bytes, "amount of data").absent("unlimited").above_zero()]],
)
.class("Bulk");

/// The configuration of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Amount of data; `None`: unlimited.
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
        Application::ByteSource(ByteSource::new(WritePattern::Once(self.bytes), flow))
    }

    fn offered_load(&self) -> OfferedLoad {
        OfferedLoad::Bytes(self.bytes)
    }
}
