//! Conformance tests for any congestion control.
//!
//! [`check`] takes a maker and what the entry says, sends the algorithm through the [cases] and holds every
//! answer against the [rules]. What comes back is a [`Report`]: rule by rule whether it holds and, where it does
//! not, the event that broke it.
//!
//! - [`rules`]: one small function each, with why and whence;
//! - [`cases`]: streams of events, most of them from a path in small that answers to the window;
//! - [`faulty`]: algorithms with one fault each, and the rules that find it.
//!
//! ```
//! use cwndlab_conformance::{check_sized, faulty, Size, Traits};
//!
//! let report = check_sized("reno", Traits::default(), faulty::without_fault, &Size::SMALL);
//! assert!(report.holds(), "{report}");
//! ```

pub mod cases;
mod chance;
pub mod cost;
mod describe;
mod event;
mod event_log;
pub mod faulty;
mod fuzz;
mod harness;
mod line;
mod model_flow;
mod panics;
mod path_model;
mod report;
pub mod rules;
mod script;
mod sender;
mod size;
mod texts;
mod traits;

use std::sync::atomic::AtomicBool;

use cwndlab_control::{CongestionControl, Path};

pub use panics::Broken;
pub use report::{Finding, Report, Row, Violation};
pub use size::Size;
pub use texts::texts;
pub use traits::Traits;

use harness::Tally;

/// Runs the whole battery.
#[must_use]
pub fn check(name: &str, traits: impl Into<Traits>, make: impl Fn(&Path) -> Box<dyn CongestionControl>) -> Report {
    check_sized(name, traits, make, &Size::FULL)
}

/// Runs the battery in another size.
#[must_use]
pub fn check_sized(
    name: &str,
    traits: impl Into<Traits>,
    make: impl Fn(&Path) -> Box<dyn CongestionControl>,
    size: &Size,
) -> Report {
    let never = AtomicBool::new(false);
    check_until(name, traits, make, size, &never).expect("nobody wished to stop")
}

/// The same; `None` once `stop` is set.
#[must_use]
pub fn check_until(
    name: &str,
    traits: impl Into<Traits>,
    make: impl Fn(&Path) -> Box<dyn CongestionControl>,
    size: &Size,
    stop: &AtomicBool,
) -> Option<Report> {
    let traits = traits.into();
    let mut tally = Tally::new(&traits, stop);
    cases::run(&traits, &make, size, &mut tally);
    fuzz::run(&traits, &make, size, &mut tally);
    if tally.stopped() {
        return None;
    }
    let ns_per_ack = cost::ns_per_ack(&traits, &make, size.timed.0, size.timed.1);
    Some(tally.report(name, ns_per_ack))
}

#[cfg(test)]
mod tests;
