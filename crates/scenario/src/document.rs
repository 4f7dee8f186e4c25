//! A scenario document in TOML or JSON: reading, changing a field, canonical form and hash.

mod field_path;
mod files;
mod json;

use std::path::Path;

use cwndlab_config::Faults;
use cwndlab_control::Catalogue;
use cwndlab_units::Fault;
use serde_json::{Map, Value};

use crate::class::{self, Class};
use crate::plan::Plan;
use crate::{network, schema};
use files::read_files;

/// A scenario document that contains the contents of all files that it named.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    document: Value,
}

fn one(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Vec<Fault> {
    vec![Fault::new(path, what, hint)]
}

impl Scenario {
    /// Reads TOML; relative file names in it refer to `folder`.
    ///
    /// # Errors
    /// A syntax error, or unreadable files.
    pub fn from_toml(text: &str, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let document: Value = toml::from_str(text).map_err(|error| {
            let span = error.span().map_or(0, |span| span.start.min(text.len()));
            let before = text.get(..span).unwrap_or("");
            let (line, column) =
                (before.matches('\n').count() + 1, before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1);
            // The parser of TOML takes integers of more than 64 bits, which a document does not.
            let what = error.message().trim().replace('\n', "; ").replace("JSON number", "a number is");
            one(format!("line {line}, column {column}"), format!("this is not TOML: {what}"), "")
        })?;
        Self::from_document(document, folder)
    }

    /// Reads JSON; otherwise as [`from_toml`](Self::from_toml).
    ///
    /// # Errors
    /// A syntax error, or unreadable files.
    pub fn from_json(text: &str, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let document = json::read(text).map_err(|error| {
            let what = json::message(&error);
            let what = if error.is_data() { what } else { format!("this is not JSON: {what}") };
            one(format!("line {}, column {}", error.line(), error.column()), what, "")
        })?;
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

    /// Returns the canonical form, with all defaults and in base units.
    ///
    /// # Errors
    /// All faults of the document except unknown names of algorithms.
    pub fn canonical(&self) -> Result<Value, Vec<Fault>> {
        schema::read(&self.document).map(|scenario| scenario.canonical(&self.document))
    }

    /// The user-defined algorithms of the document; empty if their description has faults.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        class::read(self.document.get("algorithms"), &mut Faults::default())
    }

    /// Sets the description of the user-defined algorithm `name`; `entry` is JSON.
    pub fn set_class(&mut self, name: &str, entry: Value) {
        let Value::Object(document) = &mut self.document else { return };
        let classes = document.entry("algorithms").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(classes) = classes {
            classes.insert(name.to_owned(), entry);
        }
    }

    /// SHA-256 of the canonical form, in hex.
    ///
    /// # Errors
    /// As [`canonical`](Self::canonical).
    pub fn hash(&self) -> Result<String, Vec<Fault>> {
        schema::read(&self.document).map(|scenario| scenario.hash(&self.document))
    }

    /// The plan, and notes on derived values such as minimum queue capacities.
    ///
    /// # Errors
    /// All faults of the document.
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

    /// Changes one field, such as `flow[1].rtt` or `dumbbell.bottleneck.rate`. The value is parsed as TOML if possible,
    /// otherwise it is text. `flow[upload].rtt` is a field of the flow with this name, and `flow[+].algorithm` changes a
    /// new flow, a copy of the last one without its name. `flow[*].rtt` is the field of every flow that there is now;
    /// flows over UDP have no algorithm. Returns the paths of the changed fields, with the indices of items.
    ///
    /// # Errors
    /// An unknown field or list item, or an unreadable file.
    pub fn set(&mut self, path: &str, value: &str) -> Result<Vec<String>, Vec<Fault>> {
        let parsed = toml::from_str::<Value>(&format!("v = {value}")).ok().and_then(|table| table.get("v").cloned());
        let parsed = parsed.unwrap_or_else(|| Value::String(value.to_owned()));
        let mut changed = Vec::new();
        for place in field_path::expand(&mut self.document, path).map_err(|fault| vec![fault])? {
            let (field, place) = field_path::find(&mut self.document, &place).map_err(|fault| vec![fault])?;
            *field = parsed.clone();
            changed.push(place);
        }
        // A relative file name in a changed field refers to the working directory.
        let mut faults = Faults::default();
        read_files(&mut self.document, "", None, &mut faults);
        if faults.0.is_empty() {
            Ok(changed)
        } else {
            Err(faults.0)
        }
    }

    /// Removes a field, which then has its default; its path is as in [`set`](Self::set).
    ///
    /// # Errors
    /// An unknown field or list item, or an item of a list itself.
    pub fn unset(&mut self, path: &str) -> Result<Vec<String>, Vec<Fault>> {
        let mut changed = Vec::new();
        for place in field_path::expand(&mut self.document, path).map_err(|fault| vec![fault])? {
            changed.push(field_path::remove(&mut self.document, &place).map_err(|fault| vec![fault])?);
        }
        Ok(changed)
    }
}
