//! Runs on a worker thread without the interpreter's lock. They can be cancelled, and their panics become errors.

use std::ffi::CStr;
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cwndlab_python_classes::controller::Failure;
use cwndlab_records::findings;
use cwndlab_records::rows::Records as Rows;
use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::plan::Plan;
use cwndlab_scenario::Scenario;
use cwndlab_units::{Fault, FaultKind, Time};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::{fault_error, guarded};
use crate::py_algorithms::{self, Constructors};
use crate::records::Records;
use crate::scenario;

/// Interval at which the waiting main thread checks for Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(20);

/// Number of checks after a cancellation until a Python algorithm is interrupted.
const CHECKS_BEFORE_INTERRUPT: u32 = 10;

/// Number of checks after a cancellation until the thread is no longer waited for, 5 s: a Python algorithm in a call of
/// C, such as `time.sleep`, sees the interrupt only when the call returns. The thread ends then, or with the process.
const CHECKS_BEFORE_ABANDONMENT: u32 = 250;

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

    /// Whether the flag is set.
    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Runs a scenario; Ctrl-C and `cancel` stop it within milliseconds. `constructors` are callables by the name of an
/// algorithm, which are called with a path and parameters and return a congestion control. With several `threads` it warns
/// if the run had one.
#[pyfunction]
#[pyo3(signature = (text, format, seed, cancel=None, *, folder=None, constructors=None, threads=1))]
#[allow(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn run(
    py: Python<'_>,
    text: &str,
    format: &str,
    seed: u64,
    cancel: Option<Py<Cancel>>,
    folder: Option<std::path::PathBuf>,
    constructors: Option<Constructors>,
    threads: usize,
) -> PyResult<Records> {
    let scenario = scenario::read(py, text, format, folder)?;
    let catalogue = py_algorithms::catalogue(&scenario).map_err(|faults| scenario::scenario_error(py, faults))?;
    let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| scenario::scenario_error(py, faults))?;
    let constructors = py_algorithms::needed_constructors(&plan, &scenario, None, constructors.unwrap_or_default())
        .map_err(|faults| scenario::scenario_error(py, faults))?;
    let header = header(&scenario, &plan, seed, "simulate", notes);
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().flag());
    match simulate(py, plan, header, constructors, threads, &stop)? {
        Ok(Ok((tables, used))) => {
            if used < threads.min(2) {
                let warning = py.import("cwndlab.errors")?.getattr("OneThreadWarning")?;
                PyErr::warn(py, &warning, ONE_THREAD, 1)?;
            }
            Ok(Records::new(tables))
        }
        Ok(Err(Interruption::Failed(failure))) if !stop.load(Ordering::Relaxed) => {
            Err(algorithm_error(py, failure, &format!("of the run with seed {seed}")))
        }
        Ok(Err(Interruption::Stack(fault))) => Err(fault_error(py, "RunError", [fault])),
        Ok(Err(Interruption::Cancelled | Interruption::Failed(_))) => {
            Err(fault_error(py, "RunError", [Fault::new("run", "cancelled before its end", "")]))
        }
        Err(panic) => Err(panic_error(py, panic, seed)),
    }
}

/// The error of a panic in a run with this seed.
pub(crate) fn panic_error(py: Python<'_>, panic: Fault, seed: u64) -> PyErr {
    let what = format!("{}, seed {seed}", panic.what);
    fault_error(py, "RunError", [Fault { what, ..panic }])
}

/// The header of a run's records.
pub(crate) fn header(scenario: &Scenario, plan: &Plan, seed: u64, engine: &str, notes: Vec<String>) -> Header {
    Header {
        scenario: scenario.to_json(),
        scenario_hash: plan.scenario_hash.clone(),
        seed,
        engine: engine.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        duration: plan.duration,
        measure_from: Time::ZERO + plan.measure_from,
        sample_interval: plan.sample_interval,
        notes,
    }
}

/// The tables of a simulation, whose findings include the notes on its scenario.
pub(crate) fn simulated(header: Header, mut records: Rows) -> Tables {
    findings::add_notes(&mut records.findings, findings::DERIVED, &header.notes);
    Tables::new(header, records)
}

/// Converts the failure of a Python algorithm to an `AlgorithmError`, with the algorithm's exception as its cause.
pub(crate) fn algorithm_error(py: Python<'_>, failure: Failure, of: &str) -> PyErr {
    let what = format!("{}, at {:.6} s {of}", failure.what, failure.now.as_nanos() as f64 / 1e9);
    let error = fault_error(py, "AlgorithmError", [Fault::new(failure.name, what, failure.hint)]);
    error.set_cause(py, failure.cause);
    error
}

/// The reason why a run is incomplete.
enum Interruption {
    Cancelled,
    /// A hosted stack failed.
    Stack(Fault),
    Failed(Failure),
}

/// The tables, and the number of threads of the run.
type Outcome = Result<Result<(Tables, usize), Interruption>, Fault>;

/// The warning where several threads were asked for.
const ONE_THREAD: &CStr = c"the scenario runs on one thread: several take flows of bulk data with built-in algorithms, each on links of its own up to a shared one, with a delay before and behind it";

/// Runs the engine in another thread, so that this thread can check for Ctrl-C.
fn simulate(
    py: Python<'_>,
    plan: Plan,
    header: Header,
    constructors: Constructors,
    threads: usize,
    stop: &Arc<AtomicBool>,
) -> PyResult<Outcome> {
    let inner = Arc::clone(stop);
    let seed = header.seed;
    run_in_thread(py, stop, move || {
        let (outcome, failure) = py_algorithms::with_constructors(constructors, || {
            guarded(|| {
                let outcome = cwndlab_simulator::run_parallel(&plan, seed, threads, &inner, None);
                outcome.map(|(records, cost)| (simulated(header, records), cost.threads))
            })
        });
        match (outcome, failure) {
            (Err(_), Some(failure)) => Ok(Err(Interruption::Failed(failure))),
            (Ok(Err(fault)), _) if fault.kind == FaultKind::Cancelled => Ok(Err(Interruption::Cancelled)),
            (Ok(Err(fault)), _) => Ok(Err(Interruption::Stack(fault))),
            (Ok(Ok(ended)), _) => Ok(Ok(ended)),
            (Err(panic), None) => Err(panic),
        }
    })
}

/// Raises `KeyboardInterrupt` in the Python code of the thread `worker`, where an infinite loop does not check the
/// flag.
fn interrupt(py: Python<'_>, worker: u64) -> PyResult<()> {
    let ctypes = py.import("ctypes")?;
    let thread = ctypes.getattr("c_ulong")?.call1((worker,))?;
    let error = ctypes.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
    ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?.call1((thread, error))?;
    Ok(())
}

/// Runs `work` in a new thread. Ctrl-C sets `stop`, on which the work must end within milliseconds; work that does not
/// end within seconds is left behind.
pub(crate) fn run_in_thread<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> PyResult<Result<T, Fault>> {
    let (sender, mut receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        // The receiver may be gone if the waiting thread was interrupted.
        let _ = sender.send(work());
    });
    let mut checks = 0;
    let mut interrupted = None;
    let outcome = loop {
        // An exclusive borrow: a receiver may move between threads, but may not be shared.
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(SIGNAL_CHECK)) {
            Ok(outcome) => break outcome,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    stop.store(true, Ordering::Relaxed);
                    interrupted = Some(signal);
                }
                checks += u32::from(stop.load(Ordering::Relaxed));
                if checks > CHECKS_BEFORE_INTERRUPT {
                    // Python identifies a thread by its POSIX ID, and ignores unknown IDs.
                    interrupt(py, worker.as_pthread_t() as u64)?;
                }
                if checks > CHECKS_BEFORE_ABANDONMENT {
                    return Err(interrupted.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                break Err(Fault::new("engine", "its thread ended without a result", "please report with this line"));
            }
        }
    };
    py.detach(|| {
        let _ = worker.join();
    });
    interrupted.map_or(Ok(outcome), Err)
}
