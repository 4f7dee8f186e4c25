//! Reads a link.

use cwndlab_config::{fields, Faults, FieldType, Kind, Probability, Reader, Table, TablePath, TableType};
use cwndlab_network::impairments::EcnChange;
use cwndlab_network::wire::WifiJitter;
use cwndlab_units::{Duration, Rate};

use super::field_types::{Agents, Losses, Queue};
use super::line::Line;
use super::table::tables;
use crate::plan::{HarqPlan, JitterPlan};

tables! {
    /// A link.
    LINK: Link = "link",
        "A link in one direction: a queue, a line that serialises, a wire that delays and loses packets.";
}

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
        /// mean of the delay variation of bad Wi-Fi, with spikes of 90 ms; packets stay in order
        wifi_jitter: Option<Duration> = absent(""),
        /// probability that a packet arrives twice
        duplicate: Probability = 0.0,
        /// change of the ECN field of data and SYNs by the wire
        ecn: Option<EcnChange> = absent("the field is not changed"),
        /// share of the rate that flows with `reserve` may have together; one that would exceed it is refused at its start
        admission: Option<Probability> = absent("no admission control"),
        /// router agents: schemes in which the router writes feedback into packet headers
        agents: Agents = absent("", Vec::new()),
    }
    check
}

impl Link {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let paths = table.items("schedule", &mut Faults::default());
        let steps = self.line.schedule.steps.iter().zip(paths);
        let scheduled = steps.filter_map(|(step, (path, _))| Some((step.wifi_jitter?, format!("{path}.wifi_jitter"))));
        let own = self.wifi_jitter.map(|mean| (mean, table.at("wifi_jitter")));
        for (mean, at) in own.into_iter().chain(scheduled).filter(|(mean, _)| !WifiJitter::MEANS.contains(mean)) {
            let (least, most) = (WifiJitter::MEANS.start(), WifiJitter::MEANS.end());
            let hint = format!("write a mean from \"{least}\" (no spikes) to \"{most}\" (a spike for every packet)");
            faults.add(at, format!("{mean} is not a mean of the model"), hint);
        }
    }

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
            wifi_jitter: None,
            duplicate: 0.0,
            ecn: None,
            admission: None,
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

impl TableType for Link {
    const TABLE: &'static Table = &LINK;

    fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let mut link = table.read_valid(Self::read, faults)?;
        link.line.complete(table, faults);
        Some(link)
    }
}

/// The reverse direction of a dumbbell: what it does not state is that of the `bottleneck` without its losses.
#[derive(Debug)]
pub enum ReverseLink {}

impl FieldType for ReverseLink {
    type Value = Link;

    const KIND: Kind = Link::KIND;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Link> {
        let bottleneck = <Link as FieldType>::read(table, "bottleneck", &mut Faults::default());
        let Some(base) = bottleneck.map(|link| link.without_losses()) else {
            return <Link as FieldType>::read(table, name, faults);
        };
        let inner = table.table(name, faults)?;
        let mut link = inner.read_valid(Link::read, faults)?;
        link.line.inherit(&base.line, &inner);
        link.line.complete(&inner, faults);
        Some(Link {
            harq: link.harq.or(base.harq),
            delay: if inner.gives("delay") { link.delay } else { base.delay },
            queue: link.queue.or(base.queue),
            jitter: link.jitter.or(base.jitter),
            wifi_jitter: link.wifi_jitter.or(base.wifi_jitter),
            ecn: link.ecn.or(base.ecn),
            duplicate: if inner.gives("duplicate") { link.duplicate } else { base.duplicate },
            admission: link.admission.or(base.admission),
            agents: if inner.gives("agents") { link.agents } else { base.agents },
            ..link
        })
    }
}
