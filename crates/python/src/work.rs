//! Runs: away from the interpreter's lock, stoppable, and with a fault of ours told as an error.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::plan::Plan;
use pyo3::prelude::*;

use crate::records::Records;
use crate::{question, raise};

/// How often a waiting main thread looks for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(20);

thread_local! {
    /// This thread answers for its panics itself.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Where the last one was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics of the engine off the terminal; they become errors.
pub(crate) fn quiet_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if QUIET.get() {
            let place = info.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
            PLACE.set(place);
        } else {
            usual(info);
        }
    }));
}

/// Does the work; a panic is told as its text and place.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    done.map_err(|payload| format!("{} ({})", text(payload.as_ref()), PLACE.take()))
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without text")
}

/// A wish to stop, shared by any number of runs.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Cancel {
    wish: Arc<AtomicBool>,
}

impl Cancel {
    /// The wish itself, for whoever works without the interpreter.
    pub(crate) fn wish(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wish)
    }
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self { wish: Arc::new(AtomicBool::new(false)) }
    }

    /// Wishes it.
    fn set(&self) {
        self.wish.store(true, Ordering::Relaxed);
    }

    /// Whether it was wished.
    fn is_set(&self) -> bool {
        self.wish.load(Ordering::Relaxed)
    }
}

/// Runs a scenario; Ctrl-C and `cancel` stop it within milliseconds.
#[pyfunction]
#[pyo3(signature = (text, format, seed, cancel=None, *, folder=None))]
pub(crate) fn run(
    py: Python<'_>,
    text: &str,
    format: &str,
    seed: u64,
    cancel: Option<Py<Cancel>>,
    folder: Option<std::path::PathBuf>,
) -> PyResult<Records> {
    let scenario = question::read(py, text, format, folder)?;
    let catalogue = cwndlab_simulator::catalogue();
    let (plan, notes) = scenario.plan(&catalogue).map_err(|faults| question::refuse(py, faults))?;
    let canonical = scenario.canonical().map_err(|faults| question::refuse(py, faults))?;
    let header = Header {
        scenario: scenario.to_json(),
        scenario_hash: plan.scenario_hash.clone(),
        seed,
        engine: "simulate".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: std::fs::read_to_string("/proc/sys/kernel/hostname").map_or(String::new(), |name| name.trim().to_owned()),
        duration_ns: plan.duration.0,
        #[allow(clippy::redundant_closure_for_method_calls, reason = "the method's crate is not a dependency here")]
        measure_from_ns: canonical.get("measure_from_ns").and_then(|value| value.as_u64()).unwrap_or(0),
        sample_interval_ns: plan.sample_interval.0,
        notes,
    };
    let stop = cancel.map_or_else(Arc::default, |cancel| cancel.get().wish());
    match simulate(py, plan, header, &stop)? {
        Ok(Ok(tables)) => Ok(Records::new(tables)),
        Ok(Err(cwndlab_simulator::RunError::Cancelled)) => {
            Err(raise(py, "RunError", vec![("run".to_owned(), "stopped before its end".to_owned(), String::new())]))
        }
        Err(panic) => {
            let what = format!("{panic}, seed {seed}");
            Err(raise(py, "RunError", vec![("engine".to_owned(), what, "please report with this line".to_owned())]))
        }
    }
}

type Outcome = Result<Result<Tables, cwndlab_simulator::RunError>, String>;

/// The engine works in a thread of its own, so that this one can look for Ctrl-C.
fn simulate(py: Python<'_>, plan: Plan, header: Header, stop: &Arc<AtomicBool>) -> PyResult<Outcome> {
    let inner = Arc::clone(stop);
    let seed = header.seed;
    aside(py, stop, move || {
        guarded(|| cwndlab_simulator::run(&plan, seed, &inner, None).map(|records| Tables::new(header, &records)))
    })
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
    let outcome = loop {
        // Borrowed for itself alone: a receiver may move between threads, but not be shared.
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(GLANCE)) {
            Ok(outcome) => break Ok(outcome),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals() {
                    stop.store(true, Ordering::Relaxed);
                    break Err(interrupt);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break Ok(Err("the engine's thread vanished".to_owned())),
        }
    };
    py.detach(|| {
        let _ = worker.join();
    });
    outcome
}
