//! The fields of a medium of 802.11, of its links and of its stations.

use cwndlab_config::{fields, Custom, Faults, FieldType, Kind, Probability, Reader, Table, TablePath};
use cwndlab_network::wifi::{DscpMapping, Protection};
use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::{json, Value};

use super::table::tables;
use crate::plan::{
    AccessPlan, BeaconPlan, CategoryPlan, EdcaPlan, GuardPlan, MediumTimePlan, RateAdaptation, StandardPlan,
};

/// The largest frame, bytes.
const MAX_FRAME: u64 = 2304;

fields! {
    /// Modulation and coding.
    pub(super) struct ModeFields {
        /// 802.11g: 6, 9, 12, 18, 24, 36, 48 or 54 Mbps for data frames
        rate: Option<Rate> = absent("54 Mbps with 802.11g"),
        /// 802.11n, 802.11ac, 802.11ax: modulation and coding scheme, to 7 with 802.11n, to 9 with 802.11ac
        mcs: Option<u8> = absent("7 with 802.11n") in 0..=11,
        /// 802.11n, 802.11ac, 802.11ax: spatial streams
        streams: Option<u8> = absent("1 with 802.11n") in 1..=4,
        /// 802.11n, 802.11ac: a guard interval of 400 ns
        short_guard: Option<bool> = absent("false with 802.11n"),
        /// 802.11ax: guard interval
        guard_interval: Option<GuardPlan> = absent("0.8 us with 802.11ax"),
    }
}

fields! {
    /// A medium.
    pub(super) struct MediumFields {
        /// part of 802.11
        standard: StandardPlan = required("'standard = \"802.11g\"', \"802.11n\", \"802.11ac\" or \"802.11ax\""),
        /// modulation and coding
        mode: ModeFields,
        /// probability that noise destroys a data frame, or each frame of an aggregate
        frame_error: Probability = 0.0,
        /// channel access
        access: AccessPlan,
        /// the four access categories of EDCA, and how the DSCP of a packet selects one
        edca: Option<EdcaField> = absent("one category: DCF with 802.11g, best effort with 802.11n"),
        /// A-MPDU with BlockAck; not for voice of EDCA
        aggregation: Option<bool> = absent("true with 802.11n"),
        /// a frame that arrives while the medium is idle is sent after DIFS without a backoff, even if the medium
        /// becomes busy before, as in ns-3
        keeps_turn: bool = false,
        /// beacons of the access point at 1 Mbps, at 5 GHz at 6 Mbps
        beacon: Option<Beacons> = absent("none"),
    }
}

fields! {
    /// The channel of a medium.
    pub(super) struct ChannelFields {
        /// number of the channel, 1 to 13 at 2.4 GHz, 32 to 177 at 5 GHz. Stations of all media with a channel receive
        /// each other by their powers
        channel: Option<u32> = absent("stations of the medium receive each other, and no others") in 1..=177,
        /// width of the channel, MHz: 20; 40 with 802.11n, 40 or 80 with 802.11ac, 40, 80 or 160 with 802.11ax, at 5 GHz
        width: Option<u8> = absent("20 with a channel") in 20..=160,
        /// selection of the mode of each transmission
        rate_adaptation: Option<RateAdaptation> = absent("fixed"),
        /// power in dBm at which the channel is busy if the preamble of the frame was missed; ns-3 has -82
        energy_detection: Option<Decibels> = absent("-62"),
        /// an aggregate without a BlockAck is followed by a BlockAckReq, until it is answered, not by its frames; their
        /// lifetime limits their attempts
        block_ack_request: Option<bool> = absent("false"),
        /// frames are dropped this time after they joined the queue of their station
        lifetime: Option<Duration> = absent("512 ms with block_ack_request; otherwise unlimited"),
        /// stations doze this time after their last data frame, and get packets of the access point after its beacons
        power_save: Option<Duration> = absent("stations do not doze"),
    }
}

/// A power or a gain, dB or dBm.
#[derive(Debug)]
pub enum Decibels {}

impl FieldType for Decibels {
    type Value = f64;

    const KIND: Kind = Kind::Number(-300.0, 300.0);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<f64> {
        table.number(name, faults)
    }
}

static POSITION: Custom = Custom {
    accepts: "[x, y], metres: [3, 4.5]",
    schema: || json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 }),
    canonical: |value| value.as_array().into_iter().flatten().map(|one| Value::from(one.as_f64())).collect(),
    python: "Sequence[float]",
};

/// Coordinates in metres.
#[derive(Debug)]
pub enum Position {}

impl FieldType for Position {
    type Value = [f64; 2];

    const KIND: Kind = Kind::Custom(&POSITION);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<[f64; 2]> {
        let value = table.given(name, faults)?;
        let numbers = value.as_array().map(|all| all.iter().map(Value::as_f64).collect::<Vec<_>>());
        let Some([Some(x), Some(y)]) = numbers.as_deref() else {
            faults.add(table.at(name), format!("expected two numbers, got {value}"), "write '[3, 4.5]', in metres");
            return None;
        };
        Some([*x, *y])
    }
}

tables! {
    /// Propagation.
    PROPAGATION: (Propagation) = "propagation", "Path loss between stations with a channel: L = L0 + 10 n log10(d / 1 m).";
    /// A received power.
    RECEIVED: (Received) = "received", "The power that a station receives from another one.";
}

fields! {
    /// Path loss by distance.
    #[derive(Clone, Debug, Default)]
    pub struct Propagation {
        /// loss at 1 m, dB
        loss_at_1_m: Option<Decibels> = absent("40.05 at 2.4 GHz, 46.68 at 5 GHz"),
        /// exponent n
        exponent: Option<Decibels> = absent("3"),
    }
}

fields! {
    /// A received power, in place of that by positions.
    #[derive(Clone, Debug)]
    pub struct Received {
        /// path in the document
        path: TablePath,
        /// sending node, or all nodes of this name with a count
        from: String = required("'from = \"ap\"'"),
        /// receiving node, or all nodes of this name with a count; the reverse direction has the same power, unless it is
        /// given
        to: String = required("'to = \"laptop\"'"),
        /// received power, dBm
        dbm: Decibels = required("'dbm = -70'"),
    }
}

fields! {
    /// A link on a medium, or a station of a wireless LAN.
    pub(super) struct RadioFields {
        /// 802.11n, 802.11ac, 802.11ax: modulation and coding scheme
        mcs: Option<u8> = absent("the medium's") in 0..=11,
        /// 802.11n, 802.11ac, 802.11ax: spatial streams
        streams: Option<u8> = absent("the medium's") in 1..=4,
        /// 802.11n, 802.11ac: a guard interval of 400 ns
        short_guard: Option<bool> = absent("the medium's"),
        /// 802.11ax: guard interval
        guard_interval: Option<GuardPlan> = absent("the medium's"),
        /// probability that noise destroys a data frame
        frame_error: Option<Probability> = absent("the medium's"),
    }
}

tables! {
    /// An access category of EDCA.
    ACCESS_CATEGORY: (CategoryPlan) = "access_category", "Parameters of an access category, for stations and access point alike.";
}

fields! {
    /// EDCA.
    struct EdcaFields {
        /// user priority of a packet
        dscp_mapping: DscpMapping = required("'dscp_mapping = \"rfc8325\"' or \"precedence\""),
        /// reach of the duration fields of a TXOP: to the end of its next exchange, or of its limit as in ns-3
        protection: Protection = "single",
        /// AC_BK, user priorities 1 and 2
        background: Option<CategoryPlan> = absent("AIFSN 7, windows from cw_min to cw_max, one frame exchange"),
        /// AC_BE, user priorities 0 and 3
        best_effort: Option<CategoryPlan> = absent("AIFSN 3, windows from cw_min to cw_max, one frame exchange"),
        /// AC_VI, user priorities 4 and 5
        video: Option<CategoryPlan> = absent("AIFSN 2, windows from (cw_min + 1) / 2 - 1 to cw_min, 3.008 ms"),
        /// AC_VO, user priorities 6 and 7
        voice: Option<CategoryPlan> = absent("AIFSN 2, windows from a quarter to a half of cw_min + 1, less 1; 1.504 ms"),
        /// medium time in each second that admitted flows of all categories with `acm` may have together
        medium_time: Duration = absent("750 ms, hostapd's limit", Duration::from_millis(750)),
        /// surplus bandwidth allowance of a flow's TSPEC, from 1 to 8: its medium time over that without retransmissions
        surplus: Surplus = absent("1.1", (UNITY * 1.1) as u16),
    }
}

/// 1 as a surplus bandwidth allowance.
const UNITY: f64 = 8192.0;

/// A surplus bandwidth allowance, which a TSPEC has in units of 1/8192.
#[derive(Debug)]
pub(super) enum Surplus {}

impl FieldType for Surplus {
    type Value = u16;

    const KIND: Kind = Kind::Number(1.0, 7.999);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<u16> {
        table.number(name, faults).map(|value: f64| (value * UNITY).round() as u16)
    }
}

static EDCA: Table = Table::new("edca", "The access categories of EDCA.", &[EdcaFields::FIELDS]);

/// `"rfc8325"`, or `{ dscp_mapping = "rfc8325", voice = { txop_limit = "0 s" } }`.
pub(super) enum EdcaField {}

impl FieldType for EdcaField {
    type Value = EdcaPlan;

    const KIND: Kind = Kind::Either(&[DscpMapping::KIND, Kind::Table(&EDCA)]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<EdcaPlan> {
        let value = table.get(name)?;
        let short = json!({ "dscp_mapping": value });
        let value = if value.is_string() { &short } else { value };
        let inner = Reader::new(value, table.at(name), &EDCA, faults)?;
        let EdcaFields { dscp_mapping, protection, background, best_effort, video, voice, medium_time, surplus } =
            EdcaFields::read(&inner, faults)?;
        let categories = [background, best_effort, video, voice].map(Option::unwrap_or_default);
        if medium_time > Duration::from_secs(1) {
            faults.add(inner.at("medium_time"), "is more than a second of each second", "at most \"1 s\"");
        }
        let admission = MediumTimePlan { limit: medium_time, surplus };
        Some(EdcaPlan { dscp_mapping, protection, categories, admission })
    }
}

fields! {
    /// Beacons; the default size has the elements that 802.11g requires.
    struct BeaconFields {
        /// time between beacons
        interval: Duration = required("'interval = \"102.4 ms\"'"),
        /// size of the frame
        size: Bytes = "68 B",
    }
}

static BEACON: Table = Table::new("beacon", "Beacons of an access point.", &[BeaconFields::FIELDS]);

/// `"102.4 ms"`, or `{ interval = "102.4 ms", size = "250 B" }`.
pub(super) enum Beacons {}

impl FieldType for Beacons {
    type Value = BeaconPlan;

    const KIND: Kind = Kind::Either(&[Kind::Duration, Kind::Table(&BEACON)]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<BeaconPlan> {
        let value = table.get(name)?;
        let short = json!({ "interval": value });
        let value = if value.is_string() { &short } else { value };
        let inner = Reader::new(value, table.at(name), &BEACON, faults)?;
        let BeaconFields { interval, size } = BeaconFields::read(&inner, faults)?;
        // At 1 Mbit/s the transmission of the largest beacon takes 19 ms.
        if interval < Duration::from_millis(20) {
            faults.add(table.at(name), "beacons are less than 20 ms apart", "a common interval is \"102.4 ms\"");
        }
        if size.0 > MAX_FRAME {
            let what = format!("{size} exceed the maximum size of a frame");
            faults.add(inner.at("size"), what, "at most \"2304 B\"");
        }
        Some(BeaconPlan { interval, bytes: size.0.min(MAX_FRAME) as u32 })
    }
}
