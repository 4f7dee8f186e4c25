//! Writes at a rate that changes at given times: an application that limits its flow.

use cwndlab_config::{fields, Faults, FieldType, Kind, Positive, Reader, Table};
use cwndlab_units::Bytes;

use crate::application::{Application, ApplicationKind};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::Configuration;
use crate::flow_context::FlowContext;
use crate::write_schedule::{WriteSchedule, WriteStep};

/// Steps at ascending times.
#[derive(Debug)]
pub enum Steps {}

static STEP: Table = Table::new("write_step", "A step of the schedule of writes.", &[WriteStep::FIELDS]);

impl FieldType for Steps {
    type Value = Vec<WriteStep>;

    const KIND: Kind = Kind::List(&Kind::Table(&STEP));

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Vec<WriteStep>> {
        let mut steps: Vec<WriteStep> = Vec::new();
        for (path, item) in table.items(name, faults) {
            let Some(inner) = Reader::new(item, path, &STEP, faults) else { continue };
            let Some(step) = WriteStep::read(&inner, faults) else { continue };
            if steps.last().is_some_and(|last| last.at >= step.at) {
                let what = format!("{} is not after the previous step", step.at);
                faults.add(inner.at("at"), what, "the times of steps ascend");
            }
            steps.push(step);
        }
        Some(steps)
    }
}

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "scheduled-writes",
    "Writes of equal size at a rate that changes at given times, so that the application limits the flow in chosen periods (TCP).",
    &[Config::FIELDS],
)
.class("ScheduledWrites");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// rates and the times from which they hold
        steps: Steps = required("'steps = [{ at = \"0 s\", rate = \"1 Mbps\" }]'"),
        /// size of a write
        write: Positive<Bytes> = "1448 B",
    }
}

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::ByteSource { bulk: false }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let schedule = WriteSchedule::new(self.steps.clone(), self.write);
        Application::ByteSource(ByteSource::new(WritePattern::Scheduled(Box::new(schedule)), flow))
    }
}
