//! Pacing rates for windows of payload.
//!
//! A pacing rate counts payload (`CongestionControl::pacing_rate`), so `rate = w MSS / T` spreads w segments over T.

use cwndlab_control::Ack;
use cwndlab_units::Rate;

/// The window counts as sent when this fraction of it is in flight, or after this number of rounds.
const USED: f64 = 0.9;
const ROUNDS: u64 = 4;

/// The rate that spreads `w` segments of `mss` bytes over `ns` nanoseconds; `None` for a time of zero.
#[must_use]
pub fn over(w: f64, mss: f64, ns: u64) -> Option<Rate> {
    (ns > 0).then(|| Rate((w * mss * 8e9 / ns as f64) as u64))
}

/// Whether the window `w`, paced from `round` on, has been sent and is being acknowledged. A receive window may open
/// after the first ACK; the segments that it delays are paced too.
#[must_use]
pub fn is_spread(ack: &Ack, w: f64, round: u64) -> bool {
    // No margin: the number of rounds is limited.
    let used = ack.prior_in_flight.0 as f64 >= USED * w * ack.mss.0 as f64;
    ack.round > round && (used || ack.round > round + ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 100 segments of 1448 bytes in 100 ms are 11.584 Mbit/s of payload.
    #[test]
    fn the_rate_spreads_a_window_over_the_time() {
        assert_eq!(over(100.0, 1448.0, 100_000_000), Some(Rate(11_584_000)));
        assert_eq!(over(100.0, 1448.0, 0), None);
    }

    /// A hundred segments in flight are nine tenths of 111, but not of 112; the round of the jump itself does not
    /// count.
    #[test]
    fn pacing_ends_when_the_window_is_in_flight() {
        let mut ack = cwndlab_control::testing::ack(1);
        ack.round = 2;
        assert_eq!(
            [(111.0, 1), (112.0, 1), (111.0, 2)].map(|(w, round)| is_spread(&ack, w, round)),
            [true, false, false]
        );
        ack.round = 6;
        assert!(is_spread(&ack, 1e6, 1), "after four rounds in any case");
    }
}
