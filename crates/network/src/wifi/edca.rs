//! EDCA (IEEE 802.11-2016, 10.22.2): four access categories per station, their parameters, and the mapping of
//! codepoints to them.

use cwndlab_config::words;
use cwndlab_units::{Duration, Time};

use super::phy::{dsss_airtime, CF_END_BYTES};
use crate::dscp::Dscp;

/// An access category, the lowest priority first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessCategory {
    /// AC_BK.
    Background,
    /// AC_BE.
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl AccessCategory {
    /// Number of categories.
    pub const COUNT: usize = 4;
    /// All of them, in order of priority.
    pub const ALL: [Self; Self::COUNT] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::BestEffort => "best effort",
            Self::Video => "video",
            Self::Voice => "voice",
        }
    }

    /// A codepoint of the category, by each mapping.
    #[must_use]
    pub fn example(self) -> Dscp {
        match self {
            Self::Background => Dscp::Cs1,
            Self::BestEffort => Dscp::Cs0,
            Self::Video => Dscp::Af41,
            Self::Voice => Dscp::Cs6,
        }
    }

    /// The category of a user priority (table 10-1).
    #[must_use]
    pub fn of_user_priority(priority: u8) -> Self {
        match priority {
            1 | 2 => Self::Background,
            4 | 5 => Self::Video,
            6 | 7 => Self::Voice,
            _ => Self::BestEffort,
        }
    }
}

words! {
    /// How a station derives the user priority of a packet.
    pub enum DscpMapping {
        /// the table of RFC 8325, section 4.3, and LE as background (RFC 8622); Linux has used it since 2024
        Rfc8325 = "rfc8325",
        /// the three bits of the IP precedence, as many devices do: EF is video, AF2x and CS2 are background
        Precedence = "precedence",
    }
}

impl DscpMapping {
    /// The user priority of a packet.
    ///
    /// ```
    /// use cwndlab_network::dscp::Dscp;
    /// use cwndlab_network::wifi::DscpMapping;
    ///
    /// assert_eq!(DscpMapping::Rfc8325.user_priority(Dscp::Ef), 6);
    /// assert_eq!(DscpMapping::Precedence.user_priority(Dscp::Ef), 5);
    /// ```
    #[must_use]
    pub fn user_priority(self, dscp: Dscp) -> u8 {
        match (self, dscp) {
            (Self::Precedence, _) => dscp.bits() >> 3,
            (_, Dscp::Cs6 | Dscp::Cs7) => 7,
            (_, Dscp::Ef | Dscp::Va) => 6,
            (_, Dscp::Cs5) => 5,
            (_, Dscp::Af21 | Dscp::Af22 | Dscp::Af23) => 3,
            (_, Dscp::Cs1 | Dscp::Le) => 1,
            (_, Dscp::Cs2 | Dscp::Af11 | Dscp::Af12 | Dscp::Af13 | Dscp::Cs0) => 0,
            // AF4x, CS4, AF3x, CS3: video.
            _ => 4,
        }
    }

    /// The category of a packet.
    #[must_use]
    pub fn category(self, dscp: Dscp) -> AccessCategory {
        AccessCategory::of_user_priority(self.user_priority(dscp))
    }
}

words! {
    /// How far the duration fields of the frames of a TXOP reach, which is the choice of its holder (IEEE 802.11-2016,
    /// 9.2.5.2).
    pub enum Protection {
        /// to the end of the response, and of the next exchange of the TXOP if one follows
        Single = "single",
        /// to the end of the TXOP limit; a holder without a frame truncates the TXOP by a CF-End, as in ns-3
        Multiple = "multiple",
    }
}

impl Protection {
    /// The duration field of a frame that ends at `end` in a TXOP until `limit`. `following` returns SIFS and the next
    /// exchange of the TXOP, or zero.
    ///
    /// Multiple protection: the standard permits every value from the time that the pending frames need up to the rest of
    /// the limit. This is the maximum, as in ns-3. The limit may be exceeded by a single frame (10.22.2.8).
    pub(super) fn duration_field(
        self,
        end: Time,
        limit: Time,
        response: Duration,
        following: impl FnOnce() -> Duration,
    ) -> Duration {
        match self {
            Self::Single => response + following(),
            Self::Multiple => limit.saturating_since(end).max(response),
        }
    }
}

/// Parameters of channel access: those of DCF, or of an access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessParameters {
    /// Slots of the interframe space after SIFS: 2 for DIFS.
    pub aifsn: u32,
    /// Minimum contention window, slots.
    pub cw_min: u32,
    /// Maximum contention window, slots.
    pub cw_max: u32,
    /// Maximum duration of a transmission opportunity; zero: one frame exchange.
    pub txop_limit: Duration,
    /// Frames to one receiver form aggregates, if the medium has them.
    pub aggregates: bool,
}

/// 47 and 94 times 32 µs.
const TXOP_LIMITS: [Duration; 2] = [Duration::from_micros(1504), Duration::from_micros(3008)];

impl AccessParameters {
    /// The defaults of a category: those of WMM, which hostapd announces to stations (`wmm_ac_*`) and uses in an access
    /// point (`tx_queue_data*`). An access point has shorter interframe spaces for voice and video, and a maximum
    /// window of 63 for best effort. `cw_min` and `cw_max` are aCWmin and aCWmax. Voice is not aggregated, as in Linux
    /// (mac80211, `minstrel_aggr_check`).
    #[must_use]
    pub fn of(category: AccessCategory, cw_min: u32, cw_max: u32, access_point: bool) -> Self {
        let part = |of: u32| ((cw_min + 1) / of).max(1) - 1;
        let (aifsn, cw_min, cw_max, txop_limit) = match (category, access_point) {
            (AccessCategory::Background, _) => (7, cw_min, cw_max, Duration::ZERO),
            (AccessCategory::BestEffort, false) => (3, cw_min, cw_max, Duration::ZERO),
            (AccessCategory::BestEffort, true) => (3, cw_min, cw_max.min(4 * cw_min + 3), Duration::ZERO),
            (AccessCategory::Video, _) => (2 - u32::from(access_point), part(2), cw_min, TXOP_LIMITS[1]),
            (AccessCategory::Voice, _) => (2 - u32::from(access_point), part(4), part(2), TXOP_LIMITS[0]),
        };
        Self { aifsn, cw_min, cw_max, txop_limit, aggregates: category != AccessCategory::Voice }
    }

    /// The contention window after another failed attempt.
    pub(super) fn widened(&self, cw: u32) -> u32 {
        (2 * cw + 1).min(self.cw_max)
    }
}

/// EDCA with all four access categories.
#[derive(Clone, Debug, PartialEq)]
pub struct Edca {
    /// The user priority of a packet.
    pub dscp_mapping: DscpMapping,
    /// By category, the parameters of stations.
    pub stations: [AccessParameters; AccessCategory::COUNT],
    /// The access point, if there is one, with its parameters.
    pub access_point: Option<(u32, [AccessParameters; AccessCategory::COUNT])>,
    /// Reach of duration fields in a TXOP.
    pub protection: Protection,
    /// Airtime of a CF-End, which has the lowest basic rate (10.7.6.3).
    pub cf_end: Duration,
}

impl Edca {
    /// EDCA with the default parameters of each category.
    #[must_use]
    pub fn new(dscp_mapping: DscpMapping, cw_min: u32, cw_max: u32, access_point: Option<u32>) -> Self {
        let all = |ap| AccessCategory::ALL.map(|category| AccessParameters::of(category, cw_min, cw_max, ap));
        Self {
            dscp_mapping,
            stations: all(false),
            access_point: access_point.map(|station| (station, all(true))),
            protection: Protection::Single,
            cf_end: dsss_airtime(CF_END_BYTES),
        }
    }

    /// Airtime of the CF-End that at `at` truncates a TXOP until `limit`. `None`: duration fields do not reach that far, or
    /// the rest of the TXOP is too short (10.22.2.9).
    pub(super) fn truncation(&self, at: Time, limit: Time) -> Option<Duration> {
        let fits = limit.saturating_since(at) > self.cf_end;
        (fits && self.protection == Protection::Multiple).then_some(self.cf_end)
    }

    /// The parameters of a station.
    pub(super) fn of_station(&self, station: u32) -> &[AccessParameters; AccessCategory::COUNT] {
        match &self.access_point {
            Some((access_point, parameters)) if *access_point == station => parameters,
            _ => &self.stations,
        }
    }
}
