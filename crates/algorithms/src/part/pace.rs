//! Pacing rates for windows of payload.
//!
//! A transport paces what is on the wire: `rate = w (MSS + H) / T` spreads w segments over T. H = 52 bytes are the headers of
//! IPv4 and TCP with timestamps; what a link adds below them is not known here, and makes the spread by so much longer.

use cwndlab_units::Rate;

/// IPv4, TCP and the timestamps option, bytes.
const HEADER: f64 = 52.0;

/// Spreads `w` segments of `mss` bytes over `ns`; `None` where the time is not known.
#[must_use]
pub fn over(w: f64, mss: f64, ns: u64) -> Option<Rate> {
    (ns > 0).then(|| Rate((w * (mss + HEADER) * 8e9 / ns as f64) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 100 segments of 1448 + 52 bytes in 100 ms are 12 Mbit/s.
    #[test]
    fn a_window_is_spread_over_the_time_with_its_headers() {
        assert_eq!(over(100.0, 1448.0, 100_000_000), Some(Rate(12_000_000)));
        assert_eq!(over(100.0, 1448.0, 0), None);
    }
}
