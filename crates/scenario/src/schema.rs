//! The typed scenario: every field read, with its unit and default.

use std::collections::BTreeSet;

use cwndlab_config::reader::wrong_word;
use cwndlab_config::{Fault, Faults, Reader};
use cwndlab_control::RecoveryKind;
use cwndlab_network::aqm::{self, Size};
use cwndlab_network::{loss, router_assist};
use cwndlab_traffic::configuration::Transport;
use cwndlab_traffic::distribution_fields::{self, Unit};
use cwndlab_traffic::workloads::UDP_EXAMPLE;
use cwndlab_traffic::{Distribution, Workload};
use cwndlab_units::spelling::nearest;
use cwndlab_units::{Duration, Rate};
use serde_json::Value;

use crate::class::{self, Class};
use crate::document::SCHEMA_VERSION;
use crate::plan::{HarqPlan, JitterPlan, LinePlan, Remote, SchedulePlan, Stack};
use crate::profile;

mod canonical;
mod line;
mod link;
mod medium;
pub mod tables;

pub use canonical::CANONICAL_VERSION;
use link::{read_agents, read_link};
use medium::{read_media, read_radio, read_wlan};
pub use medium::{Medium, Radio, Wlan};
use tables::{LINK, NAMED_LINK, NODE, TOP};

/// JSON Schema of scenario files (draft 2020-12).
#[must_use]
pub fn json_schema() -> Value {
    cwndlab_config::schema::document("cwndlab scenario", &TOP)
}

/// Every declared table, for documentation and for other languages.
#[must_use]
pub fn declarations() -> Value {
    cwndlab_config::describe::all(&TOP)
}

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

fn read_queue(value: &Value, path: String, faults: &mut Faults) -> Option<Queue> {
    let table = Reader::choose(value, path, &aqm::CHOICE, faults)?;
    let (size, discipline) = (aqm::size::read(&table, faults), aqm::Config::read(&table, faults));
    Some(Queue { size: size?, discipline: discipline? })
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

/// Fields of a flow that only these kinds of network have.
const FLOW_FIELDS: &[(&str, &[&str])] = &[
    ("from", &["link"]),
    ("to", &["link"]),
    ("route", &["link"]),
    ("reverse_route", &["link"]),
    ("enter", &["parking_lot"]),
    ("leave", &["parking_lot"]),
    ("rtt", &["dumbbell", "parking_lot", "wlan"]),
    ("direction", &["dumbbell", "parking_lot", "wlan"]),
];

/// Words for a flow's direction, and whether it is the one from right to left, or from the station.
type Directions = &'static [(&'static str, bool)];
const WIRED: Directions = &[("forward", false), ("reverse", true)];
const WIRELESS: Directions = &[("download", false), ("upload", true)];

/// Reads the document, or answers every fault in it.
pub fn read(document: &Value) -> Result<Schema, Vec<Fault>> {
    let mut faults = Faults::default();
    let schema = read_top(document, &mut faults);
    match schema {
        Some(schema) if faults.0.is_empty() => Ok(schema),
        _ => Err(faults.0),
    }
}

fn read_top(document: &Value, faults: &mut Faults) -> Option<Schema> {
    let table = Reader::new(document, "", &TOP, faults)?;
    match table.get("schema_version") {
        None => faults.add("schema_version", "is missing", format!("write 'schema_version = {SCHEMA_VERSION}'")),
        Some(version) if version.as_u64() == Some(SCHEMA_VERSION) => {}
        Some(other) => faults.add(
            "schema_version",
            format!("{other} is another version than this program's {SCHEMA_VERSION}"),
            "use the release that wrote it",
        ),
    }
    let duration = table.duration("duration", faults);
    let media = read_media(&table, faults);
    let topology = read_topology(&table, &media, faults);
    let directions = if table.gives("wlan") { WIRELESS } else { WIRED };
    let flows: Vec<Option<Flow>> = table
        .tables("flow", faults)
        .into_iter()
        .map(|(path, item)| read_flow(item, path, directions, faults))
        .collect();
    if flows.is_empty() && table.gives("flow") {
        faults.add("flow", "there is none", "write a '[[flow]]' with an algorithm");
    }
    let schema = Schema {
        title: table.string("title", faults).unwrap_or_default(),
        classes: class::read(table.get("algorithms"), faults),
        duration: duration.unwrap_or_default(),
        sample_interval: table.duration("sample_interval", faults).unwrap_or_default(),
        packets: table.flag("packets", faults).unwrap_or(false),
        measure_from: table.duration("measure_from", faults).unwrap_or_default(),
        jitter: read_jitter(&table, faults).unwrap_or(Jitter::Fixed(Duration::ZERO)),
        topology: topology?,
        media,
        flows: flows.into_iter().collect::<Option<_>>()?,
    };
    if schema.measure_from >= schema.duration && duration.is_some() {
        faults.add("measure_from", "leaves nothing to measure", "a time before the scenario's duration");
    }
    Some(schema)
}

fn read_jitter(table: &Reader<'_>, faults: &mut Faults) -> Option<Jitter> {
    if table.get("start_jitter").and_then(Value::as_str) == Some("rtt") {
        return Some(Jitter::Rtt);
    }
    table.duration("start_jitter", faults).map(Jitter::Fixed)
}

fn read_topology(table: &Reader<'_>, media: &[Medium], faults: &mut Faults) -> Option<Topology> {
    let kinds: Vec<&str> =
        ["dumbbell", "parking_lot", "wlan", "link"].into_iter().filter(|key| table.gives(key)).collect();
    // What belongs to another kind of network is a fault, not something to pass over.
    for key in ["node", "medium"].into_iter().filter(|key| table.gives(key) && !kinds.contains(&"link")) {
        faults.add(key, "belongs to a network of '[[link]]'s", "leave it out, or write the links");
    }
    for (path, flow) in table.items("flow", &mut Faults::default()) {
        for (key, networks) in FLOW_FIELDS {
            let [kind] = kinds[..] else { continue };
            if flow.get(key).is_some() && !networks.contains(&kind) {
                let whose = match *networks {
                    ["link"] => "of '[[link]]'s",
                    ["parking_lot"] => "of '[parking_lot]'",
                    _ => "without '[[link]]'s, whose links and routes say it",
                };
                faults.add(format!("{path}.{key}"), format!("belongs to a network {whose}"), "leave it out");
            }
        }
    }
    match kinds[..] {
        ["dumbbell"] => {
            let inner = table.table("dumbbell", faults)?;
            let value = inner.given("bottleneck", faults)?;
            let forward = read_link(value, inner.at("bottleneck"), &LINK, None, faults);
            let base = forward.as_ref().map(Link::without_losses);
            let reverse = match inner.get("reverse") {
                Some(value) => read_link(value, inner.at("reverse"), &LINK, base.as_ref(), faults),
                None => base,
            };
            let access = read_access(&inner, faults);
            Some(Topology::Dumbbell(forward?, reverse?, access?))
        }
        ["parking_lot"] => {
            let inner = table.table("parking_lot", faults)?;
            let hops: Vec<_> = inner
                .items("hops", faults)
                .into_iter()
                .map(|(path, item)| read_link(item, path, &LINK, None, faults))
                .collect();
            if hops.is_empty() && inner.gives("hops") {
                faults.add(
                    "parking_lot.hops",
                    "there is none",
                    "write 'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'",
                );
            }
            let access = read_access(&inner, faults);
            Some(Topology::ParkingLot(hops.into_iter().collect::<Option<_>>()?, access?))
        }
        ["link"] => read_graph(table, media, faults),
        ["wlan"] => Some(Topology::Wlan(read_wlan(table.get("wlan")?, faults)?)),
        [] => {
            faults.add("", "there is no network", "write '[dumbbell]', '[parking_lot]', '[wlan]' or '[[link]]'");
            None
        }
        _ => {
            faults.add(kinds[1], format!("stands beside '{}'", kinds[0]), "one kind of network is enough");
            None
        }
    }
}

fn read_access(table: &Reader<'_>, faults: &mut Faults) -> Option<Access> {
    let unlimited = Queue::drop_tail(Size::Unlimited);
    if !table.gives("access") {
        return Some(Access { rate: None, queue: unlimited, agents: None });
    }
    let inner = table.table("access", faults)?;
    let queue = inner.get("queue").and_then(|value| read_queue(value, inner.at("queue"), faults));
    let agents = inner.get("agents").map(|_| read_agents(&inner, faults));
    Some(Access { rate: inner.rate("rate", faults), queue: queue.unwrap_or(unlimited), agents })
}

fn read_graph(table: &Reader<'_>, media: &[Medium], faults: &mut Faults) -> Option<Topology> {
    let (mut nodes, mut known) = (Vec::new(), BTreeSet::new());
    for (path, item) in table.tables("node", faults) {
        let inner = Reader::new(item, path, &NODE, faults)?;
        let name = inner.string("name", faults)?;
        if !known.insert(name.clone()) {
            faults.add(inner.at("name"), format!("'{name}' is the name of another node"), "names are unique");
        }
        nodes.push(name);
    }
    let (declared, mut links, mut names) = (!nodes.is_empty(), Vec::<NamedLink>::new(), BTreeSet::new());
    for (path, item) in table.tables("link", faults) {
        let Some(link) = read_link(item, path.clone(), &NAMED_LINK, None, faults) else { continue };
        let radio = read_radio(item, path.clone(), media, faults);
        let inner = Reader::new(item, path, &NAMED_LINK, &mut Faults::default())?;
        let ends = ["from", "to"].map(|key| inner.string(key, faults));
        let [Some(from), Some(to)] = ends else { continue };
        for (key, node) in [("from", &from), ("to", &to)] {
            if known.insert(node.clone()) {
                if declared {
                    faults.add(
                        inner.at(key),
                        format!("no node is called '{node}'"),
                        "add a '[[node]]', or leave all of them out",
                    );
                }
                nodes.push(node.clone());
            }
        }
        if from == to {
            faults.add(inner.at("to"), "the link ends where it begins", "");
        }
        let name = inner.string("name", faults).unwrap_or_else(|| format!("{from}-{to}"));
        if !names.insert(name.clone()) {
            faults.add(inner.at("name"), format!("'{name}' is the name of another link"), "names are unique");
        }
        let duplex = inner.flag("duplex", faults).unwrap_or_default();
        links.push(NamedLink { name, from, to, duplex, radio, link });
    }
    Some(Topology::Graph(nodes, links))
}

/// Whether the flow goes against the usual direction.
fn read_direction(table: &Reader<'_>, directions: Directions, faults: &mut Faults) -> bool {
    let Some(word) = table.string("direction", faults) else { return false };
    let found = directions.iter().find(|(one, _)| *one == word);
    if found.is_none() {
        wrong_word(&table.at("direction"), &word, directions.iter().map(|(one, _)| *one), faults);
    }
    found.is_some_and(|(_, reverse)| *reverse)
}

fn read_flow(value: &Value, path: String, directions: Directions, faults: &mut Faults) -> Option<Flow> {
    let table = Reader::new(value, path.clone(), &tables::FLOW, faults)?;
    let udp = table.word("transport", faults) == Some("udp");
    let algorithm = table.string("algorithm", faults);
    let algorithm = if udp {
        refuse_tcp_fields(&table, faults);
        None
    } else {
        let example = "'algorithm = \"cubic\"' (or 'transport = \"udp\"' for a flow without congestion control)";
        if !table.gives("algorithm") {
            faults.add(table.at("algorithm"), "is missing", format!("write {example}"));
        }
        Some(algorithm)
    };
    let profile = table.string("profile", faults)?;
    let Some((mut stack, recovery)) = profile::find(&profile) else {
        let near = nearest(&profile, profile::names());
        let hint = near.map_or_else(
            || format!("one of {}", profile::names().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean '{near}'?"),
        );
        faults.add(table.at("profile"), format!("no profile is called '{profile}'"), hint);
        return None;
    };
    if let Some(inner) = table.table("stack", faults) {
        profile::override_with(&mut stack, &inner, faults);
    }
    let control = table.table("control", faults).and_then(|inner| {
        let (delay, interval) = (inner.duration("delay", faults), inner.duration("interval", faults));
        Some(Remote { delay: delay?, interval: interval? })
    });
    let workload = match table.get("workload") {
        Some(value) => {
            let transport = if udp { Transport::Udp } else { Transport::Tcp };
            Workload::from_document(value, table.at("workload"), transport, faults)
        }
        None if udp => {
            faults.add(table.at("workload"), "is missing", UDP_EXAMPLE);
            None
        }
        None => Some(Workload::BULK),
    };
    let (start, stop) = (table.duration("start", faults).unwrap_or_default(), table.duration("stop", faults));
    if stop.is_some_and(|stop| stop <= start) {
        faults.add(table.at("stop"), "is not after the start", "");
    }
    let gaps = match table.get("start_step") {
        Some(value) if value.is_object() => distribution_fields::read(&table, "start_step", Unit::Time, faults),
        _ => None,
    };
    Some(Flow {
        name: table.string("name", faults),
        rtt: table.duration("rtt", faults),
        reverse: read_direction(&table, directions, faults),
        start,
        stop,
        jitter: read_jitter(&table, faults),
        count: table.whole("count", faults).unwrap_or(1),
        step: match &gaps {
            None => table.duration("start_step", faults).unwrap_or_default(),
            Some(_) => Duration::ZERO,
        },
        gaps,
        workload: workload?,
        profile,
        stack,
        ecn_given: table.get("stack").is_some_and(|value| value.get("ecn").is_some()),
        restart_given: table.get("stack").is_some_and(|value| value.get("rto_restart").is_some()),
        recovery,
        control,
        ends: (table.string("from", faults), table.string("to", faults)),
        routes: (table.names("route", faults), table.names("reverse_route", faults)),
        hops: (table.whole("enter", faults), table.whole("leave", faults)),
        algorithm: match algorithm {
            Some(named) => Some(named?),
            None => None,
        },
        path,
    })
}

/// A flow of datagrams has neither a window nor a stack.
fn refuse_tcp_fields(table: &Reader<'_>, faults: &mut Faults) {
    for key in ["algorithm", "profile", "stack", "control"] {
        if table.get(key).is_some() {
            faults.add(
                table.at(key),
                "a flow over UDP has none: nothing controls its rate",
                "leave it out, or write 'transport = \"tcp\"'",
            );
        }
    }
}
