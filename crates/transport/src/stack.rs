//! The values of a stack: what a profile fixes and a scenario may override.

use cwndlab_units::{Bytes, Duration, Rate};

/// ECN as negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not ECN-capable.
    Off,
    /// RFC 3168: an echo until the sender answers with CWR.
    Classic,
    /// Accurate ECN: the receiver counts marks.
    Accurate,
    /// The same, and the receiver acknowledges at once whenever marking begins or ends (RFC 8257, section 3.2).
    Dctcp,
}

/// What the window does after the sender was idle for an RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// Nothing.
    Off,
    /// RFC 5681, section 4.1: back to the initial window.
    InitialWindow,
    /// RFC 2861: halved per RTO of idleness, not below the initial window (Linux).
    Decay,
    /// RFC 7661: the non-validated phase.
    Rfc7661,
}

/// When the transport spreads its segments over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Only where the algorithm gives a rate.
    Algorithm,
    /// Always: by the algorithm's rate, else by Linux' rule (2 × cwnd/srtt in slow start, 1.2 × after).
    Always,
    /// Never.
    Off,
}

/// How SRTT and RTTVAR are kept for the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoArithmetic {
    /// RFC 6298, to the nanosecond.
    Exact,
    /// Whole ticks of `rto_granularity` in fixed point, as BSD and ns-2's own agents.
    Ticks,
    /// The same with falls of the RTT counted an eighth, as ns-2's `Agent/TCP/Linux`.
    TicksLinux,
}

/// When the retransmission timer begins anew, beside the first segment in flight and an expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRestart {
    /// New data was acknowledged (RFC 6298, 5.3).
    NewData,
    /// And when the oldest segment in flight is sent again: `tcp_xmit_retransmit_queue` of Linux, ns-2's `dupack_action`.
    Retransmission,
    /// With every ACK, duplicates too: ns-2's `Agent/TCP/Linux`.
    EveryAck,
}

/// Whose rules RACK, its timers and the undo of reductions keep where Linux departs from the RFCs. `docs/validity.md` lists
/// the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The RFCs'.
    Rfc,
    /// Linux 6.x'.
    Linux,
}

/// The version of proportional rate reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prr {
    /// RFC 6937 with the slow-start reduction bound.
    Rfc6937,
    /// RFC 9937.
    Rfc9937,
}

/// How FACK brings the window down, and SACK where it is `Proportional`, else at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rampdown {
    /// To the new `ssthresh` at once.
    None,
    /// To the new `ssthresh` at once, but at most one segment beyond what is in flight, as Linux 2.6 for modules without a
    /// `min_cwnd`: one segment leaves per ACK, however much an ACK marks lost.
    InFlight,
    /// Rate halving, as Linux 2.6: one segment less per two ACKs down to `ssthresh`.
    RateHalving,
    /// Rate halving down to half of `ssthresh`, as Linux 2.6 for modules with that `min_cwnd`.
    RateHalvingToHalf,
    /// Proportional rate reduction, as `prr` says.
    Proportional,
}

/// What an ACK counts for where a window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckCounting {
    /// The bytes that it acknowledges (RFC 3465).
    Bytes,
    /// One segment at most: ns-2's native agents (`opencwnd`) and most modules of its TCP/Linux.
    Acks,
    /// One segment at most in slow start, bytes after it: modules of TCP/Linux that use `bytes_acked`, such as `reno`.
    AcksInSlowStart,
}

impl AckCounting {
    /// The bytes that an ACK for `bytes` counts for.
    #[must_use]
    pub fn counted(self, bytes: Bytes, mss: Bytes, in_slow_start: impl FnOnce() -> bool) -> Bytes {
        match self {
            Self::Acks => bytes.min(mss),
            Self::AcksInSlowStart if in_slow_start() => bytes.min(mss),
            _ => bytes,
        }
    }
}

/// Declares the struct and, from the same lines, what [`Stack::described`] answers.
macro_rules! described {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[doc = $doc:literal])+ pub $field:ident: $kind:ty,)+ }
    ) => {
        $(#[$about])*
        pub struct $name { $($(#[doc = $doc])+ pub $field: $kind,)+ }

        impl $name {
            /// Name, meaning and value of every field.
            #[must_use]
            pub fn described(&self) -> Vec<(&'static str, &'static str, &dyn std::fmt::Debug)> {
                vec![$((stringify!($field), concat!($($doc),+), &self.$field)),+]
            }
        }
    };
}

described! {
/// The values of a stack profile, overrides applied.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Wire bytes that come on top of the payload.
    pub header: Bytes,
    /// Wire bytes of a bare ACK, and of SYN and SYN-ACK.
    pub ack: Bytes,
    /// Wire bytes per SACK block in an ACK.
    pub sack_block: Bytes,
    /// What an ACK counts for where the window grows.
    pub ack_counting: AckCounting,
    /// Initial window, segments.
    pub initial_window: u32,
    /// Initial slow-start threshold, segments.
    pub initial_ssthresh: Option<u32>,
    /// Smallest RTO.
    pub min_rto: Duration,
    /// Largest RTO.
    pub max_rto: Duration,
    /// RTO before the first sample.
    pub initial_rto: Duration,
    /// How the timeout is reckoned.
    pub rto_arithmetic: RtoArithmetic,
    /// Clock granularity G of RFC 6298, or the tick; only in ticks are RTT samples for the RTO rounded.
    pub rto_granularity: Duration,
    /// The floor `min_rto` holds for the variance term (Linux), not for the sum.
    pub rto_floor_on_variance: bool,
    /// When the timer begins anew.
    pub rto_restart: RtoRestart,
    /// An ACK at least for every n-th full segment.
    pub ack_every: u32,
    /// The longest time an ACK is held back.
    pub ack_delay: Duration,
    /// Segments acknowledged one by one at the start of a connection and after idleness.
    pub quick_acks: u32,
    /// SACK is negotiated; where the recovery needs none it stays unused.
    pub sack: bool,
    /// Blocks per ACK at most.
    pub sack_blocks: u32,
    /// The receiver reports duplicates (RFC 2883).
    pub dsack: bool,
    /// Timestamps are negotiated.
    pub timestamps: bool,
    /// ECN.
    pub ecn: Ecn,
    /// Pacing.
    pub pacing: Pacing,
    /// Segments that may leave at once when pacing; with `tso_burst` more where the rate is high.
    pub pacing_quantum: u32,
    /// Bursts as Linux makes them: small ones are held back until a larger one is possible (TSO deferral); paced ones are
    /// what the rate gives in a millisecond, and the first ten packets are not paced.
    pub tso_burst: bool,
    /// Linux' rules or the RFCs'; the profile decides, a scenario cannot.
    pub rules: Rules,
    /// Largest receive window.
    pub receive_window: Bytes,
    /// The window starts small and grows with use up to `receive_window` (Linux' auto-tuning).
    pub auto_tuning: bool,
    /// The receiving application reads at this rate; `None` at once.
    pub read_rate: Option<Rate>,
    /// After idleness.
    pub idle_restart: IdleRestart,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Undo of spurious reductions (Eifel by timestamps, D-SACK, F-RTO).
    pub undo: bool,
    /// Tail loss probes.
    pub tail_loss_probe: bool,
    /// PRR version.
    pub prr: Prr,
    /// FACK's way down; SACK's where it is proportional.
    pub rampdown: Rampdown,
    /// Duplicate-ACK threshold.
    pub dup_thresh: u32,
    /// SYNs sent at most, beyond the first.
    pub syn_retries: u32,
    /// Burst limit at the end of a recovery, segments above what is in flight; 0 is none.
    pub exit_burst: u32,
    /// Number of the first segment of a connection. No scenario sets it: results do not depend on it, which tests show by
    /// beginning just below 2³², where the number on the wire wraps.
    pub first_segment: u64,
}
}

impl Stack {
    /// How far a window is shifted right in a packet, which has 32 bits for it: not below 4 GiB (as RFC 7323, section 2,
    /// where it is 16 bits).
    #[must_use]
    pub fn window_shift(&self) -> u32 {
        u64::BITS - (self.receive_window.0 >> u32::BITS).leading_zeros()
    }
}
