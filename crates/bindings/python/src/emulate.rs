//! Emulations: runs of a scenario between the kernel TCP of two network namespaces.

use std::sync::{Arc, Mutex, PoisonError};

use cwndlab_emulator::{Datapath, Family, Options, ProgramAlgorithm, Quality, Session, Setting, Side, MAX_LATENESS};
use cwndlab_linux::privileges;
use cwndlab_records::findings;
use cwndlab_records::rows::Records as Rows;
use cwndlab_records::table::{Header, Tables};
use cwndlab_units::{Duration, Fault, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{fault_error, guarded};
use crate::records::Records;
use crate::work::{header, run_in_thread, Cancel};
use crate::{py_algorithms, scenario};

/// Emulates a scenario for its duration; Ctrl-C and `cancel` stop it within milliseconds. Returns the records and the
/// quality of the run. `datapath` selects the kernel's congestion control (`kernel`) or cwndlab's (`cwndlab`).
/// `remarks` is called at the end and returns lines for the notes of the records. `settings` are kernel settings: side,
/// name and value.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "names and defaults of a Python function")]
#[pyo3(signature = (text, format, seed, cancel=None, *, folder=None, datapath="kernel", late_ns=MAX_LATENESS.as_nanos(), remarks=None, settings=Vec::new()))]
pub(crate) fn emulate<'py>(
    py: Python<'py>,
    text: &str,
    format: &str,
    seed: u64,
    cancel: Option<Py<Cancel>>,
    folder: Option<std::path::PathBuf>,
    datapath: &str,
    late_ns: u64,
    remarks: Option<Py<PyAny>>,
    settings: Vec<(String, String, String)>,
) -> PyResult<(Records, Bound<'py, PyDict>)> {
    let datapath = match datapath {
        "kernel" => Datapath::Kernel,
        "cwndlab" => Datapath::Cwndlab,
        other => return Err(PyValueError::new_err(format!("'{other}' is neither 'kernel' nor 'cwndlab'"))),
    };
    let scenario = scenario::read(py, text, format, folder)?;
    let catalogue = py_algorithms::catalogue(&scenario).map_err(|faults| scenario::scenario_error(py, faults))?;
    let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| scenario::scenario_error(py, faults))?;
    if let Some(flow) = plan.flows.iter().position(|flow| flow.workload.custom_control().is_some()) {
        let what = "a class in Python controls media in the simulator only";
        let fault = Fault::new(format!("flow[{flow}].workload.control"), what, "run it without --engine emulate");
        return Err(scenario::scenario_error(py, vec![fault]));
    }
    let header = header(&scenario, &plan, seed, "emulate", notes);
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().flag());
    let inner = Arc::clone(&stop);
    let options = Options {
        max_lateness: Duration::from_nanos(late_ns),
        settings: read_settings(settings)?,
        ..Options::default()
    };
    let outcome = run_in_thread(py, &stop, move || {
        guarded(|| {
            cwndlab_emulator::emulate(Arc::new(plan), seed, datapath, &options, &inner).map(|(records, quality)| {
                let remarks = remarks.iter().flat_map(call_remarks).collect();
                (emulated(header, records, &quality, remarks), quality)
            })
        })
    })?;
    match outcome {
        Ok(Ok((tables, quality))) => Ok((Records::new(tables), quality_dict(py, &quality)?)),
        Ok(Err(fault)) => Err(run_error(py, fault)),
        Err(panic) => Err(run_error(py, panic.at("emulate"))),
    }
}

/// The lines that the callback returns, or its error message.
fn call_remarks(remarks: &Py<PyAny>) -> Vec<String> {
    Python::attach(|py| remarks.call0(py).and_then(|lines| lines.extract(py)))
        .unwrap_or_else(|error| vec![error.to_string()])
}

/// Converts a fault to a `RunError`.
fn run_error(py: Python<'_>, fault: Fault) -> PyErr {
    fault_error(py, "RunError", [fault])
}

/// Enters a new user namespace as root, unless the process has the privileges; returns whether it did.
#[pyfunction]
pub(crate) fn become_root(py: Python<'_>) -> PyResult<bool> {
    privileges::become_root().map_err(|fault| run_error(py, fault))
}

/// The two sides of a scenario's network and the running path between them, for programs as endpoints.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct EmulatedPath {
    session: Mutex<Option<(Session, Header)>>,
}

impl EmulatedPath {
    /// Calls `work` with the session while it is open.
    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&Session) -> Result<T, Fault>) -> PyResult<T> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        match &*session {
            Some((session, _)) => work(session).map_err(|fault| run_error(py, fault)),
            None => Err(PyValueError::new_err("the emulated path is closed")),
        }
    }
}

fn side_of(name: &str) -> PyResult<Side> {
    match name {
        "sender" => Ok(Side::Senders),
        "receiver" => Ok(Side::Receivers),
        other => Err(PyValueError::new_err(format!("'{other}' is neither 'sender' nor 'receiver'"))),
    }
}

/// The kernel settings of a call: side, name and value.
fn read_settings(settings: Vec<(String, String, String)>) -> PyResult<Vec<Setting>> {
    let read = |(side, name, value): (String, String, String)| Ok(Setting { side: side_of(&side)?, name, value });
    settings.into_iter().map(read).collect()
}

#[pymethods]
impl EmulatedPath {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "names and defaults of a Python function")]
    #[pyo3(signature = (text, format, seed, *, folder=None, algorithm=None, late_ns=MAX_LATENESS.as_nanos(), settings=Vec::new()))]
    fn new(
        py: Python<'_>,
        text: &str,
        format: &str,
        seed: u64,
        folder: Option<std::path::PathBuf>,
        algorithm: Option<String>,
        late_ns: u64,
        settings: Vec<(String, String, String)>,
    ) -> PyResult<Self> {
        let settings = read_settings(settings)?;
        let scenario = scenario::read(py, text, format, folder)?;
        let catalogue = py_algorithms::catalogue(&scenario).map_err(|faults| scenario::scenario_error(py, faults))?;
        let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| scenario::scenario_error(py, faults))?;
        let header = header(&scenario, &plan, seed, "emulate", notes);
        let algorithm = match algorithm.as_deref() {
            None | Some("scenario") => ProgramAlgorithm::Scenario,
            Some("program") => ProgramAlgorithm::Program,
            Some(name) => {
                let class = if catalogue.parse(name).is_ok() { "RunError" } else { "ScenarioError" };
                let failed = |fault: Fault| fault_error(py, class, [fault]);
                ProgramAlgorithm::Kernel(cwndlab_emulator::kernel_algorithm(name).map_err(failed)?)
            }
        };
        let options = Options { algorithm, max_lateness: Duration::from_nanos(late_ns), programs: true, settings };
        let stop = Arc::default();
        let inner = Arc::clone(&stop);
        let opened = run_in_thread(py, &stop, move || Session::open(Arc::new(plan), seed, &options, &inner))?;
        let session = opened.map_err(|fault| run_error(py, fault))?;
        Ok(Self { session: Mutex::new(Some((session, header))) })
    }

    /// Moves the calling thread to a side permanently. Processes that it starts run there and end with the path.
    fn join(&self, py: Python<'_>, side: &str) -> PyResult<()> {
        let side = side_of(side)?;
        self.with(py, |session| session.join(side))
    }

    /// Names of the flows, in the order of their addresses.
    fn flows(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |session| Ok(session.plan().flows.iter().map(|flow| flow.name.to_string()).collect()))
    }

    /// Lines on the kernel and its settings, which the notes of the records have as well.
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |session| Ok(session.notes().to_vec()))
    }

    /// Whether the path's thread has failed.
    fn is_broken(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |session| Ok(session.is_broken()))
    }

    /// Seconds since the start of the run.
    fn elapsed(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |session| Ok(session.now().as_secs()))
    }

    /// Whether the path has IPv6.
    fn has_ipv6(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |session| Ok(session.has_ipv6()))
    }

    /// The address of a flow's endpoint, of IPv4 (4) or IPv6 (6).
    fn address(&self, py: Python<'_>, side: &str, flow: u32, family: u32) -> PyResult<String> {
        let side = side_of(side)?;
        let family = match family {
            4 => Family::V4,
            6 => Family::V6,
            other => return Err(PyValueError::new_err(format!("'{other}' is neither 4 nor 6"))),
        };
        self.with(py, |session| session.address(side, flow.into(), family)).map(|address| address.to_string())
    }

    /// Ends all programs and the path; returns the records and the quality of the run.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<(Records, Bound<'py, PyDict>)> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((session, mut header)) = session else {
            return Err(PyValueError::new_err("the emulated path is closed"));
        };
        let (records, quality, end) = py.detach(|| session.close()).map_err(|fault| run_error(py, fault))?;
        header.duration = Duration::from_nanos(end.as_nanos());
        header.measure_from = Time::ZERO;
        Ok((Records::new(emulated(header, records, &quality, Vec::new())), quality_dict(py, &quality)?))
    }
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// The tables of an emulation, with its quality among notes and findings. The last note is the lateness of deliveries.
fn emulated(mut header: Header, mut records: Rows, quality: &Quality, remarks: Vec<String>) -> Tables {
    let found = &mut records.findings;
    findings::add_notes(found, findings::DERIVED, &header.notes);
    let environment = [remarks, quality.notes.clone(), vec![lateness_note(quality)]].concat();
    findings::add_notes(found, findings::ENVIRONMENT, &environment);
    let unreliable: Vec<String> = quality.unreliable.iter().cloned().collect();
    findings::add_notes(found, findings::LATE_DELIVERIES, &unreliable);
    let (lateness, before) = environment.split_last().expect("the lateness is known");
    header.notes.extend_from_slice(before);
    header.notes.extend(unreliable.iter().map(|why| format!("unreliable: {why}")));
    header.notes.push(lateness.clone());
    Tables::new(header, records)
}

/// The lateness of deliveries, as a line for the notes.
fn lateness_note(quality: &Quality) -> String {
    let late = &quality.lateness;
    format!(
        "deliveries were late by {:.0} us (median), {:.0} us (99 %), {:.0} us (maximum); {}",
        microseconds(late.quantile(0.5)),
        microseconds(late.quantile(0.99)),
        microseconds(late.max()),
        if quality.real_time { "SCHED_FIFO" } else { "no real-time priority" },
    )
}

/// Converts the quality of a run to a dictionary.
fn quality_dict<'py>(py: Python<'py>, quality: &Quality) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let late = &quality.lateness;
    dict.set_item("packets", late.total())?;
    for (key, share) in [("late_p50_ns", 0.5), ("late_p90_ns", 0.9), ("late_p99_ns", 0.99), ("late_p999_ns", 0.999)] {
        dict.set_item(key, late.quantile(share))?;
    }
    dict.set_item("late_max_ns", late.max())?;
    dict.set_item("unreliable", quality.unreliable.clone())?;
    dict.set_item("real_time", quality.real_time)?;
    dict.set_item("unmatched", quality.unmatched)?;
    dict.set_item("refused", quality.refused)?;
    dict.set_item("notes", quality.notes.clone())?;
    let counters = PyDict::new(py);
    for (name, count) in &quality.counters {
        counters.set_item(name, count)?;
    }
    dict.set_item("counters", counters)?;
    Ok(dict)
}
