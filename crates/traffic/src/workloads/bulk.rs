//! Unlimited data, or a given amount.

use cwndlab_config::{fields, Positive, Table};
use cwndlab_units::Bytes;

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::Configuration;
use crate::flow_context::FlowContext;

/// The declaration of the workload.
pub static SPEC: Table =
    Table::new("bulk", "Unlimited data, or a given amount (TCP).", &[Config::FIELDS]).class("Bulk");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// amount of data
        bytes: Option<Positive<Bytes>> = absent("unlimited"),
    }
}

impl Configuration for Config {
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
