//! Reads a link: its queue, its line and its wire.

use cwndlab_config::{Faults, Reader, Table};
use cwndlab_network::{aqm, loss, router_assist};
use serde_json::Value;

use super::line::{read_harq, read_line};
use super::typed::{Link, Queue};
use crate::plan::JitterPlan;

pub(super) fn read_link(
    value: &Value,
    path: String,
    declared: &'static Table,
    base: Option<&Link>,
    faults: &mut Faults,
) -> Option<Link> {
    let table = Reader::new(value, path.clone(), declared, faults)?;
    let (rate, line, schedule) = read_line(&table, base, faults);
    let queue = table
        .get("queue")
        .and_then(|value| read_queue(value, table.at("queue"), faults))
        .or(base.and_then(|link| link.queue));
    let jitter = table.table("jitter", faults).and_then(|inner| JitterPlan::read(&inner, faults));
    let losses =
        table.items("loss", faults).into_iter().filter_map(|(path, item)| read_loss(item, path, faults)).collect();
    Some(Link {
        rate,
        line,
        schedule,
        harq: read_harq(&table, faults).or(base.and_then(|link| link.harq)),
        delay: given(base, table.gives("delay"), table.duration("delay", faults), |link| link.delay)?,
        queue,
        losses,
        jitter: jitter.or(base.and_then(|link| link.jitter)),
        duplicate: given(base, table.gives("duplicate"), table.probability("duplicate", faults), |link| {
            link.duplicate
        })?,
        agents: if table.gives("agents") {
            read_agents(&table, faults)
        } else {
            base.map(|link| link.agents.clone()).unwrap_or_default()
        },
        path,
    })
}

/// The value of the document, or else of the base, or else the default.
fn given<T>(base: Option<&Link>, is_given: bool, read: Option<T>, of: impl FnOnce(&Link) -> T) -> Option<T> {
    match base {
        Some(link) if !is_given => Some(of(link)),
        _ => read,
    }
}

/// Reads `agents = ["rcp", { scheme = "abc", eta = 0.95 }]`.
pub(super) fn read_agents(table: &Reader<'_>, faults: &mut Faults) -> Vec<router_assist::Config> {
    let mut agents: Vec<router_assist::Config> = Vec::new();
    for (path, item) in table.items("agents", faults) {
        let Some(inner) = Reader::choose(item, path.clone(), &router_assist::CHOICE, faults) else { continue };
        let Some(agent) = router_assist::Config::read(&inner, faults) else { continue };
        if agents.iter().any(|one| one.scheme() == agent.scheme()) {
            faults.add(path, "the link already has an agent of this scheme", "remove one of the two");
        } else {
            agents.push(agent);
        }
    }
    agents
}

fn read_loss(value: &Value, path: String, faults: &mut Faults) -> Option<loss::Config> {
    let table = Reader::choose(value, path, &loss::CHOICE, faults)?;
    loss::Config::read(&table, faults)
}

pub(super) fn read_queue(value: &Value, path: String, faults: &mut Faults) -> Option<Queue> {
    let table = Reader::choose(value, path, &aqm::CHOICE, faults)?;
    let size = aqm::capacity::read(&table, faults);
    let discipline = aqm::Config::read(&table, faults);
    Some(Queue { size: size?, discipline: discipline? })
}
