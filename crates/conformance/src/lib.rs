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
pub mod faulty;
mod fuzz;
mod harness;
mod panics;
mod path_model;
mod report;
pub mod rules;
mod script;

use std::sync::atomic::AtomicBool;

use cwndlab_control::{Algorithm, Catalogue, CongestionControl, Kind, Need, Path, Spec};

pub use panics::Broken;
pub use report::{Finding, Report, Row, Violation};

use harness::Tally;

/// What an entry declares of its algorithm, as far as the battery uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// [`Spec::model_based`]: it is excepted from the rules for windows that losses drive.
    pub model_based: bool,
    /// [`Spec::needs`]: the paths pace, and their routers answer, where it needs them to.
    pub needs: Vec<Need>,
}

impl From<&Spec> for Traits {
    fn from(spec: &Spec) -> Self {
        Self { model_based: spec.model_based, needs: spec.needs.to_vec() }
    }
}

/// A growth with its slow start: what either of them declares.
impl From<&Algorithm> for Traits {
    fn from(algorithm: &Algorithm) -> Self {
        let mut traits = Self::from(algorithm.growth.spec);
        if let Some(part) = &algorithm.slow_start {
            traits.model_based |= part.spec.model_based;
            traits.needs.extend_from_slice(part.spec.needs);
        }
        traits
    }
}

/// How much of it: the rules and cases are the same in any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// ACKs of the long case.
    pub long_acks: u64,
    /// Window of the wide case, segments.
    pub wide_segments: u64,
    /// ACKs of any other case.
    pub acks: u64,
    /// Streams of each kind of fuzz.
    pub streams: u64,
    /// Events of such a stream.
    pub events: u64,
    /// ACKs whose cost is measured, and how often.
    pub timed: (usize, u32),
}

impl Size {
    /// 10⁷ ACKs, windows of 10⁶ segments: seconds per algorithm where the compiler optimises.
    pub const FULL: Self = Self {
        long_acks: 10_000_000,
        wide_segments: 1_000_000,
        acks: 30_000,
        streams: 40,
        events: 5_000,
        timed: (65_536, 5),
    };
    /// For what costs microseconds per ACK, as an algorithm in another language does: as many cases and as wide
    /// windows, but a fifth of the long case.
    pub const SLOW: Self = Self { long_acks: 2_000_000, ..Self::FULL };
    /// Enough to find the faults of [`faulty`], in a tenth of a second without optimisation.
    pub const SMALL: Self =
        Self { long_acks: 20_000, wide_segments: 30_000, acks: 2_500, streams: 6, events: 800, timed: (2_048, 1) };
}

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

/// What the battery is run on: every growth with its companion, every whole algorithm, and every slow start under
/// `reno` and `cubic` where these take it.
#[must_use]
pub fn texts(catalogue: &Catalogue) -> Vec<String> {
    let of = |kinds: &'static [Kind]| catalogue.specs.iter().filter(|spec| kinds.contains(&spec.kind));
    let mut texts: Vec<String> = Vec::new();
    for spec in of(&[Kind::CongestionAvoidance, Kind::Whole, Kind::Router]) {
        // A scheme of routers alone, such as SIRENS, names no sender.
        texts.extend(catalogue.parse(spec.name).map(|algorithm| algorithm.to_string()));
    }
    for spec in of(&[Kind::SlowStart]) {
        for growth in ["reno", "cubic"] {
            // Some are refused, since the growth has a start that they do not fit.
            texts.extend(catalogue.parse(&format!("{growth}+{}", spec.name)).map(|algorithm| algorithm.to_string()));
        }
    }
    let mut seen = Vec::new();
    texts.retain(|text| !seen.contains(text) && (seen.push(text.clone()), true).1);
    texts
}

#[cfg(test)]
mod tests;
