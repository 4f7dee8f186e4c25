//! Values that stacks write in several ways: numbers as strings, ranges of one number, sizes in objects.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A number, or a string with one; anything else is `None`, never an error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Number(pub(crate) Option<f64>);

impl Number {
    /// A whole number that is not negative.
    pub(crate) fn whole(self) -> Option<u64> {
        self.0.filter(|value| *value >= 0.0).map(|value| value as u64)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        Ok(Number(Some(value as f64)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
        Ok(Number(Some(value as f64)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        Ok(Number(Some(value)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number(None))
    }

    fn visit_str<E>(self, value: &str) -> Result<Number, E> {
        Ok(Number(value.parse().ok()))
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Number, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number(None))
    }

    /// `raw` and older `size` objects: their `length`.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        let mut length = Number(None);
        while let Some(key) = map.next_key::<String>()? {
            if key == "length" {
                length = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(length)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A text; anything else is `None`, never an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Self(Some(text)),
            serde_json::Value::Number(number) => Self(Some(number.to_string())),
            _ => Self(None),
        })
    }
}

/// The largest packet number (RFC 9000, section 17.1).
const MAX_NUMBER: u64 = (1 << 62) - 1;

/// Inclusive ranges `[[first, last], [single]]` as spans that exclude their end.
#[must_use]
pub(crate) fn spans(ranges: &[Vec<Number>]) -> Box<[(u64, u64)]> {
    let span = |range: &Vec<Number>| {
        let first = range.first()?.whole()?;
        let last = range.get(1).map_or(Some(first), |last| last.whole())?;
        (first <= last && last <= MAX_NUMBER).then(|| (first, last + 1))
    };
    ranges.iter().filter_map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_strings_and_raw_objects() {
        let numbers: Vec<Number> =
            serde_json::from_str(r#"[7, "8", 1.5, null, [1], {"length": 1200, "data": "ff"}, "abc", true]"#)
                .expect("JSON");
        let values: Vec<_> = numbers.iter().map(|one| one.0).collect();
        assert_eq!(values, [Some(7.0), Some(8.0), Some(1.5), None, None, Some(1200.0), None, None]);
    }

    /// draft-ietf-quic-qlog-quic-events, section 8.13.3: acked_ranges are pairs, or single numbers.
    #[test]
    fn acked_ranges_are_pairs_or_single_numbers() {
        let ranges: Vec<Vec<Number>> = serde_json::from_str(r#"[[0, 3], [5], ["7", "9"], [4, 2]]"#).expect("JSON");
        assert_eq!(*spans(&ranges), [(0, 4), (5, 6), (7, 10)]);
    }

    /// RFC 9000, section 17.1: packet numbers are at most 2⁶² − 1.
    #[test]
    fn numbers_that_no_packet_has_are_skipped() {
        let ranges: Vec<Vec<Number>> =
            serde_json::from_str("[[1e20, 1e20], [0, 4611686018427387904], [2, 3]]").expect("JSON");
        assert_eq!(*spans(&ranges), [(2, 4)]);
    }
}
