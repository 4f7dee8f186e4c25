//! Hand-overs of a low-orbit satellite link: at equal intervals the link gets another rate and another delay, uniform
//! between two ends, after an interruption. Starlink's are 15 s apart, for all users at the same time (Mohan et al., WWW
//! 2024, doi:10.1145/3589334.3645328).

use cwndlab_config::{fields, Faults, FieldType, Kind, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Duration, Rate};

use crate::plan::{SchedulePlan, StepPlan};

fields! {
    /// Hand-overs at equal intervals.
    struct ReconfigurationFields {
        /// time between hand-overs; the first one is at its end
        every: Positive<Duration> = "15 s",
        /// lower end of the rate
        min_rate: Option<Positive<Rate>> = absent("the rate of the line remains"),
        /// upper end of the rate
        max_rate: Option<Positive<Rate>> = absent("that of 'min_rate'"),
        /// lower end of the propagation delay
        min_delay: Duration = required("'min_delay = \"8 ms\"'"),
        /// upper end of the propagation delay
        max_delay: Option<Duration> = absent("that of 'min_delay'"),
        /// longest interruption by a hand-over; each is uniform from 0 on
        max_interruption: Duration = "0 s",
        /// number of intervals, after which the first one follows again
        count: u32 = 40 in 1..=10_000,
        /// seed of the draws; that of the run does not change them
        seed: u32 = 1 in 0..=4_294_967_295,
    }
}

/// The schedule of the hand-overs.
#[derive(Debug)]
pub(super) struct Reconfiguration;

static RECONFIGURATION: Table = Table::new(
    "reconfiguration",
    "Hand-overs of a low-orbit satellite link at equal intervals.",
    &[ReconfigurationFields::FIELDS],
);

impl FieldType for Reconfiguration {
    type Value = SchedulePlan;

    const KIND: Kind = Kind::Table(&RECONFIGURATION);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<SchedulePlan> {
        let inner = table.table(name, faults)?;
        let fields = ReconfigurationFields::read(&inner, faults)?;
        let max_delay = fields.max_delay.unwrap_or(fields.min_delay);
        let rates = fields.min_rate.map(|min| (min, fields.max_rate.unwrap_or(min)));
        let before = faults.0.len();
        if max_delay < fields.min_delay {
            faults.add(inner.at("max_delay"), "is below 'min_delay'", "increase it");
        }
        if rates.is_some_and(|(min, max)| max < min) {
            faults.add(inner.at("max_rate"), "is below 'min_rate'", "increase it");
        }
        if rates.is_none() && (inner.gives("max_rate") || fields.max_interruption > Duration::ZERO) {
            faults.add(inner.at("min_rate"), "is missing", "write 'min_rate = \"50 Mbps\"'");
        }
        if fields.max_interruption >= fields.every {
            faults.add(inner.at("max_interruption"), "is not shorter than 'every'", "decrease it");
        }
        (faults.0.len() == before).then(|| schedule(&fields, max_delay, rates))
    }
}

/// The steps: at the start of an interval the line stops, and after the interruption it has the new rate and delay.
fn schedule(fields: &ReconfigurationFields, max_delay: Duration, rates: Option<(Rate, Rate)>) -> SchedulePlan {
    let mut stream = Stream::new(u64::from(fields.seed), Purpose::Wire, 0);
    let mut between = |low: u64, high: u64| low + (stream.unit() * (high - low) as f64) as u64;
    let mut steps = Vec::new();
    for interval in 0..fields.count {
        let start = fields.every * u64::from(interval);
        let delay = between(fields.min_delay.as_nanos(), max_delay.as_nanos());
        let rate = rates.map(|(min, max)| Rate(between(min.0, max.0)));
        let pause = Duration::from_nanos(between(0, fields.max_interruption.as_nanos()));
        let delay = Some(Duration::from_nanos(delay));
        if interval > 0 && pause > Duration::ZERO {
            steps.push(StepPlan { at: start, rate: rate.map(|_| Rate(0)), ..StepPlan::default() });
            steps.push(StepPlan { at: start + pause, rate, delay, ..StepPlan::default() });
        } else {
            steps.push(StepPlan { at: start, rate, delay, ..StepPlan::default() });
        }
    }
    SchedulePlan { steps, repeat: Some(fields.every * u64::from(fields.count)) }
}
