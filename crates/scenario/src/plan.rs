//! The plan: a scenario with every default filled in, every unit converted, every route found.
//!
//! Engines read nothing else. Links and flows refer to each other by index.

use std::sync::Arc;

use cwndlab_control::{Algorithm, RecoveryKind};
use cwndlab_units::{Bytes, Duration, Rate};

/// What an engine runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// SHA-256 of the scenario's canonical form, in hex.
    pub scenario_hash: String,
    /// How long to run.
    pub duration: Duration,
    /// Interval of the samples; zero takes none.
    pub sample_interval: Duration,
    /// Record every packet.
    pub packets: bool,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The links, each in one direction.
    pub links: Vec<LinkPlan>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
}

/// A link in one direction: a queue, a line that serialises, a wire that delays and may lose.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Its name, unique.
    pub name: String,
    /// Index of the node it leaves.
    pub from: u32,
    /// Index of the node it reaches.
    pub to: u32,
    /// Rate of the line; `None` serialises in no time (and then nothing ever queues).
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// What waits for the line.
    pub queue: QueuePlan,
    /// What the wire loses, in this order, after the queue.
    pub losses: Vec<LossPlan>,
    /// Delay variation of the wire.
    pub jitter: Option<JitterPlan>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Its samples are recorded (`link_samples`).
    pub sampled: bool,
}

/// A drop-tail queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePlan {
    /// How much may wait.
    pub capacity: Capacity,
    /// The packet in service counts towards the capacity.
    pub counts_in_service: bool,
    /// Mark ECN-capable packets that find more than this many packets waiting.
    pub mark_above: Option<u32>,
}

/// How much may wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// Any number.
    Unlimited,
    /// Packets of any size.
    Packets(u32),
    /// Bytes.
    Bytes(Bytes),
}

/// A loss process of a wire. Counted or drawn per packet in the order of arrival at the wire.
#[derive(Clone, Debug)]
pub enum LossPlan {
    /// Each packet with probability `p`.
    Bernoulli {
        /// Loss probability.
        p: f64,
    },
    /// Two states; the state changes before each packet, starting in the good one.
    GilbertElliott {
        /// P(good → bad).
        p: f64,
        /// P(bad → good).
        r: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
        /// Loss probability in the good state.
        loss_good: f64,
    },
    /// The packets with these indices, from 0, ascending.
    List {
        /// Indices.
        indices: Arc<[u64]>,
        /// Count only packets that carry payload.
        payload_only: bool,
    },
}

/// Delay variation: each packet is late by a uniform draw from [0, `spread`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitterPlan {
    /// Upper end.
    pub spread: Duration,
    /// Packets may overtake each other; otherwise none arrives before its predecessor.
    pub reorder: bool,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Its label in the records, unique.
    pub name: String,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Its recovery: the algorithm's, or else the profile's.
    pub recovery: RecoveryKind,
    /// Canonical text of the algorithm, recovery included.
    pub algorithm_text: String,
    /// Name of the stack profile.
    pub profile: String,
    /// Links from sender to receiver.
    pub forward: Vec<u32>,
    /// Links from receiver to sender.
    pub reverse: Vec<u32>,
    /// Propagation delay both ways, no serialisation.
    pub base_rtt: Duration,
    /// When it starts.
    pub start: Duration,
    /// The start is later by a uniform draw from [0, this).
    pub start_jitter: Duration,
    /// When its application stops producing data.
    pub stop: Option<Duration>,
    /// What it sends.
    pub workload: Workload,
    /// The stack's values.
    pub stack: Stack,
    /// Capacity of the smallest queue on the forward route, for `oracle` options.
    pub oracle_buffer: Option<Bytes>,
    /// The algorithm decides elsewhere, as with the kernel path.
    pub remote: Option<Remote>,
}

/// The algorithm is asked from afar: what the kernel datapath does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// From event to applied window.
    pub delay: Duration,
    /// ACKs are reported together at most this often; zero reports each.
    pub interval: Duration,
}

/// What an application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// As much as possible, or `bytes` of it.
    Bulk {
        /// How much; `None` is endless.
        bytes: Option<Bytes>,
    },
    /// Sends as much as possible for `on`, then is silent for `off`, and so on.
    OnOff {
        /// Length of an active period.
        on: Duration,
        /// Length of a silent one.
        off: Duration,
    },
    /// `count` transfers of `bytes` each, the next one `gap` after the last was acknowledged.
    Transfers {
        /// How many; `None` is without end.
        count: Option<u64>,
        /// Size of each.
        bytes: Bytes,
        /// Pause between them.
        gap: Duration,
        /// Each over a connection of its own, with handshake and initial window.
        new_connection: bool,
    },
}

/// ECN as negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not ECN-capable.
    Off,
    /// RFC 3168: an echo until the sender answers with CWR.
    Classic,
    /// Accurate ECN: the receiver counts marks.
    Accurate,
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

/// The version of proportional rate reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prr {
    /// RFC 6937 with the slow-start reduction bound.
    Rfc6937,
    /// RFC 9937.
    Rfc9937,
}

/// How FACK brings the window down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rampdown {
    /// To the new `ssthresh` at once.
    None,
    /// Rate halving, as Linux 2.6: one segment less per two ACKs down to `ssthresh`.
    RateHalving,
    /// Rate halving down to half of `ssthresh`, as Linux 2.6 for modules with that `min_cwnd`.
    RateHalvingToHalf,
}

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
    /// Clock granularity G of RFC 6298; RTT samples for the RTO are not rounded.
    pub rto_granularity: Duration,
    /// The floor `min_rto` holds for the variance term (Linux), not for the sum.
    pub rto_floor_on_variance: bool,
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
    /// Segments that may leave at once when pacing.
    pub pacing_quantum: u32,
    /// Hold small bursts back until a larger one is possible, as Linux' TSO deferral does.
    pub tso_burst: bool,
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
    /// FACK's way down.
    pub rampdown: Rampdown,
    /// Duplicate-ACK threshold.
    pub dup_thresh: u32,
    /// SYNs sent at most, beyond the first.
    pub syn_retries: u32,
    /// Burst limit at the end of a recovery, segments above what is in flight; 0 is none.
    pub exit_burst: u32,
}
