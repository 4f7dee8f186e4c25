//! The scenario as types: what its tables say, with units and defaults.

use cwndlab_control::RecoveryKind;
use cwndlab_network::aqm::{self, Size};
use cwndlab_network::{loss, router_assist};
use cwndlab_traffic::{Distribution, Workload};
use cwndlab_units::{Bytes, Duration, Rate};

use crate::class::Class;
use crate::plan::{BeaconPlan, HarqPlan, JitterPlan, LinePlan, ModePlan, Remote, SchedulePlan, Stack, StandardPlan};

/// A queue as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Its size.
    pub size: Size,
    /// Who may wait and who goes next.
    pub discipline: aqm::Config,
}

impl Queue {
    /// Drop-tail of this size.
    #[must_use]
    pub fn drop_tail(size: Size) -> Self {
        Self { size, discipline: aqm::Config::DROP_TAIL }
    }
}

/// A link as written.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it stands in the document.
    pub path: String,
    /// `None` serialises in no time. Of a trace or a token bucket the mean; of a schedule what holds before its first step.
    pub rate: Option<Rate>,
    /// What the line is.
    pub line: LinePlan,
    /// What changes with time.
    pub schedule: SchedulePlan,
    /// Retransmissions of a radio link.
    pub harq: Option<HarqPlan>,
    /// Propagation.
    pub delay: Duration,
    /// `None` takes the default of its place.
    pub queue: Option<Queue>,
    /// Losses of the wire.
    pub losses: Vec<loss::Config>,
    /// Delay variation.
    pub jitter: Option<JitterPlan>,
    /// Probability of a duplicate.
    pub duplicate: f64,
    /// What its router does for schemes that ask it.
    pub agents: Vec<router_assist::Config>,
}

impl Link {
    /// A link with a line of this rate, a wire of this delay and nothing else.
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

    /// The same without its losses, for the way back.
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
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// The other direction is made too.
    pub duplex: bool,
    /// It is on a medium.
    pub radio: Option<Radio>,
    /// The rest.
    pub link: Link,
}

/// Access links.
#[derive(Clone, Debug)]
pub struct Access {
    /// `None` serialises in no time.
    pub rate: Option<Rate>,
    /// Their queue.
    pub queue: Queue,
    /// What their routers do; `None` is what the bottleneck's, or the first hop's, does.
    pub agents: Option<Vec<router_assist::Config>>,
}

/// The kind of network.
#[allow(clippy::large_enum_variant, reason = "there is one per scenario")]
#[derive(Clone, Debug)]
pub enum Topology {
    /// One bottleneck, both ways, and access links.
    Dumbbell(Link, Link, Access),
    /// A row of bottlenecks.
    ParkingLot(Vec<Link>, Access),
    /// Nodes and links.
    Graph(Vec<String>, Vec<NamedLink>),
    /// A wireless LAN.
    Wlan(Wlan),
}

/// A random start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Uniform in [0, this).
    Fixed(Duration),
    /// Uniform in [0, the flow's base RTT).
    Rtt,
}

/// When the flows of an entry start and stop.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Start.
    pub start: Duration,
    /// End of the application's data.
    pub stop: Option<Duration>,
    /// Random start.
    pub jitter: Option<Jitter>,
    /// How many such flows.
    pub count: u64,
    /// Time between their starts.
    pub step: Duration,
    /// The same drawn at random.
    pub gaps: Option<Distribution>,
}

/// A flow as written.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Where it stands in the document.
    pub path: String,
    /// Its algorithm; `None` for UDP.
    pub algorithm: Option<String>,
    /// Its label.
    pub name: Option<String>,
    /// Base RTT (dumbbell, parking lot).
    pub rtt: Option<Duration>,
    /// From right to left.
    pub reverse: bool,
    /// When it starts and stops.
    pub timing: Timing,
    /// What it sends.
    pub workload: Workload,
    /// Profile name.
    pub profile: String,
    /// Its values, overridden.
    pub stack: Stack,
    /// The scenario itself says what of ECN; otherwise an algorithm that needs it negotiates it.
    pub ecn_given: bool,
    /// The scenario itself says what restarts the retransmission timer.
    pub restart_given: bool,
    /// The profile's recovery.
    pub recovery: RecoveryKind,
    /// Asked from afar.
    pub control: Option<Remote>,
    /// Nodes of a graph.
    pub ends: (Option<String>, Option<String>),
    /// Explicit routes.
    pub routes: (Option<Vec<String>>, Option<Vec<String>>),
    /// Routers of a parking lot.
    pub hops: (Option<u64>, Option<u64>),
}

/// A scenario, every field read.
#[derive(Clone, Debug)]
pub struct Schema {
    /// One line.
    pub title: String,
    /// Algorithms that whoever runs it hands over.
    pub classes: Vec<Class>,
    /// Simulated time.
    pub duration: Duration,
    /// Interval of the samples.
    pub sample_interval: Duration,
    /// Record every packet.
    pub packets: bool,
    /// Metrics begin here.
    pub measure_from: Duration,
    /// For every flow that has none.
    pub jitter: Jitter,
    /// The network.
    pub topology: Topology,
    /// Media of a graph.
    pub media: Vec<Medium>,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// A medium as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Where it stands in the document.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Which part of 802.11.
    pub standard: StandardPlan,
    /// How its stations send, where a link says nothing else.
    pub mode: ModePlan,
    /// Probability that noise destroys a frame, where a link says nothing else.
    pub frame_error: f64,
    /// Slot.
    pub slot: Duration,
    /// Contention windows.
    pub windows: (u32, u32),
    /// Attempts without and behind an RTS.
    pub attempts: (u32, u32),
    /// Frames above this size go behind an RTS.
    pub rts_above: Option<Bytes>,
    /// Bystanders of a collision wait an EIFS.
    pub eifs: bool,
    /// A-MPDU.
    pub aggregation: bool,
    /// A first try keeps its turn when the medium turns busy.
    pub keeps_turn: bool,
    /// Beacons.
    pub beacon: Option<BeaconPlan>,
    /// Who sends them.
    pub access_point: Option<String>,
}

/// How a link is on a medium, as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Radio {
    /// Name of the medium.
    pub medium: String,
    /// How it is sent, if not as the medium's stations do.
    pub mode: Option<ModePlan>,
    /// Probability that noise destroys a frame.
    pub frame_error: Option<f64>,
}

/// Servers, wires, an access point, stations.
#[derive(Clone, Debug)]
pub struct Wlan {
    /// The medium.
    pub medium: Medium,
    /// The access point's queue.
    pub queue: Queue,
    /// A station's.
    pub station_queue: Queue,
    /// The wires.
    pub wire: Access,
    /// What is particular to the stations, in the order of the flows.
    pub stations: Vec<Radio>,
}
