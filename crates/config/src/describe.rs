//! All declarations as data, for the documentation and for classes in other languages.

use serde_json::{json, Map, Value};

use crate::canonical::suffix;
use crate::field::{Choice, Field, Kind, Table, WhenAbsent};

/// All tables and choices that are reachable from a table, by name.
#[must_use]
pub fn all(declared: &'static Table) -> Value {
    let mut tables = Map::new();
    let mut choices = Map::new();
    visit(declared, &mut tables, &mut choices);
    json!({ "tables": tables, "choices": choices })
}

/// Names of all fields that are reachable from a table.
#[must_use]
pub fn field_names(declared: &'static Table) -> Vec<String> {
    let all = all(declared);
    let mut names: Vec<String> = Vec::new();
    let plain = all["tables"].as_object().into_iter().flatten().map(|(_, table)| table);
    let chosen = all["choices"].as_object().into_iter().flatten();
    for (_, choice) in chosen.clone() {
        names.extend(choice["tag"].as_str().map(str::to_owned));
    }
    let chosen =
        chosen.flat_map(|(_, choice)| choice["tables"].as_object().into_iter().flatten().map(|(_, table)| table));
    for table in plain.chain(chosen) {
        let fields = table["fields"].as_array().into_iter().flatten();
        names.extend(fields.filter_map(|field| field["name"].as_str().map(str::to_owned)));
    }
    names.sort();
    names.dedup();
    names
}

fn visit(declared: &'static Table, tables: &mut Map<String, Value>, choices: &mut Map<String, Value>) {
    if tables.contains_key(declared.name) {
        return;
    }
    tables.insert(declared.name.to_owned(), Value::Null);
    tables.insert(declared.name.to_owned(), table(declared));
    for field in declared.fields() {
        follow(&field.kind, tables, choices);
    }
}

fn follow(kind: &Kind, tables: &mut Map<String, Value>, choices: &mut Map<String, Value>) {
    match kind {
        Kind::Table(inner) | Kind::Tables(inner) | Kind::Keyed(inner) => visit(inner, tables, choices),
        Kind::List(inner) => follow(inner, tables, choices),
        Kind::Either(kinds) => kinds.iter().for_each(|one| follow(one, tables, choices)),
        Kind::Choice(choice) if !choices.contains_key(choice.name) => {
            choices.insert(choice.name.to_owned(), describe_choice(choice));
            for one in (choice.tables)() {
                one.fields().for_each(|field| follow(&field.kind, tables, choices));
            }
        }
        _ => {}
    }
}

fn describe_choice(choice: &Choice) -> Value {
    let tables: Map<String, Value> = (choice.tables)().iter().map(|one| (one.name.to_owned(), table(one))).collect();
    let order: Vec<&str> = (choice.tables)().iter().map(|one| one.name).collect();
    json!({ "tag": choice.tag, "default": choice.default, "order": order, "tables": tables })
}

fn table(declared: &Table) -> Value {
    json!({ "doc": declared.doc, "python": declared.python, "fields": declared.fields().map(field).collect::<Vec<_>>() })
}

fn field(field: &Field) -> Value {
    let absent = match field.default {
        WhenAbsent::Absent(meaning) => Some(meaning),
        _ => None,
    };
    json!({
        "name": field.name,
        "canonical": format!("{}{}", field.name, suffix(&field.kind)),
        "kind": kind_name(&field.kind),
        "python": python(&field.kind),
        "accepts": accepts(&field.kind),
        "required": matches!(field.default, WhenAbsent::Required(_)),
        "default": field.default_value(),
        "absent": absent,
        "doc": field.doc,
    })
}

fn kind_name(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "flag".into(),
        Kind::Integer(..) => "integer".into(),
        Kind::Number(..) => "number".into(),
        Kind::Probability => "probability".into(),
        Kind::Duration => "time".into(),
        Kind::Rate | Kind::RateOrOutage => "rate".into(),
        Kind::Bytes => "size".into(),
        Kind::Text | Kind::Lines => "text".into(),
        Kind::Words(_) => "word".into(),
        Kind::Names => "list of names".into(),
        Kind::Integers => "list of integers".into(),
        Kind::Table(inner) => format!("table {}", inner.name),
        Kind::Tables(inner) => format!("list of tables {}", inner.name),
        Kind::List(inner) => format!("list of {}", kind_name(inner)),
        Kind::Choice(choice) => choice.name.to_owned(),
        Kind::Either(kinds) => kinds.iter().map(kind_name).collect::<Vec<_>>().join(" or "),
        Kind::Keyed(inner) => format!("tables {} by name", inner.name),
        Kind::Values => "values by name".into(),
        Kind::Custom(custom) => custom.accepts.to_owned(),
    }
}

/// The accepted values of a field, for the documentation.
#[must_use]
pub fn accepts(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "true or false".into(),
        Kind::Integer(low, u64::MAX) => format!("an integer from {low}"),
        Kind::Integer(low, high) => format!("an integer from {low} to {high}"),
        Kind::Number(low, high) if *high == f64::MAX => format!("a number above {low}"),
        Kind::Number(low, high) => format!("a number above {low} and up to {high}"),
        Kind::Probability => "a probability from 0 to 1".into(),
        Kind::Duration => "a time: \"50 ms\"".into(),
        Kind::Rate => "a rate: \"100 Mbps\"".into(),
        Kind::RateOrOutage => "a rate: \"100 Mbps\", or \"0 Mbps\"".into(),
        Kind::Bytes => "a size: \"1500 B\"".into(),
        Kind::Words(words) => words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", "),
        Kind::Either(kinds) => kinds.iter().map(accepts).collect::<Vec<_>>().join(", or "),
        other => kind_name(other),
    }
}

/// The type of a field in Python.
fn python(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "bool".into(),
        Kind::Integer(..) => "int".into(),
        Kind::Number(..) | Kind::Probability => "float".into(),
        Kind::Words(words) => {
            format!("Literal[{}]", words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))
        }
        Kind::Names => "Sequence[str]".into(),
        Kind::Integers => "Sequence[int]".into(),
        Kind::Either(kinds) => {
            let mut types: Vec<String> = kinds.iter().map(python).collect();
            types.dedup();
            types.join(" | ")
        }
        Kind::Custom(custom) => custom.python.to_owned(),
        Kind::Choice(choice) => choice.name.to_owned(),
        Kind::Table(_) | Kind::Tables(_) | Kind::List(_) | Kind::Keyed(_) | Kind::Values => "object".into(),
        Kind::Duration | Kind::Rate | Kind::RateOrOutage | Kind::Bytes | Kind::Text | Kind::Lines => "str".into(),
    }
}
