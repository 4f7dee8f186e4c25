//! Reads the flows.

use cwndlab_config::reader::wrong_word;
use cwndlab_config::{words, Faults, Field, FieldType, Kind, Reader};
use cwndlab_traffic::workloads::UDP_EXAMPLE;

use super::tables::FLOW;
use super::typed::Flow;

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
        Some(flows)
    }
}

fn check(flow: &Flow, table: &Reader<'_>, directions: [&'static str; 2], faults: &mut Faults) {
    match flow.transport {
        Protocol::Udp => {
            for key in ["algorithm", "profile", "stack", "control"].into_iter().filter(|key| table.gives(key)) {
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
