//! What was found: rule by rule, with the event that broke it.

use std::fmt;

use cwndlab_units::{Bytes, Time};
use serde::Serialize;

use crate::describe::{instant, segments};

/// The event that broke a rule first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The case on which it happened.
    pub case: String,
    /// Its number on that case, from 1; 0 is the making.
    pub event: u64,
    /// Simulated time.
    pub now: Time,
    /// The event in words.
    pub what: String,
    /// The window before.
    pub before: Bytes,
    /// The window after.
    pub after: Bytes,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// What the rule says to it.
    pub why: String,
    /// The last congestion event before it, in words; empty where there was none.
    pub since: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, event, now, what, before, after, mss, why, since } = self;
        write!(f, "case '{case}', event {event} at {}: {what}: ", instant(*now))?;
        write!(
            f,
            "the window goes from {} to {} segments of {} B: {why}",
            segments(*before, *mss),
            segments(*after, *mss),
            mss.0
        )?;
        if since.is_empty() {
            return Ok(());
        }
        write!(f, "; last congestion: {since}")
    }
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name.
    pub rule: &'static str,
    /// Answers that it was held against.
    pub judged: u64,
    /// The first answer that broke it.
    pub violation: Option<Violation>,
    /// What else is to be said: that it is excepted, what was measured.
    pub note: String,
}

impl Finding {
    /// Nothing broke it.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violation.is_none()
    }

    /// What broke it, or what it was held against.
    #[must_use]
    pub fn detail(&self) -> String {
        match &self.violation {
            Some(violation) => violation.to_string(),
            None if self.note.is_empty() => format!("{} answers", self.judged),
            None => self.note.clone(),
        }
    }
}

/// What was found of an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its name.
    pub algorithm: String,
    /// One per rule, in their order.
    pub findings: Vec<Finding>,
    /// Events on all cases together.
    pub events: u64,
    /// Cost of an ACK as [`cost`](crate::cost) measures it; `None` where it panicked.
    pub ns_per_ack: Option<f64>,
}

/// A finding as a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The algorithm.
    pub algorithm: String,
    /// The rule.
    pub rule: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// The event that broke it, or what it was held against.
    pub detail: String,
}

impl Report {
    /// All rules hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.findings.iter().all(Finding::holds)
    }

    /// The rules that do not.
    #[must_use]
    pub fn broken(&self) -> Vec<&'static str> {
        self.findings.iter().filter(|finding| !finding.holds()).map(|finding| finding.rule).collect()
    }

    /// As a table.
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
