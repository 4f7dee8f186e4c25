//! Reads a medium of 802.11, and the radio parameters of its links and stations.

use cwndlab_config::{fields, Faults, Field, FieldType, Kind, Reader, Table, TableType};
use cwndlab_network::wifi::neighbourhood::radio::ENERGY_DBM;
use cwndlab_units::{Duration, Rate};

use super::field_types::RateOrNone;
use super::radio_fields::{ChannelFields, MediumFields, ModeFields, RadioFields};
use super::table::tables;
use crate::plan::{AccessPlan, BeaconPlan, ChannelPlan, EdcaPlan, ModePlan, RateAdaptation, StandardPlan};

tables! {
    /// A medium of 802.11.
    MEDIUM: NamedMedium = "medium", "A medium of 802.11 that links of a graph share.";
    /// A station of a wireless LAN.
    WLAN_STATION: StationFields = "station", "Parameters of an individual station, in both directions.";
}

/// The configuration of a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Path in the document.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Part of 802.11.
    pub standard: StandardPlan,
    /// Default modulation and coding.
    pub mode: ModePlan,
    /// Default probability that noise destroys a frame.
    pub frame_error: f64,
    /// Channel access.
    pub access: AccessPlan,
    /// Channel access with four access categories.
    pub edca: Option<EdcaPlan>,
    /// A-MPDU with BlockAck.
    pub aggregation: bool,
    /// A frame that arrived while the medium was idle is sent without a backoff.
    pub keeps_turn: bool,
    /// Beacons.
    pub beacon: Option<BeaconPlan>,
    /// Name of the node that sends beacons, and has an access point's parameters of EDCA.
    pub access_point: Option<String>,
    /// Its channel; `None`: its stations all receive each other, and no others.
    pub channel: Option<ChannelPlan>,
}

/// The standard's default lifetime of a frame, 500 time units of 1024 µs (dot11EDCATableMSDULifetime).
const LIFETIME: Duration = Duration::from_micros(512_000);
/// The rates of ERP-OFDM (IEEE 802.11-2016, clause 18), Mbit/s.
const RATES_MBPS: [u64; 8] = [6, 9, 12, 18, 24, 36, 48, 54];
/// The fields of each standard, for hints.
const MODES: &str =
    "802.11g uses rate; 802.11n and 802.11ac use mcs, streams and short_guard, up to MCS 7 and 9; 802.11ax \
                     uses mcs, streams and guard_interval";

impl Medium {
    pub(super) const FIELDS: &'static [Field] = MediumFields::FIELDS;

    /// Reads the medium of a wireless LAN; that of a graph has a name and an access point of its own.
    pub(super) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let MediumFields { standard, mode, frame_error, access, edca, aggregation, keeps_turn, beacon } =
            MediumFields::read(table, faults)?;
        let mode = read_mode(table, mode, faults);
        check_mode(table, mode, standard, faults);
        let mode = mode.unwrap_or(match standard {
            StandardPlan::ErpOfdm => ModePlan::Ofdm { mbps: 54 },
            _ => ModePlan::Ht { mcs: 7, streams: 1, short_guard: false, guard: None },
        });
        if aggregation == Some(true) && standard == StandardPlan::ErpOfdm {
            faults.add(
                table.at("aggregation"),
                "802.11g has no aggregation",
                "remove it, or write 'standard = \"802.11n\"'",
            );
        }
        Some(Self {
            path: table.path.clone(),
            name: "wlan".to_owned(),
            standard,
            mode,
            frame_error,
            access,
            edca,
            aggregation: aggregation.unwrap_or(standard != StandardPlan::ErpOfdm),
            keeps_turn,
            beacon,
            access_point: Some("ap".to_owned()),
            channel: None,
        })
    }
}

fields! {
    /// A medium of a graph.
    pub(super) struct NamedMedium {
        /// unique name
        name: String = required("'name = \"cell\"'"),
        /// the node that sends beacons, and has an access point's parameters of EDCA
        access_point: Option<String> = absent(""),
        /// channel
        channel: ChannelFields,
        /// the medium
        medium: Medium,
    }
}

impl TableType for Medium {
    const TABLE: &'static Table = &MEDIUM;

    fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let NamedMedium { name, access_point, channel, medium } = table.read_valid(NamedMedium::read, faults)?;
        if medium.beacon.is_some() && access_point.is_none() {
            faults.add(table.at("beacon"), "no node sends it", "name the node: 'access_point = \"ap\"'");
        }
        if channel.power_save.is_some() && medium.beacon.is_none() {
            faults.add(table.at("power_save"), "no beacon wakes stations", "write 'beacon = \"102.4 ms\"'");
        }
        let channel = read_channel(table, channel, medium.standard, faults);
        Some(Self { name, access_point, channel, ..medium })
    }
}

/// The channel of a medium; its fields need a number.
fn read_channel(
    table: &Reader<'_>,
    ChannelFields { channel, width, rate_adaptation, energy_detection, block_ack_request, lifetime, power_save }: ChannelFields,
    standard: StandardPlan,
    faults: &mut Faults,
) -> Option<ChannelPlan> {
    let Some(number) = channel else {
        for key in ["width", "rate_adaptation", "energy_detection", "block_ack_request", "lifetime", "power_save"]
            .into_iter()
            .filter(|key| table.gives(key))
        {
            faults.add(table.at(key), "the medium has no channel", "write 'channel = 1'");
        }
        return None;
    };
    if (14..32).contains(&number) {
        faults.add(table.at("channel"), format!("{number} is not a channel"), "1 to 13, or 32 to 177");
    }
    let width_mhz = width.unwrap_or(20);
    let widths: &[u8] = match standard {
        StandardPlan::Vht => &[20, 40, 80],
        StandardPlan::Ht if number > 13 => &[20, 40],
        StandardPlan::He if number > 13 => &[20, 40, 80, 160],
        _ => &[20],
    };
    if !widths.contains(&width_mhz) {
        let what = format!("{width_mhz} MHz are not supported here");
        faults.add(
            table.at("width"),
            what,
            "20; at 5 GHz also 40 with 802.11n, 40 or 80 with 802.11ac, 40, 80 or 160 with 802.11ax",
        );
    }
    if standard == StandardPlan::Vht && number <= 13 {
        faults.add(table.at("channel"), "802.11ac has no channel at 2.4 GHz", "32 to 177");
    }
    let block_ack_request = block_ack_request.unwrap_or(false);
    Some(ChannelPlan {
        number,
        width_mhz,
        rate_adaptation: rate_adaptation.unwrap_or(RateAdaptation::Fixed),
        energy_detection: energy_detection.unwrap_or(ENERGY_DBM),
        block_ack_request,
        lifetime: lifetime.or(block_ack_request.then_some(LIFETIME)),
        power_save,
    })
}

/// The fields of 802.11n and later.
const HT_FIELDS: [&str; 4] = ["mcs", "streams", "short_guard", "guard_interval"];

/// Reads the rate, or the MCS with streams and guard interval; `None` if none of them is given.
fn read_mode(
    table: &Reader<'_>,
    ModeFields { rate, mcs, streams, short_guard, guard_interval }: ModeFields,
    faults: &mut Faults,
) -> Option<ModePlan> {
    match (rate, HT_FIELDS.into_iter().find(|key| table.gives(key))) {
        (Some(_), Some(key)) => {
            faults.add(table.at(key), "conflicts with a rate", MODES);
            None
        }
        (None, Some(_)) => Some(ModePlan::Ht {
            mcs: mcs.unwrap_or(7),
            streams: streams.unwrap_or(1),
            short_guard: short_guard.unwrap_or(false),
            guard: guard_interval,
        }),
        (rate, None) => Some(ModePlan::Ofdm { mbps: ofdm(table, rate?, faults)? }),
    }
}

/// Adds a fault if the mode, stated in `table`, is not one of the standard.
fn check_mode(table: &Reader<'_>, mode: Option<ModePlan>, standard: StandardPlan, faults: &mut Faults) {
    if mode.is_some_and(|mode| !mode.is_of(standard)) {
        let key = HT_FIELDS.into_iter().find(|key| table.gives(key)).unwrap_or("rate");
        faults.add(table.at(key), "is not part of this standard", MODES);
    }
}

fn ofdm(table: &Reader<'_>, rate: Rate, faults: &mut Faults) -> Option<u8> {
    let mbps = RATES_MBPS.into_iter().find(|mbps| mbps * 1_000_000 == rate.0);
    if mbps.is_none() {
        let hint = "one of 6, 9, 12, 18, 24, 36, 48 and 54 Mbps; 802.11n uses mcs";
        faults.add(table.at("rate"), format!("{rate} is not a rate of 802.11g"), hint);
    }
    mbps.map(|mbps| mbps as u8)
}

/// The radio parameters of a link or of a station.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Radio {
    /// Modulation and coding; `None`: the medium's.
    pub mode: Option<ModePlan>,
    /// Probability that noise destroys a frame; `None`: the medium's.
    pub frame_error: Option<f64>,
}

impl Radio {
    fn new(
        table: &Reader<'_>,
        rate: Option<Rate>,
        RadioFields { mcs, streams, short_guard, guard_interval, frame_error }: RadioFields,
        faults: &mut Faults,
    ) -> Self {
        let mode = ModeFields { rate, mcs, streams, short_guard, guard_interval };
        Self { mode: read_mode(table, mode, faults), frame_error }
    }
}

fields! {
    /// The radio fields of a graph's link.
    struct LinkRadioFields {
        /// medium of 802.11, in place of a line
        medium: Option<String> = absent(""),
        /// radio parameters
        radio: RadioFields,
    }
}

/// The medium of a graph's link, if any, and the radio parameters on it.
#[derive(Clone, Debug)]
pub struct LinkRadio {
    /// Name of the medium.
    pub medium: Option<String>,
    /// Radio parameters.
    pub radio: Radio,
}

impl LinkRadio {
    pub(super) const FIELDS: &'static [Field] = LinkRadioFields::FIELDS;

    pub(super) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let LinkRadioFields { medium, radio } = LinkRadioFields::read(table, faults)?;
        if medium.is_none() {
            return Some(Self { medium, radio: Radio::default() });
        }
        // Faults of the rate itself are those of the line.
        let rate = <Option<RateOrNone>>::read(table, "rate", &mut Faults::default()).flatten();
        if rate == Some(None) {
            faults.add(table.at("rate"), "a medium has a rate", MODES);
        }
        Some(Self { medium, radio: Radio::new(table, rate.flatten(), radio, faults) })
    }

    /// Adds faults of fields that do not fit the medium; `names` has also media with faults.
    pub(super) fn check(&self, table: &Reader<'_>, media: &[Medium], names: &[&str], faults: &mut Faults) {
        let Some(medium) = &self.medium else {
            for key in RadioFields::FIELDS.iter().map(|field| field.name).filter(|key| table.gives(key)) {
                faults.add(table.at(key), "the link is not on a medium", "name one: 'medium = \"cell\"'");
            }
            return;
        };
        if !names.contains(&medium.as_str()) {
            let hint = if names.is_empty() {
                "write a '[[medium]]' with this name".to_owned()
            } else {
                format!("one of {}", names.join(", "))
            };
            faults.add(table.at("medium"), format!("no medium is called '{medium}'"), hint);
            return;
        }
        if table.gives("agents") {
            faults.add(table.at("agents"), "a medium has no capacity to allocate", "remove them");
        }
        if table.gives("wifi_jitter") {
            faults.add(
                table.at("wifi_jitter"),
                "the medium of the link has delays of its own",
                "remove one of the two",
            );
        }
        for key in ["trace", "token_bucket", "schedule", "repeat", "harq"] {
            if table.gives(key) {
                faults.add(table.at(key), "the medium of the link replaces the line", "remove one of the two");
            }
        }
        if let Some(found) = media.iter().find(|one| one.name == *medium) {
            check_mode(table, self.radio.mode, found.standard, faults);
        }
    }
}

fields! {
    /// The fields of a station.
    pub(super) struct StationFields {
        /// 802.11g: rate of data frames
        rate: Option<Rate> = absent("the medium's"),
        /// other parameters
        radio: RadioFields,
    }
}

/// The stations of a wireless LAN, whose `standard` is a field of the same table.
#[derive(Debug)]
pub enum Stations {}

impl FieldType for Stations {
    type Value = Vec<Radio>;

    const KIND: Kind = Kind::List(&Kind::Table(&WLAN_STATION));

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Vec<Radio>> {
        let standard = StandardPlan::read(table, "standard", &mut Faults::default());
        let mut stations = Vec::new();
        for (path, item) in table.items(name, faults) {
            let Some(inner) = Reader::new(item, path, &WLAN_STATION, faults) else { continue };
            let Some(StationFields { rate, radio }) = StationFields::read(&inner, faults) else { continue };
            let radio = Radio::new(&inner, rate, radio, faults);
            if let Some(standard) = standard {
                check_mode(&inner, radio.mode, standard, faults);
            }
            stations.push(radio);
        }
        Some(stations)
    }
}
