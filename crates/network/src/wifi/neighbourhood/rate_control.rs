//! The mode of each transmission of a path.

use super::error_rate::table_per;
use super::minstrel::Minstrel;
use crate::wifi::phy::{Mode, RATES_MBPS};

/// Maximum packet error rate of 1458 bytes of the mode that [`RateControl::IdealOfdm`] and [`RateControl::IdealHt`] select:
/// a bit error rate of 10⁻⁶, as in ns-3's `IdealWifiManager`, gives 1 − (1 − 10⁻⁶)^(8 · 1458).
const IDEAL_PER: f64 = 0.011_596;

/// Rate adaptation of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateControl {
    /// A fixed mode.
    Fixed(Mode),
    /// The fastest rate of ERP-OFDM with a bit error rate of at most 10⁻⁶ without interference.
    IdealOfdm,
    /// The fastest HT mode with a bit error rate of at most 10⁻⁶ without interference.
    IdealHt {
        /// Spatial streams, 1 to 4.
        streams: u8,
        /// Guard interval of 400 ns.
        short_guard: bool,
    },
    /// Minstrel-HT over the rates of ERP-OFDM.
    MinstrelOfdm,
    /// Minstrel-HT over HT modes.
    MinstrelHt {
        /// Spatial streams, 1 to 4.
        streams: u8,
        /// Guard interval of 400 ns.
        short_guard: bool,
    },
}

impl RateControl {
    /// The modes to choose from, the slowest first.
    fn modes(self) -> Vec<Mode> {
        match self {
            Self::Fixed(mode) => vec![mode],
            Self::IdealOfdm | Self::MinstrelOfdm => RATES_MBPS.map(|mbps| Mode::Ofdm { bits: mbps * 4 }).to_vec(),
            Self::IdealHt { streams, short_guard } | Self::MinstrelHt { streams, short_guard } => {
                (0..8).map(|mcs| Mode::Ht { mcs, streams, short_guard }).collect()
            }
        }
    }

    /// The mode of all transmissions at a signal-to-noise ratio in dB, unless statistics select it.
    pub(super) fn constant(self, snr_db: f64) -> Option<Mode> {
        match self {
            Self::MinstrelOfdm | Self::MinstrelHt { .. } => None,
            Self::Fixed(mode) => Some(mode),
            _ => {
                let modes = self.modes();
                let fast = |mode: &&Mode| table_per(**mode, snr_db) <= IDEAL_PER;
                modes.iter().rfind(fast).or(modes.first()).copied()
            }
        }
    }

    /// The statistics of a path.
    pub(super) fn minstrel(self) -> Option<Minstrel> {
        matches!(self, Self::MinstrelOfdm | Self::MinstrelHt { .. }).then(|| Minstrel::new(self.modes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table's 1 % column: MCS 4 needs 13.6 dB and MCS 5 18.0 dB, less a margin for 1.16 %.
    #[test]
    fn the_ideal_mode_has_at_most_one_error_in_a_million_bits() {
        let ideal = RateControl::IdealHt { streams: 1, short_guard: false };
        let mcs = |snr| match ideal.constant(snr) {
            Some(Mode::Ht { mcs, .. }) => mcs,
            _ => 99,
        };
        assert_eq!([-5.0, 13.7, 17.7, 18.1, 30.0].map(mcs), [0, 4, 4, 5, 7]);
        assert_eq!(RateControl::IdealOfdm.constant(30.0), Some(Mode::Ofdm { bits: 216 }));
    }
}
