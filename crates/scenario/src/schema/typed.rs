//! The typed scenario: the contents of its tables, with units and defaults.

use cwndlab_config::{fields, Faults, Positive, Probability, Reader, TablePath};
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_network::dscp::Dscp;
use cwndlab_traffic::Workload;
use cwndlab_units::{Duration, Rate};
use serde_json::Value;

use super::field_types::{
    Agents, Direction, FlowWorkload, Jitter, Losses, Overrides, Profile, Queue, StartStep, Version,
};
use super::flow::{Flows, GivenStack, Protocol};
use super::line::Line;
use super::link::ReverseLink;
use super::medium::{LinkRadio, Stations};
use super::topology::Network;
use crate::class::Classes;
use crate::plan::{
    AccessPlan, BeaconPlan, ControlDelay, HarqPlan, JitterPlan, ModePlan, NamedValuesPlan, StandardPlan,
};

fields! {
    /// The configuration of a link.
    #[derive(Clone, Debug)]
    pub struct Link {
        /// path in the document
        path: TablePath,
        /// line and its changes with time
        line: Line,
        /// retransmissions of a radio link
        harq: Option<HarqPlan> = absent(""),
        /// propagation delay, one way
        delay: Duration = "0 s",
        /// queue of the link
        queue: Option<Queue> =
            absent("drop-tail with a capacity of one bandwidth-delay product at a bottleneck, unlimited on access links"),
        /// loss models, applied in this order at the far end of the wire
        loss: Losses = absent("", Vec::new()),
        /// delay variation
        jitter: Option<JitterPlan> = absent(""),
        /// probability that a packet arrives twice
        duplicate: Probability = 0.0,
        /// router agents: schemes in which the router writes feedback into packet headers
        agents: Agents = absent("", Vec::new()),
    }
}

impl Link {
    /// A link with only a queue, a rate and a delay.
    #[must_use]
    pub fn plain(path: &str, rate: Option<Rate>, delay: Duration, queue: Queue) -> Self {
        Self {
            path: TablePath(path.to_owned()),
            line: Line { rate, ..Line::default() },
            harq: None,
            delay,
            queue: Some(queue),
            loss: Vec::new(),
            jitter: None,
            duplicate: 0.0,
            agents: Vec::new(),
        }
    }

    /// The link without losses, for the reverse direction.
    #[must_use]
    pub fn without_losses(&self) -> Self {
        let mut link = Self { loss: Vec::new(), ..self.clone() };
        link.line.schedule.steps.iter_mut().for_each(|step| step.loss = None);
        link
    }
}

fields! {
    /// A link between named nodes.
    #[derive(Clone, Debug)]
    pub struct NamedLink {
        /// unique name
        name: Option<String> = absent("`FROM-TO`"),
        /// source node
        from: String = required("'from = \"r1\"'"),
        /// destination node
        to: String = required("'to = \"r1\"'"),
        /// a link in the reverse direction with the same parameters is added, unless it is given
        duplex: bool = true,
        /// properties of every link
        link: Link,
        /// medium and radio parameters, in place of a line
        radio: LinkRadio,
    }
}

fields! {
    /// A node of a graph.
    #[derive(Clone, Debug)]
    pub struct Node {
        /// path in the document
        path: TablePath,
        /// unique name
        name: String = required("'name = \"r1\"'"),
    }
}

fields! {
    /// Access links.
    #[derive(Clone, Debug)]
    pub struct Access {
        /// rate of each link
        rate: Option<Rate> = absent("zero serialisation time"),
        /// queue of each link
        queue: Queue = absent("unlimited", Queue::drop_tail(CapacitySpec::Unlimited)),
        /// router agents of the links
        agents: Option<Agents> = absent("those of the first hop"),
    }
}

impl Access {
    /// Zero serialisation time and no limit.
    fn unlimited() -> Self {
        Self { rate: None, queue: Queue::drop_tail(CapacitySpec::Unlimited), agents: None }
    }
}

fields! {
    /// A bottleneck in both directions, and access links.
    #[derive(Clone, Debug)]
    pub struct Dumbbell {
        /// the link from r1 to r2, named `bottleneck`
        bottleneck: Link = required("'bottleneck = { rate = \"100 Mbps\", delay = \"10 ms\" }'"),
        /// the link from r2 to r1, named `bottleneck-reverse`; other fields are those of the bottleneck
        reverse: ReverseLink = absent("the bottleneck without its losses", bottleneck.without_losses()),
        /// access links; the flow's delay minus that of the bottleneck is divided equally among them
        access: Access = absent("zero serialisation time", Access::unlimited()),
    }
}

fields! {
    /// Bottlenecks in series, and access links.
    #[derive(Clone, Debug)]
    pub struct ParkingLot {
        /// links between the routers r1, r2, …, named `hop1`, `hop2`, …
        hops: Vec<Link> = required("'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'"),
        /// access links
        access: Access = absent("zero serialisation time", Access::unlimited()),
    }
    check
}

impl ParkingLot {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let given = table.get("hops").and_then(Value::as_array);
        if self.hops.is_empty() && given.is_some_and(Vec::is_empty) {
            let hint = "write 'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'";
            faults.add(table.at("hops"), "is empty", hint);
        }
    }
}

fields! {
    /// The configuration of a wireless LAN.
    #[derive(Clone, Debug)]
    pub struct Wlan {
        /// queue of the access point, shared by all stations
        queue: Queue = absent("drop-tail of 100 packets", Queue::drop_tail(CapacitySpec::Packets(100))),
        /// queue of each station
        station_queue: Queue = absent("as `queue`", queue),
        /// wires; their delay is the RTT of the flow
        wire: Access = absent("zero serialisation time", Access::unlimited()),
        /// parameters of individual stations, in the order of the flows
        stations: Stations = absent("", Vec::new()),
        /// the medium
        medium: Medium,
    }
    check
}

impl Wlan {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.wire.agents.is_some() {
            let what = "agents are not supported on the wires of a wireless LAN";
            faults.add(table.at("wire.agents"), what, "remove them");
        }
    }
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

fields! {
    /// The configuration of a flow.
    #[derive(Clone, Debug)]
    pub struct Flow {
        /// path in the document
        path: TablePath,
        /// transport protocol
        transport: Protocol = "tcp",
        /// `AVOIDANCE[+SLOW_START][/RECOVERY]`, or a name of `algorithms`; TCP only
        algorithm: Option<String> = absent("required over TCP"),
        /// unique name
        name: Option<String> = absent("`flow<i>`"),
        /// base RTT (dumbbell, parking lot, wireless LAN)
        rtt: Option<Duration> = absent("required there"),
        /// dumbbell, parking lot: `"forward"` or `"reverse"`; wireless LAN: `"download"` or `"upload"`
        direction: Option<Direction> = absent("forward; download"),
        /// start of the application
        start: Duration = "0 s",
        /// time at which the application stops
        stop: Option<Duration> = absent("never"),
        /// maximum of the uniform random delay of the start
        start_jitter: Option<Jitter> = absent("the scenario's `start_jitter`"),
        /// number of flows; with more than one, names have the suffixes `-1`, `-2`, …
        count: u64 = 1 in 1..=1_000_000,
        /// time between their starts; a distribution gives random times, the exponential one a Poisson process
        start_step: StartStep = "0 s",
        /// workload
        workload: FlowWorkload = absent("`bulk` over TCP, required over UDP", Workload::BULK),
        /// class of its packets in both directions, for queues that serve by class
        dscp: Dscp = absent("CS0", Dscp::default()),
        /// stack profile
        profile: Profile = "linux",
        /// parameters of the stack that override those of the profile
        stack: Overrides = absent("", profile.stack.clone()),
        /// parameters of the stack that the scenario sets
        given: GivenStack,
        /// delay between transport and algorithm, as in the kernel datapath
        control: Option<ControlDelay> = absent(""),
        /// source node (graph)
        from: Option<String> = absent("required in a graph"),
        /// destination node (graph)
        to: Option<String> = absent("required in a graph"),
        /// links of the forward route (graph)
        route: Option<Vec<String>> = absent("the shortest by delay, then hops, then the order of the links"),
        /// links of the reverse route (graph)
        reverse_route: Option<Vec<String>> = absent("the shortest by delay, then hops, then the order of the links"),
        /// router where the flow enters (parking lot)
        enter: Option<u64> = absent("the first") in 1..=1_000_000,
        /// router where the flow leaves (parking lot)
        leave: Option<u64> = absent("the last") in 1..=1_000_000,
    }
}

impl Flow {
    /// Whether the flow has the reverse direction, from right to left or from the station.
    #[must_use]
    pub fn is_reverse(&self) -> bool {
        matches!(self.direction.as_deref(), Some("reverse" | "upload"))
    }
}

fields! {
    /// A scenario with all fields.
    #[derive(Clone, Debug)]
    pub struct Schema {
        /// version of this schema
        schema_version: Version = required("'schema_version = 1'"),
        /// title, one line
        title: String = "",
        /// user-defined algorithms; cwndlab writes this table for classes that the caller passes
        algorithms: Classes = absent("", Vec::new()),
        /// simulated time
        duration: Positive<Duration> = required("'duration = \"60 s\"'"),
        /// sampling interval; zero disables samples
        sample_interval: Duration = "100 ms",
        /// record every packet
        packets: bool = false,
        /// record variables of the algorithms and of the transport (simulator only)
        named_values: Option<NamedValuesPlan> = absent("none"),
        /// start of the metrics; earlier samples are the warm-up
        measure_from: Duration = "0 s",
        /// default of the flows: maximum of the uniform random delay of a start
        start_jitter: Jitter = "0 s",
        /// each seed varies delays, rates, starts and the processing of packets by less than anybody measures
        perturb: bool = absent("false", false),
        /// the network
        network: Network,
        /// the flows
        flow: Flows = required("a '[[flow]]' with an algorithm"),
    }
}
