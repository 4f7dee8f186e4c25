//! Writes at a rate that changes at given times: an application that limits its flow.

use cwndlab_config::{Faults, Field, Kind, Reader, Table};
use cwndlab_units::Bytes;

use crate::application::{Application, ApplicationKind};
use crate::byte_source::{ByteSource, WritePattern};
use crate::configuration::Configuration;
use crate::flow_context::FlowContext;
use crate::write_schedule::{WriteSchedule, WriteStep};

const UNLIMITED: &str = "unlimited";

static STEP: Table = Table::new(
    "write_step",
    "A step of the schedule of writes.",
    &[&[
        Field::new("at", Kind::Duration, "time after the start of the flow, ascending").required("'at = \"2 s\"'"),
        Field::new(
            "rate",
            Kind::Either(&[Kind::RateOrOutage, Kind::Words(&[(UNLIMITED, "as much as the connection takes")])]),
            "rate of the writes from then on, payload; `\"0 Mbps\"` pauses",
        )
        .required("'rate = \"1 Mbps\"'"),
    ]],
);

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "scheduled-writes",
    "Writes of equal size at a rate that changes at given times, so that the application limits the flow in chosen periods (TCP).",
    &[&[
        Field::new("steps", Kind::List(&Kind::Table(&STEP)), "rates and the times from which they hold")
            .required("'steps = [{ at = \"0 s\", rate = \"1 Mbps\" }]'"),
        Field::bytes("write", "1448 B", "size of a write").above_zero(),
    ]],
)
.class("ScheduledWrites");

/// The configuration of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The steps, at ascending times.
    pub steps: Vec<WriteStep>,
    /// Size of a write.
    pub write: Bytes,
}

impl Configuration for Config {
    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let mut steps: Vec<WriteStep> = Vec::new();
        for (path, item) in table.items("steps", faults) {
            let Some(inner) = Reader::new(item, path, &STEP, faults) else { continue };
            let Some(at) = inner.duration("at", faults) else { continue };
            let unlimited = inner.get("rate").and_then(|value| value.as_str()) == Some(UNLIMITED);
            let rate = if unlimited { None } else { Some(inner.rate("rate", faults)?) };
            if steps.last().is_some_and(|last| last.at >= at) {
                faults.add(inner.at("at"), format!("{at} is not after the previous step"), "the times of steps ascend");
            }
            steps.push(WriteStep { at, rate });
        }
        Some(Self { steps, write: table.bytes("write", faults)? })
    }

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::ByteSource { bulk: false }
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let schedule = WriteSchedule::new(self.steps.clone(), self.write);
        Application::ByteSource(ByteSource::new(WritePattern::Scheduled(Box::new(schedule)), flow))
    }
}
