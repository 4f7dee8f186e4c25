//! Events that an algorithm returns from [`on_ack`](crate::CongestionControl::on_ack): rows of the records' table `events`.

/// An enum whose variants have names in the records, and one variant for those outside the tree.
macro_rules! named {
    ($(#[$about:meta])* $type:ident: $($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$doc])* $variant,)*
            /// One of an algorithm outside the tree, by its name in the records.
            Named(&'static str),
        }

        impl $type {
            /// Its name in the records.
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
    /// What happened.
    EventKind:
    /// Slow start ended by the algorithm's own rule.
    SlowStartExit => "slow-start-exit",
    /// A slow-start threshold above the window was set; slow start goes on up to it.
    ThresholdSet => "ssthresh",
    /// Conservative slow start began (RFC 9406, section 4.2).
    CssEnter => "css-enter",
    /// Conservative slow start ended without leaving slow start (RFC 9406, section 4.2).
    CssLeave => "css-leave",
    /// Another mode of competition (Copa).
    ModeSwitch => "mode",
    /// The window is lowered to measure the smallest round-trip time.
    ProbeRtt => "probe-rtt",
    /// The algorithm goes on without what it was made for.
    Fallback => "fallback",
    /// No router of the path answered.
    NoFeedback => "no-feedback",
    /// CapStart chose between limited and standard slow start.
    CapStart => "capstart",
    /// The routers' answer to a Quick-Start request (RFC 4782).
    QuickStart => "quick-start",
}

named! {
    /// Why it happened: the signal or the rule that decided.
    Reason:
    /// The queueing delay rose.
    Delay => "delay",
    /// A train of ACKs became as long as the path.
    Train => "train",
    /// Conservative slow start ran its rounds.
    Css => "css",
    /// The window reached an upper bound.
    Cap => "cap",
    /// The delivery rate stopped rising.
    FullPipe => "full-pipe",
    /// Losses.
    Loss => "loss",
    /// What is known of the round-trip time is too old.
    Age => "age",
    /// The window reached the path's capacity, as estimated from trains of ACKs.
    Pipe => "pipe",
    /// The window reached the path's capacity, as estimated from a packet pair.
    Pair => "pair",
    /// The window reached the bandwidth that was measured or reported as available.
    Available => "available",
    /// The eligible rate estimate.
    EligibleRate => "eligible-rate",
    /// The backlog in the queue: expected less actual window.
    Backlog => "diff",
    /// Less was delivered than the growth of the window promised (SEARCH).
    Norm => "norm",
    /// The gap between packets at which the queue neither grows nor drains.
    TurningPoint => "turning-point",
    /// The initial slow-start threshold.
    Initial => "initial",
    /// The round-trip time passed the lower bound of PHCC.
    DelayMinimum => "d-min",
    /// What the routers stamped on the handshake.
    Stamp => "stamp",
    /// No router stamped the handshake.
    NoStamp => "no-stamp",
    /// The handshake gave no round-trip time.
    NoRtt => "no-rtt",
    /// Others fill the queue.
    Compete => "compete",
    /// Nobody else fills the queue.
    Default => "default",
    /// Limited slow start.
    Limited => "limited",
    /// Standard slow start.
    Standard => "standard",
    /// The routers approved a rate.
    Approved => "approved",
    /// The routers of SIRENS.
    Sirens => "sirens",
    /// None is known.
    None => "none",
}

/// What an algorithm reports of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// Why.
    pub reason: Reason,
    /// The window when it happened, segments.
    pub cwnd_segments: f64,
    /// What the algorithm compared the window with, segments (CCM-SS: B·D); NaN where there is nothing.
    pub pipe_segments: f64,
}

impl Event {
    /// An event at a window of `cwnd_segments` that was compared with nothing.
    #[must_use]
    pub fn new(kind: EventKind, reason: Reason, cwnd_segments: f64) -> Self {
        Self { kind, reason, cwnd_segments, pipe_segments: f64::NAN }
    }

    /// The same, where the window was compared with `pipe_segments`.
    #[must_use]
    pub fn against(self, pipe_segments: f64) -> Self {
        Self { pipe_segments, ..self }
    }
}
