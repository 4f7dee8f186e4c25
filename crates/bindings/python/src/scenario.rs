//! Scenarios: validation, changes of fields, conversion to TOML.

use std::path::PathBuf;

use cwndlab_control::Catalogue;
use cwndlab_scenario::{profile, schema, Scenario};
use cwndlab_units::Fault;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::fault_error;
use crate::py_algorithms;

/// Converts faults to a `ScenarioError`.
pub(crate) fn scenario_error(py: Python<'_>, faults: Vec<Fault>) -> PyErr {
    fault_error(py, "ScenarioError", faults)
}

/// Reads a scenario in the format `toml` or `json`.
pub(crate) fn read(py: Python<'_>, text: &str, format: &str, folder: Option<PathBuf>) -> PyResult<Scenario> {
    let read = match format {
        "toml" => Scenario::from_toml(text, folder.as_deref()),
        "json" => Scenario::from_json(text, folder.as_deref()),
        other => return Err(PyValueError::new_err(format!("'{other}' is neither 'toml' nor 'json'"))),
    };
    read.map_err(|faults| scenario_error(py, faults))
}

/// The catalogue with the classes that a scenario (JSON) declares.
pub(crate) fn catalogue(py: Python<'_>, scenario: Option<&str>) -> PyResult<Catalogue> {
    let classes = scenario.map(|scenario| read(py, scenario, "json", None)).transpose()?;
    let classes = classes.map(|scenario| scenario.classes()).unwrap_or_default();
    py_algorithms::catalogue_with(&classes).map_err(|faults| scenario_error(py, faults))
}

/// What [`check`] returns.
type Checked = (String, String, String, Vec<String>, Vec<Vec<String>>);

/// Reads a scenario, changes fields and validates it; a field whose new value is `None` is removed. Returns its document
/// as JSON, its canonical form, its hash, notes, and the paths of the fields of each change. `algorithms` are names of
/// Python classes and their entries in the document, as JSON.
#[pyfunction]
#[pyo3(signature = (text, format, *, folder=None, changes=Vec::new(), algorithms=Vec::new()))]
pub(crate) fn check(
    py: Python<'_>,
    text: &str,
    format: &str,
    folder: Option<PathBuf>,
    changes: Vec<(String, Option<String>)>,
    algorithms: Vec<(String, String)>,
) -> PyResult<Checked> {
    let mut scenario = read(py, text, format, folder)?;
    for (name, entry) in &algorithms {
        let entry = serde_json::from_str(entry).map_err(|error| PyValueError::new_err(error.to_string()))?;
        scenario.set_class(name, entry);
    }
    let mut faults = Vec::new();
    let mut places = Vec::new();
    for (path, value) in &changes {
        let outcome = match value {
            Some(value) => scenario.set(path, value),
            None => scenario.unset(path),
        };
        match outcome {
            Ok(changed) => places.push(changed),
            Err(wrong) => faults.extend(wrong),
        }
    }
    if !faults.is_empty() {
        return Err(scenario_error(py, faults));
    }
    let catalogue = py_algorithms::catalogue(&scenario).map_err(|faults| scenario_error(py, faults))?;
    let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| scenario_error(py, faults))?;
    let canonical = scenario.canonical().map_err(|faults| scenario_error(py, faults))?.to_string();
    Ok((scenario.to_json(), canonical, plan.scenario_hash, notes, places))
}

/// Converts a scenario's document from JSON to TOML.
#[pyfunction]
pub(crate) fn to_toml(py: Python<'_>, document: &str) -> PyResult<String> {
    Ok(read(py, document, "json", None)?.to_toml())
}

/// JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn scenario_schema() -> String {
    schema::json_schema().to_string()
}

/// All declared tables of a scenario as JSON: fields with kind, default, range and meaning.
#[pyfunction]
pub(crate) fn declarations() -> String {
    schema::declarations().to_string()
}

/// A field of a stack: name, meaning, accepted values, its value in each profile.
type StackField = (&'static str, String, String, Vec<String>);

/// Names of the stack profiles, and the fields of a stack.
#[pyfunction]
pub(crate) fn stack_fields() -> (Vec<&'static str>, Vec<StackField>) {
    let rows = profile::stack_fields().into_iter().map(|one| (one.name, one.meaning, one.accepts, one.values));
    (profile::names().collect(), rows.collect())
}
