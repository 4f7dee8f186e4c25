//! The exit of slow starts that set ssthresh themselves, and its events.
//!
//! Two events: `ssthresh` when a threshold above the window is set, `slow-start-exit` when the window reaches it.

use cwndlab_control::{Ack, Event, EventKind, Exit, Reason};

/// Ends slow start at window `w`. `pipe` is the value compared with the window, segments; NaN where there is none.
#[must_use]
pub fn now(reason: Reason, w: f64, pipe: f64) -> Exit {
    Exit { ssthresh: w, event: Event::new(EventKind::SlowStartExit, reason, w).against(pipe) }
}

/// Sets the threshold. Slow start continues up to it, or ends now where the window has reached it.
#[must_use]
pub fn at(reason: Reason, w: f64, ssthresh: f64) -> Exit {
    let kind = if ssthresh > w { EventKind::ThresholdSet } else { EventKind::SlowStartExit };
    Exit { ssthresh, event: Event::new(kind, reason, w).against(ssthresh) }
}

/// The event of the exit, where this ACK raises the window to the threshold. Without a margin: the composition adds and
/// compares in the same way, and a window below the threshold rises with the next ACK.
#[inline]
#[must_use]
pub fn arrive(ack: &Ack, reason: Reason, w: f64, grow: f64, ssthresh: f64) -> Option<Event> {
    (w + grow >= ssthresh && ack.cwnd_limited && !ack.recovering)
        .then(|| Event::new(EventKind::SlowStartExit, reason, ssthresh).against(ssthresh))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;

    /// By hand: from a window of 19.5 a quarter of a segment does not reach a threshold of 20, half a segment does.
    #[test]
    fn the_exit_is_with_the_ack_that_reaches_the_threshold() {
        assert_eq!(
            (at(Reason::Pair, 10.0, 20.0).event.kind, at(Reason::Pair, 30.0, 20.0).event.kind),
            (EventKind::ThresholdSet, EventKind::SlowStartExit)
        );
        let ack = ack(1);
        assert_eq!(arrive(&ack, Reason::Pair, 19.5, 0.25, 20.0), None);
        let event = arrive(&ack, Reason::Pair, 19.5, 0.5, 20.0);
        assert_eq!(event.map(|event| event.cwnd_segments), Some(20.0));
    }
}
