//! The tins of CAKE: classes by DSCP, with a threshold and a weight each.
//!
//! Source: `net/sched/sch_cake.c` of Linux 6.x (`cake_config_diffserv3` and its siblings). The order of the tins is that of
//! the source: of several tins within their thresholds the last one is served.

use cwndlab_config::words;

use crate::dscp::{Class, Dscp};

words! {
    /// How DSCPs are mapped to tins.
    pub enum Tins {
        /// one tin
        Besteffort = "besteffort",
        /// best effort, bulk (LE, CS1; 1/16 of the bandwidth), voice (VA, EF, CS6, CS7; 1/4)
        Diffserv3 = "diffserv3",
        /// the classes of `priority`: best effort, bulk (1/16), video (1/2), voice (1/4)
        Diffserv4 = "diffserv4",
        /// eight tins, each with 7/8 of the threshold of the tin before: LE; CS1 and AF1x; CS0; AF3x, AF4x and CS3; AF2x; CS2; CS4, CS5, VA and EF; CS6 and CS7
        Diffserv8 = "diffserv8",
        /// the class selectors CS0 to CS7, by the first three bits of the DSCP; thresholds as those of `diffserv8`
        Precedence = "precedence",
    }
}

impl Tins {
    /// The parts of `whole` for the tins, in their order.
    fn parts(self, whole: u64) -> Vec<u64> {
        match self {
            Self::Besteffort => vec![whole],
            Self::Diffserv3 => vec![whole, whole >> 4, whole >> 2],
            Self::Diffserv4 => vec![whole, whole >> 4, whole >> 1, whole >> 2],
            Self::Diffserv8 | Self::Precedence => {
                std::iter::successors(Some(whole), |part| Some(part - part.div_ceil(8))).take(8).collect()
            }
        }
    }

    /// The thresholds of the tins, bit/s.
    pub(super) fn thresholds(self, bandwidth: u64) -> Vec<u64> {
        self.parts(bandwidth)
    }

    /// The credits of the tins in a round without a shaper, bytes.
    pub(super) fn quanta(self) -> Vec<u64> {
        self.parts(match self {
            Self::Besteffort => 65_535,
            Self::Diffserv3 | Self::Diffserv4 => 1024,
            Self::Diffserv8 | Self::Precedence => 256,
        })
    }

    /// The tin of a packet.
    pub(super) fn tin(self, dscp: Dscp) -> usize {
        match self {
            Self::Besteffort => 0,
            Self::Diffserv3 => match dscp {
                Dscp::Le | Dscp::Cs1 => 1,
                Dscp::Va | Dscp::Ef | Dscp::Cs6 | Dscp::Cs7 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match dscp.class() {
                Class::BestEffort => 0,
                Class::Bulk => 1,
                Class::Video => 2,
                Class::Voice => 3,
            },
            Self::Diffserv8 => match dscp {
                Dscp::Le => 0,
                Dscp::Cs1 | Dscp::Af11 | Dscp::Af12 | Dscp::Af13 => 1,
                Dscp::Cs0 => 2,
                Dscp::Cs3 | Dscp::Af31 | Dscp::Af32 | Dscp::Af33 | Dscp::Af41 | Dscp::Af42 | Dscp::Af43 => 3,
                Dscp::Af21 | Dscp::Af22 | Dscp::Af23 => 4,
                Dscp::Cs2 => 5,
                Dscp::Cs4 | Dscp::Cs5 | Dscp::Va | Dscp::Ef => 6,
                Dscp::Cs6 | Dscp::Cs7 => 7,
            },
            Self::Precedence => usize::from(dscp.bits() >> 3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tc-cake(8) of iproute2, the example of 100 Mbit/s: thresholds of 100, 6.25 and 25 Mbit/s; and the source: 1, 1/16,
    /// 1/2, 1/4 for `diffserv4`, 7/8 of the last for eight tins, with quanta as these.
    #[test]
    fn thresholds_and_quanta_are_parts_of_the_whole() {
        let mbit = 1_000_000;
        assert_eq!(Tins::Diffserv3.thresholds(100 * mbit), [100 * mbit, 6_250_000, 25 * mbit]);
        assert_eq!(Tins::Diffserv4.thresholds(100 * mbit), [100 * mbit, 6_250_000, 50 * mbit, 25 * mbit]);
        assert_eq!(Tins::Besteffort.thresholds(mbit), [mbit]);
        assert_eq!(Tins::Precedence.thresholds(64 * mbit)[..3], [64 * mbit, 56 * mbit, 49 * mbit]);
        assert_eq!(Tins::Diffserv4.quanta(), [1024, 64, 512, 256]);
        assert_eq!(Tins::Diffserv8.quanta(), [256, 224, 196, 171, 149, 130, 113, 98]);
    }

    /// The tables of the source.
    #[test]
    fn codepoints_have_the_tins_of_the_source() {
        use Dscp::{Af11, Af21, Af31, Af41, Cs0, Cs1, Cs2, Cs3, Cs4, Cs5, Cs6, Cs7, Ef, Le, Va};
        for (dscp, tins) in [
            (Cs0, [0, 0, 0, 2, 0]),
            (Le, [0, 1, 1, 0, 0]),
            (Cs1, [0, 1, 1, 1, 1]),
            (Af11, [0, 0, 0, 1, 1]),
            (Cs2, [0, 0, 2, 5, 2]),
            (Af21, [0, 0, 2, 4, 2]),
            (Cs3, [0, 0, 2, 3, 3]),
            (Af31, [0, 0, 2, 3, 3]),
            (Cs4, [0, 0, 3, 6, 4]),
            (Af41, [0, 0, 2, 3, 4]),
            (Cs5, [0, 0, 3, 6, 5]),
            (Va, [0, 2, 3, 6, 5]),
            (Ef, [0, 2, 3, 6, 5]),
            (Cs6, [0, 2, 3, 7, 6]),
            (Cs7, [0, 2, 3, 7, 7]),
        ] {
            let modes = [Tins::Besteffort, Tins::Diffserv3, Tins::Diffserv4, Tins::Diffserv8, Tins::Precedence];
            assert_eq!(modes.map(|mode| mode.tin(dscp)), tins, "{dscp:?}");
        }
    }
}
