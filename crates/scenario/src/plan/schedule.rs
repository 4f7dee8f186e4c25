//! Changes of a link with time.

use cwndlab_config::{fields, Faults, FieldType, Kind, Probability, RateOrOutage, Reader};
use cwndlab_units::{Duration, Rate};

/// Changes with time. A step changes only the values that it states.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SchedulePlan {
    /// Steps, ascending.
    pub steps: Vec<StepPlan>,
    /// Period of the schedule; `None`: no repetition.
    pub repeat: Option<Duration>,
}

fields! {
    /// A step of a schedule.
    #[derive(Clone, Copy, Debug, PartialEq, Default)]
    pub struct StepPlan {
        /// time of the step, ascending
        at: Duration = required("'at = \"10 s\"'"),
        /// rate from then on; `"0 Mbps"` is an outage
        rate: Option<RateOrOutage> = absent("as before"),
        /// propagation delay from then on
        delay: Option<Duration> = absent("as before"),
        /// loss probability from then on, in addition to the link's `loss`
        loss: Option<Probability> = absent("as before"),
        /// on a cell: mean SNR from then on, dB
        snr: Option<Decibels> = absent("as before"),
        /// on a cell: interruption by a hand-over that begins then
        handover: Option<Duration> = absent("no hand-over"),
    }
}

/// A ratio in dB, which may be negative.
#[derive(Debug)]
pub enum Decibels {}

impl FieldType for Decibels {
    type Value = f64;

    const KIND: Kind = Kind::Number(-60.0, 100.0);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<f64> {
        table.number(name, faults)
    }
}

impl SchedulePlan {
    /// Whether the rate changes.
    #[must_use]
    pub fn changes_rate(&self) -> bool {
        self.steps.iter().any(|step| step.rate.is_some())
    }

    /// Whether the delay or the loss probability changes.
    #[must_use]
    pub fn changes_wire(&self) -> bool {
        self.steps.iter().any(|step| step.delay.is_some() || step.loss.is_some())
    }

    /// All steps from time 0 on with explicit values; `rate` and `delay` apply before the first step.
    #[must_use]
    pub fn filled(&self, rate: Rate, delay: Duration) -> Vec<(Duration, Rate, Duration, f64)> {
        let mut all = vec![(Duration::ZERO, rate, delay, 0.0)];
        for step in &self.steps {
            let before = all[all.len() - 1];
            let next =
                (step.at, step.rate.unwrap_or(before.1), step.delay.unwrap_or(before.2), step.loss.unwrap_or(before.3));
            if step.at == Duration::ZERO {
                all.clear();
            }
            all.push(next);
        }
        all
    }
}
