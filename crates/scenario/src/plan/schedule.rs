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
        /// mean of the delay variation of bad Wi-Fi from then on
        wifi_jitter: Option<Duration> = absent("as before"),
        /// on a cell: mean SNR from then on, dB
        snr: Option<Decibels> = absent("as before"),
        /// on a cell: interruption by a hand-over that begins then
        handover: Option<Duration> = absent("no hand-over"),
    }
}

/// A step of a schedule with all values of the link from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilledStep {
    /// Time of the step.
    pub at: Duration,
    /// Rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Loss probability of the schedule.
    pub loss: f64,
    /// Mean of the delay variation of bad Wi-Fi; `None`: there is none.
    pub wifi_jitter: Option<Duration>,
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

    /// Whether the delay, its variation or the loss probability changes.
    #[must_use]
    pub fn changes_wire(&self) -> bool {
        self.steps.iter().any(|step| step.delay.is_some() || step.loss.is_some() || step.wifi_jitter.is_some())
    }

    /// All steps from time 0 on with explicit values; those of the link apply before the first step.
    #[must_use]
    pub fn filled(&self, rate: Rate, delay: Duration, wifi_jitter: Option<Duration>) -> Vec<FilledStep> {
        let mut all = vec![FilledStep { at: Duration::ZERO, rate, delay, loss: 0.0, wifi_jitter }];
        for step in &self.steps {
            let before = all[all.len() - 1];
            let next = FilledStep {
                at: step.at,
                rate: step.rate.unwrap_or(before.rate),
                delay: step.delay.unwrap_or(before.delay),
                loss: step.loss.unwrap_or(before.loss),
                wifi_jitter: step.wifi_jitter.or(before.wifi_jitter),
            };
            if step.at == Duration::ZERO {
                all.clear();
            }
            all.push(next);
        }
        all
    }
}
