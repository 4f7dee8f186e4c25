//! The catalogue of algorithms as JSON.

use cwndlab_control::{Domain, Kind, Parameter, Spec, Value as Default};
use serde_json::{json, Map, Value};

/// `algorithms`, in the catalogue's order, and `aliases` by name.
#[must_use]
pub fn describe() -> Value {
    let catalogue = cwndlab_simulator::catalogue();
    let aliases = catalogue.aliases.iter().map(|(name, stands_for)| ((*name).to_owned(), json!(stands_for)));
    json!({
        "algorithms": catalogue.specs.iter().map(|spec| entry(spec)).collect::<Vec<_>>(),
        "aliases": aliases.collect::<Map<_, _>>(),
    })
}

fn entry(spec: &Spec) -> Value {
    json!({
        "name": spec.name,
        "title": spec.title,
        "kind": kind(spec.kind),
        "source": spec.source,
        "year": spec.year,
        "summary": spec.summary,
        "companion": spec.companion,
        "parameters": spec.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

/// The names of kinds are those of `cwndlab list`.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::CongestionAvoidance => "growth",
        Kind::SlowStart => "slow-start",
        Kind::Recovery => "recovery",
        Kind::Whole => "whole",
        Kind::Router => "router",
        Kind::Mechanism => "mechanism",
    }
}

fn parameter(parameter: &Parameter) -> Value {
    let (low, high, words) = match parameter.domain {
        Domain::Range(low, high) => (Some(low), Some(high), [].as_slice()),
        Domain::Words(words) => (None, None, words),
    };
    json!({
        "name": parameter.name,
        "unit": parameter.unit,
        "default": match parameter.default {
            Default::Number(number) => json!(number),
            Default::Word(word) => json!(word),
        },
        "low": low,
        "high": high,
        "words": words,
        "doc": parameter.doc,
    })
}
