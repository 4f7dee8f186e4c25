//! Entries of the catalogue for Python classes.

use std::fmt;

use cwndlab_control::{
    Arguments, Build, Confidence, CongestionControl, Domain, Kind, Make, Need, Parameter, Path, Spec, Value,
};
use cwndlab_units::Fault;
use pyo3::prelude::*;
use serde_json::{Map, Value as Json};

use crate::construction::create;
use crate::controller;

/// The description of a class.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// Name of the algorithm.
    pub name: &'a str,
    /// Name of the class.
    pub class: &'a str,
    /// Path of the source file.
    pub file: &'a str,
    /// Names and defaults of the parameters: numbers, with a range or without, or Booleans.
    pub parameters: &'a Map<String, Json>,
    /// It has a model of the path.
    pub model_based: bool,
}

fn parameter(name: &str, default: &Json) -> Parameter {
    let (default, domain) = if let Some(flag) = default.as_bool() {
        (Value::Word(if flag { "true" } else { "false" }), Domain::Words(&["false", "true"]))
    } else {
        let number = |key, otherwise| default.get(key).and_then(Json::as_f64).unwrap_or(otherwise);
        let initial = default.as_f64().unwrap_or_else(|| number("default", f64::NAN));
        (Value::Number(initial), Domain::Range(number("low", f64::NEG_INFINITY), number("high", f64::INFINITY)))
    };
    Parameter { name: name.to_owned().leak(), unit: "", default, domain, doc: "of the class's constructor" }
}

/// The entry of a class, which exists until the end of the process. `make` creates its objects, by the entry's name.
pub fn entry(
    class: Description<'_>,
    kind: Kind,
    make: impl FnOnce(&'static str) -> &'static dyn Make,
) -> &'static Spec {
    let name: &'static str = class.name.to_owned().leak();
    let parameters: Vec<Parameter> = class.parameters.iter().map(|(name, default)| parameter(name, default)).collect();
    Box::leak(Box::new(Spec {
        name,
        title: class.class.to_owned().leak(),
        kind,
        source: class.file.to_owned().leak(),
        year: 0,
        confidence: Confidence::High,
        summary: if class.file.rsplit('.').next() == Some("rs") { "A file in Rust." } else { "A class in Python." },
        parameters: parameters.leak(),
        choices: &[],
        pitfalls: &[],
        companion: "",
        needs: &[Need::EveryAck],
        incompatible: &[],
        model_based: class.model_based,
        build: Build::Dynamic(make(name)),
    }))
}

/// A class with its constructor, for engines that create objects in threads of their own.
struct BoundClass {
    name: &'static str,
    constructor: Py<PyAny>,
}

impl fmt::Debug for BoundClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundClass").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Make for BoundClass {
    fn make(&self, path: &Path, arguments: &Arguments) -> Box<dyn CongestionControl> {
        let created = Python::attach(|py| create(py, self.name, &self.constructor, path, arguments));
        created.unwrap_or_else(|failure| controller::fail(*failure))
    }
}

/// A class in Python: name of the algorithm, name of the class, source file, parameters (JSON), whether it has a model of
/// the path, constructor.
pub type Class = (String, String, String, String, bool, Py<PyAny>);

/// The entry of a class whose objects its constructor creates in any thread.
///
/// # Errors
///
/// Parameters that are not JSON, with their place.
pub fn bound_entry((name, class, file, parameters, model_based, constructor): Class) -> Result<&'static Spec, Fault> {
    let parameters = serde_json::from_str(&parameters)
        .map_err(|error| Fault::new(format!("algorithms.{name}"), error.to_string(), ""))?;
    let description = Description { name: &name, class: &class, file: &file, parameters: &parameters, model_based };
    Ok(entry(description, Kind::Whole, |name| Box::leak(Box::new(BoundClass { name, constructor }))))
}
