//! The canonical form: explicit defaults, and quantities as numbers in base units, with the unit as suffix of the name.
//!
//! It depends only on the declarations and the document, so that renaming or moving code does not change it. Units:
//! `_ns` nanoseconds, `_bps` bits per second, `_bytes` bytes. A field without value and default is omitted.
//! A field that accepts a quantity or another value has the suffix only for a quantity: `start_jitter_ns` and
//! `start_jitter`.

use cwndlab_units::{parse_bytes, parse_duration, parse_rate};
use serde_json::{Map, Value};

use crate::field::{Kind, Table};

/// The canonical form of a table, for a `value` that was read without faults.
#[must_use]
pub fn table(declared: &Table, value: &Value) -> Value {
    let mut form = Map::new();
    for field in declared.fields() {
        let given = value.get(field.name).cloned().or_else(|| field.default_value());
        if let Some(value) = given {
            let (suffix, canonical) = quantity(&field.kind, &value).unwrap_or_else(|| ("", plain(&field.kind, &value)));
            form.insert(format!("{}{suffix}", field.name), canonical);
        }
    }
    Value::Object(form)
}

/// The suffix of the names of fields of this kind in the canonical form; empty for values without unit.
#[must_use]
pub fn suffix(kind: &Kind) -> &'static str {
    match kind {
        Kind::Duration => "_ns",
        Kind::Rate | Kind::RateOrOutage => "_bps",
        Kind::Bytes => "_bytes",
        Kind::Either(kinds) => kinds.iter().map(suffix).find(|text| !text.is_empty()).unwrap_or_default(),
        _ => "",
    }
}

/// A quantity in its base unit with the suffix of its name; `None` for other values, such as the rate `"none"`.
fn quantity(kind: &Kind, value: &Value) -> Option<(&'static str, Value)> {
    if let Kind::Either(kinds) = kind {
        return kinds.iter().find_map(|one| quantity(one, value));
    }
    let text = value.as_str()?;
    let number = match kind {
        Kind::Duration => parse_duration(text).ok()?.as_nanos(),
        Kind::Rate | Kind::RateOrOutage => parse_rate(text).ok()?.0,
        Kind::Bytes => parse_bytes(text).ok()?.0,
        _ => return None,
    };
    Some((suffix(kind), Value::from(number)))
}

fn plain(kind: &Kind, value: &Value) -> Value {
    match kind {
        Kind::Number(..) | Kind::Probability => value.as_f64().map_or(Value::Null, Value::from),
        Kind::Table(inner) => table(inner, value),
        Kind::Tables(inner) => Value::Array(list(value).map(|one| table(inner, one)).collect()),
        Kind::List(inner) => Value::Array(list(value).map(|one| plain(inner, one)).collect()),
        Kind::Choice(choice) => {
            let Some(chosen) = choice.of(value) else { return Value::Null };
            let mut form = table(chosen, value);
            form[choice.tag] = chosen.name.into();
            form
        }
        Kind::Either(kinds) => either(kinds, value),
        Kind::Keyed(inner) => {
            let entries = value.as_object().into_iter().flatten();
            Value::Object(entries.map(|(name, one)| (name.clone(), table(inner, one))).collect())
        }
        Kind::Custom(custom) => (custom.canonical)(value),
        _ => value.clone(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    match value {
        Value::Array(items) => items.iter(),
        one => std::slice::from_ref(one).iter(),
    }
}

fn either(kinds: &[Kind], value: &Value) -> Value {
    let kind = kinds.iter().find(|kind| fits(kind, value));
    kind.map_or_else(|| value.clone(), |kind| plain(kind, value))
}

/// Whether a value that is not a quantity may be of this kind.
fn fits(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Flag => value.is_boolean(),
        Kind::Integer(..) => value.is_u64(),
        Kind::Number(..) | Kind::Probability => value.is_number(),
        Kind::Words(words) => value.as_str().is_some_and(|text| words.iter().any(|(word, _)| *word == text)),
        Kind::Text | Kind::Lines => value.is_string(),
        Kind::Table(_) | Kind::Keyed(_) | Kind::Values => value.is_object(),
        Kind::Choice(choice) => value.is_object() || choice.shorthand && value.is_string(),
        Kind::Names | Kind::Integers | Kind::Tables(_) => value.is_array(),
        Kind::List(inner) => value.is_array() || fits(inner, value),
        Kind::Either(kinds) => kinds.iter().any(|kind| fits(kind, value)),
        Kind::Custom(_) => true,
        Kind::Duration | Kind::Rate | Kind::RateOrOutage | Kind::Bytes => false,
    }
}
