//! The algorithm `external`: window and pacing rate are decided outside of it, once per round trip, per interval or per
//! ACK.
//!
//! Without a decider, as in `cwndlab run`, the window is fixed.

use std::fmt;

use cwndlab_control::{
    self as control, options, Ack, Build, Change, Confidence, Congestion, CongestionControl, Event, Extra, Kind, Need,
    Path, Phase, Sent, Spec, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::monitor::Interval;

/// The largest window, segments; a larger one is that.
const MAX_SEGMENTS: f64 = 1e9;

/// A round trip ends after this many smoothed RTTs at the latest: while retransmissions are lost again, the round of the
/// transport does not end.
const MAX_RTTS: u64 = 2;

options! {
    pub struct Options {
        /// time of decisions: once per round trip, at the latest at the first ACK after two smoothed RTTs; at the first
        /// ACK after interval_ms; or at every report of the transport; a timeout is a decision in each case
        every: DecisionTime { Rtt = "rtt", Interval = "interval", Ack = "ack" } = Rtt,
        /// time between decisions, where every = interval
        interval_ms: f64["ms"] = 10.0 in 0.001..=60_000.0,
        /// window before the first decision; 0: the initial window of the stack profile
        initial: f64["segments"] = 0.0 in 0.0..=1e6,
        /// sets the window while losses are repaired and after idle periods: the policy, or the transport, as for an
        /// algorithm that reacts to loss
        recovery: Recovery { Policy = "policy", Transport = "transport" } = Policy,
    }
}

/// The entry. It is not in the catalogue of all algorithms, since it has no behaviour of its own.
pub static SPEC: Spec = Spec {
    name: "external",
    title: "External decisions",
    kind: Kind::Whole,
    source: "The environments of cwndlab.gym, docs/gym.md",
    year: 2026,
    confidence: Confidence::High,
    summary: "The window and the pacing rate are set from outside, once per round trip, per interval or per ACK. Without decisions the window is fixed.",
    parameters: Options::PARAMETERS,
    choices: &[],
    pitfalls: &[],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(External::new(path, arguments.into(), None))),
};

/// The cause of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The end of a monitor interval.
    Interval,
    /// An ACK.
    Ack,
    /// A congestion event that is not a timeout.
    Loss,
    /// The retransmission timer expired.
    Timeout,
    /// The transport changed the window.
    Window,
}

/// The report before a decision.
#[derive(Clone, Debug)]
pub struct Report {
    /// Time of the decision.
    pub now: Time,
    /// Its cause.
    pub cause: Cause,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// What happened since the last decision.
    pub interval: Interval,
    /// The window.
    pub cwnd: Bytes,
    /// The pacing rate that was decided.
    pub pacing_rate: Option<Rate>,
    /// In flight.
    pub in_flight: Bytes,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Minimum RTT of the flow; zero before the first sample.
    pub min_rtt: Duration,
    /// Delivered in total.
    pub delivered: Bytes,
    /// The sender is application-limited.
    pub app_limited: bool,
    /// Losses are being repaired.
    pub recovering: bool,
    /// The transport's report, where every report is a decision.
    pub observed: Option<Box<control::Report>>,
}

impl Report {
    /// Bytes as segments.
    #[must_use]
    pub fn segments(&self, bytes: Bytes) -> f64 {
        bytes.0 as f64 / self.mss.0 as f64
    }

    /// A rate as segments per second.
    #[must_use]
    pub fn per_s(&self, rate: Rate) -> f64 {
        rate.0 as f64 / (8.0 * self.mss.0 as f64)
    }

    /// The length of the interval, s.
    #[must_use]
    pub fn duration_s(&self) -> f64 {
        seconds(self.now.saturating_since(self.interval.start))
    }

    /// Smoothed RTT, s; NaN before the first sample.
    #[must_use]
    pub fn srtt_s(&self) -> f64 {
        sample_s(self.srtt)
    }

    /// Minimum RTT, s; NaN before the first sample.
    #[must_use]
    pub fn min_rtt_s(&self) -> f64 {
        sample_s(self.min_rtt)
    }

    /// The pacing rate that was decided, segments per second; NaN without one.
    #[must_use]
    pub fn pacing_per_s(&self) -> f64 {
        self.pacing_rate.map_or(f64::NAN, |rate| self.per_s(rate))
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

/// A duration that is zero before the first sample.
fn sample_s(duration: Duration) -> f64 {
    if duration == Duration::ZERO {
        f64::NAN
    } else {
        seconds(duration)
    }
}

/// A decision. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Action {
    /// The window, segments.
    pub cwnd: Option<f64>,
    /// The pacing rate, segments per second; `Some(None)`: by the transport's profile.
    pub pacing: Option<Option<f64>>,
    /// The slow-start threshold, segments, for the records; `Some(None)`: no threshold.
    pub ssthresh: Option<Option<f64>>,
    /// An event for the records.
    pub event: Option<Event>,
}

impl Action {
    /// This action, changed by a later one.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self {
            cwnd: later.cwnd.or(self.cwnd),
            pacing: later.pacing.or(self.pacing),
            ssthresh: later.ssthresh.or(self.ssthresh),
            event: later.event.or(self.event),
        }
    }
}

/// Decides for a flow.
pub trait Decider: fmt::Debug + Send + CloneDecider {
    /// A decision is due.
    fn decide(&mut self, report: &Report) -> Action;

    /// An action that was set between two decisions and not yet applied; read at every event.
    #[inline]
    fn pending(&mut self) -> Option<Action> {
        None
    }
}

/// A boxed copy, implemented for every decider that is `Clone`.
pub trait CloneDecider {
    /// A copy of the present state.
    fn boxed(&self) -> Box<dyn Decider>;
}

impl<T: Decider + Clone + 'static> CloneDecider for T {
    fn boxed(&self) -> Box<dyn Decider> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Decider> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// The time of decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// Once per round trip.
    Rtt,
    /// At the first ACK after this time.
    Interval(Duration),
    /// At every report of the transport.
    Ack,
}

/// A congestion control whose window and pacing rate are decided outside.
#[derive(Clone, Debug)]
pub struct External {
    decider: Option<Box<dyn Decider>>,
    every: Every,
    /// The policy sets the window during recovery too.
    owns_recovery: bool,
    interval: Interval,
    /// The round trip of the last decision; `None` before the first ACK.
    round: Option<u64>,
    mss: Bytes,
    cwnd: Bytes,
    pacing: Option<Rate>,
    ssthresh: Option<f64>,
    /// Losses are being repaired.
    recovering: bool,
    in_flight: Bytes,
    delivered: Bytes,
    srtt: Duration,
    min_rtt: Duration,
}

impl External {
    /// The control of a flow; without a decider the window is fixed.
    #[must_use]
    pub fn new(path: &Path, options: Options, decider: Option<Box<dyn Decider>>) -> Self {
        let every = match options.every {
            DecisionTime::Rtt => Every::Rtt,
            DecisionTime::Interval => Every::Interval(Duration::from_nanos((options.interval_ms * 1e6) as u64)),
            DecisionTime::Ack => Every::Ack,
        };
        let owns_recovery = options.recovery == Recovery::Policy;
        let mut new = Self::deciding(path, every, owns_recovery, decider);
        if options.initial > 0.0 {
            new.set_cwnd(options.initial);
        }
        new
    }

    /// The control of a flow with these times of decisions.
    #[must_use]
    pub fn deciding(path: &Path, every: Every, owns_recovery: bool, decider: Option<Box<dyn Decider>>) -> Self {
        Self {
            decider,
            every,
            owns_recovery,
            interval: Interval::default(),
            round: None,
            mss: path.mss,
            cwnd: path.initial_cwnd,
            pacing: None,
            ssthresh: path.initial_ssthresh.map(|bytes| bytes.0 as f64 / path.mss.0 as f64),
            recovering: false,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
        }
    }

    fn set_cwnd(&mut self, segments: f64) {
        // The rounding margin of composed algorithms: k segments may be the sum of fractions.
        self.cwnd = Bytes(((segments.clamp(1.0, MAX_SEGMENTS) + 1e-9) * self.mss.0 as f64) as u64);
    }

    fn apply(&mut self, action: &Action) {
        if let Some(segments) = action.cwnd {
            self.set_cwnd(segments);
        }
        if let Some(pacing) = action.pacing {
            let bits = 8.0 * self.mss.0 as f64;
            self.pacing = pacing.map(|segments| Rate(((segments.min(MAX_SEGMENTS) * bits) as u64).max(1)));
        }
        if let Some(ssthresh) = action.ssthresh {
            self.ssthresh = ssthresh;
        }
    }

    #[inline]
    fn apply_pending(&mut self) {
        if let Some(action) = self.decider.as_mut().and_then(|decider| decider.pending()) {
            self.apply(&action);
        }
    }

    /// Asks the decider, and begins the next interval.
    fn decide(
        &mut self,
        now: Time,
        cause: Cause,
        app_limited: bool,
        observed: Option<control::Report>,
    ) -> Option<Event> {
        let Some(decider) = &mut self.decider else { return None };
        let report = Report {
            now,
            cause,
            mss: self.mss,
            interval: self.interval,
            cwnd: self.cwnd,
            pacing_rate: self.pacing,
            in_flight: self.in_flight,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            delivered: self.delivered,
            app_limited,
            recovering: self.recovering,
            observed: observed.map(Box::new),
        };
        let action = decider.decide(&report);
        self.interval = Interval::new(now);
        self.apply(&action);
        action.event
    }

    /// Whether a decision is due at an ACK.
    #[inline]
    fn is_due(&mut self, ack: &Ack) -> bool {
        let round = self.round;
        let elapsed = ack.now.saturating_since(self.interval.start);
        match self.every {
            Every::Ack => true,
            Every::Rtt => {
                let late = elapsed.as_nanos() >= MAX_RTTS * ack.srtt.as_nanos();
                if round == Some(ack.round) && !late {
                    return false;
                }
                self.round = Some(ack.round);
                // The first ACK belongs to the first round trip.
                round.is_some()
            }
            Every::Interval(length) => elapsed >= length,
        }
    }
}

impl CongestionControl for External {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.decider.as_ref()?;
        self.apply_pending();
        self.interval.add(ack);
        (self.in_flight, self.delivered) = (ack.in_flight, ack.delivered);
        (self.srtt, self.min_rtt, self.recovering) = (ack.srtt, ack.min_rtt, ack.recovering);
        if !self.is_due(ack) {
            return None;
        }
        let (cause, observed) = match self.every {
            Every::Ack => (Cause::Ack, Some(control::Report::Ack(ack.clone()))),
            _ => (Cause::Interval, None),
        };
        self.decide(ack.now, cause, ack.app_limited, observed)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.apply_pending();
        let timeout = event.cause == control::Cause::Timeout;
        self.recovering = !event.restart;
        if timeout || self.every == Every::Ack {
            self.in_flight = event.in_flight;
            let cause = if timeout { Cause::Timeout } else { Cause::Loss };
            let observed = (self.every == Every::Ack).then(|| control::Report::Congestion(event.clone()));
            self.decide(event.now, cause, false, observed);
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        self.interval.sent += sent.size;
    }

    fn on_window(&mut self, window: &Window) {
        self.apply_pending();
        self.recovering = false;
        if window.change == Change::Established {
            self.interval = Interval::new(window.now);
            self.cwnd = self.cwnd.min(window.cwnd);
        } else if !self.owns_recovery && window.change != Change::Undo {
            self.cwnd = window.cwnd;
        }
        if self.every == Every::Ack {
            self.decide(window.now, Cause::Window, false, Some(control::Report::Window(*window)));
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    #[inline]
    fn state(&self, _extra: Option<Extra<'_>>) -> State {
        if self.owns_recovery {
            // Never below the threshold: the flow is never in slow start, by which the transport paces faster.
            return State { ssthresh: Ssthresh::At(self.cwnd), phase: Phase::PolicyControlled };
        }
        let ssthresh = self.ssthresh.unwrap_or(f64::INFINITY);
        let mss = self.mss.0 as f64;
        let phase = if self.recovering {
            Phase::Recovery
        } else if self.cwnd.0 as f64 >= ssthresh * mss {
            Phase::CongestionAvoidance
        } else {
            Phase::SlowStart
        };
        State { ssthresh: Ssthresh::of(ssthresh, mss), phase }
    }
}
