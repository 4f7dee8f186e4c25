//! Congestion controls for media that are Python classes: rates in bit/s, times in seconds, sizes in bytes.

use std::fmt;

use cwndlab_python_classes::controller::{self, number, raised, repr, CallResult, Failure};
use cwndlab_python_classes::intern::intern as intern_text;
use cwndlab_traffic::media::custom::{self, Argument, CustomControl};
use cwndlab_traffic::media::feedback::Format;
use cwndlab_traffic::media::rate_control::{
    Decision, Feedback, FrameInfo, PacketFeedback, Parameters, RateControl, SentPacket,
};
use cwndlab_units::{Bytes, Duration, Time};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::py_algorithms;

/// Rate of the packets over the target rate, of classes without `pacing_rate`: the pacing headroom of SCReAMv2
/// (draft-ietf-ccwg-rfc8298bis-screamv2).
const HEADROOM: f64 = 1.5;
/// The largest rate that a class may return, bit/s.
const MAX_BPS: f64 = 1e12;

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

fn span(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

/// Declares a class of values, with its representation.
macro_rules! value {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[pyclass(module = "cwndlab._engine", frozen, get_all)]
        #[derive(Debug)]
        pub(crate) struct $name {
            $($(#[$about])* $field: $type,)*
        }

        #[pymethods]
        impl $name {
            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                let mut parts = Vec::new();
                $(parts.push(format!(concat!(stringify!($field), "={}"), slf.getattr(stringify!($field))?.repr()?));)*
                Ok(format!(concat!(stringify!($name), "({})"), parts.join(", ")))
            }
        }
    };
}

value! {
    /// What a control begins with.
    MediaSession {
        /// Smallest rate of the encoder, bit/s.
        min_rate: f64,
        /// Largest rate of the encoder, bit/s.
        max_rate: f64,
        /// Frames per second.
        frame_rate: f64,
        /// Time between two reports, s.
        feedback: f64,
        /// Weight beside other flows.
        priority: f64,
        /// Packets carry ECT(1).
        l4s: bool,
    }
}

value! {
    /// A packet of a report.
    MediaPacket {
        /// Size of the datagram, bytes.
        size: u64,
        /// Time of sending, s.
        sent: f64,
        /// Its arrival as the report states it, s; `None` if it is missing.
        arrival: Option<f64>,
        /// It arrived with a mark.
        ce: bool,
    }
}

value! {
    /// A report of the receiver.
    MediaFeedback {
        /// Time of its arrival, s.
        now: f64,
        /// RTT of the newest packet that arrived, without the time until the report, s; `None` without one.
        rtt: Option<f64>,
        /// Bytes in flight after this report.
        in_flight: u64,
        /// The packets of which it brings something new, in the order of sending.
        packets: Py<PyTuple>,
    }
}

value! {
    /// A packet that was sent.
    MediaSent {
        /// Time of sending, s.
        now: f64,
        /// Size of the datagram, bytes.
        size: u64,
        /// Bytes in flight with it.
        in_flight: u64,
    }
}

value! {
    /// An encoded frame.
    MediaFrame {
        /// Its size, bytes.
        size: u64,
        /// The size of the target rate, bytes.
        expected: f64,
        /// Time for which the oldest packet has waited to be sent, s.
        queue_delay: f64,
    }
}

/// The bound methods of an object.
struct Methods {
    on_feedback: Py<PyAny>,
    target_rate: Py<PyAny>,
    pacing_rate: Option<Py<PyAny>>,
    window: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_frame: Option<Py<PyAny>>,
}

impl Methods {
    fn bind(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            Ok(object.getattr_opt(name)?.filter(|method| !method.is_none()).map(Bound::unbind))
        };
        Ok(Self {
            on_feedback: object.getattr("on_feedback")?.unbind(),
            target_rate: object.getattr("target_rate")?.unbind(),
            pacing_rate: method("pacing_rate")?,
            window: method("window")?,
            on_sent: method("on_sent")?,
            on_frame: method("on_frame")?,
        })
    }
}

/// A Python object as a congestion control for media, with its last decision.
struct PyRateControl {
    name: &'static str,
    methods: Methods,
    format: Format,
    range: (f64, f64),
    decision: Decision,
    now: Time,
}

impl fmt::Debug for PyRateControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyRateControl")
            .field("name", &self.name)
            .field("decision", &self.decision)
            .finish_non_exhaustive()
    }
}

impl PyRateControl {
    fn create(py: Python<'_>, control: &CustomControl, parameters: &Parameters) -> CallResult<Self> {
        let name = intern_text(control.name()).unwrap_or("class");
        let made = || -> PyResult<(Methods, Bound<'_, PyAny>)> {
            let keywords = PyDict::new(py);
            for (name, value) in control.arguments().unwrap_or_default() {
                match value {
                    Argument::Number(number) => keywords.set_item(name, number)?,
                    Argument::Flag(flag) => keywords.set_item(name, flag)?,
                }
            }
            let session = MediaSession {
                min_rate: parameters.range.0,
                max_rate: parameters.range.1,
                frame_rate: parameters.frame_rate,
                feedback: span(parameters.feedback),
                priority: parameters.priority,
                l4s: parameters.is_l4s,
            };
            let object = py_algorithms::constructor(py, name).bind(py).call((session,), Some(&keywords))?;
            Ok((Methods::bind(&object)?, object))
        };
        let (methods, object) = made().map_err(|error| raised(py, name, "__init__", Time::ZERO, error))?;
        let target = parameters.range.0;
        let decision = Decision { target, pacing: HEADROOM * target, window: None, probe: None };
        let format = Format::PerPacket;
        let mut new = Self { name, methods, format, range: parameters.range, decision, now: Time::ZERO };
        new.read_format(&object)?;
        new.read_decision(py, "__init__")?;
        Ok(new)
    }

    fn read_format(&mut self, object: &Bound<'_, PyAny>) -> CallResult<()> {
        let given = object.getattr_opt("report").map_err(|error| self.raised(object.py(), "report", error))?;
        let Some(given) = given else { return Ok(()) };
        self.format = match given.extract::<String>().as_deref() {
            Ok("rfc8888") => Format::PerPacket,
            Ok("transport-wide") => Format::TransportWide,
            _ => return Err(self.invalid(format!("report is {}", repr(&given)), "\"rfc8888\" or \"transport-wide\"")),
        };
        Ok(())
    }

    fn raised(&self, py: Python<'_>, method: &str, error: PyErr) -> Box<Failure> {
        raised(py, self.name, method, self.now, error)
    }

    fn invalid(&self, what: String, hint: &'static str) -> Box<Failure> {
        Box::new(Failure {
            name: self.name,
            what,
            hint,
            now: self.now,
            cause: None,
            rule: "no-panic",
            place: String::new(),
        })
    }

    /// The number that a method returns: above 0, at most `MAX_BPS`.
    fn returned(&self, py: Python<'_>, method: &Py<PyAny>, name: &str, after: &str) -> CallResult<Option<f64>> {
        let value = method.bind(py).call0().map_err(|error| self.raised(py, name, error))?;
        if value.is_none() {
            return Ok(None);
        }
        let valid = number(&value).filter(|number| *number > 0.0 && *number <= MAX_BPS);
        valid.map(Some).ok_or_else(|| {
            let what = format!("{name}() is {} after {after}", repr(&value));
            self.invalid(what, "it must return a number above 0 and at most 10^12")
        })
    }

    /// Reads the rates and the window after a call of `method`. The encoder keeps to its own range.
    fn read_decision(&mut self, py: Python<'_>, method: &str) -> CallResult<()> {
        let Some(target) = self.returned(py, &self.methods.target_rate, "target_rate", method)? else {
            let what = format!("target_rate() is None after {method}");
            return Err(self.invalid(what, "it must return the rate of the encoder, bit/s"));
        };
        self.decision.target = target.clamp(self.range.0, self.range.1);
        let optional = |given: &Option<Py<PyAny>>, name: &str| match given {
            Some(given) => self.returned(py, given, name, method),
            None => Ok(None),
        };
        let pacing = optional(&self.methods.pacing_rate, "pacing_rate")?;
        let window = optional(&self.methods.window, "window")?;
        self.decision.pacing = pacing.unwrap_or(HEADROOM * self.decision.target);
        self.decision.window = window.map(|bytes| Bytes(bytes as u64));
        Ok(())
    }

    /// Calls a method with an event, and reads the decision.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        name: &'static str,
        method: fn(&Methods) -> Option<&Py<PyAny>>,
        event: impl IntoPyObject<'py>,
    ) -> CallResult<()> {
        let Some(method) = method(&self.methods) else { return Ok(()) };
        method.bind(py).call1((event,)).map_err(|error| self.raised(py, name, error))?;
        self.read_decision(py, name)
    }

    fn feedback<'py>(py: Python<'py>, feedback: &Feedback, now: Time) -> PyResult<MediaFeedback> {
        let packet = |one: &PacketFeedback| MediaPacket {
            size: one.size.0,
            sent: seconds(one.sent),
            arrival: one.arrival.map(seconds),
            ce: one.is_marked,
        };
        let packets: Vec<Bound<'py, MediaPacket>> =
            feedback.packets.iter().map(|one| Bound::new(py, packet(one))).collect::<PyResult<_>>()?;
        Ok(MediaFeedback {
            now: seconds(now),
            rtt: feedback.rtt.map(span),
            in_flight: feedback.in_flight.0,
            packets: PyTuple::new(py, packets)?.unbind(),
        })
    }
}

fn or_fail<T>(done: CallResult<T>) -> T {
    done.unwrap_or_else(|failure| controller::fail(*failure))
}

impl RateControl for PyRateControl {
    fn format(&self) -> Format {
        self.format
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        if self.methods.on_sent.is_some() {
            self.now = packet.sent;
            let event = MediaSent { now: seconds(packet.sent), size: packet.size.0, in_flight: packet.in_flight.0 };
            or_fail(Python::attach(|py| self.call(py, "on_sent", |one| one.on_sent.as_ref(), event)));
        }
    }

    fn on_frame(&mut self, frame: &FrameInfo) {
        if self.methods.on_frame.is_some() {
            let &FrameInfo { size, expected, queue_delay } = frame;
            let event = MediaFrame { size: size.0, expected, queue_delay: span(queue_delay) };
            or_fail(Python::attach(|py| self.call(py, "on_frame", |one| one.on_frame.as_ref(), event)));
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback, now: Time) {
        self.now = now;
        or_fail(Python::attach(|py| {
            let event = Self::feedback(py, feedback, now).map_err(|error| self.raised(py, "on_feedback", error))?;
            self.call(py, "on_feedback", |one| Some(&one.on_feedback), event)
        }));
    }

    fn decision(&self, _buffered: Bytes) -> Decision {
        self.decision
    }
}

/// Adds the classes of the arguments, and lets flows of this process have classes as congestion controls for media.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<MediaFeedback>()?;
    module.add_class::<MediaFrame>()?;
    module.add_class::<MediaPacket>()?;
    module.add_class::<MediaSent>()?;
    module.add_class::<MediaSession>()?;
    custom::install(|control, parameters| {
        Box::new(or_fail(Python::attach(|py| PyRateControl::create(py, control, parameters))))
    });
    Ok(())
}
