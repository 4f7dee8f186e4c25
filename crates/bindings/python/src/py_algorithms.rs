//! Algorithms that are classes in Python: their entries in the catalogue, and what makes them at run time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cwndlab_control::{
    Arguments, Build, Catalogue, Confidence, CongestionControl, Domain, Make, Parameter, Path, Spec, Value,
};
use cwndlab_scenario::plan::Plan;
use cwndlab_scenario::{Class, Fault, Scenario};
use pyo3::prelude::*;

use crate::py_controller::{self, Failure, Object};

/// What makes the objects of a run, by the algorithm's name.
pub(crate) type Makers = BTreeMap<String, Py<PyAny>>;

thread_local! {
    /// Of the run of this thread. A run stays in one thread, and what makes its objects ends with it.
    static MAKERS: RefCell<Makers> = const { RefCell::new(BTreeMap::new()) };
}

/// The entries made so far: an entry lasts as long as the process, so the same one is made once.
static ENTRIES: Mutex<Vec<(Class, &'static Spec)>> = Mutex::new(Vec::new());

/// An entry's name, under which this thread knows what makes its objects.
#[derive(Debug)]
struct Named(&'static str);

impl Make for Named {
    fn make(&self, path: &Path, arguments: &Arguments) -> Box<dyn CongestionControl> {
        let made = Python::attach(|py| {
            let maker = MAKERS.with_borrow(|makers| makers.get(self.0).map(|maker| maker.clone_ref(py)));
            let maker = maker.unwrap_or_else(|| panic!("'{}' is run without what makes it", self.0));
            Object::new(py, self.0, &maker, path, arguments)
        });
        match made {
            Ok(object) => Box::new(object),
            Err(failure) => py_controller::fail(*failure),
        }
    }
}

fn parameter(name: &str, default: &serde_json::Value) -> Parameter {
    let (default, domain) = match default.as_bool() {
        Some(flag) => (Value::Word(if flag { "true" } else { "false" }), Domain::Words(&["false", "true"])),
        None => (Value::Number(default.as_f64().unwrap_or(f64::NAN)), Domain::Range(f64::NEG_INFINITY, f64::INFINITY)),
    };
    Parameter { name: name.to_owned().leak(), unit: "", default, domain, doc: "of the class's constructor" }
}

fn entry(class: &Class) -> &'static Spec {
    let mut entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    // The source may change without the entry.
    let key = Class { sha256: String::new(), ..class.clone() };
    if let Some((_, spec)) = entries.iter().find(|(known, _)| *known == key) {
        return spec;
    }
    let name: &'static str = class.name.clone().leak();
    let parameters: Vec<Parameter> = class.parameters.iter().map(|(name, default)| parameter(name, default)).collect();
    let spec: &'static Spec = Box::leak(Box::new(Spec {
        name,
        title: class.class.clone().leak(),
        kind: class.kind,
        source: class.file.clone().leak(),
        year: 0,
        confidence: Confidence::High,
        summary: "A class in Python.",
        parameters: parameters.leak(),
        choices: &[],
        pitfalls: &[],
        companion: "",
        needs: &[],
        refuses: &[],
        model_based: false,
        build: Build::Dynamic(Box::leak(Box::new(Named(name)))),
    }));
    entries.push((key, spec));
    spec
}

/// The catalogue with these classes.
pub(crate) fn catalogue_with(classes: &[Class]) -> Result<Catalogue, Vec<Fault>> {
    let mut catalogue = cwndlab_simulator::catalogue();
    let mut faults = Vec::new();
    for class in classes {
        let name = class.name.as_str();
        if catalogue.find(name).is_some() || catalogue.aliases.iter().any(|(alias, _)| *alias == name) {
            faults.push(Fault {
                path: format!("algorithms.{name}"),
                what: format!("'{name}' is an algorithm of the catalogue"),
                hint: "give the class another name".to_owned(),
            });
        } else {
            catalogue.specs.push(entry(class));
        }
    }
    if faults.is_empty() {
        Ok(catalogue)
    } else {
        Err(faults)
    }
}

/// The catalogue with the classes that the scenario describes.
pub(crate) fn catalogue(scenario: &Scenario) -> Result<Catalogue, Vec<Fault>> {
    catalogue_with(&scenario.classes())
}

/// The makers that a plan needs; a fault for each that nobody handed over.
pub(crate) fn needed(plan: &Plan, scenario: &Scenario, given: Makers) -> Result<Makers, Vec<Fault>> {
    let named = |name: &str| {
        plan.flows.iter().filter_map(|flow| flow.algorithm.as_ref()).any(|one| one.growth.spec.name == name)
    };
    let mut faults = Vec::new();
    for class in scenario.classes().into_iter().filter(|class| named(&class.name) && !given.contains_key(&class.name)) {
        faults.push(Fault {
            path: format!("algorithms.{}", class.name),
            what: format!("the class {} of {} is not at hand", class.class, class.file),
            hint: "name its file by --algorithm-file, or hand over the class by `algorithms=`".to_owned(),
        });
    }
    if faults.is_empty() {
        Ok(given.into_iter().filter(|(name, _)| named(name)).collect())
    } else {
        Err(faults)
    }
}

/// Does the work of a run in this thread, the interpreter free but while an object is asked.
pub(crate) fn with_makers<T: Send>(makers: Makers, work: impl FnOnce() -> T + Send) -> (T, Option<Failure>) {
    if makers.is_empty() {
        return (work(), None);
    }
    Python::attach(|py| {
        MAKERS.set(makers);
        // Attached once around all: a thread that is new to the interpreter would be made known to it anew at each ACK.
        let done = py.detach(work);
        MAKERS.take();
        (done, py_controller::failure())
    })
}
