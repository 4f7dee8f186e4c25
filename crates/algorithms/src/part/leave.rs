//! How slow starts with a threshold of their own leave, and what they put into the records.
//!
//! Two remarks: `ssthresh` when a threshold above the window is set, `slow-start-exit` when the window gets there.

use cwndlab_control::{Ack, Exit, Note};

/// Leaves at window `w`. `pipe` is what the module held it against, segments; NaN where there is nothing.
#[must_use]
pub fn now(reason: &'static str, w: f64, pipe: f64) -> Exit {
    Exit { ssthresh: w, note: Note { what: "slow-start-exit", reason, cwnd_segments: w, pipe_segments: pipe } }
}

/// Sets the threshold; slow start goes on up to it, or ends now where the window is there.
#[must_use]
pub fn at(reason: &'static str, w: f64, ssthresh: f64) -> Exit {
    let what = if ssthresh > w { "ssthresh" } else { "slow-start-exit" };
    Exit { ssthresh, note: Note { what, reason, cwnd_segments: w, pipe_segments: ssthresh } }
}

/// Leaves the remark where this ACK takes the window to the threshold.
#[inline]
pub fn arrive(ack: &Ack, reason: &'static str, w: f64, grow: f64, ssthresh: f64) {
    if w + grow >= ssthresh && ack.cwnd_limited && !ack.recovering {
        ack.note.set(Some(Note { what: "slow-start-exit", reason, cwnd_segments: ssthresh, pipe_segments: ssthresh }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack;

    /// A threshold of 20 at a window of 19.5: half a segment does not reach it quietly, it is remarked.
    #[test]
    fn the_remark_comes_with_the_ack_that_reaches_the_threshold() {
        assert_eq!(
            (at("pair", 10.0, 20.0).note.what, at("pair", 30.0, 20.0).note.what),
            ("ssthresh", "slow-start-exit")
        );
        let ack = ack(1);
        arrive(&ack, "pair", 19.5, 0.25, 20.0);
        assert_eq!(ack.note.get(), None);
        arrive(&ack, "pair", 19.5, 0.5, 20.0);
        assert_eq!(ack.note.get().map(|note| note.cwnd_segments), Some(20.0));
    }
}
