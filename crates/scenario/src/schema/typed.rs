//! The typed scenario: the contents of its tables, with units and defaults.

use cwndlab_control::RecoveryKind;
use cwndlab_network::aqm::{self, CapacitySpec};
use cwndlab_network::dscp::Dscp;
use cwndlab_network::{loss, router_assist};
use cwndlab_traffic::{Distribution, Workload};
use cwndlab_units::{Duration, Rate};

use crate::class::Class;
use crate::plan::{
    AccessPlan, BeaconPlan, ControlDelay, HarqPlan, JitterPlan, LinePlan, ModePlan, NamedValuesPlan, SchedulePlan,
    Stack, StandardPlan,
};

/// The configuration of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Configured capacity.
    pub size: CapacitySpec,
    /// Queue discipline.
    pub discipline: aqm::Config,
}

impl Queue {
    /// Drop-tail with this capacity.
    #[must_use]
    pub fn drop_tail(size: CapacitySpec) -> Self {
        Self { size, discipline: aqm::Config::DROP_TAIL }
    }
}

/// The configuration of a link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Path in the document.
    pub path: String,
    /// Rate; `None`: zero serialisation time. For a trace or a token bucket the mean, for a schedule the initial rate.
    pub rate: Option<Rate>,
    /// Model of the line.
    pub line: LinePlan,
    /// Changes with time.
    pub schedule: SchedulePlan,
    /// Retransmissions of a radio link.
    pub harq: Option<HarqPlan>,
    /// Propagation delay.
    pub delay: Duration,
    /// `None`: the default of the topology.
    pub queue: Option<Queue>,
    /// Losses of the wire.
    pub losses: Vec<loss::Config>,
    /// Delay variation.
    pub jitter: Option<JitterPlan>,
    /// Probability of a duplicate.
    pub duplicate: f64,
    /// Router agents of the link.
    pub agents: Vec<router_assist::Config>,
}

impl Link {
    /// A link with only a queue, a rate and a delay.
    #[must_use]
    pub fn plain(path: &str, rate: Option<Rate>, delay: Duration, queue: Queue) -> Self {
        Self {
            path: path.to_owned(),
            rate,
            line: LinePlan::Rate,
            schedule: SchedulePlan::default(),
            harq: None,
            delay,
            queue: Some(queue),
            losses: Vec::new(),
            jitter: None,
            duplicate: 0.0,
            agents: Vec::new(),
        }
    }

    /// The link without losses, for the reverse direction.
    #[must_use]
    pub fn without_losses(&self) -> Self {
        let mut link = Self { losses: Vec::new(), ..self.clone() };
        link.schedule.steps.iter_mut().for_each(|step| step.loss = None);
        link
    }
}

/// A link between named nodes.
#[derive(Clone, Debug)]
pub struct NamedLink {
    /// Its name.
    pub name: String,
    /// Source node.
    pub from: String,
    /// Destination node.
    pub to: String,
    /// A link in the reverse direction is added.
    pub duplex: bool,
    /// Radio parameters if the link is on a medium.
    pub radio: Option<Radio>,
    /// Properties of every link.
    pub link: Link,
}

/// Access links.
#[derive(Clone, Debug)]
pub struct Access {
    /// Rate; `None`: zero serialisation time.
    pub rate: Option<Rate>,
    /// Queue of each link.
    pub queue: Queue,
    /// Router agents; `None`: those of the bottleneck or the first hop.
    pub agents: Option<Vec<router_assist::Config>>,
}

/// The topology of a network.
#[allow(clippy::large_enum_variant, reason = "there is one per scenario")]
#[derive(Clone, Debug)]
pub enum Topology {
    /// A bottleneck in both directions, and access links.
    Dumbbell(Link, Link, Access),
    /// Bottlenecks in series, and access links.
    ParkingLot(Vec<Link>, Access),
    /// Nodes and links.
    Graph(Vec<String>, Vec<NamedLink>),
    /// A wireless LAN.
    Wlan(Wlan),
}

/// The random delay of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Uniform in [0, the duration).
    Fixed(Duration),
    /// Uniform in [0, the flow's base RTT).
    Rtt,
}

/// The start and stop times of the flows of an entry.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Start time.
    pub start: Duration,
    /// End of the application's data.
    pub stop: Option<Duration>,
    /// Random delay of the start.
    pub jitter: Option<Jitter>,
    /// Number of flows.
    pub count: u64,
    /// Time between their starts.
    pub step: Duration,
    /// Distribution of the time between their starts.
    pub gaps: Option<Distribution>,
}

/// The configuration of a flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Path in the document.
    pub path: String,
    /// Text of the algorithm; `None`: UDP.
    pub algorithm: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Base RTT (dumbbell, parking lot).
    pub rtt: Option<Duration>,
    /// The flow has the reverse direction, from right to left or from the station.
    pub reverse: bool,
    /// Start and stop times.
    pub timing: Timing,
    /// Workload.
    pub workload: Workload,
    /// Name of the stack profile.
    pub profile: String,
    /// Class of its packets.
    pub dscp: Dscp,
    /// Parameters of the profile with overrides.
    pub stack: Stack,
    /// The scenario sets `ecn`; otherwise an algorithm that requires ECN negotiates it.
    pub ecn_given: bool,
    /// The scenario sets `ack_counting`.
    pub counting_given: bool,
    /// The scenario sets `rto_restart`.
    pub restart_given: bool,
    /// The profile's recovery.
    pub recovery: RecoveryKind,
    /// Delay between transport and algorithm.
    pub control: Option<ControlDelay>,
    /// Endpoints in a graph.
    pub ends: (Option<String>, Option<String>),
    /// Explicit routes in both directions.
    pub routes: (Option<Vec<String>>, Option<Vec<String>>),
    /// Routers of a parking lot where the flow enters and leaves.
    pub hops: (Option<u64>, Option<u64>),
}

/// A scenario with all fields.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Title, one line.
    pub title: String,
    /// User-defined algorithms.
    pub classes: Vec<Class>,
    /// Simulated time.
    pub duration: Duration,
    /// Interval of the samples.
    pub sample_interval: Duration,
    /// Record every packet.
    pub packets: bool,
    /// Recorded variables of algorithms and transport.
    pub named_values: Option<NamedValuesPlan>,
    /// Start of the metrics.
    pub measure_from: Duration,
    /// Default random delay of starts.
    pub jitter: Jitter,
    /// Each seed perturbs the plan.
    pub perturb: bool,
    /// The network.
    pub topology: Topology,
    /// Media of a graph.
    pub media: Vec<Medium>,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// The configuration of a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Path in the document.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Part of 802.11.
    pub standard: StandardPlan,
    /// Default modulation and coding.
    pub mode: ModePlan,
    /// Default probability that noise destroys a frame.
    pub frame_error: f64,
    /// Channel access.
    pub access: AccessPlan,
    /// A-MPDU with BlockAck.
    pub aggregation: bool,
    /// A frame that arrived while the medium was idle is sent without a backoff.
    pub keeps_turn: bool,
    /// Beacons.
    pub beacon: Option<BeaconPlan>,
    /// Name of the node that sends beacons.
    pub access_point: Option<String>,
}

/// The radio parameters of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Radio {
    /// Name of the medium.
    pub medium: String,
    /// Modulation and coding; `None`: the medium's.
    pub mode: Option<ModePlan>,
    /// Probability that noise destroys a frame; `None`: the medium's.
    pub frame_error: Option<f64>,
}

/// The configuration of a wireless LAN.
#[derive(Clone, Debug)]
pub struct Wlan {
    /// The medium.
    pub medium: Medium,
    /// Queue of the access point.
    pub queue: Queue,
    /// Queue of a station.
    pub station_queue: Queue,
    /// Wires between servers and access point.
    pub wire: Access,
    /// Parameters of individual stations, in the order of the flows.
    pub stations: Vec<Radio>,
}
