//! The plan: a scenario with every default filled in, every unit converted, every route found.
//!
//! Engines read nothing else. Links and flows refer to each other by index.

use std::ops::Deref;
use std::sync::Arc;

use cwndlab_control::{Algorithm, RecoveryKind};
use cwndlab_network::{aqm, loss, router_assist};
use cwndlab_units::{Bytes, Duration, Rate, Time};

pub use cwndlab_transport::stack::{
    AckCounting, Ecn, IdleRestart, Pacing, Prr, Rampdown, RtoArithmetic, RtoRestart, Rules, Stack,
};

pub use cwndlab_traffic::{Distribution, FlowContext, Workload};

pub use crate::name::Name;

/// What an engine runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// SHA-256 of the scenario's canonical form, in hex.
    pub scenario_hash: String,
    /// How long to run.
    pub duration: Duration,
    /// Metrics leave out what was before.
    pub measure_from: Duration,
    /// Interval of the samples; zero takes none.
    pub sample_interval: Duration,
    /// Record every packet.
    pub packets: bool,
    /// Names of the nodes.
    pub nodes: Vec<Name>,
    /// The links, each in one direction.
    pub links: Vec<LinkPlan>,
    /// Media of 802.11 that links share.
    pub media: Vec<MediumPlan>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
}

impl Plan {
    /// The name of a link: its own, or else `FROM-TO` after its nodes.
    #[must_use]
    pub fn link_name(&self, link: u32) -> String {
        self.links[link as usize].name(&self.nodes)
    }
}

/// A link in one direction: a queue, a line that serialises, a wire that delays and may lose. Its fields are those by which
/// links of one declaration differ; it gives access to the others.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Its name, if not `FROM-TO`.
    pub own_name: Option<Box<str>>,
    /// Index of the node it leaves.
    pub from: u32,
    /// Index of the node it reaches.
    pub to: u32,
    /// Propagation delay.
    pub delay: Duration,
    /// How much may wait for the line.
    pub capacity: Capacity,
    /// The rest.
    pub kind: Arc<LinkKind>,
}

/// What equal links share.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkKind {
    /// Rate of the line, its mean where that changes; `None` serialises in no time (and then nothing ever queues).
    pub rate: Option<Rate>,
    /// What the line is.
    pub line: LinePlan,
    /// What changes with time.
    pub schedule: SchedulePlan,
    /// Retransmissions of a radio link.
    pub harq: Option<HarqPlan>,
    /// Who may wait for the line and who goes next.
    pub discipline: aqm::Config,
    /// What the wire loses, in this order, after the queue.
    pub losses: Vec<loss::Config>,
    /// Delay variation of the wire.
    pub jitter: Option<JitterPlan>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// What its router does for schemes that ask it.
    pub agents: Vec<router_assist::Config>,
    /// Its samples are recorded (`link_samples`).
    pub sampled: bool,
    /// It is on a medium, in place of a line of its own; its queue is that of all links that leave its node there.
    pub radio: Option<RadioPlan>,
}

impl Deref for LinkPlan {
    type Target = LinkKind;
    fn deref(&self) -> &LinkKind {
        &self.kind
    }
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
    /// Its name: its own, or else `FROM-TO` after its nodes, which are among `nodes`.
    #[must_use]
    pub fn name(&self, nodes: &[Name]) -> String {
        match &self.own_name {
            Some(name) => name.to_string(),
            None => format!("{}-{}", nodes[self.from as usize], nodes[self.to as usize]),
        }
    }
}

impl LinkKind {
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

/// Delay variation: each packet is late by a uniform draw from [0, `spread`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitterPlan {
    /// Upper end.
    pub spread: Duration,
    /// Packets may overtake each other; otherwise none arrives before its predecessor.
    pub reorder: bool,
}

/// A flow. Its fields are those by which flows of one `count` differ; it gives access to the others.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Its label in the records, unique.
    pub name: Name,
    /// Links from sender to receiver.
    pub forward: Box<[u32]>,
    /// Links from receiver to sender.
    pub reverse: Box<[u32]>,
    /// Propagation delay both ways, no serialisation.
    pub base_rtt: Duration,
    /// When it starts.
    pub start: Duration,
    /// The start is later by a uniform draw from [0, this).
    pub start_jitter: Duration,
    /// Which of the flows of a `count`, from 0.
    pub number: u64,
    /// The rest.
    pub kind: Arc<FlowKind>,
}

/// What equal flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowKind {
    /// Its algorithm; `None` sends datagrams (UDP).
    pub algorithm: Option<Arc<Algorithm>>,
    /// Its recovery: the algorithm's, or else the profile's.
    pub recovery: RecoveryKind,
    /// Canonical text of the algorithm, recovery included.
    pub algorithm_text: Arc<str>,
    /// Name of the stack profile.
    pub profile: Arc<str>,
    /// From the start of the one before it to its own.
    pub start_gap: Option<Distribution>,
    /// When its application stops producing data.
    pub stop: Option<Duration>,
    /// What it sends.
    pub workload: Workload,
    /// The stack's values.
    pub stack: Arc<Stack>,
    /// Capacity of the smallest queue on the forward route, for `oracle` options.
    pub oracle_buffer: Option<Bytes>,
    /// Routers that must answer the algorithm's requests: links with a rate after the first one of the forward route.
    pub routers: u8,
    /// The algorithm decides elsewhere, as with the kernel path.
    pub remote: Option<Remote>,
}

impl Deref for FlowPlan {
    type Target = FlowKind;
    fn deref(&self) -> &FlowKind {
        &self.kind
    }
}

impl FlowPlan {
    /// What its application is told of it: its number, the seed of the run, and when it stops.
    #[must_use]
    pub fn context(&self, flow: u32, seed: u64, stop: Time) -> FlowContext {
        FlowContext { flow, seed, stop, header: self.stack.header }
    }

    /// Its algorithm uses no router assistance.
    #[must_use]
    pub fn has_no_agent(&self) -> bool {
        self.algorithm.as_ref().is_none_or(|algorithm| algorithm.router_assistance().is_none())
    }

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
