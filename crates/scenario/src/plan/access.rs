//! Channel access on media of 802.11.

use cwndlab_config::{fields, Faults, Reader};
use cwndlab_network::wifi::{AccessCategory, DscpMapping, Protection};
use cwndlab_units::{Bytes, Duration};

fields! {
    /// Channel access on a medium of 802.11.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AccessPlan {
        /// slot time: `"9 us"`, or `"20 us"` as with 802.11b stations
        slot: Duration = "9 us",
        /// minimum contention window, slots
        cw_min: u32 = 15 in 0..=32_767,
        /// maximum contention window, slots
        cw_max: u32 = 1023 in 0..=32_767,
        /// maximum number of attempts of a frame
        short_attempts: u32 = 7 in 1..=32_767,
        /// maximum number of attempts of a data frame with RTS
        long_attempts: u32 = 4 in 1..=32_767,
        /// size above which a frame uses RTS and CTS, MAC header and FCS included
        rts_above: Option<Bytes> = absent("never"),
        /// stations that receive a collision wait for EIFS instead of DIFS
        eifs: bool = false,
    }
    check
}

fields! {
    /// Parameters of an access category; those that are given are the same for stations and access point.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct CategoryPlan {
        /// slots of the interframe space after SIFS
        aifsn: Option<u32> = absent("the category's") in 1..=15,
        /// minimum contention window, slots
        cw_min: Option<u32> = absent("the category's") in 0..=32_767,
        /// maximum contention window, slots; at least the minimum
        cw_max: Option<u32> = absent("the category's") in 0..=32_767,
        /// maximum duration of a transmission opportunity; zero: one frame exchange
        txop_limit: Option<Duration> = absent("the category's"),
        /// admission control is mandatory: a flow without admitted medium time uses the next lower category without it
        acm: bool = absent("false", false),
    }
    check
}

impl CategoryPlan {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if let (Some(min), Some(max)) = (self.cw_min, self.cw_max) {
            check_windows(min, max, table, faults);
        }
    }
}

fn check_windows(min: u32, max: u32, table: &Reader<'_>, faults: &mut Faults) {
    if max < min {
        faults.add(table.at("cw_max"), format!("{max} is less than cw_min, {min}"), "");
    }
}

/// EDCA with four access categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaPlan {
    /// The user priority of a packet.
    pub dscp_mapping: DscpMapping,
    /// Reach of the duration fields of a TXOP.
    pub protection: Protection,
    /// Background, best effort, video and voice.
    pub categories: [CategoryPlan; AccessCategory::COUNT],
    /// Limits of categories with `acm`.
    pub admission: MediumTimePlan,
}

/// Admission control of EDCA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumTimePlan {
    /// Medium time in each second that admitted flows may have together.
    pub limit: Duration,
    /// Surplus bandwidth allowance in units of 1/8192, as in a TSPEC: medium time over that without retransmissions.
    pub surplus: u16,
}

impl EdcaPlan {
    /// Whether admission control is mandatory for a category.
    #[must_use]
    pub fn is_controlled(&self) -> bool {
        self.categories.iter().any(|one| one.acm)
    }

    /// The category that packets of `category` use without admitted medium time: the next lower one in which admission is not
    /// mandatory, or else background (mac80211, `ieee80211_downgrade_queue`).
    #[must_use]
    pub fn without_admission(&self, category: AccessCategory) -> AccessCategory {
        let lower = AccessCategory::ALL.into_iter().rev().filter(|&one| one <= category);
        let is_free = |one: &AccessCategory| !self.categories[*one as usize].acm;
        lower.into_iter().find(is_free).unwrap_or(AccessCategory::Background)
    }
}

impl AccessPlan {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if ![Duration::from_micros(9), Duration::from_micros(20)].contains(&self.slot) {
            let what = format!("{} is not a slot time of 2.4 GHz", self.slot);
            faults.add(table.at("slot"), what, "write \"9 us\" or \"20 us\"");
        }
        check_windows(self.cw_min, self.cw_max, table, faults);
    }
}
