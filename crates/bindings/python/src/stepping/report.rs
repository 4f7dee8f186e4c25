//! The report before a decision as a row of numbers.

use cwndlab_learned::{Action, Cause, Report};
use cwndlab_units::Duration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The columns of a report. Times in seconds, amounts in segments, rates in segments per second; NaN where there is no
/// value.
pub(crate) const FIELDS: [&str; 22] = [
    "done",
    "flow",
    "time",
    "cause",
    "duration",
    "sent",
    "acked",
    "lost",
    "marked",
    "rtt_mean",
    "rtt_min",
    "rtt_last",
    "rtt_slope",
    "srtt",
    "min_rtt",
    "delivery_rate",
    "cwnd",
    "pacing_rate",
    "in_flight",
    "delivered",
    "app_limited",
    "recovering",
];

/// The names of the columns of a report.
#[pyfunction]
pub(crate) fn decision_fields() -> Vec<&'static str> {
    FIELDS.to_vec()
}

/// The name of a cause.
pub(crate) fn cause(py: Python<'_>, cause: Cause) -> &Bound<'_, PyString> {
    match cause {
        Cause::Interval => intern!(py, "interval"),
        Cause::Ack => intern!(py, "ack"),
        Cause::Loss => intern!(py, "loss"),
        Cause::Timeout => intern!(py, "timeout"),
        Cause::Window => intern!(py, "window"),
    }
}

/// The row of a report.
pub(crate) fn row(flow: usize, report: &Report) -> [f64; FIELDS.len()] {
    let segments = |bytes| report.segments(bytes);
    let seconds = |duration: Duration| duration.as_nanos() as f64 / 1e9;
    let interval = &report.interval;
    let cause = match report.cause {
        Cause::Interval => 0.0,
        Cause::Ack => 1.0,
        Cause::Loss => 2.0,
        Cause::Timeout => 3.0,
        Cause::Window => 4.0,
    };
    [
        0.0,
        flow as f64,
        report.now.as_nanos() as f64 / 1e9,
        cause,
        report.duration_s(),
        segments(interval.sent),
        segments(interval.acked),
        segments(interval.lost),
        segments(interval.marked),
        interval.rtt_mean(),
        interval.rtt_min.map_or(f64::NAN, seconds),
        interval.rtt_last.map_or(f64::NAN, seconds),
        interval.rtt_slope(),
        report.srtt_s(),
        report.min_rtt_s(),
        interval.delivery_rate.map_or(f64::NAN, |rate| report.per_s(rate.rate())),
        segments(report.cwnd),
        report.pacing_per_s(),
        segments(report.in_flight),
        segments(report.delivered),
        f64::from(report.app_limited),
        f64::from(report.recovering),
    ]
}

/// The row at the end of a run.
pub(crate) fn last_row(time_s: f64) -> [f64; FIELDS.len()] {
    let mut row = [f64::NAN; FIELDS.len()];
    (row[0], row[2]) = (1.0, time_s);
    row
}

/// The action of a window and a pacing rate, segments and segments per second; NaN keeps them, and an infinite rate is
/// none.
pub(crate) fn action(cwnd: f64, pacing: f64) -> Action {
    Action {
        cwnd: (!cwnd.is_nan()).then_some(cwnd),
        pacing: (!pacing.is_nan()).then(|| pacing.is_finite().then_some(pacing)),
        ..Action::default()
    }
}
