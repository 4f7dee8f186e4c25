//! The mode of each transmission of a path.

use super::error_rate::table_per;
use crate::wifi::phy::Mode;

/// Maximum packet error rate of 1458 bytes of the mode that [`RateControl::Ideal`] selects: a bit error rate of 10⁻⁶, as in
/// ns-3's `IdealWifiManager`, gives 1 − (1 − 10⁻⁶)^(8 · 1458).
const IDEAL_PER: f64 = 0.011_596;

/// Rate adaptation of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateControl {
    /// The mode of the path.
    Fixed,
    /// The fastest mode of the same standard, streams and guard interval with a bit error rate of at most 10⁻⁶
    /// without interference.
    Ideal,
    /// By the acknowledged frames of each mode with the same guard interval and at most as many streams.
    Minstrel,
}

/// The fastest mode like `mode` at a signal-to-noise ratio in dB.
pub(super) fn ideal(mode: Mode, snr_db: f64) -> Mode {
    let modes = mode.alternatives(mode.streams());
    modes.iter().copied().rfind(|&mode| table_per(mode, snr_db) <= IDEAL_PER).unwrap_or(modes[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::phy::Format;

    /// The table's 1 % column: MCS 4 needs 13.6 dB and MCS 5 18.0 dB, less a margin for 1.16 %.
    #[test]
    fn the_ideal_mode_has_at_most_one_error_in_a_million_bits() {
        let mcs = |snr| match ideal(Mode::Ht { mcs: 7, streams: 1, short_guard: false, format: Format::HT20 }, snr) {
            Mode::Ht { mcs, .. } => mcs,
            _ => 99,
        };
        assert_eq!([-5.0, 13.7, 17.7, 18.1, 30.0].map(mcs), [0, 4, 4, 5, 7]);
        assert_eq!(ideal(Mode::Ofdm { bits: 24 }, 30.0), Mode::Ofdm { bits: 216 });
    }
}
