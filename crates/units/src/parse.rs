//! Parses quantities such as `100 Mbps`, `50 ms` and `1.5 MB` with decimal arithmetic, without floating point.

use crate::fault::Fault;
use crate::{Bytes, Duration, Rate};

/// Spellings of units with their factors to the base unit.
type Units = &'static [(&'static str, u128)];

/// In nanoseconds.
const TIMES: Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// In bits per second.
const RATES: Units = &[
    ("bps", 1),
    ("bit/s", 1),
    ("kbps", 1_000),
    ("kbit/s", 1_000),
    ("Mbps", 1_000_000),
    ("Mbit/s", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("B/s", 8),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
];

/// In bytes.
const SIZES: Units = &[
    ("B", 1),
    ("byte", 1),
    ("bytes", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Splits a text into number and unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || "+-._eE".contains(letter))).unwrap_or(text.len());
    // A letter without a digit after it is not an exponent but the start of the unit.
    let end = text[..end].trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len();
    (text[..end].trim(), text[end..].trim())
}

/// `digits[.digits]` times `scale`, rounded to the nearest integer.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.len() > 18 {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok().map(u128::from) };
    if !whole.chars().chain(part.chars()).all(|letter| letter.is_ascii_digit()) {
        return None;
    }
    let unit = 10u128.pow(part.len() as u32);
    let rest = digits(part)?.checked_mul(scale)?;
    digits(whole)?.checked_mul(scale)?.checked_add((rest + unit / 2) / unit)
}

fn parse(text: &str, units: Units, kind: &str, example: &str) -> Result<u64, Fault> {
    let text = text.trim();
    let fault = |what: String| Err(Fault::new("", what, format!("write {example}")));
    let (number, unit) = split(text);
    if number.is_empty() {
        return fault(format!("'{text}' is not a {kind}"));
    }
    if number.starts_with('-') {
        return fault(format!("'{text}' is negative"));
    }
    if unit.is_empty() {
        return fault(format!("'{text}' has no unit"));
    }
    let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let other = [(TIMES, "time"), (RATES, "rate"), (SIZES, "size")]
            .into_iter()
            .find(|(table, name)| *name != kind && table.iter().any(|(known, _)| *known == unit));
        return match other {
            Some((_, name)) => fault(format!("'{text}' is a {name}, not a {kind}")),
            None => fault(format!("'{text}' has an unknown unit '{unit}'")),
        };
    };
    match scaled(number, *scale) {
        // Columns of records are signed.
        Some(value) => i64::try_from(value)
            .map_or_else(|_| fault(format!("'{text}' is too large")), |value| Ok(value.cast_unsigned())),
        None => fault(format!("'{text}' is not a {kind}")),
    }
}

/// Parses `50 ms`, `1.5 s`, `200 ns`.
pub fn parse_duration(text: &str) -> Result<Duration, Fault> {
    parse(text, TIMES, "time", "'50 ms' or '10 s'").map(Duration)
}

/// Parses `100 Mbps`, `1.5 Gbit/s`, `10 MB/s`.
pub fn parse_rate(text: &str) -> Result<Rate, Fault> {
    parse(text, RATES, "rate", "'48 Mbit/s' or '48 MB/s'").map(Rate)
}

/// Parses `1500 B`, `64 KiB`, `1.5 MB`.
pub fn parse_bytes(text: &str) -> Result<Bytes, Fault> {
    parse(text, SIZES, "size", "'1500 B' or '64 KiB'").map(Bytes)
}

/// Every unit of time that [`parse_duration`] reads.
pub fn time_units() -> impl Iterator<Item = &'static str> {
    TIMES.iter().map(|(unit, _)| *unit)
}

/// Every unit of rate that [`parse_rate`] reads.
pub fn rate_units() -> impl Iterator<Item = &'static str> {
    RATES.iter().map(|(unit, _)| *unit)
}

/// Every unit of size that [`parse_bytes`] reads.
pub fn size_units() -> impl Iterator<Item = &'static str> {
    SIZES.iter().map(|(unit, _)| *unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_parsed_exactly() {
        assert_eq!(parse_rate("100 Mbps"), Ok(Rate(100_000_000)));
        assert_eq!(parse_rate("1.5Gbit/s"), Ok(Rate(1_500_000_000)));
        assert_eq!(parse_rate("10 MB/s"), Ok(Rate(80_000_000)));
        assert_eq!(parse_duration("0.1 ms"), Ok(Duration(100_000)));
        assert_eq!(parse_duration("13.7 ms"), Ok(Duration(13_700_000)));
        assert_eq!(parse_bytes("64 KiB"), Ok(Bytes(65_536)));
    }

    #[test]
    fn errors_name_fault_and_remedy() {
        let what = |result: Result<Rate, Fault>| result.unwrap_err().what;
        assert_eq!(what(parse_rate("48")), "'48' has no unit");
        assert_eq!(what(parse_rate("-1 Mbps")), "'-1 Mbps' is negative");
        assert_eq!(what(parse_rate("50 ms")), "'50 ms' is a time, not a rate");
        assert_eq!(what(parse_rate("5 Mb")), "'5 Mb' has an unknown unit 'Mb'");
        assert_eq!(what(parse_rate("fast")), "'fast' is not a rate");
        assert_eq!(what(parse_rate("99999999999999999999 Gbps")), "'99999999999999999999 Gbps' is not a rate");
        assert_eq!(what(parse_rate("99999999999999 Tbps")), "'99999999999999 Tbps' is too large");
        // 2⁶³, which the signed columns of the records do not have.
        assert_eq!(what(parse_rate("9223372036854775808 bps")), "'9223372036854775808 bps' is too large");
        assert_eq!(parse_rate("9223372036854775807 bps"), Ok(Rate((1 << 63) - 1)));
        assert_eq!(parse_rate("48").unwrap_err().hint, "write '48 Mbit/s' or '48 MB/s'");
    }
}
