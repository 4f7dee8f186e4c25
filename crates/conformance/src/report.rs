//! Reports: the result of each rule, with the first event that violates it.

use std::fmt;

use cwndlab_units::{Bytes, Time};
use serde::Serialize;

use crate::describe::{instant, segments};

/// The first violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the case.
    pub case: String,
    /// Number of the event in the case, from 1; 0 is the creation of the algorithm.
    pub event: u64,
    /// Simulated time.
    pub now: Time,
    /// Description of the event.
    pub what: String,
    /// Window before the event.
    pub before: Bytes,
    /// Window after the event.
    pub after: Bytes,
    /// MSS.
    pub mss: Bytes,
    /// The violated requirement.
    pub why: String,
    /// Description of the last congestion event; empty if there was none.
    pub last_congestion: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, event, now, what, before, after, mss, why, last_congestion } = self;
        write!(f, "case '{case}', event {event} at {}: {what}: ", instant(*now))?;
        write!(
            f,
            "the window goes from {} to {} segments of {} B: {why}",
            segments(*before, *mss),
            segments(*after, *mss),
            mss.0
        )?;
        if last_congestion.is_empty() {
            return Ok(());
        }
        write!(f, "; last congestion: {last_congestion}")
    }
}

/// The result of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Number of checks of the rule.
    pub checks: u64,
    /// The first violation.
    pub violation: Option<Violation>,
    /// A note: an exemption, or a measured value.
    pub note: String,
}

impl Finding {
    /// Whether the rule holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violation.is_none()
    }

    /// The violation, the note, or the number of checks.
    #[must_use]
    pub fn detail(&self) -> String {
        match &self.violation {
            Some(violation) => violation.to_string(),
            None if self.note.is_empty() => format!("{} checks", self.checks),
            None => self.note.clone(),
        }
    }
}

/// The results of an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Name of the algorithm.
    pub algorithm: String,
    /// One finding per rule, in the order of [`RULES`](crate::rules::RULES).
    pub findings: Vec<Finding>,
    /// Number of events of all cases.
    pub events: u64,
    /// Cost per ACK as measured by [`cost`](crate::cost), ns; `None` after a panic.
    pub ns_per_ack: Option<f64>,
}

/// A finding as a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Name of the rule.
    pub rule: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// The violation, the note, or the number of checks.
    pub detail: String,
}

impl Report {
    /// Whether all rules hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.findings.iter().all(Finding::holds)
    }

    /// Names of the violated rules.
    #[must_use]
    pub fn broken(&self) -> Vec<&'static str> {
        self.findings.iter().filter(|finding| !finding.holds()).map(|finding| finding.rule).collect()
    }

    /// The findings as rows of a table.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let row = |finding: &Finding| Row {
            algorithm: self.algorithm.clone(),
            rule: finding.rule,
            holds: finding.holds(),
            detail: finding.detail(),
        };
        self.findings.iter().map(row).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let broken = self.broken().len();
        writeln!(f, "{}: {} of {} rules hold", self.algorithm, self.findings.len() - broken, self.findings.len())?;
        for finding in &self.findings {
            let verdict = if finding.holds() { "holds" } else { "FAILS" };
            writeln!(f, "  {verdict}  {:<14} {}", finding.rule, finding.detail())?;
        }
        Ok(())
    }
}
