//! JSON Schema (draft 2020-12) of declared tables, for completion and checks in editors.
//!
//! The schema accepts all documents that the reader accepts. Only the reader checks rules between fields, such as "the
//! peak rate is at least the rate".

use cwndlab_units::{rate_units, size_units, time_units};
use serde_json::{json, Map, Value};

use crate::field::{Choice, Field, Kind, Table, WhenAbsent};

/// The dialect of the schemas.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of files that contain this table. Nested tables are definitions in `$defs`.
#[must_use]
pub fn document(title: &str, declared: &Table) -> Value {
    let mut definitions = Map::new();
    let mut schema = table(declared, None, &mut definitions);
    schema["$schema"] = DIALECT.into();
    schema["title"] = title.into();
    schema["$defs"] = Value::Object(definitions);
    schema
}

fn table(declared: &Table, tag: Option<(&Choice, bool)>, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((choice, optional)) = tag {
        properties.insert(choice.tag.to_owned(), json!({ "const": declared.name, "description": declared.doc }));
        if !optional {
            required.push(Value::from(choice.tag));
        }
    }
    for one in declared.fields() {
        properties.insert(one.name.to_owned(), field(one, definitions));
        if matches!(one.default, WhenAbsent::Required(_)) {
            required.push(one.name.into());
        }
    }
    let mut schema = json!({
        "type": "object", "description": declared.doc, "properties": properties, "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema
}

fn field(field: &Field, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = kind(&field.kind, definitions);
    if let Some(value) = field.default_value() {
        schema["default"] = value;
    }
    schema["description"] = field.doc.into();
    schema
}

/// A reference to a definition, which is created on first use.
fn defined(
    name: String,
    definitions: &mut Map<String, Value>,
    make: impl FnOnce(&mut Map<String, Value>) -> Value,
) -> Value {
    if !definitions.contains_key(&name) {
        // The name is inserted first, since a table may contain itself.
        definitions.insert(name.clone(), Value::Null);
        let schema = make(definitions);
        definitions.insert(name.clone(), schema);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn quantity(units: impl Iterator<Item = &'static str>, example: &str) -> Value {
    let units: Vec<String> = units.map(|unit| unit.replace('/', "\\/")).collect();
    json!({ "type": "string", "pattern": format!("^\\s*([0-9]+\\.?[0-9]*|\\.[0-9]+)\\s*({})\\s*$", units.join("|")), "examples": [example] })
}

fn kind(declared: &Kind, definitions: &mut Map<String, Value>) -> Value {
    match declared {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Number(low, high) if *high == f64::MAX => json!({ "type": "number", "exclusiveMinimum": low }),
        Kind::Number(low, high) => json!({ "type": "number", "exclusiveMinimum": low, "maximum": high }),
        Kind::Probability => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Kind::Duration => defined("duration".into(), definitions, |_| quantity(time_units(), "50 ms")),
        Kind::Rate | Kind::RateOrOutage => defined("rate".into(), definitions, |_| quantity(rate_units(), "100 Mbps")),
        Kind::Bytes => defined("size".into(), definitions, |_| quantity(size_units(), "1500 B")),
        Kind::Text => json!({ "type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f]*$" }),
        Kind::Lines => json!({ "type": "string" }),
        Kind::Words(words) => json!({
            "oneOf": words.iter().map(|(word, doc)| json!({ "const": word, "description": doc })).collect::<Vec<_>>(),
        }),
        Kind::Names => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Integers => json!({ "type": "array", "items": { "type": "integer", "minimum": 0 } }),
        Kind::Table(inner) => reference(inner, definitions),
        Kind::Tables(inner) => json!({ "type": "array", "items": reference(inner, definitions) }),
        Kind::List(inner) => {
            let one = kind(inner, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Kind::Choice(choice) => defined(choice.name.to_owned(), definitions, |definitions| chosen(choice, definitions)),
        Kind::Either(kinds) => {
            json!({ "anyOf": kinds.iter().map(|one| kind(one, definitions)).collect::<Vec<_>>() })
        }
        Kind::Keyed(inner) => json!({ "type": "object", "additionalProperties": reference(inner, definitions) }),
        Kind::Values => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
        }
        Kind::Custom(custom) => (custom.schema)(),
    }
}

fn reference(declared: &Table, definitions: &mut Map<String, Value>) -> Value {
    defined(declared.name.to_owned(), definitions, |definitions| table(declared, None, definitions))
}

fn chosen(choice: &Choice, definitions: &mut Map<String, Value>) -> Value {
    let tables = (choice.tables)();
    let mut all: Vec<Value> =
        tables.iter().map(|one| table(one, Some((choice, choice.default == Some(one.name))), definitions)).collect();
    if choice.shorthand {
        all.push(json!({ "enum": tables.iter().map(|one| one.name).collect::<Vec<_>>() }));
    }
    json!({ "anyOf": all })
}
