//! Types of fields that only scenarios have.

use cwndlab_config::{Faults, FieldType, Kind, Reader};
use cwndlab_control::RecoveryKind;
use cwndlab_network::aqm::{self, CapacitySpec};
use cwndlab_network::{loss, router_assist};
use cwndlab_traffic::configuration::Transport;
use cwndlab_traffic::distribution_fields::Times;
use cwndlab_traffic::{workloads, Distribution, Workload};
use cwndlab_units::spelling::nearest;
use cwndlab_units::{Duration, Rate};

use crate::plan::Stack;
use crate::profile::{self, STACK};

/// The version of the schema.
pub const SCHEMA_VERSION: u64 = 1;

/// The version of the schema that a scenario states.
#[derive(Debug)]
pub enum Version {}

impl FieldType for Version {
    type Value = u64;

    const KIND: Kind = Kind::Integer(SCHEMA_VERSION, SCHEMA_VERSION);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<u64> {
        let version = table.given(name, faults)?;
        if version.as_u64() == Some(SCHEMA_VERSION) {
            return version.as_u64();
        }
        faults.add(
            table.at(name),
            format!("version {version} is not supported; this program reads version {SCHEMA_VERSION}"),
            "use the release that wrote the scenario",
        );
        None
    }
}

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

impl FieldType for Queue {
    type Value = Self;

    const KIND: Kind = Kind::Choice(&aqm::CHOICE);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self> {
        let inner = Reader::choose(table.get(name)?, table.at(name), &aqm::CHOICE, faults)?;
        let size = aqm::capacity::read(&inner, faults);
        let discipline = aqm::Config::read(&inner, faults);
        Some(Self { size: size?, discipline: discipline? })
    }
}

/// Router agents: `["rcp", { scheme = "abc", eta = 0.95 }]`.
#[derive(Debug)]
pub enum Agents {}

impl FieldType for Agents {
    type Value = Vec<router_assist::Config>;

    const KIND: Kind = Kind::List(&Kind::Choice(&router_assist::CHOICE));

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self::Value> {
        let mut agents: Self::Value = Vec::new();
        for (path, item) in table.items(name, faults) {
            let Some(inner) = Reader::choose(item, path.clone(), &router_assist::CHOICE, faults) else { continue };
            let Some(agent) = router_assist::Config::read(&inner, faults) else { continue };
            if agents.iter().any(|one| one.scheme() == agent.scheme()) {
                faults.add(path, "the link already has an agent of this scheme", "remove one of the two");
            } else {
                agents.push(agent);
            }
        }
        Some(agents)
    }
}

/// Loss models.
#[derive(Debug)]
pub enum Losses {}

impl FieldType for Losses {
    type Value = Vec<loss::Config>;

    const KIND: Kind = Kind::List(&Kind::Choice(&loss::CHOICE));

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self::Value> {
        let items = table.items(name, faults);
        let read = |(path, item)| loss::Config::read(&Reader::choose(item, path, &loss::CHOICE, faults)?, faults);
        Some(items.into_iter().filter_map(read).collect())
    }
}

/// A rate; `None`: `"none"`, zero serialisation time.
#[derive(Debug)]
pub enum RateOrNone {}

impl FieldType for RateOrNone {
    type Value = Option<Rate>;

    const KIND: Kind = Kind::Either(&[Kind::Rate, Kind::Words(&[("none", "zero serialisation time")])]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Option<Rate>> {
        if table.get(name).is_some_and(|value| value == "none") {
            return Some(None);
        }
        table.rate(name, faults).map(Some)
    }
}

/// The random delay of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Uniform in [0, the duration).
    Fixed(Duration),
    /// Uniform in [0, the flow's base RTT).
    Rtt,
}

impl FieldType for Jitter {
    type Value = Self;

    const KIND: Kind = Kind::Either(&[Kind::Duration, Kind::Words(&[("rtt", "the flow's base RTT")])]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self> {
        if table.get(name).is_some_and(|value| value == "rtt") {
            return Some(Self::Rtt);
        }
        table.duration(name, faults).map(Self::Fixed)
    }
}

/// The time between the starts of the flows of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum StartStep {
    /// The same for all.
    Fixed(Duration),
    /// Random.
    Random(Distribution),
}

impl FieldType for StartStep {
    type Value = Self;

    const KIND: Kind = Times::KIND;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self> {
        if table.get(name).is_some_and(serde_json::Value::is_object) {
            return Times::read(table, name, faults).map(Self::Random);
        }
        table.duration(name, faults).map(Self::Fixed)
    }
}

/// The direction of a flow, which depends on the topology.
#[derive(Debug)]
pub enum Direction {}

impl FieldType for Direction {
    type Value = String;

    const KIND: Kind = Kind::Words(&[
        ("forward", "from left to right"),
        ("reverse", "from right to left"),
        ("download", "to the station"),
        ("upload", "from the station"),
    ]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<String> {
        table.string(name, faults)
    }
}

/// The workload of a flow, over its `transport`.
#[derive(Debug)]
pub enum FlowWorkload {}

impl FieldType for FlowWorkload {
    type Value = Workload;

    const KIND: Kind = Kind::Choice(&workloads::CHOICE);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Workload> {
        let udp = table.word("transport", &mut Faults::default()) == Some("udp");
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        Workload::from_document(table.get(name)?, table.at(name), transport, faults)
    }
}

/// A stack profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub stack: Stack,
    /// Its loss recovery.
    pub recovery: RecoveryKind,
}

impl FieldType for Profile {
    type Value = Self;

    const KIND: Kind = Kind::Words(profile::NAMES);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self> {
        let profile = table.string(name, faults)?;
        if let Some((stack, recovery)) = profile::find(&profile) {
            return Some(Self { name: profile, stack, recovery });
        }
        let hint = nearest(&profile, profile::names()).map_or_else(
            || format!("one of {}", profile::names().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean '{near}'?"),
        );
        faults.add(table.at(name), format!("no profile is called '{profile}'"), hint);
        None
    }
}

/// The stack of the flow's `profile` with overrides.
#[derive(Debug)]
pub enum Overrides {}

impl FieldType for Overrides {
    type Value = Stack;

    const KIND: Kind = Kind::Table(&STACK);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Stack> {
        let mut stack = Profile::read(table, "profile", &mut Faults::default())?.stack;
        profile::override_with(&mut stack, &table.table(name, faults)?, faults);
        Some(stack)
    }
}
