//! Packet error rate by mode and signal-to-interference-and-noise ratio (SINR).
//!
//! Source: ns-3's `TableBasedErrorRateModel`, AWGN, 1458 bytes, BCC, and with HE LDPC: the ratios for packet error rates of 50 %, 10 % and
//! 1 %. The logarithm of the number of error events of a packet, −ln(1 − PER), is linear in dB between them and beyond.
//! This number is proportional to the length: PER(L) = 1 − (1 − PER(1458))^(L/1458).

use cwndlab_units::maths::{exp, ln};

use super::radio::decibels;
use crate::wifi::phy::{He, Mode};

/// Ratios for error rates of 50 %, 10 % and 1 % by MCS with BCC, dB.
const BCC_DB: [[f64; 3]; 10] = [
    [0.3, 0.9, 1.6],
    [3.3, 3.9, 4.6],
    [5.8, 6.4, 7.1],
    [8.9, 9.7, 10.5],
    [12.0, 12.8, 13.6],
    [16.2, 17.0, 18.0],
    [17.5, 18.4, 19.3],
    [18.8, 19.6, 20.5],
    [22.8, 23.7, 24.8],
    [24.3, 25.1, 26.2],
];
/// The same with LDPC.
const LDPC_DB: [[f64; 3]; 12] = [
    [-0.94, -0.62, -0.29],
    [2.07, 2.39, 2.71],
    [4.57, 4.86, 5.15],
    [7.55, 7.92, 8.25],
    [10.61, 10.93, 11.23],
    [14.78, 15.13, 15.47],
    [16.15, 16.48, 16.86],
    [17.65, 18.00, 18.42],
    [21.29, 21.68, 22.05],
    [23.09, 23.48, 23.93],
    [26.38, 26.80, 27.24],
    [28.43, 28.89, 29.33],
];
/// The error rates of the columns.
const RATES: [f64; 3] = [0.5, 0.1, 0.01];
/// Length of the table's packets, bytes.
const TABLE_BYTES: f64 = 1458.0;

/// Ratios of the table, and offset of a mode, dB. ERP-OFDM has the modulations and codes of MCS 0 to 6, and at 9 Mbit/s half
/// of the bits per symbol of MCS 2: 3 dB less. Spatial streams share the power.
fn row(mode: Mode) -> ([f64; 3], f64) {
    let (mcs, offset) = match mode {
        Mode::Ofdm { bits } => match bits {
            0..=24 => (0, 0.0),
            25..=36 => (2, -3.0),
            37..=48 => (1, 0.0),
            49..=72 => (2, 0.0),
            73..=96 => (3, 0.0),
            97..=144 => (4, 0.0),
            145..=192 => (5, 0.0),
            _ => (6, 0.0),
        },
        Mode::Ht { mcs, streams, .. } => (usize::from(mcs), decibels(f64::from(streams))),
        Mode::He(He { mcs, streams, .. }) => return (LDPC_DB[usize::from(mcs)], decibels(f64::from(streams))),
    };
    (BCC_DB[mcs], offset)
}

/// Number of error events of 1458 bytes at an SINR in dB: −ln(1 − PER).
fn error_events(mode: Mode, sinr_db: f64) -> f64 {
    let (points, offset) = row(mode);
    let at = sinr_db - offset;
    let first = usize::from(at > points[1]);
    let [low, high] = [RATES[first], RATES[first + 1]].map(|rate: f64| ln(-ln(1.0 - rate)));
    let share = (at - points[first]) / (points[first + 1] - points[first]);
    exp(low + share * (high - low))
}

/// Packet error rate of 1458 bytes at an SINR in dB.
#[must_use]
pub fn table_per(mode: Mode, sinr_db: f64) -> f64 {
    1.0 - exp(-error_events(mode, sinr_db))
}

/// Logarithm of the success probability of `bytes` in this mode at an SINR, a ratio. Logarithms of parts add up.
#[must_use]
pub fn ln_success(mode: Mode, sinr: f64, bytes: f64) -> f64 {
    -error_events(mode, decibels(sinr)) * bytes / TABLE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::phy::Format;

    const MCS7: Mode = Mode::Ht { mcs: 7, streams: 1, short_guard: false, format: Format::HT20 };

    /// The table, and twice the length at 10 %: 1 − 0.9² = 19 %.
    #[test]
    fn error_rates_match_the_table() {
        for (db, per) in [(18.8, 0.5), (19.6, 0.1), (20.5, 0.01)] {
            assert!((table_per(MCS7, db) - per).abs() < 1e-9, "{db}");
        }
        let sinr = super::super::radio::milliwatts(19.6);
        assert!((1.0 - exp(ln_success(MCS7, sinr, 2916.0)) - 0.19).abs() < 1e-9);
        assert_eq!(table_per(MCS7, 10.0), 1.0);
        assert!(table_per(MCS7, 40.0) < 1e-20);
    }
}
