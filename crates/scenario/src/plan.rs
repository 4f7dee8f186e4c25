//! The plan: a scenario with every default filled in, every unit converted, every route found.
//!
//! Engines read nothing else. Links and flows refer to each other by index.

use std::sync::Arc;

use cwndlab_control::{Algorithm, RecoveryKind, Scheme};
use cwndlab_units::{Bytes, Duration, Rate};

pub use cwndlab_transport::stack::{
    AckCounting, Ecn, IdleRestart, Pacing, Prr, Rampdown, RtoArithmetic, RtoRestart, Rules, Stack,
};

pub use crate::distribution::Distribution;
pub use crate::workload::{Intensity, Mqtt, Pattern, Workload};

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
    /// Media of 802.11 that links share.
    pub media: Vec<MediumPlan>,
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
    /// Rate of the line, its mean where that changes; `None` serialises in no time (and then nothing ever queues).
    pub rate: Option<Rate>,
    /// What the line is.
    pub line: LinePlan,
    /// What changes with time.
    pub schedule: SchedulePlan,
    /// Retransmissions of a radio link.
    pub harq: Option<HarqPlan>,
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
    /// What its router does for schemes that ask it.
    pub agents: Vec<AgentPlan>,
    /// Its samples are recorded (`link_samples`).
    pub sampled: bool,
    /// It is on a medium, in place of a line of its own; its queue is that of all links that leave its node there.
    pub radio: Option<RadioPlan>,
}

/// A medium of 802.11.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumPlan {
    /// Its name, unique.
    pub name: String,
    /// Which part of 802.11.
    pub standard: StandardPlan,
    /// Slot.
    pub slot: Duration,
    /// Smallest and largest contention window.
    pub windows: (u32, u32),
    /// Attempts at a frame without and behind an RTS.
    pub attempts: (u32, u32),
    /// Frames of more bytes go behind an RTS.
    pub rts_above: Option<Bytes>,
    /// Bystanders of a collision wait an EIFS in place of DIFS.
    pub eifs: bool,
    /// A-MPDU with BlockAck.
    pub aggregation: bool,
    /// A frame for an idle medium keeps its turn without a backoff when the medium turns busy.
    pub keeps_turn: bool,
    /// Beacons, and the index of the node that sends them.
    pub beacon: Option<(u32, BeaconPlan)>,
}

/// Part of 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardPlan {
    /// 802.11g, ERP-OFDM.
    ErpOfdm,
    /// 802.11n at 20 MHz in 2.4 GHz.
    Ht,
}

/// Beacons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeaconPlan {
    /// Distance.
    pub interval: Duration,
    /// Bytes of the frame, sent at 1 Mbit/s.
    pub bytes: u32,
}

/// How a link is on its medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioPlan {
    /// Index of the medium.
    pub medium: u32,
    /// How its frames are sent.
    pub mode: ModePlan,
    /// Probability that noise destroys a frame.
    pub frame_error: f64,
}

/// Modulation and coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModePlan {
    /// ERP-OFDM.
    Ofdm {
        /// Rate, Mbit/s.
        mbps: u8,
    },
    /// High throughput.
    Ht {
        /// 0 to 7.
        mcs: u8,
        /// 1 to 4.
        streams: u8,
        /// Guard interval of 400 ns.
        short_guard: bool,
    },
}

impl ModePlan {
    /// It belongs to this standard.
    #[must_use]
    pub fn is_of(self, standard: StandardPlan) -> bool {
        matches!(self, Self::Ofdm { .. }) == (standard == StandardPlan::ErpOfdm)
    }

    /// The rate of its symbols (IEEE 802.11-2016, tables 17-4 and 19-27 on).
    #[must_use]
    pub fn rate(self) -> Rate {
        match self {
            Self::Ofdm { mbps } => Rate(u64::from(mbps) * 1_000_000),
            Self::Ht { mcs, streams, short_guard } => {
                let bits = [26, 52, 78, 104, 156, 208, 234, 260][usize::from(mcs)] * u64::from(streams);
                Rate(if short_guard { bits * 2_500_000 / 9 } else { bits * 250_000 })
            }
        }
    }
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum LinePlan {
    /// It has the link's rate, unless that changes by the schedule.
    #[default]
    Rate,
    /// It follows a trace.
    Trace {
        /// Moments of opportunities, ms, non-decreasing; the last one is the period.
        stamps: Arc<[u32]>,
        /// Bytes of an opportunity.
        bytes: u32,
        /// Where in the trace the run begins.
        offset: Duration,
    },
    /// A token bucket.
    TokenBucket {
        /// Rate of the tokens.
        rate: Rate,
        /// Size of the bucket.
        burst: Bytes,
        /// Rate at which a burst leaves; nothing takes no time.
        peak: Option<Rate>,
    },
}

/// What changes with time; what a step does not name stays as it is.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SchedulePlan {
    /// Steps, ascending.
    pub steps: Vec<StepPlan>,
    /// All begins anew after this time.
    pub repeat: Option<Duration>,
}

/// A step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct StepPlan {
    /// When.
    pub at: Duration,
    /// Rate from then on; 0 is an outage.
    pub rate: Option<Rate>,
    /// Propagation delay from then on.
    pub delay: Option<Duration>,
    /// Loss probability from then on.
    pub loss: Option<f64>,
}

impl LinkPlan {
    /// The line's capacity is no constant: it follows a trace, a token bucket or a schedule.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.line != LinePlan::Rate || self.schedule.changes_rate()
    }
}

impl SchedulePlan {
    /// The rate changes.
    #[must_use]
    pub fn changes_rate(&self) -> bool {
        self.steps.iter().any(|step| step.rate.is_some())
    }

    /// The delay or the loss changes.
    #[must_use]
    pub fn changes_wire(&self) -> bool {
        self.steps.iter().any(|step| step.delay.is_some() || step.loss.is_some())
    }

    /// From 0 on every step with all its values; `rate` and `delay` are those before the first one.
    #[must_use]
    pub fn filled(&self, rate: Rate, delay: Duration) -> Vec<(Duration, Rate, Duration, f64)> {
        let mut all = vec![(Duration::ZERO, rate, delay, 0.0)];
        for step in &self.steps {
            let before = all[all.len() - 1];
            let next =
                (step.at, step.rate.unwrap_or(before.1), step.delay.unwrap_or(before.2), step.loss.unwrap_or(before.3));
            if step.at == Duration::ZERO {
                all.clear();
            }
            all.push(next);
        }
        all
    }
}

/// Retransmissions of a radio link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarqPlan {
    /// An attempt fails with this probability.
    pub probability: f64,
    /// Time until the next attempt.
    pub round: Duration,
    /// The most retransmissions.
    pub most: u32,
}

/// An agent of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AgentPlan {
    /// Quick-Start (RFC 4782).
    QuickStart {
        /// Share of the line that may be granted.
        theta: f64,
        /// For how long a grant counts, and over which load is measured.
        interval: Duration,
    },
    /// SIRENS.
    Sirens {
        /// Over which load is measured.
        interval: Duration,
    },
    /// The bandwidth stamp of the IoT algorithm.
    BandwidthStamp {
        /// Over which load is measured.
        interval: Duration,
    },
    /// RCP.
    Rcp {
        /// Weight of spare capacity.
        alpha: f64,
        /// Weight of the queue.
        beta: f64,
    },
    /// PERC.
    Perc,
    /// ABC.
    Abc {
        /// Target utilisation.
        eta: f64,
        /// Time in which a queue shall drain.
        delta: Duration,
        /// Queueing delay that is let be.
        threshold: Duration,
    },
}

impl AgentPlan {
    /// The scheme that it speaks.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::QuickStart { .. } => Scheme::QuickStart,
            Self::Sirens { .. } => Scheme::Sirens,
            Self::BandwidthStamp { .. } => Scheme::BandwidthStamp,
            Self::Rcp { .. } => Scheme::Rcp,
            Self::Perc => Scheme::Perc,
            Self::Abc { .. } => Scheme::Abc,
        }
    }
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueuePlan {
    /// How much may wait.
    pub capacity: Capacity,
    /// The packet in service counts towards the capacity.
    pub counts_in_service: bool,
    /// Mark ECN-capable packets that find more than this many packets waiting.
    pub mark_above: Option<u32>,
    /// Who may wait and who goes next.
    pub discipline: DisciplinePlan,
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DisciplinePlan {
    /// First in, first out; who finds it full is dropped.
    DropTail,
    /// RED, gentle or not, adaptive or not.
    Red(RedPlan),
    /// CoDel (RFC 8289).
    Codel(CodelPlan),
    /// PIE (RFC 8033).
    Pie(PiePlan),
    /// DualPI2 (RFC 9332).
    DualPi2(DualPi2Plan),
    /// Fair queueing, perhaps with CoDel or PIE in each queue.
    Fair {
        /// Number of queues; nothing gives every flow its own.
        queues: Option<u32>,
        /// Credit of a turn.
        quantum: Bytes,
        /// Most packets that go at once when the limit is passed.
        batch: u32,
        /// What manages each queue.
        manager: ManagerPlan,
    },
}

/// What manages each queue of fair queueing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ManagerPlan {
    /// Nothing.
    None,
    /// CoDel: FQ-CoDel (RFC 8290).
    Codel(CodelPlan),
    /// PIE: FQ-PIE.
    Pie(PiePlan),
}

/// RED's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedPlan {
    /// Weight of a new value in the average; nothing takes 1 − e^(−1/C).
    pub weight: Option<f64>,
    /// Average queue below which nothing is dropped, packets; nothing takes what the line sends in half of `delay`.
    pub min_th: Option<f64>,
    /// Average queue at which the probability reaches `max_p`; nothing takes three times `min_th`.
    pub max_th: Option<f64>,
    /// Probability at `max_th`.
    pub max_p: f64,
    /// Rises to 1 at twice `max_th` in place of jumping there.
    pub gentle: bool,
    /// Spaces drops as ns-2 and ns-3 do.
    pub wait: bool,
    /// Marks ECN-capable packets where chance says drop.
    pub ecn: bool,
    /// `max_p` adapts at this interval.
    pub adaptive: Option<Duration>,
    /// Queueing delay that automatic thresholds aim at.
    pub delay: Duration,
    /// Mean packet.
    pub packet: Bytes,
}

/// CoDel's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelPlan {
    /// Sojourn time that is let be.
    pub target: Duration,
    /// Sliding window.
    pub interval: Duration,
    /// Marks ECN-capable packets in place of dropping them.
    pub ecn: bool,
}

/// PIE's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiePlan {
    /// Queueing delay that is aimed at.
    pub target: Duration,
    /// Time between two updates of the probability.
    pub update: Duration,
    /// Weight of the deviation, per second.
    pub alpha: f64,
    /// Weight of the trend, per second.
    pub beta: f64,
    /// Burst that passes untouched.
    pub burst: Duration,
    /// Marks ECN-capable packets in place of dropping them.
    pub ecn: bool,
    /// Probability from which they are dropped all the same.
    pub mark_below: f64,
    /// Mean packet.
    pub packet: Bytes,
}

/// DualPI2's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Plan {
    /// Delay of the classic queue that is aimed at.
    pub target: Duration,
    /// Time between two updates of the probability.
    pub update: Duration,
    /// Weight of the deviation, per second.
    pub alpha: f64,
    /// Weight of the trend, per second.
    pub beta: f64,
    /// Coupling factor.
    pub coupling: f64,
    /// Delay of the L queue at which its own marking begins.
    pub l_min: Duration,
    /// Over this more delay it rises to 1; zero is a step.
    pub l_range: Duration,
    /// Share of the line that the classic queue keeps.
    pub protection: f64,
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
    /// Its algorithm; `None` sends datagrams (UDP).
    pub algorithm: Option<Algorithm>,
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
    /// Which of the flows of a `count`, from 0.
    pub number: u64,
    /// From the start of the one before it to its own.
    pub start_gap: Option<Distribution>,
    /// When its application stops producing data.
    pub stop: Option<Duration>,
    /// What it sends.
    pub workload: Workload,
    /// The stack's values.
    pub stack: Stack,
    /// Capacity of the smallest queue on the forward route, for `oracle` options.
    pub oracle_buffer: Option<Bytes>,
    /// Routers that must answer the algorithm's requests: links with a rate after the first one of the forward route.
    pub routers: u8,
    /// The algorithm decides elsewhere, as with the kernel path.
    pub remote: Option<Remote>,
}

impl FlowPlan {
    /// The links that its data crosses, as the records have them: indices joined by spaces.
    #[must_use]
    pub fn route_text(&self) -> String {
        self.forward.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }
}

/// The algorithm is asked from afar: what the kernel datapath does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// From event to applied window.
    pub delay: Duration,
    /// ACKs are reported together at most this often; zero reports each.
    pub interval: Duration,
}
