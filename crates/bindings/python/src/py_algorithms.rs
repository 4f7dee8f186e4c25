//! Algorithms that are Python classes: their entries in the catalogue, and their construction in a run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cwndlab_control::{Algorithm, Arguments, Catalogue, CongestionControl, Make, Path, Spec};
use cwndlab_learned::{external, policy, policy::Policy};
use cwndlab_python_classes::class_entry::{self, Description};
use cwndlab_python_classes::construction::create;
use cwndlab_python_classes::controller::{self, Failure};
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_scenario::{Class, Scenario};
use cwndlab_units::Fault;
use pyo3::prelude::*;

/// The constructors of a run's objects, by the algorithm's name.
pub(crate) type Constructors = BTreeMap<String, Py<PyAny>>;

thread_local! {
    /// The constructors of this thread's run. A run stays in one thread, and its constructors are removed at its end.
    static CONSTRUCTORS: RefCell<Constructors> = const { RefCell::new(BTreeMap::new()) };
}

/// The entries created so far. Entries are never freed, so equal classes share one.
static ENTRIES: Mutex<Vec<(Class, &'static Spec)>> = Mutex::new(Vec::new());

/// The name of an entry, by which its constructor is found.
#[derive(Debug)]
struct ClassEntry(&'static str);

/// The constructor of a class in the run of this thread.
pub(crate) fn constructor(py: Python<'_>, name: &str) -> Py<PyAny> {
    let found = CONSTRUCTORS.with_borrow(|constructors| constructors.get(name).map(|one| one.clone_ref(py)));
    found.unwrap_or_else(|| panic!("'{name}' has no constructor in this run"))
}

impl Make for ClassEntry {
    fn make(&self, path: &Path, arguments: &Arguments) -> Box<dyn CongestionControl> {
        let created = Python::attach(|py| create(py, self.0, &constructor(py, self.0), path, arguments));
        created.unwrap_or_else(|failure| controller::fail(*failure))
    }
}

fn entry(class: &Class) -> Result<&'static Spec, Fault> {
    let mut entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    // A change of the source file does not change the entry.
    let key = Class { sha256: String::new(), ..class.clone() };
    if let Some((_, spec)) = entries.iter().find(|(known, _)| *known == key) {
        return Ok(spec);
    }
    if let Some(document) = &class.policy {
        let policy = Policy::from_document(document).map_err(|what| {
            Fault::new(format!("algorithms.{}.policy", class.name), what, "`cwndlab.gym.Policy` writes policies")
        })?;
        let spec = policy::entry(&class.name, policy);
        entries.push((key, spec));
        return Ok(spec);
    }
    let description = Description {
        name: &class.name,
        class: &class.class,
        file: &class.file,
        parameters: &class.parameters,
        model_based: class.model_based,
    };
    let spec = class_entry::entry(description, class.kind, |name| Box::leak(Box::new(ClassEntry(name))));
    entries.push((key, spec));
    Ok(spec)
}

/// The catalogue with these classes.
pub(crate) fn catalogue_with(classes: &[Class]) -> Result<Catalogue, Vec<Fault>> {
    let mut catalogue = cwndlab_simulator::catalogue();
    // Not in the catalogue of all algorithms: without decisions its window is fixed.
    catalogue.specs.push(&external::SPEC);
    let mut faults = Vec::new();
    for class in classes.iter().filter(|class| !class.is_media) {
        let name = class.name.as_str();
        if catalogue.find(name).is_some() || catalogue.aliases.iter().any(|(alias, _)| *alias == name) {
            faults.push(Fault::new(
                format!("algorithms.{name}"),
                format!("'{name}' is an algorithm of the catalogue"),
                "give the class another name",
            ));
        } else {
            match entry(class) {
                Ok(spec) => catalogue.specs.push(spec),
                Err(fault) => faults.push(fault),
            }
        }
    }
    if faults.is_empty() {
        Ok(catalogue)
    } else {
        Err(faults)
    }
}

/// Whether the algorithm of a flow, or its congestion control for media, is a class in Python.
pub(crate) fn is_class(flow: &FlowPlan) -> bool {
    if flow.workload.custom_control().is_some() {
        return true;
    }
    let entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    let spec = flow.algorithm.as_ref().map(|one| one.growth.spec);
    spec.is_some_and(|spec| entries.iter().any(|(class, entry)| class.policy.is_none() && std::ptr::eq(*entry, spec)))
}

/// The catalogue with the classes that the scenario declares.
pub(crate) fn catalogue(scenario: &Scenario) -> Result<Catalogue, Vec<Fault>> {
    catalogue_with(&scenario.classes())
}

/// The constructors that a plan needs, and an algorithm beside it.
///
/// # Errors
///
/// A fault for each missing constructor.
pub(crate) fn needed_constructors(
    plan: &Plan,
    scenario: &Scenario,
    beside: Option<&Algorithm>,
    given: Constructors,
) -> Result<Constructors, Vec<Fault>> {
    let named = |name: &str| {
        let mut algorithms = plan.flows.iter().filter_map(|flow| flow.algorithm.as_deref()).chain(beside);
        let mut controls = plan.flows.iter().filter_map(|flow| flow.workload.custom_control());
        algorithms.any(|one| one.growth.spec.name == name) || controls.any(|one| one.name() == name)
    };
    let mut faults = Vec::new();
    let missing = |class: &Class| class.policy.is_none() && named(&class.name) && !given.contains_key(&class.name);
    for class in scenario.classes().into_iter().filter(missing) {
        faults.push(Fault::new(
            format!("algorithms.{}", class.name),
            format!("the class {} of {} is not available", class.class, class.file),
            "give its file by --algorithm-file, or the class by `algorithms=`",
        ));
    }
    if faults.is_empty() {
        Ok(given.into_iter().filter(|(name, _)| named(name)).collect())
    } else {
        Err(faults)
    }
}

/// Does the work of a run in this thread. The interpreter's lock is held only while an object is called.
pub(crate) fn with_constructors<T: Send>(
    constructors: Constructors,
    work: impl FnOnce() -> T + Send,
) -> (T, Option<Failure>) {
    if constructors.is_empty() {
        return (work(), None);
    }
    Python::attach(|py| {
        CONSTRUCTORS.set(constructors);
        // Attached once around the whole run: otherwise the thread would be registered with the interpreter at each
        // ACK.
        let done = py.detach(work);
        CONSTRUCTORS.take();
        (done, controller::failure())
    })
}
