//! Conformance tests for any congestion control.
//!
//! [`check`] runs an algorithm, given by a constructor and its declared [`Traits`], through the [cases] and validates
//! its outputs after each event against the [rules]. The result is a [`Report`]: for each rule whether it holds, and
//! otherwise the first event that violates it.
//!
//! - [`rules`]: one function per rule, with its reason and source;
//! - [`cases`]: event sequences, most of them from a model of a path whose state depends on the window;
//! - [`faulty`]: algorithms with one fault each, and the rules that detect it.
//!
//! ```
//! use cwndlab_conformance::{check_sized, faulty, BatterySize, Traits};
//!
//! let report = check_sized("reno", Traits::default(), faulty::without_fault, &BatterySize::SMALL);
//! assert!(report.holds(), "{report}");
//! ```

mod algorithm_texts;
mod battery_size;
mod broken_rule;
pub mod cases;
pub mod cost;
mod describe;
pub mod faulty;
mod fuzz;
mod harness;
mod line;
mod model_flow;
mod path_model;
mod random;
mod report;
pub mod rules;
mod script;
mod sender;
mod traits;

use std::sync::atomic::AtomicBool;

use cwndlab_control::{CongestionControl, Path};

pub use algorithm_texts::algorithm_texts;
pub use battery_size::BatterySize;
pub use broken_rule::BrokenRule;
pub use report::{Finding, Report, Row, Violation};
pub use traits::Traits;

use harness::Findings;

/// Runs the battery at full size.
#[must_use]
pub fn check(name: &str, traits: impl Into<Traits>, make: impl Fn(&Path) -> Box<dyn CongestionControl>) -> Report {
    check_sized(name, traits, make, &BatterySize::FULL)
}

/// Runs the battery at the given size.
#[must_use]
pub fn check_sized(
    name: &str,
    traits: impl Into<Traits>,
    make: impl Fn(&Path) -> Box<dyn CongestionControl>,
    size: &BatterySize,
) -> Report {
    let never = AtomicBool::new(false);
    check_until(name, traits, make, size, &never).expect("the battery is not cancelled")
}

/// Runs the battery at the given size; returns `None` if `stop` is set before the end.
#[must_use]
pub fn check_until(
    name: &str,
    traits: impl Into<Traits>,
    make: impl Fn(&Path) -> Box<dyn CongestionControl>,
    size: &BatterySize,
    stop: &AtomicBool,
) -> Option<Report> {
    let traits = traits.into();
    let mut findings = Findings::new(&traits, stop);
    cases::run(&traits, &make, size, &mut findings);
    fuzz::run(&traits, &make, size, &mut findings);
    if findings.is_cancelled() {
        return None;
    }
    let ns_per_ack = cost::ns_per_ack(&traits, &make, size.timed.0, size.timed.1);
    Some(findings.report(name, ns_per_ack))
}

#[cfg(test)]
mod tests;
