//! The rules: each a small function that looks at one event and what the window did.

use cwndlab_control::{Cause, Change, State};
use cwndlab_units::{Bytes, Rate};

use crate::describe::segments;

pub use crate::event::Event;

/// One event and all that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// What it was told.
    pub event: Event<'a>,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// It keeps a model of the path.
    pub model_based: bool,
    /// The window before and after.
    pub before: Bytes,
    /// The window after.
    pub after: Bytes,
    /// The window before the last reduction; zero where there was none.
    pub stood: Bytes,
    /// The largest window of the case so far.
    pub peak: Bytes,
    /// The pacing rate after.
    pub pacing: Option<Rate>,
    /// Window and pacing rate of a second instance that was told the same.
    pub twin: (Bytes, Option<Rate>),
    /// The state, where it was asked for.
    pub state: Option<State>,
    /// The first named number of the state that is NaN.
    pub nan: Option<&'static str>,
    /// A loss here means that a standing queue ran over: what was in flight exceeded the path and three quarters of its
    /// queue.
    pub overflow: bool,
}

/// What a rule says to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The step is none of its business.
    Silent,
    /// It holds.
    Holds,
    /// It does not, and why.
    Fails(String),
}

use Verdict::{Fails, Holds, Silent};

fn judge(holds: bool, why: impl FnOnce() -> String) -> Verdict {
    if holds {
        Holds
    } else {
        Fails(why())
    }
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What it demands, in one sentence.
    pub demand: &'static str,
    /// It does not hold for what keeps a model of the path.
    pub excepts_models: bool,
    /// Looks at a step.
    pub judge: fn(&Step<'_>) -> Verdict,
}

/// Largest window that anybody may answer: a terabyte in flight is more than any path of this world holds.
pub const LARGEST: Bytes = Bytes(1 << 40);
/// Largest pacing rate: above it is an infinity that was cast to an integer.
pub const FASTEST: Rate = Rate(1_000_000_000_000_000_000);
/// ssthresh may not fall below this (RFC 5681, equation 4), so a congestion event may lead a smaller window up to it.
const FLOOR_SEGMENTS: u64 = 2;

/// At least one segment. RFC 5681, section 3.1, knows no window below the loss window of one segment; with less a
/// sender that waits for ACKs waits for ever. NaN, cast to bytes, is zero and is found here too.
#[must_use]
pub fn one_segment(step: &Step<'_>) -> Verdict {
    judge(step.after >= step.mss, || "a window is never below one segment; NaN counts as zero".to_owned())
}

/// Finite, and below 2⁴⁰ bytes. An infinity, cast to bytes, is the largest integer; a window beyond a terabyte comes
/// from an increase that nothing bounds.
#[must_use]
pub fn bounded(step: &Step<'_>) -> Verdict {
    judge(step.after < LARGEST, || "a window is finite and below 2^40 bytes".to_owned())
}

/// No growth while the sender does not use what it has: such an ACK is no evidence that the path carries more
/// (RFC 7661, section 4.3; RFC 9438, section 5.8; Linux, `tcp_is_cwnd_limited`).
#[must_use]
pub fn unused_window(step: &Step<'_>) -> Verdict {
    match step.event {
        Event::Ack(ack) if !ack.cwnd_limited && !ack.recovering => judge(step.after <= step.before, || {
            "on_ack grows the window although `cwnd_limited` is false: the window was not used".to_owned()
        }),
        _ => Silent,
    }
}

/// No growth by ACKs while a loss is repaired: until then the window is the transport's (RFC 6675, section 5;
/// RFC 9937), and what it adds would be counted twice.
#[must_use]
pub fn recovery(step: &Step<'_>) -> Verdict {
    match step.event {
        Event::Ack(ack) if ack.recovering => judge(step.after <= step.before, || {
            "on_ack grows the window although `recovering` is true: a loss is being repaired".to_owned()
        }),
        _ => Silent,
    }
}

/// The same events give the same windows: a run is a function of scenario and seed (the contract of
/// [`CongestionControl`](cwndlab_control::CongestionControl)). Two instances are told the same in turn.
#[must_use]
pub fn same_windows(step: &Step<'_>) -> Verdict {
    judge((step.after, step.pacing) == step.twin, || {
        let (window, pacing) = step.twin;
        if window == step.after {
            return format!(
                "a second instance, told the same, paces at {} bit/s, this one at {} bit/s: is there a clock, a global \
                 or chance beside `Path::seed`?",
                pacing.map_or(0, |rate| rate.0),
                step.pacing.map_or(0, |rate| rate.0)
            );
        }
        format!(
            "a second instance, told the same, has {} segments: is there a clock, a global or chance beside \
             `Path::seed`?",
            segments(window, step.mss)
        )
    })
}

/// A congestion event never raises the window above what it was, or what was in flight, or the floor of two segments
/// (RFC 5681, equation 4). A model need not lower it, but this is no time to raise it either.
#[must_use]
pub fn congestion(step: &Step<'_>) -> Verdict {
    let Event::Congestion(event) = step.event else { return Silent };
    let most = step.before.max(event.in_flight).max(step.mss * FLOOR_SEGMENTS);
    judge(step.after <= most, || "on_congestion raises the window".to_owned())
}

/// When a standing queue ran over the window falls: whoever keeps it drives the others out (RFC 5033, section 3;
/// RFC 2914). A loss with less in flight than the path and most of its queue hold is a burst's: an estimate of the path,
/// as Westwood's, may then tell to stay.
#[must_use]
pub fn backs_off(step: &Step<'_>) -> Verdict {
    match step.event {
        Event::Congestion(event) if step.overflow && event.cause == Cause::Loss && step.before > step.mss * 4 => {
            judge(step.after < step.before, || {
                "more was in flight than the path holds, its queue ran over, and on_congestion leaves the window as it was"
                    .to_owned()
            })
        }
        _ => Silent,
    }
}

/// A restart leaves one segment: after a timeout nothing is known of the path, and slow start begins again
/// (RFC 5681, section 3.1, loss window; the contract of [`Congestion::restart`](cwndlab_control::Congestion::restart)).
#[must_use]
pub fn restart(step: &Step<'_>) -> Verdict {
    match step.event {
        Event::Congestion(event) if event.restart => judge(step.after <= step.mss, || {
            "after a timeout that restarts slow start, the window is at most one segment".to_owned()
        }),
        _ => Silent,
    }
}

/// An undo gives back what the reduction took (RFC 4015, section 3), and nothing that was never there.
#[must_use]
pub fn undo(step: &Step<'_>) -> Verdict {
    match step.event {
        Event::Window(window, _) if window.change == Change::Undo => {
            if step.after > step.peak.max(window.cwnd) {
                return Fails("the undo of a reduction makes the window larger than ever before".to_owned());
            }
            judge(step.model_based || step.after >= step.stood, || {
                let stood = segments(step.stood, step.mss);
                format!("the undo of a reduction restores the {stood} segments from before the reduction")
            })
        }
        _ => Silent,
    }
}

/// A window that the transport imposes after idleness or recovery is obeyed: what is remembered of the path is stale
/// (RFC 5681, section 4.1; RFC 2861). A model may keep its own; at the end of a recovery it may even take up what stood
/// before it or before a probe (Linux, `bbr_restore_cwnd`), after idleness it raises nothing.
#[must_use]
pub fn imposed(step: &Step<'_>) -> Verdict {
    let Event::Window(window, _) = step.event else { return Silent };
    let model = match window.change {
        Change::Idle => step.before,
        Change::Recovered => step.peak,
        Change::Undo | Change::Established => return Silent,
    };
    let most = if step.model_based { model } else { window.cwnd }.max(step.mss);
    judge(step.after <= most, || {
        let when = if window.change == Change::Idle { "an idle period" } else { "a recovery" };
        let most = segments(most, step.mss);
        if step.model_based {
            format!("after {when} a model-based algorithm returns to at most the {most} segments that it had")
        } else {
            format!("after {when} the window is at most the {most} segments that the transport allows")
        }
    })
}

/// A pacing rate, where one is given, is above zero and finite: zero never sends again, and an infinity is a division
/// by an RTT that is not known yet.
#[must_use]
pub fn pacing(step: &Step<'_>) -> Verdict {
    let Some(rate) = step.pacing else { return Silent };
    judge(rate.0 > 0 && rate < FASTEST, || format!("the pacing rate is {} bit/s, neither zero nor infinite", rate.0))
}

/// The named numbers of the state are numbers, and in slow start the window is not above the slow-start threshold
/// (RFC 5681, section 3.1).
#[must_use]
pub fn state(step: &Step<'_>) -> Verdict {
    let Some(state) = step.state else { return Silent };
    if let Some(name) = step.nan {
        return Fails(format!("the state's number '{name}' is NaN"));
    }
    let above = state.ssthresh.bytes().filter(|threshold| state.phase.is_slow_start() && step.after > *threshold);
    judge(above.is_none(), || {
        let threshold = segments(above.unwrap_or_default(), step.mss);
        format!("the phase is slow start, and the window is above the threshold of {threshold} segments")
    })
}

/// Judged at the end of a case, not at a step.
fn elsewhere(_: &Step<'_>) -> Verdict {
    Silent
}

/// After a blackout the flow comes back: once packets arrive again the window passes its restart of one segment.
pub const COMES_BACK: usize = 10;
/// It never panics, whatever it is told: an overflow, an index or an `unwrap` ends a run of hours.
pub const NO_PANIC: usize = 13;
/// What an ACK costs: measured, never judged.
pub const COST: usize = 14;

macro_rules! rules {
    ($($name:literal, $demand:literal, $models:literal, $judge:expr;)*) => {
        /// All of them; the order is that of a report.
        pub static RULES: &[Rule] =
            &[$(Rule { name: $name, demand: $demand, excepts_models: $models, judge: $judge }),*];
    };
}

rules! {
    "one-segment", "the window is at least one segment", false, one_segment;
    "bounded", "the window is finite and below 2^40 bytes", false, bounded;
    "unused-window", "an ACK does not grow a window that was not used", true, unused_window;
    "recovery", "an ACK does not grow the window while a loss is repaired", true, recovery;
    "same-windows", "the same events give the same windows", false, same_windows;
    "congestion", "a congestion event does not raise the window", false, congestion;
    "backs-off", "a loss by a standing queue lowers the window", true, backs_off;
    "restart", "a timeout leaves one segment", true, restart;
    "undo", "an undo gives back what the reduction took", false, undo;
    "imposed", "a window that the transport imposes is obeyed", false, imposed;
    "comes-back", "the window grows again after timeouts", false, elsewhere;
    "pacing", "a pacing rate is above zero and finite", false, pacing;
    "state", "no number of the state is NaN, and slow start is below its threshold", false, state;
    "no-panic", "nothing panics", false, elsewhere;
    "cost", "ns per ACK: reported, not judged", false, elsewhere;
}
