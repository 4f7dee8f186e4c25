//! The verdict on a backend: the events that reached the algorithm and its windows, compared with the record.

use cwndlab_control::CongestionControl;

use crate::compare::differences;
use crate::courses::Course;
use crate::difference::difference;
use crate::event_log::{EventLog, Replayer};

pub use crate::backend::{Answer, Backend, Replayed};
pub use crate::difference::{Difference, KnownDifference};

/// What became of a course in a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// All windows are the same.
    Same,
    /// Windows part after a known difference.
    ByNature,
    /// They part, or the algorithm is told something else, for no reason.
    Differs,
    /// The algorithm does not run there.
    Absent,
}

impl Verdict {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::ByNature => "by nature",
            Self::Differs => "differs",
            Self::Absent => "absent",
        }
    }
}

/// What was found on one course in one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The course.
    pub course: &'static str,
    /// The backend.
    pub backend: Backend,
    /// The verdict.
    pub verdict: Verdict,
    /// Windows that were compared, and how many of them differ, and by how many segments at most.
    pub windows: u64,
    /// See `windows`.
    pub differing: u64,
    /// See `windows`.
    pub most_segments: u64,
    /// The first window that differs.
    pub window: Option<Difference>,
    /// The first difference of the events of each known kind.
    pub told: Vec<Difference>,
    /// Why it is absent.
    pub absent: String,
}

impl Finding {
    /// The algorithm does not run there.
    #[must_use]
    pub fn absent(course: &Course, backend: Backend, why: String) -> Self {
        Self {
            course: course.name,
            backend,
            verdict: Verdict::Absent,
            windows: 0,
            differing: 0,
            most_segments: 0,
            window: None,
            told: Vec::new(),
            absent: why,
        }
    }

    /// The difference that counts: one without a reason, else the first window.
    #[must_use]
    pub fn first(&self) -> Option<&Difference> {
        self.told.iter().find(|one| one.known.is_none()).or(self.window.as_ref())
    }
}

/// The record told once more, to the byte.
#[must_use]
pub fn simulator(course: &Course, log: &EventLog, control: Box<dyn CongestionControl>) -> Finding {
    let mut finding = Finding { verdict: Verdict::Same, ..Finding::absent(course, Backend::Simulator, String::new()) };
    let mut replayer = Replayer::new(control);
    for (at, entry) in log.entries.iter().enumerate() {
        replayer.report(&entry.told);
        finding.windows += 1;
        let (cwnd, pacing) = (replayer.control.cwnd(), replayer.control.pacing_rate());
        if cwnd == entry.cwnd && pacing == entry.pacing {
            continue;
        }
        finding.differing += 1;
        finding.verdict = Verdict::Differs;
        finding.most_segments = finding.most_segments.max(cwnd.0.abs_diff(entry.cwnd.0) / log.path.mss.0);
        finding.window.get_or_insert_with(|| {
            difference(log, at, "the window", format!("{} B", entry.cwnd.0), format!("{} B", cwnd.0), None)
        });
    }
    finding
}

/// Compares a backend with the record.
#[must_use]
pub fn judge(course: &Course, backend: Backend, log: &EventLog, replayed: &Replayed) -> Finding {
    let mut finding = Finding { verdict: Verdict::Same, ..Finding::absent(course, backend, String::new()) };
    finding.told = differences(backend, log, replayed);
    let mss = log.path.mss.0;
    for answer in &replayed.answers {
        let recorded = (log.entries[answer.at].cwnd.0 / mss).max(answer.least);
        finding.windows += 1;
        if answer.segments == recorded {
            continue;
        }
        finding.differing += 1;
        finding.most_segments = finding.most_segments.max(answer.segments.abs_diff(recorded));
        if finding.window.is_none() {
            let known = finding.told.iter().filter(|one| one.event <= answer.at + 1).filter_map(|one| one.known).max();
            let text = |segments: u64| format!("{segments} segments");
            finding.window =
                Some(difference(log, answer.at, "the window", text(recorded), text(answer.segments), known));
        }
    }
    finding.verdict = match &finding.window {
        _ if finding.told.iter().any(|one| one.known.is_none()) => Verdict::Differs,
        None => Verdict::Same,
        Some(one) if one.known.is_some() => Verdict::ByNature,
        Some(_) => Verdict::Differs,
    };
    finding
}
