//! The values that cross the boundary, in the layout of C. Times in nanoseconds, amounts in bytes, rates in bit/s, as in
//! the contract. Texts are UTF-8 of a length and need no terminator; those of a library exist as long as the process.

use cwndlab_control::{
    Ack, Cause, Change, Congestion, DeliveryRate, Event, EventKind, Feedback, Path, Phase, Reason, Saved, Sent,
    Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// A text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    /// A text that exists as long as the process, or as the call that it is passed to.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { start: text.as_ptr(), length: text.len() }
    }

    /// No text.
    pub const NONE: Self = Self { start: std::ptr::null(), length: 0 };

    /// The text.
    ///
    /// # Safety
    /// It is one of [`new`](Self::new) that exists as long as `'a`.
    #[must_use]
    pub unsafe fn get<'a>(self) -> Option<&'a str> {
        if self.start.is_null() {
            return None;
        }
        std::str::from_utf8(unsafe { std::slice::from_raw_parts(self.start, self.length) }).ok()
    }
}

/// A number that may be absent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Maybe {
    present: u64,
    value: u64,
}

impl From<Option<u64>> for Maybe {
    fn from(value: Option<u64>) -> Self {
        Self { present: value.is_some().into(), value: value.unwrap_or_default() }
    }
}

impl From<Maybe> for Option<u64> {
    fn from(one: Maybe) -> Self {
        (one.present != 0).then_some(one.value)
    }
}

fn bytes(value: Maybe) -> Option<Bytes> {
    Option::<u64>::from(value).map(Bytes)
}

fn duration(value: Maybe) -> Option<Duration> {
    Option::<u64>::from(value).map(Duration::from_nanos)
}

fn of_bytes(value: Option<Bytes>) -> Maybe {
    value.map(|bytes| bytes.0).into()
}

fn of_duration(value: Option<Duration>) -> Maybe {
    value.map(Duration::as_nanos).into()
}

/// [`Path`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CPath {
    mss: u64,
    initial_cwnd: u64,
    initial_ssthresh: Maybe,
    seed: u64,
    oracle_buffer: Maybe,
    saved_at: Maybe,
    saved_cwnd: u64,
    saved_rtt: u64,
    paced: u8,
    classic_ecn: u8,
}

impl From<&Path> for CPath {
    fn from(path: &Path) -> Self {
        Self {
            mss: path.mss.0,
            initial_cwnd: path.initial_cwnd.0,
            initial_ssthresh: of_bytes(path.initial_ssthresh),
            seed: path.seed,
            oracle_buffer: of_bytes(path.oracle_buffer),
            saved_at: path.saved.map(|saved| saved.at.as_nanos()).into(),
            saved_cwnd: path.saved.map_or(0, |saved| saved.cwnd.0),
            saved_rtt: path.saved.map_or(0, |saved| saved.rtt.as_nanos()),
            paced: path.paced.into(),
            classic_ecn: path.classic_ecn.into(),
        }
    }
}

impl From<&CPath> for Path {
    fn from(path: &CPath) -> Self {
        Self {
            mss: Bytes(path.mss),
            initial_cwnd: Bytes(path.initial_cwnd),
            initial_ssthresh: bytes(path.initial_ssthresh),
            paced: path.paced != 0,
            classic_ecn: path.classic_ecn != 0,
            seed: path.seed,
            oracle_buffer: bytes(path.oracle_buffer),
            saved: Option::<u64>::from(path.saved_at).map(|at| Saved {
                at: Time::from_nanos(at),
                cwnd: Bytes(path.saved_cwnd),
                rtt: Duration::from_nanos(path.saved_rtt),
            }),
        }
    }
}

/// [`Feedback`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CFeedback {
    rate: Maybe,
    accelerated: u64,
}

impl From<Option<Feedback>> for CFeedback {
    fn from(one: Option<Feedback>) -> Self {
        Self { rate: one.map(|one| one.rate.0).into(), accelerated: one.map_or(0, |one| one.accelerated.0) }
    }
}

impl From<CFeedback> for Option<Feedback> {
    fn from(one: CFeedback) -> Self {
        Option::<u64>::from(one.rate).map(|rate| Feedback { rate: Rate(rate), accelerated: Bytes(one.accelerated) })
    }
}

/// [`DeliveryRate`]; without an interval none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CSample {
    interval: Maybe,
    delivered: u64,
    prior_delivered: u64,
    app_limited: u64,
}

impl From<Option<DeliveryRate>> for CSample {
    #[inline]
    fn from(sample: Option<DeliveryRate>) -> Self {
        Self {
            interval: of_duration(sample.map(|one| one.interval)),
            delivered: sample.map_or(0, |one| one.delivered.0),
            prior_delivered: sample.map_or(0, |one| one.prior_delivered.0),
            app_limited: sample.is_some_and(|one| one.app_limited).into(),
        }
    }
}

impl From<CSample> for Option<DeliveryRate> {
    #[inline]
    fn from(sample: CSample) -> Self {
        duration(sample.interval).map(|interval| DeliveryRate {
            delivered: Bytes(sample.delivered),
            interval,
            prior_delivered: Bytes(sample.prior_delivered),
            app_limited: sample.app_limited != 0,
        })
    }
}

/// [`Ack`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CAck {
    now: u64,
    mss: u64,
    acked: u64,
    interval: u64,
    prior_in_flight: u64,
    in_flight: u64,
    lost: u64,
    rtt: Maybe,
    srtt: u64,
    min_rtt: u64,
    sample: CSample,
    delivered: u64,
    ce: u64,
    round: u64,
    feedback: CFeedback,
    acks: u32,
    app_limited: u8,
    cwnd_limited: u8,
    recovering: u8,
}

impl From<&Ack> for CAck {
    #[inline]
    fn from(ack: &Ack) -> Self {
        Self {
            now: ack.now.as_nanos(),
            mss: ack.mss.0,
            acked: ack.acked.0,
            interval: ack.interval.as_nanos(),
            prior_in_flight: ack.prior_in_flight.0,
            in_flight: ack.in_flight.0,
            lost: ack.lost.0,
            rtt: of_duration(ack.rtt),
            srtt: ack.srtt.as_nanos(),
            min_rtt: ack.min_rtt.as_nanos(),
            sample: ack.delivery_rate.into(),
            delivered: ack.delivered.0,
            ce: ack.ce.0,
            round: ack.round,
            feedback: ack.feedback.into(),
            acks: ack.acks,
            app_limited: ack.app_limited.into(),
            cwnd_limited: ack.cwnd_limited.into(),
            recovering: ack.recovering.into(),
        }
    }
}

impl From<&CAck> for Ack {
    #[inline]
    fn from(ack: &CAck) -> Self {
        Self {
            now: Time::from_nanos(ack.now),
            mss: Bytes(ack.mss),
            acked: Bytes(ack.acked),
            acks: ack.acks,
            interval: Duration::from_nanos(ack.interval),
            prior_in_flight: Bytes(ack.prior_in_flight),
            in_flight: Bytes(ack.in_flight),
            lost: Bytes(ack.lost),
            rtt: duration(ack.rtt),
            srtt: Duration::from_nanos(ack.srtt),
            min_rtt: Duration::from_nanos(ack.min_rtt),
            delivery_rate: ack.sample.into(),
            delivered: Bytes(ack.delivered),
            ce: Bytes(ack.ce),
            app_limited: ack.app_limited != 0,
            cwnd_limited: ack.cwnd_limited != 0,
            recovering: ack.recovering != 0,
            round: ack.round,
            feedback: ack.feedback.into(),
        }
    }
}

/// An enum as a number.
macro_rules! numbered {
    ($to:ident, $from:ident: $type:ty { $($variant:ident = $number:literal),* $(,)? }) => {
        fn $to(one: $type) -> u8 {
            match one {
                $(<$type>::$variant => $number,)*
            }
        }

        fn $from(number: u8) -> Option<$type> {
            match number {
                $($number => Some(<$type>::$variant),)*
                _ => None,
            }
        }
    };
}

numbered!(of_cause, cause: Cause { Loss = 0, Ecn = 1, Timeout = 2 });
numbered!(of_change, change: Change { Undo = 0, Idle = 1, Recovered = 2, Established = 3 });
numbered!(of_phase, phase: Phase {
    Unknown = 0,
    SlowStart = 1,
    ConservativeSlowStart = 2,
    CongestionAvoidance = 3,
    Recovery = 4,
    OwnRecovery = 5,
    RouterControlled = 6,
    PolicyControlled = 7,
    Startup = 8,
    Drain = 9,
    ProbeBw = 10,
    ProbeRtt = 11,
});

/// [`Congestion`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CCongestion {
    now: u64,
    mss: u64,
    in_flight: u64,
    lost: u64,
    srtt: u64,
    min_rtt: u64,
    round: u64,
    cause: u8,
    restart: u8,
    repeated: u8,
}

impl From<&Congestion> for CCongestion {
    fn from(event: &Congestion) -> Self {
        Self {
            now: event.now.as_nanos(),
            mss: event.mss.0,
            in_flight: event.in_flight.0,
            lost: event.lost.0,
            srtt: event.srtt.as_nanos(),
            min_rtt: event.min_rtt.as_nanos(),
            round: event.round,
            cause: of_cause(event.cause),
            restart: event.restart.into(),
            repeated: event.repeated.into(),
        }
    }
}

impl From<&CCongestion> for Congestion {
    fn from(event: &CCongestion) -> Self {
        Self {
            now: Time::from_nanos(event.now),
            mss: Bytes(event.mss),
            cause: cause(event.cause).unwrap_or(Cause::Loss),
            restart: event.restart != 0,
            repeated: event.repeated != 0,
            in_flight: Bytes(event.in_flight),
            lost: Bytes(event.lost),
            srtt: Duration::from_nanos(event.srtt),
            min_rtt: Duration::from_nanos(event.min_rtt),
            round: event.round,
        }
    }
}

/// [`Sent`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSent {
    now: u64,
    size: u64,
    in_flight: u64,
    retransmission: u8,
    app_limited: u8,
}

impl From<&Sent> for CSent {
    #[inline]
    fn from(sent: &Sent) -> Self {
        Self {
            now: sent.now.as_nanos(),
            size: sent.size.0,
            in_flight: sent.in_flight.0,
            retransmission: sent.retransmission.into(),
            app_limited: sent.app_limited.into(),
        }
    }
}

impl From<&CSent> for Sent {
    #[inline]
    fn from(sent: &CSent) -> Self {
        Self {
            now: Time::from_nanos(sent.now),
            size: Bytes(sent.size),
            in_flight: Bytes(sent.in_flight),
            retransmission: sent.retransmission != 0,
            app_limited: sent.app_limited != 0,
        }
    }
}

/// [`Window`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CWindow {
    now: u64,
    cwnd: u64,
    ssthresh: Maybe,
    idle: u64,
    rtt: Maybe,
    feedback: CFeedback,
    change: u8,
}

impl From<&Window> for CWindow {
    fn from(window: &Window) -> Self {
        Self {
            now: window.now.as_nanos(),
            cwnd: window.cwnd.0,
            ssthresh: of_bytes(window.ssthresh),
            idle: window.idle.as_nanos(),
            rtt: of_duration(window.rtt),
            feedback: window.feedback.into(),
            change: of_change(window.change),
        }
    }
}

impl From<&CWindow> for Window {
    fn from(window: &CWindow) -> Self {
        Self {
            now: Time::from_nanos(window.now),
            change: change(window.change).unwrap_or(Change::Recovered),
            cwnd: Bytes(window.cwnd),
            ssthresh: bytes(window.ssthresh),
            idle: Duration::from_nanos(window.idle),
            rtt: duration(window.rtt),
            feedback: window.feedback.into(),
        }
    }
}

/// What the three methods without an argument return after a call: window, pacing rate and state. `ssthresh` is 0 for an
/// unknown threshold, 1 for none, and 2 for that of `threshold`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct COutputs {
    cwnd: u64,
    pacing_rate: Maybe,
    threshold: u64,
    ssthresh: u8,
    phase: u8,
}

impl COutputs {
    /// Those of an algorithm before its first call.
    pub const NONE: Self =
        Self { cwnd: 0, pacing_rate: Maybe { present: 0, value: 0 }, threshold: 0, ssthresh: 0, phase: 0 };

    /// The outputs.
    #[must_use]
    #[inline]
    pub fn new(cwnd: Bytes, pacing_rate: Option<Rate>, state: State) -> Self {
        let (ssthresh, threshold) = match state.ssthresh {
            Ssthresh::Unknown => (0, 0),
            Ssthresh::Unlimited => (1, 0),
            Ssthresh::At(bytes) => (2, bytes.0),
        };
        let pacing_rate = pacing_rate.map(|rate| rate.0).into();
        Self { cwnd: cwnd.0, pacing_rate, threshold, ssthresh, phase: of_phase(state.phase) }
    }

    /// The window.
    #[must_use]
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    /// The pacing rate.
    #[must_use]
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        Option::<u64>::from(self.pacing_rate).map(Rate)
    }

    /// The state.
    #[must_use]
    #[inline]
    pub fn state(&self) -> State {
        let ssthresh = match self.ssthresh {
            1 => Ssthresh::Unlimited,
            2 => Ssthresh::At(Bytes(self.threshold)),
            _ => Ssthresh::Unknown,
        };
        State { ssthresh, phase: phase(self.phase).unwrap_or(Phase::Unknown) }
    }
}

/// [`Event`], by the names of its kind and its reason; without names none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CEvent {
    kind: Text,
    reason: Text,
    cwnd_segments: f64,
    pipe_segments: f64,
}

impl CEvent {
    /// No event.
    pub const NONE: Self = Self { kind: Text::NONE, reason: Text::NONE, cwnd_segments: 0.0, pipe_segments: 0.0 };

    /// The event.
    ///
    /// # Safety
    /// Its texts exist as long as the process.
    #[must_use]
    pub unsafe fn get(&self) -> Option<Event> {
        let (kind, reason) = unsafe { (self.kind.get()?, self.reason.get()?) };
        let known = EventKind::ALL.iter().copied().find(|one| one.name() == kind);
        let known_reason = Reason::ALL.iter().copied().find(|one| one.name() == reason);
        Some(Event {
            kind: known.unwrap_or(EventKind::Named(kind)),
            reason: known_reason.unwrap_or(Reason::Named(reason)),
            cwnd_segments: self.cwnd_segments,
            pipe_segments: self.pipe_segments,
        })
    }
}

impl From<Option<Event>> for CEvent {
    #[inline]
    fn from(event: Option<Event>) -> Self {
        event.map_or(Self::NONE, |one| Self {
            kind: Text::new(one.kind.name()),
            reason: Text::new(one.reason.name()),
            cwnd_segments: one.cwnd_segments,
            pipe_segments: one.pipe_segments,
        })
    }
}
