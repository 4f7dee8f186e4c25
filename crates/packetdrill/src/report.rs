//! The result of a script.

use std::collections::BTreeMap;

use serde::Serialize;

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The verdict on its packets and system calls.
    pub outcome: Outcome,
    /// Its pieces of Python up to a failure, with the values of their variables: the caller evaluates them.
    pub code: Vec<Code>,
}

/// The verdict on the packets and system calls of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Outcome {
    /// The sender does what the script expects.
    Passed,
    /// It does not.
    Failed(Failure),
    /// The script is about something else than a data sender.
    NotApplicable {
        /// All reasons.
        reasons: Vec<Reason>,
    },
}

/// The first difference between script and sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The line of the event.
    pub line: u32,
    /// The time, since the start of the script.
    pub time_ns: u64,
    /// What the script expects.
    pub expected: String,
    /// What the sender does.
    pub got: String,
}

/// Why a script is not applicable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The line.
    pub line: u32,
    /// The feature, such as `Fast Open`.
    pub feature: String,
}

/// A piece of Python, between `%{` and `}%`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Code {
    /// Its line.
    pub line: u32,
    /// The time, since the start of the script.
    pub time_ns: u64,
    /// Its text.
    pub text: String,
    /// The fields of `struct tcp_info` by name, such as `tcpi_snd_cwnd`.
    pub values: BTreeMap<&'static str, i64>,
}
