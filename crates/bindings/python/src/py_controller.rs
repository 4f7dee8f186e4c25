//! The adapter: an object in Python as a congestion control.
//!
//! Each event attaches to the interpreter, calls the object, and asks it for its window. What goes wrong there ends
//! the run at once by unwinding; `work` tells it.

use std::cell::RefCell;
use std::fmt;

use cwndlab_conformance::BrokenRule;
use cwndlab_control::{
    self as control, Arguments, Cause, Change, CongestionControl, Event, EventKind, Extra, Phase, Reason, Ssthresh,
    State, Value,
};
use cwndlab_units::{Bytes, Rate, Time};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat};

use crate::events::{self, segments};
use crate::intern;

/// No path holds more; a window beyond is an error of the algorithm.
const MOST_SEGMENTS: f64 = 1e9;

/// Why an algorithm ended its run.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Its name.
    pub(crate) name: &'static str,
    /// What happened, in words.
    pub(crate) what: String,
    /// What would do; may be empty.
    pub(crate) hint: &'static str,
    /// When, on the run's clock.
    pub(crate) now: Time,
    /// What its method raised.
    pub(crate) cause: Option<PyErr>,
    /// The rule of the conformance battery that it breaks.
    pub(crate) rule: &'static str,
    /// File and line of its source that raised it; may be empty.
    pub(crate) place: String,
}

thread_local! {
    /// Why the run of this thread ended.
    static FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Ends the run.
pub(crate) fn fail(failure: Failure) -> ! {
    // Read by the conformance battery alone.
    let more = if failure.hint.is_empty() { &failure.place } else { failure.hint };
    let why = if more.is_empty() { failure.what.clone() } else { format!("{} ({more})", failure.what) };
    let broken = BrokenRule { rule: failure.rule, why };
    FAILURE.set(Some(failure));
    // No panic: no hook is called and nothing is printed.
    broken.unwind()
}

/// Why the run of this thread ended, if an algorithm ended it.
pub(crate) fn failure() -> Option<Failure> {
    FAILURE.take()
}

/// An object of somebody's class, and what it answered last.
pub(crate) struct Object {
    name: &'static str,
    mss: Bytes,
    instance: Py<PyAny>,
    methods: Methods,
    threshold: Ssthresh,
    window: Bytes,
    rate: Option<Rate>,
    now: Time,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("name", &self.name).field("window", &self.window).finish_non_exhaustive()
    }
}

/// The methods of an object, bound to it.
struct Methods {
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    cwnd: Py<PyAny>,
    on_timeout: Option<Py<PyAny>>,
    on_window: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    pacing_rate: Option<Py<PyAny>>,
    state: Option<Py<PyAny>>,
    /// It has the attribute `ssthresh`.
    has_threshold: bool,
}

impl Methods {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
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

/// The transport's snapshot in front of a congestion event: a deep copy of the object, so that an undo restores all of its
/// attributes without a method for it. A class whose objects cannot be copied defines `__deepcopy__`.
impl Clone for Object {
    fn clone(&self) -> Self {
        or_fail(Python::attach(|py| self.copied(py)))
    }
}

type Told<T> = Result<T, Box<Failure>>;

impl Object {
    /// Makes one by `maker(path, **parameters)`.
    pub(crate) fn new(
        py: Python<'_>,
        name: &'static str,
        maker: &Py<PyAny>,
        path: &control::Path,
        arguments: &Arguments,
    ) -> Told<Self> {
        let made = || -> PyResult<Self> {
            let named = PyDict::new(py);
            for (name, value) in arguments.pairs() {
                match value {
                    Value::Number(number) => named.set_item(name, number)?,
                    Value::Word(word) => named.set_item(name, word == "true")?,
                }
            }
            let object = maker.bind(py).call((events::Path { raw: path.clone() },), Some(&named))?;
            Ok(Self {
                name,
                mss: path.mss,
                methods: Methods::of(&object)?,
                instance: object.unbind(),
                threshold: Ssthresh::Unknown,
                window: path.initial_cwnd,
                rate: None,
                now: Time::ZERO,
            })
        };
        let mut object = made().map_err(|error| raised(py, name, "__init__", Time::ZERO, error))?;
        object.ask(py, "__init__")?;
        Ok(object)
    }

    fn copied(&self, py: Python<'_>) -> Told<Self> {
        let copied = || -> PyResult<Self> {
            let copy = py.import(intern!(py, "copy"))?.getattr(intern!(py, "deepcopy"))?;
            let object = copy.call1((&self.instance,))?;
            Ok(Self { methods: Methods::of(&object)?, instance: object.unbind(), ..*self })
        };
        copied().map_err(|error| self.raised(py, "copy.deepcopy of the object", error))
    }

    fn raised(&self, py: Python<'_>, method: &str, error: PyErr) -> Box<Failure> {
        raised(py, self.name, method, self.now, error)
    }

    fn wrong(&self, rule: &'static str, what: String, hint: &'static str) -> Box<Failure> {
        Box::new(Failure { name: self.name, what, hint, now: self.now, cause: None, rule, place: String::new() })
    }

    /// Asks for the window, and for the rate where there is one, after the event that `method` was told of.
    fn ask(&mut self, py: Python<'_>, method: &str) -> Told<()> {
        let answer = self.methods.cwnd.bind(py).call0().map_err(|error| self.raised(py, "cwnd", error))?;
        let w = number(&answer).ok_or_else(|| {
            self.wrong(
                "no-panic",
                format!("cwnd() is {} after {method}", shown(&answer)),
                "it returns a number of segments",
            )
        })?;
        if !(w > 0.0 && w <= MOST_SEGMENTS) {
            return Err(self.wrong(
                // NaN and what is below a segment are one rule, what has no end another.
                if w > MOST_SEGMENTS { "bounded" } else { "one-segment" },
                format!("cwnd() is {} segments after {method}", shown(&answer)),
                "a window is above 0 and at most 10^9 segments",
            ));
        }
        // As `Composed` does: a hair more, so that k segments stored as a sum of fractions are k segments.
        self.window = Bytes(((w.max(1.0) + 1e-9) * self.mss.0 as f64) as u64);
        self.read_threshold(py, method)?;
        let Some(ask) = &self.methods.pacing_rate else { return Ok(()) };
        let answer = ask.bind(py).call0().map_err(|error| self.raised(py, "pacing_rate", error))?;
        if answer.is_none() {
            self.rate = None;
            return Ok(());
        }
        let rate = number(&answer).filter(|rate| *rate > 0.0 && *rate <= MOST_SEGMENTS).ok_or_else(|| {
            self.wrong(
                "pacing",
                format!("pacing_rate() is {} after {method}", shown(&answer)),
                "it returns segments per second, above 0 and at most 10^9, or None",
            )
        })?;
        self.rate = Some(Rate((rate * 8.0 * self.mss.0 as f64) as u64));
        Ok(())
    }

    /// The attribute `ssthresh`: a number of segments, infinite for "without limit", or `None`.
    fn read_threshold(&mut self, py: Python<'_>, method: &str) -> Told<()> {
        if !self.methods.has_threshold {
            return Ok(());
        }
        let found = self
            .instance
            .bind(py)
            .getattr(intern!(py, "ssthresh"))
            .map_err(|error| self.raised(py, "ssthresh", error))?;
        self.threshold = if found.is_none() {
            Ssthresh::Unknown
        } else {
            let segments = number(&found).filter(|segments| *segments >= 0.0).ok_or_else(|| {
                self.wrong(
                    "no-panic",
                    format!("ssthresh is {} after {method}", shown(&found)),
                    "the attribute is a number of segments, at least 0 (infinite: without limit), or None",
                )
            })?;
            Ssthresh::of(segments, self.mss.0 as f64)
        };
        Ok(())
    }

    /// Tells the object of an event, and asks it for its window.
    fn tell<'py>(
        &mut self,
        py: Python<'py>,
        method: &'static str,
        which: fn(&Methods) -> Option<&Py<PyAny>>,
        event: impl IntoPyObject<'py>,
    ) -> Told<()> {
        let Some(call) = which(&self.methods) else { return Ok(()) };
        call.bind(py).call1((event,)).map_err(|error| self.raised(py, method, error))?;
        self.ask(py, method)
    }

    fn acknowledge(&mut self, py: Python<'_>, ack: &control::Ack) -> Told<Option<Event>> {
        // One for each ACK, so that an algorithm may keep it.
        let event = events::Ack { raw: ack.clone() };
        let returned =
            self.methods.on_ack.bind(py).call1((event,)).map_err(|error| self.raised(py, "on_ack", error))?;
        self.ask(py, "on_ack")?;
        if returned.is_none() {
            return Ok(None);
        }
        let named = returned.extract::<(String, String)>().ok();
        let Some((kind, reason)) = named else {
            return Err(self.wrong(
                "no-panic",
                format!("on_ack() returned {}", shown(&returned)),
                "it returns None, or an event of two strings: what happened and why",
            ));
        };
        let Some((kind, reason)) = intern::intern(&kind).zip(intern::intern(&reason)) else {
            return Err(self.wrong("no-panic", "on_ack() returned too many different events".to_owned(), ""));
        };
        let (kind, reason) = (EventKind::Named(kind), Reason::Named(reason));
        Ok(Some(Event::new(kind, reason, segments(self.window, self.mss))))
    }

    fn numbers(&self, py: Python<'_>, put: Extra<'_>) -> Told<()> {
        let Some(state) = &self.methods.state else { return Ok(()) };
        let hint = "it returns a dict of names and numbers";
        let answer = state.bind(py).call0().map_err(|error| self.raised(py, "state", error))?;
        let Ok(named) = answer.cast::<PyDict>() else {
            return Err(self.wrong("state", format!("state() is {}", shown(&answer)), hint));
        };
        for (name, value) in named.iter() {
            let word = name.extract::<String>().ok().and_then(|name| intern::intern(&name));
            match (word, number(&value)) {
                (Some(name), Some(value)) if value.is_finite() => put(name, value),
                (Some(_), Some(_)) => {}
                _ => return Err(self.wrong("state", format!("state() has {}: {}", shown(&name), shown(&value)), hint)),
            }
        }
        Ok(())
    }
}

fn raised(py: Python<'_>, name: &'static str, method: &str, now: Time, error: PyErr) -> Box<Failure> {
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map_or_else(|_| String::new(), |text| text.to_string());
    let text = if text.is_empty() { kind } else { format!("{kind}: {text}") };
    let what = format!("{method} raised {text}");
    let place = place(py, &error).unwrap_or_default();
    Box::new(Failure { name, what, hint: "", now, cause: Some(error), rule: "no-panic", place })
}

/// File and line where an exception arose.
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

fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    match value.cast_exact::<PyFloat>() {
        Ok(float) => Some(float.value()),
        Err(_) => value.extract().ok(),
    }
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "something that cannot be shown".to_owned(), |text| text.to_string())
}

fn or_fail<T>(done: Told<T>) -> T {
    done.unwrap_or_else(|failure| fail(*failure))
}

impl CongestionControl for Object {
    fn on_ack(&mut self, ack: &control::Ack) -> Option<Event> {
        self.now = ack.now;
        or_fail(Python::attach(|py| self.acknowledge(py, ack)))
    }

    fn on_congestion(&mut self, event: &control::Congestion) {
        self.now = event.now;
        let raw = event.clone();
        or_fail(Python::attach(|py| {
            if event.cause == Cause::Timeout && self.methods.on_timeout.is_some() {
                return self.tell(py, "on_timeout", |one| one.on_timeout.as_ref(), events::Congestion { raw });
            }
            self.tell(py, "on_congestion", |one| Some(&one.on_congestion), events::Congestion { raw })
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
            or_fail(Python::attach(|py| self.tell(py, "on_sent", |one| one.on_sent.as_ref(), event)));
        }
    }

    fn on_window(&mut self, window: &control::Window) {
        self.now = window.now;
        if window.change == Change::Undo {
            // The copy that was restored has nothing to do, but is asked what it stands at.
            or_fail(Python::attach(|py| self.ask(py, "an undo")));
        } else if self.methods.on_window.is_some() {
            let event = events::Window { raw: *window, mss: self.mss };
            or_fail(Python::attach(|py| self.tell(py, "on_window", |one| one.on_window.as_ref(), event)));
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra.filter(|_| self.methods.state.is_some()) {
            or_fail(Python::attach(|py| self.numbers(py, put)));
        }
        let phase = match self.threshold {
            Ssthresh::Unknown => Phase::Unknown,
            Ssthresh::At(threshold) if self.window >= threshold => Phase::CongestionAvoidance,
            Ssthresh::At(_) | Ssthresh::Unlimited => Phase::SlowStart,
        };
        State { ssthresh: self.threshold, phase }
    }
}
