//! What a flow's application sends, as written.

use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::Value;

use super::fields::WORKLOAD;
use crate::plan::{Pattern, Workload};
use crate::read::{Faults, Table};

/// IPv4 and UDP.
pub(crate) const UDP_HEADER: u64 = 28;
/// The largest IPv4 packet.
const MOST_BYTES: u64 = 65_535;

pub(super) const UDP_EXAMPLE: &str = "write 'workload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"1500 B\" }'";

#[derive(Clone, Copy)]
enum Kind {
    Bulk,
    OnOff,
    Transfers,
    Cbr,
}

const KINDS: &[(&str, Kind)] =
    &[("bulk", Kind::Bulk), ("on-off", Kind::OnOff), ("transfers", Kind::Transfers), ("cbr", Kind::Cbr)];

pub(super) fn read_workload(value: &Value, path: String, udp: bool, faults: &mut Faults) -> Option<Workload> {
    let table = Table::new(value, path, WORKLOAD, faults)?;
    let kind = table.word("kind", KINDS, faults);
    let kind = table.require("kind", kind, "'kind = \"bulk\"', \"on-off\" or \"transfers\"", faults)?;
    if udp != matches!(kind, Kind::Cbr) {
        let word = table.get("kind").and_then(Value::as_str).unwrap_or_default();
        let (what, hint) = if udp {
            (format!("'{word}' is sent by TCP, and the flow's transport is UDP"), UDP_EXAMPLE)
        } else {
            (
                format!("'{word}' is sent by UDP, and the flow's transport is TCP"),
                "write 'transport = \"udp\"' and no algorithm",
            )
        };
        faults.add(table.at("kind"), what, hint);
        return None;
    }
    let bytes = table.bytes("bytes", faults);
    if bytes == Some(Bytes::ZERO) {
        faults.add(table.at("bytes"), "is zero", "write \"10 MB\"");
    }
    match kind {
        Kind::Bulk => Some(Workload::Bulk { bytes }),
        Kind::OnOff => {
            let (on, off) = (table.duration("on", faults), table.duration("off", faults));
            let on = table.require("on", on, "'on = \"5 s\"'", faults);
            let off = table.require("off", off, "'off = \"2 s\"'", faults);
            if on == Some(Duration::ZERO) {
                faults.add(table.at("on"), "is zero", "write \"5 s\"");
            }
            Some(Workload::OnOff { on: on?, off: off? })
        }
        Kind::Transfers => Some(Workload::Transfers {
            bytes: table.require("bytes", bytes, "'bytes = \"100 kB\"'", faults)?,
            count: table.whole("count", 1, u64::MAX, faults),
            gap: table.duration("gap", faults).unwrap_or_default(),
            new_connection: table.flag("new_connection", faults).unwrap_or(false),
        }),
        Kind::Cbr => {
            let (rate, packet) = read_packets(&table, faults)?;
            Some(Workload::Datagrams { rate, packet, pattern: Pattern::Steady })
        }
    }
}

/// Rate and packet size of a source of datagrams.
fn read_packets(table: &Table<'_>, faults: &mut Faults) -> Option<(Rate, Bytes)> {
    let rate = table.rate("rate", faults);
    let rate = table.require("rate", rate, "'rate = \"2 Mbps\"'", faults);
    let packet = if table.get("packet").is_some() { table.bytes("packet", faults) } else { Some(Bytes(1500)) };
    if packet.is_some_and(|packet| packet.0 <= UDP_HEADER || packet.0 > MOST_BYTES) {
        faults.add(
            table.at("packet"),
            format!("a packet has {UDP_HEADER} bytes of headers, some payload, and {MOST_BYTES} bytes at most"),
            "write \"1500 B\"",
        );
        return None;
    }
    Some((rate?, packet?))
}

/// A flow of datagrams has neither a window nor a stack.
pub(super) fn refuse_tcp_fields(table: &Table<'_>, faults: &mut Faults) {
    for key in ["algorithm", "profile", "stack", "control"] {
        if table.get(key).is_some() {
            faults.add(
                table.at(key),
                "a flow over UDP has none: nothing controls its rate",
                "leave it out, or write 'transport = \"tcp\"'",
            );
        }
    }
}
