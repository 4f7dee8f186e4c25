//! The parameters of a TCP stack, set by a profile or overridden by a scenario.

use cwndlab_units::{Bytes, Duration, Rate};

/// The negotiated form of ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not ECN-capable.
    Off,
    /// RFC 3168: the receiver echoes until the sender sends CWR.
    Classic,
    /// Accurate ECN without the limits of the wire: the receiver reports the exact number of marks.
    Accurate,
    /// Accurate ECN with an immediate acknowledgement whenever marking begins or ends (RFC 8257, section 3.2).
    Dctcp,
    /// Accurate ECN as on the wire: ACE field and AccECN option (RFC 9768).
    AccEcn,
}

impl Ecn {
    /// Whether the receiver reports the number of marks.
    #[must_use]
    pub fn counts_marks(self) -> bool {
        matches!(self, Self::Accurate | Self::Dctcp | Self::AccEcn)
    }
}

/// The forms of ECN that the peer supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerEcn {
    /// All.
    Accurate,
    /// RFC 3168 only.
    Classic,
    /// None.
    Off,
}

/// The window after an idle period of more than an RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// The window does not change.
    Off,
    /// RFC 5681, section 4.1: the initial window.
    InitialWindow,
    /// RFC 2861: halved once per idle RTO, not below the initial window (Linux).
    Decay,
    /// RFC 7661, section 4.4.3: halved after more than five minutes of idle time, the end of the non-validated phase. Limited
    /// use ends no phase, and congestion in it (section 4.4.1) is as any other.
    Rfc7661,
}

/// When the transport paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Only if the algorithm sets a rate.
    Algorithm,
    /// Always: by the algorithm's rate, else by Linux' rule (2 × cwnd/srtt in slow start, 1.2 × after).
    Always,
    /// Never.
    Off,
}

/// The arithmetic of SRTT, RTTVAR and the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoArithmetic {
    /// RFC 6298, to the nanosecond.
    Exact,
    /// Whole ticks of `rto_granularity` in fixed point, as in BSD and ns-2's native agents.
    Ticks,
    /// Whole ticks with decreases of the RTT weighted by 1/8, as in ns-2's `Agent/TCP/Linux`.
    TicksLinux,
}

/// Events that restart the retransmission timer, in addition to its expiry and to a transmission while no segment is in
/// flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRestart {
    /// An ACK of new data (RFC 6298, 5.3).
    NewData,
    /// In addition, a retransmission of the first segment in flight (Linux, `tcp_xmit_retransmit_queue`; ns-2,
    /// `dupack_action`).
    Retransmission,
    /// Every ACK, including duplicates (ns-2, `Agent/TCP/Linux`).
    EveryAck,
}

/// The rules of RACK, its timers and the undo of reductions where Linux differs from the RFCs (listed in
/// `docs/validity.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The rules of the RFCs.
    Rfc,
    /// The rules of Linux 6.x.
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

/// The reduction of the window to `ssthresh` during recovery with FACK. With SACK it is immediate, unless this is
/// `Proportional`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rampdown {
    /// Immediately to the new `ssthresh`.
    None,
    /// Immediately to the new `ssthresh`, but at most one segment beyond the data in flight, as Linux 2.6 for modules
    /// without a `min_cwnd`: each ACK allows one segment, regardless of how many it marks lost.
    InFlight,
    /// Rate halving, as Linux 2.6: one segment less per two ACKs down to `ssthresh`.
    RateHalving,
    /// Rate halving down to half of `ssthresh`, as Linux 2.6 for modules with that `min_cwnd`.
    RateHalvingToHalf,
    /// Proportional rate reduction in the version `prr`.
    Proportional,
}

/// The amount of an ACK that counts for the growth of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckCounting {
    /// The acknowledged bytes (RFC 3465).
    Bytes,
    /// At most one segment: ns-2's native agents (`opencwnd`) and most modules of its TCP/Linux.
    Acks,
    /// At most one segment in slow start, bytes after it: modules of TCP/Linux that use `bytes_acked`, such as `reno`.
    AcksInSlowStart,
}

impl AckCounting {
    /// The bytes that count for the growth of the window after an ACK of `bytes`.
    #[inline]
    #[must_use]
    pub fn counted(self, bytes: Bytes, mss: Bytes, in_slow_start: impl FnOnce() -> bool) -> Bytes {
        match self {
            Self::Acks => bytes.min(mss),
            Self::AcksInSlowStart if in_slow_start() => bytes.min(mss),
            _ => bytes,
        }
    }
}

/// Declares the struct, and [`Stack::fields`] from the same declarations.
macro_rules! with_descriptions {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[doc = $doc:literal])+ pub $field:ident: $kind:ty,)+ }
    ) => {
        $(#[$about])*
        pub struct $name { $($(#[doc = $doc])+ pub $field: $kind,)+ }

        impl $name {
            /// Name and description of every field.
            const DESCRIPTIONS: &'static [(&'static str, &'static str)] = &[$((stringify!($field), concat!($($doc),+))),+];

            /// Name, description and value of every field.
            #[must_use]
            pub fn fields(&self) -> Vec<(&'static str, &'static str, &dyn std::fmt::Debug)> {
                vec![$((stringify!($field), concat!($($doc),+), &self.$field)),+]
            }
        }
    };
}

with_descriptions! {
/// The parameters of a stack with overrides applied. It has one field per parameter of a profile, therefore more than
/// 20. Scenarios, profiles and documentation name each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Header bytes of a data segment on the wire.
    pub header: Bytes,
    /// Wire bytes of a bare ACK, and of SYN and SYN-ACK.
    pub ack: Bytes,
    /// Wire bytes per SACK block in an ACK.
    pub sack_block: Bytes,
    /// How much of an ACK counts for the growth of the window.
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
    /// Arithmetic of the timeout.
    pub rto_arithmetic: RtoArithmetic,
    /// Clock granularity G of RFC 6298, or the tick; RTT samples for the RTO are rounded only in ticks. Timers of Linux expire at ticks; 0: exactly.
    pub rto_granularity: Duration,
    /// The floor `min_rto` applies to the variance term (Linux), not to the sum.
    pub rto_floor_on_variance: bool,
    /// When the retransmission timer restarts.
    pub rto_restart: RtoRestart,
    /// An ACK at least for every n-th full segment.
    pub ack_every: u32,
    /// Longest delay of an ACK.
    pub ack_delay: Duration,
    /// Segments acknowledged one by one at the start of a connection and after idleness.
    pub quick_acks: u32,
    /// In a dialogue, a delayed ACK leaves on the next segment of the other direction (RFC 1122, section 4.2.3.2), and an
    /// end that answers has no quick ACKs (Linux, ping-pong mode). It has no effect with ECN, and in QUIC.
    pub piggyback: bool,
    /// SACK is negotiated; a recovery that does not evaluate it leaves it unused. Without SACK, NewReno replaces a recovery
    /// that needs it; RACK with Linux' rules counts duplicate ACKs as SACKs.
    pub sack: bool,
    /// SackBlocks per ACK at most.
    pub sack_blocks: u32,
    /// The receiver sends D-SACKs (RFC 2883).
    pub dsack: bool,
    /// ACKs of out-of-order segments that a receiver merges into one at most (Linux, `tcp_comp_sack_nr`); 0 is none.
    pub sack_compression: u32,
    /// The receiver acknowledges segments that did not arrive as if they had, so that the sender learns of no loss before
    /// the last segment (optimistic ACKs; Savage et al., CCR 29(5), 1999, section 3.3).
    pub conceal_losses: bool,
    /// Pieces into which the receiver divides each ACK of full segments, sent at once (ACK division; Savage et al., section
    /// 3.1). ACKs do not leave on segments of the other direction then. It has no effect in QUIC, which acknowledges packets.
    pub ack_division: u32,
    /// Timestamps are negotiated.
    pub timestamps: bool,
    /// With timestamps, segments and ACKs older than the last ones are discarded (PAWS, RFC 7323, section 5).
    pub paws: bool,
    /// ECN.
    pub ecn: Ecn,
    /// Forms of ECN that the peer supports. The sender falls back to the best of them.
    pub peer_ecn: PeerEcn,
    /// With `ecn = "accecn"`, ACKs carry the AccECN option with byte counters (RFC 9768, section 3.2.3).
    pub accecn_option: bool,
    /// With `ecn = "accecn"`, ACKs and retransmissions are ECN-capable, so that a queue marks them instead of dropping them
    /// (Linux, `tcp_ecn_send`; draft-ietf-tcpm-generalized-ecn).
    pub ecn_acks: bool,
    /// With `ecn = "accecn"`, packets carry ECT(1) (L4S, RFC 9331), also SYNs and retransmissions; set by the algorithm, not
    /// by a scenario.
    pub ect1: bool,
    /// Pacing.
    pub pacing: Pacing,
    /// Segments that a paced sender sends at once; with `tso_burst` more at a high rate.
    pub pacing_quantum: u32,
    /// Bursts as in Linux: small ones are deferred until a larger one is possible (TSO deferral); paced ones are a
    /// millisecond of the rate, and the first ten packets are not paced.
    pub tso_burst: bool,
    /// Linux' rules or the RFCs'; set by the profile, not by a scenario.
    pub rules: Rules,
    /// Largest receive window.
    pub receive_window: Bytes,
    /// The window starts small and grows with use up to `receive_window` (Linux' auto-tuning).
    pub auto_tuning: bool,
    /// With `auto_tuning`, the window before it grows with use: the data that the initial receive buffer holds. A sender with
    /// Linux' rules is told of 64 kB at first, and each segment opens the window by two up to this value and is
    /// acknowledged at once.
    pub initial_receive_window: Bytes,
    /// Rate at which the receiving application reads; `None`: at once.
    pub read_rate: Option<Rate>,
    /// The window after idleness.
    pub idle_restart: IdleRestart,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Undo of spurious reductions (Eifel by timestamps, D-SACK, F-RTO); recoveries that count duplicate ACKs have none.
    pub undo: bool,
    /// Tail loss probes.
    pub tail_loss_probe: bool,
    /// PRR version.
    pub prr: Prr,
    /// How the window falls during recovery with FACK; with SACK where it is proportional.
    pub rampdown: Rampdown,
    /// Duplicate-ACK threshold.
    pub dup_thresh: u32,
    /// SYN retransmissions at most, beside those of `syn_linear_timeouts`.
    pub syn_retries: u32,
    /// SYN retransmissions after which the timeout does not double (Linux 6.5, `tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// Burst limit at the end of a recovery, segments beyond the data in flight; 0 is none.
    pub exit_burst: u32,
    /// Number of the first segment of a connection. No scenario sets it: results do not depend on it, as tests show that start
    /// just below 2³², where the number on the wire wraps.
    pub first_segment: u64,
}
}

/// Whether two strings are equal, in a constant expression.
const fn bytes_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

impl Stack {
    /// The ticks at which timers expire, as Linux' do; zero: they expire exactly.
    pub(crate) fn tick(&self) -> Duration {
        if self.rules == Rules::Linux && self.rto_arithmetic == RtoArithmetic::Exact {
            self.rto_granularity
        } else {
            Duration::ZERO
        }
    }

    /// The documentation of a field.
    ///
    /// # Panics
    /// If there is no field of this name.
    #[must_use]
    pub const fn description(field: &str) -> &'static str {
        let mut at = 0;
        while at < Self::DESCRIPTIONS.len() {
            if bytes_equal(Self::DESCRIPTIONS[at].0.as_bytes(), field.as_bytes()) {
                return Self::DESCRIPTIONS[at].1;
            }
            at += 1;
        }
        panic!("a stack has no such field")
    }

    /// Window scale: the right shift of the window to the 32 bits of a packet, for windows of 4 GiB and more (RFC 7323,
    /// section 2, where it has 16 bits).
    #[must_use]
    pub fn window_shift(&self) -> u32 {
        u64::BITS - (self.receive_window.0 >> u32::BITS).leading_zeros()
    }
}
