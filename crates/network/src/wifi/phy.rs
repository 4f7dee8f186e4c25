//! Airtimes of 802.11 frames: 802.11g (ERP-OFDM, clause 18 of IEEE 802.11-2016), 802.11n (HT-mixed, clause 19), 802.11ac
//! (VHT, clause 21) and 802.11ax (HE, clause 27 of IEEE 802.11ax-2021). At 5 GHz, SIFS is 16 µs and no signal extension follows a frame; both together last as long as here.

use cwndlab_units::Duration;

pub use super::he::{He, HeGuard};

/// OFDM symbol with the long guard interval.
const SYMBOL: Duration = Duration::from_micros(4);
/// Short and long training fields and SIGNAL.
const PREAMBLE: Duration = Duration::from_micros(20);
/// Signal extension in the 2.4 GHz band (aSignalExtension).
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
/// SERVICE and tail of a PPDU with one BCC encoder; modes with several (N_ES, equation 19-32) have six more bits each.
const SERVICE_AND_TAIL_BITS: u64 = 22;
/// Bits per symbol at 6, 12 and 24 Mbit/s, the mandatory rates, which control frames use.
const BASIC_BITS: [u32; 3] = [24, 48, 96];
/// Data bits of six subcarriers with MCS 0 to 9: six times the bits of a subcarrier times the code rate.
const SIXTHS: [u32; 10] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40];
/// Bits per symbol of the control responses to MCS 0 to 11: the highest basic rate not above the rate of the same
/// modulation and code.
const HT_BASIC_BITS: [u32; 12] = [24, 48, 48, 96, 96, 96, 96, 96, 96, 96, 96, 96];

/// SIFS of the 2.4 GHz band.
pub const SIFS: Duration = Duration::from_micros(10);
/// Slot time without 802.11b stations.
pub const SHORT_SLOT: Duration = Duration::from_micros(9);
/// Slot time with 802.11b stations.
pub const LONG_SLOT: Duration = Duration::from_micros(20);
/// The rates of ERP-OFDM, Mbit/s.
pub const RATES_MBPS: [u32; 8] = [6, 9, 12, 18, 24, 36, 48, 54];
/// Bytes of an ACK and a CTS frame.
pub const ACK_BYTES: u32 = 14;
/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;
/// Bytes of a CF-End frame.
pub const CF_END_BYTES: u32 = 20;
/// Bytes of a compressed BlockAck for a window of 64 frames.
pub const BLOCK_ACK_BYTES: u32 = 32;
/// Bytes of a compressed BlockAck for a window of 256 frames, that of HE.
const HE_BLOCK_ACK_BYTES: u32 = 56;
/// Bytes of a BlockAckReq.
pub const BLOCK_ACK_REQUEST_BYTES: u32 = 24;
/// Overhead of a frame without QoS over an IP packet: header 24, LLC/SNAP 8, FCS 4.
pub const OVERHEAD_BYTES: u32 = 36;
/// Overhead of a frame with QoS control.
pub const QOS_OVERHEAD_BYTES: u32 = 38;
/// Bytes of the delimiter of an A-MPDU subframe, and alignment of subframes.
pub const DELIMITER_BYTES: u32 = 4;

/// Modulation and coding of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// ERP-OFDM.
    Ofdm {
        /// Data bits per symbol: 4 per Mbit/s.
        bits: u32,
    },
    /// High throughput, mixed format, MCS 0 to 7; or very high throughput, MCS 0 to 9.
    Ht {
        /// Modulation and coding.
        mcs: u8,
        /// Spatial streams, 1 to 4.
        streams: u8,
        /// Guard interval of 400 ns.
        short_guard: bool,
        /// Format and width.
        format: Format,
    },
    /// High efficiency, 802.11ax, for a single user.
    He(He),
}

/// The format of an HT or VHT frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Very high throughput (802.11ac).
    pub very_high: bool,
    /// Width, MHz: 20, 40, or 80 with VHT.
    pub width_mhz: u8,
}

impl Format {
    /// 802.11n in 20 MHz.
    pub const HT20: Self = Self { very_high: false, width_mhz: 20 };

    /// Data subcarriers (tables 19-6 and 21-5).
    fn subcarriers(self) -> u32 {
        match self.width_mhz {
            ..40 => 52,
            40..80 => 108,
            80.. => 234,
        }
    }
}

impl Mode {
    /// The ERP-OFDM mode of `mbps`, if there is one.
    #[must_use]
    pub fn ofdm(mbps: u32) -> Option<Self> {
        RATES_MBPS.contains(&mbps).then_some(Self::Ofdm { bits: mbps * 4 })
    }

    /// Data rate, bit/s.
    #[must_use]
    pub fn rate_bps(self) -> u64 {
        match self {
            Self::Ofdm { bits } => u64::from(bits) * 250_000,
            Self::Ht { short_guard: false, .. } => u64::from(self.bits()) * 250_000,
            Self::Ht { short_guard: true, .. } => u64::from(self.bits()) * 2_500_000 / 9,
            Self::He(mode) => mode.rate_bps(),
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Ofdm { bits } => bits,
            Self::Ht { mcs, streams, format, .. } => {
                format.subcarriers() * SIXTHS[usize::from(mcs)] * u32::from(streams) / 6
            }
            Self::He(mode) => mode.bits(),
        }
    }

    /// Airtime of a frame of `bytes`, header and FCS included.
    #[inline]
    #[must_use]
    pub fn airtime(self, bytes: u32) -> Duration {
        let symbols = (SERVICE_AND_TAIL_BITS + 8 * u64::from(bytes)).div_ceil(u64::from(self.bits()));
        match self {
            Self::Ofdm { .. } => PREAMBLE + SYMBOL * symbols + SIGNAL_EXTENSION,
            Self::Ht { streams, short_guard, format, .. } => {
                // Equation 19-90: short symbols are extended to a boundary of long ones.
                let symbols = if short_guard { (symbols * 9).div_ceil(10) } else { symbols };
                Self::ht_preamble(streams, format) + SYMBOL * symbols + SIGNAL_EXTENSION
            }
            Self::He(mode) => mode.airtime(bytes) + SIGNAL_EXTENSION,
        }
    }

    /// Legacy fields, HT-SIG or VHT-SIG-A 8, STF 4, one LTF per stream, four for three streams (tables 19-13 and 21-13),
    /// and VHT-SIG-B 4.
    fn ht_preamble(streams: u8, format: Format) -> Duration {
        let training = if streams == 3 { 4 } else { u64::from(streams) };
        PREAMBLE + Duration::from_micros(12 + 4 * training + 4 * u64::from(format.very_high))
    }

    /// Whether the standard has the mode: VHT excludes those whose bits do not divide among the encoders (21.5).
    #[must_use]
    pub fn exists(self) -> bool {
        let Self::Ht { mcs, streams, format, .. } = self else { return true };
        match (format.very_high, format.width_mhz) {
            (false, _) => mcs <= 7,
            (true, 20) => mcs <= 8 || mcs == 9 && streams == 3,
            (true, 80) => mcs <= 9 && (mcs, streams) != (6, 3),
            (true, _) => mcs <= 9,
        }
    }

    /// The modes of its format, width and guard interval with this number of streams, or those of ERP-OFDM; the slowest
    /// first.
    #[must_use]
    pub fn alternatives(self, streams: u8) -> Vec<Self> {
        let modes: Vec<Self> = match self {
            Self::Ofdm { .. } => RATES_MBPS.map(|mbps| Self::Ofdm { bits: mbps * 4 }).into(),
            Self::Ht { short_guard, format, .. } => {
                (0..10).map(|mcs| Self::Ht { mcs, streams, short_guard, format }).collect()
            }
            Self::He(mode) => (0..12).map(|mcs| Self::He(He { mcs, streams, ..mode })).collect(),
        };
        modes.into_iter().filter(|mode| mode.exists()).collect()
    }

    /// The mode of its control frames: the highest basic rate not above its own.
    #[must_use]
    pub fn control(self) -> Self {
        let bits = match self {
            Self::Ofdm { bits } => BASIC_BITS.into_iter().rfind(|&basic| basic <= bits).unwrap_or(BASIC_BITS[0]),
            Self::Ht { mcs, .. } | Self::He(He { mcs, .. }) => HT_BASIC_BITS[usize::from(mcs)],
        };
        Self::Ofdm { bits }
    }

    /// Spatial streams.
    #[must_use]
    pub fn streams(self) -> u8 {
        match self {
            Self::Ofdm { .. } => 1,
            Self::Ht { streams, .. } | Self::He(He { streams, .. }) => streams,
        }
    }

    /// Bytes of the BlockAck for an aggregate in this mode.
    #[must_use]
    pub fn block_ack_bytes(self) -> u32 {
        if matches!(self, Self::He(_)) {
            HE_BLOCK_ACK_BYTES
        } else {
            BLOCK_ACK_BYTES
        }
    }
}

/// Airtime of a frame at 1 Mbit/s (DSSS, long preamble of 192 µs).
#[must_use]
pub fn dsss_airtime(bytes: u32) -> Duration {
    Duration::from_micros(192 + 8 * u64::from(bytes))
}

/// Bytes of a padded A-MPDU subframe with an MPDU of `mpdu` bytes; only the last subframe is unpadded (9.7.1).
#[must_use]
pub fn subframe_bytes(mpdu: u32) -> u32 {
    DELIMITER_BYTES + mpdu.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MCS7: Mode = Mode::Ht { mcs: 7, streams: 1, short_guard: false, format: Format::HT20 };

    /// DIFS, 7.5 slots of mean backoff, the data frame of a 1500-byte IP packet, SIFS, ACK.
    fn cycle(mode: Mode) -> Duration {
        let difs = SIFS + SHORT_SLOT * 2;
        difs + SHORT_SLOT * 15 / 2 + mode.airtime(1500 + OVERHEAD_BYTES) + SIFS + mode.control().airtime(ACK_BYTES)
    }

    /// `known-answers.csv`, wifi-g: 393.5, 681.5 and 2233.5 µs; a data frame of 254 µs and an ACK of 34 at 54 Mbit/s, of
    /// 542 at 24; 30.5, 17.6 and 5.37 Mbit/s.
    #[test]
    fn cycles_of_802_11g_match_the_known_answers() {
        let mode = |mbps| Mode::ofdm(mbps).unwrap();
        assert_eq!(mode(54).airtime(1536), Duration::from_micros(254));
        assert_eq!(mode(24).airtime(1536), Duration::from_micros(542));
        assert_eq!(mode(24).airtime(ACK_BYTES), Duration::from_micros(34));
        for (mbps, cycle_us, goodput_mbps) in [(54, 393.5, 30.5), (24, 681.5, 17.6), (6, 2233.5, 5.37)] {
            let cycle = cycle(mode(mbps)).as_nanos() as f64 / 1e3;
            assert_eq!(cycle, cycle_us);
            assert!((12_000.0 / cycle - goodput_mbps).abs() < 0.05, "{mbps}");
        }
    }

    /// IEEE 802.11-2016, table 10-6 by its rule: the basic rates of ERP-OFDM are 6, 12 and 24 Mbit/s.
    #[test]
    fn control_frames_use_the_highest_basic_rate_not_above_the_data_rate() {
        let control = RATES_MBPS.map(|mbps| Mode::ofdm(mbps).unwrap().control().rate_bps() / 1_000_000);
        assert_eq!(control, [6, 6, 12, 12, 24, 24, 24, 24]);
        assert_eq!(Mode::ofdm(11), None);
    }

    /// `links-and-queues.md`, MCS 7: 234 µs for one frame, a cycle of 382.5 µs, 31.4 Mbit/s; 3846 µs for 20 subframes
    /// of 1544 bytes, a cycle of 3998.5 µs, 60.0 Mbit/s.
    #[test]
    fn cycles_of_802_11n_match_the_known_answers() {
        let mpdu = 1500 + QOS_OVERHEAD_BYTES;
        assert_eq!(subframe_bytes(mpdu), 1544);
        assert_eq!(MCS7.airtime(mpdu), Duration::from_micros(234));
        assert_eq!(MCS7.airtime(20 * 1544), Duration::from_micros(3846));
        let aifs = SIFS + SHORT_SLOT * 3;
        let access = aifs + SHORT_SLOT * 15 / 2 + SIFS;
        let single = access + MCS7.airtime(mpdu) + MCS7.control().airtime(ACK_BYTES);
        let aggregate = access + MCS7.airtime(20 * 1544) + MCS7.control().airtime(BLOCK_ACK_BYTES);
        assert_eq!([single, aggregate], [Duration::from_nanos(382_500), Duration::from_nanos(3_998_500)]);
        assert!(
            (12e6 / single.as_nanos() as f64 - 31.4).abs() < 0.05
                && (240e6 / aggregate.as_nanos() as f64 - 60.0).abs() < 0.05
        );
    }

    /// `links-and-queues.md`: MCS 0 to 7, long guard interval; the short one is 10/9 of it.
    #[test]
    fn rates_of_802_11n_match_the_standard() {
        let rate = |short_guard, streams| {
            move |mcs| Mode::Ht { mcs, streams, short_guard, format: Format::HT20 }.rate_bps() as f64 / 1e6
        };
        let long: Vec<f64> = (0..8).map(rate(false, 1)).collect();
        assert_eq!(long, [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
        let short: Vec<f64> = (0..8).map(rate(true, 1)).map(|rate| (rate * 10.0).round() / 10.0).collect();
        assert_eq!(short, [7.2, 14.4, 21.7, 28.9, 43.3, 57.8, 65.0, 72.2]);
        assert_eq!(rate(false, 4)(7), 260.0);
    }

    /// IEEE 802.11-2016, tables 19-31 and 21-38: 13.5 to 135 Mbit/s in 40 MHz; VHT in 80 MHz with the short guard interval
    /// 32.5 to 433.3 Mbit/s.
    #[test]
    fn rates_of_wide_channels_match_the_standard() {
        let rates = |short_guard, very_high, width_mhz| {
            let mode = Mode::Ht { mcs: 0, streams: 1, short_guard, format: Format { very_high, width_mhz } };
            let all = mode.alternatives(1).into_iter();
            all.map(|mode| (mode.rate_bps() as f64 / 1e5).round() / 10.0).collect::<Vec<_>>()
        };
        assert_eq!(rates(false, false, 40), [13.5, 27.0, 40.5, 54.0, 81.0, 108.0, 121.5, 135.0]);
        let short = [32.5, 65.0, 97.5, 130.0, 195.0, 260.0, 292.5, 325.0, 390.0, 433.3];
        assert_eq!(rates(true, true, 80), short);
        assert_eq!(rates(false, true, 20), [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0, 78.0]);
        let mode =
            |very_high| Mode::Ht { mcs: 7, streams: 2, short_guard: true, format: Format { very_high, width_mhz: 40 } };
        // By hand, 1538 bytes: ⌈(22 + 12304) / 1080⌉ = 12 symbols of 3.6 µs, extended to 44 µs; 40 or 44 µs of preamble.
        assert_eq!([false, true].map(|vht| mode(vht).airtime(1538)), [90, 94].map(Duration::from_micros));
    }

    /// Table 19-13: preambles of 36, 40, 48 and 48 µs; one symbol of payload and the signal extension follow.
    #[test]
    fn three_streams_have_the_preamble_of_four() {
        let times = [1, 2, 3, 4].map(|streams| {
            Mode::Ht { mcs: 7, streams, short_guard: false, format: Format::HT20 }.airtime(1).as_nanos() / 1_000
        });
        assert_eq!(times, [46, 50, 58, 58]);
    }

    /// By hand: 100 symbols of 3.6 µs are 360 µs, 99 are 356.4 and end at the next boundary, 360.
    #[test]
    fn short_symbols_are_extended_to_a_boundary_of_long_ones() {
        let mode = Mode::Ht { mcs: 0, streams: 1, short_guard: true, format: Format::HT20 };
        let bytes = |symbols: u32| (symbols * 26 - 22) / 8;
        assert_eq!(mode.airtime(bytes(100)), Duration::from_micros(42 + 360));
        assert_eq!(mode.airtime(bytes(99)), Duration::from_micros(42 + 360));
    }
}
