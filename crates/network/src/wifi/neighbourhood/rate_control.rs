//! The mode of each transmission of a path.

use super::error_rate::table_per;
use crate::wifi::phy::Mode;

/// Maximum packet error rate of the mode that [`RateControl::Ideal`] selects.
const IDEAL_PER: f64 = 0.1;

/// Rate adaptation of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateControl {
    /// The mode of the path.
    Fixed,
    /// The fastest mode of the same standard, streams and guard interval with an error rate of at most 10 % without
    /// interference.
    Ideal,
    /// By the acknowledged frames of each mode with the same guard interval and at most as many streams.
    Minstrel,
}

/// The fastest mode like `mode` at a signal-to-noise ratio in dB.
pub(super) fn ideal(mode: Mode, snr_db: f64) -> Mode {
    let streams = match mode {
        Mode::Ofdm { .. } => 1,
        Mode::Ht { streams, .. } => streams,
    };
    let modes = mode.alternatives(streams);
    modes.iter().copied().rfind(|&mode| table_per(mode, snr_db) <= IDEAL_PER).unwrap_or(modes[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::phy::Format;

    /// The table's 10 % column: MCS 4 needs 12.8 dB and MCS 5 17.0 dB.
    #[test]
    fn the_ideal_mode_has_at_most_ten_percent_errors() {
        let mcs = |snr| match ideal(Mode::Ht { mcs: 7, streams: 1, short_guard: false, format: Format::HT20 }, snr) {
            Mode::Ht { mcs, .. } => mcs,
            Mode::Ofdm { .. } => 99,
        };
        assert_eq!([-5.0, 12.9, 16.9, 17.1, 30.0].map(mcs), [0, 4, 4, 5, 7]);
        assert_eq!(ideal(Mode::Ofdm { bits: 24 }, 30.0), Mode::Ofdm { bits: 216 });
    }
}
