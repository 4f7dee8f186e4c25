//! JSON whose objects have each key once, as tables of TOML do. RFC 8259, section 4, leaves open what a repeated key
//! means.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads a text, possibly with a byte order mark.
pub(super) fn read(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
    let value = Document.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The message of an error, without the place.
pub(super) fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// Reads a value.
#[derive(Clone, Copy)]
struct Document;

impl<'de> DeserializeSeed<'de> for Document {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("'{key}' is there twice")));
            }
            let value = entries.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_repetitions_is_read_as_by_serde_json() {
        let text =
            r#"{"a": [1, -2, 3.5, 1e3, 18446744073709551615, true, null, "é\n"], "b": {"a": {}, "c": []}, "": 0}"#;
        assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(read("\u{feff}{}").unwrap(), Value::Object(Map::new()));
    }

    #[test]
    fn what_is_none_is_named() {
        for (text, what, column) in [
            (r#"{"a": 1, "b": {"a": 2}, "a": 3}"#, "'a' is there twice", 27),
            (r#"[{"a": 1, "a": 1}]"#, "'a' is there twice", 13),
            ("[1e400]", "number out of range", 6),
            ("{} 1", "trailing characters", 4),
            ("[NaN]", "expected value", 2),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((message(&error).as_str(), error.column()), (what, column), "{text}");
        }
    }
}
