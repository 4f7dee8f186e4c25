//! The events of the contract as Python classes, with data in segments, times in seconds and rates in segments per
//! second.

use cwndlab_control as control;
use cwndlab_control::{Cause, Change};
use cwndlab_units::{Bytes, Rate};
use pyo3::prelude::*;

/// Bytes as segments.
#[must_use]
pub fn segments(bytes: Bytes, mss: Bytes) -> f64 {
    bytes.0 as f64 / mss.0 as f64
}

/// Nanoseconds as seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn per_second(rate: Rate, mss: Bytes) -> f64 {
    rate.0 as f64 / (8.0 * mss.0 as f64)
}

/// The representation of a value in Python (`repr`).
trait PythonRepr {
    fn python_repr(&self) -> String;
}

macro_rules! python_repr {
    ($($type:ty: $one:ident => $text:expr;)*) => {
        $(impl PythonRepr for $type {
            fn python_repr(&self) -> String {
                let $one = self;
                $text
            }
        })*
    };
}

python_repr! {
    f64: one => format!("{one:?}");
    u64: one => one.to_string();
    u32: one => one.to_string();
    bool: one => if *one { "True" } else { "False" }.to_owned();
    &'static str: one => format!("'{one}'");
}

impl<T: PythonRepr> PythonRepr for Option<T> {
    fn python_repr(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), PythonRepr::python_repr)
    }
}

/// Declares a class whose attributes are computed when they are read.
macro_rules! event {
    ($(#[$doc:meta])* $name:ident($($field:ident: $type:ty),* $(,)?) { $($(#[$about:meta])* $attribute:ident: $value_type:ty = |$one:ident| $value:expr;)* }) => {
        $(#[$doc])*
        #[pyclass(module = "cwndlab._engine")]
        pub struct $name {
            $(#[doc = "The value of the contract."] pub $field: $type),*
        }

        #[pymethods]
        impl $name {
            $(
                $(#[$about])*
                #[getter]
                fn $attribute(&self) -> $value_type {
                    let $one = self;
                    $value
                }
            )*

            fn __repr__(&self) -> String {
                self.python_repr()
            }

            /// Returns the object itself, which is immutable, so that copies of an algorithm share it.
            fn __deepcopy__<'py>(this: PyRef<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyRef<'py, Self> {
                this
            }
        }

        impl PythonRepr for $name {
            fn python_repr(&self) -> String {
                let attributes = [$(format!(concat!(stringify!($attribute), "={}"), self.$attribute().python_repr())),*];
                format!(concat!(stringify!($name), "({})"), attributes.join(", "))
            }
        }
    };
}

event! {
    /// The initial parameters of a flow's path.
    Path(raw: control::Path) {
        /// Payload of a full segment, bytes.
        mss: u64 = |one| one.raw.mss.0;
        /// Initial window, segments.
        initial_cwnd: f64 = |one| segments(one.raw.initial_cwnd, one.raw.mss);
        /// Initial slow-start threshold, segments; infinite without a limit.
        initial_ssthresh: f64 = |one| one.raw.initial_ssthresh.map_or(f64::INFINITY, |bytes| segments(bytes, one.raw.mss));
        /// The transport paces its segments.
        paced: bool = |one| one.raw.paced;
        /// Seed of the flow's random stream.
        seed: u64 = |one| one.raw.seed;
    }
}

event! {
    /// A delivery-rate sample.
    DeliveryRate(raw: control::DeliveryRate, mss: Bytes) {
        /// Segments per second.
        rate: f64 = |one| per_second(one.raw.rate(), one.mss);
        /// Segments delivered in the interval.
        delivered: f64 = |one| segments(one.raw.delivered, one.mss);
        /// Length of the sample, s: the longer of the send and the ACK interval.
        interval: f64 = |one| seconds(one.raw.interval.as_nanos());
        /// `Ack.delivered` at the time when the acknowledged segment was sent.
        prior_delivered: f64 = |one| segments(one.raw.prior_delivered, one.mss);
        /// The sender was application-limited when the segment was sent.
        app_limited: bool = |one| one.raw.app_limited;
    }
}

event! {
    /// An acknowledgement, or several that are reported together.
    Ack(raw: control::Ack) {
        /// Time of the event, s.
        now: f64 = |one| seconds(one.raw.now.as_nanos());
        /// Payload of a full segment, bytes.
        mss: u64 = |one| one.raw.mss.0;
        /// Segments newly acknowledged, cumulatively or by SACK.
        acked: f64 = |one| segments(one.raw.acked, one.raw.mss);
        /// Number of ACK packets in this report.
        acks: u32 = |one| one.raw.acks;
        /// Time between the first and the last of these ACK packets, s.
        interval: f64 = |one| seconds(one.raw.interval.as_nanos());
        /// Segments in flight before this report.
        prior_in_flight: f64 = |one| segments(one.raw.prior_in_flight, one.raw.mss);
        /// Segments in flight after this report.
        in_flight: f64 = |one| segments(one.raw.in_flight, one.raw.mss);
        /// Segments newly marked lost since the last report.
        lost: f64 = |one| segments(one.raw.lost, one.raw.mss);
        /// Last RTT sample, s; `None` where Karn's algorithm forbids one.
        rtt: Option<f64> = |one| one.raw.rtt.map(|rtt| seconds(rtt.as_nanos()));
        /// Smoothed RTT (RFC 6298), s; 0 before the first sample.
        srtt: f64 = |one| seconds(one.raw.srtt.as_nanos());
        /// Minimum RTT of the last 300 s, s; 0 before the first sample.
        min_rtt: f64 = |one| seconds(one.raw.min_rtt.as_nanos());
        /// Delivery-rate sample, as in Linux.
        delivery_rate: Option<DeliveryRate> = |one| one.raw.delivery_rate.map(|raw| DeliveryRate { raw, mss: one.raw.mss });
        /// Segments delivered so far.
        delivered: f64 = |one| segments(one.raw.delivered, one.raw.mss);
        /// Newly acknowledged segments that arrived with a CE mark.
        ce: f64 = |one| segments(one.raw.ce, one.raw.mss);
        /// The sender is application-limited.
        app_limited: bool = |one| one.raw.app_limited;
        /// The window limited the sender: increase it only then.
        cwnd_limited: bool = |one| one.raw.cwnd_limited;
        /// A loss is being repaired: until its end the transport sets the window.
        recovering: bool = |one| one.raw.recovering;
        /// Round trips since the start.
        round: u64 = |one| one.raw.round;
    }
}

event! {
    /// A congestion event.
    Congestion(raw: control::Congestion) {
        /// Time of the event, s.
        now: f64 = |one| seconds(one.raw.now.as_nanos());
        /// Payload of a full segment, bytes.
        mss: u64 = |one| one.raw.mss.0;
        /// `"loss"`, `"ecn"` or `"timeout"`.
        cause: &'static str = |one| match one.raw.cause {
            Cause::Loss => "loss",
            Cause::Ecn => "ecn",
            Cause::Timeout => "timeout",
        };
        /// The window is set to one segment and slow start restarts: a timeout, or Tahoe.
        restart: bool = |one| one.raw.restart;
        /// The timer expired again for the same segment: `ssthresh` remains (RFC 5681, section 3.1).
        repeated: bool = |one| one.raw.repeated;
        /// FlightSize before the event, segments.
        in_flight: f64 = |one| segments(one.raw.in_flight, one.raw.mss);
        /// Segments newly marked lost.
        lost: f64 = |one| segments(one.raw.lost, one.raw.mss);
        /// Smoothed RTT, s.
        srtt: f64 = |one| seconds(one.raw.srtt.as_nanos());
        /// Minimum RTT, s.
        min_rtt: f64 = |one| seconds(one.raw.min_rtt.as_nanos());
        /// Round trips since the start.
        round: u64 = |one| one.raw.round;
    }
}

event! {
    /// A change of the window by the transport.
    Window(raw: control::Window, mss: Bytes) {
        /// Time of the event, s.
        now: f64 = |one| seconds(one.raw.now.as_nanos());
        /// `"idle"`, `"recovered"` or `"established"`. An undo restores an object without a report; a decision in its place
        /// receives `"undo"`.
        change: &'static str = |one| change(one.raw.change);
        /// The new window, segments.
        cwnd: f64 = |one| segments(one.raw.cwnd, one.mss);
        /// Minimum of the slow-start threshold, segments, for `"idle"`: three quarters of the window before; `None` where
        /// the stack keeps the threshold.
        ssthresh: Option<f64> = |one| one.raw.ssthresh.map(|bytes| segments(bytes, one.mss));
        /// Length of the idle period, s.
        idle: f64 = |one| seconds(one.raw.idle.as_nanos());
        /// RTT of the handshake, s, for `"established"`.
        rtt: Option<f64> = |one| one.raw.rtt.map(|rtt| seconds(rtt.as_nanos()));
    }
}

fn change(change: Change) -> &'static str {
    match change {
        Change::Undo => "undo",
        Change::Idle => "idle",
        Change::Recovered => "recovered",
        Change::Established => "established",
    }
}

event! {
    /// A segment that is sent.
    Sent(raw: control::Sent, mss: Bytes) {
        /// Time of the event, s.
        now: f64 = |one| seconds(one.raw.now.as_nanos());
        /// Payload, segments.
        size: f64 = |one| segments(one.raw.size, one.mss);
        /// Segments in flight, this one included.
        in_flight: f64 = |one| segments(one.raw.in_flight, one.mss);
        /// The segment is a retransmission.
        retransmission: bool = |one| one.raw.retransmission;
        /// The sender is application-limited.
        app_limited: bool = |one| one.raw.app_limited;
    }
}
