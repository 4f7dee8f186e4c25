//! Reads the line of a link and its schedule.

use cwndlab_config::{Faults, Reader};
use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::{json, Value};

use super::tables::{STEP, TRACE};
use super::typed::Link;
use crate::plan::{HarqPlan, LinePlan, SchedulePlan, StepPlan};
use crate::trace;

/// Size of a full packet, bytes.
const PACKET: u32 = 1500;

/// Reads the rate, the line and the schedule. Any of `rate`, `trace` and `token_bucket` replaces the line of `base`.
pub(super) fn read_line(
    table: &Reader<'_>,
    base: Option<&Link>,
    faults: &mut Faults,
) -> (Option<Rate>, LinePlan, SchedulePlan) {
    let given: Vec<&str> = ["rate", "trace", "token_bucket"].into_iter().filter(|key| table.gives(key)).collect();
    if given.len() > 1 {
        faults.add(table.at(given[1]), format!("conflicts with '{}'", given[0]), "use one of them");
    }
    let (rate, line) = match given.first() {
        Some(&"rate") if table.get("rate").and_then(Value::as_str) == Some("none") => (None, LinePlan::Rate),
        Some(&"rate") => (table.rate("rate", faults), LinePlan::Rate),
        Some(&"trace") => read_trace(table, faults).unwrap_or_default(),
        Some(_) => read_bucket(table, faults).unwrap_or_default(),
        None => base.map_or((None, LinePlan::Rate), |link| (link.rate, link.line.clone())),
    };
    let mut schedule = SchedulePlan::default();
    if table.gives("schedule") {
        schedule = read_schedule(table, &line, faults);
    } else if let Some(base) = base {
        schedule = base.schedule.clone();
        if !given.is_empty() {
            schedule.steps.iter_mut().for_each(|step| step.rate = None); // rates of the replaced line
        }
    }
    if table.gives("repeat") && !table.gives("schedule") {
        faults.add(table.at("repeat"), "requires a 'schedule'", "add a 'schedule'");
    }
    let undefined =
        rate.is_none() && schedule.steps.first().is_none_or(|step| step.at > Duration::ZERO || step.rate.is_none());
    if schedule.changes_rate() && undefined {
        faults.add(
            table.at("rate"),
            "is missing: the first rate of the schedule starts after 0 s",
            "write the initial rate, or a first step with 'at = \"0 s\"'",
        );
    }
    // A schedule with a rate at 0 s defines the initial rate.
    let first = schedule.steps.first().and_then(|step| step.rate).filter(|_| rate.is_none());
    (rate.or(first), line, schedule)
}

/// Reads `trace = "lte-driving"`, or a table with `text` (the contents of a file), `bytes` and `offset`.
fn read_trace(table: &Reader<'_>, faults: &mut Faults) -> Option<(Option<Rate>, LinePlan)> {
    let value = table.get("trace")?;
    let path = table.at("trace");
    let named;
    let value = match value {
        Value::String(_) => {
            named = json!({ "file": value });
            &named
        }
        other => other,
    };
    let inner = Reader::new(value, path.clone(), &TRACE, faults)?;
    let stamps = match (inner.string("file", faults), inner.lines("text", faults)) {
        (Some(name), None) => {
            let Some(kind) = trace::SyntheticTrace::named(&name) else {
                let names: Vec<_> = trace::SYNTHETIC.iter().map(|kind| kind.name).collect();
                faults.add(
                    path,
                    format!("'{name}' is not a synthetic trace, and files are read only with the scenario's file"),
                    format!("one of {}, or a file named in the scenario's own file", names.join(", ")),
                );
                return None;
            };
            kind.default_trace()
        }
        (None, Some(text)) => match trace::parse(text, "text") {
            Ok(stamps) => stamps,
            Err(what) => {
                faults.add(inner.at("text"), what, "one integer number of milliseconds per line");
                return None;
            }
        },
        _ => {
            faults.add(path, "has neither a file nor a text", "write 'trace = \"lte-driving\"' or a file's name");
            return None;
        }
    };
    let bytes = inner.integer("bytes", faults)? as u32;
    let offset = inner.duration("offset", faults)?;
    Some((Some(trace::mean_rate(&stamps, u64::from(bytes))), LinePlan::Trace { stamps, bytes, offset }))
}

fn read_bucket(table: &Reader<'_>, faults: &mut Faults) -> Option<(Option<Rate>, LinePlan)> {
    let inner = table.table("token_bucket", faults)?;
    let rate = inner.rate("rate", faults);
    let burst = inner.bytes("burst", faults);
    let peak = inner.rate("peak", faults);
    let rate = rate?;
    let burst = burst?;
    if burst < Bytes(u64::from(PACKET)) {
        faults.add(inner.at("burst"), format!("{burst} are less than a full packet"), format!("at least {PACKET} B"));
    }
    if peak.is_some_and(|peak| peak < rate) {
        faults.add(inner.at("peak"), format!("is below the rate of {rate}"), "the peak rate is at least the rate");
    }
    Some((Some(rate), LinePlan::TokenBucket { rate, burst, peak }))
}

fn read_schedule(table: &Reader<'_>, line: &LinePlan, faults: &mut Faults) -> SchedulePlan {
    let repeat = table.duration("repeat", faults);
    let mut steps: Vec<StepPlan> = Vec::new();
    for (path, item) in table.items("schedule", faults) {
        let Some(inner) = Reader::new(item, path.clone(), &STEP, faults) else { continue };
        let Some(step) = StepPlan::read(&inner, faults) else { continue };
        let StepPlan { at, rate, .. } = step;
        if step == (StepPlan { at, ..StepPlan::default() }) {
            faults.add(path.clone(), "has no changes", "add a rate, a delay or a loss");
        }
        if rate.is_some() && *line != LinePlan::Rate {
            faults.add(
                inner.at("rate"),
                "the line has no constant rate that a step could change",
                "use steps of delay and loss only",
            );
        }
        if steps.last().is_some_and(|last| last.at >= at) {
            faults.add(inner.at("at"), format!("{at} is not after the previous step"), "the times of steps ascend");
        }
        if repeat.is_some_and(|repeat| at >= repeat) {
            faults.add(inner.at("at"), format!("{at} is not before the end of the period"), "increase 'repeat'");
        }
        steps.push(step);
    }
    SchedulePlan { steps, repeat }
}

/// Reads the retransmissions of a radio link.
pub(super) fn read_harq(table: &Reader<'_>, faults: &mut Faults) -> Option<HarqPlan> {
    HarqPlan::read(&table.table("harq", faults)?, faults)
}
