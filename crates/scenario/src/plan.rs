//! The plan: a scenario with explicit defaults, base units and computed routes.
//!
//! The plan is the only input of an engine. Links and flows refer to each other by index.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use cwndlab_config::{fields, words, Faults, FieldType, Kind, Positive, Probability, Reader};
use cwndlab_control::{Algorithm, Constructor, RecoveryKind, ReportSchedule};
use cwndlab_network::dscp::Dscp;
use cwndlab_network::impairments::EcnChange;
use cwndlab_network::wifi::phy::{Format, He, HeGuard, Mode};
use cwndlab_network::{aqm, loss, router_assist};
use cwndlab_units::{Bytes, Duration, FlowId, IndexVec, LinkId, Rate, Time};

pub use cwndlab_transport::stack::{
    AckCounting, Ecn, IdleRestart, Pacing, PeerEcn, Prr, Rampdown, RtoArithmetic, RtoRestart, Rules, Stack,
};

pub use cwndlab_traffic::application::ApplicationKind;
pub use cwndlab_traffic::{Distribution, FlowContext, Workload};

pub use crate::name::Name;

mod access;
mod cells;
mod neighbourhood;
mod schedule;

pub use access::{AccessPlan, CategoryPlan, EdcaPlan, MediumTimePlan};
pub use cells::{CellPlan, UserChannelPlan};
pub use neighbourhood::{ChannelPlan, NeighbourhoodPlan, RateAdaptation};
pub use schedule::{Decibels, FilledStep, SchedulePlan, StepPlan};

/// The input of an engine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// SHA-256 of the scenario's canonical form, in hex.
    pub scenario_hash: String,
    /// Duration of the run.
    pub duration: Duration,
    /// Start of the metrics; earlier samples are the warm-up.
    pub measure_from: Duration,
    /// Each seed varies the plan: [`Plan::perturbed`].
    pub perturb: bool,
    /// Sampling interval; zero disables samples.
    pub sample_interval: Duration,
    /// Record every packet.
    pub packets: bool,
    /// Recorded variables of algorithms and transport.
    pub named_values: Option<NamedValuesPlan>,
    /// Names of nodes.
    pub nodes: Vec<Name>,
    /// The links, each in one direction.
    pub links: IndexVec<LinkId, LinkPlan>,
    /// Shared media of 802.11.
    pub media: Vec<MediumPlan>,
    /// The stations of all media with a channel, if there are any.
    pub neighbourhood: Option<NeighbourhoodPlan>,
    /// Cells of LTE or NR.
    pub cells: Vec<CellPlan>,
    /// The flows.
    pub flows: IndexVec<FlowId, FlowPlan>,
    /// The flows that send on the messages of a flow.
    pub subscribers: BTreeMap<FlowId, Vec<FlowId>>,
}

fields! {
    /// The recorded variables of algorithms and transport.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct NamedValuesPlan {
        /// recorded values
        names: Vec<String> = absent("all", Vec::new()),
        /// least time between two snapshots; zero: after each event of the sender
        interval: Option<Duration> = absent("0 s, or never if there is `on_change`"),
        /// values whose change causes a snapshot at any time
        on_change: Vec<String> = absent("none", Vec::new()),
    }
}

impl Plan {
    /// The name of a link; the default is `FROM-TO` after its nodes.
    #[must_use]
    pub fn link_name(&self, link: LinkId) -> String {
        self.links[link].name(&self.nodes)
    }

    /// Whether an engine is to keep the messages of a flow: for the table `messages`, or to send them on.
    #[must_use]
    pub fn keeps_messages(&self, flow: FlowId) -> bool {
        self.flows[flow].service.is_some() || self.subscribers.contains_key(&flow)
    }
}

/// A link in one direction: a queue, a line that serialises, a wire that delays and loses packets. Links of one
/// declaration differ in these fields and share the others by [`LinkKind`].
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Name, if not `FROM-TO`.
    pub own_name: Option<Box<str>>,
    /// Index of the source node.
    pub from: u32,
    /// Index of the destination node.
    pub to: u32,
    /// Propagation delay.
    pub delay: Duration,
    /// Capacity of the queue.
    pub capacity: Capacity,
    /// Shared properties.
    pub kind: Arc<LinkKind>,
}

/// The properties that links of one declaration share.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkKind {
    /// Rate of the line, the mean if it varies; `None`: zero serialisation time, so that no packet queues.
    pub rate: Option<Rate>,
    /// Model of the line.
    pub line: LinePlan,
    /// Changes with time.
    pub schedule: SchedulePlan,
    /// Retransmissions of a radio link.
    pub harq: Option<HarqPlan>,
    /// Queue discipline.
    pub discipline: aqm::Config,
    /// Loss models of the wire, in order of application.
    pub losses: Vec<loss::Config>,
    /// Delay variation of the wire.
    pub jitter: Option<JitterPlan>,
    /// Mean delay variation of bad Wi-Fi.
    pub wifi_jitter: Option<Duration>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Change of the ECN field by the wire.
    pub ecn: Option<EcnChange>,
    /// Limit of the rates that flows reserve together.
    pub admission: Option<Rate>,
    /// Router agents of the link.
    pub agents: Vec<router_assist::Config>,
    /// Samples of the link are recorded (`link_samples`).
    pub sampled: bool,
    /// Radio parameters of a link on a medium, which replaces the line. Links that leave a node there share one queue.
    pub radio: Option<RadioPlan>,
    /// Channel of a link on a cell, which replaces the line.
    pub cell: Option<UserChannelPlan>,
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
    /// Unique name.
    pub name: String,
    /// Part of 802.11.
    pub standard: StandardPlan,
    /// Channel access.
    pub access: AccessPlan,
    /// Channel access with four access categories.
    pub edca: Option<EdcaPlan>,
    /// Index of the node of the access point.
    pub access_point: Option<u32>,
    /// A-MPDU with BlockAck.
    pub aggregation: bool,
    /// A frame that arrived while the medium was idle is sent without a backoff, also if the medium becomes busy.
    pub keeps_turn: bool,
    /// Beacons of the access point.
    pub beacon: Option<BeaconPlan>,
    /// Its channel; `None`: its stations all receive each other, and no others.
    pub channel: Option<ChannelPlan>,
}

words! {
    /// Part of 802.11.
    pub enum StandardPlan {
        /// ERP-OFDM with DCF
        ErpOfdm = "802.11g",
        /// HT-mixed format, EDCA best effort; without a channel 20 MHz at 2.4 GHz
        Ht = "802.11n",
        /// VHT format at 5 GHz, EDCA best effort
        Vht = "802.11ac",
        /// HE format for a single user, EDCA best effort; without a channel 20 MHz at 2.4 GHz
        He = "802.11ax",
    }
}

words! {
    /// Guard interval of HE.
    pub enum GuardPlan {
        /// with training fields of 6.4 µs
        Ns800 = "0.8 us",
        /// with training fields of 6.4 µs
        Ns1600 = "1.6 us",
        /// with training fields of 12.8 µs
        Ns3200 = "3.2 us",
    }
}

/// Parameters of beacons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeaconPlan {
    /// Time between beacons.
    pub interval: Duration,
    /// Size of the frame in bytes; sent at the lowest rate of the band.
    pub bytes: u32,
}

/// The radio parameters of a link on a medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioPlan {
    /// Index of the medium.
    pub medium: u32,
    /// Modulation and coding.
    pub mode: Mode,
    /// Probability that noise destroys a frame.
    pub frame_error: f64,
}

/// Modulation and coding, as a scenario gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModePlan {
    /// ERP-OFDM.
    Ofdm {
        /// Rate, Mbit/s.
        mbps: u8,
    },
    /// High or very high throughput, or high efficiency.
    Ht {
        /// Modulation and coding scheme, 0 to 7; to 9 with 802.11ac, to 11 with 802.11ax.
        mcs: u8,
        /// Spatial streams, 1 to 4.
        streams: u8,
        /// Guard interval of 400 ns; not with 802.11ax.
        short_guard: bool,
        /// Guard interval of 802.11ax; `None`: 0.8 µs.
        guard: Option<GuardPlan>,
    },
}

impl ModePlan {
    /// Whether the mode belongs to this standard.
    #[must_use]
    pub fn is_of(self, standard: StandardPlan) -> bool {
        match self {
            Self::Ofdm { .. } => standard == StandardPlan::ErpOfdm,
            Self::Ht { mcs, short_guard, guard, .. } => match standard {
                StandardPlan::ErpOfdm => false,
                StandardPlan::Ht => guard.is_none() && mcs <= 7,
                StandardPlan::Vht => guard.is_none() && mcs <= 9,
                StandardPlan::He => !short_guard,
            },
        }
    }

    /// The mode of the standard in a channel of this width.
    #[must_use]
    pub fn on(self, standard: StandardPlan, width_mhz: u8) -> Mode {
        match self {
            Self::Ofdm { mbps } => Mode::Ofdm { bits: u32::from(mbps) * 4 },
            Self::Ht { mcs, streams, guard, .. } if standard == StandardPlan::He => {
                let guard = match guard {
                    None | Some(GuardPlan::Ns800) => HeGuard::Ns800,
                    Some(GuardPlan::Ns1600) => HeGuard::Ns1600,
                    Some(GuardPlan::Ns3200) => HeGuard::Ns3200,
                };
                Mode::He(He { mcs, streams, guard, width_mhz })
            }
            Self::Ht { mcs, streams, short_guard, .. } => {
                let format = Format { very_high: standard == StandardPlan::Vht, width_mhz };
                Mode::Ht { mcs, streams, short_guard, format }
            }
        }
    }
}

/// Size of a full packet.
const FULL_PACKET: Bytes = Bytes(1500);

/// The model of a line.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum LinePlan {
    /// The link's rate, or the rates of its schedule.
    #[default]
    Rate,
    /// A trace of delivery opportunities.
    Trace {
        /// Times of the opportunities, ms, non-decreasing; the last one is the period.
        stamps: Arc<[u32]>,
        /// Bytes per opportunity.
        bytes: u32,
        /// Time of the trace at which the run begins.
        offset: Duration,
    },
    /// A token bucket.
    TokenBucket(TokenBucketPlan),
}

fields! {
    /// A token bucket.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TokenBucketPlan {
        /// rate of the tokens
        rate: Rate = required("'rate = \"10 Mbps\"'"),
        /// size of the bucket, which is initially full
        burst: Bytes = required("'burst = \"15 kB\"'"),
        /// peak rate
        peak: Option<Rate> = absent("zero serialisation time"),
    }
    check
}

impl TokenBucketPlan {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let Self { rate, burst, peak } = self;
        if *burst < FULL_PACKET {
            let what = format!("{burst} are less than a full packet");
            faults.add(table.at("burst"), what, format!("at least {} B", FULL_PACKET.0));
        }
        if peak.is_some_and(|peak| peak < *rate) {
            let what = format!("is below the rate of {rate}");
            faults.add(table.at("peak"), what, "the peak rate is at least the rate");
        }
    }
}

impl LinkPlan {
    /// The name; the default is `FROM-TO` after the link's nodes in `nodes`.
    #[must_use]
    pub fn name(&self, nodes: &[Name]) -> String {
        match &self.own_name {
            Some(name) => name.to_string(),
            None => format!("{}-{}", nodes[self.from as usize], nodes[self.to as usize]),
        }
    }
}

impl LinkKind {
    /// Whether the line's rate varies: a trace, a token bucket or a schedule of rates.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.line != LinePlan::Rate || self.schedule.changes_rate()
    }
}

fields! {
    /// Retransmissions of a radio link. Rates are selected for a failure probability of 10 % of the first attempt (3GPP
    /// TS 36.213 §7.2.3); the next attempt is 8 ms later (eight processes, FDD; TS 36.213 §7).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HarqPlan {
        /// probability that an attempt fails
        probability: Probability = 0.1,
        /// time until the next attempt
        round: Duration = "8 ms",
        /// maximum number of retransmissions
        most: u32 = 3 in 0..=100,
    }
}

/// The capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// No limit.
    Unlimited,
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
}

fields! {
    /// Delay variation: a uniform random delay from [0, `spread`) of each packet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct JitterPlan {
        /// upper bound of the delay
        spread: Duration = required("'spread = \"5 ms\"'"),
        /// packets may be reordered
        reorder: bool = false,
    }
}

/// A flow. Flows of one `count` differ in these fields and share the others by [`FlowKind`].
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Unique name in the records.
    pub name: Name,
    /// Links from sender to receiver.
    pub forward: Box<[LinkId]>,
    /// Links from receiver to sender.
    pub reverse: Box<[LinkId]>,
    /// Propagation delay of both directions, without serialisation.
    pub base_rtt: Duration,
    /// Start time.
    pub start: Duration,
    /// Upper bound of the uniform random delay of the start.
    pub start_jitter: Duration,
    /// Index among the flows of a `count`, from 0.
    pub number: u64,
    /// Shared properties.
    pub kind: Arc<FlowKind>,
}

/// The properties that equal flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowKind {
    /// Algorithm; `None`: UDP.
    pub algorithm: Option<Arc<Algorithm>>,
    /// Loss recovery of the algorithm, or else of the profile.
    pub recovery: RecoveryKind,
    /// Canonical text of the algorithm, recovery included.
    pub algorithm_text: Arc<str>,
    /// Name of the stack profile.
    pub profile: Arc<str>,
    /// Distribution of the time between the starts of consecutive flows.
    pub start_gap: Option<Distribution>,
    /// Time at which the application stops.
    pub stop: Option<Duration>,
    /// Distribution of the time from the start to the stop.
    pub hold: Option<Distribution>,
    /// Rate that links with admission control reserve.
    pub reserve: Option<Rate>,
    /// Size of its packets for the medium time of that rate; `None`: a full segment with its headers.
    pub msdu: Option<Bytes>,
    /// Workload.
    pub workload: Workload,
    /// Class of its packets.
    pub dscp: Dscp,
    /// The service level that its messages are to have; they are recorded then.
    pub service: Option<Arc<ServiceLevel>>,
    /// Stack parameters.
    pub stack: Arc<Stack>,
    /// Capacity of the smallest queue on the forward route, for `oracle` options.
    pub oracle_buffer: Option<Bytes>,
    /// Number of routers that must process the algorithm's requests: links with a rate after the first one of the
    /// forward route.
    pub routers: u8,
    /// Delay between transport and algorithm, as with the kernel datapath.
    pub control_delay: Option<ControlDelay>,
    /// Name of the store of saved parameters (RFC 9959) that it shares with other flows.
    pub saved_parameters: Option<Arc<str>>,
    /// Constructs the congestion control in place of the algorithm, for a run that is stepped or observed.
    pub constructor: Option<Constructor>,
}

impl Deref for FlowPlan {
    type Target = FlowKind;
    fn deref(&self) -> &FlowKind {
        &self.kind
    }
}

impl FlowPlan {
    /// The context of the flow's application: the flow, seed of the run, stop time.
    #[must_use]
    pub fn context(&self, flow: FlowId, seed: u64, stop: Time) -> FlowContext {
        FlowContext { flow, seed, stop, header: self.stack.header }
    }

    /// Whether the algorithm works without router agents.
    #[must_use]
    pub fn needs_no_agent(&self) -> bool {
        self.algorithm.as_ref().is_none_or(|algorithm| algorithm.router_assistance().is_none())
    }

    /// The forward route in the format of the records: indices of links separated by spaces.
    #[must_use]
    pub fn route_text(&self) -> String {
        self.forward.iter().map(LinkId::to_string).collect::<Vec<_>>().join(" ")
    }
}

fields! {
    /// The delay between transport and algorithm, as in the kernel datapath.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ControlDelay {
        /// time from an event to the application of the new window
        delay: Duration = "0 s",
        /// minimum time between reports of ACKs; zero reports each ACK, `"rtt"` once per round trip and each ACK in slow
        /// start
        interval: Reports = "0 s",
    }
}

fields! {
    /// What a class of traffic asks of the network. Engines record the messages of its flows; the levels are judged from
    /// the records.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ServiceLevel {
        /// name of the class, to which several flows may belong
        class: Option<String> = absent("the flow's name"),
        /// longest time from the generation of a message to its delivery
        deadline: Option<Positive<Duration>> = absent("none"),
        /// share of the messages that are delivered before the deadline
        within: Probability = 0.99,
        /// time after which a message that was not delivered is lost
        lifetime: Option<Positive<Duration>> = absent("the deadline"),
        /// largest share of lost messages
        loss: Option<Probability> = absent("none"),
        /// longest time between two deliveries
        gap: Option<Positive<Duration>> = absent("none"),
        /// largest age of the newest delivered message
        age: Option<Positive<Duration>> = absent("none"),
        /// smallest share of the time in which the last message in time is not older than `gap`
        availability: Option<Probability> = absent("none"),
        /// time of the index of satisfaction Apdex: to it users are satisfied, to four times it they tolerate
        apdex: Option<Positive<Duration>> = absent("none"),
        /// delay at which a receiver plays audio or video; later packets or frames are lost
        playout: Option<Positive<Duration>> = absent("none"),
    }
}

/// When ACKs are reported to a remote algorithm.
#[derive(Debug)]
pub enum Reports {}

impl FieldType for Reports {
    type Value = ReportSchedule;

    const KIND: Kind =
        Kind::Either(&[Kind::Duration, Kind::Words(&[("rtt", "once per round trip, and each ACK in slow start")])]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<ReportSchedule> {
        if table.get(name).is_some_and(|value| value == "rtt") {
            return Some(ReportSchedule::Rtt);
        }
        let interval = table.duration(name, faults)?;
        Some(if interval == Duration::ZERO { ReportSchedule::Ack } else { ReportSchedule::Every(interval) })
    }
}
