//! Verdict of a backend: the events that the algorithm received and its windows, compared with the record.

use cwndlab_control::Driver;

use crate::cases::Case;
use crate::compare::differences;
use crate::difference::difference;
use crate::event_log::EventLog;

pub use crate::backend::{Backend, Replayed, ReplayedWindow};
pub use crate::difference::{Difference, KnownDifference};

/// The verdict of a case in a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// All windows are equal.
    Same,
    /// Windows differ after a known difference.
    ExpectedDifference,
    /// Windows or events differ without a known difference.
    Differs,
    /// The algorithm is not available in the backend.
    Absent,
}

impl Verdict {
    /// Name of the verdict in the output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::ExpectedDifference => "expected difference",
            Self::Differs => "differs",
            Self::Absent => "absent",
        }
    }
}

/// The result of one case in one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the case.
    pub case: &'static str,
    /// The backend.
    pub backend: Backend,
    /// The verdict.
    pub verdict: Verdict,
    /// Number of compared windows.
    pub windows: u64,
    /// Number of differing windows.
    pub differing: u64,
    /// Maximum difference of a window, segments.
    pub max_segments: u64,
    /// The first differing window.
    pub window: Option<Difference>,
    /// The first difference of events of each kind.
    pub events: Vec<Difference>,
    /// Reason of [`Verdict::Absent`]; otherwise empty.
    pub absent: String,
}

impl Finding {
    /// A finding for an algorithm that is not available in the backend.
    #[must_use]
    pub fn absent(case: &Case, backend: Backend, why: String) -> Self {
        Self {
            case: case.name,
            backend,
            verdict: Verdict::Absent,
            windows: 0,
            differing: 0,
            max_segments: 0,
            window: None,
            events: Vec::new(),
            absent: why,
        }
    }

    /// The most relevant difference: an unexpected one, or else that of the first differing window.
    #[must_use]
    pub fn first(&self) -> Option<&Difference> {
        self.events.iter().find(|one| one.known.is_none()).or(self.window.as_ref())
    }
}

/// Replays the record directly and compares all outputs exactly.
#[must_use]
pub fn simulator(case: &Case, log: &EventLog, mut driver: Driver) -> Finding {
    let mut finding = Finding { verdict: Verdict::Same, ..Finding::absent(case, Backend::Simulator, String::new()) };
    for (at, entry) in log.entries.iter().enumerate() {
        let _ = driver.deliver(&entry.event);
        finding.windows += 1;
        let cwnd = driver.control.cwnd();
        let pacing = driver.control.pacing_rate();
        if cwnd == entry.cwnd && pacing == entry.pacing {
            continue;
        }
        finding.differing += 1;
        finding.verdict = Verdict::Differs;
        finding.max_segments = finding.max_segments.max(cwnd.0.abs_diff(entry.cwnd.0) / log.path.mss.0);
        finding.window.get_or_insert_with(|| {
            difference(log, at, "the window", format!("{} B", entry.cwnd.0), format!("{} B", cwnd.0), None)
        });
    }
    finding
}

/// Compares a backend with the record.
#[must_use]
pub fn judge(case: &Case, backend: Backend, log: &EventLog, replayed: &Replayed) -> Finding {
    let mut finding = Finding { verdict: Verdict::Same, ..Finding::absent(case, backend, String::new()) };
    finding.events = differences(backend, log, replayed);
    let mss = log.path.mss.0;
    for replayed in &replayed.windows {
        let recorded = (log.entries[replayed.at].cwnd.0 / mss).max(replayed.min_segments);
        finding.windows += 1;
        if replayed.segments == recorded {
            continue;
        }
        finding.differing += 1;
        finding.max_segments = finding.max_segments.max(replayed.segments.abs_diff(recorded));
        if finding.window.is_none() {
            let known =
                finding.events.iter().filter(|one| one.event <= replayed.at + 1).filter_map(|one| one.known).max();
            let text = |segments: u64| format!("{segments} segments");
            finding.window =
                Some(difference(log, replayed.at, "the window", text(recorded), text(replayed.segments), known));
        }
    }
    finding.verdict = match &finding.window {
        _ if finding.events.iter().any(|one| one.known.is_none()) => Verdict::Differs,
        None => Verdict::Same,
        Some(one) if one.known.is_some() => Verdict::ExpectedDifference,
        Some(_) => Verdict::Differs,
    };
    finding
}
