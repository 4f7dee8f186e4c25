//! Reads a medium of 802.11, the radio parameters of its links, and a wireless LAN.

use cwndlab_config::{Faults, Reader};
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::{Duration, Rate};
use serde_json::{json, Value};

use super::link::read_queue;
use super::tables::{BEACON, MEDIUM, NAMED_LINK, WLAN, WLAN_STATION};
use super::typed::{Access, Medium, Queue, Radio, Wlan};
use crate::plan::{BeaconPlan, ModePlan, StandardPlan};

/// Default capacity of a station's queue, packets.
const STATION_PACKETS: u64 = 100;
/// The rates of ERP-OFDM (IEEE 802.11-2016, clause 18), Mbit/s.
const RATES_MBPS: [u64; 8] = [6, 9, 12, 18, 24, 36, 48, 54];

fn station_queue() -> Queue {
    Queue::drop_tail(CapacitySpec::Packets(STATION_PACKETS))
}

pub(super) fn read_media(table: &Reader<'_>, faults: &mut Faults) -> Vec<Medium> {
    let mut media: Vec<Medium> = Vec::new();
    for (path, item) in table.tables("medium", faults) {
        let Some(inner) = Reader::new(item, path, &MEDIUM, faults) else { continue };
        let Some(name) = inner.string("name", faults) else { continue };
        if media.iter().any(|one| one.name == name) {
            faults.add(inner.at("name"), format!("'{name}' is the name of another medium"), "names are unique");
        }
        let access_point = inner.string("access_point", faults);
        let Some(medium) = read_medium(&inner, name, access_point, faults) else { continue };
        if medium.beacon.is_some() && medium.access_point.is_none() {
            faults.add(inner.at("beacon"), "no node sends it", "name the node: 'access_point = \"ap\"'");
        }
        media.push(medium);
    }
    media
}

fn read_medium(table: &Reader<'_>, name: String, access_point: Option<String>, faults: &mut Faults) -> Option<Medium> {
    let standards = [("802.11g", StandardPlan::ErpOfdm), ("802.11n", StandardPlan::Ht)];
    let standard = table.word_of("standard", &standards, faults)?;
    let mode = read_mode(table, Some(standard), faults).unwrap_or(match standard {
        StandardPlan::ErpOfdm => ModePlan::Ofdm { mbps: 54 },
        StandardPlan::Ht => ModePlan::Ht { mcs: 7, streams: 1, short_guard: false },
    });
    let slot = table.duration("slot", faults)?;
    if ![Duration::from_micros(9), Duration::from_micros(20)].contains(&slot) {
        faults.add(table.at("slot"), format!("{slot} is not a slot time of 2.4 GHz"), "write \"9 us\" or \"20 us\"");
    }
    let mut integer = |key| table.integer(key, faults).map(|number| number as u32);
    let (cw_min, cw_max) = (integer("cw_min"), integer("cw_max"));
    let (short, long) = (integer("short_attempts"), integer("long_attempts"));
    let (windows, attempts) = ((cw_min?, cw_max?), (short?, long?));
    if windows.1 < windows.0 {
        faults.add(table.at("cw_max"), format!("{} is less than cw_min, {}", windows.1, windows.0), "");
    }
    let aggregation = table.flag("aggregation", faults);
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
        frame_error: table.probability("frame_error", faults)?,
        slot,
        windows,
        attempts,
        rts_above: table.bytes("rts_above", faults),
        eifs: table.flag("eifs", faults)?,
        aggregation: aggregation.unwrap_or(standard == StandardPlan::Ht),
        keeps_turn: table.flag("keeps_turn", faults)?,
        beacon: read_beacon(table, faults),
        access_point,
    })
}

/// Reads `"102.4 ms"`, or `{ interval = "102.4 ms", size = "250 B" }`.
fn read_beacon(table: &Reader<'_>, faults: &mut Faults) -> Option<BeaconPlan> {
    let value = table.get("beacon")?;
    let short;
    let (value, path) = if value.is_string() {
        short = json!({ "interval": value });
        (&short, table.at("beacon"))
    } else {
        (value, table.at("beacon"))
    };
    let inner = Reader::new(value, path, &BEACON, faults)?;
    let (interval, bytes) = (inner.duration("interval", faults), inner.bytes("size", faults)?);
    // At 1 Mbit/s the transmission of the largest beacon takes 19 ms.
    if interval.is_some_and(|interval| interval < Duration::from_millis(20)) {
        faults.add(table.at("beacon"), "beacons are less than 20 ms apart", "a common interval is \"102.4 ms\"");
    }
    if bytes.0 > 2304 {
        faults.add(
            table.at("beacon.size"),
            format!("{bytes} exceed the maximum size of a frame"),
            "at most \"2304 B\"",
        );
    }
    Some(BeaconPlan { interval: interval?, bytes: bytes.0.min(2304) as u32 })
}

/// Reads the rate, or the MCS with streams and guard interval; `None` if none of them is given. A mode outside
/// `standard` is a fault.
fn read_mode(table: &Reader<'_>, standard: Option<StandardPlan>, faults: &mut Faults) -> Option<ModePlan> {
    let ht = ["mcs", "streams", "short_guard"].into_iter().find(|key| table.gives(key));
    if let (true, Some(key)) = (table.gives("rate"), ht) {
        faults.add(
            table.at(key),
            "conflicts with a rate",
            "802.11g uses rate, 802.11n uses mcs, streams and short_guard",
        );
        return None;
    }
    let mode = if let Some(key) = ht {
        let mcs = table.integer("mcs", faults).unwrap_or(7) as u8;
        let streams = table.integer("streams", faults).unwrap_or(1) as u8;
        let short_guard = table.flag("short_guard", faults).unwrap_or(false);
        (key, ModePlan::Ht { mcs, streams, short_guard })
    } else {
        let rate = table.rate("rate", faults)?;
        ("rate", ModePlan::Ofdm { mbps: ofdm(table, rate, faults)? })
    };
    if standard.is_some_and(|standard| !mode.1.is_of(standard)) {
        let hint = "802.11g uses rate, 802.11n uses mcs, streams and short_guard";
        faults.add(table.at(mode.0), "is not part of this standard", hint);
        return None;
    }
    Some(mode.1)
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
pub(super) fn read_radio(value: &Value, path: String, media: &[Medium], faults: &mut Faults) -> Option<Radio> {
    let table = Reader::new(value, path, &NAMED_LINK, &mut Faults::default())?;
    let Some(medium) = table.string("medium", faults) else {
        for key in ["mcs", "streams", "short_guard", "frame_error"] {
            if table.gives(key) {
                faults.add(table.at(key), "the link is not on a medium", "name one: 'medium = \"cell\"'");
            }
        }
        return None;
    };
    let Some(found) = media.iter().find(|one| one.name == medium) else {
        let names: Vec<&str> = media.iter().map(|one| one.name.as_str()).collect();
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
    let mode = read_mode(&table, Some(found.standard), faults);
    Some(Radio { medium, mode, frame_error: table.probability("frame_error", faults) })
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
        stations.push(Radio {
            medium: "wlan".to_owned(),
            mode: read_mode(&inner, standard, faults),
            frame_error: inner.probability("frame_error", faults),
        });
    }
    Some(Wlan { medium: medium?, queue: own, station_queue, wire, stations })
}
