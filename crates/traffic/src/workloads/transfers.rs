//! Consecutive transfers.

use cwndlab_config::{fields, Positive, Table};
use cwndlab_units::{Bytes, Duration};

use crate::application::{Application, ApplicationKind};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::Configuration;
use crate::flow_context::FlowContext;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "transfers",
    "Consecutive transfers, each `gap` after the last acknowledgement of the previous one (TCP).",
    &[Config::FIELDS],
)
.class("Transfers");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// size of a transfer
        bytes: Positive<Bytes> = required("'bytes = \"100 kB\"'"),
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// time from the last acknowledgement of a transfer to the start of the next one
        gap: Duration = "0 s",
        /// a separate connection for each
        new_connection: bool = false,
    }
}

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::ByteSource { bulk: false }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let &Self { bytes, count, gap, new_connection } = self;
        Application::ByteSource(ByteSource::new(WritePattern::Transfers { count, bytes, gap, new_connection }, flow))
    }
}
