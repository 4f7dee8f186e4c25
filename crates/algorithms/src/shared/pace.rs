//! Pacing rates for windows of payload.
//!
//! A pacing rate counts payload (`CongestionControl::pacing_rate`), so `rate = w MSS / T` spreads w segments over T.

use cwndlab_control::Ack;
use cwndlab_units::Rate;

/// A window counts as spread when so much of it is out, or after so many rounds.
const USED: f64 = 0.9;
const ROUNDS: u64 = 4;

/// Spreads `w` segments of `mss` bytes over `ns`; `None` where the time is not known.
#[must_use]
pub fn over(w: f64, mss: f64, ns: u64) -> Option<Rate> {
    (ns > 0).then(|| Rate((w * mss * 8e9 / ns as f64) as u64))
}

/// The window `w` that was to be spread from `round` on is out, and begins to be acknowledged. A receiver's window may open
/// later than the first ACK comes: what it holds back is paced too.
#[must_use]
pub fn is_spread(ack: &Ack, w: f64, round: u64) -> bool {
    let used = ack.prior_in_flight.0 as f64 >= USED * w * ack.mss.0 as f64;
    ack.round > round && (used || ack.round > round + ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 100 segments of 1448 bytes in 100 ms are 11.584 Mbit/s of payload.
    #[test]
    fn a_window_is_spread_over_the_time() {
        assert_eq!(over(100.0, 1448.0, 100_000_000), Some(Rate(11_584_000)));
        assert_eq!(over(100.0, 1448.0, 0), None);
    }

    /// A hundred segments in flight: nine tenths of 111, not of 112, and not in the round of the jump itself.
    #[test]
    fn a_window_is_spread_when_it_is_out() {
        let mut ack = cwndlab_control::testing::ack(1);
        ack.round = 2;
        assert_eq!(
            [(111.0, 1), (112.0, 1), (111.0, 2)].map(|(w, round)| is_spread(&ack, w, round)),
            [true, false, false]
        );
        ack.round = 6;
        assert!(is_spread(&ack, 1e6, 1), "after four rounds all the same");
    }
}
