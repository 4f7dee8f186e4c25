//! Descriptions of events in reports.

use std::fmt::Write;

use cwndlab_control::{Ack, Cause, Change, Congestion, Path, Report, Window};
use cwndlab_units::{Bytes, Duration, Time};

/// Formats a number of bytes in segments.
pub(crate) fn segments(bytes: Bytes, mss: Bytes) -> String {
    let whole = bytes.0 / mss.0;
    let rest = bytes.0 % mss.0;
    if rest == 0 {
        return whole.to_string();
    }
    format!("{:.4}", bytes.0 as f64 / mss.0 as f64)
}

/// Formats a simulated time.
pub(crate) fn instant(now: Time) -> String {
    format!("{:.6} s", now.as_secs())
}

fn span(span: Duration) -> String {
    format!("{:.3} ms", span.as_millis())
}

/// Describes a report of an algorithm with this MSS.
pub(crate) fn report(report: &Report, mss: Bytes) -> String {
    match report {
        Report::Ack(one) => ack(one),
        Report::Congestion(one) => congestion(one),
        Report::Window(one) => window(one, mss),
        Report::Sent(sent) => {
            format!("{} B sent ({} B in flight)", sent.size.0, sent.in_flight.0)
        }
    }
}

/// Describes the creation of an algorithm.
pub(crate) fn creation(path: &Path) -> String {
    let start = path.initial_ssthresh.map_or("none".to_owned(), |bytes| segments(bytes, path.mss));
    format!("a new flow (window {}, ssthresh {start})", segments(path.initial_cwnd, path.mss))
}

fn ack(ack: &Ack) -> String {
    let rtt = ack.rtt.map_or("none".to_owned(), span);
    let mut text = format!(
        "an ACK of {} B (RTT {rtt}, min {}, {} segments in flight, round {}",
        ack.acked.0,
        span(ack.min_rtt),
        segments(ack.in_flight, ack.mss),
        ack.round
    );
    if ack.acks > 1 {
        let _ = write!(text, ", {} ACKs in one report", ack.acks);
    }
    if ack.lost.0 > 0 {
        let _ = write!(text, ", {} B lost", ack.lost.0);
    }
    if ack.ce.0 > 0 {
        let _ = write!(text, ", {} B marked", ack.ce.0);
    }
    for (is, what) in
        [(ack.app_limited, "app-limited"), (!ack.cwnd_limited, "window not used"), (ack.recovering, "recovering")]
    {
        if is {
            let _ = write!(text, ", {what}");
        }
    }
    text.push(')');
    text
}

/// Describes a congestion event.
pub(crate) fn congestion(event: &Congestion) -> String {
    let cause = match event.cause {
        Cause::Loss if event.restart => "a loss that restarts slow start",
        Cause::Loss => "a loss",
        Cause::Ecn => "an ECN echo",
        Cause::Timeout if event.repeated => "a repeated timeout",
        Cause::Timeout => "a timeout",
    };
    format!("{cause} ({} segments in flight)", segments(event.in_flight, event.mss))
}

fn window(window: &Window, mss: Bytes) -> String {
    let to = segments(window.cwnd, mss);
    match window.change {
        Change::Undo => "the last reduction is undone".to_owned(),
        Change::Idle => format!("after an idle time of {:.3} s the window restarts at {to}", window.idle.as_secs()),
        Change::Recovered => format!("recovery ended with a window of {to}"),
        Change::Established => {
            format!("the handshake is done (RTT {})", window.rtt.map_or("none".to_owned(), span))
        }
    }
}
