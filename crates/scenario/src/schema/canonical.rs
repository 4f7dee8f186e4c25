//! The form that is hashed: it follows from the declarations of the fields and from the document, never from this code's
//! names. `docs/canonical-form.md` documents it field by field.

use cwndlab_config::canonical;
use serde_json::{Map, Value};

use super::tables::TOP;
use super::typed::Schema;
use crate::class::Class;
use crate::profile;

/// The version of the canonical form. A change that gives the same scenario another form raises it.
pub const CANONICAL_VERSION: u64 = 1;

impl Schema {
    /// The classes that a flow names.
    pub fn used_classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(|class| {
            self.flows.iter().any(|flow| flow.algorithm.as_ref().is_some_and(|text| class.is_named_by(text)))
        })
    }

    /// The canonical form of the document that this was read from: the same for scenarios that mean the same, whatever
    /// their units, defaults and order of keys.
    #[must_use]
    pub fn canonical(&self, document: &Value) -> Value {
        let mut form = canonical::table(&TOP, &with_reverse(document));
        form["canonical_version"] = CANONICAL_VERSION.into();
        if let Some(flows) = form["flow"].as_array_mut() {
            for (flow, form) in self.flows.iter().zip(flows) {
                // A profile and its overrides mean the values that they come to.
                if flow.algorithm.is_some() {
                    form["stack"] = profile::canonical(&flow.stack);
                }
            }
        }
        let used: Vec<&str> = self.used_classes().map(|class| class.name.as_str()).collect();
        if let Some(form) = form.as_object_mut() {
            let classes = form.get_mut("algorithms").and_then(Value::as_object_mut);
            if let Some(classes) = classes {
                // What no flow names means nothing, and neither does the place of a file.
                classes.retain(|name, _| used.contains(&name.as_str()));
                classes.values_mut().filter_map(Value::as_object_mut).for_each(|class| {
                    class.remove("file");
                });
            }
            if used.is_empty() {
                form.remove("algorithms");
            }
        }
        form
    }
}

/// The document with what `dumbbell.reverse` leaves out filled in from the bottleneck.
fn with_reverse(document: &Value) -> Value {
    let mut document = document.clone();
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
