//! The verdict on a backend: the events that reached the algorithm and its windows, compared with the record.

use std::fmt;

use cwndlab_control::CongestionControl;

use crate::compare::differences;
use crate::courses::Course;
use crate::event_log::{EventLog, Replayer, Reported};

/// Where an algorithm answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Told the record itself once more.
    Simulator,
    /// Behind the kernel decider.
    Kernel,
    /// Behind the QUIC adapter.
    Quic,
}

impl Backend {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Kernel => "kernel",
            Self::Quic => "quic",
        }
    }
}

/// What a backend cannot know of what the simulator's transport reports, and why.
///
/// In the order of what they do to a window: of several that came before it the last is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownDifference {
    /// The kernel's datapath.
    Sends,
    /// QUIC: packets of their own number.
    Numbers,
    /// `quinn` counts no marks.
    Marks,
    /// QUIC: no cumulative acknowledgement.
    Cumulative,
    /// QUIC: RFC 9002's recovery period.
    Period,
    /// `quinn` knows one kind of limit.
    Limit,
    /// `quinn` tells no pauses.
    Idle,
    /// QUIC has no undo.
    Undo,
    /// `quinn` tells no timeouts.
    Timer,
}

impl KnownDifference {
    /// The reason, in a sentence.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Sends => "the datapath sums up what left and tells it with the next report",
            Self::Numbers => "QUIC numbers what it sends again anew: RTT and rate of it are samples, which TCP does not take",
            Self::Cumulative => "QUIC acknowledges packets one by one: those above a hole count at once, and end rounds",
            Self::Period => {
                "QUIC's recovery ends with the first packet that left in it (RFC 9002, 7.3.2), TCP's when all that was out is acknowledged"
            }
            Self::Marks => "quinn tells that an ACK reported marks, not how many",
            Self::Limit => "quinn tells that the sender is short of data, not whether the window was full",
            Self::Idle => "quinn tells nothing of a pause: the window does not restart after it",
            Self::Undo => "QUIC takes no reduction back",
            Self::Timer => "quinn tells of no timeout, but of persistent congestion once an ACK shows it (RFC 9002, 7.6)",
        }
    }
}

/// A window that a backend answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The event in the log.
    pub at: usize,
    /// Whole segments.
    pub segments: u64,
    /// The least that the backend allows.
    pub least: u64,
}

/// What happened in a backend.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// What the algorithm was told, and by which event of the log.
    pub told: Vec<(usize, Reported)>,
    /// What it answered.
    pub answers: Vec<Answer>,
    /// Events that were told together with the next ACK.
    pub joined: Vec<usize>,
    /// The algorithm answers otherwise where it is not told of each segment that leaves.
    pub depends_on_sends: bool,
}

/// The first of a kind of difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the event in the log, from 1.
    pub event: usize,
    /// When, nanoseconds.
    pub now_ns: u64,
    /// The event in words.
    pub told: String,
    /// What differs: a field of the event, or the window.
    pub field: &'static str,
    /// In the record.
    pub recorded: String,
    /// In the backend.
    pub replayed: String,
    /// Why it must be so; `None`: there is no reason.
    pub known: Option<KnownDifference>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, now_ns, told, field, recorded, replayed, .. } = self;
        let seconds = *now_ns as f64 / 1e9;
        write!(f, "event {event} at {seconds:.6} s, {told}: {field} is {recorded} in the record and {replayed} here")
    }
}

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

pub(crate) fn difference(
    log: &EventLog,
    at: usize,
    field: &'static str,
    recorded: String,
    replayed: String,
    known: Option<KnownDifference>,
) -> Difference {
    let told = &log.entries[at].told;
    Difference { event: at + 1, now_ns: told.now().0, told: told.words(), field, recorded, replayed, known }
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
