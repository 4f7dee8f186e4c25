//! Reads the line of a link and its schedule.

use cwndlab_config::{fields, Custom, Faults, Field, FieldType, Kind, Lines, Positive, Reader, Table};
use cwndlab_units::{Duration, Rate};
use serde_json::{json, Value};

use super::field_types::RateOrNone;
use super::plan_tables::STEP;
use super::reconfiguration::Reconfiguration;
use super::table::tables;
use crate::plan::{LinePlan, SchedulePlan, StepPlan, TokenBucketPlan};
use crate::trace;

fields! {
    /// The fields of a line.
    pub(super) struct LineFields {
        /// rate of the line; `"none"`: zero serialisation time
        rate: Option<RateOrNone> = absent("zero serialisation time"),
        /// trace of delivery opportunities that the line follows
        trace: Option<TraceLine> = absent(""),
        /// token bucket that limits the line
        token_bucket: Option<TokenBucketPlan> = absent(""),
        /// steps of rate, delay, its variation and loss
        schedule: Steps = absent("", Vec::new()),
        /// period of the schedule
        repeat: Option<Duration> = absent("no repetition"),
        /// recorded delays that the link follows, in place of a schedule
        delay_trace: Option<DelayTrace> = absent(""),
        /// hand-overs of a low-orbit satellite link, in place of a schedule
        reconfiguration: Option<Reconfiguration> = absent(""),
    }
}

/// Fields that state the changes of a line with time, of which a link has at most one.
const CHANGES: [&str; 3] = ["schedule", "delay_trace", "reconfiguration"];

/// Fields of which a link has at most one.
pub(super) const MODELS: [&str; 3] = ["rate", "trace", "token_bucket"];

/// The line of a link and its changes with time.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Rate; `None`: zero serialisation time. For a trace or a token bucket the mean, for a schedule the initial rate.
    pub rate: Option<Rate>,
    /// Model of the line.
    pub model: LinePlan,
    /// Changes with time.
    pub schedule: SchedulePlan,
}

impl Line {
    pub(super) const FIELDS: &'static [Field] = LineFields::FIELDS;

    pub(super) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let given: Vec<&str> = MODELS.into_iter().filter(|key| table.gives(key)).collect();
        if given.len() > 1 {
            faults.add(table.at(given[1]), format!("conflicts with '{}'", given[0]), "use one of them");
        }
        if table.gives("repeat") && !table.gives("schedule") {
            faults.add(table.at("repeat"), "requires a 'schedule'", "add a 'schedule'");
        }
        let changes: Vec<&str> = CHANGES.into_iter().filter(|key| table.gives(key)).collect();
        if changes.len() > 1 {
            faults.add(table.at(changes[1]), format!("conflicts with '{}'", changes[0]), "use one of them");
        }
        let LineFields { rate, trace, token_bucket, schedule: steps, repeat, delay_trace, reconfiguration } =
            LineFields::read(table, faults)?;
        let schedule = delay_trace.or(reconfiguration).unwrap_or(SchedulePlan { steps, repeat });
        if table.gives("reconfiguration") && schedule.changes_rate() && (trace.is_some() || token_bucket.is_some()) {
            let what = "the line has no constant rate that a hand-over could change";
            faults.add(table.at("reconfiguration"), what, "leave out 'min_rate' and 'max_rate'");
        }
        let (rate, model) = match (rate, trace, token_bucket) {
            (Some(rate), ..) => (rate, LinePlan::Rate),
            (None, Some((mean, line)), _) => (Some(mean), line),
            (None, None, Some(bucket)) => (Some(bucket.rate), LinePlan::TokenBucket(bucket)),
            (None, None, None) => (None, LinePlan::Rate),
        };
        Some(Self { rate, model, schedule })
    }

    /// Takes what `table` does not state from `base`.
    pub(super) fn inherit(&mut self, base: &Self, table: &Reader<'_>) {
        let own_model = MODELS.iter().any(|key| table.gives(key));
        if !own_model {
            (self.rate, self.model) = (base.rate, base.model.clone());
        }
        if !CHANGES.iter().any(|key| table.gives(key)) {
            self.schedule = base.schedule.clone();
            if own_model {
                // Those are rates of the replaced line.
                self.schedule.steps.iter_mut().for_each(|step| step.rate = None);
            }
        }
    }

    /// Checks the schedule against the line; a schedule with a rate at 0 s defines the initial rate.
    pub(super) fn complete(&mut self, table: &Reader<'_>, faults: &mut Faults) {
        let steps = &self.schedule.steps;
        if self.model != LinePlan::Rate {
            for ((path, _), step) in table.items("schedule", &mut Faults::default()).iter().zip(steps) {
                if step.rate.is_some() {
                    let what = "the line has no constant rate that a step could change";
                    faults.add(format!("{path}.rate"), what, "use steps of delay, its variation and loss only");
                }
            }
        }
        let first = steps.first();
        let undefined = self.rate.is_none() && first.is_none_or(|step| step.at > Duration::ZERO || step.rate.is_none());
        if self.schedule.changes_rate() && undefined {
            faults.add(
                table.at("rate"),
                "is missing: the first rate of the schedule starts after 0 s",
                "write the initial rate, or a first step with 'at = \"0 s\"'",
            );
        }
        self.rate = self.rate.or(first.and_then(|step| step.rate));
    }
}

fields! {
    /// A trace of delivery opportunities.
    pub(super) struct TraceFields {
        /// file in Mahimahi's format, relative to the scenario's, or the name of a synthetic trace
        file: Option<String> = absent(""),
        /// contents of a file
        text: Option<Lines> = absent(""),
        /// bytes per opportunity; Mahimahi sends 1504, with the header of its tunnel
        bytes: u32 = 1500 in 1..=65_535,
        /// time of the trace at which the run begins
        offset: Duration = "0 s",
    }
}

tables! {
    /// A trace of delivery opportunities.
    TRACE: TraceFields = "trace", "A trace of delivery opportunities.";
}

fields! {
    /// Recorded delays.
    struct DelayTraceFields {
        /// file with a delay in ms on each line, as LeoReplayer has them, relative to the scenario's
        file: Option<String> = absent(""),
        /// contents of a file
        text: Option<Lines> = absent(""),
        /// time for which each delay is valid; after the last one the first follows
        interval: Positive<Duration> = required("'interval = \"10 ms\"'"),
    }
}

/// The schedule of recorded delays.
#[derive(Debug)]
struct DelayTrace;

static DELAY_TRACE: Table =
    Table::new("delay_trace", "Recorded propagation delays at equal intervals.", &[DelayTraceFields::FIELDS]);

impl FieldType for DelayTrace {
    type Value = SchedulePlan;

    const KIND: Kind = Kind::Table(&DELAY_TRACE);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<SchedulePlan> {
        let inner = table.table(name, faults)?;
        let DelayTraceFields { text, interval, .. } = DelayTraceFields::read(&inner, faults)?;
        let Some(text) = text else {
            let what = "has no text, and files are read only with the scenario's file";
            faults.add(inner.path.clone(), what, "write 'file = \"delays.txt\"' in the scenario's own file");
            return None;
        };
        match trace::parse_delays(&text, "text") {
            Ok(delays) => Some(schedule_of(&delays, interval)),
            Err(what) => {
                faults.add(inner.at("text"), what, "one integer number of milliseconds per line");
                None
            }
        }
    }
}

/// A step for each change.
fn schedule_of(delays: &[u32], interval: Duration) -> SchedulePlan {
    let step = |n: usize| StepPlan {
        at: interval * n as u64,
        delay: Some(Duration::from_millis(delays[n].into())),
        ..StepPlan::default()
    };
    let changes = (0..delays.len()).filter(|&n| n == 0 || delays[n] != delays[n - 1]);
    SchedulePlan { steps: changes.map(step).collect(), repeat: Some(interval * delays.len() as u64) }
}

static TRACE_FORM: Custom = Custom {
    accepts: "the name of a trace or of a file, or a table `trace`",
    // Not that of `TRACE`: beside a plain text its fields have other descriptions.
    schema: || {
        let names: Vec<&str> = trace::SYNTHETIC.iter().map(|kind| kind.name).collect();
        json!({
            "anyOf": [
                { "type": "string", "description": "a file in Mahimahi's format, or a synthetic trace", "examples": names },
                {
                    "type": "object", "additionalProperties": false,
                    "properties": {
                        "file": { "type": "string", "description": "a file in Mahimahi's format, or a synthetic trace" },
                        "text": { "type": "string", "description": "contents of a file" },
                        "bytes": { "type": "integer", "minimum": 1, "maximum": 65_535, "default": 1500 },
                        "offset": { "$ref": "#/$defs/duration" },
                    },
                },
            ],
        })
    },
    canonical: canonical_trace,
    python: "str | Trace",
};

/// The canonical form has the hash of the times; it is independent of file names.
fn canonical_trace(value: &Value) -> Value {
    let table = if value.is_string() { json!({ "file": value }) } else { value.clone() };
    let mut form = cwndlab_config::canonical::table(&TRACE, &table);
    let stamps = match (table["file"].as_str(), table["text"].as_str()) {
        (Some(name), _) => trace::SyntheticTrace::named(name).map(trace::SyntheticTrace::default_trace),
        (None, Some(text)) => trace::parse(text, "text").ok(),
        (None, None) => None,
    };
    if let (Some(stamps), Some(form)) = (stamps, form.as_object_mut()) {
        form.remove("file");
        form.remove("text");
        form.insert("sha256".to_owned(), trace::sha256(&stamps).into());
        let bytes = form.get("bytes").and_then(Value::as_u64).unwrap_or_default();
        form.insert("mean_bps".to_owned(), trace::mean_rate(&stamps, bytes).0.into());
    }
    form
}

/// `"lte-driving"`, or a table with `text` (the contents of a file), `bytes` and `offset`: the mean rate and the line.
pub(super) enum TraceLine {}

impl FieldType for TraceLine {
    type Value = (Rate, LinePlan);

    const KIND: Kind = Kind::Custom(&TRACE_FORM);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<(Rate, LinePlan)> {
        let value = table.get(name)?;
        let path = table.at(name);
        let named = json!({ "file": value });
        let value = if value.is_string() { &named } else { value };
        let inner = Reader::new(value, path.clone(), &TRACE, faults)?;
        let TraceFields { file, text, bytes, offset } = TraceFields::read(&inner, faults)?;
        let stamps = match (file, text) {
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
            (None, Some(text)) => match trace::parse(&text, "text") {
                Ok(stamps) => stamps,
                Err(what) => {
                    faults.add(inner.at("text"), what, "one integer number of milliseconds per line");
                    return None;
                }
            },
            (None, None) => {
                faults.add(path, "has neither a file nor a text", "write 'trace = \"lte-driving\"' or a file's name");
                return None;
            }
            (Some(_), Some(_)) => {
                faults.add(path, "has both a file and a text", "leave out one of them");
                return None;
            }
        };
        Some((trace::mean_rate(&stamps, u64::from(bytes)), LinePlan::Trace { stamps, bytes, offset }))
    }
}

/// The steps of a schedule, ascending and before the end of its period.
pub(super) enum Steps {}

impl FieldType for Steps {
    type Value = Vec<StepPlan>;

    const KIND: Kind = Kind::List(&Kind::Table(&STEP));

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Vec<StepPlan>> {
        let repeat = table.duration("repeat", &mut Faults::default());
        let mut steps: Vec<StepPlan> = Vec::new();
        let items = table.items(name, faults);
        let count = items.len();
        for (path, item) in items {
            let Some(inner) = Reader::new(item, path.clone(), &STEP, faults) else { continue };
            let Some(step) = StepPlan::read(&inner, faults) else { continue };
            let at = step.at;
            if step == (StepPlan { at, ..StepPlan::default() }) {
                faults.add(path, "has no changes", "add a rate, a delay or a loss");
            }
            if steps.last().is_some_and(|last| last.at >= at) {
                faults.add(inner.at("at"), format!("{at} is not after the previous step"), "the times of steps ascend");
            }
            if repeat.is_some_and(|repeat| at >= repeat) {
                faults.add(inner.at("at"), format!("{at} is not before the end of the period"), "increase 'repeat'");
            }
            steps.push(step);
        }
        (steps.len() == count).then_some(steps)
    }
}
