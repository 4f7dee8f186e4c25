//! The scenario as written: TOML or JSON; changing a field; the canonical form and its hash.

mod field_path;
mod files;

use std::path::Path;

use cwndlab_config::{Fault, Faults};
use cwndlab_control::Catalogue;
use serde_json::{Map, Value};

use crate::class::{self, Class};
use crate::plan::Plan;
use crate::{network, schema};
use files::read_files;

/// A scenario: the document, its files read in.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    document: Value,
}

fn one(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Vec<Fault> {
    vec![Fault::new(path, what, hint)]
}

impl Scenario {
    /// Reads TOML; files that it names are looked for in `folder`.
    pub fn from_toml(text: &str, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let document: Value = toml::from_str(text).map_err(|error| {
            let span = error.span().map_or(0, |span| span.start.min(text.len()));
            let before = text.get(..span).unwrap_or("");
            let (line, column) =
                (before.matches('\n').count() + 1, before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1);
            one(
                format!("line {line}, column {column}"),
                format!("this is no TOML: {}", error.message().trim().replace('\n', "; ")),
                "",
            )
        })?;
        Self::from_document(document, folder)
    }

    /// Reads the same schema as JSON.
    pub fn from_json(text: &str, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let document = serde_json::from_str(text)
            .map_err(|error| one(format!("line {}, column {}", error.line(), error.column()), "this is no JSON", ""))?;
        Self::from_document(document, folder)
    }

    fn from_document(mut document: Value, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::default();
        read_files(&mut document, "", folder, &mut faults);
        if faults.0.is_empty() {
            Ok(Self { document })
        } else {
            Err(faults.0)
        }
    }

    /// The document as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.document).unwrap_or_default()
    }

    /// The document as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.document.to_string()
    }

    /// Checks everything but the algorithms' names; the canonical form with units and defaults filled in.
    pub fn canonical(&self) -> Result<Value, Vec<Fault>> {
        schema::read(&self.document).map(|scenario| scenario.canonical(&self.document))
    }

    /// The algorithms that whoever runs it hands over, as the document describes them; none where that has faults.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        class::read(self.document.get("algorithms"), &mut Faults::default())
    }

    /// Describes the algorithm `name` anew; `entry` is JSON.
    pub fn set_class(&mut self, name: &str, entry: Value) {
        let Value::Object(document) = &mut self.document else { return };
        let classes = document.entry("algorithms").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(classes) = classes {
            classes.insert(name.to_owned(), entry);
        }
    }

    /// SHA-256 of the canonical form, in hex.
    pub fn hash(&self) -> Result<String, Vec<Fault>> {
        schema::read(&self.document).map(|scenario| scenario.hash(&self.document))
    }

    /// The plan, and notes on what was derived (floors).
    pub fn plan(&self, catalogue: &Catalogue) -> Result<(Plan, Vec<String>), Vec<Fault>> {
        let scenario = schema::read(&self.document);
        let scenario = match scenario {
            Ok(scenario) => scenario,
            Err(mut faults) => {
                faults.extend(network::algorithm_faults(&self.document, catalogue));
                return Err(faults);
            }
        };
        let hash = scenario.hash(&self.document);
        network::plan(&scenario, catalogue, hash)
    }

    /// Changes one field, named as `flow[1].rtt` or `dumbbell.bottleneck.rate`. The value is TOML where it parses as such,
    /// else text. `flow[+].algorithm` changes a new flow, a copy of the last one without its name.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Vec<Fault>> {
        let parsed = toml::from_str::<Value>(&format!("v = {value}")).ok().and_then(|table| table.get("v").cloned());
        let field = field_path::find(&mut self.document, path).map_err(|fault| vec![fault])?;
        *field = parsed.unwrap_or_else(|| Value::String(value.to_owned()));
        // A file that is named here is looked for where the program runs.
        let mut faults = Faults::default();
        read_files(&mut self.document, "", None, &mut faults);
        if faults.0.is_empty() {
            Ok(())
        } else {
            Err(faults.0)
        }
    }
}
