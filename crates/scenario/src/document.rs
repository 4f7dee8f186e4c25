//! The scenario as written: TOML or JSON; changing a field; the canonical form and its hash.

use std::path::Path;
use std::sync::LazyLock;

use cwndlab_config::{describe, Fault, Faults};
use cwndlab_control::Catalogue;
use cwndlab_traffic::distribution_fields::{last_point, next_point};
use cwndlab_units::spelling::nearest;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::class::{self, Class};
use crate::plan::Plan;
use crate::schema::tables::TOP;
use crate::{network, schema, trace};

/// A scenario: the document, its files read in.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    document: Value,
}

fn one(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Vec<Fault> {
    vec![Fault::new(path, what, hint)]
}

impl Scenario {
    /// Reads TOML; files that it names are looked for in `folder`.
    pub fn from_toml(text: &str, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let document: Value = toml::from_str(text).map_err(|error| {
            let span = error.span().map_or(0, |span| span.start.min(text.len()));
            let before = text.get(..span).unwrap_or("");
            let (line, column) =
                (before.matches('\n').count() + 1, before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1);
            one(
                format!("line {line}, column {column}"),
                format!("this is no TOML: {}", error.message().trim().replace('\n', "; ")),
                "",
            )
        })?;
        Self::from_document(document, folder)
    }

    /// Reads the same schema as JSON.
    pub fn from_json(text: &str, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let document = serde_json::from_str(text)
            .map_err(|error| one(format!("line {}, column {}", error.line(), error.column()), "this is no JSON", ""))?;
        Self::from_document(document, folder)
    }

    fn from_document(mut document: Value, folder: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::default();
        read_files(&mut document, "", folder, &mut faults);
        if faults.0.is_empty() {
            Ok(Self { document })
        } else {
            Err(faults.0)
        }
    }

    /// The document as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.document).unwrap_or_default()
    }

    /// The document as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.document.to_string()
    }

    /// Checks everything but the algorithms' names; the canonical form with units and defaults filled in.
    pub fn canonical(&self) -> Result<Value, Vec<Fault>> {
        schema::read(&self.document).map(|scenario| scenario.canonical(&self.document))
    }

    /// The algorithms that whoever runs it hands over, as the document describes them; none where that has faults.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        class::read(self.document.get("algorithms"), &mut Faults::default())
    }

    /// Describes the algorithm `name` anew; `entry` is JSON.
    pub fn set_class(&mut self, name: &str, entry: Value) {
        let Value::Object(document) = &mut self.document else { return };
        let classes = document.entry("algorithms").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(classes) = classes {
            classes.insert(name.to_owned(), entry);
        }
    }

    /// SHA-256 of the canonical form, in hex.
    pub fn hash(&self) -> Result<String, Vec<Fault>> {
        Ok(hash(&self.canonical()?))
    }

    /// The plan, and notes on what was derived (floors).
    pub fn plan(&self, catalogue: &Catalogue) -> Result<(Plan, Vec<String>), Vec<Fault>> {
        let scenario = schema::read(&self.document);
        let scenario = match scenario {
            Ok(scenario) => scenario,
            Err(mut faults) => {
                faults.extend(network::algorithm_faults(&self.document, catalogue));
                return Err(faults);
            }
        };
        let hash = hash(&scenario.canonical(&self.document));
        network::plan(&scenario, catalogue, hash)
    }

    /// Changes one field, named as `flow[1].rtt` or `dumbbell.bottleneck.rate`. The value is TOML where it parses as such,
    /// else text. `flow[+].algorithm` changes a new flow, a copy of the last one without its name.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Vec<Fault>> {
        let parsed = toml::from_str::<Value>(&format!("v = {value}")).ok().and_then(|table| table.get("v").cloned());
        let value = parsed.unwrap_or_else(|| Value::String(value.to_owned()));
        let mut at = &mut self.document;
        let mut walked = String::new();
        let steps: Vec<&str> = path.split('.').collect();
        for (n, step) in steps.iter().enumerate() {
            let (name, index) = match step.split_once('[') {
                None => (*step, None),
                Some((name, "+]")) => (name, Some(usize::MAX)),
                Some((name, rest)) => match rest.strip_suffix(']').and_then(|digits| digits.parse::<usize>().ok()) {
                    Some(index) => (name, Some(index)),
                    None => return Err(one(path, "is no field", "write 'flow[1].rtt' or 'dumbbell.bottleneck.rate'")),
                },
            };
            if !walked.is_empty() {
                walked.push('.');
            }
            walked.push_str(name);
            let last = n + 1 == steps.len();
            let Value::Object(map) = at else { return Err(one(walked, "is in no table", "")) };
            if !map.contains_key(name) {
                if index.is_some() || !FIELD_NAMES.iter().any(|known| known == name) {
                    return Err(unknown(&walked, name, map));
                }
                map.insert(name.to_owned(), if last { Value::Null } else { Value::Object(Map::new()) });
            }
            at = map.get_mut(name).expect("it was put there");
            if let Some(index) = index {
                let length = at.as_array().map_or(0, Vec::len);
                let index = match (index, &mut *at) {
                    (usize::MAX, Value::Array(items)) => {
                        let mut copy = items.last().cloned().unwrap_or_else(|| Value::Object(Map::new()));
                        copy.as_object_mut().map(|map| map.remove("name"));
                        items.push(copy);
                        length
                    }
                    (usize::MAX, _) => {
                        let hint = "write 'flow[1].rtt' or 'dumbbell.bottleneck.rate'";
                        return Err(one(walked, "is no list", hint));
                    }
                    (index, _) => index,
                };
                let Some(item) = at.get_mut(index) else {
                    return Err(one(
                        format!("{walked}[{index}]"),
                        format!("there are {length} of them"),
                        format!("they count from 0; '{walked}[+]' adds one"),
                    ));
                };
                at = item;
                walked = format!("{walked}[{index}]");
            }
        }
        *at = value;
        // A file that is named here is looked for where the program runs.
        let mut faults = Faults::default();
        read_files(&mut self.document, "", None, &mut faults);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        Ok(())
    }
}

/// Names of all fields of a scenario.
static FIELD_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| describe::field_names(&TOP));

fn unknown(path: &str, name: &str, map: &Map<String, Value>) -> Vec<Fault> {
    let here = nearest(name, map.keys().map(String::as_str));
    let hint = here.or_else(|| nearest(name, FIELD_NAMES.iter().map(String::as_str)));
    one(path, "no such field", hint.map_or(String::new(), |near| format!("did you mean '{near}'?")))
}

fn hash(canonical: &Value) -> String {
    let digest = Sha256::digest(canonical.to_string().as_bytes());
    digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Replaces `{ kind = "list", file = … }` by the indices in the file, so that the hash covers them.
fn read_files(value: &mut Value, path: &str, folder: Option<&Path>, faults: &mut Faults) {
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter_mut().enumerate() {
                read_files(item, &format!("{path}[{n}]"), folder, faults);
            }
        }
        Value::Object(map) => {
            // The file of a class is where it was, not something to read.
            let class = path.starts_with("algorithms.");
            if let (false, Some(Value::String(file)), Some(Value::String(_))) =
                (class, map.get("file"), map.get("kind"))
            {
                if map.get("kind").and_then(Value::as_str) == Some("cdf") {
                    let file = folder.unwrap_or(Path::new("")).join(file);
                    match distribution_file(&file) {
                        Ok(points) => {
                            map.remove("file");
                            map.insert("points".to_owned(), points);
                        }
                        Err((what, hint)) => faults.add(format!("{path}.file"), what, hint),
                    }
                    return;
                }
                let column = map.get("column").and_then(Value::as_str).unwrap_or("packet_index").to_owned();
                let select = map.get("where").cloned();
                let file = folder.unwrap_or(Path::new("")).join(file);
                match drop_list(&file, &column, select.as_ref()) {
                    Ok(indices) => {
                        for key in ["file", "column", "where"] {
                            map.remove(key);
                        }
                        map.insert("indices".to_owned(), Value::from(indices));
                    }
                    Err(what) => faults.add(
                        format!("{path}.file"),
                        what,
                        "a CSV file with a header line and a column of packet indices",
                    ),
                }
            }
            if let (false, Some(trace)) = (class, map.get_mut("trace")) {
                read_trace(trace, &format!("{path}.trace"), folder, faults);
            }
            for (key, item) in map.iter_mut() {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                read_files(item, &path, folder, faults);
            }
        }
        _ => {}
    }
}

/// The points of a distribution function: lines of value (bytes or nanoseconds) and probability, separated by a comma
/// or blanks; a first line of words and lines after `#` count as remarks.
fn distribution_file(file: &Path) -> Result<Value, (String, String)> {
    let name = file.display();
    let fail = |line: usize, what: String, hint: &str| Err((format!("{name}:{line}: {what}"), hint.to_owned()));
    let text = std::fs::read_to_string(file)
        .map_err(|error| (format!("'{name}' cannot be read: {error}"), "name a file of two columns".to_owned()))?;
    let (mut points, mut last, mut end) = (Vec::new(), None, 0);
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let cells: Vec<&str> =
            line.split(|one: char| one == ',' || one.is_whitespace()).filter(|cell| !cell.is_empty()).collect();
        let numbers: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
        if cells.is_empty() || (points.is_empty() && numbers.is_empty()) {
            continue;
        }
        let &[value, probability] = numbers.as_slice() else {
            return fail(n + 1, "two numbers are wanted".to_owned(), "two columns: size in bytes, probability");
        };
        if cells.len() != 2 {
            return fail(n + 1, "two numbers are wanted".to_owned(), "two columns: size in bytes, probability");
        }
        if let Err((what, hint)) = next_point(last, value, probability) {
            return fail(n + 1, what, hint);
        }
        last = Some((value, probability));
        end = n + 1;
        points.push(serde_json::json!([value, probability]));
    }
    match last_point(last) {
        Ok(()) => Ok(Value::Array(points)),
        Err((what, hint)) => fail(end.max(1), what, hint),
    }
}

/// Replaces the file of a trace by what stands in it, so that the scenario is whole without it; names of synthetic traces
/// stay.
fn read_trace(value: &mut Value, path: &str, folder: Option<&Path>, faults: &mut Faults) {
    let (name, place) = match &*value {
        Value::String(name) => (name.clone(), path.to_owned()),
        Value::Object(map) => match map.get("file") {
            Some(Value::String(name)) => (name.clone(), format!("{path}.file")),
            _ => return,
        },
        _ => return,
    };
    if trace::Kind::named(&name).is_some() {
        return;
    }
    let names: Vec<_> = trace::KINDS.iter().map(|kind| kind.name).collect();
    let hint = format!("a file in Mahimahi's format, or one of {}", names.join(", "));
    let file = folder.unwrap_or(Path::new("")).join(&name);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return faults.add(place, format!("'{}' cannot be read: {error}", file.display()), hint),
    };
    if let Err(what) = trace::parse(&text, &name) {
        return faults.add(place, what, "one whole number of milliseconds per line, none before its predecessor");
    }
    if let Value::Object(map) = value {
        map.remove("file");
        map.insert("text".to_owned(), text.into());
    } else {
        *value = serde_json::json!({ "text": text });
    }
}

/// The numbers in a column of a CSV file, of the rows in which every column of `select` has its value.
fn drop_list(file: &Path, column: &str, select: Option<&Value>) -> Result<Vec<u64>, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("'{name}' cannot be read: {error}"))?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
    let position = |wanted: &str| {
        header.iter().position(|one| *one == wanted).ok_or_else(|| format!("'{name}' has no column '{wanted}'"))
    };
    let at = position(column)?;
    let mut filters = Vec::new();
    for (key, value) in select.and_then(Value::as_object).into_iter().flatten() {
        filters.push((position(key)?, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    }
    let mut indices = Vec::new();
    for (n, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        if filters.iter().any(|(at, value)| cells.get(*at) != Some(&value.as_str())) {
            continue;
        }
        let cell = cells.get(at).copied().unwrap_or("");
        indices.push(cell.parse().map_err(|_| format!("'{name}', line {}: a packet index is wanted", n + 2))?);
    }
    Ok(indices)
}
