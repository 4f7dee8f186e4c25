//! Algorithms in Rust files that were compiled to libraries (`cwndlab_plugin`), as objects of Python. An object that a
//! constructor returns is taken out of Python: its calls do not enter the interpreter.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cwndlab_control::{Ack, Change, Congestion, CongestionControl, Event, Extra, Path, Sent, State, Window};
use cwndlab_plugin::host::{Control, Default as Initial, Plugin};
use cwndlab_units::{Bytes, Rate, Time};
use pyo3::exceptions::{PyImportError, PyValueError};
use pyo3::prelude::*;

use crate::controller::{fail, CallResult, Failure, MAX_SEGMENTS, WINDOWS};
use crate::events;

/// A number, and the least and the largest one; `None` for a word.
type NumberWithRange = Option<(f64, f64, f64)>;

/// A loaded library.
#[pyclass(frozen, module = "cwndlab._engine")]
pub struct RustLibrary {
    plugin: Plugin,
}

#[pymethods]
impl RustLibrary {
    #[new]
    fn new(file: PathBuf) -> PyResult<Self> {
        Plugin::load(&file).map(|plugin| Self { plugin }).map_err(PyImportError::new_err)
    }

    /// Name of its algorithm.
    #[getter]
    fn name(&self) -> &'static str {
        self.plugin.name()
    }

    /// It is a whole algorithm.
    #[getter]
    fn whole(&self) -> bool {
        self.plugin.is_whole()
    }

    /// It has a model of the path.
    #[getter]
    fn model_based(&self) -> bool {
        self.plugin.is_model_based()
    }

    /// Names of its needs: `pacing`, `spacing`, `ecn`, `l4s`, `agent`, `every-ack`,
    /// `loss-in-reduction`.
    #[getter]
    fn needs(&self) -> Vec<&'static str> {
        self.plugin.needs().collect()
    }

    /// Names and defaults of its parameters: numbers, each with the least and the largest one, or words.
    #[getter]
    fn parameters(&self) -> Vec<(&'static str, NumberWithRange, Option<&'static str>)> {
        let each = |(name, default)| match default {
            Initial::Number(number, low, high) => (name, Some((number, low, high)), None),
            Initial::Word(word) => (name, None, Some(word)),
        };
        self.plugin.parameters().map(each).collect()
    }

    /// The algorithm of a flow by its text, such as `mine(a=2)`.
    fn create(&self, path: &events::Path, text: &str) -> PyResult<RustControl> {
        let control = self.plugin.create(&path.raw, text).map_err(PyValueError::new_err)?;
        Ok(RustControl { control: Mutex::new(Some(control)) })
    }
}

/// The algorithm of a flow, until the engine takes it.
#[pyclass(frozen, module = "cwndlab._engine")]
pub struct RustControl {
    control: Mutex<Option<Control>>,
}

impl RustControl {
    /// The algorithm; `None` where it was taken before.
    pub(crate) fn take(&self, name: &'static str, path: &Path) -> Option<RustFile> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let max_window = Bytes((MAX_SEGMENTS * path.mss.0 as f64) as u64);
        Some(RustFile { name, now: Time::ZERO, max_window, control })
    }
}

/// An algorithm of a library as a congestion control. A failure ends the run, as that of a class in Python.
pub struct RustFile {
    name: &'static str,
    now: Time,
    max_window: Bytes,
    control: Control,
}

impl fmt::Debug for RustFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RustFile").field("name", &self.name).field("control", &self.control).finish_non_exhaustive()
    }
}

impl RustFile {
    fn failure(&self, rule: &'static str, what: String, hint: &'static str) -> Failure {
        Failure { name: self.name, what, hint, now: self.now, cause: None, rule, place: String::new() }
    }

    #[cold]
    fn failed(&self, text: &str) -> ! {
        fail(self.failure("no-panic", text.to_owned(), ""))
    }

    #[inline]
    fn has_valid_window(&self) -> bool {
        let window = self.control.cwnd();
        window > Bytes::ZERO && window <= self.max_window
    }

    #[cold]
    fn invalid_window(&self, method: &str) -> Failure {
        let window = self.control.cwnd();
        let rule = if window > self.max_window { "bounded" } else { "one-segment" };
        self.failure(rule, format!("cwnd() is {} B after {method}", window.0), WINDOWS)
    }

    /// The algorithm after its construction.
    ///
    /// # Errors
    ///
    /// An invalid window.
    pub(crate) fn created(self) -> CallResult<Self> {
        if self.has_valid_window() {
            Ok(self)
        } else {
            Err(Box::new(self.invalid_window("the constructor")))
        }
    }

    /// The outcome of a call of `method`, whose window must be valid.
    #[inline]
    fn after<T>(&self, method: &str, outcome: Result<T, String>) -> T {
        match outcome {
            Ok(value) if self.has_valid_window() => value,
            Ok(_) => fail(self.invalid_window(method)),
            Err(text) => self.failed(&format!("{method} {text}")),
        }
    }
}

impl Clone for RustFile {
    fn clone(&self) -> Self {
        match self.control.copy() {
            Ok(control) => Self { control, ..*self },
            Err(text) => self.failed(&format!("clone {text}")),
        }
    }
}

impl CongestionControl for RustFile {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.now = ack.now;
        let outcome = self.control.on_ack(ack);
        self.after("on_ack", outcome)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.now = event.now;
        let outcome = self.control.on_congestion(event);
        self.after("on_congestion", outcome);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.control.cwnd()
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
        let outcome = self.control.on_sent(sent);
        self.after("on_sent", outcome);
    }

    fn on_window(&mut self, window: &Window) {
        self.now = window.now;
        let outcome = self.control.on_window(window);
        let method = if window.change == Change::Undo { "on_window of an undo" } else { "on_window" };
        self.after(method, outcome);
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }

    #[inline]
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            let outcome = self.control.numbers(put);
            self.after("state", outcome);
        }
        self.control.state()
    }
}
