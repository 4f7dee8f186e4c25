//! Events that an algorithm returns from [`on_ack`](crate::CongestionControl::on_ack): rows of the table `events`.

/// An enum whose variants have names in the records, with a variant for algorithms outside this repository.
macro_rules! named {
    ($(#[$about:meta])* $type:ident: $($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$doc])* $variant,)*
            /// Defined by an algorithm outside this repository; its name in the records.
            Named(&'static str),
        }

        impl $type {
            /// All of this repository.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in the records.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Named(name) => name,
                }
            }
        }
    };
}

named! {
    /// The kind of an event.
    EventKind:
    /// Slow start ended by the algorithm's own rule.
    SlowStartExit => "slow-start-exit",
    /// A slow-start threshold above the window was set; slow start continues up to it.
    ThresholdSet => "ssthresh",
    /// Conservative slow start began (RFC 9406, section 4.2).
    CssEnter => "css-enter",
    /// Conservative slow start ended without leaving slow start (RFC 9406, section 4.2).
    CssLeave => "css-leave",
    /// The window begins to fall to a target, at which slow start ends (SEARCH).
    Drain => "drain",
    /// Change between default and competitive mode (Copa).
    ModeSwitch => "mode",
    /// The window is lowered to measure the minimum round-trip time.
    ProbeRtt => "probe-rtt",
    /// The algorithm continues without a capability that it needs, such as router feedback.
    Fallback => "fallback",
    /// No router of the path returned feedback.
    NoFeedback => "no-feedback",
    /// CapStart chose between limited and standard slow start.
    CapStart => "capstart",
    /// The routers' response to a Quick-Start request (RFC 4782).
    QuickStart => "quick-start",
    /// A phase of Careful Resume began or ended (RFC 9959).
    CarefulResume => "careful-resume",
}

named! {
    /// The reason of an event: the signal or the rule that caused it.
    Reason:
    /// The queueing delay rose.
    Delay => "delay",
    /// An ACK train reached its threshold.
    Train => "train",
    /// Conservative slow start completed its rounds.
    Css => "css",
    /// The window reached an upper bound.
    Cap => "cap",
    /// The delivery rate stopped rising.
    FullPipe => "full-pipe",
    /// Losses.
    Loss => "loss",
    /// The minimum round-trip time is too old.
    Age => "age",
    /// The window reached the path's capacity, as estimated from ACK trains.
    Pipe => "pipe",
    /// The window reached the path's capacity, as estimated from packet pairs.
    Pair => "pair",
    /// The window reached the measured or reported available bandwidth.
    Available => "available",
    /// The window reached the eligible rate estimate.
    EligibleRate => "eligible-rate",
    /// The backlog in the queue, expected minus actual window, exceeded a threshold.
    Backlog => "diff",
    /// Less was delivered than was sent a round-trip time before (SEARCH).
    Norm => "norm",
    /// The gap between packets at which the queue neither grows nor drains.
    TurningPoint => "turning-point",
    /// The initial slow-start threshold.
    Initial => "initial",
    /// The round-trip time exceeded the lower threshold of PHCC.
    DelayMinimum => "d-min",
    /// The bandwidth that the routers stamped on the handshake.
    Stamp => "stamp",
    /// No router stamped the handshake.
    NoStamp => "no-stamp",
    /// The handshake gave no round-trip time.
    NoRtt => "no-rtt",
    /// Competing flows fill the queue.
    Compete => "compete",
    /// No competing flow fills the queue.
    Default => "default",
    /// Limited slow start.
    Limited => "limited",
    /// Standard slow start.
    Standard => "standard",
    /// The routers approved a rate.
    Approved => "approved",
    /// The routers of SIRENS.
    Sirens => "sirens",
    /// The saved parameters do not fit the path, or do not exceed the window.
    Rejected => "rejected",
    /// The window jumped to a part of the saved one.
    Unvalidated => "unvalidated",
    /// All data of the jump is sent.
    Validating => "validating",
    /// All data of the jump is acknowledged.
    Validated => "validated",
    /// The application did not use the jump.
    RateLimited => "rate-limited",
    /// No reason is known.
    None => "none",
}

/// An event of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Its kind.
    pub kind: EventKind,
    /// Its reason.
    pub reason: Reason,
    /// The window at the event, segments.
    pub cwnd_segments: f64,
    /// The value with which the algorithm compared the window, segments (CCM-SS: B·D); NaN where there is none.
    pub pipe_segments: f64,
}

impl Event {
    /// An event at a window of `cwnd_segments`, without a compared value.
    #[must_use]
    pub fn new(kind: EventKind, reason: Reason, cwnd_segments: f64) -> Self {
        Self { kind, reason, cwnd_segments, pipe_segments: f64::NAN }
    }

    /// The event with `pipe_segments` as the compared value.
    #[must_use]
    pub fn against(self, pipe_segments: f64) -> Self {
        Self { pipe_segments, ..self }
    }
}
