//! The capacity of a queue as stated in a scenario.

use cwndlab_config::{Custom, Faults, Field, Kind, Literal, Reader};
use cwndlab_units::{parse_bytes, parse_duration, parse_rate, Bytes, Duration};
use serde_json::{json, Value};

/// The capacity of a queue as stated in a scenario, before it is resolved for a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CapacitySpec {
    /// No limit.
    Unlimited,
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// The bytes that the link carries in this time.
    Time(Duration),
    /// A multiple of the bandwidth-delay product; the RTT, if given, replaces that of the flows.
    Bdp(f64, Option<Duration>),
}

/// The field `capacity` of every queue, with the given default.
pub(super) const fn field(default: &'static str) -> Field {
    Field::new("capacity", Kind::Custom(&FORM), "maximum length of the queue").or(Literal::Text(default))
}

static FORM: Custom = Custom {
    accepts:
        "\"100 packets\", \"64 KiB\", \"20 ms\" (of the link's rate), \"0.5 bdp\", \"0.5 bdp(50 ms)\" or \"unlimited\"",
    schema: || {
        json!({
            "type": "string",
            "pattern": r"^\s*(unlimited|[0-9]+\.?[0-9]*\s*(packets?|pkts?)|[0-9.]+\s*bdp\s*(\(.*\))?|[0-9.]+\s*[A-Za-zµ]+)\s*$",
            "examples": ["100 packets", "64 KiB", "20 ms", "0.5 bdp", "unlimited"],
        })
    },
    canonical,
    python: "str",
};

/// `"unlimited"`, or an object with one of `packets`, `bytes`, `ns` and `bdp` (with an optional `rtt_ns`).
fn canonical(value: &Value) -> Value {
    match value.as_str().map(parse) {
        Some(Ok(CapacitySpec::Packets(packets))) => json!({ "packets": packets }),
        Some(Ok(CapacitySpec::Bytes(bytes))) => json!({ "bytes": bytes.0 }),
        Some(Ok(CapacitySpec::Time(time))) => json!({ "ns": time.as_nanos() }),
        Some(Ok(CapacitySpec::Bdp(factor, None))) => json!({ "bdp": factor }),
        Some(Ok(CapacitySpec::Bdp(factor, Some(rtt)))) => json!({ "bdp": factor, "rtt_ns": rtt.as_nanos() }),
        Some(Ok(CapacitySpec::Unlimited) | Err(_)) | None => value.clone(),
    }
}

/// Reads the field `capacity`; a malformed value is added to `faults`.
pub fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<CapacitySpec> {
    let text = table.string("capacity", faults)?;
    let hint = "write \"100 packets\", \"64 KiB\", \"20 ms\", \"0.5 bdp\" or \"unlimited\"";
    parse(&text).map_err(|what| faults.add(table.at("capacity"), what, hint)).ok()
}

/// Parses `100 packets`, `64 KiB`, `20 ms`, `0.5 bdp`, `0.5 bdp(50 ms)` or `unlimited`.
fn parse(text: &str) -> Result<CapacitySpec, String> {
    let text = text.trim();
    if text == "unlimited" {
        return Ok(CapacitySpec::Unlimited);
    }
    if let Some((number, rest)) = text.split_once("bdp") {
        let factor: f64 = number.trim().parse().map_err(|_| format!("'{text}' is not a capacity of a queue"))?;
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(format!("'{text}' is not above zero"));
        }
        let rest = rest.trim();
        let rtt = match rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(inside) => Some(parse_duration(inside).map_err(|fault| fault.what)?),
            None if rest.is_empty() => None,
            None => return Err(format!("'{text}' is not a capacity of a queue")),
        };
        return Ok(CapacitySpec::Bdp(factor, rtt));
    }
    for unit in ["packets", "packet", "pkts", "pkt"] {
        if let Some(number) = text.strip_suffix(unit) {
            let number: f64 = number.trim().parse().map_err(|_| format!("'{text}' is not a capacity of a queue"))?;
            if number.is_nan() || number < 1.0 {
                return Err(format!("'{text}' is less than a packet"));
            }
            if number > f64::from(u32::MAX) {
                return Err(format!("'{text}' is more than {} packets", u32::MAX));
            }
            return Ok(CapacitySpec::Packets(number as u64));
        }
    }
    if let Ok(time) = parse_duration(text) {
        return Ok(CapacitySpec::Time(time));
    }
    let bytes = parse_bytes(text).map_err(|fault| {
        if parse_rate(text).is_ok() {
            format!("'{text}' is a rate, not a size")
        } else {
            fault.what
        }
    })?;
    if bytes.0 < 1500 {
        return Err(format!("'{text}' is less than a packet"));
    }
    Ok(CapacitySpec::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_capacities_have_equal_canonical_forms() {
        let form = |text: &str| canonical(&Value::from(text)).to_string();
        assert_eq!(form("64 KiB"), r#"{"bytes":65536}"#);
        assert_eq!(form("65536 B"), form("64KiB"));
        assert_eq!(form("100 pkt"), r#"{"packets":100}"#);
        assert_eq!(form("0.5 bdp(50 ms)"), r#"{"bdp":0.5,"rtt_ns":50000000}"#);
        assert_eq!(form("unlimited"), "\"unlimited\"");
    }
}
