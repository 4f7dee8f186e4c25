//! Airtimes of 802.11ax (HE, clause 27 of IEEE 802.11ax-2021) for a single user on the whole channel.
//!
//! Codes are LDPC, which a station must have for more than 20 MHz and for MCS 10 and 11, and usually has in all modes.
//! Receivers need no packet extension. Spatial reuse, OFDMA and target wake times are not modelled.

use cwndlab_units::Duration;

/// Legacy fields, repeated SIGNAL 4 µs, HE-SIG-A 8 and HE-STF 4.
const PREAMBLE: Duration = Duration::from_micros(20 + 4 + 8 + 4);
/// An OFDM symbol without guard interval, ns.
const SYMBOL_NS: u64 = 12_800;
/// Bits of SERVICE; LDPC has no tail.
const SERVICE_BITS: u64 = 16;
/// Data bits of six subcarriers with MCS 0 to 11: six times the bits of a subcarrier times the code rate.
const SIXTHS: [u32; 12] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50];

/// The guard interval of HE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeGuard {
    /// 0.8 µs, with training fields of 6.4 µs.
    Ns800,
    /// 1.6 µs, with training fields of 6.4 µs.
    Ns1600,
    /// 3.2 µs, with training fields of 12.8 µs.
    Ns3200,
}

impl HeGuard {
    /// Its length, ns.
    fn ns(self) -> u64 {
        match self {
            Self::Ns800 => 800,
            Self::Ns1600 => 1_600,
            Self::Ns3200 => 3_200,
        }
    }

    /// A training field with its guard interval, ns (table 27-12).
    fn training_ns(self) -> u64 {
        self.ns() + if self == Self::Ns3200 { 12_800 } else { 6_400 }
    }
}

/// Modulation and coding of a data frame of 802.11ax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct He {
    /// Modulation and coding, 0 to 11.
    pub mcs: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Guard interval.
    pub guard: HeGuard,
    /// Width, MHz: 20, 40, 80 or 160.
    pub width_mhz: u8,
}

impl He {
    /// Data subcarriers of a resource unit of the whole channel (tables 27-13 to 27-15): 242, 484, 996 and 2 · 996 tones.
    fn subcarriers(self) -> u32 {
        match self.width_mhz {
            ..40 => 234,
            40..80 => 468,
            80..160 => 980,
            160.. => 1_960,
        }
    }

    /// Data bits per symbol.
    pub(super) fn bits(self) -> u32 {
        self.subcarriers() * SIXTHS[usize::from(self.mcs)] * u32::from(self.streams) / 6
    }

    fn symbol_ns(self) -> u64 {
        SYMBOL_NS + self.guard.ns()
    }

    /// Data rate, bit/s. As in the tables of the standard, the bits of a symbol are not rounded.
    pub(super) fn rate_bps(self) -> u64 {
        let sixths = self.subcarriers() * SIXTHS[usize::from(self.mcs)] * u32::from(self.streams);
        u64::from(sixths) * 1_000_000_000 / (6 * self.symbol_ns())
    }

    /// Preamble and data of a frame of `bytes`, without signal extension. Three streams have the training fields of four.
    pub(super) fn airtime(self, bytes: u32) -> Duration {
        let training = if self.streams == 3 { 4 } else { u64::from(self.streams) };
        let symbols = (SERVICE_BITS + 8 * u64::from(bytes)).div_ceil(u64::from(self.bits()));
        PREAMBLE + Duration::from_nanos(training * self.guard.training_ns() + symbols * self.symbol_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn he(mcs: u8, streams: u8, guard: HeGuard, width_mhz: u8) -> He {
        He { mcs, streams, guard, width_mhz }
    }

    fn mbps(mode: He) -> f64 {
        (mode.rate_bps() as f64 / 1e5).round() / 10.0
    }

    /// IEEE 802.11ax-2021, tables 27-55, 27-59, 27-63 and 27-67, one stream, 0.8 µs: MCS 0 to 11 in 20 MHz, MCS 11 in the
    /// others; 2.4 Gbit/s with two streams in 160 MHz.
    #[test]
    fn rates_match_the_standard() {
        let short: Vec<f64> = (0..12).map(|mcs| mbps(he(mcs, 1, HeGuard::Ns800, 20))).collect();
        assert_eq!(short, [8.6, 17.2, 25.8, 34.4, 51.6, 68.8, 77.4, 86.0, 103.2, 114.7, 129.0, 143.4]);
        let wide = [40, 80, 160].map(|width| mbps(he(11, 1, HeGuard::Ns800, width)));
        assert_eq!(wide, [286.8, 600.5, 1201.0]);
        assert_eq!(mbps(he(11, 2, HeGuard::Ns800, 160)), 2402.0);
        assert_eq!(mbps(he(9, 1, HeGuard::Ns800, 80)), 480.4);
    }

    /// The same tables: 135.4 and 121.9 Mbit/s with guard intervals of 1.6 and 3.2 µs; 36.0, 34.0 and 30.6 in 80 MHz.
    #[test]
    fn longer_guard_intervals_lengthen_the_symbol() {
        let guards = [HeGuard::Ns800, HeGuard::Ns1600, HeGuard::Ns3200];
        assert_eq!(guards.map(|guard| mbps(he(11, 1, guard, 20))), [143.4, 135.4, 121.9]);
        assert_eq!(guards.map(|guard| mbps(he(0, 1, guard, 80))), [36.0, 34.0, 30.6]);
    }

    /// By hand, 1538 bytes: ⌈(16 + 12304) / 1950⌉ = 7 symbols of 13.6 µs and a preamble of 36 + 7.2 µs; ⌈12320 / 117⌉ = 106
    /// symbols of 16 µs and a preamble of 36 + 16 µs; with three streams 36 + 4 · 7.2 µs.
    #[test]
    fn frames_have_the_preamble_and_the_symbols_of_the_standard() {
        assert_eq!(he(11, 1, HeGuard::Ns800, 20).airtime(1_538), Duration::from_nanos(43_200 + 7 * 13_600));
        assert_eq!(he(0, 1, HeGuard::Ns3200, 20).airtime(1_538), Duration::from_micros(52 + 106 * 16));
        assert_eq!(he(11, 3, HeGuard::Ns800, 20).airtime(1), Duration::from_nanos(36_000 + 4 * 7_200 + 13_600));
    }
}
