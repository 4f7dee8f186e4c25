//! Findings: what a run reports about itself at its end, in the table `findings`.
//!
//! [`CODES`] lists all of them. Detection is in the crate `path` for engines with links (`cwndlab_path::findings`), in
//! [`crate::stall`] for connections that stop, and in Python for comparisons of runs.

use cwndlab_units::{Duration, FlowId, LinkId};

use crate::rows::{FindingRow, FlowRow};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A fact that explains a result.
    Note,
    /// A result that is easily misread.
    Warning,
    /// A result that must not be used: the run did not do what its scenario describes.
    Severe,
}

impl Severity {
    /// Its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Severe => "severe",
        }
    }
}

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its name in the table, which does not change between releases.
    pub name: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The condition under which a run has it.
    pub condition: &'static str,
}

impl Code {
    /// A finding on the whole run.
    #[must_use]
    pub fn finding(self, text: impl Into<String>) -> FindingRow {
        FindingRow {
            code: self.name,
            severity: self.severity.name(),
            flow: None,
            link: None,
            time_ns: None,
            text: text.into(),
        }
    }

    /// A finding on a flow.
    #[must_use]
    pub fn of_flow(self, flow: FlowId, text: impl Into<String>) -> FindingRow {
        FindingRow { flow: Some(flow.into()), ..self.finding(text) }
    }

    /// A finding on a link.
    #[must_use]
    pub fn of_link(self, link: LinkId, text: impl Into<String>) -> FindingRow {
        FindingRow { link: Some(link.into()), ..self.finding(text) }
    }
}

/// Declares the codes and their list.
macro_rules! codes {
    ($($(#[doc = $condition:literal])+ $constant:ident, $name:literal, $severity:ident;)+) => {
        $(
            $(#[doc = $condition])+
            pub const $constant: Code =
                Code { name: $name, severity: Severity::$severity, condition: concat!($($condition),+).trim_ascii() };
        )+

        /// All codes: first those of a run, then those of several runs.
        pub const CODES: &[Code] = &[$($constant),+];
    };
}

codes! {
    /// A connection with data to send delivers nothing for longer than ten RTOs, although the path answers or because it
    /// sends nothing; or it sends one segment per RTO for more than a tenth of the run, although the path loses few.
    HANG, "hang", Severe;
    /// A flow that had time to deliver data delivers none.
    NOTHING_DELIVERED, "nothing-delivered", Severe;
    /// The counters of a link or a flow do not add up: an error of cwndlab.
    COUNTERS, "counters", Severe;
    /// A flow starts at or after the end of the run.
    NEVER_STARTS, "never-starts", Warning;
    /// A link with admission control had no room for a flow, which never starts.
    REFUSED, "refused", Note;
    /// A flow has no medium time in the access category of its DSCP, for which admission is mandatory, and uses a lower one.
    DOWNGRADED, "downgraded", Note;
    /// A flow starts in the last tenth of the run.
    STARTS_LATE, "starts-late", Warning;
    /// A flow starts after the end of the warm-up; metrics include the time before its start.
    STARTS_AFTER_WARM_UP, "starts-after-warm-up", Warning;
    /// The measured time is shorter than ten round trips of a flow.
    SHORT_RUN, "short-run", Warning;
    /// The receive window is smaller than a segment.
    RECEIVE_WINDOW, "receive-window", Warning;
    /// The algorithm needs a router agent that a router on the route does not have, and falls back.
    MISSING_AGENT, "missing-agent", Warning;
    /// The algorithm needs ECN, but the flow does not negotiate it, or full queues on its route drop without marking.
    MISSING_ECN, "missing-ecn", Warning;
    /// The flow negotiates ECN, but never reduces its window because of a mark.
    IGNORED_MARKS, "ignored-marks", Warning;
    /// The unlimited queue of a sender's own access link holds more packets than the rest of the path can.
    HOST_QUEUE, "host-queue", Warning;
    /// No packet of a connection with data to send is answered for longer than ten RTOs.
    UNANSWERED, "unanswered", Warning;
    /// A connection sends one segment per RTO for more than a tenth of the run, because the path loses them.
    STARVED, "starved", Warning;
    /// More than a third of a flow's packets are retransmissions.
    REPETITIONS, "repetitions", Warning;
    /// Deliveries of an emulation were late.
    LATE_DELIVERIES, "late-deliveries", Warning;
    /// A value that the engine derived from the scenario, such as the capacity of a queue.
    DERIVED, "derived", Note;
    /// Property of the machine or of the kernel during an emulation or a measurement.
    ENVIRONMENT, "environment", Note;
    /// A comparison has a flow that never ran; its verdicts are omitted.
    FLOW_NEVER_RAN, "flow-never-ran", Warning;
    /// Different algorithms give the same results to the last digit.
    EQUAL_RESULTS, "equal-results", Warning;
    /// All seeds give the same run: intervals and p-values have no meaning.
    NO_RANDOM_ELEMENT, "no-random-element", Note;
}

/// Adds the notes of a scenario and of an engine to its findings, and sorts all of them.
pub fn add_notes(findings: &mut Vec<FindingRow>, code: Code, notes: &[String]) {
    findings.extend(notes.iter().map(|note| code.finding(note.as_str())));
    sort(findings);
}

/// Packets below which a ratio of repetitions is meaningless.
const MIN_SENT: u64 = 100;

/// The finding on a flow of which more than a third of the packets are retransmissions.
#[must_use]
pub fn repetitions(row: &FlowRow) -> Option<FindingRow> {
    (row.sent_packets >= MIN_SENT && row.retransmitted_packets * 3 > row.sent_packets).then(|| {
        let share = 100.0 * row.retransmitted_packets as f64 / row.sent_packets as f64;
        REPETITIONS.of_flow(row.flow.into(), format!("{share:.0} % of the packets of {} are retransmissions", row.name))
    })
}

/// The finding on a measured time of less than ten round trips of a flow.
#[must_use]
pub fn short_run(flow: FlowId, name: &str, measured: Duration, base_rtt: Duration) -> Option<FindingRow> {
    (measured < base_rtt * MIN_ROUND_TRIPS).then(|| {
        let span = measured.as_nanos() as f64 / 1e9;
        let rtt = base_rtt.as_nanos() as f64 / 1e6;
        let text = format!(
            "the measurement lasts {span:.3} s, less than {MIN_ROUND_TRIPS} round trips of {name} ({rtt:.1} ms)"
        );
        SHORT_RUN.of_flow(flow, text)
    })
}

/// Round trips that a measurement should last.
const MIN_ROUND_TRIPS: u64 = 10;

/// Sorts findings: severe ones first, then by time, flow and link.
pub fn sort(findings: &mut [FindingRow]) {
    let rank = |row: &FindingRow| CODES.iter().position(|code| code.name == row.code);
    let severity = |row: &FindingRow| CODES.iter().find(|code| code.name == row.code).map(|code| code.severity);
    findings.sort_by_key(|row| (std::cmp::Reverse(severity(row)), row.time_ns, rank(row), row.flow, row.link));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_kebab_case() {
        for (at, code) in CODES.iter().enumerate() {
            assert!(code.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", code.name);
            assert!(CODES[..at].iter().all(|other| other.name != code.name), "{}", code.name);
            assert!(code.condition.ends_with('.'), "{}", code.name);
        }
    }

    #[test]
    fn severe_findings_come_first() {
        let late = FindingRow { time_ns: Some(9), ..UNANSWERED.of_flow(1.into(), "b") };
        let mut findings =
            vec![DERIVED.finding("c"), late.clone(), UNANSWERED.of_flow(0.into(), "a"), HANG.of_flow(3.into(), "d")];
        sort(&mut findings);
        let order: Vec<&str> = findings.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(order, ["d", "a", "b", "c"]);
        assert_eq!((findings[0].severity, findings[2].flow, findings[3].link), ("severe", late.flow, None));
    }
}
