//! The mode of each transmission of a path.

use super::error_rate::table_per;
use crate::wifi::phy::{Mode, RATES_MBPS};

/// Maximum packet error rate of the mode that [`RateControl::IdealOfdm`] and [`RateControl::IdealHt`] select.
const IDEAL_PER: f64 = 0.1;

/// Rate adaptation of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateControl {
    /// A fixed mode.
    Fixed(Mode),
    /// The fastest rate of ERP-OFDM with an error rate of at most 10 % without interference.
    IdealOfdm,
    /// The fastest HT mode with an error rate of at most 10 % without interference.
    IdealHt {
        /// Spatial streams, 1 to 4.
        streams: u8,
        /// Guard interval of 400 ns.
        short_guard: bool,
    },
}

impl RateControl {
    /// The mode of the next transmission at a signal-to-noise ratio in dB.
    #[must_use]
    pub fn mode(self, snr_db: f64) -> Mode {
        let fast = |mode: &Mode| table_per(*mode, snr_db) <= IDEAL_PER;
        match self {
            Self::Fixed(mode) => mode,
            Self::IdealOfdm => {
                let modes = RATES_MBPS.map(|mbps| Mode::Ofdm { bits: mbps * 4 });
                modes.into_iter().rfind(fast).unwrap_or(modes[0])
            }
            Self::IdealHt { streams, short_guard } => {
                let mode = |mcs| Mode::Ht { mcs, streams, short_guard };
                (0..8).map(mode).rfind(fast).unwrap_or_else(|| mode(0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table's 10 % column: MCS 4 needs 12.8 dB and MCS 5 17.0 dB.
    #[test]
    fn the_ideal_mode_has_at_most_ten_percent_errors() {
        let ideal = RateControl::IdealHt { streams: 1, short_guard: false };
        let mcs = |snr| match ideal.mode(snr) {
            Mode::Ht { mcs, .. } => mcs,
            Mode::Ofdm { .. } => 99,
        };
        assert_eq!([-5.0, 12.9, 16.9, 17.1, 30.0].map(mcs), [0, 4, 4, 5, 7]);
        assert_eq!(RateControl::IdealOfdm.mode(30.0), Mode::Ofdm { bits: 216 });
    }
}
