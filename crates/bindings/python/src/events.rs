//! What an algorithm in Python is told: the events of the contract, amounts in segments, times in seconds, rates in
//! segments per second.

use cwndlab_control as control;
use cwndlab_control::{Cause, Change};
use cwndlab_units::{Bytes, Rate};
use pyo3::prelude::*;

/// Bytes as segments.
pub(crate) fn segments(bytes: Bytes, mss: Bytes) -> f64 {
    bytes.0 as f64 / mss.0 as f64
}

/// Nanoseconds as seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn per_second(rate: Rate, mss: Bytes) -> f64 {
    rate.0 as f64 / (8.0 * mss.0 as f64)
}

/// As Python writes it.
trait Shown {
    fn shown(&self) -> String;
}

macro_rules! shown {
    ($($type:ty: $one:ident => $text:expr;)*) => {
        $(impl Shown for $type {
            fn shown(&self) -> String {
                let $one = self;
                $text
            }
        })*
    };
}

shown! {
    f64: one => format!("{one:?}");
    u64: one => one.to_string();
    u32: one => one.to_string();
    bool: one => if *one { "True" } else { "False" }.to_owned();
    &'static str: one => format!("'{one}'");
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), Shown::shown)
    }
}

/// A class whose attributes are computed when they are read.
macro_rules! event {
    ($(#[$doc:meta])* $name:ident($($field:ident: $type:ty),* $(,)?) { $($(#[$about:meta])* $attribute:ident: $answer:ty = |$one:ident| $value:expr;)* }) => {
        $(#[$doc])*
        #[pyclass(module = "cwndlab._engine")]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }

        #[pymethods]
        impl $name {
            $(
                $(#[$about])*
                #[getter]
                fn $attribute(&self) -> $answer {
                    let $one = self;
                    $value
                }
            )*

            fn __repr__(&self) -> String {
                self.shown()
            }

            /// It never changes, so a copy of an object that keeps it may share it.
            fn __deepcopy__<'py>(this: PyRef<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyRef<'py, Self> {
                this
            }
        }

        impl Shown for $name {
            fn shown(&self) -> String {
                let attributes = [$(format!(concat!(stringify!($attribute), "={}"), self.$attribute().shown())),*];
                format!(concat!(stringify!($name), "({})"), attributes.join(", "))
            }
        }
    };
}

event! {
    /// What is known of the path when a flow begins.
    Path(raw: control::Path) {
        /// Payload of a full segment, bytes.
        mss: u64 = |one| one.raw.mss.0;
        /// Initial window.
        initial_cwnd: f64 = |one| segments(one.raw.initial_cwnd, one.raw.mss);
        /// Initial slow-start threshold; infinite where there is none.
        initial_ssthresh: f64 = |one| one.raw.initial_ssthresh.map_or(f64::INFINITY, |bytes| segments(bytes, one.raw.mss));
        /// The transport paces what it sends.
        paced: bool = |one| one.raw.paced;
        /// Seed of the flow's own chance.
        seed: u64 = |one| one.raw.seed;
    }
}

event! {
    /// A delivery-rate sample.
    DeliveryRate(raw: control::DeliveryRate, mss: Bytes) {
        /// Segments per second.
        rate: f64 = |one| per_second(one.raw.rate(), one.mss);
        /// What was delivered over the sample.
        delivered: f64 = |one| segments(one.raw.delivered, one.mss);
        /// The longer of the send and the ACK interval.
        interval: f64 = |one| seconds(one.raw.interval.0);
        /// `Ack.delivered` when the sample's segment was sent.
        prior_delivered: f64 = |one| segments(one.raw.prior_delivered, one.mss);
        /// The sender was short of data when the segment was sent.
        app_limited: bool = |one| one.raw.app_limited;
    }
}

event! {
    /// One acknowledgement, or several that are reported together.
    Ack(raw: control::Ack) {
        /// Now.
        now: f64 = |one| seconds(one.raw.now.0);
        /// Payload of a full segment, bytes.
        mss: u64 = |one| one.raw.mss.0;
        /// Newly acknowledged, cumulatively or by SACK.
        acked: f64 = |one| segments(one.raw.acked, one.raw.mss);
        /// How many ACK packets this reports.
        acks: u32 = |one| one.raw.acks;
        /// Time between the first and the last of them.
        interval: f64 = |one| seconds(one.raw.interval.0);
        /// In flight before this.
        prior_in_flight: f64 = |one| segments(one.raw.prior_in_flight, one.raw.mss);
        /// In flight after this.
        in_flight: f64 = |one| segments(one.raw.in_flight, one.raw.mss);
        /// Newly marked lost since the last report.
        lost: f64 = |one| segments(one.raw.lost, one.raw.mss);
        /// Last round-trip sample; none where Karn's rule forbids one.
        rtt: Option<f64> = |one| one.raw.rtt.map(|rtt| seconds(rtt.0));
        /// Smoothed round-trip time (RFC 6298); 0 before the first sample.
        srtt: f64 = |one| seconds(one.raw.srtt.0);
        /// Smallest round-trip time of the last 300 s; 0 before the first sample.
        min_rtt: f64 = |one| seconds(one.raw.min_rtt.0);
        /// Delivery-rate sample, as Linux takes it.
        delivery_rate: Option<DeliveryRate> = |one| one.raw.delivery_rate.map(|raw| DeliveryRate { raw, mss: one.raw.mss });
        /// Delivered so far.
        delivered: f64 = |one| segments(one.raw.delivered, one.raw.mss);
        /// Newly acknowledged that arrived with a CE mark.
        ce: f64 = |one| segments(one.raw.ce, one.raw.mss);
        /// The sender had nothing to send.
        app_limited: bool = |one| one.raw.app_limited;
        /// The window was what held the sender: grow only then.
        cwnd_limited: bool = |one| one.raw.cwnd_limited;
        /// A loss is being repaired: the transport owns the window until it is.
        recovering: bool = |one| one.raw.recovering;
        /// Round trips since the start.
        round: u64 = |one| one.raw.round;
    }
}

event! {
    /// A congestion event.
    Congestion(raw: control::Congestion) {
        /// Now.
        now: f64 = |one| seconds(one.raw.now.0);
        /// Payload of a full segment, bytes.
        mss: u64 = |one| one.raw.mss.0;
        /// `"loss"`, `"ecn"` or `"timeout"`.
        cause: &'static str = |one| match one.raw.cause {
            Cause::Loss => "loss",
            Cause::Ecn => "ecn",
            Cause::Timeout => "timeout",
        };
        /// The window goes to one segment and slow start begins again: a timeout, or Tahoe.
        restart: bool = |one| one.raw.restart;
        /// The timer expired again for the same segment: `ssthresh` stays (RFC 5681, section 3.1).
        repeated: bool = |one| one.raw.repeated;
        /// FlightSize before the event.
        in_flight: f64 = |one| segments(one.raw.in_flight, one.raw.mss);
        /// Newly marked lost.
        lost: f64 = |one| segments(one.raw.lost, one.raw.mss);
        /// Smoothed round-trip time.
        srtt: f64 = |one| seconds(one.raw.srtt.0);
        /// Smallest round-trip time.
        min_rtt: f64 = |one| seconds(one.raw.min_rtt.0);
        /// Round trips since the start.
        round: u64 = |one| one.raw.round;
    }
}

event! {
    /// The window as the transport changed it.
    Window(raw: control::Window, mss: Bytes) {
        /// Now.
        now: f64 = |one| seconds(one.raw.now.0);
        /// `"idle"`, `"recovered"` or `"established"`; an undo restores the object without a report.
        change: &'static str = |one| change(one.raw.change);
        /// The new window.
        cwnd: f64 = |one| segments(one.raw.cwnd, one.mss);
        /// How long the flow was idle.
        idle: f64 = |one| seconds(one.raw.idle.0);
        /// Round-trip time of the handshake, for `"established"`.
        rtt: Option<f64> = |one| one.raw.rtt.map(|rtt| seconds(rtt.0));
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
    /// A segment that leaves.
    Sent(raw: control::Sent, mss: Bytes) {
        /// Now.
        now: f64 = |one| seconds(one.raw.now.0);
        /// Its payload.
        size: f64 = |one| segments(one.raw.size, one.mss);
        /// In flight, this one included.
        in_flight: f64 = |one| segments(one.raw.in_flight, one.mss);
        /// It was sent before.
        retransmission: bool = |one| one.raw.retransmission;
        /// The sender was short of data.
        app_limited: bool = |one| one.raw.app_limited;
    }
}
