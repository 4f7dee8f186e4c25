//! The Python module `cwndlab_kernel`: registers algorithms with the kernel's TCP and runs their deciders.
#![cfg(feature = "datapath")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cwndlab_control::{kernel_name, Catalogue, ReportSchedule};
use cwndlab_kernel::datapath::latency::Latency;
use cwndlab_kernel::datapath::{Datapath as Inner, Flow, Registration, Totals};
use cwndlab_learned::policy::{self, Policy};
use cwndlab_python_classes::class_entry::{bound_entry, Class};
use cwndlab_python_classes::controller::describe_failure;
use cwndlab_units::Fault;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Converts a fault to a `cwndlab.errors.RunError`.
fn run_error(py: Python<'_>, fault: Fault) -> PyErr {
    error_of(py, "RunError", fault)
}

/// Converts a fault to a class of `cwndlab.errors`.
fn error_of(py: Python<'_>, class: &str, fault: Fault) -> PyErr {
    let error = || -> PyResult<PyErr> {
        let class = py.import("cwndlab.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1(((&fault.place, &fault.what, &fault.hint),))?))
    };
    error().unwrap_or_else(|failure| failure)
}

/// The registered algorithms and the thread of their deciders.
#[pyclass(frozen)]
struct Datapath {
    inner: Mutex<Option<Inner>>,
    texts: Vec<String>,
}

fn latency_dict<'py>(py: Python<'py>, latency: &Latency) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("count", latency.total())?;
    dict.set_item("p50_ns", latency.quantile(0.5))?;
    dict.set_item("p99_ns", latency.quantile(0.99))?;
    dict.set_item("p999_ns", latency.quantile(0.999))?;
    dict.set_item("max_ns", latency.max)?;
    dict.set_item("buckets_ns", latency.buckets().collect::<Vec<_>>())?;
    Ok(dict)
}

fn flow_dict<'py>(py: Python<'py>, flow: &Flow, texts: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("algorithm", &texts[flow.registration])?;
    dict.set_item("local_port", flow.local_port)?;
    dict.set_item("remote", flow.remote.to_string())?;
    dict.set_item("cwnd_segments", flow.cwnd)?;
    dict.set_item("window_segments", flow.window)?;
    dict.set_item("pacing_rate_bps", flow.pacing.map(|rate| rate.0))?;
    dict.set_item("srtt_ns", flow.srtt_ns)?;
    dict.set_item("min_rtt_ns", flow.min_rtt_ns)?;
    dict.set_item("delivery_rate_bps", flow.rate.0)?;
    dict.set_item("delivered_bytes", flow.delivered_bytes)?;
    dict.set_item("reports", flow.reports)?;
    dict.set_item("fallback", flow.fallback)?;
    dict.set_item("fallbacks", flow.fallbacks)?;
    dict.set_item("state", flow.state)?;
    Ok(dict)
}

fn totals_dict<'py>(py: Python<'py>, total: &Totals, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("algorithm", text)?;
    dict.set_item("name", &total.name)?;
    dict.set_item("report", total.schedule.to_string())?;
    dict.set_item("connections", total.connections)?;
    dict.set_item("reports", total.reports)?;
    dict.set_item("lost", total.lost)?;
    dict.set_item("refused", total.refused)?;
    dict.set_item("fallbacks", total.fallbacks)?;
    dict.set_item("applied", latency_dict(py, &total.applied)?)?;
    dict.set_item("applied_at_next", total.applied_at_next)?;
    dict.set_item("decided", latency_dict(py, &total.decided)?)?;
    let congestions = PyDict::new(py);
    let events = &total.congestions;
    for (key, count) in [("loss", events.loss), ("ecn", events.ecn), ("timeout", events.timeout), ("undo", events.undo)]
    {
        congestions.set_item(key, count)?;
    }
    dict.set_item("congestions", congestions)?;
    dict.set_item("failures", &total.failures)?;
    Ok(dict)
}

/// The catalogue with these policies (names and documents, JSON) and classes.
fn catalogue_with(policies: &[(String, String)], classes: Vec<Class>) -> Result<Catalogue, Fault> {
    let mut catalogue = cwndlab_algorithms::catalogue();
    for (name, document) in policies {
        let read = serde_json::from_str(document).map_err(|error| error.to_string());
        let policy = read.and_then(|document| Policy::from_document(&document)).map_err(|what| {
            Fault::new(format!("algorithms.{name}.policy"), what, "`cwndlab.gym.Policy` writes policies")
        })?;
        catalogue.specs.push(policy::entry(name, policy));
    }
    for class in classes {
        catalogue.specs.push(bound_entry(class)?);
    }
    Ok(catalogue)
}

fn registration(catalogue: &Catalogue, text: &str, schedule: Option<ReportSchedule>) -> Result<Registration, Fault> {
    let algorithm = catalogue.parse(text).map_err(|fault| fault.at("--algorithm"))?;
    kernel_name::check(&algorithm).map_err(|fault| fault.at("--algorithm"))?;
    Ok(Registration { algorithm, schedule, describe: Some(describe_failure) })
}

#[pymethods]
impl Datapath {
    /// Registers `algorithms` and starts their deciders. Waits at most `timeout_s` for a name that another process has
    /// registered. `policies` are names and documents (JSON) of policies among the algorithms, `classes` classes in
    /// Python among them: name of the algorithm, name of the class, source file, parameters (JSON), constructor.
    #[new]
    #[pyo3(signature = (algorithms, report=None, timeout_s=0.0, policies=Vec::new(), classes=Vec::new()))]
    fn new(
        py: Python<'_>,
        algorithms: Vec<String>,
        report: Option<&str>,
        timeout_s: f64,
        policies: Vec<(String, String)>,
        classes: Vec<Class>,
    ) -> PyResult<Self> {
        let schedule = report.map(ReportSchedule::parse).transpose();
        // A fault of the input, not of the kernel.
        let schedule = schedule.map_err(|fault| error_of(py, "ScenarioError", fault.at("--report")))?;
        let registrations = catalogue_with(&policies, classes)
            .and_then(|catalogue| algorithms.iter().map(|text| registration(&catalogue, text, schedule)).collect());
        let registrations: Vec<_> = registrations.map_err(|fault| run_error(py, fault))?;
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|_| PyValueError::new_err(format!("timeout_s = {timeout_s} is not a duration")))?;
        let started = py.detach(|| Inner::start(&registrations, timeout));
        let inner = started.map_err(|fault| run_error(py, fault.at("kernel")))?;
        Ok(Self { inner: Mutex::new(Some(inner)), texts: algorithms })
    }

    /// Whether the decider thread has real-time priority.
    #[getter]
    fn real_time(&self) -> bool {
        self.with(Inner::real_time).unwrap_or(false)
    }

    /// The kernel's names of the algorithms.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.with(Inner::names).unwrap_or_default()
    }

    /// The open connections.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let flows = self.with(Inner::flows).unwrap_or_default();
        flows.iter().map(|one| flow_dict(py, one, &self.texts)).collect()
    }

    /// The counters of each registration.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let totals = self.with(Inner::totals).unwrap_or_default();
        totals.iter().zip(&self.texts).map(|(one, text)| totals_dict(py, one, text)).collect()
    }

    /// Unregisters the names. Open connections continue under the program's watchdog.
    fn close(&self, py: Python<'_>) {
        // The lock is released first: a class may be in a call, which waits for a thread that waits for the lock.
        py.detach(|| {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(inner);
        });
    }
}

impl Datapath {
    /// Calls `read` with the datapath; `None` after `close`.
    fn with<T>(&self, read: impl FnOnce(&Inner) -> T) -> Option<T> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(read)
    }
}

#[pymodule]
#[pyo3(name = "cwndlab_kernel")]
fn kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_class::<Datapath>()
}
