//! Paths to fields of a document, such as `flow[1].rtt` or `flow[upload].rtt`.

use std::sync::LazyLock;

use cwndlab_config::describe;
use cwndlab_units::spelling::nearest;
use cwndlab_units::Fault;
use serde_json::{Map, Value};

use crate::schema::typed::TOP;

const EXAMPLES: &str = "write 'flow[1].rtt' or 'dumbbell.bottleneck.rate'";

/// An item of a list.
#[derive(Clone, Copy)]
enum Item<'a> {
    /// The item at this index.
    At(usize),
    /// The item with this name.
    Named(&'a str),
    /// A new item.
    New,
}

/// One step of a path: a key of a table, and an item if the value is a list.
struct Step<'a> {
    key: &'a str,
    item: Option<Item<'a>>,
}

impl<'a> Step<'a> {
    /// Parses `rtt`, `flow[1]`, `flow[upload]` or `flow[+]`.
    fn parse(text: &'a str) -> Option<Self> {
        let Some((key, rest)) = text.split_once('[') else { return Some(Self { key: text, item: None }) };
        let item = match rest.strip_suffix(']')? {
            "+" => Item::New,
            "" | "*" => return None, // `expand` replaces a star
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Item::At(digits.parse().ok()?),
            name => Item::Named(name),
        };
        Some(Self { key, item: Some(item) })
    }
}

/// The paths that a path with `[*]` stands for, one for each item of the list; a path without it stands for itself.
pub(super) fn expand(document: &mut Value, path: &str) -> Result<Vec<String>, Fault> {
    let Some((head, rest)) = path.split_once("[*]") else { return Ok(vec![path.to_owned()]) };
    let (list, head) = find(document, head)?;
    let items = list.as_array().ok_or_else(|| Fault::new(head.as_str(), "is not a list", EXAMPLES))?;
    if items.is_empty() {
        return Err(Fault::new(head, "the list has no items", ""));
    }
    let over_udp = |item: &Value| item.get("transport").and_then(Value::as_str) == Some("udp");
    let meant = |item: &Value| rest != ".algorithm" || !over_udp(item);
    let places: Vec<_> =
        (0..items.len()).filter(|at| meant(&items[*at])).map(|at| format!("{head}[{at}]{rest}")).collect();
    let mut expanded = Vec::new();
    for place in places {
        expanded.extend(expand(document, &place)?);
    }
    Ok(expanded)
}

/// Removes the field at this path; returns the path with the indices of items.
pub(super) fn remove(document: &mut Value, path: &str) -> Result<String, Fault> {
    let (_, place) = find(document, path)?; // reports unknown names
    let (table, key) = place.rsplit_once('.').unwrap_or(("", &place));
    if key.ends_with(']') {
        return Err(Fault::new(place.as_str(), "is an item of a list and has no default", "write the list without it"));
    }
    let table = if table.is_empty() { document } else { find(document, table)?.0 };
    if let Value::Object(map) = table {
        map.remove(key);
    }
    Ok(place)
}

/// Returns the field at this path, and the path with the indices of items; adds missing tables and items.
pub(super) fn find<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Fault> {
    let mut at = document;
    let mut walked = String::new();
    let mut steps = path.split('.').peekable();
    while let Some(text) = steps.next() {
        let step = Step::parse(text).ok_or_else(|| Fault::new(path, "is not a field", EXAMPLES))?;
        if !walked.is_empty() {
            walked.push('.');
        }
        walked.push_str(step.key);
        at = value_of(at, &step, &walked, steps.peek().is_none())?;
        if let Some(item) = step.item {
            at = item_of(at, item, &mut walked)?;
        }
    }
    Ok((at, walked))
}

/// The value of the step's key. A missing value is added: null for the `last` step, otherwise an empty table.
fn value_of<'a>(table: &'a mut Value, step: &Step<'_>, walked: &str, last: bool) -> Result<&'a mut Value, Fault> {
    let Value::Object(map) = table else {
        // `flow.0` is meant as `flow[0]`.
        let hint = walked
            .rsplit_once('.')
            .filter(|_| table.is_array())
            .map_or(String::new(), |(list, item)| format!("write '{list}[{item}]': an item of a list is in brackets"));
        return Err(Fault::new(walked, "is not in a table", hint));
    };
    if !map.contains_key(step.key) && (step.item.is_some() || !FIELD_NAMES.iter().any(|known| known == step.key)) {
        return Err(unknown(walked, step.key, map));
    }
    let empty = if last { Value::Null } else { Value::Object(Map::new()) };
    Ok(map.entry(step.key).or_insert(empty))
}

/// The item of the list at the path `walked`; extends `walked` by the item.
fn item_of<'a>(list: &'a mut Value, item: Item<'_>, walked: &mut String) -> Result<&'a mut Value, Fault> {
    let index = match item {
        Item::At(index) => index,
        Item::Named(name) => index_of(list, name, walked)?,
        Item::New => add_copy(list).ok_or_else(|| Fault::new(walked.as_str(), "is not a list", EXAMPLES))?,
    };
    let length = list.as_array().map_or(0, Vec::len);
    let place = format!("{walked}[{index}]");
    let entry = list.get_mut(index).ok_or_else(|| {
        let hint = format!("indices start at 0; '{walked}[+]' adds one");
        Fault::new(place.as_str(), format!("the list has {length} items"), hint)
    })?;
    *walked = place;
    Ok(entry)
}

/// The index of the item with this name.
fn index_of(list: &Value, name: &str, walked: &str) -> Result<usize, Fault> {
    let items = list.as_array().ok_or_else(|| Fault::new(walked, "is not a list", EXAMPLES))?;
    let names: Vec<_> = items.iter().map(|one| one.get("name").and_then(Value::as_str)).collect();
    names.iter().position(|one| *one == Some(name)).ok_or_else(|| {
        let known = names.into_iter().flatten();
        let hint = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean '{near}'?"),
            None if known.clone().next().is_none() => "its items have no names: write an index, from 0 on".to_owned(),
            None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
        };
        Fault::new(format!("{walked}[{name}]"), format!("no item is called '{name}'"), hint)
    })
}

/// Appends a copy of the last item without its name; returns its index.
fn add_copy(list: &mut Value) -> Option<usize> {
    let items = list.as_array_mut()?;
    let mut copy = items.last().cloned().unwrap_or_else(|| Value::Object(Map::new()));
    copy.as_object_mut().map(|map| map.remove("name"));
    items.push(copy);
    Some(items.len() - 1)
}

/// Names of all fields of a scenario.
static FIELD_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| describe::field_names(&TOP));

fn unknown(path: &str, name: &str, map: &Map<String, Value>) -> Fault {
    if FIELD_NAMES.iter().any(|known| known == name) {
        let here = map.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Fault::new(path, "the document has no such list", format!("it has {here}"));
    }
    let here = nearest(name, map.keys().map(String::as_str));
    let hint = here.or_else(|| nearest(name, FIELD_NAMES.iter().map(String::as_str)));
    Fault::new(path, "no such field", hint.map_or(String::new(), |near| format!("did you mean '{near}'?")))
}
