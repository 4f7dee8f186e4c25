//! Positions, channels, and the received power between every two stations.
//!
//! Sources: path loss, thresholds and noise of ns-3 (`LogDistancePropagationLossModel`, `ThresholdPreambleDetectionModel`,
//! `SimpleFrameCaptureModel`, `WifiPhy`); energy detection of IEEE 802.11-2016, 17.3.10.6. Units: dBm, dB, mW, metres.

use cwndlab_units::maths::{ln, pow, sqrt};
use cwndlab_units::Duration;

/// Minimum power of a detected preamble, dBm.
pub const PREAMBLE_DBM: f64 = -82.0;
/// Minimum signal-to-noise ratio of a detected preamble: 4 dB.
pub const PREAMBLE_SNR: f64 = 2.511_886_431_509_580_6;
/// Energy detection: total power at which the channel is busy, dBm, if no preamble was detected.
pub const ENERGY_DBM: f64 = -62.0;
/// A preamble this much stronger than the frame in reception replaces it: 5 dB.
pub const CAPTURE_RATIO: f64 = 3.162_277_660_168_379_5;
/// Time after the start of a frame within which a stronger one replaces it: ns-3's capture window.
pub const CAPTURE_WINDOW: Duration = Duration::from_micros(16);
/// Thermal noise of −101 dBm in 20 MHz and a noise figure of 7 dB.
pub const NOISE_20_MHZ_DBM: f64 = -94.0;
/// Signals are ignored if they are this much below the noise floor, dB.
const IGNORED_DB: f64 = 20.0;
/// Share of the power in a 20 MHz filter, by the distance of 2.4 GHz channel numbers: the OFDM spectral mask.
const MASK: [f64; 6] = [1.0, 0.77, 0.50, 0.24, 0.005, 0.001];

/// Power in mW.
#[must_use]
pub fn milliwatts(dbm: f64) -> f64 {
    pow(10.0, dbm / 10.0)
}

/// A ratio or a power in mW, in dB or dBm.
#[must_use]
pub fn decibels(ratio: f64) -> f64 {
    10.0 * ln(ratio) / std::f64::consts::LN_10
}

/// Log-distance path loss: L = L0 + 10 n log10(d).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss {
    /// Loss at 1 m, dB: L0.
    pub at_1_m_db: f64,
    /// Exponent n.
    pub exponent: f64,
}

impl PathLoss {
    /// 2.4 GHz: free space up to 1 m, and ns-3's exponent of 3.
    pub const AT_2_4_GHZ: Self = Self { at_1_m_db: 40.05, exponent: 3.0 };
    /// 5.15 GHz: ns-3's default.
    pub const AT_5_GHZ: Self = Self { at_1_m_db: 46.68, exponent: 3.0 };

    /// Loss at a distance in metres, dB; below 1 m it is that at 1 m.
    #[must_use]
    pub fn db(&self, metres: f64) -> f64 {
        self.at_1_m_db + self.exponent * decibels(metres.max(1.0))
    }

    /// Distance of two positions.
    #[must_use]
    pub fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
        let (x, y) = (a[0] - b[0], a[1] - b[1]);
        sqrt(x * x + y * y)
    }

    /// Received power in dBm, by sender and receiver, from positions in metres and transmit powers in dBm.
    #[must_use]
    pub fn powers(&self, positions: &[[f64; 2]], transmit_dbm: &[f64]) -> Vec<Vec<f64>> {
        let row =
            |(&a, dbm): (&[f64; 2], &f64)| positions.iter().map(|&b| dbm - self.db(Self::distance(a, b))).collect();
        positions.iter().zip(transmit_dbm).map(row).collect()
    }
}

/// The channel of an access point and its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Channel number of the centre frequency; up to 13 in the 2.4 GHz band, in steps of 5 MHz.
    pub number: u32,
    /// Width, MHz.
    pub width_mhz: u32,
}

impl Channel {
    /// Noise floor, dBm.
    #[must_use]
    pub fn noise_dbm(self) -> f64 {
        NOISE_20_MHZ_DBM + decibels(f64::from(self.width_mhz) / 20.0)
    }

    /// Share of the power of a signal on this channel that a receiver on `other` gets. In the 2.4 GHz band it follows the
    /// spectral mask; in the 5 GHz band it is the share of the spectrum in common.
    #[must_use]
    pub fn overlap(self, other: Self) -> f64 {
        let distance = self.number.abs_diff(other.number);
        match (self.number <= 13, other.number <= 13) {
            (true, true) => MASK.get(distance as usize).copied().unwrap_or(0.0),
            (false, false) => {
                let common = f64::from(self.width_mhz + other.width_mhz) / 2.0 - 5.0 * f64::from(distance);
                let narrower = f64::from(self.width_mhz.min(other.width_mhz));
                common.clamp(0.0, narrower) / f64::from(self.width_mhz)
            }
            _ => 0.0,
        }
    }
}

/// Powers and channels of all stations.
#[derive(Clone, Debug)]
pub struct Radio {
    /// Number of stations.
    stations: usize,
    /// Received power by sender and receiver, mW; 0 if it is ignored.
    power_mw: Vec<f64>,
    /// By sender, the receivers whose power is not 0.
    audible: Vec<Vec<u32>>,
    /// Channel of each station.
    channels: Vec<Channel>,
    /// The preamble threshold, mW.
    preamble_mw: f64,
    /// Noise floor of each station, mW.
    noise_mw: Vec<f64>,
}

impl Radio {
    /// Creates it from the received power in dBm, by sender and receiver, and the channel of each station.
    #[must_use]
    pub fn new(received_dbm: &[Vec<f64>], channels: &[Channel]) -> Self {
        let stations = channels.len();
        let mut power_mw = vec![0.0; stations * stations];
        let mut audible = vec![Vec::new(); stations];
        for (from, row) in received_dbm.iter().enumerate() {
            for (to, dbm) in row.iter().enumerate().filter(|one| one.0 != from) {
                let power = milliwatts(*dbm) * channels[from].overlap(channels[to]);
                if power > milliwatts(channels[to].noise_dbm() - IGNORED_DB) {
                    power_mw[from * stations + to] = power;
                    audible[from].push(to as u32);
                }
            }
        }
        let noise_mw = channels.iter().map(|channel| milliwatts(channel.noise_dbm())).collect();
        let preamble_mw = milliwatts(PREAMBLE_DBM);
        Self { stations, power_mw, audible, channels: channels.to_vec(), preamble_mw, noise_mw }
    }

    /// Received power, mW.
    #[must_use]
    pub fn power(&self, from: u32, to: u32) -> f64 {
        self.power_mw[from as usize * self.stations + to as usize]
    }

    /// Receivers that a sender reaches with any power.
    #[must_use]
    pub fn audible(&self, from: u32) -> &[u32] {
        &self.audible[from as usize]
    }

    /// Noise floor of a station, mW.
    #[must_use]
    pub fn noise(&self, station: u32) -> f64 {
        self.noise_mw[station as usize]
    }

    /// Whether a receiver can detect the preamble of a sender in the absence of interference: same channel, and enough
    /// power.
    #[must_use]
    pub fn decodes(&self, from: u32, to: u32) -> bool {
        self.channels[from as usize] == self.channels[to as usize] && self.power(from, to) >= self.preamble_mw
    }

    /// Number of stations.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.stations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 20 dBm − 40.05 − 30 log10(10) = −50.05 dBm at 10 m; −80.05 at 100 m.
    #[test]
    fn received_power_follows_log_distance() {
        let powers = PathLoss::AT_2_4_GHZ.powers(&[[0.0, 0.0], [6.0, 8.0], [100.0, 0.0]], &[20.0; 3]);
        assert!((powers[0][1] + 50.05).abs() < 1e-9 && (powers[0][2] + 80.05).abs() < 1e-9);
    }

    /// The thresholds as ratios: 4 dB, 5 dB.
    #[test]
    fn ratios_equal_their_decibels() {
        for (ratio, db) in [(PREAMBLE_SNR, 4.0), (CAPTURE_RATIO, 5.0)] {
            assert!((decibels(ratio) - db).abs() < 1e-9, "{db}");
        }
    }

    /// The OFDM mask; channels 1, 6 and 11 are 5 apart. 80 MHz over 20 MHz: a quarter of the power.
    #[test]
    fn channels_overlap_by_the_mask() {
        let channel = |number, width_mhz| Channel { number, width_mhz };
        assert_eq!(channel(1, 20).overlap(channel(3, 20)), 0.50);
        assert_eq!(channel(1, 20).overlap(channel(6, 20)), 0.001);
        assert_eq!(channel(1, 20).overlap(channel(7, 20)), 0.0);
        assert_eq!(channel(42, 80).overlap(channel(36, 20)), 0.25);
        assert_eq!(channel(36, 20).overlap(channel(40, 20)), 0.0);
        assert!((channel(42, 80).noise_dbm() + 87.98).abs() < 0.01);
    }
}
