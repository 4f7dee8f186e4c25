//! Reads the flows.

use cwndlab_config::reader::wrong_word;
use cwndlab_config::{fields, words, Faults, Field, FieldType, Kind, Positive, Reader, TablePath};
use cwndlab_control::{Algorithm, RecoveryKind};
use cwndlab_network::dscp::Dscp;
use cwndlab_traffic::distribution_fields::PositiveTimes;
use cwndlab_traffic::workloads::UDP_EXAMPLE;
use cwndlab_traffic::Workload;
use cwndlab_transport::recovery::with_negotiated_sack;
use cwndlab_units::{Bytes, Duration, Rate};

use super::field_types::{Direction, FlowWorkload, Jitter, Overrides, Profile, StartStep};
use super::table::tables;
use crate::plan::{ControlDelay, ServiceLevel};

tables! {
    /// A flow.
    FLOW: Flow = "flow", "A flow, or several equal flows.";
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
        /// time from the start of each flow to the stop of its application, such as that of a call
        hold: Option<PositiveTimes> = absent("until `stop`"),
        /// rate that links with `admission` reserve for each flow, and media on whose access category `acm` is set
        reserve: Option<Positive<Rate>> = absent("it is not asked"),
        /// size of its packets, for the medium time of `reserve` on a medium of 802.11
        msdu: Option<Positive<Bytes>> = absent("a full segment with its headers"),
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
        /// what the class of traffic asks of the network; its messages are recorded
        service: Option<ServiceLevel> = absent(""),
        /// stack profile
        profile: Profile = "linux",
        /// parameters of the stack that override those of the profile
        stack: Overrides = absent("", profile.stack.clone()),
        /// parameters of the stack that the scenario sets
        given: GivenStack,
        /// delay between transport and algorithm, as in the kernel datapath
        control: Option<ControlDelay> = absent(""),
        /// name of a store of saved parameters (RFC 9959), which flows share: a flow starts with those of the one of them
        /// that ended last, if none is active; `careful-resume` uses them
        saved_parameters: Option<String> = absent("those of the flow's own last connection"),
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
    /// The loss recovery: that of the algorithm, or of the profile; without SACK one that does not need it.
    pub(crate) fn recovery(&self, algorithm: Option<&Algorithm>) -> RecoveryKind {
        let recovery = algorithm.and_then(Algorithm::recovery_kind).unwrap_or(self.profile.recovery);
        with_negotiated_sack(recovery, self.stack.sack, self.stack.rules)
    }

    /// Whether the flow has the reverse direction, from right to left or from the station.
    #[must_use]
    pub fn is_reverse(&self) -> bool {
        matches!(self.direction.as_deref(), Some("reverse" | "upload"))
    }
}

words! {
    /// The transport protocol of a flow.
    pub enum Protocol {
        /// a TCP connection
        Tcp = "tcp",
        /// datagrams without window, acknowledgements and retransmissions
        Udp = "udp",
    }
}

/// The parameters of the stack that a flow states.
#[derive(Clone, Copy, Debug)]
pub struct GivenStack {
    /// `ecn`; otherwise an algorithm that requires ECN negotiates it.
    pub ecn: bool,
    /// `ack_counting`.
    pub ack_counting: bool,
    /// `rto_restart`.
    pub rto_restart: bool,
}

impl GivenStack {
    pub(super) const FIELDS: &'static [Field] = &[];

    #[allow(clippy::unnecessary_wraps, reason = "`fields!` reads every member in the same way")]
    pub(super) fn read(table: &Reader<'_>, _: &mut Faults) -> Option<Self> {
        let gives = |key: &str| table.get("stack").is_some_and(|value| value.get(key).is_some());
        Some(Self { ecn: gives("ecn"), ack_counting: gives("ack_counting"), rto_restart: gives("rto_restart") })
    }
}

/// The flows of a scenario, whose directions depend on its topology.
#[derive(Debug)]
pub enum Flows {}

impl FieldType for Flows {
    type Value = Vec<Flow>;

    const KIND: Kind = Kind::Tables(&FLOW);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Vec<Flow>> {
        let directions = if table.gives("wlan") { ["download", "upload"] } else { ["forward", "reverse"] };
        let items = table.tables(name, faults);
        if items.is_empty() && table.gives(name) {
            faults.add(table.at(name), "is empty", "write a '[[flow]]' with an algorithm");
        }
        let mut flows = Vec::new();
        for (path, item) in items {
            let Some(inner) = Reader::new(item, path, &FLOW, faults) else { continue };
            let Some(flow) = inner.read_valid(Flow::read, faults) else { continue };
            check(&flow, &inner, directions, faults);
            flows.push(flow);
        }
        check_stores(&flows, faults);
        Some(flows)
    }
}

/// A store of saved parameters that no other flow shares has no effect: its name is wrong.
fn check_stores(flows: &[Flow], faults: &mut Faults) {
    for flow in flows {
        let Some(store) = &flow.saved_parameters else { continue };
        let users: u64 =
            flows.iter().filter(|one| one.saved_parameters.as_ref() == Some(store)).map(|one| one.count).sum();
        if users < 2 {
            let hint = "give it to another flow, or remove it: the connections of one flow share theirs anyway";
            faults.add(
                format!("{}.saved_parameters", flow.path.0),
                format!("no other flow has the store '{store}'"),
                hint,
            );
        }
    }
}

fn check(flow: &Flow, table: &Reader<'_>, directions: [&'static str; 2], faults: &mut Faults) {
    match flow.transport {
        Protocol::Udp => {
            for key in ["algorithm", "profile", "stack", "control", "saved_parameters"]
                .into_iter()
                .filter(|key| table.gives(key))
            {
                let hint = "remove it, or write 'transport = \"tcp\"'";
                faults.add(table.at(key), "a flow over UDP has no congestion control", hint);
            }
            if !table.gives("workload") {
                faults.add(table.at("workload"), "is missing", UDP_EXAMPLE);
            }
        }
        Protocol::Tcp if !table.gives("algorithm") => {
            let example = "'algorithm = \"cubic\"' (or 'transport = \"udp\"' for a flow without congestion control)";
            faults.add(table.at("algorithm"), "is missing", format!("write {example}"));
        }
        Protocol::Tcp => {}
    }
    if flow.stop.is_some_and(|stop| stop <= flow.start) {
        faults.add(table.at("stop"), "is not after the start", "");
    }
    if let Some(word) = flow.direction.as_deref().filter(|word| !directions.contains(word)) {
        wrong_word(&table.at("direction"), word, directions.into_iter(), faults);
    }
}
