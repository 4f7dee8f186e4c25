//! Runs on a worker thread without the interpreter's lock: cancellable, with panics as errors.

use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::plan::Plan;
use cwndlab_scenario::Scenario;
use cwndlab_units::Time;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::raise;
use crate::panics::guarded;
use crate::py_algorithms::{self, Makers};
use crate::py_controller::Failure;
use crate::records::Records;
use crate::scenario;

/// Interval at which the waiting main thread checks for Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(20);

/// Number of checks after a cancellation until an algorithm in Python is interrupted.
const PATIENCE: u32 = 10;

/// A cancellation flag, shared by any number of runs.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Cancel {
    flag: Arc<AtomicBool>,
}

impl Cancel {
    /// The flag, for a thread without the interpreter's lock.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self { flag: Arc::new(AtomicBool::new(false)) }
    }

    /// Sets the flag: the runs stop.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether it is set.
    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Runs a scenario; Ctrl-C and `cancel` stop it within milliseconds. `makers` are, by the name of an algorithm, what is
/// called with a path and parameters and returns the object to ask.
#[pyfunction]
#[pyo3(signature = (text, format, seed, cancel=None, *, folder=None, makers=None))]
pub(crate) fn run(
    py: Python<'_>,
    text: &str,
    format: &str,
    seed: u64,
    cancel: Option<Py<Cancel>>,
    folder: Option<std::path::PathBuf>,
    makers: Option<Makers>,
) -> PyResult<Records> {
    let scenario = scenario::read(py, text, format, folder)?;
    let catalogue = py_algorithms::catalogue(&scenario).map_err(|faults| scenario::refuse(py, faults))?;
    let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| scenario::refuse(py, faults))?;
    let makers = py_algorithms::needed(&plan, &scenario, makers.unwrap_or_default())
        .map_err(|faults| scenario::refuse(py, faults))?;
    let header = header(&scenario, &plan, seed, "simulate", notes);
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().flag());
    match simulate(py, plan, header, makers, &stop)? {
        Ok(Ok(tables)) => Ok(Records::new(tables)),
        Ok(Err(Ended::Failed(failure))) if !stop.load(Ordering::Relaxed) => Err(blame(py, failure, seed)),
        Ok(Err(Ended::Cancelled | Ended::Failed(_))) => {
            Err(raise(py, "RunError", vec![("run".to_owned(), "stopped before its end".to_owned(), String::new())]))
        }
        Err(panic) => {
            let what = format!("{panic}, seed {seed}");
            Err(raise(py, "RunError", vec![("engine".to_owned(), what, "please report with this line".to_owned())]))
        }
    }
}

/// What stands above the records of a run by this engine.
pub(crate) fn header(scenario: &Scenario, plan: &Plan, seed: u64, engine: &str, notes: Vec<String>) -> Header {
    Header {
        scenario: scenario.to_json(),
        scenario_hash: plan.scenario_hash.clone(),
        seed,
        engine: engine.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: cwndlab_linux::sysctl::read("kernel.hostname").unwrap_or_default(),
        duration: plan.duration,
        measure_from: Time::ZERO + plan.measure_from,
        sample_interval: plan.sample_interval,
        notes,
    }
}

/// The failure of somebody's algorithm, raised from what the algorithm raised.
fn blame(py: Python<'_>, failure: Failure, seed: u64) -> PyErr {
    let what = format!("{}, at {:.6} s of the run with seed {seed}", failure.what, failure.now.0 as f64 / 1e9);
    let error = raise(py, "AlgorithmError", vec![(failure.name.to_owned(), what, failure.hint.to_owned())]);
    error.set_cause(py, failure.cause);
    error
}

/// Why a run did not come to its end.
enum Ended {
    Cancelled,
    Failed(Failure),
}

type Outcome = Result<Result<Tables, Ended>, String>;

/// The engine works in a thread of its own, so that this one can look for Ctrl-C.
fn simulate(py: Python<'_>, plan: Plan, header: Header, makers: Makers, stop: &Arc<AtomicBool>) -> PyResult<Outcome> {
    let inner = Arc::clone(stop);
    let seed = header.seed;
    aside(py, stop, move || {
        let (outcome, failure) = py_algorithms::with_makers(makers, || {
            guarded(|| cwndlab_simulator::run(&plan, seed, &inner, None).map(|records| Tables::new(header, &records)))
        });
        match (outcome, failure) {
            (Err(_), Some(failure)) => Ok(Err(Ended::Failed(failure))),
            (Ok(Err(cwndlab_simulator::RunError::Cancelled)), _) => Ok(Err(Ended::Cancelled)),
            (Ok(Ok(tables)), _) => Ok(Ok(tables)),
            (Err(panic), None) => Err(panic),
        }
    })
}

/// Raises `KeyboardInterrupt` in the Python code of the thread `worker`: an endless loop there does not check the flag.
fn interrupt(py: Python<'_>, worker: u64) -> PyResult<()> {
    let ctypes = py.import("ctypes")?;
    let thread = ctypes.getattr("c_ulong")?.call1((worker,))?;
    let error = ctypes.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
    ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?.call1((thread, error))?;
    Ok(())
}

/// Does `work` in a thread of its own; Ctrl-C sets `stop`, which the work obeys within milliseconds.
pub(crate) fn aside<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> PyResult<Result<T, String>> {
    let (sender, mut receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        // Nobody listens any more if the waiting thread was interrupted.
        let _ = sender.send(work());
    });
    let mut glances = 0;
    let mut interrupted = None;
    let outcome = loop {
        // Borrowed for itself alone: a receiver may move between threads, but not be shared.
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(SIGNAL_CHECK)) {
            Ok(outcome) => break outcome,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    stop.store(true, Ordering::Relaxed);
                    interrupted = Some(signal);
                }
                glances += u32::from(stop.load(Ordering::Relaxed));
                if glances > PATIENCE {
                    // Python knows a thread by the number of POSIX; one that it does not know is left alone.
                    interrupt(py, worker.as_pthread_t() as u64)?;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break Err("the engine's thread vanished".to_owned()),
        }
    };
    py.detach(|| {
        let _ = worker.join();
    });
    interrupted.map_or(Ok(outcome), Err)
}
