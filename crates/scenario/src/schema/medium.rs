//! Reads a medium of 802.11, the radio parameters of its links, and a wireless LAN.

use cwndlab_config::{Faults, FieldType, Reader};
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::Rate;
use serde_json::Value;

use super::link::read_queue;
use super::radio_fields::{MediumFields, ModeFields, RadioFields};
use super::tables::{MEDIUM, NAMED_LINK, WLAN, WLAN_STATION};
use super::typed::{Access, Medium, Queue, Radio, Wlan};
use crate::plan::{ModePlan, StandardPlan};

/// Default capacity of a station's queue, packets.
const STATION_PACKETS: u64 = 100;
/// The rates of ERP-OFDM (IEEE 802.11-2016, clause 18), Mbit/s.
const RATES_MBPS: [u64; 8] = [6, 9, 12, 18, 24, 36, 48, 54];

fn station_queue() -> Queue {
    Queue::drop_tail(CapacitySpec::Packets(STATION_PACKETS))
}

/// The media of a graph by name; `None`: a faulty medium.
pub(super) type Media = [(String, Option<Medium>)];

pub(super) fn read_media(table: &Reader<'_>, faults: &mut Faults) -> Vec<(String, Option<Medium>)> {
    let mut media: Vec<(String, Option<Medium>)> = Vec::new();
    for (path, item) in table.tables("medium", faults) {
        let Some(inner) = Reader::new(item, path, &MEDIUM, faults) else { continue };
        let Some(name) = inner.string("name", faults) else { continue };
        if media.iter().any(|(one, _)| *one == name) {
            faults.add(inner.at("name"), format!("'{name}' is the name of another medium"), "names are unique");
        }
        let access_point = inner.string("access_point", faults);
        let medium = read_medium(&inner, name.clone(), access_point, faults);
        if medium.as_ref().is_some_and(|medium| medium.beacon.is_some() && medium.access_point.is_none()) {
            faults.add(inner.at("beacon"), "no node sends it", "name the node: 'access_point = \"ap\"'");
        }
        media.push((name, medium));
    }
    media
}

fn read_medium(table: &Reader<'_>, name: String, access_point: Option<String>, faults: &mut Faults) -> Option<Medium> {
    let MediumFields { standard, mode, frame_error, access, aggregation, keeps_turn, beacon } =
        MediumFields::read(table, faults)?;
    let mode = read_mode(table, mode, Some(standard), faults).unwrap_or(match standard {
        StandardPlan::ErpOfdm => ModePlan::Ofdm { mbps: 54 },
        StandardPlan::Ht => ModePlan::Ht { mcs: 7, streams: 1, short_guard: false },
    });
    if aggregation == Some(true) && standard == StandardPlan::ErpOfdm {
        faults.add(
            table.at("aggregation"),
            "802.11g has no aggregation",
            "remove it, or write 'standard = \"802.11n\"'",
        );
    }
    Some(Medium {
        path: table.path.clone(),
        name,
        standard,
        mode,
        frame_error,
        access,
        aggregation: aggregation.unwrap_or(standard == StandardPlan::Ht),
        keeps_turn,
        beacon,
        access_point,
    })
}

/// Reads the rate, or the MCS with streams and guard interval; `None` if none of them is given. A mode outside
/// `standard` is a fault.
fn read_mode(
    table: &Reader<'_>,
    ModeFields { rate, mcs, streams, short_guard }: ModeFields,
    standard: Option<StandardPlan>,
    faults: &mut Faults,
) -> Option<ModePlan> {
    let given = [("mcs", mcs.is_some()), ("streams", streams.is_some()), ("short_guard", short_guard.is_some())];
    let ht = given.into_iter().find(|(_, given)| *given).map(|(key, _)| key);
    let hint = "802.11g uses rate, 802.11n uses mcs, streams and short_guard";
    let (key, mode) = match (rate, ht) {
        (Some(_), Some(key)) => {
            faults.add(table.at(key), "conflicts with a rate", hint);
            return None;
        }
        (None, Some(key)) => {
            let mcs = mcs.unwrap_or(7);
            let streams = streams.unwrap_or(1);
            (key, ModePlan::Ht { mcs, streams, short_guard: short_guard.unwrap_or(false) })
        }
        (rate, None) => ("rate", ModePlan::Ofdm { mbps: ofdm(table, rate?, faults)? }),
    };
    if standard.is_some_and(|standard| !mode.is_of(standard)) {
        faults.add(table.at(key), "is not part of this standard", hint);
        return None;
    }
    Some(mode)
}

/// Reads the radio parameters of a link or a station.
fn read_parameters(
    table: &Reader<'_>,
    medium: String,
    standard: Option<StandardPlan>,
    faults: &mut Faults,
) -> Option<Radio> {
    let rate = <Option<Rate>>::read(table, "rate", faults);
    let RadioFields { mcs, streams, short_guard, frame_error } = RadioFields::read(table, faults)?;
    let mode = read_mode(table, ModeFields { rate: rate?, mcs, streams, short_guard }, standard, faults);
    Some(Radio { medium, mode, frame_error })
}

fn ofdm(table: &Reader<'_>, rate: Rate, faults: &mut Faults) -> Option<u8> {
    let mbps = RATES_MBPS.into_iter().find(|mbps| mbps * 1_000_000 == rate.0);
    if mbps.is_none() {
        let hint = "one of 6, 9, 12, 18, 24, 36, 48 and 54 Mbps; 802.11n uses mcs";
        faults.add(table.at("rate"), format!("{rate} is not a rate of 802.11g"), hint);
    }
    mbps.map(|mbps| mbps as u8)
}

/// Reads the radio parameters of a graph's link.
pub(super) fn read_radio(value: &Value, path: String, media: &Media, faults: &mut Faults) -> Option<Radio> {
    let table = Reader::new(value, path, &NAMED_LINK, &mut Faults::default())?;
    let Some(medium) = table.string("medium", faults) else {
        for key in ["mcs", "streams", "short_guard", "frame_error"] {
            if table.gives(key) {
                faults.add(table.at(key), "the link is not on a medium", "name one: 'medium = \"cell\"'");
            }
        }
        return None;
    };
    let Some((_, found)) = media.iter().find(|(name, _)| *name == medium) else {
        let names: Vec<&str> = media.iter().map(|(name, _)| name.as_str()).collect();
        let hint = if names.is_empty() {
            "write a '[[medium]]' with this name".to_owned()
        } else {
            format!("one of {}", names.join(", "))
        };
        faults.add(table.at("medium"), format!("no medium is called '{medium}'"), hint);
        return None;
    };
    if table.gives("agents") {
        faults.add(table.at("agents"), "a medium has no capacity to allocate", "remove them");
    }
    for key in ["trace", "token_bucket", "schedule", "repeat", "harq"] {
        if table.gives(key) {
            faults.add(table.at(key), "the medium of the link replaces the line", "remove one of the two");
        }
    }
    read_parameters(&table, medium, found.as_ref().map(|found| found.standard), faults)
}

pub(super) fn read_wlan(value: &Value, faults: &mut Faults) -> Option<Wlan> {
    let table = Reader::new(value, "wlan", &WLAN, faults)?;
    let medium = read_medium(&table, "wlan".to_owned(), Some("ap".to_owned()), faults);
    let queue =
        |key: &str, faults: &mut Faults| table.get(key).and_then(|value| read_queue(value, table.at(key), faults));
    let own = queue("queue", faults).unwrap_or_else(station_queue);
    let station_queue = queue("station_queue", faults).unwrap_or(own);
    let mut wire = Access { rate: None, queue: Queue::drop_tail(CapacitySpec::Unlimited), agents: None };
    if let Some(inner) = table.table("wire", faults) {
        wire.rate = inner.rate("rate", faults);
        if let Some(given) = inner.get("queue") {
            wire.queue = read_queue(given, inner.at("queue"), faults)?;
        }
        if inner.gives("agents") {
            faults.add(inner.at("agents"), "agents are not supported on the wires of a wireless LAN", "remove them");
        }
    }
    let standard = medium.as_ref().map(|medium| medium.standard);
    let mut stations = Vec::new();
    for (path, item) in table.items("stations", faults) {
        let inner = Reader::new(item, path, &WLAN_STATION, faults)?;
        stations.extend(read_parameters(&inner, "wlan".to_owned(), standard, faults));
    }
    Some(Wlan { medium: medium?, queue: own, station_queue, wire, stations })
}
