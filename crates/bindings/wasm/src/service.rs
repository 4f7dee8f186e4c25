//! Requests of a page and their answers, in JSON.
//!
//! | `do` | further fields | answer |
//! |---|---|---|
//! | `catalogue` | | `version`, `algorithms`, `aliases` |
//! | `check` | `scenario`, `format` | `document`, `toml`, `scenario_hash`, `notes` |
//! | `run` | `scenario`, `format`, `seed` | `hash`, `scenario_hash`, `notes`, `events`, `packets`, `tables` |
//! | `look` | `scenario`, `format`, `seed`, `flow`, `at_ns` | the event at a time, as `cwndlab_replay::debug::json` has it |
//!
//! `scenario` is the text of a document in the format `json` (the default) or `toml`. An answer with `faults` is that of
//! a request that cannot be carried out: a list of `{"where", "what", "hint"}`.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use cwndlab_records::findings;
use cwndlab_records::hash::hash_plain;
use cwndlab_records::header::Header;
use cwndlab_records::plain_tables::PlainTables;
use cwndlab_replay::debug::{json as moments, look, transport_at, Search};
use cwndlab_scenario::plan::Plan;
use cwndlab_scenario::Scenario;
use cwndlab_units::{Fault, Time};
use serde::Deserialize;
use serde_json::{json, Value};

use crate::{catalogue, columns};

/// Events before and after the one that is looked at.
const CONTEXT: usize = 3;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Catalogue,
    Check {
        scenario: String,
        #[serde(default)]
        format: Format,
    },
    Run {
        scenario: String,
        #[serde(default)]
        format: Format,
        seed: u64,
    },
    Look {
        scenario: String,
        #[serde(default)]
        format: Format,
        seed: u64,
        flow: usize,
        at_ns: u64,
    },
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Toml,
}

/// Carries out requests, and keeps the tables of the last run.
#[derive(Default)]
pub struct Service {
    tables: Option<PlainTables>,
}

impl Service {
    /// The answer to a request, JSON. The tables of the run before are freed.
    pub fn call(&mut self, request: &[u8]) -> Vec<u8> {
        self.tables = None;
        let answer = match serde_json::from_slice(request) {
            Ok(request) => self.answer(request),
            Err(error) => {
                Err(vec![Fault::new("request", error.to_string(), "see crates/bindings/wasm/src/service.rs")])
            }
        };
        answer.unwrap_or_else(|faults| refusal(&faults)).to_string().into_bytes()
    }

    /// The tables of the last request, if it was a run.
    #[must_use]
    pub fn tables(&self) -> Option<&PlainTables> {
        self.tables.as_ref()
    }

    fn answer(&mut self, request: Request) -> Result<Value, Vec<Fault>> {
        match request {
            Request::Catalogue => {
                let mut answer = catalogue::describe();
                answer["version"] = json!(env!("CARGO_PKG_VERSION"));
                Ok(answer)
            }
            Request::Check { scenario, format } => {
                let (scenario, plan, notes) = read(&scenario, format)?;
                let document: Value = serde_json::from_str(&scenario.to_json()).expect("a document is JSON");
                Ok(json!({
                    "document": document,
                    "toml": scenario.to_toml(),
                    "scenario_hash": plan.scenario_hash,
                    "notes": notes,
                }))
            }
            Request::Run { scenario, format, seed } => self.run(&scenario, format, seed),
            Request::Look { scenario, format, seed, flow, at_ns } => {
                let (_, plan, _) = read(&scenario, format)?;
                moment(&plan, seed, flow, Time::from_nanos(at_ns))
            }
        }
    }

    fn run(&mut self, text: &str, format: Format, seed: u64) -> Result<Value, Vec<Fault>> {
        let (scenario, plan, notes) = read(text, format)?;
        let (mut records, statistics) =
            cwndlab_simulator::run_counted(&plan, seed, &AtomicBool::new(false), None).map_err(|fault| vec![fault])?;
        let header = Header {
            scenario: scenario.to_json(),
            scenario_hash: plan.scenario_hash,
            seed,
            engine: "simulate".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: String::new(),
            duration: plan.duration,
            measure_from: Time::ZERO + plan.measure_from,
            sample_interval: plan.sample_interval,
            notes,
        };
        findings::add_notes(&mut records.findings, findings::DERIVED, &header.notes);
        let tables = self.tables.insert(PlainTables::new(header, &records));
        Ok(json!({
            "hash": hash_plain(tables),
            "scenario_hash": tables.header.scenario_hash,
            "notes": tables.header.notes,
            "events": statistics.events,
            "packets": statistics.delivered_packets,
            "tables": columns::describe(tables),
        }))
    }
}

/// An answer of one fault.
#[must_use]
pub fn failure(place: &str, what: &str, hint: &str) -> Vec<u8> {
    refusal(&[Fault::new(place, what, hint)]).to_string().into_bytes()
}

fn refusal(faults: &[Fault]) -> Value {
    let list = faults.iter().map(|fault| json!({"where": fault.place, "what": fault.what, "hint": fault.hint}));
    json!({ "faults": list.collect::<Vec<_>>() })
}

fn read(text: &str, format: Format) -> Result<(Scenario, Plan, Vec<String>), Vec<Fault>> {
    let scenario = match format {
        Format::Json => Scenario::from_json(text, None)?,
        Format::Toml => Scenario::from_toml(text, None)?,
    };
    let (plan, notes) = scenario.plan(&cwndlab_simulator::catalogue())?;
    Ok((scenario, plan, notes))
}

/// The event that a flow's algorithm received at a time, and what the transport reports before and after it.
fn moment(plan: &Plan, seed: u64, flow: usize, at: Time) -> Result<Value, Vec<Fault>> {
    let Some(flow) = plan.flows.ids().nth(flow) else {
        let hint = format!("the flows are 0 to {}", plan.flows.len().saturating_sub(1));
        return Err(vec![Fault::new("flow", format!("there is no flow {flow}"), hint)]);
    };
    let stop = Arc::new(AtomicBool::new(false));
    let (view, algorithm) = look(plan, seed, flow, Search::from(at), CONTEXT, &stop).map_err(|fault| vec![fault])?;
    let Some(algorithm) = algorithm else {
        let what = format!("flow {flow} has no congestion control");
        return Err(vec![Fault::new("flow", what, "choose a flow over TCP")]);
    };
    let mut value = moments::view(&view, &algorithm);
    value["algorithm"] = json!(algorithm.to_string());
    value["entry"] = json!(algorithm.growth.spec.name);
    if let Some(time) = value["moment"]["time_ns"].as_u64() {
        let go_on = AtomicBool::new(false);
        let report =
            |time: u64| transport_at(plan, seed, flow, Time::from_nanos(time), &go_on).map_err(|fault| vec![fault]);
        let before = report(time.saturating_sub(1))?;
        let after = report(time)?;
        value["transport"] =
            json!({"before": before.as_ref().map(moments::transport), "after": after.as_ref().map(moments::transport)});
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
