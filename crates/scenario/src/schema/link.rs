//! Reads a link: its queue, and what its wire does.

use std::sync::Arc;

use cwndlab_units::Duration;
use serde_json::{json, Value};

use super::fields::{AGENT, JITTER, LOSS};
use super::line::{read_harq, read_line};
use super::queue::read_queue;
use super::Link;
use crate::plan::{AgentPlan, JitterPlan, LossPlan};
use crate::read::{Faults, Table};

pub(super) fn read_link(
    value: &Value,
    path: String,
    known: &'static [&'static str],
    base: Option<&Link>,
    faults: &mut Faults,
) -> Option<Link> {
    let table = Table::new(value, path.clone(), known, faults)?;
    let (rate, line, schedule) = read_line(&table, base, faults);
    let queue = table
        .get("queue")
        .and_then(|value| read_queue(value, table.at("queue"), faults))
        .or(base.and_then(|link| link.queue));
    let jitter = table.get("jitter").and_then(|value| {
        let inner = Table::new(value, table.at("jitter"), JITTER, faults)?;
        let spread = inner.duration("spread", faults);
        let spread = inner.require("spread", spread, "'spread = \"5 ms\"'", faults)?;
        Some(JitterPlan { spread, reorder: inner.flag("reorder", faults).unwrap_or(false) })
    });
    let losses =
        table.items("loss", faults).into_iter().filter_map(|(path, item)| read_loss(item, path, faults)).collect();
    Some(Link {
        rate,
        line,
        schedule,
        harq: read_harq(&table, faults).or(base.and_then(|link| link.harq)),
        delay: table.duration("delay", faults).or(base.map(|link| link.delay)).unwrap_or_default(),
        queue,
        losses,
        jitter: jitter.or(base.and_then(|link| link.jitter)),
        duplicate: table.probability("duplicate", faults).unwrap_or(base.map_or(0.0, |link| link.duplicate)),
        agents: if table.get("agents").is_some() {
            read_agents(&table, faults)
        } else {
            base.map(|link| link.agents.clone()).unwrap_or_default()
        },
        path,
    })
}

/// `agents = ["rcp", { scheme = "abc", eta = 0.95 }]`.
pub(super) fn read_agents(table: &Table<'_>, faults: &mut Faults) -> Vec<AgentPlan> {
    let mut agents: Vec<AgentPlan> = Vec::new();
    for (path, item) in table.items("agents", faults) {
        let named;
        let value = match item {
            Value::String(_) => {
                named = json!({ "scheme": item });
                &named
            }
            other => other,
        };
        let Some(agent) = read_agent(value, path.clone(), faults) else { continue };
        if agents.iter().any(|one| one.scheme() == agent.scheme()) {
            faults.add(path, "this scheme has an agent here already", "leave one of the two out");
        } else {
            agents.push(agent);
        }
    }
    agents
}

fn read_agent(value: &Value, path: String, faults: &mut Faults) -> Option<AgentPlan> {
    let table = Table::new(value, path, AGENT, faults)?;
    let schemes = [("quick-start", 0), ("sirens", 1), ("bandwidth-stamp", 2), ("rcp", 3), ("perc", 4), ("abc", 5)];
    let scheme = table.word("scheme", &schemes, faults);
    let scheme = table.require("scheme", scheme, "'scheme = \"rcp\"', or just its name in the list", faults)?;
    let (word, fields): (_, &[&str]) = match scheme {
        0 => ("quick-start", &["scheme", "theta", "interval"]),
        1 => ("sirens", &["scheme", "interval"]),
        2 => ("bandwidth-stamp", &["scheme", "interval"]),
        3 => ("rcp", &["scheme", "alpha", "beta"]),
        4 => ("perc", &["scheme"]),
        _ => ("abc", &["scheme", "eta", "delta", "threshold"]),
    };
    table.only(word, fields, faults);
    let interval = table.duration("interval", faults).filter(|time| time.0 > 0);
    let mut share = |key: &str, default: f64| table.probability(key, faults).unwrap_or(default);
    let (theta, alpha, beta, eta) = (share("theta", 0.95), share("alpha", 0.4), share("beta", 0.4), share("eta", 0.98));
    let delta = table.duration("delta", faults).filter(|time| time.0 > 0).unwrap_or(Duration::from_millis(133));
    let threshold = table.duration("threshold", faults).unwrap_or(Duration::from_millis(20));
    Some(match scheme {
        0 => AgentPlan::QuickStart { theta, interval: interval.unwrap_or(Duration::from_millis(200)) },
        1 => AgentPlan::Sirens { interval: interval.unwrap_or(Duration::from_millis(100)) },
        2 => AgentPlan::BandwidthStamp { interval: interval.unwrap_or(Duration::from_millis(100)) },
        3 => AgentPlan::Rcp { alpha, beta },
        4 => AgentPlan::Perc,
        _ => AgentPlan::Abc { eta, delta, threshold },
    })
}

fn read_loss(value: &Value, path: String, faults: &mut Faults) -> Option<LossPlan> {
    let table = Table::new(value, path, LOSS, faults)?;
    let kind = table.word("kind", &[("bernoulli", 0), ("gilbert-elliott", 1), ("list", 2)], faults);
    let kind = table.require("kind", kind, "'kind = \"bernoulli\"', \"gilbert-elliott\" or \"list\"", faults)?;
    match kind {
        0 => table.only("bernoulli", &["kind", "p"], faults),
        1 => table.only("gilbert-elliott", &["kind", "p", "r", "loss_bad", "loss_good"], faults),
        _ => table.only("list", &["kind", "indices", "counts", "file", "column", "where"], faults),
    }
    let mut need = |key: &str| {
        let value = table.probability(key, faults);
        table.require(key, value, &format!("'{key} = 0.01'"), faults)
    };
    match kind {
        0 => Some(LossPlan::Bernoulli { p: need("p")? }),
        1 => {
            let (p, r) = (need("p"), need("r"));
            let loss_bad = table.probability("loss_bad", faults).unwrap_or(1.0);
            let loss_good = table.probability("loss_good", faults).unwrap_or(0.0);
            Some(LossPlan::GilbertElliott { p: p?, r: r?, loss_bad, loss_good })
        }
        _ => {
            let list = table.get("indices").and_then(Value::as_array);
            let list = table.require("indices", list, "'indices = [17, 403]', or 'file = \"drops.csv\"'", faults)?;
            let indices: Option<Vec<u64>> = list.iter().map(Value::as_u64).collect();
            let Some(indices) = indices else {
                faults.add(table.at("indices"), "packet indices are whole numbers from 0", "");
                return None;
            };
            if indices.windows(2).any(|pair| pair[0] >= pair[1]) {
                faults.add(table.at("indices"), "packet indices are not ascending", "sort them, each once");
            }
            let payload_only = table.word("counts", &[("all", false), ("payload", true)], faults).unwrap_or(false);
            Some(LossPlan::List { indices: Arc::from(indices), payload_only })
        }
    }
}
