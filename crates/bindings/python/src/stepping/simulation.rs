//! One simulation that is stepped.

use std::path::PathBuf;
use std::sync::Mutex;

use cwndlab_control::Report;
use cwndlab_learned::Action;
use cwndlab_python_classes::events::{self, segments};
use cwndlab_simulator::FlowState;
use cwndlab_stepping::{Decision, Simulation as Stepped, State};
use cwndlab_units::{Bytes, Duration, Fault, Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyTuple};

use super::owned::{step_error, Interrupts, Owned};
use super::{lock_unused, report};
use crate::records::Records;
use crate::work::Cancel;

/// A run that can be stepped. Times in seconds, amounts in segments.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Simulation {
    inner: Mutex<Option<Owned>>,
}

impl Simulation {
    fn with<T>(&self, work: impl FnOnce(&mut Owned) -> PyResult<T>) -> PyResult<T> {
        match &mut *lock_unused(&self.inner)? {
            Some(owned) => work(owned),
            None => Err(PyValueError::new_err("the simulation is closed")),
        }
    }

    fn set(&self, py: Python<'_>, flow: i64, action: Action) -> PyResult<()> {
        let flow = index(py, flow)?;
        self.with(|owned| owned.simulation.set(flow, action).map_err(|error| step_error(py, error)))
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (text, format, seed, *, folder=None))]
    fn new(py: Python<'_>, text: &str, format: &str, seed: u64, folder: Option<PathBuf>) -> PyResult<Self> {
        Ok(Self { inner: Mutex::new(Some(Owned::new(py, text, format, seed, folder)?)) })
    }

    /// Time of the last stop or decision, s.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.with(|owned| Ok(owned.simulation.now().as_nanos() as f64 / 1e9))
    }

    /// Indices of the flows whose algorithm is `external`.
    #[getter]
    fn external(&self) -> PyResult<Vec<usize>> {
        self.with(|owned| Ok(owned.simulation.external_flows().collect()))
    }

    /// Processes the events up to this time.
    fn run_until(&self, py: Python<'_>, time: f64) -> PyResult<()> {
        if time.is_nan() || time < 0.0 {
            return Err(PyValueError::new_err(format!("time: {time} is not a time of the run")));
        }
        let time = Time::from_nanos((time * 1e9).round() as u64);
        self.with(|owned| {
            owned.step(py, Interrupts::new(None), |simulation, stopped| simulation.run_until(time, stopped))
        })
    }

    /// Continues to the next decision: its report in the order of `decision_fields`, from the flow on, with names of
    /// causes and with Booleans, and the report of the transport where each of them is a decision. `None` at the end of
    /// the run.
    fn next_decision<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.with(|owned| {
            owned
                .step(py, Interrupts::new(None), |simulation, stopped| simulation.next_decision(stopped).map(|_| ()))?;
            owned.simulation.decision().map(|one| decision(py, one)).transpose()
        })
    }

    /// The state of a flow.
    fn state<'py>(&self, py: Python<'py>, flow: i64) -> PyResult<Bound<'py, PyDict>> {
        let flow = index(py, flow)?;
        self.with(|owned| {
            let now = owned.simulation.now();
            let mss = owned.mss(flow);
            let state = owned.simulation.state(flow).map_err(|error| step_error(py, error))?;
            let values = PyDict::new(py);
            values.set_item("time", now.as_nanos() as f64 / 1e9)?;
            match state {
                State::Full(state) => full(&values, &state, mss)?,
                State::Report(one) => {
                    let optional = |name: &str, value: f64| values.set_item(name, (!value.is_nan()).then_some(value));
                    let row = report::row(flow, &one);
                    for (name, value) in report::FIELDS.iter().zip(row) {
                        if ["cwnd", "pacing_rate", "in_flight", "srtt", "min_rtt", "delivered"].contains(name) {
                            optional(name, value)?;
                        }
                    }
                }
            }
            Ok(values)
        })
    }

    /// Sets the window of an `external` flow.
    fn set_cwnd(&self, py: Python<'_>, flow: i64, segments: f64) -> PyResult<()> {
        self.set(py, flow, Action { cwnd: Some(positive("cwnd", segments)?), ..Action::default() })
    }

    /// Sets the pacing rate of an `external` flow, segments per second; `None`: by the transport's profile.
    #[pyo3(signature = (flow, segments_per_second))]
    fn set_pacing(&self, py: Python<'_>, flow: i64, segments_per_second: Option<f64>) -> PyResult<()> {
        let pacing = segments_per_second.map(|rate| positive("pacing", rate)).transpose()?;
        self.set(py, flow, Action { pacing: Some(pacing), ..Action::default() })
    }

    /// Sets the slow-start threshold of an `external` flow that leaves recovery to the transport.
    #[pyo3(signature = (flow, segments))]
    fn set_ssthresh(&self, py: Python<'_>, flow: i64, segments: Option<f64>) -> PyResult<()> {
        let ssthresh = segments.map(|one| positive("ssthresh", one)).transpose()?;
        let ssthresh = ssthresh.filter(|one| one.is_finite());
        self.set(py, flow, Action { ssthresh: Some(ssthresh), ..Action::default() })
    }

    /// Runs to the end and returns the records.
    #[pyo3(signature = (cancel=None))]
    fn records(&self, py: Python<'_>, cancel: Option<Py<Cancel>>) -> PyResult<Records> {
        let interrupts = Interrupts::new(cancel.map(|cancel| cancel.get().flag()));
        self.with(|owned| owned.records(py, interrupts))
    }

    /// Frees the simulation.
    fn close(&self) -> PyResult<()> {
        *lock_unused(&self.inner)? = None;
        Ok(())
    }
}

/// A decision as a tuple.
fn decision<'py>(py: Python<'py>, one: &Decision) -> PyResult<Bound<'py, PyTuple>> {
    let row = report::row(one.flow, &one.report);
    let event = match one.report.observed.as_deref() {
        None => py.None().into_bound(py),
        Some(observed) => event(py, observed, one.report.mss)?,
    };
    let ends = [
        PyBool::new(py, one.report.app_limited).to_owned().into_any(),
        PyBool::new(py, one.report.recovering).to_owned().into_any(),
        event,
    ];
    let begin = [
        one.flow.into_pyobject(py)?.into_any(),
        PyFloat::new(py, row[2]).into_any(),
        report::cause(py, one.report.cause).to_owned().into_any(),
    ];
    let numbers = row[4..row.len() - 2].iter().map(|&number| PyFloat::new(py, number).into_any());
    PyTuple::new(py, begin.into_iter().chain(numbers).chain(ends).collect::<Vec<_>>())
}

/// A report of the transport as an object, as classes in Python receive it.
fn event<'py>(py: Python<'py>, report: &Report, mss: Bytes) -> PyResult<Bound<'py, PyAny>> {
    Ok(match report {
        Report::Ack(raw) => Bound::new(py, events::Ack { raw: raw.clone() })?.into_any(),
        Report::Congestion(raw) => Bound::new(py, events::Congestion { raw: raw.clone() })?.into_any(),
        &Report::Sent(raw) => Bound::new(py, events::Sent { raw, mss })?.into_any(),
        &Report::Window(raw) => Bound::new(py, events::Window { raw, mss })?.into_any(),
    })
}

/// The index of a flow, as a number of Python.
fn index(py: Python<'_>, flow: i64) -> PyResult<usize> {
    usize::try_from(flow)
        .map_err(|_| step_error(py, Fault::new(format!("flow[{flow}]"), "there is no such flow", "indices start at 0")))
}

/// A number above zero.
fn positive(name: &str, number: f64) -> PyResult<f64> {
    if number > 0.0 {
        Ok(number)
    } else {
        Err(PyValueError::new_err(format!("{name}: {number} is not above 0")))
    }
}

/// Enters the state of a flow at a stop.
fn full(values: &Bound<'_, PyDict>, state: &FlowState, mss: Bytes) -> PyResult<()> {
    let seconds = |one: Option<Duration>| one.map(|one| one.as_nanos() as f64 / 1e9);
    let per_s =
        |one: Option<Rate>| one.filter(|&rate| rate > Rate::ZERO).map(|Rate(bps)| bps as f64 / (8.0 * mss.0 as f64));
    let sender = &state.sender;
    values.set_item("cwnd", sender.cwnd.0 / mss.0)?;
    values.set_item("ssthresh", sender.ssthresh.map(|bytes| segments(bytes, mss)))?;
    values.set_item("pacing_rate", per_s(sender.pacing_rate))?;
    values.set_item("in_flight", segments(sender.in_flight, mss))?;
    values.set_item("srtt", seconds(sender.srtt))?;
    values.set_item("rtt", seconds(sender.rtt))?;
    values.set_item("min_rtt", seconds(state.min_rtt))?;
    values.set_item("delivery_rate", per_s(sender.delivery_rate))?;
    values.set_item("delivered", segments(state.delivered, mss))?;
    values.set_item("sent", segments(Bytes(sender.counters.sent_bytes), mss))?;
    values.set_item("lost", state.losses.0 + state.losses.1)?;
    values.set_item("timeouts", sender.counters.timeouts)?;
    values.set_item("phase", sender.ca_state.map(|state| format!("{state:?}").to_lowercase()))?;
    if let Some((link, snapshot)) = &state.bottleneck {
        values.set_item("link", u32::from(*link))?;
        values.set_item("queue_packets", snapshot.queue_packets)?;
        values.set_item("queue_bytes", snapshot.queue_bytes)?;
    }
    Ok(())
}

/// The stepped simulation is passed between threads.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Stepped>();
};
