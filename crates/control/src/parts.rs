//! The two parts of a composed algorithm: slow start and congestion avoidance.
//!
//! Windows are in segments of `mss`, as in the papers.

use std::fmt;

use cwndlab_units::Rate;

use crate::contract::{Ack, Congestion, Window};
use crate::event::Event;
use crate::snapshot::snapshot;
use crate::state::Extra;

/// The response of a slow start to an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Segments to add to the window, up to the threshold, or to that of `exit`; the rest counts for congestion
    /// avoidance. A negative value reduces the window, to no less than one segment, and not during recovery.
    pub grow: f64,
    /// The end of slow start, now or, with a threshold above the window, at that window.
    pub exit: Option<Exit>,
    /// An event for the records; that of `exit` takes precedence.
    pub event: Option<Event>,
}

impl Step {
    /// An increase by `segments`.
    #[inline]
    #[must_use]
    pub fn grow(segments: f64) -> Self {
        Self { grow: segments, exit: None, event: None }
    }

    /// An increase by `segments`, and the end of slow start where `exit` is given.
    #[inline]
    #[must_use]
    pub fn with_exit(segments: f64, exit: Option<Exit>) -> Self {
        Self { grow: segments, exit, event: None }
    }

    /// An increase by `segments`, with an event for the records.
    #[inline]
    #[must_use]
    pub fn with_event(segments: f64, event: Option<Event>) -> Self {
        Self { grow: segments, exit: None, event }
    }
}

/// The end of slow start by the algorithm's own rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exit {
    /// The new slow-start threshold, segments.
    pub ssthresh: f64,
    /// The event for the records.
    pub event: Event,
}

/// Optional capabilities of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The part returns a `pacing_rate`.
    pub pacing: bool,
    /// A slow start that also receives the ACKs outside of slow start.
    pub outside: bool,
}

/// Slow start: the increase of the window while `w < ssthresh`, and its end.
pub trait SlowStart: fmt::Debug + Send + SlowStartSnapshot {
    /// Data was acknowledged in slow start. `w` and `ssthresh` in segments; called only while `w < ssthresh`.
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step;

    /// The handshake is complete. Returns the initial window and threshold, segments.
    fn established(&mut self, _window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        (w, ssthresh)
    }

    /// A congestion event at window `w`, in slow start or later. `ssthresh` is the value from congestion avoidance; the
    /// returned value replaces it.
    fn on_congestion(&mut self, _event: &Congestion, _w: f64, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// An ACK outside of slow start, `w ≥ ssthresh`, for slow starts that [declare](Capabilities) it. A higher returned
    /// `ssthresh` restarts slow start.
    fn outside(&mut self, _ack: &Ack, _w: f64, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// Whether the slow start sets the window of the recovery that the last congestion event began. The transport's
    /// reduction to `ssthresh` does not apply then.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Window and threshold, segments, after an ACK of a recovery that the slow start [owns](Self::owns_recovery).
    fn recover(&mut self, _ack: &Ack, w: f64) -> (f64, f64) {
        (w, w)
    }

    /// The pacing rate in slow start, for slow starts that [declare](Capabilities) it.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The capabilities; read once, at the start of the flow.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The transport changed the window (idle restart, undo).
    fn on_window(&mut self, _window: &Window) {}

    /// Named numbers of the state, for debugging; none may be NaN.
    fn extra(&self, _put: Extra<'_>) {}
}

/// Congestion avoidance: the increase of the window above ssthresh, and its reduction at congestion events.
pub trait CongestionAvoidance: fmt::Debug + Send + CongestionAvoidanceSnapshot {
    /// Data was acknowledged in congestion avoidance while the window limited the flow. Returns the new window,
    /// segments.
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64;

    /// A congestion event at window `w`. Returns the new `ssthresh`, segments, which is also the new window unless the
    /// event restarts slow start.
    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64;

    /// Data was acknowledged in slow start, for congestion avoidance with its own slow start.
    fn start(&mut self, ack: &Ack, _w: f64, _ssthresh: f64) -> Step {
        Step::grow(ack.acked.0 as f64 / ack.mss.0 as f64)
    }

    /// The pacing rate in congestion avoidance, and in its own slow start, for algorithms that [declare](Capabilities)
    /// it.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The capabilities; read once, at the start of the flow.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Every ACK of every phase, before the window changes: for measurements of RTTs or rounds.
    fn observe(&mut self, _ack: &Ack, _w: f64) {}

    /// The transport changed the window, or reverts the last reduction.
    fn on_window(&mut self, _window: &Window) {}

    /// Named numbers of the state, for debugging; none may be NaN.
    fn extra(&self, _put: Extra<'_>) {}
}

snapshot! {
    SlowStartSnapshot of SlowStart;
    CongestionAvoidanceSnapshot of CongestionAvoidance;
}
