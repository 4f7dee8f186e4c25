//! The rules: functions that check the outputs of an algorithm after one event.

use cwndlab_control::{Cause, Change, Report, State};
use cwndlab_units::{Bytes, Rate};

use crate::describe::segments;

/// One event, and the outputs of the algorithm after it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The event: a report of the transport; `None`: the creation of the algorithm.
    pub report: Option<&'a Report>,
    /// MSS.
    pub mss: Bytes,
    /// The algorithm is model-based.
    pub model_based: bool,
    /// Window before the event.
    pub before: Bytes,
    /// Window after the event.
    pub after: Bytes,
    /// Window before the last reduction; zero without a reduction.
    pub before_reduction: Bytes,
    /// Largest window of the case so far.
    pub peak: Bytes,
    /// Pacing rate after the event.
    pub pacing: Option<Rate>,
    /// Window and pacing rate of a second instance that received the same events.
    pub second: (Bytes, Option<Rate>),
    /// The state, at events where it is checked.
    pub state: Option<State>,
    /// Name of the first NaN among the numbers of the state.
    pub nan: Option<&'static str>,
    /// A loss at this event indicates the overflow of a standing queue: the bytes in flight exceed the BDP and three
    /// quarters of the queue's capacity.
    pub overflow: bool,
}

/// The result of a rule for a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rule does not apply to the step.
    NotApplicable,
    /// The rule holds.
    Holds,
    /// The rule is violated, with the reason.
    Fails(String),
}

use Verdict::{Fails, Holds, NotApplicable};

fn check(holds: bool, why: impl FnOnce() -> String) -> Verdict {
    if holds {
        Holds
    } else {
        Fails(why())
    }
}

/// A conformance rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Name of the rule.
    pub name: &'static str,
    /// Requirement, one sentence.
    pub requirement: &'static str,
    /// Model-based algorithms are exempt.
    pub exempts_model_based: bool,
    /// Checks a step.
    pub check: fn(&Step<'_>) -> Verdict,
}

/// Upper bound of a window: a terabyte in flight exceeds the BDP of any path.
pub const MAX_WINDOW: Bytes = Bytes(1 << 40);
/// Upper bound of a pacing rate: a higher rate is an infinity that was cast to an integer.
pub const MAX_PACING_RATE: Rate = Rate(1_000_000_000_000_000_000);
/// Minimum of ssthresh (RFC 5681, equation 4), up to which a congestion event may increase a smaller window, segments.
const FLOOR_SEGMENTS: u64 = 2;

/// The window is at least one segment. The smallest window of RFC 5681, section 3.1, is the loss window of one segment;
/// with a smaller window the sender never sends again. NaN, cast to bytes, is zero and violates this rule as well.
#[must_use]
pub fn one_segment(step: &Step<'_>) -> Verdict {
    check(step.after >= step.mss, || "a window is never below one segment; NaN counts as zero".to_owned())
}

/// The window is finite and below 2⁴⁰ bytes. An infinity, cast to bytes, is the largest integer; a window above a
/// terabyte results from an unbounded increase.
#[must_use]
pub fn bounded(step: &Step<'_>) -> Verdict {
    check(step.after < MAX_WINDOW, || "a window is finite and below 2^40 bytes".to_owned())
}

/// The window does not grow while the sender does not use it: an ACK then is not evidence of more capacity
/// (RFC 7661, section 4.3; RFC 9438, section 5.8; Linux, `tcp_is_cwnd_limited`).
#[must_use]
pub fn unused_window(step: &Step<'_>) -> Verdict {
    match step.report {
        Some(Report::Ack(ack)) if !ack.cwnd_limited && !ack.recovering => check(step.after <= step.before, || {
            "on_ack grows the window although `cwnd_limited` is false: the window was not used".to_owned()
        }),
        _ => NotApplicable,
    }
}

/// ACKs do not increase the window in a recovery: the transport controls the window there (RFC 6675, section 5; RFC
/// 9937), and an increase would be counted twice.
#[must_use]
pub fn recovery(step: &Step<'_>) -> Verdict {
    match step.report {
        Some(Report::Ack(ack)) if ack.recovering => check(step.after <= step.before, || {
            "on_ack grows the window although `recovering` is true: a recovery is in progress".to_owned()
        }),
        _ => NotApplicable,
    }
}

/// Equal events give equal windows: a run is a function of scenario and seed (the contract of
/// [`CongestionControl`](cwndlab_control::CongestionControl)). Two instances receive the same events.
#[must_use]
pub fn same_windows(step: &Step<'_>) -> Verdict {
    check((step.after, step.pacing) == step.second, || {
        let (window, pacing) = step.second;
        if window == step.after {
            return format!(
                "a second instance with the same events paces at {} bit/s, this one at {} bit/s: does it use a clock, \
                 global state or random numbers other than `Path::seed`?",
                pacing.map_or(0, |rate| rate.0),
                step.pacing.map_or(0, |rate| rate.0)
            );
        }
        format!(
            "a second instance with the same events has {} segments: does it use a clock, global state or random numbers \
             other than `Path::seed`?",
            segments(window, step.mss)
        )
    })
}

/// A congestion event does not increase the window above the maximum of its previous value, the bytes in flight and two
/// segments (RFC 5681, equation 4). A model-based algorithm need not reduce the window, but must not increase it.
#[must_use]
pub fn congestion(step: &Step<'_>) -> Verdict {
    let Some(Report::Congestion(event)) = step.report else { return NotApplicable };
    let limit = step.before.max(event.in_flight).max(step.mss * FLOOR_SEGMENTS);
    check(step.after <= limit, || "on_congestion increases the window".to_owned())
}

/// The overflow of a standing queue reduces the window: an algorithm without a reduction starves competing flows (RFC
/// 5033, section 3; RFC 2914). A loss with fewer bytes in flight than BDP and most of the queue is caused by a burst;
/// an estimate of the path, as in Westwood, may then keep the window.
#[must_use]
pub fn backs_off(step: &Step<'_>) -> Verdict {
    match step.report {
        Some(Report::Congestion(event))
            if step.overflow && event.cause == Cause::Loss && step.before > step.mss * 4 =>
        {
            check(step.after < step.before, || {
                "the bytes in flight exceeded the BDP and the queue overflowed, but on_congestion does not reduce the window"
                    .to_owned()
            })
        }
        _ => NotApplicable,
    }
}

/// A restart sets the window to one segment: after a timeout the state of the path is unknown, and slow start begins
/// again (RFC 5681, section 3.1, loss window; the contract of
/// [`Congestion::restart`](cwndlab_control::Congestion::restart)).
#[must_use]
pub fn restart(step: &Step<'_>) -> Verdict {
    match step.report {
        Some(Report::Congestion(event)) if event.restart => check(step.after <= step.mss, || {
            "after a timeout that restarts slow start, the window is at most one segment".to_owned()
        }),
        _ => NotApplicable,
    }
}

/// An undo restores the window before the reduction (RFC 4015, section 3) and does not exceed the largest window so
/// far.
#[must_use]
pub fn undo(step: &Step<'_>) -> Verdict {
    match step.report {
        Some(Report::Window(window)) if window.change == Change::Undo => {
            if step.after > step.peak.max(window.cwnd) {
                return Fails("the undo of a reduction increases the window above its largest value so far".to_owned());
            }
            check(step.model_based || step.after >= step.before_reduction, || {
                let before = segments(step.before_reduction, step.mss);
                format!("the undo of a reduction restores the {before} segments before the reduction")
            })
        }
        _ => NotApplicable,
    }
}

/// The window follows a limit that the transport imposes after an idle period or a recovery, since the state of the
/// path is outdated (RFC 5681, section 4.1; RFC 2861). A model-based algorithm may keep its window; after a recovery it
/// may restore the window before the recovery or before a probe (Linux, `bbr_restore_cwnd`), after an idle period it
/// must not increase it.
#[must_use]
pub fn imposed(step: &Step<'_>) -> Verdict {
    let Some(Report::Window(window)) = step.report else { return NotApplicable };
    let model = match window.change {
        Change::Idle => step.before,
        Change::Recovered => step.peak,
        Change::Undo | Change::Established => return NotApplicable,
    };
    let limit = if step.model_based { model } else { window.cwnd }.max(step.mss);
    check(step.after <= limit, || {
        let when = if window.change == Change::Idle { "an idle period" } else { "a recovery" };
        let limit = segments(limit, step.mss);
        if step.model_based {
            format!("after {when} a model-based algorithm returns to at most its previous {limit} segments")
        } else {
            format!("after {when} the window is at most the {limit} segments that the transport allows")
        }
    })
}

/// A pacing rate, if set, is above zero and finite: a zero rate stops the flow, and an infinite one results from a
/// division by an unknown RTT.
#[must_use]
pub fn pacing(step: &Step<'_>) -> Verdict {
    let Some(rate) = step.pacing else { return NotApplicable };
    check(rate.0 > 0 && rate < MAX_PACING_RATE, || {
        format!("the pacing rate is {} bit/s, not above zero and finite", rate.0)
    })
}

/// The named numbers of the state are not NaN, and in slow start the window is not above ssthresh (RFC 5681, section
/// 3.1).
#[must_use]
pub fn state(step: &Step<'_>) -> Verdict {
    let Some(state) = step.state else { return NotApplicable };
    if let Some(name) = step.nan {
        return Fails(format!("the state's number '{name}' is NaN"));
    }
    let above = state.ssthresh.bytes().filter(|threshold| state.phase.is_slow_start() && step.after > *threshold);
    check(above.is_none(), || {
        let threshold = segments(above.unwrap_or_default(), step.mss);
        format!("the phase is slow start, and the window is above the threshold of {threshold} segments")
    })
}

/// For rules that are checked outside of steps.
fn not_per_step(_: &Step<'_>) -> Verdict {
    NotApplicable
}

/// After an outage the window grows above one segment again. Index of the rule in [`RULES`].
pub const COMES_BACK: usize = 10;
/// No event causes a panic. Index of the rule in [`RULES`].
pub const NO_PANIC: usize = 13;
/// The measured cost per ACK, which is not a requirement. Index of the rule in [`RULES`].
pub const COST: usize = 14;

macro_rules! rules {
    ($($name:literal, $requirement:literal, $exempts:literal, $check:expr;)*) => {
        /// All rules, in the order of a report.
        pub static RULES: &[Rule] =
            &[$(Rule { name: $name, requirement: $requirement, exempts_model_based: $exempts, check: $check }),*];
    };
}

rules! {
    "one-segment", "the window is at least one segment", false, one_segment;
    "bounded", "the window is finite and below 2^40 bytes", false, bounded;
    "unused-window", "an ACK does not increase an unused window", true, unused_window;
    "recovery", "an ACK does not increase the window in a recovery", true, recovery;
    "same-windows", "equal events give equal windows", false, same_windows;
    "congestion", "a congestion event does not increase the window", false, congestion;
    "backs-off", "the overflow of a standing queue reduces the window", true, backs_off;
    "restart", "a timeout reduces the window to one segment", true, restart;
    "undo", "an undo restores the window before the reduction", false, undo;
    "imposed", "the window is at most the limit that the transport imposes", false, imposed;
    "comes-back", "the window grows again after timeouts", false, not_per_step;
    "pacing", "a pacing rate is above zero and finite", false, pacing;
    "state", "no number of the state is NaN, and the window in slow start is at most ssthresh", false, state;
    "no-panic", "no event causes a panic", false, not_per_step;
    "cost", "ns per ACK: reported, not a requirement", false, not_per_step;
}
