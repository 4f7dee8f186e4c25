//! Reads what a link's line is, and what changes with time.

use cwndlab_config::{Faults, Reader};
use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::{json, Value};

use super::tables::{STEP, TRACE};
use super::typed::Link;
use crate::plan::{HarqPlan, LinePlan, SchedulePlan, StepPlan};
use crate::trace;

/// A full packet.
const PACKET: u32 = 1500;

/// The rate, the line and the schedule. Each of `rate`, `trace` and `token_bucket` stands in place of the base's line.
pub(super) fn read_line(
    table: &Reader<'_>,
    base: Option<&Link>,
    faults: &mut Faults,
) -> (Option<Rate>, LinePlan, SchedulePlan) {
    let given: Vec<&str> = ["rate", "trace", "token_bucket"].into_iter().filter(|key| table.gives(key)).collect();
    if given.len() > 1 {
        faults.add(table.at(given[1]), format!("stands beside '{}'", given[0]), "a line is one of them");
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
            schedule.steps.iter_mut().for_each(|step| step.rate = None); // they belonged to the other line
        }
    }
    if table.gives("repeat") && !table.gives("schedule") {
        faults.add(table.at("repeat"), "there is nothing to repeat", "write a 'schedule' beside it");
    }
    let rests =
        rate.is_none() && schedule.steps.first().is_none_or(|step| step.at > Duration::ZERO || step.rate.is_none());
    if schedule.changes_rate() && rests {
        faults.add(
            table.at("rate"),
            "is missing: the schedule's first rate does not begin at 0 s",
            "the rate before it, or a first step with 'at = \"0 s\"'",
        );
    }
    // A line whose schedule says its rate from the start needs no other.
    let first = schedule.steps.first().and_then(|step| step.rate).filter(|_| rate.is_none());
    (rate.or(first), line, schedule)
}

/// `trace = "lte-driving"`, or a table with `text` (a file's, read in), `bytes` and `offset`.
fn read_trace(table: &Reader<'_>, faults: &mut Faults) -> Option<(Option<Rate>, LinePlan)> {
    let (value, path) = (table.get("trace")?, table.at("trace"));
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
            let Some(kind) = trace::Kind::named(&name) else {
                let names: Vec<_> = trace::KINDS.iter().map(|kind| kind.name).collect();
                faults.add(
                    path,
                    format!("no trace is called '{name}', and files are read with the scenario"),
                    format!("one of {}, or a file named in the scenario's own file", names.join(", ")),
                );
                return None;
            };
            kind.by_name()
        }
        (None, Some(text)) => match trace::parse(text, "text") {
            Ok(stamps) => stamps,
            Err(what) => {
                faults.add(inner.at("text"), what, "one whole number of milliseconds per line");
                return None;
            }
        },
        _ => {
            faults.add(path, "names neither a file nor a text", "write 'trace = \"lte-driving\"' or a file's name");
            return None;
        }
    };
    let (bytes, offset) = (inner.whole("bytes", faults)? as u32, inner.duration("offset", faults)?);
    Some((Some(trace::mean_rate(&stamps, u64::from(bytes))), LinePlan::Trace { stamps, bytes, offset }))
}

fn read_bucket(table: &Reader<'_>, faults: &mut Faults) -> Option<(Option<Rate>, LinePlan)> {
    let inner = table.table("token_bucket", faults)?;
    let (rate, burst) = (inner.rate("rate", faults), inner.bytes("burst", faults));
    let peak = inner.rate("peak", faults);
    let (rate, burst) = (rate?, burst?);
    if burst < Bytes(u64::from(PACKET)) {
        faults.add(inner.at("burst"), format!("{burst} hold no full packet"), format!("at least {PACKET} B"));
    }
    if peak.is_some_and(|peak| peak < rate) {
        faults.add(inner.at("peak"), format!("is below the rate of {rate}"), "a peak is at least the rate");
    }
    Some((Some(rate), LinePlan::TokenBucket { rate, burst, peak }))
}

fn read_schedule(table: &Reader<'_>, line: &LinePlan, faults: &mut Faults) -> SchedulePlan {
    let repeat = table.duration("repeat", faults);
    let mut steps: Vec<StepPlan> = Vec::new();
    for (path, item) in table.items("schedule", faults) {
        let Some(inner) = Reader::new(item, path.clone(), &STEP, faults) else { continue };
        let Some(at) = inner.duration("at", faults) else { continue };
        let rate = inner.rate("rate", faults);
        let step =
            StepPlan { at, rate, delay: inner.duration("delay", faults), loss: inner.probability("loss", faults) };
        if step == (StepPlan { at, ..StepPlan::default() }) {
            faults.add(path.clone(), "changes nothing", "a rate, a delay or a loss from then on");
        }
        if rate.is_some() && *line != LinePlan::Rate {
            faults.add(inner.at("rate"), "the line has no rate of its own to change", "steps of delay and loss only");
        }
        if steps.last().is_some_and(|last| last.at >= at) {
            faults.add(inner.at("at"), format!("{at} do not come after the step before"), "steps ascend");
        }
        if repeat.is_some_and(|repeat| at >= repeat) {
            faults.add(inner.at("at"), format!("{at} lie not before the end of the period"), "a longer 'repeat'");
        }
        steps.push(step);
    }
    SchedulePlan { steps, repeat }
}

/// Retransmissions of a radio link.
pub(super) fn read_harq(table: &Reader<'_>, faults: &mut Faults) -> Option<HarqPlan> {
    let inner = table.table("harq", faults)?;
    let (probability, round) = (inner.probability("probability", faults), inner.duration("round", faults));
    let most = inner.whole("most", faults);
    Some(HarqPlan { probability: probability?, round: round?, most: most? as u32 })
}
