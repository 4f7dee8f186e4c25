//! The canonical form, which is hashed. It depends on the declarations of the fields and on the document, not on names
//! in the code. `docs/canonical-form.md` documents it field by field.

use cwndlab_config::canonical;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::flow::FLOW;
use super::typed::{Schema, TOP};
use crate::class::Class;
use crate::profile;

/// The version of the canonical form. A change of the form of an existing scenario increments it.
pub const CANONICAL_VERSION: u64 = 1;

impl Schema {
    /// The user-defined algorithms that flows use.
    pub fn used_classes(&self) -> impl Iterator<Item = &Class> {
        self.algorithms.iter().filter(|class| {
            self.flow.iter().any(|flow| match flow.workload.custom_control() {
                Some(control) => class.name == control.name(),
                None => flow.algorithm.as_ref().is_some_and(|text| class.is_named_by(text)),
            })
        })
    }

    /// The canonical form of the document from which the scenario was read. It is independent of units, explicit
    /// defaults and the order of keys.
    #[must_use]
    pub fn canonical(&self, document: &Value) -> Value {
        let mut form = self.without_flows(document);
        form.insert("flow".to_owned(), self.flow_forms(document).collect());
        Value::Object(form)
    }

    /// SHA-256 of the text of the canonical form, in hex. The forms of flows are created one at a time to save memory.
    #[must_use]
    pub fn hash(&self, document: &Value) -> String {
        let mut form = self.without_flows(document);
        form.insert("flow".to_owned(), Value::Null); // a placeholder
        let mut digest = Sha256::new();
        for (n, (key, value)) in form.iter().enumerate() {
            digest.update(if n == 0 { "{" } else { "," });
            digest.update(Value::from(key.as_str()).to_string());
            digest.update(":");
            if key != "flow" {
                digest.update(value.to_string());
                continue;
            }
            for (n, flow) in self.flow_forms(document).enumerate() {
                digest.update(if n == 0 { "[" } else { "," });
                digest.update(flow.to_string());
            }
            digest.update("]");
        }
        digest.update("}");
        format!("{:x}", digest.finalize())
    }

    /// The canonical forms of the flows.
    fn flow_forms<'a>(&'a self, document: &'a Value) -> impl Iterator<Item = Value> + 'a {
        let written = match &document["flow"] {
            Value::Array(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        self.flow.iter().zip(written).map(|(flow, written)| {
            let mut form = canonical::table(&FLOW, written);
            // The resolved values replace profile and overrides.
            if flow.algorithm.is_some() {
                form["stack"] = profile::canonical(&flow.stack);
            }
            form
        })
    }

    /// The canonical form without flows.
    fn without_flows(&self, document: &Value) -> Map<String, Value> {
        let Value::Object(mut form) = canonical::table(&TOP, &network_of(document)) else { return Map::new() };
        form.insert("canonical_version".to_owned(), CANONICAL_VERSION.into());
        let used: Vec<&str> = self.used_classes().map(|class| class.name.as_str()).collect();
        if let Some(classes) = form.get_mut("algorithms").and_then(Value::as_object_mut) {
            // Unused classes and the paths of files do not affect a run.
            classes.retain(|name, _| used.contains(&name.as_str()));
            classes.values_mut().filter_map(Value::as_object_mut).for_each(|class| {
                class.remove("file");
            });
        }
        if used.is_empty() {
            form.remove("algorithms");
        }
        if !self.perturb {
            form.remove("perturb");
        } else if document.get("start_jitter").is_none() {
            form.remove("start_jitter_ns");
            form.insert("start_jitter".to_owned(), "rtt".into());
        }
        form
    }
}

/// The document without flows, with the defaults of `dumbbell.reverse` from the bottleneck.
fn network_of(document: &Value) -> Value {
    let fields = document.as_object().into_iter().flatten().filter(|(key, _)| *key != "flow");
    let mut document: Value = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
    let Some(Value::Object(dumbbell)) = document.get_mut("dumbbell") else { return document };
    let Some(Value::Object(bottleneck)) = dumbbell.get("bottleneck") else { return document };
    let own = match dumbbell.get("reverse") {
        Some(Value::Object(own)) => own.clone(),
        _ => Map::new(),
    };
    let has_line = ["rate", "trace", "token_bucket"].iter().any(|key| own.contains_key(*key));
    let mut reverse = bottleneck.clone();
    reverse.remove("loss");
    if has_line {
        for key in ["rate", "trace", "token_bucket"] {
            reverse.remove(key);
        }
    }
    let steps = reverse.get_mut("schedule").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten().filter_map(Value::as_object_mut) {
        step.remove("loss");
        if has_line {
            step.remove("rate");
        }
    }
    reverse.extend(own);
    dumbbell.insert("reverse".to_owned(), Value::Object(reverse));
    document
}
