//! The adapter that makes a Python object a congestion control.
//!
//! Each event attaches to the interpreter, calls a method of the object, and then reads the object's window. An error
//! ends the run immediately by unwinding; `work` reports it.

use std::cell::RefCell;
use std::fmt;

use cwndlab_conformance::BrokenRule;
use cwndlab_control::{
    self as control, Cause, Change, CongestionControl, Event, EventKind, Extra, Phase, Reason, Ssthresh, State,
};
use cwndlab_units::{Bytes, Rate, Time};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat};

use crate::events::{self, segments};
use crate::intern::intern as intern_text;

/// Maximum window, segments, beyond the BDP of every path. A larger window is an error of the algorithm.
pub(crate) const MAX_SEGMENTS: f64 = 1e9;

/// The hint at the windows that an algorithm may return.
pub(crate) const WINDOWS: &str = "a window must be above 0 and at most 10^9 segments";

/// The failure of an algorithm that ended its run.
#[derive(Debug)]
pub struct Failure {
    /// Name of the algorithm.
    pub name: &'static str,
    /// Description of the failure.
    pub what: String,
    /// A suggested remedy; may be empty.
    pub hint: &'static str,
    /// Time of the failure in the run.
    pub now: Time,
    /// The exception that the method raised.
    pub cause: Option<PyErr>,
    /// The rule of the conformance battery that the algorithm violates.
    pub rule: &'static str,
    /// File and line of the exception; may be empty.
    pub place: String,
}

thread_local! {
    /// The failure that ended the run of this thread.
    static FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Ends the run by unwinding.
pub fn fail(failure: Failure) -> ! {
    // Only the conformance battery reads this text.
    let detail = if failure.hint.is_empty() { &failure.place } else { failure.hint };
    let why = if detail.is_empty() { failure.what.clone() } else { format!("{} ({detail})", failure.what) };
    let broken = BrokenRule { rule: failure.rule, why };
    FAILURE.set(Some(failure));
    // Unwinding without a panic: no hook is called and no message is printed.
    broken.unwind()
}

/// Takes the failure that ended the run of this thread, if there is one.
#[must_use]
pub fn failure() -> Option<Failure> {
    FAILURE.take()
}

/// The failure that unwound in this thread, with its traceback.
#[must_use]
pub fn describe_failure() -> Option<String> {
    let failure = failure()?;
    Some(Python::attach(|py| failure.text(py)))
}

/// A Python object as a congestion control, with its last window, pacing rate and threshold.
pub struct PyController {
    name: &'static str,
    mss: Bytes,
    instance: Py<PyAny>,
    methods: Methods,
    threshold: Ssthresh,
    window: Bytes,
    rate: Option<Rate>,
    now: Time,
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyController").field("name", &self.name).field("window", &self.window).finish_non_exhaustive()
    }
}

/// The bound methods of an object.
struct Methods {
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    cwnd: Py<PyAny>,
    on_timeout: Option<Py<PyAny>>,
    on_window: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    pacing_rate: Option<Py<PyAny>>,
    state: Option<Py<PyAny>>,
    /// The object has the attribute `ssthresh`.
    has_threshold: bool,
}

impl Methods {
    fn bind(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            Ok(object.getattr_opt(name)?.filter(|method| !method.is_none()).map(Bound::unbind))
        };
        Ok(Self {
            on_ack: object.getattr("on_ack")?.unbind(),
            on_congestion: object.getattr("on_congestion")?.unbind(),
            cwnd: object.getattr("cwnd")?.unbind(),
            on_timeout: method("on_timeout")?,
            on_window: method("on_window")?,
            on_sent: method("on_sent")?,
            pacing_rate: method("pacing_rate")?,
            state: method("state")?,
            has_threshold: object.hasattr(intern!(object.py(), "ssthresh"))?,
        })
    }
}

/// The transport's snapshot before a congestion event: a deep copy of the object, so that an undo restores all
/// attributes. A class whose objects cannot be copied by default must define `__deepcopy__`.
impl Clone for PyController {
    fn clone(&self) -> Self {
        or_fail(Python::attach(|py| self.deep_copy(py)))
    }
}

/// The result of a call of a method.
pub type CallResult<T> = Result<T, Box<Failure>>;

impl PyController {
    /// An object as a congestion control.
    ///
    /// # Errors
    ///
    /// A missing method, and an invalid window.
    pub(crate) fn of(name: &'static str, path: &control::Path, object: &Bound<'_, PyAny>) -> CallResult<Self> {
        let py = object.py();
        let bound = Methods::bind(object).map_err(|error| raised(py, name, "__init__", Time::ZERO, error))?;
        let mut new = Self {
            name,
            mss: path.mss,
            methods: bound,
            instance: object.clone().unbind(),
            threshold: Ssthresh::Unknown,
            window: path.initial_cwnd,
            rate: None,
            now: Time::ZERO,
        };
        new.read_outputs(py, "__init__")?;
        Ok(new)
    }

    fn deep_copy(&self, py: Python<'_>) -> CallResult<Self> {
        let copied = || -> PyResult<Self> {
            let copy = py.import(intern!(py, "copy"))?.getattr(intern!(py, "deepcopy"))?;
            let object = copy.call1((&self.instance,))?;
            Ok(Self { methods: Methods::bind(&object)?, instance: object.unbind(), ..*self })
        };
        copied().map_err(|error| self.raised(py, "copy.deepcopy of the object", error))
    }

    fn raised(&self, py: Python<'_>, method: &str, error: PyErr) -> Box<Failure> {
        raised(py, self.name, method, self.now, error)
    }

    fn invalid(&self, rule: &'static str, what: String, hint: &'static str) -> Box<Failure> {
        Box::new(Failure { name: self.name, what, hint, now: self.now, cause: None, rule, place: String::new() })
    }

    /// Reads the window, the threshold and the pacing rate after a call of `method`.
    fn read_outputs(&mut self, py: Python<'_>, method: &str) -> CallResult<()> {
        let returned = self.methods.cwnd.bind(py).call0().map_err(|error| self.raised(py, "cwnd", error))?;
        let w = number(&returned).ok_or_else(|| {
            self.invalid(
                "no-panic",
                format!("cwnd() is {} after {method}", repr(&returned)),
                "it must return a number of segments",
            )
        })?;
        if !(w > 0.0 && w <= MAX_SEGMENTS) {
            return Err(self.invalid(
                // NaN and windows below a segment violate one rule, too large windows another.
                if w > MAX_SEGMENTS { "bounded" } else { "one-segment" },
                format!("cwnd() is {} segments after {method}", repr(&returned)),
                WINDOWS,
            ));
        }
        // As in `Composed`: with a small increment, so that k segments stored as a sum of fractions are k segments.
        self.window = Bytes(((w.max(1.0) + 1e-9) * self.mss.0 as f64) as u64);
        self.read_threshold(py, method)?;
        let Some(pacing_rate) = &self.methods.pacing_rate else { return Ok(()) };
        let returned = pacing_rate.bind(py).call0().map_err(|error| self.raised(py, "pacing_rate", error))?;
        if returned.is_none() {
            self.rate = None;
            return Ok(());
        }
        let rate = number(&returned).filter(|rate| *rate > 0.0 && *rate <= MAX_SEGMENTS).ok_or_else(|| {
            self.invalid(
                "pacing",
                format!("pacing_rate() is {} after {method}", repr(&returned)),
                "it must return segments per second, above 0 and at most 10^9, or None",
            )
        })?;
        // A rate of zero would be none.
        self.rate = Some(Rate(((rate * 8.0 * self.mss.0 as f64) as u64).max(1)));
        Ok(())
    }

    /// Reads the attribute `ssthresh`: a number of segments, infinite without a limit, or `None`.
    fn read_threshold(&mut self, py: Python<'_>, method: &str) -> CallResult<()> {
        if !self.methods.has_threshold {
            return Ok(());
        }
        let value = self
            .instance
            .bind(py)
            .getattr(intern!(py, "ssthresh"))
            .map_err(|error| self.raised(py, "ssthresh", error))?;
        self.threshold = if value.is_none() {
            Ssthresh::Unknown
        } else {
            let segments = number(&value).filter(|segments| *segments >= 0.0).ok_or_else(|| {
                self.invalid(
                    "no-panic",
                    format!("ssthresh is {} after {method}", repr(&value)),
                    "the attribute must be a number of segments, at least 0 (infinite: without limit), or None",
                )
            })?;
            Ssthresh::of(segments, self.mss.0 as f64)
        };
        Ok(())
    }

    /// Calls the object's handler of an event, and reads its window.
    fn call_handler<'py>(
        &mut self,
        py: Python<'py>,
        method: &'static str,
        which: fn(&Methods) -> Option<&Py<PyAny>>,
        event: impl IntoPyObject<'py>,
    ) -> CallResult<()> {
        let Some(handler) = which(&self.methods) else { return Ok(()) };
        handler.bind(py).call1((event,)).map_err(|error| self.raised(py, method, error))?;
        self.read_outputs(py, method)
    }

    fn call_on_ack(&mut self, py: Python<'_>, ack: &control::Ack) -> CallResult<Option<Event>> {
        // A new object for each ACK, so that an algorithm may store it.
        let event = events::Ack { raw: ack.clone() };
        let returned =
            self.methods.on_ack.bind(py).call1((event,)).map_err(|error| self.raised(py, "on_ack", error))?;
        self.read_outputs(py, "on_ack")?;
        if returned.is_none() {
            return Ok(None);
        }
        let Ok((kind, reason)) = returned.extract::<(String, String)>() else {
            return Err(self.invalid(
                "no-panic",
                format!("on_ack() returned {}", repr(&returned)),
                "it must return None, or an event of two strings: kind and cause",
            ));
        };
        let Some((kind, reason)) = intern_text(&kind).zip(intern_text(&reason)) else {
            return Err(self.invalid("no-panic", "on_ack() returned too many different events".to_owned(), ""));
        };
        let kind = EventKind::Named(kind);
        let reason = Reason::Named(reason);
        Ok(Some(Event::new(kind, reason, segments(self.window, self.mss))))
    }

    /// Reads the named numbers of `state()`.
    fn read_numbers(&self, py: Python<'_>, put: Extra<'_>) -> CallResult<()> {
        let Some(state) = &self.methods.state else { return Ok(()) };
        let hint = "it must return a dict of names and numbers";
        let returned = state.bind(py).call0().map_err(|error| self.raised(py, "state", error))?;
        let Ok(entries) = returned.cast::<PyDict>() else {
            return Err(self.invalid("state", format!("state() is {}", repr(&returned)), hint));
        };
        for (name, value) in entries.iter() {
            let key = name.extract::<String>().ok().and_then(|name| intern_text(&name));
            match (key, number(&value)) {
                (Some(name), Some(value)) if !value.is_nan() => put(name, value),
                (Some(_), Some(_)) => {}
                _ => return Err(self.invalid("state", format!("state() has {}: {}", repr(&name), repr(&value)), hint)),
            }
        }
        Ok(())
    }
}

impl Failure {
    /// The failure with the traceback of its exception, for people.
    #[must_use]
    pub fn text(&self, py: Python<'_>) -> String {
        let Some(cause) = &self.cause else {
            return if self.hint.is_empty() { self.what.clone() } else { format!("{} ({})", self.what, self.hint) };
        };
        let lines = || -> PyResult<Vec<String>> {
            let parts = (cause.get_type(py), cause.value(py), cause.traceback(py));
            py.import("traceback")?.getattr("format_exception")?.call1(parts)?.extract()
        };
        let trace = lines().map_or_else(|_| self.place.clone(), |lines| lines.concat());
        format!("{}\n{}", self.what, trace.trim_end())
    }
}

/// The failure of a method that raised an exception.
pub fn raised(py: Python<'_>, name: &'static str, method: &str, now: Time, error: PyErr) -> Box<Failure> {
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map_or_else(|_| String::new(), |text| text.to_string());
    let text = if text.is_empty() { kind } else { format!("{kind}: {text}") };
    let what = format!("{method} raised {text}");
    let place = place(py, &error).unwrap_or_default();
    Box::new(Failure { name, what, hint: "", now, cause: Some(error), rule: "no-panic", place })
}

/// File and line at which an exception was raised.
fn place(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    let Some(trace) = error.traceback(py) else { return Ok(String::new()) };
    let mut trace = trace.into_any();
    loop {
        let next = trace.getattr("tb_next")?;
        if next.is_none() {
            break;
        }
        trace = next;
    }
    let file: String = trace.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
    let line: u32 = trace.getattr("tb_lineno")?.extract()?;
    Ok(format!("{file}, line {line}"))
}

/// The value as a number, if it is one.
#[must_use]
pub fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    match value.cast_exact::<PyFloat>() {
        Ok(float) => Some(float.value()),
        Err(_) => value.extract().ok(),
    }
}

/// The representation of a value (`repr`).
#[must_use]
pub fn repr(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "a value without a repr".to_owned(), |text| text.to_string())
}

fn or_fail<T>(done: CallResult<T>) -> T {
    done.unwrap_or_else(|failure| fail(*failure))
}

impl CongestionControl for PyController {
    fn on_ack(&mut self, ack: &control::Ack) -> Option<Event> {
        self.now = ack.now;
        or_fail(Python::attach(|py| self.call_on_ack(py, ack)))
    }

    fn on_congestion(&mut self, event: &control::Congestion) {
        self.now = event.now;
        let raw = event.clone();
        or_fail(Python::attach(|py| {
            if event.cause == Cause::Timeout && self.methods.on_timeout.is_some() {
                return self.call_handler(py, "on_timeout", |one| one.on_timeout.as_ref(), events::Congestion { raw });
            }
            self.call_handler(py, "on_congestion", |one| Some(&one.on_congestion), events::Congestion { raw })
        }));
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.window
    }

    fn on_sent(&mut self, sent: &control::Sent) {
        if self.methods.on_sent.is_some() {
            self.now = sent.now;
            let event = events::Sent { raw: *sent, mss: self.mss };
            or_fail(Python::attach(|py| self.call_handler(py, "on_sent", |one| one.on_sent.as_ref(), event)));
        }
    }

    fn on_window(&mut self, window: &control::Window) {
        self.now = window.now;
        if window.change == Change::Undo {
            // The restored copy needs no call, but its outputs are read again.
            or_fail(Python::attach(|py| self.read_outputs(py, "an undo")));
        } else if self.methods.on_window.is_some() {
            let event = events::Window { raw: *window, mss: self.mss };
            or_fail(Python::attach(|py| self.call_handler(py, "on_window", |one| one.on_window.as_ref(), event)));
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra.filter(|_| self.methods.state.is_some()) {
            or_fail(Python::attach(|py| self.read_numbers(py, put)));
        }
        let phase = match self.threshold {
            Ssthresh::Unknown => Phase::Unknown,
            Ssthresh::At(threshold) if self.window >= threshold => Phase::CongestionAvoidance,
            Ssthresh::At(_) | Ssthresh::Unlimited => Phase::SlowStart,
        };
        State { ssthresh: self.threshold, phase }
    }
}
