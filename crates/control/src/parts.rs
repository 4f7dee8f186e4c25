//! The two parts of a composed algorithm: how the window grows before the threshold, and after.
//!
//! Windows are in segments of `mss`, as the papers write them.

use std::fmt;

use cwndlab_units::Rate;

use crate::contract::{Ack, Congestion, Window};
use crate::event::Event;
use crate::snapshot::snapshot;
use crate::state::Extra;

/// What a slow start answers to an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Segments to add to the window up to the threshold, the one that `exit` sets included; what is left over counts for
    /// avoidance. Below zero the window falls, not under one segment, and not while a loss is repaired.
    pub grow: f64,
    /// Leave slow start now, or where it sets a threshold above the window, at that window.
    pub exit: Option<Exit>,
    /// Another event for the records; that of `exit` takes its place.
    pub event: Option<Event>,
}

impl Step {
    /// Grows by so many segments.
    #[inline]
    #[must_use]
    pub fn grow(segments: f64) -> Self {
        Self { grow: segments, exit: None, event: None }
    }

    /// Grows by so many segments, and leaves slow start where there is an exit.
    #[inline]
    #[must_use]
    pub fn with_exit(segments: f64, exit: Option<Exit>) -> Self {
        Self { grow: segments, exit, event: None }
    }

    /// Grows by so many segments, with an event for the records.
    #[inline]
    #[must_use]
    pub fn with_event(segments: f64, event: Option<Event>) -> Self {
        Self { grow: segments, exit: None, event }
    }
}

/// The end of slow start by the module's own rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exit {
    /// The new slow-start threshold, segments.
    pub ssthresh: f64,
    /// Why, for the records.
    pub event: Event,
}

/// What a part does beyond the ordinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It returns a `pacing_rate`.
    pub pacing: bool,
    /// A slow start that wants to see the ACKs outside of slow start too.
    pub outside: bool,
}

/// How the window grows while `w < ssthresh`, and when that ends.
pub trait SlowStart: fmt::Debug + Send + SlowStartSnapshot {
    /// Data was acknowledged in slow start. `w` and `ssthresh` in segments; asked only while `w < ssthresh`.
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step;

    /// The handshake is done: the window and the threshold to begin with.
    fn established(&mut self, _window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        (w, ssthresh)
    }

    /// Congestion was seen at window `w`, in slow start or later. `ssthresh` is the growth's answer; what is returned
    /// takes its place.
    fn on_congestion(&mut self, _event: &Congestion, _w: f64, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// An ACK outside of slow start, `w ≥ ssthresh`, for those that [declare](Capabilities) it: a higher `ssthresh` begins
    /// slow start anew.
    fn outside(&mut self, _ack: &Ack, _w: f64, ssthresh: f64) -> f64 {
        ssthresh
    }

    /// The rate at which to send while in slow start, for those that [declare](Capabilities) it.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// What it is capable of; read once, when the flow begins.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The transport changed the window (idle restart, undo).
    fn on_window(&mut self, _window: &Window) {}

    /// Named numbers of its state, for debugging; none may be NaN.
    fn extra(&self, _put: Extra<'_>) {}
}

/// How the window grows in congestion avoidance, and what a congestion event costs.
pub trait CongestionAvoidance: fmt::Debug + Send + CongestionAvoidanceSnapshot {
    /// Data was acknowledged in avoidance, the window limiting: the new window, in segments.
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64;

    /// Congestion was seen at window `w`: the new `ssthresh`, in segments, which is the new window too
    /// unless the event restarts slow start.
    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64;

    /// Data was acknowledged in slow start, for congestion avoidance that brings its own slow start.
    fn start(&mut self, ack: &Ack, _w: f64, _ssthresh: f64) -> Step {
        Step::grow(ack.acked.0 as f64 / ack.mss.0 as f64)
    }

    /// The rate at which to send in avoidance (and in a start of its own), for those that [declare](Capabilities) it.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// What it is capable of; read once, when the flow begins.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Every ACK of every phase, before anything grows: for those that keep RTTs or rounds.
    fn observe(&mut self, _ack: &Ack, _w: f64) {}

    /// The transport changed the window, or takes the last reduction back.
    fn on_window(&mut self, _window: &Window) {}

    /// Named numbers of its state, for debugging; none may be NaN.
    fn extra(&self, _put: Extra<'_>) {}
}

snapshot! {
    SlowStartSnapshot of SlowStart;
    CongestionAvoidanceSnapshot of CongestionAvoidance;
}
