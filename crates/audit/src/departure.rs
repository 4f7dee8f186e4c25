//! Departures of a log from the reference: their kinds, and the equations that set the window there.

use cwndlab_control::{Algorithm, Cause, Phase};
use cwndlab_units::Time;

/// The kind of a departure. The groups of a result are by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DepartureKind {
    /// The first logged window is not that of the reference.
    Start,
    /// The window after a congestion event differs.
    Reduction,
    /// The window was not reduced at a congestion event.
    NoReduction,
    /// The window after a timeout or persistent congestion differs.
    Timeout,
    /// The window fell without a congestion event.
    UnexpectedReduction,
    /// The window fell a second time within one recovery.
    SecondReduction,
    /// The window grew during recovery.
    GrowthInRecovery,
    /// The window grew while the application limited the sender.
    GrowthWhileLimited,
    /// The window after an idle period differs.
    IdleRestart,
    /// The reference has left slow start, the log continues.
    LateSlowStartExit,
    /// The log has left slow start, the reference continues.
    EarlySlowStartExit,
    /// The window grows faster in slow start.
    FastSlowStart,
    /// The window grows more slowly in slow start.
    SlowSlowStart,
    /// The window grows faster in congestion avoidance.
    FastAvoidance,
    /// The window grows more slowly in congestion avoidance.
    SlowAvoidance,
    /// A model-based algorithm has another window.
    Model,
}

impl DepartureKind {
    /// Its name in the output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "initial-window",
            Self::Reduction => "reduction",
            Self::NoReduction => "no-reduction",
            Self::Timeout => "timeout",
            Self::UnexpectedReduction => "unexpected-reduction",
            Self::SecondReduction => "second-reduction",
            Self::GrowthInRecovery => "growth-in-recovery",
            Self::GrowthWhileLimited => "growth-while-limited",
            Self::IdleRestart => "idle-restart",
            Self::LateSlowStartExit => "slow-start-exit-late",
            Self::EarlySlowStartExit => "slow-start-exit-early",
            Self::FastSlowStart => "slow-start-fast",
            Self::SlowSlowStart => "slow-start-slow",
            Self::FastAvoidance => "avoidance-fast",
            Self::SlowAvoidance => "avoidance-slow",
            Self::Model => "model",
        }
    }

    /// What it means.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Start => "the first logged window is not the initial window of the reference",
            Self::Reduction => "the window after a congestion event differs",
            Self::NoReduction => "the window was not reduced at a congestion event",
            Self::Timeout => "the window after a timeout or persistent congestion differs",
            Self::UnexpectedReduction => "the window fell without a congestion event",
            Self::SecondReduction => "the window fell again within one recovery",
            Self::GrowthInRecovery => "the window grew during recovery",
            Self::GrowthWhileLimited => "the window grew while the application limited the sender (inferred)",
            Self::IdleRestart => "the window after an idle period differs",
            Self::LateSlowStartExit => "the reference has left slow start, the log continues",
            Self::EarlySlowStartExit => "the log has left slow start, the reference continues",
            Self::FastSlowStart => "the window grows faster in slow start",
            Self::SlowSlowStart => "the window grows more slowly in slow start",
            Self::FastAvoidance => "the window grows faster in congestion avoidance",
            Self::SlowAvoidance => "the window grows more slowly in congestion avoidance",
            Self::Model => "the window that follows from the model of the path differs",
        }
    }

    /// The section that sets the window there.
    #[must_use]
    pub fn source(self, algorithm: &Algorithm, quic: bool, phase: Phase) -> String {
        use DepartureKind::{
            EarlySlowStartExit, FastAvoidance, FastSlowStart, GrowthInRecovery, GrowthWhileLimited, IdleRestart,
            LateSlowStartExit, Model, NoReduction, Reduction, SecondReduction, SlowAvoidance, SlowSlowStart, Start,
            Timeout, UnexpectedReduction,
        };
        let spec = algorithm.growth.spec;
        let cubic = spec.name == "cubic";
        let slow_start = algorithm.slow_start.as_ref().map(|part| part.spec);
        let text = match self {
            Start if quic => "RFC 9002, section 7.2",
            Start => "RFC 6928, section 2",
            Reduction | NoReduction if cubic => "RFC 9438, section 4.6",
            Reduction | NoReduction if spec.name == "reno" && quic => "RFC 9002, section 7.3.2",
            Reduction | NoReduction if spec.name == "reno" => "RFC 5681, equation 4",
            Timeout if cubic => "RFC 9438, section 4.8",
            Timeout if quic => "RFC 9002, section 7.6.2",
            UnexpectedReduction | SecondReduction | GrowthInRecovery if quic => "RFC 9002, section 7.3.2",
            Timeout | UnexpectedReduction | SecondReduction => "RFC 5681, section 3.1",
            GrowthInRecovery => "RFC 5681, section 3.2",
            GrowthWhileLimited if quic => "RFC 9002, section 7.8",
            GrowthWhileLimited if cubic => "RFC 9438, section 5.8",
            GrowthWhileLimited => "RFC 7661, section 4.3",
            IdleRestart => "RFC 5681, section 4.1",
            LateSlowStartExit | EarlySlowStartExit | FastSlowStart | SlowSlowStart => {
                return match (slow_start, phase) {
                    (Some(part), _) if part.name == "hystart-pp" => "RFC 9406, section 4.2".to_owned(),
                    (Some(part), _) if part.name != "standard" => part.source.to_owned(),
                    _ if quic => "RFC 9002, section 7.3.1".to_owned(),
                    _ => "RFC 5681, equation 2".to_owned(),
                }
            }
            FastAvoidance | SlowAvoidance if cubic => "RFC 9438, sections 4.2 to 4.5, equations 1, 2 and 4",
            FastAvoidance | SlowAvoidance if spec.name == "reno" && quic => "RFC 9002, section 7.3.3",
            FastAvoidance | SlowAvoidance if spec.name == "reno" => "RFC 5681, equation 3",
            Reduction | NoReduction | FastAvoidance | SlowAvoidance | Model => spec.source,
        };
        text.to_owned()
    }
}

/// A named number of the algorithm's state.
pub type Named = (&'static str, f64);

/// A departure.
#[derive(Clone, Debug)]
pub struct Departure {
    /// Time of the ACK or event after which the logged window left the tolerance.
    pub time: Time,
    /// Time since which the difference grew.
    pub since: Time,
    /// Number of the event of the log.
    pub event: usize,
    /// Its kind.
    pub kind: DepartureKind,
    /// The event of the sender.
    pub what: String,
    /// The logged window before and after, bytes.
    pub logged: (u64, u64),
    /// The reference's window before and after, bytes.
    pub reference: (u64, u64),
    /// The section that sets the window there.
    pub source: String,
    /// State of the reference before and after.
    pub state: (Vec<Named>, Vec<Named>),
    /// Phase of the reference before and after.
    pub phase: (Phase, Phase),
    /// ACKs that the departure leaves unexplained.
    pub acks: u64,
}

/// What happened since the windows last agreed exactly.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) since: Option<Time>,
    pub(crate) acks: u64,
    pub(crate) cause: Option<Cause>,
    pub(crate) idle: bool,
    /// All ACKs arrived during recovery; `None` without an ACK.
    pub(crate) recovering: Option<bool>,
    /// Growth, bytes, by ACKs at which the application limited the sender, if they counted.
    pub(crate) unused_growth: u64,
}

impl Interval {
    pub(crate) fn new() -> Self {
        Self { since: None, acks: 0, cause: None, idle: false, recovering: None, unused_growth: 0 }
    }
}

/// What a comparison found; `grew` is the change of the logged window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) first: bool,
    pub(crate) model_based: bool,
    pub(crate) before: u64,
    pub(crate) logged: u64,
    pub(crate) reference: u64,
    pub(crate) tolerance: u64,
    pub(crate) phase: (Phase, Phase),
    /// The reference grew by this much since the last comparison.
    pub(crate) reference_grew: u64,
}

/// The kind of a departure. `last` is the interval since the last comparison, `all` that since the windows agreed.
pub(crate) fn classify(found: &Found, last: &Interval, all: &Interval) -> DepartureKind {
    use DepartureKind as K;
    let above = found.logged > found.reference;
    let fell = found.logged + found.tolerance < found.before;
    let cause = last.cause.or(all.cause.filter(|_| !fell));
    if found.first {
        return K::Start;
    }
    if last.idle || all.idle && last.cause.is_none() {
        return K::IdleRestart;
    }
    if found.model_based {
        return K::Model;
    }
    match cause {
        Some(Cause::Timeout) => return K::Timeout,
        Some(_) if above && found.logged >= found.before => return K::NoReduction,
        Some(_) => return K::Reduction,
        None => {}
    }
    if fell && !above {
        return if last.recovering == Some(true) { K::SecondReduction } else { K::UnexpectedReduction };
    }
    if above && last.recovering == Some(true) {
        return K::GrowthInRecovery;
    }
    if above && all.unused_growth * 2 >= found.logged - found.reference {
        return K::GrowthWhileLimited;
    }
    match (found.phase.0.is_slow_start(), above) {
        (true, true) if !found.phase.1.is_slow_start() => K::LateSlowStartExit,
        (true, true) => K::FastSlowStart,
        (true, false) if found.logged.saturating_sub(found.before) * 4 < found.reference_grew => K::EarlySlowStartExit,
        (true, false) => K::SlowSlowStart,
        (false, true) => K::FastAvoidance,
        (false, false) => K::SlowAvoidance,
    }
}
